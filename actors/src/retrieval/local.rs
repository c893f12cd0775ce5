//! Searching what this node holds, for whoever asks: a person here, or a peer.

use std::collections::{BTreeMap, BTreeSet};

use cid::Cid;
use plumb_core::boundary::{Access, Requester, Sensitivity, readable};
use plumb_core::content::{Chunk, RawBlock, SourceRecord};
use plumb_core::identity::NodeId;
use plumb_core::measure::Milli;
use plumb_core::notice::Effect;
use plumb_core::retrieval::{Query, TermStats, blend, bm25, body_of};
use plumb_core::vector::UNIT;
use plumb_storage::{Blocks, Candidate, SEARCH_LIMIT_MAX, unit};

use super::messages::CopyView;
use crate::error::NodeError;
use crate::kept;
use crate::meaning::Asked;
use crate::premises::Premises;

/// How many of the best of either side are blended. Scores are spread between the best and the last of them, so this number
/// is part of the ranking; it is that of the most results of a search.
const BLEND_DEPTH: usize = 100;

/// How many of the best by words are known when what only meaning found is given its score by words. What is not among
/// them has next to nothing of the question.
const SCORED_DEPTH: usize = 1000;

/// A result of this node's own index.
pub(crate) struct LocalHit {
    pub chunk_block: RawBlock,
    pub chunk: Chunk,
    pub source_block: RawBlock,
    pub uri: String,
    pub publisher: NodeId,
    pub score: u64,
    /// How often each term of the question occurs in it, and how many terms it has.
    pub factors: (Vec<u32>, u64),
    /// How near its vector is to that of the question, if meaning found it.
    pub similarity: Option<Milli>,
    /// Other readable chunks with the same text, which ranked behind it.
    pub copies: Vec<CopyView>,
    pub sensitivity: Sensitivity,
    pub caution: Option<Cid>,
    /// What its organisation's evidence weighs here, where that is not neutral.
    pub trust: Option<u8>,
}

/// What this node's collection says of a query's terms, as far as the requester may read all of a partition. The
/// hidden part of a partition that is readable in part would show in its statistics, so it is left out.
pub(crate) fn local_stats(premises: &Premises, requester: &Requester, query: &Query) -> Result<TermStats, NodeError> {
    Ok(premises.index.searcher().stats(&wholly_readable(premises, requester), &query.terms)?)
}

/// The partitions that the requester may read as a whole.
pub(crate) fn wholly_readable(premises: &Premises, requester: &Requester) -> Vec<Sensitivity> {
    let set = premises.readable_set(requester);
    Sensitivity::ALL.into_iter().filter(|class| *set.access(*class) == Access::Whole).collect()
}

/// The best chunks of this node that the requester may read, by their words, under the given statistics.
pub(crate) fn local_hits(
    premises: &Premises,
    requester: &Requester,
    query: &Query,
    stats: &TermStats,
    k: usize,
) -> Result<Vec<LocalHit>, NodeError> {
    // Whether the words of a phrase follow each other only the text can tell, so more is looked at until enough has it.
    let mut limit = k;
    loop {
        let (candidates, is_all) = candidates(premises, requester, query, stats, limit)?;
        let ranked = candidates.into_iter().map(|candidate| (candidate.chunk, Some(candidate), None));
        let hits = hits_of(premises, requester, query, stats, ranked, k)?;
        if query.phrases.is_empty() || hits.len() == k || is_all || limit >= SEARCH_LIMIT_MAX {
            return Ok(hits);
        }
        limit = limit.saturating_mul(8).min(SEARCH_LIMIT_MAX);
    }
}

/// The best chunks by words and meaning together: the best of either side, blended as it was measured for the model.
pub(crate) fn blended_hits(
    premises: &Premises,
    requester: &Requester,
    query: &Query,
    stats: &TermStats,
    asked: &Asked,
    k: usize,
) -> Result<Vec<LocalHit>, NodeError> {
    let (found, _) = candidates(premises, requester, query, stats, SCORED_DEPTH)?;
    let scored: Vec<(Cid, u64)> = found.iter().map(|found| (found.chunk, found.score)).collect();
    let (mut lexical, rest) =
        (scored[..scored.len().min(BLEND_DEPTH)].to_vec(), scored.get(BLEND_DEPTH..).unwrap_or(&[]));
    let set = premises.readable_set(requester);
    let mut dense = Vec::new();
    for class in Sensitivity::ALL {
        dense.extend(asked.model.index.nearest(class, set.access(class), &asked.question, BLEND_DEPTH)?);
    }
    dense.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    dense.truncate(BLEND_DEPTH);
    // What only one side found has a score of the other too, and is not held to have none.
    let by_meaning: BTreeSet<Cid> = dense.iter().map(|(chunk, _)| *chunk).collect();
    let by_words: BTreeSet<Cid> = lexical.iter().map(|(chunk, _)| *chunk).collect();
    lexical.extend(rest.iter().filter(|(chunk, _)| by_meaning.contains(chunk)));
    let mut only_by_words = Vec::new();
    for class in Sensitivity::ALL {
        let chunks = by_words.difference(&by_meaning).copied();
        only_by_words.extend(asked.model.index.dots(class, set.access(class), &asked.question, chunks)?);
    }
    only_by_words.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    dense.extend(only_by_words);
    let blended = blend(&lexical, &dense, asked.mix(), usize::MAX);
    let mut counted: BTreeMap<Cid, Candidate> = found.into_iter().map(|found| (found.chunk, found)).collect();
    let ranked = blended.into_iter().map(|b| (b.chunk, counted.remove(&b.chunk), b.dense));
    hits_of(premises, requester, query, stats, ranked, k)
}

/// The best candidates by their words, and whether there are no more.
fn candidates(
    premises: &Premises,
    requester: &Requester,
    query: &Query,
    stats: &TermStats,
    limit: usize,
) -> Result<(Vec<Candidate>, bool), NodeError> {
    let set = premises.readable_set(requester);
    let searcher = premises.index.searcher();
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
    candidates.truncate(limit);
    Ok((candidates, is_all))
}

/// The first `k` of these that are results. What says the same, word for word, is one result.
fn hits_of(
    premises: &Premises,
    requester: &Requester,
    query: &Query,
    stats: &TermStats,
    ranked: impl Iterator<Item = (Cid, Option<Candidate>, Option<i32>)>,
    k: usize,
) -> Result<Vec<LocalHit>, NodeError> {
    let mut hits: Vec<LocalHit> = Vec::new();
    for (chunk, candidate, dot) in ranked {
        if hits.len() == k {
            break;
        }
        let Some(mut hit) = hit_of(premises, requester, query, stats, &chunk, candidate)? else { continue };
        hit.similarity = dot.map(similarity);
        match hits.iter_mut().find(|earlier| earlier.chunk.text == hit.chunk.text) {
            Some(earlier) => earlier.copies.push(hit.copy()),
            None => hits.push(hit),
        }
    }
    Ok(hits)
}

/// A dot product of unit vectors as what people read; opposites are as far as strangers.
fn similarity(dot: i32) -> Milli {
    let unit = u64::from(UNIT.unsigned_abs());
    Milli::from_ratio(u64::try_from(dot).unwrap_or(0), unit * unit)
}

/// The candidate as a result, if it is one: the index may be a moment behind the store, and the store decides (the second
/// lock).
fn hit_of(
    premises: &Premises,
    requester: &Requester,
    query: &Query,
    stats: &TermStats,
    chunk: &Cid,
    candidate: Option<Candidate>,
) -> Result<Option<LocalHit>, NodeError> {
    let Some(unit) = unit(&premises.store, chunk)? else { return Ok(None) };
    if !unit.is_active() || readable(requester, &unit, premises.policy).is_err() {
        return Ok(None);
    }
    let missing = |cid: &Cid| NodeError::Damaged(format!("block {cid} is missing"));
    let chunk_block = premises.store.block(chunk)?.ok_or_else(|| missing(chunk))?;
    let chunk: Chunk = chunk_block.decode()?;
    if !query.phrases.is_empty() && !query.has_phrases(&body_of(&chunk)) {
        return Ok(None);
    }
    let source_block = premises.store.block(&unit.source)?.ok_or_else(|| missing(&unit.source))?;
    let record: SourceRecord = source_block.decode()?;
    let caution = kept::standing_on(&premises.store, &unit.source)?
        .into_iter()
        .find(|s| matches!(s.effect, Effect::Caution) && s.covers(&chunk_block.cid))
        .map(|s| s.notice);
    // The index has counted the words already. What only its meaning found has few of them, or none.
    let (score, factors) = match candidate {
        Some(found) => (found.score, (found.tf, found.n_terms)),
        None => {
            let factors = query.frequencies(&body_of(&chunk));
            (bm25(stats, &factors.0, factors.1), factors)
        }
    };
    Ok(Some(LocalHit {
        score,
        factors,
        chunk,
        chunk_block,
        source_block,
        uri: record.uri,
        publisher: record.publisher,
        similarity: None,
        copies: Vec::new(),
        sensitivity: unit.sensitivity,
        caution,
        trust: premises.weight(&unit.origin.org),
    }))
}

impl LocalHit {
    fn copy(&self) -> CopyView {
        CopyView {
            chunk: self.chunk_block.cid.to_string(),
            source: self.chunk.source.to_string(),
            uri: self.uri.clone(),
            title: self.chunk.title.clone(),
        }
    }
}
