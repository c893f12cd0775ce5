//! What the bridge remembers of its peers from one question to the next, and across its own lives. None of it is kept on
//! the disk: a new process begins with an open mind.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use plumb_core::boundary::Requester;
use plumb_core::identity::{NodeId, Signed};
use plumb_core::measure::{Duration, Timestamp};
use plumb_core::retrieval::CollectionSummary;
use plumb_core::trust::{AssertionError, Certificate, Nonces, asserted_requester};
use plumb_federation::protocol::admission::PEERS_MAX;
use plumb_federation::protocol::search::PeerState;
use plumb_federation::protocol::{Breaker, Latencies, Patience, has_passed};
use plumb_federation::wire::search::SearchRequest;
use plumb_storage::Position;

/// What other nodes are told in a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SearchPolicy {
    /// Whether the summary of the public collection is given to whoever asks.
    pub publish_summary: bool,
    /// Whether peers get the statistics of what they may read. If not, their results and ours are fused by rank.
    pub share_statistics: bool,
    /// Whether a question to another node says which person asks.
    pub name_person: bool,
}

impl Default for SearchPolicy {
    fn default() -> SearchPolicy {
        SearchPolicy { publish_summary: false, share_statistics: true, name_person: false }
    }
}

/// This node's own summary, and the state of the store that it tells of.
#[derive(Clone)]
pub(super) struct OwnSummary {
    pub(super) signed: Signed<CollectionSummary>,
    pub(super) position: Position,
}

#[derive(Default)]
struct Remembered {
    nonces: Nonces,
    breakers: BTreeMap<NodeId, Breaker>,
    latencies: BTreeMap<NodeId, Latencies>,
    /// Each with when it was fetched.
    summaries: BTreeMap<NodeId, (Timestamp, Arc<CollectionSummary>)>,
    own: Option<OwnSummary>,
    /// What was written down of whom lately, and when.
    noted: BTreeMap<(NodeId, String), Timestamp>,
}

/// The memory.
pub(crate) struct Desk {
    /// What other nodes are told.
    pub(super) policy: SearchPolicy,
    remembered: Mutex<Remembered>,
}

impl Desk {
    /// Remembers nothing yet.
    pub fn new(policy: SearchPolicy) -> Desk {
        Desk { policy, remembered: Mutex::default() }
    }

    fn remembered(&self) -> MutexGuard<'_, Remembered> {
        // Each change below leaves the memory whole, so that of a thread that panicked is still good.
        self.remembered.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Who asks, by certificate and assertion. An assertion is used up by this.
    pub(super) fn requester(
        &self,
        certificate: &Certificate,
        request: &SearchRequest,
        me: &NodeId,
        now: Timestamp,
    ) -> Result<Requester, AssertionError> {
        let nonces = &mut self.remembered().nonces;
        asserted_requester(certificate, request.assertion(), me, request.id(), now, nonces)
    }

    /// Whether a peer may be asked, and how long it is waited for; otherwise until when it is left alone.
    pub(super) fn permit(&self, peer: &NodeId, now: Timestamp) -> Result<Patience, Timestamp> {
        let mut remembered = self.remembered();
        if let Some(breaker) = remembered.breakers.get_mut(peer)
            && !breaker.permit(now)
        {
            return Err(breaker.open_until().unwrap_or(now));
        }
        Ok(remembered.latencies.get(peer).map(Latencies::patience).unwrap_or_default())
    }

    /// Takes note of what became of a question to a peer.
    pub(super) fn note_outcome(&self, peer: &NodeId, state: &PeerState, now: Timestamp) {
        let mut remembered = self.remembered();
        match state {
            PeerState::Answered | PeerState::FusedByRank { .. } | PeerState::Denied { .. } | PeerState::Busy { .. } => {
                remembered.breakers.remove(peer);
            }
            PeerState::TimedOut | PeerState::Unreachable | PeerState::Invalid { .. } => {
                if remembered.breakers.len() < PEERS_MAX || remembered.breakers.contains_key(peer) {
                    remembered.breakers.entry(*peer).or_default().failed(now);
                }
            }
        }
    }

    /// Takes note of how long an answer took.
    pub(super) fn note_latency(&self, peer: &NodeId, took: Duration) {
        let mut remembered = self.remembered();
        if remembered.latencies.len() < PEERS_MAX || remembered.latencies.contains_key(peer) {
            remembered.latencies.entry(*peer).or_default().note(took);
        }
    }

    /// Keeps a peer's summary, unless a later one is here already.
    pub(super) fn keep_summary(&self, summary: CollectionSummary, now: Timestamp) {
        let mut remembered = self.remembered();
        let publisher = summary.publisher;
        let is_new = remembered.summaries.get(&publisher).is_none_or(|(_, held)| held.issued_at <= summary.issued_at);
        let has_room = remembered.summaries.len() < SUMMARIES_MAX || remembered.summaries.contains_key(&publisher);
        if is_new && has_room {
            remembered.summaries.insert(publisher, (now, Arc::new(summary)));
        }
    }

    /// Whether something that a peer does is to be written down: the first time, and then once a minute. What is written
    /// down stays for ever, and a peer may ask hundreds of times a second.
    pub(super) fn is_to_be_noted(&self, peer: &NodeId, what: &str, now: Timestamp) -> bool {
        let noted = &mut self.remembered().noted;
        let key = (*peer, what.to_string());
        if noted.get(&key).is_some_and(|at| !has_passed(*at, NOTED_EVERY, now)) {
            return false;
        }
        if noted.len() >= NOTED_MAX {
            noted.retain(|_, at| !has_passed(*at, NOTED_EVERY, now));
        }
        let has_room = noted.len() < NOTED_MAX;
        if has_room {
            noted.insert(key, now);
        }
        has_room
    }

    /// A peer's summary, if there is one of now.
    pub(super) fn summary(&self, peer: &NodeId, now: Timestamp) -> Option<Arc<CollectionSummary>> {
        let remembered = self.remembered();
        let (_, summary) = remembered.summaries.get(peer)?;
        summary.check(now).ok().map(|()| summary.clone())
    }

    /// When a peer's summary was last fetched.
    pub(super) fn summary_fetched_at(&self, peer: &NodeId) -> Option<Timestamp> {
        self.remembered().summaries.get(peer).map(|(at, _)| *at)
    }

    /// Forgets what is of a peer that is gone: its summary is fetched anew when it comes back.
    pub(super) fn forget_summary(&self, peer: &NodeId) {
        self.remembered().summaries.remove(peer);
    }

    pub(super) fn own_summary(&self) -> Option<OwnSummary> {
        self.remembered().own.clone()
    }

    pub(super) fn set_own_summary(&self, own: OwnSummary) {
        self.remembered().own = Some(own);
    }
}

/// How often the same is written down of one peer.
const NOTED_EVERY: Duration = Duration::seconds(60);

/// Most that is remembered of what was written down. Past it nothing more is, for a minute.
const NOTED_MAX: usize = 8192;

/// Summaries of others that are held. One of the largest takes about a megabyte here, and a question goes to 64 nodes at most, but
/// those have to be chosen among all.
const SUMMARIES_MAX: usize = 256;
