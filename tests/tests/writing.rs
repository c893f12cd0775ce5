//! A node that is written to for long: what is acknowledged is found at once, whoever searches meanwhile is answered, what was
//! replaced is found no more, also where the old versions are removed, the index does not grow with the number of rewrites, and the store can give its space
//! back meanwhile.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use plumb_tests::{Home, Http, Organisation, RunningNode, count, hits, list, text};
use serde_json::json;
use tempfile::TempDir;

const DOCUMENTS: usize = 40;
const ROUNDS: usize = 12;
const PERSON: &str = "person-mara";
/// How much larger than one of the same documents written once an index may be that was rewritten all the time: deleted
/// documents stay until their segment is merged, and the small segments of late rounds are not yet.
const GROWTH_MAX: u64 = 6;

/// Lets the searches end, also where the writes failed.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

fn words(document: usize, round: usize) -> String {
    let filler = (0..120).map(|n| format!("word{} ", (document * 31 + round * 17 + n * 7) % 997)).collect::<String>();
    format!("# Report {document}\n\nThe figure of round number{round} for site{document} is final. {filler}\n")
}

fn write(folder: &Path, round: usize) {
    std::fs::create_dir_all(folder).unwrap();
    for document in 0..DOCUMENTS {
        std::fs::write(folder.join(format!("report-{document}.md")), words(document, round)).unwrap();
    }
}

fn bytes_of(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).unwrap().flatten();
    // A merge may take a file away while it is looked at.
    let size = |entry: std::fs::DirEntry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => bytes_of(&entry.path()),
        Ok(metadata) => metadata.len(),
        Err(_) => 0,
    };
    entries.map(size).sum()
}

fn search(http: &Http, query: &str) -> Vec<String> {
    let found = http.post("/v1/search", &json!({ "query": query, "k": 100 })).expect(200);
    hits(&found).iter().map(|hit| text(hit, "/text").to_string()).collect()
}

fn home(scratch: &Path) -> Home {
    std::fs::create_dir_all(scratch).unwrap();
    Organisation::found(scratch, "Northwater").node(scratch, "operations", PERSON)
}

#[test]
fn a_node_that_is_rewritten_all_the_time_stays_itself() {
    let scratch = TempDir::new().unwrap();
    let (folder, home) = (scratch.path().join("reports"), home(&scratch.path().join("busy")));
    let node = RunningNode::start(&home, &[]);
    let http = node.http(PERSON);
    let (ended, answered) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        let (ended, answered, node) = (&ended, &answered, &node);
        let _at_the_end = Ends(ended);
        scope.spawn(move || {
            let http = node.http(PERSON);
            while !ended.load(Ordering::Acquire) {
                // Between two versions a source is there in exactly one of them.
                let versions = search(&http, "\"for site7 is final\"").len();
                assert!(versions <= 1, "{versions} versions at once");
                answered.fetch_add(1, Ordering::AcqRel);
            }
        });
        for round in 0..ROUNDS {
            write(&folder, round);
            let job = home.ok(&["ingest".as_ref(), folder.as_os_str()]);
            let taken = if round == 0 { count(&job, "/new") } else { count(&job, "/superseded") };
            assert_eq!(taken, DOCUMENTS as u64, "{job:#}");
            assert_eq!(search(&http, &format!("number{round}")).len(), DOCUMENTS, "acknowledged is found");
            if let Some(before) = round.checked_sub(1) {
                assert_eq!(search(&http, &format!("number{before}")).len(), 0, "replaced is found no more");
            }
            // The old versions are evidence, and stay until somebody removes them, which takes nothing from the new ones.
            if round % 2 == 1 {
                let sources = home.ok(&["sources", "--limit", "1000"]);
                let old = list(&sources, "").iter().filter(|s| text(s, "/state") == "superseded");
                let names: Vec<&str> = old.map(|s| text(s, "/cid")).collect();
                assert_eq!(names.len(), DOCUMENTS * if round == 1 { 1 } else { 2 });
                home.ok(&[&["sources", "remove"][..], &names].concat());
            }
        }
        // And the space of what is gone goes back to the disk, while searches are answered.
        let compacted = home.ok(&["compact"]);
        let (before, after) = (count(&compacted, "/before"), count(&compacted, "/after"));
        println!("store: {before} bytes before its compaction, {after} after");
        assert!(after < before, "{compacted:#}");
    });
    assert_eq!(search(&http, &format!("number{}", ROUNDS - 1)).len(), DOCUMENTS);
    node.kill();
    let node = RunningNode::start(&home, &[]);
    let http = node.http(PERSON);
    assert_eq!(search(&http, &format!("number{}", ROUNDS - 1)).len(), DOCUMENTS, "the copy is what counts");
    assert!(answered.load(Ordering::Acquire) >= ROUNDS as u64, "searches were answered meanwhile");
    let busy = bytes_of(&home.dir.join("index"));
    let calm = {
        let home = self::home(&scratch.path().join("calm"));
        home.ok(&["ingest".as_ref(), folder.as_os_str()]);
        bytes_of(&home.dir.join("index"))
    };
    println!("index: {busy} bytes after {ROUNDS} rounds, {calm} bytes after one");
    assert!(busy <= GROWTH_MAX * calm, "the index grew to {busy} bytes; written once it has {calm}");

    assert_eq!(home.ok(&["doctor"])["healthy"], true);
}
