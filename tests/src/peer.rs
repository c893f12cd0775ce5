//! A peer of our own: real libp2p, a real certificate, and a mind of its own about how to answer. It lives in the test's
//! process, speaks the wire format with whole nodes, and is what a slow, silent, broken or lying neighbour looks like.

mod answers;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use plumb_core::identity::{EntityId, NodeId, SecretKey, Signed};
use plumb_core::measure::Duration as Span;
use plumb_core::trust::{ASSERTION_NONCE_BYTES, Assertion, AssertionTag, Certificate, VALIDITY_DEFAULT, certify};
use plumb_federation::driver::{Network, NetworkEvent, NetworkHandle, Options, Protocol, RequestToken};
use plumb_federation::wire::blocks::BlocksRequest;
use plumb_federation::wire::hello::{Hello, HelloResponse};
use plumb_federation::wire::log::{Heads, LogRequest, LogResponse};
use plumb_federation::wire::search::{SearchRequest, SearchResponse};
use tokio::runtime::Runtime;
use tokio::sync::{mpsc, watch};

use crate::{Home, RunningNode, now, until};
use answers::Library;
pub use answers::{Behaviour, Document};

/// Longest that an exchange with a node may take.
const EXCHANGE: Duration = Duration::from_secs(30);

/// Who a peer is: a key, and what an organisation says of it.
#[derive(Clone, Debug)]
pub struct Identity {
    key: SecretKey,
    certificate: Signed<Certificate>,
}

impl Identity {
    /// A node of an organisation whose root key is made from this seed; a node has to trust it first.
    pub fn foreign(org_seed: u8, org: &str, department: &str, node_seed: u8) -> Identity {
        let (root, key) = (SecretKey::from_seed([org_seed; 32]), SecretKey::from_seed([node_seed; 32]));
        let department: EntityId = format!("department-{department}").parse().expect("a department's name");
        let certificate =
            certify(&root, org, key.public(), department, now(), VALIDITY_DEFAULT).expect("a certificate is signed");
        Identity { key, certificate }
    }

    /// The node of a home that is certified and not running: a peer of the home's own organisation.
    pub fn of_home(home: &Home) -> Identity {
        let read = |path: &Path| std::fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let keys = home.dir.join("keys");
        let text = String::from_utf8(read(&keys.join("node.key"))).expect("the key is text");
        let byte = |i: usize| u8::from_str_radix(&text[2 * i..2 * i + 2], 16).expect("hex");
        let seed: [u8; 32] = std::array::from_fn(byte);
        let certificate = Signed::from_bytes(&read(&keys.join("certificate"))).expect("a certificate");
        Identity { key: SecretKey::from_seed(seed), certificate }
    }

    /// The node.
    pub fn node(&self) -> NodeId {
        self.key.public()
    }

    /// The root of its organisation: a `did:key`.
    pub fn org(&self) -> String {
        self.certificate.value().org.to_string()
    }
}

/// A peer of one node.
#[derive(Debug)]
pub struct Peer {
    identity: Identity,
    node: NodeId,
    network: NetworkHandle,
    runtime: Option<Runtime>,
}

impl Peer {
    /// Connects to a node and waits until both have admitted each other.
    pub fn join(node: &RunningNode, identity: Identity, behaviour: Behaviour, documents: &[Document]) -> Peer {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.expect("a runtime can be made");
        let library = Arc::new(Library::new(&identity.key, documents));
        let addresses = node.addresses();
        let address = addresses.iter().find(|a| a.contains("/tcp/")).expect("the node listens on TCP");
        let (admitted, mut is_admitted) = watch::channel(None);
        let options = Options::default();
        let (network, events) =
            runtime.block_on(Network::start(options, &identity.key)).expect("the peer's network starts");
        let mind = Mind { network: network.clone(), identity: identity.clone(), behaviour, library, admitted };
        runtime.spawn(mind.live(events));
        runtime.block_on(network.dial(address.parse().expect("a multiaddress"))).expect("the node can be dialled");
        let wait = async { is_admitted.wait_for(Option::is_some).await.ok().and_then(|id| *id) };
        let joined = runtime.block_on(async { tokio::time::timeout(EXCHANGE, wait).await });
        let other = joined.ok().flatten().expect("the node admits the peer");
        let did = identity.node().to_string();
        until("the node lists the peer as admitted", EXCHANGE, || {
            let view = node.home.ok(&["peers", "list"]);
            let peers = crate::list(&view, "/peers");
            peers.iter().any(|p| p["node"] == did.as_str() && p["state"] == "admitted")
        });
        Peer { identity, node: other, network, runtime: Some(runtime) }
    }

    /// Who it is.
    pub fn did(&self) -> String {
        self.identity.node().to_string()
    }

    /// Asks the node something, exactly as it stands.
    pub fn ask(&self, request: &SearchRequest) -> SearchResponse {
        SearchResponse::decode(&self.ask_raw(request)).expect("the node answers what can be read")
    }

    /// The answer's bytes.
    pub fn ask_raw(&self, request: &SearchRequest) -> Vec<u8> {
        let runtime = self.runtime.as_ref().expect("it lives until it is dropped");
        let answer = self.network.request(self.node, Protocol::Search, request.encode(), EXCHANGE);
        runtime.block_on(answer).expect("the node answers")
    }

    /// A true assertion for one request, for a requester of these departments.
    pub fn assertion(&self, request: &SearchRequest, departments: &[&str], nonce: u8) -> Assertion {
        Assertion {
            tag: AssertionTag,
            org: self.identity.certificate.value().org,
            departments: departments.iter().map(|d| format!("department-{d}").parse().expect("a name")).collect(),
            role: "member".to_string(),
            person: None,
            purpose: Some("a test".to_string()),
            audience: self.node,
            request: request.id(),
            nonce: vec![nonce; ASSERTION_NONCE_BYTES],
            issued_at: now(),
            expires_at: now().plus(Span::seconds(30)),
        }
    }

    /// Signs an assertion as this peer.
    pub fn sign(&self, assertion: Assertion) -> Signed<Assertion> {
        Signed::seal(assertion, &self.identity.key).expect("an assertion is signed")
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.block_on(self.network.shutdown());
            runtime.shutdown_background();
        }
    }
}

/// What answers for a peer.
struct Mind {
    network: NetworkHandle,
    identity: Identity,
    behaviour: Behaviour,
    library: Arc<Library>,
    admitted: watch::Sender<Option<NodeId>>,
}

impl Mind {
    async fn live(self, mut events: mpsc::Receiver<NetworkEvent>) {
        // Questions that a black hole swallowed. Dropping one would end its stream, which is an answer of a kind.
        let mut swallowed: Vec<RequestToken> = Vec::new();
        let hello = Hello { certificate: self.identity.certificate.clone(), agent: "test".into(), heads: Vec::new() };
        while let Some(event) = events.recv().await {
            let network = self.network.clone();
            match event {
                NetworkEvent::Connected { node, outbound: true, .. } => {
                    let (hello, admitted) = (hello.encode(), self.admitted.clone());
                    tokio::spawn(async move {
                        let answer = network.request(node, Protocol::Hello, hello, EXCHANGE).await;
                        if let Ok(Ok(HelloResponse::Hello(_))) = answer.map(|bytes| HelloResponse::decode(&bytes)) {
                            let _ = network.admit(node).await;
                            admitted.send_replace(Some(node));
                        }
                    });
                }
                NetworkEvent::Request { node, protocol: Protocol::Hello, token, .. } => {
                    let _ = network.admit(node).await;
                    let _ = network.respond(token, HelloResponse::Hello(hello.clone()).encode()).await;
                }
                NetworkEvent::Request { protocol: Protocol::Log, bytes, token, .. } => {
                    let answer = match LogRequest::decode(&bytes) {
                        Ok(LogRequest::Entries { publisher, .. }) => LogResponse::Missing { publisher },
                        _ => LogResponse::Heads(Heads { heads: Vec::new(), forks: Vec::new() }),
                    };
                    let _ = network.respond(token, answer.encode()).await;
                }
                NetworkEvent::Request { protocol: Protocol::Search, bytes, token, .. } => {
                    let Ok(request) = SearchRequest::decode(&bytes) else { continue };
                    match self.behaviour {
                        Behaviour::BlackHole => swallowed.push(token),
                        Behaviour::Fails => drop(token),
                        behaviour => {
                            let library = self.library.clone();
                            tokio::spawn(async move {
                                if let Behaviour::Slow(wait) = behaviour {
                                    tokio::time::sleep(wait).await;
                                }
                                let answer = library.answer(behaviour, &request);
                                let _ = network.respond(token, answer.encode()).await;
                            });
                        }
                    }
                }
                NetworkEvent::Request { protocol: Protocol::Blocks, bytes, token, .. } => {
                    let Ok(request) = BlocksRequest::decode(&bytes) else { continue };
                    let _ = network.respond(token, answers::blocks(self.behaviour, &request).encode()).await;
                }
                _ => {}
            }
        }
    }
}
