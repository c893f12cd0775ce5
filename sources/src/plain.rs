//! Plain text, and what may be read as such: subtitles, tables of values, source code.

use crate::adapter::{Emit, Source, SourceAdapter};
use crate::envelope::first_line;
use crate::parked::Parked;
use crate::sniff::Sniffed;

/// Text that is kept character by character. Its title is its first line, or the name of the file where the first
/// line is a header for programs.
pub struct Plain;

/// Formats whose first line says nothing about the content.
const WITH_HEADER: [&str; 3] = ["text/csv", "text/vtt", "application/x-subrip"];

impl SourceAdapter for Plain {
    fn name(&self) -> &'static str {
        "plain/1"
    }

    fn accepts(&self, sniffed: &Sniffed) -> bool {
        sniffed.media_type == "text/plain" || WITH_HEADER.contains(&sniffed.media_type)
    }

    fn parse(&self, source: &Source, emit: &mut Emit<'_>) -> Result<(), Parked> {
        let mut envelope = source.envelope(source.text().text.into_owned());
        if !WITH_HEADER.contains(&envelope.media_type) {
            /// A line that is longer is a paragraph.
            const TITLE_CHARS: usize = 100;
            envelope.title = first_line(&envelope.text, TITLE_CHARS).unwrap_or_default();
        }
        // The item stands alone, so whether anybody listens any more makes no difference.
        let _ = emit(Ok(envelope));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::read::tests::{one, reason};
    use crate::{MetaValue, ParkReason};

    #[test]
    fn text_is_kept_character_by_character() {
        for text in ["One line.", "\r\n\r\n  Indented\ttabs\r\nand CRLF \n\n", "עברית\nالعربية\n経", "a\u{fffd}b"]
        {
            assert_eq!(one("file:///a.txt", Some("txt"), text.as_bytes()).text, text);
        }
    }

    #[test]
    fn title() {
        assert_eq!(one("file:///a.txt", None, b"\n\n The plan \nmore").title, "The plan");
        assert_eq!(one("file:///a/prices.csv", Some("csv"), b"a,b\n1,2\n").title, "prices.csv");
        assert_eq!(one("file:///a/talk.txt", None, b"WEBVTT\n\n00:01.000 --> 00:02.000\nHello\n").title, "talk.txt");
        assert_eq!(one("stdin:note", None, b"...\n").title, "note");
        assert!(one("stdin:note", None, "word ".repeat(100).as_bytes()).title.ends_with('…'));
    }

    #[test]
    fn a_byte_order_mark_is_no_text() {
        assert_eq!(one("file:///a.txt", None, b"\xef\xbb\xbfHello there").text, "Hello there");
    }

    #[test]
    fn a_legacy_encoding_is_decoded_and_noted() {
        let envelope = one("file:///a.txt", None, b"Les \xe9l\xe8ves fran\xe7ais sont arriv\xe9s \xe0 la gare.");
        assert_eq!(envelope.text, "Les élèves français sont arrivés à la gare.");
        assert_eq!(envelope.raw_metadata["encoding"], MetaValue::from("windows-1252"));
    }

    #[test]
    fn damaged_characters_are_counted() {
        let envelope = one("file:///a.txt", None, "12\u{fffd}N 13\u{fffd}E".as_bytes());
        assert_eq!(envelope.raw_metadata["damaged_characters"], MetaValue::Integer(2));
    }

    #[test]
    fn nothing_but_space_is_empty() {
        for bytes in [&b""[..], b" \r\n\t", b"\xef\xbb\xbf", b"\xff\xfe", b"\xff\xfe \x00"] {
            assert_eq!(reason("file:///a.txt", None, bytes), ParkReason::Empty, "{bytes:?}");
        }
    }
}
