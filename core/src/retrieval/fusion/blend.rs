//! What words found and what meaning found, as one ranking.
//!
//! How much meaning counts depends on the model: a weak one at equal weight ruins what words found, so the weight is
//! an argument and comes with the model.

use std::collections::{BTreeMap, BTreeSet};

use cid::Cid;

use super::reciprocal;
use crate::measure::{Micro, Milli};

/// How places or scores of two rankings are made comparable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blend {
    /// By place: `1 / (60 + rank)`.
    Reciprocal,
    /// By score: each ranking's least becomes 0 and its greatest 1. A ranking of equal scores is all ones.
    MinMax,
}

/// A way of blending, and how much the dense side counts in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mix {
    /// How.
    pub blend: Blend,
    /// The share of the dense ranking; the lexical one has the rest.
    pub dense: Milli,
}

/// A chunk in a blended ranking, with what either side gave it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blended {
    /// The chunk.
    pub chunk: Cid,
    /// What it weighs. Comparable within this ranking only.
    pub weight: u64,
    /// Its score among the words, if they found it.
    pub lexical: Option<u64>,
    /// Its dot product with the question, if meaning found it.
    pub dense: Option<i32>,
}

/// Blends two rankings, best first each. What one of them has not found weighs nothing there, so a caller that knows what
/// one side says of what only the other found appends that: on judged collections it makes the blend better at every share.
///
/// A side without a share is left out: at a share of zero the result is the lexical ranking.
/// Ties go to the higher lexical score, then by CID. A chunk that a ranking names twice is heard once.
pub fn blend(lexical: &[(Cid, u64)], dense: &[(Cid, i32)], mix: Mix, limit: usize) -> Vec<Blended> {
    let dense_share = u64::from(mix.dense.get());
    let lexical_share = u64::from(Milli::ONE.get()) - dense_share;
    let mut by_chunk: BTreeMap<Cid, Blended> = BTreeMap::new();
    let of = |chunk| Blended { chunk, weight: 0, lexical: None, dense: None };
    for ((chunk, score), weight) in weighed(lexical, mix.blend).filter(|_| 0 < lexical_share) {
        let blended = by_chunk.entry(chunk).or_insert_with(|| of(chunk));
        blended.weight += weight * lexical_share;
        blended.lexical = Some(score);
    }
    for ((chunk, score), weight) in weighed(dense, mix.blend).filter(|_| 0 < dense_share) {
        let blended = by_chunk.entry(chunk).or_insert_with(|| of(chunk));
        blended.weight += weight * dense_share;
        blended.dense = Some(score);
    }
    let mut blended: Vec<Blended> = by_chunk.into_values().collect();
    blended.sort_by(|a, b| b.weight.cmp(&a.weight).then(b.lexical.cmp(&a.lexical)).then_with(|| a.chunk.cmp(&b.chunk)));
    blended.truncate(limit);
    blended
}

/// A ranking's entries, each chunk once, with what each weighs there.
fn weighed<S: Copy + Ord + TryInto<i64>>(ranking: &[(Cid, S)], blend: Blend) -> impl Iterator<Item = ((Cid, S), u64)> {
    let mut named = BTreeSet::new();
    let once: Vec<(Cid, S)> = ranking.iter().filter(|(chunk, _)| named.insert(*chunk)).copied().collect();
    let wide = |score: S| score.try_into().unwrap_or(i64::MAX);
    let least = once.iter().map(|(_, score)| wide(*score)).min().unwrap_or(0);
    let greatest = once.iter().map(|(_, score)| wide(*score)).max().unwrap_or(0);
    (1..).zip(once).map(move |(rank, (chunk, score))| {
        let weight = match blend {
            Blend::Reciprocal => reciprocal(rank),
            Blend::MinMax if least == greatest => u64::from(Micro::ONE.get()),
            Blend::MinMax => u64::from(Micro::from_ratio(wide(score).abs_diff(least), greatest.abs_diff(least)).get()),
        };
        ((chunk, score), weight)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::RawBlock;
    use proptest::prelude::*;

    fn chunk(n: u8) -> Cid {
        RawBlock::raw(vec![n]).cid
    }

    fn mix(blend: Blend, dense: u16) -> Mix {
        Mix { blend, dense: Milli::new(dense).unwrap() }
    }

    fn order(blended: &[Blended]) -> Vec<Cid> {
        blended.iter().map(|b| b.chunk).collect()
    }

    #[test]
    fn scores_are_spread_and_weighed() {
        let lexical = [(chunk(1), 900), (chunk(2), 500), (chunk(3), 100)];
        let dense = [(chunk(3), 16_000), (chunk(2), 8_000), (chunk(4), -8_000)];
        let blended = blend(&lexical, &dense, mix(Blend::MinMax, 300), 10);
        // 1: 0.7; 2: 0.7 * 0.5 + 0.3 * 16/24; 3: 0.3; 4: nothing.
        assert_eq!(order(&blended), [chunk(1), chunk(2), chunk(3), chunk(4)]);
        assert_eq!(blended.iter().map(|b| b.weight).collect::<Vec<_>>(), [700_000_000, 549_999_800, 300_000_000, 0]);
        assert_eq!((blended[2].lexical, blended[2].dense), (Some(100), Some(16_000)));
        assert_eq!(order(&blend(&lexical, &dense, mix(Blend::MinMax, 900), 1)), [chunk(3)]);
    }

    #[test]
    fn places_are_weighed() {
        let lexical = [(chunk(1), 900), (chunk(2), 899)];
        let dense = [(chunk(2), 5), (chunk(3), 4)];
        assert_eq!(order(&blend(&lexical, &dense, mix(Blend::Reciprocal, 500), 10)), [chunk(2), chunk(1), chunk(3)]);
        assert_eq!(order(&blend(&lexical, &dense, mix(Blend::Reciprocal, 10), 10)), [chunk(1), chunk(2), chunk(3)]);
    }

    #[test]
    fn one_hit_and_equal_scores_weigh_whole() {
        let blended = blend(&[(chunk(1), 7)], &[(chunk(2), -3), (chunk(3), -3)], mix(Blend::MinMax, 400), 10);
        assert_eq!(blended.iter().map(|b| b.weight / 1_000_000).collect::<Vec<_>>(), [600, 400, 400]);
        assert!(blend(&[], &[], mix(Blend::MinMax, 400), 10).is_empty());
    }

    fn best_first<S: Ord + Copy>(scores: Vec<(u8, S)>) -> Vec<(Cid, S)> {
        let mut ranking: Vec<(Cid, S)> = scores.into_iter().map(|(n, score)| (chunk(n), score)).collect();
        ranking.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
        ranking
    }

    proptest! {
        /// With all of the share on one side, the result is that side's ranking.
        #[test]
        fn a_side_with_the_whole_share_stands(
            lexical in proptest::collection::btree_map(0u8..20, 0u64..u64::MAX, 0..10),
            dense in proptest::collection::btree_map(0u8..20, any::<i32>(), 0..10), by_place in any::<bool>(),
        ) {
            let how = if by_place { Blend::Reciprocal } else { Blend::MinMax };
            let lexical = best_first(lexical.into_iter().map(|(n, s)| (n, s >> 20)).collect());
            let dense = best_first(dense.into_iter().collect());
            let words = blend(&lexical, &dense, mix(how, 0), 100);
            prop_assert_eq!(words.len(), lexical.len());
            if by_place {
                prop_assert_eq!(order(&words), lexical.iter().map(|l| l.0).collect::<Vec<_>>());
                let meaning = blend(&lexical, &dense, mix(how, 1000), 100);
                prop_assert_eq!(order(&meaning), dense.iter().map(|l| l.0).collect::<Vec<_>>());
            } else {
                // Scores may fall together when they are spread over a million steps, never change places.
                prop_assert!(words.is_sorted_by(|a, b| a.lexical >= b.lexical));
            }
        }

        /// Lifting a chunk in one ranking never lowers it in the result.
        #[test]
        fn more_is_not_less(scores in proptest::collection::vec((0u64..1000, -1000i32..1000), 2..10), lift in 1u64..500, share in 1u16..1000) {
            let numbered = || (0u8..).zip(&scores);
            let lexical = numbered().map(|(n, s)| (n, s.0)).collect::<Vec<_>>();
            let dense = best_first(numbered().map(|(n, s)| (n, s.1)).collect());
            let mut lifted = lexical.clone();
            lifted[0].1 += lift;
            let place = |lexical| {
                let blended = blend(&best_first(lexical), &dense, mix(Blend::Reciprocal, share), 100);
                blended.iter().position(|b| b.chunk == chunk(0))
            };
            prop_assert!(place(lifted) <= place(lexical));
        }
    }
}
