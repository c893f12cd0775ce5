//! What an intent makes of scopes, types, sources and recent units: the tables (CTX-04 to CTX-06, D26).

use super::Intent;
use crate::knowledge::{KnowledgeType, ScopeLevel, SourceType};
use crate::measure::{Duration, Factor, Timestamp};

/// A unit is recent for this long (CTX-06, RET-26).
pub const RECENT: Duration = Duration::days(7);
/// And fairly recent for this long (CTX-11, RET-26).
const FAIRLY_RECENT: Duration = Duration::days(30);

/// What an intent makes of a scope (CTX-04).
pub const fn scope_bias(intent: Intent, level: ScopeLevel) -> Factor {
    // Personal, team, department, organization.
    let row: [u16; 4] = match intent {
        Intent::Debugging => [1200, 800, 600, 500],
        Intent::Architecture | Intent::Security => [800, 1100, 1200, 1300],
        Intent::Onboarding => [700, 1000, 1100, 1200],
        Intent::Policy => [500, 900, 1200, 1500],
        Intent::HowTo => [1100, 1000, 900, 800],
        Intent::Review => [1000, 1200, 1100, 1000],
        Intent::General => [1000, 1000, 1000, 1000],
    };
    Factor::from_const(row[level as usize])
}

/// What an intent makes of a type of knowledge (CTX-05). Onboarding and how-to lift patterns, and review lifts
/// preferences: the design names these and gives no number, so they get the least lift of the table, 1.1.
pub const fn type_bias(intent: Intent, kind: KnowledgeType) -> Factor {
    use KnowledgeType::{CodePattern, Command, Context, Decision, ErrorFix, Pattern, Preference, Summary};
    Factor::from_const(match (intent, kind) {
        (Intent::Debugging, ErrorFix) | (Intent::Architecture, Decision) | (Intent::HowTo, Command) => 1500,
        (Intent::Onboarding, Summary)
        | (Intent::Policy, Decision)
        | (Intent::Review, Pattern)
        | (Intent::Security, Decision) => 1400,
        (Intent::Architecture, Pattern) | (Intent::Review, CodePattern) | (Intent::Security, ErrorFix) => 1300,
        (Intent::Debugging | Intent::HowTo, CodePattern)
        | (Intent::Onboarding, Context)
        | (Intent::Security, Pattern) => 1200,
        (Intent::Debugging, Context)
        | (Intent::Architecture, CodePattern)
        | (Intent::Onboarding, Decision | Pattern)
        | (Intent::Policy | Intent::HowTo, Pattern)
        | (Intent::Review, Decision | Preference) => 1100,
        _ => 1000,
    })
}

/// What an intent makes of the kind of source: onboarding lifts documents ("+docs"; a document is a source and no type,
/// so it has a table of its own).
pub const fn document_bias(intent: Intent, source: SourceType) -> Factor {
    match (intent, source) {
        (Intent::Onboarding, SourceType::Document) => Factor::from_const(1100),
        _ => Factor::ONE,
    }
}

/// What an intent makes of a unit that was written at most [`RECENT`] ago (CTX-06). Older ones are left alone.
///
/// It is no second freshness: the bonus for an active scope stands in the scope's weight, and the boost of RET-26 in
/// the flat search alone (D17).
pub fn recency_bias(intent: Intent, written: Timestamp, now: Timestamp) -> Factor {
    if now.since(written) > RECENT {
        return Factor::ONE;
    }
    Factor::from_const(match intent {
        Intent::Debugging => 1300,
        Intent::Policy => 1100,
        Intent::HowTo => 1200,
        Intent::Security => 1400,
        Intent::Onboarding => 900,
        Intent::Architecture | Intent::Review | Intent::General => 1000,
    })
}

/// 1.1 up to 7 days, 1.05 up to 30, else 1 (CTX-11, RET-26). A moment to come counts as now: a wrong clock wins 1.1 and
/// no more.
pub fn recency_boost(at: Timestamp, now: Timestamp) -> Factor {
    let age = now.since(at);
    Factor::from_const(if age <= RECENT {
        1100
    } else if age <= FAIRLY_RECENT {
        1050
    } else {
        1000
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use KnowledgeType::*;

    const LEVELS: [ScopeLevel; 4] =
        [ScopeLevel::Personal, ScopeLevel::Team, ScopeLevel::Department, ScopeLevel::Organization];
    const KINDS: [KnowledgeType; 9] =
        [Decision, Pattern, Preference, ErrorFix, Context, CodePattern, Command, Conversation, Summary];

    #[test]
    fn the_table_of_scopes_is_the_designs() {
        for (intent, row) in [
            (Intent::Debugging, [1200, 800, 600, 500]),
            (Intent::Architecture, [800, 1100, 1200, 1300]),
            (Intent::Onboarding, [700, 1000, 1100, 1200]),
            (Intent::Policy, [500, 900, 1200, 1500]),
            (Intent::HowTo, [1100, 1000, 900, 800]),
            (Intent::Review, [1000, 1200, 1100, 1000]),
            (Intent::Security, [800, 1100, 1200, 1300]),
            (Intent::General, [1000; 4]),
        ] {
            assert_eq!(LEVELS.map(|level| scope_bias(intent, level).get()), row, "{intent}");
        }
    }

    /// Every cell that is named, and 1.0 in every other one.
    #[test]
    fn the_table_of_types_is_the_designs() {
        let named: [(Intent, &[(KnowledgeType, u16)]); 8] = [
            (Intent::Debugging, &[(ErrorFix, 1500), (CodePattern, 1200), (Context, 1100)]),
            (Intent::Architecture, &[(Decision, 1500), (Pattern, 1300), (CodePattern, 1100)]),
            (Intent::Onboarding, &[(Summary, 1400), (Context, 1200), (Decision, 1100), (Pattern, 1100)]),
            (Intent::Policy, &[(Decision, 1400), (Pattern, 1100)]),
            (Intent::HowTo, &[(Command, 1500), (CodePattern, 1200), (Pattern, 1100)]),
            (Intent::Review, &[(Pattern, 1400), (CodePattern, 1300), (Decision, 1100), (Preference, 1100)]),
            (Intent::Security, &[(Decision, 1400), (ErrorFix, 1300), (Pattern, 1200)]),
            (Intent::General, &[]),
        ];
        for (intent, row) in named {
            for kind in KINDS {
                let expected = row.iter().find(|(k, _)| *k == kind).map_or(1000, |(_, factor)| *factor);
                assert_eq!(type_bias(intent, kind).get(), expected, "{intent} {kind:?}");
            }
        }
    }

    #[test]
    fn the_table_of_recency_is_the_designs_and_ends_after_seven_days() {
        let (now, week) = (Timestamp(0).plus(Duration::days(365)), Timestamp(0).plus(Duration::days(358)));
        let earlier = Timestamp(week.0 - 1);
        for (intent, expected) in Intent::ALL.into_iter().zip([1300, 1000, 900, 1100, 1200, 1000, 1400, 1000]) {
            assert_eq!(recency_bias(intent, week, now).get(), expected, "{intent}");
            assert_eq!(recency_bias(intent, earlier, now), Factor::ONE, "{intent}");
        }
    }

    #[test]
    fn the_boost_has_its_edges_at_7_and_30_days() {
        let now = Timestamp(0).plus(Duration::days(365));
        let at = |days: i64, ms: i64| recency_boost(Timestamp(now.0 - days * 86_400_000 - ms), now).get();
        assert_eq!([at(0, 0), at(7, 0), at(7, 1), at(30, 0), at(30, 1)], [1100, 1100, 1050, 1050, 1000]);
        assert_eq!(at(-1, 0), 1100);
    }

    #[test]
    fn only_onboarding_lifts_documents() {
        for intent in Intent::ALL {
            let expected = if intent == Intent::Onboarding { 1100 } else { 1000 };
            assert_eq!(document_bias(intent, SourceType::Document).get(), expected);
            assert_eq!(document_bias(intent, SourceType::Conversation), Factor::ONE);
        }
    }
}
