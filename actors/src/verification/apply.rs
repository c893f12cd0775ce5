//! The cascade: what a notice changes here, in one transaction.

use std::collections::BTreeMap;

use cid::Cid;
use plumb_core::content::{Chunk, SourceRecord};
use plumb_core::identity::{NodeId, Signed};
use plumb_core::knowledge::UnitState;
use plumb_core::lifecycle::{Standing, fingerprint_of_chunk, may_become_active};
use plumb_core::measure::Timestamp;
use plumb_core::notice::{Effect, Notice};
use plumb_core::trust::{Authority, Certificate, Place};
use plumb_storage::{Blocks, Change, Records, StorageError, unit};

use super::closure;
use crate::error::NodeError;
use crate::grounding::APPEND_TRIES;
use crate::kept::{self, Facts, KeptEvent, KeptNotice, Obligation, RefusedNotice, SourceRow, SourceState};
use crate::premises::Premises;

use super::authority::{denied, judge};

/// By what right a notice is applied.
#[derive(Clone, Copy)]
pub(super) enum Right<'a> {
    /// Its signer has to be one who speaks for what it names.
    Issued {
        /// The certificate that came with it and is in order.
        shown: Option<&'a Signed<Certificate>>,
        /// Where it was found.
        place: Place,
        /// Whether everybody reads it there.
        is_open: bool,
    },
    /// This node decides for itself. The word says from where: `local:review`, `world:crossref`.
    Local(&'a str),
}

/// What else becomes true with a notice: the log entry that publishes it, or a row that remembers why it was made.
pub(super) type With<'a> = &'a dyn Fn(&mut Change) -> Result<(), NodeError>;

/// Applies a notice that arrived. One whose signer has no right to it changes nothing, and is kept to be shown.
pub(super) fn apply_arrived(
    premises: &Premises,
    signed: &Signed<Notice>,
    shown: Option<&Signed<Certificate>>,
    place: Place,
    is_open: bool,
) -> Result<KeptNotice, NodeError> {
    let applied = apply(premises, signed, "federation", Right::Issued { shown, place, is_open }, &|_| Ok(()));
    if let Err(NodeError::Denied(reason)) = &applied
        && kept::refused(&premises.store, &signed.cid())?.is_none()
    {
        let signer = signed.signer().to_string();
        let mut change = Change::new(premises.event(&signer, "notice.refuse", signed.cid(), "denied", reason));
        let refused = RefusedNotice { signed: signed.to_bytes(), at: premises.now(), reason: reason.clone() };
        if kept::put_refused(&premises.store, &mut change, &signed.cid(), &refused)? {
            premises.store.commit(change)?;
        }
    }
    applied
}

/// Applies a notice: one of ours, or one that arrived. A notice that was applied before is answered with what it
/// changed then.
pub(super) fn apply(
    premises: &Premises,
    signed: &Signed<Notice>,
    by: &str,
    right: Right<'_>,
    with: With<'_>,
) -> Result<KeptNotice, NodeError> {
    // What is taken in between looking for sources and barring their texts would stay active.
    let _guard = premises.ingest_lock();
    for _ in 0..APPEND_TRIES {
        let is_open = matches!(right, Right::Issued { is_open: true, .. });
        if let Some(kept) = kept::notice(&premises.store, &signed.cid())? {
            if is_open && !kept.is_open {
                // It was delivered, or opened, before it was found in the open.
                let mut change = Change::new(premises.event(by, "notice.open", signed.cid(), "ok", ""));
                kept::put_notice(&mut change, &signed.cid(), &KeptNotice { is_open, ..kept.clone() });
                premises.store.commit(change)?;
            }
            return Ok(kept);
        }
        signed.value().check().map_err(denied)?;
        let (authority, origin) = match right {
            Right::Issued { shown, place, .. } => (Some(judge(premises, signed, shown, place)?), None),
            Right::Local(origin) => (None, Some(origin)),
        };
        let (mut change, kept) = plan(premises, signed, by, authority, origin, is_open)?;
        with(&mut change)?;
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
    authority: Option<Authority>,
    origin: Option<&str>,
    is_open: bool,
) -> Result<(Change, KeptNotice), NodeError> {
    let (cid, notice, now) = (signed.cid(), signed.value(), premises.now());
    let is_local = origin.is_some();
    let facts = Facts { is_local, is_at_home: !is_local && notice.org == premises.org() };
    let mut targets: Vec<SourceRow> = Vec::new();
    for target in &notice.targets {
        let Some(row) = kept::source(&premises.store, target)? else { continue };
        if !is_local && (row.publisher != notice.publisher || row.org != notice.org) {
            return Err(denied(format!("{} published {target}, and {} did not", row.publisher, notice.publisher)));
        }
        targets.push(row);
    }
    let event = premises.event(
        by,
        "notice.apply",
        cid,
        "ok",
        format!("{}: {}{}", notice.kind.as_str(), notice.reason.as_str(), authority.map_or("", right)),
    );
    let mut change = Change::new(event);
    let (mut n_units, mut events) = (0, Vec::new());
    let mut standing: BTreeMap<Cid, Vec<Standing>> = BTreeMap::new();
    for target in &notice.targets {
        standing.insert(*target, kept::standing_with(&premises.store, target, signed, facts)?);
    }
    for row in targets {
        let against = standing.get(&row.record).map(Vec::as_slice).unwrap_or_default();
        n_units += change_source(premises, &mut change, row, signed, against, by, &mut events)?;
    }
    let n_answers = flag_answers(premises, &mut change, signed, &standing, by, &mut events)?;
    // What this node decided for itself is nobody else's to apply.
    if !is_local {
        for (holder, obligation) in owed(premises, signed, now)? {
            kept::put_obligation(&mut change, &cid, &holder, &obligation);
        }
    }
    kept::put_events(&premises.store, &mut change, &events)?;
    let kept = KeptNotice {
        signed: signed.to_bytes(),
        applied_at: now,
        n_units,
        n_answers,
        origin: origin.map(str::to_string),
        is_at_home: facts.is_at_home,
        is_open,
    };
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
    standing: &[Standing],
    by: &str,
    events: &mut Vec<KeptEvent>,
) -> Result<u64, NodeError> {
    let counting: Vec<&Standing> = standing.iter().filter(|s| s.counts_for(&row.publisher, &row.org)).collect();
    let withdraws = |s: &&&Standing| s.effect == Effect::Withdraw;
    let whole = counting.iter().filter(withdraws).find(|s| s.chunks.is_empty()).map(|s| s.notice);
    let state = match (&row.state, whole) {
        // A superseded version stays so, and a removed one, whatever is said of it.
        (SourceState::Superseded(newer), _) => SourceState::Superseded(*newer),
        (SourceState::Removed(texts), _) => SourceState::Removed(texts.clone()),
        (_, Some(notice)) => SourceState::Retracted(notice),
        (_, None) => SourceState::Active,
    };
    let audience = counting.iter().filter(|s| s.effect == Effect::Narrow).filter_map(|s| s.audience).max();
    row.sensitivity = row.sensitivity.max(audience.unwrap_or(row.sensitivity));
    let named = &signed.value().chunks;
    let (mut n_units, mut n_withdrawn) = (0, 0);
    for chunk in &row.chunks {
        n_units += u64::from(named.is_empty() || named.contains(chunk));
        let Some(mut unit) = unit(&premises.store, chunk)? else { continue };
        let by_notice = counting.iter().filter(withdraws).find(|s| s.covers(chunk)).map(|s| s.notice);
        let next = match (&state, by_notice) {
            (SourceState::Superseded(by), _) => UnitState::Superseded { by: *by },
            (SourceState::Removed(_), _) => UnitState::Removed,
            (_, Some(notice)) => UnitState::Retracted { notice },
            // What its text keeps down is not brought up by a word about its name.
            (_, None) => match (&unit.state, barred_by_text(premises, &row, chunk, signed)?) {
                (UnitState::Retracted { .. }, Some(notice)) => UnitState::Retracted { notice },
                _ => UnitState::Active,
            },
        };
        n_withdrawn += usize::from(!matches!(next, UnitState::Active));
        let sensitivity = unit.sensitivity.max(audience.unwrap_or(unit.sensitivity));
        if unit.state != next || unit.sensitivity != sensitivity {
            (unit.state, unit.sensitivity) = (next, sensitivity);
            change.put_unit(&unit);
        }
    }
    let effect = closure::effect_of(signed.value(), standing);
    change.audit(premises.event(
        by,
        format!("source.{}", effect.as_str()).as_str(),
        row.record,
        "ok",
        format!("notice {}", signed.cid()),
    ));
    events.push(KeptEvent {
        notice: signed.cid(),
        what: "source".to_string(),
        subject: row.record,
        claim: None,
        state: match &state {
            SourceState::Superseded(_) => "superseded",
            SourceState::Removed(_) => "removed",
            SourceState::Retracted(_) => "withdrawn",
            SourceState::Active if n_withdrawn > 0 => "withdrawn_in_part",
            SourceState::Active if audience.is_some() => "narrowed",
            SourceState::Active if counting.iter().any(|s| s.effect == Effect::Caution) => "caution",
            SourceState::Active => "active",
        }
        .to_string(),
        at: premises.now(),
    });
    row.state = state;
    kept::retitle(change, &row);
    Ok(n_units)
}

/// The notice that withdraws a chunk by its text or by that of its source, once one that arrives is counted too.
fn barred_by_text(
    premises: &Premises,
    row: &SourceRow,
    chunk: &Cid,
    arriving: &Signed<Notice>,
) -> Result<Option<Cid>, NodeError> {
    let record: Option<SourceRecord> = premises.store.block(&row.record)?.and_then(|block| block.decode().ok());
    let text: Option<Chunk> = premises.store.block(chunk)?.and_then(|block| block.decode().ok());
    let texts = [record.map(|record| record.fingerprint), text.and_then(|chunk| fingerprint_of_chunk(&chunk.text))];
    let mut by_text = Vec::new();
    for text in texts.into_iter().flatten() {
        by_text.extend(kept::standing_by_text(&premises.store, &text)?);
    }
    // A reinstatement that is being applied lifts its notice already.
    by_text.retain(|standing| Some(standing.notice) != arriving.value().undoes);
    Ok(may_become_active(&[], &by_text, &row.publisher, &row.org).err())
}

/// Flags every saved answer that rests on what the notice names. Returns how many.
fn flag_answers(
    premises: &Premises,
    change: &mut Change,
    signed: &Signed<Notice>,
    standing: &BTreeMap<Cid, Vec<Standing>>,
    by: &str,
    events: &mut Vec<KeptEvent>,
) -> Result<u64, NodeError> {
    let named = &signed.value().chunks;
    let mut flagged = BTreeMap::new();
    for target in &signed.value().targets {
        for answer in kept::answers_citing(&premises.store, target)? {
            // Of a source that is withdrawn in part, an answer that rests on the other part is not touched.
            if named.is_empty() || answer.chunks.iter().any(|chunk| named.contains(chunk)) {
                flagged.entry(answer.bundle).or_insert(answer);
            }
        }
    }
    let n = flagged.len() as u64;
    for (bundle, mut answer) in flagged {
        answer.notices.push(signed.cid());
        let narrowed = standing.values().flatten().filter(|s| s.effect == Effect::Narrow).filter_map(|s| s.audience);
        answer.sensitivity = narrowed.fold(answer.sensitivity, |label, audience| label.max(audience));
        kept::update_answer(change, &answer);
        change.audit(premises.event(by, "answer.flag", bundle, "ok", format!("notice {}", signed.cid())));
        closure::tell(premises, signed.cid(), &answer, standing, events)?;
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
                owed.insert(holder, Obligation::opened(now));
            }
        }
    }
    Ok(owed)
}
