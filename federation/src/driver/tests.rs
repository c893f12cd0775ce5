//! The driver on real loopback sockets. Every wait has an end, ports are chosen by the system, and each test ends the
//! networks that it starts.

mod admission;
mod exchange;
mod gossip;
mod hostile;
mod redial;
mod relay;
mod removal;
mod standing;

use std::time::Duration;

use libp2p::Multiaddr;
use plumb_core::identity::{NodeId, SecretKey};
use tokio::sync::mpsc;

use super::{Network, NetworkEvent, NetworkHandle, Options, Protocol, RequestToken};

/// Longer than anything takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// How long we watch for something that must not happen.
const WATCH: Duration = Duration::from_millis(800);

/// A started network with its events.
struct Node {
    handle: NetworkHandle,
    events: mpsc::Receiver<NetworkEvent>,
}

impl Node {
    async fn start(seed: u8) -> Node {
        Node::start_with(seed, |_| ()).await
    }

    async fn start_with(seed: u8, tweak: impl FnOnce(&mut Options)) -> Node {
        let mut options = Options::default();
        tweak(&mut options);
        let (handle, events) = Network::start(options, &key(seed)).await.unwrap();
        Node { handle, events }
    }

    fn id(&self) -> NodeId {
        self.handle.node()
    }

    /// The first event that `pick` takes; others are passed over.
    async fn until<T>(&mut self, what: &str, pick: impl FnMut(NetworkEvent) -> Option<T>) -> T {
        self.within(PATIENCE, pick).await.unwrap_or_else(|| panic!("{what} did not happen"))
    }

    async fn within<T>(&mut self, time: Duration, mut pick: impl FnMut(NetworkEvent) -> Option<T>) -> Option<T> {
        let search = async {
            loop {
                let event = self.events.recv().await?;
                if let Some(found) = pick(event) {
                    return Some(found);
                }
            }
        };
        tokio::time::timeout(time, search).await.ok().flatten()
    }

    async fn connected(&mut self, to: NodeId) {
        self.until("a connection", |event| {
            matches!(event, NetworkEvent::Connected { node, .. } if node == to).then_some(())
        })
        .await;
    }

    async fn disconnected(&mut self, from: NodeId) {
        self.until("a disconnection", |event| {
            matches!(event, NetworkEvent::Disconnected { node } if node == from).then_some(())
        })
        .await;
    }

    async fn asked(&mut self, by: Protocol) -> (NodeId, Vec<u8>, RequestToken) {
        self.until("a request", |event| match event {
            NetworkEvent::Request { node, protocol, bytes, token } if protocol == by => Some((node, bytes, token)),
            _ => None,
        })
        .await
    }

    /// Where it listens by a transport: `tcp` or `quic-v1`.
    async fn addr(&self, transport: &str) -> Multiaddr {
        let addrs = self.handle.listen_addrs().await;
        addrs.into_iter().find(|addr| addr.to_string().contains(transport)).unwrap()
    }

    /// Asks, and answers at the other end by turning the bytes around.
    async fn round_trip(&self, other: &mut Node, protocol: Protocol, bytes: Vec<u8>) -> Vec<u8> {
        let other_id = other.id();
        let ask = async { self.handle.request(other_id, protocol, bytes, PATIENCE).await.unwrap() };
        let answer = async {
            let (node, mut bytes, token) = other.asked(protocol).await;
            assert_eq!(node, self.id());
            bytes.reverse();
            other.handle.respond(token, bytes).await.unwrap();
        };
        tokio::join!(ask, answer).0
    }
}

fn key(seed: u8) -> SecretKey {
    SecretKey::from_seed([seed; 32])
}

/// `a` dials `b`, and both know.
async fn connect(a: &mut Node, b: &mut Node, transport: &str) {
    a.handle.dial(b.addr(transport).await).await.unwrap();
    a.connected(b.id()).await;
    b.connected(a.id()).await;
}

/// `a` dials `b`, and both admit each other.
async fn meet(a: &mut Node, b: &mut Node, transport: &str) {
    connect(a, b, transport).await;
    a.handle.admit(b.id()).await.unwrap();
    b.handle.admit(a.id()).await.unwrap();
}

async fn end<const N: usize>(nodes: [Node; N]) {
    for node in nodes {
        node.handle.shutdown().await;
    }
}
