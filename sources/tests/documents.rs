//! Real documents and corpora, by the tables that came with them.
//!
//! They are found in `PLUMB_DATA`, by default in `shared/data` beside the workspace. Without them these tests fail;
//! whoever has them not sets `PLUMB_DATA_OPTIONAL=1`.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use plumb_core::content::MarkKind;
use plumb_sources::{
    MetaValue, ParkReason, Parked, ParkedItem, Registry, SignalEnvelope, SourceAdapter, Summary, declared_of,
    file_address, load, read_source, walk,
};

/// The data, or a loud word about its absence.
fn data() -> Option<PathBuf> {
    let path = std::env::var_os("PLUMB_DATA")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data"), PathBuf::from);
    if path.join("documents").is_dir() {
        return Some(path);
    }
    let message = format!("PLUMB_DATA absent: {} has no documents", path.display());
    if std::env::var_os("PLUMB_DATA_OPTIONAL").is_some_and(|value| value == "1") {
        eprintln!("SKIPPED: {message}");
        return None;
    }
    panic!("{message}; set PLUMB_DATA, or PLUMB_DATA_OPTIONAL=1 to skip");
}

struct Outcome {
    envelopes: Vec<SignalEnvelope>,
    parked: Vec<ParkedItem>,
    summary: Result<Summary, Parked>,
}

fn read(registry: &Registry, path: &Path) -> Outcome {
    let bytes = load(path, registry.limits()).expect("it is a file within bounds");
    let input = plumb_sources::Input::new(file_address(path), declared_of(path).as_deref(), bytes);
    let (mut envelopes, mut parked) = (Vec::new(), Vec::new());
    let summary = read_source(registry, &input, &mut |item| {
        match item {
            Ok(envelope) => envelopes.push(envelope),
            Err(item) => parked.push(item),
        }
        ControlFlow::Continue(())
    });
    Outcome { envelopes, parked, summary }
}

/// What a document must give.
enum Must {
    /// Pages (0 where there are none), title, and texts that must be found, in this order.
    Read(u32, &'static str, &'static [&'static str]),
    /// Why it is parked.
    Park(&'static str),
}
use Must::{Park, Read};

const LOREM: &str = "Lorem ipsum dolor sit amet, consetetur sadipscing elitr, sed diam nonumy eirmod";

/// The rows of `documents/README.md`, whole.
const DOCUMENTS: &[(&str, Must)] = &[
    (
        "pdf/minimal.pdf",
        Read(1, LOREM, &["Lorem ipsum dolor sit amet, consetetur sadipscing elitr", "no sea takimata sanctus"]),
    ),
    (
        "pdf/two-column.pdf",
        Read(
            3,
            "Two-Column Document with Lorem Ipsum",
            &[
                "This is a sample document with two columns filled",
                "Lorem ipsum dolor sit amet, consectetuer adipiscing elit.",
                "EU Countries Information",
                "Finland 5.5 338,424 Helsinki Finnish, Swedish",
            ],
        ),
    ),
    (
        "pdf/four-pages.pdf",
        Read(
            4,
            "Hello, here is some text without a meaning. This text should show what a printed text",
            &["This text should show what a printed text will look like at this place"],
        ),
    ),
    ("pdf/outline.pdf", Read(4, "Contents", &["1 Foo", "2 Bar", "3 Baz", "9 Baz"])),
    ("pdf/encrypted-openpassword.pdf", Park("encrypted")),
    (
        "pdf/encrypted-aes256-empty-password.pdf",
        Read(1, "pdf encryption test", &["pdf encryption test password: asdfzxcv"]),
    ),
    // The owner's password is empty, which opens it as well.
    (
        "pdf/encrypted-aes256-user-password.pdf",
        Read(1, "pdf encryption test", &["pdf encryption test password: asdfzxcv"]),
    ),
    ("pdf/scanned-image-only.pdf", Park("no_text")),
    (
        "pdf/scan-with-ocr-layer.pdf",
        Read(
            7,
            "THE SIEGE OF VICKSBURG. 49",
            &["A report creeps into camp that Johnston is coming with fifty thousand men to raise the siege"],
        ),
    ),
    ("pdf/arabic.pdf", Read(1, "habibi", &["حَبيبي", "habibi"])),
    ("pdf/with-attachment.pdf", Read(1, LOREM, &["Lorem ipsum dolor sit amet, consetetur sadipscing elitr"])),
    (
        "pdf/corrupted-xref.pdf",
        Read(1, "zen_of_python.txt", &["Beautiful is better than ugly.", "Simple is better than complex."]),
    ),
    ("pdf/truncated.pdf", Park("broken")),
    (
        "html/wikipedia-mozilla.html",
        Read(0, "Mozilla", &["Mozilla is a free-software community, created in 1998 by members of Netscape."]),
    ),
    (
        "html/blog-v8.html",
        Read(
            0,
            "Outside the web: standalone WebAssembly binaries using Emscripten",
            &["Emscripten has always focused first and foremost on compiling to the Web"],
        ),
    ),
    (
        "html/blog-code-coverage.html",
        Read(
            0,
            "Get your Frontend JavaScript Code Covered",
            &["The idea behind code coverage is to record which parts of your code"],
        ),
    ),
    ("html/rtl.html", Read(0, "RTL Test", &["Lorem ipsum dolor sit amet"])),
    ("feeds/rss-2.0.xml", Park("application/rss+xml")),
    ("feeds/atom-1.0.xml", Park("application/atom+xml")),
    ("feeds/rss-1.0-spec.rdf", Park("application/rdf+xml")),
    ("feeds/jsonfeed-1.json", Park("application/json")),
    ("feeds/rss-euc-kr.xml", Park("application/rss+xml")),
    ("feeds/rss-incomplete-cdata.xml", Park("application/rss+xml")),
    ("feeds/undeclared-namespace.xml", Park("application/rss+xml")),
    (
        "transcripts/sample.vtt",
        Read(0, "sample.vtt", &["00:00:00.500 --> 00:00:07.000 Caption text #1", "Caption text #16"]),
    ),
    ("transcripts/bom.vtt", Read(0, "bom.vtt", &["WEBVTT", "Caption text #4"])),
    ("transcripts/comments.vtt", Read(0, "comments.vtt", &["Ta en kopp varmt te."])),
    ("transcripts/cue-tags.vtt", Read(0, "cue-tags.vtt", &["When the moon"])),
    (
        "transcripts/sample.srt",
        Read(0, "sample.srt", &["00:00:00,500 --> 00:00:07,000 Caption text #1", "Caption text #5"]),
    ),
    ("transcripts/missing-timeframe.srt", Read(0, "missing-timeframe.srt", &["Caption text #1", "Caption text #3"])),
    ("iiif/book-v3.json", Park("application/json")),
    ("iiif/annotations-v3.json", Park("application/json")),
    ("iiif/bulletin-v2.json", Park("application/json")),
    ("activitystreams/collection-nested.json", Park("application/json")),
    ("activitystreams/activity-extended.json", Park("application/json")),
    ("junit/jenkins.xml", Park("application/xml")),
    ("junit/pytest-error.xml", Park("application/xml")),
    ("xapi/statement-long.json", Park("application/json")),
    ("xapi/statement-medium.json", Park("application/json")),
    ("xapi/statement-short.json", Park("application/json")),
    ("csv/newlines-crlf.csv", Read(0, "newlines-crlf.csv", &["a,b,c", "\"Once upon a time\",5,6"])),
    ("csv/quotes-and-newlines.csv", Read(0, "quotes-and-newlines.csv", &["1,\"ha \"\"ha\"\" ha\""])),
    ("csv/utf8.csv", Read(0, "utf8.csv", &["4,5,ʤ"])),
    ("csv/location-coordinates.csv", Read(0, "location-coordinates.csv", &["37\u{fffd}36'37.8\"N"])),
    ("docx/paragraphs-and-tables.docx", Park(DOCX)),
    ("docx/comments.docx", Park(DOCX)),
    ("docx/headers-footers.docx", Park(DOCX)),
    ("docx/images.docx", Park(DOCX)),
    ("odt/trivial.odt", Park("application/vnd.oasis.opendocument.text")),
    ("epub/title-order.epub", Park("application/epub+zip")),
    ("epub/toc-in-spine.epub", Park("application/epub+zip")),
    ("epub/unclosed-element.epub", Park("application/epub+zip")),
    (
        "adr/0000-use-markdown-architectural-decision-records.md",
        Read(0, "Use Markdown Architectural Decision Records", ADR),
    ),
    ("adr/0001-use-CC0-or-MIT-as-license.md", Read(0, "Dual License the Work", ADR)),
    ("adr/0008-add-status-field.md", Read(0, "Add Status Field", ADR)),
    (
        "adr/0009-support-links-between-adrs-inside-an-adrs.md",
        Read(0, "Support Links To Other ADRs Inside an ADR", ADR),
    ),
    ("adr/0013-use-yaml-front-matter-for-meta-data.md", Read(0, "Use YAML front matter for metadata", ADR)),
    ("jats/elife-00351-book-review.xml", Park("application/xml")),
    ("jats/elife-06003-research.xml", Park("application/xml")),
    ("git/csv-spectrum.bundle", Park("application/x-git-bundle")),
];
const DOCX: &str = "application/vnd.openxmlformats-officedocument.wordprocessingml.document";
const ADR: &[&str] = &["## Context and Problem Statement", "## Considered Options", "## Decision Outcome"];

fn collapsed(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn one(outcome: Outcome, name: &str) -> SignalEnvelope {
    assert!(outcome.summary.is_ok() && outcome.parked.is_empty(), "{name}: {:?}", outcome.summary);
    let [envelope] = <[SignalEnvelope; 1]>::try_from(outcome.envelopes).expect(name);
    envelope
}

#[test]
fn documents_end_as_their_table_says() {
    let Some(data) = data() else { return };
    let registry = Registry::standard();
    for (name, must) in DOCUMENTS {
        let path = data.join("documents").join(name);
        let outcome = read(&registry, &path);
        match must {
            Park(expected) => {
                assert!(outcome.envelopes.is_empty(), "{name}");
                let parked = outcome.summary.expect_err(name);
                match &parked.reason {
                    ParkReason::NoAdapter { media_type } => assert_eq!(media_type, expected, "{name}"),
                    reason => assert_eq!(reason.code(), *expected, "{name}: {parked}"),
                }
            }
            Read(pages, title, texts) => {
                let envelope = one(outcome, name);
                assert_eq!(envelope.title, *title, "{name}");
                let text = collapsed(&envelope.text);
                let mut from = 0;
                for must_find in *texts {
                    let at = text[from..].find(must_find);
                    from += at.unwrap_or_else(|| panic!("{name}: no `{must_find}` in its place in:\n{text}"));
                }
                let marked = envelope.marks.iter().filter(|mark| matches!(mark.kind, MarkKind::Page(_))).count();
                assert_eq!(marked, *pages as usize, "{name}");
                check_marks_and_chunks(&registry, &envelope);
            }
        }
    }
}

/// Marks stand where they say, and the chunks are the text again.
fn check_marks_and_chunks(registry: &Registry, envelope: &SignalEnvelope) {
    for mark in &envelope.marks {
        assert!(envelope.text.is_char_boundary(mark.at), "{}: {mark:?}", envelope.address);
        if let MarkKind::Heading { text, .. } = &mark.kind {
            let there = collapsed(envelope.text[mark.at..].trim_start_matches('#'));
            assert!(there.starts_with(text.as_str()), "{}: {mark:?}", envelope.address);
        }
    }
    let sniffed = plumb_sources::sniff(&envelope.raw, None);
    let adapter = registry.adapter_for(&sniffed).or_else(|| registry.adapter_named("plain/1"));
    let adapter = adapter.expect("the registry has one for plain text");
    let chunks: String = adapter.chunk(envelope).iter().map(|span| &envelope.text[span.start..span.end]).collect();
    assert_eq!(chunks, envelope.text, "{}", envelope.address);
}

#[test]
fn documents_tell_more_than_their_text() {
    let Some(data) = data() else { return };
    let registry = Registry::standard();
    let read = |name: &str| one(read(&registry, &data.join("documents").join(name)), name);
    let meta = |envelope: &SignalEnvelope, key: &str| envelope.raw_metadata.get(key).cloned();

    let v8 = read("html/blog-v8.html");
    assert_eq!(plumb_sources::Html.freshness_signal(&v8).unwrap().to_string(), "2019-11-21T00:00:00.000Z");

    let coverage = read("html/blog-code-coverage.html");
    assert_eq!(meta(&coverage, "author"), Some(MetaValue::from("Nicolas Perriault")));
    let licence = plumb_sources::Rights::Stated("http://creativecommons.org/licenses/by-sa/3.0/".into());
    assert_eq!(plumb_sources::Html.rights_resolver(&coverage), licence);
    assert!(!coverage.text.contains("Your browser is ancient!"));

    let mozilla = read("html/wikipedia-mozilla.html");
    assert!(!mozilla.text.contains("Jump to:"));
    let headings: Vec<&str> = mozilla
        .marks
        .iter()
        .filter_map(|mark| match &mark.kind {
            MarkKind::Heading { level: 2, text } => Some(text.as_str()),
            _ => None,
        })
        .collect();
    assert!(["History", "Values", "Software"].iter().all(|heading| headings.contains(heading)), "{headings:?}");

    assert_eq!(meta(&read("html/rtl.html"), "direction"), Some(MetaValue::from("rtl")));
    assert_eq!(meta(&read("pdf/with-attachment.pdf"), "embedded_files"), Some(MetaValue::Integer(1)));
    assert_eq!(meta(&read("csv/location-coordinates.csv"), "damaged_characters"), Some(MetaValue::Integer(2)));
    assert_eq!(meta(&read("adr/0008-add-status-field.md"), "nav_order"), Some(MetaValue::Integer(8)));
    assert!(read("transcripts/bom.vtt").text.starts_with("WEBVTT"));

    let outline = read("pdf/outline.pdf");
    let headings = outline.marks.iter().filter(|mark| matches!(mark.kind, MarkKind::Heading { .. })).count();
    assert_eq!(headings, 9);
}

/// The table leaves no document out, and whatever else lies there is read or parked, too.
#[test]
fn every_file_ends_somewhere() {
    let Some(data) = data() else { return };
    let registry = Registry::standard();
    let mut ends: BTreeMap<String, usize> = BTreeMap::new();
    let mut listed = 0;
    for found in walk([data.join("documents"), data.join("retractions")]) {
        assert_eq!(found.parked, None);
        let outcome = read(&registry, &found.path);
        let end = match &outcome.summary {
            Ok(summary) => {
                assert_eq!((summary.items, summary.parked), (outcome.envelopes.len(), outcome.parked.len()));
                assert!(summary.items + summary.parked > 0, "{} was dropped", found.address);
                summary.adapter
            }
            Err(parked) => parked.reason.code(),
        };
        *ends.entry(end.to_string()).or_default() += 1;
        let name = found.path.strip_prefix(data.join("documents")).unwrap_or(Path::new(""));
        listed += usize::from(DOCUMENTS.iter().any(|(listed, _)| Path::new(listed) == name));
    }
    eprintln!("{ends:?}");
    assert_eq!(listed, DOCUMENTS.len());
    assert!(!ends.contains_key("panicked") && !ends.contains_key("too_slow"));
}

#[test]
fn corpora_are_read_record_by_record() {
    let Some(data) = data() else { return };
    let registry = Registry::standard();

    let scifact = read(&registry, &data.join("scifact/corpus.jsonl"));
    assert_eq!((scifact.envelopes.len(), scifact.parked.len()), (5183, 0));
    let first = &scifact.envelopes[0];
    assert!(first.address.ends_with("/scifact/corpus.jsonl#4983"));
    assert!(first.title.starts_with("Microstructural development of human newborn cerebral white matter"));
    // Each sentence is there word for word.
    let raw: serde_json::Value = serde_json::from_slice(&first.raw).unwrap();
    for sentence in raw["abstract"].as_array().unwrap() {
        assert!(first.text.contains(sentence.as_str().unwrap()));
    }
    let addresses: std::collections::BTreeSet<&str> = scifact.envelopes.iter().map(|e| e.address.as_str()).collect();
    assert_eq!(addresses.len(), 5183);

    // Two documents of Cranfield are empty, title and all.
    let cranfield = read(&registry, &data.join("cranfield/corpus.jsonl"));
    assert_eq!(cranfield.envelopes.len(), 1398);
    let empty: Vec<_> = cranfield.parked.iter().map(|p| (p.fragment.as_str(), p.parked.reason.clone())).collect();
    assert_eq!(empty, [("471", ParkReason::Empty), ("995", ParkReason::Empty)]);
}
