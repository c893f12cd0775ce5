//! How long to wait after a failure: twice as long after each, up to a bound, and never all at once.

use plumb_core::measure::{Duration, Timestamp};

use super::Random;

/// Whether a moment that was set at most `longest` ahead has come. A wall clock may be set back; then the moment is
/// further ahead than anyone can have set it, and counts as come.
pub(super) fn is_due(at: Timestamp, longest: Duration, now: Timestamp) -> bool {
    at <= now || now.plus(longest) < at
}

/// Whether a span has passed since a moment. If the clock was set back, nobody knows, and it counts as passed.
pub fn has_passed(since: Timestamp, span: Duration, now: Timestamp) -> bool {
    now < since || span <= now.since(since)
}

/// When something may be tried again. It remembers how far ahead it was set: if the clock is set back since, by however
/// little, the moment counts as come, and nothing waits for the clock to catch up.
#[derive(Clone, Copy, Debug)]
pub(super) struct Retry {
    at: Timestamp,
    within: Duration,
}

impl Retry {
    /// So long from now.
    pub(super) fn after(now: Timestamp, wait: Duration) -> Retry {
        Retry { at: now.plus(wait), within: wait }
    }

    /// The moment, by the clock as it was.
    pub(super) fn at(self) -> Timestamp {
        self.at
    }

    /// Whether it has come.
    pub(super) fn is_due(self, now: Timestamp) -> bool {
        is_due(self.at, self.within, now)
    }

    /// The later of two.
    pub(super) fn or_later(self, other: Retry) -> Retry {
        if self.at < other.at { other } else { self }
    }
}

/// A way to wait.
#[derive(Clone, Copy, Debug)]
pub(super) struct Backoff {
    /// After the first failure.
    pub(super) first: Duration,
    /// At most.
    pub(super) longest: Duration,
}

impl Backoff {
    /// The wait after so many failures in a row: between half of it and all of it, so that nodes that failed together do
    /// not come back together (Brooker, "Exponential backoff and jitter", 2015).
    pub(super) fn after(self, n_failures: u32, random: &mut Random) -> Duration {
        let doubled = 1u64
            .checked_shl(n_failures.saturating_sub(1))
            .and_then(|factor| self.first.0.checked_mul(factor))
            .unwrap_or(self.longest.0);
        let whole = doubled.min(self.longest.0);
        let half = whole / 2;
        Duration(half + random.below(whole - half + 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_is_set_back_stops_nothing() {
        let (hour, minute) = (Duration::seconds(3600), Duration::seconds(60));
        let at = Timestamp(10_000_000);
        assert!(!is_due(at.plus(minute), minute, at) && is_due(at, minute, at));
        assert!(is_due(at.plus(hour), minute, at));
        assert!(!has_passed(at, minute, at.plus(Duration(1))) && has_passed(at, minute, at.plus(minute)));
        assert!(has_passed(at.plus(hour), minute, at));
    }

    #[test]
    fn a_retry_does_not_wait_for_a_clock_that_was_set_back() {
        let (now, wait) = (Timestamp(100_000_000), Duration::seconds(120));
        let retry = Retry::after(now, wait);
        assert!(!retry.is_due(now) && retry.is_due(now.plus(wait)));
        for back in [1, 60_000, 3_600_000, 20_000_000] {
            assert!(retry.is_due(Timestamp(now.0 - back)), "set back by {back} ms");
        }
        let later = retry.or_later(Retry::after(now, Duration::seconds(600)));
        assert!(!later.is_due(now.plus(wait)));
    }

    #[test]
    fn waits_grow_to_their_bound() {
        let backoff = Backoff { first: Duration(1_000), longest: Duration(60_000) };
        let mut random = Random::from_seed(3);
        for (n, least, most) in [
            (0, 500, 1_000),
            (1, 500, 1_000),
            (2, 1_000, 2_000),
            (5, 8_000, 16_000),
            (7, 30_000, 60_000),
            (u32::MAX, 30_000, 60_000),
        ] {
            let wait = backoff.after(n, &mut random).0;
            assert!((least..=most).contains(&wait), "{n}: {wait}");
        }
    }
}
