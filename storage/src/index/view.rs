//! A view: one partition at one moment, with what was already counted of it.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use tantivy::index::SegmentId;
use tantivy::schema::IndexRecordOption;
use tantivy::{SegmentReader, TantivyError};

use super::fields::{Fields, N_TERMS};
use crate::outbox::Position;

/// Terms whose frequency is remembered. Counting costs something only where documents were deleted.
const COUNTED_TERMS_MAX: usize = 4096;

/// A segment as it stands: deletions change it, and give it another second part.
type SegmentState = (SegmentId, Option<u64>);

/// Four partitions at one position.
pub(super) struct Snapshot {
    pub position: Position,
    /// By `Sensitivity as usize`.
    pub views: [Arc<View>; 4],
}

pub(super) struct View {
    pub fields: Fields,
    pub searcher: tantivy::Searcher,
    /// Terms of all live documents, for each segment.
    totals: HashMap<SegmentState, u64>,
    /// In how many live documents a term occurs.
    doc_freqs: Mutex<HashMap<String, u64>>,
}

impl View {
    /// The view of a searcher. If nothing has changed it is the one before; if something has, the segments that are
    /// still the same are not counted again.
    pub(super) fn new(searcher: tantivy::Searcher, before: Option<&Arc<View>>) -> Result<Arc<View>, TantivyError> {
        if let Some(view) = before
            && view.searcher.generation().segments() == searcher.generation().segments()
        {
            return Ok(Arc::clone(view));
        }
        let mut totals = HashMap::new();
        for segment in searcher.segment_readers() {
            let state = state_of(segment);
            let total = match before.and_then(|view| view.totals.get(&state)) {
                Some(total) => *total,
                None => count_terms(segment)?,
            };
            totals.insert(state, total);
        }
        let (_, fields) = Fields::new();
        Ok(Arc::new(View { fields, searcher, totals, doc_freqs: Mutex::default() }))
    }

    /// Live documents.
    pub(super) fn n_docs(&self) -> u64 {
        self.searcher.num_docs()
    }

    /// Terms of all live documents.
    pub(super) fn n_terms(&self) -> u64 {
        self.totals.values().sum()
    }

    /// In how many live documents the term occurs.
    pub(super) fn doc_freq(&self, term: &str) -> Result<u64, TantivyError> {
        if let Some(known) = self.doc_freqs.lock().unwrap_or_else(PoisonError::into_inner).get(term) {
            return Ok(*known);
        }
        let tantivy_term = self.fields.text_term(term);
        let mut count = 0;
        for segment in self.searcher.segment_readers() {
            let inverted = segment.inverted_index(tantivy_term.field())?;
            let Some(info) = inverted.get_term_info(&tantivy_term)? else { continue };
            count += match segment.alive_bitset() {
                None => u64::from(info.doc_freq),
                // The dictionary counts deleted documents too.
                Some(alive) => {
                    let postings = inverted.read_postings_from_terminfo(&info, IndexRecordOption::Basic)?;
                    u64::from(postings.doc_freq_given_deletes(alive))
                }
            };
        }
        let mut known = self.doc_freqs.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() == COUNTED_TERMS_MAX {
            known.clear();
        }
        known.insert(term.to_string(), count);
        Ok(count)
    }

    /// Every word, with the live documents that hold it. It goes over the whole dictionary.
    pub(super) fn doc_freqs(&self) -> Result<BTreeMap<String, u64>, TantivyError> {
        let mut counts = BTreeMap::new();
        for segment in self.searcher.segment_readers() {
            let inverted = segment.inverted_index(self.fields.body)?;
            let mut terms = inverted.terms().stream()?;
            while let Some((term, info)) = terms.next() {
                let live = match segment.alive_bitset() {
                    None => u64::from(info.doc_freq),
                    Some(alive) => {
                        let postings = inverted.read_postings_from_terminfo(info, IndexRecordOption::Basic)?;
                        u64::from(postings.doc_freq_given_deletes(alive))
                    }
                };
                if live > 0 {
                    // Terms are written from text, so the bytes are text.
                    *counts.entry(String::from_utf8_lossy(term).into_owned()).or_insert(0) += live;
                }
            }
        }
        Ok(counts)
    }
}

fn state_of(segment: &SegmentReader) -> SegmentState {
    (segment.segment_id(), segment.delete_opstamp())
}

/// Sums the exact lengths. tantivy's own total is an estimate after a merge that dropped deleted documents.
fn count_terms(segment: &SegmentReader) -> Result<u64, TantivyError> {
    let n_terms = segment.fast_fields().u64(N_TERMS)?;
    Ok(segment.doc_ids_alive().filter_map(|doc| n_terms.first(doc)).sum())
}
