//! A collection split among three nodes ranks as one node that holds all of it, on every question of Cranfield.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use plumb_tests::{Home, Http, Organisation, RunningNode, count, data, hits, list, text};
use serde_json::{Value, json};
use tempfile::TempDir;

/// Results that are compared.
const K: usize = 20;
/// The questioner belongs to no department, so that all nodes show the same documents: a label that detection raised
/// would otherwise open a document at its own node and nowhere else.
const PERSON: &str = "person-reader";

/// One result: score, record, chunk text. Names of blocks differ between nodes, for each publishes its own records.
type Row = (u64, String, String);

#[test]
fn three_nodes_rank_as_one() {
    let (Some(corpus), Some(queries)) = (data("cranfield/corpus.jsonl"), data("cranfield/queries.jsonl")) else {
        return;
    };
    let scratch = TempDir::new().unwrap();
    let parts = split(&corpus, scratch.path());
    let org = Organisation::found(scratch.path(), "Aerodynamics");
    let home = |department: &str, file: &Path| {
        let home = org.node(scratch.path(), department, "person-librarian");
        home.add_person(PERSON, &[]);
        ingest(&home, file);
        home
    };
    let whole = home("whole", &corpus);
    let homes = [home("a", &parts[0]), home("b", &parts[1]), home("c", &parts[2])];
    let whole = RunningNode::start(&whole, &[]);
    let first = RunningNode::start(&homes[0], &[]);
    let second = RunningNode::start(&homes[1], &[&first]);
    let third = RunningNode::start(&homes[2], &[&first, &second]);
    for node in [&first, &second, &third] {
        node.await_peers(2);
    }

    let central = whole.http(PERSON);
    // Every node asks in turn: what is equal from one side must be equal from all.
    let askers = [first.http(PERSON), second.http(PERSON), third.http(PERSON)];
    let queries = std::fs::read_to_string(queries).unwrap();
    let (mut n_queries, mut n_results) = (0, 0);
    for (line, asker) in queries.lines().zip(askers.iter().cycle()) {
        let query: Value = serde_json::from_str(line).unwrap();
        let wanted = search(&central, text(&query, "/text"), false);
        let found = search(asker, text(&query, "/text"), true);
        assert_same_ranking(&wanted, &found, text(&query, "/query_id"));
        n_queries += 1;
        n_results += wanted.len();
    }
    assert_eq!(n_queries, 225);
    assert!(n_results > 200 * K, "only {n_results} results were compared");
    println!("{n_queries} queries: the first {K} results of three nodes are those of one");
}

/// Cuts the collection into three files by a hash of each record's id.
fn split(corpus: &Path, to: &Path) -> [std::path::PathBuf; 3] {
    let files = ["a.jsonl", "b.jsonl", "c.jsonl"].map(|name| to.join(name));
    let mut parts = [const { String::new() }; 3];
    for line in std::fs::read_to_string(corpus).unwrap().lines() {
        let record: Value = serde_json::from_str(line).unwrap();
        // FNV-1a: any hash that does not follow the order of the file.
        let hash = text(&record, "/doc_id")
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325_u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3));
        let part = &mut parts[(hash % 3) as usize];
        part.push_str(line);
        part.push('\n');
    }
    for (file, part) in files.iter().zip(&parts) {
        std::fs::write(file, part).unwrap();
    }
    files
}

fn ingest(home: &Home, file: &Path) {
    let args = ["ingest".as_ref(), file.as_os_str(), "--sensitivity".as_ref(), "internal".as_ref()];
    let job = home.run_within(Duration::from_secs(240), &args).expect(0);
    println!(
        "{}: {} new, {} parked, {} raised",
        file.display(),
        count(&job, "/new"),
        list(&job, "/parked").len(),
        list(&job, "/raised").len()
    );
}

fn search(http: &Http, query: &str, peers: bool) -> Vec<Row> {
    let found =
        http.post("/v1/search", &json!({"query": query, "k": K, "peers": peers, "deadline_ms": 20_000})).expect(200);
    assert_eq!(found["coverage"]["complete"], true, "{:#}", found["coverage"]);
    let row = |hit: &Value| {
        let uri = text(hit, "/uri");
        let record = uri.rsplit_once('#').map_or(uri, |(_, fragment)| fragment);
        (count(hit, "/score"), record.to_string(), text(hit, "/text").to_string())
    };
    hits(&found).iter().map(row).collect()
}

/// Equal scores in equal places; within a tie the order is by name of block, which differs, so a tie is a set. The
/// last tie may be cut by `K` at another place, so of it only the scores are compared.
#[track_caller]
fn assert_same_ranking(wanted: &[Row], found: &[Row], query: &str) {
    let scores = |rows: &[Row]| rows.iter().map(|row| row.0).collect::<Vec<_>>();
    assert_eq!(scores(wanted), scores(found), "scores of query {query}");
    let last = wanted.last().map(|row| row.0);
    let cut = wanted.len() == K;
    let sure = |rows: &[Row]| rows.iter().filter(|row| !cut || Some(row.0) != last).cloned().collect::<BTreeSet<_>>();
    assert_eq!(sure(wanted), sure(found), "results of query {query}");
}
