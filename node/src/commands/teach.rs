//! `plumb teach`: knowledge that proved itself here is offered to peers, and theirs is decided about.

use std::fmt::Write;

use clap::{Args, Subcommand};
use plumb_actors::federation::TeachingView;
use plumb_core::propagation::Resolution;

use crate::api::teachings::{ResolveRequest, TeachRequest};
use crate::cli::Context;
use crate::client::{escape, with_query};
use crate::exit::Exit;
use crate::output::short;
use crate::{output, session};

/// Teaching.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    plumb teach offer decision-42.md --kind decision --confidence 920 --validated\n  \
    plumb teach send                          now; otherwise as federation.sync says\n  \
    plumb teach list --pending                what contradicts something here, and waits for you\n  \
    plumb teach resolve bafy… accept          or reject, or context-dependent\n\n\
    A peer gets what it may read, and nothing else. It judges for itself: accepted, skipped as a duplicate, refused as too\n\
    far from its origin (three hops), or held until a person decides. Confidence fades by 15 percent a hop.")]
pub struct TeachArgs {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Offer knowledge of this node
    Offer {
        /// A chunk by its CID, or a source by CID, address or end of address
        target: String,
        /// decision, pattern, preference or error-fix
        #[arg(long, value_parser = ["decision", "pattern", "preference", "error-fix", "error_fix"])]
        kind: String,
        /// How sure you are, in thousandths; at least 850
        #[arg(long, value_name = "MILLI", value_parser = clap::value_parser!(u16).range(0..=1000))]
        confidence: u16,
        /// A person validated it
        #[arg(long)]
        validated: bool,
        /// How often it was seen
        #[arg(long, value_name = "N", default_value_t = 1)]
        seen: u64,
    },
    /// Send what is due to every peer that is there now
    Send,
    /// List what was offered, and what came
    List {
        /// Only what waits for a decision
        #[arg(long)]
        pending: bool,
    },
    /// Decide about what waits
    Resolve {
        /// The teaching, by its CID
        teaching: String,
        /// accept, reject or context-dependent
        resolution: Resolution,
    },
}

/// Does it.
pub async fn run(cx: &Context, args: TeachArgs) -> anyhow::Result<Exit> {
    match args.verb {
        Verb::Offer { target, kind, confidence, validated, seen } => {
            let request = TeachRequest { target, kind, confidence, validated, seen };
            let made: Vec<TeachingView> =
                session::with_node(cx, async |client| client.post("/v1/teachings", &request).await).await?;
            output::emit(cx.json, &made, || show_all(&made))?;
        }
        Verb::Send => {
            let sent: Vec<TeachingView> =
                session::with_node(cx, async |client| client.act("/v1/teachings/send").await).await?;
            output::emit(cx.json, &sent, || show_all(&sent))?;
        }
        Verb::List { pending } => {
            let path = with_query("/v1/teachings", &[("pending", Some(pending.to_string()))]);
            let all: Vec<TeachingView> = session::with_node(cx, async |client| client.get(&path).await).await?;
            output::emit(cx.json, &all, || show_all(&all))?;
        }
        Verb::Resolve { teaching, resolution } => {
            let path = format!("/v1/teachings/{}/resolve", escape(&teaching));
            let request = ResolveRequest { resolution: resolution.to_string() };
            let view: TeachingView = session::with_node(cx, async |client| client.post(&path, &request).await).await?;
            output::emit(cx.json, &view, || show(&view))?;
        }
    }
    Ok(Exit::Done)
}

fn show_all(all: &[TeachingView]) -> String {
    match all {
        [] => "none\n".to_string(),
        all => all.iter().map(show).collect(),
    }
}

fn show(view: &TeachingView) -> String {
    let mut text = format!(
        "{} · {} · {} · from {}, {} hops · confidence {}\n  about {}\n",
        view.teaching,
        view.kind,
        view.resolution.as_deref().unwrap_or(&view.state),
        short(&view.origin),
        view.hops,
        view.confidence,
        view.chunk
    );
    if let Some(against) = &view.against {
        let _ = writeln!(text, "  it contradicts {against}; decide with plumb teach resolve {}", view.teaching);
    }
    for sent in &view.sent {
        let detail = sent.detail.as_ref().map(|d| format!(" ({d})")).unwrap_or_default();
        let _ = writeln!(text, "  to {}: {}{detail}", short(&sent.node), sent.reply);
    }
    text
}
