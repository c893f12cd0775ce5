//! Witnessing: having our own log's head cosigned by peers.
//!
//! Each new head is shown to some of the admitted peers, with a proof that it continues what that peer cosigned last.
//! Whoever cosigns has written down what it saw, so a node that showed others another history meets its own signature
//! there. What a peer may cosign is decided by [`plumb_core::log::Witnessed`]; this machine only asks.
//!
//! A head that grows quickly is not shown entry by entry: one request at a time to a peer, and the next one not before
//! [`PAUSE`]. So what cosigning costs does not grow with what is published, nor with the federation.

use std::collections::BTreeMap;

use plumb_core::identity::NodeId;
use plumb_core::measure::{Duration, Timestamp};

use super::Random;
use super::backoff::{Backoff, has_passed, is_due};

/// Most peers that are asked. A checkpoint carries no more cosignatures than this either
/// ([`plumb_core::log::COSIGNATURES_MAX`]).
pub const WITNESSES_MAX: usize = 16;

/// The least time between two requests to one peer that both went well.
pub const PAUSE: Duration = Duration::seconds(2);

/// When a request that nobody reports on counts as failed.
pub const REQUEST_TIMEOUT: Duration = Duration::seconds(40);

/// After a failure. A peer of an older version does not know the request, and is asked seldom.
const BACKOFF: Backoff = Backoff { first: Duration::seconds(2), longest: Duration::seconds(300) };

/// What happened.
#[derive(Clone, Debug)]
pub enum Event {
    /// A peer is admitted.
    PeerAdmitted {
        /// Who.
        peer: NodeId,
        /// The size of our log that it cosigned last, as far as we know.
        cosigned: u64,
    },
    /// A peer is gone.
    PeerLost {
        /// Who.
        peer: NodeId,
    },
    /// Our own log has so many entries, and may be shown.
    HeadIs {
        /// So many.
        size: u64,
    },
    /// A peer cosigned; the cosignature holds and is kept.
    Cosigned {
        /// Who.
        peer: NodeId,
        /// The size of what it cosigned.
        size: u64,
    },
    /// A peer says that it cosigned another size last.
    Conflict {
        /// Who.
        peer: NodeId,
        /// What it cosigned last.
        size: u64,
    },
    /// A peer did not cosign: it refused, failed, or does not know how to.
    Failed {
        /// Who.
        peer: NodeId,
    },
    /// Time passed. Once a second is enough.
    Tick,
}

/// What to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Show a peer the newest head, with a proof from this size, and report what it says.
    Ask {
        /// Whom.
        peer: NodeId,
        /// What it cosigned last.
        old: u64,
    },
}

#[derive(Clone, Debug)]
struct Witness {
    cosigned: u64,
    asked_at: Option<Timestamp>,
    not_before: Timestamp,
    n_failures: u32,
}

/// Has heads cosigned. One for the whole node.
#[derive(Clone, Debug)]
pub struct Witnessing {
    size: u64,
    witnesses: BTreeMap<NodeId, Witness>,
    random: Random,
}

impl Witnessing {
    /// A machine that knows of no head and of nobody.
    pub fn new(seed: u64) -> Witnessing {
        Witnessing { size: 0, witnesses: BTreeMap::new(), random: Random::from_seed(seed) }
    }

    /// Takes one event. The actions are to be performed in order.
    pub fn handle(&mut self, now: Timestamp, event: Event) -> Vec<Action> {
        match event {
            Event::PeerAdmitted { peer, cosigned } => {
                let witness = Witness { cosigned, asked_at: None, not_before: now, n_failures: 0 };
                self.witnesses.insert(peer, witness);
            }
            Event::PeerLost { peer } => {
                self.witnesses.remove(&peer);
            }
            Event::HeadIs { size } => self.size = size,
            Event::Cosigned { peer, size } => {
                if let Some(witness) = self.witnesses.get_mut(&peer) {
                    witness.cosigned = witness.cosigned.max(size);
                    witness.asked_at = None;
                    witness.n_failures = 0;
                    witness.not_before = now.plus(PAUSE);
                }
            }
            Event::Conflict { peer, size } => self.conflict(now, &peer, size),
            Event::Failed { peer } => self.failed(now, &peer),
            Event::Tick => {
                let is_late = |w: &Witness| w.asked_at.is_some_and(|at| has_passed(at, REQUEST_TIMEOUT, now));
                let late: Vec<NodeId> =
                    self.witnesses.iter().filter(|(_, w)| is_late(w)).map(|(peer, _)| *peer).collect();
                late.iter().for_each(|peer| self.failed(now, peer));
            }
        }
        self.ask(now)
    }

    /// Asked from the right size it may say yes at once; but who answers ever new sizes is not followed in circles.
    fn conflict(&mut self, now: Timestamp, peer: &NodeId, size: u64) {
        let Some(witness) = self.witnesses.get_mut(peer) else { return };
        let is_news = witness.cosigned != size && witness.n_failures == 0;
        witness.cosigned = size;
        self.failed(now, peer);
        if let Some(witness) = self.witnesses.get_mut(peer).filter(|_| is_news) {
            witness.not_before = now;
        }
    }

    fn failed(&mut self, now: Timestamp, peer: &NodeId) {
        let Some(witness) = self.witnesses.get_mut(peer) else { return };
        witness.asked_at = None;
        witness.n_failures = witness.n_failures.saturating_add(1);
        witness.not_before = now.plus(BACKOFF.after(witness.n_failures, &mut self.random));
    }

    fn ask(&mut self, now: Timestamp) -> Vec<Action> {
        let size = self.size;
        // The first of them in the order of their keys: always the same ones, so that what they cosign is worth
        // comparing.
        let witnesses = self.witnesses.iter_mut().take(WITNESSES_MAX);
        let due = witnesses
            .filter(|(_, w)| w.cosigned < size && w.asked_at.is_none() && is_due(w.not_before, BACKOFF.longest, now));
        due.map(|(peer, witness)| {
            witness.asked_at = Some(now);
            Action::Ask { peer: *peer, old: witness.cosigned }
        })
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_core::identity::SecretKey;

    const NOW: Timestamp = Timestamp(1_760_000_000_000);

    fn peer(n: u8) -> NodeId {
        SecretKey::from_seed([n; 32]).public()
    }

    fn ask(n: u8, old: u64) -> Vec<Action> {
        vec![Action::Ask { peer: peer(n), old }]
    }

    fn machine(n_peers: u8) -> Witnessing {
        let mut machine = Witnessing::new(1);
        for n in 1..=n_peers {
            assert_eq!(machine.handle(NOW, Event::PeerAdmitted { peer: peer(n), cosigned: 0 }), []);
        }
        machine
    }

    #[test]
    fn a_head_is_shown_once_and_the_next_one_after_a_pause() {
        let mut machine = machine(1);
        assert_eq!(machine.handle(NOW, Event::HeadIs { size: 1 }), ask(1, 0));
        assert_eq!(machine.handle(NOW, Event::HeadIs { size: 5 }), [], "one request at a time");
        assert_eq!(machine.handle(NOW, Event::Cosigned { peer: peer(1), size: 1 }), []);
        assert_eq!(machine.handle(NOW.plus(PAUSE), Event::Tick), ask(1, 1));
        assert_eq!(machine.handle(NOW, Event::Cosigned { peer: peer(1), size: 5 }), []);
        assert_eq!(machine.handle(NOW.plus(Duration::days(1)), Event::Tick), [], "there is nothing new");
    }

    #[test]
    fn a_conflict_is_answered_from_the_right_size_but_not_for_ever() {
        let mut machine = machine(1);
        machine.handle(NOW, Event::HeadIs { size: 9 });
        let conflict = |size| Event::Conflict { peer: peer(1), size };
        assert_eq!(machine.handle(NOW, conflict(4)), ask(1, 4));
        assert_eq!(machine.handle(NOW, conflict(5)), [], "it moves: later");
        assert_eq!(machine.handle(NOW.plus(Duration::seconds(5)), Event::Tick), ask(1, 5));
        // Whoever cosigned more than we hold is not asked; others may know what became of us.
        assert_eq!(machine.handle(NOW, conflict(11)), []);
        assert_eq!(machine.handle(NOW.plus(Duration::days(1)), Event::Tick), []);
    }

    #[test]
    fn failure_and_silence_wait_longer_each_time() {
        let mut machine = machine(1);
        assert_eq!(machine.handle(NOW, Event::HeadIs { size: 1 }), ask(1, 0));
        assert_eq!(machine.handle(NOW, Event::Failed { peer: peer(1) }), []);
        let later = NOW.plus(Duration::seconds(3));
        assert_eq!(machine.handle(later, Event::Tick), ask(1, 0));
        let silent = later.plus(REQUEST_TIMEOUT);
        assert_eq!(machine.handle(silent, Event::Tick), [], "it counts as failed and waits");
        assert_eq!(machine.handle(silent.plus(Duration::seconds(5)), Event::Tick), ask(1, 0));
        assert_eq!(machine.handle(silent, Event::PeerLost { peer: peer(1) }), []);
        assert_eq!(machine.handle(silent.plus(Duration::days(1)), Event::Tick), []);
    }

    #[test]
    fn a_large_federation_costs_no_more() {
        let mut machine = machine(200);
        let asked = machine.handle(NOW, Event::HeadIs { size: 1 });
        assert_eq!(asked.len(), WITNESSES_MAX);
    }
}
