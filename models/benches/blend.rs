//! How much meaning should count beside words, for each model: `cargo bench -p plumb-models --bench blend`.
//!
//! The shares are looked at on training questions (those of SciFact; every other one of Cranfield and of NPL) and the other
//! questions are shown beside them. Documents are embedded whole, with the node's own words, statistics, depth and blend; it
//! takes minutes for each model. *Completed*: what one side found and the other did not has its score of the other side too.
//! *Late*: the first 50 of the blend that the model brings, reordered by it and by the late interaction of tokens
//! (`plumb_core::vector::max_sim`) at several shares. `PLUMB_BLEND=all-minilm-l6-v2-int8` looks at one model alone, and
//! `PLUMB_LATE=no` leaves the tokens out, which cost a second pass over the collections.

#![allow(clippy::unwrap_used, reason = "a measurement that cannot go on ends")]

#[path = "../tests/support/brought.rs"]
mod brought;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use brought::brought;
use cid::Cid;
use plumb_core::content::{Chunk, ChunkTag, RawBlock};
use plumb_core::measure::Milli;
use plumb_core::retrieval::{Blend, Mix, Query, TermStats, blend, bm25, body_of, is_word, terms};
use plumb_core::vector::{Table, max_sim};
#[cfg(feature = "embedded")]
use plumb_models::Pocket;
use plumb_models::{Embedder, KNOWN, MiniLm, Settings};
use serde_json::Value;

const TOP: usize = 10;
/// As in the node.
const DEPTH: usize = 100;
/// How many late interaction looks at.
const RERANKED: usize = 50;
const SHARES: [u16; 11] = [0, 100, 200, 300, 400, 500, 600, 700, 800, 900, 1000];

/// Questions with what is relevant to each.
type Questions = Vec<(String, BTreeMap<String, u32>)>;

struct Collection {
    name: &'static str,
    ids: Vec<String>,
    names: Vec<Cid>,
    texts: Vec<String>,
    n_terms: Vec<u64>,
    postings: HashMap<String, Vec<(usize, u32)>>,
    /// To choose by, and to report.
    questions: [Questions; 2],
}

fn main() {
    if !std::env::args().any(|a| a == "--bench") {
        println!("blend: run with `cargo bench -p plumb-models --bench blend`");
        return;
    }
    let collections = [scifact(), halves("cranfield"), halves("npl")];
    let wanted = std::env::var("PLUMB_BLEND").ok();
    let is_wanted = |name: &str| wanted.as_deref().is_none_or(|wanted| wanted == name);
    #[cfg(feature = "embedded")]
    if is_wanted("embedded") {
        show("embedded: pocket-encoder", &Pocket::new(Settings::default()).unwrap(), &collections);
    }
    for known in KNOWN.iter().filter(|k| is_wanted(&format!("{}-{:?}", k.name, k.precision).to_lowercase())) {
        let Some(models) = brought(known) else { continue };
        let model = MiniLm::open(&models, known, Settings::default()).unwrap();
        show(&format!("{} {:?}", known.name, known.precision), &model, &collections);
    }
}

fn show(what: &str, model: &dyn Embedder, collections: &[Collection]) {
    println!("\n{what}, nDCG@10 (questions to choose by / the others):\n");
    println!("| share | {} |", collections.iter().map(|c| c.name).collect::<Vec<_>>().join(" | "));
    println!("| --- |{}", " --- |".repeat(collections.len()));
    let found: Vec<[Vec<Found>; 2]> = collections.iter().map(|c| c.search(model)).collect();
    let row = |name: String, mix: Mix| line(name, collections, &found, mix);
    for share in SHARES {
        row(format!("min-max {share}"), Mix { blend: Blend::MinMax, dense: Milli::new(share).unwrap() });
    }
    for share in [300, 500] {
        row(format!("reciprocal {share}"), Mix { blend: Blend::Reciprocal, dense: Milli::new(share).unwrap() });
    }
    let completed: Vec<[Vec<Found>; 2]> = found.iter().map(|found| found.each_ref().map(|f| completed(f))).collect();
    for share in SHARES {
        let mix = Mix { blend: Blend::MinMax, dense: Milli::new(share).unwrap() };
        line(format!("completed {share}"), collections, &completed, mix);
    }
    if std::env::var("PLUMB_LATE").is_ok_and(|late| late == "no") || model.embed_tokens("x").is_err() {
        return;
    }
    let late: Vec<[Vec<Found>; 2]> =
        collections.iter().zip(&found).map(|(collection, found)| collection.late(model, found)).collect();
    for share in SHARES {
        let mix = Mix { blend: Blend::MinMax, dense: Milli::new(share).unwrap() };
        line(format!("late {share}"), collections, &late, mix);
    }
}

/// A row of the table.
fn line(name: String, collections: &[Collection], found: &[[Vec<Found>; 2]], mix: Mix) {
    let cells = collections.iter().zip(found).map(|(collection, found)| {
        let [train, test] = [0, 1].map(|i| collection.ndcg(&collection.questions[i], &found[i], mix));
        format!("{train:.4} / {test:.4}")
    });
    println!("| {name} | {} |", cells.collect::<Vec<_>>().join(" | "));
}

/// What either side found, with its score of the other side where the depth cut that off.
fn completed(found: &[Found]) -> Vec<Found> {
    let complete = |found: &Found| {
        let mut complete = found.clone();
        complete.lexical.extend(&found.lexical_of_dense);
        complete.dense.extend(&found.dense_of_lexical);
        complete
    };
    found.iter().map(complete).collect()
}

/// What either side found for a question, best first.
#[derive(Clone)]
struct Found {
    lexical: Vec<(Cid, u64)>,
    dense: Vec<(Cid, i32)>,
    /// What words say of what only meaning found, and meaning of what only words found.
    lexical_of_dense: Vec<(Cid, u64)>,
    dense_of_lexical: Vec<(Cid, i32)>,
}

impl Collection {
    fn new(name: &'static str, documents: Vec<(String, String, String)>, questions: [Questions; 2]) -> Collection {
        let mut collection = Collection {
            name,
            ids: Vec::new(),
            names: Vec::new(),
            texts: Vec::new(),
            n_terms: Vec::new(),
            postings: HashMap::new(),
            questions,
        };
        for (row, (id, title, text)) in documents.into_iter().enumerate() {
            let source = RawBlock::raw(id.as_bytes().to_vec()).cid;
            let (start, end, headings) = (0, text.len() as u64, Vec::new());
            let chunk = Chunk { tag: ChunkTag, source, ordinal: 0, start, end, title, headings, page: None, text };
            let mut tf: HashMap<String, u32> = HashMap::new();
            let all = terms(&body_of(&chunk));
            collection.n_terms.push(all.iter().filter(|term| is_word(term)).count() as u64);
            all.into_iter().for_each(|term| *tf.entry(term).or_default() += 1);
            tf.into_iter().for_each(|(term, tf)| collection.postings.entry(term).or_default().push((row, tf)));
            collection.ids.push(id);
            collection.names.push(source);
            collection.texts.push(format!("{}\n{}", chunk.title, chunk.text));
        }
        collection
    }

    fn search(&self, model: &dyn Embedder) -> [Vec<Found>; 2] {
        let texts: Vec<&str> = self.texts.iter().map(String::as_str).collect();
        let mut table = Table::new(model.id());
        for embedded in model.embed(&texts, &|| false).unwrap() {
            table.push(&embedded.vector).unwrap();
        }
        [0, 1].map(|i| self.questions[i].iter().map(|(text, _)| self.found(model, &table, text)).collect())
    }

    fn found(&self, model: &dyn Embedder, table: &Table, text: &str) -> Found {
        let question = &model.embed(&[text], &|| false).unwrap()[0].vector;
        let nearest = table.nearest(question, DEPTH, |_| true, |row| self.names[row]).unwrap();
        let dense: Vec<(Cid, i32)> = nearest.into_iter().map(|hit| (hit.name, hit.dot)).collect();
        let all = self.lexical(text);
        let lexical = all[..all.len().min(DEPTH)].to_vec();
        let in_dense: BTreeSet<Cid> = dense.iter().map(|(name, _)| *name).collect();
        let in_lexical: BTreeSet<Cid> = lexical.iter().map(|(name, _)| *name).collect();
        let of_dense = all[lexical.len()..].iter().filter(|(name, _)| in_dense.contains(name)).copied().collect();
        let missing = |row: usize| in_lexical.contains(&self.names[row]) && !in_dense.contains(&self.names[row]);
        let of_lexical = table.nearest(question, DEPTH, missing, |row| self.names[row]).unwrap();
        Found {
            lexical,
            dense,
            lexical_of_dense: of_dense,
            dense_of_lexical: of_lexical.into_iter().map(|hit| (hit.name, hit.dot)).collect(),
        }
    }

    /// The first of the model's own blend, with what late interaction says of each in the place of meaning.
    fn late(&self, model: &dyn Embedder, found: &[Vec<Found>; 2]) -> [Vec<Found>; 2] {
        let rows: HashMap<Cid, usize> = self.names.iter().copied().zip(0..).collect();
        let mut tokens: HashMap<Cid, Table> = HashMap::new();
        [0, 1].map(|i| {
            let late = self.questions[i].iter().zip(&found[i]).map(|((text, _), found)| {
                let question = model.embed_tokens(text).unwrap();
                let first = blend(&found.lexical, &found.dense, model.mix(), RERANKED);
                let mut dense: Vec<(Cid, i32)> = Vec::new();
                for blended in &first {
                    let passage = tokens
                        .entry(blended.chunk)
                        .or_insert_with(|| model.embed_tokens(&self.texts[rows[&blended.chunk]]).unwrap());
                    dense.push((blended.chunk, max_sim(&question, passage).unwrap().get() as i32));
                }
                dense.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
                let lexical = first.iter().map(|blended| (blended.chunk, blended.weight)).collect();
                Found { lexical, dense, lexical_of_dense: Vec::new(), dense_of_lexical: Vec::new() }
            });
            late.collect()
        })
    }

    fn lexical(&self, text: &str) -> Vec<(Cid, u64)> {
        let query = Query::of_text(text);
        let postings: Vec<&[(usize, u32)]> =
            query.terms.iter().map(|term| self.postings.get(term).map_or(&[][..], Vec::as_slice)).collect();
        let stats = TermStats {
            n_docs: self.ids.len() as u64,
            n_terms: self.n_terms.iter().sum(),
            doc_freq: postings.iter().map(|p| p.len() as u64).collect(),
        };
        let mut tf: HashMap<usize, Vec<u32>> = HashMap::new();
        for (term, postings) in postings.iter().enumerate() {
            for (row, n) in *postings {
                tf.entry(*row).or_insert_with(|| vec![0; query.terms.len()])[term] = *n;
            }
        }
        let mut hits: Vec<(Cid, u64)> =
            tf.iter().map(|(row, tf)| (self.names[*row], bm25(&stats, tf, self.n_terms[*row]))).collect();
        hits.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        hits
    }

    fn ndcg(&self, questions: &Questions, found: &[Found], mix: Mix) -> f64 {
        let rows: HashMap<Cid, usize> = self.names.iter().copied().zip(0..).collect();
        let discount = |rank: usize| 1.0 / (rank as f64 + 2.0).log2();
        let each = questions.iter().zip(found).map(|((_, grades), found)| {
            let ranked = blend(&found.lexical, &found.dense, mix, TOP);
            let grade = |chunk: &Cid| f64::from(grades.get(&self.ids[rows[chunk]]).copied().unwrap_or(0));
            let gain: f64 = ranked.iter().enumerate().map(|(rank, b)| grade(&b.chunk) * discount(rank)).sum();
            let mut best: Vec<u32> = grades.values().copied().collect();
            best.sort_unstable_by(|a, b| b.cmp(a));
            let most: f64 = best.iter().take(TOP).enumerate().map(|(rank, g)| f64::from(*g) * discount(rank)).sum();
            if most == 0.0 { 0.0 } else { gain / most }
        });
        each.sum::<f64>() / questions.len() as f64
    }
}

fn data() -> PathBuf {
    let default = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data");
    std::env::var_os("PLUMB_DATA").map_or_else(default, PathBuf::from)
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|e| {
        eprintln!("{}: {e}; set PLUMB_DATA to the folder of test collections", path.display());
        std::process::exit(1);
    })
}

fn lines(path: &Path) -> Vec<Value> {
    read(path).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// An id, however it is written.
fn id(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_string)
}

fn qrels(path: &Path) -> HashMap<String, BTreeMap<String, u32>> {
    let mut qrels: HashMap<String, BTreeMap<String, u32>> = HashMap::new();
    for line in read(path).lines() {
        let [question, _, document, grade] = line.split_whitespace().collect::<Vec<_>>()[..] else { continue };
        let grade = grade.parse::<i32>().unwrap().max(0).unsigned_abs();
        qrels.entry(question.to_string()).or_default().insert(document.to_string(), grade);
    }
    qrels
}

fn scifact() -> Collection {
    let dir = data().join("scifact");
    let corpus = lines(&dir.join("corpus.jsonl"));
    let documents = corpus.iter().map(|d| {
        let text: Vec<&str> = d["abstract"].as_array().unwrap().iter().map(|s| s.as_str().unwrap()).collect();
        (id(&d["doc_id"]), d["title"].as_str().unwrap().to_string(), text.join(" "))
    });
    let questions = |claims: &str, judged: &str| {
        let mut judged = qrels(&dir.join(judged));
        lines(&dir.join(claims))
            .iter()
            .filter_map(|c| Some((c["claim"].as_str().unwrap().to_string(), judged.remove(&id(&c["id"]))?)))
            .collect()
    };
    let train = questions("claims_train.jsonl", "qrels_train.trec");
    Collection::new("SciFact", documents.collect(), [train, questions("claims_dev.jsonl", "qrels_test.trec")])
}

/// A collection without training questions: every other one is for choosing.
fn halves(name: &'static str) -> Collection {
    let dir = data().join(name);
    let text = |d: &Value, field: &str| d[field].as_str().unwrap_or("").to_string();
    let documents = lines(&dir.join("corpus.jsonl")).into_iter().map(|d| {
        let (title, body) = (text(&d, "title"), text(&d, "text"));
        let body = body.strip_prefix(&title).unwrap_or(&body).to_string();
        (id(&d["doc_id"]), title, body)
    });
    let mut judged = qrels(&dir.join("qrels.trec"));
    let mut questions = [Questions::new(), Questions::new()];
    let asked = lines(&dir.join("queries.jsonl"));
    let asked = asked.iter().filter_map(|q| Some((text(q, "text"), judged.remove(&id(&q["query_id"]))?)));
    asked.enumerate().for_each(|(n, question)| questions[n % 2].push(question));
    Collection::new(name, documents.collect(), questions)
}
