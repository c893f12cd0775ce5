//! One peer in a question: how far it is, and how long it is still waited for.

use plumb_core::measure::{Duration, Timestamp};

use super::super::Patience;
use super::super::backoff::has_passed;
use super::{PeerState, Phase};

/// How far one peer is.
#[derive(Clone, Debug)]
pub(super) enum Progress {
    /// It was asked for statistics.
    Statistics,
    /// Its statistics are counted.
    Counted,
    /// It denied the question for statistics. It may answer the other one.
    Withheld { reason: String },
    /// It was asked for hits. If it withheld its statistics, why.
    Hits { withheld: Option<String> },
    /// Nothing more is expected.
    Done(PeerState),
}

/// One peer in a question.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    pub(super) progress: Progress,
    patience: Patience,
    /// When it was asked in this phase.
    asked_at: Timestamp,
    is_hedged: bool,
    /// Copies of this phase's question whose outcome is not known yet.
    n_under_way: u32,
}

impl Asked {
    /// It was just asked for statistics.
    pub(super) fn new(patience: Patience, now: Timestamp) -> Asked {
        Asked { progress: Progress::Statistics, patience, asked_at: now, is_hedged: false, n_under_way: 1 }
    }

    fn is_waited_for(&self) -> bool {
        self.phase().is_some()
    }

    pub(super) fn is_done(&self) -> bool {
        matches!(self.progress, Progress::Done(_))
    }

    /// The question that it is waited for to answer.
    fn phase(&self) -> Option<Phase> {
        match self.progress {
            Progress::Statistics => Some(Phase::Statistics),
            Progress::Hits { .. } => Some(Phase::Hits),
            Progress::Counted | Progress::Withheld { .. } | Progress::Done(_) => None,
        }
    }

    /// A copy of a question has its outcome. Whether it counts: no other copy was answered before it, and the question is
    /// the one that is on.
    pub(super) fn came_back(&mut self, phase: Phase) -> bool {
        let counts = self.phase() == Some(phase);
        if counts {
            self.n_under_way = self.n_under_way.saturating_sub(1);
        }
        counts
    }

    /// The outcome of a copy is that there is no answer. It stands if no other copy is under way.
    pub(super) fn came_to_nothing(&mut self, state: PeerState) {
        if self.n_under_way == 0 {
            self.done(state);
        }
    }

    /// The first word stands.
    pub(super) fn done(&mut self, state: PeerState) {
        if !self.is_done() {
            self.progress = Progress::Done(state);
        }
    }

    fn hedge_after(&self) -> Option<Duration> {
        self.patience.hedge_after.filter(|_| self.is_waited_for() && !self.is_hedged)
    }

    fn give_up_after(&self) -> Option<Duration> {
        self.patience.give_up_after.filter(|_| self.is_waited_for())
    }

    /// When it has to be looked at again.
    pub(super) fn wake_at(&self) -> Option<Timestamp> {
        let first = self.hedge_after().into_iter().chain(self.give_up_after()).min()?;
        Some(self.asked_at.plus(first))
    }

    /// Whether it was waited for long enough.
    pub(super) fn is_given_up(&self, now: Timestamp) -> bool {
        self.give_up_after().is_some_and(|span| has_passed(self.asked_at, span, now))
    }

    /// Whether to ask it a second time now. Says so once in each phase.
    pub(super) fn hedge(&mut self, now: Timestamp) -> bool {
        let is_due = self.hedge_after().is_some_and(|span| has_passed(self.asked_at, span, now));
        if is_due {
            self.is_hedged = true;
            self.n_under_way += 1;
        }
        is_due
    }

    /// The second phase begins. Whether to ask it for hits.
    pub(super) fn ask_for_hits(&mut self, now: Timestamp) -> bool {
        let withheld = match &self.progress {
            Progress::Counted => None,
            Progress::Withheld { reason } => Some(reason.clone()),
            // Its documents are not in the statistics, so it cannot be asked for hits any more.
            Progress::Statistics => {
                self.progress = Progress::Done(PeerState::TimedOut);
                return false;
            }
            Progress::Hits { .. } | Progress::Done(_) => return false,
        };
        self.progress = Progress::Hits { withheld };
        self.asked_at = now;
        self.is_hedged = false;
        self.n_under_way = 1;
        true
    }

    /// What became of it, now that nothing more is waited for.
    pub(super) fn outcome(&self) -> PeerState {
        match &self.progress {
            Progress::Done(state) => state.clone(),
            Progress::Statistics | Progress::Counted | Progress::Withheld { .. } | Progress::Hits { .. } => {
                PeerState::TimedOut
            }
        }
    }
}
