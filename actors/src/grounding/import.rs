//! Taking in a bundle: its evidence becomes searchable here, as its publisher's, under its own label.

use std::collections::{BTreeMap, BTreeSet};

use actix::prelude::*;
use plumb_core::boundary::Sensitivity;
use plumb_core::content::RawBlock;
use plumb_core::exchange::{Manifest, Matter, Verdict, Verified};
use plumb_core::identity::{EntityId, NodeId, OrgId};
use plumb_core::knowledge::{KnowledgeType, KnowledgeUnit, Origin, SourceType, UnitState};
use plumb_core::lifecycle::{fingerprint_of_chunk, may_become_active, narrowed_to};
use plumb_core::measure::{Duration, Timestamp};
use plumb_core::trust::Incoming;
use plumb_storage::{Change, Records};

use super::saved::conflicts;
use super::verdict::judge;
use super::{Grounding, ImportBundle, ImportView, VerdictView};
use crate::caller::Caller;
use crate::door::Door;
use crate::error::NodeError;
use crate::federation::{Federation, FetchBlocks, Owed, SendReceipts, put_owed};
use crate::ingestion::SourceNote;
use crate::kept::{self, SavedAnswer, SourceRow, SourceState};
use crate::premises::{Premises, blocking};
use crate::verification::{unseal, unseal_after};

impl Handler<ImportBundle> for Grounding {
    type Result = ResponseFuture<Result<ImportView, NodeError>>;

    fn handle(&mut self, ask: ImportBundle, _: &mut Context<Self>) -> Self::Result {
        let (premises, federation) = (self.premises.clone(), self.federation.clone());
        Box::pin(async move {
            let ImportBundle { caller, file, from } = ask;
            let mut gathered = gather(&premises, &federation, file).await?;
            if !gathered.missing.is_empty() {
                return Ok(gathered.incomplete());
            }
            let (view, givers) = {
                let (premises, file) = (premises.clone(), std::mem::take(&mut gathered.file));
                blocking(move || import(&premises, &ImportBundle { caller, file, from })).await?
            };
            let view = ImportView {
                blocks_named: gathered.n_named,
                blocks_fetched: gathered.n_fetched,
                peers_asked: gathered.n_peers,
                ..view
            };
            // They are signed and kept; who is not there now gets them later.
            if let Err(error) = federation.ask(SendReceipts { givers }, crate::DEADLINE).await {
                tracing::debug!(%error, "receipts are sent later");
            }
            Ok(view)
        })
    }
}

/// How long peers have to give what a bundle file lacks.
const FETCH_WITHIN: Duration = Duration::seconds(15);

/// A bundle file with what was found of its evidence.
struct Gathering {
    bundle: String,
    file: Vec<u8>,
    n_named: u64,
    n_fetched: u64,
    n_peers: u64,
    missing: Vec<String>,
}

/// Fetches what a bundle file lacks. Only for an issuer that is trusted here: nobody else makes this node ask around.
async fn gather(premises: &Premises, federation: &Door<Federation>, file: Vec<u8>) -> Result<Gathering, NodeError> {
    let (file, read) = blocking(move || {
        let read = Manifest::read(&file);
        Ok((file, read))
    })
    .await?;
    // A credential in JSON is always whole, and what cannot be read is refused with its reason where everything is
    // checked.
    let mut gathering =
        Gathering { bundle: String::new(), file, n_named: 0, n_fetched: 0, n_peers: 0, missing: Vec::new() };
    let Ok(mut manifest) = read else { return Ok(gathering) };
    gathering.bundle = manifest.bundle.to_string();
    gathering.n_named = manifest.n_named() as u64;
    let missing = manifest.missing();
    if missing.is_empty() {
        return Ok(gathering);
    }
    if !premises.roots().pins(&manifest.org) {
        return Err(NodeError::Denied(format!(
            "the bundle is not whole, and it is of organisation {0}, which is not trusted here; `plumb trust add {0}` \
             would trust it",
            manifest.org
        )));
    }
    let ask = FetchBlocks { cids: missing, deadline: FETCH_WITHIN };
    match federation.ask(ask, FETCH_WITHIN.plus_ms(1_000)).await {
        Ok(fetched) => {
            gathering.n_peers = fetched.n_peers;
            gathering.n_fetched = fetched.blocks.into_iter().map(|block| u64::from(manifest.add(block))).sum();
        }
        // A command that works on the home alone reaches nobody.
        Err(NodeError::Offline) => {}
        Err(error) => return Err(error),
    }
    gathering.missing = manifest.missing().iter().map(ToString::to_string).collect();
    gathering.file = manifest.to_car();
    Ok(gathering)
}

impl Gathering {
    /// What is told of a bundle that is not whole.
    fn incomplete(self) -> ImportView {
        let n_missing = self.missing.len();
        let summary = format!(
            "incomplete: {n_missing} of the {} blocks that the bundle names are neither in the file nor at the {} peers \
             that were asked; nothing was taken in. Connect to a node that has them, and import it again",
            self.n_named, self.n_peers
        );
        ImportView {
            bundle: self.bundle.clone(),
            complete: false,
            blocks_named: self.n_named,
            blocks_missing: self.missing,
            blocks_fetched: self.n_fetched,
            peers_asked: self.n_peers,
            imported: 0,
            known: 0,
            refused: Vec::new(),
            unconfirmed: Vec::new(),
            receipts: Vec::new(),
            conflicts_with: Vec::new(),
            verdict: VerdictView::incomplete(self.bundle, summary),
        }
    }
}

fn import(premises: &Premises, ask: &ImportBundle) -> Result<(ImportView, Vec<NodeId>), NodeError> {
    let result = judge(premises, &ask.file)?;
    let verdict = VerdictView::of(&result);
    let verified = match result {
        Ok(verified) => verified,
        Err(error) => {
            return Err(NodeError::NotAuthentic(format!("the bundle is not authentic and was not taken in: {error}")));
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
    let matter = Matter::of(&verified.cid, &verified.blocks)?;
    let taken = take(premises, &ask.caller, &verified, &matter, ask.from)?;
    let publishers = verified.sources.values().map(|record| record.publisher).collect();
    let unconfirmed = crate::retrieval::unconfirmed_of(premises, publishers)?.into_values().collect();
    let view = ImportView {
        bundle: verified.cid.to_string(),
        complete: true,
        blocks_named: 0,
        blocks_missing: Vec::new(),
        blocks_fetched: 0,
        peers_asked: 0,
        imported: taken.imported,
        known: taken.known,
        refused: taken.refused,
        unconfirmed,
        receipts: taken.receipts.iter().map(|(_, receipt)| receipt.to_string()).collect(),
        conflicts_with: conflicts(premises, &ask.caller, &matter)?,
        verdict,
    };
    Ok((view, taken.receipts.into_iter().map(|(giver, _)| giver).collect()))
}

struct Taken {
    imported: u64,
    known: u64,
    refused: Vec<SourceNote>,
    /// Who is owed a receipt, each with its name.
    receipts: Vec<(NodeId, cid::Cid)>,
}

fn take(
    premises: &Premises,
    caller: &Caller,
    verified: &Verified,
    matter: &Matter,
    from: Option<NodeId>,
) -> Result<Taken, NodeError> {
    let now = premises.now();
    let own = premises.node();
    unseal(premises, verified.sources.keys())?;
    // What is barred between looking and writing must not come in.
    let guard = premises.ingest_lock();
    let event = premises.event(&caller.label(), "bundle.import", verified.cid, "ok", &verified.bundle.query);
    let mut change = Change::new(event);
    for (cid, bytes) in &verified.blocks {
        change.put_block(RawBlock { cid: *cid, bytes: bytes.clone() });
    }
    for head in &verified.bundle.heads {
        kept::put_carried(&premises.store, &mut change, &head.publisher, head.as_of, now)?;
    }
    let mut taken = Taken { imported: 0, known: 0, refused: Vec::new(), receipts: Vec::new() };
    let (mut sources, mut label) = (Vec::new(), verified.bundle.sensitivity);
    let withdrawn: Vec<_> = match &verified.verdict {
        Verdict::Retracted { withdrawn } => withdrawn.clone(),
        Verdict::Current { .. } | Verdict::Unconfirmed { .. } => Vec::new(),
    };
    for (cid, record) in &verified.sources {
        if record.publisher != own {
            sources.push((*cid, record.publisher));
            // Whoever passed it on owes us what becomes of it, too: the issuer, and whoever handed us the file.
            let passed_on = [Some(verified.bundle.issuer), from].into_iter().flatten().collect::<BTreeSet<_>>();
            let others = passed_on.into_iter().filter(|giver| *giver != own && *giver != record.publisher);
            sources.extend(others.map(|giver| (*cid, giver)));
        }
        let cited: Vec<_> = verified.bundle.evidence.iter().filter(|c| c.source == *cid).collect();
        let (org, department) = home_of(premises, verified, &record.publisher)?;
        let by_name = kept::standing_on(&premises.store, cid)?;
        let of_whole = kept::standing_by_text(&premises.store, &record.fingerprint)?;
        let mut narrowed = narrowed_to(by_name.iter().chain(&of_whole));
        // What of it is barred, and by what: of a source that is withdrawn in part, only the part.
        let mut barred = BTreeMap::new();
        for evidence in &cited {
            let mut by_text = of_whole.clone();
            let chunk = verified.chunks.iter().find(|(chunk, _)| *chunk == evidence.chunk);
            if let Some(fingerprint) = chunk.and_then(|(_, chunk)| fingerprint_of_chunk(&chunk.text)) {
                by_text.extend(kept::standing_by_text(&premises.store, &fingerprint)?);
            }
            narrowed = narrowed.max(narrowed_to(&by_text));
            let of_chunk: Vec<_> = by_name.iter().filter(|s| s.covers(&evidence.chunk)).cloned().collect();
            let notice = may_become_active(&of_chunk, &by_text, &record.publisher, &org).err();
            let notice = notice.or_else(|| withdrawn.iter().find(|(source, _)| source == cid).map(|(_, by)| *by));
            barred.extend(notice.map(|notice| (evidence.chunk, notice)));
        }
        for notice in barred.values().collect::<BTreeSet<_>>() {
            change.audit(premises.event(
                &caller.label(),
                "source.import",
                cid,
                "refused",
                format!("withdrawn by notice {notice}"),
            ));
            taken.refused.push(SourceNote {
                address: record.uri.clone(),
                reason: format!(
                    "it was withdrawn by notice {notice}; it is kept with the answer and found by no search"
                ),
            });
        }
        let whole = barred.values().next().filter(|_| barred.len() == cited.len()).copied();
        // What was removed here and is imported again comes in anew.
        let existing = kept::source(&premises.store, cid)?.filter(|row| !row.is_removed());
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
            state: whole.map_or(SourceState::Active, SourceState::Retracted),
        });
        for evidence in cited {
            // What was narrowed at home does not come back under the label that it had before.
            let sensitivity = evidence.sensitivity.max(narrowed.unwrap_or(evidence.sensitivity));
            label = label.max(sensitivity);
            row.sensitivity = row.sensitivity.max(sensitivity);
            let known = plumb_storage::unit(&premises.store, &evidence.chunk)?;
            if known.is_some_and(|unit| unit.state != UnitState::Removed) {
                taken.known += 1;
                continue;
            }
            let unit = KnowledgeUnit {
                chunk: evidence.chunk,
                source: *cid,
                kind: KnowledgeType::Context,
                scope: record.scope.clone(),
                sensitivity,
                origin: Origin {
                    source_type: SourceType::Document,
                    source_ref: record.uri.clone(),
                    creator: None,
                    publisher: record.publisher,
                    org,
                    department: department.clone(),
                },
                state: match barred.get(&evidence.chunk) {
                    Some(notice) => UnitState::Retracted { notice: *notice },
                    None => UnitState::Active,
                },
            };
            taken.imported += u64::from(unit.is_active());
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
        kept::put_answer(&mut change, &SavedAnswer { sensitivity: label, ..saved(caller, verified, now) });
        kept::put_matter(&mut change, &verified.cid, matter);
    }
    let owed = Owed { bundle: verified.cid, sources, may_share: label == Sensitivity::Public };
    taken.receipts = put_owed(premises, &mut change, &owed)?;
    let position = premises.store.commit(change)?;
    premises.index.flush_to(position)?;
    drop(guard);
    unseal_after(premises, verified.sources.keys());
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
