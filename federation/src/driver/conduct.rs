//! Conduct: what peers did wrong, and for how long that is held against them.
//!
//! Every offence costs points, and points wear off with time. At [`POINTS_MAX`] the peer's connections are closed and
//! none is made with it, in either direction, for a pause that doubles each time. Time is an argument.
//!
//! Only what this side can see for itself counts, never what others say of a peer: reports can be forged.

use std::collections::BTreeMap;
use std::time::Duration;

use libp2p::PeerId;
use tokio::time::Instant;

/// As many points as exclude a peer. They wear off at one a second.
pub const POINTS_MAX: u32 = 100;

/// The first pause.
pub const PAUSE_MIN: Duration = Duration::from_secs(15);

/// The longest pause.
pub const PAUSE_MAX: Duration = Duration::from_secs(60 * 60);

/// After so long without a new one, a former exclusion is forgotten.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(2 * 60 * 60);

/// How many peers are held in mind. Of more, the one that is nearest to being forgotten goes.
const RECORDS_MAX: usize = 1024;

/// What a peer did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Offence {
    /// One request more than its allowance. An honest peer in a hurry does this.
    TooMany,
    /// A frame that is too long or none at all. An honest peer never does this.
    BrokenFrame,
    /// A request before its hello.
    BeforeHello,
    /// It sent what no honest peer sends: the machines above found a forgery, or what cannot be read.
    Fault,
}

impl Offence {
    fn points(self) -> u32 {
        match self {
            Offence::TooMany => 1,
            Offence::BrokenFrame => 10,
            Offence::BeforeHello => 40,
            Offence::Fault => 50,
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Record {
    points: u32,
    /// Until when the points are worn off.
    counted_at: Instant,
    exclusions: u32,
    excluded_until: Option<Instant>,
}

/// The records.
#[derive(Debug, Default)]
pub(super) struct Conduct(BTreeMap<PeerId, Record>);

impl Conduct {
    /// Notes an offence. The end of the pause, if this one leads to it.
    pub(super) fn note(&mut self, peer: PeerId, offence: Offence, now: Instant) -> Option<Instant> {
        self.make_room(&peer, now);
        let fresh = Record { points: 0, counted_at: now, exclusions: 0, excluded_until: None };
        let record = self.0.entry(peer).or_insert(fresh);
        record.wear_off(now);
        record.points = record.points.saturating_add(offence.points());
        if record.points < POINTS_MAX {
            return None;
        }
        let pause = PAUSE_MIN.saturating_mul(1 << record.exclusions.min(16)).min(PAUSE_MAX);
        record.points = 0;
        record.exclusions = record.exclusions.saturating_add(1);
        record.excluded_until = Some(now + pause);
        record.excluded_until
    }

    /// How good a peer's name is: 100 is without blame, 0 is excluded.
    pub(super) fn score(&self, peer: &PeerId, now: Instant) -> u32 {
        let Some(mut record) = self.0.get(peer).copied() else { return 100 };
        record.wear_off(now);
        if self.excluded_until(peer, now).is_some() {
            return 0;
        }
        100u32.saturating_sub(record.points.saturating_mul(100) / POINTS_MAX)
    }

    /// Until when a peer is excluded, if it is.
    pub(super) fn excluded_until(&self, peer: &PeerId, now: Instant) -> Option<Instant> {
        self.0.get(peer)?.excluded_until.filter(|until| now < *until)
    }

    /// Those who are excluded.
    pub(super) fn excluded(&self, now: Instant) -> impl Iterator<Item = (&PeerId, Instant)> {
        self.0.iter().filter_map(move |(peer, record)| Some((peer, record.excluded_until.filter(|at| now < *at)?)))
    }

    /// An operator vouches for a peer.
    pub(super) fn forgive(&mut self, peer: &PeerId) {
        self.0.remove(peer);
    }

    fn make_room(&mut self, peer: &PeerId, now: Instant) {
        if self.0.len() < RECORDS_MAX || self.0.contains_key(peer) {
            return;
        }
        self.0.retain(|_, record| !record.is_forgotten(now));
        if RECORDS_MAX <= self.0.len() {
            let least = |record: &Record| (record.excluded_until, record.exclusions, record.points);
            if let Some(gone) = self.0.iter().min_by_key(|(_, record)| least(record)).map(|(peer, _)| *peer) {
                self.0.remove(&gone);
            }
        }
    }
}

impl Record {
    fn wear_off(&mut self, now: Instant) {
        let seconds = now.saturating_duration_since(self.counted_at).as_secs();
        self.counted_at += Duration::from_secs(seconds);
        self.points = self.points.saturating_sub(u32::try_from(seconds).unwrap_or(u32::MAX));
        if self.excluded_until.is_some_and(|until| until + FORGOTTEN_AFTER < now) {
            self.exclusions = 0;
            self.excluded_until = None;
        }
    }

    fn is_forgotten(mut self, now: Instant) -> bool {
        self.wear_off(now);
        self.points == 0 && self.exclusions == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_excludes_and_each_exclusion_is_longer() {
        let (mut conduct, peer, mut now) = (Conduct::default(), PeerId::random(), Instant::now());
        for expected in [15, 30, 60, 120] {
            assert_eq!(conduct.score(&peer, now), 100);
            let until = (0..).find_map(|_| conduct.note(peer, Offence::TooMany, now)).unwrap();
            assert_eq!(until - now, Duration::from_secs(expected));
            assert_eq!(conduct.score(&peer, now), 0);
            assert_eq!(conduct.excluded(now).count(), 1);
            now = until;
            assert_eq!(conduct.excluded_until(&peer, now), None);
        }
        now += FORGOTTEN_AFTER + Duration::from_secs(1);
        let until = (0..).find_map(|_| conduct.note(peer, Offence::BeforeHello, now)).unwrap();
        assert_eq!(until - now, PAUSE_MIN, "what is long past does not count");
        conduct.forgive(&peer);
        assert_eq!(conduct.score(&peer, now), 100);
    }

    #[test]
    fn who_is_only_a_little_too_fast_is_never_excluded() {
        let (mut conduct, peer, start) = (Conduct::default(), PeerId::random(), Instant::now());
        for second in 0..10_000 {
            let now = start + Duration::from_secs(second);
            assert_eq!(conduct.note(peer, Offence::TooMany, now), None);
            assert!(98 <= conduct.score(&peer, now));
        }
        for _ in 0..9 {
            assert_eq!(conduct.note(PeerId::random(), Offence::BrokenFrame, start), None);
        }
    }

    #[test]
    fn records_are_bounded_and_the_worst_are_kept() {
        let (mut conduct, worst, now) = (Conduct::default(), PeerId::random(), Instant::now());
        while conduct.note(worst, Offence::BeforeHello, now).is_none() {}
        for _ in 0..RECORDS_MAX * 2 {
            conduct.note(PeerId::random(), Offence::TooMany, now);
        }
        assert!(conduct.0.len() <= RECORDS_MAX);
        assert!(conduct.excluded_until(&worst, now).is_some());
    }
}
