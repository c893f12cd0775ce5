//! The relays that this node listens through: asked once they are admitted, and again when a reservation was lost.

use std::collections::BTreeMap;
use std::time::Duration;

use libp2p::core::transport::ListenerId;
use libp2p::{Multiaddr, PeerId};
use tokio::time::Instant;

use super::super::reach::relay_of;
use super::Driver;

/// How long a relay that ended or refused a reservation is left alone.
const ASK_AGAIN: Duration = Duration::from_secs(15);

#[derive(Debug)]
struct Circuit {
    relay: PeerId,
    /// While there is a reservation, or one is asked for.
    listener: Option<ListenerId>,
    not_before: Instant,
}

/// The relays, by the address that leads through them.
#[derive(Debug, Default)]
pub(super) struct Circuits(BTreeMap<Multiaddr, Circuit>);

impl Circuits {
    /// Listens through a relay from now on. Where the relay itself is reached; `None` if the address leads through none.
    pub(super) fn add(&mut self, addr: &Multiaddr, now: Instant) -> Option<Multiaddr> {
        let (relay, at) = relay_of(addr)?;
        self.0.insert(addr.clone(), Circuit { relay, listener: None, not_before: now });
        Some(at)
    }

    /// A listener ended; `true` if it was one through a relay.
    fn ended(&mut self, listener: ListenerId, now: Instant) -> bool {
        let Some(circuit) = self.0.values_mut().find(|circuit| circuit.listener == Some(listener)) else {
            return false;
        };
        circuit.listener = None;
        circuit.not_before = now + ASK_AGAIN;
        true
    }
}

impl Driver {
    /// Asks the admitted relays for the reservations that are missing.
    pub(super) fn reserve(&mut self, now: Instant) {
        for (addr, circuit) in &mut self.circuits.0 {
            let is_admitted = self.peers.get(&circuit.relay).is_some_and(|peer| peer.admitted && !peer.closing);
            if circuit.listener.is_some() || now < circuit.not_before || !is_admitted {
                continue;
            }
            match self.swarm.listen_on(addr.clone()) {
                Ok(id) => circuit.listener = Some(id),
                Err(error) => {
                    tracing::warn!(%addr, %error, "cannot listen through this relay");
                    circuit.not_before = now + ASK_AGAIN;
                }
            }
        }
    }

    /// A listener ended; `true` if it was one through a relay, which is then asked again.
    pub(super) fn lost_circuit(&mut self, listener: ListenerId) -> bool {
        let was_circuit = self.circuits.ended(listener, Instant::now());
        if was_circuit {
            tracing::debug!("a reservation at a relay ended");
        }
        was_circuit
    }
}
