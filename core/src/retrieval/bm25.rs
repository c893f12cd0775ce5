//! BM25 in fixed-point arithmetic.
//!
//! Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009), with
//! `k1 = 1.2`, `b = 0.75` and `idf = ln(1 + (N − df + ½) / (df + ½))` (RET-15, RET-16). Scores are in millionths.
//! A logarithm is needed; it is computed bit by bit on integers, so no machine rounds it otherwise.

/// What a collection says of the terms of one query. Sums over several collections are the statistics of their union.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TermStats {
    /// Documents in the collection.
    pub n_docs: u64,
    /// Terms in all of them together.
    pub n_terms: u64,
    /// For each term of the query, the documents that hold it.
    pub doc_freq: Vec<u64>,
}

/// Statistics that no collection can have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StatsError {
    /// For another number of terms.
    #[error("the statistics are for {given} terms, not {expected}")]
    Length {
        /// Terms of the query.
        expected: usize,
        /// Terms of the statistics.
        given: usize,
    },
    /// More documents hold a term than there are, or numbers beyond any real collection.
    #[error("the statistics contradict themselves")]
    Impossible,
}

/// No collection has more documents or terms than this; what claims more is refused, so sums cannot overflow.
const COUNT_MAX: u64 = 1 << 48;

impl TermStats {
    /// Of an empty collection, for a query of `n` terms.
    pub fn empty(n: usize) -> TermStats {
        TermStats { n_docs: 0, n_terms: 0, doc_freq: vec![0; n] }
    }

    /// Refuses statistics that no collection can have.
    pub fn check(&self, n_query_terms: usize) -> Result<(), StatsError> {
        if self.doc_freq.len() != n_query_terms {
            return Err(StatsError::Length { expected: n_query_terms, given: self.doc_freq.len() });
        }
        let possible = self.n_docs <= COUNT_MAX
            && self.n_terms <= COUNT_MAX
            && self.doc_freq.iter().all(|df| *df <= self.n_docs && *df <= self.n_terms);
        if possible { Ok(()) } else { Err(StatsError::Impossible) }
    }

    /// Adds another collection's statistics.
    pub fn merge(&mut self, other: &TermStats) -> Result<(), StatsError> {
        other.check(self.doc_freq.len())?;
        let sum = TermStats {
            n_docs: self.n_docs + other.n_docs,
            n_terms: self.n_terms + other.n_terms,
            doc_freq: self.doc_freq.iter().zip(&other.doc_freq).map(|(a, b)| a + b).collect(),
        };
        sum.check(self.doc_freq.len())?;
        *self = sum;
        Ok(())
    }
}

/// Fractional bits of the logarithm.
const LOG_BITS: u32 = 40;
/// ln 2 with 40 fractional bits.
const LN2_Q40: u128 = 762_123_384_786;

/// `ln(numerator / denominator)` in millionths, truncated; 0 where the ratio is not above 1.
pub fn ln_micro(numerator: u64, denominator: u64) -> u64 {
    if denominator == 0 || numerator <= denominator {
        return 0;
    }
    // Mantissa in [1, 2) with 62 fractional bits, and the power of two taken out of it.
    let ratio = (u128::from(numerator) << 62) / u128::from(denominator);
    let whole = 127 - ratio.leading_zeros() - 62;
    let mut mantissa = ratio >> whole;
    let mut log2 = u128::from(whole) << LOG_BITS;
    // Squaring doubles the logarithm: each carry past 2 is its next binary digit.
    for bit in (0..LOG_BITS).rev() {
        mantissa = (mantissa * mantissa) >> 62;
        if mantissa >= 2 << 62 {
            mantissa >>= 1;
            log2 |= 1 << bit;
        }
    }
    let ln_q40 = (log2 * LN2_Q40) >> LOG_BITS;
    u64::try_from((ln_q40 * 1_000_000) >> LOG_BITS).unwrap_or(u64::MAX)
}

/// Inverse document frequency in millionths: `ln(1 + (N − df + ½)/(df + ½)) = ln((2N + 2) / (2df + 1))`.
pub fn idf_micro(n_docs: u64, doc_freq: u64) -> u64 {
    ln_micro(n_docs.min(COUNT_MAX) * 2 + 2, doc_freq.min(COUNT_MAX) * 2 + 1)
}

/// How fast repetition stops to matter (k1) and how much a text's length does (b), in hundredths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Saturation {
    /// k1
    pub k1: u32,
    /// b, at most 100
    pub b: u32,
}

impl Saturation {
    /// What every node ranks with (RET-15).
    pub const STANDARD: Saturation = Saturation { k1: 120, b: 75 };
}

/// The weights of a query's terms under the statistics of a collection: what is the same for every document. A
/// logarithm costs more than all the rest of a score, so it is taken once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Weights {
    n_docs: u128,
    n_terms: u128,
    idf: Vec<u128>,
    k1: u128,
    b: u128,
}

impl Weights {
    /// The weights under these statistics.
    pub fn new(stats: &TermStats) -> Weights {
        Weights::with(stats, Saturation::STANDARD)
    }

    /// The weights with other settings, to measure them. No node ranks with these.
    pub fn with(stats: &TermStats, saturation: Saturation) -> Weights {
        let idf = stats.doc_freq.iter().map(|doc_freq| u128::from(idf_micro(stats.n_docs, *doc_freq))).collect();
        let (k1, b) = (u128::from(saturation.k1), u128::from(saturation.b.min(100)));
        Weights { n_docs: u128::from(stats.n_docs), n_terms: u128::from(stats.n_terms), idf, k1, b }
    }

    /// The score of a document of `n_terms` terms in which query term *i* occurs `tf[i]` times, in millionths.
    ///
    /// Where the statistics are of an empty collection, every document counts as of average length.
    pub fn score(&self, tf: &[u32], n_terms: u64) -> u64 {
        let (n_docs, total, k1, b) = (self.n_docs, self.n_terms, self.k1, self.b);
        let mut score: u64 = 0;
        for (tf, idf) in tf.iter().zip(&self.idf).filter(|(tf, _)| **tf > 0) {
            let tf = u128::from(*tf);
            // idf · tf · (k1 + 1) / (tf + k1 · (1 − b + b · n_terms · N / total)), times 10,000 · total above and below.
            let (above, below) = if total == 0 || n_docs == 0 {
                (tf * (k1 + 100), tf * 100 + k1)
            } else {
                let length = (100 - b) * total + b * u128::from(n_terms) * n_docs;
                (tf * (k1 + 100) * 100 * total, tf * 10_000 * total + k1 * length)
            };
            score = score.saturating_add(u64::try_from(idf * above / below).unwrap_or(u64::MAX));
        }
        score
    }
}

/// The score of one document: [`Weights::score`], for whoever has no second one.
pub fn bm25(stats: &TermStats, tf: &[u32], n_terms: u64) -> u64 {
    Weights::new(stats).score(tf, n_terms)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Vectors of the acceptance map, B7, which are rounded to six places; ours are truncated.
    #[test]
    fn formulas_give_the_vectors() {
        let near = |value: u64, vector: u64| assert!(value.abs_diff(vector) <= 2, "{value} against {vector}");
        near(idf_micro(3, 1), 980_829);
        near(idf_micro(10, 10), 46_520);
        let stats = TermStats { n_docs: 3, n_terms: 30, doc_freq: vec![1] };
        near(bm25(&stats, &[2], 10), 1_348_640);
        near(bm25(&stats, &[2], 20), 1_052_597);
    }

    #[test]
    fn an_empty_collection_scores_by_frequency_alone() {
        let stats = TermStats::empty(1);
        assert!(bm25(&stats, &[2], 10) > bm25(&stats, &[1], 10));
        assert_eq!(bm25(&stats, &[0], 10), 0);
    }

    #[test]
    fn impossible_statistics_are_refused() {
        assert!(TermStats { n_docs: 1, n_terms: 5, doc_freq: vec![2] }.check(1).is_err());
        assert!(TermStats { n_docs: u64::MAX, n_terms: 5, doc_freq: vec![1] }.check(1).is_err());
        assert!(TermStats::empty(2).check(1).is_err());
    }

    proptest! {
        /// Against the floating-point logarithm, which tests may use.
        #[test]
        #[allow(clippy::disallowed_types)]
        fn the_integer_logarithm_is_the_logarithm(a in 1u64..1 << 50, b in 1u64..1 << 50) {
            let exact = ((a as f64) / (b as f64)).ln().max(0.0) * 1e6;
            let ours = ln_micro(a, b) as f64;
            prop_assert!((exact - ours).abs() <= 1.5, "{exact} {ours}");
        }

        #[test]
        fn more_occurrences_never_score_less(n in 1u64..10_000, df in 0u64..10_000, tf in 1u32..1000, len in 1u64..5000) {
            let stats = TermStats { n_docs: n, n_terms: n * 100, doc_freq: vec![df.min(n)] };
            prop_assert!(bm25(&stats, &[tf + 1], len) >= bm25(&stats, &[tf], len));
        }

        #[test]
        fn no_input_overflows(n in any::<u64>(), t in any::<u64>(), df in any::<u64>(), tf in any::<u32>(), len in 0u64..1 << 40) {
            let stats = TermStats { n_docs: n >> 16, n_terms: t >> 16, doc_freq: vec![df >> 16] };
            bm25(&stats, &[tf], len);
        }
    }
}
