//! What came of a federated question, peer by peer: their hits behind the last lock, and why the others gave none.

use std::collections::BTreeMap;

use plumb_core::boundary::Sensitivity;
use plumb_core::identity::{NodeId, Signed};
use plumb_core::measure::Timestamp;
use plumb_core::trust::{Certificate, Incoming};
use plumb_federation::protocol::search::{Outcome, PeerState};
use plumb_federation::wire::search::Hit;

use super::{PeerHit, PeerResult, PeerResults};
use crate::error::NodeError;
use crate::kept;
use crate::premises::Premises;
use crate::retrieval::PeerCoverage;

/// Most peers in a coverage list that are not connected. Whoever is not listed was not asked either.
const AWAY_MAX: usize = 64;

/// Why a peer was not asked.
#[derive(Clone, Copy, Debug)]
pub(super) enum Unasked {
    /// Others promised more.
    RankedBelow { n_asked: usize },
    /// It failed too often of late.
    BreakerOpen { until: Timestamp },
}

/// Everything that is known when a question is over.
pub(super) struct Outcomes {
    pub admitted: BTreeMap<NodeId, Signed<Certificate>>,
    pub unasked: BTreeMap<NodeId, Unasked>,
    pub outcome: Outcome,
    /// Whether the asker belongs to this node's department.
    pub has_department: bool,
}

/// The results of each peer that is known.
pub(super) fn results(premises: &Premises, outcomes: Outcomes) -> Result<PeerResults, NodeError> {
    let Outcomes { admitted, unasked, mut outcome, has_department } = outcomes;
    let now = premises.now();
    let mut peers = Vec::new();
    for (node, state) in outcome.coverage {
        let Some(certificate) = admitted.get(&node).map(Signed::value) else { continue };
        let by_rank = outcome.by_rank.remove(&node);
        let (is_by_rank, hits) = match by_rank {
            Some(hits) => (true, hits),
            None => (false, outcome.hits.remove(&node).unwrap_or_default()),
        };
        let n_hits = hits.len();
        let checked = if hits.iter().all(|hit| may_cross(premises, certificate, has_department, hit)) {
            (state, hits)
        } else {
            let reason = "it gave what may not be shown to whoever asked".to_string();
            (PeerState::Invalid { reason, n_dropped: n_hits }, Vec::new())
        };
        let (state, hits) = checked;
        let hits = hits.into_iter().map(|hit| peer_hit(premises, certificate, &hit)).collect::<Result<Vec<_>, _>>()?;
        let told = Told::of(state);
        let coverage = view(premises, certificate, told, hits.len() as u64)?;
        peers.push(PeerResult { node, coverage, hits, by_rank: is_by_rank });
    }
    for (node, why) in unasked {
        let Some(certificate) = admitted.get(&node).map(Signed::value) else { continue };
        let told = match why {
            Unasked::RankedBelow { n_asked } => {
                Told::new("not_asked", Some(format!("ranked below the {n_asked} that were asked")))
            }
            Unasked::BreakerOpen { until } => {
                let detail = format!("it failed again and again; it is tried again in {} ms", until.since(now).0);
                Told::new("breaker_open", Some(detail))
            }
        };
        peers.push(PeerResult {
            node,
            coverage: view(premises, certificate, told, 0)?,
            hits: Vec::new(),
            by_rank: false,
        });
    }
    peers.extend(away(premises, &admitted, now)?);
    peers.sort_by_key(|peer| peer.node);
    Ok(PeerResults { stats: outcome.stats, peers })
}

/// Peers that this node would ask if they were connected.
fn away(
    premises: &Premises,
    admitted: &BTreeMap<NodeId, Signed<Certificate>>,
    now: Timestamp,
) -> Result<Vec<PeerResult>, NodeError> {
    let (own, roots) = (premises.node(), premises.roots());
    let mut away = Vec::new();
    for head in kept::log_heads(&premises.store, &own)? {
        let node = head.state.publisher;
        let certificate = &head.state.certificate;
        let is_sought = premises.lets_in(&certificate.value().org) == Incoming::Full;
        let is_away = node != own && !admitted.contains_key(&node) && roots.admit(&node, certificate, now).is_ok();
        if is_sought && is_away && away.len() < AWAY_MAX {
            let told = Told::new("unreachable", Some("it is not connected".to_string()));
            let coverage = view(premises, certificate.value(), told, 0)?;
            away.push(PeerResult { node, coverage, hits: Vec::new(), by_rank: false });
        }
    }
    Ok(away)
}

/// The second lock, for what others say is readable: only public evidence crosses the border of an organisation, within
/// one restricted evidence comes only to an asker with a department, and what is a person's own comes from no peer.
fn may_cross(premises: &Premises, certificate: &Certificate, has_department: bool, hit: &Hit) -> bool {
    match hit.sensitivity() {
        Sensitivity::Public => true,
        _ if certificate.org != premises.org() => false,
        Sensitivity::Internal => true,
        Sensitivity::Restricted => has_department,
        Sensitivity::Confidential => false,
    }
}

fn peer_hit(premises: &Premises, certificate: &Certificate, hit: &Hit) -> Result<PeerHit, NodeError> {
    let publisher = hit.source().publisher;
    let org = match kept::log_head(&premises.store, &premises.node(), &publisher)? {
        Some(head) => head.state.certificate.value().org,
        None => certificate.org,
    };
    Ok(PeerHit {
        chunk: hit.chunk().clone(),
        chunk_block: hit.chunk_block().clone(),
        source: hit.source().clone(),
        source_block: hit.source_block().clone(),
        score: hit.score(),
        sensitivity: hit.sensitivity(),
        org,
    })
}

/// A peer's state in words.
struct Told {
    state: &'static str,
    detail: Option<String>,
    dropped: u64,
}

impl Told {
    fn new(state: &'static str, detail: Option<String>) -> Told {
        Told { state, detail, dropped: 0 }
    }

    fn of(state: PeerState) -> Told {
        match state {
            PeerState::Answered => Told::new("answered", None),
            PeerState::FusedByRank { reason } => Told::new("fused_by_rank", Some(reason)),
            PeerState::Denied { reason } => Told::new("denied", Some(reason)),
            PeerState::Busy { retry_after_ms } => {
                Told::new("busy", Some(format!("asks to be asked again in {retry_after_ms} ms")))
            }
            PeerState::TimedOut => Told::new("timed_out", None),
            PeerState::Unreachable => Told::new("unreachable", None),
            PeerState::Invalid { reason, n_dropped } => {
                Told { state: "invalid", detail: Some(reason), dropped: n_dropped as u64 }
            }
        }
    }
}

fn view(premises: &Premises, certificate: &Certificate, told: Told, hits: u64) -> Result<PeerCoverage, NodeError> {
    let feed = kept::log_head(&premises.store, &premises.node(), &certificate.node)?;
    Ok(PeerCoverage {
        node: certificate.node.to_string(),
        name: format!("{} / {}", certificate.org_name, certificate.department.slug()),
        state: told.state.to_string(),
        detail: told.detail,
        hits,
        dropped: told.dropped,
        feed_age_ms: feed.and_then(|head| head.confirmed()).map(|as_of| premises.now().since(as_of).0),
    })
}
