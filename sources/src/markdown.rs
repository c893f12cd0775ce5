//! Markdown: the text as it is, with marks for its headings.

mod front_matter;
mod headings;

use plumb_core::content::{Mark, MarkKind};

use crate::adapter::{Emit, Source, SourceAdapter, put_meta};
use crate::envelope::first_line;
use crate::parked::Parked;
use crate::sniff::Sniffed;

/// Markdown is not rendered: a passage that is cited stands in the file exactly so. What is taken out of it besides
/// is the front matter (as metadata) and the headings (as marks).
pub struct Markdown;

impl SourceAdapter for Markdown {
    fn name(&self) -> &'static str {
        "markdown/1"
    }

    fn accepts(&self, sniffed: &Sniffed) -> bool {
        sniffed.media_type == "text/markdown"
    }

    fn parse(&self, source: &Source, emit: &mut Emit<'_>) -> Result<(), Parked> {
        let mut envelope = source.envelope(source.text().text.into_owned());
        let text = &envelope.text;
        let front = front_matter::read(text);
        for (key, value) in front.fields {
            put_meta(&mut envelope.raw_metadata, &source.limits, &key, value);
        }
        envelope.marks = headings::find(text, front.end);
        /// A line that is longer is a paragraph.
        const TITLE_CHARS: usize = 100;
        envelope.title = envelope
            .metadata_text(&["title"])
            .map(str::to_string)
            .or_else(|| outermost(&envelope.marks))
            .or_else(|| first_line(&text[front.end..], TITLE_CHARS))
            .unwrap_or_default();
        // The item stands alone, so whether anybody listens any more makes no difference.
        let _ = emit(Ok(envelope));
        Ok(())
    }
}

/// The first heading of the outermost level that there is.
fn outermost(marks: &[Mark]) -> Option<String> {
    let headings = marks.iter().filter_map(|mark| match &mark.kind {
        MarkKind::Heading { level, text } if !text.is_empty() => Some((*level, text)),
        _ => None,
    });
    headings.min_by_key(|(level, _)| *level).map(|(_, text)| text.clone())
}

#[cfg(test)]
mod tests {
    use crate::read::tests::one;
    use crate::{MetaValue, SignalEnvelope};

    fn read(text: &str) -> SignalEnvelope {
        let envelope = one("file:///a/notes.md", Some("md"), text.as_bytes());
        assert_eq!(envelope.text, text);
        envelope
    }

    #[test]
    fn title() {
        for (text, title) in [
            ("---\ntitle: \"From: the front\"\n---\n# Heading\n", "From: the front"),
            ("---\nparent: x\n---\n\n# First *heading* #\n", "First *heading*"),
            ("## Small\n\n# Large\n", "Large"),
            ("Just a line\nand more\n", "Just a line"),
            ("Under\n=====\n", "Under"),
            ("***\n", "notes.md"),
        ] {
            assert_eq!(read(text).title, title, "{text}");
        }
    }

    #[test]
    fn front_matter_is_metadata() {
        let envelope = read("---\nTitle: A\nstatus: 'accepted'\nnav_order: 3\ntags:\n  - x\n  - y\n---\n\nText\n");
        let seen: Vec<_> = envelope.raw_metadata.iter().map(|(k, v)| (k.as_str(), v.clone())).collect();
        let text = |s: &str| MetaValue::Text(s.into());
        assert_eq!(
            seen,
            [
                ("nav_order", MetaValue::Integer(3)),
                ("status", text("accepted")),
                ("tags", text("x, y")),
                ("title", text("A")),
            ]
        );
        assert!(envelope.marks.is_empty());
    }
}
