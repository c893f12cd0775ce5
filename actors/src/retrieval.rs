//! Finding: boundary first, then the search here and at the peers, then one ranking.
//!
//! A requester's rights decide which partitions are opened, before any search; every result passes the same lock once
//! more on its way out. The peers' statistics and ours are summed before anybody scores, so the ranking is the one
//! that a single index over everything readable would give.

mod local;
mod messages;
mod stages;
mod unconfirmed;

use std::collections::BTreeMap;
use std::sync::Arc;

use actix::prelude::*;
use plumb_core::boundary::{Access, Sensitivity};
use plumb_core::content::{Chunk, SourceRecord};
use plumb_core::grounding::Evidence;
use plumb_core::identity::NodeId;
use plumb_core::lifecycle::may_become_active;
use plumb_core::measure::Milli;
use plumb_core::notice::Effect;
use plumb_core::retrieval::{QUERY_BYTES_MAX, Query, Ranked, body_of, fuse, merge};
use plumb_core::trust::ASSERTION_WORD_BYTES_MAX;
use plumb_storage::Blocks;

use crate::audit::{Audit, RecordAccess};
use crate::caller::Caller;
use crate::door::Door;
use crate::error::NodeError;
use crate::federation::{Asker, Federation, PeerHit, PeerResults, SearchPeers};
use crate::kept;
use crate::premises::{Premises, blocking};
use crate::verification::unseal;

pub use messages::*;
pub use stages::{
    AssembleBlock, Assembled, BlockView, ConflictView, FactorsView, FeedbackView, ForgetFeedback, GiveFeedback,
    IntentView, LearnedKindView, LearnedView, ResolvedView, ScopeView, SearchInStages, ShowLearned, ShownView,
    StagesView,
};

pub(crate) use stages::Learned;
pub use unconfirmed::UnconfirmedView;
pub(crate) use unconfirmed::unconfirmed_of;

pub(crate) use local::{LocalHit, blended_hits, local_hits, local_stats, wholly_readable};

/// Finds.
pub struct Retrieval {
    premises: Arc<Premises>,
    federation: Door<Federation>,
    audit: Door<Audit>,
}
crate::resident!(Retrieval, "retrieval");

impl Retrieval {
    pub(crate) fn new(premises: Arc<Premises>, federation: Door<Federation>, audit: Door<Audit>) -> Retrieval {
        Retrieval { premises, federation, audit }
    }
}

impl Handler<AssembleContext> for Retrieval {
    type Result = ResponseFuture<Result<Found, NodeError>>;

    fn handle(&mut self, ask: AssembleContext, _: &mut Context<Self>) -> Self::Result {
        let (premises, federation, audit) = (self.premises.clone(), self.federation.clone(), self.audit.clone());
        Box::pin(async move {
            if ask.query.len() > QUERY_BYTES_MAX {
                return Err(NodeError::Invalid(format!("a question has at most {QUERY_BYTES_MAX} bytes")));
            }
            let query = Query::new(&ask.query);
            let k = ask.k.clamp(1, K_MAX);
            let requester = premises.requester(&ask.caller)?;
            let own_stats = {
                let (premises, requester, query) = (premises.clone(), requester.clone(), query.clone());
                blocking(move || local_stats(&premises, &requester, &query)).await?
            };
            let is_local = ask.peers.whom.is_none();
            let results = if let Some(whom) = ask.peers.whom {
                let search = SearchPeers {
                    query: query.clone(),
                    whom,
                    asker: asker(&premises, &ask)?,
                    own_stats: own_stats.clone(),
                    k,
                    deadline: ask.deadline,
                };
                // The bridge answers by the deadline itself; the margin is for its own work.
                federation.ask(search, ask.deadline.plus_ms(1_000)).await?
            } else {
                PeerResults { stats: own_stats.clone(), peers: Vec::new() }
            };
            let found = {
                let premises = premises.clone();
                let local_documents = own_stats.n_docs;
                blocking(move || {
                    let asked = if is_local {
                        premises.meaning.ask(&query.text, &wholly_readable(&premises, &requester))
                    } else {
                        // Peers rank by words, under common statistics; a ranking of which one part knows more would not
                        // be that of one index.
                        None
                    };
                    let hits = match &asked {
                        Some(asked) => blended_hits(&premises, &requester, &query, &results.stats, asked, k)?,
                        None => local_hits(&premises, &requester, &query, &results.stats, k)?,
                    };
                    let model = asked.map(|asked| asked.model.embedder.id().to_string());
                    assemble(&premises, &query, hits, model, results, k, local_documents)
                })
                .await?
            };
            audit.ask(access(&premises, &ask.caller, &ask.query, &found), crate::DEADLINE).await?;
            Ok(found)
        })
    }
}

/// What peers are told of whom a question is for: no more than what matters to them.
fn asker(premises: &Premises, ask: &AssembleContext) -> Result<Asker, NodeError> {
    let purpose = ask.peers.purpose.clone();
    if purpose.as_ref().is_some_and(|purpose| purpose.len() > ASSERTION_WORD_BYTES_MAX) {
        return Err(NodeError::Invalid(format!("a purpose has at most {ASSERTION_WORD_BYTES_MAX} bytes")));
    }
    let requester = premises.requester(&ask.caller)?;
    Ok(Asker {
        person: ask.caller.person.clone(),
        departments: requester.departments.into_iter().filter(|d| d == premises.department()).collect(),
        role: if ask.caller.operator { "operator" } else { "member" },
        purpose,
    })
}

/// What the audit log says of a search: who, what, how much came back, and what stayed closed.
fn access(premises: &Premises, caller: &Caller, query: &str, found: &Found) -> RecordAccess {
    let closed: Vec<&str> = match premises.requester(caller) {
        Ok(requester) => {
            let set = premises.readable_set(&requester);
            let is_closed = |class: &Sensitivity| *set.access(*class) == Access::Closed;
            Sensitivity::ALL.into_iter().filter(is_closed).map(Sensitivity::as_str).collect()
        }
        Err(_) => Vec::new(),
    };
    RecordAccess {
        actor: caller.label(),
        action: "search".to_string(),
        subject: query.to_string(),
        outcome: "allowed".to_string(),
        detail: format!(
            "{} results, {} peers asked, partitions not opened: [{}]",
            found.evidence.len(),
            found.coverage.peers.len(),
            closed.join(", ")
        ),
    }
}

/// What is known of a result of this node's own beside the evidence.
struct Extras {
    factors: (Vec<u32>, u64),
    similarity: Option<Milli>,
    copies: Vec<CopyView>,
}

/// One ranking out of ours and the peers'.
fn assemble(
    premises: &Premises,
    query: &Query,
    local: Vec<LocalHit>,
    model: Option<String>,
    results: PeerResults,
    k: usize,
    local_documents: u64,
) -> Result<Found, NodeError> {
    let own = premises.node();
    let mut blocks = BTreeMap::new();
    let mut evidence: BTreeMap<cid::Cid, Evidence> = BTreeMap::new();
    let mut rankings: Vec<(NodeId, Vec<(cid::Cid, u64)>)> = Vec::new();
    // Among ourselves the order is that of the search, whatever it went by.
    let own_order: Vec<Ranked> = local
        .iter()
        .map(|hit| Ranked { chunk: hit.chunk_block.cid, score: hit.score, providers: [own].into() })
        .collect();
    let mut extras: BTreeMap<cid::Cid, Extras> = BTreeMap::new();

    rankings.push((own, local.iter().map(|hit| (hit.chunk_block.cid, hit.score)).collect()));
    for hit in local {
        let cid = hit.chunk_block.cid;
        extras.insert(cid, Extras { factors: hit.factors, similarity: hit.similarity, copies: hit.copies });
        blocks.insert(hit.source_block.cid, hit.source_block.bytes);
        blocks.insert(cid, hit.chunk_block.bytes);
        evidence.insert(
            cid,
            Evidence {
                cid,
                chunk: hit.chunk,
                uri: hit.uri,
                publisher: hit.publisher,
                score: hit.score,
                distance: 0,
                sensitivity: hit.sensitivity,
                caution: hit.caution,
                trust: hit.trust,
            },
        );
    }
    let mut coverage = Coverage { local_documents, peers: Vec::new(), complete: true, missing_could_change: false };
    let mut by_rank = BTreeMap::new();
    let is_alone = results.peers.is_empty();
    for mut peer in results.peers {
        let mut ranking = Vec::new();
        for hit in std::mem::take(&mut peer.hits) {
            // A peer that has not heard of a notice that we have must not bring the evidence back.
            let Some(caution) = admissible(premises, &hit)? else { continue };
            let cid = hit.chunk_block.cid;
            ranking.push((cid, hit.score));
            blocks.entry(hit.source_block.cid).or_insert(hit.source_block.bytes);
            blocks.entry(cid).or_insert(hit.chunk_block.bytes);
            let trust = premises.weight(&hit.org);
            evidence.entry(cid).or_insert(Evidence {
                cid,
                chunk: hit.chunk,
                uri: hit.source.uri,
                publisher: hit.source.publisher,
                score: hit.score,
                distance: 1,
                sensitivity: hit.sensitivity,
                caution,
                trust,
            });
        }
        peer.coverage.hits = ranking.len() as u64;
        coverage.complete &= matches!(peer.coverage.state.as_str(), "answered" | "fused_by_rank");
        coverage.peers.push(peer.coverage);
        if peer.by_rank {
            by_rank.insert(peer.node, ranking);
        } else {
            rankings.push((peer.node, ranking));
        }
    }
    coverage.missing_could_change = !coverage.complete;
    let merged = if is_alone { own_order } else { fuse(merge(rankings, k), &by_rank, k) };
    let ranked: Vec<Evidence> = merged.iter().filter_map(|r| evidence.remove(&r.chunk)).collect();
    let kept: std::collections::BTreeSet<cid::Cid> = ranked.iter().flat_map(|e| [e.cid, e.chunk.source]).collect();
    blocks.retain(|cid, _| kept.contains(cid));
    let (mut factors, mut similarity, mut copies) = (Vec::new(), Vec::new(), Vec::new());
    for e in &ranked {
        let extras = extras.remove(&e.cid).unwrap_or_else(|| Extras {
            factors: query.frequencies(&body_of(&e.chunk)),
            similarity: None,
            copies: Vec::new(),
        });
        factors.push(extras.factors);
        similarity.push(extras.similarity);
        copies.push(extras.copies);
    }
    let unconfirmed = unconfirmed_of(premises, ranked.iter().map(|e| e.publisher).collect())?;
    Ok(Found {
        unconfirmed,
        factors,
        providers: merged.iter().map(|r| r.providers.iter().copied().collect()).collect(),
        evidence: ranked,
        stats: results.stats,
        blocks,
        coverage,
        terms: query.terms.clone(),
        model,
        similarity,
        copies,
    })
}

/// Whether a peer's hit may be shown; with the notice that counsels caution, if one does.
fn admissible(premises: &Premises, hit: &PeerHit) -> Result<Option<Option<cid::Cid>>, NodeError> {
    unseal(premises, [&hit.chunk.source])?;
    let mut by_name = kept::standing_on(&premises.store, &hit.chunk.source)?;
    by_name.retain(|standing| standing.covers(&hit.chunk_block.cid));
    let mut by_text = kept::standing_by_text(&premises.store, &hit.source.fingerprint)?;
    if let Some(fingerprint) = plumb_core::lifecycle::fingerprint_of_chunk(&hit.chunk.text) {
        by_text.extend(kept::standing_by_text(&premises.store, &fingerprint)?);
    }
    if may_become_active(&by_name, &by_text, &hit.source.publisher, &hit.org).is_err() {
        return Ok(None);
    }
    Ok(Some(by_name.iter().find(|s| s.effect == Effect::Caution).map(|s| s.notice)))
}

impl Handler<ReadBlock> for Retrieval {
    type Result = ResponseFuture<Result<plumb_core::content::RawBlock, NodeError>>;

    fn handle(&mut self, ask: ReadBlock, _: &mut Context<Self>) -> Self::Result {
        let premises = self.premises.clone();
        Box::pin(async move {
            let requester = premises.requester(&ask.caller)?;
            blocking(move || {
                let absent = || NodeError::NotFound(ask.cid.to_string());
                let block = premises.store.block(&ask.cid)?.ok_or_else(absent)?;
                // A block is readable as what it is part of; what belongs to no unit is nobody's to read.
                let chunks = match block.decode::<Chunk>() {
                    Ok(_) => vec![ask.cid],
                    Err(_) => match block.decode::<SourceRecord>() {
                        Ok(_) => kept::source(&premises.store, &ask.cid)?.map(|row| row.chunks).unwrap_or_default(),
                        Err(_) => Vec::new(),
                    },
                };
                let mut readable = !chunks.is_empty();
                for chunk in &chunks {
                    let unit = plumb_storage::unit(&premises.store, chunk)?;
                    readable &=
                        unit.is_some_and(|u| plumb_core::boundary::readable(&requester, &u, premises.policy).is_ok());
                }
                if readable { Ok(block) } else { Err(absent()) }
            })
            .await
        })
    }
}
