//! `plumb log`: the public log, who has cosigned it, and what to decide when a log shows two histories.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use clap::{Args, Subcommand};
use plumb_actors::audit::{ForkView, LogStatusView, OwnLogView};
use plumb_actors::federation::PeersView;
use plumb_federation::wire::log::{FORK_BYTES_MAX, Fork};
use serde::Serialize;

use crate::api::Done;
use crate::api::log::{LiftRequest, ResumeRequest};
use crate::cli::Context;
use crate::client::escape;
use crate::exit::{Exit, UsageError};
use crate::home::write_atomically;
use crate::output::{Table, count, short};
use crate::problem::{Problem, Reason};
use crate::{output, session};

/// The public log.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    plumb log status                                  size, root, cosignatures, and whether anything is published\n  \
    plumb log resume --accept-loss                    decide, when publishing is stopped and nothing else helps\n  \
    plumb log forks                                   publishers that showed two histories\n  \
    plumb log fork show did:key:z6Mk… --out FILE      the proof, for whoever is to be convinced\n  \
    plumb log fork verify FILE                        check such a proof; needs no node, exit 6 if it proves nothing\n  \
    plumb log fork lift did:key:z6Mk… --note WHY      follow that log again")]
pub struct LogArgs {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Show the own log, its cosignatures, and the logs of others
    Status,
    /// Let publishing go on, although something of the own log is lost
    Resume {
        /// That you know of the loss
        #[arg(long)]
        accept_loss: bool,
    },
    /// List publishers that showed two histories of their log
    Forks,
    /// Show, check, or decide on one such proof
    Fork {
        #[command(subcommand)]
        verb: ForkVerb,
    },
}

#[derive(Debug, Subcommand)]
enum ForkVerb {
    /// Show the proof against a publisher, and write it into a file
    Show {
        /// The node, or the name of its organisation
        #[arg(value_name = "NODE|ORG")]
        publisher: String,
        /// Where to
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
    },
    /// Check a proof that somebody wrote into a file; nothing else is needed
    Verify {
        /// The file
        file: PathBuf,
    },
    /// End the quarantine of a publisher; the proof is kept
    Lift {
        /// The node, or the name of its organisation
        #[arg(value_name = "NODE|ORG")]
        publisher: String,
        /// Why, in words, for the audit log
        #[arg(long, value_name = "TEXT", default_value = "")]
        note: String,
    },
}

/// Does it.
pub async fn run(cx: &Context, args: LogArgs) -> anyhow::Result<Exit> {
    match args.verb {
        Verb::Status => status(cx).await,
        Verb::Resume { accept_loss } => {
            let request = ResumeRequest { accept_loss };
            let view: LogStatusView =
                session::with_node(cx, async |client| client.post("/v1/log/resume", &request).await).await?;
            output::emit(cx.json, &view, || show_own(&view.own))?;
            Ok(Exit::Done)
        }
        Verb::Forks => {
            let forks = forks(cx).await?;
            output::emit(cx.json, &forks, || list(&forks))?;
            Ok(Exit::Done)
        }
        Verb::Fork { verb: ForkVerb::Show { publisher, out } } => show(cx, &publisher, out).await,
        Verb::Fork { verb: ForkVerb::Verify { file } } => verify(cx, &file),
        Verb::Fork { verb: ForkVerb::Lift { publisher, note } } => {
            let publisher = one(&forks(cx).await?, &publisher)?.publisher.clone();
            let path = format!("/v1/log/forks/{}/lift", escape(&publisher));
            let request = LiftRequest { note };
            let done: Done = session::with_node(cx, async |client| client.post(&path, &request).await).await?;
            output::emit(cx.json, &done, || {
                format!("The log of {publisher} is followed again from where it is held here. The proof is kept.\n")
            })?;
            Ok(Exit::Done)
        }
    }
}

/// What is shown of the log: as the node says, and how many of those who are there now have cosigned it.
#[derive(Debug, Serialize)]
struct StatusView {
    #[serde(flatten)]
    log: LogStatusView,
    /// Peers that are admitted now.
    admitted: usize,
    /// Those of them that have cosigned the whole log.
    cosigned_by: usize,
}

async fn status(cx: &Context) -> anyhow::Result<Exit> {
    let (log, peers) = session::with_node(cx, async |client| {
        let log: LogStatusView = client.get("/v1/log/status").await?;
        // Without a running node there is nobody to have it cosigned by, and the log is there all the same.
        let peers: Option<PeersView> = client.get("/v1/peers").await.ok();
        Ok((log, peers))
    })
    .await?;
    let peers = peers.map(|view| view.peers).unwrap_or_default();
    let admitted: Vec<_> = peers.iter().filter(|p| p.state == "admitted").collect();
    let cosigned_by = admitted.iter().filter(|p| p.cosigned == log.own.size).count();
    let view = StatusView { admitted: admitted.len(), cosigned_by, log };
    output::emit(cx.json, &view, || {
        let mut text = show_own(&view.log.own);
        let _ = writeln!(
            text,
            "  cosigned by {} of {} at size {}",
            view.cosigned_by,
            count(view.admitted as u64, "peer", "peers"),
            view.log.own.size
        );
        for witness in &view.log.own.witnesses {
            let _ = writeln!(text, "    {}  size {}, {}", short(&witness.node), witness.size, witness.at);
        }
        let mut table = Table::new(&["log of", "organisation", "entries", "confirmed", "cosigned here", "state"]);
        for log in &view.log.others {
            table.row([
                short(&log.publisher),
                log.organisation.clone(),
                log.size.to_string(),
                log.as_of.clone().unwrap_or_else(|| "never".to_string()),
                log.cosigned.to_string(),
                if log.quarantined { "in quarantine: it showed two histories" } else { "followed" }.to_string(),
            ]);
        }
        text.push_str(&table.show("No log of another node is held here."));
        text
    })?;
    Ok(Exit::Done)
}

fn show_own(own: &OwnLogView) -> String {
    let mut text = format!("{}\n  {} entries, root {}\n  key {}\n", own.origin, own.size, own.root, own.vkey);
    if let (Some(stopped), Some(since)) = (&own.stopped, &own.stopped_since) {
        let _ = writeln!(text, "  since {since} {stopped}");
    }
    text
}

async fn forks(cx: &Context) -> anyhow::Result<Vec<ForkView>> {
    session::with_node(cx, async |client| client.get("/v1/log/forks").await).await
}

fn list(forks: &[ForkView]) -> String {
    let mut table = Table::new(&["publisher", "organisation", "differs before", "state"]);
    for fork in forks {
        table.row([
            fork.publisher.clone(),
            fork.organisation.clone().unwrap_or_default(),
            fork.size.to_string(),
            if fork.decided { "decided" } else { "in quarantine" }.to_string(),
        ]);
    }
    table.show("no log showed two histories")
}

/// The proof against a node, or against the only node of an organisation; one that is undecided comes first.
fn one<'a>(forks: &'a [ForkView], name: &str) -> anyhow::Result<&'a ForkView> {
    let is_meant = |f: &&ForkView| f.publisher == name || f.organisation.as_deref() == Some(name);
    let meant: Vec<&ForkView> = forks.iter().filter(is_meant).collect();
    let Some(first) = meant.first() else {
        return Err(Problem::new(Reason::NotFound, format!("no proof is held here against `{name}`")).into());
    };
    if meant.iter().any(|f| f.publisher != first.publisher) {
        return Err(UsageError(format!("several nodes of {name} showed two histories; name one by its did:key")).into());
    }
    Ok(first)
}

/// A proof as it is shown.
#[derive(Debug, Serialize)]
struct ProofView {
    publisher: String,
    /// The two histories differ among the first so many entries.
    size: u64,
    /// What was signed the one time.
    a: String,
    /// What was signed the other time.
    b: String,
    /// Whether it convicts its publisher.
    proves: bool,
    /// Why not.
    problem: Option<String>,
    /// Where it was written to.
    file: Option<PathBuf>,
}

impl ProofView {
    fn of(fork: &Fork) -> ProofView {
        let problem = fork.check().err().map(|e| format!("{:#}", anyhow::Error::from(e)));
        ProofView {
            publisher: fork.publisher.to_string(),
            size: fork.size,
            a: fork.a.checkpoint.as_str().to_string(),
            b: fork.b.checkpoint.as_str().to_string(),
            proves: problem.is_none(),
            problem,
            file: None,
        }
    }

    fn show(&self) -> String {
        let mut text = match &self.problem {
            None => format!(
                "{} signed two histories of its log, which differ among the first {}:\n\n",
                self.publisher,
                count(self.size, "entry", "entries")
            ),
            Some(problem) => format!("This proves nothing against {}: {problem}\n\n", self.publisher),
        };
        let _ = writeln!(text, "{}\n{}", self.a, self.b);
        if let Some(file) = &self.file {
            let _ =
                writeln!(text, "Written to {0}; check it anywhere with `plumb log fork verify {0}`", file.display());
        }
        text
    }
}

async fn show(cx: &Context, name: &str, out: Option<PathBuf>) -> anyhow::Result<Exit> {
    let publisher = one(&forks(cx).await?, name)?.publisher.clone();
    let path = format!("/v1/log/forks/{}/proof", escape(&publisher));
    let bytes = session::with_node(cx, async |client| client.get_bytes(&path).await).await?;
    let mut view = ProofView::of(&Fork::decode(&bytes)?);
    if let Some(out) = out {
        write_atomically(&out, &bytes)?;
        view.file = Some(out);
    }
    output::emit(cx.json, &view, || view.show())?;
    Ok(Exit::Done)
}

fn verify(cx: &Context, file: &Path) -> anyhow::Result<Exit> {
    let fork = read_fork(file).with_context(|| format!("{} cannot be read", file.display()));
    let fork = match fork {
        Ok(fork) => fork,
        Err(error) if error.downcast_ref::<std::io::Error>().is_some() => return Err(error),
        Err(error) => return Err(Problem::new(Reason::NotAuthentic, format!("{error:#}")).into()),
    };
    let view = ProofView::of(&fork);
    output::emit(cx.json, &view, || view.show())?;
    Ok(if view.proves { Exit::Done } else { Exit::NotAuthentic })
}

fn read_fork(file: &Path) -> anyhow::Result<Fork> {
    let bytes = std::fs::metadata(file)?.len();
    if bytes > FORK_BYTES_MAX as u64 {
        bail!("it has {bytes} bytes; a proof has at most {FORK_BYTES_MAX}");
    }
    Ok(Fork::decode(&std::fs::read(file)?)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fork(publisher: &str, organisation: Option<&str>) -> ForkView {
        ForkView {
            publisher: publisher.into(),
            organisation: organisation.map(str::to_string),
            size: 2,
            a: String::new(),
            b: String::new(),
            decided: false,
        }
    }

    #[test]
    fn a_proof_is_named_by_its_node_or_the_only_one_of_an_organisation() {
        let forks =
            [fork("did:a", Some("Halden")), fork("did:b", Some("Northwater")), fork("did:c", Some("Northwater"))];
        assert_eq!(one(&forks, "did:b").unwrap().publisher, "did:b");
        assert_eq!(one(&forks, "Halden").unwrap().publisher, "did:a");
        assert!(one(&forks, "Northwater").is_err());
        assert!(one(&forks, "did:d").is_err());
    }
}
