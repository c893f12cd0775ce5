//! Knowledge that is offered to peers: how far it goes, what becomes of it, and what a peer is told.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::time::Duration;

use plumb_tests::{Home, Organisation, RunningNode, list, text, until, until_some};
use serde_json::Value;
use tempfile::TempDir;

const PATIENCE: Duration = Duration::from_secs(60);
const DECISION: &str = "# Queue\n\nThe pump room must use the Redis queue for alarm messages.\n";
const OPPOSITE: &str = "# Queue of the laboratory\n\nThe pump room must not use the Redis queue for alarm messages.\n";
const QUESTION: &str = "pump room Redis queue alarm messages";

fn ingest(home: &Home, name: &str, words: &str, sensitivity: &str) {
    let file = home.scratch().join(format!("{}-{name}", home.dir.file_name().unwrap().to_string_lossy()));
    std::fs::write(&file, words).unwrap();
    home.ok(&["ingest", file.to_str().unwrap(), "--name", name, "--sensitivity", sensitivity]);
}

/// Has a node offer by itself, every second.
fn syncs(home: &Home, mode: &str) {
    let file = home.dir.join("plumb.toml");
    let config = std::fs::read_to_string(&file).unwrap();
    let said = format!("sync = \"{mode}\"\nsync_every_ms = 1000");
    assert!(config.contains("# sync = \"query-only\""), "{config}");
    std::fs::write(&file, config.replace("# sync = \"query-only\"", &said)).unwrap();
}

fn offer(home: &Home, name: &str) -> String {
    let made = home.ok(&["teach", "offer", name, "--kind", "decision", "--confidence", "920", "--validated"]);
    text(&made, "/0/teaching").to_string()
}

/// A teaching as a node lists it.
fn listed(home: &Home, teaching: &str) -> Option<Value> {
    let all = home.ok(&["teach", "list"]);
    all.as_array().unwrap().iter().find(|t| t["teaching"] == *teaching).cloned()
}

fn replies(home: &Home, teaching: &str) -> Vec<(String, String)> {
    let sent = listed(home, teaching).unwrap_or_else(|| panic!("{teaching} is not listed"));
    let pair = |s: &Value| (text(s, "/node").to_string(), text(s, "/reply").to_string());
    list(&sent, "/sent").iter().map(pair).collect()
}

fn n_found(home: &Home) -> usize {
    list(&home.ok(&["search", QUESTION]), "/hits").len()
}

fn finds(home: &Home) -> bool {
    n_found(home) > 0
}

#[test]
fn knowledge_goes_three_hops_and_fades_and_a_retraction_follows_it() {
    let scratch = TempDir::new().unwrap();
    let org = Organisation::found(scratch.path(), "Northwater");
    let homes: Vec<Home> = ["one", "two", "three", "four", "five"]
        .iter()
        .map(|d| org.node(scratch.path(), d, &format!("person-{d}")))
        .collect();
    let mut nodes: Vec<RunningNode> = Vec::new();
    for home in &homes {
        syncs(home, "real-time-sync");
        let before: Vec<&RunningNode> = nodes.last().into_iter().collect();
        let node = RunningNode::start(home, &before);
        nodes.push(node);
    }
    // Nodes of one organisation find each other; here each is to know its neighbours alone.
    for (at, home) in homes.iter().enumerate() {
        for (other, node) in nodes.iter().enumerate().filter(|(other, _)| other.abs_diff(at) > 1) {
            let did = text(&node.ready, "/node");
            assert_eq!(home.run(&["peers", "block", did]).code, 0, "{at} blocks {other}");
        }
    }
    for (at, node) in nodes.iter().enumerate() {
        node.await_peers(if at == 0 || at == 4 { 1 } else { 2 });
    }
    ingest(&homes[0], "queue.md", DECISION, "internal");
    let teaching = offer(&homes[0], "queue.md");
    for (at, confidence) in [(1, 782), (2, 664), (3, 564)] {
        let came = until_some(&format!("it reaches node {}", at + 1), PATIENCE, || listed(&homes[at], &teaching));
        assert_eq!((came["confidence"].as_u64(), came["hops"].as_u64()), (Some(confidence), Some(at as u64)), "{came}");
        assert_eq!(came["state"], "accepted", "{came}");
        until("it is found there", PATIENCE, || finds(&homes[at]));
    }
    // The fourth node has it, and may not pass it on.
    homes[3].ok(&["teach", "send"]);
    assert_eq!(replies(&homes[3], &teaching), []);
    assert!(listed(&homes[4], &teaching).is_none() && !finds(&homes[4]));

    homes[0].ok(&["retract", "queue.md", "--reason", "data-error", "--note", "wrong queue"]);
    for home in &homes[1..4] {
        until("it is found no more", PATIENCE, || !finds(home));
    }
}

#[test]
fn each_receiver_judges_for_itself_and_tells_nothing_that_the_giver_may_not_read() {
    let scratch = TempDir::new().unwrap();
    let org = Organisation::found(scratch.path(), "Northwater");
    let other = Organisation::found(scratch.path(), "Halden");
    let node = |org: &Organisation, d: &str| org.node(scratch.path(), d, &format!("person-{d}"));
    let giver = node(&org, "operations");
    let [same, opposed, hidden] = ["same", "opposed", "hidden"].map(|d| node(&org, d));
    let abroad = node(&other, "hydrology");
    abroad.trust(&org);
    giver.trust(&other);
    ingest(&giver, "queue.md", DECISION, "internal");
    ingest(&same, "queue.md", DECISION, "internal");
    ingest(&opposed, "other.md", OPPOSITE, "internal");
    ingest(&hidden, "other.md", OPPOSITE, "confidential");
    let from = RunningNode::start(&giver, &[]);
    let all = [&same, &opposed, &hidden, &abroad].map(|home| RunningNode::start(home, &[&from]));
    from.await_peers(4);

    // A node that sends nothing by itself: nothing is sent until its operator says so.
    let teaching = offer(&giver, "queue.md");
    assert_eq!(replies(&giver, &teaching), []);
    giver.ok(&["teach", "send"]);
    let id = |home: &Home| text(&home.ok(&["peers", "list"]), "/node").to_string();
    let mut expected: Vec<(String, String)> = [
        (id(&same), "skipped_duplicate"),
        (id(&opposed), "pending_review"),
        // Its confidential note says the opposite. The giver may not know of it.
        (id(&hidden), "accepted"),
    ]
    .map(|(node, reply)| (node, reply.to_string()))
    .into();
    let mut got = replies(&giver, &teaching);
    expected.sort();
    got.sort();
    assert_eq!(got, expected, "and nothing internal went abroad");
    assert!(listed(&abroad, &teaching).is_none());

    // What contradicts is held until a person decides; so is what contradicts something hidden.
    for home in [&opposed, &hidden] {
        assert_eq!(listed(home, &teaching).unwrap()["state"], "pending");
        let waiting = home.ok(&["teach", "list", "--pending"]);
        assert_eq!(waiting.as_array().unwrap().len(), 1, "{waiting}");
    }
    let decided = opposed.ok(&["teach", "resolve", &teaching, "context-dependent"]);
    assert_eq!((&decided["state"], &decided["resolution"]), (&"resolved".into(), &"context-dependent".into()));
    until("both sides stand", PATIENCE, || n_found(&opposed) == 2);
    let refused = hidden.ok(&["teach", "resolve", &teaching, "reject"]);
    assert_eq!(refused["resolution"], "reject");
    assert_eq!(n_found(&hidden), 1, "its own note alone");
    opposed.run(&["teach", "resolve", &teaching, "accept"]).expect(1);

    // Sent once and not again.
    giver.ok(&["teach", "send"]);
    assert_eq!(replies(&giver, &teaching).len(), 3);
    drop(all);
}
