//! Who may know of a notice, and what a node decides for itself alone.

use plumb_tests::{Home, Organisation, RunningNode, text};
use serde_json::Value;
use tempfile::TempDir;

use super::{Pair, await_state, did, found, retract, seal, take_in};

#[test]
fn a_notice_about_what_may_not_be_read_is_as_if_it_were_not_there() {
    let scratch = TempDir::new().unwrap();
    let at = scratch.path();
    let home = Organisation::found(at, "Northwater").node(at, "laboratory", "person-ilse-kerrigan");
    home.add_person("person-mara-lindqvist", &["laboratory"]);
    let file = at.join("salaries.md");
    let words = "The salary of Mara Lindqvist rises to 46,850 crowns from the first of July.\n";
    std::fs::write(&file, format!("# Pay talk\n\n{words}")).unwrap();
    let node = RunningNode::start(&home, &[]);
    home.ok(&["ingest", file.to_str().unwrap(), "--sensitivity", "confidential"]);
    take_in(&home, at, "aldrin");

    let (mara, ilse) = (node.http("person-mara-lindqvist"), node.http("person-ilse-kerrigan"));
    let before = mara.get("/v1/notices").expect(200);
    let hidden = home.ok(&["retract", "salaries.md", "--reason", "privacy", "--note", "Mara's salary was in it"]);
    let hidden = text(&hidden, "/notice").to_string();
    assert_eq!(mara.get("/v1/notices").expect(200), before, "neither named nor counted");
    assert_eq!(mara.get("/v1/notices/events").expect(200)["events"], Value::Array(vec![]));
    let absent = "bafyreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy";
    let reply = |cid: &str| -> String {
        let reply = mara.get(&format!("/v1/notices/{cid}")).expect(404);
        reply.to_string().replace(cid, "CID")
    };
    assert_eq!(reply(&hidden), reply(absent));
    assert_eq!(text(&ilse.get(&format!("/v1/notices/{hidden}")).expect(200), "/targets/0/title"), "Pay talk");
    // On the command line the rights are those of whom the operator asks for.
    assert_eq!(home.run(&["notices", "show", &hidden, "--as", "person-mara-lindqvist"]).code, 1);

    let open = retract(&home, "aldrin.md", "retraction", &[]);
    let seen = mara.get(&format!("/v1/notices/{open}")).expect(200);
    assert_eq!(text(&seen, "/targets/0/title"), "The aldrin gauge");
    assert_eq!(seen["receipts"], Value::Array(vec![]), "who holds it is the operator's to know");
    mara.get(&format!("/v1/receipts?notice={open}")).expect(403);
    mara.post("/v1/notices/watch", &serde_json::json!({"path": "/etc/hosts"})).expect(403);
}

/// SRC-09: a reviewer of the holding organisation revokes what another published, for this node alone.
#[test]
fn a_reviewer_revokes_foreign_evidence_here_and_nowhere_else() {
    const ABOUT: &str = "aldrin gauge read metres dawn";
    let pair = Pair::begin();
    let (home, away, at) = (&pair.publisher.home, &pair.importer.home, pair.scratch.path());
    take_in(home, at, "aldrin");
    let (_, car) = seal(home, at, "aldrin");
    away.ok(&["bundle", "import", car.to_str().unwrap()]);
    let own = away.ok(&["ask", &super::question("aldrin"), "--save"]);
    // Without signatures: a witness may cosign the same head meanwhile.
    let head = |home: &Home| {
        let checkpoint = home.ok(&["audit", "checkpoint"]);
        text(&checkpoint, "/checkpoint").split("\n\n").next().unwrap().to_string()
    };
    let (saved, before) = (text(&own, "/bundle").to_string(), head(away));
    let source = text(&found(away, ABOUT, "aldrin")[0], "/source").to_string();

    let notice = away.ok(&["retract", &source, "--reason", "not-reproducible", "--note", "we measured it again"]);
    assert_eq!(text(&notice, "/origin"), "local:review", "{notice:#}");
    assert!(found(away, ABOUT, "aldrin").is_empty());
    let shown = away.ok(&["answers", "show", &saved]);
    assert_eq!(shown["state"], "retracted-source");
    assert!(text(&shown, "/flags/0").ends_with("[local:review]"), "{shown:#}");
    assert_eq!(away.run(&["bundle", "verify", car.to_str().unwrap()]).expect(4)["verdict"], "retracted");
    // Peers bring it in no more, either.
    let asked = away.ok(&["search", ABOUT, "--peers"]);
    assert!(!asked.to_string().contains("The aldrin gauge read"), "{asked:#}");

    // The log of this node says nothing of it, nobody owes anything, and its publisher goes on.
    assert_eq!(head(away), before);
    assert_eq!(super::receipts(away, text(&notice, "/notice")), []);
    assert!(!found(home, ABOUT, "aldrin").is_empty());
    assert_eq!(home.ok(&["notices", "list"]), Value::Array(vec![]));

    // The publisher's own retraction and its reinstatement do not lift it; the reviewer does.
    let theirs = retract(home, "aldrin.md", "retraction", &[]);
    await_state(home, &theirs, &did(&pair.importer), "acknowledged");
    let lifted = home.ok(&["reinstate", &theirs]);
    await_state(home, text(&lifted, "/notice"), &did(&pair.importer), "acknowledged");
    assert!(found(away, ABOUT, "aldrin").is_empty(), "ours stands");
    assert_eq!(text(&away.ok(&["reinstate", text(&notice, "/notice")]), "/origin"), "local:review");
    assert!(!found(away, ABOUT, "aldrin").is_empty());
    assert_eq!(head(away), before);
}
