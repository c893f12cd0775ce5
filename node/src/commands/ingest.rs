//! `plumb ingest`: taking sources in, with progress and a summary.

use std::fmt::Write;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, anyhow, bail};
use clap::Args;
use plumb_actors::ingestion::{JobState, JobView, SourceNote};
use plumb_core::boundary::Sensitivity;
use plumb_core::knowledge::Scope;

use crate::api::ingest::{Document, IngestRequest};
use crate::cli::Context;
use crate::client::{Client, escape};
use crate::config::Config;
use crate::exit::{Exit, UsageError};
use crate::output::count;
use crate::progress::Progress;
use crate::{output, session};

/// How often the job is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Most lines under one heading of the summary; `--json` has all of them.
const NOTES_MAX: usize = 50;
/// How standard input is called.
const STDIN: &str = "-";

/// Takes sources in.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    plumb ingest ~/policies minutes.md\n  \
    plumb ingest --scope team:team-network --sensitivity restricted runbooks/\n  \
    plumb ingest --dry-run ~/downloads                 says what would happen\n  \
    pdftotext report.pdf - | plumb ingest - --name report.txt\n\n\
    A second run finds what is unchanged and leaves it. What cannot be read is parked with its reason, and the rest\n\
    goes on; the exit code is 0 then. It is 7 if nothing at all was allowed in.")]
pub struct IngestArgs {
    /// Files and folders; `-` is standard input
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Whose it shall be, such as team:team-network; otherwise the node's department
    #[arg(long, value_name = "LEVEL:ENTITY")]
    scope: Option<Scope>,
    /// How sensitive it is: public, internal, restricted or confidential; otherwise internal. Detection may raise it
    #[arg(long, value_name = "CLASS")]
    sensitivity: Option<Sensitivity>,
    /// Read with this adapter only, such as markdown/1, and park the rest; otherwise with the one that fits the bytes
    #[arg(long, value_name = "NAME")]
    adapter: Option<String>,
    /// Say what would happen, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// A name for standard input
    #[arg(long, value_name = "NAME", default_value = "stdin")]
    name: String,
}

/// Takes sources in.
pub async fn run(cx: &Context, args: IngestArgs) -> anyhow::Result<Exit> {
    let request = request(cx, args)?;
    let job = session::with_node(cx, async |client| {
        let job: JobView = client.post("/v1/ingest", &request).await?;
        follow(client, job).await
    })
    .await?;
    output::emit(cx.json, &job, || show(&job))?;
    Ok(exit_of(&job))
}

fn request(cx: &Context, args: IngestArgs) -> anyhow::Result<IngestRequest> {
    let mut request = IngestRequest {
        scope: args.scope.map(|s| s.to_string()),
        sensitivity: args.sensitivity.map(|s| s.to_string()),
        adapter: args.adapter,
        dry_run: args.dry_run,
        ..IngestRequest::default()
    };
    for path in args.paths {
        if path == Path::new(STDIN) {
            if !request.documents.is_empty() {
                return Err(UsageError("standard input can be read once".to_string()).into());
            }
            let max = Config::load(&cx.home()?.config_file(), &[])?.source_bytes_max;
            request.documents.push(Document::of_bytes(args.name.clone(), &read_stdin(max)?));
        } else {
            request.paths.push(absolute(&path)?);
        }
    }
    Ok(request)
}

fn read_stdin(max: u64) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    std::io::stdin().lock().take(max + 1).read_to_end(&mut bytes).context("standard input cannot be read")?;
    if bytes.len() as u64 > max {
        bail!("standard input has more than {max} bytes; ingest.bytes_max in plumb.toml allows more");
    }
    Ok(bytes)
}

/// The path as the node, which stands elsewhere, must hear it. What is not there is a slip of the hand, and said at
/// once; what vanishes later is parked.
fn absolute(path: &Path) -> anyhow::Result<String> {
    std::fs::symlink_metadata(path).with_context(|| format!("{} cannot be taken in", path.display()))?;
    let absolute = std::path::absolute(path)?;
    absolute
        .to_str()
        .map(str::to_string)
        .ok_or_else(|| anyhow!("the name {} is not UTF-8; name the folder in which it lies", path.display()))
}

/// Looks at the job until it has ended. Ctrl-C cancels it: what it took in stays. A second one waits no longer.
pub async fn follow(client: &Client, mut job: JobView) -> anyhow::Result<JobView> {
    let path = format!("/v1/jobs/{}", escape(&job.id));
    let mut progress = Progress::begin();
    let mut cancelled = false;
    while job.state == JobState::Running {
        progress.update(&job);
        tokio::select! {
            () = tokio::time::sleep(LOOK_EVERY) => {}
            signal = tokio::signal::ctrl_c() => {
                signal?;
                if cancelled {
                    bail!("interrupted before the job had ended; `plumb jobs show {}` shows it", job.id);
                }
                cancelled = true;
                let _: JobView = client.act(&format!("{path}/cancel")).await?;
            }
        }
        job = client.get(&path).await?;
    }
    progress.end();
    Ok(job)
}

/// How a command ends whose job ended so.
pub fn exit_of(job: &JobView) -> Exit {
    let came_in = job.new + job.unchanged + job.renamed + job.superseded + job.parked.len() as u64;
    match job.state {
        JobState::Failed | JobState::Cancelled => Exit::Failed,
        _ if came_in == 0 && !job.refused.is_empty() => Exit::Denied,
        _ => Exit::Done,
    }
}

/// The summary of a job.
pub fn show(job: &JobView) -> String {
    let mut text = String::new();
    if job.dry_run {
        text.push_str("Nothing was changed. This would happen:\n");
    }
    let _ = writeln!(
        text,
        "{}: {} new, {} unchanged, {} superseded, {} parked, {} refused; {} stored",
        count(job.seen, "source", "sources"),
        job.new,
        job.unchanged,
        job.superseded,
        job.parked.len(),
        job.refused.len(),
        count(job.chunks, "chunk", "chunks"),
    );
    if job.renamed > 0 {
        let _ = writeln!(text, "{} only moved, and kept its name", count(job.renamed, "source", "sources"));
    }
    notes(&mut text, "Parked, with the reason", &job.parked);
    notes(&mut text, "Refused, with the reason", &job.refused);
    notes(&mut text, "More sensitive than was said", &job.raised);
    match (&job.state, &job.error) {
        (JobState::Failed, error) => {
            let _ = writeln!(text, "The job failed: {}", error.as_deref().unwrap_or("no reason is known"));
        }
        (JobState::Cancelled, _) => text.push_str("The job was cancelled; what it took in stays.\n"),
        _ => {}
    }
    text
}

fn notes(text: &mut String, heading: &str, notes: &[SourceNote]) {
    if notes.is_empty() {
        return;
    }
    let _ = writeln!(text, "\n{heading}:");
    for note in notes.iter().take(NOTES_MAX) {
        let _ = writeln!(text, "  {}\n    {}", note.address, note.reason);
    }
    if notes.len() > NOTES_MAX {
        let _ = writeln!(text, "  … and {} more", notes.len() - NOTES_MAX);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_actors::ingestion::StageCounts;

    fn job(state: JobState, new: u64, parked: usize, refused: usize) -> JobView {
        let note = || SourceNote { address: "file:/a".into(), reason: "because".into() };
        JobView {
            id: "1".into(),
            state,
            dry_run: false,
            started_at: String::new(),
            ended_at: None,
            seen: new + (parked + refused) as u64,
            total: 0,
            stages: StageCounts::default(),
            new,
            unchanged: 0,
            superseded: 0,
            renamed: 0,
            parked: (0..parked).map(|_| note()).collect(),
            refused: (0..refused).map(|_| note()).collect(),
            raised: vec![],
            chunks: 0,
            error: None,
        }
    }

    #[test]
    fn what_is_parked_is_no_failure_and_what_is_all_refused_is() {
        for (state, new, parked, refused, exit) in [
            (JobState::Done, 2, 0, 0, Exit::Done),
            (JobState::Done, 0, 3, 0, Exit::Done),
            (JobState::Done, 0, 0, 0, Exit::Done),
            (JobState::Done, 1, 0, 2, Exit::Done),
            (JobState::Done, 0, 0, 2, Exit::Denied),
            (JobState::Failed, 1, 0, 0, Exit::Failed),
            (JobState::Cancelled, 1, 0, 0, Exit::Failed),
        ] {
            assert_eq!(exit_of(&job(state, new, parked, refused)), exit, "{state:?} {new} {parked} {refused}");
        }
    }

    #[test]
    fn the_summary_names_every_reason() {
        let text = show(&job(JobState::Done, 1, 1, 60));
        assert!(text.contains("62 sources: 1 new"), "{text}");
        assert!(text.contains("Parked, with the reason:\n  file:/a\n    because"), "{text}");
        assert!(text.contains("… and 10 more"), "{text}");
    }
}
