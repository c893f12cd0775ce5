//! What the audit actor answers.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::NodeError;

/// Writes down that something was read or denied. Changes write their events themselves, in their own transaction.
#[derive(Clone, Debug, actix::Message)]
#[rtype(result = "Result<(), NodeError>")]
pub struct RecordAccess {
    /// Who.
    pub actor: String,
    /// What, such as `search`.
    pub action: String,
    /// Of what.
    pub subject: String,
    /// `allowed` or `denied`.
    pub outcome: String,
    /// More words.
    pub detail: String,
}

/// Lists events, newest first.
#[derive(Clone, Debug, actix::Message)]
#[rtype(result = "Result<Vec<AuditEventView>, NodeError>")]
pub struct ListEvents {
    /// Only events whose action begins with this.
    pub action: Option<String>,
    /// Before this index.
    pub before: Option<u64>,
    /// At most so many.
    pub limit: usize,
}

/// Hashes every stored event again and compares the root.
#[derive(Clone, Debug, actix::Message)]
#[rtype(result = "Result<AuditVerdictView, NodeError>")]
pub struct VerifyAudit;

/// One event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AuditEventView {
    /// Its place in the log.
    pub index: u64,
    /// When.
    pub at: String,
    /// Who.
    pub actor: String,
    /// What.
    pub action: String,
    /// Of what.
    pub subject: String,
    /// How it ended.
    pub outcome: String,
    /// More words.
    pub detail: String,
}

/// Whether the log is whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AuditVerdictView {
    /// Whether every event hashes into the root that was kept.
    pub intact: bool,
    /// Events.
    pub size: u64,
    /// Root of the Merkle tree (RFC 6962), hex.
    pub root: String,
    /// What is wrong.
    pub problem: Option<String>,
}
