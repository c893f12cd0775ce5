//! Portable contexts through the program.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::support::Place;

fn files(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    let mut open = vec![dir.to_path_buf()];
    while let Some(dir) = open.pop() {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => open.push(path),
                false => drop(all.insert(path.clone(), std::fs::read(&path).unwrap_or_default())),
            }
        }
    }
    all
}

#[test]
fn a_context_answers_the_same_when_its_sources_and_its_node_are_gone() {
    let place = Place::founded();
    let pump = place.write("docs/pump.md", "# Pump 7\n\nPump 7 trips when suction pressure falls below 0.4 bar.\n");
    let valve = place.write("docs/valve.md", "# Valve\n\nThe valve crew met on Monday.\n");
    place.run(&["ingest", &pump, &valve], 0);
    let file = place.path("pump.json").display().to_string();
    let made = place.run(&["context", "make", "When does pump 7 trip?", "--out", &file, "--json"], 0).json();
    assert!(made["session_id"].as_str().unwrap().starts_with("lens-session:"), "{made}");
    assert_eq!(made["ranked_chunks"][0]["chunk"]["title"], "Pump 7", "{made}");

    let before = place.run(&["context", "answer", &file, "--json"], 0);
    let source = before.json();
    assert_eq!(source["citations"], serde_json::json!([1]), "{source}");
    assert!(source["text"].as_str().unwrap().contains("suction pressure falls below 0.4 bar"), "{source}");
    let kept = files(&place.home);
    for _ in 0..20 {
        place.run(&["context", "answer", &file, "--json"], 0);
        place.run(&["context", "show", &file, "--markdown"], 0);
    }
    assert_eq!(files(&place.home), kept, "reading a context changes nothing");

    std::fs::remove_file(&pump).unwrap();
    std::fs::remove_dir_all(&place.home).unwrap();
    assert_eq!(place.run(&["context", "answer", &file, "--json"], 0).stdout, before.stdout);
    let page = place.run(&["context", "answer", &file, "--markdown"], 0).text();
    assert!(page.starts_with("# Lens Answer"), "{page}");
}

#[test]
fn what_is_no_context_is_refused_and_what_knows_nothing_abstains() {
    let place = Place::founded();
    let bad = place.write("bad.json", r#"{"format":"knitweb-lens-context","version":2,"session":{}}"#);
    place.run(&["context", "show", &bad], 1);
    place.run(&["context", "show", &place.path("absent").display().to_string()], 1);
    let made = place.run(&["context", "make", "quantum weather banana", "--json"], 3).json();
    assert_eq!(made["ranked_chunks"], serde_json::json!([]));
}
