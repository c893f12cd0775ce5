//! How much a scope counts for a question, and how many results it may bring (CTX-09, CTX-11, CTX-12, CTX-15).

use std::fmt;

use serde::Serialize;

use super::bias::{recency_boost, scope_bias};
use super::learned::{LearnedFactor, Model, SourceKind};
use super::{Intent, proximity};
use crate::knowledge::ScopeLevel;
use crate::measure::{Factor, Micro, Milli, Product, Timestamp, Weight};

/// The authority of a document as a source (CTX-12). It counts beside that of its evidence (D16).
pub const DOCUMENT_AUTHORITY: Factor = Factor::from_const(1200);
/// Every source that is asked may bring at least this many (CTX-15).
pub const SLOTS_MIN: u32 = 3;
/// Results for a weight of one (CTX-15).
const SLOTS_FOR_ONE: u64 = 10;

/// What someone is in a scope (CTX-12).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the names are the design's")]
pub enum Role {
    #[default]
    Member,
    Lead,
    Senior,
    Principal,
    /// A director, or above.
    Director,
}

impl Role {
    /// What it adds to authority (CTX-12).
    pub const fn boost(self) -> Milli {
        Milli::from_const(match self {
            Role::Member => 0,
            Role::Lead => 100,
            Role::Senior | Role::Principal => 150,
            Role::Director => 200,
        })
    }
}

/// What is known of a scope when it is weighed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ScopeFacts {
    /// How wide it is.
    pub level: ScopeLevel,
    /// `1/(1+distance)` from the entity graph; none if it is out of reach, and then its level decides (CTX-29).
    pub proximity: Option<Micro>,
    /// When something last happened in it.
    pub last_activity: Option<Timestamp>,
    /// The role of who speaks for it.
    pub role: Role,
    /// The weight of their `expert_in` edge to what is asked.
    pub expertise: Milli,
    /// Whether it is a collection of documents.
    pub is_document: bool,
}

/// A scope's weight with every factor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct ScopeWeight {
    /// How near.
    pub proximity: Micro,
    /// What the intent makes of its level.
    pub bias: Factor,
    /// Whether something happened there lately.
    pub freshness: Factor,
    /// Who speaks.
    pub authority: Factor,
    /// What was learned of its level; exactly one without data.
    pub learned: LearnedFactor,
    /// The product.
    pub weight: Weight,
}

/// `proximity × intent bias × freshness × authority` (CTX-09), modulated by what was learned (LRN-04).
pub fn weigh(intent: Intent, facts: &ScopeFacts, now: Timestamp, model: &Model) -> ScopeWeight {
    let proximity = proximity(facts.proximity, facts.level);
    let bias = scope_bias(intent, facts.level);
    let freshness = freshness(facts.last_activity, now);
    let authority = scope_authority(facts.role, facts.expertise, facts.is_document);
    let learned = model.factor(intent, SourceKind::Level(facts.level));
    let product = Product::ONE.times_micro(proximity).times(bias).times(freshness).times(authority);
    let weight = product.times(learned.factor).weight();
    ScopeWeight { proximity, bias, freshness, authority, learned, weight }
}

/// The bonus of a scope in which something happened: 1.1 up to 7 days ago, 1.05 up to 30, else 1 (CTX-11).
pub fn freshness(last_activity: Option<Timestamp>, now: Timestamp) -> Factor {
    last_activity.map_or(Factor::ONE, |at| recency_boost(at, now))
}

/// `max(1, role + expertise)`, and for documents at least 1.2 (CTX-12). As the design has it, expertise under 0.8 makes
/// no difference to a director, and none at all to a member; learned weights may (D27).
pub fn scope_authority(role: Role, expertise: Milli, is_document: bool) -> Factor {
    let person = role.boost().get() + expertise.get();
    let person = Factor::try_from(person).unwrap_or(Factor::ONE).max(Factor::ONE);
    if is_document { person.max(DOCUMENT_AUTHORITY) } else { person }
}

/// How many results a source of this weight may bring: `max(3, round(10 × weight))`, halves upwards (CTX-15).
pub fn slots(weight: Weight) -> u32 {
    let rounded = (SLOTS_FOR_ONE * u64::from(weight.get()) + 500_000) / 1_000_000;
    u32::try_from(rounded).unwrap_or(SLOTS_MIN).max(SLOTS_MIN)
}

impl fmt::Display for ScopeWeight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} = proximity {} × intent {} × freshness {} × authority {} × {}",
            self.weight,
            Product::ONE.times_micro(self.proximity).weight(),
            self.bias,
            self.freshness,
            self.authority,
            self.learned
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::Duration;
    use proptest::prelude::*;

    const NOW: Timestamp = Timestamp(1_700_000_000_000);

    fn days_ago(days: u64) -> Option<Timestamp> {
        Some(Timestamp(NOW.0 - i64::try_from(Duration::days(days).0).unwrap()))
    }

    fn facts() -> ScopeFacts {
        ScopeFacts {
            level: ScopeLevel::Team,
            proximity: Some(Micro::from_ratio(1, 2)),
            last_activity: days_ago(7),
            role: Role::Director,
            expertise: Milli::ONE,
            is_document: false,
        }
    }

    /// Vector of the acceptance map, B6: .5 × .8 × 1.1 × 1.2 = .528.
    #[test]
    fn the_weight_has_the_vector() {
        let weight = weigh(Intent::Debugging, &facts(), NOW, &Model::default());
        assert_eq!(weight.weight.get(), 528_000);
        assert_eq!(
            weight.to_string(),
            "0.528000 = proximity 0.500000 × intent 0.800 × freshness 1.100 × authority 1.200 × learned 1.000 (0 of 0)"
        );
    }

    #[test]
    fn authority_is_the_designs() {
        let authority =
            |role, expertise, is_document| scope_authority(role, Milli::new(expertise).unwrap(), is_document).get();
        assert_eq!(authority(Role::Lead, 500, false), 1000);
        assert_eq!(authority(Role::Director, 1000, false), 1200);
        assert_eq!(authority(Role::Member, 0, true), 1200);
        // Both edges of the maximum.
        assert_eq!([799, 800, 801].map(|e| authority(Role::Director, e, false)), [1000, 1000, 1001]);
        assert_eq!([849, 850, 851].map(|e| authority(Role::Senior, e, false)), [1000, 1000, 1001]);
        assert_eq!(authority(Role::Principal, 1000, false), 1150);
        assert_eq!(authority(Role::Member, 1000, false), 1000);
        assert_eq!(authority(Role::Director, 1000, true), 1200, "a document's director is not counted twice");
    }

    /// D16: a document's authority stands in its evidence and in its scope, 1.2 × 1.2.
    #[test]
    fn a_document_counts_in_both_places() {
        let evidence = crate::evidence::authority_factor(crate::knowledge::SourceType::Document);
        let both = Product::ONE.times(evidence).times(scope_authority(Role::Member, Milli::ZERO, true));
        assert_eq!(both.weight().get(), 1_440_000);
    }

    #[test]
    fn freshness_has_its_edges_at_7_and_30_days() {
        let at = |days, ms: i64| freshness(days_ago(days).map(|t| Timestamp(t.0 - ms)), NOW).get();
        assert_eq!([at(7, 0), at(7, 1), at(30, 0), at(30, 1)], [1100, 1050, 1050, 1000]);
        assert_eq!(freshness(None, NOW), Factor::ONE);
    }

    #[test]
    fn slots_are_proportional_and_at_least_three() {
        let of = |millionths: u32| slots(Weight::try_from(millionths).unwrap());
        assert_eq!([1_000_000, 500_000, 100_000].map(of), [10, 5, 3]);
        assert_eq!([0, 349_999, 350_000, 449_999, 450_000].map(of), [3, 3, 4, 4, 5]);
        assert_eq!(of(16_000_000), 160);
    }

    proptest! {
        #[test]
        fn a_weight_grows_with_each_of_its_parts(
            near in 0u32..=1_000_000, expertise in 0u16..1000, days in 0u64..100, intent in 0usize..8,
        ) {
            let intent = Intent::ALL[intent];
            let here = ScopeFacts {
                proximity: Some(Micro::new(near).unwrap()),
                expertise: Milli::new(expertise).unwrap(),
                last_activity: days_ago(days),
                ..facts()
            };
            let weight = |facts| weigh(intent, &facts, NOW, &Model::default()).weight;
            let wiser = ScopeFacts { expertise: Milli::new(expertise + 1).unwrap(), ..here };
            let quieter = ScopeFacts { last_activity: days_ago(days + 1), ..here };
            let nearer = ScopeFacts { proximity: Some(Micro::ONE), ..here };
            prop_assert!(weight(wiser) >= weight(here) && weight(nearer) >= weight(here));
            prop_assert!(weight(quieter) <= weight(here));
            prop_assert!(slots(weight(here)) >= SLOTS_MIN);
        }
    }
}
