//! `plumb peers`: this node among others.

use std::fmt::Write;

use clap::{Args, Subcommand};
use plumb_actors::federation::{PeerView, PeersView, TriedView};
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
    plumb peers status                          who is there, who is not, and why\n  \
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
    /// Close the connections to a node, and refuse it from now on
    Block {
        /// The node
        #[arg(value_name = "DID")]
        node: NodeId,
    },
    /// Let a blocked node connect again
    Unblock {
        /// The node
        #[arg(value_name = "DID")]
        node: NodeId,
    },
    /// Show how this node and each peer is reached, and why a peer is not; or everything about one peer
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
        Verb::Unblock { node } => {
            let request = BlockRequest { node: node.to_string() };
            let done: Done =
                session::with_node(cx, async |client| client.post("/v1/peers/unblock", &request).await).await?;
            output::emit(cx.json, &done, || format!("{node} may connect again.\n"))?;
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
    let _ = match (view.reachability.as_str(), &view.reachable_at) {
        ("public", Some(address)) => writeln!(text, "  peers reach it at {address}"),
        ("private", _) => writeln!(text, "  peers that tried do not reach it; listen through a relay"),
        _ => writeln!(text, "  no peer has tried yet whether it is reached from outside"),
    };
    let admitted = view.peers.iter().filter(|p| p.admitted).count();
    let _ = writeln!(text, "  {admitted} of {} known peers are admitted", view.peers.len());
    let cosigned = view.peers.iter().filter(|p| p.admitted && p.cosigned == view.log_size).count();
    let _ = writeln!(text, "  its log is cosigned by {cosigned} of {admitted} peers at size {}", view.log_size);
    if let Some(stopped) = &view.publishing_stopped {
        let _ = writeln!(text, "  {stopped}");
    }
    for peer in &view.peers {
        text.push('\n');
        text.push_str(&one(peer));
    }
    if !view.unanswered.is_empty() {
        text.push_str("\nAddresses where nobody has answered yet\n");
        view.unanswered.iter().for_each(|address| tried(&mut text, address));
    }
    text
}

fn one(peer: &PeerView) -> String {
    let mut text = format!(
        "{}\n  {} · {}\n  state      {}{} · score {}{}\n",
        peer.node,
        peer.organisation.as_deref().unwrap_or("organisation unknown"),
        peer.department.as_deref().unwrap_or("department unknown"),
        peer.state,
        if peer.relayed { ", through a relay" } else { "" },
        peer.score,
        peer.rtt_ms.map(|ms| format!(" · round trip {ms} ms")).unwrap_or_default(),
    );
    if peer.detail.is_some() || peer.reason.is_some() {
        let code = peer.reason.as_ref().map(|code| format!(" ({code})")).unwrap_or_default();
        let _ = writeln!(text, "  why        {}{code}", peer.detail.as_deref().unwrap_or("unknown"));
    }
    let confirmed = match (&peer.log_as_of, peer.log_age_ms) {
        (Some(at), Some(age)) => format!("confirmed {} ago, at {at}", in_words(age)),
        _ => "never confirmed".to_string(),
    };
    let _ = writeln!(text, "  log        {} entries held here, {confirmed}", peer.log_size);
    let _ = writeln!(text, "  cosigned   {} entries of this node's log", peer.cosigned);
    for address in &peer.addresses {
        let _ = writeln!(text, "  connected  {address}");
    }
    peer.tried.iter().for_each(|address| tried(&mut text, address));
    text
}

fn tried(text: &mut String, address: &TriedView) {
    let Some(next) = address.next_try_ms else { return };
    let _ = writeln!(text, "  tried      {}", address.address);
    let error = address.last_error.as_deref().unwrap_or("no answer yet");
    let _ = writeln!(text, "             {error}; {} tries, next in {}", address.failures, in_words(next));
}

/// A span to look at, in its largest unit.
fn in_words(ms: u64) -> String {
    match ms / 1000 {
        s @ 0..=119 => format!("{s} s"),
        s @ 120..=7199 => format!("{} min", s / 60),
        s @ 7200..=172_799 => format!("{} h", s / 3600),
        s => format!("{} d", s / 86_400),
    }
}
