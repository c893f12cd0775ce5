//! Why something was not taken in, in words that say what to do.

use std::fmt;

/// Why something was parked.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ParkReason {
    /// It is larger than [`Limits`](crate::Limits) allow.
    TooLarge,
    /// There is no text in it.
    Empty,
    /// It is neither text nor a format that is known.
    Binary,
    /// It is of a kind that no adapter reads.
    NoAdapter {
        /// The kind, by content.
        media_type: String,
    },
    /// It is locked with a password.
    Encrypted,
    /// It is damaged.
    Broken,
    /// It has pages, and no text on any of them.
    NoText,
    /// It is nested deeper than [`Limits`](crate::Limits) allow.
    TooDeep,
    /// It holds more items than [`Limits`](crate::Limits) allow; those before were read.
    TooMany,
    /// Its parser took longer than [`Limits`](crate::Limits) allow.
    TooSlow,
    /// Its parser panicked.
    Panicked,
    /// Too many parsers are stuck, so it was not tried.
    Busy,
    /// It is no longer there.
    Vanished,
    /// It may not be opened, or reading it failed.
    Unreadable,
    /// It is a pipe, a socket or a device.
    NotAFile,
    /// It is a link that leads back to itself, or to a directory above itself.
    LinkLoop,
    /// It is a link to a directory, or out of the directory that was named.
    LinkNotFollowed,
}

impl ParkReason {
    /// A name for programs: lower case, never changed.
    pub const fn code(&self) -> &'static str {
        match self {
            ParkReason::TooLarge => "too_large",
            ParkReason::Empty => "empty",
            ParkReason::Binary => "binary",
            ParkReason::NoAdapter { .. } => "no_adapter",
            ParkReason::Encrypted => "encrypted",
            ParkReason::Broken => "broken",
            ParkReason::NoText => "no_text",
            ParkReason::TooDeep => "too_deep",
            ParkReason::TooMany => "too_many",
            ParkReason::TooSlow => "too_slow",
            ParkReason::Panicked => "panicked",
            ParkReason::Busy => "busy",
            ParkReason::Vanished => "vanished",
            ParkReason::Unreadable => "unreadable",
            ParkReason::NotAFile => "not_a_file",
            ParkReason::LinkLoop => "link_loop",
            ParkReason::LinkNotFollowed => "link_not_followed",
        }
    }

    /// What a person can do about it.
    pub const fn remedy(&self) -> &'static str {
        match self {
            ParkReason::TooLarge | ParkReason::TooMany => "split it and ingest the parts",
            ParkReason::Empty => "check that it was saved whole",
            ParkReason::Binary | ParkReason::NoAdapter { .. } => {
                "convert it to text, Markdown, HTML, PDF or JSON Lines and ingest that"
            }
            ParkReason::Encrypted => "save it without the password and ingest it again",
            ParkReason::Broken => "open it in its own program, save it anew and ingest that",
            ParkReason::NoText => "run OCR first and ingest the result",
            ParkReason::TooDeep => "save its text alone and ingest that",
            ParkReason::TooSlow => "split it or save its text alone, and ingest that",
            ParkReason::Panicked => "save its text alone and ingest that, and report the file",
            ParkReason::Busy => "restart the node and ingest it again",
            ParkReason::Vanished => "check the path and ingest it again",
            ParkReason::Unreadable => "check its permissions and ingest it again",
            ParkReason::NotAFile => "name a file or a directory",
            ParkReason::LinkLoop => "remove the link",
            ParkReason::LinkNotFollowed => "name the link's target to ingest it",
        }
    }
}

/// What is wrong.
impl fmt::Display for ParkReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ParkReason::TooLarge => "it is larger than a source may be",
            ParkReason::Empty => "there is no text in it",
            ParkReason::Binary => "it is not text",
            ParkReason::NoAdapter { media_type } => return write!(f, "no adapter reads {media_type}"),
            ParkReason::Encrypted => "it is locked with a password",
            ParkReason::Broken => "it is damaged and cannot be read",
            ParkReason::NoText => "it is a scan without text",
            ParkReason::TooDeep => "it is nested too deeply",
            ParkReason::TooMany => "it holds more items than one source may",
            ParkReason::TooSlow => "reading it took too long",
            ParkReason::Panicked => "its reader failed on it",
            ParkReason::Busy => "too many readers are still stuck on other sources",
            ParkReason::Vanished => "it is no longer there",
            ParkReason::Unreadable => "it cannot be opened",
            ParkReason::NotAFile => "it is not a regular file",
            ParkReason::LinkLoop => "it is a link that leads back to where it stands",
            ParkReason::LinkNotFollowed => "it is a link that is not followed",
        })
    }
}

/// A source that was not taken in. Its text form is a sentence: what is wrong, the detail, what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}{}; {}", in_brackets(.detail), .reason.remedy())]
pub struct Parked {
    /// Why.
    pub reason: ParkReason,
    /// What exactly; may be empty.
    pub detail: String,
}

fn in_brackets(detail: &str) -> String {
    if detail.is_empty() { String::new() } else { format!(" ({detail})") }
}

impl Parked {
    /// A reason with its detail. Details may quote foreign text, so they are kept short and on one line.
    pub fn new(reason: ParkReason, detail: impl Into<String>) -> Parked {
        /// Enough for a parser's message and a path in it.
        const DETAIL_CHARS: usize = 300;
        let detail: String = detail.into();
        let detail = detail.chars().map(|c| if c.is_control() { ' ' } else { c }).take(DETAIL_CHARS).collect();
        Parked { reason, detail }
    }
}

impl From<ParkReason> for Parked {
    fn from(reason: ParkReason) -> Parked {
        Parked::new(reason, "")
    }
}

/// One item of a container that was not taken in; the items around it were.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{fragment}: {parked}")]
pub struct ParkedItem {
    /// Which item: the record's id, or `line-` and the number of its line, from 1.
    pub fragment: String,
    /// Why.
    #[source]
    pub parked: Parked,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parked_reads_as_a_sentence_that_says_what_to_do() {
        let parked = Parked::new(ParkReason::NoAdapter { media_type: "application/zip".into() }, "a\nb");
        assert_eq!(
            parked.to_string(),
            "no adapter reads application/zip (a b); convert it to text, Markdown, HTML, PDF or JSON Lines and ingest that"
        );
        assert_eq!(
            Parked::from(ParkReason::NoText).to_string(),
            "it is a scan without text; run OCR first and ingest the result"
        );
    }

    #[test]
    fn a_detail_is_bounded() {
        assert_eq!(Parked::new(ParkReason::Broken, "x".repeat(10_000)).detail.len(), 300);
    }
}
