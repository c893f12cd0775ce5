//! What the entries of a publisher's log change here, in their order.

use std::sync::Arc;

use plumb_core::identity::{NodeId, PublicKey, Signed};
use plumb_core::notice::SealedNotice;
use plumb_core::trust::{Certificate, Place};
use plumb_federation::wire::log_entry::LogEntry;
use plumb_federation::wire::log_state::LogState;

use crate::door::Door;
use crate::error::NodeError;
use crate::kept::{self, SealedAt};
use crate::premises::{Premises, blocking};
use crate::verification::{ApplyNotice, Statement, TakeUp, Verification, take_down, take_sealed};

/// Applies verified entries, of which the first has the index `from`. What is refused changes nothing and is kept in the
/// log all the same; only a failure of ours is an error.
pub(super) async fn apply(
    premises: &Arc<Premises>,
    door: &Door<Verification>,
    from: u64,
    entries: &[Vec<u8>],
    state: &LogState,
) -> Result<(), NodeError> {
    let publisher = state.publisher;
    learn(premises, door, &state.certificate).await?;
    for (entry, index) in entries.iter().zip(from..) {
        let place = Place::Logged { publisher, index };
        match LogEntry::decode(entry) {
            Ok(LogEntry::Notice(notice)) => {
                apply_notice(premises, door, notice, &state.certificate, place, true).await?
            }
            Ok(LogEntry::Sealed(sealed)) => {
                let at = SealedAt { publisher, index };
                apply_sealed(premises, door, at, sealed, &state.certificate).await?;
            }
            Ok(LogEntry::Certificate(certificate)) => learn(premises, door, &certificate).await?,
            Ok(entry) => {
                let Some(statement) = Statement::of(&entry) else { continue };
                let is_located = take_up(door, &publisher, statement, place).await?;
                if let (true, LogEntry::Rotation(rotation)) = (is_located, entry) {
                    let old = rotation.value().old;
                    let mut at = 0;
                    while at < from {
                        let page = stored(premises, &publisher, at, from).await?;
                        if page.is_empty() {
                            break;
                        }
                        look_again(premises, door, &old, &publisher, at, &page, &state.certificate).await?;
                        at += page.len() as u64;
                    }
                    let before = &entries[..usize::try_from(index - from).unwrap_or(usize::MAX).min(entries.len())];
                    look_again(premises, door, &old, &publisher, from, before, &state.certificate).await?;
                }
            }
            Err(error) => tracing::debug!(%publisher, index, %error, "an entry that is not understood here"),
        }
    }
    Ok(())
}

/// Applies what is held of others' logs once more. What was applied stays as it is; what was refused is judged by what is
/// trusted now.
pub(super) async fn apply_held(premises: &Arc<Premises>, door: &Door<Verification>) -> Result<(), NodeError> {
    let own = premises.node();
    let heads = {
        let premises = premises.clone();
        blocking(move || Ok(kept::log_heads(&premises.store, &own)?)).await?
    };
    for state in heads.into_iter().map(|head| head.state).filter(|state| state.publisher != own) {
        let mut at = 0;
        while at < state.range.size() {
            let page = stored(premises, &state.publisher, at, state.range.size()).await?;
            if page.is_empty() {
                break;
            }
            apply(premises, door, at, &page, &state).await?;
            at += page.len() as u64;
        }
    }
    Ok(())
}

/// What a certificate says of the roots of its organisation.
pub(super) async fn learn(
    premises: &Arc<Premises>,
    door: &Door<Verification>,
    certificate: &Signed<Certificate>,
) -> Result<(), NodeError> {
    for rotation in certificate.value().rotations().unwrap_or_default() {
        if !premises.roots().history.has(&rotation) {
            take_up(door, &certificate.value().node, Statement::Rotation(Box::new(rotation)), Place::Shown).await?;
        }
    }
    Ok(())
}

/// Whether the statement is now known where this log has it.
async fn take_up(
    door: &Door<Verification>,
    publisher: &NodeId,
    statement: Statement,
    place: Place,
) -> Result<bool, NodeError> {
    let ask = TakeUp { by: publisher.to_string(), statement, place, admitted: Vec::new(), is_ours: false };
    match door.ask(ask, crate::DEADLINE).await {
        Ok(taken) => Ok(taken.is_located),
        Err(NodeError::Denied(reason)) => {
            tracing::warn!(%publisher, reason, "a statement was not taken up");
            Ok(false)
        }
        Err(error) => Err(error),
    }
}

async fn apply_notice(
    premises: &Arc<Premises>,
    door: &Door<Verification>,
    notice: Signed<plumb_core::notice::Notice>,
    certificate: &Signed<Certificate>,
    place: Place,
    is_open: bool,
) -> Result<(), NodeError> {
    let known = {
        let (premises, cid) = (premises.clone(), notice.cid());
        blocking(move || Ok(kept::notice(&premises.store, &cid)?)).await?
    };
    if known.is_some_and(|kept| kept.is_open || !is_open) {
        return Ok(());
    }
    let certificate = Some(Box::new(certificate.clone()));
    let ask = ApplyNotice { notice: Box::new(notice), certificate, place, is_open };
    match door.ask(ask, crate::DEADLINE).await {
        Ok(_) => Ok(()),
        Err(NodeError::Denied(reason)) => {
            tracing::warn!(?place, reason, "a notice was not applied");
            Ok(())
        }
        Err(error) => Err(error),
    }
}

/// Applies a sealed notice if anything that it names is held here, and lays it up if not.
async fn apply_sealed(
    premises: &Arc<Premises>,
    door: &Door<Verification>,
    at: SealedAt,
    sealed: SealedNotice,
    certificate: &Signed<Certificate>,
) -> Result<(), NodeError> {
    let sealed = Arc::new(sealed);
    let known = {
        let (premises, cid) = (premises.clone(), sealed.notice);
        blocking(move || Ok(kept::notice(&premises.store, &cid)?)).await?
    };
    if known.is_some() {
        return Ok(());
    }
    let taken = {
        let (premises, sealed) = (premises.clone(), sealed.clone());
        blocking(move || take_sealed(&premises, at, &sealed)).await?
    };
    let Some(notice) = taken else { return Ok(()) };
    let place = Place::Logged { publisher: at.publisher, index: at.index };
    apply_notice(premises, door, notice, certificate, place, false).await?;
    let premises = premises.clone();
    blocking(move || take_down(&premises, at, &sealed)).await
}

/// Entries that are looked at again together.
const PAGE: u64 = 256;

/// A page of the stored entries in front of `end`.
async fn stored(premises: &Arc<Premises>, publisher: &NodeId, at: u64, end: u64) -> Result<Vec<Vec<u8>>, NodeError> {
    let n = usize::try_from((end - at).min(PAGE)).unwrap_or(usize::MAX);
    let (premises, publisher) = (premises.clone(), *publisher);
    blocking(move || Ok(kept::entries(&premises.store, &premises.node(), &publisher, at, n)?)).await
}

/// The rotation of a root was known from elsewhere before it was known where this log has it. What the root signed and
/// stands in front of it there was refused then, and counts after all.
async fn look_again(
    premises: &Arc<Premises>,
    door: &Door<Verification>,
    old: &PublicKey,
    publisher: &NodeId,
    from: u64,
    entries: &[Vec<u8>],
    certificate: &Signed<Certificate>,
) -> Result<(), NodeError> {
    for (entry, index) in entries.iter().zip(from..) {
        let place = Place::Logged { publisher: *publisher, index };
        match LogEntry::decode(entry) {
            Ok(LogEntry::Notice(notice)) if notice.signer() == old => {
                apply_notice(premises, door, notice, certificate, place, true).await?;
            }
            Ok(LogEntry::Sealed(sealed)) => {
                let at = SealedAt { publisher: *publisher, index };
                apply_sealed(premises, door, at, sealed, certificate).await?;
            }
            Ok(LogEntry::Revocation(revocation)) if revocation.signer() == old => {
                take_up(door, publisher, Statement::Revocation(Box::new(revocation)), place).await?;
            }
            _ => {}
        }
    }
    Ok(())
}
