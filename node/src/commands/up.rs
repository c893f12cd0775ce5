//! `plumb up`: the node runs.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::anyhow;
use clap::Args;
use plumb_actors::federation::ListPeers;
use serde::Serialize;
use tokio::signal::unix::{SignalKind, signal};

use crate::api::QUICK;
use crate::cli::Context;
use crate::config::{Config, Flag, Value};
use crate::exit::{BusyError, Exit};
use crate::home::{Home, HomeLock, write_atomically};
use crate::host::{Hosted, Reach};
use crate::{logs, output};

/// How long the network may take until it listens. Binding takes no time; this is for a machine under load.
const LISTENS_WITHIN: Duration = Duration::from_secs(5);
/// How long a short command may keep the home from being served. A node that runs keeps it for good.
const LOCK_WITHIN: Duration = Duration::from_secs(2);
/// How often is looked whether it has come to that.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Runs the node.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    plumb up\n  \
    plumb up --http 127.0.0.1:8080 --listen /ip4/0.0.0.0/tcp/7412 --bootstrap /dns4/lab.example/tcp/7412/p2p/12D3…\n\n\
    HTTP and the network listen on loopback unless told otherwise. HTTP has no TLS of its own.\n\
    SIGTERM or Ctrl-C stops it: running requests end, everything is flushed. A second signal ends it at once.")]
pub struct UpArgs {
    /// Where HTTP is answered; port 0 takes a free one
    #[arg(long, value_name = "ADDR")]
    http: Option<SocketAddr>,
    /// Where other nodes reach this one; may be repeated
    #[arg(long, value_name = "MULTIADDR")]
    listen: Vec<String>,
    /// A node to connect to from the start; may be repeated
    #[arg(long, value_name = "MULTIADDR")]
    bootstrap: Vec<String>,
    /// Find and announce nodes on the local network
    #[arg(long)]
    mdns: bool,
    /// Let admitted peers reach each other through this node
    #[arg(long)]
    relay: bool,
    /// A further address at which others reach this node; may be repeated
    #[arg(long, value_name = "MULTIADDR")]
    announce: Vec<String>,
    /// How the log on standard error looks
    #[arg(long, value_name = "FORMAT")]
    log_format: Option<logs::Format>,
    /// Write the addresses into this file, as JSON, once the node is ready
    #[arg(long, value_name = "FILE")]
    ready_file: Option<PathBuf>,
}

impl UpArgs {
    fn flags(&self) -> Vec<Flag> {
        let mut flags = Vec::new();
        let mut put = |flag, setting, value| flags.push(Flag { flag, setting, value });
        if let Some(http) = self.http {
            put("--http", "http.listen", Value::Text(http.to_string()));
        }
        if !self.listen.is_empty() {
            put("--listen", "federation.listen", Value::List(self.listen.clone()));
        }
        if !self.bootstrap.is_empty() {
            put("--bootstrap", "federation.bootstrap", Value::List(self.bootstrap.clone()));
        }
        if !self.announce.is_empty() {
            put("--announce", "federation.announce", Value::List(self.announce.clone()));
        }
        if self.relay {
            put("--relay", "federation.relay", Value::Flag(true));
        }
        if self.mdns {
            put("--mdns", "federation.mdns", Value::Flag(true));
        }
        if let Some(format) = self.log_format {
            let word = if format == logs::Format::Json { "json" } else { "human" };
            put("--log-format", "log.format", Value::Text(word.to_string()));
        }
        flags
    }
}

/// Where a node is reached.
#[derive(Debug, Serialize)]
struct ReadyView {
    node: String,
    http: String,
    socket: PathBuf,
    p2p: Vec<String>,
    pid: u32,
}

/// Runs the node until it is told to stop.
pub async fn run(cx: &Context, args: UpArgs) -> anyhow::Result<Exit> {
    let home = cx.home()?;
    home.require()?;
    home.check_socket_path()?;
    let config = Config::load(&home.config_file(), &args.flags())?;
    logs::begin(config.log_format, &config.log_filter).map_err(|e| anyhow!(e))?;
    // Before anything else: from here on a signal is an orderly end, not a lost one.
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let lock = take_lock(&home).await?;
    let mut hosted = Hosted::start(&home, &config, Reach::World, lock).await?;
    let ready = match ready_view(&hosted, &config, home.socket()).await {
        Ok(ready) => ready,
        Err(error) => {
            hosted.stop().await;
            return Err(error);
        }
    };
    if let Some(file) = &args.ready_file {
        write_atomically(file, &serde_json::to_vec(&ready)?)?;
    }
    output::emit(cx.json, &ready, || format!("plumb is up: {} · {}\n", ready.http, ready.p2p.join(" · ")))?;
    tracing::info!(node = %ready.node, http = %ready.http, p2p = ?ready.p2p, "the node is up");

    let failed = tokio::select! {
        _ = terminate.recv() => None,
        _ = interrupt.recv() => None,
        error = hosted.ended() => Some(error),
    };
    tracing::info!("the node stops: running requests end, then everything is flushed");
    tokio::select! {
        () = hosted.stop() => {}
        _ = terminate.recv() => tracing::warn!("a second signal: the node ends at once"),
        _ = interrupt.recv() => tracing::warn!("a second signal: the node ends at once"),
    }
    match failed {
        None => Ok(Exit::Done),
        Some(error) => Err(error),
    }
}

/// The home's lock. A short command may hold it for a moment; a node that runs keeps it.
async fn take_lock(home: &Home) -> anyhow::Result<HomeLock> {
    let begun = tokio::time::Instant::now();
    loop {
        match HomeLock::take(home)? {
            Ok(lock) => return Ok(lock),
            Err(holder) if begun.elapsed() >= LOCK_WITHIN => {
                let home = home.root().display();
                return Err(
                    BusyError(format!("{holder} works with {home} already; a home has one node at a time")).into()
                );
            }
            Err(_) => tokio::time::sleep(LOOK_EVERY).await,
        }
    }
}

async fn ready_view(hosted: &Hosted, config: &Config, socket: PathBuf) -> anyhow::Result<ReadyView> {
    let begun = tokio::time::Instant::now();
    let peers = loop {
        let peers = hosted.node.federation.ask(ListPeers, QUICK).await?;
        // A relay gives an address only once it has admitted this node.
        let direct = config.federation_listen.iter().filter(|address| !address.contains("/p2p-circuit")).count();
        if peers.listening.len() >= direct || begun.elapsed() >= LISTENS_WITHIN {
            break peers;
        }
        tokio::time::sleep(LOOK_EVERY).await;
    };
    Ok(ReadyView {
        node: peers.node,
        http: hosted.http.map(|address| format!("http://{address}")).unwrap_or_default(),
        socket,
        p2p: peers.listening,
        pid: std::process::id(),
    })
}
