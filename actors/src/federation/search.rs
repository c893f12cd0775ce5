//! One federated question: the machine decides, this sends, waits and never waits past the deadline.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use plumb_core::identity::{NodeId, Signed};
use plumb_core::measure::Timestamp;
use plumb_core::trust::{Certificate, Incoming};
use plumb_federation::driver::Protocol;
use plumb_federation::protocol::search::{Action, Event, FederatedSearch, Outcome, PeerState};
use plumb_federation::wire::search::SearchResponse;

use super::{Link, PeerHit, PeerResult, PeerResults, SearchPeers};
use crate::error::NodeError;
use crate::kept;
use crate::premises::{Premises, blocking};
use crate::retrieval::PeerCoverage;

/// Asks every admitted peer whose evidence is let in.
pub(super) async fn run(
    premises: Arc<Premises>,
    link: Link,
    mut admitted: BTreeMap<NodeId, Signed<Certificate>>,
    ask: SearchPeers,
) -> Result<PeerResults, NodeError> {
    admitted.retain(|_, certificate| premises.lets_in(&certificate.value().org) == Incoming::Full);
    let deadline_ms = u32::try_from(ask.deadline.0).unwrap_or(u32::MAX);
    let k = u32::try_from(ask.k).unwrap_or(u32::MAX);
    let begun = FederatedSearch::start(
        rand::random(),
        ask.query,
        ask.own_stats,
        k,
        admitted.keys().copied(),
        premises.now(),
        deadline_ms,
    );
    let (mut machine, mut actions) = begun.map_err(|e| NodeError::Invalid(e.to_string()))?;
    let mut asked = FuturesUnordered::new();
    loop {
        for action in actions.drain(..) {
            match action {
                Action::Ask { peer, request } => {
                    let network = link.network.clone();
                    let within = std::time::Duration::from_millis(ask.deadline.0);
                    asked.push(async move {
                        match network.request(peer, Protocol::Search, request.encode(), within).await {
                            Ok(bytes) => Event::Answered { peer, response: SearchResponse::decode(&bytes) },
                            Err(error) => {
                                tracing::debug!(%peer, %error, "no answer to a search");
                                Event::Unreachable { peer }
                            }
                        }
                    });
                }
                Action::Finish(outcome) => {
                    return blocking(move || results(&premises, &admitted, outcome)).await;
                }
            }
        }
        let wait = machine.wake_at().map_or(0, |at: Timestamp| at.since(premises.now()).0);
        let event = tokio::select! {
            Some(event) = asked.next(), if !asked.is_empty() => event,
            () = tokio::time::sleep(std::time::Duration::from_millis(wait.max(1))) => Event::Tick,
        };
        actions = machine.handle(premises.now(), event);
    }
}

fn results(
    premises: &Premises,
    admitted: &BTreeMap<NodeId, Signed<Certificate>>,
    mut outcome: Outcome,
) -> Result<PeerResults, NodeError> {
    let mut peers = Vec::new();
    for (node, state) in outcome.coverage {
        let Some(certificate) = admitted.get(&node).map(Signed::value) else { continue };
        let mut hits = Vec::new();
        let mut state = state;
        for hit in outcome.hits.remove(&node).unwrap_or_default() {
            // Only public evidence crosses the border; a peer of another organisation that says otherwise is wrong.
            if certificate.org != premises.org() && hit.sensitivity() != plumb_core::boundary::Sensitivity::Public {
                state = PeerState::Invalid { reason: "it gave what may not cross the border".to_string() };
                hits.clear();
                break;
            }
            let publisher = hit.source().publisher;
            let org = match kept::log_head(&premises.store, &premises.node(), &publisher)? {
                Some(head) => head.state.certificate.value().org,
                None => certificate.org,
            };
            hits.push(PeerHit {
                chunk: hit.chunk().clone(),
                chunk_block: hit.chunk_block().clone(),
                source: hit.source().clone(),
                source_block: hit.source_block().clone(),
                score: hit.score(),
                sensitivity: hit.sensitivity(),
                org,
            });
        }
        let (word, detail) = describe(state);
        let feed = kept::log_head(&premises.store, &premises.node(), &node)?;
        peers.push(PeerResult {
            node,
            coverage: PeerCoverage {
                node: node.to_string(),
                name: format!("{} / {}", certificate.org_name, certificate.department.slug()),
                state: word.to_string(),
                detail,
                hits: hits.len() as u64,
                feed_age_ms: feed.map(|head| premises.now().since(head.as_of).0),
            },
            hits,
        });
    }
    Ok(PeerResults { stats: outcome.stats, peers })
}

fn describe(state: PeerState) -> (&'static str, Option<String>) {
    match state {
        PeerState::Answered => ("answered", None),
        PeerState::Denied { reason } => ("denied", Some(reason)),
        PeerState::Busy { retry_after_ms } => ("busy", Some(format!("asks to be asked again in {retry_after_ms} ms"))),
        PeerState::TimedOut => ("timed_out", None),
        PeerState::Unreachable => ("unreachable", None),
        PeerState::Invalid { reason } => ("invalid", Some(reason)),
    }
}
