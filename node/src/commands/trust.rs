//! `plumb trust`: whose nodes are let in.

use clap::{Args, Subcommand};
use plumb_actors::federation::TrustedView;
use plumb_core::identity::OrgId;

use crate::api::Done;
use crate::api::trust::TrustRequest;
use crate::cli::Context;
use crate::client::escape;
use crate::exit::Exit;
use crate::output::Table;
use crate::{output, session};

/// Trust.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  plumb trust add did:key:z6Mk… --name \"Halden Institute\"\n  plumb trust list\n  plumb trust remove did:key:z6Mk…\n\n\
    Get the root of another organisation from its people, not from the network."
)]
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
    },
    /// List the organisations that are trusted
    List,
    /// Trust an organisation no more: its nodes are disconnected and refused
    Remove {
        /// Its root
        #[arg(value_name = "DID")]
        org: OrgId,
    },
}

/// Does it.
pub async fn run(cx: &Context, args: TrustArgs) -> anyhow::Result<Exit> {
    match args.verb {
        Verb::Add { org, name } => {
            let request = TrustRequest { org: org.to_string(), name };
            let done: Done = session::with_node(cx, async |client| client.post("/v1/trust", &request).await).await?;
            output::emit(cx.json, &done, || format!("`{}` ({org}) is trusted from now on.\n", request.name))?;
        }
        Verb::List => {
            let trusted: Vec<TrustedView> =
                session::with_node(cx, async |client| client.get("/v1/trust").await).await?;
            output::emit(cx.json, &trusted, || {
                let mut table = Table::new(&["organisation", "root", ""]);
                for t in &trusted {
                    let own = if t.own { "this node's own" } else { "" };
                    table.row([t.name.clone(), t.org.clone(), own.to_string()]);
                }
                table.show("nobody is trusted")
            })?;
        }
        Verb::Remove { org } => {
            let path = format!("/v1/trust/{}", escape(&org.to_string()));
            let done: Done = session::with_node(cx, async |client| client.delete(&path).await).await?;
            output::emit(cx.json, &done, || format!("{org} is trusted no more.\n"))?;
        }
    }
    Ok(Exit::Done)
}
