//! Reaching nodes that cannot be dialled: relays, hole punching, and probes of one's own reachability.
//!
//! A node behind a router listens *through* a relay: it takes a reservation there and is called by the address
//! `/…/p2p/RELAY/p2p-circuit/p2p/NODE`. The two ends shake hands and say hello over the circuit as over any other
//! connection; the relay sees ciphertext. Then both try to connect directly (DCUtR), and if that works the circuit is
//! given up. What a node's own standing is, it learns from admitted peers that dial it back (AutoNAT).
//!
//! All of it is behind the admission gate, the relay's side as well: a relay is no service to the world.

use std::time::Duration;

use libp2p::{Multiaddr, PeerId, autonat, multiaddr::Protocol as Part, relay};

use super::options::Limits;

/// Nodes that may listen through this one.
pub const RESERVATIONS_MAX: usize = 128;

/// Circuits at once, and of these with one peer.
pub const CIRCUITS_MAX: (usize, usize) = (64, 8);

/// What one circuit may carry, and how long. It is between members who are known by name, so it is more than a public
/// relay would give; after it the two ends connect again.
pub const CIRCUIT_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// How long a circuit lasts.
pub const CIRCUIT_TIME_MAX: Duration = Duration::from_secs(60 * 60);

/// Addresses of one peer that are dialled back for it.
const PROBED_ADDRS_MAX: usize = 8;

pub(super) fn relay(peer: PeerId) -> relay::Behaviour {
    let config = relay::Config {
        max_reservations: RESERVATIONS_MAX,
        max_circuits: CIRCUITS_MAX.0,
        max_circuits_per_peer: CIRCUITS_MAX.1,
        max_circuit_bytes: CIRCUIT_BYTES_MAX,
        max_circuit_duration: CIRCUIT_TIME_MAX,
        ..relay::Config::default()
    };
    let mut relay = relay::Behaviour::new(peer, config);
    // An operator asked for it; whether there is an address that works is theirs to know.
    relay.set_status(Some(relay::Status::Enable));
    relay
}

pub(super) fn probe(peer: PeerId, limits: &Limits) -> autonat::v1::Behaviour {
    let config = autonat::v1::Config {
        boot_delay: limits.probe_delay,
        // Departments live on private networks. Whoever is dialled back is a member, and only at the address that it
        // was seen at.
        only_global_ips: false,
        max_peer_addresses: PROBED_ADDRS_MAX,
        ..autonat::v1::Config::default()
    };
    autonat::v1::Behaviour::new(peer, config)
}

/// Whether an address leads through a relay.
pub(super) fn is_relayed(addr: &Multiaddr) -> bool {
    addr.iter().any(|part| part == Part::P2pCircuit)
}

/// The relay that an address leads through, and how it is reached.
pub(super) fn relay_of(addr: &Multiaddr) -> Option<(PeerId, Multiaddr)> {
    let relay: Multiaddr = addr.iter().take_while(|part| *part != Part::P2pCircuit).collect();
    let is_complete = is_relayed(addr);
    match relay.iter().last() {
        Some(Part::P2p(peer)) if is_complete => Some((peer, relay)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_relay_of_an_address_is_what_stands_before_the_circuit() {
        let relay: Multiaddr =
            "/ip4/192.0.2.1/tcp/1/p2p/12D3KooWPjceQrSwdWXPyLLeABRXmuqt69Rg3sBYbU1Nft9HyQ6X".parse().unwrap();
        let circuit = relay.clone().with(Part::P2pCircuit);
        let Some(Part::P2p(peer)) = relay.iter().last() else { panic!("the address names a peer") };
        assert_eq!(relay_of(&circuit), Some((peer, relay.clone())));
        assert_eq!(relay_of(&relay), None);
        assert!(is_relayed(&circuit) && !is_relayed(&relay));
        assert_eq!(relay_of(&"/ip4/192.0.2.1/tcp/1/p2p-circuit".parse().unwrap()), None, "a relay without a name");
    }
}
