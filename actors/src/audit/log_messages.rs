//! What the audit actor answers about public logs.

use plumb_core::identity::NodeId;
use plumb_core::log::{Hash, TilePath};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::NodeError;

/// Shows how this node's public log stands, and those of others that are held here.
#[derive(Clone, Debug, actix::Message)]
#[rtype(result = "Result<LogStatusView, NodeError>")]
pub struct ShowLog;

/// Gives a tile of this node's public log, or a bundle of its entries (C2SP tlog-tiles).
#[derive(Clone, Debug, actix::Message)]
#[rtype(result = "Result<Vec<u8>, NodeError>")]
pub struct ReadTile {
    /// Which.
    pub path: TilePath,
}

/// Gives one entry of this node's public log.
#[derive(Clone, Debug, actix::Message)]
#[rtype(result = "Result<Vec<u8>, NodeError>")]
pub struct ReadEntry {
    /// Its index.
    pub index: u64,
}

/// Which entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryName {
    /// By its index.
    Index(u64),
    /// By its leaf hash.
    Leaf(Hash),
}

/// Proves that an entry is in this node's public log.
#[derive(Clone, Debug, actix::Message)]
#[rtype(result = "Result<InclusionView, NodeError>")]
pub struct ProveInclusion {
    /// Which entry.
    pub entry: EntryName,
    /// In the log of the first so many entries; otherwise in the whole log.
    pub size: Option<u64>,
}

/// Proves that this node's public log only grew.
#[derive(Clone, Debug, actix::Message)]
#[rtype(result = "Result<ConsistencyView, NodeError>")]
pub struct ProveConsistency {
    /// From so many entries.
    pub from: u64,
    /// To so many; otherwise to the whole log.
    pub to: Option<u64>,
}

/// Lists the proofs against publishers that showed two histories of their log.
#[derive(Clone, Debug, actix::Message)]
#[rtype(result = "Result<Vec<ForkView>, NodeError>")]
pub struct ListForks;

/// Gives the proof against a publisher as it is kept: whoever has it can check it without a node.
#[derive(Clone, Debug, actix::Message)]
#[rtype(result = "Result<Vec<u8>, NodeError>")]
pub struct ExportFork {
    /// Whom it is against.
    pub publisher: NodeId,
}

/// This node's public log, and those of others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LogStatusView {
    /// This node's log.
    pub own: OwnLogView,
    /// The logs of others that are held here.
    pub others: Vec<HeldLogView>,
}

/// This node's public log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct OwnLogView {
    /// Its name, which is also that of its key.
    pub origin: String,
    /// The key, as other programs take it (C2SP vkey).
    pub vkey: String,
    /// How many entries.
    pub size: u64,
    /// The root over them, base64.
    pub root: String,
    /// Why nothing is published at present, and what to do. Absent when all is well.
    pub stopped: Option<String>,
    /// Since when nothing is published.
    pub stopped_since: Option<String>,
    /// Whoever has cosigned it, and up to where.
    pub witnesses: Vec<WitnessView>,
}

/// A peer that cosigned this node's log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WitnessView {
    /// The node.
    pub node: String,
    /// Its key for cosignatures, as other programs take it (C2SP vkey).
    pub vkey: String,
    /// The newest size that it cosigned.
    pub size: u64,
    /// When, as it says.
    pub at: String,
}

/// A log of another node that is held here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct HeldLogView {
    /// Whose.
    pub publisher: String,
    /// Its organisation, as its certificate says.
    pub organisation: String,
    /// Entries that are held.
    pub size: u64,
    /// When its publisher last confirmed that there is no more.
    pub as_of: Option<String>,
    /// The newest size that this node has cosigned; 0 for none.
    pub cosigned: u64,
    /// Whether it showed two histories, and nothing more is taken from it.
    pub quarantined: bool,
}

/// That an entry is in the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct InclusionView {
    /// The entry's index.
    pub index: u64,
    /// Its leaf hash, base64.
    pub leaf: String,
    /// In the log of so many entries.
    pub size: u64,
    /// The root of these, base64.
    pub root: String,
    /// The hashes that lead from the one to the other (RFC 6962), base64.
    pub proof: Vec<String>,
}

/// That the log only grew.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ConsistencyView {
    /// From so many entries.
    pub from: u64,
    /// The root of these, base64.
    pub from_root: String,
    /// To so many.
    pub to: u64,
    /// The root of these, base64.
    pub to_root: String,
    /// The hashes that lead from the one to the other (RFC 6962), base64.
    pub proof: Vec<String>,
}

/// A proof that a publisher showed two histories.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ForkView {
    /// Whose log.
    pub publisher: String,
    /// The organisation, if a certificate of it is held here.
    pub organisation: Option<String>,
    /// The two histories differ among the first so many entries.
    pub size: u64,
    /// What it signed the one time.
    pub a: String,
    /// What it signed the other time.
    pub b: String,
    /// Whether the operator has decided on it. Otherwise the publisher is in quarantine.
    pub decided: bool,
}
