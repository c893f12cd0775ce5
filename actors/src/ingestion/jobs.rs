//! Jobs: what runs now, and what is written down of all of them.
//!
//! Key `j` ‖ time ‖ random → [`StoredJob`].

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use plumb_core::identity::EntityId;
use plumb_storage::{Change, Keyspace, Records, RecordsExt};
use serde::{Deserialize, Serialize};

use super::{IngestSources, JOB_SHAPE, JobState, JobView, StageCounts};
use crate::caller::Caller;
use crate::error::NodeError;
use crate::kept::time_key;
use crate::premises::Premises;

/// A job as it is written down.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct StoredJob {
    /// Whose it is.
    pub person: EntityId,
    /// How it stands.
    pub view: JobView,
}

/// A job that runs.
pub(crate) struct Job {
    /// Whose it is.
    pub person: EntityId,
    view: Mutex<JobView>,
    cancelled: AtomicBool,
}

impl Job {
    /// How it stands.
    pub fn view(&self) -> JobView {
        self.view.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Changes how it stands.
    pub fn note(&self, note: impl FnOnce(&mut JobView)) {
        note(&mut self.view.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Whether it shall stop.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// Writes it down as part of a change.
    pub fn put(&self, change: &mut Change) {
        put_job(change, &self.person, &self.view());
    }
}

/// Writes a job down as part of a change.
pub(super) fn put_job(change: &mut Change, person: &EntityId, view: &JobView) {
    let stored = StoredJob { person: person.clone(), view: view.clone() };
    change.put_value(Keyspace::Jobs, JOB_SHAPE, &key(&view.id), &stored);
}

fn key(id: &str) -> Vec<u8> {
    [b"j", id.as_bytes()].concat()
}

/// All jobs of a node.
#[derive(Default)]
pub(crate) struct Jobs {
    running: Mutex<BTreeMap<String, Arc<Job>>>,
}

impl Jobs {
    /// How many run.
    pub fn n_running(&self) -> usize {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.retain(|_, job| job.view().state == JobState::Running);
        running.len()
    }

    /// Begins a job, written down before it does anything.
    pub fn begin(&self, premises: &Premises, ask: &IngestSources) -> Result<Arc<Job>, NodeError> {
        let now = premises.now();
        let random: [u8; 6] = rand::random();
        let hex = |bytes: &[u8]| bytes.iter().map(|b| format!("{b:02x}")).collect::<String>();
        // The time comes first, so that the order of keys is the order of jobs.
        let id = format!("{}-{}", hex(&time_key(now)), hex(&random));
        let job = Arc::new(Job {
            person: ask.caller.person.clone(),
            view: Mutex::new(JobView {
                id: id.clone(),
                state: JobState::Running,
                dry_run: ask.dry_run,
                started_at: now.to_string(),
                ended_at: None,
                seen: 0,
                total: ask.intake.len() as u64,
                stages: StageCounts::default(),
                new: 0,
                unchanged: 0,
                superseded: 0,
                renamed: 0,
                parked: Vec::new(),
                refused: Vec::new(),
                raised: Vec::new(),
                chunks: 0,
                error: None,
            }),
            cancelled: AtomicBool::new(false),
        });
        let what = format!("{} inputs{}", ask.intake.len(), if ask.dry_run { ", dry run" } else { "" });
        let mut change = Change::new(premises.event(&ask.caller.label(), "job.begin", &id, "ok", what));
        job.put(&mut change);
        premises.store.commit(change)?;
        self.running.lock().unwrap_or_else(PoisonError::into_inner).insert(id, job.clone());
        Ok(job)
    }

    /// A job, if it is the caller's, or the caller is the operator.
    pub fn show(&self, premises: &Premises, caller: &Caller, id: &str) -> Result<JobView, NodeError> {
        let absent = || NodeError::NotFound(id.to_string());
        let may_see = |person: &EntityId| caller.operator || *person == caller.person;
        if let Some(job) = self.running.lock().unwrap_or_else(PoisonError::into_inner).get(id) {
            return if may_see(&job.person) { Ok(job.view()) } else { Err(absent()) };
        }
        if id.len() > 64 {
            return Err(absent());
        }
        let stored: Option<StoredJob> = premises.store.value(Keyspace::Jobs, JOB_SHAPE, &key(id))?;
        stored.filter(|job| may_see(&job.person)).map(|job| job.view).ok_or_else(absent)
    }

    /// The caller's jobs, newest first.
    pub fn list(&self, premises: &Premises, caller: &Caller, limit: usize) -> Result<Vec<JobView>, NodeError> {
        let rows = premises.store.scan_back(Keyspace::Jobs, b"j", None, limit)?;
        let mut views = Vec::new();
        for (_, value) in rows {
            let stored: StoredJob = plumb_storage::stored::decode(Keyspace::Jobs, JOB_SHAPE, &value)?;
            // A job that runs is further than what is written down of it.
            views.extend(self.show(premises, caller, &stored.view.id).ok());
        }
        Ok(views)
    }

    /// Stops a job at its next source.
    pub fn cancel(&self, premises: &Premises, caller: &Caller, id: &str) -> Result<JobView, NodeError> {
        let view = self.show(premises, caller, id)?;
        if let Some(job) = self.running.lock().unwrap_or_else(PoisonError::into_inner).get(id) {
            job.cancelled.store(true, Ordering::Relaxed);
        }
        Ok(view)
    }

    /// Stops every job at its next source: the node is going down.
    pub fn cancel_all(&self) {
        for job in self.running.lock().unwrap_or_else(PoisonError::into_inner).values() {
            job.cancelled.store(true, Ordering::Relaxed);
        }
    }

    /// Marks what a former life left running as ended. What it acknowledged is there; running the same again takes in
    /// the rest.
    pub fn settle(&self, premises: &Premises) -> Result<(), NodeError> {
        let mut left: Vec<StoredJob> = Vec::new();
        for row in premises.store.rows(Keyspace::Jobs, b"j") {
            let stored: StoredJob = plumb_storage::stored::decode(Keyspace::Jobs, JOB_SHAPE, &row?.1)?;
            if stored.view.state == JobState::Running {
                left.push(stored);
            }
        }
        for mut stored in left {
            let id = stored.view.id.clone();
            stored.view.state = JobState::Failed;
            stored.view.ended_at = Some(premises.now().to_string());
            stored.view.error = Some(
                "the node stopped while this job ran; what it had taken in is kept, and the same command takes in the rest"
                    .to_string(),
            );
            let mut change = Change::new(premises.event("node", "job.settle", &id, "interrupted", ""));
            change.put_value(Keyspace::Jobs, JOB_SHAPE, &key(&id), &stored);
            premises.store.commit(change)?;
        }
        Ok(())
    }
}
