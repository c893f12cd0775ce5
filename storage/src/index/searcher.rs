//! Looking things up: statistics, candidates, and what is there at all.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use cid::Cid;
use plumb_core::boundary::{Access, Sensitivity};
use plumb_core::retrieval::TermStats;
use tantivy::TantivyError;

use super::error::IndexError;
use super::fields::CHUNK;
use super::ranking;
use super::view::{Snapshot, View};
use crate::outbox::Position;

/// Most candidates that one search gives. Fusion and composition look at a few dozen.
pub const SEARCH_LIMIT_MAX: usize = 10_000;

/// A chunk that a search found, with all that its score is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The chunk.
    pub chunk: Cid,
    /// How often each of the terms occurs in it.
    pub tf: Vec<u32>,
    /// How many words it has.
    pub n_terms: u64,
    /// Its score, by `core::retrieval::bm25`.
    pub score: u64,
}

/// The index at one moment. Cheap to clone; it stays as it is while changes go on, and as long as it lives its files
/// stay on the disk.
#[derive(Clone)]
pub struct Searcher {
    snapshot: Arc<Snapshot>,
}

impl Searcher {
    pub(super) fn new(snapshot: Arc<Snapshot>) -> Searcher {
        Searcher { snapshot }
    }

    /// Up to here every change of the store can be found.
    pub fn position(&self) -> Position {
        self.snapshot.position
    }

    /// Live documents of a partition.
    pub fn n_docs(&self, partition: Sensitivity) -> u64 {
        self.view(partition).n_docs()
    }

    /// What these partitions together say of these terms, exactly: deleted documents do not count.
    ///
    /// **Relies on:** the requester may read all of each partition; statistics of a partition that is readable in
    /// part would tell of the rest.
    pub fn stats(&self, partitions: &[Sensitivity], terms: &[String]) -> Result<TermStats, IndexError> {
        let mut stats = TermStats::empty(terms.len());
        for class in partitions {
            let view = self.view(*class);
            let doc_freq = terms.iter().map(|term| view.doc_freq(term)).collect::<Result<_, _>>();
            let doc_freq = doc_freq.map_err(|source| IndexError::Read { partition: *class, source })?;
            stats.merge(&TermStats { n_docs: view.n_docs(), n_terms: view.n_terms(), doc_freq }).map_err(refused)?;
        }
        Ok(stats)
    }

    /// Every word of a partition with the live documents that hold it, and the words of all of them together. It reads
    /// the whole dictionary, so it is for summaries and not for questions.
    pub fn doc_freqs(&self, partition: Sensitivity) -> Result<(u64, BTreeMap<String, u64>), IndexError> {
        let view = self.view(partition);
        let counts = view.doc_freqs().map_err(|source| IndexError::Read { partition, source })?;
        Ok((view.n_terms(), counts))
    }

    /// The best chunks of a partition that the access admits: highest score first, ties by CID, at most `limit` (and
    /// at most [`SEARCH_LIMIT_MAX`]). A chunk without any of the terms, or whose score is zero, is none.
    ///
    /// The statistics may be those of more than this index; then the scores are those of one central index over all of
    /// it.
    pub fn candidates(
        &self,
        partition: Sensitivity,
        access: &Access,
        terms: &[String],
        stats: &TermStats,
        limit: usize,
    ) -> Result<Vec<Candidate>, IndexError> {
        self.candidates_with(partition, access, terms, &BTreeSet::new(), stats, limit)
    }

    /// As [`Searcher::candidates`], of the chunks that have every one of the `required` words somewhere: those of the
    /// phrases of a question. Whether they follow each other has to be looked for in the text.
    pub fn candidates_with(
        &self,
        partition: Sensitivity,
        access: &Access,
        terms: &[String],
        required: &BTreeSet<&str>,
        stats: &TermStats,
        limit: usize,
    ) -> Result<Vec<Candidate>, IndexError> {
        stats.check(terms.len()).map_err(refused)?;
        ranking::best(self.view(partition), access, terms, required, stats, limit.min(SEARCH_LIMIT_MAX))
            .map_err(|source| IndexError::Read { partition, source })
    }

    /// Every chunk that can be found in a partition, in no order.
    pub fn ids(&self, partition: Sensitivity) -> impl Iterator<Item = Result<Cid, IndexError>> + '_ {
        let view = self.view(partition);
        let failed = move |source| IndexError::Read { partition, source };
        view.searcher.segment_readers().iter().flat_map(move |segment| {
            let cids: Box<dyn Iterator<Item = _>> = match segment.fast_fields().bytes(CHUNK) {
                Err(error) => Box::new(std::iter::once(Err(failed(error)))),
                // A segment without a single document has no column.
                Ok(None) => Box::new(std::iter::empty()),
                Ok(Some(column)) => {
                    Box::new(segment.doc_ids_alive().map(move |doc| ranking::cid_of(&column, doc).map_err(failed)))
                }
            };
            cids
        })
    }

    /// Whether a chunk can be found in a partition.
    pub fn contains(&self, partition: Sensitivity, chunk: &Cid) -> Result<bool, IndexError> {
        let view = self.view(partition);
        let look = || -> Result<bool, TantivyError> {
            let term = view.fields.chunk_term(chunk);
            for segment in view.searcher.segment_readers() {
                let inverted = segment.inverted_index(view.fields.chunk)?;
                let basic = tantivy::schema::IndexRecordOption::Basic;
                if let Some(postings) = inverted.read_postings(&term, basic)? {
                    let live = match segment.alive_bitset() {
                        None => postings.doc_freq(),
                        Some(alive) => postings.doc_freq_given_deletes(alive),
                    };
                    if live > 0 {
                        return Ok(true);
                    }
                }
            }
            Ok(false)
        };
        look().map_err(|source| IndexError::Read { partition, source })
    }

    fn view(&self, partition: Sensitivity) -> &View {
        &self.snapshot.views[partition as usize]
    }
}

fn refused(error: impl std::fmt::Display) -> IndexError {
    IndexError::Stats { reason: error.to_string() }
}
