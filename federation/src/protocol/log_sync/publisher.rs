//! One publisher's log as it is held here, and what is judged about its heads.

use std::collections::BTreeMap;

use plumb_core::identity::{NodeId, Signed};
use plumb_core::log::{Checkpoint, CompactRange, Hash, SignedCheckpoint, empty_root};
use plumb_core::measure::{Duration, Timestamp};
use plumb_core::trust::Certificate;

use crate::protocol::backoff::Retry;
use crate::wire::log::{Face, Fork};
use crate::wire::log_state::LogState;

/// Most checkpoints of one log that are remembered to compare others with. Older ones say less: whoever still shows them
/// is behind.
const SEEN_MAX: usize = 64;

/// That a peer holds more of a log than we do.
#[derive(Clone, Debug)]
pub(super) struct Offer {
    /// How many entries it says it holds. The checkpoint behind it is signed, so it is no boast.
    pub(super) size: u64,
    /// How often it failed in a row to give what it offers.
    pub(super) n_failures: u32,
    /// Not to be asked before.
    pub(super) retry: Retry,
    /// It did not say so itself: it passed gossip on, which it may do without holding the log.
    pub(super) is_hint: bool,
    /// What it gave last came under a root that is not pinned here.
    pub(super) is_foreign: bool,
}

/// A request that is in flight.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    pub(super) peer: NodeId,
    pub(super) from: u64,
    pub(super) at: Timestamp,
}

/// One publisher's log. What stands in `range`, `checkpoint` and `proof` is on disk.
#[derive(Clone, Debug, Default)]
pub(super) struct Log {
    /// None as long as this is a candidate: some peer spoke of it.
    pub(super) certificate: Option<Signed<Certificate>>,
    /// The peer that first spoke of a candidate.
    pub(super) introduced_by: Option<NodeId>,
    /// Its key has contradicted itself, and nobody vouches for it; do not ask before.
    pub(super) ignored_until: Option<Timestamp>,
    /// As far as it is held.
    pub(super) range: CompactRange,
    /// The head under which it is held.
    pub(super) checkpoint: Option<SignedCheckpoint>,
    /// Consistency proof from the range to the checkpoint.
    pub(super) proof: Vec<Hash>,
    /// Heads whose signature was checked, by size.
    pub(super) seen: BTreeMap<u64, SignedCheckpoint>,
    /// What it becomes when the shell has stored it.
    pub(super) pending: Option<LogState>,
    /// Something of it came by request since others were last told.
    pub(super) is_news: bool,
    /// The proof that it has two histories.
    pub(super) fork: Option<Fork>,
    /// Who holds more.
    pub(super) offers: BTreeMap<NodeId, Offer>,
    /// The request in flight.
    pub(super) asked: Option<Asked>,
}

/// What a head is.
pub(super) enum Judged {
    /// It says nothing new.
    Known,
    /// It is signed, and goes beyond what is held.
    New,
    /// It is signed for a beginning that is held and cannot be compared any more.
    Old,
    /// Its publisher did not sign it.
    Forged,
    /// Its publisher signed it and something that contradicts it.
    Forked(Box<Fork>),
}

impl Log {
    /// The log as it was stored.
    pub(super) fn restored(state: LogState) -> Log {
        let seen = BTreeMap::from([(state.checkpoint.checkpoint().size, state.checkpoint.clone())]);
        Log {
            certificate: Some(state.certificate),
            range: state.range,
            checkpoint: Some(state.checkpoint),
            proof: state.proof,
            seen,
            ..Log::default()
        }
    }

    /// The log as it is to be stored. A log of which nothing is held has no state.
    pub(super) fn state(&self, publisher: NodeId) -> Option<LogState> {
        Some(LogState {
            publisher,
            range: self.range.clone(),
            checkpoint: self.checkpoint.clone()?,
            proof: self.proof.clone(),
            certificate: self.certificate.clone()?,
        })
    }

    /// The head to show others: only of a log that is held whole, since only that can be served, and not of one in
    /// quarantine, for which the proof is shown.
    pub(super) fn head(&self) -> Option<&SignedCheckpoint> {
        let checkpoint = self.checkpoint.as_ref()?;
        let is_whole = checkpoint.checkpoint().size == self.range.size();
        (is_whole && self.fork.is_none()).then_some(checkpoint)
    }

    /// Goes on to what was verified and stored.
    pub(super) fn take_up(
        &mut self,
        range: CompactRange,
        checkpoint: SignedCheckpoint,
        proof: Vec<Hash>,
        certificate: Signed<Certificate>,
    ) {
        self.remember(checkpoint.clone());
        self.range = range;
        self.checkpoint = Some(checkpoint);
        self.proof = proof;
        self.certificate = Some(certificate);
        self.introduced_by = None;
    }

    fn remember(&mut self, checkpoint: SignedCheckpoint) {
        self.seen.insert(checkpoint.checkpoint().size, checkpoint);
        while self.seen.len() > SEEN_MAX {
            self.seen.pop_first();
        }
    }

    /// What we know of the log at a size: a root, and who signed for it.
    fn face_at(&self, size: u64) -> Option<Face> {
        if let Some(checkpoint) = self.checkpoint.as_ref().filter(|_| size == self.range.size()) {
            return Some(Face { checkpoint: checkpoint.clone(), root: self.range.root(), proof: self.proof.clone() });
        }
        self.seen.get(&size).cloned().map(Face::whole)
    }

    /// Compares a head with what is known, and remembers it if it is new. The signature is checked only where something
    /// depends on it, so a peer that repeats what all say costs nothing.
    pub(super) fn judge(&mut self, publisher: NodeId, head: &SignedCheckpoint) -> Judged {
        let (size, root) = (head.checkpoint().size, head.checkpoint().root);
        if size == 0 {
            return if root == empty_root() { Judged::Known } else { Judged::Forged };
        }
        match self.face_at(size) {
            Some(face) if face.root == root => Judged::Known,
            None if size < self.range.size() => Judged::Old,
            _ if head.verify(&publisher).is_err() => Judged::Forged,
            Some(face) => Judged::Forked(Box::new(Fork { publisher, size, a: face, b: Face::whole(head.clone()) })),
            None => {
                self.remember(head.clone());
                Judged::New
            }
        }
    }

    /// Whether the publisher signed a checkpoint that is about to be kept. A head that repeats a known root is believed
    /// without looking at its signature; what is kept and passed on is not.
    pub(super) fn is_signed(&self, publisher: &NodeId, checkpoint: &SignedCheckpoint) -> bool {
        let seen = self.seen.get(&checkpoint.checkpoint().size);
        seen == Some(checkpoint) || checkpoint.verify(publisher).is_ok()
    }

    /// A peer says that it holds so much, or seems to.
    pub(super) fn offer(&mut self, peer: NodeId, size: u64, is_hint: bool, now: Timestamp) {
        let offer = self.offers.entry(peer).or_insert(Offer {
            size,
            n_failures: 0,
            retry: Retry::after(now, Duration(0)),
            is_hint,
            is_foreign: false,
        });
        offer.size = offer.size.max(size);
        offer.is_hint &= is_hint;
    }

    /// Other roots are pinned: what came under one that was not may be in order now.
    pub(super) fn look_again(&mut self, now: Timestamp) {
        for offer in self.offers.values_mut().filter(|offer| offer.is_foreign) {
            offer.is_foreign = false;
            offer.retry = Retry::after(now, Duration(0));
        }
    }

    /// Drops what was offered of a candidate under a root that is not pinned here, once its time is over: who offers it
    /// again is asked again. Whether nobody is left who offers it.
    pub(super) fn forget_foreign_offers(&mut self, now: Timestamp) -> bool {
        let n_offers = self.offers.len();
        if self.certificate.is_none() {
            self.offers.retain(|_, offer| !(offer.is_foreign && offer.retry.is_due(now)));
        }
        self.offers.len() < n_offers && self.offers.is_empty()
    }

    /// Drops offers of what is held by now.
    pub(super) fn forget_offers_within_reach(&mut self) {
        let size = self.range.size();
        self.offers.retain(|_, offer| size < offer.size);
    }

    /// Whether a head of our own can be shown: no head that goes as far or farther says otherwise.
    pub(super) fn knows_nothing_against(&self, head: &Checkpoint) -> bool {
        let later = self.seen.range(head.size..).map(|(_, seen)| seen.checkpoint());
        later.into_iter().all(|seen| seen == head)
    }

    /// Nothing is asked about it for a while.
    pub(super) fn ignore(&mut self, until: Timestamp) {
        self.ignored_until = Some(until);
        self.offers.clear();
    }

    /// Takes the same head with more signatures.
    pub(super) fn cosigned(&mut self, checkpoint: SignedCheckpoint) {
        if self.checkpoint.as_ref().is_some_and(|held| held.checkpoint() == checkpoint.checkpoint()) {
            self.checkpoint = Some(checkpoint);
        }
    }

    /// Goes on with the history that is held. What was heard of the other one is forgotten, or it would be held against
    /// the publisher again.
    pub(super) fn end_quarantine(&mut self) {
        self.fork = None;
        self.offers.clear();
        let held = self.checkpoint.clone();
        self.seen = held.map(|held| (held.checkpoint().size, held)).into_iter().collect();
    }

    /// Nothing more is taken up.
    pub(super) fn quarantine(&mut self, fork: Fork) {
        self.fork = Some(fork);
        self.offers.clear();
    }
}
