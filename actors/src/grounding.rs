//! Answering: composes from what retrieval found, seals what is kept, and takes in what others sealed.

mod import;
mod messages;
mod saved;
mod verdict;

use std::sync::Arc;

use actix::prelude::*;
use plumb_core::exchange::{Contents, Head, ISSUED_MAX_AGE, LoggedAt, Matter, SealedBundle, seal};
use plumb_core::grounding::{Answer, compose, rests_on};
use plumb_core::identity::NodeId;
use plumb_core::measure::Timestamp;
use plumb_core::retrieval::Query;
use plumb_federation::wire::log_entry::LogEntry;
use plumb_storage::{Change, Records, StorageError};

use crate::door::Door;
use crate::error::NodeError;
use crate::federation::{Federation, LogGrew, Owed, SendReceipts, put_owed};
use crate::kept::{self, Appended, SavedAnswer};
use crate::premises::{Premises, blocking};
use crate::retrieval::{AssembleContext, Found, Retrieval};
use crate::verification::unseal_after;

pub use messages::*;
pub(crate) use saved::may_read as may_read_answer;

/// Chunks that are put before the composer. It cites at most five; the rest are what it chose from.
const COMPOSED_MAX: usize = 10;

/// Times that an append to the own log is tried again because somebody else appended first.
pub(crate) const APPEND_TRIES: usize = 16;

/// Answers.
pub struct Grounding {
    premises: Arc<Premises>,
    retrieval: Door<Retrieval>,
    federation: Door<Federation>,
}
crate::resident!(Grounding, "grounding");

impl Grounding {
    pub(crate) fn new(premises: Arc<Premises>, retrieval: Door<Retrieval>, federation: Door<Federation>) -> Grounding {
        Grounding { premises, retrieval, federation }
    }
}

impl Handler<AnswerQuestion> for Grounding {
    type Result = ResponseFuture<Result<AnswerView, NodeError>>;

    fn handle(&mut self, ask: AnswerQuestion, _: &mut Context<Self>) -> Self::Result {
        let (premises, retrieval, federation) =
            (self.premises.clone(), self.retrieval.clone(), self.federation.clone());
        Box::pin(async move {
            let assemble = AssembleContext {
                caller: ask.caller.clone(),
                query: ask.query.clone(),
                k: COMPOSED_MAX,
                peers: ask.peers.clone(),
                deadline: ask.deadline,
            };
            let mut found = retrieval.ask(assemble, crate::DEADLINE.plus_ms(ask.deadline.0)).await?;
            // Rank fusion decides what is among the best. A bundle holds it in the order of the scores, which anybody
            // can compute again; an order by the ranks of a peer nobody could.
            found.evidence.sort_by(|a, b| b.score.cmp(&a.score).then_with(|| a.cid.cmp(&b.cid)));
            let (coverage, unconfirmed) = (found.coverage.clone(), found.unconfirmed.clone());
            let now = premises.now();
            let (answer, bundle) = blocking(move || {
                let query = Query::new(&ask.query);
                let answer = compose(&query, &found.stats, &found.evidence, now);
                let found = Found { evidence: rests_on(&query, &found.stats, &found.evidence), ..found };
                let bundle = if ask.save { Some(keep(&premises, &ask, &found, &answer, now)?) } else { None };
                Ok((answer, bundle))
            })
            .await?;
            if let Some(kept) = &bundle {
                // Both are told again whenever the bridge looks at the store; that it is busy loses nothing.
                for told in [
                    federation.ask(LogGrew, crate::DEADLINE).await,
                    federation.ask(SendReceipts { givers: kept.givers.clone() }, crate::DEADLINE).await,
                ] {
                    if let Err(error) = told {
                        tracing::debug!(%error, "the bridge hears of a saved answer later");
                    }
                }
            }
            let cited: std::collections::BTreeSet<String> =
                answer.citations.iter().map(|citation| citation.publisher.to_string()).collect();
            let unconfirmed = unconfirmed.into_values().filter(|u| cited.contains(&u.publisher)).collect();
            Ok(AnswerView { answer, coverage, unconfirmed, bundle: bundle.map(|b| b.bundle.to_string()) })
        })
    }
}

/// A bundle that was kept.
struct Kept {
    bundle: cid::Cid,
    /// Who is owed a receipt for evidence in it.
    givers: Vec<NodeId>,
}

/// Seals an answer and keeps it: blocks, lineage, log entry and audit event in one transaction.
fn keep(
    premises: &Premises,
    ask: &AnswerQuestion,
    found: &Found,
    answer: &Answer,
    now: Timestamp,
) -> Result<Kept, NodeError> {
    let sealed = seal(
        &Contents {
            answer,
            stats: &found.stats,
            evidence: &found.evidence,
            blocks: &found.blocks,
            heads: heads(premises, found.evidence.iter().map(|e| e.publisher), now)?,
            certificate: &premises.certificate,
            issued_at: now,
            max_age: ISSUED_MAX_AGE,
        },
        &premises.key,
    )?;
    let matter = Matter::of(&sealed.bundle, &sealed.blocks)?;
    let (bundle, entry) = (sealed.bundle, LogEntry::Bundle { cid: sealed.bundle }.encode());
    let label = answer.sensitivity.max(plumb_core::boundary::strictest(found.evidence.iter().map(|e| e.sensitivity)));
    let may_share = label == plumb_core::boundary::Sensitivity::Public;
    let owed = Owed { bundle, sources: foreign_sources(premises, found), may_share };
    append(premises, now, std::slice::from_ref(&entry), |appended| {
        // The entry names the bundle, and the file proves the entry: so the seal is made last.
        let checkpoint = appended.head.state.checkpoint.clone();
        let sealed = sealed.clone().with_log(&LoggedAt::last(&appended.range, entry.clone(), checkpoint))?;
        let row = row(premises, ask, found, answer, &sealed, now)?;
        let detail = format!("{} chunks, label {}", row.chunks.len(), row.sensitivity);
        let event = premises.event(&ask.caller.label(), "answer.save", bundle, "ok", detail);
        let mut change = Change::new(event);
        for (cid, bytes) in &sealed.blocks {
            change.put_block(plumb_core::content::RawBlock { cid: *cid, bytes: bytes.clone() });
        }
        kept::put_answer(&mut change, &row);
        kept::put_matter(&mut change, &bundle, &matter);
        put_owed(premises, &mut change, &owed)?;
        Ok(change)
    })?;
    unseal_after(premises, found.evidence.iter().map(|e| &e.chunk.source));
    Ok(Kept { bundle, givers: owed.sources.into_iter().map(|(_, giver)| giver).collect() })
}

/// The row of an answer that is kept.
fn row(
    premises: &Premises,
    ask: &AnswerQuestion,
    found: &Found,
    answer: &Answer,
    sealed: &SealedBundle,
    now: Timestamp,
) -> Result<SavedAnswer, NodeError> {
    let sources: std::collections::BTreeSet<_> = found.evidence.iter().map(|e| e.chunk.source).collect();
    Ok(SavedAnswer {
        bundle: sealed.bundle,
        root: sealed.root,
        answer: plumb_core::content::RawBlock::encode(answer)?.cid,
        blocks: sealed.blocks.keys().copied().collect(),
        saved_at: now,
        person: ask.caller.person.clone(),
        sensitivity: answer
            .sensitivity
            .max(plumb_core::boundary::strictest(found.evidence.iter().map(|e| e.sensitivity))),
        org: premises.org(),
        chunks: found.evidence.iter().map(|e| e.cid).collect(),
        sources: sources.into_iter().collect(),
        notices: found.evidence.iter().filter_map(|e| e.caution).collect(),
        imported: false,
    })
}

/// Makes a change that also appends to the own log, and may say where its entries came to stand. Another actor may append
/// at the same moment; then the change is built and tried again.
pub(crate) fn append(
    premises: &Premises,
    now: Timestamp,
    entries: &[Vec<u8>],
    build: impl Fn(&Appended) -> Result<Change, NodeError>,
) -> Result<(), NodeError> {
    for _ in 0..APPEND_TRIES {
        let appended = kept::plan_append(&premises.store, &premises.key, &premises.certificate, entries, now)?;
        let mut change = build(&appended)?;
        kept::put_append(&premises.store, &mut change, appended)?;
        match premises.store.commit(change) {
            Ok(_) => return Ok(()),
            Err(StorageError::Conflict { .. }) => continue,
            Err(error) => return Err(error.into()),
        }
    }
    Err(NodeError::Busy { retry_after: crate::door::RETRY_AFTER })
}

/// What is known of the logs of some publishers.
fn heads(
    premises: &Premises,
    publishers: impl Iterator<Item = NodeId>,
    now: Timestamp,
) -> Result<Vec<Head>, NodeError> {
    let own = premises.node();
    let mut heads = Vec::new();
    for publisher in publishers.collect::<std::collections::BTreeSet<_>>() {
        if let Some(head) = kept::log_head(&premises.store, &own, &publisher)? {
            // Of its own log a node always knows the end.
            let as_of = if publisher == own { Some(now) } else { head.confirmed() };
            // What was not confirmed here says nothing of how its evidence stands.
            let checkpoint = head.state.checkpoint;
            heads.extend(as_of.map(|as_of| Head { publisher, checkpoint, as_of }));
        }
    }
    Ok(heads)
}

fn foreign_sources(premises: &Premises, found: &Found) -> Vec<(cid::Cid, NodeId)> {
    let own = premises.node();
    let all = found.evidence.iter().filter(|e| e.publisher != own).map(|e| (e.chunk.source, e.publisher));
    all.collect::<std::collections::BTreeSet<_>>().into_iter().collect()
}
