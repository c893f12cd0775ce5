//! Statistics and rankings, held against scoring everything.

use std::collections::BTreeSet;

use plumb_core::boundary::{Access, Clause, Sensitivity};
use plumb_core::retrieval::TermStats;
use proptest::prelude::*;

use super::{World, words};
use crate::fixture::entity;

/// Small numbers from a seed, the same everywhere (splitmix64).
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % n
    }

    /// A text of words `w0`, `w1`, …, of which each is about half as frequent as the one before.
    fn text(&mut self, n_words: u64) -> String {
        let word = |dice: &mut Dice| format!("w{}", dice.below(1 << 10).leading_zeros() - 54);
        let mut text = String::new();
        for _ in 0..n_words {
            let word = word(self);
            // Some words are joined to a compound.
            let joint = if self.below(8) == 0 { "-" } else { " " };
            text.push_str(&word);
            text.push_str(joint);
        }
        text
    }
}

const TEAMS: [&str; 3] = ["team-water", "team-power", "team-roads"];
const PEOPLE: [Option<&str>; 3] = [None, Some("person-mara"), Some("person-tom")];

#[derive(Debug, Clone)]
struct Doc {
    class: usize,
    team: usize,
    person: usize,
    words: Vec<u8>,
    /// A commit, so a segment, ends here.
    flush: bool,
}

fn doc() -> impl Strategy<Value = Doc> {
    // Few words and short texts make ties the rule.
    (0usize..4, 0usize..3, 0usize..3, proptest::collection::vec(0u8..5, 1..12), proptest::bool::weighted(0.1))
        .prop_map(|(class, team, person, words, flush)| Doc { class, team, person, words, flush })
}

fn access() -> impl Strategy<Value = Access> {
    let clause = (proptest::collection::btree_set(0usize..3, 0..3), any::<bool>(), proptest::option::of(1usize..3))
        .prop_map(|(teams, department, person)| Clause {
            scopes: teams.into_iter().map(|t| entity(TEAMS[t])).collect(),
            departments: if department { BTreeSet::from([entity("department-operations")]) } else { BTreeSet::new() },
            creator: person.and_then(|p| PEOPLE[p]).map(entity),
            chunks: BTreeSet::new(),
        });
    prop_oneof![Just(Access::Whole), Just(Access::Closed), clause.prop_map(Access::Part)]
}

/// Statistics of other nodes, to be added to ours.
fn elsewhere() -> impl Strategy<Value = TermStats> {
    prop_oneof![
        Just(TermStats::empty(3)),
        (1u64..1000, 1u64..60, proptest::collection::vec(0u64..1000, 3)).prop_map(|(n_docs, average, freqs)| {
            TermStats {
                n_docs,
                n_terms: n_docs * average,
                doc_freq: freqs.into_iter().map(|f| f.min(n_docs)).collect(),
            }
        }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn the_index_gives_what_scoring_everything_gives(
        docs in proptest::collection::vec(doc(), 1..60),
        gone in proptest::collection::vec(any::<prop::sample::Index>(), 0..12),
        moved in proptest::collection::vec((any::<prop::sample::Index>(), 0usize..4), 0..8),
        searches in proptest::collection::vec((access(), proptest::collection::vec(0u8..6, 3), 1usize..7, elsewhere()), 6),
    ) {
        let mut world = World::new();
        let mut chunks = Vec::new();
        for doc in &docs {
            let text: Vec<String> = doc.words.iter().map(|w| format!("w{w}")).collect();
            chunks.push(world.add(Sensitivity::ALL[doc.class], TEAMS[doc.team], PEOPLE[doc.person], &text.join(" ")));
            if doc.flush {
                world.flush();
            }
        }
        for (index, class) in &moved {
            world.reclassify(index.get(&chunks), Sensitivity::ALL[*class]);
        }
        for index in &gone {
            let chunk = *index.get(&chunks);
            if world.units.contains_key(&chunk) {
                world.remove(&chunk);
            }
        }
        world.flush();
        world.check_ids();
        let searcher = world.index().searcher();
        // Every term of a partition, each as often as a question for it alone says; of the removed ones none.
        for class in Sensitivity::ALL {
            let (n_terms, doc_freqs) = searcher.doc_freqs(class).unwrap();
            let all: Vec<String> = doc_freqs.keys().cloned().collect();
            let stats = world.stats(&[class], &all);
            prop_assert_eq!((n_terms, doc_freqs.into_values().collect::<Vec<_>>()), (stats.n_terms, stats.doc_freq));
            for word in (0..5).map(|w| format!("w{w}")) {
                let is_there = world.stats(&[class], std::slice::from_ref(&word)).doc_freq[0] > 0;
                prop_assert_eq!(all.contains(&word), is_there);
            }
        }
        for (access, query, limit, elsewhere) in &searches {
            let query = words(&query.iter().map(|w| format!("w{w}")).collect::<Vec<_>>().join(" "));
            for classes in [&Sensitivity::ALL[..1], &Sensitivity::ALL[..2], &Sensitivity::ALL[..]] {
                let mut stats = searcher.stats(classes, &query).unwrap();
                prop_assert_eq!(&stats, &world.stats(classes, &query));
                stats.merge(elsewhere).unwrap();
                for class in Sensitivity::ALL {
                    let found = searcher.candidates(class, access, &query, &stats, *limit).unwrap();
                    let expected = world.candidates(class, access, &query, &stats, *limit);
                    prop_assert_eq!(found, expected, "{:?} {} {:?} {:?}", query, limit, access, stats);
                }
            }
        }
    }
}

/// Postings of many blocks, segments whose average lengths differ a lot, deletions, and statistics with another average
/// again: here the walk over the blocks does pass things over.
#[test]
fn pruning_loses_nothing() {
    let mut dice = Dice(20_240_229);
    let mut world = World::new();
    let mut chunks = Vec::new();
    for (n_docs, shortest, longest) in [(1200, 5, 15), (700, 60, 250), (500, 1, 100), (300, 30, 31)] {
        for _ in 0..n_docs {
            let n_words = shortest + dice.below(longest - shortest);
            let text = dice.text(n_words);
            let team = TEAMS[dice.below(3) as usize];
            chunks.push(world.add(Sensitivity::Restricted, team, None, &text));
        }
        world.flush();
    }
    for _ in 0..300 {
        let chunk = chunks.swap_remove(dice.below(chunks.len() as u64) as usize);
        world.remove(&chunk);
    }
    world.flush();
    let searcher = world.index().searcher();
    let some: BTreeSet<_> = (0..40).map(|_| chunks[dice.below(chunks.len() as u64) as usize]).collect();
    let accesses = [
        Access::Whole,
        Access::Part(Clause { scopes: BTreeSet::from([entity(TEAMS[0])]), ..Clause::default() }),
        Access::Part(Clause { scopes: BTreeSet::from([entity(TEAMS[1])]), chunks: some, ..Clause::default() }),
    ];
    for round in 0..40 {
        let n = 1 + dice.below(4);
        let mut query: Vec<String> =
            (0..n).map(|_| format!("w{}", dice.below(11))).collect::<BTreeSet<_>>().into_iter().collect();
        if round % 4 == 3 {
            query.push(format!("=w{}-w{}", dice.below(4), dice.below(4)));
        }
        let mut stats = searcher.stats(&[Sensitivity::Restricted], &query).unwrap();
        assert_eq!(stats, world.stats(&[Sensitivity::Restricted], &query));
        if round % 3 == 1 {
            // Another node with far longer, or far shorter, texts.
            let n_docs = 1 + dice.below(100_000);
            let average = if round % 2 == 0 { 2 } else { 900 };
            stats
                .merge(&TermStats { n_docs, n_terms: n_docs * average, doc_freq: vec![n_docs / 3; query.len()] })
                .unwrap();
        }
        if round % 10 == 9 {
            stats = TermStats::empty(query.len());
        }
        for access in &accesses {
            let expected = world.candidates(Sensitivity::Restricted, access, &query, &stats, usize::MAX);
            for limit in [1, 10, 50, 1000] {
                let found = searcher.candidates(Sensitivity::Restricted, access, &query, &stats, limit).unwrap();
                assert_eq!(found, expected[..limit.min(expected.len())], "round {round}, {query:?}, limit {limit}");
            }
        }
    }
}

/// Thousands of equal scores: the CIDs alone decide, across segments.
#[test]
fn ties_are_decided_by_cid() {
    let mut world = World::new();
    for _ in 0..4 {
        for _ in 0..400 {
            world.add(Sensitivity::Public, TEAMS[0], None, "the same valve");
            // So that the word is rare enough for its score to be far above the rounding of the integers.
            world.add(Sensitivity::Public, TEAMS[0], None, "another word");
            world.add(Sensitivity::Public, TEAMS[0], None, "something else");
        }
        world.flush();
    }
    let query = words("valve");
    let searcher = world.index().searcher();
    let stats = searcher.stats(&[Sensitivity::Public], &query).unwrap();
    for limit in [1, 7, 500, 5000] {
        assert_eq!(
            searcher.candidates(Sensitivity::Public, &Access::Whole, &query, &stats, limit).unwrap(),
            world.candidates(Sensitivity::Public, &Access::Whole, &query, &stats, limit)
        );
    }
}

#[test]
fn impossible_statistics_and_empty_questions_are_taken_as_such() {
    let mut world = World::new();
    world.add(Sensitivity::Public, TEAMS[0], None, "valve");
    world.flush();
    let searcher = world.index().searcher();
    let search = |query: &[String], stats: &TermStats, limit| {
        searcher.candidates(Sensitivity::Public, &Access::Whole, query, stats, limit)
    };
    let query = words("valve");
    let stats = searcher.stats(&[Sensitivity::Public], &query).unwrap();
    assert_eq!(search(&query, &stats, 0).unwrap(), []);
    assert_eq!(search(&[], &TermStats::empty(0), 5).unwrap(), []);
    assert!(search(&query, &TermStats::empty(0), 5).is_err(), "for another number of terms");
    assert!(search(&query, &TermStats { n_docs: 1, n_terms: 1, doc_freq: vec![9] }, 5).is_err());
    let none = Access::Part(Clause::default());
    assert_eq!(searcher.candidates(Sensitivity::Public, &none, &query, &stats, 5).unwrap(), []);
}

/// A phrase asks for chunks that have all of its words; the order is looked for in the text.
#[test]
fn required_words_are_in_every_candidate() {
    let mut world = World::new();
    let both = world.add(Sensitivity::Public, TEAMS[0], None, "the valve of safety");
    world.add(Sensitivity::Public, TEAMS[0], None, "a valve, a valve, a valve");
    world.add(Sensitivity::Public, TEAMS[0], None, "safety at work");
    world.flush();
    let query = words("safety valve");
    let searcher = world.index().searcher();
    let stats = searcher.stats(&[Sensitivity::Public], &query).unwrap();
    let required = query.iter().map(String::as_str).collect();
    for access in [
        Access::Whole,
        Access::Part(Clause { departments: [entity("department-operations")].into(), ..Clause::default() }),
    ] {
        let found = searcher.candidates_with(Sensitivity::Public, &access, &query, &required, &stats, 10).unwrap();
        assert_eq!(found.iter().map(|c| c.chunk).collect::<Vec<_>>(), [both]);
    }
}
