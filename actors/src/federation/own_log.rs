//! The own log when others hold more of it, or another one: publishing stops, and goes on when nothing is lost or the
//! operator has decided.

use std::sync::Arc;

use actix::prelude::*;
use plumb_core::identity::NodeId;
use plumb_core::log::{SignedCheckpoint, root_from};
use plumb_core::measure::Timestamp;
use plumb_federation::driver::{NetworkHandle, Protocol};
use plumb_federation::protocol::{LogSync, log_sync};
use plumb_federation::wire::log::{Face, Fork, Head, Heads, LogRequest, LogResponse};
use plumb_federation::wire::log_state::LogState;
use plumb_storage::{Change, Records, StorageError};

use super::live::{EXCHANGE, Live, Turn};
use super::{Federation, LiftFork, ResumeLog};
use crate::error::NodeError;
use crate::grounding::APPEND_TRIES;
use crate::kept::{self, Cause, Stopped};
use crate::premises::{Premises, blocking};

/// The machine that follows the logs, as the store has them.
pub(super) fn log_sync(premises: &Premises) -> Result<LogSync, NodeError> {
    let heads = kept::log_heads(&premises.store, &premises.node())?;
    let mut sync = LogSync::new(
        premises.certificate.clone(),
        premises.roots(),
        heads.into_iter().map(|h| h.state),
        kept::forks(&premises.store)?,
        premises.now(),
        rand::random(),
    );
    kept::given_up(&premises.store)?.iter().for_each(|head| sync.give_up(head));
    kept::decided_forks(&premises.store)?.iter().for_each(|fork| sync.pass_over(fork));
    Ok(sync)
}

impl Live {
    /// Begins anew from what the store has of the logs. Peers are told and asked as if they had just been admitted.
    pub(super) fn reload(&mut self, now: Timestamp, me: &Addr<Federation>) {
        match log_sync(&self.premises) {
            Ok(sync) => self.log_sync = sync,
            Err(error) => {
                tracing::error!(%error, "the logs cannot be read anew");
                return;
            }
        }
        for peer in self.admitted.keys().copied().collect::<Vec<_>>() {
            self.log(now, log_sync::Event::PeerAdmitted { peer, heads: Vec::new() }, me);
            let request = LogRequest::Heads(self.log_sync.heads());
            let (premises, network, me) = (self.premises.clone(), self.link.network.clone(), me.clone());
            actix::spawn(async move {
                let answer = network.request(peer, Protocol::Log, request.encode(), EXCHANGE).await;
                if let Ok(Ok(LogResponse::Heads(heads))) = answer.map(|bytes| LogResponse::decode(&bytes)) {
                    let _ = me.send(Turn::Log(log_sync::Event::HeadsReceived { peer, heads })).await;
                }
                probe(&premises, &network, peer, &me).await;
            });
        }
    }
}

/// While the history that others hold is taken up, asks a peer for its first entry. Who has this node in quarantine
/// does not offer that log, but serves it; its answer says how far it goes.
pub(super) async fn probe(premises: &Arc<Premises>, network: &NetworkHandle, peer: NodeId, me: &Addr<Federation>) {
    let own = premises.node();
    let is_adopting = kept::stopped(&premises.store, &own).ok().flatten().is_some_and(|s| s.cause == Cause::Adopting);
    if !is_adopting {
        return;
    }
    let request = LogRequest::Entries { publisher: own, from: 0, limit: 1 };
    let answer = network.request(peer, Protocol::Log, request.encode(), EXCHANGE).await;
    if let Ok(Ok(LogResponse::Page(page))) = answer.map(|bytes| LogResponse::decode(&bytes)) {
        let head = Head { publisher: own, checkpoint: page.checkpoint };
        let heads = Heads { heads: vec![head], forks: Vec::new() };
        let _ = me.send(Turn::Log(log_sync::Event::HeadsReceived { peer, heads })).await;
    }
}

/// Makes a change under conditions that somebody else may break meanwhile: it is then decided anew. `build` says
/// nothing if there is nothing to change.
fn commit(premises: &Premises, build: impl Fn() -> Result<Option<Change>, NodeError>) -> Result<(), NodeError> {
    for _ in 0..APPEND_TRIES {
        let Some(change) = build()? else { return Ok(()) };
        match premises.store.commit(change) {
            Ok(_) => return Ok(()),
            Err(StorageError::Conflict { .. }) => continue,
            Err(error) => return Err(error.into()),
        }
    }
    Err(NodeError::Busy { retry_after: crate::door::RETRY_AFTER })
}

fn stop(premises: &Premises, cause: Cause, elsewhere: &SignedCheckpoint) -> Result<(), NodeError> {
    let own = premises.node();
    commit(premises, || {
        let detail = format!("{cause:?}: others hold {} entries", elsewhere.checkpoint().size);
        let mut change = Change::new(premises.event("federation", "log.stop", own, "stopped", detail));
        let next = Stopped { cause, since: premises.now(), elsewhere: elsewhere.clone() };
        Ok(kept::stop(&premises.store, &mut change, &own, next)?.then_some(change))
    })
}

fn in_background(work: impl FnOnce() -> Result<(), NodeError> + Send + 'static) {
    actix::spawn(async move {
        if let Err(error) = blocking(work).await {
            tracing::error!(%error, "what is known against a log could not be written down");
        }
    });
}

/// Others hold more of the own log than this node.
pub(super) fn stop_behind(premises: Arc<Premises>, elsewhere: SignedCheckpoint) {
    tracing::error!(
        held_elsewhere = elsewhere.checkpoint().size,
        "others hold more of this node's log than it does: it was set back; nothing is published until it is fetched"
    );
    in_background(move || stop(&premises, Cause::Behind, &elsewhere));
}

/// Keeps the proof that somebody showed two histories. If that is this node, publishing stops.
pub(super) fn keep_fork(premises: Arc<Premises>, proof: Fork) {
    in_background(move || {
        let own = premises.node();
        // One change: there is no moment at which the proof is kept and publishing goes on.
        commit(&premises, || {
            let event = premises.event("federation", "log.equivocation", proof.publisher, "quarantined", "");
            let mut change = Change::new(event);
            kept::put_fork(&mut change, &proof);
            if proof.publisher == own {
                let elsewhere = elsewhere(&premises, &proof).checkpoint;
                let next = Stopped { cause: Cause::Forked, since: premises.now(), elsewhere };
                kept::stop(&premises.store, &mut change, &own, next)?;
            }
            Ok(Some(change))
        })
    });
}

/// The history of a fork of the own log that is not the one held here.
fn elsewhere(premises: &Premises, proof: &Fork) -> Face {
    let own = premises.node();
    let mut tree = kept::Tree::of(&premises.store, &own, &own);
    let held = root_from(proof.size, |level, index| tree.node(level, index)).ok();
    if held == Some(proof.b.root) { proof.a.clone() } else { proof.b.clone() }
}

/// Lets publishing go on in the change that completes a log that was behind.
pub(super) fn end_when_whole(premises: &Premises, change: &mut Change, state: &LogState) -> Result<(), NodeError> {
    let own = premises.node();
    let Some(stopped) = kept::stopped(&premises.store, &own)? else { return Ok(()) };
    let is_there = state.is_whole() && stopped.elsewhere.checkpoint().size <= state.range.size();
    if stopped.cause == Cause::Behind && is_there {
        let detail = format!("{} entries are back; nothing is lost", state.range.size());
        change.audit(premises.event("federation", "log.resume", own, "ok", detail));
        kept::end_stop(&premises.store, change, &own)?;
    }
    Ok(())
}

/// Ends a stop of which only the last step is missing: the history of others is taken up whole, and what only this node
/// had is published behind it.
pub(super) fn settle(premises: &Premises) -> Result<(), NodeError> {
    let own = premises.node();
    commit(premises, || {
        let (Some(stopped), Some(head)) =
            (kept::stopped(&premises.store, &own)?, kept::log_head(&premises.store, &own, &own)?)
        else {
            return Ok(None);
        };
        let is_there = head.state.is_whole() && stopped.elsewhere.checkpoint().size <= head.state.range.size();
        if stopped.cause != Cause::Adopting || !is_there {
            return Ok(None);
        }
        let mut change = Change::new(premises.event("federation", "log.resume", own, "ok", "history taken up"));
        let (key, certificate) = (&premises.key, &premises.certificate);
        let n = kept::republish(&premises.store, &mut change, key, certificate, premises.now())?;
        tracing::info!(republished = n, "the own log goes on behind what others hold");
        Ok(Some(change))
    })
}

/// What the operator decided: go on, although something is lost.
pub(super) fn resume(premises: &Premises, ask: &ResumeLog) -> Result<(), NodeError> {
    let own = premises.node();
    commit(premises, || {
        let Some(stopped) = kept::stopped(&premises.store, &own)? else {
            return Err(NodeError::Conflict("publishing is not stopped; there is nothing to decide".to_string()));
        };
        if !ask.accept_loss {
            return Err(NodeError::Stopped(stopped.text()));
        }
        let size = stopped.elsewhere.checkpoint().size;
        match stopped.cause {
            Cause::Behind => {
                let detail = format!("the entries up to {size} that others saw are given up");
                let mut change = Change::new(premises.event(&ask.by, "log.resume", own, "accepted_loss", detail));
                kept::give_up(&mut change, &own, &stopped.elsewhere);
                kept::end_stop(&premises.store, &mut change, &own)?;
                Ok(Some(change))
            }
            Cause::Forked => {
                let detail = format!("the history of {size} entries that others hold is taken up");
                let mut change = Change::new(premises.event(&ask.by, "log.resume", own, "accepted_loss", detail));
                if let Some(fork) = kept::fork(&premises.store, &own)? {
                    kept::decide_fork(&mut change, &fork);
                }
                kept::put_aside(&premises.store, &mut change, &own)?;
                let next = Stopped { cause: Cause::Adopting, since: premises.now(), ..stopped };
                kept::put_stopped(&premises.store, &mut change, &own, &next)?;
                Ok(Some(change))
            }
            Cause::Adopting => Err(NodeError::Stopped(stopped.text())),
        }
    })
}

/// What the operator decided about somebody else's fork: its log is followed again.
pub(super) fn lift(premises: &Premises, ask: &LiftFork) -> Result<Fork, NodeError> {
    let publisher: NodeId = ask.publisher.parse().map_err(|e| NodeError::Invalid(format!("{e}")))?;
    if publisher == premises.node() {
        return Err(NodeError::Invalid("this is the node's own log; decide with `plumb log resume`".to_string()));
    }
    let fork = kept::fork(&premises.store, &publisher)?;
    let fork = fork.ok_or_else(|| NodeError::NotFound(ask.publisher.clone()))?;
    let detail = format!("the proof is kept; note: {}", ask.note);
    let mut change = Change::new(premises.event(&ask.by, "log.lift", publisher, "lifted", detail));
    kept::decide_fork(&mut change, &fork);
    premises.store.commit(change)?;
    Ok(fork)
}
