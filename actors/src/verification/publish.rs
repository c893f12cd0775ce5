//! Publishing a notice: built, signed, logged and applied here in one transaction.
//!
//! About what others published this node has no word to publish. Its operator may revoke it here all the same: such a
//! notice is local, counts in this node alone, and goes into no log.

use std::collections::BTreeSet;

use cid::Cid;
use plumb_core::boundary::Sensitivity;
use plumb_core::content::{Chunk, Fingerprint, RawBlock, SourceRecord, parse_cid};
use plumb_core::identity::{NodeId, OrgId, Signed};
use plumb_core::lifecycle::{fingerprint_of_chunk, fingerprints_of};
use plumb_core::notice::{FINGERPRINTS_MAX, Notice, NoticeKind, NoticeTag, Reason};
use plumb_core::trust::Place;
use plumb_federation::wire::log_entry::LogEntry;
use plumb_storage::Blocks;

use super::apply::{Right, apply};
use super::{PublishNotice, sealed};
use crate::caller::Caller;
use crate::error::NodeError;
use crate::ingestion::find_sources;
use crate::kept::{self, SourceRow, SourceState};
use crate::premises::Premises;

/// Where a local notice comes from that a person of this organisation decided on.
const REVIEW: &str = "local:review";

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
    let (notice, origin) = wanted(premises, ask, Speaker::Node)?;
    let signed = Signed::seal(notice, &premises.key)?;
    match origin {
        Some(origin) => {
            apply(premises, &signed, &ask.caller.label(), Right::Local(&origin), &|_| Ok(()))?;
            Ok(signed.cid())
        }
        None => publish_signed(premises, &ask.caller, &signed),
    }
}

/// Publishes a notice of this organisation: one of this node, or one that the root signed elsewhere.
pub(super) fn publish_signed(premises: &Premises, caller: &Caller, signed: &Signed<Notice>) -> Result<Cid, NodeError> {
    operators_only(caller)?;
    if signed.value().org != premises.org() {
        return Err(NodeError::Denied("a node publishes notices of its own organisation only".to_string()));
    }
    let is_secret = sealed::is_secret(premises, signed.value())?;
    let entries = [if is_secret { sealed::entry_of(signed)? } else { LogEntry::Notice(signed.clone()).encode() }];
    let (key, certificate, now) = (&premises.key, &premises.certificate, premises.now());
    let right = Right::Issued { shown: Some(certificate), place: Place::Shown, is_open: !is_secret };
    apply(premises, signed, &caller.label(), right, &|change| {
        if is_secret {
            sealed::owe_at_home(premises, change, &signed.cid())?;
        }
        kept::append_own(&premises.store, change, key, certificate, &entries, now)
    })?;
    Ok(signed.cid())
}

fn operators_only(caller: &Caller) -> Result<(), NodeError> {
    if caller.operator {
        return Ok(());
    }
    Err(NodeError::Denied("only the operator of a node speaks for it; ask on its own machine".to_string()))
}

/// A notice as the root of the organisation is to sign it.
pub(super) fn draft_for_root(premises: &Premises, ask: &PublishNotice) -> Result<Notice, NodeError> {
    match wanted(premises, ask, Speaker::Root)? {
        (notice, None) => Ok(notice),
        (_, Some(_)) => Err(NodeError::Denied(
            "the root speaks for what nodes of its organisation published, and this is another's".to_string(),
        )),
    }
}

/// A notice as it is to be signed, and from where it comes if it is local.
fn wanted(premises: &Premises, ask: &PublishNotice, speaker: Speaker) -> Result<(Notice, Option<String>), NodeError> {
    operators_only(&ask.caller)?;
    if ask.reason == Reason::NotStated {
        return Err(NodeError::Invalid("whoever takes something back says why; give another reason".to_string()));
    }
    let mut notice = draft(premises, ask.kind, ask.reason, ask.note.clone());
    let origin = if ask.kind == NoticeKind::Reinstatement {
        reinstate(premises, ask, speaker, &mut notice)?
    } else {
        withdraw(premises, ask, speaker, &mut notice)?
    };
    notice.check().map_err(|e| NodeError::Invalid(e.to_string()))?;
    Ok((notice, origin))
}

/// Whether whoever is to sign may speak of what a node published.
fn may_speak(premises: &Premises, speaker: Speaker, publisher: &NodeId, org: &OrgId) -> bool {
    let own = *publisher == premises.node();
    match speaker {
        Speaker::Node => own || premises.certificate.value().succeeds.contains(publisher),
        Speaker::Root => own || *org == premises.org(),
    }
}

/// A notice of this node that names nothing yet.
pub(super) fn draft(premises: &Premises, kind: NoticeKind, reason: Reason, note: String) -> Notice {
    Notice {
        tag: NoticeTag,
        kind,
        reason,
        note,
        targets: Vec::new(),
        fingerprints: Vec::new(),
        undoes: None,
        chunks: Vec::new(),
        superseded_by: None,
        audience: None,
        publisher: premises.node(),
        org: premises.org(),
        issued_at: premises.now(),
    }
}

/// Fills in a reinstatement. A local notice is undone as locally as it was made.
fn reinstate(
    premises: &Premises,
    ask: &PublishNotice,
    speaker: Speaker,
    notice: &mut Notice,
) -> Result<Option<String>, NodeError> {
    let [name] = ask.targets.as_slice() else {
        return Err(NodeError::Invalid("a reinstatement undoes one notice; name it by its CID".to_string()));
    };
    let absent = || NodeError::NotFound(name.clone());
    let undone = parse_cid(name).map_err(|_| absent())?;
    let kept = kept::notice(&premises.store, &undone)?.ok_or_else(absent)?;
    let signed = kept.open()?;
    // What this node decided for itself stands in its own name.
    if kept.origin.is_none() && !may_speak(premises, speaker, &signed.value().publisher, &signed.value().org) {
        return Err(NodeError::Denied(format!("notice {undone} is not of this node, so this node cannot undo it")));
    }
    notice.publisher = signed.value().publisher;
    notice.targets = signed.value().targets.clone();
    notice.undoes = Some(undone);
    Ok(kept.origin)
}

/// Fills in a notice about sources. Gives from where it comes, if it is local.
fn withdraw(
    premises: &Premises,
    ask: &PublishNotice,
    speaker: Speaker,
    notice: &mut Notice,
) -> Result<Option<String>, NodeError> {
    let mut rows = Vec::new();
    for name in &ask.targets {
        rows.push(the_source(premises, name)?);
    }
    let n_foreign = rows.iter().filter(|row| !may_speak(premises, speaker, &row.publisher, &row.org)).count();
    if n_foreign > 0 && n_foreign < rows.len() {
        return Err(NodeError::Invalid(
            "some of these are of this node and some of others; what others published is revoked here alone, so name \
             them in two commands"
                .to_string(),
        ));
    }
    if n_foreign == 0 {
        let publishers: BTreeSet<NodeId> = rows.iter().map(|row| row.publisher).collect();
        if publishers.len() > 1 {
            return Err(NodeError::Invalid(
                "the sources have several publishers; publish a notice for each of them".to_string(),
            ));
        }
        notice.publisher = publishers.first().copied().unwrap_or(notice.publisher);
    }
    notice.superseded_by = match &ask.superseded_by {
        Some(name) => Some(the_source(premises, name)?.record),
        None => None,
    };
    if ask.kind == NoticeKind::Narrowing {
        notice.audience = Some(ask.audience.unwrap_or(Sensitivity::Internal));
    } else {
        notice.audience = ask.audience;
    }
    if notice.audience == Some(Sensitivity::Public) {
        return Err(NodeError::Invalid("a narrowing makes a source less than public".to_string()));
    }
    let strange = ask.chunks.iter().find(|chunk| !rows.iter().any(|row| row.chunks.contains(chunk)));
    if let Some(chunk) = strange {
        return Err(NodeError::Invalid(format!("chunk {chunk} is no part of what the notice names")));
    }
    notice.chunks = ask.chunks.iter().copied().collect::<BTreeSet<_>>().into_iter().collect();
    let mut fingerprints = BTreeSet::new();
    for row in &rows {
        fingerprints.extend(texts_of(premises, row, &notice.chunks)?);
    }
    if fingerprints.len() > FINGERPRINTS_MAX {
        return Err(NodeError::Invalid(format!(
            "the sources have {} chunks together, and one notice carries {FINGERPRINTS_MAX}; publish several notices",
            fingerprints.len()
        )));
    }
    notice.targets = rows.iter().map(|row| row.record).collect::<BTreeSet<_>>().into_iter().collect();
    notice.fingerprints = fingerprints.into_iter().collect();
    Ok((n_foreign > 0).then(|| REVIEW.to_string()))
}

/// The one source of a name.
fn the_source(premises: &Premises, name: &str) -> Result<SourceRow, NodeError> {
    let mut rows = find_sources(premises, name)?;
    match rows.as_slice() {
        [] => Err(NodeError::NotFound(name.to_string())),
        [_] => Ok(rows.swap_remove(0)),
        [first, second, ..] => Err(NodeError::Invalid(format!(
            "`{name}` names several sources, among them {} and {}; give the CID or the whole address",
            first.address, second.address
        ))),
    }
}

/// The fingerprints of a source's text and of its chunks; of some chunks alone, if only those are withdrawn.
pub(crate) fn texts_of(premises: &Premises, row: &SourceRow, named: &[Cid]) -> Result<Vec<Fingerprint>, NodeError> {
    if let SourceState::Removed(texts) = &row.state {
        return match named {
            [] => Ok(texts.clone()),
            _ => Err(NodeError::Invalid(format!(
                "{} was removed here, so its parts are not told apart any more; take back the whole",
                row.record
            ))),
        };
    }
    let block = |cid: &Cid| -> Result<RawBlock, NodeError> {
        premises.store.block(cid)?.ok_or_else(|| NodeError::Damaged(format!("block {cid} is missing")))
    };
    let chunk = |cid: &Cid| -> Result<Chunk, NodeError> { Ok(block(cid)?.decode()?) };
    if !named.is_empty() {
        let chunks = row.chunks.iter().filter(|c| named.contains(c)).map(chunk).collect::<Result<Vec<_>, _>>()?;
        return Ok(chunks.iter().filter_map(|c| fingerprint_of_chunk(&c.text)).collect());
    }
    let record: SourceRecord = block(&row.record)?.decode()?;
    let chunks = row.chunks.iter().map(chunk).collect::<Result<Vec<_>, _>>()?;
    Ok(fingerprints_of(record.fingerprint, &chunks))
}
