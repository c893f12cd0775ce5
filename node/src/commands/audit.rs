//! `plumb audit`: what was done and read, and whether the log of it is whole.

use clap::{Args, Subcommand};
use plumb_actors::audit::{AuditEventView, AuditVerdictView};
use serde::Serialize;

use crate::cli::Context;
use crate::client::with_query;
use crate::exit::Exit;
use crate::output::{Table, count, line};
use crate::{output, session};

/// The audit log.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    plumb audit list --action notice\n  \
    plumb audit verify        hashes every event again; exit 1 if one was changed\n  \
    plumb audit checkpoint    the signed head of the public log, to compare with what others saw")]
pub struct AuditArgs {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// List events, newest first
    List {
        /// Only events whose action begins with this, such as search or notice
        #[arg(long, value_name = "WORD")]
        action: Option<String>,
        /// Only those before this index
        #[arg(long, value_name = "INDEX")]
        before: Option<u64>,
        /// At most so many
        #[arg(long, value_name = "N", default_value_t = 50)]
        limit: usize,
    },
    /// Hash every event again, and compare with the root that was kept
    Verify,
    /// Print the signed head of this node's public log (C2SP checkpoint)
    Checkpoint,
}

#[derive(Debug, Serialize)]
struct CheckpointView {
    checkpoint: String,
}

/// Does it.
pub async fn run(cx: &Context, args: AuditArgs) -> anyhow::Result<Exit> {
    match args.verb {
        Verb::List { action, before, limit } => {
            let parameters =
                [("action", action), ("before", before.map(|n| n.to_string())), ("limit", Some(limit.to_string()))];
            let address = with_query("/v1/audit", &parameters);
            let events: Vec<AuditEventView> = session::with_node(cx, async |client| client.get(&address).await).await?;
            output::emit(cx.json, &events, || list(&events))?;
            Ok(Exit::Done)
        }
        Verb::Verify => {
            let verdict: AuditVerdictView =
                session::with_node(cx, async |client| client.act("/v1/audit/verify").await).await?;
            output::emit(cx.json, &verdict, || {
                let n = count(verdict.size, "event", "events");
                let problem = verdict.problem.as_deref().unwrap_or("it does not hash into the root that was kept");
                match verdict.intact {
                    true => format!("The audit log is whole: {n}, root {}\n", verdict.root),
                    false => format!("The audit log is not whole: {problem} ({n})\n"),
                }
            })?;
            Ok(if verdict.intact { Exit::Done } else { Exit::Failed })
        }
        Verb::Checkpoint => {
            let note = session::with_node(cx, async |client| client.get_bytes("/v1/log/checkpoint").await).await?;
            let view = CheckpointView { checkpoint: String::from_utf8_lossy(&note).into_owned() };
            output::emit(cx.json, &view, || view.checkpoint.clone())?;
            Ok(Exit::Done)
        }
    }
}

fn list(events: &[AuditEventView]) -> String {
    let mut table = Table::new(&["index", "at", "who", "action", "outcome", "subject", "detail"]);
    for e in events {
        table.row([
            e.index.to_string(),
            e.at.clone(),
            e.actor.clone(),
            e.action.clone(),
            e.outcome.clone(),
            line(&e.subject, 60),
            line(&e.detail, 60),
        ]);
    }
    table.show("no events")
}
