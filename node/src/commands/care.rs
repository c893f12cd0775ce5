//! `plumb rebuild`, `plumb compact` and `plumb doctor`.

use std::fmt::Write;

use clap::Args;
use plumb_actors::supervisor::{CompactView, DoctorView, RebuildView};

use crate::cli::Context;
use crate::exit::Exit;
use crate::output::count;
use crate::{output, session};

/// Builds the index anew.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  plumb rebuild    the store is the truth; the index is derived from it and may be rebuilt at any time"
)]
pub struct RebuildArgs {}

/// Gives space back.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  plumb compact    a running node goes on meanwhile; it needs room for a copy of the store"
)]
pub struct CompactArgs {}

/// Examines the node.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  plumb doctor    exit 0 if all is well, 1 if something needs you")]
pub struct DoctorArgs {}

/// Builds the index anew.
pub async fn rebuild(cx: &Context, _args: RebuildArgs) -> anyhow::Result<Exit> {
    let view: RebuildView = session::with_node(cx, async |client| client.act("/v1/rebuild").await).await?;
    output::emit(cx.json, &view, || format!("The index was built anew: {}\n", count(view.indexed, "unit", "units")))?;
    Ok(Exit::Done)
}

/// Gives the space of what was overwritten and removed back.
pub async fn compact(cx: &Context, _args: CompactArgs) -> anyhow::Result<Exit> {
    let view: CompactView = session::with_node(cx, async |client| client.act("/v1/compact").await).await?;
    output::emit(cx.json, &view, || {
        let mib = |bytes: u64| format!("{}.{} MiB", bytes >> 20, ((bytes % (1 << 20)) * 10) >> 20);
        format!("The store had {}, and has {}.\n", mib(view.before), mib(view.after))
    })?;
    Ok(Exit::Done)
}

/// Examines the node.
pub async fn doctor(cx: &Context, _args: DoctorArgs) -> anyhow::Result<Exit> {
    let view: DoctorView = session::with_node(cx, async |client| client.get("/v1/doctor").await).await?;
    output::emit(cx.json, &view, || {
        let mut text = String::new();
        for check in &view.checks {
            let _ = writeln!(text, "{} {}: {}", if check.ok { "✓" } else { "✗" }, check.name, check.detail);
        }
        let _ = writeln!(
            text,
            "{} active, {} indexed, state {}",
            count(view.active_units, "unit", "units"),
            view.indexed,
            view.state_digest
        );
        text
    })?;
    Ok(if view.healthy { Exit::Done } else { Exit::Failed })
}
