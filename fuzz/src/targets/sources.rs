//! Documents: sniffed, read by their adapter, cut and enriched.

use std::ops::ControlFlow;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use plumb_sources::{
    Html, Input, JsonLines, Limits, Markdown, ParkReason, Parked, Pdf, Plain, Registry, SignalEnvelope, SourceAdapter,
    read_source, sniff,
};

use super::{Shape, Target};
use crate::panics;
use crate::seeds::{documents, pdfs};

/// Small bounds, so that short inputs reach them.
fn limits() -> Limits {
    Limits {
        source_bytes: 64 << 10,
        line_bytes: 4 << 10,
        text_bytes: 128 << 10,
        html_depth: 64,
        pdf_pages: 8,
        pdf_stream_bytes: 64 << 10,
        title_chars: 40,
        marks: 16,
        items: 16,
        meta_fields: 8,
        meta_chars: 100,
        // Far longer than reading so little takes, also on a machine that is busy: what is given up is a bug.
        parse_time: Duration::from_secs(60),
        stack_bytes: 64 << 20,
        stuck_parsers: 4,
    }
}

const fn of(name: &'static str, run: fn(&[u8]), seeds: fn() -> Vec<Vec<u8>>) -> Target {
    Target { name, run, seeds, input_bytes_max: 8 * 1024, shape: Shape::Bytes }
}

pub(super) const SNIFF: Target = of("sniff", run_sniff, || {
    let all = ["md", "txt", "html", "jsonl"].into_iter().flat_map(documents).chain(pdfs());
    all.map(|bytes| [&[0], bytes.as_slice()].concat()).collect()
});
pub(super) const PLAIN: Target = of("plain", run_plain, || documents("txt"));
pub(super) const MARKDOWN: Target = of("markdown", run_markdown, || documents("md"));
pub(super) const HTML: Target = of("html", run_html, || documents("html"));
pub(super) const JSON_LINES: Target = of("jsonl", run_json_lines, || documents("jsonl"));
pub(super) const PDF: Target = of("pdf", run_pdf, pdfs);

/// The first byte says what the sender declares; the rest is read by whichever adapter takes it.
fn run_sniff(bytes: &[u8]) {
    const DECLARED: [Option<&str>; 8] = [
        None,
        Some("md"),
        Some("text/html; charset=utf-16"),
        Some("jsonl"),
        Some("text/plain; charset=shift_jis"),
        Some("application/pdf"),
        Some("; charset=\""),
        Some("x/"),
    ];
    let Some((first, bytes)) = bytes.split_first() else { return };
    let declared = DECLARED[usize::from(*first) % DECLARED.len()];
    let sniffed = sniff(bytes, declared);
    assert!(sniffed.bom <= bytes.len());
    let decoded = sniffed.decode(bytes);
    assert!(decoded.text.is_empty() || sniffed.encoding.is_some(), "what is no text has text");
    assert_eq!(sniff(bytes, declared), sniffed);
    static REGISTRY: OnceLock<Registry> = OnceLock::new();
    read(REGISTRY.get_or_init(|| Registry::standard().with_limits(limits())), declared, bytes);
}

fn run_plain(bytes: &[u8]) {
    static REGISTRY: OnceLock<Registry> = OnceLock::new();
    read(REGISTRY.get_or_init(|| only(Plain)), Some("txt"), bytes);
}

fn run_markdown(bytes: &[u8]) {
    static REGISTRY: OnceLock<Registry> = OnceLock::new();
    read(REGISTRY.get_or_init(|| only(Markdown)), Some("md"), bytes);
}

fn run_html(bytes: &[u8]) {
    static REGISTRY: OnceLock<Registry> = OnceLock::new();
    read(REGISTRY.get_or_init(|| only(Html)), Some("html"), bytes);
}

fn run_json_lines(bytes: &[u8]) {
    static REGISTRY: OnceLock<Registry> = OnceLock::new();
    read(REGISTRY.get_or_init(|| only(JsonLines)), Some("jsonl"), bytes);
}

fn run_pdf(bytes: &[u8]) {
    static REGISTRY: OnceLock<Registry> = OnceLock::new();
    read(REGISTRY.get_or_init(|| only(Pdf)), Some("pdf"), bytes);
}

fn only(adapter: impl SourceAdapter + 'static) -> Registry {
    Registry::new(vec![Arc::new(adapter)]).with_limits(limits())
}

/// Reads a source, and holds whatever comes out of it to its bounds.
fn read(registry: &Registry, declared: Option<&str>, bytes: &[u8]) {
    panics::watch();
    let (mut envelopes, mut n_parked) = (Vec::new(), 0);
    let input = Input::new("file:///a%20document", declared, bytes);
    let summary = read_source(registry, &input, &mut |item| {
        match item {
            Ok(envelope) => envelopes.push(envelope),
            Err(item) => {
                n_parked += 1;
                is_said(&item.parked);
            }
        }
        ControlFlow::Continue(())
    });
    if let Some(panic) = panics::of_our_own() {
        panic!("a parser of ours panicked at {panic}");
    }
    match &summary {
        Ok(summary) => {
            assert_eq!((summary.items, summary.parked), (envelopes.len(), n_parked));
            let adapter = registry.adapter_named(summary.adapter).expect("an adapter read it");
            envelopes.iter().for_each(|envelope| is_in_order(adapter.as_ref(), envelope, registry.limits()));
        }
        Err(parked) => is_said(parked),
    }
    assert!(envelopes.len() <= registry.limits().items);
}

/// Parked with a short reason, and not because the reader hangs.
fn is_said(parked: &Parked) {
    assert!(parked.to_string().len() <= 4096, "a reason without end");
    assert!(!matches!(parked.reason, ParkReason::TooSlow | ParkReason::Busy), "{parked}");
}

fn is_in_order(adapter: &dyn SourceAdapter, envelope: &SignalEnvelope, limits: &Limits) {
    let text = &envelope.text;
    assert!(!text.trim().is_empty() && text.len() <= limits.text_bytes);
    // The ellipsis of a title that was cut is one more.
    assert!(envelope.title.chars().count() <= limits.title_chars + 1, "{:?}", envelope.title);
    assert!(envelope.marks.len() <= limits.marks);
    assert!(envelope.marks.is_sorted_by_key(|mark| mark.at));
    assert!(envelope.marks.iter().all(|mark| text.is_char_boundary(mark.at) && mark.at < text.len()));
    let kept = envelope.raw_metadata.values().filter_map(|value| value.as_text());
    assert!(kept.clone().all(|value| value.chars().count() <= limits.meta_chars), "a field of metadata is too long");

    let spans = adapter.chunk(envelope);
    let joined: String = spans.iter().map(|span| &text[span.start..span.end]).collect();
    assert_eq!(&joined, text, "chunks do not tile the text");
    for finding in adapter.enrich(envelope) {
        assert!(text.get(finding.start..finding.end).is_some_and(|found| !found.is_empty()), "{finding:?}");
    }
    adapter.freshness_signal(envelope);
    adapter.rights_resolver(envelope);
    adapter.attribution_renderer(envelope);
}
