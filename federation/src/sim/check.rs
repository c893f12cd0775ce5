//! The invariants, checked from outside with every fact.

use std::collections::{BTreeMap, BTreeSet};

use cid::Cid;
use plumb_core::identity::NodeId;
use plumb_core::log::{Hash, empty_root};

use super::node::{Fact, Node};
use super::truth::Truth;
use crate::protocol::log_sync::CANDIDATES_PER_PEER_MAX;

/// What an acknowledgement that was heard came to.
#[derive(Clone, Copy, Debug)]
struct Closed {
    /// In which life of the one who heard it.
    life: u64,
    /// Whether it is on that one's disk.
    is_kept: bool,
}

/// What was seen so far, so that each fact costs what it touches.
#[derive(Clone, Debug, Default)]
pub(super) struct Checker {
    /// How far each node held each log, and under which root.
    held: BTreeMap<usize, BTreeMap<NodeId, (u64, Hash)>>,
    closed: BTreeMap<(usize, Cid, NodeId), Closed>,
    convicted: BTreeSet<(usize, NodeId)>,
    n_checks: u64,
}

/// Which invariant, and what was found.
pub(super) type Broken = (&'static str, String);

impl Checker {
    /// How often an invariant was looked at.
    pub(super) fn n_checks(&self) -> u64 {
        self.n_checks
    }

    fn that(&mut self, holds: bool, invariant: &'static str, what: impl FnOnce() -> String) -> Result<(), Broken> {
        self.n_checks += 1;
        if holds { Ok(()) } else { Err((invariant, what())) }
    }

    /// Looks at what happened at a node.
    pub(super) fn fact(
        &mut self,
        at: usize,
        fact: &Fact,
        nodes: &[Node],
        places: &BTreeMap<NodeId, usize>,
        truth: &Truth,
    ) -> Result<(), Broken> {
        let Some(node) = nodes.get(at) else {
            return Ok(());
        };
        let who = |id: &NodeId| places.get(id).and_then(|place| nodes.get(*place));
        match fact {
            Fact::Published { .. } => Ok(()),
            Fact::Grew { publisher, size, root } => {
                let before = self.held.get(&at).and_then(|logs| logs.get(publisher)).copied();
                let before = before.unwrap_or((0, empty_root()));
                let after = (*size, *root);
                self.that(before.0 < *size, "SIM-2", || {
                    format!("{publisher} had {} entries, and has {size} now", before.0)
                })?;
                self.that(truth.is_one_history(publisher, before, after), "SIM-1", || {
                    format!("{publisher} never published what is held of it up to {size}")
                })?;
                self.held.entry(at).or_default().insert(*publisher, after);
                Ok(())
            }
            Fact::Gap { publisher, from } => {
                self.that(false, "SIM-1", || format!("entries {from}.. of {publisher} do not follow"))
            }
            Fact::Quarantined { publisher } => {
                self.that(false, "SIM-5", || format!("entries of {publisher} are taken up after its conviction"))
            }
            Fact::Applied { notice, .. } => {
                self.that(truth.was_issued(notice), "SIM-6", || {
                    format!("{} was applied, and nobody who may issued it", notice.cid())
                })?;
                for source in truth.concerned(notice.value(), &node.disk.shelf) {
                    self.shown(node, &source.cid, truth)?;
                }
                Ok(())
            }
            Fact::TookIn { source } => self.shown(node, source, truth),
            Fact::Delivered { notice, holder } => {
                let closed = self.closed.get(&(at, *notice, *holder));
                let is_again = closed.is_some_and(|closed| closed.is_kept || closed.life == node.life);
                self.that(!is_again, "SIM-4", || format!("{notice} was sent again to {holder}"))
            }
            Fact::Heard { notice, holder } => {
                let has = who(holder).is_some_and(|holder| holder.disk.shelf.knows(notice));
                let closed = Closed { life: node.life, is_kept: false };
                self.closed.insert((at, *notice, *holder), closed);
                self.that(has, "SIM-3", || format!("{notice} is acknowledged by {holder} and not applied there"))
            }
            Fact::Closed { notice, holder } => {
                if let Some(closed) = self.closed.get_mut(&(at, *notice, *holder)) {
                    closed.is_kept = true;
                }
                Ok(())
            }
            Fact::Convicted { proof } => {
                self.convicted.insert((at, proof.publisher));
                let is_liar = who(&proof.publisher).is_some_and(|node| !node.is_honest());
                self.that(is_liar && proof.check().is_ok(), "SIM-8", || {
                    format!("{} is convicted without cause", proof.publisher)
                })
            }
            Fact::Blamed { peer, fault } => {
                let is_just = !node.is_honest() || who(peer).is_some_and(|peer| !peer.is_honest());
                self.that(is_just, "SIM-8", || format!("{peer} is blamed without cause: {fault}"))
            }
            Fact::OwnLog(what) => self.that(!node.is_honest(), "SIM-2", || what.clone()),
        }
    }

    /// Evidence is shown if and only if it may be.
    fn shown(&mut self, node: &Node, source: &Cid, truth: &Truth) -> Result<(), Broken> {
        let shelf = &node.disk.shelf;
        let Some(held) = shelf.source(source) else {
            return Ok(());
        };
        let (is, may) = (shelf.is_active(source), truth.may_be_shown(held, shelf));
        self.that(is == may, "SIM-7", || format!("{source} is active: {is}; it may be: {may}"))
    }

    /// Looks at a node that has come back.
    pub(super) fn restarted(&mut self, at: usize, node: &Node, truth: &Truth) -> Result<(), Broken> {
        let own = node.id;
        self.that(node.disk.size(&own) == truth.size(&own), "SIM-2", || {
            format!("it published {} entries and has {}", truth.size(&own), node.disk.size(&own))
        })?;
        let held = self.held.get(&at).into_iter().flatten();
        let held: Vec<(NodeId, u64)> = held.map(|(publisher, (size, _))| (*publisher, *size)).collect();
        for (publisher, size) in held {
            let now = node.size_in_memory(&publisher);
            self.that(now == size, "SIM-2", || {
                format!("{size} entries of {publisher} were kept, and it knows of {now}")
            })?;
        }
        let sources: Vec<Cid> = node.disk.shelf.held().map(|(source, _)| source.cid).collect();
        sources.iter().try_for_each(|source| self.shown(node, source, truth))
    }

    /// Whatever its neighbours make up, a node knows of so many logs at most.
    pub(super) fn bounded(&mut self, node: &Node, n_nodes: usize, n_neighbours: usize) -> Result<(), Broken> {
        let most = n_nodes + CANDIDATES_PER_PEER_MAX * n_neighbours;
        self.that(node.n_known() <= most, "SIM-9", || format!("it knows of {} logs, {most} at most", node.n_known()))
    }

    /// Whether a node has convicted a publisher.
    pub(super) fn has_convicted(&self, at: usize, publisher: &NodeId) -> bool {
        self.convicted.contains(&(at, *publisher))
    }
}
