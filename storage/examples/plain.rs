//! Plain tantivy and plain sled, put together by hand for one kind of document: what a node's ingest and search cost
//! before it signs, checks and writes down anything. `tests/engines/run` measures it beside a node and other engines.
//!
//! It reads one order a line from standard input and writes one answer a line to standard output, both JSON. The texts
//! lie in sled under their ids, tantivy has the words; every 256 documents are on disk before it goes on.

#![allow(clippy::expect_used, reason = "a part of a benchmark: what cannot be measured ends it")]

use std::io::{BufRead, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde_json::{Value, json};
use tantivy::collector::TopDocs;
use tantivy::query::{BooleanQuery, Query, TermQuery};
use tantivy::schema::{Field, IndexRecordOption, STORED, Schema, TextFieldIndexing, TextOptions, Value as _};
use tantivy::{Index, IndexWriter, Searcher, TantivyDocument, Term};

/// Documents that share an fsync, as in a node.
const BATCH: usize = 256;
/// How often a title counts, as in a node.
const TITLE_WEIGHT: usize = 3;
/// Memory of the one thread that writes the index.
const HEAP: usize = 64 << 20;

struct Plain {
    store: sled::Db,
    file: std::fs::File,
    index: Index,
    writer: IndexWriter,
    searcher: Option<Searcher>,
    id: Field,
    body: Field,
}

impl Plain {
    fn create(home: &Path) -> Plain {
        let mut schema = Schema::builder();
        let words =
            TextFieldIndexing::default().set_tokenizer("default").set_index_option(IndexRecordOption::WithFreqs);
        let body = schema.add_text_field("body", TextOptions::default().set_indexing_options(words));
        let id = schema.add_bytes_field("id", STORED);
        let dir = home.join("tantivy");
        std::fs::create_dir_all(&dir).expect("a folder can be made");
        let index = Index::create_in_dir(&dir, schema.build()).expect("an empty folder takes an index");
        let writer = index.writer_with_num_threads(1, HEAP).expect("an index has a writer");
        let store = sled::open(home.join("sled")).expect("an empty folder takes a store");
        let file = std::fs::File::open(home.join("sled/db")).expect("sled has a file");
        Plain { store, file, index, writer, searcher: None, id, body }
    }

    fn ingest(&mut self, part: &Path) {
        let text = std::fs::read_to_string(part).expect("the documents can be read");
        let lines: Vec<&str> = text.lines().collect();
        for batch in lines.chunks(BATCH) {
            let mut rows = sled::Batch::default();
            for line in batch {
                let record: Value = serde_json::from_str(line).expect("a document is JSON");
                let field = |name: &str| record[name].as_str().unwrap_or_default();
                let text = format!("{}\n", field("title")).repeat(TITLE_WEIGHT) + field("text");
                rows.insert(field("id").as_bytes(), text.as_bytes());
                let mut document = TantivyDocument::new();
                document.add_text(self.body, text);
                document.add_bytes(self.id, field("id").as_bytes());
                self.writer.add_document(document).expect("a document is taken");
            }
            self.store.apply_batch(rows).expect("a batch is taken");
            self.store.flush().expect("sled flushes");
            self.file.sync_data().expect("a file can be synced");
        }
    }

    fn finish(&mut self) {
        self.writer.commit().expect("the index commits");
        self.searcher = Some(self.index.reader().expect("an index has a reader").searcher());
    }

    /// The ids of the best, once their texts are there.
    fn search(&self, words: &[&str], k: usize) -> Vec<String> {
        let searcher = self.searcher.as_ref().expect("a search comes after the end of the ingest");
        let term = |word: &&str| -> Box<dyn Query> {
            Box::new(TermQuery::new(Term::from_field_text(self.body, word), IndexRecordOption::WithFreqs))
        };
        let query = BooleanQuery::union(words.iter().map(term).collect());
        let found = searcher.search(&query, &TopDocs::with_limit(k).order_by_score()).expect("a search ends");
        let mut ids = Vec::new();
        for (_, address) in found {
            let document: TantivyDocument = searcher.doc(address).expect("a hit is a document");
            let id = document.get_first(self.id).and_then(|id| id.as_bytes()).expect("each document has an id");
            let text = self.store.get(id).expect("sled reads").expect("each document has a text");
            assert!(!text.is_empty(), "each text has words");
            ids.push(String::from_utf8_lossy(id).into_owned());
        }
        ids
    }
}

fn main() {
    let home = PathBuf::from(std::env::args_os().nth(1).expect("plain HOME: a folder to work in"));
    let mut plain = Plain::create(&home);
    let mut out = std::io::stdout();
    let mut say = |answer: Value| writeln!(out, "{answer}").and_then(|()| out.flush()).expect("somebody listens");
    say(json!({ "ready": true }));
    for line in std::io::stdin().lock().lines() {
        let order: Value = serde_json::from_str(&line.expect("an order is text")).expect("an order is JSON");
        let begun = Instant::now();
        let mut ids = Vec::new();
        match order["do"].as_str() {
            Some("ingest") => plain.ingest(Path::new(order["part"].as_str().unwrap_or_default())),
            Some("finish") => plain.finish(),
            _ => {
                let words: Vec<&str> =
                    order["words"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
                let k = order["k"].as_u64().and_then(|k| usize::try_from(k).ok()).unwrap_or(10);
                ids = plain.search(&words, k);
            }
        }
        say(json!({ "seconds": begun.elapsed().as_secs_f64(), "ids": ids }));
    }
}
