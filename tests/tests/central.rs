//! Federated equals central: judged collections, each split over 3 and over 20 nodes, by topic, by chance and unequally.
//!
//! Each part is ranked as a node ranks it and all of it is merged as a node merges it, by the real functions, so that a
//! thousand questions take seconds. With the statistics of all the ranking has to be that of one index, place by place and
//! score by score. Then few are asked: chosen by their summaries, ranked under the statistics of those that are asked and
//! the summaries of the others. `ranking.rs` holds three nodes as processes against one.
//!
//! `cargo test --workspace --test central -- --nocapture` prints the tables of `docs/federated-search.md`, and
//! `PLUMB_ROUTING_PLOT=docs/figures/routing.svg` draws its figure.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use cid::Cid;
use plumb_core::content::{RawBlock, chunks_of};
use plumb_core::evaluation::{
    Fixed, Judge, JudgedQuery, Measure, Qrels, Record, Run, read_corpus, read_qrels, read_queries,
};
use plumb_core::identity::{NodeId, SecretKey};
use plumb_core::measure::{Duration, Timestamp};
use plumb_core::retrieval::{
    AskWhom, CollectionSummary, Query, TermStats, Weights, body_of, idf_micro, in_order, is_stop_word, is_word,
    ln_micro, merge, select, terms,
};
use plumb_federation::sim::plot::{Line, Panel, draw};
use plumb_tests::{Rng, data, workspace_root};

/// What is measured, of the first so many documents.
const K: usize = 10;
/// Chunks that a node gives. A document stands where its best chunk is.
const CHUNKS: usize = 100;
const SEED: u64 = 1960;
const NODES: [usize; 2] = [3, 20];
/// How many of twenty nodes are asked: 5, 10, 20, 40 and 60 %. That all of them lose nothing is seen before.
const ASKED: [usize; 5] = [1, 2, 4, 8, 12];
/// Where in [`ASKED`] a fifth of the nodes is.
const FIFTH: usize = 2;
/// What is to be left, in thousandths of the central nDCG@10, where a fifth of the nodes is asked and documents lie by
/// topic: the aim.
const BY_TOPIC: i128 = 950;

const SOURCES: [Source; 3] = [
    Source { name: "SciFact", folder: "scifact", queries: "claims_dev.jsonl", qrels: "qrels_test.trec" },
    Source { name: "Cranfield", folder: "cranfield", queries: "queries.jsonl", qrels: "qrels.trec" },
    Source { name: "NPL", folder: "npl", queries: "queries.jsonl", qrels: "qrels.trec" },
];

/// Where a collection lies.
struct Source {
    name: &'static str,
    folder: &'static str,
    queries: &'static str,
    qrels: &'static str,
}

/// How documents come to lie at nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Split {
    /// By what they are about, as in departments.
    Topic,
    /// Each anywhere, so that every node is like every other.
    Chance,
    /// By chance, and the node of rank *r* has a share in proportion to 1/r.
    Unequal,
    /// By chance, in proportion to 1/r².
    VeryUnequal,
}

impl Split {
    /// The least that is left where a fifth of the nodes is asked, whatever the collection: the aim where documents lie by
    /// topic; for the others what was measured, less some, for the choice not to get worse unseen.
    const fn floor(self) -> i128 {
        match self {
            Split::Topic => BY_TOPIC,
            Split::Chance => 600,
            Split::Unequal => 780,
            Split::VeryUnequal => 950,
        }
    }

    const ALL: [Split; 4] = [Split::Topic, Split::Chance, Split::Unequal, Split::VeryUnequal];

    const fn name(self) -> &'static str {
        match self {
            Split::Topic => "by topic",
            Split::Chance => "by chance",
            Split::Unequal => "unequal",
            Split::VeryUnequal => "very unequal",
        }
    }
}

#[derive(Clone)]
struct Entry {
    cid: Cid,
    document: usize,
    n_terms: u64,
}

struct Question {
    id: String,
    query: Query,
    /// The entries that have any of its terms, with how often they have each.
    candidates: Vec<(usize, Vec<u32>)>,
}

/// A judged collection, cut into chunks as a node cuts it.
struct Collection {
    documents: Vec<String>,
    entries: Vec<Entry>,
    by_cid: HashMap<Cid, usize>,
    /// For each term, the entries that hold it.
    postings: HashMap<String, Vec<(usize, u32)>>,
    questions: Vec<Question>,
    qrels: Qrels,
}

impl Collection {
    fn read(source: &'static Source) -> Option<Collection> {
        let read = |file: &str| Some(std::fs::read_to_string(data(&format!("{}/{file}", source.folder))?).unwrap());
        let mut collection = Collection {
            documents: Vec::new(),
            entries: Vec::new(),
            by_cid: HashMap::new(),
            postings: HashMap::new(),
            questions: Vec::new(),
            qrels: read_qrels(&read(source.qrels)?).unwrap(),
        };
        for record in read_corpus(&read("corpus.jsonl")?).unwrap() {
            let name = RawBlock::raw(record.id.clone().into_bytes()).cid;
            for chunk in chunks_of(name, &title_of(&record), &record.text, &[]) {
                collection.add(RawBlock::encode(&chunk).unwrap().cid, &body_of(&chunk));
            }
            collection.documents.push(record.id);
        }
        let (queries, _) = read_queries(&read(source.queries)?).unwrap();
        for JudgedQuery { id, text } in queries.into_iter().filter(|q| collection.qrels.judges(&q.id)) {
            let query = Query::new(&text);
            let mut candidates: BTreeMap<usize, Vec<u32>> = BTreeMap::new();
            for (at, term) in query.terms.iter().enumerate() {
                for (entry, tf) in collection.postings.get(term).map_or(&[][..], Vec::as_slice) {
                    candidates.entry(*entry).or_insert_with(|| vec![0; query.terms.len()])[at] = *tf;
                }
            }
            collection.questions.push(Question { id, query, candidates: candidates.into_iter().collect() });
        }
        Some(collection)
    }

    /// Adds a chunk of the document that is being read.
    fn add(&mut self, cid: Cid, body: &str) {
        let mut tf: HashMap<String, u32> = HashMap::new();
        let mut n_terms = 0;
        for term in terms(body) {
            n_terms += u64::from(is_word(&term));
            *tf.entry(term).or_default() += 1;
        }
        let entry = self.entries.len();
        tf.into_iter().for_each(|(term, tf)| self.postings.entry(term).or_default().push((entry, tf)));
        self.by_cid.insert(cid, entry);
        self.entries.push(Entry { cid, document: self.documents.len(), n_terms });
    }

    /// Where each document lies.
    fn place(&self, split: Split, n: usize) -> Vec<usize> {
        match split {
            Split::Topic => self.topics(n),
            Split::Chance => self.drawn(&vec![1; n]),
            Split::Unequal => self.drawn(&(1..=n as u64).map(|rank| 1_000_000 / rank).collect::<Vec<_>>()),
            Split::VeryUnequal => self.drawn(&(1..=n as u64).map(|rank| 1_000_000 / (rank * rank)).collect::<Vec<_>>()),
        }
    }

    fn drawn(&self, weights: &[u64]) -> Vec<usize> {
        let mut rng = Rng::new(SEED);
        let mut draw = || {
            let mut left = rng.below(weights.iter().sum());
            weights.iter().position(|weight| left.checked_sub(*weight).map(|rest| left = rest).is_none()).unwrap()
        };
        self.documents.iter().map(|_| draw()).collect()
    }

    /// Topics are found by *k*-means over the directions of documents, as in the literature on selective search (Kulkarni
    /// and Callan, CIKM 2010): five rounds that begin at documents in equal distances in the file.
    fn topics(&self, n: usize) -> Vec<usize> {
        let n_entries = self.entries.len();
        let mut vectors: Vec<BTreeMap<usize, f64>> = vec![BTreeMap::new(); self.documents.len()];
        let mut dimensions: Vec<&String> = self.postings.keys().collect();
        dimensions.sort();
        for (at, term) in dimensions.iter().enumerate() {
            let postings = &self.postings[*term];
            // What stands in one chunk likens nothing to anything, and what stands everywhere everything to everything.
            if postings.len() >= 2 && postings.len() * 5 <= n_entries && !is_stop_word(term) {
                let idf = idf_micro(n_entries as u64, postings.len() as u64) as f64;
                for (entry, _) in postings {
                    vectors[self.entries[*entry].document].insert(at, idf);
                }
            }
        }
        let vectors: Vec<Vec<(usize, f64)>> = vectors.into_iter().map(|v| v.into_iter().collect()).collect();
        let lengths: Vec<f64> = vectors.iter().map(|v| length(v.iter().map(|(_, x)| *x))).collect();
        let mut centres: Vec<Vec<f64>> = vec![vec![0.0; dimensions.len()]; n];
        for (at, centre) in centres.iter_mut().enumerate() {
            let document = at * self.documents.len() / n;
            vectors[document].iter().for_each(|(i, x)| centre[*i] = x / lengths[document]);
        }
        let mut places = Vec::new();
        for _ in 0..5 {
            let nearest = |vector: &Vec<(usize, f64)>| {
                let like = |centre: &Vec<f64>| vector.iter().map(|(i, x)| x * centre[*i]).sum::<f64>();
                let likes: Vec<f64> = centres.iter().map(like).collect();
                (0..n).max_by(|a, b| likes[*a].total_cmp(&likes[*b]).then(b.cmp(a))).unwrap()
            };
            places = vectors.iter().map(nearest).collect();
            centres = vec![vec![0.0; dimensions.len()]; n];
            for ((vector, place), length) in vectors.iter().zip(&places).zip(&lengths) {
                vector.iter().for_each(|(i, x)| centres[*place][*i] += x / length);
            }
            for centre in &mut centres {
                let length = length(centre.iter().copied());
                centre.iter_mut().for_each(|x| *x /= length);
            }
        }
        places
    }
}

fn length(values: impl Iterator<Item = f64>) -> f64 {
    values.map(|x| x * x).sum::<f64>().sqrt().max(1.0)
}

/// A record without a title is called by its first words, as where a node takes it in.
fn title_of(record: &Record) -> String {
    if !record.title.is_empty() {
        return record.title.clone();
    }
    let line = record.text.lines().map(str::trim).find(|line| line.chars().any(char::is_alphanumeric));
    let line = line.unwrap_or_default();
    let Some((limit, _)) = line.char_indices().nth(100) else { return line.to_string() };
    let head = &line[..limit];
    let cut = head.rfind(char::is_whitespace).filter(|at| *at > limit / 2).unwrap_or(limit);
    format!("{}…", head[..cut].trim_end())
}

/// A collection whose documents lie at several nodes.
struct Federation<'a> {
    collection: &'a Collection,
    /// The node of each document.
    place: Vec<usize>,
    nodes: Vec<NodeId>,
    /// For each node: documents (chunks, as a node counts them) and terms.
    sizes: Vec<(u64, u64)>,
    summaries: Vec<CollectionSummary>,
}

impl<'a> Federation<'a> {
    fn new(collection: &'a Collection, split: Split, n: usize) -> Federation<'a> {
        let place = collection.place(split, n);
        let nodes: Vec<NodeId> = (1..).take(n).map(|seed| SecretKey::from_seed([seed; 32]).public()).collect();
        let mut sizes = vec![(0, 0); n];
        for entry in &collection.entries {
            let size = &mut sizes[place[entry.document]];
            *size = (size.0 + 1, size.1 + entry.n_terms);
        }
        let mut doc_freqs: Vec<BTreeMap<String, u64>> = vec![BTreeMap::new(); n];
        for (term, postings) in &collection.postings {
            for (entry, _) in postings {
                *doc_freqs[place[collection.entries[*entry].document]].entry(term.clone()).or_default() += 1;
            }
        }
        let mut summaries = Vec::new();
        for ((doc_freq, (n_docs, n_terms)), node) in doc_freqs.into_iter().zip(&sizes).zip(&nodes) {
            let (now, validity) = (Timestamp(0), Duration::days(1));
            summaries.push(CollectionSummary::of(*node, *n_docs, *n_terms, doc_freq, now, validity));
        }
        Federation { collection, place, nodes, sizes, summaries }
    }

    fn node_of(&self, entry: usize) -> usize {
        self.place[self.collection.entries[entry].document]
    }

    /// What each node says of a question in the first phase.
    fn statistics(&self, question: &Question) -> Vec<TermStats> {
        let of = |(n_docs, n_terms): &(u64, u64)| TermStats {
            n_docs: *n_docs,
            n_terms: *n_terms,
            doc_freq: vec![0; question.query.terms.len()],
        };
        let mut stats: Vec<TermStats> = self.sizes.iter().map(of).collect();
        for (entry, tf) in &question.candidates {
            let counted = stats[self.node_of(*entry)].doc_freq.iter_mut().zip(tf);
            counted.for_each(|(doc_freq, tf)| *doc_freq += u64::from(*tf > 0));
        }
        stats
    }

    /// The merged ranking of chunks when these nodes are asked. The others count by their summaries.
    fn search(&self, question: &Question, own: &[TermStats], asked: &BTreeSet<usize>) -> Vec<(Cid, u64)> {
        let mut stats = TermStats::empty(question.query.terms.len());
        for (at, (own, summary)) in own.iter().zip(&self.summaries).enumerate() {
            let said = if asked.contains(&at) { own.clone() } else { summary.stats(&question.query) };
            stats.merge(&said).unwrap();
        }
        let weights = Weights::new(&stats);
        let mut rankings: BTreeMap<usize, Vec<(Cid, u64)>> = BTreeMap::new();
        for (entry, tf) in &question.candidates {
            let node = self.node_of(*entry);
            if asked.contains(&node) {
                let entry = &self.collection.entries[*entry];
                rankings.entry(node).or_default().push((entry.cid, weights.score(tf, entry.n_terms)));
            }
        }
        let ranked = rankings.into_iter().map(|(node, hits)| (self.nodes[node], best(hits)));
        merge(ranked, CHUNKS).into_iter().map(|ranked| (ranked.chunk, ranked.score)).collect()
    }
}

/// The best of what one index found, as it gives them.
fn best(mut hits: Vec<(Cid, u64)>) -> Vec<(Cid, u64)> {
    hits.retain(|(_, score)| *score > 0);
    hits.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
    hits.truncate(CHUNKS);
    hits
}

/// What one index over everything finds, by its own statistics.
fn central(collection: &Collection, question: &Question) -> Vec<(Cid, u64)> {
    let postings = |term: &String| collection.postings.get(term).map_or(0, |postings| postings.len() as u64);
    let stats = TermStats {
        n_docs: collection.entries.len() as u64,
        n_terms: collection.entries.iter().map(|entry| entry.n_terms).sum(),
        doc_freq: question.query.terms.iter().map(postings).collect(),
    };
    let weights = Weights::new(&stats);
    let score = |(entry, tf): &(usize, Vec<u32>)| {
        let entry = &collection.entries[*entry];
        (entry.cid, weights.score(tf, entry.n_terms))
    };
    best(question.candidates.iter().map(score).collect())
}

/// A run, as it comes to be: for each question the documents in the order of their best chunks.
#[derive(Default)]
struct Ranked(Run);

impl Ranked {
    fn note(&mut self, collection: &Collection, question: &Question, chunks: &[(Cid, u64)]) {
        let mut seen = HashSet::new();
        let documents = chunks.iter().map(|(cid, _)| collection.entries[collection.by_cid[cid]].document);
        let names = documents.filter(|d| seen.insert(*d)).map(|d| collection.documents[d].clone());
        self.0.insert(question.id.clone(), names.collect::<Vec<_>>());
    }

    fn ndcg(&self, collection: &Collection) -> Fixed {
        let judge = Judge { qrels: &collection.qrels, run: &self.0, documents: None, primitive: None };
        Fixed::mean(judge.each(Measure::Ndcg(K)).into_values()).unwrap()
    }
}

/// What is left of a figure, in thousandths of another.
fn share(figure: Fixed, of: Fixed) -> i128 {
    figure.times(1000).over(of).rounded(0).units() / Fixed::ONE.units()
}

/// One row of the curve: what is left of the central nDCG@10 for each number of nodes asked, and for a fifth of them chosen
/// otherwise.
struct Curve {
    split: Split,
    shares: [i128; 5],
    /// The largest, whatever is asked.
    largest: i128,
    /// Those that hold most of the central first ten, which nobody knows before asking.
    knowing: i128,
}

/// Holds every split against the whole, and gives the rows of the first table and the curves over twenty nodes.
fn examine(source: &'static Source) -> Option<(Vec<String>, Vec<Curve>)> {
    let collection = Collection::read(source)?;
    let wanted: Vec<Vec<(Cid, u64)>> = collection.questions.iter().map(|q| central(&collection, q)).collect();
    let mut whole = Ranked::default();
    collection.questions.iter().zip(&wanted).for_each(|(q, chunks)| whole.note(&collection, q, chunks));
    let whole = whole.ndcg(&collection);
    let (mut rows, mut curves) = (Vec::new(), Vec::new());
    for split in Split::ALL {
        for n in NODES {
            let federation = Federation::new(&collection, split, n);
            let everybody: BTreeSet<usize> = (0..n).collect();
            let mut all = Ranked::default();
            for (question, wanted) in collection.questions.iter().zip(&wanted) {
                let found = federation.search(question, &federation.statistics(question), &everybody);
                assert_eq!(found, *wanted, "{}, {split:?} over {n}: question {}", source.name, question.id);
                all.note(&collection, question, &found);
            }
            let all = all.ndcg(&collection);
            assert_eq!(all, whole, "{}, {split:?} over {n}", source.name);
            let largest = federation.sizes.iter().map(|size| size.0).max().unwrap();
            let smallest = federation.sizes.iter().map(|size| size.0).min().unwrap();
            let loss = whole.minus(all);
            rows.push(format!(
                "| {} | {} | {n} | {largest} / {smallest} | {} | {} | {} |",
                source.name,
                split.name(),
                whole.decimal(4),
                all.decimal(4),
                loss.decimal(4)
            ));
            if n == 20 {
                curves.push(curve(&federation, split, &wanted, whole));
            }
        }
    }
    Some((rows, curves))
}

fn curve(federation: &Federation<'_>, split: Split, wanted: &[Vec<(Cid, u64)>], whole: Fixed) -> Curve {
    let collection = federation.collection;
    let places: BTreeMap<NodeId, usize> = federation.nodes.iter().enumerate().map(|(at, node)| (*node, at)).collect();
    let summaries = federation.nodes.iter().copied().zip(federation.summaries.iter().map(Some)).collect();
    let mut by_size: Vec<usize> = (0..federation.nodes.len()).collect();
    by_size.sort_by_key(|at| std::cmp::Reverse(federation.sizes[*at].0));
    let largest: BTreeSet<usize> = by_size.into_iter().take(ASKED[FIFTH]).collect();
    let mut runs: [Ranked; 5] = Default::default();
    let (mut of_largest, mut of_knowing) = (Ranked::default(), Ranked::default());
    for (question, wanted) in collection.questions.iter().zip(wanted) {
        let own = federation.statistics(question);
        let note = |run: &mut Ranked, asked: &BTreeSet<usize>| {
            run.note(collection, question, &federation.search(question, &own, asked));
        };
        for (n, run) in ASKED.into_iter().zip(&mut runs) {
            let chosen = select(&question.query, &summaries, AskWhom::Best(n));
            note(run, &chosen.iter().map(|node| places[node]).collect());
        }
        note(&mut of_largest, &largest);
        let mut held: BTreeMap<usize, u64> = BTreeMap::new();
        for (rank, (cid, _)) in (1u64..).zip(wanted.iter().take(K)) {
            // A place counts as in nDCG, where it is worth 1 / log2(rank + 1).
            *held.entry(federation.node_of(collection.by_cid[cid])).or_default() += (1 << 40) / ln_micro(rank + 1, 1);
        }
        let mut held: Vec<(usize, u64)> = held.into_iter().collect();
        held.sort_by_key(|(at, worth)| (std::cmp::Reverse(*worth), *at));
        note(&mut of_knowing, &held.into_iter().take(ASKED[FIFTH]).map(|(at, _)| at).collect());
    }
    // Every node is somewhere in the order, and the order is the same each time.
    let order = in_order(&collection.questions[0].query, &summaries);
    assert_eq!((order.len(), in_order(&collection.questions[0].query, &summaries)), (federation.nodes.len(), order));
    let left = |run: &Ranked| share(run.ndcg(collection), whole);
    Curve { split, shares: runs.each_ref().map(left), largest: left(&of_largest), knowing: left(&of_knowing) }
}

fn per_cent(thousandths: i128) -> String {
    format!("{}.{}", thousandths / 10, thousandths % 10)
}

#[test]
fn split_collections_rank_as_one_and_few_nodes_find_most() {
    println!(
        "| collection | split | nodes | chunks of the largest / smallest | nDCG@10 of one index | of the nodes | loss |"
    );
    println!("| --- | --- | ---: | ---: | ---: | ---: | ---: |");
    let examined = std::thread::scope(|scope| {
        let threads = SOURCES.each_ref().map(|source| scope.spawn(|| examine(source)));
        threads.map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    });
    let mut measured = Vec::new();
    for (source, examined) in SOURCES.iter().zip(examined) {
        let Some((rows, curves)) = examined else { return };
        rows.iter().for_each(|row| println!("{row}"));
        measured.push((source, curves));
    }
    println!(
        "\n| collection | split | 5 % | 10 % | 20 % | 40 % | 60 % | 100 % | 20 %, the largest | 20 %, knowing the answer |"
    );
    println!("| --- | --- |{}", " ---: |".repeat(8));
    for (source, curves) in &measured {
        for curve in curves {
            let shares: Vec<String> =
                curve.shares.into_iter().chain([1000, curve.largest, curve.knowing]).map(per_cent).collect();
            println!("| {} | {} | {} |", source.name, curve.split.name(), shares.join(" | "));
        }
    }
    if let Some(file) = std::env::var_os("PLUMB_ROUTING_PLOT") {
        let line = |curve: &Curve| Line {
            name: curve.split.name(),
            points: ASKED
                .iter()
                .chain(&[20])
                .zip(curve.shares.into_iter().chain([1000]))
                .map(|(n, left)| (*n as f64 * 5.0, left as f64 / 10.0))
                .collect(),
        };
        let panel = |(source, curves): &(&Source, Vec<Curve>)| Panel {
            title: source.name,
            unit: "% of the central nDCG@10",
            lines: curves.iter().map(line).collect(),
        };
        let panels: Vec<Panel> = measured.iter().map(panel).collect();
        std::fs::write(workspace_root().join(file), draw(&panels, "% of 20 nodes asked (logarithmic)")).unwrap();
    }
    for (source, curves) in &measured {
        for curve in curves {
            let (left, what) = (curve.shares[FIFTH], (source.name, curve.split));
            assert!(left >= curve.split.floor(), "{what:?}: {left} of 1000 are left with a fifth of the nodes");
            assert!(curve.split != Split::Topic || left > curve.largest, "{what:?}: the largest do as well");
        }
    }
}
