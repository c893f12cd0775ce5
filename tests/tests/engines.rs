//! `tests/engines/run` keeps in step with the node that it measures: a small collection, beside the one engine that has
//! to be installed nowhere.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::process::Command;
use std::time::Duration;

use plumb_tests::{finish, list, plumb_binary, workspace_root};
use tempfile::TempDir;

const MEASURE_TIME: Duration = Duration::from_secs(300);

#[test]
fn a_node_and_another_engine_find_the_same_and_are_measured() {
    let scratch = TempDir::new().unwrap();
    let figure = scratch.path().join("figure.svg");
    let mut bench = Command::new("python3");
    bench.arg("-B").arg(workspace_root().join("tests/engines/bench.py"));
    bench.args(["--chunks", "1000,2000", "--engines", "fts5", "--questions", "40", "--rounds", "1", "--json"]);
    bench.arg("--work").arg(scratch.path()).arg("--plot").arg(&figure).arg("--plumb").arg(plumb_binary());
    let report = finish(bench, MEASURE_TIME).expect(0);
    let sizes = list(&report, "/sizes");
    assert_eq!(sizes.len(), 2);
    for size in sizes {
        let engines = &size["engines"];
        for name in ["node", "fts5"] {
            assert_eq!(engines[name]["ingest"]["complete"], true, "{name}: {engines:#}");
            assert!(engines[name]["ingest"]["disk"].as_u64() > Some(500_000), "{name}: {engines:#}");
        }
        for name in ["node", "stages", "live", "fts5"] {
            assert_eq!(engines[name]["search"]["n_asked"], 40, "{name}: {engines:#}");
        }
        // One chunk a document, and BM25 on both sides: the same ten, but for ties.
        let same = engines["fts5"]["search"]["agreement"].as_f64().unwrap();
        assert!(same > 0.9, "{same}");
    }
    assert!(std::fs::read_to_string(&figure).unwrap().contains("Plumbline, plain search"));
    assert_eq!(std::fs::read_dir(scratch.path()).unwrap().count(), 1, "what it worked in is gone");
}
