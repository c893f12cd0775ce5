//! The handle: how the shell speaks to the driver.
//!
//! Every call is a message over one bounded channel, and the driver takes them in order: who awaits `admit` and then
//! `respond` knows that the peer was admitted before it saw the answer.

use std::time::Duration;

use libp2p::Multiaddr;
use plumb_core::identity::NodeId;
use tokio::sync::{mpsc, oneshot};

use super::event::{GossipId, RequestToken};
use super::protocol::Protocol;
use super::status::{NetworkStatus, PeerStatus};

/// Why a request has no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// There is no connection to the node.
    #[error("the node is not connected")]
    NotConnected,
    /// Only hello goes to a node that is not admitted.
    #[error("the node is not admitted")]
    NotAdmitted,
    /// The answer did not come in time. The node may have acted on the request.
    #[error("no answer in time")]
    TimedOut,
    /// The request, or the answer that the node announced, is longer than the protocol allows.
    #[error("{bytes} bytes; the protocol allows {max}")]
    TooLarge {
        /// How long it is.
        bytes: u64,
        /// The protocol's limit.
        max: usize,
    },
    /// The answer is not a frame.
    #[error("the answer is not a frame of the protocol")]
    Malformed,
    /// The node ended the stream or the connection without an answer. It may have acted on the request.
    #[error("the node ended the exchange without an answer")]
    Closed,
    /// The node does not speak the protocol.
    #[error("the node does not speak this protocol")]
    Unsupported,
    /// Too many requests of this protocol to this node are under way; try again when one has ended.
    #[error("too many requests to this node are under way; retry later")]
    Busy,
    /// The driver has ended.
    #[error("the network is shut down")]
    Stopped,
}

impl RequestError {
    /// Whether the node may have got the request.
    pub fn was_sent(&self) -> bool {
        match self {
            RequestError::TimedOut
            | RequestError::Malformed
            | RequestError::Closed
            | RequestError::TooLarge { .. }
            | RequestError::Unsupported => true,
            RequestError::NotConnected | RequestError::NotAdmitted | RequestError::Busy | RequestError::Stopped => {
                false
            }
        }
    }
}

/// Why a message was not published.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PublishError {
    /// No admitted peer follows the topic yet; try again.
    #[error("no peer follows the topic yet; retry later")]
    NoPeers,
    /// The queues to all peers are full; try again.
    #[error("the queues to all peers are full; retry later")]
    Busy,
    /// It is longer than the limit.
    #[error("a message of {bytes} bytes; the limit is {max}")]
    TooLarge {
        /// How long it is.
        bytes: usize,
        /// The limit.
        max: usize,
    },
    /// The same content went through this topic a short while ago; there is nothing left to do.
    #[error("the message was already published")]
    Duplicate,
    /// It could not be signed or encoded.
    #[error("the message could not be encoded: {0}")]
    Encoding(String),
    /// The driver has ended.
    #[error("the network is shut down")]
    Stopped,
}

impl PublishError {
    /// Whether the same call may succeed a little later.
    pub fn is_retryable(&self) -> bool {
        matches!(self, PublishError::NoPeers | PublishError::Busy)
    }
}

/// Why the driver did not do as told.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CommandError {
    /// There is no connection to the node.
    #[error("the node is not connected")]
    NotConnected,
    /// The node is blocked.
    #[error("the node is blocked")]
    Blocked,
    /// The address names this very node, or a peer whose key is not Ed25519.
    #[error("`{0}` is not the address of another node")]
    Address(Multiaddr),
    /// A table is full.
    #[error("no more than {max} {what}")]
    Full {
        /// Of what.
        what: &'static str,
        /// How many there may be.
        max: usize,
    },
    /// The answer is longer than the protocol allows.
    #[error("an answer of {bytes} bytes; the protocol allows {max}")]
    TooLarge {
        /// How long it is.
        bytes: usize,
        /// The protocol's limit.
        max: usize,
    },
    /// Nobody waits for the answer any more.
    #[error("the request has ended")]
    Gone,
    /// The driver has ended.
    #[error("the network is shut down")]
    Stopped,
}

/// A reply that is expected.
pub(super) type Reply<T> = oneshot::Sender<T>;

/// What the handle tells the driver.
pub(super) enum Command {
    Dial { addr: Multiaddr, reply: Reply<Result<(), CommandError>> },
    Request { node: NodeId, protocol: Protocol, bytes: Vec<u8>, reply: Reply<Result<Vec<u8>, RequestError>> },
    Respond { token: RequestToken, bytes: Vec<u8>, reply: Reply<Result<(), CommandError>> },
    Publish { topic: String, bytes: Vec<u8>, reply: Reply<Result<(), PublishError>> },
    Subscribe { topic: String, reply: Reply<Result<(), CommandError>> },
    ReportGossip { message_id: GossipId, from: NodeId, accept: bool, reply: Reply<bool> },
    Admit { node: NodeId, reply: Reply<Result<(), CommandError>> },
    Close { node: NodeId, reply: Reply<()> },
    Disconnect { node: NodeId, reply: Reply<()> },
    Penalise { node: NodeId, reply: Reply<()> },
    Block { node: NodeId, reply: Reply<Result<(), CommandError>> },
    Unblock { node: NodeId, reply: Reply<()> },
    ListenAddrs { reply: Reply<Vec<Multiaddr>> },
    Peers { reply: Reply<Vec<PeerStatus>> },
    Status { reply: Reply<NetworkStatus> },
    Shutdown { reply: Reply<()> },
}

/// A way to speak to the driver; clones speak to the same one. When all are gone, the driver ends.
///
/// All calls are asynchronous and may be cancelled. They need a tokio runtime with a timer, not necessarily the
/// driver's own.
#[derive(Clone, Debug)]
pub struct NetworkHandle {
    pub(super) node: NodeId,
    pub(super) commands: mpsc::Sender<Command>,
}

impl NetworkHandle {
    /// This node.
    pub fn node(&self) -> NodeId {
        self.node
    }

    /// Connects to an address, now and again whenever the connection is lost. The outcome comes as an event.
    pub async fn dial(&self, addr: Multiaddr) -> Result<(), CommandError> {
        self.ask(|reply| Command::Dial { addr, reply }).await.unwrap_or(Err(CommandError::Stopped))
    }

    /// Asks a node, and waits for the answer no longer than `within`. The driver's own request timeout also holds.
    ///
    /// Cancelling forgets the answer; the request may still reach the node, and takes up its slot until it ends.
    pub async fn request(
        &self,
        node: NodeId,
        protocol: Protocol,
        bytes: Vec<u8>,
        within: Duration,
    ) -> Result<Vec<u8>, RequestError> {
        let answer = self.ask(|reply| Command::Request { node, protocol, bytes, reply });
        match tokio::time::timeout(within, answer).await {
            Ok(answer) => answer.unwrap_or(Err(RequestError::Stopped)),
            Err(_) => Err(RequestError::TimedOut),
        }
    }

    /// Answers a request.
    pub async fn respond(&self, token: RequestToken, bytes: Vec<u8>) -> Result<(), CommandError> {
        self.ask(|reply| Command::Respond { token, bytes, reply }).await.unwrap_or(Err(CommandError::Stopped))
    }

    /// Sends a message to all who follow a topic. Following it oneself is not needed.
    pub async fn publish(&self, topic: impl Into<String>, bytes: Vec<u8>) -> Result<(), PublishError> {
        let topic = topic.into();
        self.ask(|reply| Command::Publish { topic, bytes, reply }).await.unwrap_or(Err(PublishError::Stopped))
    }

    /// Follows a topic.
    pub async fn subscribe(&self, topic: impl Into<String>) -> Result<(), CommandError> {
        let topic = topic.into();
        self.ask(|reply| Command::Subscribe { topic, reply }).await.unwrap_or(Err(CommandError::Stopped))
    }

    /// Judges a gossip message: an accepted one is passed on, a rejected one is not. `false` if the judgement came
    /// too late to matter; messages wait for it for some seconds.
    pub async fn report_gossip(&self, message_id: GossipId, from: NodeId, accept: bool) -> Result<bool, CommandError> {
        self.ask(|reply| Command::ReportGossip { message_id, from, accept, reply }).await.ok_or(CommandError::Stopped)
    }

    /// Opens all protocols to a connected node, until its last connection ends.
    pub async fn admit(&self, node: NodeId) -> Result<(), CommandError> {
        self.ask(|reply| Command::Admit { node, reply }).await.unwrap_or(Err(CommandError::Stopped))
    }

    /// Closes all connections to a node, and leaves its addresses in the re-dial book: for a node that may be admitted
    /// another time. The pauses between dials grow until it is.
    pub async fn close(&self, node: NodeId) -> Result<(), CommandError> {
        self.ask(|reply| Command::Close { node, reply }).await.ok_or(CommandError::Stopped)
    }

    /// Closes all connections to a node, ends what is under way with it, and dials it no more, unless [`NetworkHandle::dial`] is called again. The
    /// node itself may come back.
    pub async fn disconnect(&self, node: NodeId) -> Result<(), CommandError> {
        self.ask(|reply| Command::Disconnect { node, reply }).await.ok_or(CommandError::Stopped)
    }

    /// The same to a node that sent what no honest node sends. It counts against it: who does so again is kept out for a
    /// while.
    pub async fn penalise(&self, node: NodeId) -> Result<(), CommandError> {
        self.ask(|reply| Command::Penalise { node, reply }).await.ok_or(CommandError::Stopped)
    }

    /// Closes all connections to a node, ends what is under way with it, and makes none, in either direction, until [`NetworkHandle::unblock`] or the
    /// end of this network.
    pub async fn block(&self, node: NodeId) -> Result<(), CommandError> {
        self.ask(|reply| Command::Block { node, reply }).await.unwrap_or(Err(CommandError::Stopped))
    }

    /// Lets a blocked node connect again. It is not dialled by itself.
    pub async fn unblock(&self, node: NodeId) -> Result<(), CommandError> {
        self.ask(|reply| Command::Unblock { node, reply }).await.ok_or(CommandError::Stopped)
    }

    /// Where this node listens, with its `/p2p/` part: what others can dial. Empty once the driver has ended.
    pub async fn listen_addrs(&self) -> Vec<Multiaddr> {
        self.ask(|reply| Command::ListenAddrs { reply }).await.unwrap_or_default()
    }

    /// The connected nodes, in the order of their keys. Empty once the driver has ended.
    pub async fn peers(&self) -> Vec<PeerStatus> {
        self.ask(|reply| Command::Peers { reply }).await.unwrap_or_default()
    }

    /// Everything that an operator wants to know: who is there, who is not, and why. Empty once the driver has ended.
    pub async fn status(&self) -> NetworkStatus {
        self.ask(|reply| Command::Status { reply }).await.unwrap_or_default()
    }

    /// Closes all connections and ends the driver; returns when it has ended.
    pub async fn shutdown(&self) {
        if self.ask(|reply| Command::Shutdown { reply }).await.is_none() {
            // Another call was first: the driver ends when it drops the channel.
            self.commands.closed().await;
        }
    }

    /// `None` when the driver has ended.
    async fn ask<T>(&self, command: impl FnOnce(Reply<T>) -> Command) -> Option<T> {
        let (reply, answer) = oneshot::channel();
        self.commands.send(command(reply)).await.ok()?;
        answer.await.ok()
    }
}
