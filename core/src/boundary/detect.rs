//! Finding what must not be open.

use super::Sensitivity;

/// What kind of sensitive thing was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "being written")]
pub enum Category {
    Secret,
    Personnel,
    Security,
    Business,
    Technical,
}

/// One finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What kind.
    pub category: Category,
    /// The rule that found it.
    pub rule: &'static str,
    /// Byte range in the text.
    pub range: std::ops::Range<usize>,
}

/// All findings.
pub fn detect(_text: &str) -> Vec<Finding> {
    Vec::new()
}

/// The class of a text.
pub fn classify(_text: &str, suggested: Sensitivity) -> Sensitivity {
    suggested
}
