//! A node with its HTTP server, in this process: for as long as `plumb up` runs, or for the length of one command.

use std::fs::Permissions;
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use actix_web::dev::ServerHandle;
use actix_web::rt::task::JoinHandle;
use actix_web::{rt, web};
use anyhow::{Context as _, anyhow, bail};
use plumb_actors::{Node, NodeOptions};
use plumb_federation::driver::Options as NetworkOptions;

use crate::config::Config;
use crate::home::{Home, HomeLock};
use crate::metrics::Metrics;
use crate::serve::{self, Replies, Served};

/// HTTP workers of a node that others use. Handlers only wait for actors, so few are enough.
const WORKERS_UP: usize = 2;
/// Addresses of one list. A node listens on a few and dials some tens.
const ADDRESSES_MAX: usize = 64;

/// How far a node reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Its local socket only: a command works on the home.
    Home,
    /// HTTP over TCP, and other nodes.
    World,
}

/// A node that answers.
pub struct Hosted {
    /// The node.
    pub node: Node,
    /// Where HTTP is answered over TCP.
    pub http: Option<SocketAddr>,
    socket: PathBuf,
    server: ServerHandle,
    task: JoinHandle<std::io::Result<()>>,
    lock: HomeLock,
}

impl Hosted {
    /// Starts the node of a home. Whoever calls holds the home's lock, and is inside an actix system.
    pub async fn start(home: &Home, config: &Config, reach: Reach, lock: HomeLock) -> anyhow::Result<Hosted> {
        let options = node_options(home, config, reach)?;
        let id = options.key.public();
        // Both doors are taken before the store is opened: an address in use is found out in no time.
        let tcp = match reach {
            Reach::Home => None,
            Reach::World => Some(
                TcpListener::bind(config.http_listen)
                    .with_context(|| format!("HTTP cannot listen on {}", config.http_listen))?,
            ),
        };
        let http = tcp.as_ref().map(TcpListener::local_addr).transpose()?;
        let node = Node::start(options).await.context("the node cannot be started")?;
        let served = web::Data::new(Served {
            node: node.clone(),
            id,
            did_web: config.did_web.clone(),
            people: config.people_ids(),
            person: config.person.clone(),
            limits: config.limits,
            source_bytes_max: usize::try_from(config.source_bytes_max).unwrap_or(usize::MAX),
            metrics: Metrics::default(),
            replies: Replies::default(),
        });
        let workers = if reach == Reach::World { WORKERS_UP } else { 1 };
        let socket = match reach {
            Reach::Home => home.command_socket(),
            Reach::World => home.socket(),
        };
        let begun = open_socket(&socket).and_then(|socket| Ok(serve::listen(served, socket, tcp, workers)?));
        let server = match begun {
            Ok(server) => server,
            Err(error) => {
                node.stop().await;
                return Err(error.context("the node cannot answer HTTP"));
            }
        };
        Ok(Hosted { node, http, socket, server: server.handle(), task: rt::spawn(server), lock })
    }

    /// Waits until the server ends by itself, which it does only if something is badly wrong.
    pub async fn ended(&mut self) -> anyhow::Error {
        match (&mut self.task).await {
            Ok(Ok(())) => anyhow!("the HTTP server ended"),
            Ok(Err(error)) => anyhow::Error::from(error).context("the HTTP server failed"),
            Err(error) => anyhow::Error::from(error).context("the HTTP server failed"),
        }
    }

    /// Takes no new requests, lets the running ones end, and stops the node.
    pub async fn stop(self) {
        // Whoever comes now finds no socket and works on the home itself once this has ended, instead of being cut off.
        let _ = std::fs::remove_file(&self.socket);
        self.server.stop(true).await;
        self.node.stop().await;
        self.lock.keep_until_exit();
    }
}

/// The local socket, for its owner alone. What a killed process left behind is replaced: the lock says that nobody
/// answers there any more.
fn open_socket(path: &Path) -> anyhow::Result<UnixListener> {
    let open = || -> std::io::Result<UnixListener> {
        match std::fs::remove_file(path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let socket = UnixListener::bind(path)?;
        std::fs::set_permissions(path, Permissions::from_mode(0o600))?;
        Ok(socket)
    };
    open().with_context(|| format!("{} cannot be opened", path.display()))
}

fn node_options(home: &Home, config: &Config, reach: Reach) -> anyhow::Result<NodeOptions> {
    let key = home.node_key()?;
    let certificate = home.certificate(&key)?;
    let certified = &certificate.value().department;
    if *certified != config.department {
        bail!(
            "plumb.toml says `{}` and the certificate says `{certified}`; correct [node] department, or have the \
             node certified for the other",
            config.department
        );
    }
    let network = match reach {
        Reach::Home => None,
        Reach::World => Some(network_options(config)?),
    };
    Ok(NodeOptions {
        home: home.root().to_path_buf(),
        key,
        certificate,
        people: config.people.clone(),
        policy: config.policy,
        network,
        source_bytes_max: config.source_bytes_max,
        model: config.model.clone(),
        search: config.search,
        sync: config.sync,
        sync_every: config.sync_every,
    })
}

fn network_options(config: &Config) -> anyhow::Result<NetworkOptions> {
    let mut options =
        NetworkOptions { mdns: config.federation_mdns, relay: config.federation_relay, ..NetworkOptions::default() };
    options.limits.requests_per_second = config.federation_requests_per_second;
    options.listen.clear();
    for (list, from, name) in [
        (&mut options.listen, &config.federation_listen, "federation.listen"),
        (&mut options.announce, &config.federation_announce, "federation.announce"),
        (&mut options.bootstrap, &config.federation_bootstrap, "federation.bootstrap"),
    ] {
        if from.len() > ADDRESSES_MAX {
            bail!("{name} has {} addresses; at most {ADDRESSES_MAX} are taken", from.len());
        }
        for address in from {
            let parsed = address
                .parse()
                .map_err(|_| anyhow!("{name}: `{address}` is not a multiaddress such as /ip4/127.0.0.1/tcp/7412"))?;
            list.push(parsed);
        }
    }
    Ok(options)
}
