//! Taking in a bundle: its evidence becomes searchable here, as its publisher's, under its own label.

use actix::prelude::*;
use plumb_core::boundary::Sensitivity;
use plumb_core::content::RawBlock;
use plumb_core::exchange::{Verdict, Verified};
use plumb_core::identity::{EntityId, NodeId, OrgId};
use plumb_core::knowledge::{KnowledgeType, KnowledgeUnit, Origin, SourceType, UnitState};
use plumb_core::lifecycle::{fingerprint_of_chunk, may_become_active};
use plumb_core::measure::Timestamp;
use plumb_core::trust::Incoming;
use plumb_storage::{Change, Records};

use super::verdict::judge;
use super::{Grounding, ImportBundle, ImportView, VerdictView};
use crate::caller::Caller;
use crate::error::NodeError;
use crate::federation::OweReceipts;
use crate::ingestion::SourceNote;
use crate::kept::{self, SavedAnswer, SourceRow, SourceState};
use crate::premises::{Premises, blocking};

impl Handler<ImportBundle> for Grounding {
    type Result = ResponseFuture<Result<ImportView, NodeError>>;

    fn handle(&mut self, ask: ImportBundle, _: &mut Context<Self>) -> Self::Result {
        let (premises, federation) = (self.premises.clone(), self.federation.clone());
        Box::pin(async move {
            let (mut view, owed) = {
                let premises = premises.clone();
                blocking(move || import(&premises, &ask.caller, &ask.car)).await?
            };
            if let Some(owed) = owed {
                view.receipts = federation.ask(owed, crate::DEADLINE).await?.iter().map(ToString::to_string).collect();
            }
            Ok(view)
        })
    }
}

fn import(premises: &Premises, caller: &Caller, car: &[u8]) -> Result<(ImportView, Option<OweReceipts>), NodeError> {
    let result = judge(premises, car)?;
    let verdict = VerdictView::of(&result);
    let verified = match result {
        Ok(verified) => verified,
        Err(error) => {
            return Err(NodeError::Denied(format!("the bundle is not authentic and was not taken in: {error}")));
        }
    };
    if !verified.root_is_trusted {
        return Err(NodeError::Denied(format!(
            "the bundle is of organisation {} (`{}`), which is not trusted here; `plumb trust add {}` would trust it",
            verified.bundle.org,
            verified.certificate.value().org_name,
            verified.bundle.org
        )));
    }
    if premises.lets_in(&verified.bundle.org) != Incoming::Full {
        return Err(NodeError::Denied(format!(
            "nothing but notices is let in from {}; `plumb trust set {} --incoming full` would let its bundles in",
            verified.bundle.org, verified.bundle.org
        )));
    }
    if verified.bundle.org != premises.org() && verified.bundle.sensitivity != Sensitivity::Public {
        return Err(NodeError::Denied(format!(
            "the bundle is {} in another organisation; only public evidence crosses the border",
            verified.bundle.sensitivity
        )));
    }
    let taken = take(premises, caller, &verified)?;
    let view = ImportView {
        bundle: verified.cid.to_string(),
        imported: taken.imported,
        known: taken.known,
        refused: taken.refused,
        receipts: Vec::new(),
        verdict,
    };
    let owed = OweReceipts { bundle: verified.cid, sources: taken.sources };
    Ok((view, Some(owed)))
}

struct Taken {
    imported: u64,
    known: u64,
    refused: Vec<SourceNote>,
    /// Sources now held, each with who is owed the receipt: whoever gave it.
    sources: Vec<(cid::Cid, NodeId)>,
}

fn take(premises: &Premises, caller: &Caller, verified: &Verified) -> Result<Taken, NodeError> {
    let now = premises.now();
    let own = premises.node();
    let event = premises.event(&caller.label(), "bundle.import", verified.cid, "ok", &verified.bundle.query);
    let mut change = Change::new(event);
    for (cid, bytes) in &verified.blocks {
        change.put_block(RawBlock { cid: *cid, bytes: bytes.clone() });
    }
    let mut taken = Taken { imported: 0, known: 0, refused: Vec::new(), sources: Vec::new() };
    let withdrawn: Vec<_> = match &verified.verdict {
        Verdict::Retracted { withdrawn } => withdrawn.clone(),
        Verdict::Current { .. } | Verdict::Unconfirmed { .. } => Vec::new(),
    };
    for (cid, record) in &verified.sources {
        if record.publisher != own {
            taken.sources.push((*cid, record.publisher));
            // Whoever passed it on owes us what becomes of it, too.
            if verified.bundle.issuer != own && verified.bundle.issuer != record.publisher {
                taken.sources.push((*cid, verified.bundle.issuer));
            }
        }
        let cited: Vec<_> = verified.bundle.evidence.iter().filter(|c| c.source == *cid).collect();
        let (org, department) = home_of(premises, verified, &record.publisher)?;
        let mut by_text = kept::standing_by_text(&premises.store, &record.fingerprint)?;
        for (_, value) in verified.chunks.iter().filter(|(c, _)| cited.iter().any(|x| x.chunk == *c)) {
            if let Some(fingerprint) = fingerprint_of_chunk(&value.text) {
                by_text.extend(kept::standing_by_text(&premises.store, &fingerprint)?);
            }
        }
        let by_name = kept::standing_on(&premises.store, cid)?;
        let barred = may_become_active(&by_name, &by_text, &record.publisher, &org).err();
        let barred = barred.or_else(|| withdrawn.iter().find(|(source, _)| source == cid).map(|(_, notice)| *notice));
        if let Some(notice) = barred {
            taken.refused.push(SourceNote {
                address: record.uri.clone(),
                reason: format!(
                    "it was withdrawn by notice {notice}; it is kept with the answer and found by no search"
                ),
            });
        }
        let existing = kept::source(&premises.store, cid)?;
        let mut row = existing.clone().unwrap_or_else(|| SourceRow {
            record: *cid,
            address: format!("{}#{cid}", record.uri.split('#').next().unwrap_or_default()),
            title: record.title.clone(),
            uri: record.uri.clone(),
            media_type: record.media_type.clone(),
            adapter: record.adapter.clone(),
            scope: record.scope.clone(),
            sensitivity: Sensitivity::Public,
            raw: record.raw,
            chunks: Vec::new(),
            publisher: record.publisher,
            org,
            department: department.clone(),
            creator: None,
            state: barred.map_or(SourceState::Active, SourceState::Retracted),
        });
        for evidence in cited {
            row.sensitivity = row.sensitivity.max(evidence.sensitivity);
            if plumb_storage::unit(&premises.store, &evidence.chunk)?.is_some() {
                taken.known += 1;
                continue;
            }
            let unit = KnowledgeUnit {
                chunk: evidence.chunk,
                source: *cid,
                kind: KnowledgeType::Context,
                scope: record.scope.clone(),
                sensitivity: evidence.sensitivity,
                origin: Origin {
                    source_type: SourceType::Document,
                    source_ref: record.uri.clone(),
                    creator: None,
                    publisher: record.publisher,
                    org,
                    department: department.clone(),
                },
                state: match barred {
                    Some(notice) => UnitState::Retracted { notice },
                    None => UnitState::Active,
                },
            };
            taken.imported += u64::from(barred.is_none());
            row.chunks.push(evidence.chunk);
            change.put_unit(&unit);
        }
        if existing.is_none() {
            kept::put_source(&mut change, &row);
        } else {
            kept::retitle(&mut change, &row);
        }
    }
    if kept::answer(&premises.store, &verified.cid)?.is_none() {
        kept::put_answer(&mut change, &saved(caller, verified, now));
    }
    let position = premises.store.commit(change)?;
    premises.index.flush_to(position)?;
    Ok(taken)
}

/// The organisation and department of a publisher: by its log's certificate, or the bundle's own.
fn home_of(premises: &Premises, verified: &Verified, publisher: &NodeId) -> Result<(OrgId, EntityId), NodeError> {
    if *publisher == premises.node() {
        return Ok((premises.org(), premises.department().clone()));
    }
    if let Some(head) = kept::log_head(&premises.store, &premises.node(), publisher)? {
        let certified = head.state.certificate.value();
        return Ok((certified.org, certified.department.clone()));
    }
    let of_issuer = verified.certificate.value();
    if *publisher == of_issuer.node {
        return Ok((of_issuer.org, of_issuer.department.clone()));
    }
    Err(NodeError::Denied(format!(
        "the bundle holds evidence of {publisher}, whose certificate is not known here; connect to it or to a peer that follows it first"
    )))
}

fn saved(caller: &Caller, verified: &Verified, now: Timestamp) -> SavedAnswer {
    SavedAnswer {
        bundle: verified.cid,
        root: verified.root,
        answer: verified.bundle.answer,
        blocks: verified.blocks.keys().copied().collect(),
        saved_at: now,
        person: caller.person.clone(),
        sensitivity: verified.bundle.sensitivity,
        org: verified.bundle.org,
        chunks: verified.bundle.evidence.iter().map(|e| e.chunk).collect(),
        sources: verified.sources.keys().copied().collect(),
        notices: Vec::new(),
        imported: true,
    }
}
