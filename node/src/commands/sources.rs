//! `plumb sources`: what this node holds, and removing it.

use anyhow::bail;
use clap::{Args, Subcommand};
use plumb_actors::ingestion::{RemovedView, SourceView};

use crate::cli::Context;
use crate::client::{Client, escape, with_query};
use crate::exit::Exit;
use crate::output::{Table, count, line};
use crate::{output, session};

/// Lists sources, or removes them.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:\n  plumb sources\n  plumb sources boil-water.md    the one whose address ends so\n  plumb sources --limit 1000 --after file:/srv/m    go on behind an address\n  plumb sources remove draft.md --dry-run    what removing it would do\n  plumb sources remove draft.md"
)]
pub struct SourcesArgs {
    /// Only this one: a CID, an address, or the end of an address
    #[arg(value_name = "NAME")]
    name: Option<String>,
    /// Only those behind this address
    #[arg(long, value_name = "ADDRESS")]
    after: Option<String>,
    /// At most so many
    #[arg(long, value_name = "N", default_value_t = 50)]
    limit: usize,
    #[command(subcommand)]
    verb: Option<Verb>,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Remove sources from this node. Others hear nothing of it; `plumb retract` tells them. Older versions of a source
    /// have CIDs of their own
    Remove {
        /// A CID, an address, or the end of an address that only one source has
        #[arg(required = true, value_name = "NAME")]
        names: Vec<String>,
        /// Say what would happen, and change nothing
        #[arg(long)]
        dry_run: bool,
    },
}

/// Lists sources, or removes them.
pub async fn run(cx: &Context, args: SourcesArgs) -> anyhow::Result<Exit> {
    if let Some(Verb::Remove { names, dry_run }) = args.verb {
        return remove(cx, &names, dry_run).await;
    }
    let address = with_query(
        "/v1/sources",
        &[("name", args.name), ("after", args.after), ("limit", Some(args.limit.to_string()))],
    );
    let sources: Vec<SourceView> = session::with_node(cx, async |client| client.get(&address).await).await?;
    output::emit(cx.json, &sources, || {
        let mut table = Table::new(&["state", "sensitivity", "chunks", "title", "address", "cid"]);
        for s in &sources {
            let address = if s.own { s.address.clone() } else { s.uri.clone() };
            table.row([
                s.state.clone(),
                s.sensitivity.clone(),
                s.chunks.to_string(),
                line(&s.title, 48),
                address,
                s.cid.clone(),
            ]);
        }
        table.show("no sources that you may read")
    })?;
    Ok(Exit::Done)
}

async fn remove(cx: &Context, names: &[String], dry_run: bool) -> anyhow::Result<Exit> {
    let removed = session::with_node(cx, async |client| {
        // All names are looked up first: one that is wrong changes nothing.
        let mut sources = Vec::new();
        for name in names {
            sources.push(the_source(client, name).await?.cid);
        }
        let mut removed: Vec<RemovedView> = Vec::new();
        for cid in sources {
            let dry_run = dry_run.then(|| "true".to_string());
            let address = with_query(&format!("/v1/sources/{}", escape(&cid)), &[("dry_run", dry_run)]);
            removed.push(client.delete(&address).await?);
        }
        Ok(removed)
    })
    .await?;
    output::emit(cx.json, &removed, || removed.iter().map(show).collect())?;
    Ok(Exit::Done)
}

/// The one source of a name.
async fn the_source(client: &Client, name: &str) -> anyhow::Result<SourceView> {
    let some = [("name", Some(name.to_string())), ("limit", Some("2".to_string()))];
    let mut found: Vec<SourceView> = client.get(&with_query("/v1/sources", &some)).await?;
    match found.as_slice() {
        [] => bail!("no source that you may read has the name `{name}`; `plumb sources` lists them"),
        [_] => Ok(found.swap_remove(0)),
        [first, second, ..] => bail!(
            "`{name}` names several sources, among them {} and {}; give the CID or the whole address",
            first.address,
            second.address
        ),
    }
}

fn show(removed: &RemovedView) -> String {
    let word = if removed.dry_run { "Would remove" } else { "Removed" };
    let mut text = format!(
        "{word} {}: {} found no more, {} erased, {} kept for others\n",
        removed.address,
        count(removed.chunks, "chunk", "chunks"),
        count(removed.blocks_erased, "block", "blocks"),
        removed.blocks_kept,
    );
    for answer in &removed.answers {
        text.push_str(&format!("  the saved answer {answer} rests on it and keeps what it cites\n"));
    }
    if !removed.holders.is_empty() {
        text.push_str(&format!(
            "  {} it; to take it back there too: plumb retract {}\n",
            count(removed.holders.len() as u64, "other node holds", "other nodes hold"),
            removed.source
        ));
    }
    text
}
