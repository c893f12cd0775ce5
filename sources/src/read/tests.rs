use std::io::Write;
use std::time::Duration;

use plumb_core::boundary::Sensitivity;
use plumb_core::content::{Mark, MarkKind};
use proptest::prelude::*;

use super::*;

/// Everything that comes out of an input.
pub(crate) fn all(
    address: &str,
    declared: Option<&str>,
    bytes: &[u8],
) -> (Vec<SignalEnvelope>, Vec<ParkedItem>, Result<Summary, Parked>) {
    under(Limits::default(), address, declared, bytes)
}

/// The same under other limits.
pub(crate) fn under(
    limits: Limits,
    address: &str,
    declared: Option<&str>,
    bytes: &[u8],
) -> (Vec<SignalEnvelope>, Vec<ParkedItem>, Result<Summary, Parked>) {
    let (mut envelopes, mut parked) = (Vec::new(), Vec::new());
    let summary =
        read_source(&Registry::standard().with_limits(limits), &Input::new(address, declared, bytes), &mut |item| {
            match item {
                Ok(envelope) => envelopes.push(envelope),
                Err(item) => parked.push(item),
            }
            ControlFlow::Continue(())
        });
    (envelopes, parked, summary)
}

/// The one envelope of a document.
pub(crate) fn one(address: &str, declared: Option<&str>, bytes: &[u8]) -> SignalEnvelope {
    let (mut envelopes, parked, summary) = all(address, declared, bytes);
    assert_eq!((envelopes.len(), parked.len()), (1, 0), "{summary:?}");
    let envelope = envelopes.remove(0);
    check_envelope(&envelope);
    envelope
}

/// Why a document is parked as a whole.
pub(crate) fn reason(address: &str, declared: Option<&str>, bytes: &[u8]) -> ParkReason {
    let (envelopes, parked, summary) = all(address, declared, bytes);
    assert_eq!((envelopes.len(), parked.len()), (0, 0));
    summary.expect_err("it was read").reason
}

/// What holds for whatever comes out.
fn check_envelope(envelope: &SignalEnvelope) {
    assert!(!envelope.text.trim().is_empty());
    assert!(!envelope.title.is_empty() && envelope.title.chars().count() <= 301 && !envelope.title.contains('\n'));
    let mut at = 0;
    for mark in &envelope.marks {
        assert!(mark.at >= at && mark.at < envelope.text.len() && envelope.text.is_char_boundary(mark.at), "{mark:?}");
        at = mark.at;
    }
}

#[test]
fn what_no_adapter_reads_is_parked_with_its_kind() {
    let no_adapter = |media_type: &str| ParkReason::NoAdapter { media_type: media_type.into() };
    for (bytes, expected) in [
        (&b"<?xml version='1.0'?><rss><channel/></rss>"[..], no_adapter("application/rss+xml")),
        (b"{\"a\": [1]}", no_adapter("application/json")),
        (b"PK\x03\x04", no_adapter("application/zip")),
        (b"# v2 git bundle\nabc", no_adapter("application/x-git-bundle")),
        (b"\x7fELF\x02", no_adapter("application/x-elf")),
        (b"words\0words", ParkReason::Binary),
        (b"", ParkReason::Empty),
    ] {
        assert_eq!(reason("stdin:x", None, bytes), expected);
    }
}

#[test]
fn a_source_that_is_too_large_is_not_looked_at() {
    let limits = Limits { source_bytes: 3, ..Limits::default() };
    let (_, _, summary) = under(limits, "stdin:x", None, b"four");
    assert_eq!(summary.unwrap_err(), Parked::new(ParkReason::TooLarge, "4 bytes, and 3 are allowed"));
}

/// A zip whose entry unpacks to a gigabyte: it is a zip, and stays closed.
#[test]
fn a_zip_bomb_is_a_zip() {
    let mut deflate = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::best());
    let block = vec![0u8; 1 << 20];
    for _ in 0..64 {
        deflate.write_all(&block).unwrap();
    }
    let mut zip = b"PK\x03\x04\x14\0\0\0\x08\0\0\0\0\0\0\0\0\0\0\0\0\0\xff\xff\xff\x7f\x05\0\0\0a.txt".to_vec();
    zip.extend(deflate.finish().unwrap());
    assert_eq!(
        reason("file:///a.txt", Some("txt"), &zip),
        ParkReason::NoAdapter { media_type: "application/zip".into() }
    );
}

#[test]
fn emit_may_stop() {
    let lines = "{\"id\": 1, \"text\": \"a\"}\n{\"id\": 2, \"text\": \"b\"}\n".repeat(1000);
    let mut n = 0;
    let summary = read_source(&Registry::standard(), &Input::new("stdin:x", None, lines.into_bytes()), &mut |_| {
        n += 1;
        if n == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    let summary = summary.unwrap();
    assert_eq!((n, summary.items, summary.stopped, summary.adapter), (3, 3, true, "jsonl/1"));
}

#[test]
fn too_many_items_are_one_parked_item() {
    let lines: String = (0..10).map(|i| format!("{{\"id\": {i}, \"text\": \"a\"}}\n")).collect();
    let limits = Limits { items: 4, ..Limits::default() };
    let (envelopes, parked, summary) = under(limits, "stdin:x", None, lines.as_bytes());
    assert_eq!((envelopes.len(), parked.len(), summary.is_ok()), (4, 1, true));
    assert_eq!(parked[0].parked.reason, ParkReason::TooMany);
}

#[test]
fn a_source_may_suggest_its_type_and_sensitivity() {
    let envelope = one("stdin:x", Some("md"), b"---\ntype: Decision\nsensitivity: internal\n---\nText\n");
    assert_eq!(envelope.suggested_type, KnowledgeType::Decision);
    assert_eq!(envelope.suggested_sensitivity, Some(Sensitivity::Internal));
    let envelope = one("stdin:x", Some("md"), b"---\ntype: essay\nsensitivity: none\n---\nText\n");
    assert_eq!((envelope.suggested_type, envelope.suggested_sensitivity), (KnowledgeType::Context, None));
}

/// An adapter that misbehaves as told by the text.
struct Rogue;

impl SourceAdapter for Rogue {
    fn name(&self) -> &'static str {
        "rogue/1"
    }
    fn accepts(&self, _: &Sniffed) -> bool {
        true
    }
    fn parse(&self, source: &Source, emit: &mut Emit<'_>) -> Result<(), Parked> {
        let text = source.text().text;
        match text.as_ref() {
            "panic" => panic!("a bug"),
            "hang" => std::thread::sleep(Duration::from_millis(500)),
            _ => {}
        }
        let mut envelope = source.envelope(text.repeat(3));
        envelope.title = "a\n b ".repeat(1000);
        let mark = |at| Mark { at, kind: MarkKind::Page(1) };
        envelope.marks = vec![mark(4), mark(usize::MAX), mark(1), mark(0), mark(2)];
        let _ = emit(Ok(envelope));
        Ok(())
    }
}

#[test]
fn an_adapter_that_misbehaves_is_held() {
    let limits = Limits { parse_time: Duration::from_millis(50), marks: 2, ..Limits::default() };
    let registry = Registry::new(vec![Arc::new(Rogue)]).with_limits(limits);
    let mut seen = Vec::new();
    let mut read = |text: &str| {
        read_source(&registry, &Input::new("stdin:x", None, text.as_bytes()), &mut |item| {
            seen.push(item);
            ControlFlow::Continue(())
        })
    };
    assert_eq!(read("panic").unwrap_err().reason, ParkReason::Panicked);
    assert_eq!(read("hang").unwrap_err().reason, ParkReason::TooSlow);
    assert!(read("ü").is_ok());
    let envelope = seen.remove(0).unwrap();
    check_envelope(&envelope);
    let ats: Vec<_> = envelope.marks.iter().map(|mark| mark.at).collect();
    assert_eq!((envelope.text.as_str(), ats), ("üüü", vec![0, 2]));
    assert_eq!(envelope.raw_metadata["marks_left_out"], MetaValue::Integer(1));
}

/// Bytes that look like something, and are damaged.
fn lookalikes() -> impl Strategy<Value = Vec<u8>> {
    let heads: Vec<&[u8]> = vec![
        b"%PDF-1.4\n1 0 obj\n<</Type/Catalog/Pages 2 0 R>>\nendobj\n2 0 obj\n<</Type/Pages/Kids[3 0 R]/Count 1>>\nendobj\n3 0 obj\n<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Contents 4 0 R/Resources<</Font<</F 5 0 R>>>>>>\nendobj\n4 0 obj\n<</Length 40>>\nstream\nBT /F 12 Tf (Some words here) Tj ET\nendstream\nendobj\n5 0 obj\n<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>\nendobj\ntrailer\n<</Root 1 0 R>>\n",
        b"<!doctype html><html><head><title>A</title><meta charset=utf-8></head><body><nav>B</nav><article><h1>C</h1><p>Words and words.</p><table><tr><td>1<td>2</table></article></body></html>",
        b"{\"id\": \"a\", \"title\": \"B\", \"text\": [\"One.\", \"Two.\"]}\n{\"doc_id\": 7, \"abstract\": \"C\"}\n",
        b"---\ntitle: A\ntags: [b, c]\n---\n# D\n\n```\n# not\n```\n\nE\n===\n",
        b"<?xml version=\"1.0\"?><rss version=\"2.0\"><channel></channel></rss>",
        b"\xff\xfea\0b\0c\0",
        b"PK\x03\x04",
    ];
    let edit = (any::<prop::sample::Index>(), any::<u8>(), 0u8..4);
    (prop::sample::select(heads), prop::collection::vec(edit, 0..12), prop::collection::vec(any::<u8>(), 0..40))
        .prop_map(|(head, edits, tail)| {
            let mut bytes = [head, &tail].concat();
            for (at, byte, how) in edits {
                let at = at.index(bytes.len());
                match how {
                    0 => bytes[at] = byte,
                    1 => bytes.insert(at, byte),
                    2 => drop(bytes.remove(at)),
                    _ => {
                        let copy = bytes[at..(at + usize::from(byte)).min(bytes.len())].to_vec();
                        bytes.splice(at..at, copy);
                    }
                }
                if bytes.is_empty() {
                    break;
                }
            }
            bytes
        })
}

fn declared() -> impl Strategy<Value = Option<&'static str>> {
    prop::option::of(prop::sample::select(vec![
        "txt",
        "md",
        "html",
        "pdf",
        "jsonl",
        "json",
        "text/csv; charset=utf-16",
    ]))
}

/// Any bytes end as envelopes that keep their rules, or as parked with a reason other than a panic.
fn check_any(bytes: &[u8], declared: Option<&str>) {
    let (envelopes, parked, summary) = all("stdin:any", declared, bytes);
    for envelope in &envelopes {
        check_envelope(envelope);
    }
    match summary {
        Ok(summary) => {
            assert_eq!((summary.items, summary.parked), (envelopes.len(), parked.len()));
            assert!(summary.items + summary.parked > 0, "dropped in silence");
        }
        Err(parked) => assert_ne!(parked.reason, ParkReason::Panicked, "{parked}"),
    }
}

proptest! {
    #[test]
    fn any_bytes_end_somewhere(bytes in prop::collection::vec(any::<u8>(), 0..300), declared in declared()) {
        check_any(&bytes, declared);
    }

    #[test]
    fn damaged_bytes_end_somewhere(bytes in lookalikes(), declared in declared()) {
        check_any(&bytes, declared);
    }

    #[test]
    fn plain_text_and_markdown_are_kept(text in "([a-z#*_>`~=-]|[ \\n\\r\\t]|\\PC){1,200}") {
        prop_assume!(text.chars().any(char::is_alphanumeric));
        for declared in ["txt", "md"] {
            let sniffed = sniff(text.as_bytes(), Some(declared));
            prop_assume!(["text/plain", "text/markdown"].contains(&sniffed.media_type));
            let envelope = one("stdin:any", Some(declared), text.as_bytes());
            prop_assert_eq!(&envelope.text, &sniffed.decode(text.as_bytes()).text);
        }
    }
}
