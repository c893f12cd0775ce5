//! What embedding and scanning cost, and what dense ranking is worth: `cargo bench -p plumb-models` prints Markdown, and with
//! `-- quality` also nDCG@10 on Cranfield, which takes minutes for each model.
//!
//! The texts are those of `PLUMB_DATA` (default: `../shared/data` beside the workspace). CPU time is given beside wall
//! time, because a machine with other work stretches only the one. What is compared is measured in the same run.

#![allow(clippy::unwrap_used, reason = "a measurement that cannot go on ends")]

#[path = "../tests/support/brought.rs"]
mod brought;

use std::collections::{BTreeMap, BTreeSet};
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use brought::brought;
use cpu_time::ProcessTime;
use plumb_core::content::RawBlock;
use plumb_core::measure::Milli;
use plumb_core::retrieval::{Blend, Mix, Query, TermStats, blend, bm25};
use plumb_core::vector::{ModelId, Pooling, Precision, Quantised, Table};
#[cfg(feature = "embedded")]
use plumb_models::Pocket;
use plumb_models::{Embedder, KNOWN, MiniLm, Settings, normalise, quantise};
use serde_json::Value;

const N_TEXTS: usize = 200;
const DIMS: usize = 384;
const N_QUESTIONS: usize = 20;
const TOP: usize = 10;
/// Hits of either side that are blended.
const DEPTH: usize = 1000;

fn main() {
    // `cargo test` runs benches without this flag to see that they start; there is nothing to see in a debug build.
    let flags: Vec<String> = std::env::args().collect();
    if !flags.iter().any(|a| a == "--bench") {
        println!("embed: run with `cargo bench -p plumb-models`");
        return;
    }
    let corpus = Cranfield::read();
    println!("machine: {} cores\n", std::thread::available_parallelism().map_or(0, usize::from));
    scanning();
    embedding(&corpus);
    if flags.iter().any(|a| a == "quality") {
        quality(&corpus);
    }
}

/// Wall and processor time of some work.
fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration, Duration) {
    let (wall, cpu) = (Instant::now(), ProcessTime::now());
    let result = work();
    (result, wall.elapsed(), cpu.elapsed())
}

/// Numbers that are the same in every run.
struct Draws(u64);

impl Draws {
    fn next(&mut self) -> f32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 40) as f32 / (1 << 23) as f32 - 1.0
    }

    fn direction(&mut self) -> Vec<f32> {
        let mut vector: Vec<f32> = (0..DIMS).map(|_| self.next()).collect();
        normalise(&mut vector).unwrap();
        vector
    }
}

fn scanning() {
    let id = ModelId::new("random", [0; 32], 384, 128, Pooling::Mean, Precision::F32, 1).unwrap();
    println!("Exact scan, {DIMS} dimensions, the best {TOP}, on one core, mean of {N_QUESTIONS} questions:\n");
    println!("| vectors | scan | wall | CPU | vectors/s of CPU |\n| --- | --- | --- | --- | --- |");
    for n in [10_000, 100_000] {
        let mut draws = Draws(7);
        let mut table = Table::new(&id);
        let mut floats: Vec<f32> = Vec::with_capacity(n * DIMS);
        for _ in 0..n {
            let vector = draws.direction();
            table.push(&quantise(&id, &vector).unwrap()).unwrap();
            floats.extend(vector);
        }
        let questions: Vec<Vec<f32>> = (0..N_QUESTIONS).map(|_| draws.direction()).collect();
        let ints: Vec<Quantised> = questions.iter().map(|q| quantise(&id, q).unwrap()).collect();
        let row = |what: &str, (_, wall, cpu): ((), Duration, Duration)| {
            let each = |d: Duration| d / u32::try_from(N_QUESTIONS).unwrap();
            let rate = n as f64 / each(cpu).as_secs_f64();
            println!("| {n} | {what} | {:.2?} | {:.2?} | {:.1} M |", each(wall), each(cpu), rate / 1e6);
        };
        let int8 = || {
            for question in &ints {
                black_box(table.nearest(question, TOP, |_| true, |row| row).unwrap());
            }
        };
        int8();
        row("int8", timed(int8));
        row("f32, a plain sum", timed(|| scan_floats(&questions, &floats, plain)));
        row("f32, 16 sums", timed(|| scan_floats(&questions, &floats, wide)));
    }
    println!();
}

fn plain(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

fn wide(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [0f32; 16];
    for (a, b) in a.chunks_exact(16).zip(b.chunks_exact(16)) {
        for i in 0..16 {
            sums[i] += a[i] * b[i];
        }
    }
    sums.iter().sum()
}

fn scan_floats(questions: &[Vec<f32>], floats: &[f32], dot: impl Fn(&[f32], &[f32]) -> f32) {
    for question in questions {
        black_box(best_floats(question, floats, TOP, &dot));
    }
}

fn best_floats(
    question: &[f32],
    floats: &[f32],
    limit: usize,
    dot: impl Fn(&[f32], &[f32]) -> f32,
) -> Vec<(usize, f32)> {
    let mut best: Vec<(usize, f32)> = Vec::with_capacity(limit + 1);
    for (row, vector) in floats.chunks_exact(DIMS).enumerate() {
        let product = dot(question, vector);
        if best.len() < limit || best[limit - 1].1 < product {
            let place = best.partition_point(|b| b.1 >= product);
            best.insert(place, (row, product));
            best.truncate(limit);
        }
    }
    best
}

fn padded(texts_per_pass: usize) -> Settings {
    Settings { texts_per_pass, ..Settings::default() }
}

fn embedding(corpus: &Cranfield) {
    // Spread over the collection, so that short and long are there as they are in all of it.
    let texts: Vec<&str> =
        corpus.documents.iter().step_by(corpus.documents.len() / N_TEXTS).map(|d| d.1.as_str()).collect();
    let texts = &texts[..N_TEXTS];
    println!("{N_TEXTS} texts of Cranfield, one thread:\n");
    println!(
        "| model | texts in a pass | load, CPU | wall | CPU | CPU of a text | texts/s of CPU | mean tokens | cut |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- | --- |");
    let measure = |what: &str, per_pass: usize, load: Duration, model: &dyn Embedder| {
        model.embed(&texts[..2], &|| false).unwrap();
        let (embedded, wall, cpu) = timed(|| model.embed(texts, &|| false).unwrap());
        let tokens: usize = embedded.iter().map(|e| e.tokens).sum();
        let n_cut = embedded.iter().filter(|e| e.cut).count();
        let rate = N_TEXTS as f64 / cpu.as_secs_f64();
        let each = cpu / u32::try_from(N_TEXTS).unwrap();
        let mean = tokens / N_TEXTS;
        println!(
            "| {what} | {per_pass} | {load:.2?} | {wall:.2?} | {cpu:.2?} | {each:.2?} | {rate:.1} | {mean} | {n_cut} |"
        );
    };
    #[cfg(feature = "embedded")]
    {
        let (model, _, load) = timed(|| Pocket::new(Settings::default()).unwrap());
        measure("pocket-encoder (L3, q4)", 1, load, &model);
    }
    for known in &KNOWN {
        let Some(models) = brought(known) else { continue };
        for per_pass in [1, 8] {
            let (model, _, load) = timed(|| MiniLm::open(&models, known, padded(per_pass)).unwrap());
            measure(&format!("{} {:?}", known.name, known.precision), per_pass, load, &model);
        }
    }
    println!();
}

/// The collection: documents with title and text, questions, and what is relevant to each.
struct Cranfield {
    documents: Vec<(String, String)>,
    questions: Vec<(String, String)>,
    relevant: BTreeMap<String, BTreeSet<String>>,
}

impl Cranfield {
    fn read() -> Cranfield {
        let default = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data");
        let data = std::env::var_os("PLUMB_DATA").map_or_else(default, PathBuf::from).join("cranfield");
        let read = |name: &str| {
            std::fs::read_to_string(data.join(name)).unwrap_or_else(|e| {
                eprintln!("{}: {e}; set PLUMB_DATA to the folder of test collections", data.join(name).display());
                std::process::exit(1);
            })
        };
        let lines =
            |name: &str| -> Vec<Value> { read(name).lines().map(|l| serde_json::from_str(l).unwrap()).collect() };
        let text = |value: &Value, name: &str| value[name].as_str().unwrap().to_string();
        let document = |value: &Value| {
            let (title, body) = (text(value, "title"), text(value, "text"));
            let body = body.strip_prefix(&title).unwrap_or(&body).to_string();
            (text(value, "doc_id"), format!("{title} {body}"))
        };
        let question =
            |value: &Value| (text(value, "query_id"), text(value, "text").trim_start_matches(".W ").to_string());
        let mut relevant: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for line in read("qrels.trec").lines() {
            if let [question, _, document, "1"] = line.split_whitespace().collect::<Vec<_>>()[..] {
                relevant.entry(question.to_string()).or_default().insert(document.to_string());
            }
        }
        Cranfield {
            documents: lines("corpus.jsonl").iter().map(document).collect(),
            questions: lines("queries.jsonl").iter().map(question).collect(),
            relevant,
        }
    }

    /// nDCG@10 with binary gain, the mean over all questions that have a judgment.
    fn ndcg(&self, rankings: &[Vec<usize>]) -> f64 {
        let discount = |rank: usize| 1.0 / (rank as f64 + 2.0).log2();
        let mut figures = Vec::new();
        for ((id, _), ranking) in self.questions.iter().zip(rankings) {
            let Some(relevant) = self.relevant.get(id) else { continue };
            let found = ranking.iter().take(TOP).enumerate();
            let gain: f64 =
                found.filter(|(_, row)| relevant.contains(&self.documents[**row].0)).map(|(r, _)| discount(r)).sum();
            figures.push(gain / (0..relevant.len().min(TOP)).map(discount).sum::<f64>());
        }
        figures.iter().sum::<f64>() / figures.len() as f64
    }

    /// BM25 with the product's own terms and statistics.
    fn lexical(&self) -> Vec<Vec<(usize, u64)>> {
        let rank = |(_, text): &(String, String)| {
            let query = Query::new(text);
            let found: Vec<(Vec<u32>, u64)> = self.documents.iter().map(|(_, text)| query.frequencies(text)).collect();
            let stats = TermStats {
                n_docs: found.len() as u64,
                n_terms: found.iter().map(|f| f.1).sum(),
                doc_freq: (0..query.terms.len()).map(|i| found.iter().filter(|f| f.0[i] > 0).count() as u64).collect(),
            };
            let scores = found.iter().map(|(tf, n)| bm25(&stats, tf, *n)).enumerate();
            let mut hits: Vec<(usize, u64)> = scores.filter(|(_, score)| *score > 0).collect();
            hits.sort_by_key(|(row, score)| (std::cmp::Reverse(*score), *row));
            hits.truncate(DEPTH);
            hits
        };
        self.questions.iter().map(rank).collect()
    }
}

fn quality(corpus: &Cranfield) {
    let (lexical, _, cpu) = timed(|| corpus.lexical());
    let alone: Vec<Vec<usize>> = lexical.iter().map(|hits| hits.iter().map(|hit| hit.0).collect()).collect();
    println!(
        "nDCG@10 on Cranfield, {} questions (BM25 of the product alone: {:.3}, {cpu:.0?} of CPU).",
        corpus.questions.len(),
        corpus.ndcg(&alone)
    );
    println!("The shares are those of the dense side; they are shown, not chosen, on these questions.\n");
    println!("| model | alone | alone, f32 | same in the best 10 | RRF 0.5 | min-max 0.2 | 0.3 | 0.4 | 0.5 | 0.6 |");
    println!("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |");
    #[cfg(feature = "embedded")]
    quality_of("pocket-encoder", &Pocket::new(Settings::default()).unwrap(), None, corpus, &lexical);
    for known in &KNOWN {
        let Some(models) = brought(known) else { continue };
        let model = MiniLm::open(&models, known, Settings::default()).unwrap();
        quality_of(&format!("{} {:?}", known.name, known.precision), &model, Some(&model), corpus, &lexical);
    }
}

fn quality_of(
    what: &str,
    model: &dyn Embedder,
    floats: Option<&MiniLm>,
    corpus: &Cranfield,
    lexical: &[Vec<(usize, u64)>],
) {
    let texts: Vec<&str> = corpus.documents.iter().map(|d| d.1.as_str()).collect();
    let questions: Vec<&str> = corpus.questions.iter().map(|q| q.1.as_str()).collect();
    let vectors = |texts: &[&str]| model.embed(texts, &|| false).unwrap().into_iter().map(|e| e.vector);
    let mut table = Table::new(model.id());
    for vector in vectors(&texts) {
        table.push(&vector).unwrap();
    }
    let near = |question: Quantised| table.nearest(&question, DEPTH, |_| true, |row| row).unwrap();
    let dense: Vec<Vec<(usize, i32)>> = vectors(&questions)
        .map(|question| near(question).into_iter().map(|hit| (hit.row, hit.dot)).collect())
        .collect();
    let alone: Vec<Vec<usize>> = dense.iter().map(|hits| hits.iter().map(|hit| hit.0).collect()).collect();
    let exact = floats.map(|model| {
        let zero = || vec![0f32; DIMS];
        let direction = |text: &&str| if text.trim().is_empty() { zero() } else { model.floats(text).unwrap() };
        let table: Vec<f32> = texts.iter().flat_map(direction).collect();
        let best = |question: &&str| -> Vec<usize> {
            best_floats(&direction(question), &table, TOP, plain).into_iter().map(|hit| hit.0).collect()
        };
        questions.iter().map(best).collect::<Vec<_>>()
    });
    let (exact_ndcg, same) = exact.map_or(("".to_string(), "".to_string()), |exact| {
        let common = |(a, b): (&Vec<usize>, &Vec<usize>)| a.iter().filter(|row| b[..TOP].contains(row)).count();
        let same: usize = exact.iter().zip(&alone).map(common).sum();
        (format!("{:.3}", corpus.ndcg(&exact)), format!("{:.3}", same as f64 / (TOP * exact.len()) as f64))
    });
    let names: Vec<_> = (0..texts.len()).map(|row| RawBlock::raw(row.to_be_bytes().to_vec()).cid).collect();
    let rows: BTreeMap<_, usize> = names.iter().copied().zip(0..).collect();
    let blended = |how, share| {
        let mix = Mix { blend: how, dense: Milli::new(share).unwrap() };
        let fused = lexical.iter().zip(&dense).map(|(lexical, dense)| {
            let lexical: Vec<_> = lexical.iter().map(|hit| (names[hit.0], hit.1)).collect();
            let dense: Vec<_> = dense.iter().map(|hit| (names[hit.0], hit.1)).collect();
            blend(&lexical, &dense, mix, TOP).iter().map(|hit| rows[&hit.chunk]).collect()
        });
        corpus.ndcg(&fused.collect::<Vec<Vec<usize>>>())
    };
    let sums: Vec<String> =
        [200, 300, 400, 500, 600].map(|share| format!("{:.3}", blended(Blend::MinMax, share))).into();
    println!(
        "| {what} | {:.3} | {exact_ndcg} | {same} | {:.3} | {} |",
        corpus.ndcg(&alone),
        blended(Blend::Reciprocal, 500),
        sums.join(" | ")
    );
}
