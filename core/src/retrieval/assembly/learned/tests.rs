//! Counting, shrinking, and that learning opens nothing.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::super::for_test::{home, unit};
use super::super::{Admitted, Candidate, Opposed, PairSimilarities, Signals, fuse, rate};
use super::*;
use crate::boundary::{DepartmentPolicy, Requester, readable};
use crate::content::RawBlock;
use crate::knowledge::KnowledgeUnit;
use crate::measure::Micro;

const OF_TEAM: SourceKind = SourceKind::Level(ScopeLevel::Team);

fn shown(level: ScopeLevel, source_type: SourceType, help: Help) -> Shown {
    Shown {
        chunk: RawBlock::raw(vec![1]).cid,
        level,
        source_type,
        sensitivity: Sensitivity::Internal,
        source_weight: Weight::ONE,
        help,
    }
}

fn event(shown: Vec<Shown>) -> FeedbackEvent {
    FeedbackEvent::new(Timestamp(7), Intent::Debugging, shown).unwrap()
}

/// `n` events in which the team's unit was used and the organisation's passed over.
fn team_helps(n: usize) -> Vec<FeedbackEvent> {
    let pair = vec![
        shown(ScopeLevel::Team, SourceType::GitCommit, Help::Used),
        shown(ScopeLevel::Organization, SourceType::Document, Help::PassedOver),
    ];
    vec![event(pair); n]
}

fn factor(events: &[FeedbackEvent], kind: SourceKind) -> u16 {
    Model::train(events, Sensitivity::Internal).factor(Intent::Debugging, kind).factor.get()
}

#[test]
fn without_data_every_factor_is_exactly_one() {
    let model = Model::train([], Sensitivity::Internal);
    assert!(model.is_empty());
    for intent in Intent::ALL {
        assert_eq!(model.factor(intent, OF_TEAM).factor, Factor::ONE);
    }
    // Nor is anything said of kinds that were not shown, or of other intents.
    let model = Model::train(&team_helps(100), Sensitivity::Internal);
    assert_eq!(model.factor(Intent::Debugging, SourceKind::Level(ScopeLevel::Personal)).factor, Factor::ONE);
    assert_eq!(model.factor(Intent::Policy, OF_TEAM).factor, Factor::ONE);
}

#[test]
fn few_samples_hardly_count_and_many_do() {
    let other = SourceKind::Level(ScopeLevel::Organization);
    // p = 1/2: (1 + 10) / (21 / 2) and (0 + 10) / (21 / 2).
    assert_eq!((factor(&team_helps(1), OF_TEAM), factor(&team_helps(1), other)), (1047, 952));
    // As much experience as prior: (20 + 10) / 20 and 10 / 20.
    assert_eq!((factor(&team_helps(20), OF_TEAM), factor(&team_helps(20), other)), (1500, 500));
    // Never past the bounds: 1.952 tends to 2, and 0.048 is held at a half.
    assert_eq!((factor(&team_helps(400), OF_TEAM), factor(&team_helps(400), other)), (1952, 500));
    assert_eq!(factor(&team_helps(400), SourceKind::Type(SourceType::GitCommit)), 1952);
}

#[test]
fn where_nothing_ever_helped_there_is_no_contrast() {
    let events = [event(vec![shown(ScopeLevel::Team, SourceType::Document, Help::PassedOver); 50])];
    assert_eq!(factor(&events, OF_TEAM), 1000);
}

#[test]
fn wrong_is_worse_than_passed_over() {
    let with = |help| {
        let mut events = team_helps(5);
        // Others help too: a factor compares a kind with all of them.
        events.extend(vec![event(vec![shown(ScopeLevel::Organization, SourceType::Document, Help::Used)]); 10]);
        events.push(event(vec![shown(ScopeLevel::Team, SourceType::GitCommit, help)]));
        factor(&events, OF_TEAM)
    };
    assert!(with(Help::Wrong) < with(Help::PassedOver) && with(Help::PassedOver) < with(Help::Used));
}

#[test]
fn an_event_is_bounded_and_is_read_as_it_is_written() {
    let many = |n| vec![shown(ScopeLevel::Team, SourceType::Manual, Help::Used); n];
    let new = |n| FeedbackEvent::new(Timestamp(0), Intent::HowTo, many(n));
    assert_eq!(new(0), Err(FeedbackError::Nothing));
    assert!(new(SHOWN_MAX).is_ok());
    assert_eq!(new(SHOWN_MAX + 1), Err(FeedbackError::TooMany(65)));
    let written = serde_ipld_dagcbor::to_vec(&event(many(2))).unwrap();
    assert_eq!(serde_ipld_dagcbor::from_slice::<FeedbackEvent>(&written).unwrap(), event(many(2)));
    let empty = serde_json::json!({ "at": 0, "intent": "how-to", "shown": [] });
    assert!(serde_json::from_value::<FeedbackEvent>(empty).is_err(), "a stored event is held to the same bounds");
}

#[test]
fn a_reader_learns_only_from_what_is_whole_for_them() {
    let colleague = super::super::for_test::reader("ann").0;
    assert_eq!(ceiling(&colleague), Sensitivity::Internal);
    let stranger = ReadableSet::of(&Requester::stranger(), &home(), DepartmentPolicy::default());
    assert_eq!(ceiling(&stranger), Sensitivity::Public);
    let mut events = team_helps(50);
    for (ceiling, learned) in [(Sensitivity::Public, false), (Sensitivity::Internal, true)] {
        assert_eq!(!Model::train(&events, ceiling).is_empty(), learned, "{ceiling}");
    }
    // One restricted unit labels the whole event.
    let before = Model::train(&events, Sensitivity::Internal);
    let mut secret = shown(ScopeLevel::Team, SourceType::GitCommit, Help::Wrong);
    secret.sensitivity = Sensitivity::Restricted;
    events.push(event(vec![shown(ScopeLevel::Team, SourceType::GitCommit, Help::Used), secret]));
    assert_eq!(Model::train(&events, Sensitivity::Internal), before);
}

fn any_shown() -> impl Strategy<Value = Shown> {
    let levels = [ScopeLevel::Personal, ScopeLevel::Team, ScopeLevel::Department, ScopeLevel::Organization];
    let types = [SourceType::Conversation, SourceType::GitCommit, SourceType::Document];
    let help = [Help::Used, Help::PassedOver, Help::Wrong];
    (0usize..4, 0usize..3, 0usize..3, 0usize..4).prop_map(move |(level, source, helped, sensitivity)| Shown {
        sensitivity: Sensitivity::ALL[sensitivity],
        ..shown(levels[level], types[source], help[helped])
    })
}

fn any_events() -> impl Strategy<Value = Vec<FeedbackEvent>> {
    let event = (proptest::collection::vec(any_shown(), 1..8), 0usize..8)
        .prop_map(|(shown, intent)| FeedbackEvent::new(Timestamp(0), Intent::ALL[intent], shown).unwrap());
    proptest::collection::vec(event, 0..40)
}

/// Units of several owners, classes and scopes.
fn any_units() -> impl Strategy<Value = Vec<KnowledgeUnit>> {
    let scopes = ["person-ann", "team-pumps", "team-security", "department-operations", "organization-water"];
    let one = (0usize..2, 0usize..5, 0usize..4);
    proptest::collection::vec(one, 1..12).prop_map(move |all| {
        let unit_of = |(n, (creator, scope, sensitivity)): (u8, (usize, usize, usize))| {
            let mut unit = unit(n, ["ann", "bob"][creator], scopes[scope]);
            unit.sensitivity = Sensitivity::ALL[sensitivity];
            unit
        };
        (0u8..).zip(all).map(unit_of).collect()
    })
}

proptest! {
    #[test]
    fn factors_stay_in_their_bounds_and_order_does_not_matter(mut events in any_events(), intent in 0usize..8) {
        let model = Model::train(&events, Sensitivity::Confidential);
        events.reverse();
        prop_assert_eq!(&Model::train(&events, Sensitivity::Confidential), &model);
        for level in [ScopeLevel::Personal, ScopeLevel::Team, ScopeLevel::Department, ScopeLevel::Organization] {
            let factor = model.factor(Intent::ALL[intent], SourceKind::Level(level)).factor;
            prop_assert!((LEARNED_LOW..=LEARNED_HIGH).contains(&factor));
        }
    }

    /// LRN-05: whatever was learned, from whatever events, the set of what is found is the same, and all of it passes
    /// the lock at the exit. Only the order may differ.
    #[test]
    fn learning_never_widens_access(
        units in any_units(), events in any_events(), intent in 0usize..8, in_team in any::<bool>(),
    ) {
        let mut scopes = BTreeSet::from(["person-ann".parse().unwrap()]);
        if in_team {
            scopes.insert("team-pumps".parse().unwrap());
        }
        let requester = Requester {
            org: home(),
            person: Some("person-ann".parse().unwrap()),
            departments: BTreeSet::new(),
            scopes,
            grants: BTreeSet::new(),
        };
        let set = ReadableSet::of(&requester, &home(), DepartmentPolicy::default());
        let found = |model: &Model| -> BTreeSet<Cid> {
            let signals = Signals {
                similarity: Micro::from_ratio(4, 5),
                source_weight: Weight::ONE,
                evidence: Micro::ONE,
                stale: Micro::ZERO,
                written: None,
            };
            let candidates = units.iter().filter_map(|unit| Admitted::of(&set, unit)).map(|unit| Candidate {
                unit,
                score: rate(Intent::ALL[intent], unit, signals, Timestamp(0), model),
                rank: 0,
            });
            let fused = fuse(candidates.collect(), &PairSimilarities::default(), &Opposed::default(), usize::MAX);
            fused.found.iter().map(|found| found.unit.unit().chunk).collect()
        };
        let without = found(&Model::default());
        let with = found(&Model::train(&events, Sensitivity::Confidential));
        prop_assert_eq!(&with, &without);
        let may_read = |unit: &&KnowledgeUnit| readable(&requester, unit, DepartmentPolicy::default()).is_ok();
        prop_assert_eq!(with, units.iter().filter(may_read).map(|unit| unit.chunk).collect::<BTreeSet<_>>());
    }
}
