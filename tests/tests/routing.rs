//! What is lost by asking five nodes of twenty: Cranfield, cut into twenty collections, its 225 questions, the real
//! functions. `cargo test -p plumb-tests --test routing -- --nocapture` prints the table of `docs/federated-search.md`.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::collections::{BTreeMap, BTreeSet};

use plumb_core::content::RawBlock;
use plumb_core::identity::{NodeId, SecretKey};
use plumb_core::measure::{Duration, Timestamp};
use plumb_core::retrieval::{
    AskWhom, CollectionSummary, Query, TermStats, bm25, in_order, is_word, merge, select, terms,
};
use plumb_tests::{Rng, data, text};
use serde_json::Value;

const N_COLLECTIONS: usize = 20;
const N_ASKED: usize = 5;
const K: usize = 10;
const SEED: u64 = 1960;

struct Record {
    cid: cid::Cid,
    id: String,
    tf: BTreeMap<String, u32>,
    n_terms: u64,
}

struct Collection {
    node: NodeId,
    records: Vec<Record>,
    summary: CollectionSummary,
}

impl Collection {
    fn new(n: usize, records: Vec<Record>) -> Collection {
        let node = SecretKey::from_seed([u8::try_from(n + 1).unwrap(); 32]).public();
        let mut doc_freq: BTreeMap<String, u64> = BTreeMap::new();
        for term in records.iter().flat_map(|r| r.tf.keys()) {
            *doc_freq.entry(term.clone()).or_default() += 1;
        }
        let n_terms = records.iter().map(|r| r.n_terms).sum();
        let n_docs = records.len() as u64;
        let summary = CollectionSummary::of(node, n_docs, n_terms, doc_freq, Timestamp(0), Duration::days(1));
        Collection { node, records, summary }
    }

    fn stats(&self, query: &Query) -> TermStats {
        let doc_freq = |term: &String| self.records.iter().filter(|r| r.tf.contains_key(term)).count() as u64;
        TermStats {
            n_docs: self.records.len() as u64,
            n_terms: self.records.iter().map(|r| r.n_terms).sum(),
            doc_freq: query.terms.iter().map(doc_freq).collect(),
        }
    }

    fn hits(&self, query: &Query, stats: &TermStats) -> Vec<(cid::Cid, u64)> {
        let score = |record: &Record| {
            let tf: Vec<u32> = query.terms.iter().map(|t| record.tf.get(t).copied().unwrap_or(0)).collect();
            (record.cid, bm25(stats, &tf, record.n_terms))
        };
        self.records.iter().map(score).filter(|(_, score)| *score > 0).collect()
    }
}

/// The first ten over these collections, under the sum of their statistics: what a federated search over them gives.
fn search(query: &Query, collections: &[&Collection]) -> Vec<cid::Cid> {
    let mut stats = TermStats::empty(query.terms.len());
    collections.iter().for_each(|c| stats.merge(&c.stats(query)).unwrap());
    let rankings = collections.iter().map(|c| (c.node, c.hits(query, &stats)));
    merge(rankings, K).into_iter().map(|ranked| ranked.chunk).collect()
}

fn records(path: &std::path::Path) -> Vec<Record> {
    let read = |line: &str| {
        let value: Value = serde_json::from_str(line).unwrap();
        let body = format!("{}\n{}", text(&value, "/title"), text(&value, "/text"));
        let mut tf: BTreeMap<String, u32> = BTreeMap::new();
        let all = terms(&body);
        let n_terms = all.iter().filter(|term| is_word(term)).count() as u64;
        all.into_iter().for_each(|term| *tf.entry(term).or_default() += 1);
        let id = text(&value, "/doc_id").to_string();
        Record { cid: RawBlock::raw(format!("{id}\n{body}").into_bytes()).cid, id, tf, n_terms }
    };
    std::fs::read_to_string(path).unwrap().lines().map(read).collect()
}

/// By chance: the worst case, in which every collection is like every other.
fn at_random(records: Vec<Record>) -> Vec<Collection> {
    let mut rng = Rng::new(SEED);
    let place = |_: &Record| usize::try_from(rng.below(N_COLLECTIONS as u64)).unwrap();
    gather(records, place)
}

/// By subject, as departments are: each document goes to the one of twenty documents that it is most like.
fn by_subject(records: Vec<Record>) -> Vec<Collection> {
    let stats_of = |query: &Query| {
        let doc_freq = |t: &String| records.iter().filter(|r| r.tf.contains_key(t)).count() as u64;
        TermStats {
            n_docs: records.len() as u64,
            n_terms: records.iter().map(|r| r.n_terms).sum(),
            doc_freq: query.terms.iter().map(doc_freq).collect(),
        }
    };
    let step = records.len() / N_COLLECTIONS;
    let seeds: Vec<(Query, TermStats)> = (0..N_COLLECTIONS)
        .map(|i| {
            let seed = &records[i * step];
            let query = Query::new(&seed.tf.keys().cloned().collect::<Vec<_>>().join(" "));
            let stats = stats_of(&query);
            (query, stats)
        })
        .collect();
    let place = |record: &Record| {
        let like = |(query, stats): &(Query, TermStats)| {
            let tf: Vec<u32> = query.terms.iter().map(|t| record.tf.get(t).copied().unwrap_or(0)).collect();
            bm25(stats, &tf, record.n_terms)
        };
        (0..N_COLLECTIONS).max_by_key(|i| (like(&seeds[*i]), N_COLLECTIONS - i)).unwrap()
    };
    let places: Vec<usize> = records.iter().map(place).collect();
    let mut places = places.into_iter();
    gather(records, |_| places.next().unwrap())
}

fn gather(records: Vec<Record>, mut place: impl FnMut(&Record) -> usize) -> Vec<Collection> {
    let mut parts: Vec<Vec<Record>> = (0..N_COLLECTIONS).map(|_| Vec::new()).collect();
    for record in records {
        let at = place(&record);
        parts[at].push(record);
    }
    parts.into_iter().enumerate().map(|(n, records)| Collection::new(n, records)).collect()
}

/// In thousandths, over all questions: relevant documents among the first ten, and how many of the first ten of the
/// whole are there.
#[derive(Clone, Copy, Debug)]
struct Measured {
    recall: u64,
    overlap: u64,
}

/// A question, the documents that answer it, and the first ten of the whole.
struct Asked {
    query: Query,
    relevant: BTreeSet<String>,
    whole: Vec<cid::Cid>,
}

fn measure(
    collections: &[Collection],
    questions: &[Asked],
    mut choose: impl FnMut(&Query) -> BTreeSet<NodeId>,
) -> Measured {
    let ids: BTreeMap<cid::Cid, &str> =
        collections.iter().flat_map(|c| &c.records).map(|r| (r.cid, r.id.as_str())).collect();
    let (mut recall, mut overlap) = (0, 0);
    for Asked { query, relevant, whole } in questions {
        let chosen = choose(query);
        let asked: Vec<&Collection> = collections.iter().filter(|c| chosen.contains(&c.node)).collect();
        let found = if asked.len() == collections.len() { whole.clone() } else { search(query, &asked) };
        let n_found = found.iter().filter(|cid| relevant.contains(ids[*cid])).count();
        recall += n_found as u64 * 1000 / relevant.len() as u64;
        let n_same = whole.iter().filter(|cid| found.contains(cid)).count();
        overlap += n_same as u64 * 1000 / whole.len().max(1) as u64;
    }
    let n = questions.len() as u64;
    Measured { recall: recall / n, overlap: overlap / n }
}

#[test]
fn five_chosen_of_twenty_find_most_of_what_all_find() {
    let (Some(corpus), Some(queries), Some(qrels)) =
        (data("cranfield/corpus.jsonl"), data("cranfield/queries.jsonl"), data("cranfield/qrels.trec"))
    else {
        return;
    };
    let mut relevant: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for line in std::fs::read_to_string(qrels).unwrap().lines() {
        let fields: Vec<&str> = line.split_whitespace().collect();
        if fields[3] != "0" {
            relevant.entry(fields[0].to_string()).or_default().insert(fields[2].to_string());
        }
    }
    let questions: Vec<(Query, BTreeSet<String>)> = std::fs::read_to_string(queries)
        .unwrap()
        .lines()
        .filter_map(|line| {
            let value: Value = serde_json::from_str(line).unwrap();
            Some((Query::new(text(&value, "/text")), relevant.get(text(&value, "/query_id"))?.clone()))
        })
        .collect();
    assert!(questions.len() > 180, "{}", questions.len());

    println!("| collections | asked | recall@10, thousandths | of the first ten of all, thousandths |");
    println!("| --- | --- | --- | --- |");
    for (name, collections) in
        [("by subject", by_subject(records(&corpus))), ("at random", at_random(records(&corpus)))]
    {
        let summaries: BTreeMap<NodeId, Option<&CollectionSummary>> =
            collections.iter().map(|c| (c.node, Some(&c.summary))).collect();
        let nodes: Vec<NodeId> = collections.iter().map(|c| c.node).collect();
        let all: Vec<&Collection> = collections.iter().collect();
        let asked = |(query, relevant): &(Query, BTreeSet<String>)| Asked {
            query: query.clone(),
            relevant: relevant.clone(),
            whole: search(query, &all),
        };
        let questions: Vec<Asked> = questions.iter().map(asked).collect();
        let mut rng = Rng::new(SEED);
        let all = measure(&collections, &questions, |_| nodes.iter().copied().collect());
        let by_cori = |n: usize| {
            measure(&collections, &questions, |q| select(q, &summaries, AskWhom::Best(n)).into_iter().collect())
        };
        let (five, eight) = (by_cori(N_ASKED), by_cori(8));
        let chance = measure(&collections, &questions, |_| {
            let mut left = nodes.clone();
            (0..N_ASKED).map(|_| left.swap_remove(usize::try_from(rng.below(left.len() as u64)).unwrap())).collect()
        });
        for (who, m) in [("all 20", all), ("8 by CORI", eight), ("5 by CORI", five), ("5 by chance", chance)] {
            println!("| {name} | {who} | {} | {} |", m.recall, m.overlap);
        }
        assert_eq!(all.overlap, 1000);
        assert!(five.recall > chance.recall && five.overlap > chance.overlap, "{name}: {five:?} {chance:?}");
        // Every node is somewhere in the order, and the order is the same each time.
        let order = in_order(&questions[0].query, &summaries);
        assert_eq!((order.len(), in_order(&questions[0].query, &summaries)), (N_COLLECTIONS, order));
    }
}
