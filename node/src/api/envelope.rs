//! The answer as programs read it: the envelope of GRD-18 with its names, and beside it the reliability report, the
//! conflicts and the label.
//!
//! `core`'s answer is made to be hashed: its links are CIDs and its time is a number. Here both are text.

use std::collections::BTreeMap;

use plumb_actors::grounding::{AnswerView, ClaimStateView, SavedAnswerView};
use plumb_actors::retrieval::{Coverage, UnconfirmedView};
use plumb_core::boundary::Sensitivity;
use plumb_core::grounding::{self, Claim, Confidence, Contested, GroundingState, Reliability};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// An answer (GRD-18).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Answer {
    /// When it was composed, RFC 3339.
    pub generated_at: String,
    /// The question.
    pub query: String,
    /// The prose. `[1]` stands for the first citation.
    pub answer: String,
    /// `grounded`, `cautious` or `unavailable`.
    #[schema(value_type = String)]
    pub confidence: Confidence,
    /// The citations, in the order of the prose.
    pub citations: Vec<Citation>,
    /// The claims: each sentence, verbatim from its source, with the citations that carry it.
    #[schema(value_type = Vec<Object>)]
    pub claims: Vec<Claim>,
    /// Claim id to citation ids.
    pub citation_map: BTreeMap<String, Vec<String>>,
    /// `grounded`, `partial`, `ungrounded`, `abstained` or `retracted-source`.
    #[schema(value_type = String)]
    pub grounding_state: GroundingState,
    /// Whether it declined to answer.
    pub abstained: bool,
    /// The integer report behind that.
    #[schema(value_type = Object)]
    pub reliability: Reliability,
    /// Claims that disagree; nobody has decided between them.
    #[schema(value_type = Vec<Object>)]
    pub conflicts: Vec<Contested>,
    /// Its label: the strictest of its evidence.
    #[schema(value_type = String)]
    pub sensitivity: Sensitivity,
}

/// Where a claim stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Citation {
    /// `s1`, `s2`, …
    pub id: String,
    /// The chunk, by its CID.
    pub chunk: String,
    /// Its source record, by its CID.
    pub source: String,
    /// Its source's address as others see it.
    pub uri: String,
    /// Its source's title.
    pub title: String,
    /// Byte offset of the passage in the source's text.
    pub start: u64,
    /// Byte offset behind the passage.
    pub end: u64,
    /// Page, where the source has pages.
    pub page: Option<u32>,
    /// Who published it: a `did:key`.
    pub publisher: String,
    /// The share of the question's weight that its chunk carries, in thousandths.
    pub support: u16,
    /// A notice that counsels caution, by its CID.
    pub caution: Option<String>,
}

/// An answer, with who was asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AnswerReply {
    /// The answer.
    pub answer: Answer,
    /// Who was asked, and what came of it.
    pub coverage: Coverage,
    /// Publishers of its evidence whose word on whether it still stands could not be confirmed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unconfirmed: Vec<UnconfirmedView>,
    /// The bundle in which it was kept, by its CID.
    pub bundle: Option<String>,
}

/// A saved answer as it stands now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SavedAnswerReply {
    /// Its bundle.
    pub bundle: String,
    /// When it was sealed, RFC 3339.
    pub saved_at: String,
    /// The answer as it was given.
    pub answer: Answer,
    /// `current`, `retracted-source` or `caution`.
    pub state: String,
    /// What its reader must know: one line for each notice that reaches it.
    pub flags: Vec<String>,
    /// The notices.
    pub notices: Vec<String>,
    /// How each claim stands now.
    #[serde(default)]
    pub claims: Vec<ClaimStateView>,
    /// Publishers of its evidence whose word on whether it still stands could not be confirmed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unconfirmed: Vec<UnconfirmedView>,
}

impl From<grounding::Answer> for Answer {
    fn from(answer: grounding::Answer) -> Answer {
        Answer {
            generated_at: answer.generated_at.to_string(),
            query: answer.query,
            answer: answer.answer,
            confidence: answer.confidence,
            citations: answer.citations.into_iter().map(Citation::from).collect(),
            claims: answer.claims,
            citation_map: answer.citation_map,
            grounding_state: answer.grounding_state,
            abstained: answer.abstained,
            reliability: answer.reliability,
            conflicts: answer.conflicts,
            sensitivity: answer.sensitivity,
        }
    }
}

impl From<grounding::Citation> for Citation {
    fn from(citation: grounding::Citation) -> Citation {
        Citation {
            id: citation.id,
            chunk: citation.chunk.to_string(),
            source: citation.source.to_string(),
            uri: citation.uri,
            title: citation.title,
            start: citation.start,
            end: citation.end,
            page: citation.page,
            publisher: citation.publisher.to_string(),
            support: citation.support.get(),
            caution: citation.caution.map(|notice| notice.to_string()),
        }
    }
}

impl From<AnswerView> for AnswerReply {
    fn from(view: AnswerView) -> AnswerReply {
        let AnswerView { answer, coverage, unconfirmed, bundle } = view;
        AnswerReply { answer: answer.into(), coverage, unconfirmed, bundle }
    }
}

impl From<SavedAnswerView> for SavedAnswerReply {
    fn from(view: SavedAnswerView) -> SavedAnswerReply {
        let SavedAnswerView { bundle, saved_at, answer, state, flags, notices, claims, unconfirmed } = view;
        SavedAnswerReply { bundle, saved_at, answer: answer.into(), state, flags, notices, claims, unconfirmed }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_core::measure::Timestamp;
    use plumb_core::retrieval::{Query, TermStats};

    #[test]
    fn the_envelope_has_the_names_of_the_design() {
        let stats = TermStats { n_docs: 0, n_terms: 0, doc_freq: vec![0] };
        let answer = grounding::compose(&Query::new("chloramine"), &stats, &[], Timestamp(0));
        let json = serde_json::to_value(Answer::from(answer)).unwrap();
        let names: Vec<&String> = json.as_object().unwrap().keys().collect();
        for name in [
            "generatedAt",
            "query",
            "answer",
            "confidence",
            "citations",
            "claims",
            "citationMap",
            "groundingState",
            "abstained",
        ] {
            assert!(names.contains(&&name.to_string()), "{name} in {names:?}");
        }
        assert_eq!(json["generatedAt"], "1970-01-01T00:00:00.000Z");
    }
}
