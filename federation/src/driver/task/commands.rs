//! What the shell tells the driver, carried out.

use libp2p::autonat::v1::NatStatus;
use libp2p::gossipsub::{self, IdentTopic, MessageAcceptance};
use libp2p::{Multiaddr, PeerId};
use plumb_core::identity::NodeId;
use tokio::time::Instant;

use super::super::conduct::Offence;
use super::super::event::{GossipId, RequestToken};
use super::super::gate::Standing;
use super::super::handle::{Command, CommandError, PublishError, Reply, RequestError};
use super::super::keys::{node_of_peer, peer_of_node};
use super::super::protocol::Protocol;
use super::super::redial::{ADDRESSES_MAX, peer_in};
use super::super::status::{AddressStatus, NetworkStatus, PeerStatus, Reachability};
use super::{Driver, Waiting};

/// How many peers can be blocked. A list that only people and proofs of fraud make longer.
const BLOCKED_MAX: usize = 4096;

/// How many topics this node can follow: one for each audience that it may read.
const TOPICS_MAX: usize = 64;

impl Driver {
    pub(super) fn on_command(&mut self, command: Command) {
        match command {
            Command::Dial { addr, reply } => answer(reply, self.dial(addr)),
            Command::Request { node, protocol, bytes, reply } => self.request(node, protocol, bytes, reply),
            Command::Respond { token, bytes, reply } => answer(reply, self.respond(token, bytes)),
            Command::Publish { topic, bytes, reply } => answer(reply, self.publish(topic, bytes)),
            Command::Subscribe { topic, reply } => answer(reply, self.subscribe(topic)),
            Command::ReportGossip { message_id, from, accept, reply } => {
                answer(reply, self.report_gossip(message_id, &from, accept));
            }
            Command::Admit { node, reply } => answer(reply, self.admit(&node)),
            Command::Close { node, reply } => {
                if let Ok(id) = peer_of_node(&node) {
                    self.see_off(id);
                }
                answer(reply, ());
            }
            Command::Disconnect { node, reply } => {
                self.disconnect(&node);
                answer(reply, ());
            }
            Command::Penalise { node, reply } => {
                if let Ok(id) = peer_of_node(&node) {
                    self.blame(id, Offence::Fault);
                }
                self.disconnect(&node);
                answer(reply, ());
            }
            Command::Block { node, reply } => answer(reply, self.block(&node)),
            Command::Unblock { node, reply } => {
                self.unblock(&node);
                answer(reply, ());
            }
            Command::ListenAddrs { reply } => answer(reply, self.listen_addrs.clone()),
            Command::Peers { reply } => answer(reply, self.peer_status(Instant::now())),
            Command::Status { reply } => answer(reply, self.status(Instant::now())),
            // The loop takes it before it comes here.
            Command::Shutdown { reply } => drop(reply),
        }
    }

    pub(super) fn dial(&mut self, addr: Multiaddr) -> Result<(), CommandError> {
        let now = Instant::now();
        let named = peer_in(&addr);
        if let Some(peer) = named {
            if peer == *self.swarm.local_peer_id() || node_of_peer(&peer).is_err() {
                return Err(CommandError::Address(addr));
            }
            if self.swarm.behaviour().is_blocked(&peer) {
                return Err(CommandError::Blocked);
            }
            let behaviour = self.swarm.behaviour_mut();
            behaviour.welcome(&peer);
            // Whoever asks for it by name knows what they do.
            behaviour.forgive(&peer);
            self.conduct.forgive(&peer);
        }
        let connected = named.is_some_and(|peer| self.swarm.is_connected(&peer));
        self.book
            .add(addr, connected, now)
            .map_err(|_| CommandError::Full { what: "addresses to dial", max: ADDRESSES_MAX })?;
        for addr in self.book.due(now) {
            self.dial_now(addr, now);
        }
        Ok(())
    }

    fn request(
        &mut self,
        node: NodeId,
        protocol: Protocol,
        bytes: Vec<u8>,
        reply: Reply<Result<Vec<u8>, RequestError>>,
    ) {
        if reply.is_closed() {
            return;
        }
        match self.may_request(&node, protocol, bytes.len()) {
            Ok(peer) => {
                let behaviour = self.swarm.behaviour_mut();
                let id = behaviour.send_request(&peer, protocol, bytes);
                if protocol == Protocol::Hello {
                    behaviour.raise(peer, Standing::Introduced);
                }
                self.waiting.insert((protocol, id), Waiting { peer, reply });
            }
            Err(error) => answer(reply, Err(error)),
        }
    }

    /// Takes a slot if it may.
    fn may_request(&mut self, node: &NodeId, protocol: Protocol, bytes: usize) -> Result<PeerId, RequestError> {
        let max = protocol.request_bytes_max();
        if max < bytes {
            return Err(RequestError::TooLarge { bytes: bytes as u64, max });
        }
        let slots = self.slots(protocol);
        let id = peer_of_node(node).map_err(|_| RequestError::NotConnected)?;
        // Asked of the swarm as well: to send a request to a peer that is gone would dial it.
        let connected = self.swarm.is_connected(&id);
        let peer = self.peers.get_mut(&id).filter(|peer| connected && !peer.closing);
        let peer = peer.ok_or(RequestError::NotConnected)?;
        if protocol != Protocol::Hello && !peer.admitted {
            return Err(RequestError::NotAdmitted);
        }
        if !peer.begin(protocol, slots) {
            return Err(RequestError::Busy);
        }
        Ok(id)
    }

    fn respond(&mut self, token: RequestToken, bytes: Vec<u8>) -> Result<(), CommandError> {
        let max = token.protocol.response_bytes_max();
        if max < bytes.len() {
            return Err(CommandError::TooLarge { bytes: bytes.len(), max });
        }
        if let Some(peer) = self.peers.get_mut(&token.peer) {
            peer.allowance.answered(token.protocol, bytes.len(), Instant::now());
        }
        let sent = self.swarm.behaviour_mut().send_response(token.protocol, token.channel, Ok(bytes));
        if sent
            && token.protocol == Protocol::Hello
            && let Some(peer) = self.peers.get_mut(&token.peer)
        {
            peer.answers_under_way += 1;
        }
        if sent { Ok(()) } else { Err(CommandError::Gone) }
    }

    fn publish(&mut self, topic: String, bytes: Vec<u8>) -> Result<(), PublishError> {
        let (length, max) = (bytes.len(), self.limits.gossip_bytes_max);
        if max < length {
            return Err(PublishError::TooLarge { bytes: length, max });
        }
        match self.swarm.behaviour_mut().gossip().publish(IdentTopic::new(topic), bytes) {
            Ok(_) => Ok(()),
            Err(gossipsub::PublishError::NoPeersSubscribedToTopic) => Err(PublishError::NoPeers),
            Err(gossipsub::PublishError::AllQueuesFull(_)) => Err(PublishError::Busy),
            Err(gossipsub::PublishError::Duplicate) => Err(PublishError::Duplicate),
            Err(gossipsub::PublishError::MessageTooLarge) => Err(PublishError::TooLarge { bytes: length, max }),
            Err(error) => Err(PublishError::Encoding(error.to_string())),
        }
    }

    fn subscribe(&mut self, topic: String) -> Result<(), CommandError> {
        let full = CommandError::Full { what: "topics", max: TOPICS_MAX };
        let gossip = self.swarm.behaviour_mut().gossip();
        let topic = IdentTopic::new(topic);
        let known = gossip.topics().any(|followed| *followed == topic.hash());
        if !known && TOPICS_MAX <= gossip.topics().count() {
            return Err(full);
        }
        // The only refusal left is that of a filter of our own topics, and there is none.
        gossip.subscribe(&topic).map(|_| ()).map_err(|_| full)
    }

    fn report_gossip(&mut self, message_id: GossipId, from: &NodeId, accept: bool) -> bool {
        let Ok(from) = peer_of_node(from) else { return false };
        let judgement = if accept { MessageAcceptance::Accept } else { MessageAcceptance::Reject };
        self.swarm.behaviour_mut().gossip().report_message_validation_result(&message_id.0, &from, judgement)
    }

    fn admit(&mut self, node: &NodeId) -> Result<(), CommandError> {
        let id = peer_of_node(node).map_err(|_| CommandError::NotConnected)?;
        let peer = self.peers.get_mut(&id).filter(|peer| !peer.closing).ok_or(CommandError::NotConnected)?;
        peer.admitted = true;
        let behaviour = self.swarm.behaviour_mut();
        behaviour.welcome(&id);
        behaviour.raise(id, Standing::Admitted);
        behaviour.add_to_table(&id, peer.listen_addrs());
        self.book.settled(id);
        self.reserve(Instant::now());
        Ok(())
    }

    fn disconnect(&mut self, node: &NodeId) {
        let Ok(id) = peer_of_node(node) else { return };
        self.book.forget(id);
        self.swarm.behaviour_mut().dismiss(id);
        self.see_off(id);
    }

    pub(super) fn block(&mut self, node: &NodeId) -> Result<(), CommandError> {
        let id = peer_of_node(node).map_err(|_| CommandError::NotConnected)?;
        self.disconnect(node);
        self.hang_up(id);
        if self.swarm.behaviour_mut().block(id, BLOCKED_MAX) {
            Ok(())
        } else {
            Err(CommandError::Full { what: "blocked peers", max: BLOCKED_MAX })
        }
    }

    fn unblock(&mut self, node: &NodeId) {
        if let Ok(id) = peer_of_node(node) {
            self.swarm.behaviour_mut().unblock(id);
        }
    }
}

impl Driver {
    fn peer_status(&self, now: Instant) -> Vec<PeerStatus> {
        self.peers.status(|peer| self.conduct.score(peer, now))
    }

    fn status(&mut self, now: Instant) -> NetworkStatus {
        let node = |peer: &PeerId| node_of_peer(peer).ok();
        let named = |(peer, status): (Option<PeerId>, AddressStatus)| AddressStatus {
            node: peer.as_ref().and_then(node),
            ..status
        };
        NetworkStatus {
            peers: self.peer_status(now),
            addresses: self.book.status(now).map(named).collect(),
            blocked: self.swarm.behaviour().blocked().filter_map(node).collect(),
            excluded: self.conduct.excluded(now).filter_map(|(peer, at)| Some((node(peer)?, at - now))).collect(),
            reachability: match self.swarm.behaviour_mut().reachability() {
                NatStatus::Public(addr) => Reachability::Public(addr),
                NatStatus::Private => Reachability::Private,
                NatStatus::Unknown => Reachability::Unknown,
            },
        }
    }
}

/// A caller that gave up is no error: its answer goes nowhere.
fn answer<T>(reply: Reply<T>, value: T) {
    let _ = reply.send(value);
}
