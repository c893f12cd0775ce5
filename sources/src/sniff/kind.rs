//! What kind of text a text is.

use serde::de::IgnoredAny;

use super::Declared;

/// How much of a text is looked at for signs of its kind.
const HEAD: usize = 64 << 10;

/// Lines that are looked at to tell JSON Lines.
const LINES: usize = 8;

/// The media type.
pub(crate) fn of(text: &str, declared: &Declared) -> &'static str {
    let head = cut(text.trim_start(), HEAD);
    let lower = cut(head, 1024).to_ascii_lowercase();
    if lower.starts_with("webvtt") && !lower[6..].starts_with(char::is_alphanumeric) {
        return "text/vtt";
    }
    if head.starts_with('<')
        && let Some(media_type) = markup(&lower, declared)
    {
        return media_type;
    }
    if head.starts_with(['{', '['])
        && let Some(media_type) = json(text, declared)
    {
        return media_type;
    }
    if is_subrip(head) {
        return "application/x-subrip";
    }
    if declared.is(&["md", "markdown", "mdown", "mkd", "mdx"]) {
        return "text/markdown";
    }
    if declared.is(&["csv", "tsv", "tab-separated-values"]) {
        return "text/csv";
    }
    if declared.is(&["html", "htm", "xhtml", "xhtml+xml"]) && has_tag(head) {
        return "text/html";
    }
    // Without a word from anybody, signs that only Markdown has.
    if declared.kind.is_none() && looks_like_markdown(head) {
        return "text/markdown";
    }
    "text/plain"
}

/// Text that begins with a tag. Markdown may begin with one too (`<p align="center">`), so only what begins a whole
/// page, or what was declared a page, is one.
fn markup(lower: &str, declared: &Declared) -> Option<&'static str> {
    let mut rest = lower;
    let mut xml = false;
    // The first element stands behind declarations, comments and the document type.
    loop {
        rest = rest.trim_start();
        if rest.starts_with("<!doctype html") {
            return Some(if xml { "application/xhtml+xml" } else { "text/html" });
        } else if rest.starts_with("<?") {
            xml = true;
            rest = after(rest, "?>");
        } else if rest.starts_with("<!--") {
            rest = after(rest, "-->");
        } else if rest.starts_with("<!doctype") {
            xml = true;
            rest = after(rest, ">");
        } else {
            break;
        }
    }
    let name = rest.strip_prefix('<').unwrap_or_default();
    let name = &name[..name.find(|c: char| !c.is_ascii_alphanumeric() && !":-_.".contains(c)).unwrap_or(name.len())];
    match name {
        "html" if xml => return Some("application/xhtml+xml"),
        "html" | "head" | "body" => return Some("text/html"),
        "rss" => return Some("application/rss+xml"),
        "feed" => return Some("application/atom+xml"),
        "rdf:rdf" => return Some("application/rdf+xml"),
        "svg" => return Some("image/svg+xml"),
        "testsuite" | "testsuites" => return Some("application/xml"),
        _ => {}
    }
    if xml || declared.is(&["xml", "rss", "rss+xml", "atom", "atom+xml", "rdf", "rdf+xml", "svg", "svg+xml"]) {
        return Some("application/xml");
    }
    let page = declared.is(&["html", "htm", "xhtml", "xhtml+xml"]);
    (page && name.starts_with(|c: char| c.is_ascii_alphabetic())).then_some("text/html")
}

/// What stands behind `end`; nothing if it does not come.
fn after<'a>(text: &'a str, end: &str) -> &'a str {
    text.find(end).map_or("", |at| &text[at + end.len()..])
}

/// Whether there is a tag at all.
fn has_tag(head: &str) -> bool {
    head.match_indices('<').any(|(at, _)| {
        let rest = head[at + 1..].trim_start_matches('/');
        rest.starts_with(|c: char| c.is_ascii_alphabetic()) && rest.contains('>')
    })
}

/// JSON Lines, JSON, or neither. Lines that are objects each are JSON Lines; one object alone is JSON unless it was
/// declared to be lines. One bad line does not make a file something else.
fn json(text: &str, declared: &Declared) -> Option<&'static str> {
    let as_lines = declared.is(&["jsonl", "ndjson", "jsonlines", "jsonl+json", "ldjson", "json-seq"]);
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty()).take(LINES);
    let (mut objects, mut others) = (0, 0);
    for line in &mut lines {
        if line.starts_with('{') && line.ends_with('}') && is_json(cut(line, HEAD), line.len() > HEAD) {
            objects += 1;
        } else {
            others += 1;
        }
    }
    if objects >= 2 && objects >= others || as_lines && text.trim_start().starts_with('{') {
        return Some("application/jsonl");
    }
    (declared.is(&["json", "ld+json", "feed+json", "geojson"]) || is_json(text, false)).then_some("application/json")
}

/// Whether it is one JSON value. Of a long line only the beginning is looked at, which must break off nowhere but at
/// its end. Nesting beyond what is parsed is left to the adapter to complain about.
fn is_json(text: &str, broken_off: bool) -> bool {
    match serde_json::from_str::<IgnoredAny>(text) {
        Ok(_) => true,
        Err(error) => broken_off && error.is_eof(),
    }
}

/// A number, then a line of two times, then text.
fn is_subrip(head: &str) -> bool {
    let mut lines = head.lines().map(str::trim).skip_while(|line| line.is_empty());
    let number = lines.next().is_some_and(|line| !line.is_empty() && line.bytes().all(|b| b.is_ascii_digit()));
    number
        && lines.next().and_then(|line| line.split_once("-->")).is_some_and(|(from, to)| {
            let is_time = |time: &str| time.contains(',') && time.matches(':').count() == 2;
            is_time(from) && is_time(to)
        })
}

/// Front matter, or a heading at the beginning with another sign of Markdown further down. A script may begin with
/// `# comment`, but has neither.
fn looks_like_markdown(head: &str) -> bool {
    let mut lines = head.lines();
    let first = lines.next().unwrap_or_default().trim_end();
    if first == "---" {
        return lines.take(100).any(|line| line.trim_end() == "---");
    }
    let heading = |line: &str| {
        let level = line.bytes().take_while(|b| *b == b'#').count();
        (1..=6).contains(&level) && line[level..].starts_with(' ')
    };
    heading(first)
        && !head.starts_with("#!")
        && lines.any(|line| line.starts_with("## ") || line.starts_with("```") || line.contains("]("))
}

/// The beginning of a text, at most so many bytes.
fn cut(text: &str, bytes: usize) -> &str {
    let mut end = text.len().min(bytes);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}
