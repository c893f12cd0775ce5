//! `kill -9` at twenty random moments of an ingest. What was acknowledged is never lost, and the end is the same.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use plumb_tests::{Home, Http, Organisation, Rng, RunningNode, count, data, list, text, until_some};
use serde_json::{Value, json};
use tempfile::TempDir;

/// Records of the collection that are ingested: so many that twenty kills all fall into the work.
const RECORDS: usize = 800;
const KILLS: u32 = 20;
/// Most records in one request of a client that sends many small ones.
const SLICE_MAX: u64 = 30;
const JOB_TIME: Duration = Duration::from_secs(240);
const PERSON: &str = "person-archivist";

#[test]
fn nothing_acknowledged_is_lost_and_the_end_is_the_same() {
    let Some(corpus) = data("scifact/corpus.jsonl") else { return };
    let mut rng = Rng::announced("--test crash");
    let scratch = TempDir::new().unwrap();
    let records = Records::first_of(&corpus);
    let home = Organisation::found(scratch.path(), "Archive").node(scratch.path(), "records", PERSON);
    // A copy has the same keys, so that its sources have the same names and its digest can be compared.
    let (duration, wanted) = undisturbed(&home.copy_to("undisturbed"), &records);
    println!("undisturbed: {RECORDS} records in {duration:?}, digest {wanted}");

    let mut acknowledged = BTreeSet::new();
    let mut in_the_middle = 0;
    for kill in 1..=KILLS {
        let node = RunningNode::start(&home, &[]);
        let http = node.http(PERSON);
        let present = sources(&http);
        assert!(present.is_superset(&acknowledged), "lost: {:?}", acknowledged.difference(&present));
        // Healthy says, among other things, that the index equals the store.
        let doctor = examine(&home);
        assert_eq!(count(&doctor, "/active_units"), count(&doctor, "/indexed"), "{doctor:#}");

        // Now many small requests, now all in one, whose batches are then cut by the kill.
        let slices = if rng.below(4) == 0 { Vec::from([all()]) } else { slices(&mut rng, &records, &acknowledged) };
        let moment = Duration::from_millis(rng.below(duration.as_millis() as u64 / 3));
        let confirmed = Mutex::new(BTreeSet::new());
        let ended = std::thread::scope(|scope| {
            let client = scope.spawn(|| send_until_it_breaks(&http, &records, &slices, &confirmed));
            std::thread::sleep(moment);
            node.kill();
            client.join().unwrap()
        });
        in_the_middle += u32::from(!ended);
        let confirmed = confirmed.into_inner().unwrap();
        let new = confirmed.difference(&present).count();
        println!("kill {kill}: after {moment:?}; held {}, then {new} more were acknowledged", present.len());
        acknowledged.extend(present);
        acknowledged.extend(confirmed);
    }
    println!("{in_the_middle} of {KILLS} kills fell into the work, {} records were acknowledged", acknowledged.len());
    assert!(in_the_middle >= KILLS / 2, "too many kills came after the work was done: raise RECORDS");

    let node = RunningNode::start(&home, &[]);
    let http = node.http(PERSON);
    assert!(sources(&http).is_superset(&acknowledged));
    let job = await_end(&http, &begin(&http, &records.document(all())));
    assert_eq!(count(&job, "/new") + count(&job, "/unchanged"), RECORDS as u64, "{job:#}");
    assert!(count(&job, "/unchanged") >= acknowledged.len() as u64, "{job:#}");
    assert_eq!(text(&examine(&home), "/state_digest"), wanted, "the state of an undisturbed run");
    assert_eq!(home.ok(&["audit", "verify"])["intact"], true);
    assert!(node.stop().success());
}

/// The same ingest with nobody pulling the plug: how long it takes, and the state in which it ends.
fn undisturbed(home: &Home, records: &Records) -> (Duration, String) {
    let node = RunningNode::start(home, &[]);
    let http = node.http(PERSON);
    let begun = Instant::now();
    let job = await_end(&http, &begin(&http, &records.document(all())));
    assert_eq!(count(&job, "/new") as usize, RECORDS, "{job:#}");
    let duration = begun.elapsed();
    let digest = text(&examine(home), "/state_digest").to_string();
    assert!(node.stop().success());
    (duration, digest)
}

type Slice = std::ops::Range<usize>;

fn all() -> Slice {
    0..RECORDS
}

/// Consecutive slices of random sizes, beginning shortly before the first record that nobody acknowledged.
fn slices(rng: &mut Rng, records: &Records, acknowledged: &BTreeSet<String>) -> Vec<Slice> {
    let first = records.ids.iter().position(|id| !acknowledged.contains(id)).unwrap_or(0);
    let mut at = first.saturating_sub(rng.below(10) as usize);
    let mut slices = Vec::new();
    while at < RECORDS {
        let end = (at + 1 + rng.below(SLICE_MAX) as usize).min(RECORDS);
        slices.push(at..end);
        at = end;
    }
    slices
}

/// Sends slice after slice and waits for each. What a finished job took in is acknowledged. Says whether all was sent
/// before the connection broke.
fn send_until_it_breaks(http: &Http, records: &Records, slices: &[Slice], confirmed: &Mutex<BTreeSet<String>>) -> bool {
    for slice in slices {
        let body = json!({"documents": [records.document(slice.clone())]}).to_string();
        let Ok(response) = http.send("POST", "/v1/ingest?wait=true", Some(body.as_bytes())) else { return false };
        let Ok(job) = serde_json::from_slice::<Value>(&response.body) else { return false };
        assert!(response.status == 200 || response.status == 202 || response.status >= 500, "{job:#}");
        if job["state"] == "done" {
            assert_eq!(count(&job, "/new") + count(&job, "/unchanged"), slice.len() as u64, "{job:#}");
            confirmed.lock().unwrap().extend(records.ids[slice.clone()].iter().cloned());
        } else {
            return false;
        }
    }
    true
}

/// Begins the ingest of a document and gives the job's id.
fn begin(http: &Http, document: &Value) -> String {
    let started = http.post("/v1/ingest", &json!({"documents": [document]}));
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

/// Ids of every record that the person finds among the sources, page by page.
fn sources(http: &Http) -> BTreeSet<String> {
    let (mut found, mut after) = (BTreeSet::new(), String::new());
    loop {
        let page = http.get(&format!("/v1/sources?limit=1000{after}")).expect(200);
        let page = list(&page, "");
        let Some(last) = page.last() else { return found };
        let id =
            |s: &Value| text(s, "/address").rsplit('#').next().expect("a record's address ends with its id").into();
        found.extend(page.iter().filter(|s| s["state"] == "active").map(id));
        after = format!("&after={}", percent_encoded(text(last, "/address")));
    }
}

fn percent_encoded(text: &str) -> String {
    let encode =
        |byte: u8| if byte.is_ascii_alphanumeric() { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    text.bytes().map(encode).collect()
}

#[track_caller]
fn examine(home: &Home) -> Value {
    let doctor = home.ok(&["doctor"]);
    assert_eq!(doctor["healthy"], true, "{doctor:#}");
    doctor
}

/// Records of JSON Lines with their ids.
struct Records {
    lines: Vec<String>,
    ids: Vec<String>,
}

impl Records {
    fn first_of(corpus: &Path) -> Records {
        let all = std::fs::read_to_string(corpus).unwrap();
        let lines: Vec<String> = all.lines().take(RECORDS).map(str::to_string).collect();
        let id = |line: &String| serde_json::from_str::<Value>(line).unwrap()["doc_id"].to_string();
        let ids = lines.iter().map(id).collect();
        Records { lines, ids }
    }

    /// Some of them as one document. Its name is always the same, so a record has one address in whatever slice.
    fn document(&self, slice: Slice) -> Value {
        json!({"name": "records.jsonl", "media_type": "jsonl", "text": format!("{}\n", self.lines[slice].join("\n"))})
    }
}
