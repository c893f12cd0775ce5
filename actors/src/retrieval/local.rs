//! Searching what this node holds, for whoever asks: a person here, or a peer.

use cid::Cid;
use plumb_core::boundary::{Access, Requester, Sensitivity, readable};
use plumb_core::content::{Chunk, RawBlock, SourceRecord};
use plumb_core::identity::NodeId;
use plumb_core::notice::Effect;
use plumb_core::retrieval::{Query, TermStats, body_of};
use plumb_storage::{Blocks, Candidate, SEARCH_LIMIT_MAX, unit};

use crate::error::NodeError;
use crate::kept;
use crate::premises::Premises;

/// A result of this node's own index.
pub(crate) struct LocalHit {
    pub chunk_block: RawBlock,
    pub chunk: Chunk,
    pub source_block: RawBlock,
    pub uri: String,
    pub publisher: NodeId,
    pub score: u64,
    pub sensitivity: Sensitivity,
    pub caution: Option<Cid>,
    /// What its organisation's evidence weighs here, where that is not neutral.
    pub trust: Option<u8>,
}

/// What this node's collection says of a query's terms, as far as the requester may read all of a partition. The
/// hidden part of a partition that is readable in part would show in its statistics, so it is left out.
pub(crate) fn local_stats(premises: &Premises, requester: &Requester, query: &Query) -> Result<TermStats, NodeError> {
    let set = premises.readable_set(requester);
    let whole: Vec<Sensitivity> =
        Sensitivity::ALL.into_iter().filter(|class| *set.access(*class) == Access::Whole).collect();
    Ok(premises.index.searcher().stats(&whole, &query.terms)?)
}

/// The best chunks of this node that the requester may read, under the given statistics.
pub(crate) fn local_hits(
    premises: &Premises,
    requester: &Requester,
    query: &Query,
    stats: &TermStats,
    k: usize,
) -> Result<Vec<LocalHit>, NodeError> {
    let set = premises.readable_set(requester);
    let searcher = premises.index.searcher();
    // Whether the words of a phrase follow each other only the text can tell, so more is looked at until enough has it.
    let mut limit = k;
    loop {
        let mut candidates = Vec::new();
        let mut is_all = true;
        for class in Sensitivity::ALL {
            let access = set.access(class);
            if *access != Access::Closed {
                let found = searcher.candidates_with(class, access, &query.terms, &query.required(), stats, limit)?;
                is_all &= found.len() < limit;
                candidates.extend(found);
            }
        }
        candidates.sort_by(|a, b| b.score.cmp(&a.score).then_with(|| a.chunk.cmp(&b.chunk)));
        let mut hits = Vec::new();
        for candidate in &candidates {
            if hits.len() == k {
                break;
            }
            hits.extend(hit_of(premises, requester, query, candidate)?);
        }
        if query.phrases.is_empty() || hits.len() == k || is_all || limit >= SEARCH_LIMIT_MAX {
            return Ok(hits);
        }
        limit = limit.saturating_mul(8).min(SEARCH_LIMIT_MAX);
    }
}

/// The candidate as a result, if it is one: the index may be a moment behind the store, and the store decides (the second
/// lock).
fn hit_of(
    premises: &Premises,
    requester: &Requester,
    query: &Query,
    candidate: &Candidate,
) -> Result<Option<LocalHit>, NodeError> {
    let Some(unit) = unit(&premises.store, &candidate.chunk)? else { return Ok(None) };
    if !unit.is_active() || readable(requester, &unit, premises.policy).is_err() {
        return Ok(None);
    }
    let missing = |cid: &Cid| NodeError::Damaged(format!("block {cid} is missing"));
    let chunk_block = premises.store.block(&candidate.chunk)?.ok_or_else(|| missing(&candidate.chunk))?;
    let chunk: Chunk = chunk_block.decode()?;
    if !query.has_phrases(&body_of(&chunk)) {
        return Ok(None);
    }
    let source_block = premises.store.block(&unit.source)?.ok_or_else(|| missing(&unit.source))?;
    let record: SourceRecord = source_block.decode()?;
    let caution = kept::standing_on(&premises.store, &unit.source)?
        .into_iter()
        .find(|s| matches!(s.effect, Effect::Caution) && s.covers(&candidate.chunk))
        .map(|s| s.notice);
    Ok(Some(LocalHit {
        chunk,
        chunk_block,
        source_block,
        uri: record.uri,
        publisher: record.publisher,
        score: candidate.score,
        sensitivity: unit.sensitivity,
        caution,
        trust: premises.weight(&unit.origin.org),
    }))
}
