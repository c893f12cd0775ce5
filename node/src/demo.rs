//! `plumb demo`: the whole story on embedded documents, told by real commands.
//!
//! Two organisations keep their knowledge on three nodes. The nodes are processes of this same program; each step is
//! one or more `plumb` commands that a person could type, run as child processes, and what is printed stands in their
//! answers. Every step says what it shows, and checks it: a step that does not show what it says ends the
//! demonstration with exit code 1.
//!
//! | room | holds |
//! | --- | --- |
//! | [`documents`] | the documents of `fixtures/story`, embedded |
//! | [`stage`] | where it plays: homes, running nodes, commands |
//! | [`report`] | what the audience sees: numbered steps for people, or one JSON document |
//! | [`founding`], [`asking`], [`exchange`], [`retraction`] | the steps |
//!
//! **Invariant:** the demonstration has no way of its own into a node. What it shows, the command line can do.

mod asking;
mod documents;
mod exchange;
mod founding;
mod report;
mod retraction;
mod stage;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context as _, bail};

use crate::exit::Exit;
use report::Report;
use stage::Stage;

/// The question that runs through the story. Its answer stands in a study that is withdrawn.
const STUDY_QUESTION: &str = "How much did chloramine reduce biofilm growth in cast-iron mains?";
/// The study's document.
const STUDY: &str = "study-chloramine-biofilm.md";
/// Its sentence.
const STUDY_SENTENCE: &str = "A chloramine dose of 1.8 mg/L reduced biofilm growth by 62 percent in cast-iron mains.";

/// Plays the whole story. Below `keep` if given, and everything stays there; otherwise in a temporary folder that is
/// gone afterwards.
pub fn run(keep: Option<&Path>, json: bool) -> anyhow::Result<Exit> {
    let place = Place::prepare(keep)?;
    let mut stage = Stage::set(place.root().to_path_buf(), Report::new(json), interruption()?)?;
    let told = tell(&mut stage);
    let report = stage.close();
    let exit = report.finish(told.as_ref().err(), keep.is_some())?;
    place.clear()?;
    Ok(exit)
}

fn tell(stage: &mut Stage) -> anyhow::Result<()> {
    founding::found(stage)?;
    founding::start(stage)?;
    founding::ingest(stage)?;
    asking::ask_locally(stage)?;
    asking::ask_what_nobody_knows(stage)?;
    asking::ask_without_the_right(stage)?;
    asking::ask_where_sources_disagree(stage)?;
    asking::ask_across_borders(stage)?;
    asking::search_for_what_stays_inside(stage)?;
    exchange::save_and_export(stage)?;
    exchange::verify_with_nothing_running(stage)?;
    exchange::flip_one_byte(stage)?;
    exchange::import(stage)?;
    retraction::retract(stage)?;
    retraction::show_who_has_heard(stage)?;
    retraction::restart_and_rebuild(stage)?;
    retraction::verify_the_audit(stage)?;
    founding::stop(stage)
}

/// Where everything lies.
enum Place {
    Kept(PathBuf),
    Temporary(tempfile::TempDir),
}

impl Place {
    fn prepare(keep: Option<&Path>) -> anyhow::Result<Place> {
        let Some(dir) = keep else {
            let dir = tempfile::Builder::new().prefix("plumb-demo-").tempdir();
            return dir
                .map(Place::Temporary)
                .context("no temporary folder can be made; --keep DIR names another place");
        };
        let dir = std::path::absolute(dir).with_context(|| format!("{} is not a usable path", dir.display()))?;
        std::fs::create_dir_all(&dir).with_context(|| format!("{} cannot be made", dir.display()))?;
        let mut entries = std::fs::read_dir(&dir).with_context(|| format!("{} cannot be read", dir.display()))?;
        if entries.next().is_some() {
            bail!("{} is not empty; --keep takes a new or an empty folder", dir.display());
        }
        Ok(Place::Kept(dir))
    }

    fn root(&self) -> &Path {
        match self {
            Place::Kept(dir) => dir,
            Place::Temporary(dir) => dir.path(),
        }
    }

    /// Removes a temporary folder, and says so if that fails.
    fn clear(self) -> anyhow::Result<()> {
        match self {
            Place::Kept(_) => Ok(()),
            Place::Temporary(dir) => {
                let path = dir.path().to_path_buf();
                dir.close().with_context(|| format!("{} cannot be removed", path.display()))
            }
        }
    }
}

/// A flag that rises when somebody interrupts the demonstration, so that it can end its nodes and clear up.
pub(crate) fn interruption() -> anyhow::Result<Arc<AtomicBool>> {
    use tokio::signal::unix::{SignalKind, signal};
    let flag = Arc::new(AtomicBool::new(false));
    let raised = flag.clone();
    let listen = move || -> anyhow::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
        runtime.block_on(async {
            let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
            raised.store(true, Ordering::Relaxed);
            Ok(())
        })
    };
    // The thread waits for a signal until the process ends; without it an interrupt simply ends the process.
    std::thread::Builder::new().name("demo-interrupt".into()).spawn(listen).context("no thread can be started")?;
    Ok(flag)
}
