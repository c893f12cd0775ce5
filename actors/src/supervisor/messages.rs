//! What the supervisor answers.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::NodeError;

/// How the node is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct HealthView {
    /// Whether every actor is alive and the store takes writes.
    pub ready: bool,
    /// Why nothing is published at present, and what to do. Questions are answered all the same, so the node stays ready.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub publishing_stopped: Option<String>,
    /// Every actor.
    pub actors: Vec<ActorView>,
}

/// One actor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ActorView {
    /// Its name.
    pub name: String,
    /// Whether it is alive.
    pub alive: bool,
    /// How often it was started; more than once means that it failed.
    pub incarnation: u64,
    /// Messages that it took.
    pub handled: u64,
    /// Messages that were turned away because its mailbox was full.
    pub refused: u64,
}

/// What `plumb doctor` found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DoctorView {
    /// Whether nothing is wrong.
    pub healthy: bool,
    /// Every check.
    pub checks: Vec<DoctorCheck>,
    /// Digest over sources, chunks, labels and states: two homes with one content have one digest.
    pub state_digest: String,
    /// Active units.
    pub active_units: u64,
    /// Documents in the text index.
    pub indexed: u64,
}

/// One check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DoctorCheck {
    /// What was looked at.
    pub name: String,
    /// Whether it is well.
    pub ok: bool,
    /// What was found, and what to do.
    pub detail: String,
}

/// What a rebuild did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RebuildView {
    /// Units that are in the new index.
    pub indexed: u64,
}

/// Asks how the node is.
#[derive(Clone, Debug, actix::Message)]
#[rtype(result = "Result<HealthView, NodeError>")]
pub struct ShowHealth;

/// Examines the node: store, index, audit log, labels, clocks.
#[derive(Clone, Debug, actix::Message)]
#[rtype(result = "Result<DoctorView, NodeError>")]
pub struct Examine;

/// Builds the text index anew from the store.
#[derive(Clone, Debug, actix::Message)]
#[rtype(result = "Result<RebuildView, NodeError>")]
pub struct Rebuild {
    /// For the audit log.
    pub by: String,
}

/// Gives the space of what was overwritten and removed back to the disk.
#[derive(Clone, Debug, actix::Message)]
#[rtype(result = "Result<CompactView, NodeError>")]
pub struct Compact {
    /// For the audit log.
    pub by: String,
}

/// What a compaction did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CompactView {
    /// Bytes of the store before it.
    pub before: u64,
    /// And after it.
    pub after: u64,
}

/// Makes a bearer token for a person. It is shown once; only its hash is kept.
#[derive(Clone, Debug, actix::Message)]
#[rtype(result = "Result<NewTokenView, NodeError>")]
pub struct CreateToken {
    /// For the audit log.
    pub by: String,
    /// For whom.
    pub person: plumb_core::identity::EntityId,
    /// What it is for.
    pub label: String,
    /// How long it holds.
    pub validity: plumb_core::measure::Duration,
}

/// Lists tokens.
#[derive(Clone, Debug, actix::Message)]
#[rtype(result = "Result<Vec<TokenView>, NodeError>")]
pub struct ListTokens;

/// Revokes a token.
#[derive(Clone, Debug, actix::Message)]
#[rtype(result = "Result<(), NodeError>")]
pub struct RevokeToken {
    /// For the audit log.
    pub by: String,
    /// Its id.
    pub id: String,
}

/// Says whose a token is. Unknown, expired and revoked are one answer: denied.
#[derive(Clone, Debug, actix::Message)]
#[rtype(result = "Result<crate::Caller, NodeError>")]
pub struct Authenticate {
    /// The token as it was shown.
    pub token: String,
}

/// A token just made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NewTokenView {
    /// The token. It is not shown again.
    pub token: String,
    /// What is kept of it.
    pub kept: TokenView,
}

/// A token as it is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TokenView {
    /// Its id.
    pub id: String,
    /// For whom.
    pub person: String,
    /// What it is for.
    pub label: String,
    /// Until when it holds, RFC 3339.
    pub expires_at: String,
}
