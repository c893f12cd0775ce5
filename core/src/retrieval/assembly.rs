//! Context assembly: from a question to a block of context, in six stages that each explain themselves.
//!
//! | stage | decides | here |
//! | --- | --- | --- |
//! | 1 intent | what the question is after | [`detect`] |
//! | 2 entities | whom it speaks of | the entity graph |
//! | 3 weights | how much each scope counts, and its share of the results | [`weigh`], [`slots`] |
//! | 4 search | what is found | the indexes |
//! | 5 fusion | one ranking: scores, duplicates, the best five | [`rate`], [`fuse`] |
//! | 6 conflicts | both sides of what is contested, and the text | [`fuse`], [`render`] |
//!
//! Without a graph the flat search of the first version takes over ([`rate_flat`]); [`Setting`] says when.
//!
//! **Invariant:** what is rated, lifted or shown is [`Admitted`], and only the boundary makes that. No intent, no bias
//! and no learned weight takes part in who may read what; they order what was already readable.

mod admitted;
mod bias;
mod block;
mod fallback;
mod flat;
mod fuse;
mod intent;
mod learned;
mod scope_weight;
mod score;
mod stages;

#[cfg(test)]
mod for_test;

pub use admitted::{Admitted, lift};
pub use bias::{RECENT, document_bias, recency_bias, recency_boost, scope_bias, type_bias};
pub use block::{
    BUDGET_API, BUDGET_CONFIGURED, BUDGET_ENGINE, BUDGET_MAX, Block, CHARACTERS_A_TOKEN, Passage, TAG, label, render,
};
pub use fallback::{SPARSE_EDGE_WEIGHT, Setting, Society, level_proximity, proximity};
pub use flat::{FLAT_CONFIDENCE_MIN, FLAT_FETCH, FLAT_LIMIT, FlatScore, FlatSignals, Layer, rate_flat};
pub use fuse::{Candidate, DUPLICATE_ABOVE, Found, Fused, Opposed, PairSimilarities, TOP_K, fuse};
pub use intent::{
    Clue, Detected, EXEMPLAR_MIN, EXEMPLAR_POINTS, EXEMPLARS, Intent, KEYWORD_POINTS, Nearness, NearnessError,
    PATTERN_POINTS, detect,
};
pub use learned::{
    FeedbackError, FeedbackEvent, Help, LEARNED_HIGH, LEARNED_LOW, Learned, LearnedFactor, Model, PRIOR_SHOWN,
    SHOWN_MAX, Shown, SourceKind, ceiling,
};
pub use scope_weight::{
    DOCUMENT_AUTHORITY, Role, SLOTS_MIN, ScopeFacts, ScopeWeight, freshness, scope_authority, slots, weigh,
};
pub use score::{Score, Signals, rate};
pub use stages::{HOOK_DEADLINE, HOOK_HTTP_DEADLINE, PROMPT_CHARACTERS_MIN, Stage, TOTAL_BUDGET, Timings, hook_skips};
