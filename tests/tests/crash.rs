//! `kill -9` at twenty random moments of an ingest. What was acknowledged is never lost, and the end is the same.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use plumb_tests::{Home, Http, Organisation, Rng, RunningNode, count, data, list, text, until_some};
use serde_json::{Value, json};
use tempfile::TempDir;

/// Records of the collection that are ingested: so many that twenty kills all fall into the work.
const RECORDS: usize = 1200;
const KILLS: u32 = 20;
const JOB_TIME: Duration = Duration::from_secs(240);
const PERSON: &str = "person-archivist";

#[test]
fn nothing_acknowledged_is_lost_and_the_end_is_the_same() {
    let Some(corpus) = data("scifact/corpus.jsonl") else { return };
    let mut rng = Rng::announced("--test crash");
    let scratch = TempDir::new().unwrap();
    let records = first_lines(&corpus, RECORDS, &scratch.path().join("records.jsonl"));
    let home = Organisation::found(scratch.path(), "Archive").node(scratch.path(), "records", PERSON);
    // A copy has the same keys, so that its sources have the same names and its digest can be compared.
    let calm = home.copy_to("undisturbed");

    let wanted = undisturbed(&calm, &records);
    println!("undisturbed: {RECORDS} records in {:?}, digest {}", wanted.0, wanted.1);
    let (duration, wanted) = wanted;

    let mut acknowledged = BTreeSet::new();
    let mut in_the_middle = 0;
    for kill in 1..=KILLS {
        let node = RunningNode::start(&home, &[]);
        let http = node.http(PERSON);
        let present = sources(&http);
        assert!(present.is_superset(&acknowledged), "lost: {:?}", acknowledged.difference(&present));
        let doctor = examine(&home);
        assert_eq!(count(&doctor, "/active_units"), count(&doctor, "/indexed"), "{doctor:#}");

        // A delay that reaches the end of the work in about as many steps as there are kills.
        let moment = Duration::from_millis(rng.below(duration.as_millis() as u64 / 8));
        let begun = Instant::now();
        let id = begin(&http, &records);
        let mut last = Value::Null;
        while begun.elapsed() < moment {
            last = http.get(&format!("/v1/jobs/{id}")).expect(200);
        }
        let confirmed = sources(&http);
        in_the_middle += u32::from(last["state"] != "done");
        node.kill();
        println!("kill {kill}: after {moment:?}, {} sources were acknowledged", confirmed.len());
        acknowledged = confirmed;
    }
    println!("{in_the_middle} of {KILLS} kills fell into the work");
    assert!(in_the_middle >= KILLS / 2, "too many kills came after the work was done: raise RECORDS");

    let node = RunningNode::start(&home, &[]);
    let http = node.http(PERSON);
    assert!(sources(&http).is_superset(&acknowledged));
    let job = await_end(&http, &begin(&http, &records));
    assert_eq!(count(&job, "/new") + count(&job, "/unchanged"), RECORDS as u64, "{job:#}");
    assert_eq!(text(&examine(&home), "/state_digest"), wanted, "the state of an undisturbed run");
    assert_eq!(home.ok(&["audit", "verify"])["intact"], true);
    assert!(node.stop().success());
}

/// The same ingest with nobody pulling the plug: how long it takes, and the state in which it ends.
fn undisturbed(home: &Home, records: &Path) -> (Duration, String) {
    let node = RunningNode::start(home, &[]);
    let http = node.http(PERSON);
    let begun = Instant::now();
    let job = await_end(&http, &begin(&http, records));
    assert_eq!(count(&job, "/new") as usize, RECORDS, "{job:#}");
    let duration = begun.elapsed();
    let digest = text(&examine(home), "/state_digest").to_string();
    assert!(node.stop().success());
    (duration, digest)
}

/// Begins the ingest of every record and gives the job's id.
fn begin(http: &Http, records: &Path) -> String {
    let records = std::fs::read_to_string(records).unwrap();
    let started = http.post("/v1/ingest", &json!({"documents": [{"name": "records.jsonl", "text": records}]}));
    text(&started.expect(202), "/id").to_string()
}

fn await_end(http: &Http, id: &str) -> Value {
    let job = until_some("the ingest is done", JOB_TIME, || {
        let job = http.get(&format!("/v1/jobs/{id}")).expect(200);
        (job["state"] != "running").then_some(job)
    });
    assert_eq!(job["state"], "done", "{job:#}");
    job
}

/// Every source that the person may read, page by page.
fn sources(http: &Http) -> BTreeSet<String> {
    let (mut found, mut after) = (BTreeSet::new(), String::new());
    loop {
        let page = http.get(&format!("/v1/sources?limit=1000{after}")).expect(200);
        let page = list(&page, "");
        let Some(last) = page.last() else { return found };
        found.extend(page.iter().map(|s| text(s, "/cid").to_string()));
        after = format!("&after={}", percent_encoded(text(last, "/address")));
    }
}

#[track_caller]
fn examine(home: &Home) -> Value {
    let doctor = home.ok(&["doctor"]);
    assert_eq!(doctor["healthy"], true, "{doctor:#}");
    doctor
}

fn first_lines(from: &Path, n: usize, to: &Path) -> PathBuf {
    let all = std::fs::read_to_string(from).unwrap();
    let some: String = all.lines().take(n).flat_map(|line| [line, "\n"]).collect();
    std::fs::write(to, some).unwrap();
    to.to_path_buf()
}

fn percent_encoded(text: &str) -> String {
    let encode = |byte: u8| if byte.is_ascii_alphanumeric() { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    text.bytes().map(encode).collect()
}
