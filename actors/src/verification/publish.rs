//! Publishing a notice: built, signed, logged and applied here in one transaction.

use std::collections::BTreeSet;

use cid::Cid;
use plumb_core::content::{Chunk, RawBlock, SourceRecord, parse_cid};
use plumb_core::identity::{NodeId, OrgId, Signed};
use plumb_core::lifecycle::fingerprints_of;
use plumb_core::notice::{FINGERPRINTS_MAX, Notice, NoticeKind, NoticeTag};
use plumb_core::trust::Place;
use plumb_federation::wire::log_entry::LogEntry;
use plumb_storage::Blocks;

use super::PublishNotice;
use super::apply::apply;
use crate::caller::Caller;
use crate::error::NodeError;
use crate::ingestion::find_sources;
use crate::kept::{self, SourceRow};
use crate::premises::Premises;

/// In whose name a notice is to be signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Speaker {
    /// This node's: for what it published itself, and what those published whom it succeeds.
    Node,
    /// The root of its organisation: for what any of its nodes published.
    Root,
}

/// Publishes. Returns the notice's name.
pub(super) fn publish(premises: &Premises, ask: &PublishNotice) -> Result<Cid, NodeError> {
    let notice = draft(premises, ask, Speaker::Node)?;
    let signed = Signed::seal(notice, &premises.key)?;
    publish_signed(premises, &ask.caller, &signed)
}

/// Publishes a notice that the root of the organisation signed elsewhere.
pub(super) fn publish_signed(premises: &Premises, caller: &Caller, signed: &Signed<Notice>) -> Result<Cid, NodeError> {
    operators_only(caller)?;
    if signed.value().org != premises.org() {
        return Err(NodeError::Denied("a node publishes notices of its own organisation only".to_string()));
    }
    let entry = LogEntry::Notice(signed.clone()).encode();
    apply(premises, signed, &caller.label(), Some(&premises.certificate), Place::Shown, Some(&entry))?;
    Ok(signed.cid())
}

fn operators_only(caller: &Caller) -> Result<(), NodeError> {
    if caller.operator {
        return Ok(());
    }
    Err(NodeError::Denied("only the operator of a node speaks for it; ask on its own machine".to_string()))
}

/// A notice as it is to be signed.
pub(super) fn draft(premises: &Premises, ask: &PublishNotice, speaker: Speaker) -> Result<Notice, NodeError> {
    operators_only(&ask.caller)?;
    let mut notice = Notice {
        tag: NoticeTag,
        kind: ask.kind,
        reason: ask.reason,
        note: ask.note.clone(),
        targets: Vec::new(),
        fingerprints: Vec::new(),
        undoes: None,
        publisher: premises.node(),
        org: premises.org(),
        issued_at: premises.now(),
    };
    if ask.kind == NoticeKind::Reinstatement {
        reinstate(premises, ask, speaker, &mut notice)?;
    } else {
        withdraw(premises, ask, speaker, &mut notice)?;
    }
    notice.check().map_err(|e| NodeError::Invalid(e.to_string()))?;
    Ok(notice)
}

/// Whether whoever is to sign may speak of what a node published.
fn may_speak(premises: &Premises, speaker: Speaker, publisher: &NodeId, org: &OrgId) -> bool {
    let own = *publisher == premises.node();
    match speaker {
        Speaker::Node => own || premises.certificate.value().succeeds.contains(publisher),
        Speaker::Root => own || *org == premises.org(),
    }
}

fn reinstate(premises: &Premises, ask: &PublishNotice, speaker: Speaker, notice: &mut Notice) -> Result<(), NodeError> {
    let [name] = ask.targets.as_slice() else {
        return Err(NodeError::Invalid("a reinstatement undoes one notice; name it by its CID".to_string()));
    };
    let absent = || NodeError::NotFound(name.clone());
    let undone = parse_cid(name).map_err(|_| absent())?;
    let kept = kept::notice(&premises.store, &undone)?.ok_or_else(absent)?;
    let signed = kept.open()?;
    if !may_speak(premises, speaker, &signed.value().publisher, &signed.value().org) {
        return Err(NodeError::Denied(format!("notice {undone} is not of this node, so this node cannot undo it")));
    }
    notice.publisher = signed.value().publisher;
    notice.targets = signed.value().targets.clone();
    notice.undoes = Some(undone);
    Ok(())
}

fn withdraw(premises: &Premises, ask: &PublishNotice, speaker: Speaker, notice: &mut Notice) -> Result<(), NodeError> {
    let mut targets = BTreeSet::new();
    let mut fingerprints = BTreeSet::new();
    let mut publishers = BTreeSet::new();
    for name in &ask.targets {
        let rows = find_sources(premises, name)?;
        let row = match rows.as_slice() {
            [] => return Err(NodeError::NotFound(name.clone())),
            [row] => row,
            [first, second, ..] => {
                return Err(NodeError::Invalid(format!(
                    "`{name}` names several sources, among them {} and {}; give the CID or the whole address",
                    first.address, second.address
                )));
            }
        };
        if !may_speak(premises, speaker, &row.publisher, &row.org) {
            return Err(NodeError::Denied(format!(
                "`{}` was published by {}; only its publisher, its successor or the root of its organisation may issue \
                 a notice for it",
                row.address, row.publisher
            )));
        }
        publishers.insert(row.publisher);
        targets.insert(row.record);
        fingerprints.extend(texts_of(premises, row)?);
    }
    match publishers.into_iter().collect::<Vec<_>>().as_slice() {
        [publisher] => notice.publisher = *publisher,
        [] => {}
        [..] => {
            return Err(NodeError::Invalid(
                "the sources have several publishers; publish a notice for each of them".to_string(),
            ));
        }
    }
    if fingerprints.len() > FINGERPRINTS_MAX {
        return Err(NodeError::Invalid(format!(
            "the sources have {} chunks together, and one notice carries {FINGERPRINTS_MAX}; publish several notices",
            fingerprints.len()
        )));
    }
    notice.targets = targets.into_iter().collect();
    notice.fingerprints = fingerprints.into_iter().collect();
    Ok(())
}

/// The fingerprints of a source's text and of its chunks.
fn texts_of(premises: &Premises, row: &SourceRow) -> Result<Vec<plumb_core::content::Fingerprint>, NodeError> {
    let block = |cid: &Cid| -> Result<RawBlock, NodeError> {
        premises.store.block(cid)?.ok_or_else(|| NodeError::Damaged(format!("block {cid} is missing")))
    };
    let record: SourceRecord = block(&row.record)?.decode()?;
    let chunks = row.chunks.iter().map(|c| Ok(block(c)?.decode()?)).collect::<Result<Vec<Chunk>, NodeError>>()?;
    Ok(fingerprints_of(record.fingerprint, &chunks))
}
