//! `plumb sources`: what this node holds.

use clap::Args;
use plumb_actors::ingestion::SourceView;

use crate::cli::Context;
use crate::client::with_query;
use crate::exit::Exit;
use crate::output::{Table, line};
use crate::{output, session};

/// Lists sources.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  plumb sources\n  plumb sources boil-water.md    the one whose address ends so\n  plumb sources --limit 1000 --after file:/srv/m    go on behind an address"
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
}

/// Lists sources.
pub async fn run(cx: &Context, args: SourcesArgs) -> anyhow::Result<Exit> {
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
