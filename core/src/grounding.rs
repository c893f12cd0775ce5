//! Saying: the extractive composer, the reliability report, the answer envelope, abstention.
//!
//! An answer is made of sentences that stand verbatim in evidence, each with its citation, and of nothing else. The
//! composer is a pure function: the same question over the same evidence gives the same bytes, which is what lets a
//! bundle be replayed. Two rules can each make it abstain (D1): no passage supports the question, or the reliability
//! is under its threshold.

mod compose;
mod passage;
mod reliability;

use cid::Cid;
use serde::{Deserialize, Serialize};

use crate::boundary::Sensitivity;
use crate::content::{Chunk, block_type};
use crate::identity::NodeId;
use crate::measure::{Milli, Timestamp};
use crate::verification::Relation;

pub use compose::{compose, rests_on};
pub use passage::{PASSAGE_CHARS_MAX, best_passage, support};
pub use reliability::{RELIABILITY_MIN, Reliability, Support, lexical_score, provenance_score};

/// Most passages that an answer cites (CTX-19).
pub const CITATIONS_MAX: usize = 5;

/// Least share of a question's weight that a chunk must carry to be cited (D4), by inverse document frequency: a chunk
/// that shares only the common words of a question does not answer it.
pub const SUPPORT_MIN: Milli = Milli::from_const(550);

/// A citation also carries at least this share of the best one's support: behind a passage that answers, others that
/// only touch the subject are noise.
pub const SUPPORT_OF_BEST_MIN: Milli = Milli::from_const(700);

/// A cited sentence carries at least this share of what the best one carries: a chunk may be about the subject, and the
/// sentence say nothing of what was asked.
pub const SENTENCE_OF_BEST_MIN: Milli = Milli::from_const(600);

block_type!(AnswerTag, "plumb/answer/1");

/// A chunk that was found, with what the composer must know of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evidence {
    /// Its CID.
    pub cid: Cid,
    /// The chunk.
    pub chunk: Chunk,
    /// Its source's `uri`.
    pub uri: String,
    /// The node that published it.
    pub publisher: NodeId,
    /// Its BM25 score in millionths.
    pub score: u64,
    /// Hops that it came: 0 for own evidence, 1 for a peer's.
    pub distance: u32,
    /// Its label.
    pub sensitivity: Sensitivity,
    /// A notice that counsels caution.
    pub caution: Option<Cid>,
    /// What the reader lets its organisation's evidence weigh, 0 to 100, where that is not neutral.
    pub trust: Option<u8>,
}

/// How well an answer is grounded (GRD-11 to GRD-15).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GroundingState {
    /// Three citations or more.
    Grounded,
    /// One or two.
    Partial,
    /// None, to a question.
    Ungrounded,
    /// Nothing was asked.
    Abstained,
    /// A source that it cited was taken back since.
    RetractedSource,
}

/// The design's three words for it (GRD-16).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the names are the design's")]
pub enum Confidence {
    Unavailable,
    Cautious,
    Grounded,
}

/// How a claim came about (GRD-17). The extractive composer only retrieves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ClaimLabel {
    /// Verbatim from its source.
    Retrieved,
    /// Put together from several.
    Synthesized,
}

/// One sentence of an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// `c1`, `c2`, …
    pub id: String,
    /// The sentence, verbatim from its source.
    pub text: String,
    /// How it came about.
    pub label: ClaimLabel,
    /// Citations that carry it.
    pub citations: Vec<String>,
}

/// Where a claim stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Citation {
    /// `s1`, `s2`, …; in the prose `[1]`, `[2]`, …
    pub id: String,
    /// The chunk.
    pub chunk: Cid,
    /// Its source record.
    pub source: Cid,
    /// Its source's `uri`.
    pub uri: String,
    /// Its source's title.
    pub title: String,
    /// Byte offset of the passage in the source's text.
    pub start: u64,
    /// Byte offset behind the passage.
    pub end: u64,
    /// Page, where the source has pages.
    pub page: Option<u32>,
    /// Who published it.
    pub publisher: NodeId,
    /// The share of the question's weight that its chunk carries.
    pub support: Milli,
    /// A notice that counsels caution.
    pub caution: Option<Cid>,
}

/// Two claims of one answer that do not agree. Both are shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contested {
    /// One claim.
    pub a: String,
    /// The other.
    pub b: String,
    /// How they disagree.
    pub relation: Relation,
}

/// The answer envelope (GRD-18).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// `plumb/answer/1`
    #[serde(rename = "type")]
    pub tag: AnswerTag,
    /// When it was composed.
    pub generated_at: Timestamp,
    /// The question.
    pub query: String,
    /// The prose.
    pub answer: String,
    /// One word for it.
    pub confidence: Confidence,
    /// The citations, in the order of the prose.
    pub citations: Vec<Citation>,
    /// The claims.
    pub claims: Vec<Claim>,
    /// Claim id to citation ids, equal to what the claims say themselves (GRD-19).
    pub citation_map: std::collections::BTreeMap<String, Vec<String>>,
    /// How well it is grounded.
    pub grounding_state: GroundingState,
    /// Whether it declined to answer.
    pub abstained: bool,
    /// The integer report behind that.
    pub reliability: Reliability,
    /// Claims that disagree.
    pub conflicts: Vec<Contested>,
    /// Its label: the strictest of its evidence (law 1).
    pub sensitivity: Sensitivity,
}

#[cfg(test)]
mod tests;
