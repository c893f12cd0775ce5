//! One ranking out of several whose scores cannot be compared: by rank.
//!
//! Cormack, Clarke and Büttcher, "Reciprocal Rank Fusion outperforms Condorcet and individual Rank Learning Methods"
//! (SIGIR 2009): a document weighs the sum of `1 / (60 + rank)` over the rankings that have it. [`fuse`] merges the
//! rankings of nodes so; [`blend`] makes one of what words found and what meaning found.

mod blend;

use std::collections::{BTreeMap, BTreeSet};

use cid::Cid;

use super::Ranked;
use crate::identity::NodeId;

pub use blend::{Blend, Blended, Mix, blend};

/// The paper's `k`: it takes the edge off the first places.
pub const RRF_K: u64 = 60;

/// `1` in the integer form of a weight. Divided by 61 it leaves ten digits, and a thousand rankings do not overflow it.
const ONE: u64 = 1_000_000_000_000;

/// What a place in a ranking weighs; the first is 1.
fn reciprocal(rank: u64) -> u64 {
    ONE / (RRF_K + rank)
}

/// Fuses the ranking that was merged by score with those of nodes that withhold their statistics.
///
/// The result does not depend on the order in which `others` came: weights are sums, ties go to the higher score, then
/// by CID. Without others it is the merged ranking as it is.
pub fn fuse(merged: Vec<Ranked>, others: &BTreeMap<NodeId, Vec<(Cid, u64)>>, limit: usize) -> Vec<Ranked> {
    let mut fused = merged;
    if others.values().any(|ranking| !ranking.is_empty()) {
        let mut by_chunk: BTreeMap<Cid, (u64, Ranked)> = BTreeMap::new();
        for (rank, ranked) in (1..).zip(fused) {
            by_chunk.insert(ranked.chunk, (reciprocal(rank), ranked));
        }
        for (node, ranking) in others {
            // A node that names a chunk twice is heard once.
            let mut named = BTreeSet::new();
            let once = ranking.iter().filter(|(chunk, _)| named.insert(*chunk));
            for (rank, (chunk, score)) in (1..).zip(once) {
                let new = || (0, Ranked { chunk: *chunk, score: *score, providers: BTreeSet::new() });
                let (weight, ranked) = by_chunk.entry(*chunk).or_insert_with(new);
                *weight += reciprocal(rank);
                ranked.score = ranked.score.min(*score);
                ranked.providers.insert(*node);
            }
        }
        let mut weighed: Vec<(u64, Ranked)> = by_chunk.into_values().collect();
        weighed.sort_by(|(a_weight, a), (b_weight, b)| {
            b_weight.cmp(a_weight).then(b.score.cmp(&a.score)).then_with(|| a.chunk.cmp(&b.chunk))
        });
        fused = weighed.into_iter().map(|(_, ranked)| ranked).collect();
    }
    fused.truncate(limit);
    fused
}

#[cfg(test)]
mod tests {
    use super::super::merge;
    use super::*;
    use crate::content::RawBlock;
    use crate::identity::SecretKey;
    use proptest::prelude::*;

    fn chunk(n: u8) -> Cid {
        RawBlock::raw(vec![n]).cid
    }

    fn node(n: u8) -> NodeId {
        SecretKey::from_seed([n; 32]).public()
    }

    #[test]
    fn what_two_rankings_have_comes_first() {
        let merged = merge([(node(0), vec![(chunk(1), 900), (chunk(2), 800)])], 10);
        let others = BTreeMap::from([(node(9), vec![(chunk(3), 700), (chunk(2), 800)])]);
        let fused = fuse(merged, &others, 10);
        // 2: 1/62 + 1/62; 1 and 3: 1/61 each, and 1 has the higher score.
        assert_eq!(fused.iter().map(|r| r.chunk).collect::<Vec<_>>(), [chunk(2), chunk(1), chunk(3)]);
        assert_eq!(fused[0].providers, BTreeSet::from([node(0), node(9)]));
    }

    #[test]
    fn without_others_it_is_the_merged_ranking() {
        let merged = merge([(node(0), vec![(chunk(1), 5), (chunk(2), 9)])], 10);
        assert_eq!(fuse(merged.clone(), &BTreeMap::new(), 10), merged);
        assert_eq!(fuse(merged.clone(), &BTreeMap::from([(node(1), vec![])]), 1), merged[..1]);
    }

    #[test]
    fn naming_a_chunk_often_does_not_lift_it() {
        let merged = merge([(node(0), vec![(chunk(1), 900)])], 10);
        let boast = BTreeMap::from([(node(9), vec![(chunk(3), 700); 50])]);
        assert_eq!(fuse(merged, &boast, 10)[0].chunk, chunk(1));
    }

    proptest! {
        /// Rankings arrive in any order: the result is the same.
        #[test]
        fn the_order_of_arrival_does_not_matter(
            rankings in proptest::collection::vec(proptest::collection::vec((0u8..12, 1u64..50), 0..8), 1..6),
            n_withheld in 0usize..4, shuffle in any::<u64>(),
        ) {
            let arrived: Vec<(NodeId, Vec<(Cid, u64)>)> = (0u8..)
                .zip(rankings)
                .map(|(n, hits)| (node(n), hits.into_iter().map(|(c, score)| (chunk(c), score)).collect()))
                .collect();
            let withheld: BTreeSet<NodeId> = arrived.iter().take(n_withheld).map(|(n, _)| *n).collect();
            let run = |arrived: Vec<(NodeId, Vec<(Cid, u64)>)>| {
                let (others, scored): (Vec<_>, Vec<_>) = arrived.into_iter().partition(|(n, _)| withheld.contains(n));
                fuse(merge(scored, 100), &others.into_iter().collect(), 10)
            };
            let expected = run(arrived.clone());
            let mut shuffled = arrived;
            let mut seed = shuffle;
            for i in (1..shuffled.len()).rev() {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                shuffled.swap(i, (seed >> 33) as usize % (i + 1));
            }
            prop_assert_eq!(run(shuffled), expected);
        }
    }
}
