//! What the verification actor answers.

use cid::Cid;
use plumb_core::boundary::Sensitivity;
use plumb_core::identity::{PublicKey, Signed};
use plumb_core::notice::{Acknowledgement, Notice, NoticeKind, Reason, Receipt};
use plumb_core::trust::{Certificate, Place};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::NodeError;
use crate::caller::Caller;

use super::{Statement, Taken};

/// Publishes a notice about sources of this node.
#[derive(Clone, Debug, actix::Message)]
#[rtype(result = "Result<NoticeView, NodeError>")]
pub struct PublishNotice {
    /// Who.
    pub caller: Caller,
    /// What kind.
    pub kind: NoticeKind,
    /// Why.
    pub reason: Reason,
    /// In words.
    pub note: String,
    /// Sources: CIDs, addresses or ends of addresses. For a reinstatement: the notice that no longer holds.
    pub targets: Vec<String>,
    /// For a partial retraction: the chunks that are withdrawn.
    pub chunks: Vec<Cid>,
    /// For a supersession: the source that stands in their place, named like a target.
    pub superseded_by: Option<String>,
    /// For a narrowing: the label at home; otherwise internal.
    pub audience: Option<Sensitivity>,
}

/// Gives a notice as the root of the organisation is to sign it, in canonical bytes.
#[derive(Clone, Debug, actix::Message)]
#[rtype(result = "Result<Vec<u8>, NodeError>")]
pub struct DraftNotice {
    /// What is to be published.
    pub notice: PublishNotice,
}

/// Publishes a notice that was signed elsewhere, by the root of this node's organisation.
#[derive(Clone, Debug, actix::Message)]
#[rtype(result = "Result<NoticeView, NodeError>")]
pub struct PublishSigned {
    /// Who.
    pub caller: Caller,
    /// The notice; its signature holds.
    pub notice: Box<Signed<Notice>>,
}

/// Takes up what an organisation says of its roots or nodes.
#[derive(Clone, Debug, actix::Message)]
#[rtype(result = "Result<Taken, NodeError>")]
pub struct TakeUp {
    /// For the audit log.
    pub by: String,
    /// What it says.
    pub statement: Statement,
    /// Where it was found.
    pub place: Place,
    /// Certificates of peers that are connected now, each with who signed it: they were known before.
    pub admitted: Vec<(Cid, PublicKey)>,
    /// Whether an operator brought it: their own organisation's goes into this node's log.
    pub is_ours: bool,
}

/// Decides which of two rivals for the root of an organisation is followed.
#[derive(Clone, Debug, actix::Message)]
#[rtype(result = "Result<(), NodeError>")]
pub struct SettleRoots {
    /// For the audit log.
    pub by: String,
    /// The one to follow.
    pub new: PublicKey,
}

/// Applies a notice that arrived. Answers with the signed acknowledgement; applying twice changes nothing more.
#[derive(Clone, Debug, actix::Message)]
#[rtype(result = "Result<Signed<Acknowledgement>, NodeError>")]
pub struct ApplyNotice {
    /// The notice; its signature holds.
    pub notice: Box<Signed<Notice>>,
    /// The certificate that came with it, if that is in order.
    pub certificate: Option<Box<Signed<Certificate>>>,
    /// Where it was found.
    pub place: Place,
    /// Whether everybody reads it there.
    pub is_open: bool,
}

/// Notes that somebody holds evidence of ours, or passed on by us.
#[derive(Clone, Debug, actix::Message)]
#[rtype(result = "Result<(), NodeError>")]
pub struct NoteReceipt {
    /// The receipt; its signature holds.
    pub receipt: Box<Signed<Receipt>>,
    /// Who hands it over.
    pub by: plumb_core::identity::NodeId,
}

/// Notes that an obligation was fulfilled.
#[derive(Clone, Debug, actix::Message)]
#[rtype(result = "Result<(), NodeError>")]
pub struct NoteAcknowledgement {
    /// The acknowledgement; its signature holds.
    pub acknowledgement: Box<Signed<Acknowledgement>>,
}

/// Lists notices, newest first: those about what the caller may read, and what others published for everybody. Those that
/// were refused come last, for the operator.
#[derive(Clone, Debug, actix::Message)]
#[rtype(result = "Result<Vec<NoticeView>, NodeError>")]
pub struct ListNotices {
    /// Who asks.
    pub caller: Caller,
    /// At most so many.
    pub limit: usize,
}

/// Shows a notice; to the operator with its obligations. What the caller may not read is as if it were not there.
#[derive(Clone, Debug, actix::Message)]
#[rtype(result = "Result<NoticeView, NodeError>")]
pub struct ShowNotice {
    /// Who asks.
    pub caller: Caller,
    /// Its CID.
    pub notice: Cid,
}

/// Gives a signed notice as it is kept: whoever has it can check it, and judge a bundle by it, without a node.
#[derive(Clone, Debug, actix::Message)]
#[rtype(result = "Result<Vec<u8>, NodeError>")]
pub struct ExportNotice {
    /// Its CID.
    pub notice: Cid,
}

/// A notice as an operator sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NoticeView {
    /// Its CID.
    pub notice: String,
    /// What kind.
    pub kind: String,
    /// Why.
    pub reason: String,
    /// In words.
    pub note: String,
    /// From where it comes: `publisher`, or where this node decided for itself `local:review`, `world:crossref`,
    /// `world:retraction-watch`.
    pub origin: String,
    /// Sources that it names, each with its title where it is held here.
    pub targets: Vec<TargetView>,
    /// Whose evidence it is.
    pub publisher: String,
    /// Who signed.
    pub signer: String,
    /// When, as its publisher says.
    pub issued_at: String,
    /// The notice that it undoes.
    pub undoes: Option<String>,
    /// Of a partial retraction, the chunks that it withdraws; none means all.
    pub chunks: Vec<String>,
    /// Of a supersession, the source that stands in their place.
    pub superseded_by: Option<TargetView>,
    /// Of a narrowing, the label at home.
    pub audience: Option<String>,
    /// To the operator: when it was applied here, and what that changed.
    pub applied: Option<AppliedView>,
    /// Why it changed nothing, if its signer had no right to it.
    #[serde(default)]
    pub refused: Option<String>,
    /// Whoever is known to hold what it names, and whether they have applied it. Only its publisher and whoever
    /// passed the evidence on know of any.
    pub receipts: Vec<ObligationView>,
}

/// A source that a notice names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TargetView {
    /// Its record.
    pub source: String,
    /// Its title, if it is held here.
    pub title: Option<String>,
}

/// What applying a notice changed here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AppliedView {
    /// When.
    pub at: String,
    /// Units changed.
    pub units: u64,
    /// Saved answers flagged.
    pub answers: u64,
}

/// One holder that a notice is owed to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ObligationView {
    /// The holder.
    pub holder: String,
    /// Its organisation and department, as its certificate says, where that is known.
    pub name: Option<String>,
    /// `acknowledged`; or, still owed, `refused`, `silent` (delivered, no answer), `unreachable` (not delivered since the
    /// obligation was opened), `open` (on its way).
    pub state: String,
    /// When it was acknowledged, as the holder says; when it refused; since when it is silent, or open.
    pub at: String,
    /// Why it refused, in its words.
    pub reason: Option<String>,
    /// Units that it changed there.
    pub units: Option<u64>,
    /// Saved answers that it flagged there.
    pub answers: Option<u64>,
}
