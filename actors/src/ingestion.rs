//! Ingesting: takes sources in as jobs, in six stages, resumably.
//!
//! parse → chunk → enrich → embed → index → quality. A source is committed whole (blocks, record, units, audit event,
//! outbox rows in one transaction), so a job that dies loses at most what was not acknowledged, and running it again
//! finds the rest unchanged.

mod intake;
mod jobs;
mod messages;
mod prepare;
mod remove;
mod run;
mod sources;

use std::sync::Arc;

use actix::prelude::*;
use plumb_storage::{Change, Records};

use crate::error::NodeError;
use crate::kept::SHAPE;
use crate::premises::{Premises, blocking};
pub(crate) use jobs::Jobs;

pub use messages::*;
pub(crate) use sources::find_sources;

/// Jobs that run at once. Parsing takes a core each, and a node must go on answering.
const JOBS_RUNNING_MAX: usize = 4;

/// Takes sources in.
pub struct Ingestion {
    premises: Arc<Premises>,
    jobs: Arc<Jobs>,
}
crate::resident!(Ingestion, "ingestion");

impl Ingestion {
    /// `jobs` outlives the actor: a job goes on while its actor is started afresh.
    pub(crate) fn new(premises: Arc<Premises>, jobs: Arc<Jobs>) -> Ingestion {
        Ingestion { premises, jobs }
    }
}

impl Handler<IngestSources> for Ingestion {
    type Result = ResponseFuture<Result<JobView, NodeError>>;

    fn handle(&mut self, ask: IngestSources, _: &mut Context<Self>) -> Self::Result {
        let (premises, jobs) = (self.premises.clone(), self.jobs.clone());
        Box::pin(blocking(move || {
            premises.requester(&ask.caller)?;
            if let Some(adapter) = &ask.adapter
                && premises.registry.adapter_named(adapter).is_none()
            {
                return Err(NodeError::Invalid(format!(
                    "no adapter is named `{adapter}`; a name is such as `markdown/1`, as `plumb sources` shows it"
                )));
            }
            if jobs.n_running() >= JOBS_RUNNING_MAX {
                return Err(NodeError::Busy { retry_after: crate::door::RETRY_AFTER });
            }
            let job = jobs.begin(&premises, &ask)?;
            let view = job.view();
            std::thread::Builder::new()
                .name("plumb-ingest".to_string())
                .spawn(move || run::run(&premises, &job, ask))
                .map_err(|e| NodeError::Invalid(format!("no thread for the job: {e}")))?;
            Ok(view)
        }))
    }
}

impl Handler<ShowJob> for Ingestion {
    type Result = ResponseFuture<Result<JobView, NodeError>>;

    fn handle(&mut self, ask: ShowJob, _: &mut Context<Self>) -> Self::Result {
        let (premises, jobs) = (self.premises.clone(), self.jobs.clone());
        Box::pin(blocking(move || jobs.show(&premises, &ask.caller, &ask.id)))
    }
}

impl Handler<ListJobs> for Ingestion {
    type Result = ResponseFuture<Result<Vec<JobView>, NodeError>>;

    fn handle(&mut self, ask: ListJobs, _: &mut Context<Self>) -> Self::Result {
        let (premises, jobs) = (self.premises.clone(), self.jobs.clone());
        Box::pin(blocking(move || jobs.list(&premises, &ask.caller, ask.limit)))
    }
}

impl Handler<CancelJob> for Ingestion {
    type Result = ResponseFuture<Result<JobView, NodeError>>;

    fn handle(&mut self, ask: CancelJob, _: &mut Context<Self>) -> Self::Result {
        let (premises, jobs) = (self.premises.clone(), self.jobs.clone());
        Box::pin(blocking(move || {
            let view = jobs.cancel(&premises, &ask.caller, &ask.id)?;
            let event = premises.event(&ask.caller.label(), "job.cancel", &ask.id, "ok", "");
            premises.store.commit(Change::new(event))?;
            Ok(view)
        }))
    }
}

impl Handler<ListSources> for Ingestion {
    type Result = ResponseFuture<Result<Vec<SourceView>, NodeError>>;

    fn handle(&mut self, ask: ListSources, _: &mut Context<Self>) -> Self::Result {
        let premises = self.premises.clone();
        Box::pin(blocking(move || sources::list(&premises, &ask)))
    }
}

impl Handler<RemoveSource> for Ingestion {
    type Result = ResponseFuture<Result<RemovedView, NodeError>>;

    fn handle(&mut self, ask: RemoveSource, _: &mut Context<Self>) -> Self::Result {
        let premises = self.premises.clone();
        Box::pin(blocking(move || remove::remove(&premises, &ask)))
    }
}

/// The shape of a stored job.
const JOB_SHAPE: u8 = SHAPE;
