//! `plumb answers`: saved answers, as they stand now.

use std::fmt::Write;

use clap::{Args, Subcommand};

use super::ask;
use crate::api::envelope::SavedAnswerReply;
use crate::cli::Context;
use crate::client::{escape, with_query};
use crate::exit::Exit;
use crate::output::{Table, line};
use crate::{output, session};

/// Saved answers.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  plumb answers list\n  plumb answers show last\n  plumb answers show bafy…    with a flag for every notice that reached it since"
)]
pub struct AnswersArgs {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// List saved answers, newest first
    List {
        /// At most so many
        #[arg(long, value_name = "N", default_value_t = 20)]
        limit: usize,
    },
    /// Show a saved answer
    Show {
        /// The CID of its bundle, or `last`
        bundle: String,
    },
}

/// Does it.
pub async fn run(cx: &Context, args: AnswersArgs) -> anyhow::Result<Exit> {
    match args.verb {
        Verb::List { limit } => {
            let address = with_query("/v1/answers", &[("limit", Some(limit.to_string()))]);
            let answers: Vec<SavedAnswerReply> =
                session::with_node(cx, async |client| client.get(&address).await).await?;
            output::emit(cx.json, &answers, || {
                let mut table = Table::new(&["saved", "state", "question", "bundle"]);
                for a in &answers {
                    table.row([a.saved_at.clone(), a.state.clone(), line(&a.answer.query, 60), a.bundle.clone()]);
                }
                table.show("no saved answers that you may read")
            })?;
        }
        Verb::Show { bundle } => {
            let path = format!("/v1/answers/{}", escape(&bundle));
            let answer: SavedAnswerReply = session::with_node(cx, async |client| client.get(&path).await).await?;
            output::emit(cx.json, &answer, || show(&answer))?;
        }
    }
    Ok(Exit::Done)
}

fn show(saved: &SavedAnswerReply) -> String {
    let mut text = String::new();
    for flag in &saved.flags {
        let _ = writeln!(text, "! {flag}");
    }
    let _ = write!(
        text,
        "{}\n{}, saved {}\nbundle {}\n\n{}",
        saved.answer.query,
        saved.state,
        saved.saved_at,
        saved.bundle,
        ask::answer(&saved.answer),
    );
    for claim in saved.claims.iter().filter(|claim| claim.state != "supported") {
        let _ = writeln!(text, "Claim {} is {} now", claim.id, claim.state);
    }
    for notice in &saved.notices {
        let _ = writeln!(text, "Notice {notice}");
    }
    text
}
