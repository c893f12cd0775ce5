//! Real documents: taken in once, known the second time, and quoted word for word.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::path::Path;
use std::time::Duration;

use plumb_tests::{Home, Organisation, citations, collapse, count, data, list, text};
use serde_json::Value;
use tempfile::TempDir;

const INGEST_TIME: Duration = Duration::from_secs(420);

/// How a source's own bytes are read by this test, which knows nothing of our adapters.
enum Source {
    /// As they are.
    Plain(&'static str),
    /// JSON Lines: the abstract of the record with this id, its sentences joined by spaces.
    Abstract(u64),
    /// HTML: tags taken out, white space collapsed.
    Html(&'static str),
    /// What the table of the collection says that a correct reader finds, white space collapsed.
    MustFind(&'static str),
}

#[test]
fn real_documents_are_known_again_and_quoted_verbatim() {
    let (Some(documents), Some(corpus)) = (data("documents"), data("scifact/corpus.jsonl")) else { return };
    let scratch = TempDir::new().unwrap();
    let home = Organisation::found(scratch.path(), "Reading Room").node(scratch.path(), "library", "person-reader");
    for (path, at_least) in [(&documents, 20), (&corpus, 5183)] {
        let first = ingest(&home, path);
        assert!(count(&first, "/new") >= at_least, "{first:#}");
        let parked = list(&first, "/parked");
        assert!(parked.iter().all(|p| text(p, "/reason").len() > 10), "each says why: {parked:#?}");
        println!("{}: {} new, {} parked, {} chunks", path.display(), first["new"], parked.len(), first["chunks"]);
        for parked in parked {
            println!("  parked {}: {}", text(parked, "/address"), text(parked, "/reason"));
        }

        let second = ingest(&home, path);
        assert_eq!((count(&second, "/new"), count(&second, "/superseded")), (0, 0), "{second:#}");
        assert_eq!(count(&second, "/unchanged"), count(&first, "/new") + count(&first, "/unchanged"), "{second:#}");
        assert_eq!(list(&second, "/parked"), parked, "what was parked stays so, for the same reason");
    }

    for (question, needle, source) in [
        (
            "Why was the dual license with MIT and CC0 chosen?",
            "because this lets users choose whether CC0 or MIT fits better on their work.",
            Source::Plain("adr/0001-use-CC0-or-MIT-as-license.md"),
        ),
        (
            "How much vitamin D does a multivitamin tablet contain?",
            "a multivitamin tablet that contains 10 micrograms (400 IU) vitamin D.",
            Source::Abstract(275294),
        ),
        (
            "In which year was the Mozilla free-software community created by members of Netscape?",
            "created in 1998 by members of Netscape.",
            Source::Html("html/wikipedia-mozilla.html"),
        ),
        (
            "With how many men is Johnston coming to raise the siege?",
            "fifty thousand men",
            Source::MustFind(
                "A report creeps into camp that Johnston is coming with fifty thousand men to raise the siege",
            ),
        ),
    ] {
        let answer = home.ok(&["ask", question]);
        let cited = citations(&answer);
        let carries = cited.iter().find(|(_, said)| collapse(said).contains(needle));
        let Some((_, said)) = carries else { panic!("`{needle}` is not cited: {answer:#}") };
        assert_verbatim(said, &source, &documents, &corpus);
        println!("{question}\n  {}", collapse(said));
    }
    for question in
        ["Which orchestra premiered the violin concerto of Sibelius?", "Who won the Eurovision Song Contest of 1974?"]
    {
        let answer = home.run(&["ask", question]).expect(3);
        assert_eq!(answer["answer"]["abstained"], true);
    }
    assert_eq!(home.ok(&["doctor"])["healthy"], true);
}

fn ingest(home: &Home, path: &Path) -> Value {
    home.run_within(INGEST_TIME, &["ingest".as_ref(), path.as_os_str()]).expect(0)
}

/// The passage stands in its source, read here by other means than ours.
#[track_caller]
fn assert_verbatim(said: &str, source: &Source, documents: &Path, corpus: &Path) {
    let read = |path: &str| std::fs::read_to_string(documents.join(path)).unwrap();
    match source {
        Source::Plain(path) => assert!(read(path).contains(said), "`{said}` is not in {path}"),
        Source::Abstract(id) => {
            let lines = std::fs::read_to_string(corpus).unwrap();
            let records = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
            let record = records.into_iter().find(|r| r["doc_id"] == *id).expect("the record is in the collection");
            let sentences: Vec<&str> = list(&record, "/abstract").iter().filter_map(Value::as_str).collect();
            assert!(sentences.join(" ").contains(said), "`{said}` is not in record {id}");
        }
        Source::Html(path) => {
            let plain = collapse(&without_tags(&read(path)));
            assert!(plain.contains(&collapse(said)), "`{said}` is not in {path}");
        }
        Source::MustFind(known) => {
            let said = collapse(said);
            assert!(said.contains(known) || known.contains(&said), "`{said}` does not match `{known}`");
        }
    }
}

/// The text between tags. References of characters that occur in ordinary prose are resolved.
fn without_tags(html: &str) -> String {
    let mut text = String::with_capacity(html.len());
    let mut rest = html;
    while let Some(open) = rest.find('<') {
        text.push_str(&rest[..open]);
        rest = rest[open..].find('>').map_or("", |close| &rest[open + close + 1..]);
    }
    text.push_str(rest);
    [("&nbsp;", " "), ("&#160;", " "), ("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&amp;", "&")]
        .iter()
        .fold(text, |text, (reference, character)| text.replace(reference, character))
}
