//! What the grounding actor answers.

use plumb_core::measure::Duration;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::NodeError;
use crate::caller::Caller;
use crate::retrieval::Coverage;

/// Answers a question from evidence, or abstains.
#[derive(Clone, Debug, actix::Message)]
#[rtype(result = "Result<AnswerView, NodeError>")]
pub struct AnswerQuestion {
    /// Who asks.
    pub caller: Caller,
    /// The question.
    pub query: String,
    /// Whether peers are asked too.
    pub peers: bool,
    /// How long peers have.
    pub deadline: Duration,
    /// Whether the answer is kept: sealed as a bundle, logged, and flagged when its evidence is withdrawn.
    pub save: bool,
}

/// Lists saved answers that the caller may read, newest first.
#[derive(Clone, Debug, actix::Message)]
#[rtype(result = "Result<Vec<SavedAnswerView>, NodeError>")]
pub struct ListAnswers {
    /// Who asks.
    pub caller: Caller,
    /// At most so many.
    pub limit: usize,
}

/// Shows a saved answer as it stands now.
#[derive(Clone, Debug, actix::Message)]
#[rtype(result = "Result<SavedAnswerView, NodeError>")]
pub struct ShowAnswer {
    /// Who asks.
    pub caller: Caller,
    /// The bundle's CID, or `last`.
    pub bundle: String,
}

/// Gives the file of a saved or imported bundle.
#[derive(Clone, Debug, actix::Message)]
#[rtype(result = "Result<Vec<u8>, NodeError>")]
pub struct ExportBundle {
    /// Who asks.
    pub caller: Caller,
    /// The bundle's CID, or `last`.
    pub bundle: String,
}

/// Verifies a bundle file against what this node knows.
#[derive(Clone, Debug, actix::Message)]
#[rtype(result = "Result<VerdictView, NodeError>")]
pub struct VerifyBundle {
    /// The file.
    pub car: Vec<u8>,
}

/// Takes in a bundle: its evidence becomes searchable here, and a receipt goes to whoever issued it.
#[derive(Clone, Debug, actix::Message)]
#[rtype(result = "Result<ImportView, NodeError>")]
pub struct ImportBundle {
    /// Who.
    pub caller: Caller,
    /// The file.
    pub car: Vec<u8>,
}

/// An answer for its reader.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AnswerView {
    /// The answer envelope (GRD-18) with its reliability report.
    #[schema(value_type = Object)]
    pub answer: plumb_core::grounding::Answer,
    /// Who was asked.
    pub coverage: Coverage,
    /// The bundle in which it was kept.
    pub bundle: Option<String>,
}

/// A saved answer as it stands now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SavedAnswerView {
    /// Its bundle.
    pub bundle: String,
    /// When it was sealed, RFC 3339.
    pub saved_at: String,
    /// The answer as it was given.
    #[schema(value_type = Object)]
    pub answer: plumb_core::grounding::Answer,
    /// `current`, `retracted-source` or `caution`.
    pub state: String,
    /// What its reader must know: one line for each notice that reaches it.
    pub flags: Vec<String>,
    /// The notices.
    pub notices: Vec<String>,
}

/// What a verification found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct VerdictView {
    /// `authentic`, `retracted`, `unconfirmed` or `not_authentic`.
    pub verdict: String,
    /// The exit code of `plumb bundle verify`: 0, 4, 5 or 6.
    pub exit_code: u8,
    /// In a sentence.
    pub summary: String,
    /// The bundle.
    pub bundle: Option<String>,
    /// Who issued it.
    pub issuer: Option<String>,
    /// The issuer's organisation, by its root.
    pub organisation: Option<String>,
    /// The name that the organisation gives itself.
    pub organisation_name: Option<String>,
    /// Whether that organisation is trusted here.
    pub organisation_is_trusted: bool,
    /// How the issuer's certificate stood when the bundle was issued: `valid`, `unknown_root`, `disputed_root`, and, of
    /// bundles that are therefore not authentic, `in_future`, `expired`, `revoked`, `retired_root`.
    #[serde(default)]
    pub certificate: Option<String>,
    /// When it was issued.
    pub issued_at: Option<String>,
    /// The question.
    pub query: Option<String>,
    /// What was checked, in order.
    pub checks: Vec<String>,
    /// Withdrawn sources, each with its notice.
    pub withdrawn: Vec<WithdrawnView>,
    /// Since when the status could not be confirmed, or as of when it is current.
    pub as_of: Option<String>,
}

/// A withdrawn source of a bundle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WithdrawnView {
    /// The source record.
    pub source: String,
    /// Its title.
    pub title: String,
    /// The notice.
    pub notice: String,
}

/// What an import did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ImportView {
    /// The bundle.
    pub bundle: String,
    /// Units that are searchable now.
    pub imported: u64,
    /// Units that were here already.
    pub known: u64,
    /// Sources that may not become active here, with the reason.
    pub refused: Vec<crate::ingestion::SourceNote>,
    /// The signed receipts, one for each node that the evidence came from.
    pub receipts: Vec<String>,
    /// The verdict over the bundle at import.
    pub verdict: VerdictView,
}
