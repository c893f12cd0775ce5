//! The re-dial book: addresses that should be connected, and when each is tried next.
//!
//! An address is tried until somebody takes it out, ever more slowly: the pause doubles from `delay_min` up to
//! `delay_max`, less a random part, so that nodes that lost the same peer do not come back in step. The pause starts
//! again from `delay_min` only once the peer behind an address was *admitted*: one that accepts connections and then
//! throws us out is tried as slowly as one that is down.

use std::collections::BTreeMap;
use std::time::Duration;

use libp2p::multiaddr::Protocol as Part;
use libp2p::{Multiaddr, PeerId};
use tokio::time::Instant;

use super::status::{AddressStatus, DialFailure, Trying};

/// How many addresses the book holds. A node has a handful of bootstrap peers and some hundred known ones.
pub const ADDRESSES_MAX: usize = 512;

/// How many dials the book has under way at once; each is a socket and a handshake.
pub(super) const DIALS_MAX: usize = 16;

/// The largest part of a pause that is taken off by chance, in thousandths.
pub(super) const JITTER_PERMILLE_MAX: u32 = 250;

/// After this many doublings any pause is at its maximum.
const DOUBLINGS_MAX: u32 = 16;

/// The book is full.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BookFull;

#[derive(Debug, PartialEq, Eq)]
enum State {
    Waiting { until: Instant },
    Dialling,
    Connected,
}

#[derive(Debug)]
struct Entry {
    /// Who answers there: told by the address itself, or learned from the first connection.
    peer: Option<PeerId>,
    /// Attempts since the peer was last admitted; they set the pause.
    failures: u32,
    /// Dials that came to nothing since the peer was last admitted.
    unanswered: u32,
    /// Whether it was admitted since it connected.
    is_settled: bool,
    /// Why the last one failed, if the address itself did not answer.
    last_failure: Option<DialFailure>,
    tried_at: Option<Instant>,
    state: State,
}

/// The book.
#[derive(Debug)]
pub(super) struct RedialBook {
    entries: BTreeMap<Multiaddr, Entry>,
    delay_min: Duration,
    delay_max: Duration,
}

impl RedialBook {
    pub(super) fn new(delay_min: Duration, delay_max: Duration) -> RedialBook {
        RedialBook { entries: BTreeMap::new(), delay_min, delay_max }
    }

    /// Puts an address in, due at once. One that is waiting becomes due; one that is connected stays so.
    pub(super) fn add(&mut self, addr: Multiaddr, connected: bool, now: Instant) -> Result<(), BookFull> {
        if let Some(entry) = self.entries.get_mut(&addr) {
            if matches!(entry.state, State::Waiting { .. }) {
                entry.failures = 0;
                entry.state = State::Waiting { until: now };
            }
            return Ok(());
        }
        if ADDRESSES_MAX <= self.entries.len() {
            return Err(BookFull);
        }
        let state = if connected { State::Connected } else { State::Waiting { until: now } };
        let entry = Entry {
            peer: peer_in(&addr),
            failures: 0,
            unanswered: 0,
            is_settled: false,
            last_failure: None,
            tried_at: None,
            state,
        };
        self.entries.insert(addr, entry);
        Ok(())
    }

    /// The addresses to dial now. Each is then under way until [`RedialBook::failed`] or [`RedialBook::connected`].
    pub(super) fn due(&mut self, now: Instant) -> Vec<Multiaddr> {
        let under_way = self.entries.values().filter(|entry| entry.state == State::Dialling).count();
        let mut due = Vec::new();
        for (addr, entry) in &mut self.entries {
            if DIALS_MAX <= under_way + due.len() {
                break;
            }
            if matches!(entry.state, State::Waiting { until } if until <= now) {
                entry.state = State::Dialling;
                entry.tried_at = Some(now);
                due.push(addr.clone());
            }
        }
        due
    }

    /// A dial came to nothing; `why` is the address's own fault, if it is. How often that happened since
    /// the peer behind it was last admitted.
    pub(super) fn failed(
        &mut self,
        addr: &Multiaddr,
        why: Option<DialFailure>,
        now: Instant,
        jitter_permille: u32,
    ) -> u32 {
        let (min, max) = (self.delay_min, self.delay_max);
        let Some(entry) = self.entries.get_mut(addr).filter(|entry| entry.state == State::Dialling) else { return 0 };
        entry.pause(now, min, max, jitter_permille);
        entry.last_failure = why.or(entry.last_failure.take());
        entry.unanswered = entry.unanswered.saturating_add(1);
        entry.unanswered
    }

    /// Whether the address is in the book.
    pub(super) fn contains(&self, addr: &Multiaddr) -> bool {
        self.entries.contains_key(addr)
    }

    /// The network works again: an address answered that had not for some time. What waits long is tried soon, spread
    /// over `within` by its place, as the cause was most likely the same.
    pub(super) fn hurry(&mut self, now: Instant, within: Duration) {
        let n = u32::try_from(self.entries.len()).unwrap_or(u32::MAX).max(1);
        for (place, entry) in (1u32..).zip(self.entries.values_mut()) {
            let soon = now + within.saturating_mul(place) / n;
            if let State::Waiting { until } = &mut entry.state {
                *until = soon.min(*until);
            }
        }
    }

    /// Every address as an operator sees it.
    pub(super) fn status(&self, now: Instant) -> impl Iterator<Item = (Option<PeerId>, AddressStatus)> {
        self.entries.iter().map(move |(addr, entry)| {
            let trying = match entry.state {
                State::Waiting { until } => Trying::In(until.saturating_duration_since(now)),
                State::Dialling => Trying::Now,
                State::Connected => Trying::Connected,
            };
            let status = AddressStatus {
                addr: addr.clone(),
                node: None,
                failures: entry.unanswered,
                last_failure: entry.last_failure.clone(),
                last_tried: entry.tried_at.map(|at| now.saturating_duration_since(at)),
                trying,
            };
            (entry.peer, status)
        })
    }

    /// A peer is connected; `dialled` is the address of the book that led to it, if one did. Whether that address had
    /// failed before.
    pub(super) fn connected(&mut self, peer: PeerId, dialled: Option<&Multiaddr>) -> bool {
        let mut had_failed = false;
        if let Some(entry) = dialled.and_then(|addr| self.entries.get_mut(addr)) {
            entry.peer = Some(peer);
            entry.state = State::Connected;
            entry.is_settled = false;
            had_failed = entry.last_failure.as_ref().is_some_and(|failure| *failure != DialFailure::Dropped);
        }
        for entry in self.of(peer) {
            if entry.state != State::Dialling {
                entry.state = State::Connected;
                entry.is_settled = false;
            }
        }
        had_failed
    }

    /// The last connection of a peer is gone.
    pub(super) fn disconnected(&mut self, peer: PeerId, now: Instant, jitter_permille: u32) {
        let (min, max) = (self.delay_min, self.delay_max);
        for entry in self.of(peer) {
            if entry.state == State::Connected {
                if !entry.is_settled {
                    entry.last_failure = Some(DialFailure::Dropped);
                    entry.unanswered = entry.unanswered.saturating_add(1);
                }
                entry.pause(now, min, max, jitter_permille);
            }
        }
    }

    /// A peer was admitted: its next loss is a first loss.
    pub(super) fn settled(&mut self, peer: PeerId) {
        for entry in self.of(peer) {
            entry.failures = 0;
            entry.unanswered = 0;
            entry.is_settled = true;
            entry.last_failure = None;
        }
    }

    /// Takes a peer out.
    pub(super) fn forget(&mut self, peer: PeerId) {
        self.entries.retain(|_, entry| entry.peer != Some(peer));
    }

    /// Takes an address out.
    pub(super) fn forget_addr(&mut self, addr: &Multiaddr) {
        self.entries.remove(addr);
    }

    fn of(&mut self, peer: PeerId) -> impl Iterator<Item = &mut Entry> {
        self.entries.values_mut().filter(move |entry| entry.peer == Some(peer))
    }
}

impl Entry {
    fn pause(&mut self, now: Instant, min: Duration, max: Duration, jitter_permille: u32) {
        let doubled = min.saturating_mul(1 << self.failures.min(DOUBLINGS_MAX)).min(max);
        let kept = 1000 - jitter_permille.min(JITTER_PERMILLE_MAX);
        self.failures = self.failures.saturating_add(1);
        self.state = State::Waiting { until: now + doubled.saturating_mul(kept) / 1000 };
    }
}

/// The peer that an address names, if it names one.
pub(super) fn peer_in(addr: &Multiaddr) -> Option<PeerId> {
    match addr.iter().last() {
        Some(Part::P2p(peer)) => Some(peer),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIN: Duration = Duration::from_millis(100);
    const MAX: Duration = Duration::from_millis(1000);

    fn addr(port: u16) -> Multiaddr {
        format!("/ip4/127.0.0.1/tcp/{port}").parse().unwrap()
    }

    fn book() -> RedialBook {
        RedialBook::new(MIN, MAX)
    }

    #[test]
    fn pauses_double_up_to_the_maximum_and_jitter_only_shortens() {
        let (mut book, mut now) = (book(), Instant::now());
        book.add(addr(1), false, now).unwrap();
        for expected in [100, 200, 400, 800, 1000, 1000] {
            assert_eq!(book.due(now), [addr(1)]);
            assert!(book.due(now).is_empty(), "one dial at a time");
            book.failed(&addr(1), None, now, 0);
            let pause = Duration::from_millis(expected);
            assert!(book.due(now + pause - Duration::from_millis(1)).is_empty());
            now += pause;
        }
        assert_eq!(book.due(now), [addr(1)]);
        book.failed(&addr(1), None, now, JITTER_PERMILLE_MAX * 2);
        assert_eq!(book.due(now + MAX * 3 / 4), [addr(1)]);
    }

    #[test]
    fn only_admission_starts_the_pauses_again() {
        let (mut book, peer, mut now) = (book(), PeerId::random(), Instant::now());
        book.add(addr(1), false, now).unwrap();
        for expected in [100, 200] {
            assert_eq!(book.due(now), [addr(1)]);
            book.connected(peer, Some(&addr(1)));
            book.disconnected(peer, now, 0);
            now += Duration::from_millis(expected);
        }
        assert_eq!(book.due(now), [addr(1)]);
        book.connected(peer, Some(&addr(1)));
        book.settled(peer);
        book.disconnected(peer, now, 0);
        assert_eq!(book.due(now + MIN), [addr(1)]);
    }

    #[test]
    fn a_peer_that_came_by_itself_is_not_dialled_and_a_forgotten_one_never() {
        let (mut book, peer, now) = (book(), PeerId::random(), Instant::now());
        let named = addr(1).with_p2p(peer).unwrap();
        book.add(named.clone(), false, now).unwrap();
        book.connected(peer, None);
        assert!(book.due(now + MAX).is_empty());
        book.disconnected(peer, now, 0);
        book.forget(peer);
        assert!(book.due(now + MAX).is_empty());
        book.add(named.clone(), false, now).unwrap();
        book.forget_addr(&named);
        assert!(book.due(now + MAX).is_empty());
    }

    #[test]
    fn asking_again_makes_an_address_due() {
        let (mut book, now) = (book(), Instant::now());
        book.add(addr(1), false, now).unwrap();
        book.due(now);
        book.failed(&addr(1), None, now, 0);
        assert!(book.due(now).is_empty());
        book.add(addr(1), false, now).unwrap();
        assert_eq!(book.due(now), [addr(1)]);
    }

    #[test]
    fn one_answer_hurries_the_others_and_the_reason_of_a_failure_is_kept() {
        let (mut book, now) = (RedialBook::new(MIN, MAX * 100), Instant::now());
        for port in 1..=4 {
            book.add(addr(port), false, now).unwrap();
        }
        let mut failures = 0;
        let mut at = now;
        while failures < 9 {
            at += MAX * 100;
            for due in book.due(at) {
                failures = book.failed(&due, Some(DialFailure::ConnectionRefused), at, 0);
            }
        }
        assert!(book.due(at + MAX).is_empty(), "they wait long");
        book.hurry(at, MAX);
        assert_eq!(book.due(at + MAX / 4).len(), 1, "they are spread");
        assert_eq!(book.due(at + MAX).len(), 3);
        let peer = PeerId::random();
        assert!(book.connected(peer, Some(&addr(1))), "it had failed");
        book.disconnected(peer, at, 0);
        let dropped = book.status(at).next().map(|(_, status)| status.last_failure);
        assert_eq!(dropped, Some(Some(DialFailure::Dropped)), "it answered, and did not admit us");
        book.connected(peer, Some(&addr(1)));
        book.settled(peer);
        let status: Vec<AddressStatus> = book.status(at).map(|(_, status)| status).collect();
        assert_eq!((status[0].trying, status[0].last_failure.clone()), (Trying::Connected, None));
        assert_eq!(status[1].last_failure, Some(DialFailure::ConnectionRefused));
        assert_eq!((status[1].failures, status[1].trying), (9, Trying::Now));
    }

    #[test]
    fn the_book_and_the_dials_are_bounded() {
        let (mut book, now) = (book(), Instant::now());
        for port in 0..ADDRESSES_MAX as u16 {
            book.add(addr(port), false, now).unwrap();
        }
        assert_eq!(book.add(addr(60_000), false, now), Err(BookFull));
        assert_eq!(book.add(addr(0), false, now), Ok(()), "a known one fits");
        assert_eq!(book.due(now).len(), DIALS_MAX);
        assert!(book.due(now).is_empty());
    }
}
