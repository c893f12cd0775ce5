//! The final score of what was found, with every factor (CTX-17).

use std::fmt;

use serde::Serialize;

use super::bias::{document_bias, recency_bias, type_bias};
use super::learned::{LearnedFactor, Model, SourceKind};
use super::{Admitted, Intent, lift};
use crate::measure::{Factor, Micro, Product, Timestamp, Weight};

/// What is known of a unit when it is rated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Signals {
    /// How near it is to the question.
    pub similarity: Micro,
    /// The weight of its scope.
    pub source_weight: Weight,
    /// Its evidence score.
    pub evidence: Micro,
    /// Its stale score.
    pub stale: Micro,
    /// When its source was written, where that is known.
    pub written: Option<Timestamp>,
}

/// A final score with every factor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Score {
    /// The product. It orders; it may pass one, and no cap makes the best ones equal.
    pub score: Weight,
    /// How near it is to the question.
    pub similarity: Micro,
    /// The weight of its scope.
    pub source_weight: Weight,
    /// Its evidence score.
    pub evidence: Micro,
    /// What is not stale of it.
    pub fresh: Micro,
    /// What the intent makes of its type.
    pub type_bias: Factor,
    /// What the intent makes of a document.
    pub document_bias: Factor,
    /// What the intent makes of a recent unit.
    pub recency_bias: Factor,
    /// What the intent makes of its sensitivity and team.
    pub lift: Factor,
    /// What was learned of its kind of source; exactly one without data.
    pub learned: LearnedFactor,
}

/// `similarity × source weight × evidence × (1 − stale) × boosts of the intent` (CTX-17, with CTX-05 to CTX-07 as the
/// boosts), modulated by what was learned (LRN-04).
pub fn rate(intent: Intent, admitted: Admitted<'_>, signals: Signals, now: Timestamp, model: &Model) -> Score {
    let unit = admitted.unit();
    let source_type = unit.origin.source_type;
    let mut score = Score {
        score: Weight::default(),
        similarity: signals.similarity,
        source_weight: signals.source_weight,
        evidence: signals.evidence,
        fresh: signals.stale.complement(),
        type_bias: type_bias(intent, unit.kind),
        document_bias: document_bias(intent, source_type),
        recency_bias: signals.written.map_or(Factor::ONE, |written| recency_bias(intent, written, now)),
        lift: lift(intent, admitted),
        learned: model.factor(intent, SourceKind::Type(source_type)),
    };
    let of_unit = Product::ONE
        .times_micro(score.similarity)
        .times_weight(score.source_weight)
        .times_micro(score.evidence)
        .times_micro(score.fresh);
    let of_intent = of_unit.times(score.type_bias).times(score.document_bias).times(score.recency_bias);
    score.score = of_intent.times(score.lift).times(score.learned.factor).weight();
    score
}

impl fmt::Display for Score {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plain = |micro| Product::ONE.times_micro(micro).weight();
        write!(f, "{} = similarity {}", self.score, plain(self.similarity))?;
        write!(f, " × source {} × evidence {}", self.source_weight, plain(self.evidence))?;
        write!(f, " × fresh {} × type {}", plain(self.fresh), self.type_bias)?;
        write!(f, " × document {} × recent {}", self.document_bias, self.recency_bias)?;
        write!(f, " × lift {} × {}", self.lift, self.learned)
    }
}

#[cfg(test)]
mod tests {
    use super::super::for_test::{reader, unit};
    use super::*;
    use crate::knowledge::KnowledgeType;
    use crate::measure::Duration;
    use proptest::prelude::*;

    const NOW: Timestamp = Timestamp(1_700_000_000_000);

    fn micro(n: u32) -> Micro {
        Micro::new(n).unwrap()
    }

    fn days_ago(days: u64) -> Timestamp {
        Timestamp(NOW.0 - i64::try_from(Duration::days(days).0).unwrap())
    }

    fn signals() -> Signals {
        Signals {
            similarity: micro(800_000),
            source_weight: Weight::try_from(528_000).unwrap(),
            evidence: micro(900_000),
            stale: micro(100_000),
            written: Some(days_ago(40)),
        }
    }

    /// Vector of the acceptance map, B6: .8 × .528 × .9 × .9 × 1.5 = .513216.
    #[test]
    fn the_score_has_the_vector() {
        let mut fix = unit(1, "ann", "team-pumps");
        fix.kind = KnowledgeType::ErrorFix;
        let admitted = Admitted::of(&reader("ann").0, &fix).unwrap();
        let score = rate(Intent::Debugging, admitted, signals(), NOW, &Model::default());
        assert_eq!(score.score.get(), 513_216);
        assert_eq!(
            score.to_string(),
            "0.513216 = similarity 0.800000 × source 0.528000 × evidence 0.900000 × fresh 0.900000 × type 1.500 × \
             document 1.000 × recent 1.000 × lift 1.000 × learned 1.000 (0 of 0)"
        );
    }

    #[test]
    fn a_recent_unit_wins_under_debugging_and_not_in_general() {
        let unit = unit(1, "ann", "team-pumps");
        let admitted = Admitted::of(&reader("ann").0, &unit).unwrap();
        let score = |intent, days| {
            let signals = Signals { written: Some(days_ago(days)), ..signals() };
            rate(intent, admitted, signals, NOW, &Model::default()).score
        };
        assert!(score(Intent::Debugging, 7) > score(Intent::Debugging, 8));
        assert!(score(Intent::Onboarding, 7) < score(Intent::Onboarding, 8));
        assert_eq!(score(Intent::General, 7), score(Intent::General, 8));
        let undated = Signals { written: None, ..signals() };
        let of_undated = rate(Intent::Debugging, admitted, undated, NOW, &Model::default()).score;
        assert_eq!(of_undated, score(Intent::Debugging, 8), "what has no date is not recent");
    }

    proptest! {
        #[test]
        fn a_score_grows_with_support_and_falls_with_staleness(
            similarity in 0u32..=1_000_000, weight in 0u32..=4_000_000, evidence in 0u32..=1_000_000,
            stale in 0u32..=1_000_000, intent in 0usize..8,
        ) {
            let unit = unit(1, "ann", "team-pumps");
            let admitted = Admitted::of(&reader("ann").0, &unit).unwrap();
            let here = Signals {
                similarity: micro(similarity),
                source_weight: Weight::try_from(weight).unwrap(),
                evidence: micro(evidence),
                stale: micro(stale),
                written: Some(days_ago(1)),
            };
            let score = |signals| rate(Intent::ALL[intent], admitted, signals, NOW, &Model::default()).score;
            let similar = Signals { similarity: Micro::ONE, ..here };
            let supported = Signals { evidence: Micro::ONE, ..here };
            let fresh = Signals { stale: Micro::ZERO, ..here };
            prop_assert!([similar, supported, fresh].into_iter().all(|more| score(more) >= score(here)));
            let nothing = Signals { stale: Micro::ONE, ..here };
            prop_assert_eq!(score(nothing).get(), 0);
        }
    }
}
