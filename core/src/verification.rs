//! Whether two claims disagree.

use serde::{Deserialize, Serialize};

/// How two claims disagree (CON-02).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "being written")]
pub enum Relation {
    DirectContradiction,
    TemporalConflict,
    StatisticalConflict,
}

/// A disagreement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// How they disagree.
    pub relation: Relation,
}

/// Whether the claims disagree.
pub fn conflict(_a: &str, _b: &str) -> Option<Conflict> {
    None
}
