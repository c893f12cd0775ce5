//! Saved answers: shown as they stand now, and given as files.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use actix::prelude::*;
use plumb_core::boundary::{Sensitivity, readable};
use plumb_core::content::SourceRecord;
use plumb_core::exchange::{Bundle, Form, Knowledge, Matter, SourceStatus, to_json, verify, write_car};
use plumb_core::notice::Effect;
use plumb_storage::{Blocks, Change, Records};

use super::{
    BundleView, ClaimStateView, ExportBundle, Grounding, ListAnswers, ListBundles, SavedAnswerView, ShowAnswer,
};
use crate::caller::Caller;
use crate::error::NodeError;
use crate::kept::{self, SavedAnswer};
use crate::premises::{Premises, blocking};
use crate::retrieval::{UnconfirmedView, unconfirmed_of};

/// Most saved answers that are listed at once.
const LIST_MAX: usize = 1000;

impl Handler<ListAnswers> for Grounding {
    type Result = ResponseFuture<Result<Vec<SavedAnswerView>, NodeError>>;

    fn handle(&mut self, ask: ListAnswers, _: &mut Context<Self>) -> Self::Result {
        let premises = self.premises.clone();
        Box::pin(blocking(move || {
            let mut views = Vec::new();
            for row in kept::answers(&premises.store, LIST_MAX)? {
                if views.len() < ask.limit && may_read(&premises, &ask.caller, &row)? {
                    views.push(view(&premises, &row)?);
                }
            }
            Ok(views)
        }))
    }
}

impl Handler<ShowAnswer> for Grounding {
    type Result = ResponseFuture<Result<SavedAnswerView, NodeError>>;

    fn handle(&mut self, ask: ShowAnswer, _: &mut Context<Self>) -> Self::Result {
        let premises = self.premises.clone();
        Box::pin(blocking(move || view(&premises, &find(&premises, &ask.caller, &ask.bundle)?)))
    }
}

impl Handler<ExportBundle> for Grounding {
    type Result = ResponseFuture<Result<Vec<u8>, NodeError>>;

    fn handle(&mut self, ask: ExportBundle, _: &mut Context<Self>) -> Self::Result {
        let premises = self.premises.clone();
        Box::pin(blocking(move || {
            let row = find(&premises, &ask.caller, &ask.bundle)?;
            let car = file_of(&premises, &row)?;
            let file = match ask.form {
                Form::Car => car,
                Form::Json => credential_of(&premises, &car, &ask)?,
            };
            // Whoever has the file is a reader that must hear of what becomes of it.
            let event = premises.event(&ask.caller.label(), "bundle.export", row.bundle, "ok", "");
            let mut change = Change::new(event);
            kept::put_given_out(&mut change, &row.bundle, premises.now());
            premises.store.commit(change)?;
            Ok(file)
        }))
    }
}

impl Handler<ListBundles> for Grounding {
    type Result = ResponseFuture<Result<Vec<BundleView>, NodeError>>;

    fn handle(&mut self, ask: ListBundles, _: &mut Context<Self>) -> Self::Result {
        let premises = self.premises.clone();
        Box::pin(blocking(move || {
            if let Some(name) = &ask.bundle {
                let row = find(&premises, &ask.caller, name)?;
                return Ok(vec![bundle_view(&premises, &ask.caller, &row)?]);
            }
            let mut views = Vec::new();
            for row in kept::answers(&premises.store, LIST_MAX)? {
                if views.len() < ask.limit && may_read(&premises, &ask.caller, &row)? {
                    views.push(bundle_view(&premises, &ask.caller, &row)?);
                }
            }
            Ok(views)
        }))
    }
}

/// The JSON form. It carries a proof with the issuer's key, so nobody else can make it.
fn credential_of(premises: &Premises, car: &[u8], ask: &ExportBundle) -> Result<Vec<u8>, NodeError> {
    let roots = premises.roots();
    let knowledge =
        Knowledge { now: premises.now(), roots: &roots, status: &|_, _| SourceStatus::Unknown, logged: &|_, _| None };
    let verified = verify(car, &knowledge).map_err(|e| NodeError::Damaged(e.to_string()))?;
    let issuer = verified.bundle.issuer;
    if issuer != premises.node() {
        return Err(NodeError::Conflict(format!(
            "only its issuer, {issuer}, can give this bundle as JSON, because the proof in it is made with the \
             issuer's key; export it as CAR"
        )));
    }
    to_json(&verified, ask.name.as_ref(), &premises.key, premises.now())
        .map_err(|e| NodeError::Conflict(format!("the bundle has no JSON form: {e}")))
}

/// The kept bundles that contradict what was said on a matter, as far as the caller may know of them.
pub(super) fn conflicts(premises: &Premises, caller: &Caller, matter: &Matter) -> Result<Vec<String>, NodeError> {
    let mut readable = Vec::new();
    for bundle in kept::contradicting(&premises.store, matter)? {
        let Some(row) = kept::answer(&premises.store, &bundle)? else { continue };
        if may_read(premises, caller, &row)? {
            readable.push(bundle.to_string());
        }
    }
    Ok(readable)
}

fn bundle_view(premises: &Premises, caller: &Caller, row: &SavedAnswer) -> Result<BundleView, NodeError> {
    let block = premises
        .store
        .block(&row.bundle)?
        .ok_or_else(|| NodeError::Damaged(format!("block {} is missing", row.bundle)))?;
    let bundle: Bundle = block.decode()?;
    let matter = kept::matter(&premises.store, &row.bundle)?;
    let conflicts_with = matter.map(|matter| conflicts(premises, caller, &matter)).transpose()?;
    Ok(BundleView {
        bundle: row.bundle.to_string(),
        matter: matter.map(|matter| matter.to_string()),
        issuer: bundle.issuer.to_string(),
        issued_at: bundle.issued_at.to_string(),
        saved_at: row.saved_at.to_string(),
        query: bundle.query,
        sensitivity: row.sensitivity.to_string(),
        imported: row.imported,
        conflicts_with: conflicts_with.unwrap_or_default(),
    })
}

/// The file of a saved answer, byte for byte as it was sealed.
pub(super) fn file_of(premises: &Premises, row: &SavedAnswer) -> Result<Vec<u8>, NodeError> {
    let mut blocks = BTreeMap::new();
    for cid in &row.blocks {
        let block = premises.store.block(cid)?.ok_or_else(|| NodeError::Damaged(format!("block {cid} is missing")))?;
        blocks.insert(block.cid, block.bytes);
    }
    Ok(write_car(row.root, &blocks))
}

/// The saved answer of this name, if the caller may read it.
fn find(premises: &Arc<Premises>, caller: &Caller, name: &str) -> Result<SavedAnswer, NodeError> {
    let absent = || NodeError::NotFound(name.to_string());
    let row = if name == "last" {
        let mut readable = None;
        for row in kept::answers(&premises.store, LIST_MAX)? {
            if may_read(premises, caller, &row)? {
                readable = Some(row);
                break;
            }
        }
        readable
    } else {
        let bundle = plumb_core::content::parse_cid(name).map_err(|_| absent())?;
        kept::answer(&premises.store, &bundle)?
    };
    match row {
        Some(row) if may_read(premises, caller, &row)? => Ok(row),
        _ => Err(absent()),
    }
}

/// Who asked may read the answer, and so may whoever may read everything that it rests on (law 1).
pub(crate) fn may_read(premises: &Premises, caller: &Caller, row: &SavedAnswer) -> Result<bool, NodeError> {
    if row.person == caller.person {
        return Ok(true);
    }
    let requester = premises.requester(caller)?;
    for chunk in &row.chunks {
        match plumb_storage::unit(&premises.store, chunk)? {
            Some(unit) if readable(&requester, &unit, premises.policy).is_ok() => {}
            Some(_) => return Ok(false),
            // Evidence of a peer that was not imported: its label decides, inside the organisation.
            None if row.sensitivity <= Sensitivity::Internal => {}
            None => return Ok(false),
        }
    }
    Ok(row.org == requester.org || row.sensitivity == Sensitivity::Public)
}

fn view(premises: &Premises, row: &SavedAnswer) -> Result<SavedAnswerView, NodeError> {
    let block = premises
        .store
        .block(&row.answer)?
        .ok_or_else(|| NodeError::Damaged(format!("block {} is missing", row.answer)))?;
    let mut notices = std::collections::BTreeMap::new();
    for source in &row.sources {
        for standing in kept::standing_on(&premises.store, source)? {
            // Of a source that is withdrawn in part, only the part counts that the answer rests on.
            if row.chunks.iter().any(|chunk| standing.covers(chunk)) {
                notices.insert(standing.notice, standing.effect);
            }
        }
    }
    let state = if notices.values().any(|e| *e == Effect::Withdraw) {
        "retracted-source"
    } else if notices.values().all(|effect| *effect == Effect::Narrow) {
        "current"
    } else {
        "caution"
    };
    let mut flags = Vec::new();
    for (cid, effect) in &notices {
        let Some(kept) = kept::notice(&premises.store, cid)? else { continue };
        let signed = kept.open()?;
        let notice = signed.value();
        let what = match effect {
            Effect::Withdraw => "evidence of this answer was withdrawn",
            Effect::Narrow => "the audience of evidence of this answer was narrowed",
            Effect::Caution | Effect::Restore => "there is a notice about evidence of this answer",
        };
        let newer = match &notice.superseded_by {
            Some(newer) => match kept::source(&premises.store, newer)? {
                Some(row) => format!("; in its place stands `{}` ({newer})", row.title),
                None => format!("; in its place stands {newer}"),
            },
            None => String::new(),
        };
        // A name for those that did not come from the evidence's publisher.
        let origin = kept.origin.as_deref().map(|origin| format!(" [{origin}]")).unwrap_or_default();
        flags.push(format!(
            "{what}: {} for {} by {}{}{newer}{origin}",
            notice.kind.as_str(),
            notice.reason.as_str(),
            notice.publisher,
            if notice.note.is_empty() { String::new() } else { format!(" ({})", notice.note) }
        ));
    }
    for source in &row.sources {
        if let Some(removed) = kept::source(&premises.store, source)?.filter(kept::SourceRow::is_removed) {
            flags.push(format!("`{}`, on which this answer rests, was removed from this node", removed.title));
        }
    }
    let unconfirmed = unconfirmed(premises, row)?;
    flags.extend(unconfirmed.iter().map(|u| u.sentence()));
    let claims = crate::verification::claims_of(premises, row, &BTreeMap::new())?;
    let claims = claims.into_iter().map(|(id, state)| ClaimStateView { id, state: state.as_str().to_string() });
    Ok(SavedAnswerView {
        claims: claims.collect(),
        unconfirmed,
        bundle: row.bundle.to_string(),
        saved_at: row.saved_at.to_string(),
        answer: block.decode()?,
        state: state.to_string(),
        flags,
        notices: notices.keys().map(ToString::to_string).collect(),
    })
}

/// Publishers of an answer's evidence whose word on whether it still stands could not be confirmed.
fn unconfirmed(premises: &Premises, row: &SavedAnswer) -> Result<Vec<UnconfirmedView>, NodeError> {
    let mut publishers = BTreeSet::new();
    for source in &row.sources {
        if let Some(block) = premises.store.block(source)? {
            publishers.insert(block.decode::<SourceRecord>()?.publisher);
        }
    }
    Ok(unconfirmed_of(premises, publishers)?.into_values().collect())
}
