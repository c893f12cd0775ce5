//! What the swarm tells the driver, handed on to the shell.

use libp2p::core::ConnectedPoint;
use libp2p::gossipsub::{self, MessageAcceptance, MessageId};
use libp2p::request_response::{self, InboundRequestId, OutboundFailure, OutboundRequestId, ResponseChannel};
use libp2p::swarm::dial_opts::DialOpts;
use libp2p::swarm::{ConnectionId, DialError, SwarmEvent};
use libp2p::{Multiaddr, PeerId, identify, mdns, ping};
use tokio::time::Instant;

use super::super::behaviour::BehaviourEvent;
use super::super::codec::{FrameError, frame_error};
use super::super::event::{GossipId, NetworkEvent, RefusalReason, RequestToken};
use super::super::gate::{GatedEvent, Standing};
use super::super::handle::RequestError;
use super::super::keys::node_of_peer;
use super::super::peers::Peer;
use super::super::protocol::Protocol;
use super::{Driver, jitter};

/// An event of a request protocol.
type RequestEvent = request_response::Event<Vec<u8>, Vec<u8>>;

impl Driver {
    pub(super) fn on_swarm_event(&mut self, event: SwarmEvent<BehaviourEvent>) {
        match event {
            SwarmEvent::Behaviour(event) => self.on_behaviour_event(event),
            SwarmEvent::ConnectionEstablished { peer_id, connection_id, endpoint, .. } => {
                self.on_connected(peer_id, connection_id, endpoint);
            }
            SwarmEvent::ConnectionClosed { peer_id, connection_id, num_established, cause, .. } => {
                tracing::debug!(%peer_id, ?cause, "connection closed");
                self.on_disconnected(peer_id, connection_id, num_established);
            }
            SwarmEvent::OutgoingConnectionError { connection_id, error, .. } => {
                match self.dials.remove(&connection_id) {
                    Some(addr) => self.dial_failed(addr, &error, Instant::now()),
                    // Kademlia or mDNS tried it; nobody asked for this address.
                    None => tracing::debug!(%error, "dial failed"),
                }
            }
            SwarmEvent::NewListenAddr { address, .. } => {
                if let Some(addr) = self.with_own_id(address) {
                    self.listen_addrs.push(addr.clone());
                    self.outbox.tell(NetworkEvent::Listening { addr });
                }
            }
            SwarmEvent::ExpiredListenAddr { address, .. } => self.expire(&[address]),
            SwarmEvent::ListenerClosed { addresses, reason, .. } => {
                tracing::warn!(?addresses, ?reason, "listener closed");
                self.expire(&addresses);
            }
            SwarmEvent::ListenerError { error, .. } => tracing::warn!(%error, "listener error"),
            SwarmEvent::IncomingConnectionError { error, .. } => tracing::debug!(%error, "handshake failed"),
            _ => {}
        }
    }

    fn with_own_id(&self, addr: Multiaddr) -> Option<Multiaddr> {
        addr.with_p2p(*self.swarm.local_peer_id()).ok()
    }

    fn expire(&mut self, addrs: &[Multiaddr]) {
        for addr in addrs {
            if let Some(addr) = self.with_own_id(addr.clone()) {
                self.listen_addrs.retain(|known| *known != addr);
            }
        }
    }

    fn on_connected(&mut self, id: PeerId, connection: ConnectionId, endpoint: ConnectedPoint) {
        let dialled = self.dials.remove(&connection);
        self.book.connected(id, dialled.as_ref());
        // The swarm has denied every other key already; a peer without a node id could not be spoken of.
        let Ok(node) = node_of_peer(&id) else { return self.hang_up(id) };
        let addr = endpoint.get_remote_address().clone();
        let deadline = Instant::now() + self.limits.admission_timeout;
        let peer = self.peers.0.entry(id).or_insert_with(|| Peer::new(node, deadline));
        peer.connected(connection, addr.clone());
        if peer.closing {
            // It came back before its other connections were gone. It may, once they are.
            return self.hang_up(id);
        }
        if peer.announced {
            return;
        }
        peer.announced = self.outbox.tell(NetworkEvent::Connected { node, addr, outbound: endpoint.is_dialer() });
        if !peer.announced {
            // The shell is far behind. A peer that it does not hear of could not be admitted.
            self.hang_up(id);
        }
    }

    fn on_disconnected(&mut self, id: PeerId, connection: ConnectionId, remaining: u32) {
        if 0 < remaining {
            if let Some(peer) = self.peers.get_mut(&id) {
                peer.disconnected(connection);
            }
            return;
        }
        self.book.disconnected(id, Instant::now(), jitter());
        if let Some(peer) = self.peers.0.remove(&id)
            && peer.announced
        {
            self.outbox.tell_surely(NetworkEvent::Disconnected { node: peer.node });
        }
    }

    fn on_behaviour_event(&mut self, event: BehaviourEvent) {
        match event {
            BehaviourEvent::Hello(event) => self.on_request_event(Protocol::Hello, event),
            BehaviourEvent::Search(event) => self.on_gated_event(Protocol::Search, event),
            BehaviourEvent::Blocks(event) => self.on_gated_event(Protocol::Blocks, event),
            BehaviourEvent::Log(event) => self.on_gated_event(Protocol::Log, event),
            BehaviourEvent::Notice(event) => self.on_gated_event(Protocol::Notice, event),
            BehaviourEvent::Teach(event) => self.on_gated_event(Protocol::Teach, event),
            BehaviourEvent::Gossip(GatedEvent::Inner(gossipsub::Event::Message {
                propagation_source,
                message_id,
                message,
            })) => self.on_gossip(propagation_source, message_id, message),
            BehaviourEvent::Identify(identify::Event::Received { peer_id, info, .. }) => {
                self.on_identified(peer_id, info);
            }
            BehaviourEvent::Ping(ping::Event { peer, connection, result }) => self.on_ping(peer, connection, result),
            BehaviourEvent::Mdns(mdns::Event::Discovered(found)) => self.on_discovered(found),
            BehaviourEvent::Gossip(event) => tracing::trace!(?event, "gossip"),
            BehaviourEvent::Kad(event) => tracing::trace!(?event, "kademlia"),
            BehaviourEvent::Identify(event) => tracing::trace!(?event, "identify"),
            BehaviourEvent::Mdns(event) => tracing::trace!(?event, "mdns"),
        }
    }

    fn on_gated_event(&mut self, protocol: Protocol, event: GatedEvent<RequestEvent>) {
        match event {
            GatedEvent::Inner(event) => self.on_request_event(protocol, event),
            GatedEvent::Refused(peer) => self.refuse(peer, RefusalReason::RequestBeforeHello(protocol)),
        }
    }

    fn on_request_event(&mut self, protocol: Protocol, event: RequestEvent) {
        match event {
            RequestEvent::Message { peer, message, .. } => match message {
                request_response::Message::Request { request_id, request, channel } => {
                    self.on_request(peer, protocol, request_id, request, channel);
                }
                request_response::Message::Response { request_id, response } => {
                    self.answered(protocol, request_id, Ok(response));
                }
            },
            RequestEvent::OutboundFailure { request_id, error, .. } => {
                self.answered(protocol, request_id, Err(request_error(&error)));
            }
            RequestEvent::InboundFailure { peer, error, .. } => {
                tracing::debug!(%peer, %protocol, %error, "inbound request failed");
            }
            RequestEvent::ResponseSent { .. } => {}
        }
    }

    /// Dropping the channel ends the stream without an answer.
    fn on_request(
        &mut self,
        id: PeerId,
        protocol: Protocol,
        request: InboundRequestId,
        bytes: Vec<u8>,
        channel: ResponseChannel<Vec<u8>>,
    ) {
        let Some(peer) = self.peers.get(&id).filter(|peer| peer.announced && !peer.closing) else { return };
        let node = peer.node;
        if !peer.admitted && protocol != Protocol::Hello {
            // The gate keeps such a request unread; this only says so once more, where it can be seen.
            return self.refuse(id, RefusalReason::RequestBeforeHello(protocol));
        }
        // A frame has far less than 4 GiB.
        let cost = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        let Ok(budget) = self.inbound_budget.clone().try_acquire_many_owned(cost) else {
            return tracing::debug!(%node, %protocol, %request, "request dropped: too many bytes unanswered");
        };
        let token = RequestToken { protocol, channel, _budget: budget };
        if !self.outbox.offer(NetworkEvent::Request { node, protocol, bytes, token }) {
            return tracing::debug!(%node, %protocol, %request, "request dropped: the shell is behind");
        }
        if protocol == Protocol::Hello {
            self.swarm.behaviour_mut().raise(id, Standing::Introduced);
        }
    }

    fn answered(&mut self, protocol: Protocol, id: OutboundRequestId, answer: Result<Vec<u8>, RequestError>) {
        let Some(waiting) = self.waiting.remove(&(protocol, id)) else { return };
        if let Some(peer) = self.peers.get_mut(&waiting.peer) {
            peer.end(protocol);
        }
        // Whoever asked may have given up.
        let _ = waiting.reply.send(answer);
    }

    fn on_gossip(&mut self, from: PeerId, message_id: MessageId, message: gossipsub::Message) {
        let admitted = self.peers.get(&from).filter(|peer| peer.admitted && !peer.closing);
        let judgement = match admitted {
            // The gate keeps gossip of others unread; what is left is a peer that is being closed.
            None => MessageAcceptance::Reject,
            Some(peer) => {
                let event = NetworkEvent::Gossip {
                    from: peer.node,
                    topic: message.topic.into_string(),
                    bytes: message.data,
                    message_id: GossipId(message_id.clone()),
                };
                if self.outbox.offer(event) {
                    return;
                }
                // Not the sender's fault. Log sync brings what is lost here.
                MessageAcceptance::Ignore
            }
        };
        self.swarm.behaviour_mut().gossip().report_message_validation_result(&message_id, &from, judgement);
    }

    fn on_identified(&mut self, id: PeerId, info: identify::Info) {
        let Some(peer) = self.peers.get_mut(&id) else { return };
        if peer.identified(info) && peer.admitted {
            // What it claimed before goes: the table itself puts no bound on the addresses of a peer.
            let behaviour = self.swarm.behaviour_mut();
            behaviour.remove_from_table(&id);
            behaviour.add_to_table(&id, peer.listen_addrs());
        }
    }

    fn on_ping(&mut self, id: PeerId, connection: ConnectionId, result: Result<std::time::Duration, ping::Failure>) {
        match result {
            Ok(rtt) => {
                if let Some(peer) = self.peers.get_mut(&id) {
                    peer.rtt = Some(rtt);
                }
            }
            // TCP alone may take a quarter of an hour to notice that the other end is gone.
            Err(ping::Failure::Timeout) => {
                tracing::debug!(%id, "no answer to pings");
                self.swarm.close_connection(connection);
            }
            Err(error) => tracing::debug!(%id, %error, "ping failed"),
        }
    }

    /// Found peers are dialled once. If the connection ends, multicast finds them again.
    fn on_discovered(&mut self, found: Vec<(PeerId, Multiaddr)>) {
        for (peer, addr) in found {
            let opts = DialOpts::peer_id(peer).addresses(vec![addr]).build();
            if let Err(error) = self.swarm.dial(opts) {
                tracing::debug!(%peer, %error, "peer of the local network not dialled");
            }
        }
    }
}

fn request_error(failure: &OutboundFailure) -> RequestError {
    match failure {
        OutboundFailure::DialFailure => RequestError::NotConnected,
        OutboundFailure::Timeout => RequestError::TimedOut,
        OutboundFailure::ConnectionClosed => RequestError::Closed,
        OutboundFailure::UnsupportedProtocols => RequestError::Unsupported,
        OutboundFailure::Io(error) => match frame_error(error) {
            Some(FrameError::TooLarge { bytes, max }) => RequestError::TooLarge { bytes: *bytes, max: *max },
            Some(FrameError::Length) => RequestError::Malformed,
            None => RequestError::Closed,
        },
    }
}

/// The reason in one line. The library's own text has one line per address and attempt.
pub(super) fn dial_reason(error: &DialError) -> String {
    match error {
        DialError::LocalPeerId { .. } => "the address leads to this node".to_string(),
        DialError::WrongPeerId { obtained, .. } => format!("another peer answers there: {obtained}"),
        DialError::Transport(attempts) => {
            let reasons: Vec<String> = attempts.iter().map(|(_, error)| innermost(error)).collect();
            reasons.join("; ")
        }
        DialError::Denied { cause } => innermost(cause),
        other => other.to_string(),
    }
}

/// The cause at the bottom of the chain: the layers above it only say that something below failed.
fn innermost(error: &dyn std::error::Error) -> String {
    let mut at = error;
    while let Some(source) = at.source() {
        at = source;
    }
    at.to_string()
}
