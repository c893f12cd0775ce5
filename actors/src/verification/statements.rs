//! What organisations say of their roots and nodes: rotations and revocations are taken up here, each in one
//! transaction with its audit event.
//!
//! A statement proves itself, so it does not matter who brings it: a log, a certificate, a file. It is taken up for
//! pinned organisations only, so nobody fills a store with organisations of their own making.

use cid::Cid;
use plumb_core::identity::{PublicKey, Signed};
use plumb_core::trust::{Place, Revocation, Rotation, TrustError};
use plumb_federation::wire::log_entry::LogEntry;
use plumb_storage::{Change, Records, StorageError};

use crate::error::NodeError;
use crate::grounding::APPEND_TRIES;
use crate::kept;
use crate::premises::Premises;

/// Most rivals for one place that are kept. Two prove as much as a hundred.
const RIVALS_MAX: usize = 8;

/// A statement of an organisation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Statement {
    /// One root gives way to another.
    Rotation(Box<Rotation>),
    /// A node or a certificate counts no more.
    Revocation(Box<Signed<Revocation>>),
}

impl Statement {
    /// The statement of a log entry, if it is one.
    pub fn of(entry: &LogEntry) -> Option<Statement> {
        match entry {
            LogEntry::Rotation(rotation) => Some(Statement::Rotation(Box::new(rotation.clone()))),
            LogEntry::Revocation(revocation) => Some(Statement::Revocation(Box::new(revocation.clone()))),
            LogEntry::Notice(_)
            | LogEntry::Sealed(_)
            | LogEntry::Bundle { .. }
            | LogEntry::Certificate(_)
            | LogEntry::Unknown(_) => None,
        }
    }

    fn entry(&self) -> Vec<u8> {
        match self {
            Statement::Rotation(rotation) => LogEntry::Rotation((**rotation).clone()).encode(),
            Statement::Revocation(revocation) => LogEntry::Revocation((**revocation).clone()).encode(),
        }
    }
}

/// What taking a statement up changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Taken {
    /// It was not known before.
    pub is_news: bool,
    /// It is now known where a log has it: what stands in front of it there may have to be looked at again.
    pub is_located: bool,
    /// It stands in this node's own log now.
    pub is_published: bool,
}

/// Takes a statement up. `admitted` are the certificates of peers that are connected now; `is_ours` says that an operator
/// brought it, who may publish what their own organisation says.
pub(super) fn take_up(
    premises: &Premises,
    statement: &Statement,
    by: &str,
    place: Place,
    admitted: &[(Cid, PublicKey)],
    is_ours: bool,
) -> Result<Taken, NodeError> {
    for _ in 0..APPEND_TRIES {
        let done = match statement {
            Statement::Rotation(rotation) => rotate(premises, rotation, statement, by, place, admitted),
            Statement::Revocation(revocation) => revoke(premises, revocation, statement, by, place, is_ours),
        };
        match done {
            Err(NodeError::Storage(error)) if matches!(*error, StorageError::Conflict { .. }) => continue,
            done => return done,
        }
    }
    Err(NodeError::Busy { retry_after: crate::door::RETRY_AFTER })
}

fn rotate(
    premises: &Premises,
    rotation: &Rotation,
    statement: &Statement,
    by: &str,
    place: Place,
    admitted: &[(Cid, PublicKey)],
) -> Result<Taken, NodeError> {
    let (value, roots) = (rotation.value(), premises.roots());
    let Some(pin) = roots.pin_of(&value.org) else {
        return Err(NodeError::Denied(TrustError::UnknownRoot { org: value.org, name: String::new() }.to_string()));
    };
    let is_news = !roots.history.has(rotation);
    let leads_on = roots.line(&value.org).keys.contains(&value.old);
    if is_news && (!leads_on || roots.history.rotations_of(&value.old).count() >= RIVALS_MAX) {
        return Err(NodeError::Denied(format!(
            "the rotation does not lead on from a root of `{}` that is known here; import the ones before it first",
            pin.name
        )));
    }
    let located = match place {
        Place::Logged { publisher, index } => {
            let is_earlier = roots.history.position(&publisher, &value.old).is_none_or(|at| index < at);
            is_earlier.then_some((publisher, index))
        }
        Place::Shown => None,
    };
    // Every node of the organisation says so in its own log: what stands in front of it was said in time.
    let own = premises.node();
    let publishes = value.org == premises.org() && roots.history.position(&own, &value.old).is_none();
    if !is_news && located.is_none() && !publishes {
        return Ok(Taken::default());
    }
    let is_rival = is_news && roots.history.rotations_of(&value.old).next().is_some();
    let outcome = if is_rival { "conflict" } else { "ok" };
    let detail = format!("{} gives way to {}", value.old, value.new);
    let mut change = Change::new(premises.event(by, "trust.rotate", value.org, outcome, detail));
    let known = if is_news { known_under(premises, &value.old, admitted)? } else { Vec::new() };
    kept::put_rotation(&mut change, rotation, &known);
    if let Some((publisher, index)) = located {
        kept::put_position(&mut change, &publisher, &value.old, index);
    }
    let mut published_at = None;
    if publishes {
        published_at = Some(append(premises, &mut change, &[statement.entry()])?);
        kept::put_position(&mut change, &own, &value.old, published_at.unwrap_or_default());
    }
    premises.store.commit(change)?;
    if is_rival {
        tracing::error!(organisation = %value.org, "two rotations contradict each other; decide with `plumb trust settle`");
    }
    premises.change_roots(|roots| {
        roots.history.rotate(rotation.clone(), known);
        for (publisher, index) in located.into_iter().chain(published_at.map(|index| (own, index))) {
            roots.history.locate(publisher, value.old, index);
        }
    });
    Ok(Taken { is_news, is_located: located.is_some(), is_published: publishes })
}

/// The certificates that a root signed and that are known here: of logs, of peers, and this node's own.
fn known_under(premises: &Premises, root: &PublicKey, admitted: &[(Cid, PublicKey)]) -> Result<Vec<Cid>, NodeError> {
    let heads = kept::log_heads(&premises.store, &premises.node())?;
    let certificates = heads.iter().map(|head| &head.state.certificate).chain([&premises.certificate]);
    let mut known: Vec<Cid> = certificates.filter(|c| c.signer() == root).map(Signed::cid).collect();
    known.extend(admitted.iter().filter(|(_, signer)| signer == root).map(|(cid, _)| *cid));
    known.sort();
    known.dedup();
    Ok(known)
}

fn revoke(
    premises: &Premises,
    revocation: &Signed<Revocation>,
    statement: &Statement,
    by: &str,
    place: Place,
    is_ours: bool,
) -> Result<Taken, NodeError> {
    let (value, roots) = (revocation.value(), premises.roots());
    if !roots.pins(&value.org) {
        return Err(NodeError::Denied(TrustError::UnknownRoot { org: value.org, name: String::new() }.to_string()));
    }
    roots
        .may_speak_as_root(&value.org, revocation.signer(), place)
        .map_err(|e| NodeError::Denied(format!("the revocation is refused: {e}")))?;
    let is_news = !roots.history.revocations().any(|r| r.statement.cid() == revocation.cid());
    let publishes = is_ours && is_news && value.org == premises.org();
    if !is_news {
        return Ok(Taken::default());
    }
    let held = kept::log_head(&premises.store, &premises.node(), &value.node)?.map_or(0, |h| h.state.range.size());
    let detail = format!("{}: {}", value.reason, value.note);
    let mut change = Change::new(premises.event(by, "trust.revoke", value.node, "ok", detail));
    kept::put_revocation(&mut change, revocation, held);
    if publishes {
        append(premises, &mut change, &[statement.entry()])?;
    }
    premises.store.commit(change)?;
    premises.change_roots(|roots| {
        roots.history.revoke(revocation.clone(), held);
    });
    Ok(Taken { is_news, is_located: false, is_published: publishes })
}

/// Appends to the own log within a change. Returns the index of the first entry.
fn append(premises: &Premises, change: &mut Change, entries: &[Vec<u8>]) -> Result<u64, NodeError> {
    let own = premises.node();
    let index = kept::log_head(&premises.store, &own, &own)?.map_or(0, |head| head.state.range.size());
    let (key, certificate, now) = (&premises.key, &premises.certificate, premises.now());
    kept::append_own(&premises.store, change, key, certificate, entries, now)?;
    Ok(index)
}

/// At the start of a node: the first entry of a public log is its node's certificate, so a log is never empty, and that
/// nothing was taken back can be told from nothing being known. A certificate that is new is logged, too, and what it
/// says of the organisation's roots is taken up.
pub(crate) fn settle_own(premises: &Premises) -> Result<(), NodeError> {
    let own = premises.node();
    // A log that is being fetched back from others is empty for a while, and nothing is published into it.
    if kept::stopped(&premises.store, &own)?.is_some() {
        return Ok(());
    }
    let is_logged = |log: kept::LogHead| log.state.certificate == premises.certificate;
    if !kept::log_head(&premises.store, &own, &own)?.is_some_and(is_logged) {
        let entry = LogEntry::Certificate(premises.certificate.clone()).encode();
        let event = premises.event("node", "log.certificate", own, "ok", premises.certificate.cid());
        crate::grounding::append(premises, premises.now(), &[entry], |_| Ok(Change::new(event.clone())))?;
    }
    for rotation in premises.certificate.value().rotations().unwrap_or_default() {
        take_up(premises, &Statement::Rotation(Box::new(rotation)), "node", Place::Shown, &[], true)?;
    }
    Ok(())
}

/// The operator decides which of two rivals is followed.
pub(super) fn decide(premises: &Premises, by: &str, new: &PublicKey) -> Result<(), NodeError> {
    let (org, old) = rival_of(premises, new)
        .ok_or_else(|| NodeError::NotFound(format!("a disputed rotation to {new}; `plumb trust list` shows them")))?;
    let mut change = Change::new(premises.event(by, "trust.settle", org, "ok", format!("{new} is followed")));
    kept::put_decision(&mut change, &old, new);
    premises.store.commit(change)?;
    premises.change_roots(|roots| roots.history.settle(old, *new));
    Ok(())
}

fn rival_of(premises: &Premises, new: &PublicKey) -> Option<(PublicKey, PublicKey)> {
    let roots = premises.roots();
    let orgs: Vec<PublicKey> = roots.all().map(|(org, _)| *org).collect();
    orgs.into_iter().find_map(|org| {
        let line = roots.line(&org);
        line.keys.into_iter().find_map(|old| {
            let rotations: Vec<_> = roots.history.rotations_of(&old).map(|r| r.value().clone()).collect();
            let is_meant = rotations.len() > 1 && rotations.iter().any(|r| r.new == *new);
            is_meant.then_some((org, old))
        })
    })
}
