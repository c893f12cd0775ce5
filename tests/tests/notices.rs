//! Notices among real processes: each kind's effect, who still owes what, and that nothing comes back to life.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[path = "notices/closure.rs"]
mod closure;
#[path = "notices/kinds.rs"]
mod kinds;
#[path = "notices/ledger.rs"]
mod ledger;
#[path = "notices/removal.rs"]
mod removal;
#[path = "notices/resurrection.rs"]
mod resurrection;
#[path = "notices/rights.rs"]
mod rights;
#[path = "notices/sealed.rs"]
mod sealed;
#[path = "notices/world.rs"]
mod world;

use std::path::{Path, PathBuf};
use std::time::Duration;

use plumb_tests::{Home, Organisation, RunningNode, count, hits, list, text, until};
use serde_json::Value;
use tempfile::TempDir;

/// How long a notice may take to reach a holder.
const NOTICE_TIME: Duration = Duration::from_secs(90);

/// A publisher and an importer of another organisation, connected.
struct Pair {
    publisher: RunningNode,
    importer: RunningNode,
    /// The last field, so that it is removed when no node runs any more.
    scratch: TempDir,
}

impl Pair {
    fn begin() -> Pair {
        let scratch = TempDir::new().unwrap();
        let (halden, northwater) =
            (Organisation::found(scratch.path(), "Halden"), Organisation::found(scratch.path(), "Northwater"));
        let publisher = halden.node(scratch.path(), "hydrology", "person-noor-vasquell");
        let importer = northwater.node(scratch.path(), "operations", "person-tomas-brandvold");
        publisher.trust(&northwater);
        importer.trust(&halden);
        let publisher = RunningNode::start(&publisher, &[]);
        let importer = RunningNode::start(&importer, &[&publisher]);
        importer.await_peers(1);
        publisher.await_peers(1);
        Pair { publisher, importer, scratch }
    }
}

/// Two sections about a gauge, so two chunks, each long enough to have a fingerprint of its own.
fn document(gauge: &str) -> String {
    format!(
        "# The {gauge} gauge\n\nThe {gauge} gauge read 4.2 metres at dawn on the first of May. The reading was taken by \
         hand beside the weir, in clear weather, by two people of the hydrology service who compared their numbers \
         afterwards and found them equal.\n\n## Paint of the {gauge} hut\n\nThe {gauge} hut is painted in a colour called \
         {gauge}ochre every third spring. The painters of the valley mix it from clay, milk and linseed oil, and they leave \
         it to dry for a whole week before the shutters are hung again.\n"
    )
}

fn question(gauge: &str) -> String {
    format!("What did the {gauge} gauge read at dawn?")
}

/// Takes in a document about a gauge.
#[track_caller]
fn take_in(home: &Home, scratch: &Path, gauge: &str) -> PathBuf {
    let file = scratch.join(format!("{gauge}.md"));
    std::fs::write(&file, document(gauge)).unwrap();
    let job = home.ok(&["ingest", file.to_str().unwrap(), "--sensitivity", "public"]);
    assert_eq!(count(&job, "/new"), 1, "{job:#}");
    file
}

/// Asks about a gauge, and seals the answer in a file.
#[track_caller]
fn seal(home: &Home, scratch: &Path, gauge: &str) -> (String, PathBuf) {
    let file = scratch.join(format!("{gauge}.car"));
    let answer = home.ok(&["ask", &question(gauge), "--save", "--bundle", file.to_str().unwrap()]);
    (text(&answer, "/bundle").to_string(), file)
}

#[track_caller]
fn retract(home: &Home, target: &str, kind: &str, more: &[&str]) -> String {
    let args = [&["retract", target, "--kind", kind, "--reason", "data-error"], more].concat();
    text(&home.ok(&args), "/notice").to_string()
}

/// Hits whose source is about this gauge.
#[track_caller]
fn found(home: &Home, words: &str, gauge: &str) -> Vec<Value> {
    let search = home.ok(&["search", words]);
    hits(&search).iter().filter(|hit| text(hit, "/text").contains(gauge)).cloned().collect()
}

/// The state of each holder of what a notice names.
#[track_caller]
fn receipts(home: &Home, notice: &str) -> Vec<(String, String)> {
    let view = home.ok(&["notices", "receipts", notice]);
    list(&view, "/receipts").iter().map(|r| (text(r, "/holder").to_string(), text(r, "/state").to_string())).collect()
}

#[track_caller]
fn await_state(home: &Home, notice: &str, holder: &str, state: &str) {
    until(&format!("{holder} is {state} at {}", home.dir.display()), NOTICE_TIME, || {
        receipts(home, notice).iter().any(|(who, how)| who == holder && how == state)
    });
}

/// Events of the audit log with this action, about this subject.
#[track_caller]
fn audited(home: &Home, action: &str, subject: &str) -> Vec<Value> {
    let events = home.ok(&["audit", "list", "--action", action, "--limit", "1000"]);
    events.as_array().unwrap().iter().filter(|e| text(e, "/subject") == subject).cloned().collect()
}

fn did(node: &RunningNode) -> String {
    text(&node.ready, "/node").to_string()
}
