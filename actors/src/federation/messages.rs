//! What the federation actor answers.

use plumb_core::measure::Duration;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::NodeError;

/// Connects to an address.
#[derive(Clone, Debug, actix::Message)]
#[rtype(result = "Result<(), NodeError>")]
pub struct ConnectPeer {
    /// A multiaddress, such as `/ip4/127.0.0.1/tcp/4510`.
    pub address: String,
}

/// Closes the connection to a peer and refuses it from now on.
#[derive(Clone, Debug, actix::Message)]
#[rtype(result = "Result<(), NodeError>")]
pub struct BlockPeer {
    /// Its `did:key`.
    pub node: String,
}

/// Lists peers.
#[derive(Clone, Debug, actix::Message)]
#[rtype(result = "Result<PeersView, NodeError>")]
pub struct ListPeers;

/// Waits until at least so many peers are admitted, or the deadline passes.
#[derive(Clone, Debug, actix::Message)]
#[rtype(result = "Result<PeersView, NodeError>")]
pub struct AwaitPeers {
    /// So many.
    pub n: usize,
    /// At most so long.
    pub deadline: Duration,
}

/// This node among its peers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PeersView {
    /// This node.
    pub node: String,
    /// Where it listens.
    pub listening: Vec<String>,
    /// Its peers.
    pub peers: Vec<PeerView>,
}

/// One peer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PeerView {
    /// Its `did:key`.
    pub node: String,
    /// Its organisation, as its certificate says.
    pub organisation: Option<String>,
    /// Its department, as its certificate says.
    pub department: Option<String>,
    /// `admitted`, `connected`, `refused` or `away`.
    pub state: String,
    /// Why, where that helps.
    pub detail: Option<String>,
    /// Addresses.
    pub addresses: Vec<String>,
    /// Entries of its log that are held here.
    pub log_size: u64,
    /// When its log was last confirmed.
    pub log_as_of: Option<String>,
}

/// Trusts an organisation: its nodes are admitted from now on.
#[derive(Clone, Debug, actix::Message)]
#[rtype(result = "Result<(), NodeError>")]
pub struct TrustOrganisation {
    /// For the audit log.
    pub by: String,
    /// Its root: a `did:key`.
    pub org: plumb_core::identity::OrgId,
    /// A name for it.
    pub name: String,
}

/// Trusts an organisation no more: its nodes are disconnected and refused.
#[derive(Clone, Debug, actix::Message)]
#[rtype(result = "Result<(), NodeError>")]
pub struct DistrustOrganisation {
    /// For the audit log.
    pub by: String,
    /// Its root.
    pub org: plumb_core::identity::OrgId,
}

/// Lists the organisations that are trusted, the own one first.
#[derive(Clone, Debug, actix::Message)]
#[rtype(result = "Result<Vec<TrustedView>, NodeError>")]
pub struct ListTrusted;

/// A trusted organisation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TrustedView {
    /// Its root: a `did:key`.
    pub org: String,
    /// Its name here.
    pub name: String,
    /// Whether it is this node's own.
    pub own: bool,
}

/// Gives the signed head of this node's public log, as a C2SP checkpoint.
#[derive(Clone, Debug, actix::Message)]
#[rtype(result = "Result<String, NodeError>")]
pub struct OwnCheckpoint;

/// The own log grew, or an obligation was opened: tell the others.
#[derive(Clone, Debug, actix::Message)]
#[rtype(result = "Result<(), NodeError>")]
pub(crate) struct LogGrew;

/// Evidence of others is held here now: sign receipts and send them, now or when its giver is there.
#[derive(Clone, Debug, actix::Message)]
#[rtype(result = "Result<Vec<cid::Cid>, NodeError>")]
pub(crate) struct OweReceipts {
    /// The bundle with which it came.
    pub bundle: cid::Cid,
    /// Sources, each with who gave it.
    pub sources: Vec<(cid::Cid, plumb_core::identity::NodeId)>,
}

/// Asks the peers.
#[derive(Clone, Debug, actix::Message)]
#[rtype(result = "Result<PeerResults, NodeError>")]
pub(crate) struct SearchPeers {
    /// The question.
    pub query: plumb_core::retrieval::Query,
    /// Which of them.
    pub whom: plumb_core::retrieval::AskWhom,
    /// For whom it is asked.
    pub asker: Asker,
    /// What this node's collection says of its terms, to whoever asks.
    pub own_stats: plumb_core::retrieval::TermStats,
    /// Hits that each peer is asked for.
    pub k: usize,
    /// How long they have.
    pub deadline: Duration,
}

/// For whom a question is asked, as far as another node may be told.
#[derive(Clone, Debug)]
pub(crate) struct Asker {
    /// The person. It is told only if the policy says so.
    pub person: plumb_core::identity::EntityId,
    /// The department of this node, if the person belongs to it: no other one matters to a peer.
    pub departments: Vec<plumb_core::identity::EntityId>,
    /// `member` or `operator`.
    pub role: &'static str,
    /// What for, where somebody said so.
    pub purpose: Option<String>,
}

/// Fetches blocks by their name from whichever peer has them.
#[derive(Clone, Debug, actix::Message)]
#[rtype(result = "Result<Fetched, NodeError>")]
pub(crate) struct FetchBlocks {
    /// Which.
    pub cids: std::collections::BTreeSet<cid::Cid>,
    /// How long that may take.
    pub deadline: Duration,
}

/// Blocks that came. Each has the hash that is its name.
#[derive(Clone, Debug)]
pub(crate) struct Fetched {
    /// The blocks.
    pub blocks: Vec<plumb_core::content::RawBlock>,
    /// Peers that were asked.
    pub n_peers: u64,
}

/// What the peers gave.
#[derive(Clone, Debug)]
pub(crate) struct PeerResults {
    /// The sum of everybody's statistics.
    pub stats: plumb_core::retrieval::TermStats,
    /// Each peer that is known, asked or not.
    pub peers: Vec<PeerResult>,
}

/// What one peer gave.
#[derive(Clone, Debug)]
pub(crate) struct PeerResult {
    /// The peer.
    pub node: plumb_core::identity::NodeId,
    /// What came of it.
    pub coverage: crate::retrieval::PeerCoverage,
    /// Its hits: blocks and score are checked.
    pub hits: Vec<PeerHit>,
    /// Whether it withheld its statistics, so that its hits are fused by rank.
    pub by_rank: bool,
}

/// One hit of a peer.
#[derive(Clone, Debug)]
pub(crate) struct PeerHit {
    pub chunk: plumb_core::content::Chunk,
    pub chunk_block: plumb_core::content::RawBlock,
    pub source: plumb_core::content::SourceRecord,
    pub source_block: plumb_core::content::RawBlock,
    pub score: u64,
    pub sensitivity: plumb_core::boundary::Sensitivity,
    /// The organisation of its publisher.
    pub org: plumb_core::identity::OrgId,
}
