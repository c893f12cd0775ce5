//! Running a job: reads, prepares, decides and commits, in batches that share one flush.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use plumb_core::boundary::Sensitivity;
use plumb_core::knowledge::{Scope, UnitState};
use plumb_core::lifecycle::{Standing, fingerprint_of_chunk, may_become_active, narrowed_to};
use plumb_sources::{Item, Registry, is_gone, read_source, sniff};
use plumb_storage::{Change, Position, Records, unit};

use super::intake::{Pending, pending};
use super::jobs::Job;
use super::prepare::{Prepared, prepare};
use super::{IngestSources, JobState, SourceNote};
use crate::caller::Caller;
use crate::error::NodeError;
use crate::kept::{self, SourceRow, SourceState};
use crate::premises::Premises;
use crate::verification::{unseal, unseal_after};

/// Sources in one commit: they share a flush, which is what a commit costs.
const BATCH_SOURCES: usize = 256;
/// Bytes in one commit.
const BATCH_BYTES: usize = 4 << 20;
/// Batches that are read and wait for their commit.
const BATCHES_WAITING: usize = 1;
/// Notes of one kind that a job keeps; beyond it they are only counted, in the log.
const NOTES_MAX: usize = 10_000;

/// Runs a job to its end, whatever happens.
pub(super) fn run(premises: &Premises, job: &Job, ask: IngestSources) {
    let caller = ask.caller.clone();
    let outcome =
        catch_unwind(AssertUnwindSafe(|| Run::new(premises, job, &ask).and_then(|r| r.all(ask.intake.clone()))));
    let (state, error) = match outcome {
        Ok(Ok(())) if job.is_cancelled() => (JobState::Cancelled, None),
        Ok(Ok(())) => (JobState::Done, None),
        Ok(Err(error)) => (JobState::Failed, Some(error.to_string())),
        Err(_) => (
            JobState::Failed,
            Some("the job ran into a defect of this program; what it had taken in is kept".to_string()),
        ),
    };
    let id = job.view().id;
    // Written down first: whoever sees the job ended finds it ended in the store.
    let mut ended = job.view();
    ended.state = state;
    ended.error = error;
    ended.ended_at = Some(premises.now().to_string());
    let summary = format!(
        "{} new, {} unchanged, {} renamed, {} superseded, {} parked, {} refused",
        ended.new,
        ended.unchanged,
        ended.renamed,
        ended.superseded,
        ended.parked.len(),
        ended.refused.len()
    );
    let event = premises.event(&caller.label(), "job.end", &id, "ok", summary);
    let mut change = Change::new(event);
    super::jobs::put_job(&mut change, &job.person, &ended);
    if let Err(error) = premises.store.commit(change) {
        tracing::error!(job = id, %error, "the end of a job could not be written down");
    }
    job.note(|view| *view = ended);
}

struct Run<'a> {
    premises: &'a Premises,
    job: &'a Job,
    caller: Caller,
    scope: Scope,
    sensitivity: Sensitivity,
    registry: Registry,
    dry_run: bool,
}

/// What was committed.
#[derive(Default)]
struct Committed {
    /// Up to where the index has to come.
    position: Position,
    /// Sources that are not yet looked for in the index.
    sources: Vec<ToFind>,
    /// Sources with a DOI of their own, to be compared with what the world published.
    with_doi: Vec<cid::Cid>,
}

/// A source to look for in the index, by its first chunk.
struct ToFind {
    address: String,
    sensitivity: Sensitivity,
    chunk: cid::Cid,
}

/// Sources that will be committed together.
#[derive(Default)]
struct Batch {
    sources: Vec<Prepared>,
    bytes: usize,
    addresses: BTreeSet<String>,
}

impl<'a> Run<'a> {
    fn new(premises: &'a Premises, job: &'a Job, ask: &IngestSources) -> Result<Run<'a>, NodeError> {
        let scope = match &ask.scope {
            Some(scope) => scope.clone(),
            None => Scope::of(premises.department().clone()).map_err(|e| NodeError::Invalid(e.to_string()))?,
        };
        let registry = match &ask.adapter {
            None => premises.registry.clone(),
            Some(name) => match premises.registry.adapter_named(name) {
                Some(adapter) => Registry::new(vec![adapter.clone()]).with_limits(*premises.registry.limits()),
                None => return Err(NodeError::Invalid(format!("no adapter is named `{name}`"))),
            },
        };
        Ok(Run {
            premises,
            job,
            caller: ask.caller.clone(),
            scope,
            sensitivity: ask.sensitivity.unwrap_or(Sensitivity::Internal),
            registry,
            dry_run: ask.dry_run,
        })
    }

    fn all(&self, intake: Vec<super::Intake>) -> Result<(), NodeError> {
        let pending = pending(intake);
        self.job.note(|view| view.total = pending.len() as u64);
        // While one batch is on its way to the disk, the next is read.
        let (full, batches) = sync_channel(BATCHES_WAITING);
        let committed = std::thread::scope(|scope| {
            let committer = std::thread::Builder::new()
                .name("plumb-commit".to_string())
                .spawn_scoped(scope, || self.commit_all(batches))
                .map_err(|e| NodeError::Invalid(format!("no thread for the job: {e}")))?;
            let read = self.read_all(pending, full);
            // What ended the commits comes before what reading made of it.
            let committed = committer.join().unwrap_or_else(|panic| resume_unwind(panic))?;
            read.map(|()| committed)
        })?;
        let with_doi = self.evaluate(committed)?;
        if self.dry_run {
            return Ok(());
        }
        // What was retracted in the world before it was taken in here is not left active.
        crate::verification::rematch(self.premises, &with_doi, &self.caller.label())
    }

    fn read_all(&self, pending: Vec<Pending>, full: SyncSender<Batch>) -> Result<(), NodeError> {
        let mut batch = Batch::default();
        for input in pending {
            if self.job.is_cancelled() {
                break;
            }
            self.one(input, &mut batch, &full)?;
        }
        hand_over(&mut batch, &full)
    }

    fn commit_all(&self, batches: Receiver<Batch>) -> Result<Committed, NodeError> {
        let mut committed = Committed::default();
        for batch in batches {
            self.commit(batch, &mut committed)?;
        }
        Ok(committed)
    }

    /// The last stage: what was taken in is looked for in the index. What cannot be found there is said, and not left
    /// to be noticed by whoever misses it.
    fn evaluate(&self, committed: Committed) -> Result<Vec<cid::Cid>, NodeError> {
        let Committed { position, sources, with_doi } = committed;
        if self.dry_run {
            return Ok(with_doi);
        }
        self.premises.index.flush_to(position)?;
        let searcher = self.premises.index.searcher();
        for ToFind { address, sensitivity, chunk } in sources {
            self.job.note(|view| view.stages.index += 1);
            if searcher.contains(sensitivity, &chunk)? {
                self.job.note(|view| view.stages.quality += 1);
            } else {
                self.park(address, "it is stored, and the index cannot find it; run `plumb rebuild`".to_string());
            }
        }
        Ok(with_doi)
    }

    /// Reads one input: a document, or a container of many items.
    fn one(&self, input: Pending, batch: &mut Batch, full: &SyncSender<Batch>) -> Result<(), NodeError> {
        let address = input.address().to_string();
        let input = match input.load(self.premises) {
            Ok(input) => input,
            Err(parked) => {
                self.job.note(|view| view.seen += 1);
                self.park(address, parked.to_string());
                return Ok(());
            }
        };
        let sniffed = sniff(&input.bytes, input.declared.as_deref());
        let adapter = self.registry.adapter_for(&sniffed).cloned();
        let mut failed = None;
        let mut n_items = 0u64;
        let read = read_source(&self.registry, &input, &mut |item: Item| {
            n_items += 1;
            // The file itself was counted once; a container grows the total as it is read.
            self.job.note(|view| {
                view.seen += 1;
                view.total += u64::from(n_items > 1);
            });
            let taken = match (item, &adapter) {
                (Ok(envelope), Some(adapter)) => {
                    self.job.note(|view| view.stages.parse += 1);
                    prepare(
                        self.premises,
                        adapter.as_ref(),
                        &envelope,
                        &self.scope,
                        self.sensitivity,
                        &self.caller.person,
                    )
                    .and_then(|prepared| self.take(prepared, batch, full))
                }
                (Ok(_), None) => Ok(()),
                (Err(parked), _) => {
                    self.park(format!("{address}#{}", parked.fragment), parked.parked.to_string());
                    Ok(())
                }
            };
            match taken {
                Ok(()) if !self.job.is_cancelled() => ControlFlow::Continue(()),
                Ok(()) => ControlFlow::Break(()),
                Err(error) => {
                    failed = Some(error);
                    ControlFlow::Break(())
                }
            }
        });
        if let Some(error) = failed {
            return Err(error);
        }
        if let Err(parked) = read {
            self.job.note(|view| view.seen += u64::from(n_items == 0));
            self.park(address, parked.to_string());
        } else if n_items == 0 {
            self.job.note(|view| view.seen += 1);
        }
        Ok(())
    }

    fn take(&self, prepared: Prepared, batch: &mut Batch, full: &SyncSender<Batch>) -> Result<(), NodeError> {
        self.job.note(|view| {
            view.stages.chunk += 1;
            view.stages.enrich += 1;
            view.stages.embed += 1;
        });
        // The same address twice in one batch would be decided on what was there before both.
        if batch.addresses.contains(&prepared.row.address) {
            hand_over(batch, full)?;
        }
        batch.bytes += prepared.bytes();
        batch.addresses.insert(prepared.row.address.clone());
        batch.sources.push(prepared);
        if batch.sources.len() >= BATCH_SOURCES || batch.bytes >= BATCH_BYTES {
            hand_over(batch, full)?;
        }
        Ok(())
    }

    fn park(&self, address: String, reason: String) {
        tracing::info!(address, reason, "parked");
        self.job.note(|view| push(&mut view.parked, address, reason));
    }

    /// Decides about each source of the batch and commits them together.
    fn commit(&self, batch: Batch, committed: &mut Committed) -> Result<(), NodeError> {
        unseal(self.premises, batch.sources.iter().map(|prepared| &prepared.row.record))?;
        // Between reading what is there and writing what follows nobody else may write the same addresses.
        let guard = self.premises.ingest_lock();
        let mut outcomes = Vec::new();
        let mut change: Option<Change> = None;
        let mut renamed = BTreeSet::new();
        for mut prepared in batch.sources {
            let outcome = self.decide(&mut prepared, &renamed)?;
            if let Outcome::Renamed(old) = &outcome {
                renamed.insert(old.record);
            }
            self.write(&mut change, &prepared, &outcome)?;
            outcomes.push((prepared, outcome));
        }
        if let (Some(change), false) = (change, self.dry_run) {
            committed.position = self.premises.store.commit(change)?;
        }
        drop(guard);
        unseal_after(self.premises, outcomes.iter().map(|(prepared, _): &(Prepared, Outcome)| &prepared.row.record));
        for (prepared, outcome) in outcomes {
            self.count(prepared, outcome, committed);
        }
        Ok(())
    }

    fn decide(&self, prepared: &mut Prepared, renamed: &BTreeSet<cid::Cid>) -> Result<Outcome, NodeError> {
        let standing = self.standing(prepared)?;
        if let Some(notice) = self.barred(&standing) {
            return Ok(Outcome::Refused(format!(
                "its text was withdrawn by notice {notice}; a reinstatement by the publisher brings it back"
            )));
        }
        // What was narrowed at home does not come back under the label that it had before.
        if let Some(audience) = narrowed_to(standing.0.iter().chain(&standing.1)) {
            prepared.raise(audience);
        }
        let row = &prepared.row;
        match kept::current_of(&self.premises.store, &row.scope, &row.address)? {
            Some(old) if is_same(&old, row) && old.state == SourceState::Active => {
                if row.sensitivity > old.sensitivity { Ok(Outcome::Relabelled(old)) } else { Ok(Outcome::Unchanged) }
            }
            Some(old) if !is_same(&old, row) => Ok(Outcome::Superseded(old)),
            Some(_) => Ok(Outcome::New),
            None => Ok(self.moved_from(row, renamed)?.map_or(Outcome::New, Outcome::Renamed)),
        }
    }

    /// The source that a file was before it was moved: the same bytes, at an address where no file is any more. It keeps
    /// its name, for that is what answers cite and others hold; only where it lies is another place.
    fn moved_from(&self, row: &SourceRow, renamed: &BTreeSet<cid::Cid>) -> Result<Option<SourceRow>, NodeError> {
        let moved = |old: &SourceRow| {
            is_same(old, row)
                && old.scope == row.scope
                // Nobody learns from an ingest what bytes others brought in.
                && old.creator == row.creator
                && old.sensitivity >= row.sensitivity
                && old.state == SourceState::Active
                && !renamed.contains(&old.record)
                && is_gone(&old.address)
        };
        Ok(kept::sources_of_raw(&self.premises.store, &row.raw)?.into_iter().find(moved))
    }

    /// What stands against a source, by its name and by its texts.
    fn standing(&self, prepared: &Prepared) -> Result<(Vec<Standing>, Vec<Standing>), NodeError> {
        let store = &self.premises.store;
        let texts = std::iter::once(prepared.fingerprint)
            .chain(prepared.chunks.iter().filter_map(|c| fingerprint_of_chunk(&c.text)));
        let mut by_text = Vec::new();
        for text in texts {
            if kept::is_barred(store, &text)? {
                by_text.extend(kept::standing_by_text(store, &text)?);
            }
        }
        let by_name = kept::standing_on(store, &prepared.row.record)?;
        Ok((by_name, by_text))
    }

    /// The notice that keeps a source from becoming active (no resurrection).
    fn barred(&self, (by_name, by_text): &(Vec<Standing>, Vec<Standing>)) -> Option<cid::Cid> {
        may_become_active(by_name, by_text, &self.premises.node(), &self.premises.org()).err()
    }

    fn write(&self, change: &mut Option<Change>, prepared: &Prepared, outcome: &Outcome) -> Result<(), NodeError> {
        let row = &prepared.row;
        let detail = format!(
            "{} by {}, {} chunks, {} findings, {}",
            outcome.word(),
            row.adapter,
            prepared.chunks.len(),
            prepared.n_findings,
            row.sensitivity
        );
        let word = if matches!(outcome, Outcome::Refused(_)) { "refused" } else { "ok" };
        let event = self.premises.event(&self.caller.label(), "source.ingest", row.record, word, detail);
        let change = match (outcome, &mut *change) {
            (Outcome::Unchanged, _) => return Ok(()),
            (_, Some(change)) => change.audit(event),
            (_, none) => none.insert(Change::new(event)),
        };
        match outcome {
            Outcome::Unchanged | Outcome::Refused(_) => return Ok(()),
            Outcome::Relabelled(old) => {
                // The chunks are the same; only their label rises.
                let raised = SourceRow { sensitivity: row.sensitivity, ..old.clone() };
                kept::retitle(change, &raised);
                for chunk in &old.chunks {
                    if let Some(mut unit) = unit(&self.premises.store, chunk)? {
                        unit.sensitivity = row.sensitivity;
                        change.put_unit(&unit);
                    }
                }
                return Ok(());
            }
            Outcome::Renamed(old) => {
                kept::vacate(&self.premises.store, change, old)?;
                kept::put_source(change, &SourceRow { address: row.address.clone(), ..old.clone() });
                return Ok(());
            }
            Outcome::Superseded(old) => {
                let superseded = SourceRow { state: SourceState::Superseded(row.record), ..old.clone() };
                kept::retitle(change, &superseded);
                for chunk in &old.chunks {
                    if let Some(mut unit) = unit(&self.premises.store, chunk)? {
                        unit.state = UnitState::Superseded { by: row.record };
                        change.put_unit(&unit);
                    }
                }
            }
            Outcome::New => {}
        }
        let holder = row.record.to_bytes();
        for block in &prepared.blocks {
            change.put_block(block.clone());
            change.hold(&block.cid, &holder);
        }
        for unit in &prepared.units {
            change.put_unit(unit);
        }
        kept::put_source(change, row);
        kept::put_doi(change, &row.record, prepared.doi.as_ref());
        Ok(())
    }

    fn count(&self, prepared: Prepared, outcome: Outcome, committed: &mut Committed) {
        let address = prepared.row.address;
        let n_chunks = prepared.chunks.len() as u64;
        if let Outcome::New | Outcome::Superseded(_) = &outcome {
            committed.with_doi.extend(prepared.doi.is_some().then_some(prepared.row.record));
            let sensitivity = prepared.row.sensitivity;
            let to_find = |chunk: &cid::Cid| ToFind { address: address.clone(), sensitivity, chunk: *chunk };
            committed.sources.extend(prepared.row.chunks.first().map(to_find));
        }
        self.job.note(|view| {
            if let Some(raised) = prepared.raised {
                push(&mut view.raised, address.clone(), raised);
            }
            match outcome {
                Outcome::New => view.new += 1,
                Outcome::Superseded(_) => view.superseded += 1,
                Outcome::Renamed(_) => view.renamed += 1,
                Outcome::Unchanged | Outcome::Relabelled(_) => view.unchanged += 1,
                Outcome::Refused(reason) => return push(&mut view.refused, address, reason),
            }
            view.chunks += n_chunks;
        });
    }
}

/// Gives a batch to be committed, and begins another.
fn hand_over(batch: &mut Batch, full: &SyncSender<Batch>) -> Result<(), NodeError> {
    let batch = std::mem::take(batch);
    if batch.sources.is_empty() {
        return Ok(());
    }
    // Nobody takes it any more only after a commit failed, and then that is what the job says.
    full.send(batch).map_err(|_| NodeError::Invalid("the job's commits have ended".to_string()))
}

/// Whether two rows are one source: by name, or, since a source keeps the name under which its file first came in, by its
/// bytes as the same adapter reads them.
fn is_same(one: &SourceRow, other: &SourceRow) -> bool {
    one.record == other.record
        || (one.publisher == other.publisher && one.raw == other.raw && one.adapter == other.adapter)
}

fn push(notes: &mut Vec<SourceNote>, address: String, reason: String) {
    if notes.len() < NOTES_MAX {
        notes.push(SourceNote { address, reason });
    }
}

/// What becomes of a source.
enum Outcome {
    New,
    Unchanged,
    /// Known, under a label that is not strict enough any more.
    Relabelled(SourceRow),
    /// Known, and its file was moved.
    Renamed(SourceRow),
    Superseded(SourceRow),
    Refused(String),
}

impl Outcome {
    fn word(&self) -> &'static str {
        match self {
            Outcome::New => "new",
            Outcome::Unchanged => "unchanged",
            Outcome::Relabelled(_) => "relabelled",
            Outcome::Renamed(_) => "renamed",
            Outcome::Superseded(_) => "superseded",
            Outcome::Refused(_) => "refused",
        }
    }
}
