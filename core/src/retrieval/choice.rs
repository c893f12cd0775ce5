//! Which nodes to ask: what each collection promises for a question, from the summaries alone.
//!
//! Under the binary independence model (Robertson and Spärck Jones 1976; without judgments: Croft and Harper 1979) a
//! document is relevant at odds proportional to the product, over the question's terms that it holds, of what BM25 takes
//! the logarithm of: `exp(idf) = 1 / p`, where `p` is the share of all documents with the term. Of a collection a
//! summary tells how many documents hold each term, not which; so terms are taken as independent *within* a collection,
//! as GlOSS does (Gravano, García-Molina and Tomasic, SIGMOD 1994). The odds of all its documents together are then
//!
//! ```text
//! p  = (F + 0.5) / (N + 1)                 F, N: documents with the term, and documents, over all summaries
//! pc = df / n                              df, n: the same of one collection
//! odds(c)    = n · product over the terms of (1 − pc + pc / p)
//! promise(c) = ln odds(c)                  nothing if the collection holds none of the terms
//! ```
//!
//! which is in proportion to how many relevant documents are to be expected there. GlOSS counts documents that hold *all*
//! terms; here one that holds some counts by how rare they are. There is nothing to tune. `docs/federated-search.md`
//! says what it loses.
//!
//! All of it in millionths, truncated, so that two machines choose alike.

use std::collections::BTreeMap;

use super::{CollectionSummary, Query, ln_micro};
use crate::identity::NodeId;

/// Up to so many nodes are all asked where nobody says how many: choosing among few saves little and can lose something.
pub const ASK_ALL_UP_TO: usize = 8;

/// How many of more nodes are asked where nobody says how many.
pub const ASK_BEST: usize = 8;

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

/// A node with what it promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The node.
    pub node: NodeId,
    /// The promise, in millionths. `None` where the node tells nothing of its collection.
    pub promise_micro: Option<u64>,
}

/// What each collection promises for the question, in millionths of a natural logarithm.
pub fn promises(query: &Query, summaries: &BTreeMap<NodeId, &CollectionSummary>) -> BTreeMap<NodeId, u64> {
    let n_docs: u128 = summaries.values().map(|s| u128::from(s.n_docs)).sum();
    let mut promises: BTreeMap<NodeId, u64> = summaries.keys().map(|node| (*node, 0)).collect();
    for term in &query.terms {
        let doc_freqs: Vec<u64> = summaries.values().map(|s| s.doc_freq(term)).collect();
        let doc_freq = doc_freqs.iter().map(|df| u128::from(*df)).sum();
        let gains = summaries.values().zip(doc_freqs).map(|(s, df)| gain_micro(df, s.n_docs, doc_freq, n_docs));
        promises.values_mut().zip(gains).for_each(|(promise, gain)| *promise += gain);
    }
    // Of what holds none of the terms nothing can be found, however much of it there is.
    for (promise, summary) in promises.values_mut().zip(summaries.values()).filter(|(promise, _)| **promise > 0) {
        *promise += ln_micro(summary.n_docs, 1);
    }
    promises
}

/// `ln(1 − pc + pc / p)`, as one fraction: `((n − df)(2F + 1) + df (2N + 2)) / (n (2F + 1))`. It is above 1 where the
/// collection holds the term at all, for `p` is below 1. Summaries count to 2^40 and a node holds a bounded number of them, so
/// the products stay far below 2^128.
fn gain_micro(df: u64, n: u64, doc_freq: u128, n_docs: u128) -> u64 {
    if df == 0 || n == 0 {
        return 0;
    }
    let (df, n) = (u128::from(df.min(n)), u128::from(n));
    let common = 2 * doc_freq + 1;
    let (above, below) = ((n - df) * common + df * (2 * n_docs + 2), n * common);
    // Both sides lose the same bits, and only those that a logarithm in millionths does not see.
    let spare = (u128::BITS - above.leading_zeros()).saturating_sub(u64::BITS);
    let of = |side: u128| u64::try_from(side >> spare).unwrap_or(u64::MAX);
    // Whoever holds a term stands above whoever does not, even where the gain is less than a millionth.
    ln_micro(of(above), of(below)).max(1)
}

/// The nodes in the order in which they would be asked: highest promise first, ties by name. A node that tells nothing
/// counts as an average one: there is no reason to think better or worse of it.
pub fn in_order(query: &Query, summaries: &BTreeMap<NodeId, Option<&CollectionSummary>>) -> Vec<Candidate> {
    let known = summaries.iter().filter_map(|(node, s)| Some((*node, (*s)?))).collect();
    let promises = promises(query, &known);
    let average = promises.values().sum::<u64>().checked_div(promises.len() as u64).unwrap_or(0);
    let candidate = |node: &NodeId| Candidate { node: *node, promise_micro: promises.get(node).copied() };
    let mut order: Vec<Candidate> = summaries.keys().map(candidate).collect();
    let weight = |c: &Candidate| c.promise_micro.unwrap_or(average);
    order.sort_by(|a, b| weight(b).cmp(&weight(a)).then_with(|| a.node.cmp(&b.node)));
    order
}

/// The nodes to ask, the most promising first. Whoever is not among them is told to the asker as not asked.
pub fn select(query: &Query, summaries: &BTreeMap<NodeId, Option<&CollectionSummary>>, whom: AskWhom) -> Vec<NodeId> {
    let order = in_order(query, summaries);
    match whom {
        AskWhom::All => order.iter().map(|c| c.node).collect(),
        AskWhom::Best(n) => order.iter().take(n).map(|c| c.node).collect(),
        AskWhom::Auto if order.len() <= ASK_ALL_UP_TO => order.iter().map(|c| c.node).collect(),
        AskWhom::Auto => {
            let best = order.iter().filter(|c| c.promise_micro.is_some()).take(ASK_BEST);
            let unknown = order.iter().filter(|c| c.promise_micro.is_none());
            best.chain(unknown).map(|c| c.node).collect()
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

    fn summary(n: u8, n_docs: u64, terms: &[(&str, u64)]) -> CollectionSummary {
        let terms = terms.iter().map(|(term, df)| (term.to_string(), *df));
        CollectionSummary::of(node(n), n_docs, n_docs * 10, terms, Timestamp(0), Duration::days(1))
    }

    fn known(summaries: &[CollectionSummary]) -> BTreeMap<NodeId, Option<&CollectionSummary>> {
        summaries.iter().map(|s| (s.publisher, Some(s))).collect()
    }

    /// By hand: N = 1000, F = 100, so p = 100.5 / 1001. The first holds the term in 100 of 500 documents, so pc = 0.2:
    /// ln 500 + ln(0.8 + 0.2 · 9.960199) = 6.214608 + 1.026772.
    #[test]
    fn the_formula_gives_its_numbers() {
        let (a, b) = (summary(1, 500, &[("pump", 100)]), summary(2, 500, &[("valv", 100)]));
        let promises = promises(&Query::new("pump"), &BTreeMap::from([(node(1), &a), (node(2), &b)]));
        assert!(promises[&node(1)].abs_diff(7_241_380) <= 3, "{promises:?}");
        assert_eq!(promises[&node(2)], 0);
    }

    #[test]
    fn rare_words_together_are_worth_more_than_a_common_one() {
        let rest = summary(9, 10_000, &[("report", 2000)]);
        let of = |n, terms: &[(&str, u64)]| summary(n, 1000, terms);
        let (common, rare) = (of(1, &[("report", 900)]), of(2, &[("report", 50), ("chloramin", 5)]));
        let (one, both) = (of(3, &[("chloramin", 5)]), of(4, &[("chloramin", 5), ("monitor", 5)]));
        let all = [rest, common, rare, one, both];
        let order = in_order(&Query::new("chloramine monitoring report"), &known(&all));
        let names: Vec<NodeId> = order.iter().map(|c| c.node).collect();
        assert_eq!(names, [4, 9, 2, 3, 1].map(node)[..], "{order:?}");
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
        fn no_numbers_overflow_and_whoever_holds_a_term_promises_something(
            rows in proptest::collection::vec((1u64..=1 << 48, 0u64..=1 << 48), 0..6),
        ) {
            let summaries: Vec<_> = (0u8..).zip(&rows).map(|(n, (n_docs, df))| CollectionSummary {
                n_docs: *n_docs, doc_freq: vec![*df], ..summary(n, 1000, &[("pump", 1)])
            }).collect();
            let by_node: BTreeMap<_, _> = summaries.iter().map(|s| (s.publisher, s)).collect();
            for (node, promise) in promises(&Query::new("pump valves"), &by_node) {
                prop_assert_eq!(promise > 0, by_node[&node].doc_freq("pump") > 0);
            }
        }

        /// Of two collections of one size the one that holds a term more often is never the less promising.
        #[test]
        fn more_documents_with_a_term_promise_no_less(n in 1u64..1 << 30, a in 0u64..1 << 30, b in 0u64..1 << 30) {
            let of = |name, df: u64| CollectionSummary {
                n_docs: n, doc_freq: vec![df.min(n)], ..summary(name, 1000, &[("pump", 1)])
            };
            let (less, more) = (of(1, a.min(b)), of(2, a.max(b)));
            let promises = promises(&Query::new("pump"), &BTreeMap::from([(node(1), &less), (node(2), &more)]));
            prop_assert!(promises[&node(1)] <= promises[&node(2)]);
        }
    }
}
