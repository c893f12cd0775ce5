//! A circuit breaker: whoever failed again and again is left alone for a while, then tried once.
//!
//! ```text
//!   closed ── 5 failures in a row ──► open ── 60 s ──► half open ── success ──► closed
//!                                       ▲                  │
//!                                       └──── failure ─────┘
//! ```

use plumb_core::measure::{Duration, Timestamp};

use super::backoff::{has_passed, is_due};

/// Failures in a row that open it (FED-10).
pub const FAILURES_MAX: u32 = 5;

/// How long it stays open (FED-10).
pub const OPEN_FOR: Duration = Duration::seconds(60);

/// What is known of one peer's reliability.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Breaker {
    /// It may be asked. So many failures in a row were seen.
    #[default]
    Fresh,
    /// It may be asked; it failed so often in a row.
    Failing(u32),
    /// It is left alone until then.
    Open(Timestamp),
    /// One question is on its way, since then.
    HalfOpen(Timestamp),
}

impl Breaker {
    /// Whether the peer may be asked now. The one try of a half-open breaker is taken by whoever is told yes.
    pub fn permit(&mut self, now: Timestamp) -> bool {
        match *self {
            Breaker::Fresh | Breaker::Failing(_) => true,
            Breaker::Open(until) if !is_due(until, OPEN_FOR, now) => false,
            // A try whose outcome never came is not waited for longer than a breaker is open.
            Breaker::HalfOpen(since) if !has_passed(since, OPEN_FOR, now) => false,
            Breaker::Open(_) | Breaker::HalfOpen(_) => {
                *self = Breaker::HalfOpen(now);
                true
            }
        }
    }

    /// It answered, if only with a refusal.
    pub fn succeeded(&mut self) {
        *self = Breaker::Fresh;
    }

    /// It did not answer, or what it answered cannot be.
    pub fn failed(&mut self, now: Timestamp) {
        *self = match *self {
            Breaker::Fresh => Breaker::Failing(1),
            Breaker::Failing(n) if n + 1 < FAILURES_MAX => Breaker::Failing(n + 1),
            Breaker::Failing(_) | Breaker::HalfOpen(_) => Breaker::Open(now.plus(OPEN_FOR)),
            // An answer to a question from before it opened.
            Breaker::Open(until) => Breaker::Open(until),
        };
    }

    /// Until when it is open.
    pub fn open_until(&self) -> Option<Timestamp> {
        match self {
            Breaker::Open(until) => Some(*until),
            Breaker::HalfOpen(since) => Some(since.plus(OPEN_FOR)),
            Breaker::Fresh | Breaker::Failing(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp(1_760_000_000_000);

    fn failed(n: u32) -> Breaker {
        let mut breaker = Breaker::default();
        (0..n).for_each(|_| breaker.failed(NOW));
        breaker
    }

    #[test]
    fn it_opens_after_five_failures_for_a_minute_and_then_lets_one_try_through() {
        assert!(failed(4).permit(NOW));
        let mut breaker = failed(5);
        assert!(!breaker.permit(NOW.plus(Duration(59_999))));
        let later = NOW.plus(OPEN_FOR);
        assert!(breaker.permit(later), "one try");
        assert!(!breaker.permit(later), "and no second one");
        breaker.failed(later);
        assert!(!breaker.permit(later.plus(Duration(59_999))), "open again");
        let again = later.plus(OPEN_FOR);
        assert!(breaker.permit(again));
        breaker.succeeded();
        assert!(breaker.permit(again) && breaker == Breaker::Fresh);
    }

    #[test]
    fn a_success_in_between_starts_the_count_anew() {
        let mut breaker = failed(4);
        breaker.succeeded();
        (0..4).for_each(|_| breaker.failed(NOW));
        assert!(breaker.permit(NOW));
    }

    #[test]
    fn a_clock_that_is_set_back_does_not_keep_it_open() {
        let earlier = Timestamp(NOW.0 - 3_600_000);
        let mut open = failed(5);
        assert!(open.permit(earlier), "one try");
        // The try is under way since a moment that is to come.
        let mut half_open = failed(5);
        assert!(half_open.permit(NOW.plus(OPEN_FOR)) && half_open.permit(earlier));
        assert!(!half_open.permit(earlier), "and then one at a time, as ever");
    }

    #[test]
    fn a_try_that_was_forgotten_does_not_close_it_for_ever() {
        let mut breaker = failed(5);
        let later = NOW.plus(OPEN_FOR);
        assert!(breaker.permit(later));
        assert!(breaker.permit(later.plus(OPEN_FOR)));
    }
}
