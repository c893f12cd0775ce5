//! `plumb feedback`: what became of what a search showed, and what was learned from it.

use clap::{Args, Subcommand};
use plumb_actors::retrieval::{FeedbackView, LearnedView};

use crate::api::feedback::{FeedbackRequest, Forgotten};
use crate::cli::Context;
use crate::exit::Exit;
use crate::output::{Table, count};
use crate::{output, session};

/// Feedback.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    plumb feedback give \"why does pump 7 trip\" --used bafy… --passed-over bafy…\n  \
    plumb feedback give \"why does pump 7 trip\" --wrong bafy…     replaces what you said before\n  \
    plumb feedback show        what was learned, for each intent and kind of source\n  \
    plumb feedback forget      all of it\n\n\
    What is learned multiplies the weight of a kind of source by 0.5 to 2, with little data hardly at all; \
    `plumb search --explain` shows it. It never shows anybody what they may not read. Chunks are named by the CIDs that \
    `plumb search --json` prints.")]
pub struct FeedbackArgs {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Say what became of what a question was answered with
    Give {
        /// The question, as it was asked
        query: String,
        /// A chunk that was used; may be repeated
        #[arg(long, value_name = "CHUNK")]
        used: Vec<String>,
        /// A chunk that nobody did anything with; may be repeated
        #[arg(long, value_name = "CHUNK")]
        passed_over: Vec<String>,
        /// A chunk that turned out to be wrong; may be repeated
        #[arg(long, value_name = "CHUNK")]
        wrong: Vec<String>,
    },
    /// Show what was learned from feedback on what you may read
    Show,
    /// Forget all feedback, and with it what was learned
    Forget,
}

/// Does it.
pub async fn run(cx: &Context, args: FeedbackArgs) -> anyhow::Result<Exit> {
    match args.verb {
        Verb::Give { query, used, passed_over, wrong } => {
            let request = FeedbackRequest { query, used, passed_over, wrong };
            let given: FeedbackView =
                session::with_node(cx, async |client| client.post("/v1/feedback", &request).await).await?;
            output::emit(cx.json, &given, || {
                let units = count(given.units.len() as u64, "chunk", "chunks");
                format!("Kept what became of {units}, for questions about {}.\n", given.intent)
            })?;
        }
        Verb::Show => {
            let learned: LearnedView = session::with_node(cx, async |client| client.get("/v1/feedback").await).await?;
            output::emit(cx.json, &learned, || {
                let mut table = Table::new(&["intent", "kind", "used", "shown", "weight"]);
                for k in &learned.kinds {
                    let factor = format!("{}.{:03}", k.factor / 1000, k.factor % 1000);
                    table.row([k.intent.clone(), k.kind.clone(), k.helped.to_string(), k.shown.to_string(), factor]);
                }
                table.show("nothing was learned yet")
            })?;
        }
        Verb::Forget => {
            let forgotten: Forgotten =
                session::with_node(cx, async |client| client.delete("/v1/feedback").await).await?;
            output::emit(cx.json, &forgotten, || {
                format!("Forgot {}.\n", count(forgotten.events, "event of feedback", "events of feedback"))
            })?;
        }
    }
    Ok(Exit::Done)
}
