//! The text of a tree of elements: blocks apart, space collapsed, headings marked.

use dom_query::{NodeData, NodeRef};
use plumb_core::content::{Mark, MarkKind};

use crate::limits::Limits;

/// Which parts of a page count.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Parts {
    /// Everything that is shown.
    All,
    /// What is neither navigation nor a frame around the content.
    Page,
}

/// Text, and what is marked in it.
pub(super) struct Extract {
    pub(super) text: String,
    pub(super) marks: Vec<Mark>,
}

/// Never shown as text.
const HIDDEN: [&str; 22] = [
    "script", "style", "noscript", "template", "head", "title", "meta", "link", "iframe", "object", "embed", "svg",
    "canvas", "audio", "video", "select", "datalist", "textarea", "input", "rt", "rp", "noframes",
];
/// Around the content of a page.
const FRAME: [&str; 6] = ["nav", "header", "footer", "aside", "button", "dialog"];
/// The same, as roles.
const FRAME_ROLES: [&str; 6] = ["navigation", "banner", "contentinfo", "search", "complementary", "dialog"];
/// A paragraph of its own.
const BLOCK: [&str; 30] = [
    "p",
    "div",
    "section",
    "article",
    "main",
    "header",
    "footer",
    "nav",
    "aside",
    "blockquote",
    "pre",
    "ul",
    "ol",
    "dl",
    "table",
    "figure",
    "figcaption",
    "form",
    "fieldset",
    "address",
    "details",
    "summary",
    "hr",
    "center",
    "hgroup",
    "caption",
    "body",
    "dialog",
    "menu",
    "search",
];
/// A line of its own.
const LINE: [&str; 8] = ["li", "tr", "dt", "dd", "option", "legend", "thead", "tbody"];

/// Takes the text out of a tree. Text of languages that are written from right to left comes in the order of reading,
/// since that is how it stands in the source.
pub(super) fn extract(root: &NodeRef<'_>, parts: Parts, limits: &Limits) -> Extract {
    // If the page says what its content is, that is its content.
    let main = (parts == Parts::Page).then(|| {
        root.descendants_it()
            .find(|node| node.has_name("main") || node.attr("role").is_some_and(|role| &*role == "main"))
    });
    if let Some(main) = main.flatten() {
        let extract = walk(&main, parts, limits);
        if !extract.text.is_empty() {
            return extract;
        }
    }
    walk(root, parts, limits)
}

enum Step<'a> {
    Enter(NodeRef<'a>),
    Leave(Kind),
}

/// What the end of an element means for the text.
enum Kind {
    Block,
    Line,
    Heading,
    Pre,
}

fn walk(root: &NodeRef<'_>, parts: Parts, limits: &Limits) -> Extract {
    let mut writer = Writer::new(limits);
    let mut steps = vec![Step::Enter(*root)];
    while let Some(step) = steps.pop() {
        let node = match step {
            Step::Leave(kind) => {
                writer.leave(&kind);
                continue;
            }
            Step::Enter(node) => node,
        };
        let name = node.query_or(None, |tree_node| match &tree_node.data {
            NodeData::Text { contents } => {
                writer.write(contents);
                None
            }
            NodeData::Element(element) => Some(element.name.local.to_string()),
            NodeData::Document | NodeData::Fragment => Some(String::new()),
            _ => None,
        });
        let Some(name) = name else { continue };
        if is_hidden(&node, &name, parts) || writer.heading.is_some() && is_handle(&node, &name) {
            continue;
        }
        if let Some(kind) = writer.enter(&name) {
            steps.push(Step::Leave(kind));
        }
        let children = steps.len();
        steps.extend(node.children_it(false).map(Step::Enter));
        steps[children..].reverse();
    }
    writer.finish()
}

fn is_hidden(node: &NodeRef<'_>, name: &str, parts: Parts) -> bool {
    if HIDDEN.contains(&name) {
        return true;
    }
    if parts == Parts::All || name.is_empty() {
        return false;
    }
    FRAME.contains(&name)
        || node.has_attr("hidden")
        || node.attr("aria-hidden").is_some_and(|value| &*value == "true")
        || node.attr("role").is_some_and(|role| FRAME_ROLES.contains(&role.trim()))
        || node.attr("style").is_some_and(|style| {
            let style: String = style.chars().filter(|c| !c.is_whitespace()).collect();
            style.contains("display:none") || style.contains("visibility:hidden")
        })
}

/// Whether it is a link at a heading that is only there to be clicked on: to the heading itself (`#`, `¶`), or to edit
/// what is below it (MediaWiki).
fn is_handle(node: &NodeRef<'_>, name: &str) -> bool {
    name == "a" && !node.text().contains(char::is_alphanumeric) || name == "span" && node.has_class("mw-editsection")
}

/// What stands between two pieces of text. The stronger wins.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Gap {
    None,
    Space,
    Tab,
    Line,
    Blank,
}

struct Writer {
    out: String,
    marks: Vec<Mark>,
    gap: Gap,
    /// How many `pre` are around.
    pre: usize,
    /// Level of the heading that is open, and where its text began.
    heading: Option<(u8, Option<usize>)>,
    /// Headings inside a heading, which do not count.
    headings_inside: usize,
    bytes_max: usize,
}

impl Writer {
    fn new(limits: &Limits) -> Writer {
        Writer {
            out: String::new(),
            marks: Vec::new(),
            gap: Gap::None,
            pre: 0,
            heading: None,
            headings_inside: 0,
            // One byte more than is allowed, so that the gate sees that it was too much.
            bytes_max: limits.text_bytes.saturating_add(1),
        }
    }

    fn enter(&mut self, name: &str) -> Option<Kind> {
        if let Some(level) = heading_level(name) {
            self.need(Gap::Blank);
            if self.heading.is_some() {
                self.headings_inside += 1;
            } else {
                self.heading = Some((level, None));
            }
            return Some(Kind::Heading);
        }
        if name == "br" {
            self.need(Gap::Line);
        } else if name == "td" || name == "th" {
            self.need(Gap::Tab);
        } else if LINE.contains(&name) {
            self.need(Gap::Line);
            return Some(Kind::Line);
        } else if BLOCK.contains(&name) {
            self.need(Gap::Blank);
            if name == "pre" {
                self.pre += 1;
                return Some(Kind::Pre);
            }
            return Some(Kind::Block);
        }
        None
    }

    fn leave(&mut self, kind: &Kind) {
        match kind {
            Kind::Line => self.need(Gap::Line),
            Kind::Block => self.need(Gap::Blank),
            Kind::Pre => {
                self.pre -= 1;
                // Line ends before the end tag are not shown.
                self.out.truncate(self.out.trim_end().len());
                self.need(Gap::Blank);
            }
            Kind::Heading => {
                self.need(Gap::Blank);
                if self.headings_inside > 0 {
                    self.headings_inside -= 1;
                } else if let Some((level, Some(at))) = self.heading.take() {
                    let text = self.out.get(at..).unwrap_or_default();
                    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
                    self.marks.push(Mark { at, kind: MarkKind::Heading { level, text } });
                }
            }
        }
    }

    fn need(&mut self, gap: Gap) {
        self.gap = self.gap.max(gap);
    }

    fn write(&mut self, text: &str) {
        for c in text.chars() {
            if self.out.len() >= self.bytes_max {
                return;
            }
            match c {
                // A place where a word may be broken is no part of the word.
                '\u{ad}' => {}
                ' ' | '\t' | '\n' | '\r' | '\u{c}' if self.pre == 0 => self.need(Gap::Space),
                '\r' => {}
                c => self.push(c),
            }
        }
    }

    fn push(&mut self, c: char) {
        if !self.out.is_empty() {
            self.out.push_str(match self.gap {
                Gap::None => "",
                Gap::Space => " ",
                Gap::Tab => "\t",
                Gap::Line => "\n",
                Gap::Blank => "\n\n",
            });
        }
        self.gap = Gap::None;
        if let Some((_, at @ None)) = &mut self.heading {
            *at = Some(self.out.len());
        }
        self.out.push(c);
    }

    fn finish(mut self) -> Extract {
        self.out.truncate(self.out.trim_end().len());
        Extract { text: self.out, marks: self.marks }
    }
}

fn heading_level(name: &str) -> Option<u8> {
    match name.as_bytes() {
        [b'h', level @ b'1'..=b'6'] => Some(level - b'0'),
        _ => None,
    }
}
