//! The bounds under which sources are read.

use std::time::Duration;

/// Every bound of this crate. The default is for documents that people write; a caller may lower or raise each.
/// What lies beyond a bound is parked or, where it says so, cut with a note: never dropped in silence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of one source. 64 MiB holds any book and any usual corpus file; parsers need several times as much.
    pub source_bytes: usize,
    /// Bytes of one line of JSON Lines. 4 MiB is a long book in one record.
    pub line_bytes: usize,
    /// Bytes of text that one document may give. Legacy encodings grow by half or double in UTF-8, and a PDF can repeat
    /// one stream on every page, so text is not bounded by the bytes of its source.
    pub text_bytes: usize,
    /// Depth of nesting of elements in HTML. Pages that people write stay below 100, browsers stop at 512.
    pub html_depth: usize,
    /// Pages of one PDF. Later ones are left out, with a note.
    pub pdf_pages: usize,
    /// Decoded bytes of one stream inside a PDF: what a page or a font may be. A stream of a few kilobytes can
    /// decode to gigabytes.
    pub pdf_stream_bytes: usize,
    /// Characters of a title. Longer ones are cut.
    pub title_chars: usize,
    /// Headings and pages that are marked in one document. Later ones are left out, with a note.
    pub marks: usize,
    /// Items of one container. Where more follow, that is reported as one parked item.
    pub items: usize,
    /// Fields of metadata kept for one item, and characters kept of each.
    pub meta_fields: usize,
    /// Characters of one field of metadata. Longer ones are cut.
    pub meta_chars: usize,
    /// How long a parser may take from one item to the next.
    pub parse_time: Duration,
    /// Stack of the parser's thread. Parsers of foreign code recurse; 64 MiB carries every depth that the other
    /// bounds let through, and costs address space only.
    pub stack_bytes: usize,
    /// Parsers that ran out of time and still run. A thread cannot be killed, so beyond this number nothing more is
    /// read until one of them ends.
    pub stuck_parsers: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            source_bytes: 64 << 20,
            line_bytes: 4 << 20,
            text_bytes: 128 << 20,
            html_depth: 512,
            pdf_pages: 10_000,
            pdf_stream_bytes: 16 << 20,
            title_chars: 300,
            marks: 50_000,
            items: 1_000_000,
            meta_fields: 64,
            meta_chars: 2_000,
            parse_time: Duration::from_secs(30),
            stack_bytes: 64 << 20,
            stuck_parsers: 4,
        }
    }
}
