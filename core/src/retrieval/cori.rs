//! Which nodes to ask: the belief, by CORI, that a collection holds what a question is about.
//!
//! Callan, Lu and Croft, "Searching Distributed Collections with Inference Networks" (SIGIR 1995). For a term `t`, a
//! collection `c` of `cw` terms in which `df` documents hold it, `C` collections of which `cf` hold it:
//!
//! ```text
//! T = df / (df + 50 + 150 · cw / mean cw)      I = ln((C + 0.5) / cf) / ln(C + 1)
//! p(t | c) = 0.4 + 0.6 · T · I                 belief(c) = mean over the question's terms of p(t | c)
//! ```
//!
//! All of it in millionths, truncated, so that two machines choose alike.

use std::collections::BTreeMap;

use super::{CollectionSummary, Query, ln_micro};
use crate::identity::NodeId;
use crate::measure::Micro;

/// Up to so many nodes are all asked where nobody says how many: choosing among few saves little and can lose something.
pub const ASK_ALL_UP_TO: usize = 8;

/// How many of more nodes are asked where nobody says how many.
pub const ASK_BEST: usize = 8;

/// The belief in a collection without any of the question's terms: the paper's default belief.
const BELIEF_DEFAULT: u64 = 400_000;

/// Which nodes shall be asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AskWhom {
    /// Everyone where there are few; otherwise the best, and those of which nothing is known.
    #[default]
    Auto,
    /// Everyone.
    All,
    /// The best of them, so many.
    Best(usize),
}

/// A node with the belief that it holds what is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Believed {
    /// The node.
    pub node: NodeId,
    /// The belief. `None` where the node tells nothing of its collection.
    pub belief: Option<Micro>,
}

/// The belief in each collection, in the order of the nodes.
pub fn beliefs(query: &Query, summaries: &BTreeMap<NodeId, &CollectionSummary>) -> BTreeMap<NodeId, Micro> {
    let n_collections = summaries.len() as u64;
    let total_terms: u128 = summaries.values().map(|s| u128::from(s.n_terms)).sum();
    let sums = query.terms.iter().map(|term| {
        let doc_freq: Vec<u64> = summaries.values().map(|s| s.doc_freq(term)).collect();
        let holding = doc_freq.iter().filter(|df| **df > 0).count() as u64;
        let rarity = rarity_micro(n_collections, holding);
        let beliefs = summaries.values().zip(doc_freq).map(move |(summary, df)| {
            let share = share_micro(df, summary.n_terms, n_collections, total_terms);
            BELIEF_DEFAULT + (1_000_000 - BELIEF_DEFAULT) * (share * rarity / 1_000_000) / 1_000_000
        });
        beliefs.collect::<Vec<u64>>()
    });
    let n_query_terms = query.terms.len().max(1) as u64;
    let mut totals = vec![0u64; summaries.len()];
    for beliefs in sums {
        totals.iter_mut().zip(beliefs).for_each(|(total, belief)| *total += belief);
    }
    let mean = |total: u64| Micro::from_ratio(total / n_query_terms, 1_000_000);
    summaries.keys().copied().zip(totals.into_iter().map(mean)).collect()
}

/// `I`, in millionths.
fn rarity_micro(n_collections: u64, holding: u64) -> u64 {
    if holding == 0 {
        return 0;
    }
    let above = ln_micro(2 * n_collections + 1, 2 * holding);
    u64::from(Micro::from_ratio(above, ln_micro(n_collections + 1, 1)).get())
}

/// `T`, in millionths: `df / (df + 50 + 150 · cw · C / total)`, both sides times the total.
fn share_micro(df: u64, n_terms: u64, n_collections: u64, total_terms: u128) -> u64 {
    if df == 0 || total_terms == 0 {
        return 0;
    }
    let above = u128::from(df) * total_terms;
    let below = above + 50 * total_terms + 150 * u128::from(n_terms) * u128::from(n_collections);
    u64::try_from(above * 1_000_000 / below).unwrap_or(1_000_000)
}

/// The nodes in the order in which they would be asked: highest belief first, ties by name. A node that tells nothing
/// counts as an average one: there is no reason to think better or worse of it.
pub fn in_order(query: &Query, summaries: &BTreeMap<NodeId, Option<&CollectionSummary>>) -> Vec<Believed> {
    let known = summaries.iter().filter_map(|(node, s)| Some((*node, (*s)?))).collect();
    let beliefs = beliefs(query, &known);
    let sum: u64 = beliefs.values().map(|b| u64::from(b.get())).sum();
    let average = sum.checked_div(beliefs.len() as u64).unwrap_or(BELIEF_DEFAULT);
    let mut order: Vec<Believed> =
        summaries.keys().map(|node| Believed { node: *node, belief: beliefs.get(node).copied() }).collect();
    let weight = |b: &Believed| b.belief.map_or(average, |belief| u64::from(belief.get()));
    order.sort_by(|a, b| weight(b).cmp(&weight(a)).then_with(|| a.node.cmp(&b.node)));
    order
}

/// The nodes to ask, the most promising first. Whoever is not among them is told to the asker as not asked.
pub fn select(query: &Query, summaries: &BTreeMap<NodeId, Option<&CollectionSummary>>, whom: AskWhom) -> Vec<NodeId> {
    let order = in_order(query, summaries);
    match whom {
        AskWhom::All => order.iter().map(|b| b.node).collect(),
        AskWhom::Best(n) => order.iter().take(n).map(|b| b.node).collect(),
        AskWhom::Auto if order.len() <= ASK_ALL_UP_TO => order.iter().map(|b| b.node).collect(),
        AskWhom::Auto => {
            let best = order.iter().filter(|b| b.belief.is_some()).take(ASK_BEST);
            let unknown = order.iter().filter(|b| b.belief.is_none());
            best.chain(unknown).map(|b| b.node).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::SecretKey;
    use crate::measure::{Duration, Timestamp};
    use proptest::prelude::*;

    fn node(n: u8) -> NodeId {
        SecretKey::from_seed([n; 32]).public()
    }

    fn summary(n: u8, n_terms: u64, terms: &[(&str, u64)]) -> CollectionSummary {
        let terms = terms.iter().map(|(term, df)| (term.to_string(), *df));
        CollectionSummary::of(node(n), 1000, n_terms, terms, Timestamp(0), Duration::days(1))
    }

    fn known(summaries: &[CollectionSummary]) -> BTreeMap<NodeId, Option<&CollectionSummary>> {
        summaries.iter().map(|s| (s.publisher, Some(s))).collect()
    }

    /// By hand: C = 2, cw = mean = 10 000, df = 100 and cf = 1 give T = 100/300, I = ln(2.5)/ln(3) = 0.834044 and a
    /// belief of 0.4 + 0.6 · 0.333333 · 0.834044 = 0.566809.
    #[test]
    fn the_formula_gives_its_numbers() {
        let (a, b) = (summary(1, 10_000, &[("pump", 100)]), summary(2, 10_000, &[("valv", 100)]));
        let beliefs = beliefs(&Query::new("pump"), &BTreeMap::from([(node(1), &a), (node(2), &b)]));
        assert!(u64::from(beliefs[&node(1)].get()).abs_diff(566_809) <= 3, "{beliefs:?}");
        assert_eq!(beliefs[&node(2)].get(), 400_000);
    }

    #[test]
    fn few_are_all_asked_and_of_many_the_best_and_the_unknown() {
        let many: Vec<_> = (1..=20).map(|n| summary(n, 10_000, &[("pump", u64::from(n) * 10)])).collect();
        let query = Query::new("pump");
        assert_eq!(select(&query, &known(&many[..8]), AskWhom::Auto).len(), 8);
        let best: Vec<_> = (13..=20).rev().map(node).collect();
        assert_eq!(select(&query, &known(&many), AskWhom::Auto), best);
        assert_eq!(select(&query, &known(&many), AskWhom::All).len(), 20);
        assert_eq!(select(&query, &known(&many), AskWhom::Best(2)), [node(20), node(19)]);
        let mut with_unknown = known(&many);
        with_unknown.insert(node(99), None);
        let asked = select(&query, &with_unknown, AskWhom::Auto);
        assert_eq!((&asked[..8], &asked[8..]), (&best[..], &[node(99)][..]));
        assert!(!select(&query, &with_unknown, AskWhom::Best(2)).contains(&node(99)), "it counts as an average one");
    }

    proptest! {
        #[test]
        fn no_numbers_overflow_and_a_belief_is_between_its_bounds(
            rows in proptest::collection::vec((1u64..1 << 48, 1u64..1 << 48), 0..6),
        ) {
            let summaries: Vec<_> = (0u8..).zip(&rows).map(|(n, (terms, df))| CollectionSummary {
                n_docs: 1 << 48, doc_freq: vec![*df], ..summary(n, *terms, &[("pump", 1)])
            }).collect();
            let by_node = summaries.iter().map(|s| (s.publisher, s)).collect();
            for belief in beliefs(&Query::new("pump valves"), &by_node).values() {
                prop_assert!((400_000..=1_000_000).contains(&belief.get()));
            }
        }
    }
}
