//! The flat search of the first version, for a node without a graph (RET-25, RET-26, CTX-27).

use std::fmt;

use serde::Serialize;

use super::Admitted;
use super::bias::recency_boost;
use crate::knowledge::ScopeLevel;
use crate::measure::{Factor, Micro, Milli, Product, Timestamp, Weight};

/// What has less confidence is left out (RET-25).
pub const FLAT_CONFIDENCE_MIN: Milli = Milli::from_const(300);
/// Results (RET-25).
pub const FLAT_LIMIT: usize = 5;
/// So many times the limit are fetched, since some fall to the confidence and to duplicates (RET-25).
pub const FLAT_FETCH: usize = 2;

/// The three layers of the first version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Layer {
    /// The reader's own.
    Personal,
    /// Of the project that is worked in.
    Workspace,
    /// Of everybody else around.
    Team,
}

impl Layer {
    /// The layer of a scope. The first version knows nothing wider than a team; whether something belongs to the
    /// project that is worked in, only the caller knows.
    pub const fn of(level: ScopeLevel, in_workspace: bool) -> Layer {
        match (level, in_workspace) {
            (ScopeLevel::Personal, _) => Layer::Personal,
            (_, true) => Layer::Workspace,
            (ScopeLevel::Team | ScopeLevel::Department | ScopeLevel::Organization, false) => Layer::Team,
        }
    }

    /// Its weight (RET-25).
    pub const fn weight(self) -> Factor {
        Factor::from_const(match self {
            Layer::Personal => 1000,
            Layer::Workspace => 900,
            Layer::Team => 700,
        })
    }
}

/// What is known of a unit when it is rated without a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct FlatSignals {
    /// How near it is to the question.
    pub similarity: Micro,
    /// Its evidence score, or its confidence where it has none.
    pub confidence: Micro,
    /// Its stale score.
    pub stale: Micro,
    /// When its source was written, where that is known.
    pub written: Option<Timestamp>,
    /// Where it lies.
    pub layer: Layer,
}

/// A flat score with every factor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct FlatScore {
    /// The product.
    pub score: Micro,
    /// How near it is to the question.
    pub similarity: Micro,
    /// Its evidence score or confidence.
    pub confidence: Micro,
    /// What is not stale of it.
    pub fresh: Micro,
    /// The boost of what is recent.
    pub recency: Factor,
    /// The weight of its layer.
    pub layer: Factor,
}

/// `min(1, similarity × confidence × (1 − stale) × recency) × layer` (RET-26); none below [`FLAT_CONFIDENCE_MIN`].
pub fn rate_flat(_admitted: Admitted<'_>, signals: FlatSignals, now: Timestamp) -> Option<FlatScore> {
    if signals.confidence < FLAT_CONFIDENCE_MIN.into() {
        return None;
    }
    let fresh = signals.stale.complement();
    let recency = signals.written.map_or(Factor::ONE, |written| recency_boost(written, now));
    let layer = signals.layer.weight();
    let relevance =
        Product::ONE.times_micro(signals.similarity).times_micro(signals.confidence).times_micro(fresh).times(recency);
    let score = relevance.at_most_one().times(layer).micro();
    Some(FlatScore { score, similarity: signals.similarity, confidence: signals.confidence, fresh, recency, layer })
}

impl fmt::Display for FlatScore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plain = |micro| -> Weight { Product::ONE.times_micro(micro).weight() };
        write!(f, "{} = min(1, similarity {}", plain(self.score), plain(self.similarity))?;
        write!(f, " × confidence {} × fresh {}", plain(self.confidence), plain(self.fresh))?;
        write!(f, " × recency {}) × layer {}", self.recency, self.layer)
    }
}

#[cfg(test)]
mod tests {
    use super::super::for_test::{reader, unit};
    use super::*;

    const NOW: Timestamp = Timestamp(1_700_000_000_000);

    fn score(similarity: u32, confidence: u32, stale: u32, layer: Layer) -> Option<FlatScore> {
        let unit = unit(1, "ann", "team-pumps");
        let admitted = Admitted::of(&reader("ann").0, &unit).unwrap();
        let micro = |n| Micro::new(n).unwrap();
        let signals = FlatSignals {
            similarity: micro(similarity),
            confidence: micro(confidence),
            stale: micro(stale),
            written: Some(NOW),
            layer,
        };
        rate_flat(admitted, signals, NOW)
    }

    /// Vector of the acceptance map, B6: .8 × .9 × .9 × 1.1 × layer .9 = .64152.
    #[test]
    fn the_score_has_the_vector() {
        let flat = score(800_000, 900_000, 100_000, Layer::Workspace).unwrap();
        assert_eq!(flat.score.get(), 641_520);
        assert_eq!(
            flat.to_string(),
            "0.641520 = min(1, similarity 0.800000 × confidence 0.900000 × fresh 0.900000 × recency 1.100) × layer 0.900"
        );
    }

    #[test]
    fn the_cap_comes_before_the_layer() {
        assert_eq!(score(1_000_000, 1_000_000, 0, Layer::Team).unwrap().score.get(), 700_000);
        assert_eq!(score(1_000_000, 1_000_000, 0, Layer::Personal).unwrap().score, Micro::ONE);
    }

    #[test]
    fn confidence_counts_from_three_tenths_on() {
        assert!(score(1_000_000, 299_999, 0, Layer::Team).is_none());
        assert!(score(1_000_000, 300_000, 0, Layer::Team).is_some());
    }

    #[test]
    fn layers_are_the_designs() {
        let of = |level| [Layer::of(level, false), Layer::of(level, true)].map(|layer| layer.weight().get());
        assert_eq!(of(ScopeLevel::Personal), [1000, 1000]);
        for level in [ScopeLevel::Team, ScopeLevel::Department, ScopeLevel::Organization] {
            assert_eq!(of(level), [700, 900]);
        }
    }
}
