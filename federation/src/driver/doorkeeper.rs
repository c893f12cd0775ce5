//! The doorkeeper: connections that are not made at all.
//!
//! A peer whose key is not Ed25519 has no node id; it could not be spoken of, so it is never connected. A peer that the
//! shell dismissed is not dialled, whoever else in here would like to: a Kademlia query that is under way, or one that
//! hears of it from a third peer, would fetch it right back. It may still come by itself, and the shell may dial it
//! again.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::task::{Context, Poll};

use libp2p::core::Endpoint;
use libp2p::core::transport::PortUse;
use libp2p::swarm::{
    ConnectionDenied, ConnectionId, FromSwarm, NetworkBehaviour, THandler, THandlerInEvent, THandlerOutEvent, ToSwarm,
    dummy,
};
use libp2p::{Multiaddr, PeerId};

use super::keys::node_of_peer;

/// How many dismissed peers are remembered. Of more, the first is forgotten: it may be dialled, and the shell will
/// dismiss it again.
const DISMISSED_MAX: usize = 1024;

/// The peer was dismissed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the peer was dismissed")]
struct Dismissed;

/// Denies connections.
#[derive(Debug, Default)]
pub(super) struct Doorkeeper {
    dismissed: VecDeque<PeerId>,
}

impl Doorkeeper {
    /// No dial to a peer from now on.
    pub(super) fn dismiss(&mut self, peer: PeerId) {
        self.welcome(&peer);
        if DISMISSED_MAX <= self.dismissed.len() {
            self.dismissed.pop_front();
        }
        self.dismissed.push_back(peer);
    }

    /// Dials again.
    pub(super) fn welcome(&mut self, peer: &PeerId) {
        self.dismissed.retain(|dismissed| dismissed != peer);
    }
}

impl NetworkBehaviour for Doorkeeper {
    type ConnectionHandler = dummy::ConnectionHandler;
    type ToSwarm = Infallible;

    fn handle_established_inbound_connection(
        &mut self,
        _: ConnectionId,
        peer: PeerId,
        _: &Multiaddr,
        _: &Multiaddr,
    ) -> Result<THandler<Self>, ConnectionDenied> {
        node_of_peer(&peer).map_err(ConnectionDenied::new)?;
        Ok(dummy::ConnectionHandler)
    }

    fn handle_pending_outbound_connection(
        &mut self,
        _: ConnectionId,
        peer: Option<PeerId>,
        _: &[Multiaddr],
        _: Endpoint,
    ) -> Result<Vec<Multiaddr>, ConnectionDenied> {
        if peer.is_some_and(|peer| self.dismissed.contains(&peer)) {
            return Err(ConnectionDenied::new(Dismissed));
        }
        Ok(Vec::new())
    }

    fn handle_established_outbound_connection(
        &mut self,
        _: ConnectionId,
        peer: PeerId,
        _: &Multiaddr,
        _: Endpoint,
        _: PortUse,
    ) -> Result<THandler<Self>, ConnectionDenied> {
        node_of_peer(&peer).map_err(ConnectionDenied::new)?;
        Ok(dummy::ConnectionHandler)
    }

    fn on_swarm_event(&mut self, _: FromSwarm) {}

    fn on_connection_handler_event(&mut self, _: PeerId, _: ConnectionId, event: THandlerOutEvent<Self>) {
        match event {}
    }

    fn poll(&mut self, _: &mut Context<'_>) -> Poll<ToSwarm<Self::ToSwarm, THandlerInEvent<Self>>> {
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dial(doorkeeper: &mut Doorkeeper, peer: PeerId) -> bool {
        let id = ConnectionId::new_unchecked(1);
        doorkeeper.handle_pending_outbound_connection(id, Some(peer), &[], Endpoint::Dialer).is_ok()
    }

    #[test]
    fn foreign_keys_are_denied_in_both_directions() {
        let rsa: PeerId = "QmYyQSo1c1Ym7orWxLYvCrM2EmxFTANf8wXmmE7DWjhx5N".parse().unwrap();
        let nowhere: Multiaddr = "/ip4/127.0.0.1/tcp/1".parse().unwrap();
        let id = ConnectionId::new_unchecked(1);
        let mut doorkeeper = Doorkeeper::default();
        assert!(doorkeeper.handle_established_inbound_connection(id, rsa, &nowhere, &nowhere).is_err());
        let outbound =
            doorkeeper.handle_established_outbound_connection(id, rsa, &nowhere, Endpoint::Dialer, PortUse::Reuse);
        assert!(outbound.is_err());
    }

    #[test]
    fn the_dismissed_are_not_dialled_until_they_are_welcome() {
        let mut doorkeeper = Doorkeeper::default();
        let first = PeerId::random();
        doorkeeper.dismiss(first);
        assert!(!dial(&mut doorkeeper, first));
        doorkeeper.welcome(&first);
        assert!(dial(&mut doorkeeper, first));

        doorkeeper.dismiss(first);
        for _ in 0..DISMISSED_MAX {
            doorkeeper.dismiss(PeerId::random());
        }
        assert_eq!(doorkeeper.dismissed.len(), DISMISSED_MAX);
        assert!(dial(&mut doorkeeper, first), "the list is bounded");
    }
}
