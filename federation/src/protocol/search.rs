//! Federated search: one question to several nodes under one deadline.
//!
//! ```text
//!   ask statistics ──► all answered, or half the time is over ──► ask hits, under the sum ──► all answered, or deadline
//! ```
//!
//! Everybody ranks under the same statistics, so the merged ranking is that of one index over all documents that the
//! asker may read. A peer that is late is reported as late and never waited for; one whose statistics are impossible or
//! whose scores are not those of its chunks is reported as invalid and left out. A peer that is not there for the second
//! phase has counted in the statistics; that shifts scores a little, alike for everybody, and never their truth.

use std::collections::BTreeMap;

use plumb_core::identity::NodeId;
use plumb_core::measure::{Duration, Timestamp};
use plumb_core::retrieval::{Query, TermStats};

use crate::wire::WireError;
use crate::wire::search::{
    DEADLINE_MS_MAX, HITS_MAX, Hit, HitsAsked, SearchRequest, SearchResponse, StatisticsAsked, check_hits,
};

/// Most peers that one question goes to. What is asked of more is not asked.
pub const PEERS_MAX: usize = 64;

/// What happened.
#[derive(Clone, Debug)]
pub enum Event {
    /// A peer answered.
    Answered {
        /// Who.
        peer: NodeId,
        /// What, or why it could not be read.
        response: Result<SearchResponse, WireError>,
    },
    /// A peer could not be reached, or the exchange with it broke off.
    Unreachable {
        /// Who.
        peer: NodeId,
    },
    /// Time passed. Ask for it at [`FederatedSearch::wake_at`].
    Tick,
}

/// What to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Ask a peer. Report [`Event::Answered`] or [`Event::Unreachable`].
    Ask {
        /// Whom.
        peer: NodeId,
        /// The message.
        request: SearchRequest,
    },
    /// This is the result. Nothing follows, and events after it change nothing.
    Finish(Outcome),
}

/// What became of one peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PeerState {
    /// Its hits are in the result.
    Answered,
    /// It does not answer us.
    Denied {
        /// Why, in its words.
        reason: String,
    },
    /// It had no time.
    Busy {
        /// When to ask again.
        retry_after_ms: u64,
    },
    /// It did not answer in time.
    TimedOut,
    /// It was not there.
    Unreachable,
    /// It answered what cannot be.
    Invalid {
        /// What is wrong with it.
        reason: String,
    },
}

/// What the peers gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The sum of the statistics, our own among them: rank our own documents under it.
    pub stats: TermStats,
    /// The hits of each peer that answered. The scores are checked.
    pub hits: BTreeMap<NodeId, Vec<Hit>>,
    /// What became of each peer that was asked.
    pub coverage: BTreeMap<NodeId, PeerState>,
}

/// How far one peer is.
#[derive(Clone, Debug)]
enum Progress {
    Statistics,
    Counted,
    Hits,
    Done(PeerState),
}

/// One question on its way.
#[derive(Clone, Debug)]
pub struct FederatedSearch {
    id: u64,
    query: Query,
    k: u32,
    stats: TermStats,
    second_phase_at: Timestamp,
    deadline: Timestamp,
    is_second_phase: bool,
    is_finished: bool,
    progress: BTreeMap<NodeId, Progress>,
    hits: BTreeMap<NodeId, Vec<Hit>>,
}

impl FederatedSearch {
    /// Begins: the first actions ask for statistics. `own` are those of what the asker may read here, for the terms of
    /// `query`; `k` is how many hits each peer is asked for.
    pub fn start(
        id: u64,
        query: Query,
        own: TermStats,
        k: u32,
        peers: impl IntoIterator<Item = NodeId>,
        now: Timestamp,
        deadline_ms: u32,
    ) -> Result<(FederatedSearch, Vec<Action>), WireError> {
        let asked = StatisticsAsked::new(id, &query.text, deadline_ms)?;
        own.check(query.terms.len()).map_err(|e| WireError::Statistics(e.to_string()))?;
        let wait = u64::from(deadline_ms.min(DEADLINE_MS_MAX));
        let progress = peers.into_iter().map(|peer| (peer, Progress::Statistics));
        let mut search = FederatedSearch {
            id,
            query,
            k: k.min(HITS_MAX),
            stats: own,
            second_phase_at: now.plus(Duration(wait / 2)),
            deadline: now.plus(Duration(wait)),
            is_second_phase: false,
            is_finished: false,
            progress: progress.take(PEERS_MAX).collect(),
            hits: BTreeMap::new(),
        };
        let request = SearchRequest::Statistics(asked);
        let ask = |peer: &NodeId| Action::Ask { peer: *peer, request: request.clone() };
        let mut actions: Vec<Action> = search.progress.keys().map(ask).collect();
        search.go_on(now, &mut actions);
        Ok((search, actions))
    }

    /// When the next [`Event::Tick`] is needed; none once it is finished.
    pub fn wake_at(&self) -> Option<Timestamp> {
        match (self.is_finished, self.is_second_phase) {
            (true, _) => None,
            (false, true) => Some(self.deadline),
            (false, false) => Some(self.second_phase_at),
        }
    }

    /// Takes one event.
    pub fn handle(&mut self, now: Timestamp, event: Event) -> Vec<Action> {
        let mut actions = Vec::new();
        if self.is_finished {
            return actions;
        }
        // What comes behind the deadline is late, also if the tick is later still.
        if now < self.deadline {
            match event {
                Event::Answered { peer, response } => self.answered(peer, response),
                Event::Unreachable { peer } => self.done(peer, PeerState::Unreachable),
                Event::Tick => {}
            }
        }
        self.go_on(now, &mut actions);
        actions
    }

    fn answered(&mut self, peer: NodeId, response: Result<SearchResponse, WireError>) {
        let invalid =
            |error: &dyn std::error::Error| PeerState::Invalid { reason: crate::wire::reason(&error.to_string()) };
        let response = match response {
            Ok(response) => response,
            Err(error) => return self.done(peer, invalid(&error)),
        };
        if let Some(found) = response.id().filter(|found| *found != self.id) {
            let expected = self.id;
            return self.done(peer, invalid(&WireError::Request { expected, found }));
        }
        let at = self.progress.get(&peer).cloned();
        match (at, response) {
            (Some(Progress::Statistics), SearchResponse::Statistics { stats, .. }) => match self.stats.merge(&stats) {
                Ok(()) => {
                    self.progress.insert(peer, Progress::Counted);
                }
                Err(error) => self.done(peer, invalid(&error)),
            },
            (Some(Progress::Hits), SearchResponse::Hits { hits, .. }) => {
                match check_hits(&hits, &self.query, &self.stats, self.k) {
                    Ok(()) => {
                        self.hits.insert(peer, hits);
                        self.done(peer, PeerState::Answered);
                    }
                    Err(error) => self.done(peer, invalid(&error)),
                }
            }
            (_, SearchResponse::Denied { reason, .. }) => {
                self.done(peer, PeerState::Denied { reason });
            }
            (_, SearchResponse::Busy { retry_after_ms, .. }) => {
                self.done(peer, PeerState::Busy { retry_after_ms });
            }
            (_, SearchResponse::Unknown(unknown)) => {
                self.done(peer, invalid(&WireError::Kind(unknown.kind)));
            }
            // The second copy of an answer, or one from before the phase changed.
            (_, SearchResponse::Statistics { .. } | SearchResponse::Hits { .. }) => {}
        }
    }

    /// The first word about a peer stands.
    fn done(&mut self, peer: NodeId, state: PeerState) {
        if let Some(progress) = self.progress.get_mut(&peer)
            && !matches!(progress, Progress::Done(_))
        {
            *progress = Progress::Done(state);
        }
    }

    fn go_on(&mut self, now: Timestamp, actions: &mut Vec<Action>) {
        let waits = |p: &Progress| matches!(p, Progress::Statistics);
        let is_counted = !self.progress.values().any(waits);
        if !self.is_second_phase && (is_counted || self.second_phase_at <= now) {
            self.is_second_phase = true;
            self.ask_for_hits(now, actions);
        }
        let is_done = |p: &Progress| matches!(p, Progress::Done(_));
        if self.deadline <= now || self.progress.values().all(is_done) {
            self.finish(actions);
        }
    }

    fn ask_for_hits(&mut self, now: Timestamp, actions: &mut Vec<Action>) {
        let left = u32::try_from(self.deadline.since(now).0).unwrap_or(DEADLINE_MS_MAX);
        let request = SearchRequest::Hits(HitsAsked {
            id: self.id,
            query: self.query.clone(),
            stats: self.stats.clone(),
            k: self.k,
            deadline_ms: left,
        });
        for (peer, progress) in &mut self.progress {
            match progress {
                Progress::Counted => {
                    *progress = Progress::Hits;
                    let request = request.clone();
                    actions.push(Action::Ask { peer: *peer, request });
                }
                // Its documents are not in the statistics, so it cannot be asked for hits any more.
                Progress::Statistics => *progress = Progress::Done(PeerState::TimedOut),
                Progress::Hits | Progress::Done(_) => {}
            }
        }
    }

    fn finish(&mut self, actions: &mut Vec<Action>) {
        self.is_finished = true;
        let state = |(peer, progress): (&NodeId, &Progress)| {
            let state = match progress {
                Progress::Done(state) => state.clone(),
                Progress::Statistics | Progress::Counted | Progress::Hits => PeerState::TimedOut,
            };
            (*peer, state)
        };
        actions.push(Action::Finish(Outcome {
            stats: self.stats.clone(),
            hits: std::mem::take(&mut self.hits),
            coverage: self.progress.iter().map(state).collect(),
        }));
    }
}

#[cfg(test)]
mod tests;
