//! (j) What a notice changes is the dependency closure of what it names: an independent script computes it from what the
//! node shows, and the node's events say the same.

use std::collections::BTreeSet;
use std::process::Command;
use std::time::Duration;

use plumb_tests::{Organisation, RunningNode, finish, list, text, workspace_root};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::take_in;

const ALONE: &str = "The sluice at Marram was opened for nine hours during the April flood.";
const SHARED: &str = "The sluice at Marram was damaged by driftwood during the April flood.";
const QUESTION: &str = "What happened to the sluice at Marram during the April flood?";

#[test]
fn the_changed_set_is_the_closure() {
    let scratch = TempDir::new().unwrap();
    let at = scratch.path();
    let home = Organisation::found(at, "Halden").node(at, "hydrology", "person-noor-vasquell");
    let mut node = RunningNode::start(&home, &[]);
    for (name, body) in [
        ("first", format!("# First report\n\n{ALONE}\n\n## Second part\n\n{SHARED}\n")),
        ("second", format!("# Second report\n\n{SHARED}\n")),
        ("other", "# Otters\n\nOtters were seen at the mouth of the Skerry brook on three mornings.\n".to_string()),
    ] {
        let file = at.join(format!("{name}.md"));
        std::fs::write(&file, body).unwrap();
        home.ok(&["ingest", file.to_str().unwrap(), "--sensitivity", "public"]);
    }
    take_in(&home, at, "aldrin");
    let cites = home.ok(&["ask", QUESTION, "--save"]);
    let apart = home.ok(&["ask", "Where were otters seen?", "--save"]);
    let claims: Vec<&str> = list(&cites, "/answer/claims").iter().map(|claim| text(claim, "/text")).collect();
    assert!(claims.contains(&ALONE) && claims.iter().filter(|c| **c == SHARED).count() == 2, "{claims:?}");
    // One of the two was given out.
    let out = at.join("given.car");
    home.ok(&["bundle", "export", text(&cites, "/bundle"), "--out", out.to_str().unwrap()]);

    // What the script gets: what the node shows, before anything was retracted.
    let state = json!({"sources": home.ok(&["sources"]), "answers": home.ok(&["answers", "list"]),
        "given_out": [text(&cites, "/bundle")]});
    let file = at.join("state.json");
    std::fs::write(&file, state.to_string()).unwrap();
    let before = events(&home);
    assert_eq!(before, [] as [Value; 0]);
    let notice = super::retract(&home, "first.md", "retraction", &[]);
    let source = text(&home.ok(&["notices", "show", &notice]), "/targets/0/source").to_string();

    let mut script = Command::new("python3");
    script.arg(workspace_root().join("tests/interop/closure.py")).arg(&file).arg(&source);
    let expected = finish(script, Duration::from_secs(30)).expect(0);
    let expected: BTreeSet<String> =
        expected.as_array().unwrap().iter().map(|line| line.as_str().unwrap().to_string()).collect();
    let told = events(&home);
    assert_eq!(told.iter().map(line).collect::<BTreeSet<_>>(), expected, "{told:#?}");
    assert!(expected.len() >= 6, "a source, an answer, three claims and a file: {expected:?}");
    assert!(
        !expected.iter().any(|line| line.contains(text(&apart, "/bundle"))),
        "what rests on nothing of it is left alone"
    );
    let shown = home.ok(&["answers", "show", text(&cites, "/bundle")]);
    let states: Vec<&str> = list(&shown, "/claims").iter().map(|claim| text(claim, "/state")).collect();
    assert_eq!(states.iter().filter(|s| **s == "weakened").count(), 2, "{shown:#}");
    assert_eq!(home.ok(&["answers", "show", text(&apart, "/bundle")])["state"], "current");

    // A consumer that works them off one by one hears each once, in one order, also across a restart; ids are not made
    // anew.
    let http = node.http("person-noor-vasquell");
    let first = http.get("/v1/notices/events?limit=1").expect(200);
    let mut seen = vec![text(&first, "/events/0/id").to_string()];
    assert!(node.restart(&[]).success());
    let http = node.http("person-noor-vasquell");
    loop {
        let page = http.get(&format!("/v1/notices/events?limit=1&after={}", seen.last().unwrap())).expect(200);
        let Some(event) = list(&page, "/events").first() else { break };
        seen.push(text(event, "/id").to_string());
    }
    assert_eq!(seen, told.iter().map(|event| text(event, "/id").to_string()).collect::<Vec<_>>());
    assert_eq!(seen.iter().collect::<BTreeSet<_>>().len(), seen.len());
    http.get("/v1/notices/events?after=nothing").expect(404);
}

fn events(home: &plumb_tests::Home) -> Vec<Value> {
    list(&home.ok(&["notices", "events", "--limit", "1000"]), "/events").to_vec()
}

fn line(event: &Value) -> String {
    let claim = event["claim"].as_str().map(|claim| format!(".{claim}")).unwrap_or_default();
    format!("{} {}{claim} {}", text(event, "/what"), text(event, "/subject"), text(event, "/state"))
}
