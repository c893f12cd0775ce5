//! How deeply elements are nested, before and after parsing.
//!
//! The parser's work grows with the square of the depth, and what reads its tree recurses. So the source is scanned
//! first: cheaply, knowing just enough of the rules to tell elements that are left open (which nest) from those that
//! are usually not closed at all (which do not).

use dom_query::Document;

/// How much deeper than the count of open elements a parsed tree may be: elements whose end tag is optional are not
/// counted in the source, and at most this many of them stand between two that are (`table`, `tbody`, `tr`, `td`).
pub(super) const PARSED_PER_OPEN: usize = 4;

/// No content, so nothing to be inside of.
const VOID: [&str; 14] =
    ["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr"];
/// The end tag is optional, or comes by itself with the next of its kind.
const OPTIONAL: [&str; 23] = [
    "html", "head", "body", "p", "li", "dt", "dd", "option", "optgroup", "tr", "td", "th", "thead", "tbody", "tfoot",
    "colgroup", "caption", "rt", "rp", "rb", "rtc", "a", "button",
];
/// What is inside is text up to the end tag.
const RAW: [&str; 8] = ["script", "style", "textarea", "title", "xmp", "iframe", "noembed", "noframes"];
/// Formatting is carried over the end of what is around it (HTML standard, "reconstruct the active formatting
/// elements"), so its end tag ends it alone, and only its end tag does.
const FORMATTING: [&str; 13] =
    ["b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u"];
/// An end tag does not reach through these.
const SCOPE: [&str; 8] = ["table", "template", "object", "applet", "marquee", "svg", "math", "select"];

/// Formatting that is repeated inside elements behind the one that it was left open in. A page that leaves hundreds
/// open and goes on for long would become a tree of any size.
const REPEATED_MAX: usize = 2_000_000;

/// Whether the source leaves more elements open at once than `limit`, or would be repeated without end.
pub(super) fn exceeds(html: &str, limit: usize) -> bool {
    let (deepest, repeated) = measure(html, limit);
    deepest > limit || repeated > REPEATED_MAX
}

/// The most elements that are open at once, and how often formatting may be repeated; both as far as it matters.
fn measure(html: &str, limit: usize) -> (usize, usize) {
    let mut open: Vec<String> = Vec::new();
    let mut deepest = 0;
    let mut repeated = 0;
    let mut formatting = 0;
    let mut rest = html;
    while let Some(at) = rest.find('<') {
        rest = &rest[at + 1..];
        if let Some(comment) = rest.strip_prefix("!--") {
            rest = comment.find("-->").map_or("", |end| &comment[end..]);
            continue;
        }
        let (closing, tag) = match rest.strip_prefix('/') {
            Some(tag) => (true, tag),
            None => (false, rest),
        };
        if !tag.starts_with(|c: char| c.is_ascii_alphabetic()) {
            continue;
        }
        let end = tag.find(|c: char| c.is_ascii_whitespace() || c == '/' || c == '>').unwrap_or(tag.len());
        let name = tag[..end].to_ascii_lowercase();
        rest = behind_attributes(&tag[end..]);
        let is_formatting = FORMATTING.contains(&name.as_str());
        if RAW.contains(&name.as_str()) {
            if !closing {
                rest = behind_raw_text(rest, &name);
            }
            continue;
        }
        if !closing && !VOID.contains(&name.as_str()) {
            repeated += formatting;
        }
        if VOID.contains(&name.as_str()) || OPTIONAL.contains(&name.as_str()) {
            // Neither opens anything that stays open.
        } else if closing {
            close(&mut open, &name);
        } else {
            open.push(name);
            deepest = deepest.max(open.len());
        }
        if is_formatting {
            formatting = open.iter().filter(|name| FORMATTING.contains(&name.as_str())).count();
        }
        if deepest > limit || repeated > REPEATED_MAX {
            break;
        }
    }
    (deepest, repeated)
}

/// What stands behind a tag's attributes. In quotes, `>` is part of a value.
fn behind_attributes(tag: &str) -> &str {
    let mut quote = None;
    let mut previous = ' ';
    for (at, c) in tag.char_indices() {
        match (quote, c) {
            (None, '>') => return &tag[at + 1..],
            (None, '"' | '\'') if previous == '=' => quote = Some(c),
            (Some(q), c) if c == q => quote = None,
            _ => {}
        }
        if !c.is_ascii_whitespace() {
            previous = c;
        }
    }
    ""
}

fn behind_raw_text<'a>(text: &'a str, name: &str) -> &'a str {
    let ends = |at: usize| {
        text.as_bytes().get(at + 2..at + 2 + name.len()).is_some_and(|tail| tail.eq_ignore_ascii_case(name.as_bytes()))
    };
    text.match_indices("</").find(|(at, _)| ends(*at)).map_or("", |(at, _)| &text[at..])
}

fn close(open: &mut Vec<String>, name: &str) {
    let is = |list: &[&str], name: &str| list.contains(&name);
    let closes_scope = is(&SCOPE, name);
    for at in (0..open.len()).rev() {
        if open[at] == name {
            if is(&FORMATTING, name) {
                open.remove(at);
            } else {
                // What is inside ends with it, except formatting.
                let inside = open.split_off(at);
                open.extend(inside.into_iter().skip(1).filter(|inner| is(&FORMATTING, inner)));
            }
            return;
        }
        if is(&SCOPE, &open[at]) && !closes_scope {
            return;
        }
    }
}

/// The depth of a parsed tree.
pub(super) fn of_document(document: &Document) -> usize {
    let mut deepest = 0;
    let mut level = 0usize;
    let mut next = document.root().first_child();
    // A walk along the links of the tree, so that depth costs no stack.
    while let Some(node) = next {
        deepest = deepest.max(level + 1);
        next = if let Some(child) = node.first_child() {
            level += 1;
            Some(child)
        } else {
            let mut at = Some(node);
            loop {
                let Some(node) = at else { break None };
                if let Some(sibling) = node.next_sibling() {
                    break Some(sibling);
                }
                level = level.saturating_sub(1);
                at = node.parent();
            }
        };
    }
    deepest
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(html: &str, expected: usize) {
        assert_eq!(measure(html, 1000).0, expected, "{}", &html[..html.len().min(100)]);
    }

    #[test]
    fn depth_of_source() {
        check("", 0);
        check("<div><div></div></div><div></div>", 2);
        check("<p>a<p>b<li>c<li>d<br><img>", 0);
        check("<ul><li>a<ul><li>b</ul></ul><ul></ul>", 2);
        check("<!-- <div><div> --><script>'<div><div>'</script><div title='<div><div>'>", 1);
        check("<DIV>a < b </Div ><div/>", 1);
        check("<textarea><div></TEXTAREA><div>", 1);
        // An end tag without a beginning ends nothing.
        check(&"<div></x>".repeat(100), 100);
        // Formatting outlives what is around it, and an end tag does not reach out of a table.
        check(&"<div><b></div>".repeat(100), 101);
        check(&"<div><table><td></div>".repeat(100), 200);
        check(&"<b><div></b>".repeat(100), 101);
        check(&"<div>".repeat(1_000_000), 1001);
    }

    #[test]
    fn formatting_that_is_repeated_without_end() {
        let left_open: String = (0..500).map(|i| format!("<b x={i}>")).collect();
        let page = |n: usize| format!("<div>{left_open}</div>{}", "<p>x".repeat(n));
        assert!(!exceeds(&page(1_000), 512));
        assert!(exceeds(&page(100_000), 512));
        assert!(!exceeds(&"<p><b>x</b></p>".repeat(100_000), 512));
    }

    #[test]
    fn depth_of_document() {
        assert_eq!(of_document(&Document::from("<p>a")), 4);
        assert_eq!(of_document(&Document::from("<div>".repeat(100))), 102);
    }

    proptest! {
        /// What the scan lets through, the parser does not nest much deeper.
        #[test]
        fn the_scan_sees_what_the_parser_makes(
            tags in prop::collection::vec(prop::sample::select(vec![
                "<div>", "</div>", "<b>", "</b>", "<i x=1>", "</i>", "<p>", "</p>", "<table>", "</table>", "<td>", "<tr>",
                "<a>", "</a>", "<li>", "<ul>", "</ul>", "<span>", "</span>", "<svg>", "</svg>", "<select>", "</select>",
                "<option>", "<button>", "</button>", "<h1>", "</h1>", "<form>", "</form>", "<template>", "</template>", "x",
            ]), 0..200)
        ) {
            let html = tags.concat();
            let (scanned, parsed) = (measure(&html, 1000).0, of_document(&Document::from(html.as_str())));
            prop_assert!(parsed <= PARSED_PER_OPEN * scanned + 16, "{} opened, {} deep: {}", scanned, parsed, html);
        }
    }
}
