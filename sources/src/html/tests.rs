use plumb_core::content::MarkKind;

use super::*;
use crate::adapter::Rights;
use crate::read::tests::{one, reason, under};
use crate::{Limits, SignalEnvelope};

fn read(html: &str) -> SignalEnvelope {
    one("https://example.org/a/page", Some("text/html"), html.as_bytes())
}

fn headings(envelope: &SignalEnvelope) -> Vec<(u8, &str)> {
    let heading = |kind| match kind {
        &MarkKind::Heading { level, ref text } => Some((level, text.as_str())),
        MarkKind::Page(_) => None,
    };
    for mark in &envelope.marks {
        if let Some((_, text)) = heading(&mark.kind) {
            assert!(envelope.text[mark.at..].starts_with(text), "{text}");
        }
    }
    envelope.marks.iter().filter_map(|mark| heading(&mark.kind)).collect()
}

#[test]
fn blocks_stand_apart_and_space_collapses() {
    let envelope = read(
        "<html><body><h1>Title  of\n it</h1><p>One <b>bo</b>ld\n word.<br>New line.</p><ul><li>a<li>b</ul>\
         <table><tr><td>1<td>2<tr><td>3</table><pre>x\n  y\n</pre><p>Soft&shy;hyphen &lt;tag&gt; &amp;</body></html>",
    );
    assert_eq!(
        envelope.text,
        "Title of it\n\nOne bold word.\nNew line.\n\na\nb\n\n1\t2\n3\n\nx\n  y\n\nSofthyphen <tag> &"
    );
    assert_eq!(headings(&envelope), [(1, "Title of it")]);
    assert_eq!(envelope.title, "Title of it");
}

#[test]
fn what_is_around_the_content_is_left_out() {
    let article = "<p>Words of the article, with a comma, and another one; they go on for a while.</p>".repeat(8);
    let page = |body: &str| {
        format!(
            "<!doctype html><title>T</title><script>var x = '<p>no</p>'</script><style>p{{}}</style>\
             <header>Head</header><nav><a href=/>Home</a></nav><div role=search>Search</div>{body}\
             <aside>Buy</aside><footer>Foot</footer><div hidden>Hidden</div><p style='display: none'>None</p>"
        )
    };
    for body in [format!("<article><h2>H</h2>{article}</article>"), "<div><h2>H</h2><p>Short words.</div>".to_string()]
    {
        let envelope = read(&page(&body));
        for out in ["Head", "Home", "Search", "Buy", "Foot", "Hidden", "None", "var x", "no"] {
            assert!(!envelope.text.split_whitespace().any(|word| word == out), "{out}: {}", envelope.text);
        }
        assert_eq!(headings(&envelope), [(2, "H")]);
        assert_eq!(envelope.title, "T");
    }
}

#[test]
fn a_page_that_says_what_its_content_is() {
    let envelope = read("<body><div>Around.</div><main>Inside.</main><div>Behind.</div>");
    assert_eq!(envelope.text, "Inside.");
}

#[test]
fn a_list_that_readability_takes_for_navigation_is_kept() {
    let links: String = (0..200).map(|i| format!("<li><a href='/{i}'>Report number {i} of the year</a>")).collect();
    let envelope = read(&format!("<title>Reports</title><ul>{links}</ul>"));
    assert!(envelope.text.contains("Report number 0 of") && envelope.text.contains("Report number 199 of"));
}

#[test]
fn handles_at_headings_are_no_text() {
    let envelope = read(
        "<h2>History<span class=mw-editsection>[<a>edit</a>]</span></h2><p>Text.</p><h3>Use <a href=#u>#</a></h3><p>Text.</p>",
    );
    assert_eq!(envelope.text, "History\n\nText.\n\nUse\n\nText.");
    assert_eq!(headings(&envelope), [(2, "History"), (3, "Use")]);
}

#[test]
fn right_to_left_text_keeps_its_order() {
    let envelope = read("<html dir=rtl lang=he><title>x</title><p>שלום <b>עולם</b> 123</p>");
    assert_eq!(envelope.text, "שלום עולם 123");
    assert_eq!(envelope.metadata_text(&["direction"]), Some("rtl"));
    assert_eq!(envelope.metadata_text(&["language"]), Some("he"));
}

#[test]
fn metadata() {
    let envelope = read(
        "<head><title>T</title><meta name=Author content='A. B.'><meta property='article:published_time' content='2019-11-21T00:00:00Z'>\
         <link rel='license' href='https://creativecommons.org/licenses/by/3.0/'></head><p>Text <time datetime=2001-01-01>then</time>",
    );
    assert_eq!(envelope.metadata_text(&["author"]), Some("A. B."));
    assert_eq!(Html.rights_resolver(&envelope), Rights::Stated("https://creativecommons.org/licenses/by/3.0/".into()));
    assert_eq!(Html.freshness_signal(&envelope).unwrap().to_string(), "2019-11-21T00:00:00.000Z");
    let envelope = read("<p>Text <time datetime=2001-01-01>then</time>, <a rel=license href=/cc0>CC0</a>");
    assert_eq!(Html.freshness_signal(&envelope).unwrap().to_string(), "2001-01-01T00:00:00.000Z");
    assert_eq!(Html.rights_resolver(&envelope), Rights::Stated("/cc0".into()));
}

#[test]
fn the_encoding_of_a_page() {
    let envelope = one("file:///a.html", None, b"<html><head><meta charset=iso-8859-1></head><body><p>Caf\xe9</body>");
    assert_eq!(envelope.text, "Café");
    let utf16: Vec<u8> = "\u{feff}<html><p>Grüße</p>".encode_utf16().flat_map(u16::to_be_bytes).collect();
    assert_eq!(one("file:///a.html", None, &utf16).text, "Grüße");
}

#[test]
fn nesting_is_bounded() {
    for tag in ["<div>", "<b>", "<ul><li>", "<table><tr><td>", "<span x='>'>", "<div></p></x>"] {
        let html = format!("<html><body>{}text", tag.repeat(100_000));
        assert_eq!(reason("file:///a.html", None, html.as_bytes()), ParkReason::TooDeep, "{tag}");
    }
    let html = format!("<html>{}text{}", "<div>".repeat(500), "</div>".repeat(500));
    assert_eq!(read(&html).text, "text");
    let flat = format!("<html>{}", "<p>text</p>".repeat(20_000));
    assert_eq!(read(&flat).text.matches("text").count(), 20_000);
}

#[test]
fn a_page_without_text_is_empty() {
    for html in ["<!doctype html>", "<html><body><div id=root></div><script>render()</script>", "<html><nav>Home</nav>"]
    {
        assert_eq!(reason("file:///a.html", None, html.as_bytes()), ParkReason::Empty, "{html}");
    }
}

#[test]
fn text_is_bounded() {
    let limits = Limits { text_bytes: 100, ..Limits::default() };
    let html = format!("<html><p>{}", "word ".repeat(100));
    let (_, _, summary) = under(limits, "file:///a.html", None, html.as_bytes());
    assert_eq!(summary.unwrap_err().reason, ParkReason::TooLarge);
}
