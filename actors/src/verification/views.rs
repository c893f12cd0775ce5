//! Notices as their readers see them. What a reader may not read is neither named nor counted.

use std::collections::BTreeSet;

use cid::Cid;
use plumb_core::boundary::{Requester, readable};
use plumb_core::identity::{NodeId, Signed};
use plumb_core::notice::{Acknowledgement, Notice};
use plumb_storage::unit;

use super::{AppliedView, ListNotices, NoticeView, ObligationView, TargetView};
use crate::caller::Caller;
use crate::error::NodeError;
use crate::federation::PeersView;
use crate::kept::{self, KeptNotice, Obligation, RefusedNotice, SourceRow};
use crate::premises::Premises;

/// Notices that are looked at for a list.
const LIST_MAX: usize = 10_000;

/// The notices that the caller may know of, newest first.
pub(super) fn list(premises: &Premises, ask: &ListNotices) -> Result<Vec<NoticeView>, NodeError> {
    let reader = Reader::of(premises, &ask.caller)?;
    let mut views = Vec::new();
    for kept in kept::notices(&premises.store, LIST_MAX)? {
        if views.len() == ask.limit {
            break;
        }
        let cid = kept.open()?.cid();
        views.extend(reader.view(premises, &cid, &kept, None)?);
    }
    // What was refused may come from anybody who is admitted, and is the operator's to look at.
    if ask.caller.operator {
        for refused in kept::refused_notices(&premises.store)?.into_iter().take(ask.limit.saturating_sub(views.len())) {
            views.push(of_refused(&refused)?);
        }
    }
    Ok(views)
}

/// A notice; for the operator with its obligations.
pub(super) fn view(
    premises: &Premises,
    caller: &Caller,
    cid: &Cid,
    peers: Option<&PeersView>,
) -> Result<NoticeView, NodeError> {
    let absent = || NodeError::NotFound(cid.to_string());
    let reader = Reader::of(premises, caller)?;
    let Some(kept) = kept::notice(&premises.store, cid)? else {
        let refused = kept::refused(&premises.store, cid)?.filter(|_| caller.operator).ok_or_else(absent)?;
        return of_refused(&refused);
    };
    reader.view(premises, cid, &kept, peers)?.ok_or_else(absent)
}

/// A notice that changed nothing, because its signer had no right to it.
fn of_refused(refused: &RefusedNotice) -> Result<NoticeView, NodeError> {
    let signed = refused.open()?;
    let view = unapplied(&signed);
    Ok(NoticeView { refused: Some(refused.reason.clone()), ..view })
}

/// What a notice says of itself.
fn unapplied(signed: &Signed<Notice>) -> NoticeView {
    let notice = signed.value();
    let named = |source: &Cid| TargetView { source: source.to_string(), title: None };
    NoticeView {
        notice: signed.cid().to_string(),
        kind: notice.kind.as_str().to_string(),
        reason: notice.reason.as_str().to_string(),
        note: notice.note.clone(),
        origin: "publisher".to_string(),
        targets: notice.targets.iter().map(named).collect(),
        publisher: notice.publisher.to_string(),
        signer: signed.signer().to_string(),
        issued_at: notice.issued_at.to_string(),
        undoes: notice.undoes.map(|u| u.to_string()),
        chunks: notice.chunks.iter().map(ToString::to_string).collect(),
        superseded_by: notice.superseded_by.as_ref().map(named),
        audience: notice.audience.map(|a| a.to_string()),
        applied: None,
        refused: None,
        receipts: Vec::new(),
    }
}

/// A notice with everything in it, for whoever has just published it.
pub(super) fn whole(premises: &Premises, cid: &Cid) -> Result<NoticeView, NodeError> {
    let absent = || NodeError::NotFound(cid.to_string());
    let kept = kept::notice(&premises.store, cid)?.ok_or_else(absent)?;
    let reader = Reader { requester: None, sees_ledger: true };
    reader.view(premises, cid, &kept, None)?.ok_or_else(absent)
}

/// Who looks.
struct Reader {
    /// By whose rights; `None` sees everything.
    requester: Option<Requester>,
    /// Who holds what is the operator's to see.
    sees_ledger: bool,
}

impl Reader {
    fn of(premises: &Premises, caller: &Caller) -> Result<Reader, NodeError> {
        Ok(Reader { requester: Some(premises.requester(caller)?), sees_ledger: caller.operator })
    }

    /// Whether a source that is held here may be read.
    fn may_read(&self, premises: &Premises, row: &SourceRow) -> Result<bool, NodeError> {
        let Some(requester) = &self.requester else { return Ok(true) };
        let Some(first) = row.chunks.first() else { return Ok(false) };
        Ok(unit(&premises.store, first)?.is_some_and(|u| readable(requester, &u, premises.policy).is_ok()))
    }

    /// A target of a notice. `is_told` says that others published the notice for everybody.
    fn target(&self, premises: &Premises, source: &Cid, is_told: bool) -> Result<Option<TargetView>, NodeError> {
        let title = match kept::source(&premises.store, source)? {
            Some(row) if self.may_read(premises, &row)? => Some(row.title),
            Some(_) => return Ok(None),
            // Nothing of it is held here.
            None if is_told || self.requester.is_none() => None,
            None => return Ok(None),
        };
        Ok(Some(TargetView { source: source.to_string(), title }))
    }

    fn view(
        &self,
        premises: &Premises,
        cid: &Cid,
        kept: &KeptNotice,
        peers: Option<&PeersView>,
    ) -> Result<Option<NoticeView>, NodeError> {
        let signed = kept.open()?;
        let notice = signed.value();
        // What was sealed or delivered is the operator's, who keeps the text out by it.
        let is_told = notice.publisher != premises.node() && (kept.is_open || self.sees_ledger);
        let mut targets = Vec::new();
        for target in &notice.targets {
            targets.extend(self.target(premises, target, is_told)?);
        }
        if targets.is_empty() {
            return Ok(None);
        }
        // The note speaks of everything that the notice names.
        let sees_all = targets.len() == notice.targets.len();
        let superseded_by = match &notice.superseded_by {
            Some(newer) => self.target(premises, newer, is_told)?,
            None => None,
        };
        let mut receipts = Vec::new();
        if self.sees_ledger {
            for (holder, obligation) in kept::obligations(&premises.store, cid)? {
                receipts.push(receipt(premises, &holder, &obligation, peers)?);
            }
        }
        Ok(Some(NoticeView {
            note: if sees_all { notice.note.clone() } else { String::new() },
            origin: kept.origin.clone().unwrap_or_else(|| "publisher".to_string()),
            targets,
            chunks: if sees_all { notice.chunks.iter().map(ToString::to_string).collect() } else { Vec::new() },
            superseded_by,
            // Its counts take in answers of others, so they are the operator's to see.
            applied: (sees_all && self.sees_ledger).then(|| AppliedView {
                at: kept.applied_at.to_string(),
                units: kept.n_units,
                answers: kept.n_answers,
            }),
            receipts,
            ..unapplied(&signed)
        }))
    }
}

fn receipt(
    premises: &Premises,
    holder: &NodeId,
    obligation: &Obligation,
    peers: Option<&PeersView>,
) -> Result<ObligationView, NodeError> {
    let acknowledgement =
        obligation.acknowledgement.as_ref().and_then(|bytes| Signed::<Acknowledgement>::from_bytes(bytes).ok());
    let here: Option<BTreeSet<&str>> =
        peers.map(|peers| peers.peers.iter().filter(|p| p.state == "admitted").map(|p| p.node.as_str()).collect());
    let holder_name = holder.to_string();
    let (state, at) = match (&acknowledgement, &obligation.refused, obligation.silent_since) {
        (Some(signed), ..) => ("acknowledged", signed.value().at),
        (None, Some((at, _)), _) => ("refused", *at),
        (None, None, Some(since)) => ("silent", since),
        (None, None, None) => {
            let is_away = here.is_some_and(|here| !here.contains(holder_name.as_str()));
            (if is_away { "unreachable" } else { "open" }, obligation.opened_at)
        }
    };
    let head = kept::log_head(&premises.store, &premises.node(), holder)?;
    let known = peers.and_then(|peers| peers.peers.iter().find(|p| p.node == holder_name));
    let name = match (head, known) {
        (Some(head), _) => {
            let certified = head.state.certificate.value();
            Some(format!("{}, {}", certified.org_name, certified.department.slug()))
        }
        (None, Some(peer)) => peer.organisation.clone(),
        (None, None) => None,
    };
    let word = acknowledgement.as_ref().map(Signed::value);
    Ok(ObligationView {
        name,
        state: state.to_string(),
        at: at.to_string(),
        reason: obligation.refused.as_ref().filter(|_| state == "refused").map(|(_, reason)| reason.clone()),
        units: word.map(|w| w.n_units),
        answers: word.map(|w| w.n_answers),
        holder: holder_name,
    })
}
