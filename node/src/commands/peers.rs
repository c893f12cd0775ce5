//! `plumb peers`: this node among others.

use std::fmt::Write;

use clap::{Args, Subcommand};
use plumb_actors::federation::{PeerView, PeersView};
use plumb_core::identity::NodeId;
use plumb_core::measure::Duration;

use crate::api::Done;
use crate::api::peers::{BlockRequest, ConnectRequest};
use crate::cli::Context;
use crate::client::with_query;
use crate::exit::Exit;
use crate::output::{Table, short};
use crate::problem::{Problem, Reason};
use crate::{output, session, span};

/// Peers.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    plumb peers list\n  \
    plumb peers list --wait 2 --deadline 10s    until two are admitted\n  \
    plumb peers connect /ip4/127.0.0.1/tcp/7412\n  \
    plumb peers status did:key:z6Mk…\n  \
    plumb peers block did:key:z6Mk…\n\n\
    Peers are reached by a running node: `plumb up`. A node is admitted if its organisation is trusted: `plumb trust`.")]
pub struct PeersArgs {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// List peers
    List {
        /// Wait until so many are admitted
        #[arg(long, value_name = "N")]
        wait: Option<usize>,
        /// Wait at most so long, such as 10s; at most 25s
        #[arg(long, value_name = "SPAN", value_parser = span::parse)]
        deadline: Option<Duration>,
    },
    /// Connect to a node
    Connect {
        /// Its multiaddress
        #[arg(value_name = "MULTIADDR")]
        address: String,
    },
    /// Close the connection to a node, and refuse it from now on
    Block {
        /// The node
        #[arg(value_name = "DID")]
        node: NodeId,
    },
    /// Show where this node listens, or everything about one peer
    Status {
        /// The peer
        #[arg(value_name = "DID")]
        node: Option<NodeId>,
    },
}

/// Does it.
pub async fn run(cx: &Context, args: PeersArgs) -> anyhow::Result<Exit> {
    match args.verb {
        Verb::List { wait, deadline } => {
            let parameters =
                [("wait", wait.map(|n| n.to_string())), ("deadline_ms", deadline.map(|d| d.0.to_string()))];
            let address = with_query("/v1/peers", &parameters);
            let view: PeersView = session::with_node(cx, async |client| client.get(&address).await).await?;
            output::emit(cx.json, &view, || list(&view))?;
        }
        Verb::Connect { address } => {
            let request = ConnectRequest { address };
            let done: Done = session::with_node(cx, async |client| client.post("/v1/peers", &request).await).await?;
            output::emit(cx.json, &done, || {
                "Dialling; `plumb peers list` shows whether it is admitted.\n".to_string()
            })?;
        }
        Verb::Block { node } => {
            let request = BlockRequest { node: node.to_string() };
            let done: Done =
                session::with_node(cx, async |client| client.post("/v1/peers/block", &request).await).await?;
            output::emit(cx.json, &done, || format!("{node} is refused from now on.\n"))?;
        }
        Verb::Status { node } => {
            let view: PeersView = session::with_node(cx, async |client| client.get("/v1/peers").await).await?;
            match node {
                None => output::emit(cx.json, &view, || status(&view))?,
                Some(node) => {
                    let peer = view.peers.into_iter().find(|p| p.node == node.to_string());
                    let peer =
                        peer.ok_or_else(|| Problem::new(Reason::NotFound, format!("{node} is no peer of this node")))?;
                    output::emit(cx.json, &peer, || one(&peer))?;
                }
            }
        }
    }
    Ok(Exit::Done)
}

fn list(view: &PeersView) -> String {
    let mut table = Table::new(&["peer", "state", "organisation", "department", "log", "confirmed", "detail"]);
    for peer in &view.peers {
        table.row([
            short(&peer.node),
            peer.state.clone(),
            peer.organisation.clone().unwrap_or_default(),
            peer.department.clone().unwrap_or_default(),
            peer.log_size.to_string(),
            peer.log_as_of.clone().unwrap_or_else(|| "never".to_string()),
            peer.detail.clone().unwrap_or_default(),
        ]);
    }
    table.show("no peers")
}

fn status(view: &PeersView) -> String {
    let mut text = format!("This node is {}\n", view.node);
    for address in &view.listening {
        let _ = writeln!(text, "  listens on {address}");
    }
    let admitted = view.peers.iter().filter(|p| p.state == "admitted").count();
    let _ = writeln!(text, "  {admitted} of {} known peers are admitted", view.peers.len());
    let cosigned = view.peers.iter().filter(|p| p.state == "admitted" && p.cosigned == view.log_size).count();
    let _ = writeln!(text, "  its log is cosigned by {cosigned} of {admitted} peers at size {}", view.log_size);
    if let Some(stopped) = &view.publishing_stopped {
        let _ = writeln!(text, "  {stopped}");
    }
    text
}

fn one(peer: &PeerView) -> String {
    let mut text = format!(
        "{}\n  {} · {}\n  state      {}\n  log        {} entries held here, confirmed {}\n  cosigned   {} entries of this node's log\n",
        peer.node,
        peer.organisation.as_deref().unwrap_or("organisation unknown"),
        peer.department.as_deref().unwrap_or("department unknown"),
        peer.state,
        peer.log_size,
        peer.log_as_of.as_deref().unwrap_or("never"),
        peer.cosigned,
    );
    if let Some(detail) = &peer.detail {
        let _ = writeln!(text, "  {detail}");
    }
    for address in &peer.addresses {
        let _ = writeln!(text, "  address    {address}");
    }
    text
}
