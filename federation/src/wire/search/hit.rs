//! A hit of another node: the evidence itself, so that nothing about it has to be believed.

use std::collections::BTreeSet;

use plumb_core::boundary::Sensitivity;
use plumb_core::content::{CHUNK_BLOCK_BYTES_MAX, Chunk, RawBlock, SourceRecord};
use plumb_core::retrieval::{Query, TermStats, body_of};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;

use super::super::scan::{Limits, scan};
use super::super::{WireError, field};

/// Largest block of a source record, in bytes: an address, a title, some names and hashes.
pub const SOURCE_BLOCK_BYTES_MAX: usize = 16 * 1024;

/// Most items of a chunk's or a source's block: some twenty fields, and the headings above a chunk.
const BLOCK_ITEMS_MAX: usize = 512;

/// A chunk with its source record. Both are named by the hash of their bytes, and the chunk is one of that source.
///
/// **The score is not checked yet.**
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hit {
    score: u64,
    sensitivity: Sensitivity,
    chunk: Chunk,
    chunk_block: RawBlock,
    source: SourceRecord,
    source_block: RawBlock,
}

impl Hit {
    /// Puts a hit together, and checks that the chunk is one of the source.
    pub fn new(
        score: u64,
        sensitivity: Sensitivity,
        chunk_block: RawBlock,
        source_block: RawBlock,
    ) -> Result<Hit, WireError> {
        let chunk: Chunk = value_of(&chunk_block, CHUNK_BLOCK_BYTES_MAX, "bytes of chunk")?;
        let source: SourceRecord = value_of(&source_block, SOURCE_BLOCK_BYTES_MAX, "bytes of source")?;
        if chunk.source != source_block.cid {
            return Err(WireError::Source(chunk_block.cid));
        }
        if chunk.end.checked_sub(chunk.start) != Some(chunk.text.len() as u64) {
            return Err(WireError::Contradiction("the offsets of a chunk are not those of its text"));
        }
        Ok(Hit { score, sensitivity, chunk, chunk_block, source, source_block })
    }

    /// Its score in millionths of a BM25 unit, as its node says.
    pub fn score(&self) -> u64 {
        self.score
    }

    /// Its label. It flows into whatever is made of the hit.
    pub fn sensitivity(&self) -> Sensitivity {
        self.sensitivity
    }

    /// The chunk.
    pub fn chunk(&self) -> &Chunk {
        &self.chunk
    }

    /// The block of the chunk, which names it.
    pub fn chunk_block(&self) -> &RawBlock {
        &self.chunk_block
    }

    /// The source of the chunk.
    pub fn source(&self) -> &SourceRecord {
        &self.source
    }

    /// The block of the source, which names it.
    pub fn source_block(&self) -> &RawBlock {
        &self.source_block
    }
}

fn value_of<T: DeserializeOwned>(block: &RawBlock, max: usize, what: &'static str) -> Result<T, WireError> {
    field::at_most(block.bytes.len(), max, what)?;
    let limits = Limits { bytes: max, items: BLOCK_ITEMS_MAX };
    scan(&block.bytes, limits)?;
    block.decode().map_err(WireError::Block)
}

/// Checks an answer to a question: no more than `k` hits, each once, and each scores what it is said to score.
pub fn check_hits(hits: &[Hit], query: &Query, stats: &TermStats, k: u32) -> Result<(), WireError> {
    field::at_most(hits.len(), usize::try_from(k).unwrap_or(usize::MAX), "hits")?;
    let mut seen = BTreeSet::new();
    for hit in hits {
        let chunk = hit.chunk_block.cid;
        if !seen.insert(chunk) {
            return Err(WireError::Unasked(chunk));
        }
        let recomputed = query.score(&hit.chunk, stats);
        if hit.score != recomputed {
            return Err(WireError::Score { chunk, stated: hit.score, recomputed });
        }
    }
    Ok(())
}

/// The hits of a node that ranks by statistics of its own: in its order, each with the score that it has under ours. More
/// than `k`, one twice, or one without any term of the question is refused; so a node can order its hits as it likes,
/// and show nothing that is none.
pub fn rescore(hits: Vec<Hit>, query: &Query, stats: &TermStats, k: u32) -> Result<Vec<Hit>, WireError> {
    let rescored: Vec<Hit> = hits.into_iter().map(|hit| Hit { score: query.score(&hit.chunk, stats), ..hit }).collect();
    check_hits(&rescored, query, stats, k)?;
    match rescored.iter().find(|hit| query.frequencies(&body_of(&hit.chunk)).0.iter().all(|tf| *tf == 0)) {
        Some(none) => Err(WireError::Unasked(none.chunk_block.cid)),
        None => Ok(rescored),
    }
}

#[derive(Serialize, Deserialize)]
pub(super) struct HitV1 {
    score: u64,
    sensitivity: String,
    chunk: ByteBuf,
    source: ByteBuf,
}

impl From<&Hit> for HitV1 {
    fn from(hit: &Hit) -> HitV1 {
        HitV1 {
            score: hit.score,
            sensitivity: hit.sensitivity.to_string(),
            chunk: ByteBuf::from(hit.chunk_block.bytes.clone()),
            source: ByteBuf::from(hit.source_block.bytes.clone()),
        }
    }
}

impl TryFrom<HitV1> for Hit {
    type Error = WireError;
    fn try_from(hit: HitV1) -> Result<Hit, WireError> {
        field::at_most(hit.chunk.len(), CHUNK_BLOCK_BYTES_MAX, "bytes of chunk")?;
        field::at_most(hit.source.len(), SOURCE_BLOCK_BYTES_MAX, "bytes of source")?;
        let chunk = RawBlock::dag_cbor(hit.chunk.into_vec());
        let source = RawBlock::dag_cbor(hit.source.into_vec());
        let sensitivity =
            hit.sensitivity.parse().map_err(|_| WireError::Contradiction("a hit has a label that is not known"))?;
        Hit::new(hit.score, sensitivity, chunk, source)
    }
}
