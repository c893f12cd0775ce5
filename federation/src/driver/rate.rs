//! Token buckets: how much of one thing a peer may have, in the long run and at once.
//!
//! A bucket fills at a steady rate up to its size. What a peer takes comes out of it; who finds it empty is turned
//! away and may come back. Time is an argument and whole milliseconds count, so what a bucket says can be tested.

use std::time::Duration;

use tokio::time::Instant;

use super::protocol::Protocol;

/// Requests of one protocol from one peer in a second, in the long run. A search at full speed has two each, a log page
/// brings a thousand entries: who needs more than this asks for something else.
pub const REQUESTS_PER_SECOND: u32 = 500;

/// Hellos from one peer in a second. One is enough for a connection.
pub const HELLOS_PER_SECOND: u32 = 2;

/// Gossip messages from one peer in a second, its own and those that it passes on.
pub const GOSSIP_PER_SECOND: u32 = 100;

/// Bytes of one protocol with one peer in a second, requests and answers together.
pub const BYTES_PER_SECOND: u32 = 32 * 1024 * 1024;

/// How many seconds' worth a peer that was quiet may take at once.
const BURST_SECONDS: u64 = 4;

/// A bucket. Its level is counted in thousandths, so that slow rates fill it smoothly.
#[derive(Clone, Debug)]
pub(super) struct Bucket {
    per_second: u64,
    level_milli: u64,
    filled_at: Instant,
}

impl Bucket {
    /// A full one.
    pub(super) fn new(per_second: u32, now: Instant) -> Bucket {
        let per_second = u64::from(per_second);
        Bucket { per_second, level_milli: per_second * BURST_SECONDS * 1000, filled_at: now }
    }

    /// Takes so much; `false`, and nothing is taken, if there is less.
    pub(super) fn take(&mut self, amount: u64, now: Instant) -> bool {
        self.fill(now);
        let wanted = amount.saturating_mul(1000);
        if self.level_milli < wanted {
            return false;
        }
        self.level_milli -= wanted;
        true
    }

    /// Takes what has been used already, as far as there is any.
    pub(super) fn drain(&mut self, amount: u64, now: Instant) {
        self.fill(now);
        self.level_milli = self.level_milli.saturating_sub(amount.saturating_mul(1000));
    }

    fn fill(&mut self, now: Instant) {
        let passed = now.saturating_duration_since(self.filled_at);
        // Whole milliseconds are taken over; the rest stays for the next time.
        let passed_ms = u64::try_from(passed.as_millis()).unwrap_or(u64::MAX);
        self.filled_at += Duration::from_millis(passed_ms);
        let full = self.per_second * BURST_SECONDS * 1000;
        self.level_milli = self.level_milli.saturating_add(passed_ms.saturating_mul(self.per_second)).min(full);
    }
}

/// What one peer may have.
#[derive(Clone, Debug)]
pub(super) struct Allowance {
    requests: [Bucket; Protocol::ALL.len()],
    bytes: [Bucket; Protocol::ALL.len()],
    gossip: Bucket,
}

impl Allowance {
    /// A full one. `requests_per_second` is for every protocol but hello.
    pub(super) fn new(requests_per_second: u32, now: Instant) -> Allowance {
        let requests = |protocol| match protocol {
            Protocol::Hello => Bucket::new(HELLOS_PER_SECOND, now),
            _ => Bucket::new(requests_per_second, now),
        };
        Allowance {
            requests: Protocol::ALL.map(requests),
            bytes: Protocol::ALL.map(|_| Bucket::new(BYTES_PER_SECOND, now)),
            gossip: Bucket::new(GOSSIP_PER_SECOND, now),
        }
    }

    /// A request of so many bytes came; `false` if it is one too many.
    pub(super) fn request(&mut self, protocol: Protocol, bytes: usize, now: Instant) -> bool {
        let at = protocol.index();
        self.requests[at].take(1, now) && self.bytes[at].take(bytes as u64, now)
    }

    /// An answer of so many bytes goes out. It is sent in any case; the next request pays for it.
    pub(super) fn answered(&mut self, protocol: Protocol, bytes: usize, now: Instant) {
        self.bytes[protocol.index()].drain(bytes as u64, now);
    }

    /// A gossip message came; `false` if it is one too many.
    pub(super) fn gossip(&mut self, now: Instant) -> bool {
        self.gossip.take(1, now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_gives_its_burst_and_then_its_rate() {
        let start = Instant::now();
        let mut bucket = Bucket::new(10, start);
        assert_eq!((0..100).filter(|_| bucket.take(1, start)).count(), 40);
        assert!(!bucket.take(1, start + Duration::from_millis(99)));
        assert!(bucket.take(1, start + Duration::from_millis(100)));
        assert!(!bucket.take(1, start + Duration::from_millis(100)));
        let later = start + Duration::from_secs(3600);
        assert_eq!((0..100).filter(|_| bucket.take(1, later)).count(), 40, "it never holds more than its size");
        // An hour at ten times the rate gets a tenth of what it asks for, whatever the steps.
        let mut taken = 0;
        for step in 1..=3600 * 100u64 {
            taken += usize::from(bucket.take(1, later + Duration::from_millis(step * 10)));
        }
        assert_eq!(taken, 3600 * 10);
    }

    #[test]
    fn a_clock_that_stands_or_goes_back_fills_nothing() {
        let start = Instant::now();
        let mut bucket = Bucket::new(1, start + Duration::from_secs(5));
        assert_eq!((0..10).filter(|_| bucket.take(1, start)).count(), 4);
    }

    #[test]
    fn protocols_do_not_pay_for_each_other_and_answers_count() {
        let now = Instant::now();
        let mut allowance = Allowance::new(5, now);
        while allowance.request(Protocol::Search, 1, now) {}
        assert!(allowance.request(Protocol::Notice, 1, now), "a flood of searches does not hold up a retraction");
        assert!(allowance.request(Protocol::Blocks, 1, now));
        allowance.answered(Protocol::Blocks, usize::MAX, now);
        assert!(!allowance.request(Protocol::Blocks, 1, now));
        assert!(allowance.request(Protocol::Blocks, 1, now + Duration::from_secs(1)));
    }
}
