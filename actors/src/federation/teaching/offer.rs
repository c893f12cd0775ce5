//! The side that offers.

use cid::Cid;
use plumb_core::boundary::readable;
use plumb_core::content::parse_cid;
use plumb_core::identity::{NodeId, Signed};
use plumb_core::propagation::{Reply, Teaching, TeachingTag};
use plumb_core::trust::{Capability, Certificate, requester_of};
use plumb_federation::wire::teach::{Offer, TeachRequest};
use plumb_storage::{Blocks, Change, Records, unit};

use super::{Teach, TeachingView, taught_of, view_offered};
use crate::error::NodeError;
use crate::ingestion::find_sources;
use crate::kept::{self, Offered, Sent};
use crate::premises::Premises;

/// Marks knowledge of this node as one that is offered. Nothing is sent yet.
pub(in crate::federation) fn mark(premises: &Premises, ask: &Teach) -> Result<Vec<TeachingView>, NodeError> {
    if !ask.caller.operator {
        return Err(NodeError::Denied("only the operator of a node speaks for it; ask on its own machine".to_string()));
    }
    let mut chunks = Vec::new();
    match parse_cid(&ask.target).ok().map(|cid| unit(&premises.store, &cid)).transpose()?.flatten() {
        Some(unit) => chunks.push(unit.chunk),
        None => {
            let rows = find_sources(premises, &ask.target)?;
            let [row] = rows.as_slice() else {
                let several = "names several sources; give a CID or a whole address";
                return Err(match rows.len() {
                    0 => NodeError::NotFound(ask.target.clone()),
                    _ => NodeError::Invalid(format!("`{}` {several}", ask.target)),
                });
            };
            chunks.extend(row.chunks.iter().copied());
        }
    }
    let at = premises.now();
    let what = format!("{} chunks of {}", chunks.len(), ask.target);
    let mut change = Change::new(premises.event(&ask.caller.label(), "teach.offer", &ask.target, "ok", what));
    let mut marked = Vec::new();
    for chunk in chunks {
        let absent = || NodeError::NotFound(chunk.to_string());
        let unit = unit(&premises.store, &chunk)?.filter(plumb_core::knowledge::KnowledgeUnit::is_active);
        let unit = unit.ok_or_else(absent)?;
        if unit.origin.publisher != premises.node() {
            return Err(NodeError::Denied(format!("{chunk} arose on another node; only that node offers it first")));
        }
        let teaching = Teaching {
            tag: TeachingTag,
            chunk,
            source: unit.source,
            kind: ask.kind,
            sensitivity: unit.sensitivity,
            confidence: ask.confidence,
            validated: ask.validated,
            seen: ask.seen,
            at,
        };
        if !teaching.may_propagate() {
            return Err(NodeError::Invalid(format!(
                "only decisions, patterns, preferences and error fixes are offered, with a confidence of at least {}, \
                 validated or seen {} times",
                plumb_core::propagation::CONFIDENCE_MIN,
                plumb_core::propagation::SEEN_MIN
            )));
        }
        let signed = Signed::seal(teaching, &premises.key)?;
        let offered = Offered { teaching: signed.to_bytes(), hops: Vec::new(), at };
        kept::put_offered(&mut change, &signed.cid(), &offered);
        marked.push((signed.cid(), offered));
    }
    premises.store.commit(change)?;
    marked.iter().map(|(teaching, offered)| view_offered(premises, teaching, offered)).collect()
}

/// What is to be sent to a peer now, at most so many: what it may read, did not get, and did not give.
pub(in crate::federation) fn due(
    premises: &Premises,
    peer: &NodeId,
    certificate: &Signed<Certificate>,
    limit: usize,
) -> Result<Vec<(Cid, TeachRequest)>, NodeError> {
    if premises.serves(certificate.value(), &Capability::Content).is_err() {
        return Ok(Vec::new());
    }
    let requester = requester_of(certificate.value());
    let mut due = Vec::new();
    for (teaching, offered) in kept::offered_teachings(&premises.store)? {
        if due.len() == limit {
            break;
        }
        let taught = taught_of(&offered)?;
        let came_from_it = taught.origin() == *peer || taught.hops.iter().any(|hop| hop.signer() == peer);
        if came_from_it || kept::sent_teaching(&premises.store, &teaching, peer)?.is_some() {
            continue;
        }
        let said = taught.teaching.value();
        let (chunk, source) = (said.chunk, said.source);
        // What was taken back since, and what the peer may not read, is not sent.
        let may = unit(&premises.store, &chunk)?
            .is_some_and(|unit| unit.is_active() && readable(&requester, &unit, premises.policy).is_ok());
        if !may {
            continue;
        }
        let absent = |cid: &Cid| NodeError::Damaged(format!("block {cid} is missing"));
        let chunk = premises.store.block(&chunk)?.ok_or_else(|| absent(&chunk))?;
        let source = premises.store.block(&source)?.ok_or_else(|| absent(&source))?;
        let taught = taught.pass_on(&premises.key, *peer, premises.now())?;
        due.push((teaching, TeachRequest::Offer(Offer { taught, chunk, source })));
    }
    Ok(due)
}

/// Keeps what a peer replied.
pub(in crate::federation) fn keep_reply(
    premises: &Premises,
    teaching: &Cid,
    peer: &NodeId,
    reply: &Reply,
) -> Result<(), NodeError> {
    let (word, detail) = super::words(reply);
    let event = premises.event("federation", "teach.send", teaching, word, detail.unwrap_or_default());
    let mut change = Change::new(event);
    let sent = Sent { reply: reply.clone(), at: premises.now() };
    kept::put_sent(&mut change, teaching, peer, &sent);
    premises.store.commit(change)?;
    Ok(())
}
