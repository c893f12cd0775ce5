//! Notices about what is not public: in everybody's copy of the log, and read by those alone whom they concern.

use plumb_tests::{Home, Organisation, RunningNode, count, list, text, until};
use serde_json::Value;
use tempfile::TempDir;

use super::{NOTICE_TIME, await_state, did, document, found, retract, seal, take_in};

const ABOUT: &str = "aldrin gauge read metres dawn";
const NOTE: &str = "Quillon Ferreira is named in it";

/// Three nodes of one organisation, and one of another that follows their logs.
struct Circle {
    halden: Organisation,
    publisher: RunningNode,
    mate: RunningNode,
    outsider: RunningNode,
    /// Of the organisation. Not running: it meets the outsider alone.
    late: Home,
    /// An answer of the publisher with its evidence, which is internal.
    file: String,
    source: String,
    scratch: TempDir,
}

impl Circle {
    fn begin() -> Circle {
        let scratch = TempDir::new().unwrap();
        let at = scratch.path();
        let [halden, northwater] = ["Halden", "Northwater"].map(|name| Organisation::found(at, name));
        let publisher = halden.node(at, "hydrology", "person-noor-vasquell");
        let mate = halden.node(at, "archive", "person-ulla-ferrant");
        let late = halden.node(at, "field", "person-ilse-kerrigan");
        let outsider = northwater.node(at, "operations", "person-tomas-brandvold");
        for home in [&publisher, &mate, &late] {
            home.trust(&northwater);
        }
        outsider.trust(&halden);
        let publisher = RunningNode::start(&publisher, &[]);
        let mate = RunningNode::start(&mate, &[&publisher]);
        let outsider = RunningNode::start(&outsider, &[&publisher, &mate]);
        for node in [&publisher, &mate, &outsider] {
            node.await_peers(2);
        }
        let text_file = at.join("aldrin.md");
        std::fs::write(&text_file, document("aldrin")).unwrap();
        publisher.home.ok(&["ingest", text_file.to_str().unwrap(), "--sensitivity", "internal"]);
        let (_, file) = seal(&publisher.home, at, "aldrin");
        let source = text(&found(&publisher.home, ABOUT, "aldrin")[0], "/source").to_string();
        Circle { halden, publisher, mate, outsider, late, file: file.to_str().unwrap().to_string(), source, scratch }
    }

    /// How many entries of the publisher's log a node holds.
    fn held_by(&self, home: &Home) -> u64 {
        let status = home.ok(&["log", "status"]);
        let of = |log: &&Value| log["publisher"] == did(&self.publisher).as_str();
        list(&status, "/others").iter().find(of).map_or(0, |log| count(log, "/size"))
    }

    fn size(&self) -> u64 {
        count(&self.publisher.home.ok(&["log", "status"]), "/own/size")
    }

    /// Waits until the outsider holds the whole of the publisher's log.
    fn await_outsider(&self) {
        let size = self.size();
        until("the outsider holds the log", NOTICE_TIME, || self.held_by(&self.outsider.home) == size);
    }
}

/// Where the bytes occur.
fn occurs(bytes: &[u8], wanted: &[u8]) -> bool {
    bytes.windows(wanted.len()).any(|window| window == wanted)
}

#[test]
fn a_notice_on_internal_evidence_is_in_everybodys_copy_of_the_log_and_read_by_whom_it_concerns() {
    let circle = Circle::begin();
    let (home, at) = (&circle.publisher.home, circle.scratch.path());
    circle.late.ok(&["bundle", "import", &circle.file]);
    assert!(!found(&circle.late, ABOUT, "aldrin").is_empty());
    let n_before = circle.size();
    let notice = retract(home, "aldrin.md", "retraction", &["--note", NOTE]);

    // A node of the organisation that holds nothing of it is told, and keeps the text out.
    await_state(home, &notice, &did(&circle.mate), "acknowledged");
    let copy = at.join("copy.md");
    std::fs::write(&copy, document("aldrin").replace('\n', "\r\n")).unwrap();
    let job = circle.mate.home.run(&["ingest", copy.to_str().unwrap()]).expect(7);
    assert!(text(&job, "/refused/0/reason").contains(&notice), "{job:#}");

    // The other organisation holds the whole log, and knows of no notice.
    circle.await_outsider();
    assert_eq!(circle.outsider.home.ok(&["notices", "list"]), Value::Array(vec![]));
    assert_eq!(circle.outsider.home.ok(&["notices", "events"])["events"], Value::Array(vec![]));
    assert!(super::receipts(home, &notice).iter().all(|(who, _)| *who != did(&circle.outsider)));
    // Nothing of it stands in the log for anybody to read: not the note, not the source, not the text's fingerprint.
    let http = circle.publisher.http("person-noor-vasquell");
    let source: cid::Cid = circle.source.parse().unwrap();
    let fingerprint = plumb_core::content::Fingerprint::of(&document("aldrin"));
    let mut n_seen = 0;
    for index in n_before..circle.size() {
        let entry = http.get(&format!("/v1/log/entry/{index}"));
        assert_eq!(entry.status, 200);
        for secret in [NOTE.as_bytes(), &source.to_bytes(), source.hash().digest(), &fingerprint.0] {
            assert!(!occurs(&entry.body, secret), "entry {index}");
        }
        n_seen += usize::from(occurs(&entry.body, b"sealed"));
    }
    assert_eq!(n_seen, 1, "one entry is the sealed notice");

    // Everybody who knows is gone. A holder gets the log from the outsider, who cannot read it, and reads it.
    let Circle { publisher, mate, outsider, late, file, source, scratch: _scratch, .. } = circle;
    assert!(publisher.stop().success() && mate.stop().success());
    let late = RunningNode::start(&late, &[&outsider]);
    until("the holder has heard of it", NOTICE_TIME, || found(&late.home, ABOUT, "aldrin").is_empty());
    let shown = late.home.ok(&["notices", "show", &notice]);
    assert_eq!((text(&shown, "/note"), text(&shown, "/targets/0/source")), (NOTE, source.as_str()));
    assert_eq!(late.home.run(&["bundle", "verify", &file]).expect(4)["verdict"], "retracted");
}

/// (d) and (h), where nobody can read the notice until the evidence is there.
#[test]
fn a_sealed_notice_that_comes_before_the_evidence_keeps_it_out_until_it_is_reinstated() {
    let circle = Circle::begin();
    let home = &circle.publisher.home;
    let notice = retract(home, "aldrin.md", "retraction", &["--note", NOTE]);
    await_state(home, &notice, &did(&circle.mate), "acknowledged");
    circle.await_outsider();
    // It follows the log through the outsider, and knows no notice. Nodes of one organisation find each other, and would
    // tell it.
    let mut late = RunningNode::start(&circle.late, &[]);
    let newcomer = did(&late);
    for other in [home, &circle.mate.home] {
        other.ok(&["peers", "block", &newcomer]);
    }
    assert!(late.restart(&[&circle.outsider]).success());
    until("the newcomer holds the log", NOTICE_TIME, || circle.held_by(&late.home) == circle.size());
    assert_eq!(late.home.ok(&["notices", "list"]), Value::Array(vec![]));

    let import = late.home.ok(&["bundle", "import", &circle.file]);
    assert_eq!((count(&import, "/imported"), list(&import, "/refused").len()), (0, 1), "{import:#}");
    assert!(text(&import, "/refused/0/reason").contains(&notice), "{import:#}");
    assert!(found(&late.home, ABOUT, "aldrin").is_empty());

    // The reinstatement goes as the retraction went, and whoever can read the one can read the other.
    let lifted = home.ok(&["reinstate", &notice]);
    let lifted = text(&lifted, "/notice").to_string();
    until("the newcomer has it again", NOTICE_TIME, || !found(&late.home, ABOUT, "aldrin").is_empty());
    circle.await_outsider();
    assert_eq!(circle.outsider.home.ok(&["notices", "list"]), Value::Array(vec![]));
    assert!(late.restart(&[&circle.outsider]).success());
    assert!(!found(&late.home, ABOUT, "aldrin").is_empty());

    // When it meets the publisher, it is told what it may have missed, and confirms.
    home.ok(&["peers", "unblock", &newcomer]);
    assert!(late.restart(&[&circle.publisher]).success());
    for notice in [&notice, &lifted] {
        await_state(home, notice, &did(&late), "acknowledged");
    }
}

/// Whoever holds a public source would open what is said of another one in the same notice; and who speaks for a node
/// that is gone says it as quietly as that one did.
#[test]
fn nothing_that_is_said_in_secret_comes_out_by_another_notice() {
    let circle = Circle::begin();
    let (home, at) = (&circle.publisher.home, circle.scratch.path());
    take_in(home, at, "borealis");
    let mixed = home.run(&["retract", "aldrin.md", "borealis.md", "--reason", "legal"]).expect(2);
    assert!(text(&mixed, "/detail").contains("two commands"), "{mixed:#}");
    let named = ["retract", "borealis.md", "--kind", "supersession", "--by", "aldrin.md", "--reason", "superseded"];
    assert!(text(&home.run(&named).expect(2), "/detail").contains("not public"));
    assert_eq!(home.ok(&["notices", "list"]), Value::Array(vec![]), "nothing was published");

    // The root undoes it through another node of the organisation, which knows it by delivery.
    let notice = retract(home, "aldrin.md", "retraction", &["--note", NOTE]);
    await_state(home, &notice, &did(&circle.mate), "acknowledged");
    let root = circle.halden.root.to_str().unwrap();
    let lifted = circle.mate.home.ok(&["reinstate", &notice, "--as-root", root]);
    let lifted = text(&lifted, "/notice").to_string();
    until("the publisher has it again", NOTICE_TIME, || !found(home, ABOUT, "aldrin").is_empty());
    assert_eq!(home.run(&["notices", "show", &lifted]).code, 0);
    let size = count(&circle.mate.home.ok(&["log", "status"]), "/own/size");
    let http = circle.mate.http("person-ulla-ferrant");
    let source: cid::Cid = circle.source.parse().unwrap();
    for index in 0..size {
        let entry = http.get(&format!("/v1/log/entry/{index}"));
        assert!(!occurs(&entry.body, source.hash().digest()), "entry {index} of the mate names the source");
    }
    assert_eq!(circle.outsider.home.ok(&["notices", "list"]), Value::Array(vec![]));
    // Of what the mate holds nothing of, its operator may see that it is withdrawn, and nobody else.
    assert_eq!(circle.mate.home.run(&["notices", "show", &notice]).code, 0);
}

/// What was narrowed at home stays so, also where the old bundle comes in later.
#[test]
fn an_old_bundle_does_not_bring_back_the_label_from_before_a_narrowing() {
    let circle = Circle::begin();
    let (home, at) = (&circle.publisher.home, circle.scratch.path());
    take_in(home, at, "borealis");
    let (_, file) = seal(home, at, "borealis");
    let notice = retract(home, "borealis.md", "narrowing", &["--to", "internal"]);
    until("the mate knows", NOTICE_TIME, || circle.mate.home.run(&["notices", "show", &notice]).code == 0);
    circle.mate.home.ok(&["bundle", "import", file.to_str().unwrap()]);
    let hits = found(&circle.mate.home, "borealis gauge read metres dawn", "borealis");
    assert!(!hits.is_empty() && hits.iter().all(|hit| text(hit, "/sensitivity") == "internal"), "{hits:#?}");
}
