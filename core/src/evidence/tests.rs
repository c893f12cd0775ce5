//! Tables, vectors and laws of evidence and staleness.

use proptest::prelude::*;

use super::*;
use crate::knowledge::KnowledgeType::*;
use crate::measure::Timestamp;

const KINDS: [KnowledgeType; 9] =
    [Decision, Pattern, Preference, ErrorFix, Context, CodePattern, Command, Conversation, Summary];

fn inputs(base: u16, corroborations: u64, accesses: u64, authority: u16, contradictions: u64) -> Inputs {
    Inputs {
        base: Milli::new(base).unwrap(),
        corroborations,
        accesses,
        authority: Factor::try_from(authority).unwrap(),
        contradictions,
        resolution: Factor::ONE,
        idle: Duration(0),
    }
}

/// Vectors of the acceptance map, B6.
#[test]
fn evidence_has_the_vectors() {
    for (base, c, a, f, k, expected) in [
        (600, 1, 5, 1000, 1, 462_000),
        (800, 2, 10, 1100, 0, 1_000_000),
        (800, 0, 0, 1300, 2, 520_000),
        (600, 12, 60, 1000, 3, 720_000),
        (600, 10, 50, 1000, 3, 720_000),
    ] {
        assert_eq!(evidence(inputs(base, c, a, f, k)).score.get(), expected, "{base} {c} {a} {f} {k}");
    }
}

/// Vectors of the acceptance map, B6, which are rounded; ours are truncated.
#[test]
fn decay_has_the_vectors() {
    for (days, expected) in [(0, 0), (30, 0), (60, 16_438), (180, 82_191), (365, 183_561), (30 + 1825, 1_000_000)] {
        assert_eq!(idle_decay(Duration::days(days)).get(), expected, "{days}");
    }
    let after = |ms| idle_decay(Duration::days(30).plus_ms(ms)).get();
    assert_eq!((after(157_679), after(157_680)), (0, 1), "it begins after thirty days");
    assert_eq!(idle_decay(Duration(u64::MAX)), Micro::ONE);
}

/// Vectors of the acceptance map, B6.
#[test]
fn file_staleness_has_the_vectors() {
    for (days, expected) in [(0, 0), (1, 32_784), (30, 632_121), (90, 950_213)] {
        assert_eq!(file_staleness(Duration::days(days)).get(), expected, "{days}");
    }
}

#[test]
fn tables_are_the_designs() {
    let table = KINDS.map(|kind| (base_confidence(kind).get(), half_life(kind).0 / 86_400_000));
    assert_eq!(
        table,
        [(800, 180), (800, 90), (950, 180), (800, 90), (600, 30), (700, 60), (600, 30), (400, 14), (600, 60)]
    );
    let authority = [
        (SourceType::Conversation, 1000),
        (SourceType::GitCommit, 1100),
        (SourceType::PrReview, 1100),
        (SourceType::Document, 1200),
        (SourceType::Behavioral, 1000),
        (SourceType::Distillation, 1100),
        (SourceType::Manual, 1300),
        (SourceType::TestRun, 1100),
        (SourceType::Deployment, 1100),
    ];
    for (source, expected) in authority {
        assert_eq!(authority_factor(source).get(), expected, "{source:?}");
    }
}

#[test]
fn a_unit_at_its_half_life_is_half_stale() {
    for kind in KINDS {
        assert_eq!(time_staleness(kind, half_life(kind)).get(), 500_000, "{kind:?}");
        assert_eq!(time_staleness(kind, Duration(0)), Micro::ZERO);
    }
}

#[test]
fn the_worse_part_and_the_worst_file_count() {
    let day = |n: u64| Timestamp(0).plus(Duration::days(n));
    let files = [FileState::ChangedAt(day(1)), FileState::Missing, FileState::ChangedAt(day(30))];
    let stale = Staleness::of(Decision, day(0), day(30), &files);
    assert_eq!((stale.file.get(), stale.n_missing), (632_121, 1));
    assert!(stale.time < stale.file && stale.score == stale.file);
    let by_time = Staleness::of(Conversation, day(0), day(60), &files[..1]);
    assert!(by_time.time > by_time.file && by_time.score == by_time.time);
    // A file that was last changed before the source was written, and one that is missing, say nothing.
    let before = Staleness::of(Decision, day(9), day(9), &[FileState::ChangedAt(day(3)), FileState::Missing]);
    assert_eq!(before.score, Micro::ZERO);
}

#[test]
fn flags_hold_at_both_edges() {
    let at = |score| Staleness { score: Micro::new(score).unwrap(), ..Staleness::default() };
    assert!(!at(300_000).is_flagged() && at(300_001).is_flagged());
    assert!(!at(500_000).is_counted() && at(500_001).is_counted());
}

#[test]
fn caps_hold_at_both_edges() {
    let score = |c, a| evidence(inputs(500, c, a, 1000, 3)).score;
    assert!(score(9, 0) < score(10, 0) && score(10, 0) == score(11, 0));
    assert!(score(0, 49) < score(0, 50) && score(0, 50) == score(0, 51));
}

#[test]
fn a_loser_keeps_three_tenths_however_often_it_is_computed() {
    let lost = Inputs { resolution: LOSER, ..inputs(800, 0, 0, 1000, 0) };
    assert_eq!(evidence(lost).score.get(), 240_000);
    assert_eq!(evidence(lost), evidence(evidence(lost).inputs), "derived again from its inputs it is the same");
}

#[test]
fn idleness_is_taken_from_what_is_left() {
    let idle = Inputs { idle: Duration::days(30 + 365), ..inputs(800, 0, 0, 1000, 0) };
    assert_eq!(evidence(idle).score.get(), 600_000);
    assert_eq!(evidence(Inputs { idle: Duration(u64::MAX), ..idle }).score, Micro::ZERO);
}

proptest! {
    #[test]
    fn support_raises_and_contradiction_lowers(
        base in 0u16..=1000, c in any::<u64>(), a in any::<u64>(), f in 0u16..=4000, k in any::<u64>(),
    ) {
        let here = inputs(base, c, a, f, k);
        let score = |inputs| evidence(inputs).score;
        let more = Inputs { corroborations: c.saturating_add(1), accesses: a.saturating_add(1), ..here };
        prop_assert!(score(more) >= score(here));
        let contradicted = Inputs { contradictions: k.saturating_add(1), ..here };
        let lost = Inputs { resolution: LOSER, ..here };
        let idle = Inputs { idle: Duration(a), ..here };
        prop_assert!([contradicted, lost, idle].into_iter().all(|less| score(less) <= score(here)));
    }

    #[test]
    fn an_access_raises_what_is_not_at_the_cap(base in 100u16..600, a in 0u64..50) {
        let score = |a| evidence(inputs(base, 0, a, 1000, 0)).score;
        prop_assert!(score(a + 1) > score(a));
    }

    #[test]
    fn age_never_refreshes(a in any::<u64>(), b in any::<u64>(), kind in 0usize..9) {
        let (young, old) = (Duration(a.min(b)), Duration(a.max(b)));
        prop_assert!(time_staleness(KINDS[kind], young) <= time_staleness(KINDS[kind], old));
        prop_assert!(file_staleness(young) <= file_staleness(old));
    }
}
