//! The stages as a reader sees them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What each stage of a search did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct StagesView {
    /// What the question is after.
    pub intent: IntentView,
    /// Whom it speaks of, the surest first.
    pub entities: Vec<ResolvedView>,
    /// `no-graph`: the flat search rates; `single-user`; or `organisation`.
    pub setting: String,
    /// The scopes that gave results, with what they count for.
    pub weights: Vec<ScopeView>,
    /// Results that contradict each other.
    pub conflicts: Vec<ConflictView>,
    /// What each stage took, in microseconds.
    pub took_us: BTreeMap<String, u64>,
    /// What all of them took.
    pub total_us: u64,
}

/// What a question is after.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct IntentView {
    /// `debugging`, `architecture`, `onboarding`, `policy`, `how-to`, `review`, `security` or `general`.
    pub intent: String,
    /// How sure that is, in thousandths.
    pub confidence: u16,
    /// Why: what gave points, to which intent.
    pub clues: Vec<String>,
}

/// An entity that a question means.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ResolvedView {
    /// The entity.
    pub entity: String,
    /// How sure that is, in thousandths.
    pub confidence: u16,
    /// By what: `exact`, `mention`, `fuzzy` with the number of edits or `similar`.
    pub how: String,
    /// The name by which it was found.
    pub alias: Option<String>,
}

/// What a scope counts for a question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ScopeView {
    /// The scope.
    pub scope: String,
    /// Whether it is the weight of documents in it, or of what is none.
    pub documents: bool,
    /// The weight in millionths.
    pub weight: u32,
    /// The weight with every factor.
    pub formula: String,
}

/// Two results that contradict each other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ConflictView {
    /// One chunk.
    pub a: String,
    /// The other.
    pub b: String,
    /// What the one says.
    pub a_says: String,
    /// What the other says.
    pub b_says: String,
    /// `direct-contradiction`, `temporal-conflict` or `statistical-conflict`.
    pub relation: String,
}

/// Every factor of a result's place, in millionths.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FactorsView {
    /// Its place in the search alone, from 1.
    pub rank: u64,
    /// Whose it is.
    pub scope: String,
    /// The product.
    pub score: u32,
    /// The score of the search as a share of the best one.
    pub similarity: u32,
    /// What its scope counts; without a graph, its layer.
    pub source: u32,
    /// How well it is supported.
    pub evidence: u32,
    /// What of it is not stale.
    pub fresh: u32,
    /// What the intent makes of its type.
    pub kind: u32,
    /// What the intent makes of a document.
    pub document: u32,
    /// What the intent makes of a recent one.
    pub recent: u32,
    /// What the intent makes of its sensitivity and team.
    pub lift: u32,
    /// What was learned of its kind of source.
    pub learned: u32,
    /// The product with every factor, in words.
    pub formula: String,
}
