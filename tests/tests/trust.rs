//! Trust between organisations, with real nodes: roots change, nodes are taken back, an organisation is excluded from
//! content, authors are lost.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::path::{Path, PathBuf};
use std::time::Duration;

use plumb_tests::{Home, Organisation, RunningNode, count, list, text, until};
use serde_json::Value;
use tempfile::TempDir;

/// How long news of roots and notices may take to reach everybody.
const NEWS_TIME: Duration = Duration::from_secs(60);

const QUESTION: &str = "At what pressure is pump 7 restarted?";
const SENTENCE: &str = "Pump 7 is restarted at a pressure of 4 bar.";
const OTHER: &str = "In winter pump 7 is restarted at a pressure of 5 bar, by hand.";

fn scratch() -> TempDir {
    TempDir::new().unwrap()
}

/// Two organisations that trust each other, with a node of each that is not running.
struct Neighbours {
    northwater: Organisation,
    halden: Organisation,
    operations: Home,
    hydrology: Home,
}

impl Neighbours {
    fn found(at: &Path) -> Neighbours {
        let (northwater, halden) = (Organisation::found(at, "Northwater"), Organisation::found(at, "Halden"));
        let operations = northwater.node(at, "operations", "person-operator");
        let hydrology = halden.node(at, "hydrology", "person-operator");
        operations.trust(&halden);
        hydrology.trust(&northwater);
        Neighbours { northwater, halden, operations, hydrology }
    }
}

/// A home of `org` in a folder of its own, so that two nodes of one department can be told apart.
fn apart(scratch: &Path, place: &str, org: &Organisation, department: &str, terms: &[&str]) -> Home {
    let folder = scratch.join(place);
    std::fs::create_dir_all(&folder).unwrap();
    let home = Home::join(&folder, &org.name, department, "person-operator");
    org.certify_with(&home, terms);
    home
}

/// What a node is called.
fn did(node: &RunningNode) -> String {
    text(&node.home.ok(&["peers", "status"]), "/node").to_string()
}

/// How a node sees another.
fn peer(at: &RunningNode, node: &str) -> Value {
    let view = at.home.ok(&["peers", "list"]);
    list(&view, "/peers").iter().find(|p| p["node"] == node).cloned().unwrap_or(Value::Null)
}

fn is_admitted(at: &RunningNode, node: &str) -> bool {
    peer(at, node)["state"] == "admitted"
}

/// How a node trusts an organisation.
fn trusted(at: &Home, org: &Organisation) -> Value {
    let all = at.ok(&["trust", "list"]);
    all.as_array().unwrap().iter().find(|t| t["org"] == org.did.as_str()).cloned().unwrap_or(Value::Null)
}

fn await_news(what: &str, holds: impl FnMut() -> bool) {
    until(what, NEWS_TIME, holds);
}

/// Ingests a document with the sentence, so that every organisation may have it.
fn publish(home: &Home, name: &str) {
    publish_text(home, name, SENTENCE);
}

fn publish_text(home: &Home, name: &str, sentence: &str) {
    let document = home.scratch().join(name);
    std::fs::write(&document, format!("# Pump 7\n\n{sentence}\n")).unwrap();
    home.ok(&["ingest", document.to_str().unwrap(), "--sensitivity", "public"]);
}

/// Asks at home and writes the answer's bundle into a file. Gives the file and the source that it cites.
fn bundle(home: &Home, name: &str) -> (PathBuf, String) {
    let file = home.scratch().join(name);
    home.ok(&["ask", QUESTION, "--save", "--bundle", file.to_str().unwrap()]);
    let shown = home.ok(&["bundle", "show", file.to_str().unwrap()]);
    (file, text(&shown, "/evidence/0/source").to_string())
}

fn is_found(home: &Home) -> bool {
    !list(&home.ok(&["search", "pump pressure restarted"]), "/hits").is_empty()
}

/// Copies a root as a thief would.
fn copy_of(root: &Path, to: &Path) -> PathBuf {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(root).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
    to.to_path_buf()
}

#[test]
fn a_rotation_is_followed_by_peers_and_the_old_root_proves_nothing_new() {
    let scratch = scratch();
    let at = scratch.path();
    let Neighbours { northwater, halden, operations, hydrology } = Neighbours::found(at);
    let laboratory = northwater.node(at, "laboratory", "person-operator");
    laboratory.trust(&halden);
    publish(&operations, "pump.md");
    let operations = RunningNode::start(&operations, &[]);
    let laboratory = RunningNode::start(&laboratory, &[&operations]);
    let mut hydrology = RunningNode::start(&hydrology, &[&operations, &laboratory]);
    hydrology.await_peers(2);
    let (early, source) = bundle(&operations.home, "early.car");
    assert_eq!(hydrology.home.ok(&["bundle", "verify", early.to_str().unwrap()])["certificate"], "valid");

    // The root changes; one node says so, and everybody hears it from its log.
    let stolen = copy_of(&northwater.root, &at.join("stolen"));
    let file = at.join("rotation");
    let file = file.to_str().unwrap();
    let rotated = northwater.org(at, &["rotate", "--out", file], 0);
    assert_eq!(rotated["organisation"], northwater.did.as_str(), "the organisation keeps its name");
    assert_eq!(operations.home.ok(&["trust", "rotate", file])["published"], true);
    for node in [&operations, &laboratory, &hydrology] {
        await_news("the rotation", || list(&trusted(&node.home, &northwater), "/roots").len() == 2);
        assert_eq!(trusted(&node.home, &northwater)["roots"][1], rotated["new"]);
    }
    // Whoever was known before stays: its certificate is older than the news.
    for node in [did(&operations), did(&laboratory)] {
        assert!(is_admitted(&hydrology, &node), "{:#}", peer(&hydrology, &node));
    }
    assert_eq!(hydrology.home.ok(&["bundle", "verify", early.to_str().unwrap()])["certificate"], "valid");

    // What the old root signs from now on counts nowhere, whatever date it has.
    let late = Organisation { root: stolen.clone(), name: northwater.name.clone(), did: northwater.did.clone() };
    let late = apart(at, "late", &late, "treatment", &[]);
    late.trust(&halden);
    let late = RunningNode::start(&late, &[&hydrology]);
    let name = did(&late);
    await_news("a certificate of the retired root is refused", || peer(&hydrology, &name)["reason"] == "retired_root");
    let by_hydrology = did(&hydrology);
    await_news("it is told so", || peer(&late, &by_hydrology)["reason"] == "retired_root");
    drop(late);
    let as_old = ["retract", &source, "--reason", "legal", "--as-root", stolen.to_str().unwrap()];
    let denied = operations.home.run(&as_old).expect(7);
    assert!(text(&denied, "/detail").contains("retired"), "{denied:#}");

    // The new root certifies under the old name; a newcomer is let in with the rotation that its certificate brings.
    let fresh = apart(at, "fresh", &northwater, "treatment", &[]);
    fresh.trust(&halden);
    let fresh = RunningNode::start(&fresh, &[&hydrology]);
    let name = did(&fresh);
    await_news("a certificate of the new root admits", || is_admitted(&hydrology, &name));
    let cedar = Organisation::found(at, "Cedar");
    let office = cedar.node(at, "office", "person-operator");
    office.trust(&northwater);
    fresh.home.trust(&cedar);
    let office = RunningNode::start(&office, &[&fresh]);
    await_news("who never heard of the rotation follows it", || is_admitted(&office, &name));
    await_news("and keeps it", || list(&trusted(&office.home, &northwater), "/roots").len() == 2);

    // It lasts.
    assert!(hydrology.restart(&[&operations, &laboratory, &fresh]).success());
    hydrology.await_peers(3);
    assert_eq!(trusted(&hydrology.home, &northwater)["roots"][1], rotated["new"]);
}

#[test]
fn two_rotations_of_one_root_are_shown_and_not_followed_until_somebody_decides() {
    let scratch = scratch();
    let at = scratch.path();
    let (northwater, halden) = (Organisation::found(at, "Northwater"), Organisation::found(at, "Halden"));
    let hydrology = halden.node(at, "hydrology", "person-operator");
    hydrology.trust(&northwater);
    let stolen = Organisation {
        root: copy_of(&northwater.root, &at.join("stolen")),
        name: northwater.name.clone(),
        did: northwater.did.clone(),
    };
    let (honest, rival) = (at.join("honest"), at.join("rival"));
    let honest_root = northwater.org(at, &["rotate", "--out", honest.to_str().unwrap()], 0)["new"].clone();
    stolen.org(at, &["rotate", "--out", rival.to_str().unwrap()], 0);

    let operations = northwater.node(at, "operations", "person-operator");
    operations.trust(&halden);
    let hydrology = RunningNode::start(&hydrology, &[]);
    let operations = RunningNode::start(&operations, &[&hydrology]);
    let name = did(&operations);
    await_news("the first rotation is followed", || is_admitted(&hydrology, &name));

    assert_eq!(hydrology.home.ok(&["trust", "import", rival.to_str().unwrap()])["news"], true);
    await_news("nobody is followed", || peer(&hydrology, &name)["reason"] == "disputed_root");
    assert_eq!(list(&trusted(&hydrology.home, &northwater), "/rivals").len(), 2);
    let events = hydrology.home.ok(&["audit", "list", "--action", "trust.rotate"]);
    assert!(events.as_array().unwrap().iter().any(|e| e["outcome"] == "conflict"), "{events:#}");

    hydrology.home.ok(&["trust", "settle", honest_root.as_str().unwrap()]);
    let address = hydrology.addresses().remove(0);
    operations.home.ok(&["peers", "connect", &address]);
    await_news("the decision is followed", || is_admitted(&hydrology, &name));
    assert!(list(&trusted(&hydrology.home, &northwater), "/rivals").is_empty());
}

#[test]
fn a_revoked_node_is_refused_and_what_it_logged_before_stands() {
    let scratch = scratch();
    let at = scratch.path();
    let Neighbours { northwater, halden, operations, hydrology } = Neighbours::found(at);
    let laboratory = northwater.node(at, "laboratory", "person-operator");
    laboratory.trust(&halden);
    publish(&laboratory, "pump.md");
    let (early, _) = bundle(&laboratory, "early.car");
    let operations = RunningNode::start(&operations, &[]);
    let laboratory = RunningNode::start(&laboratory, &[&operations]);
    let hydrology = RunningNode::start(&hydrology, &[&operations, &laboratory]);
    hydrology.await_peers(2);
    let name = did(&laboratory);
    hydrology.home.ok(&["bundle", "import", early.to_str().unwrap()]);
    let caution =
        laboratory.home.ok(&["retract", "pump.md", "--kind", "expression-of-concern", "--reason", "data-error"]);
    let caution = text(&caution, "/notice");
    for node in [&operations, &hydrology] {
        await_news("the caution", || node.home.run(&["notices", "show", caution]).code == 0);
    }
    // What the laboratory has logged so far: certificate, bundle, notice.
    await_news("its log", || peer(&operations, &name)["log_size"] == 3 && peer(&hydrology, &name)["log_size"] == 3);
    // Somebody copies its disk.
    let home = laboratory.home.clone();
    assert!(laboratory.stop().success());
    let thief = home.copy_to("thief");
    let laboratory = RunningNode::start(&home, &[&operations, &hydrology]);
    hydrology.await_peers(2);

    let revoke = ["org", "revoke", &name, "--root", northwater.root.to_str().unwrap(), "--reason", "key-compromise"];
    let revoked = operations.home.ok(&revoke);
    assert_eq!((revoked["published"].clone(), count(&revoked, "/log_size")), (true.into(), 3));
    for node in [&operations, &hydrology] {
        await_news("it is refused", || {
            let seen = peer(node, &name);
            seen["state"] != "admitted" && seen["reason"] == "revoked"
        });
    }
    let at_hydrology = &trusted(&hydrology.home, &northwater)["revoked"][0];
    assert_eq!((&at_hydrology["node"], &at_hydrology["reason"]), (&name.clone().into(), &"key_compromise".into()));
    // When it comes again it is told why, in words of its own.
    laboratory.home.ok(&["peers", "connect", &hydrology.addresses()[0]]);
    let by_hydrology = did(&hydrology);
    await_news("it is told so", || peer(&laboratory, &by_hydrology)["reason"] == "revoked");

    // It knows it itself by now, or will, and the thief does not say so: he speaks on, and nobody listens. Another notice
    // arrives, and his does not.
    assert!(laboratory.stop().success());
    let theft = thief.ok(&["retract", "pump.md", "--reason", "fabrication"]);
    publish_text(&thief, "second.md", OTHER);
    let (late, _) = bundle(&thief, "late.car");
    let thief = RunningNode::start(&thief, &[&hydrology]);
    await_news("he is told so", || peer(&thief, &by_hydrology)["reason"] == "revoked");
    publish_text(&operations.home, "own.md", OTHER);
    let honest = operations.home.ok(&["retract", "own.md", "--kind", "correction", "--reason", "publisher-error"]);
    let honest = text(&honest, "/notice");
    await_news("an honest notice", || hydrology.home.run(&["notices", "show", honest]).code == 0);
    hydrology.home.run(&["notices", "show", text(&theft, "/notice")]).expect(1);
    assert!(is_found(&hydrology.home), "the thief's retraction changed nothing");

    // Of its bundles those count that it had logged before; the key could write any date.
    let verify = |file: &Path, code| hydrology.home.run(&["bundle", "verify", file.to_str().unwrap()]).expect(code);
    assert_eq!(verify(&early, 0)["certificate"], "valid");
    let refused = verify(&late, 6);
    assert_eq!(refused["certificate"], "revoked");
    assert!(text(&refused, "/summary").contains("revoked"), "{refused:#}");
}

#[test]
fn an_organisation_that_is_excluded_from_content_still_hears_what_becomes_of_what_it_holds() {
    let scratch = scratch();
    let at = scratch.path();
    let Neighbours { northwater, halden, operations, hydrology } = Neighbours::found(at);
    publish(&operations, "pump.md");
    let operations = RunningNode::start(&operations, &[]);
    let hydrology = RunningNode::start(&hydrology, &[&operations]);
    hydrology.await_peers(1);
    operations.await_peers(1);
    let name = did(&hydrology);
    await_news("its log", || peer(&operations, &name)["log_size"] == 1);
    let answer = hydrology.home.ok(&["ask", QUESTION, "--peers", "--save"]);
    let saved = text(&answer, "/bundle").to_string();
    assert_eq!(count(&answer, "/answer/reliability/trust_support"), 50);

    // What it gives weighs as much as the reader says.
    hydrology.home.ok(&["trust", "set", &northwater.did, "--weight", "90"]);
    let weighed = hydrology.home.ok(&["ask", QUESTION, "--peers", "--save"]);
    assert_eq!(count(&weighed, "/answer/reliability/trust_support"), 90);
    let file = at.join("weighed.car");
    hydrology.home.ok(&["bundle", "export", text(&weighed, "/bundle"), "--out", file.to_str().unwrap()]);
    assert_eq!(operations.home.ok(&["bundle", "replay", file.to_str().unwrap()])["equal"], true);
    await_news("the receipts", || {
        let events = operations.home.ok(&["audit", "list", "--action", "receipt.note"]);
        !events.as_array().unwrap().is_empty()
    });

    // Removing would cut it off from news of what it holds, so it is excluded from content.
    let removed = operations.home.ok(&["trust", "remove", &halden.did]);
    assert_eq!((removed["excluded"].clone(), count(&removed, "/holders")), (true.into(), 1));
    let pin = trusted(&operations.home, &halden);
    assert_eq!((&pin["incoming"], &pin["outgoing"]), (&"notices".into(), &"none".into()));
    let searched = hydrology.home.ok(&["search", "pump pressure restarted", "--peers"]);
    assert_eq!(list(&searched, "/hits"), &[] as &[Value], "content is denied");
    assert_eq!(text(&searched, "/coverage/peers/0/state"), "denied");
    let asked = operations.home.ok(&["search", "pump", "--peers"]);
    assert!(list(&asked, "/coverage/peers").is_empty(), "its content is not sought: {asked:#}");

    let notice = operations.home.ok(&["retract", "pump.md", "--reason", "data-error"]);
    let notice = text(&notice, "/notice");
    await_news("it hears of it", || hydrology.home.ok(&["answers", "show", &saved])["state"] == "retracted-source");
    await_news("it has confirmed that", || {
        let receipts = operations.home.ok(&["notices", "receipts", notice]);
        count(&receipts, "/holders") == 1 && count(&receipts, "/confirmed") == 1
    });

    // Whose notices alone are let in, its bundles are not imported; whom nothing is let in of, not even notices.
    let (file, _) = {
        publish_text(&operations.home, "other.md", OTHER);
        bundle(&operations.home, "other.car")
    };
    hydrology.home.ok(&["trust", "set", &northwater.did, "--incoming", "notices"]);
    hydrology.home.run(&["bundle", "import", file.to_str().unwrap()]).expect(7);
    hydrology.home.ok(&["trust", "set", &northwater.did, "--incoming", "none"]);
    let second = operations.home.ok(&["retract", "other.md", "--reason", "legal"]);
    await_news("a notice that is not let in is shown as refused", || {
        let shown = hydrology.home.run(&["notices", "show", text(&second, "/notice")]);
        shown.code == 0 && shown.json()["refused"].is_string() && shown.json()["applied"].is_null()
    });

    // It counts when it is let in after all: what was refused is looked at again.
    hydrology.home.ok(&["trust", "set", &northwater.did, "--incoming", "full"]);
    await_news("what was refused is applied", || {
        let shown = hydrology.home.run(&["notices", "show", text(&second, "/notice")]);
        shown.code == 0 && shown.json()["applied"].is_object()
    });

    // To be forgotten has to be said.
    assert_eq!(operations.home.ok(&["trust", "remove", &halden.did, "--forget"])["excluded"], false);
    assert!(trusted(&operations.home, &halden).is_null());
    await_news("it is refused", || peer(&operations, &name)["reason"] == "unknown_root");
}

#[test]
fn when_the_author_is_lost_its_successor_and_the_root_may_speak_and_a_colleague_may_not() {
    let scratch = scratch();
    let at = scratch.path();
    let Neighbours { northwater, halden, operations: author, hydrology } = Neighbours::found(at);
    publish(&author, "pump.md");
    let (file, source) = bundle(&author, "answer.car");
    let file = file.to_str().unwrap();
    let running = RunningNode::start(&author, &[]);
    let hydrology = RunningNode::start(&hydrology, &[&running]);
    hydrology.await_peers(1);
    let lost = did(&running);
    await_news("the author's log", || peer(&hydrology, &lost)["log_size"] == 2);
    hydrology.home.ok(&["bundle", "import", file]);
    assert!(is_found(&hydrology.home));
    // Its machine burns, and its key with it.
    running.kill();
    std::fs::remove_dir_all(&author.dir).unwrap();

    let successor = apart(at, "second", &northwater, "operations", &["--succeeds", &lost]);
    let colleague = apart(at, "third", &northwater, "laboratory", &[]);
    for home in [&successor, &colleague] {
        home.trust(&halden);
        home.ok(&["bundle", "import", file]);
    }
    let successor = RunningNode::start(&successor, &[&hydrology]);
    let colleague = RunningNode::start(&colleague, &[&hydrology, &successor]);
    hydrology.await_peers(2);

    // A colleague has no right to it: what it decides counts in its own node alone, and is told to nobody.
    let local = colleague.home.ok(&["retract", &source, "--reason", "data-error"]);
    assert_eq!(local["origin"], "local:review", "{local:#}");
    let own = text(&local, "/notice").to_string();

    let notice = successor.home.ok(&["retract", &source, "--reason", "data-error"]);
    assert_eq!((&notice["publisher"], &notice["signer"]), (&lost.clone().into(), &did(&successor).into()));
    let notice = text(&notice, "/notice").to_string();
    await_news("the successor's word counts", || !is_found(&hydrology.home));
    assert_eq!(hydrology.home.run(&["notices", "show", &own]).code, 1, "the colleague's went nowhere");

    // The root speaks through any node of the organisation: it undoes what the successor said, and retracts itself.
    let root = northwater.root.to_str().unwrap();
    await_news("the colleague has it, too", || colleague.home.run(&["notices", "show", &notice]).code == 0);
    let lifted = colleague.home.ok(&["reinstate", &notice, "--as-root", root]);
    assert_eq!(lifted["signer"], northwater.did.as_str());
    await_news("the root's word counts", || is_found(&hydrology.home));
    let again = colleague.home.ok(&["retract", &source, "--reason", "fabrication", "--as-root", root]);
    assert_eq!(again["publisher"], lost.as_str());
    await_news("and it counts again", || !is_found(&hydrology.home));
    let at_hydrology = hydrology.home.ok(&["notices", "show", text(&again, "/notice")]);
    assert_eq!(at_hydrology["signer"], northwater.did.as_str());

    // Another organisation's root has no say.
    let strange = halden.root.to_str().unwrap();
    let refused = colleague.home.run(&["retract", &source, "--reason", "legal", "--as-root", strange]);
    assert_eq!(refused.code, 1, "{refused}");
}
