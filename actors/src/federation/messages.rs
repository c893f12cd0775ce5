//! What the federation actor answers.

use plumb_core::measure::Duration;
use plumb_core::trust::{Incoming, Outgoing};
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
    /// For the audit log.
    pub by: String,
    /// Its `did:key`.
    pub node: String,
}

/// Lets a blocked peer connect again.
#[derive(Clone, Debug, actix::Message)]
#[rtype(result = "Result<(), NodeError>")]
pub struct UnblockPeer {
    /// For the audit log.
    pub by: String,
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
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PeersView {
    /// This node.
    pub node: String,
    /// Where it listens.
    pub listening: Vec<String>,
    /// Entries of this node's own log.
    #[serde(default)]
    pub log_size: u64,
    /// Why nothing is published at present, and what to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub publishing_stopped: Option<String>,
    /// How it is reached, as peers that dialled it back say: `public`, `private` or `unknown`.
    pub reachability: String,
    /// At which address, if `public`.
    pub reachable_at: Option<String>,
    /// Addresses that are tried and where nobody has answered yet, so that it is not known whose they are.
    pub unanswered: Vec<TriedView>,
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
    /// `admitted`, `connected`, `refused`, `blocked` or `away`.
    pub state: String,
    /// Whether there is a connection.
    pub connected: bool,
    /// Whether it may ask.
    pub admitted: bool,
    /// Why it is not admitted, as a word: `connection_refused`, `timed_out`, `no_route`, `dropped`, `wrong_key`, `unknown_root`,
    /// `no_certificate`, `expired`, `in_future`, `revoked`, `retired_root`, `refused_by_peer`, `rate_limited`, `blocked`,
    /// `fault` and others.
    pub reason: Option<String>,
    /// The same in a sentence, and other things worth knowing.
    pub detail: Option<String>,
    /// The far ends of its connections.
    pub addresses: Vec<String>,
    /// Addresses of it that are tried.
    pub tried: Vec<TriedView>,
    /// Whether it is reached through a relay only.
    pub relayed: bool,
    /// How well it behaves: 100 is without blame, 0 is excluded for a while.
    pub score: u32,
    /// The last round trip, in milliseconds.
    pub rtt_ms: Option<u64>,
    /// What it calls its program. Its own claim.
    pub agent: Option<String>,
    /// Entries of its log that are held here.
    pub log_size: u64,
    /// When its log was last confirmed.
    pub log_as_of: Option<String>,
    /// How long ago that was, in milliseconds.
    pub log_age_ms: Option<u64>,
    /// Entries of this node's own log that it has cosigned.
    #[serde(default)]
    pub cosigned: u64,
}

/// An address that is tried.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TriedView {
    /// The address.
    pub address: String,
    /// How often it was tried since its node was last admitted.
    pub failures: u32,
    /// Why nobody answered, as a word.
    pub reason: Option<String>,
    /// The same in a sentence.
    pub last_error: Option<String>,
    /// How long ago it was tried, in milliseconds.
    pub last_tried_ms: Option<u64>,
    /// When it is tried next, in milliseconds from now; nothing while its peer is connected.
    pub next_try_ms: Option<u64>,
}

/// Trusts an organisation so far: its nodes are admitted from now on.
#[derive(Clone, Debug, actix::Message)]
#[rtype(result = "Result<TrustedView, NodeError>")]
pub struct TrustOrganisation {
    /// For the audit log.
    pub by: String,
    /// Its root: a `did:key`.
    pub org: plumb_core::identity::OrgId,
    /// A name for it; the one that it has here, if nothing is said.
    pub name: Option<String>,
    /// What is let in: as it is here, or in full.
    pub incoming: Option<Incoming>,
    /// What is let out: as it is here, or in full.
    pub outgoing: Option<Outgoing>,
    /// What its evidence weighs, 0 to 100: as it is here, or neutral.
    pub weight: Option<u8>,
}

/// Trusts an organisation no more: its nodes are disconnected and refused. One that holds evidence of this node is
/// excluded from content instead, unless it is to be forgotten: it has to hear what becomes of that.
#[derive(Clone, Debug, actix::Message)]
#[rtype(result = "Result<RemovedView, NodeError>")]
pub struct DistrustOrganisation {
    /// For the audit log.
    pub by: String,
    /// Its root.
    pub org: plumb_core::identity::OrgId,
    /// Refuse it even if it holds evidence of this node.
    pub forget: bool,
}

/// What became of an organisation that is trusted no more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RemovedView {
    /// Always true.
    pub done: bool,
    /// Whether it was excluded from content instead of refused.
    pub excluded: bool,
    /// How many of its nodes hold evidence that this node gave.
    pub holders: u64,
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
    /// What is let in: `full`, `notices` or `none`.
    #[serde(default)]
    pub incoming: String,
    /// What is let out: `full` or `none`. Notices always are.
    #[serde(default)]
    pub outgoing: String,
    /// What its evidence weighs, 0 to 100.
    #[serde(default)]
    pub weight: u8,
    /// Its roots, from the first to the current one.
    #[serde(default)]
    pub roots: Vec<String>,
    /// Rivals that want to follow the last of them; until `plumb trust settle` none of them is followed.
    #[serde(default)]
    pub rivals: Vec<String>,
    /// Nodes and certificates that it took back.
    #[serde(default)]
    pub revoked: Vec<RevokedView>,
}

/// A node or certificate that its organisation took back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RevokedView {
    /// The node.
    pub node: String,
    /// The certificate, if only that.
    pub certificate: Option<String>,
    /// Why.
    pub reason: String,
    /// In words.
    pub note: String,
    /// How many entries of its log stand.
    pub stands: u64,
}

/// Gives the signed head of this node's public log, as a C2SP checkpoint.
#[derive(Clone, Debug, actix::Message)]
#[rtype(result = "Result<String, NodeError>")]
pub struct OwnCheckpoint;

/// Lets publishing go on although something of the own log is lost.
#[derive(Clone, Debug, actix::Message)]
#[rtype(result = "Result<(), NodeError>")]
pub struct ResumeLog {
    /// For the audit log.
    pub by: String,
    /// That the operator knows of the loss. Without it nothing is changed.
    pub accept_loss: bool,
}

/// Ends the quarantine of a publisher that showed two histories. The proof is kept.
#[derive(Clone, Debug, actix::Message)]
#[rtype(result = "Result<(), NodeError>")]
pub struct LiftFork {
    /// For the audit log.
    pub by: String,
    /// The publisher: a `did:key`.
    pub publisher: String,
    /// Why, in words.
    pub note: String,
}
/// What is known of roots and revocations changed: look at everybody anew.
#[derive(Clone, Debug, actix::Message)]
#[rtype(result = "Result<(), NodeError>")]
pub(crate) struct RootsMoved;

/// The own log grew, or an obligation was opened: tell the others.
#[derive(Clone, Debug, actix::Message)]
#[rtype(result = "Result<(), NodeError>")]
pub(crate) struct LogGrew;

/// An operator decided something by which notices that were refused may count.
#[derive(Clone, Debug, actix::Message)]
#[rtype(result = "Result<(), NodeError>")]
pub(crate) struct LookAgain;

/// Receipts were signed for these givers: send them to whoever of them is there. The others get theirs when they come.
#[derive(Clone, Debug, actix::Message)]
#[rtype(result = "Result<(), NodeError>")]
pub(crate) struct SendReceipts {
    /// Who gave evidence.
    pub givers: Vec<plumb_core::identity::NodeId>,
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
