//! What the grounding actor answers.

use plumb_core::exchange::Form;
use plumb_core::identity::DidWeb;
use plumb_core::measure::Duration;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::NodeError;
use crate::caller::Caller;
use crate::retrieval::{AskPeers, Coverage};

/// Answers a question from evidence, or abstains.
#[derive(Clone, Debug, actix::Message)]
#[rtype(result = "Result<AnswerView, NodeError>")]
pub struct AnswerQuestion {
    /// Who asks.
    pub caller: Caller,
    /// The question.
    pub query: String,
    /// Whether peers are asked too, and which.
    pub peers: AskPeers,
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

/// Lists the saved and imported bundles that the caller may read, newest first.
#[derive(Clone, Debug, actix::Message)]
#[rtype(result = "Result<Vec<BundleView>, NodeError>")]
pub struct ListBundles {
    /// Who asks.
    pub caller: Caller,
    /// Only this one: its CID, or `last`.
    pub bundle: Option<String>,
    /// At most so many.
    pub limit: usize,
}

/// Gives the file of a saved or imported bundle.
#[derive(Clone, Debug, actix::Message)]
#[rtype(result = "Result<Vec<u8>, NodeError>")]
pub struct ExportBundle {
    /// Who asks.
    pub caller: Caller,
    /// The bundle's CID, or `last`.
    pub bundle: String,
    /// In which form. The JSON form is made by the issuer alone, with its key.
    pub form: Form,
    /// The name that the issuer goes by in the JSON form, instead of its key.
    pub name: Option<DidWeb>,
}

/// Verifies a bundle file against what this node knows.
#[derive(Clone, Debug, actix::Message)]
#[rtype(result = "Result<VerdictView, NodeError>")]
pub struct VerifyBundle {
    /// The file, in either form.
    pub file: Vec<u8>,
}

/// Takes in a bundle: its evidence becomes searchable here, and a receipt goes to whoever issued it.
#[derive(Clone, Debug, actix::Message)]
#[rtype(result = "Result<ImportView, NodeError>")]
pub struct ImportBundle {
    /// Who.
    pub caller: Caller,
    /// The file, in either form.
    pub file: Vec<u8>,
    /// The node that passed the file on, if it is another than its issuer: it gets a receipt too, and owes its notices.
    pub from: Option<plumb_core::identity::NodeId>,
}

/// An answer for its reader.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AnswerView {
    /// The answer envelope (GRD-18) with its reliability report.
    #[schema(value_type = Object)]
    pub answer: plumb_core::grounding::Answer,
    /// Who was asked.
    pub coverage: Coverage,
    /// Publishers of its evidence whose word on whether it still stands could not be confirmed.
    pub unconfirmed: Vec<crate::retrieval::UnconfirmedView>,
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
    /// How each claim stands: `supported`, `weakened` (some of what carried it was withdrawn) or `unsupported`.
    pub claims: Vec<ClaimStateView>,
    /// Publishers of its evidence whose word on whether it still stands could not be confirmed.
    pub unconfirmed: Vec<crate::retrieval::UnconfirmedView>,
}

/// How a claim of a saved answer stands now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ClaimStateView {
    /// The claim.
    pub id: String,
    /// `supported`, `weakened` or `unsupported`.
    pub state: String,
}

/// What a verification found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct VerdictView {
    /// `authentic`, `retracted`, `unconfirmed`, `not_authentic`, or at an import `incomplete`.
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
    /// The form of the file: `car` or `json`.
    pub form: Option<String>,
    /// Where its issuer logged it, if the file proves it. A bundle without this is authentic, and not logged.
    pub logged: Option<LoggedView>,
    /// What was checked, in order.
    pub checks: Vec<String>,
    /// Withdrawn sources, each with its notice.
    pub withdrawn: Vec<WithdrawnView>,
    /// Sources about which a notice counsels caution, each with it. The bundle is as authentic and as current as its
    /// verdict says.
    #[serde(default)]
    pub cautions: Vec<WithdrawnView>,
    /// Since when the status could not be confirmed, or as of when it is current.
    pub as_of: Option<String>,
}

/// Where a bundle stands in the public log of its issuer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LoggedView {
    /// The log's name, the first line of its checkpoints.
    pub log: String,
    /// Its place, from 0.
    pub index: u64,
    /// Entries that the checkpoint in the file covers.
    pub size: u64,
}

/// A bundle that is kept here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BundleView {
    /// Its CID.
    pub bundle: String,
    /// The id of its matter: which question over which places.
    pub matter: Option<String>,
    /// Who issued it.
    pub issuer: String,
    /// When it was issued.
    pub issued_at: String,
    /// When it came to be kept here.
    pub saved_at: String,
    /// The question.
    pub query: String,
    /// Its label.
    pub sensitivity: String,
    /// Whether it came from elsewhere.
    pub imported: bool,
    /// Bundles on the same matter that are kept here too and say something else. Nobody has decided between them.
    pub conflicts_with: Vec<String>,
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
    /// Whether every block that the bundle names is here, each with its hash. If not, nothing was taken in.
    pub complete: bool,
    /// Blocks of evidence that the bundle names.
    pub blocks_named: u64,
    /// Of these, the ones that neither the file nor any peer has.
    pub blocks_missing: Vec<String>,
    /// Blocks that were fetched from peers.
    pub blocks_fetched: u64,
    /// Peers that were asked for them.
    pub peers_asked: u64,
    /// Units that are searchable now.
    pub imported: u64,
    /// Units that were here already.
    pub known: u64,
    /// Sources that may not become active here, with the reason.
    pub refused: Vec<crate::ingestion::SourceNote>,
    /// Publishers of its evidence whose word on whether it still stands could not be confirmed.
    pub unconfirmed: Vec<crate::retrieval::UnconfirmedView>,
    /// The signed receipts, one for each node that the evidence came from.
    pub receipts: Vec<String>,
    /// Bundles on the same matter that were here already and say something else. All are kept.
    pub conflicts_with: Vec<String>,
    /// The verdict over the bundle at import.
    pub verdict: VerdictView,
}
