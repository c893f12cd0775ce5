//! Finding: the terms of a text, integer BM25, and the merging of rankings from several nodes.
//!
//! A score is recomputable by anyone who has the chunk and the collection's statistics: terms come from [`terms`],
//! and [`bm25`] is fixed-point arithmetic, so two machines agree on every bit and a bundle can be replayed. The text
//! index only proposes candidates. A federated ranking equals that of one central index because every node scores
//! with the *sum* of the statistics ([`TermStats::merge`]), and ties are broken by CID. A node that withholds its
//! statistics is fused by rank ([`fuse`]), and which of many nodes are asked at all follows from what they publish of
//! their collections ([`select`]). What a node's vectors find beside the words joins them in [`blend`].

pub mod assembly;
mod bm25;
mod choice;
mod field;
mod fusion;
mod phrase;
mod query;
mod summary;
mod terms;

use std::collections::{BTreeMap, BTreeSet};

use cid::Cid;

use crate::identity::NodeId;

pub use bm25::{Saturation, StatsError, TermStats, Weights, bm25, idf_micro, ln_micro};
pub use choice::{ASK_ALL_UP_TO, ASK_BEST, AskWhom, Candidate, in_order, promises, select};
pub use field::{HEADING_WEIGHT, TITLE_WEIGHT, body_of};
pub use fusion::{Blend, Blended, Mix, RRF_K, blend, fuse};
pub use phrase::{PHRASE_WORDS_MAX, PHRASES_MAX};
pub use query::{QUERY_BYTES_MAX, QUERY_TERMS_MAX, Query};
pub use summary::{
    CollectionSummary, SUMMARY_BYTES_MAX, SUMMARY_TERMS_MAX, SUMMARY_VALIDITY_MAX, SummaryError, SummaryTag,
};
pub use terms::{
    ANALYSIS_VERSION, COMPOUND, STOP_WORDS, TERM_BYTES_MAX, each_term, fold, is_stop_word, is_word, terms, words,
};

/// A chunk in a ranking.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ranked {
    /// The chunk.
    pub chunk: Cid,
    /// Its score in millionths of a BM25 unit.
    pub score: u64,
    /// The nodes that gave it, in order. The same chunk from two nodes is one result with two providers.
    pub providers: BTreeSet<NodeId>,
}

/// One ranking out of several: highest score first, ties by CID; the same chunk is one result.
///
/// The scores must have been computed under the same statistics. If two nodes disagree on a chunk's score, the lower
/// one counts: a score is never more than everyone confirms.
pub fn merge(rankings: impl IntoIterator<Item = (NodeId, Vec<(Cid, u64)>)>, limit: usize) -> Vec<Ranked> {
    let mut by_chunk: BTreeMap<Cid, Ranked> = BTreeMap::new();
    for (node, hits) in rankings {
        for (chunk, score) in hits {
            let ranked = by_chunk.entry(chunk).or_insert(Ranked { chunk, score, providers: BTreeSet::new() });
            ranked.score = ranked.score.min(score);
            ranked.providers.insert(node);
        }
    }
    let mut merged: Vec<Ranked> = by_chunk.into_values().collect();
    merged.sort_by(|a, b| b.score.cmp(&a.score).then_with(|| a.chunk.cmp(&b.chunk)));
    merged.truncate(limit);
    merged
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::RawBlock;
    use crate::identity::SecretKey;
    use proptest::prelude::*;

    proptest! {
        /// Splitting a collection and merging the parts gives the ranking of the whole.
        #[test]
        fn merged_parts_rank_as_the_whole(
            texts in proptest::collection::vec("[abcde]( [abcde]){0,8}", 1..20), parts in 1usize..4, query in "[abcde]( [abcde]){0,3}",
        ) {
            let query = Query::new(&query);
            let docs: Vec<(Cid, Vec<u32>, u64)> = texts.iter().enumerate().map(|(i, text)| {
                let (tf, n) = query.frequencies(text);
                (RawBlock::raw(vec![u8::try_from(i).unwrap()]).cid, tf, n)
            }).collect();
            let stats_of = |docs: &[&(Cid, Vec<u32>, u64)]| TermStats {
                n_docs: docs.len() as u64,
                n_terms: docs.iter().map(|d| d.2).sum(),
                doc_freq: (0..query.terms.len()).map(|i| docs.iter().filter(|d| d.1[i] > 0).count() as u64).collect(),
            };
            let rank = |docs: &[&(Cid, Vec<u32>, u64)], stats: &TermStats| {
                let mut hits: Vec<(Cid, u64)> = docs.iter().map(|d| (d.0, bm25(stats, &d.1, d.2))).filter(|h| h.1 > 0).collect();
                hits.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
                hits
            };
            let all: Vec<_> = docs.iter().collect();
            let central = rank(&all, &stats_of(&all));
            let split: Vec<Vec<_>> = (0..parts).map(|p| docs.iter().skip(p).step_by(parts).collect()).collect();
            let mut stats = TermStats::empty(query.terms.len());
            for part in &split {
                stats.merge(&stats_of(part)).unwrap();
            }
            let node = |p: usize| SecretKey::from_seed([u8::try_from(p).unwrap(); 32]).public();
            let merged = merge(split.iter().enumerate().map(|(p, part)| (node(p), rank(part, &stats))), 100);
            prop_assert_eq!(merged.iter().map(|r| (r.chunk, r.score)).collect::<Vec<_>>(), central);
        }
    }
}
