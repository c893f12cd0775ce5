//! How long a peer takes to answer, and how long it is worth waiting for it.

use std::collections::VecDeque;

use plumb_core::measure::Duration;

/// Answers that are remembered.
const REMEMBERED_MAX: usize = 32;

/// Below so many answers nothing is concluded: a peer gets all the time that there is.
const REMEMBERED_MIN: usize = 8;

/// A peer is given up after so many times its 95th percentile.
const GIVE_UP_FACTOR: u64 = 8;

/// No peer is given up sooner: a pause of a garbage collector or a lost packet takes that long.
const GIVE_UP_MIN: Duration = Duration(1_000);

/// No second request goes out sooner.
const HEDGE_MIN: Duration = Duration(50);

/// How long to wait for one answer. Both are within the deadline of the whole question, whatever they say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Patience {
    /// Ask a second time if there is no answer after this.
    pub hedge_after: Option<Duration>,
    /// Wait no longer than this.
    pub give_up_after: Option<Duration>,
}

/// The last answers of one peer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Latencies(VecDeque<Duration>);

impl Latencies {
    /// Takes note of an answer.
    pub fn note(&mut self, took: Duration) {
        if self.0.len() == REMEMBERED_MAX {
            self.0.pop_front();
        }
        self.0.push_back(took);
    }

    /// The 95th percentile, once there are enough answers.
    pub fn p95(&self) -> Option<Duration> {
        if self.0.len() < REMEMBERED_MIN {
            return None;
        }
        let mut sorted: Vec<Duration> = self.0.iter().copied().collect();
        sorted.sort_unstable();
        sorted.get((sorted.len() * 95).div_ceil(100).saturating_sub(1)).copied()
    }

    /// How long to wait for the next one.
    pub fn patience(&self) -> Patience {
        let p95 = self.p95();
        Patience {
            hedge_after: p95.map(|p95| p95.max(HEDGE_MIN)),
            give_up_after: p95.map(|p95| Duration(p95.0.saturating_mul(GIVE_UP_FACTOR)).max(GIVE_UP_MIN)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(took: impl IntoIterator<Item = u64>) -> Latencies {
        let mut latencies = Latencies::default();
        took.into_iter().for_each(|ms| latencies.note(Duration(ms)));
        latencies
    }

    #[test]
    fn a_peer_of_which_little_is_known_gets_all_the_time() {
        assert_eq!(of(1..8).patience(), Patience::default());
        assert_eq!(of(1..9).p95(), Some(Duration(8)));
    }

    #[test]
    fn patience_follows_the_last_answers() {
        let p95 = |latencies: &Latencies| latencies.p95().unwrap().0;
        assert_eq!(p95(&of(1..=20)), 19);
        // A peer that became fast is fast again once the slow answers are forgotten.
        assert_eq!(p95(&of([900; 10].into_iter().chain([10; 32]))), 10);
        let patience = of([200; 10]).patience();
        assert_eq!((patience.hedge_after, patience.give_up_after), (Some(Duration(200)), Some(Duration(1_600))));
        let patience = of([1; 10]).patience();
        assert_eq!((patience.hedge_after, patience.give_up_after), (Some(HEDGE_MIN), Some(GIVE_UP_MIN)));
    }
}
