//! The best documents by the exact integer score, found without scoring every one.
//!
//! tantivy walks the postings with block-max WAND and offers each document whose own score (32-bit floats, rounded
//! lengths) exceeds a threshold that we set. For each offer we read the exact term frequencies and length, compute the
//! score of `core::retrieval`, and keep the best. The threshold is chosen such that whatever tantivy passes over is
//! certainly worse than the worst that we keep; ties are never passed over, since they are decided by CID.
//!
//! Compounds (`retrieval::is_word`) are not in what tantivy walks: they do not count towards a length, so its bounds
//! would not hold for them. The documents that hold one of the question's compounds are all scored first; they are few,
//! since a compound is rarer than any of its words. For every other document the score is that of its words.
//!
//! # Why nothing is lost
//!
//! For one document write *E* for its exact score, *T* for tantivy's, and *B* for the bound by which tantivy passed over
//! its block. With the same statistics on both sides:
//!
//! 1. **E ≤ T up to float noise.** tantivy rounds a document's length *down* to a representable field norm, and the
//!    score falls with the length; the integer score truncates in every step, so it lies below the real one.
//! 2. **T ≤ ρ·B.** A block's bound is the score of the document that is best *under the segment's own average length
//!    A*, while we score under the statistics' average *A′* (tantivy's `block_max_score` warns of this). With
//!    `n(l, A) = k₁(1 − b + b·l/A)` the score is `w / (1 + n/tf)`. Going from *A* to *A′* multiplies every `n` by a factor
//!    between `min(1, A/A′)` and `max(1, A/A′)`, so two documents' quotients `n/tf` change order by at most the quotient
//!    of these two, `ρ = max(A/A′, A′/A)`, and so do the scores.
//! 3. **The bound of a whole list** (`max_score`) is the score of an endlessly long document of one word repeated. As a
//!    term occurs at most as often as there are terms, no *E* exceeds it.
//! 4. **Float noise.** A score of *n* terms is made of about *n* + 8 operations in 32-bit arithmetic, each off by a
//!    relative 6·10⁻⁸; [`NOISE_PER_OPERATION`] allows thirty times that. Where nearly every document holds a term,
//!    `ln(1 + x)` loses relative precision but is off by at most 2·10⁻⁷, which makes less than half a millionth of a
//!    score; [`SLACK_MICRO`] allows a whole one for each term.
//!
//! So `E ≤ ρ·(1 + noise)·10⁶·B + slack`, and the threshold `(worst kept − 1 − slack) / (ρ·(1 + noise)·10⁶)` is safe.
//! The property tests hold this against scoring everything.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use cid::Cid;
use plumb_core::boundary::{Access, Clause};
use plumb_core::retrieval::{TermStats, Weights};
use tantivy::columnar::BytesColumn;
use tantivy::postings::{Postings, SegmentPostings};
use tantivy::query::{
    Bm25StatisticsProvider, BooleanQuery, ConstScoreQuery, EnableScoring, Occur, Query, TermQuery, TermSetQuery,
};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{DocId, DocSet, Score, SegmentReader, TERMINATED, TantivyError, Term};

use super::fields::{CHUNK, Fields, N_TERMS};
use super::searcher::Candidate;
use super::view::View;

/// Relative error allowed to each of tantivy's operations on floats.
const NOISE_PER_OPERATION: f64 = 2e-6;
/// Absolute error allowed for each term, in millionths.
const SLACK_MICRO: f64 = 1.0;
/// Terms up to which they are looked up one by one. A set of terms builds an automaton first, which takes a fifth of a
/// millisecond and walks the dictionary; it is for the many.
const UNION_TERMS_MAX: usize = 64;
/// Offered without any condition.
const EVERYTHING: Score = Score::MIN;

pub(super) fn best(
    view: &View,
    access: &Access,
    terms: &[String],
    required: &BTreeSet<&str>,
    stats: &TermStats,
    limit: usize,
) -> Result<Vec<Candidate>, TantivyError> {
    let mut conditions: Vec<Box<dyn Query>> = match access {
        Access::Closed => return Ok(Vec::new()),
        Access::Part(clause) => match clause_query(&view.fields, clause) {
            Some(query) => vec![query],
            None => return Ok(Vec::new()),
        },
        Access::Whole => Vec::new(),
    };
    conditions.extend(required.iter().map(|word| one_of(vec![view.fields.text_term(word)])));
    if terms.is_empty() || limit == 0 {
        return Ok(Vec::new());
    }
    let tantivy_terms: Vec<Term> = terms.iter().map(|term| view.fields.text_term(term)).collect();
    let (words, compounds): (Vec<Term>, Vec<Term>) =
        tantivy_terms.iter().cloned().partition(|term| term.field() == view.fields.body);
    let given = Given::new(stats, &tantivy_terms);
    let any_word: Box<dyn Query> = Box::new(BooleanQuery::union(
        words
            .into_iter()
            .map(|t| Box::new(TermQuery::new(t, IndexRecordOption::WithFreqs)) as Box<dyn Query>)
            .collect(),
    ));
    let by_words = on_conditions(any_word, &conditions)
        .weight(EnableScoring::enabled_from_statistics_provider(&given, &view.searcher))?;
    let by_compounds = match compounds.is_empty() {
        true => None,
        false => Some(
            on_conditions(one_of(compounds), &conditions)
                .weight(EnableScoring::disabled_from_searcher(&view.searcher))?,
        ),
    };

    let weights = Weights::new(stats);
    let mut top = Top { stats, limit, scores: BinaryHeap::new(), can_prune: given.can_prune };
    let mut kept = Vec::new();
    for segment in view.searcher.segment_readers() {
        let Some(mut reading) = Reading::of(segment, &view.fields, &tantivy_terms)? else { continue };
        let mut best_here = BestHere { limit, kept: BinaryHeap::new() };
        let is_alive = |doc| segment.alive_bitset().is_none_or(|alive| alive.is_alive(doc));
        // In ascending order, as tantivy gives them.
        let mut with_compounds: Vec<DocId> = Vec::new();
        if let Some(by_compounds) = &by_compounds {
            by_compounds.for_each_no_score(segment, &mut |docs| with_compounds.extend_from_slice(docs))?;
            let mut reading = Reading::of(segment, &view.fields, &tantivy_terms)?;
            for doc in with_compounds.iter().copied().filter(|doc| is_alive(*doc)) {
                if let Some(reading) = &mut reading {
                    best_here.consider(reading.read(doc)?, &weights, &mut top);
                }
            }
        }
        let mut failed = None;
        let rho = reading.rho(stats);
        by_words.for_each_pruning(top.threshold(rho), segment, &mut |doc, score| {
            let worth_a_look = failed.is_none()
                && is_alive(doc)
                && top.could_enter(score)
                && with_compounds.binary_search(&doc).is_err();
            if worth_a_look {
                match reading.read(doc) {
                    Ok(read) => best_here.consider(read, &weights, &mut top),
                    Err(error) => failed = Some(error),
                }
            }
            top.threshold(rho)
        })?;
        if let Some(error) = failed {
            return Err(error);
        }
        kept.extend(best_here.kept.into_iter().map(|Reverse(kept)| (kept, reading.chunks.clone())));
    }
    // What was kept early may have been surpassed since; only what is left has its CID read.
    let worst = top.worst();
    let mut candidates = kept
        .into_iter()
        .filter(|(kept, _)| kept.score >= worst)
        .map(|(kept, chunks)| {
            let chunk = cid_at(&chunks, kept.chunk_ord.0)?;
            Ok(Candidate { chunk, tf: kept.tf, n_terms: kept.n_terms, score: kept.score })
        })
        .collect::<Result<Vec<_>, TantivyError>>()?;
    candidates.sort_by(|a, b| b.score.cmp(&a.score).then_with(|| a.chunk.to_bytes().cmp(&b.chunk.to_bytes())));
    candidates.truncate(limit);
    Ok(candidates)
}

/// The clause as a query; nothing if it admits nothing.
fn clause_query(fields: &Fields, clause: &Clause) -> Option<Box<dyn Query>> {
    let mut terms: Vec<Term> = Vec::new();
    terms.extend(clause.scopes.iter().map(|e| fields.entity_term(fields.scope, e)));
    terms.extend(clause.departments.iter().map(|e| fields.entity_term(fields.department, e)));
    terms.extend(clause.creator.iter().map(|e| fields.entity_term(fields.creator, e)));
    terms.extend(clause.chunks.iter().map(|c| fields.chunk_term(c)));
    (!terms.is_empty()).then(|| one_of(terms))
}

/// Documents with any of these terms, of which there is one at least; it scores nothing.
fn one_of(terms: Vec<Term>) -> Box<dyn Query> {
    if terms.len() > UNION_TERMS_MAX {
        return Box::new(TermSetQuery::new(terms));
    }
    let mut each: Vec<Box<dyn Query>> = Vec::new();
    for term in terms {
        each.push(Box::new(TermQuery::new(term, IndexRecordOption::Basic)));
    }
    match each.pop() {
        Some(only) if each.is_empty() => only,
        last => Box::new(BooleanQuery::union(each.into_iter().chain(last).collect())),
    }
}

/// The query where every condition holds. A condition admits and adds nothing to the score.
fn on_conditions(query: Box<dyn Query>, conditions: &[Box<dyn Query>]) -> Box<dyn Query> {
    if conditions.is_empty() {
        return query;
    }
    let admitting = conditions.iter().map(|condition| {
        let unscored: Box<dyn Query> = Box::new(ConstScoreQuery::new(condition.box_clone(), 0.0));
        (Occur::Must, unscored)
    });
    Box::new(BooleanQuery::new(std::iter::once((Occur::Must, query)).chain(admitting).collect()))
}

/// The best documents of one segment so far.
struct BestHere {
    limit: usize,
    kept: BinaryHeap<Reverse<Kept>>,
}

impl BestHere {
    fn consider(&mut self, (tf, n_terms, chunk_ord): (Vec<u32>, u64, u64), weights: &Weights, top: &mut Top<'_>) {
        let score = weights.score(&tf, n_terms);
        if top.enter(score) {
            self.kept.push(Reverse(Kept { score, chunk_ord: Reverse(chunk_ord), tf, n_terms }));
            if self.kept.len() > self.limit {
                self.kept.pop();
            }
        }
    }
}

/// A document that may be among the best. Greater is better.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Kept {
    score: u64,
    /// Ordinals follow the order of the CIDs' bytes within a segment; the smaller CID is the better.
    chunk_ord: Reverse<u64>,
    tf: Vec<u32>,
    n_terms: u64,
}

/// The best scores so far, over all segments.
struct Top<'a> {
    stats: &'a TermStats,
    limit: usize,
    scores: BinaryHeap<Reverse<u64>>,
    can_prune: bool,
}

impl Top<'_> {
    fn slack(&self) -> f64 {
        SLACK_MICRO * self.stats.doc_freq.len() as f64
    }

    /// How many millionths of ours a tantivy score of one can be at most, apart from the slack.
    fn scale(&self) -> f64 {
        1e6 * (1.0 + NOISE_PER_OPERATION * (self.stats.doc_freq.len() as f64 + 8.0))
    }

    /// The lowest score that is still among the best; whatever is below can be forgotten.
    fn worst(&self) -> u64 {
        match self.scores.peek() {
            Some(Reverse(worst)) if self.scores.len() == self.limit => *worst,
            // A score of zero says nothing.
            _ => 1,
        }
    }

    /// Whether a document of this tantivy score can be among the best.
    fn could_enter(&self, score: Score) -> bool {
        !self.can_prune || f64::from(score) * self.scale() + self.slack() >= self.worst() as f64
    }

    fn enter(&mut self, score: u64) -> bool {
        if score < self.worst() {
            return false;
        }
        self.scores.push(Reverse(score));
        if self.scores.len() > self.limit {
            self.scores.pop();
        }
        true
    }

    /// The tantivy score at or below which nothing needs to be offered.
    fn threshold(&self, rho: f64) -> Score {
        if !self.can_prune || self.scores.len() < self.limit {
            return EVERYTHING;
        }
        let safe = (self.worst() as f64 - 1.0 - self.slack()) / (rho * self.scale());
        // The conversion to 32 bits may round up by one part in 10⁷.
        if safe > 0.0 { (safe * (1.0 - 1e-6)) as Score } else { EVERYTHING }
    }
}

/// Our statistics in tantivy's terms.
struct Given<'a> {
    doc_freqs: BTreeMap<&'a Term, u64>,
    n_docs: u64,
    n_terms: u64,
    /// Whether tantivy's scores are of the same formula as ours. In an empty collection there is no average length, and
    /// a term that is given twice may come with two frequencies; then every document that matches is scored.
    can_prune: bool,
}

impl<'a> Given<'a> {
    fn new(stats: &TermStats, terms: &'a [Term]) -> Given<'a> {
        let doc_freqs: BTreeMap<&Term, u64> = terms.iter().zip(stats.doc_freq.iter().copied()).collect();
        Given {
            can_prune: stats.n_docs > 0 && stats.n_terms > 0 && doc_freqs.len() == terms.len(),
            doc_freqs,
            n_docs: stats.n_docs.max(1),
            n_terms: stats.n_terms.max(1),
        }
    }
}

impl Bm25StatisticsProvider for Given<'_> {
    fn total_num_tokens(&self, _field: Field) -> tantivy::Result<u64> {
        Ok(self.n_terms)
    }

    fn total_num_docs(&self) -> tantivy::Result<u64> {
        Ok(self.n_docs)
    }

    fn doc_freq(&self, term: &Term) -> tantivy::Result<u64> {
        Ok(self.doc_freqs.get(term).copied().unwrap_or(0))
    }
}

/// What is read of a segment for an exact score. Documents are asked for in ascending order, as tantivy offers them.
struct Reading {
    postings: Vec<Option<SegmentPostings>>,
    n_terms: tantivy::columnar::Column<u64>,
    chunks: BytesColumn,
    average: f64,
}

impl Reading {
    /// Nothing if none of the terms is in the segment.
    fn of(segment: &SegmentReader, fields: &Fields, terms: &[Term]) -> Result<Option<Reading>, TantivyError> {
        let body = segment.inverted_index(fields.body)?;
        let compounds = segment.inverted_index(fields.compounds)?;
        let postings = terms
            .iter()
            .map(|term| match term.field() == fields.body {
                true => body.read_postings(term, IndexRecordOption::WithFreqs),
                false => compounds.read_postings(term, IndexRecordOption::WithFreqs),
            })
            .collect::<Result<Vec<_>, _>>()?;
        let Some(chunks) = segment.fast_fields().bytes(CHUNK)? else { return Ok(None) };
        if postings.iter().all(Option::is_none) {
            return Ok(None);
        }
        Ok(Some(Reading {
            postings,
            n_terms: segment.fast_fields().u64(N_TERMS)?,
            chunks,
            average: body.total_num_tokens() as f64 / f64::from(segment.max_doc().max(1)),
        }))
    }

    /// How far the segment's own average length lies from that of the statistics.
    fn rho(&self, stats: &TermStats) -> f64 {
        let given = stats.n_terms as f64 / stats.n_docs as f64;
        (self.average / given).max(given / self.average)
    }

    fn read(&mut self, doc: DocId) -> Result<(Vec<u32>, u64, u64), TantivyError> {
        let tf = self.postings.iter_mut().map(|postings| postings.as_mut().map_or(0, |p| frequency(p, doc))).collect();
        let n_terms = self.n_terms.first(doc).ok_or_else(|| missing(N_TERMS))?;
        let chunk_ord = self.chunks.ords().first(doc).ok_or_else(|| missing(CHUNK))?;
        Ok((tf, n_terms, chunk_ord))
    }
}

fn frequency(postings: &mut SegmentPostings, doc: DocId) -> u32 {
    if postings.doc() < doc {
        postings.seek(doc);
    }
    if postings.doc() == doc && doc != TERMINATED { postings.term_freq() } else { 0 }
}

/// The CID of a document.
pub(super) fn cid_of(chunks: &BytesColumn, doc: DocId) -> Result<Cid, TantivyError> {
    cid_at(chunks, chunks.ords().first(doc).ok_or_else(|| missing(CHUNK))?)
}

fn cid_at(chunks: &BytesColumn, ord: u64) -> Result<Cid, TantivyError> {
    let mut bytes = Vec::new();
    chunks.ord_to_bytes(ord, &mut bytes)?;
    Cid::try_from(bytes.as_slice()).map_err(|e| TantivyError::InternalError(format!("a chunk's name is damaged: {e}")))
}

fn missing(column: &str) -> TantivyError {
    TantivyError::InternalError(format!("a document has no `{column}`"))
}
