//! Witnessing: having our own log's head cosigned by peers.
//!
//! Each new head is shown to some of the admitted peers, with a proof that it continues what that peer cosigned last.
//! Whoever cosigns has written down what it saw, so a node that showed others another history meets its own signature
//! there. What a peer may cosign is decided by [`plumb_core::log::Witnessed`]; this machine only asks, and only those
//! whose organisation lets them witness.
//!
//! **Whom.** The first [`WITNESSES_MAX`] by their keys: always the same ones, so that what they cosign is worth comparing.
//! Who fails, or claims to have cosigned more than there is, holds no place among them, or a few who do so for ever would
//! keep the others out; who failed is tried again from time to time, a few at once, and has its place again when it
//! cosigns.
//!
//! A head that grows quickly is not shown entry by entry: one request at a time to a peer, and the next one not before
//! [`PAUSE`]. So what cosigning costs does not grow with what is published, nor with the federation.

use std::collections::BTreeMap;

use plumb_core::identity::NodeId;
use plumb_core::measure::{Duration, Timestamp};

use super::Random;
use super::backoff::{Backoff, Retry, has_passed};

/// Most peers that are asked. A checkpoint carries no more cosignatures than this either
/// ([`plumb_core::log::COSIGNATURES_MAX`]).
pub const WITNESSES_MAX: usize = 16;

/// Most peers that failed before and are tried again at one time.
const TRIED_AGAIN_MAX: usize = 4;

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
        /// Whether its certificate lets it witness ([`plumb_core::trust::Capability::Witness`]). If not, it is not asked.
        may_witness: bool,
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
    retry: Retry,
    /// In a row.
    n_failures: u32,
    /// It said once that it cosigned another size, and has not cosigned since.
    is_corrected: bool,
}

impl Witness {
    /// Whether it may hold a place: it does not fail, and claims no more than there is.
    fn is_sound(&self, size: u64) -> bool {
        self.n_failures == 0 && self.cosigned <= size
    }

    fn is_due(&self, size: u64, now: Timestamp) -> bool {
        self.cosigned < size && self.asked_at.is_none() && self.retry.is_due(now)
    }
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
            Event::PeerAdmitted { peer, may_witness: false, .. } => {
                self.witnesses.remove(&peer);
            }
            Event::PeerAdmitted { peer, cosigned, may_witness: true } => {
                let retry = Retry::after(now, Duration(0));
                let witness = Witness { cosigned, asked_at: None, retry, n_failures: 0, is_corrected: false };
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
                    witness.is_corrected = false;
                    witness.retry = Retry::after(now, PAUSE);
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
        let is_news = witness.cosigned != size && witness.n_failures == 0 && !witness.is_corrected;
        witness.cosigned = size;
        if is_news {
            witness.is_corrected = true;
            witness.asked_at = None;
            witness.retry = Retry::after(now, Duration(0));
        } else {
            self.failed(now, peer);
        }
    }

    fn failed(&mut self, now: Timestamp, peer: &NodeId) {
        let Some(witness) = self.witnesses.get_mut(peer) else { return };
        witness.asked_at = None;
        witness.n_failures = witness.n_failures.saturating_add(1);
        witness.retry = Retry::after(now, BACKOFF.after(witness.n_failures, &mut self.random));
    }

    fn ask(&mut self, now: Timestamp) -> Vec<Action> {
        let size = self.size;
        let sound = self.witnesses.iter().filter(|(_, w)| w.is_sound(size)).take(WITNESSES_MAX);
        let mut chosen: Vec<NodeId> = sound.filter(|(_, w)| w.is_due(size, now)).map(|(peer, _)| *peer).collect();
        let failed = || self.witnesses.iter().filter(|(_, w)| w.n_failures > 0);
        let n_under_way = failed().filter(|(_, w)| w.asked_at.is_some()).count();
        // Whoever waited longest comes first, so none of them is always behind the others.
        let mut again: Vec<(Timestamp, NodeId)> =
            failed().filter(|(_, w)| w.is_due(size, now)).map(|(peer, w)| (w.retry.at(), *peer)).collect();
        again.sort_unstable();
        let room = TRIED_AGAIN_MAX.saturating_sub(n_under_way);
        chosen.extend(again.into_iter().take(room).map(|(_, peer)| peer));
        chosen
            .into_iter()
            .filter_map(|peer| {
                let witness = self.witnesses.get_mut(&peer)?;
                witness.asked_at = Some(now);
                Some(Action::Ask { peer, old: witness.cosigned })
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

    fn admitted(n: u8, may_witness: bool) -> Event {
        Event::PeerAdmitted { peer: peer(n), cosigned: 0, may_witness }
    }

    fn asked(actions: &[Action]) -> Vec<NodeId> {
        actions.iter().map(|Action::Ask { peer, .. }| *peer).collect()
    }

    fn machine(n_peers: u8) -> Witnessing {
        let mut machine = Witnessing::new(1);
        for n in 1..=n_peers {
            assert_eq!(machine.handle(NOW, admitted(n, true)), []);
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

    #[test]
    fn only_those_are_asked_that_may_witness() {
        let mut machine = machine(1);
        machine.handle(NOW, admitted(2, false));
        assert_eq!(machine.handle(NOW, Event::HeadIs { size: 1 }), ask(1, 0));
        // It comes back under a certificate that says less.
        machine.handle(NOW, admitted(1, false));
        assert_eq!(machine.handle(NOW.plus(Duration::days(1)), Event::HeadIs { size: 2 }), []);
    }

    /// The lowest keys refuse, or say that they cosigned more than there is; the others cosign all the same, and are no
    /// more than there are to be.
    #[test]
    fn who_fails_or_boasts_keeps_nobody_out() {
        for boasts in [false, true] {
            let mut machine = machine(40);
            let mut all: Vec<NodeId> = (1..=40).map(peer).collect();
            all.sort_unstable();
            let (liars, honest) = all.split_at(20);
            let (mut at, mut cosigned) = (NOW, std::collections::BTreeSet::new());
            let mut n_liars_asked = 0;
            for size in 1..=600 {
                at = at.plus(Duration::seconds(3));
                let mut queue = asked(&machine.handle(at, Event::HeadIs { size }));
                while let Some(peer) = queue.pop() {
                    let is_liar = liars.contains(&peer);
                    n_liars_asked += usize::from(is_liar);
                    let event = match (is_liar, boasts) {
                        (true, false) => Event::Failed { peer },
                        (true, true) => Event::Conflict { peer, size: u64::MAX },
                        (false, _) => Event::Cosigned { peer, size },
                    };
                    if !is_liar {
                        cosigned.insert(peer);
                    }
                    queue.extend(asked(&machine.handle(at, event)));
                }
            }
            assert_eq!(cosigned.into_iter().collect::<Vec<_>>(), &honest[..WITNESSES_MAX], "boasts: {boasts}");
            assert!(n_liars_asked < 20 * 30, "boasts: {boasts}: {n_liars_asked} times in half an hour");
        }
    }

    #[test]
    fn who_failed_has_its_place_again_when_it_cosigns() {
        let mut machine = machine(30);
        let mut all: Vec<NodeId> = (1..=30).map(peer).collect();
        all.sort_unstable();
        let first = machine.handle(NOW, Event::HeadIs { size: 1 });
        assert_eq!(asked(&first), &all[..WITNESSES_MAX]);
        let next = machine.handle(NOW, Event::Failed { peer: all[0] });
        assert_eq!(asked(&next), [all[WITNESSES_MAX]], "another one takes its place");
        let later = NOW.plus(Duration::seconds(10));
        assert_eq!(asked(&machine.handle(later, Event::Tick)), [all[0]], "and it is tried again");
        for peer in &all[..=WITNESSES_MAX] {
            machine.handle(later, Event::Cosigned { peer: *peer, size: 1 });
        }
        let actions = machine.handle(later.plus(PAUSE), Event::HeadIs { size: 2 });
        assert_eq!(asked(&actions), &all[..WITNESSES_MAX]);
    }

    /// Many silent ones with the lowest keys: few of them are waited for at one time.
    #[test]
    fn few_are_tried_again_at_one_time() {
        let mut machine = machine(60);
        let mut now = NOW;
        machine.handle(now, Event::HeadIs { size: 1 });
        for _ in 0..3600 {
            now = now.plus(Duration::seconds(1));
            machine.handle(now, Event::Tick);
            let failed = machine.witnesses.values().filter(|w| w.n_failures > 0 && w.asked_at.is_some());
            assert!(failed.count() <= TRIED_AGAIN_MAX);
        }
        assert!(machine.witnesses.values().all(|w| w.n_failures > 1), "and each of them has its turn");
    }

    #[test]
    fn a_clock_that_is_set_back_holds_nothing_up() {
        let mut machine = machine(1);
        machine.handle(NOW, Event::HeadIs { size: 1 });
        machine.handle(NOW, Event::Cosigned { peer: peer(1), size: 1 });
        let earlier = Timestamp(NOW.0 - 60_000);
        assert_eq!(machine.handle(earlier, Event::HeadIs { size: 2 }), ask(1, 1));
    }
}
