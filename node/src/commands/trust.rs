//! `plumb trust`: whose nodes are let in.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use plumb_actors::federation::{RemovedView, TrustedView};
use plumb_core::identity::{OrgId, PublicKey};
use plumb_core::trust::{Incoming, Outgoing};

use crate::api::Done;
use crate::api::trust::{Levels, SettleRequest, StatementView, TrustRequest};
use crate::cli::Context;
use crate::client::escape;
use crate::exit::Exit;
use crate::output::Table;
use crate::{offline, output, session};

/// Trust.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    plumb trust add did:key:z6Mk… --name \"Halden Institute\"\n  \
    plumb trust set did:key:z6Mk… --outgoing none    no content for it; notices for what it holds all the same\n  \
    plumb trust set did:key:z6Mk… --incoming notices --weight 20\n  \
    plumb trust list\n  \
    plumb trust rotate rotation.plumb                its root gave way to another one, and both signed that\n  \
    plumb trust settle did:key:z6Mk…                 of two rotations that contradict each other, follow this one\n  \
    plumb trust remove did:key:z6Mk…\n\n\
    Get the root of another organisation from its people, not from the network.")]
pub struct TrustArgs {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Trust an organisation: its nodes are admitted from now on
    Add {
        /// Its root
        #[arg(value_name = "DID")]
        org: OrgId,
        /// A name for it
        #[arg(long, value_name = "NAME")]
        name: String,
        #[command(flatten)]
        levels: LevelArgs,
    },
    /// Change how far an organisation is trusted
    Set {
        /// Its root
        #[arg(value_name = "DID")]
        org: OrgId,
        /// Another name for it
        #[arg(long, value_name = "NAME")]
        name: Option<String>,
        #[command(flatten)]
        levels: LevelArgs,
    },
    /// List the organisations that are trusted
    List,
    /// Trust an organisation no more: its nodes are disconnected and refused. One that holds evidence of this node is
    /// excluded from content instead
    Remove {
        /// Its root
        #[arg(value_name = "DID")]
        org: OrgId,
        /// Refuse it even if it holds evidence of this node, and would hear of no notice any more
        #[arg(long)]
        forget: bool,
    },
    /// Take up a rotation or a revocation from a file, as a root wrote it; that of the own organisation goes into this
    /// node's log
    #[command(visible_alias = "rotate")]
    Import {
        /// The file
        file: PathBuf,
    },
    /// Of two rotations that contradict each other, follow the one to this root
    Settle {
        /// The root to follow
        #[arg(value_name = "DID")]
        root: PublicKey,
    },
}

/// How far.
#[derive(Debug, Args)]
struct LevelArgs {
    /// What is let in: full, notices or none
    #[arg(long, value_name = "LEVEL")]
    incoming: Option<Incoming>,
    /// What is let out: full or none; notices always are
    #[arg(long, value_name = "LEVEL")]
    outgoing: Option<Outgoing>,
    /// What its evidence weighs in a reliability report, 0 to 100; 50 is neutral
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(0..=100))]
    weight: Option<u8>,
}

impl LevelArgs {
    fn levels(&self, name: Option<String>) -> Levels {
        Levels {
            name,
            incoming: self.incoming.map(|level| level.as_str().to_string()),
            outgoing: self.outgoing.map(|level| level.as_str().to_string()),
            weight: self.weight,
        }
    }
}

/// Does it.
pub async fn run(cx: &Context, args: TrustArgs) -> anyhow::Result<Exit> {
    match args.verb {
        Verb::Add { org, name, levels } => {
            let Levels { incoming, outgoing, weight, .. } = levels.levels(None);
            let request = TrustRequest { org: org.to_string(), name, incoming, outgoing, weight };
            let done: Done = session::with_node(cx, async |client| client.post("/v1/trust", &request).await).await?;
            output::emit(cx.json, &done, || format!("`{}` ({org}) is trusted from now on.\n", request.name))?;
        }
        Verb::Set { org, name, levels } => {
            let path = format!("/v1/trust/{}", escape(&org.to_string()));
            let request = levels.levels(name);
            let view: TrustedView = session::with_node(cx, async |client| client.patch(&path, &request).await).await?;
            output::emit(cx.json, &view, || {
                format!(
                    "`{}`: incoming {}, outgoing {}, weight {}. Notices for what it holds go out in any case.\n",
                    view.name, view.incoming, view.outgoing, view.weight
                )
            })?;
        }
        Verb::Import { file } => {
            let bytes = offline::read_statement(&file)?.encode();
            let view: StatementView = session::with_node(cx, async |client| {
                client.post_file("/v1/trust/statements", "application/cbor", bytes).await
            })
            .await?;
            output::emit(cx.json, &view, || {
                let news = if view.news { "is taken up" } else { "was known" };
                let published = if view.published { ", and stands in this node's log for everybody" } else { "" };
                format!("The {} {news}{published}.\n", view.kind)
            })?;
        }
        Verb::Settle { root } => {
            let request = SettleRequest { root: root.to_string() };
            let done: Done =
                session::with_node(cx, async |client| client.post("/v1/trust/settle", &request).await).await?;
            output::emit(cx.json, &done, || format!("{root} is followed from now on.\n"))?;
        }
        Verb::List => {
            let trusted: Vec<TrustedView> =
                session::with_node(cx, async |client| client.get("/v1/trust").await).await?;
            output::emit(cx.json, &trusted, || {
                let mut table = Table::new(&["organisation", "root", "in", "out", "weight", ""]);
                for t in &trusted {
                    let mut remarks: Vec<String> = Vec::new();
                    if t.own {
                        remarks.push("this node's own".to_string());
                    }
                    if !t.rivals.is_empty() {
                        remarks
                            .push(format!("{} rivals for its root: decide with `plumb trust settle`", t.rivals.len()));
                    } else if t.roots.len() > 1 {
                        remarks.push(format!("rotated {} times", t.roots.len() - 1));
                    }
                    if !t.revoked.is_empty() {
                        remarks.push(format!("{} revoked", t.revoked.len()));
                    }
                    let (incoming, outgoing) = (t.incoming.clone(), t.outgoing.clone());
                    table.row([
                        t.name.clone(),
                        t.org.clone(),
                        incoming,
                        outgoing,
                        t.weight.to_string(),
                        remarks.join("; "),
                    ]);
                }
                table.show("nobody is trusted")
            })?;
        }
        Verb::Remove { org, forget } => {
            let path = format!("/v1/trust/{}?forget={forget}", escape(&org.to_string()));
            let view: RemovedView = session::with_node(cx, async |client| client.delete(&path).await).await?;
            output::emit(cx.json, &view, || match view.excluded {
                false => format!("{org} is trusted no more.\n"),
                true => format!(
                    "{org} is excluded from content. {} hold evidence of this node, and go on hearing what becomes of it; \
                     --forget would refuse them altogether.\n",
                    output::count(view.holders, "of its nodes", "of its nodes")
                ),
            })?;
        }
    }
    Ok(Exit::Done)
}
