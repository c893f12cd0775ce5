//! Delivery: who still owes an acknowledgement for which notice, and when to try again.
//!
//! Whoever imported evidence gave a receipt for it, so a notice has a finite list of holders. Each is an obligation,
//! closed by one thing only: an acknowledgement that the holder signed. A refusal, an error, a silence leaves it open and
//! visible, and it is tried again for as long as the holder exists. After the acknowledgement nothing is sent again,
//! also after a restart.

use std::collections::BTreeMap;

use cid::Cid;
use plumb_core::identity::{NodeId, Signed};
use plumb_core::measure::{Duration, Timestamp};
use plumb_core::notice::Acknowledgement;

use super::Random;
use super::backoff::{Backoff, Retry, has_passed};
use crate::wire::notice::NoticeResponse;

/// Most deliveries in flight to one holder. Notices are applied one after the other there anyway.
pub const DELIVERIES_PER_PEER_MAX: usize = 4;

/// Most obligations that are kept: a thousand notices with a thousand holders each.
pub const OBLIGATIONS_MAX: usize = 1 << 20;

/// When a delivery that nobody reports on counts as failed. Applying a notice may take a cascade.
pub const DELIVERY_TIMEOUT: Duration = Duration::seconds(60);

/// After a silence or an error. The holder is connected, and a notice should not wait for long.
const BACKOFF: Backoff = Backoff { first: Duration::seconds(2), longest: Duration::seconds(120) };

/// After a refusal. It is an answer; what changes it is a person, or an update, so it is not asked for every minute.
const REFUSED: Backoff = Backoff { first: Duration::seconds(300), longest: Duration::seconds(6 * 3600) };

/// How an obligation stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Nothing was heard yet.
    Open,
    /// It was delivered, and nothing that counts came back. It is owed all the same.
    Silent {
        /// Since when.
        since: Timestamp,
    },
    /// The holder said no. It is owed all the same.
    Refused {
        /// When.
        at: Timestamp,
        /// Why, in its words.
        reason: String,
    },
    /// The holder has applied it. This is the end.
    Acknowledged {
        /// When it was heard here.
        at: Timestamp,
    },
}

/// What happened.
#[derive(Clone, Debug)]
pub enum Event {
    /// A holder owes an acknowledgement. One that is known already is known.
    Obliged {
        /// For which notice.
        notice: Cid,
        /// Who.
        holder: NodeId,
    },
    /// A peer is admitted.
    PeerAdmitted {
        /// Who.
        peer: NodeId,
    },
    /// A peer is gone.
    PeerLost {
        /// Who.
        peer: NodeId,
    },
    /// A holder answered a delivery.
    Answered {
        /// Who.
        peer: NodeId,
        /// Which notice was delivered.
        notice: Cid,
        /// The answer.
        response: NoticeResponse,
    },
    /// An acknowledgement came by another way.
    AcknowledgementReceived {
        /// The holder's word. Its signature was checked when it was read.
        acknowledgement: Signed<Acknowledgement>,
    },
    /// A delivery was sent and not answered, or the answer could not be decoded.
    DeliveryFailed {
        /// By whom.
        peer: NodeId,
        /// Which notice was delivered.
        notice: Cid,
    },
    /// A delivery did not leave this node: there was no connection, no room for a request, or something to send was not
    /// at hand. It is tried again later, and says nothing of the holder.
    NotSent {
        /// To whom it was to go.
        peer: NodeId,
        /// Which notice was to be delivered.
        notice: Cid,
    },
    /// Time passed. Once a second is enough.
    Tick,
}

/// What to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Send a notice, with its publisher's certificate. Report [`Event::Answered`],
    /// [`Event::DeliveryFailed`] or [`Event::NotSent`].
    DeliverNotice {
        /// To whom.
        peer: NodeId,
        /// Which.
        notice: Cid,
    },
    /// Store how an obligation stands.
    Record {
        /// Which notice.
        notice: Cid,
        /// Who owes.
        holder: NodeId,
        /// How it stands.
        standing: Standing,
        /// The holder's word, if this is the end.
        acknowledgement: Option<Signed<Acknowledgement>>,
    },
    /// There are [`OBLIGATIONS_MAX`] already. This one is not kept here: it stays in the store, for a person to see.
    Overflow {
        /// Which notice.
        notice: Cid,
        /// Who owes.
        holder: NodeId,
    },
}

/// An obligation that is not closed.
#[derive(Clone, Debug)]
struct Obligation {
    standing: Standing,
    n_failures: u32,
    retry: Retry,
    sent_at: Option<Timestamp>,
}

/// What one holder owes, and what it owed.
#[derive(Clone, Debug, Default)]
struct Holder {
    open: BTreeMap<Cid, Obligation>,
    /// When each was acknowledged. Apart from the others, so that what is over costs nothing with every tick.
    closed: BTreeMap<Cid, Timestamp>,
}

/// Keeps the obligations of this node's notices. One for the whole node.
#[derive(Clone, Debug)]
pub struct Delivery {
    /// By holder first, since deliveries follow the peers that are there.
    holders: BTreeMap<NodeId, Holder>,
    n_obligations: usize,
    /// Admitted peers, and how many deliveries are in flight to each.
    peers: BTreeMap<NodeId, usize>,
    random: Random,
}

impl Delivery {
    /// Takes up what is stored, closed obligations too: they are what keeps a notice from being sent again.
    pub fn restore(stored: impl IntoIterator<Item = (Cid, NodeId, Standing)>, seed: u64) -> Delivery {
        let mut delivery = Delivery {
            holders: BTreeMap::new(),
            n_obligations: 0,
            peers: BTreeMap::new(),
            random: Random::from_seed(seed),
        };
        for (notice, holder, standing) in stored {
            delivery.keep(notice, holder, standing);
        }
        delivery
    }

    /// How the obligations of a notice stand, by holder.
    pub fn standings(&self, notice: &Cid) -> BTreeMap<NodeId, Standing> {
        let of_holder = |(id, holder): (&NodeId, &Holder)| Some((*id, holder.standing(notice)?));
        self.holders.iter().filter_map(of_holder).collect()
    }

    /// How many obligations are not closed.
    pub fn n_open(&self) -> usize {
        self.holders.values().map(|holder| holder.open.len()).sum()
    }

    /// Takes one event. The actions are to be performed in order.
    pub fn handle(&mut self, now: Timestamp, event: Event) -> Vec<Action> {
        let mut actions = Vec::new();
        match event {
            Event::Obliged { notice, holder } => self.obliged(notice, holder, &mut actions),
            Event::PeerAdmitted { peer } => {
                self.peers.entry(peer).or_default();
                // A new connection is news: what waited for the next try is tried now.
                self.each_open(&peer, |obligation| {
                    if matches!(obligation.standing, Standing::Open | Standing::Silent { .. }) {
                        obligation.n_failures = 0;
                        obligation.retry = Retry::after(now, Duration(0));
                    }
                });
                self.send(now, &peer, &mut actions);
            }
            Event::PeerLost { peer } => {
                self.peers.remove(&peer);
                self.each_open(&peer, |obligation| obligation.sent_at = None);
            }
            Event::Answered { peer, notice, response } => self.answered(now, peer, notice, response, &mut actions),
            Event::AcknowledgementReceived { acknowledgement } => {
                self.acknowledged(now, acknowledgement, &mut actions);
            }
            // No other one is sent in its stead at once: what keeps this one here may keep them, too.
            Event::NotSent { peer, notice } => self.failed(now, peer, notice, BACKOFF),
            Event::DeliveryFailed { peer, notice } => self.silent(now, peer, notice, &mut actions),
            Event::Tick => self.tick(now, &mut actions),
        }
        actions
    }

    fn keep(&mut self, notice: Cid, holder: NodeId, standing: Standing) {
        let owed = self.holders.entry(holder).or_default();
        if owed.standing(&notice).is_none() {
            self.n_obligations += 1;
        }
        match standing {
            Standing::Acknowledged { at } => {
                owed.open.remove(&notice);
                owed.closed.insert(notice, at);
            }
            standing if !owed.closed.contains_key(&notice) => {
                let obligation = Obligation {
                    standing,
                    n_failures: 0,
                    retry: Retry::after(Timestamp(0), Duration(0)),
                    sent_at: None,
                };
                owed.open.insert(notice, obligation);
            }
            // Once closed, always closed.
            _ => {}
        }
    }

    fn obliged(&mut self, notice: Cid, holder: NodeId, actions: &mut Vec<Action>) {
        let known = self.holders.get(&holder).and_then(|owed| owed.standing(&notice));
        if known.is_some() {
            return;
        }
        if OBLIGATIONS_MAX <= self.n_obligations {
            actions.push(Action::Overflow { notice, holder });
            return;
        }
        self.keep(notice, holder, Standing::Open);
        actions.push(Action::Record { notice, holder, standing: Standing::Open, acknowledgement: None });
    }

    fn answered(
        &mut self,
        now: Timestamp,
        peer: NodeId,
        notice: Cid,
        response: NoticeResponse,
        actions: &mut Vec<Action>,
    ) {
        match response {
            NoticeResponse::Acknowledged(word) => {
                // The word of someone else, or for something else, closes what it closes, and not this.
                let is_it = word.value().notice == notice && *word.signer() == peer;
                if !is_it {
                    self.silent(now, peer, notice, actions);
                }
                self.acknowledged(now, word, actions);
            }
            NoticeResponse::Refused { reason } => {
                self.refused(now, peer, notice, reason, actions);
            }
            NoticeResponse::Busy { retry_after_ms } => {
                self.failed(now, peer, notice, BACKOFF);
                if let Some(obligation) = self.open(&peer, &notice) {
                    let asked = Retry::after(now, Duration(retry_after_ms));
                    obligation.retry = obligation.retry.or_later(asked);
                }
            }
            NoticeResponse::Accepted | NoticeResponse::Unknown(_) => {
                self.silent(now, peer, notice, actions);
            }
        }
    }

    /// A holder's word. It counts if the holder signed it for a notice that it owes; whoever brought it.
    fn acknowledged(&mut self, now: Timestamp, word: Signed<Acknowledgement>, actions: &mut Vec<Action>) {
        let (notice, holder) = (word.value().notice, word.value().by);
        if *word.signer() != holder {
            return;
        }
        self.land(&holder, &notice);
        if self.open(&holder, &notice).is_some() {
            let standing = Standing::Acknowledged { at: now };
            self.keep(notice, holder, standing.clone());
            actions.push(Action::Record { notice, holder, standing, acknowledgement: Some(word) });
        }
        self.send(now, &holder, actions);
    }

    fn refused(&mut self, now: Timestamp, holder: NodeId, notice: Cid, reason: String, actions: &mut Vec<Action>) {
        if let Some(obligation) = self.open(&holder, &notice) {
            obligation.standing = Standing::Refused { at: now, reason };
            let standing = obligation.standing.clone();
            actions.push(Action::Record { notice, holder, standing, acknowledgement: None });
        }
        self.failed(now, holder, notice, REFUSED);
    }

    /// Nothing that counts came back. The first time is written down: it is since when the holder is silent.
    fn silent(&mut self, now: Timestamp, holder: NodeId, notice: Cid, actions: &mut Vec<Action>) {
        if let Some(obligation) = self.open(&holder, &notice)
            && obligation.standing == Standing::Open
        {
            let standing = Standing::Silent { since: now };
            obligation.standing = standing.clone();
            actions.push(Action::Record { notice, holder, standing, acknowledgement: None });
        }
        self.failed(now, holder, notice, BACKOFF);
    }

    fn failed(&mut self, now: Timestamp, holder: NodeId, notice: Cid, backoff: Backoff) {
        self.land(&holder, &notice);
        let mut random = self.random.child();
        if let Some(obligation) = self.open(&holder, &notice) {
            obligation.n_failures = obligation.n_failures.saturating_add(1);
            obligation.retry = Retry::after(now, backoff.after(obligation.n_failures, &mut random));
        }
    }

    fn tick(&mut self, now: Timestamp, actions: &mut Vec<Action>) {
        let peers: Vec<NodeId> = self.peers.keys().copied().collect();
        for peer in peers {
            let owed = self.holders.get(&peer).into_iter().flat_map(|holder| &holder.open);
            let late: Vec<Cid> = owed
                .filter(|(_, o)| o.sent_at.is_some_and(|at| has_passed(at, DELIVERY_TIMEOUT, now)))
                .map(|(notice, _)| *notice)
                .collect();
            for notice in late {
                self.silent(now, peer, notice, actions);
            }
            self.send(now, &peer, actions);
        }
    }

    /// Sends what is due to a holder, as far as there is room in flight.
    fn send(&mut self, now: Timestamp, peer: &NodeId, actions: &mut Vec<Action>) {
        let Some(n_in_flight) = self.peers.get_mut(peer) else {
            return;
        };
        let owed = self.holders.get_mut(peer).into_iter().flat_map(|holder| &mut holder.open);
        for (notice, obligation) in owed {
            if DELIVERIES_PER_PEER_MAX <= *n_in_flight {
                break;
            }
            let is_free = obligation.sent_at.is_none();
            if is_free && obligation.retry.is_due(now) {
                obligation.sent_at = Some(now);
                *n_in_flight += 1;
                actions.push(Action::DeliverNotice { peer: *peer, notice: *notice });
            }
        }
    }

    /// Takes a delivery out of flight.
    fn land(&mut self, holder: &NodeId, notice: &Cid) {
        let was_sent = self.open(holder, notice).and_then(|o| o.sent_at.take()).is_some();
        if let Some(n_in_flight) = self.peers.get_mut(holder).filter(|_| was_sent) {
            *n_in_flight = n_in_flight.saturating_sub(1);
        }
    }

    fn open(&mut self, holder: &NodeId, notice: &Cid) -> Option<&mut Obligation> {
        self.holders.get_mut(holder)?.open.get_mut(notice)
    }

    fn each_open(&mut self, holder: &NodeId, change: impl FnMut(&mut Obligation)) {
        let owed = self.holders.get_mut(holder).into_iter();
        owed.flat_map(|holder| holder.open.values_mut()).for_each(change);
    }
}

impl Holder {
    fn standing(&self, notice: &Cid) -> Option<Standing> {
        let closed = self.closed.get(notice).map(|at| Standing::Acknowledged { at: *at });
        closed.or_else(|| Some(self.open.get(notice)?.standing.clone()))
    }
}

#[cfg(test)]
mod tests;
