//! The transparency log between real processes: witnesses, a restored backup, and a log with two histories.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::path::Path;
use std::time::Duration;

use plumb_tests::{Home, Http, Organisation, RunningNode, Story, count, list, story_dir, text, until, until_some};
use serde_json::{Value, json};
use tempfile::TempDir;

/// How long a head may take to everybody: heads are exchanged every few seconds.
const SYNC_TIME: Duration = Duration::from_secs(120);

const FIRST: &str = "study-chloramine-biofilm.md";
const SECOND: &str = "study-nitrification-onset.md";

/// A publisher and a peer that follows it; both run.
struct Pair {
    publisher: RunningNode,
    peer: RunningNode,
    /// The publisher's home as it was before it published its last two notices.
    backup: Home,
    /// Entries of its log when both have them.
    size: u64,
    scratch: TempDir,
}

impl Pair {
    fn begin() -> Pair {
        let scratch = TempDir::new().unwrap();
        let halden = Organisation::found(scratch.path(), "Halden Institute");
        let northwater = Organisation::found(scratch.path(), "Northwater");
        let publisher = halden.node(scratch.path(), "hydrology", "person-noor-vasquell");
        let peer = northwater.node(scratch.path(), "operations", "person-tomas-brandvold");
        publisher.trust(&northwater);
        peer.trust(&halden);
        let public = story_dir().join("halden-hydrology/public");
        publisher.ok(&["ingest", public.to_str().unwrap(), "--sensitivity", "public"]);
        let backup = publisher.copy_to("backup");

        let peer = RunningNode::start(&peer, &[]);
        let publisher = RunningNode::start(&publisher, &[&peer]);
        publisher.await_peers(1);
        for study in [FIRST, SECOND] {
            publisher.home.ok(&["retract", study, "--reason", "data-error"]);
        }
        let size = own_size(&publisher.home);
        await_held(&peer.home, &publisher.home, size);
        Pair { publisher, peer, backup, size, scratch }
    }
}

fn status(home: &Home) -> Value {
    home.ok(&["log", "status"])
}

fn own_size(home: &Home) -> u64 {
    count(&status(home), "/own/size")
}

fn did(home: &Home) -> String {
    text(&status(home), "/own/origin").trim_end_matches("/public").to_string()
}

/// What a node holds of another's log.
fn held(holder: &Home, publisher: &str) -> Option<Value> {
    list(&status(holder), "/others").iter().find(|l| l["publisher"] == publisher).cloned()
}

fn await_held(holder: &Home, publisher: &Home, size: u64) {
    let publisher = did(publisher);
    until(&format!("{size} entries of {publisher} are held"), SYNC_TIME, || {
        held(holder, &publisher).is_some_and(|l| l["size"] == size)
    });
}

/// Yesterday's backup is restored before anybody noticed: the node hears from its peer what it once published, fetches
/// it, and goes on behind it. Nothing is lost and nothing forks.
#[test]
fn a_node_that_was_set_back_fetches_its_own_log_and_goes_on() {
    let Pair { publisher, peer, backup, size, scratch: _scratch } = Pair::begin();
    let root = text(&status(&publisher.home), "/own/root").to_string();
    assert!(publisher.stop().success());
    assert!(own_size(&backup) < size);

    let restored = RunningNode::start(&backup, &[&peer]);
    until("the own log is back", SYNC_TIME, || {
        let view = status(&restored.home);
        view["own"]["size"] == size && view["own"]["stopped"].is_null()
    });
    assert_eq!(text(&status(&restored.home), "/own/root"), root);
    let notices = restored.home.ok(&["notices", "list"]);
    let applied = list(&notices, "").iter().filter(|n| !n["applied"].is_null());
    assert_eq!(applied.count(), 2, "what it retracted is retracted again: {notices:#}");
    assert_eq!(restored.home.ok(&["doctor"])["healthy"], true);

    let first = list(&notices, "").iter().find(|n| n["kind"] == "retraction").unwrap();
    restored.home.ok(&["reinstate", text(first, "/notice"), "--note", "The data were right."]);
    await_held(&peer.home, &restored.home, size + 1);
    assert_eq!(list(&peer.home.ok(&["log", "forks"]), ""), &[] as &[Value]);
}

/// It published from the backup before it met anybody. Both histories are signed by it: the proof is kept on both sides,
/// it publishes nothing until its operator decides, also after a restart, and the peer follows it again only when its
/// own operator has decided too.
#[test]
fn a_node_that_published_from_a_backup_is_proved_to_and_stops() {
    let Pair { publisher, peer, backup, size, scratch } = Pair::begin();
    assert!(publisher.stop().success());
    let note = "Published from the backup, with nobody there.";
    let own_notice = backup.ok(&["retract", FIRST, "--reason", "plagiarism", "--note", note]);

    let mut restored = RunningNode::start(&backup, &[&peer]);
    let name = did(&restored.home);
    let stopped_at = |home: &Home| status(home)["own"]["stopped_since"].as_str().map(str::to_string);
    let is_forked = |home: &Home| list(&home.ok(&["log", "forks"]), "").iter().any(|f| f["publisher"] == name.as_str());
    until("the publisher has stopped", SYNC_TIME, || is_forked(&restored.home) && stopped_at(&restored.home).is_some());
    until("the peer has the proof", SYNC_TIME, || is_forked(&peer.home));
    assert_is_stopped(&restored);
    assert!(restored.restart(&[&peer]).success());
    assert_is_stopped(&restored);

    assert_eq!(held(&peer.home, &name).unwrap()["quarantined"], true);
    let peers = peer.home.ok(&["peers", "list"]);
    assert!(text(list(&peers, "/peers").first().unwrap(), "/detail").contains("two histories"), "{peers:#}");
    assert_proof_is_portable(&peer.home, &name, scratch.path());

    let refused = restored.home.run(&["log", "resume"]).expect(1);
    assert_eq!(refused["reason"], "publishing_stopped", "{refused:#}");
    restored.home.ok(&["log", "resume", "--accept-loss"]);
    // What peers hold, and behind it what only this node had.
    until("the publisher has taken up what its peer holds", SYNC_TIME, || {
        let view = status(&restored.home);
        view["own"]["size"] == size + 1 && view["own"]["stopped"].is_null()
    });
    let audited = restored.home.ok(&["audit", "list", "--action", "log.resume"]);
    assert_eq!(list(&audited, "").last().unwrap()["outcome"], "accepted_loss", "{audited:#}");

    assert_eq!(held(&peer.home, &name).unwrap()["size"], size, "the peer's operator has not decided");
    peer.home.ok(&["log", "fork", "lift", "Halden Institute", "--note", "They restored a backup."]);
    await_held(&peer.home, &restored.home, size + 1);
    assert_eq!(held(&peer.home, &name).unwrap()["quarantined"], false);
    let notice = peer.home.ok(&["notices", "show", text(&own_notice, "/notice")]);
    assert_eq!(text(&notice, "/note"), note);
    let audited = peer.home.ok(&["audit", "list", "--action", "log.lift"]);
    assert_eq!(list(&audited, "").len(), 1, "{audited:#}");
    assert_eq!(list(&peer.home.ok(&["log", "forks"]), "")[0]["decided"], true, "the proof is kept");
}

fn assert_is_stopped(node: &RunningNode) {
    let home = &node.home;
    for args in [&["retract", SECOND, "--reason", "data-error"][..], &["ask", "What removes loose deposits?", "--save"]]
    {
        let outcome = home.run(args);
        assert_eq!(outcome.code, 1, "{outcome}");
        assert_eq!(outcome.json()["reason"], "publishing_stopped", "{outcome}");
    }
    let doctor = home.run(&["doctor"]).expect(1);
    let check = list(&doctor, "/checks").iter().find(|c| c["name"] == "publishing").unwrap().clone();
    assert!(check["ok"] == false && text(&check, "/detail").contains("plumb log resume"), "{doctor:#}");
    let ready = Http::new(node.http_addr(), None).get("/health/ready").expect(200);
    assert!(text(&ready, "/publishing_stopped").contains("two histories"), "{ready:#}");
    let peers = home.ok(&["peers", "status"]);
    assert!(text(&peers, "/publishing_stopped").contains("two histories"), "{peers:#}");
    let outcome = home.run(&["notices", "list"]);
    assert!(outcome.stderr.contains("publishing is stopped"), "{outcome}");
}

/// The proof convinces whoever has the file, with no node and no home; a changed one does not.
fn assert_proof_is_portable(holder: &Home, publisher: &str, scratch: &Path) {
    let nowhere = Home::at(scratch, &scratch.join("no-home"));
    let file = scratch.join("fork.cbor");
    let path = file.to_str().unwrap();
    let shown = holder.ok(&["log", "fork", "show", publisher, "--out", path]);
    assert_eq!(shown["proves"], true, "{shown:#}");
    let verified = nowhere.run(&["log", "fork", "verify", path]).expect(0);
    assert_eq!(text(&verified, "/publisher"), publisher);

    let good = std::fs::read(&file).unwrap();
    let signature = format!("\u{2014} {publisher}/public ");
    let at = good.windows(signature.len()).position(|w| w == signature.as_bytes()).unwrap() + signature.len() + 20;
    let mut forged = good.clone();
    forged[at] = if forged[at] == b'A' { b'B' } else { b'A' };
    for bad in [&forged[..], &good[..good.len() / 2], b"", b"no proof"] {
        std::fs::write(&file, bad).unwrap();
        let outcome = nowhere.run(&["log", "fork", "verify", path]);
        assert_eq!(outcome.code, 6, "{outcome}");
    }
    let absent = nowhere.run(&["log", "fork", "verify", "absent.cbor"]);
    assert_eq!(absent.code, 1, "{absent}");
    assert_eq!(holder.run(&["log", "fork", "show", "did:key:nobody"]).code, 1);
}

/// Peers cosign each head, and go on from what they wrote down when they come back.
#[test]
fn peers_cosign_what_is_published() {
    let mut story = Story::told();
    let publisher = story.hydrology.home.clone();
    let cosigned = |size: u64| {
        until_some(&format!("both peers have cosigned {size} entries"), SYNC_TIME, || {
            let view = status(&publisher);
            (view["own"]["size"] == size && view["cosigned_by"] == 2 && view["admitted"] == 2).then_some(view)
        })
    };
    let first = cosigned(own_size(&publisher));
    assert_eq!(list(&first, "/own/witnesses").len(), 2);
    publisher.ok(&["retract", FIRST, "--reason", "data-error"]);
    let second = cosigned(count(&first, "/own/size") + 1);

    assert!(story.laboratory.restart(&[&story.operations, &story.hydrology]).success());
    publisher.ok(&["retract", SECOND, "--reason", "data-error"]);
    let third = cosigned(count(&second, "/own/size") + 1);
    let size = count(&third, "/own/size");
    for witness in [&story.operations.home, &story.laboratory.home] {
        assert_eq!(held(witness, &did(&publisher)).unwrap()["cosigned"], size);
    }
    let note = String::from_utf8(Http::new(story.hydrology.http_addr(), None).get("/v1/log/checkpoint").body).unwrap();
    let lines: Vec<&str> = note.lines().filter(|l| l.starts_with('\u{2014}')).collect();
    assert_eq!(lines.len(), 3, "its own signature and two cosignatures:\n{note}");
    let peers = publisher.ok(&["peers", "status"]);
    assert!(list(&peers, "/peers").iter().all(|p| p["cosigned"] == size), "{peers:#}");
}

/// Over HTTP the hashes are for anybody and the entries for whoever has a token, with headers that caches honour.
#[test]
fn the_log_is_served_as_tiles() {
    let scratch = TempDir::new().unwrap();
    let home = Organisation::found(scratch.path(), "Archive").node(scratch.path(), "records", "person-archivist");
    let node = RunningNode::start(&home, &[]);
    let (anybody, reader) = (Http::new(node.http_addr(), None), node.http("person-archivist"));
    let size = own_size(&home);
    assert_eq!(size, 1, "the log begins with the certificate");

    let tile = anybody.get("/v1/log/tile/0/000.p/1");
    let head = tile.head.to_lowercase();
    assert_eq!((tile.status, tile.body.len()), (200, 32));
    assert!(head.contains("content-type: application/octet-stream") && head.contains("immutable"), "{head}");
    let checkpoint = anybody.get("/v1/log/checkpoint");
    let head = checkpoint.head.to_lowercase();
    assert!(head.contains("content-type: text/plain; charset=utf-8") && head.contains("max-age=2"), "{head}");

    let bundle = "/v1/log/tile/entries/000.p/1";
    assert_eq!(anybody.get(bundle).status, 401);
    assert_eq!(anybody.get("/v1/log/entry/0").status, 401);
    // The same path in other letters: what a router splits and what a handler reads are not the same.
    for path in [
        "/v1/log/tile/entries%2F000.p/1",
        "/v1/log/tile/entries%2f000.p%2f1",
        "/v1/log/tile/%65ntries/000.p/1",
        "/v1/log//tile/entries/000.p/1",
        "/v1/log/tile//entries/000.p/1",
        "/v1/log/tile/./entries/000.p/1",
    ] {
        let got = anybody.get(path);
        assert!(matches!(got.status, 400 | 401 | 404), "{path}: {}", got.head);
    }
    let (bundle, entry) = (reader.get(bundle), reader.get("/v1/log/entry/0"));
    assert_eq!((bundle.status, entry.status), (200, 200));
    assert_eq!(bundle.body[2..], entry.body);
    assert!(bundle.head.to_lowercase().contains("private"), "{}", bundle.head);

    let proof = anybody.get("/v1/log/proof/inclusion?index=0").expect(200);
    assert_eq!(proof["proof"], json!([]));
    let leaf = text(&proof, "/leaf").replace('+', "%2B").replace('/', "%2F");
    assert_eq!(anybody.get(&format!("/v1/log/proof/inclusion?leaf={leaf}")).expect(200), proof);
    for (path, status) in [
        ("/v1/log/tile/0/000", 404),
        ("/v1/log/tile/0/000.p/2", 404),
        ("/v1/log/tile/1/000.p/1", 404),
        ("/v1/log/tile/0/0", 400),
        ("/v1/log/tile/64/000", 400),
        ("/v1/log/tile/0/../../../etc/passwd", 400),
        ("/v1/log/proof/inclusion", 400),
        ("/v1/log/proof/inclusion?index=1", 400),
        ("/v1/log/proof/inclusion?index=0&size=2", 400),
        ("/v1/log/proof/inclusion?leaf=abc", 400),
        ("/v1/log/proof/consistency?from=2", 400),
        ("/v1/log/status", 401),
        ("/v1/log/forks", 401),
    ] {
        assert_eq!(anybody.get(path).status, status, "{path}");
    }
    let unknown = format!("/v1/log/proof/inclusion?leaf={}", "ab".repeat(32));
    assert_eq!(anybody.get(&unknown).status, 404);
    assert_eq!(reader.get("/v1/log/status").status, 403);
    assert_eq!(home.run(&["log", "resume", "--accept-loss"]).code, 1, "there is nothing to decide");
}
