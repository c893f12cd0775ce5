//! Lines of judged collections: what may stand in one, and what is said of one that cannot be read.

/// Longest line. The longest abstract of the usual collections has a hundredth of it.
pub const LINE_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Longest name of a query or document.
pub const ID_BYTES_MAX: usize = 256;
/// Characters of what was wrong that are repeated.
const SHOWN_CHARS: usize = 40;

/// A line that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {fault}")]
pub struct ReadError {
    /// Which, from 1.
    pub line: usize,
    /// Why.
    pub fault: Fault,
}

/// Why a line cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// Longer than any line needs to be.
    #[error("it has more than {LINE_BYTES_MAX} bytes")]
    TooLong,
    /// Other columns than the format has.
    #[error("it has {found} columns; {wanted}")]
    Columns {
        /// How many there are.
        found: usize,
        /// Which there should be.
        wanted: &'static str,
    },
    /// A name that is none.
    #[error("`{0}` is no name: it has 1 to {ID_BYTES_MAX} bytes, and neither spaces nor control characters")]
    Name(String),
    /// A grade that is none.
    #[error("`{0}` is no grade: it is a whole number from -{max} to {max}", max = super::GRADE_MAX)]
    Grade(String),
    /// A score that is none.
    #[error("`{0}` is no score: it is a decimal number with at most 18 digits before the point")]
    Score(String),
    /// The document was judged otherwise before.
    #[error("document `{document}` of query `{query}` was judged {before} before; keep one of the two judgments")]
    Contradiction {
        /// The query.
        query: String,
        /// The document.
        document: String,
        /// The other grade.
        before: i32,
    },
    /// Something was named before.
    #[error("`{0}` was named before; keep one of the two lines")]
    Twice(String),
    /// The line is no JSON object.
    #[error("it is no JSON object: {0}")]
    Json(String),
    /// A field is not there.
    #[error("it has no {0}")]
    Missing(&'static str),
}

/// The lines that say something, with their numbers. A byte order mark and carriage returns are no part of them.
pub(super) fn lines(text: &str) -> impl Iterator<Item = (usize, Result<&str, ReadError>)> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let numbered = text.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line)).zip(1..);
    numbered.filter(|(line, _)| !line.trim().is_empty()).map(|(line, number)| {
        let fits = line.len() <= LINE_BYTES_MAX;
        (number, if fits { Ok(line) } else { Err(ReadError { line: number, fault: Fault::TooLong }) })
    })
}

/// A name, if it is one.
pub(super) fn name(text: &str) -> Result<String, Fault> {
    let good =
        !text.is_empty() && text.len() <= ID_BYTES_MAX && !text.contains(|c: char| c.is_whitespace() || c.is_control());
    if good { Ok(text.to_string()) } else { Err(Fault::Name(shown(text))) }
}

/// The beginning of what was wrong.
pub(super) fn shown(text: &str) -> String {
    text.chars().take(SHOWN_CHARS).collect()
}
