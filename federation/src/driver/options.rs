//! What a network is started with: addresses and limits.

use std::time::Duration;

use libp2p::Multiaddr;
use libp2p::multiaddr::multiaddr;

pub use super::rate::REQUESTS_PER_SECOND;

/// Connections in all. Each costs a task and some hundred kilobytes of windows; a federation has tens of nodes.
pub const CONNECTIONS_MAX: u32 = 128;

/// Of these, how many may come from outside: some are always left for peers that this node itself wants to reach.
pub const CONNECTIONS_INCOMING_MAX: u32 = 96;

/// Handshakes under way in each direction; past it, new ones are turned away.
pub const CONNECTIONS_PENDING_MAX: u32 = 64;

/// Connections per peer. Two nodes that dial each other at once get two, and closing one of them from both sides at
/// once would leave none. Where they meet through a relay, both sides dial for a direct one, the table of peers dials too,
/// and a probe of reachability may be under way; whoever refuses one of these cuts off what the other side has begun on
/// it. All but one end when nobody uses them.
pub const CONNECTIONS_PER_PEER_MAX: u32 = 8;

/// Streams per connection and request protocol, both directions together. Half of them are for our own requests.
pub const STREAMS_PER_PEER_MAX: usize = 32;

/// The same for hello, which strangers reach: one each way.
pub const HELLO_STREAMS_MAX: usize = 2;

/// How long a request may take on the wire, whatever its caller would wait. A slow reader or writer ends here.
pub const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

/// How long a connection that nobody uses is kept. Admitted ones are kept until one side closes them.
pub const IDLE_TIMEOUT: Duration = Duration::from_secs(60);

/// How long a peer has to be admitted: a hello, a certificate check and the shell's word take well under a second.
pub const ADMISSION_TIMEOUT: Duration = Duration::from_secs(10);

/// The first pause before an address is dialled again.
pub const REDIAL_DELAY_MIN: Duration = Duration::from_millis(500);

/// The longest pause before an address is dialled again. It is also how long a healed network may stay unnoticed, so it
/// is short: a dial that leads nowhere is a few packets, and no more than sixteen are under way.
pub const REDIAL_DELAY_MAX: Duration = Duration::from_secs(15);

/// How often a connection is tried with a ping.
pub const PING_INTERVAL: Duration = Duration::from_secs(5);

/// How long a ping may take before its connection counts as dead: many round trips of the slowest links, with losses.
/// TCP alone may take a quarter of an hour to notice that the other end is gone.
pub const PING_TIMEOUT: Duration = Duration::from_secs(10);

/// How long after its start a node has itself dialled back by peers.
pub const PROBE_DELAY: Duration = Duration::from_secs(15);

/// The largest gossip message: the largest that [`crate::wire`] makes.
pub const GOSSIP_BYTES_MAX: usize = crate::wire::gossip::MESSAGE_BYTES_MAX;

/// Commands that wait for the driver; past it, callers wait.
pub const COMMANDS_MAX: usize = 256;

/// Events that wait for the shell; past it, requests and gossip are turned away.
pub const EVENTS_MAX: usize = 256;

/// Bytes of inbound requests that are not answered yet; past it, further ones are turned away.
pub const INBOUND_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Limits that an operator or a test may change. The defaults are the constants of this module.
#[derive(Clone, Debug)]
pub struct Limits {
    /// [`CONNECTIONS_MAX`]
    pub connections_max: u32,
    /// [`CONNECTIONS_INCOMING_MAX`]
    pub connections_incoming_max: u32,
    /// [`CONNECTIONS_PER_PEER_MAX`]
    pub connections_per_peer_max: u32,
    /// [`STREAMS_PER_PEER_MAX`]
    pub streams_per_peer_max: usize,
    /// [`REQUEST_TIMEOUT`]
    pub request_timeout: Duration,
    /// [`IDLE_TIMEOUT`]
    pub idle_timeout: Duration,
    /// [`ADMISSION_TIMEOUT`]
    pub admission_timeout: Duration,
    /// [`REDIAL_DELAY_MIN`]
    pub redial_delay_min: Duration,
    /// [`REDIAL_DELAY_MAX`]
    pub redial_delay_max: Duration,
    /// [`PING_INTERVAL`]
    pub ping_interval: Duration,
    /// [`PING_TIMEOUT`]
    pub ping_timeout: Duration,
    /// [`PROBE_DELAY`]
    pub probe_delay: Duration,
    /// [`REQUESTS_PER_SECOND`]
    pub requests_per_second: u32,
    /// [`GOSSIP_BYTES_MAX`]
    pub gossip_bytes_max: usize,
    /// [`EVENTS_MAX`]; at least [`super::event::LIFECYCLE_RESERVE`] and one more.
    pub events_max: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            connections_max: CONNECTIONS_MAX,
            connections_incoming_max: CONNECTIONS_INCOMING_MAX,
            connections_per_peer_max: CONNECTIONS_PER_PEER_MAX,
            streams_per_peer_max: STREAMS_PER_PEER_MAX,
            request_timeout: REQUEST_TIMEOUT,
            idle_timeout: IDLE_TIMEOUT,
            admission_timeout: ADMISSION_TIMEOUT,
            redial_delay_min: REDIAL_DELAY_MIN,
            redial_delay_max: REDIAL_DELAY_MAX,
            ping_interval: PING_INTERVAL,
            ping_timeout: PING_TIMEOUT,
            probe_delay: PROBE_DELAY,
            requests_per_second: REQUESTS_PER_SECOND,
            gossip_bytes_max: GOSSIP_BYTES_MAX,
            events_max: EVENTS_MAX,
        }
    }
}

/// What a network is started with.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where to listen: TCP (`/ip4/../tcp/..`) and QUIC (`/ip4/../udp/../quic-v1`) addresses, and relays to listen
    /// through (`/../p2p/RELAY/p2p-circuit`). A relay is asked once it is admitted, and again whenever it was lost.
    pub listen: Vec<Multiaddr>,
    /// Addresses at which others reach this node though it does not listen there itself, such as that of a router which
    /// forwards a port.
    pub announce: Vec<Multiaddr>,
    /// Peers to connect to from the start, and again whenever they are lost. Best with a `/p2p/` part, so that
    /// nobody else can answer in their place.
    pub bootstrap: Vec<Multiaddr>,
    /// Whether to find and announce nodes on the local network by multicast. Off unless asked for: it tells the
    /// whole network segment that a node is here.
    pub mdns: bool,
    /// Nodes that are blocked from the start.
    pub blocked: Vec<plumb_core::identity::NodeId>,
    /// Whether admitted peers may be reached through this node.
    pub relay: bool,
    /// The limits.
    pub limits: Limits,
}

impl Default for Options {
    fn default() -> Options {
        let loopback = std::net::Ipv4Addr::LOCALHOST;
        Options {
            listen: vec![multiaddr!(Ip4(loopback), Tcp(0u16)), multiaddr!(Ip4(loopback), Udp(0u16), QuicV1)],
            announce: Vec::new(),
            bootstrap: Vec::new(),
            mdns: false,
            blocked: Vec::new(),
            relay: false,
            limits: Limits::default(),
        }
    }
}
