//! Whom to ask for what, and when again.

use plumb_core::identity::NodeId;
use plumb_core::measure::{Duration, Timestamp};

use super::judge::{Came, penalise};
use super::publisher::{Asked, Offer};
use super::{Action, Event, Fault, HEADS_EVERY, LogSync, REQUEST_TIMEOUT, REQUESTS_PER_PEER_MAX, UNPINNED_FOR};
use crate::protocol::backoff::{Backoff, Retry, has_passed, is_due};
use crate::wire::log::{LogRequest, LogResponse, PAGE_ENTRIES_MAX};

/// After a failure of a peer to give what it offers of one log.
const BACKOFF: Backoff = Backoff { first: Duration::seconds(2), longest: Duration::seconds(120) };

/// How long one peer is waited for while another offers the same.
const PATIENCE: Duration = Duration::seconds(5);

/// Which logs may be asked for after an event that could not be asked for before it. Whoever makes up publishers does
/// not make each piece of news cost the more.
pub(super) enum Concern {
    /// Any: time passed, a peer came, or there is room for a request again.
    All,
    /// At most these.
    Few(Vec<NodeId>),
}

impl Concern {
    pub(super) fn of(event: &Event) -> Concern {
        match event {
            Event::GossipReceived { gossip, .. } => Concern::Few(vec![gossip.publisher]),
            Event::HeadsReceived { heads, .. } => Concern::Few(heads.heads.iter().map(|h| h.publisher).collect()),
            Event::Stored { publisher, .. } => Concern::Few(vec![*publisher]),
            Event::Published { .. } | Event::Cosigned { .. } => Concern::Few(Vec::new()),
            Event::PeerAdmitted { .. }
            | Event::PeerLost { .. }
            | Event::EntriesReceived { .. }
            | Event::RequestFailed { .. }
            | Event::StoreFailed { .. }
            | Event::RootsChanged { .. }
            | Event::Tick => Concern::All,
        }
    }
}

impl LogSync {
    /// Sends what requests can be sent: for each wanted log one, to one of the peers that offer more and are not to be
    /// spared at present.
    pub(super) fn ask(&mut self, now: Timestamp, concern: Concern, actions: &mut Vec<Action>) {
        let mut wanted: Vec<NodeId> = match concern {
            Concern::All => self.wanted.iter().copied().collect(),
            Concern::Few(few) => few.into_iter().filter(|publisher| self.wanted.contains(publisher)).collect(),
        };
        if wanted.is_empty() {
            return;
        }
        // Each time another log comes first, so none is always behind the others in the queue for a peer.
        self.rotate(&mut wanted);
        for publisher in wanted {
            let Some(log) = self.logs.get_mut(&publisher) else {
                continue;
            };
            if log.asked.is_some() || log.pending.is_some() || log.fork.is_some() {
                continue;
            }
            let is_free = |peer| {
                let known = self.peers.get(peer);
                known.is_some_and(|p: &super::Peer| p.n_in_flight < REQUESTS_PER_PEER_MAX)
            };
            let size = log.range.size();
            let able: Vec<NodeId> = log
                .offers
                .iter()
                .filter(|(peer, offer)| size < offer.size && offer.retry.is_due(now) && is_free(peer))
                .map(|(peer, _)| *peer)
                .collect();
            let Some(peer) = self.random.pick(&able).copied() else {
                continue;
            };
            let from = size;
            log.asked = Some(Asked { peer, from, at: now });
            if let Some(known) = self.peers.get_mut(&peer) {
                known.n_in_flight += 1;
            }
            let limit = u32::try_from(PAGE_ENTRIES_MAX).unwrap_or(u32::MAX);
            actions.push(Action::RequestEntries {
                peer,
                publisher,
                request: LogRequest::Entries { publisher, from, limit },
            });
        }
    }

    /// An answer to a request for entries.
    pub(super) fn answered(
        &mut self,
        now: Timestamp,
        peer: NodeId,
        publisher: NodeId,
        response: LogResponse,
    ) -> Vec<Action> {
        let mut actions = Vec::new();
        if !self.peers.contains_key(&peer) {
            return actions;
        }
        let outcome = match response {
            LogResponse::Page(page) if page.publisher == publisher => {
                // A page that comes late or twice is not the answer to what is in flight now. It proves itself all the
                // same: it is taken up if it fits, and a false one is false at any time.
                let log = self.logs.get(&publisher);
                let asked = log.and_then(|log| log.asked.as_ref());
                let is_answer = asked.is_some_and(|a| a.peer == peer && a.from == page.from);
                if is_answer {
                    self.release(&peer, &publisher);
                    if page.entries.is_empty() {
                        self.forget_hint(&peer, &publisher);
                    }
                }
                match self.page_received(now, peer, page, &mut actions) {
                    Ok(Came::Nothing) if !is_answer => return actions,
                    outcome => outcome,
                }
            }
            LogResponse::Busy { retry_after_ms } => {
                self.release(&peer, &publisher);
                self.postpone(now, &peer, &publisher, Duration(retry_after_ms));
                return actions;
            }
            LogResponse::Missing { .. } | LogResponse::Unknown(_) => {
                self.release(&peer, &publisher);
                self.forget_hint(&peer, &publisher);
                Ok(Came::Nothing)
            }
            LogResponse::Page(_)
            | LogResponse::Heads(_)
            | LogResponse::Cosigned(_)
            | LogResponse::Conflict(_)
            | LogResponse::Refused { .. } => {
                self.release(&peer, &publisher);
                Err(Fault::Answer)
            }
        };
        match outcome {
            Ok(Came::Entries) => self.succeeded(&peer, &publisher),
            Ok(Came::Nothing) => self.failed(now, &peer, &publisher),
            Ok(Came::Foreign) => self.is_foreign(now, &peer, &publisher),
            Err(fault) => {
                penalise(&mut actions, peer, fault);
                self.failed(now, &peer, &publisher);
            }
        }
        actions
    }

    /// A request for entries that nobody answered. A report on one that is not in flight any more says nothing new.
    pub(super) fn request_failed(&mut self, now: Timestamp, peer: &NodeId, publisher: &NodeId) {
        if self.release(peer, publisher).is_some() {
            self.failed(now, peer, publisher);
        }
    }

    /// The disk did not take what a peer gave. Whoever gave it is not to blame; the next try comes later all the same.
    pub(super) fn store_failed(&mut self, now: Timestamp, publisher: &NodeId) {
        let Some(log) = self.logs.get_mut(publisher) else {
            return;
        };
        log.pending = None;
        let wait = BACKOFF.after(1, &mut self.random);
        for offer in log.offers.values_mut() {
            offer.retry = offer.retry.or_later(Retry::after(now, wait));
        }
    }

    pub(super) fn peer_lost(&mut self, peer: &NodeId) {
        self.peers.remove(peer);
        for (publisher, log) in &mut self.logs {
            log.offers.remove(peer);
            log.asked.take_if(|asked| asked.peer == *peer);
            if log.offers.is_empty() {
                self.wanted.remove(publisher);
            }
        }
        // Whoever it introduced and nobody vouched for is forgotten with it, unless another peer is being asked for it:
        // that one's place in flight is freed by what it answers.
        self.logs.retain(|_, log| {
            let is_its_own = log.introduced_by == Some(*peer);
            !is_its_own || !log.offers.is_empty() || log.asked.is_some() || log.pending.is_some()
        });
        for log in self.logs.values_mut() {
            if log.introduced_by == Some(*peer) {
                let asked = log.asked.as_ref().map(|asked| asked.peer);
                log.introduced_by = log.offers.keys().next().copied().or(asked);
            }
        }
    }

    /// Lets go of requests that nobody reports on, and exchanges heads from time to time.
    pub(super) fn tick(&mut self, now: Timestamp) -> Vec<Action> {
        let late: Vec<(NodeId, NodeId)> = self
            .logs
            .iter()
            .filter_map(|(id, log)| {
                let asked = log.asked.as_ref()?;
                // Where somebody else can be asked, patience is short: a late answer is taken up all the same.
                let can_ask = |(peer, offer): (&NodeId, &Offer)| *peer != asked.peer && offer.retry.is_due(now);
                let patience = if log.offers.iter().any(can_ask) { PATIENCE } else { REQUEST_TIMEOUT };
                has_passed(asked.at, patience, now).then_some((asked.peer, *id))
            })
            .collect();
        for (peer, publisher) in late {
            self.request_failed(now, &peer, &publisher);
        }
        self.logs.retain(|_, log| {
            let over = log.ignored_until.is_some_and(|until| is_due(until, UNPINNED_FOR, now));
            if over {
                log.ignored_until = None;
            }
            let is_unheard_of = log.forget_foreign_offers(now);
            // A candidate whose time is over is heard of anew.
            !(over || is_unheard_of) || log.certificate.is_some() || log.asked.is_some() || log.pending.is_some()
        });
        let logs = &self.logs;
        self.wanted.retain(|publisher| logs.get(publisher).is_some_and(|log| !log.offers.is_empty()));
        self.exchange_heads(now)
    }

    fn exchange_heads(&mut self, now: Timestamp) -> Vec<Action> {
        let longest = Duration(HEADS_EVERY.0 * 2);
        if !is_due(self.next_heads_at, longest, now) {
            return Vec::new();
        }
        let jitter = self.random.below(HEADS_EVERY.0 / 2);
        self.next_heads_at = now.plus(Duration(HEADS_EVERY.0 * 3 / 4 + jitter));
        let peers: Vec<NodeId> = self.peers.keys().copied().collect();
        match self.random.pick(&peers).copied() {
            Some(peer) => {
                let request = self.exchange(&peer);
                vec![Action::SendHeads { peer, request }]
            }
            None => Vec::new(),
        }
    }

    /// Takes a request out of flight.
    fn release(&mut self, peer: &NodeId, publisher: &NodeId) -> Option<Asked> {
        let log = self.logs.get_mut(publisher)?;
        let asked = log.asked.take_if(|asked| asked.peer == *peer)?;
        if let Some(known) = self.peers.get_mut(peer) {
            known.n_in_flight = known.n_in_flight.saturating_sub(1);
        }
        Some(asked)
    }

    /// Who only passed gossip on does not hold the log yet, and is no worse for it. When it does, it says so.
    fn forget_hint(&mut self, peer: &NodeId, publisher: &NodeId) {
        let Some(log) = self.logs.get_mut(publisher) else {
            return;
        };
        log.offers.retain(|of, offer| of != peer || !offer.is_hint);
        if log.offers.is_empty() {
            self.wanted.remove(publisher);
        }
    }

    fn succeeded(&mut self, peer: &NodeId, publisher: &NodeId) {
        let log = self.logs.get_mut(publisher);
        if let Some(offer) = log.and_then(|log| log.offers.get_mut(peer)) {
            offer.n_failures = 0;
            offer.is_foreign = false;
        }
    }

    fn failed(&mut self, now: Timestamp, peer: &NodeId, publisher: &NodeId) {
        let log = self.logs.get_mut(publisher);
        if let Some(offer) = log.and_then(|log| log.offers.get_mut(peer)) {
            offer.n_failures = offer.n_failures.saturating_add(1);
            offer.is_foreign = false;
            offer.retry = Retry::after(now, BACKOFF.after(offer.n_failures, &mut self.random));
        }
    }

    /// What a peer has of a log is under a root that is not pinned here. That is no fault of it, and nothing that it says of
    /// the publisher: others may have the same log under another root.
    fn is_foreign(&mut self, now: Timestamp, peer: &NodeId, publisher: &NodeId) {
        self.postpone(now, peer, publisher, UNPINNED_FOR);
        let log = self.logs.get_mut(publisher);
        if let Some(offer) = log.and_then(|log| log.offers.get_mut(peer)) {
            offer.is_foreign = true;
        }
    }

    fn postpone(&mut self, now: Timestamp, peer: &NodeId, publisher: &NodeId, wait: Duration) {
        let log = self.logs.get_mut(publisher);
        if let Some(offer) = log.and_then(|log| log.offers.get_mut(peer)) {
            offer.retry = Retry::after(now, wait);
        }
    }
}
