//! The doorkeeper: connections that are not made at all.
//!
//! A peer whose key is not Ed25519 has no node id; it could not be spoken of, so it is never connected. A peer that the
//! shell dismissed is not dialled, whoever else in here would like to: a Kademlia query that is under way, or one that
//! hears of it from a third peer, would fetch it right back. It may still come by itself, and the shell may dial it
//! again. A peer that is excluded for its conduct is not connected in either direction until its pause is over.

use std::collections::{BTreeMap, VecDeque};
use std::convert::Infallible;
use std::task::{Context, Poll};

use libp2p::core::Endpoint;
use libp2p::core::transport::PortUse;
use libp2p::swarm::{
    ConnectionDenied, ConnectionId, FromSwarm, NetworkBehaviour, THandler, THandlerInEvent, THandlerOutEvent, ToSwarm,
    dummy,
};
use libp2p::{Multiaddr, PeerId};
use tokio::time::Instant;

use super::keys::node_of_peer;

/// How many dismissed peers are remembered. Of more, the first is forgotten: it may be dialled, and the shell will
/// dismiss it again.
const DISMISSED_MAX: usize = 1024;

/// The peer was dismissed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the peer was dismissed")]
pub(super) struct Dismissed;

/// The peer is excluded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the peer is excluded for {seconds} more seconds: it broke the rules")]
pub(super) struct Excluded {
    seconds: u64,
}

/// Denies connections.
#[derive(Debug, Default)]
pub(super) struct Doorkeeper {
    dismissed: VecDeque<PeerId>,
    /// Those who are excluded, until when. As many as [`super::conduct`] keeps.
    excluded: BTreeMap<PeerId, Instant>,
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

    /// No connection with a peer until then.
    pub(super) fn exclude(&mut self, peer: PeerId, until: Instant) {
        let now = Instant::now();
        self.excluded.retain(|_, until| now < *until);
        self.excluded.insert(peer, until);
    }

    /// Connections again.
    pub(super) fn forgive(&mut self, peer: &PeerId) {
        self.excluded.remove(peer);
    }

    fn check(&self, peer: &PeerId) -> Result<(), ConnectionDenied> {
        node_of_peer(peer).map_err(ConnectionDenied::new)?;
        let now = Instant::now();
        match self.excluded.get(peer) {
            Some(until) if now < *until => {
                let seconds = (*until - now).as_secs() + 1;
                Err(ConnectionDenied::new(Excluded { seconds }))
            }
            _ => Ok(()),
        }
    }

    /// Whether a peer is not to be dialled.
    pub(super) fn has_dismissed(&self, peer: &PeerId) -> bool {
        self.dismissed.contains(peer)
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
        self.check(&peer)?;
        Ok(dummy::ConnectionHandler)
    }

    fn handle_pending_outbound_connection(
        &mut self,
        _: ConnectionId,
        peer: Option<PeerId>,
        _: &[Multiaddr],
        _: Endpoint,
    ) -> Result<Vec<Multiaddr>, ConnectionDenied> {
        let Some(peer) = peer else { return Ok(Vec::new()) };
        if self.dismissed.contains(&peer) {
            return Err(ConnectionDenied::new(Dismissed));
        }
        self.check(&peer)?;
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
        self.check(&peer)?;
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

    fn key(seed: u64) -> PeerId {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed.to_be_bytes());
        let node = plumb_core::identity::SecretKey::from_seed(bytes).public();
        crate::driver::peer_of_node(&node).unwrap()
    }

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
    fn the_excluded_come_in_by_no_door_until_their_pause_is_over() {
        let (mut doorkeeper, peer) = (Doorkeeper::default(), key(1));
        let nowhere: Multiaddr = "/ip4/127.0.0.1/tcp/1".parse().unwrap();
        let id = ConnectionId::new_unchecked(1);
        doorkeeper.exclude(peer, Instant::now() + std::time::Duration::from_secs(60));
        assert!(!dial(&mut doorkeeper, peer));
        assert!(doorkeeper.handle_established_inbound_connection(id, peer, &nowhere, &nowhere).is_err());
        doorkeeper.exclude(peer, Instant::now());
        assert!(dial(&mut doorkeeper, peer));
        assert!(doorkeeper.handle_established_inbound_connection(id, peer, &nowhere, &nowhere).is_ok());
    }

    #[test]
    fn the_dismissed_are_not_dialled_until_they_are_welcome() {
        let mut doorkeeper = Doorkeeper::default();
        let first = key(rand::random());
        doorkeeper.dismiss(first);
        assert!(!dial(&mut doorkeeper, first));
        doorkeeper.welcome(&first);
        assert!(dial(&mut doorkeeper, first));

        doorkeeper.dismiss(first);
        for _ in 0..DISMISSED_MAX {
            doorkeeper.dismiss(key(rand::random()));
        }
        assert_eq!(doorkeeper.dismissed.len(), DISMISSED_MAX);
        assert!(dial(&mut doorkeeper, first), "the list is bounded");
    }
}
