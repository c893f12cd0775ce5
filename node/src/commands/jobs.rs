//! `plumb jobs`: where ingests stand.

use clap::{Args, Subcommand};
use plumb_actors::ingestion::{JobState, JobView};

use super::ingest;
use crate::cli::Context;
use crate::client::{escape, with_query};
use crate::exit::Exit;
use crate::output::Table;
use crate::{output, session};

/// Jobs.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  plumb jobs list\n  plumb jobs show 01J…\n  plumb jobs cancel 01J…    what it took in stays"
)]
pub struct JobsArgs {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// List jobs, newest first
    List {
        /// At most so many
        #[arg(long, value_name = "N", default_value_t = 20)]
        limit: usize,
    },
    /// Show a job
    Show {
        /// Its id
        id: String,
    },
    /// Stop a job at its next source
    Cancel {
        /// Its id
        id: String,
    },
}

/// Does it.
pub async fn run(cx: &Context, args: JobsArgs) -> anyhow::Result<Exit> {
    match args.verb {
        Verb::List { limit } => list(cx, limit).await,
        Verb::Show { id } => {
            let path = format!("/v1/jobs/{}", escape(&id));
            let job: JobView = session::with_node(cx, async |client| client.get(&path).await).await?;
            output::emit(cx.json, &job, || show(&job))?;
            Ok(Exit::Done)
        }
        Verb::Cancel { id } => {
            let path = format!("/v1/jobs/{}/cancel", escape(&id));
            let job: JobView = session::with_node(cx, async |client| client.act(&path).await).await?;
            output::emit(cx.json, &job, || show(&job))?;
            Ok(Exit::Done)
        }
    }
}

async fn list(cx: &Context, limit: usize) -> anyhow::Result<Exit> {
    let address = with_query("/v1/jobs", &[("limit", Some(limit.to_string()))]);
    let jobs: Vec<JobView> = session::with_node(cx, async |client| client.get(&address).await).await?;
    output::emit(cx.json, &jobs, || {
        let mut table = Table::new(&["id", "state", "began", "seen", "new", "parked", "refused"]);
        for job in &jobs {
            table.row([
                job.id.clone(),
                state(job.state).to_string(),
                job.started_at.clone(),
                job.seen.to_string(),
                job.new.to_string(),
                job.parked.len().to_string(),
                job.refused.len().to_string(),
            ]);
        }
        table.show("no jobs")
    })?;
    Ok(Exit::Done)
}

fn show(job: &JobView) -> String {
    let stages = &job.stages;
    format!(
        "Job {}, {}\n  began   {}\n  ended   {}\n  stages  parse {} → chunk {} → enrich {} → embed {} → index {} → quality {}\n\n{}",
        job.id,
        state(job.state),
        job.started_at,
        job.ended_at.as_deref().unwrap_or("not yet"),
        stages.parse,
        stages.chunk,
        stages.enrich,
        stages.embed,
        stages.index,
        stages.quality,
        ingest::show(job),
    )
}

const fn state(state: JobState) -> &'static str {
    match state {
        JobState::Running => "running",
        JobState::Done => "done",
        JobState::Cancelled => "cancelled",
        JobState::Failed => "failed",
    }
}
