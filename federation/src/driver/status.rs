//! What an operator wants to know of the network: who is there, who is not, and why not.

use std::io;
use std::time::{Duration, SystemTime};

use libp2p::Multiaddr;
use libp2p::swarm::{ConnectionDenied, DialError};
use plumb_core::identity::NodeId;

use super::doorkeeper::{Dismissed, Excluded};

/// Longest text of an error of the library that is kept, in characters.
const REASON_CHARS_MAX: usize = 200;

/// What is known of a connected node.
#[derive(Clone, Debug)]
pub struct PeerStatus {
    /// Who.
    pub node: NodeId,
    /// The far ends of its connections.
    pub addrs: Vec<Multiaddr>,
    /// Where it says that it listens. Its own claim.
    pub listen_addrs: Vec<Multiaddr>,
    /// Whether the shell admitted it.
    pub admitted: bool,
    /// Whether it is reached through a relay only.
    pub is_relayed: bool,
    /// The last measured round trip.
    pub rtt: Option<Duration>,
    /// What it calls its program. Its own claim, cut to a sane length.
    pub agent: Option<String>,
    /// When its first connection came up.
    pub connected_since: SystemTime,
    /// How well it behaves: 100 is without blame.
    pub score: u32,
}

/// When an address is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trying {
    /// Somebody is connected, so it is not.
    Connected,
    /// At this moment.
    Now,
    /// In so long.
    In(Duration),
}

/// An address of the re-dial book.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddressStatus {
    /// The address.
    pub addr: Multiaddr,
    /// Who answers there, if that is known.
    pub node: Option<NodeId>,
    /// How often it was tried since its node was last admitted.
    pub failures: u32,
    /// Why nobody answered there the last time.
    pub last_failure: Option<DialFailure>,
    /// How long ago it was tried last.
    pub last_tried: Option<Duration>,
    /// When it is tried.
    pub trying: Trying,
}

/// What peers that dialled this node back say of its reachability.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Reachability {
    /// Nobody has tried yet.
    #[default]
    Unknown,
    /// It is reached at this address.
    Public(Multiaddr),
    /// It is not reached from outside; a relay helps.
    Private,
}

/// The network as a whole.
#[derive(Clone, Debug, Default)]
pub struct NetworkStatus {
    /// The connected nodes, in the order of their keys.
    pub peers: Vec<PeerStatus>,
    /// The addresses that are tried.
    pub addresses: Vec<AddressStatus>,
    /// Nodes that are blocked.
    pub blocked: Vec<NodeId>,
    /// Nodes that are excluded for their conduct, and for how much longer.
    pub excluded: Vec<(NodeId, Duration)>,
    /// How this node is reached.
    pub reachability: Reachability,
}

/// Why a dial came to nothing, in the words of an operator.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DialFailure {
    /// Nobody listens there.
    #[error("connection refused: no node listens there")]
    ConnectionRefused,
    /// Nobody answered.
    #[error("timed out: nothing answers there")]
    TimedOut,
    /// There is no way to that network.
    #[error("no route: that network cannot be reached from here")]
    NoRoute,
    /// It takes the connection and ends it before it admits this node.
    #[error("it ends the connection at once: it may have blocked or excluded this node")]
    Dropped,
    /// Somebody else is there.
    #[error("another peer answers there: {obtained}")]
    WrongKey {
        /// Who, as a peer id.
        obtained: String,
    },
    /// It is this very node.
    #[error("the address leads to this node")]
    OwnAddress,
    /// The relay in the address does not connect.
    #[error("the relay does not connect: {0}")]
    Relay(String),
    /// This side makes no connection.
    #[error("{0}")]
    Denied(String),
    /// Something else.
    #[error("{0}")]
    Other(String),
}

impl DialFailure {
    /// A word for programs.
    pub fn code(&self) -> &'static str {
        match self {
            DialFailure::ConnectionRefused => "connection_refused",
            DialFailure::TimedOut => "timed_out",
            DialFailure::NoRoute => "no_route",
            DialFailure::Dropped => "dropped",
            DialFailure::WrongKey { .. } => "wrong_key",
            DialFailure::OwnAddress => "own_address",
            DialFailure::Relay(_) => "relay",
            DialFailure::Denied(_) => "denied",
            DialFailure::Other(_) => "failed",
        }
    }

    /// From the library's error. `None` if it says nothing of the address.
    pub(super) fn of(error: &DialError, is_relayed: bool) -> Option<DialFailure> {
        match error {
            // Another dial to the same peer is under way, and will tell.
            DialError::DialPeerConditionFalse(_) | DialError::Aborted => None,
            DialError::LocalPeerId { .. } => Some(DialFailure::OwnAddress),
            DialError::WrongPeerId { obtained, .. } => Some(DialFailure::WrongKey { obtained: obtained.to_string() }),
            DialError::Transport(attempts) => Some(match attempts.first() {
                Some((_, error)) if is_relayed => DialFailure::Relay(one_line(&innermost(error))),
                Some((_, error)) => of_transport(error),
                None => DialFailure::Other("no address".to_string()),
            }),
            DialError::Denied { cause } => Some(of_denial(cause)),
            other => Some(DialFailure::Other(one_line(&other.to_string()))),
        }
    }
}

fn of_denial(cause: &ConnectionDenied) -> DialFailure {
    let text = if cause.downcast_ref::<Dismissed>().is_some() {
        "the peer was dismissed; `plumb peers connect` tries it again".to_string()
    } else if let Some(excluded) = cause.downcast_ref::<Excluded>() {
        excluded.to_string()
    } else {
        one_line(&innermost(cause))
    };
    DialFailure::Denied(text)
}

/// The transports wrap an I/O error in many layers, and some only say in words what happened.
fn of_transport(error: &(dyn std::error::Error + 'static)) -> DialFailure {
    let mut at = Some(error);
    while let Some(layer) = at {
        if let Some(io) = layer.downcast_ref::<io::Error>() {
            match io.kind() {
                io::ErrorKind::ConnectionRefused => return DialFailure::ConnectionRefused,
                io::ErrorKind::TimedOut => return DialFailure::TimedOut,
                io::ErrorKind::NetworkUnreachable | io::ErrorKind::HostUnreachable => return DialFailure::NoRoute,
                _ => {}
            }
        }
        at = layer.source();
    }
    let text = innermost(error);
    let lower = text.to_lowercase();
    if lower.contains("connection refused") {
        DialFailure::ConnectionRefused
    } else if lower.contains("timeout") || lower.contains("timed out") || lower.contains("timed-out") {
        DialFailure::TimedOut
    } else if lower.contains("unreachable") || lower.contains("no route") {
        DialFailure::NoRoute
    } else {
        DialFailure::Other(one_line(&text))
    }
}

/// The cause at the bottom of the chain: the layers above it only say that something below failed.
pub(super) fn innermost(error: &dyn std::error::Error) -> String {
    let mut at = error;
    while let Some(source) = at.source() {
        at = source;
    }
    at.to_string()
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(REASON_CHARS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_library_says_becomes_a_reason() {
        let io = |kind: io::ErrorKind| of_transport(&io::Error::other(io::Error::from(kind)));
        assert_eq!(io(io::ErrorKind::ConnectionRefused), DialFailure::ConnectionRefused);
        assert_eq!(io(io::ErrorKind::TimedOut), DialFailure::TimedOut);
        assert_eq!(io(io::ErrorKind::HostUnreachable), DialFailure::NoRoute);
        let said = of_transport(&io::Error::other("Handshake with the remote timed out."));
        assert_eq!(said, DialFailure::TimedOut);
        let long = of_transport(&io::Error::other("x\n".repeat(1000)));
        assert!(matches!(long, DialFailure::Other(text) if text.len() <= REASON_CHARS_MAX && !text.contains('\n')));
    }
}
