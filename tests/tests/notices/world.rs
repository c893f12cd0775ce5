//! SRC-09, A12: retractions that the world publishes, on real articles and the real list.

use std::path::Path;

use plumb_tests::{Home, Organisation, RunningNode, count, data, list, text};
use serde_json::Value;
use tempfile::TempDir;

/// A JATS article as its publisher's page would show it: title, own DOI in the head, the text of its paragraphs, and the
/// references with the DOIs that it cites.
fn page_of(jats: &str) -> String {
    let between = |from: &str, to: &str| {
        let rest = &jats[jats.find(from).unwrap() + from.len()..];
        &rest[..rest.find(to).unwrap()]
    };
    let doi = between("<article-id pub-id-type=\"doi\">", "</article-id>");
    let title = between("<article-title>", "</article-title>");
    let paragraphs: Vec<String> = jats
        .match_indices("<p>")
        .filter_map(|(at, _)| Some(format!("<p>{}</p>", strip(&jats[at + 3..at + jats[at..].find("</p>")?]))))
        .collect();
    let back = jats.find("<ref-list").map_or("", |at| &jats[at..]);
    format!(
        "<!doctype html><html><head><title>{}</title><meta name=\"citation_doi\" content=\"{doi}\"></head><body><article>\
         <h1>{}</h1>{}<h2>References</h2><p>{}</p></article></body></html>",
        strip(title),
        strip(title),
        paragraphs.join("\n"),
        strip(back),
    )
}

/// Text without tags; what is left of a tag never stays.
fn strip(markup: &str) -> String {
    let mut text = String::new();
    let mut depth = 0usize;
    for c in markup.chars() {
        match c {
            '<' => depth += 1,
            '>' => depth = depth.saturating_sub(1),
            c if depth == 0 => text.push(c),
            _ => {}
        }
    }
    text
}

fn note(at: &Path, name: &str, doi: &str) {
    let body = format!(
        "# Notes on {name}\n\ndoi: {doi}\n\nThe {name} notes describe how the {name} flask was cooled overnight in a bath of \
         brine, and weighed again at noon on the following day by the same person with the same balance.\n"
    );
    std::fs::write(at.join(format!("{name}.md")), body).unwrap();
}

fn take_in(home: &Home, path: &Path) -> Value {
    home.ok(&["ingest", path.to_str().unwrap(), "--sensitivity", "public"])
}

fn watch(home: &Home, file: &Path, more: &[&str]) -> Value {
    let view = home.ok(&[&["notices", "watch", file.to_str().unwrap()], more].concat());
    view[0].clone()
}

fn state_of(home: &Home, name: &str) -> String {
    text(&home.ok(&["sources", name]), "/0/state").to_string()
}

fn done<'a>(view: &'a Value, doi: &str) -> Vec<(&'a str, &'a str)> {
    let of = list(view, "/matches").iter().filter(|m| m["doi"] == doi);
    of.map(|m| (text(m, "/nature"), text(m, "/done"))).collect()
}

#[test]
fn the_real_list_finds_the_retracted_paper_and_leaves_the_others() {
    let (Some(jats), Some(tsv)) = (data("retractions/jats"), data("retractions/retraction_watch_dois.tsv")) else {
        return;
    };
    let scratch = TempDir::new().unwrap();
    let at = scratch.path();
    let home = Organisation::found(at, "Halden").node(at, "library", "person-noor-vasquell");
    // A running node, so that not every command starts one of its own.
    let _node = RunningNode::start(&home, &[]);
    let papers = at.join("papers");
    std::fs::create_dir(&papers).unwrap();
    for entry in std::fs::read_dir(&jats).unwrap().map(Result::unwrap) {
        let article = std::fs::read_to_string(entry.path()).unwrap();
        let name = entry.path().with_extension("html").file_name().unwrap().to_owned();
        std::fs::write(papers.join(name), page_of(&article)).unwrap();
    }
    for (name, doi) in [
        ("Pcbi", "10.1371/JOURNAL.pcbi.0030051"),
        ("Reinstated", "https://doi.org/10.1001/jama.2021.16685"),
        ("Corrected", "10.1001/jama.2015.2252"),
        ("Doubted", "10.1001/archinte.166.12.1256"),
        ("Both", "10.1001/archinternmed.2012.1278"),
    ] {
        note(&papers, name, doi);
    }
    let job = take_in(&home, &papers);
    assert_eq!((count(&job, "/new"), list(&job, "/parked").len()), (13, 0), "{job:#}");
    // Thousands of other sources with DOIs that the list does not have.
    let many: String = (0..3000)
        .map(|i| format!("{{\"id\": \"r{i}\", \"text\": \"doi: 10.99999/plumb.{i}\\nA record about sample {i}.\"}}\n"))
        .collect();
    std::fs::write(at.join("many.jsonl"), many).unwrap();
    assert_eq!(count(&take_in(&home, &at.join("many.jsonl")), "/new"), 3000);
    let log = home.ok(&["audit", "checkpoint"]);

    let planned = watch(&home, &tsv, &["--dry-run"]);
    assert!(list(&planned, "/matches").iter().all(|m| m["done"] == "would_apply"), "{planned:#}");
    assert_eq!(home.ok(&["notices", "list"]), Value::Array(vec![]), "a plan changes nothing");

    let begun = std::time::Instant::now();
    let view = watch(&home, &tsv, &["--complete"]);
    println!("62,625 lines against 3,013 sources took {:?}", begun.elapsed());
    assert_eq!((count(&view, "/records"), count(&view, "/sources_with_doi")), (62_625, 3_013), "{view:#}");
    assert_eq!(done(&view, "10.1371/journal.ppat.0020025"), [("retraction", "applied")]);
    assert_eq!(done(&view, "10.1371/journal.pcbi.0030051"), [("retraction", "applied")], "case does not matter");
    assert_eq!(done(&view, "10.1001/archinternmed.2012.1278").len(), 2);
    assert_eq!(done(&view, "10.1001/jama.2021.16685"), [], "a reinstatement alone is no retraction");
    // The notices are not retracted, nor is who cites a retracted paper, nor who has companions.
    assert_eq!(count(&view, "/matched"), 6, "{view:#}");
    for (name, state) in [
        ("retracted-paper-ppat.0020025.html", "retracted"),
        ("Pcbi.md", "retracted"),
        ("Both.md", "retracted"),
        ("Reinstated.md", "active"),
        ("Corrected.md", "active"),
        ("Doubted.md", "active"),
        ("cites-retracted-pone.0152459.html", "active"),
        ("paper-with-companions-pmed.0020124.html", "active"),
        ("notice-retraction-pcbi.0030158.html", "active"),
        ("notice-retraction-ppat.1005207.html", "active"),
        ("notice-correction-pone.0097541.html", "active"),
    ] {
        assert_eq!(state_of(&home, name), state, "{name}");
    }
    for name in ["Corrected.md", "Doubted.md"] {
        assert!(home.ok(&["sources", name])[0]["notice"].is_string(), "{name} is marked");
    }
    let shown = home.ok(&["notices", "list", "--limit", "100"]);
    assert!(shown.as_array().unwrap().iter().all(|n| n["origin"] == "world:retraction-watch"), "{shown:#}");
    let n_notices = shown.as_array().unwrap().len();
    assert_eq!(home.ok(&["audit", "checkpoint"]), log, "nothing of it is published");

    // Once more: everything is known.
    let again = watch(&home, &tsv, &["--complete"]);
    assert!(list(&again, "/matches").iter().all(|m| m["done"] == "known"), "{again:#}");
    assert_eq!(home.ok(&["notices", "list", "--limit", "100"]).as_array().unwrap().len(), n_notices);

    // The text of the retracted paper does not come back under another name.
    let copy = at.join("copy.html");
    std::fs::copy(papers.join("retracted-paper-ppat.0020025.html"), &copy).unwrap();
    home.run(&["ingest", copy.to_str().unwrap()]).expect(7);
    // What is taken in after the list is compared with it too.
    note(at, "Late", "10.1371/journal.ppat.1003435");
    take_in(&home, &at.join("Late.md"));
    assert_eq!(state_of(&home, "Late.md"), "retracted");

    // A newer list without it lifts it; one of them was reinstated; the rest stays.
    let lines = std::fs::read_to_string(&tsv).unwrap();
    let newer: String = lines
        .lines()
        .filter(|line| !line.starts_with("10.1371/journal.pcbi.0030051\t"))
        .map(|line| match line.starts_with("10.1371/journal.ppat.1003435\t") {
            true => "10.1371/journal.ppat.1003435\tReinstatement\t\t\tA\n".to_string(),
            false => format!("{line}\n"),
        })
        .collect();
    std::fs::write(at.join("newer.tsv"), newer).unwrap();
    let view = watch(&home, &at.join("newer.tsv"), &["--complete"]);
    assert_eq!(done(&view, "10.1371/journal.pcbi.0030051"), [("retraction", "lifted")], "{view:#}");
    assert_eq!(done(&view, "10.1371/journal.ppat.1003435"), [("retraction", "lifted")]);
    assert_eq!((state_of(&home, "Pcbi.md"), state_of(&home, "Late.md")), ("active".to_string(), "active".to_string()));
    assert_eq!(state_of(&home, "retracted-paper-ppat.0020025.html"), "retracted");
}

/// Both directions of a Crossref record, one after the other, on the same work.
#[test]
fn crossref_records_are_read_in_both_directions() {
    let scratch = TempDir::new().unwrap();
    let at = scratch.path();
    let home = Organisation::found(at, "Halden").node(at, "library", "person-noor-vasquell");
    for (name, doi) in [("Work", "10.5555/Work"), ("Notice", "10.5555/notice"), ("Edition", "10.5555/edition")] {
        note(at, name, doi);
        take_in(&home, &at.join(format!("{name}.md")));
    }
    let write = |name: &str, json: Value| {
        let file = at.join(name);
        std::fs::write(&file, json.to_string()).unwrap();
        file
    };
    let update = |doi: &str, kind: &str| {
        serde_json::json!([{"DOI": doi, "type": kind, "source": "publisher",
        "updated": {"date-parts": [[2031, 5, null]]}}])
    };
    let notice = write(
        "notice.json",
        serde_json::json!({"status": "ok", "message": {"DOI": "10.5555/NOTICE", "title": ["Retraction: the work"],
            "update-to": update("10.5555/wORK", "retraction")}}),
    );
    let view = watch(&home, &notice, &[]);
    assert_eq!(done(&view, "10.5555/work"), [("retraction", "applied")], "{view:#}");
    assert_eq!(text(&view, "/matches/0/notice_doi"), "10.5555/notice");
    assert_eq!((state_of(&home, "Work.md"), state_of(&home, "Notice.md")), ("retracted".into(), "active".into()));

    let work = write(
        "work.json",
        serde_json::json!({"DOI": "10.5555/work", "updated-by": update("10.5555/notice", "retraction")}),
    );
    let view = watch(&home, &work, &[]);
    assert_eq!(done(&view, "10.5555/work"), [("retraction", "known")], "the other direction says the same: {view:#}");

    let edition = write(
        "edition.json",
        serde_json::json!({"DOI": "10.5555/edition-2", "update-to": update("10.5555/edition", "new_edition")}),
    );
    let view = watch(&home, &edition, &[]);
    assert_eq!(text(&view, "/matches/0/kind"), "correction", "{view:#}");
    assert_eq!(state_of(&home, "Edition.md"), "active", "the newer edition is not held here");
    let notice = home.ok(&["notices", "show", text(&home.ok(&["sources", "Edition.md"]), "/0/notice")]);
    assert_eq!((text(&notice, "/origin"), text(&notice, "/reason")), ("world:crossref", "superseded"), "{notice:#}");
    for bad in ["{\"DOI\": 1}", "nothing", "[", "{\"message\": {}}"] {
        std::fs::write(at.join("bad"), bad).unwrap();
        let code = home.run(&["notices", "watch", at.join("bad").to_str().unwrap()]).code;
        assert!(code == 2 || bad.contains("DOI"), "{bad}");
    }
}
