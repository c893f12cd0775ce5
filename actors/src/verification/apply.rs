//! The cascade: what a notice changes here, in one transaction.

use std::collections::BTreeMap;

use plumb_core::identity::{NodeId, Signed};
use plumb_core::knowledge::UnitState;
use plumb_core::lifecycle::Standing;
use plumb_core::measure::Timestamp;
use plumb_core::notice::{Effect, Notice};
use plumb_core::trust::{Authority, Certificate, Place};
use plumb_storage::{Change, Records, StorageError, unit};

use crate::error::NodeError;
use crate::grounding::APPEND_TRIES;
use crate::kept::{self, KeptNotice, Obligation, RefusedNotice, SourceRow, SourceState};
use crate::premises::Premises;

use super::authority::{denied, judge};

/// Applies a notice that arrived. One whose signer has no right to it changes nothing, and is kept to be shown.
pub(super) fn apply_arrived(
    premises: &Premises,
    signed: &Signed<Notice>,
    shown: Option<&Signed<Certificate>>,
    place: Place,
) -> Result<KeptNotice, NodeError> {
    let applied = apply(premises, signed, "federation", shown, place, None);
    if let Err(NodeError::Denied(reason)) = &applied
        && kept::refused(&premises.store, &signed.cid())?.is_none()
    {
        let signer = signed.signer().to_string();
        let mut change = Change::new(premises.event(&signer, "notice.refuse", signed.cid(), "denied", reason));
        let refused = RefusedNotice { signed: signed.to_bytes(), at: premises.now(), reason: reason.clone() };
        kept::put_refused(&premises.store, &mut change, &signed.cid(), &refused)?;
        premises.store.commit(change)?;
    }
    applied
}

/// Applies a notice: ours with the log entry that publishes it, or one that arrived. A notice that was applied before
/// is answered with what it changed then.
pub(super) fn apply(
    premises: &Premises,
    signed: &Signed<Notice>,
    by: &str,
    shown: Option<&Signed<Certificate>>,
    place: Place,
    log_entry: Option<&[u8]>,
) -> Result<KeptNotice, NodeError> {
    for _ in 0..APPEND_TRIES {
        if let Some(kept) = kept::notice(&premises.store, &signed.cid())? {
            return Ok(kept);
        }
        signed.value().check().map_err(denied)?;
        let authority = judge(premises, signed, shown, place)?;
        let (mut change, kept) = plan(premises, signed, by, authority)?;
        if let Some(entry) = log_entry {
            let entries = [entry.to_vec()];
            let (key, certificate) = (&premises.key, &premises.certificate);
            kept::append_own(&premises.store, &mut change, key, certificate, &entries, kept.applied_at)?;
        }
        match premises.store.commit(change) {
            Ok(position) => {
                // A reader who knows of the notice must not find what it withdrew.
                premises.index.flush_to(position)?;
                return Ok(kept);
            }
            Err(StorageError::Conflict { .. }) => continue,
            Err(error) => return Err(error.into()),
        }
    }
    Err(NodeError::Busy { retry_after: crate::door::RETRY_AFTER })
}

/// The transaction that applying a notice is.
fn plan(
    premises: &Premises,
    signed: &Signed<Notice>,
    by: &str,
    authority: Authority,
) -> Result<(Change, KeptNotice), NodeError> {
    let (cid, notice, now) = (signed.cid(), signed.value(), premises.now());
    let mut targets: Vec<SourceRow> = Vec::new();
    for target in &notice.targets {
        let Some(row) = kept::source(&premises.store, target)? else { continue };
        if row.publisher != notice.publisher || row.org != notice.org {
            return Err(denied(format!("{} published {target}, and {} did not", row.publisher, notice.publisher)));
        }
        targets.push(row);
    }
    let event = premises.event(
        by,
        "notice.apply",
        cid,
        "ok",
        format!("{}: {}{}", notice.kind.as_str(), notice.reason.as_str(), right(authority)),
    );
    let mut change = Change::new(event);
    let mut n_units = 0;
    for row in targets {
        n_units += change_source(premises, &mut change, row, signed, by)?;
    }
    let n_answers = flag_answers(premises, &mut change, signed, by)?;
    for (holder, obligation) in owed(premises, signed, now)? {
        kept::put_obligation(&mut change, &cid, &holder, &obligation);
    }
    let kept = KeptNotice { signed: signed.to_bytes(), applied_at: now, n_units, n_answers };
    kept::put_notice(&mut change, &cid, &kept);
    kept::forget_refused(&mut change, &cid);
    kept::bar(&mut change, &cid, notice);
    // Two actors may apply the same notice at once; one of them finds it applied.
    change.expect_absent(plumb_storage::Keyspace::Notices, &kept::notice_key(&cid));
    Ok((change, kept))
}

fn right(authority: Authority) -> &'static str {
    match authority {
        Authority::Publisher => "",
        Authority::Successor => ", by the publisher's successor",
        Authority::Root => ", by the organisation's root",
    }
}

/// Changes one source and its units. Returns how many units the notice concerns.
fn change_source(
    premises: &Premises,
    change: &mut Change,
    mut row: SourceRow,
    signed: &Signed<Notice>,
    by: &str,
) -> Result<u64, NodeError> {
    let standing = kept::standing_with(&premises.store, &row.record, signed)?;
    let speaks = |s: &&Standing| s.effect == Effect::Withdraw && s.speaks_of(&row.publisher, Some(&row.org));
    let withdrawn = standing.iter().find(speaks).map(|s| s.notice);
    let state = match (&row.state, withdrawn) {
        // A superseded version stays so, whatever is said of it.
        (SourceState::Superseded(newer), _) => SourceState::Superseded(*newer),
        (_, Some(notice)) => SourceState::Retracted(notice),
        (_, None) => SourceState::Active,
    };
    for chunk in &row.chunks {
        let Some(mut unit) = unit(&premises.store, chunk)? else { continue };
        let next = match &state {
            SourceState::Active => UnitState::Active,
            SourceState::Retracted(notice) => UnitState::Retracted { notice: *notice },
            SourceState::Superseded(by) => UnitState::Superseded { by: *by },
        };
        if unit.state != next {
            unit.state = next;
            change.put_unit(&unit);
        }
    }
    let what = match signed.value().kind.effect() {
        Effect::Withdraw => "source.withdraw",
        Effect::Caution => "source.caution",
        Effect::Restore => "source.restore",
    };
    change.audit(premises.event(by, what, row.record, "ok", format!("notice {}", signed.cid())));
    let n_units = row.chunks.len() as u64;
    row.state = state;
    kept::retitle(change, &row);
    Ok(n_units)
}

/// Flags every saved answer that rests on what the notice names. Returns how many.
fn flag_answers(premises: &Premises, change: &mut Change, signed: &Signed<Notice>, by: &str) -> Result<u64, NodeError> {
    let mut flagged = BTreeMap::new();
    for target in &signed.value().targets {
        for answer in kept::answers_citing(&premises.store, target)? {
            flagged.entry(answer.bundle).or_insert(answer);
        }
    }
    let n = flagged.len() as u64;
    for (bundle, mut answer) in flagged {
        answer.notices.push(signed.cid());
        kept::update_answer(change, &answer);
        change.audit(premises.event(by, "answer.flag", bundle, "ok", format!("notice {}", signed.cid())));
    }
    Ok(n)
}

/// Whoever is known to hold what the notice names, and has not been written down yet.
fn owed(
    premises: &Premises,
    signed: &Signed<Notice>,
    now: Timestamp,
) -> Result<BTreeMap<NodeId, Obligation>, NodeError> {
    let mut owed = BTreeMap::new();
    for target in &signed.value().targets {
        for holder in kept::holders(&premises.store, target)? {
            if holder != premises.node() && holder != *signed.signer() {
                owed.insert(holder, Obligation { opened_at: now, acknowledgement: None });
            }
        }
    }
    Ok(owed)
}
