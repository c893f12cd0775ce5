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
//!
//! A peer that denies the first question may still answer the second: it withholds its statistics. What it gives keeps
//! its own order, is scored again here, and is fused by rank. A peer that takes longer than it usually does is asked a
//! second time, once in each phase, and whichever answer comes first counts. The other copy of the question may come to
//! nothing, as long as one is under way or has been answered: a hedge never takes away what it was to speed up.

mod asked;

use std::collections::BTreeMap;

use plumb_core::identity::NodeId;
use plumb_core::measure::{Duration, Timestamp};
use plumb_core::retrieval::{Query, TermStats};

use super::Patience;
use super::backoff::Retry;
use crate::wire::WireError;
use crate::wire::search::{
    DEADLINE_MS_MAX, HITS_MAX, Hit, HitsAsked, SearchRequest, SearchResponse, StatisticsAsked, check_hits, rescore,
};
use asked::{Asked, Progress};

/// Most peers that one question goes to. What is asked of more is not asked.
pub const PEERS_MAX: usize = 64;

/// Which of the two questions a request is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// For statistics.
    Statistics,
    /// For hits.
    Hits,
}

/// What happened.
#[derive(Clone, Debug)]
pub enum Event {
    /// A peer answered.
    Answered {
        /// Who.
        peer: NodeId,
        /// Which question, as [`Action::Ask`] said.
        phase: Phase,
        /// What, or why it could not be read.
        response: Result<SearchResponse, WireError>,
    },
    /// A peer could not be reached, or the exchange with it broke off.
    Unreachable {
        /// Who.
        peer: NodeId,
        /// Which question it was asked, as [`Action::Ask`] said.
        phase: Phase,
    },
    /// Time passed. Ask for it at [`FederatedSearch::wake_at`].
    Tick,
}

/// What to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Ask a peer. Report [`Event::Answered`] or [`Event::Unreachable`], once for each time that it is asked.
    Ask {
        /// Whom.
        peer: NodeId,
        /// Which question it is. What comes of it is reported with it.
        phase: Phase,
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
    /// Its hits are in the result, and its statistics are not.
    FusedByRank {
        /// Why it withholds them, in its words.
        reason: String,
    },
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
    /// It answered what cannot be. Nothing of it is in the result.
    Invalid {
        /// What is wrong with it.
        reason: String,
        /// So many hits of it were dropped.
        n_dropped: usize,
    },
}

/// What the peers gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The sum of the statistics, our own among them: rank our own documents under it.
    pub stats: TermStats,
    /// The hits of each peer that answered. The scores are checked.
    pub hits: BTreeMap<NodeId, Vec<Hit>>,
    /// The hits of each peer that withheld its statistics, in its order. The scores are ours.
    pub by_rank: BTreeMap<NodeId, Vec<Hit>>,
    /// What became of each peer that was asked.
    pub coverage: BTreeMap<NodeId, PeerState>,
}

/// One question on its way.
#[derive(Clone, Debug)]
pub struct FederatedSearch {
    id: u64,
    query: Query,
    k: u32,
    stats: TermStats,
    second_phase: Retry,
    deadline: Retry,
    is_second_phase: bool,
    is_finished: bool,
    /// What everybody is asked in the phase that is on.
    request: SearchRequest,
    peers: BTreeMap<NodeId, Asked>,
    hits: BTreeMap<NodeId, Vec<Hit>>,
    by_rank: BTreeMap<NodeId, Vec<Hit>>,
}

impl FederatedSearch {
    /// Begins: the first actions ask for statistics. `own` are those of what the asker may read here, for the terms of
    /// `query`, and of what is known of nodes that are not asked; `k` is how many hits each peer is asked for.
    pub fn start(
        id: u64,
        query: Query,
        own: TermStats,
        k: u32,
        peers: impl IntoIterator<Item = (NodeId, Patience)>,
        now: Timestamp,
        deadline_ms: u32,
    ) -> Result<(FederatedSearch, Vec<Action>), WireError> {
        let asked = StatisticsAsked::new(id, &query.text, deadline_ms)?;
        own.check(query.terms.len()).map_err(|e| WireError::Statistics(e.to_string()))?;
        let wait = u64::from(deadline_ms.min(DEADLINE_MS_MAX));
        let request = SearchRequest::Statistics(asked);
        let peers = peers.into_iter().map(|(peer, patience)| (peer, Asked::new(patience, now)));
        let mut search = FederatedSearch {
            id,
            query,
            k: k.min(HITS_MAX),
            stats: own,
            second_phase: Retry::after(now, Duration(wait / 2)),
            deadline: Retry::after(now, Duration(wait)),
            is_second_phase: false,
            is_finished: false,
            request,
            peers: peers.take(PEERS_MAX).collect(),
            hits: BTreeMap::new(),
            by_rank: BTreeMap::new(),
        };
        let mut actions: Vec<Action> = search.peers.keys().map(|peer| search.asking(*peer)).collect();
        search.go_on(now, &mut actions);
        Ok((search, actions))
    }

    fn phase(&self) -> Phase {
        if self.is_second_phase { Phase::Hits } else { Phase::Statistics }
    }

    /// The question of the phase that is on.
    fn asking(&self, peer: NodeId) -> Action {
        Action::Ask { peer, phase: self.phase(), request: self.request.clone() }
    }

    /// When the next [`Event::Tick`] is needed; none once it is finished.
    pub fn wake_at(&self) -> Option<Timestamp> {
        if self.is_finished {
            return None;
        }
        let end = if self.is_second_phase { self.deadline } else { self.second_phase };
        self.peers.values().filter_map(Asked::wake_at).chain([end.at()]).min()
    }

    /// Takes one event.
    pub fn handle(&mut self, now: Timestamp, event: Event) -> Vec<Action> {
        let mut actions = Vec::new();
        if self.is_finished {
            return actions;
        }
        // What comes behind the deadline is late, also if the tick is later still.
        if !self.deadline.is_due(now) {
            match event {
                Event::Answered { peer, phase, response } => self.answered(peer, phase, response),
                Event::Unreachable { peer, phase } => {
                    if let Some(asked) = self.peers.get_mut(&peer)
                        && asked.came_back(phase)
                    {
                        asked.came_to_nothing(PeerState::Unreachable);
                    }
                }
                Event::Tick => {}
            }
        }
        self.go_on(now, &mut actions);
        actions
    }

    fn answered(&mut self, peer: NodeId, phase: Phase, response: Result<SearchResponse, WireError>) {
        let invalid = |error: &dyn std::error::Error, n_dropped: usize| PeerState::Invalid {
            reason: crate::wire::reason(&error.to_string()),
            n_dropped,
        };
        let Some(asked) = self.peers.get_mut(&peer) else { return };
        // Another copy has been answered, or the phase is over.
        if !asked.came_back(phase) {
            return;
        }
        let response = match response {
            Ok(response) => response,
            Err(error) => return asked.came_to_nothing(invalid(&error, 0)),
        };
        if let Some(found) = response.id().filter(|found| *found != self.id) {
            let expected = self.id;
            return asked.came_to_nothing(invalid(&WireError::Request { expected, found }, 0));
        }
        match (asked.progress.clone(), response) {
            (Progress::Statistics, SearchResponse::Statistics { stats, .. }) => match self.stats.merge(&stats) {
                Ok(()) => asked.progress = Progress::Counted,
                Err(error) => asked.done(invalid(&error, 0)),
            },
            // It is an answer, and the other copy of the question gets no better one.
            (Progress::Statistics, SearchResponse::Denied { reason, .. }) => {
                asked.progress = Progress::Withheld { reason };
            }
            (Progress::Hits { withheld }, SearchResponse::Hits { hits, .. }) => {
                let n = hits.len();
                let checked = match withheld {
                    None => check_hits(&hits, &self.query, &self.stats, self.k).map(|()| {
                        self.hits.insert(peer, hits);
                        PeerState::Answered
                    }),
                    Some(reason) => rescore(hits, &self.query, &self.stats, self.k).map(|hits| {
                        self.by_rank.insert(peer, hits);
                        PeerState::FusedByRank { reason }
                    }),
                };
                asked.done(checked.unwrap_or_else(|error| invalid(&error, n)));
            }
            (_, SearchResponse::Denied { reason, .. }) => asked.came_to_nothing(PeerState::Denied { reason }),
            (_, SearchResponse::Busy { retry_after_ms, .. }) => {
                asked.came_to_nothing(PeerState::Busy { retry_after_ms });
            }
            (_, SearchResponse::Unknown(unknown)) => {
                asked.came_to_nothing(invalid(&WireError::Kind(unknown.kind), 0));
            }
            (_, SearchResponse::Summary { .. }) => {
                asked.came_to_nothing(invalid(&WireError::Kind("summary".to_string()), 0));
            }
            // The answer to the other question.
            (_, SearchResponse::Statistics { .. }) => {
                asked.came_to_nothing(invalid(&WireError::Kind("statistics".to_string()), 0));
            }
            (_, SearchResponse::Hits { .. }) => {
                asked.came_to_nothing(invalid(&WireError::Kind("hits".to_string()), 0));
            }
        }
    }

    fn go_on(&mut self, now: Timestamp, actions: &mut Vec<Action>) {
        let phase = self.phase();
        for (peer, asked) in &mut self.peers {
            if asked.is_given_up(now) {
                asked.done(PeerState::TimedOut);
            } else if asked.hedge(now) {
                actions.push(Action::Ask { peer: *peer, phase, request: self.request.clone() });
            }
        }
        let is_counted = !self.peers.values().any(|asked| matches!(asked.progress, Progress::Statistics));
        if !self.is_second_phase && (is_counted || self.second_phase.is_due(now)) {
            self.is_second_phase = true;
            self.ask_for_hits(now, actions);
        }
        if self.deadline.is_due(now) || self.peers.values().all(Asked::is_done) {
            self.finish(actions);
        }
    }

    fn ask_for_hits(&mut self, now: Timestamp, actions: &mut Vec<Action>) {
        let left = u32::try_from(self.deadline.at().since(now).0).unwrap_or(DEADLINE_MS_MAX);
        self.request = SearchRequest::Hits(HitsAsked {
            id: self.id,
            query: self.query.clone(),
            stats: self.stats.clone(),
            k: self.k,
            deadline_ms: left,
            assertion: None,
        });
        for (peer, asked) in &mut self.peers {
            if asked.ask_for_hits(now) {
                actions.push(Action::Ask { peer: *peer, phase: Phase::Hits, request: self.request.clone() });
            }
        }
    }

    fn finish(&mut self, actions: &mut Vec<Action>) {
        self.is_finished = true;
        // Hedges of the moment in which it ends would be answered to nobody.
        actions.retain(|action| !matches!(action, Action::Ask { .. }));
        actions.push(Action::Finish(Outcome {
            stats: self.stats.clone(),
            hits: std::mem::take(&mut self.hits),
            by_rank: std::mem::take(&mut self.by_rank),
            coverage: self.peers.iter().map(|(peer, asked)| (*peer, asked.outcome())).collect(),
        }));
    }
}

#[cfg(test)]
mod tests;
