//! Finding by meaning, as its users see it: words that nobody wrote find the text, what may not be read stays out, and what
//! is deleted is gone from the vectors too.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::path::Path;
use std::time::Duration;

use plumb_tests::{Home, Organisation, RunningNode, hits, list, text, until};
use serde_json::Value;
use tempfile::TempDir;

const PERSON: &str = "person-mara";

const NOTES: [(&str, &str); 5] = [
    ("reservoir.md", "The reservoir is empty; the upper basin holds no water at all."),
    ("ballots.md", "Ballots are counted by hand after the polls close."),
    ("gearbox.md", "The gearbox of the lifting crane was replaced last spring."),
    ("wages.md", "Each employee is paid on the last working day of the month."),
    ("bread.md", "Rye bread needs a sourdough and a long, slow rise."),
];

fn home(scratch: &Path) -> Home {
    Organisation::found(scratch, "Northwater").node(scratch, "operations", PERSON)
}

fn take_in(home: &Home, scratch: &Path) {
    let folder = scratch.join("notes");
    std::fs::create_dir_all(&folder).unwrap();
    for (name, note) in NOTES {
        std::fs::write(folder.join(name), format!("{note}\n")).unwrap();
    }
    home.ok(&["ingest".as_ref(), folder.as_os_str()]);
}

fn search(home: &Home, query: &str) -> Value {
    home.ok(&["search", query])
}

fn names(found: &Value) -> Vec<String> {
    let name = |hit: &Value| text(hit, "/uri").rsplit(['/', ':']).next().unwrap().to_string();
    hits(found).iter().map(name).collect()
}

#[test]
fn words_that_nobody_wrote_find_the_text() {
    let scratch = TempDir::new().unwrap();
    let home = home(scratch.path());
    take_in(&home, scratch.path());
    let question = "drought dried up lake";
    assert_eq!(names(&search(&home, question)), [""; 0], "no word of it stands anywhere");

    home.use_model("embedded");
    let status = home.ok(&["model", "status", "--wait"]);
    assert_eq!((&status["serving"]["embedded"], &status["serving"]["waiting"]), (&5.into(), &0.into()));
    assert!(text(&status, "/serving/model").starts_with("plumb-model-1/paraphrase-minilm-l3-v2/q4/384/"));
    let found = search(&home, question);
    assert_eq!(names(&found)[0], "reservoir.md");
    assert!(text(&found, "/model").contains("paraphrase-minilm-l3-v2"));
    assert!(found["hits"][0]["similarity"].as_u64().unwrap() > 200, "{found}");
    // Words count as they did: an exact term is not outranked by what is like it.
    assert_eq!(names(&search(&home, "sourdough"))[0], "bread.md");
    assert!(names(&search(&home, "\"lifting crane\"")).iter().eq(["gearbox.md"]), "a phrase stays a phrase");
    // The vectors lie beside the index and are used again.
    assert_eq!(names(&search(&home, question))[0], "reservoir.md");

    home.use_model("off");
    assert_eq!(names(&search(&home, question)), [""; 0]);
    home.use_model("all-minilm-l6-v2-f32");
    let missing = home.run(&["model", "status", "--wait"]);
    assert_eq!(missing.code, 1, "{missing}");
    assert!(missing.stderr.contains("plumb model add"), "it says what to do: {missing}");
}

#[test]
fn what_is_withdrawn_and_what_may_not_be_read_is_not_found_by_meaning() {
    let scratch = TempDir::new().unwrap();
    let home = home(scratch.path());
    home.add_person("person-guest", &[]);
    home.use_model("embedded");
    take_in(&home, scratch.path());
    let secret = scratch.path().join("plan.md");
    std::fs::write(&secret, "The northern storage lake will be drained for repairs.\n").unwrap();
    home.ok(&["ingest".as_ref(), secret.as_os_str(), "--sensitivity".as_ref(), "confidential".as_ref()]);
    home.ok(&["model", "status", "--wait"]);
    let node = RunningNode::start(&home, &[]);
    let question = "drought dried up lake";
    let seen = |person: &str| names(&home.ok(&["search", question, "--as", person]));
    assert!(seen(PERSON).contains(&"plan.md".to_string()));
    let guest = home.ok(&["search", question, "--as", "person-guest"]);
    assert!(!names(&guest).contains(&"plan.md".to_string()), "{guest}");
    assert!(!guest.to_string().contains("drained"));

    let found = home.ok(&["search", question]);
    let reservoir = list(&found, "/hits").iter().find(|hit| text(hit, "/uri").ends_with("reservoir.md")).unwrap();
    home.ok(&["retract", text(reservoir, "/source"), "--reason", "data-error"]);
    assert!(!seen(PERSON).contains(&"reservoir.md".to_string()), "withdrawn and searched for at once");
    drop(node);
    assert!(!seen(PERSON).contains(&"reservoir.md".to_string()), "and after the process was killed");
}

/// A question that uses none of the words of an intent, nor the name of anybody, is understood by what it is like.
#[test]
fn a_paraphrase_is_understood_too() {
    let scratch = TempDir::new().unwrap();
    let home = home(scratch.path());
    take_in(&home, scratch.path());
    home.ok(&["entity", "populate"]);
    let purpose = "purpose=looks after the water reservoirs, basins and dams";
    home.ok(&["entity", "add", "team", "Group Seven", "--set", purpose]);
    home.use_model("embedded");
    let _node = RunningNode::start(&home, &[]);
    home.ok(&["model", "status", "--wait"]);
    let ask = |question: &str| home.ok(&["search", question, "--explain"]);
    let broken = "The display stays blank after I press the switch.";
    until("the exemplars have vectors", Duration::from_secs(60), || {
        text(&ask(broken), "/stages/intent/intent") == "debugging"
    });
    let clues = ask(broken)["stages"]["intent"]["clues"].to_string();
    assert!(clues.contains("like “The screen stays blank"), "{clues}");
    let people = "Who takes care of reservoirs and dams full of water?";
    until("the team has a vector", Duration::from_secs(60), || {
        list(&ask(people), "/stages/entities").iter().any(|e| text(e, "/entity") == "team-group-seven")
    });
    let found = ask(people);
    let like =
        list(&found, "/stages/entities").iter().find(|e| text(e, "/entity") == "team-group-seven").unwrap().clone();
    assert_eq!((text(&like, "/how"), like["alias"].is_null()), ("similar", true), "{like:#}");
    let bread = ask("How long does rye bread rise?");
    assert!(!list(&bread, "/stages/entities").iter().any(|e| text(e, "/entity") == "team-group-seven"), "{bread:#}");
}
