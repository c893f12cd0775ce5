//! Notices as an operator sees them.

use cid::Cid;
use plumb_core::identity::Signed;
use plumb_core::notice::{Acknowledgement, Notice};

use super::{AppliedView, NoticeView, ObligationView, TargetView};
use crate::error::NodeError;
use crate::kept::{self, Obligation};
use crate::premises::Premises;

/// A notice with its obligations.
pub(super) fn view(premises: &Premises, cid: &Cid) -> Result<NoticeView, NodeError> {
    if let Some(kept) = kept::notice(&premises.store, cid)? {
        let applied = AppliedView { at: kept.applied_at.to_string(), units: kept.n_units, answers: kept.n_answers };
        return of(premises, &kept.open()?, Some(applied), None);
    }
    let refused = kept::refused(&premises.store, cid)?.ok_or_else(|| NodeError::NotFound(cid.to_string()))?;
    of(premises, &refused.open()?, None, Some(refused.reason))
}

fn of(
    premises: &Premises,
    signed: &Signed<Notice>,
    applied: Option<AppliedView>,
    refused: Option<String>,
) -> Result<NoticeView, NodeError> {
    let (cid, notice) = (&signed.cid(), signed.value());
    let mut targets = Vec::new();
    for target in &notice.targets {
        let title = kept::source(&premises.store, target)?.map(|row| row.title);
        targets.push(TargetView { source: target.to_string(), title });
    }
    let mut receipts = Vec::new();
    for (holder, obligation) in kept::obligations(&premises.store, cid)? {
        receipts.push(receipt(&holder.to_string(), &obligation));
    }
    Ok(NoticeView {
        notice: cid.to_string(),
        kind: notice.kind.as_str().to_string(),
        reason: notice.reason.as_str().to_string(),
        note: notice.note.clone(),
        targets,
        publisher: notice.publisher.to_string(),
        signer: signed.signer().to_string(),
        issued_at: notice.issued_at.to_string(),
        undoes: notice.undoes.map(|u| u.to_string()),
        applied,
        refused,
        receipts,
    })
}

fn receipt(holder: &str, obligation: &Obligation) -> ObligationView {
    let acknowledgement =
        obligation.acknowledgement.as_ref().and_then(|bytes| Signed::<Acknowledgement>::from_bytes(bytes).ok());
    match acknowledgement {
        Some(signed) => ObligationView {
            holder: holder.to_string(),
            state: "acknowledged".to_string(),
            at: signed.value().at.to_string(),
            units: Some(signed.value().n_units),
            answers: Some(signed.value().n_answers),
        },
        None => ObligationView {
            holder: holder.to_string(),
            state: "open".to_string(),
            at: obligation.opened_at.to_string(),
            units: None,
            answers: None,
        },
    }
}
