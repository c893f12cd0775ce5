//! What a node costs against the plain parts that it is made of, measured in one run on the same documents.
//!
//! `cargo bench -p plumb-actors` prints a table. Every figure is a ratio of two medians of interleaved rounds, so that
//! whatever else the machine does falls on both sides. The documents are those of `PLUMB_DATA` (default: `../shared/data`
//! beside the workspace); without them there is nothing to measure, and it says so.

#[path = "shared/node.rs"]
mod node;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use node::{DEADLINE, at, data, question, start};
use plumb_actors::Node;
use plumb_actors::ingestion::Intake;
use plumb_actors::retrieval::SearchInStages;
use plumb_core::boundary::Sensitivity;
use plumb_core::content::{Fingerprint, RawBlock, SourceRecord, SourceTag, chunks_of};
use plumb_core::exchange::{Contents, Head, ISSUED_MAX_AGE, Knowledge, SealedBundle, SourceStatus, seal, verify};
use plumb_core::grounding::{Evidence, compose};
use plumb_core::identity::SecretKey;
use plumb_core::log::{Checkpoint, CompactRange, leaf_hash};
use plumb_core::measure::Timestamp;
use plumb_core::retrieval::{Query, TermStats, body_of};
use plumb_core::trust::{Roots, VALIDITY_DEFAULT, certify};
use sha2::{Digest, Sha256};
use tantivy::collector::TopDocs;
use tantivy::query::{BooleanQuery, Query as TantivyQuery, TermQuery};
use tantivy::schema::{IndexRecordOption, STORED, Schema, TEXT};
use tantivy::{Index, IndexWriter, TantivyDocument, Term};

const ROUNDS: usize = 3;
const VERIFY_ROUNDS: usize = 200;

#[actix::main]
async fn main() {
    // `cargo test` runs benches with this flag to see that they start; there is nothing to see in a debug build.
    if !std::env::args().any(|a| a == "--bench") {
        println!("ratios: run with `cargo bench -p plumb-actors`");
        return;
    }
    let data = data();
    println!("machine: {} cores, {}", std::thread::available_parallelism().map_or(0, usize::from), cpu());
    println!("| what | node | baseline | ratio |\n| --- | --- | --- | --- |");
    ingest_and_search(&data).await;
    verify_bundle();
}

fn cpu() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = info.lines().find_map(|l| l.strip_prefix("model name")).unwrap_or("unknown processor");
    name.trim_start_matches([' ', '\t', ':']).to_string()
}

fn median<T: Copy + Ord>(values: &mut [T]) -> T {
    values.sort_unstable();
    values[values.len() / 2]
}

fn row(what: &str, node: Duration, baseline: Duration) {
    let ratio = node.as_secs_f64() / baseline.as_secs_f64();
    println!("| {what} | {node:.2?} | {baseline:.2?} | {ratio:.2} |");
}

struct Record {
    raw: String,
    title: String,
    text: String,
}

fn records(path: &Path) -> Vec<Record> {
    let lines = std::fs::read_to_string(path).expect("the corpus is readable");
    lines
        .lines()
        .map(|line| {
            let value: serde_json::Value = serde_json::from_str(line).expect("the corpus is JSON Lines");
            let sentences = value["abstract"].as_array().cloned().unwrap_or_default();
            let text: Vec<&str> = sentences.iter().filter_map(|s| s.as_str()).collect();
            let title = value["title"].as_str().unwrap_or_default().to_string();
            Record { raw: line.to_string(), title, text: text.join(" ") }
        })
        .collect()
}

/// Plain tantivy and plain sled, written by hand for this one collection: parse, store, index, and one fsync a batch.
fn plain_ingest(corpus: &Path, home: &Path) -> (Index, tantivy::schema::Field) {
    let mut schema = Schema::builder();
    let body = schema.add_text_field("body", TEXT);
    let id = schema.add_bytes_field("id", STORED);
    let dir = home.join("tantivy");
    std::fs::create_dir_all(&dir).expect("a folder in a temporary home");
    let index = Index::create_in_dir(&dir, schema.build()).expect("an empty folder");
    let mut writer: IndexWriter = index.writer_with_num_threads(1, 24 << 20).expect("a writer");
    let store = sled::open(home.join("sled")).expect("an empty folder");
    let file = std::fs::File::open(home.join("sled/db")).expect("sled's file");
    for batch in records(corpus).chunks(256) {
        let mut rows = sled::Batch::default();
        for record in batch {
            let key = Sha256::digest(record.raw.as_bytes());
            rows.insert(key.as_slice(), record.raw.as_bytes());
            let mut document = TantivyDocument::new();
            document.add_text(body, format!("{}\n{}", record.title, record.text));
            document.add_bytes(id, key.as_slice());
            writer.add_document(document).expect("a document");
        }
        store.apply_batch(rows).expect("a batch");
        store.flush().expect("a flush");
        file.sync_data().expect("an fsync");
    }
    writer.commit().expect("a commit");
    (index, body)
}

async fn ingest_and_search(data: &Path) {
    let corpus = data.join("scifact/corpus.jsonl");
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    let mut last = None;
    for _ in 0..ROUNDS {
        let (node_home, plain_home) = (tempfile::tempdir().expect("a home"), tempfile::tempdir().expect("a home"));
        let begin = Instant::now();
        let plain = plain_ingest(&corpus, plain_home.path());
        theirs.push(begin.elapsed());
        let node = start(node_home.path(), 0, None).await;
        let begin = Instant::now();
        node::ingest(&node, Intake::Path(corpus.clone()), Sensitivity::Public).await;
        ours.push(begin.elapsed());
        if let Some((node, ..)) = last.replace((node, plain, node_home, plain_home)) {
            let node: Node = node;
            node.stop().await;
        }
    }
    row("ingest SciFact (5,183 documents) against tantivy + sled", median(&mut ours), median(&mut theirs));
    let (node, (index, body), _node_home, _plain_home) = last.expect("there was a round");
    search(data, &node, &index, body).await;
    node.stop().await;
}

async fn search(data: &Path, node: &Node, index: &Index, body: tantivy::schema::Field) {
    let claims = std::fs::read_to_string(data.join("scifact/claims_dev.jsonl")).expect("the claims");
    let claims: Vec<String> = claims
        .lines()
        .filter_map(|l| serde_json::from_str::<serde_json::Value>(l).ok()?["claim"].as_str().map(str::to_string))
        .collect();
    let searcher = index.reader().expect("a reader").searcher();
    let (mut ours, mut staged, mut theirs) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..=ROUNDS {
        for claim in &claims {
            let begin = Instant::now();
            let words = claim.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty());
            let terms: Vec<Box<dyn TantivyQuery>> = words
                .map(|w| Term::from_field_text(body, &w.to_lowercase()))
                .map(|t| Box::new(TermQuery::new(t, IndexRecordOption::WithFreqs)) as Box<dyn TantivyQuery>)
                .collect();
            let found = searcher
                .search(&BooleanQuery::union(terms), &TopDocs::with_limit(10).order_by_score())
                .expect("a search");
            for (_, address) in found {
                let _: TantivyDocument = searcher.doc(address).expect("a document");
            }
            let plain = begin.elapsed();
            let begin = Instant::now();
            node.retrieval.ask(question(claim, false), DEADLINE).await.expect("a search");
            let whole = begin.elapsed();
            let begin = Instant::now();
            let ask = SearchInStages { caller: node::caller(), query: claim.clone(), k: 10 };
            node.retrieval.ask(ask, DEADLINE).await.expect("a search");
            let assembled = begin.elapsed();
            // The first round warms both sides.
            if round > 0 {
                theirs.push(plain);
                ours.push(whole);
                staged.push(assembled);
            }
        }
    }
    ours.sort_unstable();
    staged.sort_unstable();
    theirs.sort_unstable();
    for percent in [50, 95] {
        let what = format!("search, top 10, p{percent} (boundary, search, blocks, audit with fsync) against tantivy");
        row(&what, at(&ours, percent), at(&theirs, percent));
        let what = format!("context assembly in six stages, top 10, p{percent} (the same, ranked and compared)");
        row(&what, at(&staged, percent), at(&theirs, percent));
    }
}

/// A bundle of fifty chunks, verified whole, against the bare signatures and hashes that are in it.
fn verify_bundle() {
    let (root, key) = (SecretKey::from_seed([1; 32]), SecretKey::from_seed([2; 32]));
    let now = Timestamp(1_800_000_000_000);
    let query = Query::new("What is the turbidity limit of the works?");
    let (mut blocks, mut found, mut stats) = (BTreeMap::new(), Vec::new(), TermStats::empty(query.terms.len()));
    for n in 0..50 {
        let filler = format!("Line {n} of the report speaks of pumps, valves and meters. ").repeat(16);
        let text = format!("The turbidity limit of works {n} is {n} units. {filler}");
        let raw = RawBlock::raw(text.clone().into_bytes());
        let record = SourceRecord {
            tag: SourceTag,
            publisher: key.public(),
            scope: "department:department-bench".parse().expect("a scope"),
            uri: format!("file:{n}.md"),
            instance: vec![n; 16],
            title: format!("Works {n}"),
            media_type: "text/markdown".into(),
            adapter: "markdown/1".into(),
            raw: raw.cid,
            text: raw.cid,
            fingerprint: Fingerprint::of(&text),
        };
        let record = RawBlock::encode(&record).expect("a record");
        let chunk = chunks_of(record.cid, &format!("Works {n}"), &text, &[]).remove(0);
        let block = RawBlock::encode(&chunk).expect("a chunk");
        let (tf, n_terms) = query.frequencies(&body_of(&chunk));
        stats.n_docs += 1;
        stats.n_terms += n_terms;
        stats.doc_freq.iter_mut().zip(tf).for_each(|(df, tf)| *df += u64::from(tf > 0));
        blocks.insert(record.cid, record.bytes);
        blocks.insert(block.cid, block.bytes);
        found.push((block.cid, chunk));
    }
    let mut evidence: Vec<Evidence> = found
        .into_iter()
        .map(|(cid, chunk)| Evidence {
            score: query.score(&chunk, &stats),
            cid,
            uri: format!("file:{}", chunk.title),
            chunk,
            publisher: key.public(),
            distance: 0,
            sensitivity: Sensitivity::Public,
            caution: None,
            trust: None,
        })
        .collect();
    for e in &mut evidence {
        let record: SourceRecord = RawBlock::checked(e.chunk.source, blocks[&e.chunk.source].clone())
            .and_then(|b| b.decode())
            .expect("a record");
        e.uri = record.uri;
    }
    evidence.sort_by(|a, b| b.score.cmp(&a.score).then(a.cid.cmp(&b.cid)));
    let answer = compose(&query, &stats, &evidence, now);
    let department = "department-bench".parse().expect("a department's name");
    let certificate = certify(&root, "Bench", key.public(), department, now, VALIDITY_DEFAULT).expect("a certificate");
    let mut log = CompactRange::new();
    log.append(leaf_hash(b"entry"));
    let origin = format!("{}/public", key.public()).parse().expect("an origin");
    let checkpoint = Checkpoint { origin, size: 1, root: log.root() }.sign(&key);
    let contents = Contents {
        answer: &answer,
        stats: &stats,
        evidence: &evidence,
        blocks: &blocks,
        heads: vec![Head { publisher: key.public(), checkpoint, as_of: now }],
        certificate: &certificate,
        issued_at: now,
        max_age: ISSUED_MAX_AGE,
    };
    let sealed = seal(&contents, &key).expect("a bundle");
    let car = sealed.to_car();
    export(&contents, &key, &sealed);
    let roots = Roots::full([(root.public(), "Bench".to_string())]);
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..VERIFY_ROUNDS {
        let begin = Instant::now();
        let status = |_: &cid::Cid, _: &SourceRecord| SourceStatus::Unknown;
        verify(&car, &Knowledge { now, roots: &roots, status: &status, logged: &|_, _| None })
            .expect("the bundle is authentic");
        ours.push(begin.elapsed());
        let message = sealed.bundle.to_bytes();
        let signature = key.sign_bytes(&message);
        let begin = Instant::now();
        let digests: usize = sealed.blocks.values().map(|b| usize::from(Sha256::digest(b)[0])).sum();
        std::hint::black_box(digests);
        // Bundle, certificate, log head.
        for _ in 0..3 {
            key.public().verify_bytes(&message, &signature).expect("the signature holds");
        }
        theirs.push(begin.elapsed());
    }
    row("verify a bundle of 50 chunks against its SHA-256 and Ed25519", median(&mut ours), median(&mut theirs));
    rate("verify", car.len(), &mut ours, &mut theirs);
}

/// Sealing and writing the file, against hashing its blocks and one signature.
fn export(contents: &Contents<'_>, key: &SecretKey, sealed: &SealedBundle) {
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..VERIFY_ROUNDS {
        let begin = Instant::now();
        let car = seal(contents, key).expect("a bundle").to_car();
        ours.push(begin.elapsed());
        std::hint::black_box(car.len());
        let begin = Instant::now();
        let digests: usize = sealed.blocks.values().map(|b| usize::from(Sha256::digest(b)[0])).sum();
        std::hint::black_box((digests, key.sign_bytes(&sealed.bundle.to_bytes())));
        theirs.push(begin.elapsed());
    }
    row("export a bundle of 50 chunks against its SHA-256 and Ed25519", median(&mut ours), median(&mut theirs));
    rate("export", sealed.to_car().len(), &mut ours, &mut theirs);
}

/// The same as bytes of the file a second.
fn rate(what: &str, bytes: usize, ours: &mut [Duration], theirs: &mut [Duration]) {
    let rate = |times: &mut [Duration]| bytes as f64 / median(times).as_secs_f64() / 1e6;
    let (ours, theirs) = (rate(ours), rate(theirs));
    println!("| {what}, {bytes} bytes | {ours:.1} MB/s | {theirs:.1} MB/s | {:.2} |", theirs / ours);
}
