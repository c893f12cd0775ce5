//! Notices on what is not public: sealed in the public log, opened by whoever holds what they name, and delivered to every
//! node of the organisation.

use cid::Cid;
use plumb_core::boundary::Sensitivity;
use plumb_core::identity::Signed;
use plumb_core::notice::{Notice, SealedNotice};
use plumb_core::trust::{Certificate, Place};
use plumb_federation::wire::log_entry::LogEntry;
use plumb_storage::{Change, Records};
use rand::RngExt;

use super::apply::apply_arrived;
use crate::error::NodeError;
use crate::kept::{self, Obligation, SealedAt};
use crate::premises::Premises;

/// Whether a notice of this organisation goes into the log sealed: if what it names is not public, or is not held here,
/// so that nobody can say. A reinstatement goes as the notice that it undoes went, for it says no more.
///
/// A notice on both kinds is refused: whoever holds the public source would read what is said of the other.
pub(super) fn is_secret(premises: &Premises, notice: &Notice) -> Result<bool, NodeError> {
    let is_public = |source: &Cid| -> Result<bool, NodeError> {
        let row = kept::source(&premises.store, source)?;
        Ok(row.is_some_and(|row| row.sensitivity == Sensitivity::Public))
    };
    if let Some(undone) = &notice.undoes
        && let Some(undone) = kept::notice(&premises.store, undone)?
    {
        return Ok(!undone.is_open);
    }
    let mut n_public = 0;
    for target in &notice.targets {
        n_public += usize::from(is_public(target)?);
    }
    if n_public > 0 && n_public < notice.targets.len() {
        return Err(NodeError::Invalid(
            "some of these are public and some are not, and whoever holds a public one would read what is said of the \
             others; name them in two commands"
                .to_string(),
        ));
    }
    let is_secret = n_public == 0;
    if let Some(newer) = &notice.superseded_by
        && !is_secret
        && !is_public(newer)?
    {
        return Err(NodeError::Invalid(
            "what stands in its place is not public, and everybody would read its name; leave it out".to_string(),
        ));
    }
    Ok(is_secret)
}

/// The log entry of a notice that is sealed.
pub(super) fn entry_of(signed: &Signed<Notice>) -> Result<Vec<u8>, NodeError> {
    let (key, nonce) = (rand::rng().random(), rand::rng().random());
    let sealed = SealedNotice::seal(signed, key, nonce).map_err(|e| NodeError::TooLarge(e.to_string()))?;
    Ok(LogEntry::Sealed(sealed).encode())
}

/// Notes that a notice of this node went out sealed, and owes it to every other node of the organisation that is known:
/// one that does not hold what it names cannot open it, and is to keep the text out all the same.
pub(super) fn owe_at_home(premises: &Premises, change: &mut Change, notice: &Cid) -> Result<(), NodeError> {
    kept::put_own_sealed(change, notice);
    let own = premises.node();
    for head in kept::log_heads(&premises.store, &own)? {
        let certificate = head.state.certificate.value();
        if certificate.org == premises.org() && certificate.node != own {
            let obligation = Obligation::opened(premises.now());
            kept::put_obligation(change, notice, &certificate.node, &obligation);
        }
    }
    Ok(())
}

/// Owes a node of this organisation, which was just admitted, the sealed notices of which it was not told. Returns
/// whether there are any.
pub(crate) fn owe_newcomer(premises: &Premises, peer: &Certificate) -> Result<bool, NodeError> {
    if peer.org != premises.org() {
        return Ok(false);
    }
    let mut owed = Vec::new();
    for notice in kept::own_sealed(&premises.store)? {
        if kept::obligation(&premises.store, &notice, &peer.node)?.is_none() {
            owed.push(notice);
        }
    }
    if owed.is_empty() {
        return Ok(false);
    }
    let what = format!("{} sealed notices of before", owed.len());
    let mut change = Change::new(premises.event("federation", "notice.owe", peer.node, "ok", what));
    for notice in &owed {
        kept::put_obligation(&mut change, notice, &peer.node, &Obligation::opened(premises.now()));
    }
    premises.store.commit(change)?;
    Ok(true)
}

/// Takes a sealed notice of a log: lays it up, and gives it opened if anything that it names is held. What is taken in
/// later finds it laid up ([`unseal`]); as both write first and look then, none misses the other.
pub(crate) fn take_sealed(
    premises: &Premises,
    at: SealedAt,
    sealed: &SealedNotice,
) -> Result<Option<Signed<Notice>>, NodeError> {
    let mut change = Change::new(premises.event(
        &at.publisher.to_string(),
        "notice.sealed",
        sealed.notice,
        "ok",
        format!("entry {}", at.index),
    ));
    kept::lay_up(&premises.store, &mut change, at, sealed)?;
    // Of its own it hears after a backup was restored.
    if at.publisher == premises.node() {
        kept::put_own_sealed(&mut change, &sealed.notice);
    }
    premises.store.commit(change)?;
    let Some(source) = kept::opens(&premises.store, sealed)? else { return Ok(None) };
    match sealed.open(&source) {
        Ok(notice) => Ok(Some(notice)),
        Err(error) => {
            tracing::warn!(publisher = %at.publisher, index = at.index, %error, "a notice that does not open");
            Ok(None)
        }
    }
}

/// A sealed notice was opened, and applied or refused.
pub(crate) fn take_down(premises: &Premises, at: SealedAt, sealed: &SealedNotice) -> Result<(), NodeError> {
    let event = premises.event("federation", "notice.unseal", sealed.notice, "ok", format!("entry {}", at.index));
    let mut change = Change::new(event);
    kept::take_down(&mut change, at, sealed);
    premises.store.commit(change)?;
    Ok(())
}

/// Opens and applies what is laid up for sources: before they are taken in or shown, and once more when they are in the
/// store. Not to be called with the ingest lock held.
pub(crate) fn unseal<'a>(premises: &Premises, sources: impl IntoIterator<Item = &'a Cid>) -> Result<(), NodeError> {
    if !kept::is_any_laid_up(&premises.store)? {
        return Ok(());
    }
    for source in sources {
        for at in kept::laid_up(&premises.store, source)? {
            if let Some(sealed) = kept::sealed_at(&premises.store, at)? {
                unseal_one(premises, source, at, &sealed)?;
            }
        }
    }
    Ok(())
}

fn unseal_one(premises: &Premises, source: &Cid, at: SealedAt, sealed: &SealedNotice) -> Result<(), NodeError> {
    let notice = match sealed.open(source) {
        Ok(notice) => notice,
        Err(error) => {
            tracing::warn!(publisher = %at.publisher, index = at.index, %error, "a notice that does not open");
            let event = premises.event(&at.publisher.to_string(), "notice.unseal", sealed.notice, "refused", error);
            let mut change = Change::new(event);
            kept::forget_lock(&mut change, at, source);
            premises.store.commit(change)?;
            return Ok(());
        }
    };
    let certificate = premises.certificate_of(&at.publisher)?;
    let place = Place::Logged { publisher: at.publisher, index: at.index };
    match apply_arrived(premises, &notice, certificate.as_ref(), place, false) {
        Ok(_) => {}
        Err(NodeError::Denied(reason)) => tracing::warn!(?place, reason, "a notice was not applied"),
        Err(error) => return Err(error),
    }
    take_down(premises, at, sealed)
}

/// The same after what is taken in is in the store. That it is there is true whatever becomes of this; what is left
/// sealed is looked for again at the next start.
pub(crate) fn unseal_after<'a>(premises: &Premises, sources: impl IntoIterator<Item = &'a Cid>) {
    if let Err(error) = unseal(premises, sources) {
        tracing::error!(%error, "a sealed notice could not be applied");
    }
}

/// Opens what a former life left sealed although it holds what opens it.
pub(crate) fn unseal_left(premises: &Premises) -> Result<(), NodeError> {
    unseal(premises, &kept::left_sealed(&premises.store)?)
}
