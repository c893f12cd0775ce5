//! A peer that speaks libp2p correctly and our frames not at all.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, StreamExt};
use libp2p::request_response::{self, OutboundFailure, ProtocolSupport};
use libp2p::swarm::{NetworkBehaviour, SwarmEvent};
use libp2p::{PeerId, Swarm, SwarmBuilder, noise, tcp, yamux};

use super::*;
use crate::driver::codec::encode_length;
use crate::driver::{keys, node_of_peer};

/// More than any window and buffer on the way to a reader that does not read.
const SWALLOWED_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// What the hostile peer writes where a request should be.
#[derive(Clone, Debug)]
struct Attack {
    first: Vec<u8>,
    /// Then this, again and again.
    endless: Option<u8>,
    /// Then nothing, without closing the stream.
    stall: bool,
}

impl Attack {
    fn bytes(first: Vec<u8>) -> Attack {
        Attack { first, endless: None, stall: false }
    }

    fn endless(first: Vec<u8>, byte: u8) -> Attack {
        Attack { endless: Some(byte), ..Attack::bytes(first) }
    }
}

/// Writes attacks; reads whatever comes back.
#[derive(Clone, Default)]
struct HostileCodec {
    written: Arc<AtomicU64>,
}

impl request_response::Codec for HostileCodec {
    type Protocol = Protocol;
    type Request = Attack;
    type Response = Vec<u8>;

    async fn read_request<T: AsyncRead + Unpin + Send>(&mut self, _: &Protocol, _: &mut T) -> io::Result<Attack> {
        Err(io::ErrorKind::Unsupported.into())
    }

    async fn read_response<T: AsyncRead + Unpin + Send>(&mut self, _: &Protocol, io: &mut T) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        io.take(1024).read_to_end(&mut bytes).await?;
        if bytes.is_empty() { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(bytes) }
    }

    async fn write_request<T: AsyncWrite + Unpin + Send>(
        &mut self,
        _: &Protocol,
        io: &mut T,
        attack: Attack,
    ) -> io::Result<()> {
        io.write_all(&attack.first).await?;
        io.flush().await?;
        while let Some(byte) = attack.endless {
            io.write_all(&[byte; 4096]).await?;
            self.written.fetch_add(4096, Ordering::Relaxed);
        }
        if attack.stall {
            futures::future::pending::<()>().await;
        }
        Ok(())
    }

    async fn write_response<T: AsyncWrite + Unpin + Send>(
        &mut self,
        _: &Protocol,
        _: &mut T,
        _: Vec<u8>,
    ) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

#[derive(NetworkBehaviour)]
struct HostileBehaviour {
    hello: request_response::Behaviour<HostileCodec>,
    search: request_response::Behaviour<HostileCodec>,
}

struct Hostile {
    swarm: Swarm<HostileBehaviour>,
    codec: HostileCodec,
}

impl Hostile {
    /// Connects to a node.
    async fn connect(seed: u8, to: &mut Node) -> Hostile {
        let codec = HostileCodec::default();
        let behaviour = |protocol| {
            request_response::Behaviour::with_codec(
                codec.clone(),
                [(protocol, ProtocolSupport::Full)],
                request_response::Config::default().with_request_timeout(PATIENCE),
            )
        };
        let swarm = SwarmBuilder::with_existing_identity(keys::keypair(&key(seed)).unwrap())
            .with_tokio()
            .with_tcp(tcp::Config::default().nodelay(true), noise::Config::new, yamux::Config::default)
            .unwrap()
            .with_behaviour(|_| HostileBehaviour {
                hello: behaviour(Protocol::Hello),
                search: behaviour(Protocol::Search),
            })
            .unwrap()
            .with_swarm_config(|config| config.with_idle_connection_timeout(PATIENCE))
            .build();
        let mut hostile = Hostile { swarm, codec };
        hostile.swarm.dial(to.addr("tcp").await).unwrap();
        hostile.until(|event| matches!(event, SwarmEvent::ConnectionEstablished { .. }).then_some(())).await;
        to.connected(hostile.node()).await;
        hostile
    }

    fn node(&self) -> NodeId {
        node_of_peer(self.swarm.local_peer_id()).unwrap()
    }

    async fn until<T>(&mut self, mut pick: impl FnMut(SwarmEvent<HostileBehaviourEvent>) -> Option<T>) -> T {
        let search = async {
            loop {
                if let Some(found) = pick(self.swarm.select_next_some().await) {
                    return found;
                }
            }
        };
        tokio::time::timeout(PATIENCE, search).await.unwrap()
    }

    /// Sends an attack; what came back.
    async fn attack(&mut self, victim: &Node, protocol: Protocol, attack: Attack) -> Result<Vec<u8>, OutboundFailure> {
        let peer: PeerId = crate::driver::peer_of_node(&victim.id()).unwrap();
        let behaviour = self.swarm.behaviour_mut();
        match protocol {
            Protocol::Hello => behaviour.hello.send_request(&peer, attack),
            _ => behaviour.search.send_request(&peer, attack),
        };
        self.until(|event| match event {
            SwarmEvent::Behaviour(HostileBehaviourEvent::Hello(event) | HostileBehaviourEvent::Search(event)) => {
                match event {
                    request_response::Event::Message {
                        message: request_response::Message::Response { response, .. },
                        ..
                    } => Some(Ok(response)),
                    request_response::Event::OutboundFailure { error, .. } => Some(Err(error)),
                    _ => None,
                }
            }
            _ => None,
        })
        .await
    }
}

fn attacks() -> Vec<(&'static str, Attack)> {
    let four_gib = encode_length(4 << 30);
    vec![
        ("a claim of 4 GiB", Attack::bytes(four_gib.clone())),
        ("a claim of 4 GiB and bytes without end", Attack::endless(four_gib, 0x55)),
        ("a length without end", Attack::endless(vec![], 0x80)),
        ("a length with padding", Attack::bytes(vec![0x81, 0x00, 0x01])),
        ("a length of ten bytes", Attack::bytes(vec![0xff; 10])),
        ("one byte more than is allowed", {
            let max = Protocol::Search.request_bytes_max().max(Protocol::Hello.request_bytes_max());
            Attack::bytes(encode_length(max as u64 + 1))
        }),
        ("fewer bytes than claimed", Attack::bytes(vec![9, 1, 2, 3])),
        ("nothing", Attack::bytes(vec![])),
    ]
}

/// The node is well: it takes no notice of attacks, and answers an honest node.
async fn is_well(victim: &mut Node, seed: u8) {
    let mut honest = Node::start(seed).await;
    meet(&mut honest, victim, "tcp").await;
    assert_eq!(honest.round_trip(victim, Protocol::Search, vec![1, 2]).await, [2, 1]);
    let id = honest.id();
    end([honest]).await;
    victim.disconnected(id).await;
}

async fn malformed_frames_end_their_stream(protocol: Protocol) {
    let mut victim = Node::start(1).await;
    let mut hostile = Hostile::connect(66, &mut victim).await;
    if protocol != Protocol::Hello {
        victim.handle.admit(hostile.node()).await.unwrap();
    }
    for (name, attack) in attacks() {
        hostile.codec.written.store(0, Ordering::Relaxed);
        let answer = hostile.attack(&victim, protocol, attack).await;
        assert!(matches!(answer, Err(OutboundFailure::Io(_))), "{name}: {answer:?}");
        let written = hostile.codec.written.load(Ordering::Relaxed);
        assert!(written < SWALLOWED_BYTES_MAX, "{name}: {written} bytes went through");
    }
    let heard =
        victim.within(Duration::from_millis(50), |event| matches!(event, NetworkEvent::Request { .. }).then_some(()));
    assert!(heard.await.is_none(), "none of it reached the shell");

    // The stream was ended and not the connection: the same peer may still behave.
    let (victim_ref, honest_frame) = (&victim.handle.clone(), Attack::bytes(vec![2, 7, 8]));
    let answer = {
        let peer = crate::driver::peer_of_node(&victim.id()).unwrap();
        let behaviour = hostile.swarm.behaviour_mut();
        match protocol {
            Protocol::Hello => behaviour.hello.send_request(&peer, honest_frame),
            _ => behaviour.search.send_request(&peer, honest_frame),
        };
        let hear = async {
            let (_, bytes, token) = victim.asked(protocol).await;
            assert_eq!(bytes, [7, 8]);
            victim_ref.respond(token, bytes).await.unwrap();
        };
        let answer = hostile.until(|event| match event {
            SwarmEvent::Behaviour(
                HostileBehaviourEvent::Hello(request_response::Event::Message { message, .. })
                | HostileBehaviourEvent::Search(request_response::Event::Message { message, .. }),
            ) => match message {
                request_response::Message::Response { response, .. } => Some(response),
                request_response::Message::Request { .. } => None,
            },
            _ => None,
        });
        tokio::join!(answer, hear).0
    };
    assert_eq!(answer, [2, 7, 8]);
    is_well(&mut victim, 3).await;
    drop(hostile);
    end([victim]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn malformed_requests_of_an_admitted_peer_end_their_stream() {
    malformed_frames_end_their_stream(Protocol::Search).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn malformed_hellos_of_a_stranger_end_their_stream() {
    malformed_frames_end_their_stream(Protocol::Hello).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_peer_that_goes_on_sending_no_frames_is_excluded() {
    let mut victim = Node::start(1).await;
    let mut hostile = Hostile::connect(66, &mut victim).await;
    victim.handle.admit(hostile.node()).await.unwrap();
    let claim = || Attack::bytes(encode_length(1 << 30));
    for _ in 0..5 {
        let answer = hostile.attack(&victim, Protocol::Search, claim()).await;
        assert!(matches!(answer, Err(OutboundFailure::Io(_))), "{answer:?}");
    }
    let score = victim.handle.peers().await[0].score;
    assert!(score < 100, "{score}");
    // Points wear off meanwhile, so the number of frames depends on the machine; that there is an end does not.
    while victim.handle.status().await.excluded.is_empty() {
        assert!(hostile.attack(&victim, Protocol::Search, claim()).await.is_err());
    }
    victim.disconnected(hostile.node()).await;
    is_well(&mut victim, 3).await;
    drop(hostile);
    end([victim]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_peer_that_stalls_is_cut_off_by_the_clock() {
    let hasty = |options: &mut Options| options.limits.request_timeout = Duration::from_millis(500);
    let mut victim = Node::start_with(1, hasty).await;
    let mut hostile = Hostile::connect(66, &mut victim).await;
    victim.handle.admit(hostile.node()).await.unwrap();
    let slow = Attack { stall: true, ..Attack::bytes(vec![9, 1]) };
    // The writer never learns, as it never writes again; what counts is that the node goes on meanwhile and after.
    let peer = crate::driver::peer_of_node(&victim.id()).unwrap();
    for _ in 0..64 {
        hostile.swarm.behaviour_mut().search.send_request(&peer, slow.clone());
    }
    let drive = async {
        loop {
            hostile.swarm.select_next_some().await;
        }
    };
    tokio::select! {
        () = drive => {}
        () = async {
            is_well(&mut victim, 3).await;
            tokio::time::sleep(WATCH).await;
            is_well(&mut victim, 4).await;
        } => {}
    }
    end([victim]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_strangers_attack_on_a_closed_protocol_ends_its_connection() {
    let mut victim = Node::start(1).await;
    let mut hostile = Hostile::connect(66, &mut victim).await;
    let answer = hostile.attack(&victim, Protocol::Search, Attack::endless(vec![], 0x55)).await;
    assert!(answer.is_err());
    let written = hostile.codec.written.load(Ordering::Relaxed);
    assert!(written < SWALLOWED_BYTES_MAX, "{written} bytes went through");
    victim.disconnected(hostile.node()).await;
    is_well(&mut victim, 3).await;
    drop(hostile);
    end([victim]).await;
}
