//! How good the lexical ranking is, on judged collections: NDCG@10 and recall@100 for each part of the text analysis, for
//! field weights, and for k1 and b.
//!
//! `cargo bench -p plumb-core --bench quality` reads `PLUMB_DATA` (else `../shared/data`) and prints tables. Every
//! document is scored by brute force with `Weights`, as a node does. Settings are chosen on the training questions of
//! SciFact and the odd questions of Cranfield, and reported on the others. The gain is linear, as in `ir-measures`.

#![allow(clippy::disallowed_types, clippy::disallowed_methods)] // Measuring needs a clock, files and floats.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Instant;

use plumb_core::content::{RawBlock, chunks_of};
use plumb_core::retrieval::{
    Query, Saturation, TITLE_WEIGHT, TermStats, Weights, body_of, is_stop_word, is_word, terms,
};
use rust_stemmers::{Algorithm, Stemmer};
use serde_json::Value;
use unicode_segmentation::UnicodeSegmentation;

/// A way to cut a text into terms.
type Cut = fn(&str) -> Vec<String>;

struct Document {
    id: String,
    title: String,
    text: String,
}

struct Question {
    text: String,
    relevant: BTreeSet<String>,
}

struct Collection {
    name: &'static str,
    documents: Vec<Document>,
    /// To choose settings on; empty where there are none to spare.
    tuning: Vec<Question>,
    test: Vec<Question>,
}

fn main() {
    // `cargo test` runs benches without this flag to see that they start.
    if !std::env::args().any(|a| a == "--bench") {
        println!("quality: run with `cargo bench -p plumb-core --bench quality`");
        return;
    }
    let data = std::env::var_os("PLUMB_DATA").map_or_else(|| PathBuf::from("../../shared/data"), PathBuf::from);
    // Cargo runs a bench in the folder of its package; the default is beside the workspace.
    let data = if data.exists() { data } else { PathBuf::from("../shared/data") };
    if !data.join("scifact/corpus.jsonl").exists() {
        eprintln!("quality: no judged collections in {}; set PLUMB_DATA to the folder that holds them", data.display());
        std::process::exit(1);
    }
    let collections = [scifact(&data), cranfield(&data), npl(&data)];
    analysis(&collections);
    fields(&collections);
    saturation(&collections);
    as_the_node(&collections);
    speed(&collections[0]);
}

/// Words in lower case and nothing else.
fn bare_words(text: &str) -> Vec<String> {
    text.unicode_words().map(str::to_lowercase).collect()
}

/// What the first version of the index did: lower case, and Porter2 where a word is ASCII.
fn first_version(text: &str) -> Vec<String> {
    let stemmer = Stemmer::create(Algorithm::English);
    let words = text.unicode_words().flat_map(|w| w.split([':', '_'])).filter(|w| !w.is_empty());
    words
        .map(|word| {
            let lower = word.to_lowercase();
            if lower.is_ascii() { stemmer.stem(&lower).into_owned() } else { lower }
        })
        .collect()
}

fn folded_words(text: &str) -> Vec<String> {
    plumb_core::retrieval::words(text)
}

fn analysis(collections: &[Collection]) {
    let ways: [(&str, Cut); 4] = [
        ("words in lower case", bare_words),
        ("first version: and English stems", first_version),
        ("and folding, identifiers cut", folded_words),
        ("and compounds: as it is", terms),
    ];
    heading("terms (title and text once, k1 1.2, b 0.75)", collections);
    for (name, cut) in ways {
        row(name, collections, |c, questions| Ranker::new(c, cut, 1).measure(questions, Saturation::STANDARD));
    }
}

fn fields(collections: &[Collection]) {
    heading("weight of the title (k1 1.2, b 0.75)", collections);
    for weight in [1, 2, 3, 4] {
        let name = format!("title {weight}, text 1");
        row(&name, collections, |c, questions| Ranker::new(c, terms, weight).measure(questions, Saturation::STANDARD));
    }
}

fn saturation(collections: &[Collection]) {
    heading(&format!("k1 and b (title × {TITLE_WEIGHT})"), collections);
    let rankers: Vec<Ranker> = collections.iter().map(|c| Ranker::new(c, terms, TITLE_WEIGHT)).collect();
    for k1 in [90, 120, 150, 200] {
        for b in [40, 60, 75, 90] {
            row(&format!("k1 {k1}, b {b}"), collections, |c, questions| {
                let ranker = rankers.iter().find(|r| r.collection.name == c.name).expect("one for each");
                ranker.measure(questions, Saturation { k1, b })
            });
        }
    }
}

/// Each document cut into chunks as at ingestion, ranked by its best chunk under the node's own scoring.
fn as_the_node(collections: &[Collection]) {
    heading(&format!("as the node ranks: chunks, title × {TITLE_WEIGHT}, k1 1.2, b 0.75, best chunk"), collections);
    row("chunks", collections, |c, questions| Ranker::of_chunks(c).measure(questions, Saturation::STANDARD));
}

fn speed(collection: &Collection) {
    let time = |cut: Cut| {
        let mut rates: Vec<f64> = (0..5)
            .map(|_| {
                let begun = Instant::now();
                let n: usize =
                    collection.documents.iter().map(|d| cut(&d.text).iter().filter(|t| is_word(t)).count()).sum();
                n as f64 / begun.elapsed().as_secs_f64()
            })
            .collect();
        rates.sort_by(f64::total_cmp);
        rates[2]
    };
    let (before, now) = (time(first_version), time(terms));
    println!("\nwords/s on {}: first version {before:.0}, now {now:.0}, ratio {:.2}", collection.name, now / before);
}

fn heading(title: &str, collections: &[Collection]) {
    print!("\n| {title} |");
    for c in collections {
        if !c.tuning.is_empty() {
            print!(" {} tuning NDCG@10 |", c.name);
        }
        print!(" {} test NDCG@10 | R@100 |", c.name);
    }
    let columns: usize = collections.iter().map(|c| if c.tuning.is_empty() { 2 } else { 3 }).sum();
    println!("\n| --- |{}", " --- |".repeat(columns));
}

fn row<'a>(
    name: &str,
    collections: &'a [Collection],
    mut measure: impl FnMut(&'a Collection, &[Question]) -> (f64, f64),
) {
    print!("| {name} |");
    for c in collections {
        if !c.tuning.is_empty() {
            print!(" {:.4} |", measure(c, &c.tuning).0);
        }
        let (ndcg, recall) = measure(c, &c.test);
        print!(" {ndcg:.4} | {recall:.4} |");
    }
    println!();
}

/// A collection ready to be ranked.
struct Ranker<'a> {
    collection: &'a Collection,
    cut: Cut,
    /// For each term the entries that hold it, and how often.
    postings: BTreeMap<String, Vec<(usize, u32)>>,
    /// Words of each entry, and the document that it is of.
    entries: Vec<(u64, usize)>,
    n_terms: u64,
}

impl<'a> Ranker<'a> {
    fn new(collection: &'a Collection, cut: Cut, title_weight: usize) -> Ranker<'a> {
        let mut ranker = Ranker { collection, cut, postings: BTreeMap::new(), entries: Vec::new(), n_terms: 0 };
        for (at, document) in collection.documents.iter().enumerate() {
            ranker.add(at, &format!("{}{}", format!("{}\n", document.title).repeat(title_weight), document.text));
        }
        ranker
    }

    fn of_chunks(collection: &'a Collection) -> Ranker<'a> {
        let mut ranker = Ranker { collection, cut: terms, postings: BTreeMap::new(), entries: Vec::new(), n_terms: 0 };
        for (at, document) in collection.documents.iter().enumerate() {
            for chunk in chunks_of(RawBlock::raw(vec![]).cid, &document.title, &document.text, &[]) {
                ranker.add(at, &body_of(&chunk));
            }
        }
        ranker
    }

    fn add(&mut self, document: usize, body: &str) {
        let mut frequencies: BTreeMap<String, u32> = BTreeMap::new();
        let mut n = 0;
        for term in (self.cut)(body) {
            n += u64::from(is_word(&term));
            *frequencies.entry(term).or_default() += 1;
        }
        let entry = self.entries.len();
        self.entries.push((n, document));
        self.n_terms += n;
        for (term, tf) in frequencies {
            self.postings.entry(term).or_default().push((entry, tf));
        }
    }

    /// The terms of a question, as `Query` takes them, cut in this way.
    fn terms_of(&self, question: &str) -> Vec<String> {
        if self.cut as usize == terms as Cut as usize {
            return Query::new(question).terms;
        }
        let mut seen = BTreeSet::new();
        let all: Vec<String> = (self.cut)(question).into_iter().filter(|t| seen.insert(t.clone())).collect();
        all.into_iter().filter(|t| !is_stop_word(t)).collect()
    }

    /// The documents of a question, best first.
    fn rank(&self, question: &str, saturation: Saturation) -> Vec<&'a str> {
        let terms = self.terms_of(question);
        let n = terms.len();
        let mut frequencies = vec![0u32; n * self.entries.len()];
        let mut stats = TermStats { n_docs: self.entries.len() as u64, n_terms: self.n_terms, doc_freq: Vec::new() };
        for (i, term) in terms.iter().enumerate() {
            let postings = self.postings.get(term).map_or(&[][..], Vec::as_slice);
            stats.doc_freq.push(postings.len() as u64);
            postings.iter().for_each(|(entry, tf)| frequencies[entry * n + i] = *tf);
        }
        let weights = Weights::with(&stats, saturation);
        let mut best: Vec<u64> = vec![0; self.collection.documents.len()];
        for (tf, (n_terms, document)) in frequencies.chunks(n.max(1)).zip(&self.entries) {
            best[*document] = best[*document].max(weights.score(tf, *n_terms));
        }
        let id = |document: usize| self.collection.documents[document].id.as_str();
        let mut ranked: Vec<(usize, u64)> = best.into_iter().enumerate().filter(|(_, score)| *score > 0).collect();
        ranked.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| id(a.0).cmp(id(b.0))));
        ranked.into_iter().take(100).map(|(document, _)| id(document)).collect()
    }

    /// Means of NDCG@10 and of recall@100.
    fn measure(&self, questions: &[Question], saturation: Saturation) -> (f64, f64) {
        let (mut ndcg, mut recall) = (0.0, 0.0);
        for question in questions {
            let ranked = self.rank(&question.text, saturation);
            let gain = |at: usize| 1.0 / (at as f64 + 2.0).log2();
            let is_relevant = |id: &&str| question.relevant.contains(*id);
            let got: f64 =
                ranked.iter().take(10).enumerate().filter(|(_, id)| is_relevant(id)).map(|(at, _)| gain(at)).sum();
            let ideal: f64 = (0..question.relevant.len().min(10)).map(gain).sum();
            ndcg += got / ideal;
            recall += ranked.iter().filter(|id| is_relevant(id)).count() as f64 / question.relevant.len() as f64;
        }
        (ndcg / questions.len() as f64, recall / questions.len() as f64)
    }
}

fn lines(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap_or_else(|e| {
        eprintln!("quality: {} cannot be read: {e}", path.display());
        std::process::exit(1);
    });
    text.lines().map(|line| serde_json::from_str(line).expect("a line is JSON")).collect()
}

fn text(value: &Value, key: &str) -> String {
    match &value[key] {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The relevant documents of each question.
fn judgments(path: &Path) -> BTreeMap<String, BTreeSet<String>> {
    let mut judged: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for line in std::fs::read_to_string(path).expect("judgments can be read").lines() {
        let mut fields = line.split_whitespace();
        if let (Some(question), _, Some(document), Some(grade)) =
            (fields.next(), fields.next(), fields.next(), fields.next())
            && grade.parse::<i32>().is_ok_and(|grade| grade > 0)
        {
            judged.entry(question.to_string()).or_default().insert(document.to_string());
        }
    }
    judged
}

fn questions(path: &Path, id: &str, key: &str, judged: &BTreeMap<String, BTreeSet<String>>) -> Vec<(String, Question)> {
    let of = |value: &Value| {
        let id = text(value, id);
        let relevant = judged.get(&id)?.clone();
        // Cranfield's file leaves the mark of its original in front of some questions.
        let question = text(value, key);
        Some((id, Question { text: question.trim_start_matches(".W ").to_string(), relevant }))
    };
    lines(path).iter().filter_map(of).collect()
}

fn scifact(data: &Path) -> Collection {
    let dir = data.join("scifact");
    let document = |value: &Value| {
        let sentences = value["abstract"].as_array().expect("an abstract has sentences");
        let text_of = sentences.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" ");
        Document { id: text(value, "doc_id"), title: text(value, "title"), text: text_of }
    };
    let of = |claims: &str, qrels: &str| {
        questions(&dir.join(claims), "id", "claim", &judgments(&dir.join(qrels))).into_iter().map(|q| q.1).collect()
    };
    Collection {
        name: "SciFact",
        documents: lines(&dir.join("corpus.jsonl")).iter().map(document).collect(),
        tuning: of("claims_train.jsonl", "qrels_train.trec"),
        test: of("claims_dev.jsonl", "qrels_test.trec"),
    }
}

fn cranfield(data: &Path) -> Collection {
    let dir = data.join("cranfield");
    let document = |value: &Value| {
        let (title, body) = (text(value, "title"), text(value, "text"));
        let body = body.strip_prefix(&title).unwrap_or(&body).to_string();
        Document { id: text(value, "doc_id"), title, text: body }
    };
    let all = questions(&dir.join("queries.jsonl"), "query_id", "text", &judgments(&dir.join("qrels.trec")));
    let is_odd = |id: &str| id.parse::<u32>().is_ok_and(|id| id % 2 == 1);
    let (tuning, test): (Vec<_>, Vec<_>) = all.into_iter().partition(|(id, _)| is_odd(id));
    Collection {
        name: "Cranfield",
        documents: lines(&dir.join("corpus.jsonl")).iter().map(document).collect(),
        tuning: tuning.into_iter().map(|q| q.1).collect(),
        test: test.into_iter().map(|q| q.1).collect(),
    }
}

fn npl(data: &Path) -> Collection {
    let dir = data.join("npl");
    let document =
        |value: &Value| Document { id: text(value, "doc_id"), title: String::new(), text: text(value, "text") };
    let all = questions(&dir.join("queries.jsonl"), "query_id", "text", &judgments(&dir.join("qrels.trec")));
    Collection {
        name: "NPL",
        documents: lines(&dir.join("corpus.jsonl")).iter().map(document).collect(),
        tuning: Vec::new(),
        test: all.into_iter().map(|q| q.1).collect(),
    }
}
