//! Cosigning: what this node says of others' heads, and how it comes by what they say of its own.

use std::sync::Arc;

use actix::prelude::*;
use plumb_core::identity::NodeId;
use plumb_core::log::{
    Checkpoint, Cosignature, SignedCheckpoint, WitnessError, Witnessed, consistency_proof_from, root_from,
};
use plumb_federation::driver::{NetworkHandle, Protocol, RequestToken};
use plumb_federation::protocol::{log_sync, witnessing};
use plumb_federation::wire::log::{
    AddCheckpoint, Conflict, Face, Fork, Head, Heads, LogRequest, LogResponse, public_origin,
};
use plumb_storage::{Change, Records, StorageError};

use super::Federation;
use super::live::{EXCHANGE, Turn};
use crate::error::NodeError;
use crate::grounding::APPEND_TRIES;
use crate::kept::{self, Cosigned};
use crate::premises::{Premises, blocking};

/// When a publisher shall come back after something of ours failed.
const RETRY_AFTER_MS: u64 = 1_000;

/// What a witness answers, and what it has learnt about the publisher.
#[derive(Debug)]
struct Word {
    response: LogResponse,
    fork: Option<Fork>,
}

/// Answers a publisher that asks for a cosignature. Its head is news for the log sync in any case.
pub(super) fn answer(
    premises: Arc<Premises>,
    network: NetworkHandle,
    peer: NodeId,
    asked: AddCheckpoint,
    token: RequestToken,
    me: Addr<Federation>,
) {
    actix::spawn(async move {
        let head = Head { publisher: peer, checkpoint: asked.checkpoint.clone() };
        let word = blocking(move || cosign(&premises, &peer, &asked)).await;
        let (response, forks) = match word {
            Ok(word) => (word.response, word.fork.into_iter().collect()),
            Err(error) => {
                tracing::error!(%peer, %error, "a head could not be cosigned");
                (LogResponse::Busy { retry_after_ms: RETRY_AFTER_MS }, Vec::new())
            }
        };
        let _ = network.respond(token, response.encode()).await;
        let heads = Heads { heads: vec![head], forks };
        let _ = me.send(Turn::Log(log_sync::Event::HeadsReceived { peer, heads })).await;
    });
}

fn refused(reason: impl ToString) -> Word {
    Word { response: LogResponse::Refused { reason: reason.to_string() }, fork: None }
}

/// Cosigns a head of the publisher that asks, or says why not. What is cosigned is on the disk before it is signed.
fn cosign(premises: &Premises, publisher: &NodeId, asked: &AddCheckpoint) -> Result<Word, NodeError> {
    let head = asked.checkpoint.checkpoint();
    if public_origin(publisher)? != head.origin {
        return Ok(refused("a node has heads of its own public log cosigned, and no others"));
    }
    if let Err(error) = asked.checkpoint.verify(publisher) {
        return Ok(refused(error));
    }
    if kept::is_forked(&premises.store, publisher)? {
        return Ok(refused("this log showed two histories; its operator and ours have to decide first"));
    }
    if let Some(fork) = against_what_is_held(premises, publisher, &asked.checkpoint)? {
        return Ok(Word { fork: Some(fork), ..refused("another history of this log is held here") });
    }
    for _ in 0..APPEND_TRIES {
        let last = kept::witnessed(&premises.store, publisher)?;
        let seen = last.as_ref().map(|last| seen_in(last.checkpoint()));
        match Witnessed::accepts(seen.as_ref(), asked.old, head, &asked.proof) {
            Ok(_) => {}
            Err(WitnessError::Conflict { size }) => {
                let conflict = Conflict { size, checkpoint: last };
                return Ok(Word { response: LogResponse::Conflict(conflict), fork: None });
            }
            Err(error) => {
                let fork = last.filter(|_| matches!(error, WitnessError::Forked { .. })).map(|last| Fork {
                    publisher: *publisher,
                    size: head.size,
                    a: Face::whole(last),
                    b: Face::whole(asked.checkpoint.clone()),
                });
                return Ok(Word { fork, ..refused(error) });
            }
        }
        let detail = format!("{} entries", head.size);
        let mut change = Change::new(premises.event(&publisher.to_string(), "log.cosign", publisher, "ok", detail));
        kept::put_witnessed(&mut change, publisher, last.as_ref(), &asked.checkpoint);
        match premises.store.commit(change) {
            Ok(_) => {
                let cosignature = Cosignature::sign(&asked.checkpoint, premises.now(), &premises.key)?;
                return Ok(Word { response: LogResponse::Cosigned(cosignature), fork: None });
            }
            Err(StorageError::Conflict { .. }) => continue,
            Err(error) => return Err(error.into()),
        }
    }
    Ok(Word { response: LogResponse::Busy { retry_after_ms: RETRY_AFTER_MS }, fork: None })
}

fn seen_in(checkpoint: &Checkpoint) -> Witnessed {
    Witnessed { size: checkpoint.size, root: checkpoint.root }
}

/// The proof that a signed head contradicts what is held of that log here, if it does.
fn against_what_is_held(
    premises: &Premises,
    publisher: &NodeId,
    checkpoint: &SignedCheckpoint,
) -> Result<Option<Fork>, NodeError> {
    let own = premises.node();
    let Some(held) = kept::log_head(&premises.store, &own, publisher)? else { return Ok(None) };
    let (size, root) = (checkpoint.checkpoint().size, checkpoint.checkpoint().root);
    if !held.state.is_whole() || held.state.range.size() < size {
        return Ok(None);
    }
    let mut tree = kept::Tree::of(&premises.store, &own, publisher);
    let ours = root_from(size, |level, index| tree.node(level, index))?;
    if ours == root {
        return Ok(None);
    }
    let proof = consistency_proof_from(held.state.range.size(), size, |level, index| tree.node(level, index))?;
    let a = Face { checkpoint: held.state.checkpoint, root: ours, proof };
    Ok(Some(Fork { publisher: *publisher, size, a, b: Face::whole(checkpoint.clone()) }))
}

/// The size of the own log that a peer cosigned last, as far as is known here.
pub(super) fn cosigned_by(premises: &Premises, witness: &NodeId) -> u64 {
    let all = kept::cosigned(&premises.store).unwrap_or_default();
    all.iter().find(|c| c.witness == *witness).map_or(0, |c| c.size)
}

/// Asks a peer to cosign the newest head, and reports what it says.
pub(super) fn ask(premises: Arc<Premises>, network: NetworkHandle, peer: NodeId, old: u64, me: Addr<Federation>) {
    actix::spawn(async move {
        let event = match try_ask(&premises, &network, peer, old, &me).await {
            Ok(event) => event,
            Err(error) => {
                tracing::debug!(%peer, %error, "a head was not cosigned");
                witnessing::Event::Failed { peer }
            }
        };
        let _ = me.send(Turn::Witnessing(event)).await;
    });
}

async fn try_ask(
    premises: &Arc<Premises>,
    network: &NetworkHandle,
    peer: NodeId,
    old: u64,
    me: &Addr<Federation>,
) -> Result<witnessing::Event, NodeError> {
    let asked = {
        let premises = premises.clone();
        blocking(move || newest(&premises, old)).await?
    };
    let request = LogRequest::AddCheckpoint(asked.clone()).encode();
    let Ok(bytes) = network.request(peer, Protocol::Log, request, EXCHANGE).await else {
        return Ok(witnessing::Event::Failed { peer });
    };
    match LogResponse::decode(&bytes) {
        Ok(LogResponse::Cosigned(cosignature)) => {
            cosignature.verify(&asked.checkpoint, &peer)?;
            let size = asked.checkpoint.checkpoint().size;
            let premises = premises.clone();
            let cosigned = Cosigned { witness: peer, size, cosignature };
            if let Some(checkpoint) = blocking(move || keep(&premises, &cosigned)).await? {
                let _ = me.send(Turn::Log(log_sync::Event::Cosigned { checkpoint })).await;
            }
            Ok(witnessing::Event::Cosigned { peer, size })
        }
        Ok(LogResponse::Conflict(conflict)) => {
            let size = conflict.size;
            if let Some(checkpoint) = conflict.checkpoint {
                // A witness remembers what this node may have forgotten.
                let head = Head { publisher: premises.node(), checkpoint };
                let heads = Heads { heads: vec![head], forks: Vec::new() };
                let _ = me.send(Turn::Log(log_sync::Event::HeadsReceived { peer, heads })).await;
            }
            Ok(witnessing::Event::Conflict { peer, size })
        }
        Ok(LogResponse::Refused { reason }) => {
            tracing::warn!(%peer, reason, "a peer refuses to cosign this node's log");
            Ok(witnessing::Event::Failed { peer })
        }
        Ok(_) | Err(_) => Ok(witnessing::Event::Failed { peer }),
    }
}

/// The newest head of the own log, with a proof from what the witness cosigned last.
fn newest(premises: &Premises, old: u64) -> Result<AddCheckpoint, NodeError> {
    let own = premises.node();
    if let Some(stopped) = kept::stopped(&premises.store, &own)? {
        return Err(NodeError::Stopped(stopped.text()));
    }
    let absent = || NodeError::NotFound("checkpoint of an empty log".to_string());
    let head = kept::log_head(&premises.store, &own, &own)?.ok_or_else(absent)?;
    let mut tree = kept::Tree::of(&premises.store, &own, &own);
    let size = head.state.range.size();
    let proof = consistency_proof_from(size, old, |level, index| tree.node(level, index))?;
    Ok(AddCheckpoint { old, proof, checkpoint: head.state.checkpoint })
}

/// Keeps a cosignature, and puts it under the checkpoint that it is for, if that is still the newest.
fn keep(premises: &Premises, cosigned: &Cosigned) -> Result<Option<SignedCheckpoint>, NodeError> {
    let own = premises.node();
    for _ in 0..APPEND_TRIES {
        let detail = format!("{} entries", cosigned.size);
        let event = premises.event(&cosigned.witness.to_string(), "log.cosigned", own, "ok", detail);
        let mut change = Change::new(event);
        kept::put_cosigned(&mut change, cosigned);
        let head = kept::cosign_own(&premises.store, &mut change, &own, cosigned)?;
        match premises.store.commit(change) {
            Ok(_) => return Ok(head.map(|head| head.state.checkpoint)),
            Err(StorageError::Conflict { .. }) => continue,
            Err(error) => return Err(error.into()),
        }
    }
    Ok(None)
}
