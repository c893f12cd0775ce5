//! The behaviours that make up a node on the network, and the swarm that carries them.

use std::time::Duration;

use libp2p::gossipsub::{self, MessageAuthenticity, MessageId, ValidationMode};
use libp2p::identity::Keypair;
use libp2p::kad::{self, store::MemoryStore};
use libp2p::request_response::{self, OutboundRequestId, ProtocolSupport, ResponseChannel};
use libp2p::swarm::NetworkBehaviour;
use libp2p::swarm::behaviour::toggle::Toggle;
use libp2p::{
    Multiaddr, PeerId, StreamProtocol, allow_block_list, autonat, connection_limits, dcutr, identify, mdns, ping, relay,
};
use sha2::{Digest, Sha256};

use super::DriverError;
use super::codec::{FrameCodec, Framed};
use super::doorkeeper::Doorkeeper;
use super::gate::{Door, Gated, Standing};
use super::options::{CONNECTIONS_PENDING_MAX, HELLO_STREAMS_MAX, Limits, Options};
use super::protocol::Protocol;
use super::reach;

/// Kademlia by a private name: this is nobody else's table.
const KAD_PROTOCOL: StreamProtocol = StreamProtocol::new("/plumb/kad/1");

/// What nodes tell each other in identify.
const IDENTIFY_PROTOCOL: &str = "/plumb/id/1";

/// What this program calls itself in identify.
const AGENT: &str = concat!("plumbline/", env!("CARGO_PKG_VERSION"));

/// A gossip message's envelope: author, sequence number, topic, signature and the protobuf around them.
const GOSSIP_ENVELOPE_BYTES: usize = 4 * 1024;

/// Gossip messages queued for one slow peer; the log sync brings it what is dropped.
const GOSSIP_QUEUE_MAX: usize = 128;

/// How long content is remembered, so that it is not passed on again.
const GOSSIP_DUPLICATE_TIME: Duration = Duration::from_secs(120);

/// Heartbeats (of one second) that a message waits for the shell's judgement.
const GOSSIP_HISTORY_HEARTBEATS: usize = 10;

/// Mesh degree: aimed at, at least, at most. Below seven nodes everybody is in everybody's mesh; up to twenty, six
/// neighbours reach all in two or three hops.
const GOSSIP_MESH: (usize, usize, usize) = (6, 4, 12);

/// Requests of an introduced peer wait for its admission, unread; of a stranger they are refused.
const REQUEST_DOOR: Door = Door { refuses_strangers: true, waiting_max: 4 };

/// A gossip connection has one stream per direction; a newer one replaces it.
const GOSSIP_DOOR: Door = Door { refuses_strangers: false, waiting_max: 1 };

/// A Kademlia query is a stream of its own.
const KAD_DOOR: Door = Door { refuses_strangers: false, waiting_max: 4 };

/// Relay, hole punching and reachability probes open a stream for each attempt.
const REACH_DOOR: Door = Door { refuses_strangers: false, waiting_max: 2 };

type Requests = request_response::Behaviour<FrameCodec>;

/// All behaviours. The order matters only in that the first three may deny a connection before the others hear of it.
#[derive(NetworkBehaviour)]
pub(super) struct Behaviour {
    limits: connection_limits::Behaviour,
    doorkeeper: Doorkeeper,
    blocked: allow_block_list::Behaviour<allow_block_list::BlockedPeers>,
    hello: Requests,
    search: Gated<Requests>,
    blocks: Gated<Requests>,
    log: Gated<Requests>,
    notice: Gated<Requests>,
    teach: Gated<Requests>,
    gossip: Gated<gossipsub::Behaviour>,
    kad: Gated<kad::Behaviour<MemoryStore>>,
    relay: Gated<Toggle<relay::Behaviour>>,
    relayed: Gated<relay::client::Behaviour>,
    punch: Gated<dcutr::Behaviour>,
    probe: Gated<autonat::v1::Behaviour>,
    identify: identify::Behaviour,
    ping: ping::Behaviour,
    mdns: Toggle<mdns::tokio::Behaviour>,
}

/// The behaviours that can fail to be made.
pub(super) struct Prepared {
    gossip: gossipsub::Behaviour,
    mdns: Option<mdns::tokio::Behaviour>,
}

impl Prepared {
    pub(super) fn new(keypair: &Keypair, options: &Options) -> Result<Prepared, DriverError> {
        let mdns = if options.mdns {
            let found = mdns::tokio::Behaviour::new(mdns::Config::default(), keypair.public().to_peer_id());
            Some(found.map_err(|source| DriverError::Mdns { source })?)
        } else {
            None
        };
        Ok(Prepared { gossip: gossip(keypair, &options.limits)?, mdns })
    }
}

impl Behaviour {
    /// `relayed` is the half of the relayed transport that belongs here.
    pub(super) fn new(
        prepared: Prepared,
        relayed: relay::client::Behaviour,
        keypair: &Keypair,
        options: &Options,
    ) -> Behaviour {
        let limits = &options.limits;
        let peer = keypair.public().to_peer_id();
        let gated = |protocol| Gated::new(requests(protocol, limits), REQUEST_DOOR);
        let identify = identify::Config::new(IDENTIFY_PROTOCOL.to_string(), keypair.public())
            .with_agent_version(AGENT.to_string())
            .with_push_listen_addr_updates(true);
        Behaviour {
            limits: connection_limits::Behaviour::new(
                connection_limits::ConnectionLimits::default()
                    .with_max_pending_incoming(Some(CONNECTIONS_PENDING_MAX))
                    .with_max_pending_outgoing(Some(CONNECTIONS_PENDING_MAX))
                    .with_max_established_incoming(Some(limits.connections_incoming_max))
                    .with_max_established_per_peer(Some(limits.connections_per_peer_max))
                    .with_max_established(Some(limits.connections_max)),
            ),
            doorkeeper: Doorkeeper::default(),
            blocked: allow_block_list::Behaviour::default(),
            hello: requests(Protocol::Hello, limits),
            search: gated(Protocol::Search),
            blocks: gated(Protocol::Blocks),
            log: gated(Protocol::Log),
            notice: gated(Protocol::Notice),
            teach: gated(Protocol::Teach),
            gossip: Gated::new(prepared.gossip, GOSSIP_DOOR),
            kad: Gated::new(kademlia(peer), KAD_DOOR),
            relay: Gated::new(Toggle::from(options.relay.then(|| reach::relay(peer))), REACH_DOOR),
            relayed: Gated::new(relayed, REACH_DOOR),
            punch: Gated::new(dcutr::Behaviour::new(peer), REACH_DOOR),
            probe: Gated::new(reach::probe(peer, limits), REACH_DOOR),
            identify: identify::Behaviour::new(identify),
            ping: ping::Behaviour::new(
                ping::Config::default().with_interval(limits.ping_interval).with_timeout(limits.ping_timeout),
            ),
            mdns: Toggle::from(prepared.mdns),
        }
    }

    fn requests(&mut self, protocol: Protocol) -> &mut Requests {
        match protocol {
            Protocol::Hello => &mut self.hello,
            Protocol::Search => self.search.inner(),
            Protocol::Blocks => self.blocks.inner(),
            Protocol::Log => self.log.inner(),
            Protocol::Notice => self.notice.inner(),
            Protocol::Teach => self.teach.inner(),
        }
    }

    pub(super) fn send_request(&mut self, peer: &PeerId, protocol: Protocol, bytes: Vec<u8>) -> OutboundRequestId {
        self.requests(protocol).send_request(peer, Ok(bytes))
    }

    /// `false` if nobody waits for it any more.
    pub(super) fn send_response(
        &mut self,
        protocol: Protocol,
        channel: ResponseChannel<Framed>,
        answer: Framed,
    ) -> bool {
        self.requests(protocol).send_response(channel, answer).is_ok()
    }

    pub(super) fn gossip(&mut self) -> &mut gossipsub::Behaviour {
        self.gossip.inner()
    }

    /// Tells every gate how a connected peer stands.
    pub(super) fn raise(&mut self, peer: PeerId, standing: Standing) {
        for requests in [&mut self.search, &mut self.blocks, &mut self.log, &mut self.notice, &mut self.teach] {
            requests.raise(peer, standing);
        }
        self.gossip.raise(peer, standing);
        self.kad.raise(peer, standing);
        self.relay.raise(peer, standing);
        self.relayed.raise(peer, standing);
        self.punch.raise(peer, standing);
        self.probe.raise(peer, standing);
    }

    /// What probes by admitted peers say of this node's reachability.
    pub(super) fn reachability(&mut self) -> autonat::v1::NatStatus {
        self.probe.inner().nat_status()
    }

    /// Puts an admitted peer into the Kademlia table. The table looks for further peers by itself when it gets a new
    /// one, and every few minutes.
    pub(super) fn add_to_table(&mut self, peer: &PeerId, addrs: &[Multiaddr]) {
        for addr in addrs {
            self.kad.inner().add_address(peer, addr.clone());
        }
    }

    pub(super) fn remove_from_table(&mut self, peer: &PeerId) {
        self.kad.inner().remove_peer(peer);
    }

    /// Nobody in here dials the peer any more.
    pub(super) fn dismiss(&mut self, peer: PeerId) {
        self.doorkeeper.dismiss(peer);
        self.remove_from_table(&peer);
    }

    /// Whether a peer is not to be dialled.
    pub(super) fn has_dismissed(&self, peer: &PeerId) -> bool {
        self.doorkeeper.has_dismissed(peer)
    }

    /// No connection with a peer until then.
    pub(super) fn exclude(&mut self, peer: PeerId, until: tokio::time::Instant) {
        self.doorkeeper.exclude(peer, until);
        self.remove_from_table(&peer);
    }

    /// The peer is excluded no more.
    pub(super) fn forgive(&mut self, peer: &PeerId) {
        self.doorkeeper.forgive(peer);
    }

    /// Those who are blocked.
    pub(super) fn blocked(&self) -> impl Iterator<Item = &PeerId> {
        self.blocked.blocked_peers().iter()
    }

    /// The peer may be dialled again.
    pub(super) fn welcome(&mut self, peer: &PeerId) {
        self.doorkeeper.welcome(peer);
    }

    /// `false` if the list of blocked peers is full.
    pub(super) fn block(&mut self, peer: PeerId, max: usize) -> bool {
        let known = self.blocked.blocked_peers();
        if max <= known.len() && !known.contains(&peer) {
            return false;
        }
        self.blocked.block_peer(peer);
        true
    }

    pub(super) fn unblock(&mut self, peer: PeerId) {
        self.blocked.unblock_peer(peer);
    }

    pub(super) fn is_blocked(&self, peer: &PeerId) -> bool {
        self.blocked.blocked_peers().contains(peer)
    }
}

fn requests(protocol: Protocol, limits: &Limits) -> Requests {
    let streams = if protocol == Protocol::Hello { HELLO_STREAMS_MAX } else { limits.streams_per_peer_max };
    let config = request_response::Config::default()
        .with_request_timeout(limits.request_timeout)
        .with_max_concurrent_streams(streams);
    Requests::with_codec(FrameCodec, [(protocol, ProtocolSupport::Full)], config)
}

fn gossip(keypair: &Keypair, limits: &Limits) -> Result<gossipsub::Behaviour, DriverError> {
    let failed = |reason: String| DriverError::Gossip { reason };
    let (mesh_n, mesh_n_low, mesh_n_high) = GOSSIP_MESH;
    let config = gossipsub::ConfigBuilder::default()
        .validation_mode(ValidationMode::Strict)
        .validate_messages()
        .max_transmit_size(limits.gossip_bytes_max.saturating_add(GOSSIP_ENVELOPE_BYTES))
        .message_id_fn(content_id)
        .duplicate_cache_time(GOSSIP_DUPLICATE_TIME)
        .history_length(GOSSIP_HISTORY_HEARTBEATS)
        .connection_handler_queue_len(GOSSIP_QUEUE_MAX)
        .mesh_n(mesh_n)
        .mesh_n_low(mesh_n_low)
        .mesh_n_high(mesh_n_high)
        .heartbeat_initial_delay(Duration::from_secs(1))
        .build()
        .map_err(|error| failed(error.to_string()))?;
    gossipsub::Behaviour::new(MessageAuthenticity::Signed(keypair.clone()), config)
        .map_err(|reason| failed(reason.to_string()))
}

/// A message is its topic and its content: the same notice, published by two nodes, is passed on once.
fn content_id(message: &gossipsub::Message) -> MessageId {
    let mut hash = Sha256::new();
    let topic = message.topic.as_str().as_bytes();
    hash.update((topic.len() as u64).to_be_bytes());
    hash.update(topic);
    hash.update(&message.data);
    MessageId::new(hash.finalize().as_slice())
}

fn kademlia(peer: PeerId) -> kad::Behaviour<MemoryStore> {
    let mut config = kad::Config::new(KAD_PROTOCOL);
    // Only admitted peers enter the table, by our own hand; and nobody stores anything here but its own place in it.
    config.set_kbucket_inserts(kad::BucketInserts::Manual).set_record_filtering(kad::StoreInserts::FilterBoth);
    let mut kad = kad::Behaviour::with_config(peer, MemoryStore::new(peer), config);
    kad.set_mode(Some(kad::Mode::Server));
    kad
}
