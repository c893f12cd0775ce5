//! Log sync: following everybody's public log, from anybody who holds it.
//!
//! For each publisher the machine keeps the right edge of the log as far as it is held, the last checkpoint, and the
//! publisher's certificate. It learns from heads and gossip what there is, asks peers for what it lacks, verifies what
//! comes, and has it stored. What it lets through is the publisher's own log and nothing else:
//!
//! - the certificate is signed by a pinned root and is of this publisher;
//! - the checkpoint is of the publisher's public log ([`public_origin`]) and signed by it;
//! - the checkpoint continues what is held, and the entries are the next ones under it.
//!
//! If the last point fails, a page says who lied ([`Page`](crate::wire::log::Page)): the peer is penalised, or the
//! publisher is quarantined with a portable proof ([`Fork`]), which travels with the heads. Nothing more is taken up
//! from a log in quarantine, and what is held stays.
//!
//! **How it stays alive.** One request at a time for a publisher, few at a time to a peer; a peer that fails waits longer
//! each time for that publisher only, and another one is asked; while another one offers the same, a silent peer is
//! waited for only a few seconds. So a silent peer costs each publisher little, and a poisoned log costs the others
//! nothing. Whoever passes gossip on need not hold the log, and is not held to it. A certificate under a root that is not
//! pinned here proves nothing about the publisher, for anybody can make up a root: it postpones what this one peer offers
//! of this one log, and nothing else.
//!
//! **How news gets around.** By gossip, as it is published. What had to be asked for is told to a few peers at once, and
//! by them to a few. Every few seconds a summary of the heads is exchanged with one peer at random (anti-entropy), so
//! what all this loses arrives anyway, also from a publisher that is long gone; its size does not follow the number of
//! publishers.
//!
//! **Time.** Nothing in a log is ordered by a clock. A certificate whose time is over still vouches for the log here: a
//! retraction must spread when its publisher has left. Whom we talk to is another question ([`super::Admission`]).

mod exchange;
mod judge;
mod publisher;
mod schedule;
mod serve;

use std::collections::{BTreeMap, BTreeSet};

use plumb_core::identity::{NodeId, Signed};
use plumb_core::log::{Hash, SignedCheckpoint, leaf_hash};
use plumb_core::measure::{Duration, Timestamp};
use plumb_core::trust::{Certificate, Roots};

use super::Random;
use crate::wire::gossip::Gossip;
use crate::wire::log::{Fork, Head, Heads, LogRequest, LogResponse, public_origin};
use crate::wire::log_state::LogState;

pub use exchange::HEADS_NAMED_MAX;
use publisher::{Judged, Log};
pub use serve::{page, page_from};

/// Most logs that are followed. A federation has hundreds of nodes; past the bound new publishers are not taken up.
pub const PUBLISHERS_MAX: usize = 4096;

/// Most publishers that one peer can have us know of before we have seen their certificates.
pub const CANDIDATES_PER_PEER_MAX: usize = 256;

/// Most requests in flight to one peer, so that a slow one holds little of ours.
pub const REQUESTS_PER_PEER_MAX: usize = 4;

/// When a request that nobody reports on counts as failed.
pub const REQUEST_TIMEOUT: Duration = Duration::seconds(30);

/// How often heads are exchanged with a random peer, give or take a quarter.
pub const HEADS_EVERY: Duration = Duration::seconds(10);

/// How many random peers hear at once that our own log grew, beside the gossip, or that another's was brought up to date
/// by asking.
pub const PUSH_FANOUT: usize = 3;

/// How long a peer is not asked again for a log that it has under a root that is not pinned here; and how long a key
/// that has contradicted itself, and that nobody vouches for, is left alone.
pub const UNPINNED_FOR: Duration = Duration::seconds(3600);

/// What happened.
#[derive(Clone, Debug)]
pub enum Event {
    /// A peer is admitted.
    PeerAdmitted {
        /// Who.
        peer: NodeId,
        /// The logs that it holds.
        heads: Vec<Head>,
    },
    /// A peer is gone.
    PeerLost {
        /// Who.
        peer: NodeId,
    },
    /// A peer sent its heads, as a request or as the answer to one.
    HeadsReceived {
        /// Who.
        peer: NodeId,
        /// What it holds.
        heads: Heads,
    },
    /// A peer answered a request for entries.
    EntriesReceived {
        /// Who.
        peer: NodeId,
        /// Whose log was asked for.
        publisher: NodeId,
        /// The answer.
        response: LogResponse,
    },
    /// A request for entries was not answered, or the answer could not be decoded.
    RequestFailed {
        /// By whom.
        peer: NodeId,
        /// Whose log was asked for.
        publisher: NodeId,
    },
    /// Gossip arrived.
    GossipReceived {
        /// Who passed it on.
        peer: NodeId,
        /// What it says.
        gossip: Gossip,
    },
    /// Our own log grew. The entries are stored and the checkpoint is signed.
    Published {
        /// The new entries.
        entries: Vec<Vec<u8>>,
        /// The head with them.
        checkpoint: SignedCheckpoint,
    },
    /// Witnesses cosigned our own head: it is the same head, with more signatures.
    Cosigned {
        /// The head with them.
        checkpoint: SignedCheckpoint,
    },
    /// What [`Action::StoreEntries`] gave is on disk; also if it was there before.
    Stored {
        /// Whose log.
        publisher: NodeId,
        /// How many entries are held now.
        size: u64,
    },
    /// What [`Action::StoreEntries`] gave could not be stored.
    StoreFailed {
        /// Whose log.
        publisher: NodeId,
    },
    /// The operator pinned or removed a root.
    RootsChanged {
        /// All that are pinned now.
        roots: Roots,
    },
    /// Time passed. Once a second is enough.
    Tick,
}

/// What to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Ask a peer for entries. Report [`Event::EntriesReceived`] or [`Event::RequestFailed`].
    RequestEntries {
        /// Whom.
        peer: NodeId,
        /// Whose log.
        publisher: NodeId,
        /// The message.
        request: LogRequest,
    },
    /// Store entries and the state of their log in one transaction, and apply them. Report [`Event::Stored`] or
    /// [`Event::StoreFailed`]; until then nothing more is asked of this publisher.
    StoreEntries {
        /// Who gave them, in a page or in gossip. It need not be the publisher.
        peer: NodeId,
        /// Index of the first.
        from: u64,
        /// The entries, verified.
        entries: Vec<Vec<u8>>,
        /// Whose log it is and how far it is held with them.
        state: LogState,
    },
    /// Send heads to a peer. The answer is reported as [`Event::HeadsReceived`]; a failure is not reported.
    SendHeads {
        /// Whom.
        peer: NodeId,
        /// The message.
        request: LogRequest,
    },
    /// Publish on the topic.
    Gossip(Gossip),
    /// Tell the transport whether to pass on the gossip that the event brought. There is one for each.
    JudgeGossip(GossipVerdict),
    /// A publisher showed two histories. Store the proof, show it, and give it back at the next start.
    Equivocation {
        /// The proof.
        proof: Fork,
    },
    /// A peer sent what no honest peer sends.
    PenalisePeer {
        /// Who.
        peer: NodeId,
        /// What it did.
        fault: Fault,
    },
    /// Others hold more of our own log than we do: this node was set back to an older state. Publish nothing until
    /// [`LogSync::size`] has reached that of the checkpoint, or our log will show two histories.
    OwnLogBehind {
        /// The head that others hold, signed by us.
        checkpoint: SignedCheckpoint,
    },
    /// What was published does not continue our own log. Nothing was taken up; stop publishing and rebuild.
    OwnLogBroken {
        /// The head that does not fit.
        checkpoint: SignedCheckpoint,
    },
}

/// Whether gossip is passed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum GossipVerdict {
    /// It is: its entry is verified, or its head is news, which it is once.
    Accept,
    /// It is not, and nobody is to blame: we cannot verify it, or everybody knows it.
    Ignore,
    /// It is not, and whoever passed it on is to blame.
    Reject,
}

/// What a peer did that no honest peer does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub enum Fault {
    /// A checkpoint that its publisher did not sign, or of another log.
    #[error("it sent a checkpoint that its publisher did not sign for its public log")]
    Checkpoint,
    /// A certificate that no root signed, or of another node.
    #[error("it sent a certificate that is not one of the publisher")]
    Certificate,
    /// Proofs or entries that do not lead to the checkpoint.
    #[error("it sent entries that are not those of the log")]
    Entries,
    /// A fork that convicts nobody.
    #[error("it accused a publisher without proof")]
    Fork,
    /// An answer to something else than was asked.
    #[error("it answered something else than was asked")]
    Answer,
}

#[derive(Clone, Debug, Default)]
struct Peer {
    n_in_flight: usize,
    /// The summary that it has not answered yet.
    summarised: Option<exchange::Summarised>,
}

/// Which two histories a fork shows, whichever of them comes first.
type ForkId = (NodeId, u64, Hash, Hash);

fn fork_id(fork: &Fork) -> ForkId {
    let (a, b) = (fork.a.root, fork.b.root);
    (fork.publisher, fork.size, a.min(b), a.max(b))
}

/// Follows the logs. One for the whole node.
#[derive(Clone, Debug)]
pub struct LogSync {
    own: NodeId,
    roots: Roots,
    logs: BTreeMap<NodeId, Log>,
    /// Publishers of which some peer offers more than we hold.
    wanted: BTreeSet<NodeId>,
    /// Forks that an operator has decided on. They convict nobody a second time.
    decided: BTreeSet<ForkId>,
    /// Heads of our own log whose entries an operator has given up, by size and root.
    given_up: BTreeSet<(u64, Hash)>,
    peers: BTreeMap<NodeId, Peer>,
    next_heads_at: Timestamp,
    random: Random,
}

impl LogSync {
    /// Takes up what is stored: the state of each log, our own among them if it has entries, and the proofs against
    /// publishers in quarantine.
    pub fn new(
        certificate: Signed<Certificate>,
        roots: Roots,
        stored: impl IntoIterator<Item = LogState>,
        forks: impl IntoIterator<Item = Fork>,
        now: Timestamp,
        seed: u64,
    ) -> LogSync {
        let own = certificate.value().node;
        let mut logs: BTreeMap<NodeId, Log> =
            stored.into_iter().map(|state| (state.publisher, Log::restored(state))).collect();
        logs.entry(own).or_default().certificate = Some(certificate);
        for fork in forks {
            logs.entry(fork.publisher).or_default().quarantine(fork);
        }
        let mut random = Random::from_seed(seed);
        // Nodes that start together do not all exchange heads at the same moment.
        let next_heads_at = now.plus(Duration(random.below(HEADS_EVERY.0)));
        LogSync {
            own,
            roots,
            logs,
            wanted: BTreeSet::new(),
            decided: BTreeSet::new(),
            given_up: BTreeSet::new(),
            peers: BTreeMap::new(),
            next_heads_at,
            random,
        }
    }

    /// An operator has given up the entries that only this head of our own log speaks for: nobody has them any more. It is
    /// not waited for, and held against nobody here. Also to be told at each start.
    pub fn give_up(&mut self, checkpoint: &SignedCheckpoint) {
        let head = checkpoint.checkpoint();
        self.given_up.insert((head.size, head.root));
    }

    /// An operator has decided on this fork: it convicts nobody any more, and its publisher is in quarantine for it no
    /// longer. Its log is followed again from where it is held; should it not continue that, a new fork is proved.
    pub fn decide(&mut self, fork: &Fork) {
        self.pass_over(fork);
        let publisher = fork.publisher;
        if let Some(log) = self.logs.get_mut(&publisher) {
            log.end_quarantine();
        }
    }

    /// A fork that was decided on before this start.
    pub fn pass_over(&mut self, fork: &Fork) {
        self.decided.insert(fork_id(fork));
    }

    /// How many entries of a publisher's log are stored.
    pub fn size(&self, publisher: &NodeId) -> u64 {
        self.logs.get(publisher).map_or(0, |log| log.range.size())
    }

    /// How a publisher's log is held, to be stored with its entries. That of our own is to be stored where its entries
    /// and the signed checkpoint are, before [`Event::Published`].
    pub fn state(&self, publisher: &NodeId) -> Option<LogState> {
        self.logs.get(publisher)?.state(*publisher)
    }

    /// How many logs are known of, candidates among them. It is bounded: see [`PUBLISHERS_MAX`] and
    /// [`CANDIDATES_PER_PEER_MAX`].
    pub fn n_known(&self) -> usize {
        self.logs.len()
    }

    /// The publishers that are followed, without those of which no certificate was seen.
    pub fn publishers(&self) -> impl Iterator<Item = &NodeId> {
        let known = |(id, log): (_, &Log)| log.certificate.is_some().then_some(id);
        self.logs.iter().filter_map(known)
    }

    /// The proof against a publisher in quarantine.
    pub fn fork(&self, publisher: &NodeId) -> Option<&Fork> {
        self.logs.get(publisher)?.fork.as_ref()
    }

    /// All heads that we hold. With more logs than a message takes, each call gives another part of them.
    pub fn heads(&mut self) -> Heads {
        let mut heads = Heads::default();
        let shown = |(id, log): (&NodeId, &Log)| Some((*id, log.head()?.clone()));
        let mut all: Vec<(NodeId, SignedCheckpoint)> = self.logs.iter().filter_map(shown).collect();
        self.rotate(&mut all);
        for (publisher, checkpoint) in all {
            let head = Head { publisher, checkpoint };
            if !heads.push(head) {
                break;
            }
        }
        let mut forks: Vec<Fork> = self.logs.values().filter_map(|l| l.fork.clone()).collect();
        self.rotate(&mut forks);
        forks.truncate(crate::wire::log::FORKS_MAX);
        heads.forks = forks;
        heads
    }

    fn rotate<T>(&mut self, list: &mut [T]) {
        if !list.is_empty() {
            let by = self.random.below(list.len() as u64);
            list.rotate_left(usize::try_from(by).unwrap_or(0));
        }
    }

    /// Takes one event. The actions are to be performed in order.
    pub fn handle(&mut self, now: Timestamp, event: Event) -> Vec<Action> {
        let concern = schedule::Concern::of(&event);
        let mut actions = match event {
            Event::PeerAdmitted { peer, heads } => {
                self.peers.entry(peer).or_default();
                // It is here under a certificate that is in order, whatever was made of an older one of it.
                if let Some(log) = self.logs.get_mut(&peer) {
                    log.ignored_until = None;
                }
                // A hello that names as many logs as it may comes from a node that may hold more.
                let is_cut = HEADS_NAMED_MAX <= heads.len();
                let mut actions = self.heads_received(now, peer, heads, Vec::new());
                if is_cut {
                    let request = self.exchange(&peer);
                    actions.push(Action::SendHeads { peer, request });
                }
                actions
            }
            Event::PeerLost { peer } => {
                self.peer_lost(&peer);
                Vec::new()
            }
            Event::HeadsReceived { peer, heads } => {
                let mut returned = Vec::new();
                self.return_heads(peer, &heads.heads, &mut returned);
                let mut actions = self.heads_received(now, peer, heads.heads, heads.forks);
                actions.extend(returned);
                actions
            }
            Event::EntriesReceived { peer, publisher, response } => self.answered(now, peer, publisher, response),
            Event::RequestFailed { peer, publisher } => {
                self.request_failed(now, &peer, &publisher);
                Vec::new()
            }
            Event::GossipReceived { peer, gossip } => self.gossip_received(now, peer, gossip),
            Event::Published { entries, checkpoint } => self.published(entries, checkpoint),
            Event::Cosigned { checkpoint } => {
                let own = self.own;
                if let Some(log) = self.logs.get_mut(&own) {
                    log.cosigned(checkpoint);
                }
                Vec::new()
            }
            Event::Stored { publisher, size } => self.stored(&publisher, size),
            Event::StoreFailed { publisher } => {
                self.store_failed(now, &publisher);
                Vec::new()
            }
            Event::RootsChanged { roots } => {
                self.roots = roots;
                for log in self.logs.values_mut() {
                    log.ignored_until = None;
                    log.look_again(now);
                }
                Vec::new()
            }
            Event::Tick => self.tick(now),
        };
        self.ask(now, concern, &mut actions);
        actions
    }

    /// Our own log grew: take it up, tell everybody.
    fn published(&mut self, entries: Vec<Vec<u8>>, checkpoint: SignedCheckpoint) -> Vec<Action> {
        let own = self.own;
        let Some(log) = self.logs.get_mut(&own) else {
            return Vec::new();
        };
        let mut range = log.range.clone();
        entries.iter().for_each(|entry| range.append(leaf_hash(entry)));
        let head = checkpoint.checkpoint();
        let fits = public_origin(&own).as_ref() == Ok(&head.origin)
            && (head.size, head.root) == (range.size(), range.root())
            && log.pending.is_none()
            && log.fork.is_none()
            && log.knows_nothing_against(head);
        let (true, Some(certificate)) = (fits, log.certificate.clone()) else {
            return vec![Action::OwnLogBroken { checkpoint }];
        };
        log.take_up(range, checkpoint.clone(), Vec::new(), certificate.clone());
        let mut actions = Vec::new();
        if let Some((entry, index)) = entries.last().zip(head.size.checked_sub(1)) {
            actions.push(Action::Gossip(Gossip {
                publisher: own,
                index,
                entry: entry.clone(),
                checkpoint: checkpoint.clone(),
                certificate,
            }));
        }
        actions.extend(self.push(Head { publisher: own, checkpoint }));
        actions
    }

    /// Tells a few peers at once what is news here.
    fn push(&mut self, head: Head) -> Vec<Action> {
        let mut peers: Vec<NodeId> = self.peers.keys().copied().collect();
        self.rotate(&mut peers);
        let push = |peer| {
            let heads = Heads { heads: vec![head.clone()], forks: Vec::new() };
            let request = LogRequest::Heads(heads);
            Action::SendHeads { peer, request }
        };
        peers.into_iter().take(PUSH_FANOUT).map(push).collect()
    }

    fn stored(&mut self, publisher: &NodeId, size: u64) -> Vec<Action> {
        let Some(log) = self.logs.get_mut(publisher) else {
            return Vec::new();
        };
        let Some(next) = log.pending.take_if(|next| next.range.size() == size) else {
            return Vec::new();
        };
        log.take_up(next.range, next.checkpoint, next.proof, next.certificate);
        log.forget_offers_within_reach();
        if log.offers.is_empty() {
            self.wanted.remove(publisher);
        }
        // What gossip brought, gossip passes on. What had to be asked for may be missing in the neighbourhood, too, as
        // after a partition: it is passed on as a rumour, from each who takes it up to a few, so it gets around in as
        // many steps as the logarithm of the number of nodes, and not at the pace of the exchanges.
        match log.head().filter(|_| log.is_news).cloned() {
            Some(checkpoint) => {
                log.is_news = false;
                self.push(Head { publisher: *publisher, checkpoint })
            }
            None => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests;
