//! `plumb gravity`: what independent corroboration would let rise.

use clap::{Args, Subcommand};
use plumb_actors::gravity::GravityView;

use crate::cli::Context;
use crate::exit::Exit;
use crate::output::{Table, count};
use crate::{output, session};

/// Gravity.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    plumb gravity plan        what would rise, and what holds the rest; nothing is changed")]
pub struct GravityArgs {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Say what would rise, and what holds the rest; nothing is changed
    Plan,
}

/// Does it.
pub async fn run(cx: &Context, args: GravityArgs) -> anyhow::Result<Exit> {
    match args.verb {
        Verb::Plan => {
            let plan: GravityView = session::with_node(cx, async |client| client.get("/v1/gravity").await).await?;
            output::emit(cx.json, &plan, || show(&plan))?;
            Ok(Exit::Done)
        }
    }
}

fn show(plan: &GravityView) -> String {
    let looked_at = count(plan.units, "unit", "units");
    if plan.steps.is_empty() {
        return format!("{looked_at} looked at; none says what another, independent one says\n");
    }
    let mut table = Table::new(&["from", "corroborations", "score", "held by", "unit"]);
    for step in &plan.steps {
        let held = step.held.clone().unwrap_or_else(|| "nothing: it would rise".to_string());
        let (from, unit) = (step.from.clone(), step.chunk.clone());
        table.row([from, step.corroborations.to_string(), step.score.to_string(), held, unit]);
    }
    format!("{looked_at} looked at\n{}", table.show("nothing"))
}
