//! Duplicates at both edges, corroboration, conflicts, and that order does not matter.

use proptest::prelude::*;

use super::super::for_test::{reader, unit};
use super::super::{Intent, Model, Signals, rate};
use super::*;
use crate::boundary::Sensitivity;
use crate::knowledge::KnowledgeUnit;
use crate::measure::{Timestamp, Weight};

fn candidate(unit: &KnowledgeUnit, similarity: u32) -> Option<Candidate<'_>> {
    let unit = Admitted::of(&reader("ann").0, unit)?;
    let signals = Signals {
        similarity: Micro::new(similarity).unwrap(),
        source_weight: Weight::ONE,
        evidence: Micro::ONE,
        stale: Micro::ZERO,
        written: None,
    };
    Some(Candidate { unit, score: rate(Intent::General, unit, signals, Timestamp(0), &Model::default()), rank: 0 })
}

/// Units 0, 1, 2, … of different people, each a little less similar than the one before.
fn several(n: u8) -> Vec<KnowledgeUnit> {
    (0..n).map(|i| unit(i, &format!("p{i}"), "team-pumps")).collect()
}

fn ranked(units: &[KnowledgeUnit]) -> Vec<Candidate<'_>> {
    (0u32..).zip(units).filter_map(|(i, unit)| candidate(unit, 900_000 - i * 10_000)).collect()
}

#[test]
fn of_one_score_the_search_decides() {
    let units = several(5);
    let ranks = [3, 0, 4, 1, 2];
    let candidates =
        units.iter().zip(ranks).map(|(unit, rank)| Candidate { rank, ..candidate(unit, 500_000).unwrap() });
    let fused = fuse(candidates.collect(), &PairSimilarities::default(), &Opposed::default(), 5);
    assert_eq!(order(&fused, &units), [1, 3, 4, 0, 2]);
}

fn alike(units: &[KnowledgeUnit], pairs: &[(usize, usize, u32)]) -> PairSimilarities {
    PairSimilarities::new(
        pairs.iter().map(|(a, b, cosine)| (units[*a].chunk, units[*b].chunk, Micro::new(*cosine).unwrap())),
    )
}

fn opposed(units: &[KnowledgeUnit], pairs: &[(usize, usize)]) -> Opposed {
    Opposed::new(pairs.iter().map(|(a, b)| (units[*a].chunk, units[*b].chunk)))
}

fn order(fused: &Fused<'_>, units: &[KnowledgeUnit]) -> Vec<usize> {
    let place = |found: &Found<'_>| units.iter().position(|u| u.chunk == found.unit.unit().chunk).unwrap();
    fused.found.iter().map(place).collect()
}

#[test]
fn twins_are_one_result_with_a_corroboration() {
    let units = several(2);
    // KNU-17 at .89 and .91, CTX-18 at its very edge.
    for (cosine, results) in [(890_000, 2), (900_000, 2), (900_001, 1), (910_000, 1)] {
        let fused = fuse(ranked(&units), &alike(&units, &[(1, 0, cosine)]), &Opposed::default(), TOP_K);
        assert_eq!(fused.found.len(), results, "{cosine}");
        assert_eq!(fused.found[0].corroborations, 2 - results);
        assert_eq!(fused.found[0].unit.unit().chunk, units[0].chunk, "the higher one is kept");
        assert_eq!(fused.counts.folded, 2 - results);
    }
    let fused = fuse(ranked(&units), &alike(&units, &[(0, 1, 950_000)]), &Opposed::default(), TOP_K);
    assert_eq!(fused.found[0].copies, BTreeSet::from([units[1].chunk]));
}

#[test]
fn only_what_is_independent_corroborates() {
    let mut units = several(5);
    let same_creator = units[0].origin.creator.clone();
    units[1].origin.creator = same_creator;
    units[2].source = units[0].source;
    // 3 and 4 are one person in two places.
    units[4].origin.creator = units[3].origin.creator.clone();
    let all: Vec<_> = (1..5).map(|i| (0, i, 950_000)).collect();
    let fused = fuse(ranked(&units), &alike(&units, &all), &Opposed::default(), TOP_K);
    assert_eq!((fused.found.len(), fused.found[0].copies.len()), (1, 4));
    assert_eq!(fused.found[0].corroborations, 1);
    // Without people each source counts once.
    for unit in &mut units {
        unit.origin.creator = None;
    }
    units[4].source = units[3].source;
    let fused = fuse(ranked(&units), &alike(&units, &all), &Opposed::default(), TOP_K);
    assert_eq!(fused.found[0].corroborations, 2, "1 and 3; 2 is the best one's own source, 4 that of 3");
}

#[test]
fn the_same_unit_twice_is_one_result_and_confirms_nothing() {
    let units = several(1);
    let twice = vec![candidate(&units[0], 500_000).unwrap(), candidate(&units[0], 700_000).unwrap()];
    let fused = fuse(twice, &PairSimilarities::default(), &Opposed::default(), TOP_K);
    assert_eq!((fused.found.len(), fused.found[0].corroborations, fused.counts.folded), (1, 0, 1));
    assert_eq!(fused.found[0].score.similarity.get(), 700_000);
    assert!(fused.found[0].copies.is_empty());
}

#[test]
fn near_equal_words_of_opposite_meaning_are_a_conflict() {
    let units = several(2);
    let fused = fuse(ranked(&units), &alike(&units, &[(0, 1, 990_000)]), &opposed(&units, &[(1, 0)]), TOP_K);
    assert_eq!(order(&fused, &units), [0, 1]);
    assert!(fused.found.iter().all(Found::is_contested));
    assert_eq!(fused.found[0].corroborations, 0);
}

#[test]
fn of_two_values_for_a_pair_the_lower_counts() {
    let units = several(2);
    let pairs = alike(&units, &[(0, 1, 950_000), (1, 0, 800_000)]);
    assert_eq!(fuse(ranked(&units), &pairs, &Opposed::default(), TOP_K).found.len(), 2);
}

#[test]
fn five_are_results_unless_more_are_asked_for() {
    let units = several(8);
    let fused = fuse(ranked(&units), &PairSimilarities::default(), &Opposed::default(), TOP_K);
    assert_eq!(order(&fused, &units), [0, 1, 2, 3, 4]);
    assert_eq!(fused.counts, FusedCounts { candidates: 8, folded: 0, below: 3, brought_up: 0 });
    for (k, n) in [(0, 0), (1, 1), (8, 8), (9, 8)] {
        assert_eq!(fuse(ranked(&units), &PairSimilarities::default(), &Opposed::default(), k).found.len(), n);
    }
}

#[test]
fn the_other_side_follows_and_is_brought_up_once() {
    let units = several(8);
    let none = PairSimilarities::default();
    // 3 contradicts 0: it moves up behind it.
    let fused = fuse(ranked(&units), &none, &opposed(&units, &[(3, 0)]), TOP_K);
    assert_eq!(order(&fused, &units), [0, 3, 1, 2, 4]);
    assert_eq!(fused.counts.brought_up, 0);
    // 6 and 7 contradict 1, and none of the five does: the better one is brought up.
    let fused = fuse(ranked(&units), &none, &opposed(&units, &[(1, 6), (7, 1)]), TOP_K);
    assert_eq!(order(&fused, &units), [0, 1, 6, 2, 3, 4]);
    assert_eq!((fused.counts.brought_up, fused.counts.below), (1, 2));
    let contested: Vec<bool> = fused.found.iter().map(Found::is_contested).collect();
    assert_eq!(contested, [false, true, true, false, false, false]);
    assert_eq!(fused.found[1].opposed_by, BTreeSet::from([units[6].chunk]), "only what is shown is named");
    // A duplicate's contradiction is its group's.
    let fused = fuse(ranked(&units), &alike(&units, &[(0, 5, 950_000)]), &opposed(&units, &[(5, 2)]), TOP_K);
    assert_eq!(order(&fused, &units)[..2], [0, 2]);
}

/// D21: a flag would tell that there is something to contradict.
#[test]
fn what_the_reader_may_not_see_contests_nothing() {
    let mut units = several(3);
    units[1].sensitivity = Sensitivity::Restricted;
    let fused = fuse(ranked(&units), &PairSimilarities::default(), &opposed(&units, &[(0, 1)]), TOP_K);
    let without: Vec<KnowledgeUnit> = vec![units[0].clone(), units[2].clone()];
    let candidates = vec![candidate(&without[0], 900_000).unwrap(), candidate(&without[1], 880_000).unwrap()];
    assert_eq!(fused, fuse(candidates, &PairSimilarities::default(), &Opposed::default(), TOP_K));
}

#[test]
fn nothing_found_is_no_error() {
    let fused = fuse(Vec::new(), &PairSimilarities::default(), &Opposed::default(), TOP_K);
    assert_eq!(fused, Fused::default());
}

proptest! {
    /// Sources answer in any order, with ties and repetitions: the result is the same, nothing is lost or doubled.
    #[test]
    fn the_order_of_arrival_does_not_matter(
        all in proptest::collection::vec((0u8..9, 0u32..4), 0..14), shuffle in any::<u64>(), k in 0usize..7,
        similar in proptest::collection::vec((0usize..9, 0usize..9, 850_000u32..950_000), 0..12),
        against in proptest::collection::vec((0usize..9, 0usize..9), 0..5),
    ) {
        let units = several(9);
        let (alike, opposed) = (alike(&units, &similar), opposed(&units, &against));
        let mut arrived: Vec<Candidate<'_>> =
            all.iter().filter_map(|(u, s)| candidate(&units[usize::from(*u)], s * 200_000)).collect();
        let expected = fuse(arrived.clone(), &alike, &opposed, k);
        let mut seed = shuffle;
        for i in (1..arrived.len()).rev() {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            arrived.swap(i, (seed >> 33) as usize % (i + 1));
        }
        prop_assert_eq!(fuse(arrived, &alike, &opposed, k), expected.clone());
        let counts = expected.counts;
        prop_assert_eq!(counts.candidates, expected.found.len() + counts.folded + counts.below);
        prop_assert!(expected.found.len() <= 2 * k);
        let distinct: BTreeSet<Cid> = expected.found.iter().map(|f| f.unit.unit().chunk).collect();
        prop_assert_eq!(distinct.len(), expected.found.len());
        // Contested means both sides are here.
        for found in &expected.found {
            prop_assert!(found.opposed_by.is_subset(&distinct));
        }
    }
}
