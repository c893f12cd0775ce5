//! The peers that are connected now, and what is known of each.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use libp2p::swarm::ConnectionId;
use libp2p::{Multiaddr, PeerId, identify};
use plumb_core::identity::NodeId;
use tokio::time::Instant;

use super::protocol::Protocol;
use super::rate::Allowance;
use super::reach::is_relayed;
use super::status::PeerStatus;

/// How many of the addresses that a peer claims are kept.
const LISTEN_ADDRS_MAX: usize = 16;

/// How many characters of a peer's agent string are kept.
const AGENT_CHARS_MAX: usize = 64;

/// One connected peer.
pub(super) struct Peer {
    pub(super) node: NodeId,
    pub(super) admitted: bool,
    /// Whether the shell was told of it; only then is it told of its end.
    pub(super) announced: bool,
    /// Whether its connections are being closed; what it says meanwhile is not reported any more.
    pub(super) closing: bool,
    /// Answers to its hellos that are on their way: a refusal is to arrive before its connection ends.
    pub(super) answers_under_way: u32,
    /// When its connections are closed, if they wait for such an answer.
    pub(super) closes_at: Option<Instant>,
    /// When it has to be admitted at the latest.
    pub(super) deadline: Instant,
    pub(super) rtt: Option<Duration>,
    /// What it may still ask for.
    pub(super) allowance: Allowance,
    connections: Vec<(ConnectionId, Multiaddr)>,
    listen_addrs: Vec<Multiaddr>,
    agent: Option<String>,
    connected_since: SystemTime,
    /// Our own requests under way, by protocol.
    under_way: [usize; Protocol::ALL.len()],
}

impl Peer {
    pub(super) fn new(node: NodeId, deadline: Instant, allowance: Allowance) -> Peer {
        Peer {
            node,
            admitted: false,
            announced: false,
            closing: false,
            answers_under_way: 0,
            closes_at: None,
            deadline,
            rtt: None,
            allowance,
            connections: Vec::new(),
            listen_addrs: Vec::new(),
            agent: None,
            connected_since: SystemTime::now(),
            under_way: [0; Protocol::ALL.len()],
        }
    }

    pub(super) fn connected(&mut self, connection: ConnectionId, addr: Multiaddr) {
        self.connections.push((connection, addr));
    }

    pub(super) fn disconnected(&mut self, connection: ConnectionId) {
        self.connections.retain(|(known, _)| *known != connection);
    }

    /// Takes over what the peer says of itself, cut to size; `true` if its addresses changed.
    pub(super) fn identified(&mut self, info: identify::Info) -> bool {
        let agent = info.agent_version.chars().filter(|c| !c.is_control()).take(AGENT_CHARS_MAX);
        self.agent = Some(agent.collect());
        let listen_addrs: Vec<Multiaddr> = info.listen_addrs.into_iter().take(LISTEN_ADDRS_MAX).collect();
        let changed = listen_addrs != self.listen_addrs;
        self.listen_addrs = listen_addrs;
        changed
    }

    pub(super) fn listen_addrs(&self) -> &[Multiaddr] {
        &self.listen_addrs
    }

    /// Takes a slot for a request of ours; `false` if `max` are taken.
    pub(super) fn begin(&mut self, protocol: Protocol, max: usize) -> bool {
        let slots = &mut self.under_way[protocol.index()];
        if max <= *slots {
            return false;
        }
        *slots += 1;
        true
    }

    /// Gives the slot back.
    pub(super) fn end(&mut self, protocol: Protocol) {
        let slots = &mut self.under_way[protocol.index()];
        *slots = slots.saturating_sub(1);
    }

    /// Its connections that lead through a relay, if this one does not.
    pub(super) fn superseded_by(&self, connection: ConnectionId) -> Vec<ConnectionId> {
        let (relayed, direct): (Vec<_>, Vec<_>) = self.connections.iter().partition(|(_, addr)| is_relayed(addr));
        let is_direct = direct.iter().any(|(known, _)| *known == connection);
        if is_direct { relayed.iter().map(|(connection, _)| *connection).collect() } else { Vec::new() }
    }

    fn status(&self, score: u32) -> PeerStatus {
        PeerStatus {
            node: self.node,
            addrs: self.connections.iter().map(|(_, addr)| addr.clone()).collect(),
            listen_addrs: self.listen_addrs.clone(),
            admitted: self.admitted,
            is_relayed: self.connections.iter().all(|(_, addr)| is_relayed(addr)),
            score,
            rtt: self.rtt,
            agent: self.agent.clone(),
            connected_since: self.connected_since,
        }
    }
}

/// The connected peers; as many as the connection limit allows.
#[derive(Default)]
pub(super) struct Peers(pub(super) BTreeMap<PeerId, Peer>);

impl Peers {
    pub(super) fn get(&self, peer: &PeerId) -> Option<&Peer> {
        self.0.get(peer)
    }

    pub(super) fn get_mut(&mut self, peer: &PeerId) -> Option<&mut Peer> {
        self.0.get_mut(peer)
    }

    /// Those whose time for admission is over.
    pub(super) fn overdue(&self, now: Instant) -> Vec<PeerId> {
        let overdue = |peer: &Peer| !peer.admitted && !peer.closing && peer.deadline <= now;
        self.0.iter().filter(|(_, peer)| overdue(peer)).map(|(id, _)| *id).collect()
    }

    /// Those whose last answer has had its time.
    pub(super) fn leaving(&self, now: Instant) -> Vec<PeerId> {
        self.0.iter().filter(|(_, peer)| peer.closes_at.is_some_and(|at| at <= now)).map(|(id, _)| *id).collect()
    }

    /// `score` says how each behaves.
    pub(super) fn status(&self, score: impl Fn(&PeerId) -> u32) -> Vec<PeerStatus> {
        let mut status: Vec<PeerStatus> = self.0.iter().map(|(id, peer)| peer.status(score(id))).collect();
        status.sort_by_key(|peer| peer.node);
        status
    }
}
