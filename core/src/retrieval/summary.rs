//! What a node tells of its public collection, so that others can see whether a question is worth asking there: how
//! many documents, how long, and in how many of them its most frequent terms occur. Signed, bounded, short-lived, and
//! over public evidence alone.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Query, TERM_BYTES_MAX, TermStats, is_stop_word};
use crate::content::block_type;
use crate::identity::{Domain, NodeId, Signable};
use crate::measure::{Duration, Timestamp};
use crate::trust::CLOCK_TOLERANCE;

/// Most terms of a summary: all of what some hundred abstracts hold, and of a large collection what is frequent. What is
/// left out counts as absent, and a rare word is what a node is best chosen by: with four times fewer terms, which is what
/// the first version had, the choice is measurably worse. At some ten bytes each they are 160 kilobytes.
pub const SUMMARY_TERMS_MAX: usize = 16_384;

/// Largest summary, in bytes: [`SUMMARY_TERMS_MAX`] terms of nine letters. Longer ones leave room for fewer.
pub const SUMMARY_BYTES_MAX: usize = 192 * 1024;

/// Longest time for which a summary can be valid.
pub const SUMMARY_VALIDITY_MAX: Duration = Duration::days(7);

/// No collection has more documents or terms. Summaries are counted together with statistics, which go up to 2^48: some
/// hundred of the largest leave room for those.
const COUNT_MAX: u64 = 1 << 40;

block_type!(SummaryTag, "plumb/summary/1");

/// A collection in numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CollectionSummary {
    /// `plumb/summary/1`
    #[serde(rename = "type")]
    pub tag: SummaryTag,
    /// Whose collection.
    pub publisher: NodeId,
    /// When it was counted. A later one replaces an earlier one, never the other way round.
    pub issued_at: Timestamp,
    /// Not valid after.
    pub expires_at: Timestamp,
    /// Documents.
    pub n_docs: u64,
    /// Terms in all of them.
    pub n_terms: u64,
    /// The terms, in ascending order.
    pub terms: Vec<String>,
    /// For each of them, the documents that hold it.
    pub doc_freq: Vec<u64>,
}

impl Signable for CollectionSummary {
    const DOMAIN: Domain = Domain::Summary;
}

/// Why a summary is not used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SummaryError {
    /// It breaks its own limits, or contradicts itself.
    #[error("the summary contradicts itself: {0}")]
    Contradiction(&'static str),
    /// Not yet valid.
    #[error("the summary is from {0}, which is in the future; compare the clocks")]
    InFuture(Timestamp),
    /// No longer valid.
    #[error("the summary expired at {0}")]
    Expired(Timestamp),
}

impl CollectionSummary {
    /// Summarises a collection: its most frequent terms, without stop words, as many as are allowed.
    pub fn of(
        publisher: NodeId,
        n_docs: u64,
        n_terms: u64,
        doc_freq: impl IntoIterator<Item = (String, u64)>,
        now: Timestamp,
        validity: Duration,
    ) -> CollectionSummary {
        let mut counted: Vec<(u64, String)> =
            doc_freq.into_iter().filter(|(term, df)| *df > 0 && !is_stop_word(term)).map(|(t, df)| (df, t)).collect();
        // Most frequent first, ties in the order of the terms: two nodes with equal documents say the same.
        counted.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        let mut bytes = 0;
        let fits = |(df, term): &(u64, String)| {
            bytes += head_bytes(term.len() as u64) + term.len() + head_bytes(*df);
            bytes <= SUMMARY_BYTES_MAX - HEAD_BYTES
        };
        let kept: BTreeMap<String, u64> =
            counted.into_iter().take(SUMMARY_TERMS_MAX).take_while(fits).map(|(df, term)| (term, df)).collect();
        let (terms, doc_freq) = kept.into_iter().unzip();
        CollectionSummary {
            tag: SummaryTag,
            publisher,
            issued_at: now,
            expires_at: now.plus(Duration(validity.0.min(SUMMARY_VALIDITY_MAX.0))),
            n_docs,
            n_terms,
            terms,
            doc_freq,
        }
    }

    /// Refuses what no collection can be, and what is not of now.
    pub fn check(&self, now: Timestamp) -> Result<(), SummaryError> {
        let contradicts = |what| Err(SummaryError::Contradiction(what));
        if self.terms.len() != self.doc_freq.len() || self.terms.len() > SUMMARY_TERMS_MAX {
            return contradicts("the number of its terms");
        }
        if self.terms.iter().any(|term| term.is_empty() || term.len() > TERM_BYTES_MAX) {
            return contradicts("the length of a term");
        }
        if self.terms.windows(2).any(|pair| pair[0] >= pair[1]) {
            return contradicts("the order of its terms");
        }
        if self.n_docs > COUNT_MAX || self.n_terms > COUNT_MAX {
            return contradicts("more documents than there are");
        }
        if self.doc_freq.iter().any(|df| *df == 0 || *df > self.n_docs || *df > self.n_terms) {
            return contradicts("a term in more documents than it has");
        }
        if self.expires_at.since(self.issued_at) > SUMMARY_VALIDITY_MAX {
            return contradicts("valid for longer than any is");
        }
        if now.plus(CLOCK_TOLERANCE) < self.issued_at {
            return Err(SummaryError::InFuture(self.issued_at));
        }
        if self.expires_at < now {
            return Err(SummaryError::Expired(self.expires_at));
        }
        Ok(())
    }

    /// What the summary says of a question's terms: the statistics of what its publisher would show to anybody, as far as it
    /// tells.
    pub fn stats(&self, query: &Query) -> TermStats {
        let doc_freq = query.terms.iter().map(|term| self.doc_freq(term)).collect();
        TermStats { n_docs: self.n_docs, n_terms: self.n_terms, doc_freq }
    }

    /// In how many documents a term occurs, as far as the summary tells.
    pub fn doc_freq(&self, term: &str) -> u64 {
        let place = self.terms.binary_search_by(|t| t.as_str().cmp(term));
        place.ok().and_then(|i| self.doc_freq.get(i)).copied().unwrap_or(0)
    }
}

/// Bytes of a number in CBOR, or of what stands before a text of so many bytes.
const fn head_bytes(n: u64) -> usize {
    match n {
        0..24 => 1,
        24..0x100 => 2,
        0x100..0x1_0000 => 3,
        0x1_0000..0x1_0000_0000 => 5,
        _ => 9,
    }
}

/// Bytes of everything else in a summary.
const HEAD_BYTES: usize = 1024;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::RawBlock;
    use crate::identity::SecretKey;
    use proptest::prelude::*;

    const NOW: Timestamp = Timestamp(1_760_000_000_000);

    fn summary(terms: &[(&str, u64)]) -> CollectionSummary {
        let node = SecretKey::from_seed([1; 32]).public();
        let terms = terms.iter().map(|(term, df)| (term.to_string(), *df));
        CollectionSummary::of(node, 10, 100, terms, NOW, Duration::days(1))
    }

    #[test]
    fn the_most_frequent_terms_stay_and_stop_words_go() {
        let summary = summary(&[("the", 10), ("pump", 3), ("valv", 7), ("gone", 0)]);
        assert_eq!((summary.terms.clone(), summary.doc_freq.clone()), (vec!["pump".into(), "valv".into()], vec![3, 7]));
        assert_eq!((summary.doc_freq("valv"), summary.doc_freq("the"), summary.doc_freq("zinc")), (7, 0, 0));
        assert_eq!(summary.check(NOW), Ok(()));
        let stats = summary.stats(&Query::new("zinc valves"));
        assert_eq!(stats, TermStats { n_docs: 10, n_terms: 100, doc_freq: vec![0, 7] });
    }

    #[test]
    fn what_no_collection_can_be_is_refused() {
        let good = summary(&[("pump", 3), ("valv", 7)]);
        let refused = |bad: CollectionSummary| matches!(bad.check(NOW), Err(SummaryError::Contradiction(_)));
        assert!(refused(CollectionSummary { doc_freq: vec![3], ..good.clone() }));
        assert!(refused(CollectionSummary { doc_freq: vec![3, 11], ..good.clone() }));
        assert!(refused(CollectionSummary { doc_freq: vec![0, 1], ..good.clone() }));
        assert!(refused(CollectionSummary { terms: vec!["valv".into(), "pump".into()], ..good.clone() }));
        assert!(refused(CollectionSummary { terms: vec!["pump".into(), "pump".into()], ..good.clone() }));
        assert!(refused(CollectionSummary { terms: vec![String::new(), "pump".into()], ..good.clone() }));
        assert!(refused(CollectionSummary { n_docs: u64::MAX, ..good.clone() }));
        assert!(refused(CollectionSummary { expires_at: NOW.plus(Duration::days(8)), ..good.clone() }));
        assert!(matches!(good.check(Timestamp(NOW.0 - 400_000)), Err(SummaryError::InFuture(_))));
        assert!(matches!(good.check(NOW.plus(Duration::days(2))), Err(SummaryError::Expired(_))));
    }

    /// What fits is counted to the byte: a collection of ordinary words fills the terms, not the bytes.
    #[test]
    fn ordinary_words_fill_a_summary() {
        let words = (0..20_000u64).map(|n| (format!("{n:a>8}"), 1 + n % 300));
        let node = SecretKey::from_seed([1; 32]).public();
        let summary = CollectionSummary::of(node, 300, 1_000_000, words, NOW, Duration::days(1));
        assert_eq!(summary.terms.len(), SUMMARY_TERMS_MAX);
        assert!(RawBlock::encode(&summary).unwrap().bytes.len() <= SUMMARY_BYTES_MAX);
    }

    proptest! {
        #[test]
        fn every_summary_is_within_its_limits(words in proptest::collection::btree_map("[a-zé]{1,60}", 1u64..50, 0..300), n in 0usize..5000, df in 1u64..1 << 40) {
            let many = (0..n).map(|i| (format!("{i:0>150}"), df));
            let all = words.into_iter().chain(many);
            let node = SecretKey::from_seed([1; 32]).public();
            let summary = CollectionSummary::of(node, 1 << 40, 1 << 40, all, NOW, Duration::days(99));
            prop_assert_eq!(summary.check(NOW), Ok(()));
            prop_assert!(RawBlock::encode(&summary).unwrap().bytes.len() <= SUMMARY_BYTES_MAX);
        }
    }
}
