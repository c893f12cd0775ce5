//! What of that which peers send is true: heads, forks, pages and gossip.

use plumb_core::identity::{NodeId, Signed};
use plumb_core::log::{leaf_hash, verify_consistency};
use plumb_core::measure::Timestamp;
use plumb_core::trust::{Certificate, Roots, TrustError};

use super::{
    Action, CANDIDATES_PER_PEER_MAX, Fault, GossipVerdict, Judged, Log, LogSync, PUBLISHERS_MAX, UNPINNED_FOR, fork_id,
};
use crate::protocol::backoff::is_due;
use crate::wire::gossip::Gossip;
use crate::wire::log::{Face, Fork, Head, Page, public_origin};
use crate::wire::log_state::LogState;

/// What came of a head.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Heard {
    /// It is signed, and goes beyond what we knew.
    News,
    /// It says nothing new.
    Nothing,
    /// Nothing is taken up of that log, or there is no room for it.
    Closed,
    /// Its publisher did not sign it; the peer is penalised.
    Forged,
}

/// What came of a page.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Came {
    /// Entries that are to be stored.
    Entries,
    /// Nothing that we lack.
    Nothing,
    /// It is under a root that is not pinned here, and nothing of it was looked at.
    Foreign,
}

/// What a page says of its log.
enum Verdict {
    /// The log goes on with these entries.
    Next(LogState),
    /// It brings nothing that we lack.
    Nothing,
    /// Whoever sent it lies.
    Liar(Fault),
    /// The publisher lies.
    Forked(Fork),
}

/// Whether a certificate makes somebody a publisher here.
enum Vouched {
    Yes,
    /// Its root is not pinned here. No fault of whoever sent it: they may trust others than we do.
    NotHere,
    No,
}

fn vouches(roots: &Roots, publisher: &NodeId, certificate: &Signed<Certificate>, now: Timestamp) -> Vouched {
    match roots.admit(publisher, certificate, now) {
        // What a node logged before it was revoked stands, so its log is still followed; what it logs later is not applied.
        Ok(()) | Err(TrustError::InFuture(_) | TrustError::Expired(_) | TrustError::Revoked { .. }) => Vouched::Yes,
        Err(TrustError::UnknownRoot { .. } | TrustError::RetiredRoot { .. } | TrustError::DisputedRoot { .. }) => {
            Vouched::NotHere
        }
        Err(TrustError::NotSignedByRoot | TrustError::OtherNode { .. }) => Vouched::No,
    }
}

/// The one of two certificates that was issued later: under the root in office, with what the node may do now. Both are
/// in order, so a date in one of them is its organisation's word.
fn later(a: Option<Signed<Certificate>>, b: Signed<Certificate>) -> Signed<Certificate> {
    let issued = |c: &Signed<Certificate>| (c.value().not_before, c.value().not_after);
    match a {
        Some(a) if issued(&b) <= issued(&a) => a,
        _ => b,
    }
}

impl LogSync {
    /// Heads and forks of a peer.
    pub(super) fn heads_received(
        &mut self,
        now: Timestamp,
        peer: NodeId,
        heads: Vec<Head>,
        forks: Vec<Fork>,
    ) -> Vec<Action> {
        let mut actions = Vec::new();
        if !self.peers.contains_key(&peer) {
            return actions;
        }
        for fork in forks {
            self.fork_received(now, peer, fork, &mut actions);
        }
        for head in heads {
            self.head_received(now, peer, &head, false, &mut actions);
        }
        actions
    }

    /// One head; a hint if it came with gossip, whose bearer need not hold the log.
    pub(super) fn head_received(
        &mut self,
        now: Timestamp,
        peer: NodeId,
        head: &Head,
        is_hint: bool,
        actions: &mut Vec<Action>,
    ) -> Heard {
        let publisher = head.publisher;
        let is_public = public_origin(&publisher).as_ref() == Ok(&head.checkpoint.checkpoint().origin);
        if !is_public {
            penalise(actions, peer, Fault::Checkpoint);
            return Heard::Forged;
        }
        if !self.logs.contains_key(&publisher)
            && let Err(heard) = self.introduce(peer, head, actions)
        {
            return heard;
        }
        let Some(log) = self.logs.get_mut(&publisher) else {
            return Heard::Closed;
        };
        let (size, root) = (head.size(), head.checkpoint.checkpoint().root);
        if publisher == self.own && self.given_up.contains(&(size, root)) {
            return Heard::Closed;
        }
        let is_ignored = log.ignored_until.is_some_and(|until| !is_due(until, UNPINNED_FOR, now));
        if log.fork.is_some() || is_ignored {
            return Heard::Closed;
        }
        let heard = match log.judge(publisher, &head.checkpoint) {
            Judged::Forged => {
                penalise(actions, peer, Fault::Checkpoint);
                return Heard::Forged;
            }
            Judged::Forked(fork) => {
                self.convict(now, *fork, actions);
                return Heard::Closed;
            }
            Judged::New => Heard::News,
            Judged::Known | Judged::Old => Heard::Nothing,
        };
        if heard == Heard::News && publisher == self.own {
            let checkpoint = head.checkpoint.clone();
            actions.push(Action::OwnLogBehind { checkpoint });
        }
        if log.range.size() < head.size() && self.peers.contains_key(&peer) {
            log.offer(peer, head.size(), is_hint, now);
            self.wanted.insert(publisher);
        }
        heard
    }

    /// A publisher that we hear of for the first time, if the head is signed by it and there is room.
    fn introduce(&mut self, peer: NodeId, head: &Head, actions: &mut Vec<Action>) -> Result<(), Heard> {
        let by_peer = |log: &&Log| log.introduced_by == Some(peer);
        let n_introduced = self.logs.values().filter(by_peer).count();
        if PUBLISHERS_MAX <= self.logs.len() || CANDIDATES_PER_PEER_MAX <= n_introduced {
            return Err(Heard::Closed);
        }
        if head.checkpoint.verify(&head.publisher).is_err() {
            penalise(actions, peer, Fault::Checkpoint);
            return Err(Heard::Forged);
        }
        let candidate = Log { introduced_by: Some(peer), ..Log::default() };
        self.logs.insert(head.publisher, candidate);
        Ok(())
    }

    fn fork_received(&mut self, now: Timestamp, peer: NodeId, fork: Fork, actions: &mut Vec<Action>) {
        let is_open = |log: &Log| log.fork.is_none();
        let is_given_up = |face: &Face| {
            let head = face.checkpoint.checkpoint();
            fork.publisher == self.own && self.given_up.contains(&(head.size, head.root))
        };
        if self.decided.contains(&fork_id(&fork)) || is_given_up(&fork.a) || is_given_up(&fork.b) {
            return;
        }
        if !self.logs.get(&fork.publisher).is_some_and(is_open) {
            return;
        }
        // Heads of another log of the same key prove nothing about this one.
        let origin = public_origin(&fork.publisher);
        let is_public = origin.as_ref() == Ok(&fork.a.checkpoint.checkpoint().origin);
        if is_public && fork.check().is_ok() {
            self.convict(now, fork, actions);
        } else {
            penalise(actions, peer, Fault::Fork);
        }
    }

    /// Quarantines a publisher.
    fn convict(&mut self, now: Timestamp, fork: Fork, actions: &mut Vec<Action>) {
        let publisher = fork.publisher;
        self.wanted.remove(&publisher);
        let Some(log) = self.logs.get_mut(&publisher) else {
            return;
        };
        if log.certificate.is_some() {
            log.quarantine(fork.clone());
            actions.push(Action::Equivocation { proof: fork });
        } else {
            // Anybody can make up a key that contradicts itself. It is worth no record, only to be left alone.
            log.ignore(now.plus(UNPINNED_FOR));
        }
    }

    /// A page that was asked for, or that comes late.
    pub(super) fn page_received(
        &mut self,
        now: Timestamp,
        peer: NodeId,
        page: Page,
        actions: &mut Vec<Action>,
    ) -> Result<Came, Fault> {
        let publisher = page.publisher;
        match vouches(&self.roots, &publisher, &page.certificate, now) {
            Vouched::Yes => {}
            Vouched::NotHere => return Ok(Came::Foreign),
            Vouched::No => return Err(Fault::Certificate),
        }
        let head = Head { publisher, checkpoint: page.checkpoint.clone() };
        self.vouched(&publisher, &page.certificate);
        match self.head_received(now, peer, &head, false, actions) {
            Heard::News | Heard::Nothing => {}
            // What there is to say about a forged head is said.
            Heard::Closed | Heard::Forged => return Ok(Came::Nothing),
        }
        let Some(log) = self.logs.get_mut(&publisher) else {
            return Ok(Came::Nothing);
        };
        if !log.is_signed(&publisher, &page.checkpoint) {
            return Err(Fault::Checkpoint);
        }
        let (from, entries) = (page.from, page.entries.clone());
        match log.verdict(page) {
            Verdict::Next(state) => {
                log.pending = Some(state.clone());
                log.is_news = true;
                actions.push(Action::StoreEntries { peer, from, entries, state });
                Ok(Came::Entries)
            }
            Verdict::Nothing => Ok(Came::Nothing),
            Verdict::Liar(fault) => Err(fault),
            Verdict::Forked(fork) => {
                self.convict(now, fork, actions);
                Ok(Came::Nothing)
            }
        }
    }

    /// A candidate becomes a publisher.
    fn vouched(&mut self, publisher: &NodeId, certificate: &Signed<Certificate>) {
        let candidate = self.logs.get_mut(publisher).filter(|log| log.certificate.is_none());
        if let Some(log) = candidate {
            log.certificate = Some(certificate.clone());
            log.introduced_by = None;
        }
    }

    /// The newest entry of a log, perhaps before we hold what is in front of it.
    pub(super) fn gossip_received(&mut self, now: Timestamp, peer: NodeId, gossip: Gossip) -> Vec<Action> {
        let mut actions = Vec::new();
        let verdict = self.judge_gossip(now, peer, gossip, &mut actions);
        actions.insert(0, Action::JudgeGossip(verdict));
        actions
    }

    fn judge_gossip(
        &mut self,
        now: Timestamp,
        peer: NodeId,
        gossip: Gossip,
        actions: &mut Vec<Action>,
    ) -> GossipVerdict {
        let publisher = gossip.publisher;
        match vouches(&self.roots, &publisher, &gossip.certificate, now) {
            Vouched::Yes => {}
            Vouched::NotHere => return GossipVerdict::Ignore,
            Vouched::No => {
                penalise(actions, peer, Fault::Certificate);
                return GossipVerdict::Reject;
            }
        }
        let head = Head { publisher, checkpoint: gossip.checkpoint.clone() };
        self.vouched(&publisher, &gossip.certificate);
        let heard = self.head_received(now, peer, &head, true, actions);
        match heard {
            Heard::Forged => return GossipVerdict::Reject,
            Heard::Closed => return GossipVerdict::Ignore,
            Heard::News | Heard::Nothing => {}
        }
        let Some(log) = self.logs.get_mut(&publisher) else {
            return GossipVerdict::Ignore;
        };
        if !log.is_signed(&publisher, &gossip.checkpoint) {
            penalise(actions, peer, Fault::Checkpoint);
            return GossipVerdict::Reject;
        }
        if let Some(state) = log.next_by_gossip(&gossip) {
            log.pending = Some(state.clone());
            actions.push(Action::StoreEntries { peer, from: gossip.index, entries: vec![gossip.entry], state });
            return GossipVerdict::Accept;
        }
        // An entry beyond what we hold cannot be verified here. Its head can, and has to get around: passed on once, it
        // cannot be used to flood. An entry that should be the next one and is not is no news.
        if heard == Heard::News && log.range.size() < gossip.index {
            GossipVerdict::Accept
        } else {
            GossipVerdict::Ignore
        }
    }
}

impl Log {
    /// What a page of this log comes to. Its checkpoint is signed, and contradicts no head that we know.
    fn verdict(&self, page: Page) -> Verdict {
        if self.pending.is_some() || page.from != self.range.size() || page.entries.is_empty() {
            return Verdict::Nothing;
        }
        let head = page.checkpoint.checkpoint();
        if verify_consistency(page.from, &page.root, head.size, &head.root, &page.extends).is_err() {
            return Verdict::Liar(Fault::Entries);
        }
        if page.root != self.range.root() {
            // The checkpoint stands for another beginning than the one that we hold, and the page has just proved it.
            let Some(held) = self.checkpoint.clone() else {
                return Verdict::Liar(Fault::Entries);
            };
            return Verdict::Forked(Fork {
                publisher: page.publisher,
                size: page.from,
                a: Face { checkpoint: held, root: self.range.root(), proof: self.proof.clone() },
                b: Face { checkpoint: page.checkpoint, root: page.root, proof: page.extends },
            });
        }
        let mut range = self.range.clone();
        page.entries.iter().for_each(|entry| range.append(leaf_hash(entry)));
        let (size, root) = (range.size(), range.root());
        if verify_consistency(size, &root, head.size, &head.root, &page.rest).is_err() {
            return Verdict::Liar(Fault::Entries);
        }
        Verdict::Next(LogState {
            publisher: page.publisher,
            range,
            checkpoint: page.checkpoint,
            proof: page.rest,
            certificate: later(self.certificate.clone(), page.certificate),
        })
    }

    /// The log with a gossiped entry, if that is the next one. If it is not, nobody can be blamed: whoever passed it on
    /// need not hold the log.
    fn next_by_gossip(&self, gossip: &Gossip) -> Option<LogState> {
        if self.pending.is_some() || gossip.index != self.range.size() {
            return None;
        }
        let mut range = self.range.clone();
        range.append(leaf_hash(&gossip.entry));
        let head = gossip.checkpoint.checkpoint();
        let fits = (head.size, head.root) == (range.size(), range.root());
        fits.then(|| LogState {
            publisher: gossip.publisher,
            range,
            checkpoint: gossip.checkpoint.clone(),
            proof: Vec::new(),
            certificate: later(self.certificate.clone(), gossip.certificate.clone()),
        })
    }
}

/// Notes a fault once for each peer and event.
pub(super) fn penalise(actions: &mut Vec<Action>, peer: NodeId, fault: Fault) {
    let action = Action::PenalisePeer { peer, fault };
    if !actions.contains(&action) {
        actions.push(action);
    }
}
