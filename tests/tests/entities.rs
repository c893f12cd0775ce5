//! The entity graph of a node through its command line: made, linked, asked for distances, kept, filled from facts.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use plumb_tests::{Home, Organisation, RunningNode, finish, list, text};
use serde_json::Value;
use tempfile::TempDir;

const GIT_TIME: Duration = Duration::from_secs(60);

fn home(scratch: &TempDir) -> Home {
    let org = Organisation::found(scratch.path(), "Northwater");
    let home = org.node(scratch.path(), "operations", "person-mara");
    home.add_person("person-jon", &["operations"]);
    home
}

fn ids(home: &Home, kind: &str) -> Vec<String> {
    let all = home.ok(&["entity", "list", "--kind", kind]);
    all.as_array().unwrap().iter().map(|e| text(e, "/id").to_string()).collect()
}

fn distance(home: &Home, from: &str, to: &str) -> Option<u64> {
    home.ok(&["entity", "distance", from, to])["distance"].as_u64()
}

/// The edges of an entity as lines: `source relation target weight`.
fn edges(home: &Home, entity: &str) -> Vec<String> {
    let page = home.ok(&["entity", "show", entity]);
    let line = |e: &Value| format!("{} {} {}", text(e, "/source"), text(e, "/relation"), text(e, "/target"));
    list(&page, "/edges").iter().chain(list(&page, "/edges_into")).map(line).collect()
}

fn weight(home: &Home, source: &str, target: &str) -> u64 {
    let page = home.ok(&["entity", "show", source]);
    let edge = list(&page, "/edges").iter().find(|e| text(e, "/target") == target).cloned();
    edge.unwrap_or_else(|| panic!("no edge from {source} to {target} in {page:#}"))["weight"].as_u64().unwrap()
}

#[test]
fn entities_are_made_linked_renamed_and_outlive_the_process() {
    let scratch = TempDir::new().unwrap();
    let home = home(&scratch);
    let added = home.ok(&["entity", "add", "team", "Pump Crew", "--set", "purpose=keeps pumps running"]);
    assert_eq!((text(&added, "/id"), text(&added, "/fields/purpose")), ("team-pump-crew", "keeps pumps running"));
    home.ok(&["entity", "add", "person", "Mara Lindqvist", "--id", "person-mara"]);
    home.ok(&["entity", "add", "project", "Plant"]);
    // The department is not there yet: nothing of the team is kept.
    let refused = home.run(&["entity", "add", "team", "Lab", "--set", "department=department-lab"]);
    assert!(refused.stderr.contains("create the entity first"), "{refused}");
    refused.expect(2);
    assert_eq!(ids(&home, "team"), ["team-pump-crew"]);

    let lead = home.ok(&["entity", "link", "mara lindqvist", "member_of", "pump crew", "--role", "lead"]);
    assert_eq!((text(&lead, "/source"), text(&lead, "/role")), ("person-mara", "lead"));
    let wrong = home.run(&["entity", "link", "person-mara", "member_of", "plant"]);
    assert!(wrong.stderr.contains("person member_of no project"), "{wrong}");
    assert_eq!(text(&wrong.expect(2), "/reason"), "invalid_request");
    home.run(&["entity", "link", "person-mara", "works_on", "nobody-knows-it"]).expect(1);
    assert_eq!(text(&home.run(&["entity", "add", "team", "pump crew"]).expect(1), "/reason"), "conflict");
    assert_eq!(home.run(&["entity", "add", "robot", "x"]).code, 2);

    let renamed = home.ok(&["entity", "rename", "pump crew", "Flow Operations"]);
    assert_eq!((text(&renamed, "/id"), text(&renamed, "/name")), ("team-pump-crew", "Flow Operations"));
    home.ok(&["entity", "alias", "flow operations", "FlowOps"]);
    for name in ["Pump Crew", "pump_crew", "flow-operations", "FLOWOPS", "team-pump-crew"] {
        assert_eq!(text(&home.ok(&["entity", "show", name]), "/entity/id"), "team-pump-crew", "{name}");
    }

    // What one process wrote another one knows, and a running one does too.
    let mut node = RunningNode::start(&home, &[]);
    assert_eq!(edges(&home, "flowops"), ["person-mara member_of team-pump-crew"]);
    home.ok(&["entity", "link", "flowops", "owns", "plant"]);
    assert_eq!(distance(&home, "person-mara", "plant"), Some(2));
    assert!(node.restart(&[]).success());
    assert_eq!(distance(&home, "person-mara", "plant"), Some(2));
    home.ok(&["rebuild"]);
    assert_eq!(distance(&home, "person-mara", "plant"), Some(2));
    home.ok(&["entity", "unlink", "flowops", "owns", "plant"]);
    assert_eq!(distance(&home, "person-mara", "plant"), None);
    home.run(&["entity", "unlink", "flowops", "owns", "plant"]).expect(1);

    // A member may look over HTTP, and change nothing.
    let jon = node.http("person-jon");
    let seen = jon.get("/v1/entities/flowops");
    assert_eq!((seen.status, text(&seen.json(), "/entity/id")), (200, "team-pump-crew"));
    let body = serde_json::json!({ "kind": "team", "name": "Mine" });
    assert_eq!(jon.post("/v1/entities", &body).status, 403);
    assert_eq!(jon.get("/v1/entities/team-nowhere").status, 404);
    assert_eq!(jon.get("/v1/entities?kind=robot").status, 400);

    home.ok(&["entity", "remove", "flowops"]);
    assert!(edges(&home, "person-mara").is_empty() && ids(&home, "team").is_empty());
    assert!(node.stop().success());
    home.run(&["entity", "show", "flowops"]).expect(1);
    let audited = home.ok(&["audit", "list", "--action", "entity.remove"]);
    assert_eq!(audited.as_array().map(Vec::len), Some(1), "{audited:#}");
}

#[test]
fn five_steps_are_out_of_reach() {
    let scratch = TempDir::new().unwrap();
    let home = home(&scratch);
    for n in 0..6 {
        home.ok(&["entity", "add", "system", &format!("s{n}")]);
    }
    for n in 0..5 {
        home.ok(&["entity", "link", &format!("s{n}"), "depends_on", &format!("s{}", n + 1)]);
    }
    let found: Vec<Option<u64>> = (0..6).map(|n| distance(&home, "s0", &format!("s{n}"))).collect();
    assert_eq!(found, [Some(0), Some(1), Some(2), Some(3), Some(4), None]);
    let near = home.ok(&["entity", "distance", "s4", "s0"]);
    assert_eq!(near["proximity"].as_u64(), Some(200), "and in the other direction");
}

#[test]
fn a_unit_shows_on_an_entity_to_who_may_read_it() {
    let scratch = TempDir::new().unwrap();
    let home = home(&scratch);
    home.ok(&["entity", "add", "topic", "pumps"]);
    let chunk = |name: &str, sensitivity: &str| {
        let file = scratch.path().join(format!("{name}.md"));
        std::fs::write(&file, format!("# {name}\n\nThe {name} of the station.\n")).unwrap();
        home.ok(&["ingest", file.to_str().unwrap(), "--sensitivity", sensitivity]);
        let found = home.ok(&["search", name]);
        let hit = list(&found, "/hits").iter().find(|h| text(h, "/title") == name).unwrap().clone();
        text(&hit, "/chunk").to_string()
    };
    let (open, secret) = (chunk("valves", "internal"), chunk("salaries", "confidential"));
    for unit in [&open, &secret] {
        home.ok(&["entity", "link", unit, "about", "pumps"]);
    }
    let units = |person: &str| -> Vec<String> {
        let page = home.ok(&["entity", "show", "pumps", "--as", person]);
        list(&page, "/units").iter().map(|u| text(u, "/title").to_string()).collect()
    };
    let mut all = units("person-mara");
    all.sort();
    assert_eq!((all, units("person-jon")), (vec!["salaries".into(), "valves".into()], vec!["valves".to_string()]));
    // What somebody may not read is absent to them, whatever they do with its name.
    for verb in ["link", "unlink"] {
        let refused = home.run(&["entity", verb, &secret, "about", "pumps", "--as", "person-jon"]);
        assert_eq!(text(&refused.expect(1), "/reason"), "not_found");
    }
    home.run(&["entity", "link", &open, "about", "person-mara"]).expect(1);
    home.ok(&["entity", "unlink", &open, "about", "pumps"]);
    assert_eq!(units("person-jon"), Vec::<String>::new());
}

/// Runs git in a folder, as an author at a time.
fn git(dir: &Path, author: (&str, &str), args: &[&str]) {
    let mut command = Command::new("git");
    command.arg("-C").arg(dir).args(["-c", "commit.gpgsign=false"]).args(args);
    for who in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{who}_NAME"), author.0).env(format!("GIT_{who}_EMAIL"), author.1);
    }
    command.env("GIT_CONFIG_GLOBAL", "/dev/null");
    let outcome = finish(command, GIT_TIME);
    assert_eq!(outcome.code, 0, "{outcome}");
}

#[test]
fn a_graph_is_filled_from_people_manifests_and_history() {
    let scratch = TempDir::new().unwrap();
    let home = home(&scratch);
    let plant = scratch.path().join("plant");
    let write = |path: &str, words: &str| {
        let file = plant.join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, words).unwrap();
    };
    write("Cargo.toml", "[workspace]\nmembers = [\"telemetry\", \"wire\"]\n");
    let package = |name: &str, more: &str| format!("[package]\nname = \"{name}\"\nkeywords = [\"pumps\"]\n{more}");
    write(
        "telemetry/Cargo.toml",
        &package("telemetry", "[dependencies]\nwire = { path = \"../wire\" }\nserde = \"1\"\n"),
    );
    write("wire/Cargo.toml", &package("wire", ""));
    write("board/package.json", r#"{ "name": "board", "dependencies": { "telemetry": "*" } }"#);
    write("node_modules/left/package.json", r#"{ "name": "left-pad" }"#);
    write("broken/Cargo.toml", "[package");
    write("telemetry/src/alarms/mod.rs", "one\n");
    write("telemetry/src/lib.rs", "one\n");
    // Mara is among the node's people by name; Ove is not.
    let (mara, ove) = (("Mara", "mara@northwater.example"), ("Ove Holm", "ove@example.org"));
    git(&plant, mara, &["init", "--quiet", "--initial-branch=main"]);
    git(&plant, mara, &["remote", "add", "origin", "https://mara:s3cret@git.northwater.example/plant.git"]);
    git(&plant, mara, &["add", "."]);
    git(&plant, mara, &["commit", "--quiet", "-m", "Begin"]);
    for n in 0..3 {
        write("telemetry/src/alarms/mod.rs", &format!("{n}\n"));
        git(&plant, mara, &["commit", "--quiet", "-am", "Work"]);
    }
    write("wire/src/lib.rs", "one\n");
    git(&plant, ove, &["add", "."]);
    git(&plant, ove, &["commit", "--quiet", "-m", "Wire"]);

    let people = home.ok(&["entity", "populate"]);
    assert_eq!((people["project"].as_str(), people["commits"].as_u64()), (None, Some(0)));
    assert_eq!(ids(&home, "person"), ["person-jon", "person-mara"]);
    assert_eq!(distance(&home, "person-jon", "organization-northwater"), Some(2));

    let populate = ["entity", "populate", plant.to_str().unwrap()];
    let filled = home.ok(&populate);
    assert_eq!((text(&filled, "/project"), filled["commits"].as_u64()), ("project-plant", Some(5)), "{filled:#}");
    assert!(filled["remarks"].to_string().contains("broken/Cargo.toml is passed over"), "{filled:#}");
    assert_eq!(ids(&home, "system"), ["system-board", "system-telemetry", "system-wire"]);
    assert_eq!(ids(&home, "topic"), ["topic-pumps"]);
    assert_eq!(ids(&home, "person"), ["person-jon", "person-mara", "person-ove-holm"]);
    let project = home.ok(&["entity", "show", "plant"]);
    assert_eq!(text(&project, "/entity/fields/repo_url"), "https://git.northwater.example/plant.git");
    let telemetry = edges(&home, "telemetry");
    for edge in ["system-telemetry depends_on system-wire", "system-board depends_on system-telemetry"] {
        assert!(telemetry.iter().any(|e| e == edge), "{edge} in {telemetry:?}");
    }
    // Four commits of one, one of the other: n / (n + 10), and 50 for each that touched a module.
    let alarms = "module-telemetry-src-alarms";
    assert_eq!((weight(&home, "person-mara", "project-plant"), weight(&home, "ove holm", "project-plant")), (285, 90));
    assert_eq!(weight(&home, "person-mara", alarms), 200);
    assert_eq!(distance(&home, "ove holm", "system-wire"), Some(2));

    // The same facts once more change nothing that counts.
    let before = (edges(&home, "telemetry"), edges(&home, "person-mara"));
    home.ok(&populate);
    assert_eq!((edges(&home, "telemetry"), edges(&home, "person-mara")), before);
    assert_eq!(weight(&home, "person-mara", alarms), 200);
    home.run(&["entity", "populate", scratch.path().join("nowhere").to_str().unwrap()]).expect(1);
}
