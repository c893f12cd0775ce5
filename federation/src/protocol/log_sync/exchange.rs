//! What two nodes tell each other of the logs that they hold.
//!
//! They are summed up ([`Summary`]), and only those that may differ are named: so what an exchange costs follows from
//! what is new, and not from how many publishers there are. Whoever asked learns from the answer where it is ahead, and
//! says so in return; a bucket of which the answer says nothing is the same on both sides, or empty there, and then the
//! other side asks for it when its own turn comes. Heads on their own are news: of them, only what is newer still is
//! answered.

use plumb_core::identity::NodeId;

use super::{Action, LogSync};
use crate::wire::log::summary::{Held, bucket_of, buckets, n_buckets_for};
use crate::wire::log::{FORKS_MAX, Fork, Head, Heads, LogRequest, Summary};

/// Most logs whose heads a hello names. Whoever wants to know of more asks.
pub const HEADS_NAMED_MAX: usize = 16;

/// A summary that was sent, as far as its answer is to be read by it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Summarised {
    salt: u64,
    n_buckets: usize,
}

impl LogSync {
    /// The heads for a hello: our own first, and of the others as many as it may name. With more logs, each call
    /// names others.
    pub fn introduction(&mut self) -> Vec<Head> {
        let own = self.own;
        let mut others: Vec<Head> = self.shown().filter(|head| head.publisher != own).collect();
        self.rotate(&mut others);
        self.own_head().into_iter().chain(others).take(HEADS_NAMED_MAX).collect()
    }

    /// What to answer to a peer that sent its heads, or their summary. Give the event with them afterwards.
    pub fn answer(&mut self, request: &LogRequest) -> Option<Heads> {
        let (heads, forks): (Vec<Head>, Vec<Fork>) = match request {
            LogRequest::Heads(heads) => {
                let newer = |said: &Head| self.head_of(&said.publisher).filter(|ours| said.size() < ours.size());
                let proof = |said: &Head| self.logs.get(&said.publisher)?.fork.clone();
                let newer = heads.heads.iter().filter_map(newer);
                (newer.collect(), heads.heads.iter().filter_map(proof).collect())
            }
            LogRequest::Summary(summary) => {
                let n_buckets = summary.buckets.len();
                let ours = buckets(summary.salt, n_buckets, self.held());
                let differs = |publisher: &NodeId| {
                    let bucket = bucket_of(summary.salt, publisher, n_buckets);
                    ours.get(bucket) != summary.buckets.get(bucket)
                };
                let forked = self.logs.iter().filter(|(id, _)| differs(id));
                let forks = forked.filter_map(|(_, log)| log.fork.clone()).collect();
                (self.shown().filter(|head| differs(&head.publisher)).collect(), forks)
            }
            LogRequest::Entries { .. } | LogRequest::AddCheckpoint(_) | LogRequest::Unknown(_) => return None,
        };
        Some(self.message(heads, forks))
    }

    /// Our own head first, and then what fits; with more than fits, each call gives another part.
    fn message(&mut self, mut heads: Vec<Head>, mut forks: Vec<Fork>) -> Heads {
        let own = self.own;
        heads.retain(|head| head.publisher != own);
        self.rotate(&mut heads);
        self.rotate(&mut forks);
        forks.truncate(FORKS_MAX);
        let mut message = Heads { heads: Vec::new(), forks };
        let all = self.own_head().into_iter().chain(heads);
        all.take_while(|head| message.push(head.clone())).for_each(drop);
        message
    }

    /// What to send to a peer whose turn it is.
    pub(super) fn exchange(&mut self, peer: &NodeId) -> LogRequest {
        let salt = self.random.number();
        let n_buckets = n_buckets_for(self.logs.len());
        if let Some(peer) = self.peers.get_mut(peer) {
            peer.summarised = Some(Summarised { salt, n_buckets });
        }
        let buckets = buckets(salt, n_buckets, self.held());
        LogRequest::Summary(Summary { salt, buckets, own: self.own_head() })
    }

    /// After the answer to a summary: where it shows us to be ahead, the other side is told.
    pub(super) fn return_heads(&mut self, peer: NodeId, answer: &[Head], actions: &mut Vec<Action>) {
        let Some(Summarised { salt, n_buckets }) = self.peers.get_mut(&peer).and_then(|p| p.summarised.take()) else {
            return;
        };
        let bucket = |publisher: &NodeId| bucket_of(salt, publisher, n_buckets);
        // The head of its own log is in every answer; it says that a bucket differs only if it does so itself.
        let tells = |head: &&Head| {
            head.publisher != peer
                || self.head_of(&peer).is_none_or(|ours| ours.checkpoint.checkpoint() != head.checkpoint.checkpoint())
        };
        let touched: Vec<usize> = answer.iter().filter(tells).map(|head| bucket(&head.publisher)).collect();
        let is_ahead = |ours: &Head| {
            let said = answer.iter().find(|head| head.publisher == ours.publisher);
            touched.contains(&bucket(&ours.publisher)) && said.is_none_or(|said| said.size() < ours.size())
        };
        let ahead: Vec<Head> = self.shown().filter(is_ahead).collect();
        if !ahead.is_empty() {
            let request = LogRequest::Heads(self.message(ahead, Vec::new()));
            actions.push(Action::SendHeads { peer, request });
        }
    }

    fn own_head(&self) -> Option<Head> {
        self.head_of(&self.own)
    }

    fn head_of(&self, publisher: &NodeId) -> Option<Head> {
        let checkpoint = self.logs.get(publisher)?.head()?.clone();
        Some(Head { publisher: *publisher, checkpoint })
    }

    fn shown(&self) -> impl Iterator<Item = Head> {
        let head = |(id, log): (&NodeId, &super::Log)| Some(Head { publisher: *id, checkpoint: log.head()?.clone() });
        self.logs.iter().filter_map(head)
    }

    fn held(&self) -> impl Iterator<Item = (&NodeId, Held)> {
        self.logs.iter().filter_map(|(id, log)| {
            if log.fork.is_some() {
                return Some((id, Held::Forked));
            }
            let head = log.head()?.checkpoint();
            Some((id, Held::Whole { size: head.size, root: head.root }))
        })
    }
}
