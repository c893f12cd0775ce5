//! What the driver tells the shell, and the bounded way out.

use std::collections::VecDeque;
use std::time::Duration;

use libp2p::gossipsub::MessageId;
use libp2p::{Multiaddr, PeerId, request_response};
use plumb_core::identity::NodeId;
use tokio::sync::OwnedSemaphorePermit;
use tokio::sync::mpsc::{self, error::TrySendError};

use super::codec::Framed;
use super::protocol::Protocol;
use super::status::DialFailure;

/// Places of the event channel that requests and gossip leave free, so that a flood of them does not keep the shell
/// from hearing who came and went.
pub const LIFECYCLE_RESERVE: usize = 64;

/// Lifecycle events that wait beside a full channel. Past it, new peers are turned away and news is dropped.
const BACKLOG_MAX: usize = 256;

/// The right to answer one inbound request. Dropping it drops the request: the peer sees its stream end.
#[derive(Debug)]
pub struct RequestToken {
    pub(super) peer: PeerId,
    pub(super) protocol: Protocol,
    pub(super) channel: request_response::ResponseChannel<Framed>,
    /// Its share of the bytes that may wait for answers; given back when the token goes.
    pub(super) _budget: OwnedSemaphorePermit,
}

impl RequestToken {
    /// The protocol that the answer goes to.
    pub fn protocol(&self) -> Protocol {
        self.protocol
    }

    /// Whether somebody still waits for the answer.
    pub fn is_open(&self) -> bool {
        self.channel.is_open()
    }
}

/// Names a gossip message by its topic and content.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GossipId(pub(super) MessageId);

/// Why a connection was closed by the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RefusalReason {
    /// It asked for something before it said hello.
    #[error("it asked by {0} before it said who it is")]
    RequestBeforeHello(Protocol),
    /// It was not admitted in time.
    #[error("it showed no certificate in time")]
    NotAdmittedInTime,
    /// It broke the rules too often.
    #[error("rate limited: it asked too much or sent what is no request, and is excluded for {} s", pause.as_secs())]
    Excluded {
        /// For how long no connection is made with it.
        pause: Duration,
    },
}

/// Something happened on the network.
#[derive(Debug)]
pub enum NetworkEvent {
    /// The first connection to a node is up; it is not admitted yet.
    Connected {
        /// Who.
        node: NodeId,
        /// At which address: the one dialled, or where it came from.
        addr: Multiaddr,
        /// Whether this side dialled. The side that did should say hello first.
        outbound: bool,
    },
    /// The last connection to a node is gone, and its admission with it.
    Disconnected {
        /// Who.
        node: NodeId,
    },
    /// This node listens at an address.
    Listening {
        /// Where, with this node's `/p2p/` part.
        addr: Multiaddr,
    },
    /// A request to answer with [`super::NetworkHandle::respond`].
    Request {
        /// Who asks: an admitted node, or anyone if it is a hello.
        node: NodeId,
        /// By which protocol.
        protocol: Protocol,
        /// The request, as it came.
        bytes: Vec<u8>,
        /// The right to answer.
        token: RequestToken,
    },
    /// A gossip message to judge with [`super::NetworkHandle::report_gossip`]; only then is it passed on.
    Gossip {
        /// The admitted node that passed it to us, not necessarily its author.
        from: NodeId,
        /// Its topic.
        topic: String,
        /// Its content.
        bytes: Vec<u8>,
        /// Its name, for the judgement.
        message_id: GossipId,
    },
    /// An address could not be reached; it is tried again later.
    DialFailed {
        /// The address, as it was given.
        addr: Multiaddr,
        /// Why.
        reason: DialFailure,
        /// How often it failed since somebody there was last admitted.
        failures: u32,
    },
    /// A node broke the rules of admission; its connections are being closed, and `Disconnected` follows.
    Refused {
        /// Who.
        node: NodeId,
        /// Why.
        reason: RefusalReason,
    },
}

/// The receiver is gone: nobody listens any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NobodyListens;

/// The way out. It never waits inside the driver's loop: a shell that is busy sending us a command while we waited
/// for it to take an event would stand still with us.
pub(super) struct Outbox {
    sender: mpsc::Sender<NetworkEvent>,
    backlog: VecDeque<NetworkEvent>,
}

impl Outbox {
    pub(super) fn new(events_max: usize) -> (Outbox, mpsc::Receiver<NetworkEvent>) {
        let (sender, receiver) = mpsc::channel(events_max.max(LIFECYCLE_RESERVE + 1));
        (Outbox { sender, backlog: VecDeque::new() }, receiver)
    }

    /// Offers a request or a gossip message; `false` if there is no room, and then it is gone.
    pub(super) fn offer(&mut self, event: NetworkEvent) -> bool {
        // Behind a backlog it would overtake the news that its sender is connected.
        if !self.backlog.is_empty() || self.sender.capacity() <= LIFECYCLE_RESERVE {
            return false;
        }
        self.sender.try_send(event).is_ok()
    }

    /// News that may be dropped if the shell is far behind. `false` if it was.
    pub(super) fn tell(&mut self, event: NetworkEvent) -> bool {
        if BACKLOG_MAX <= self.backlog.len() {
            return false;
        }
        self.tell_surely(event);
        true
    }

    /// News that closes other news that was told: there is at most one for each connected peer, so it is bounded by
    /// them.
    pub(super) fn tell_surely(&mut self, event: NetworkEvent) {
        if !self.backlog.is_empty() {
            self.backlog.push_back(event);
            return;
        }
        if let Err(TrySendError::Full(event)) = self.sender.try_send(event) {
            self.backlog.push_back(event);
        }
    }

    /// Passes on what waits, as room appears. Does not return before there is something to say about it: that one
    /// event went out, or that nobody listens. Nothing is lost when it is cancelled.
    pub(super) async fn flush(&mut self) -> Result<(), NobodyListens> {
        if self.backlog.is_empty() {
            self.sender.closed().await;
            return Err(NobodyListens);
        }
        let permit = self.sender.reserve().await.map_err(|_| NobodyListens)?;
        if let Some(event) = self.backlog.pop_front() {
            permit.send(event);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(seed: u8) -> NodeId {
        plumb_core::identity::SecretKey::from_seed([seed; 32]).public()
    }

    fn gone(seed: u8) -> NetworkEvent {
        NetworkEvent::Disconnected { node: node(seed) }
    }

    #[tokio::test]
    async fn news_keeps_its_order_past_a_full_channel_and_floods_do_not() {
        let (mut outbox, mut events) = Outbox::new(LIFECYCLE_RESERVE + 1);
        assert!(outbox.offer(gone(0)));
        assert!(!outbox.offer(gone(0)), "the reserve is for news");
        let told = (1..=LIFECYCLE_RESERVE + BACKLOG_MAX).filter(|_| outbox.tell(gone(1))).count();
        assert_eq!(told, LIFECYCLE_RESERVE + BACKLOG_MAX);
        assert!(!outbox.tell(gone(1)), "the backlog is bounded");
        outbox.tell_surely(gone(2));

        let mut seen = Vec::new();
        for _ in 0..told + 2 {
            if !outbox.backlog.is_empty() && outbox.sender.capacity() != 0 {
                outbox.flush().await.unwrap();
            }
            seen.push(events.recv().await.unwrap());
        }
        assert!(matches!(seen.last(), Some(NetworkEvent::Disconnected { node: last }) if *last == node(2)));
        assert!(outbox.offer(gone(3)));
        drop(events);
        assert_eq!(outbox.flush().await, Err(NobodyListens));
    }
}
