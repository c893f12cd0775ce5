//! What the swarm tells the driver, handed on to the shell.

use libp2p::core::ConnectedPoint;
use libp2p::gossipsub::{self, MessageAcceptance, MessageId};
use libp2p::request_response::{self, InboundRequestId, OutboundFailure, OutboundRequestId, ResponseChannel};
use libp2p::swarm::dial_opts::DialOpts;
use libp2p::swarm::{ConnectionId, SwarmEvent};
use libp2p::{Multiaddr, PeerId, autonat, dcutr, identify, mdns, ping};
use tokio::time::Instant;

use super::super::behaviour::BehaviourEvent;
use super::super::codec::{FrameError, Framed, frame_error};
use super::super::conduct::Offence;
use super::super::event::{GossipId, NetworkEvent, RefusalReason, RequestToken};
use super::super::gate::{GatedEvent, Standing};
use super::super::handle::RequestError;
use super::super::keys::node_of_peer;
use super::super::peers::Peer;
use super::super::protocol::Protocol;
use super::{Driver, HURRY, jitter};

/// An event of a request protocol.
type RequestEvent = request_response::Event<Framed, Framed>;

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
            SwarmEvent::ListenerClosed { listener_id, addresses, reason } => {
                self.expire(&addresses);
                if !self.lost_circuit(listener_id) {
                    tracing::warn!(?addresses, ?reason, "listener closed");
                }
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

    /// Whether a dial that has just succeeded is still wanted: meanwhile its peer may have been removed.
    fn is_unwanted(&self, id: &PeerId, dialled: Option<&Multiaddr>) -> bool {
        match dialled {
            Some(addr) => !self.book.contains(addr),
            None => self.swarm.behaviour().has_dismissed(id),
        }
    }

    fn on_connected(&mut self, id: PeerId, connection: ConnectionId, endpoint: ConnectedPoint) {
        let now = Instant::now();
        let dialled = self.dials.remove(&connection);
        let is_unwanted = endpoint.is_dialer() && self.is_unwanted(&id, dialled.as_ref());
        if self.book.connected(id, dialled.as_ref()) {
            self.book.hurry(now, HURRY);
        }
        // The swarm has denied every other key already; a peer without a node id could not be spoken of.
        let Ok(node) = node_of_peer(&id) else { return self.hang_up(id) };
        let addr = endpoint.get_remote_address().clone();
        let deadline = now + self.limits.admission_timeout;
        let rate = self.limits.requests_per_second;
        let left = &mut self.left;
        let peer = self.peers.0.entry(id).or_insert_with(|| Peer::new(node, deadline, left.take(&id, rate, now)));
        peer.connected(connection, addr.clone());
        if is_unwanted {
            self.swarm.close_connection(connection);
            return;
        }
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
        let Some(peer) = self.peers.0.remove(&id) else { return };
        self.left.keep(id, peer.allowance, Instant::now());
        if peer.announced {
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
            BehaviourEvent::Punch(GatedEvent::Inner(dcutr::Event { remote_peer_id, result: Err(error) })) => {
                tracing::debug!(%remote_peer_id, %error, "no direct connection; the relay stays");
            }
            BehaviourEvent::Probe(GatedEvent::Inner(autonat::v1::Event::StatusChanged { new, .. })) => {
                tracing::info!(status = ?new, "reachability, as peers see it");
            }
            BehaviourEvent::Relay(event) => tracing::trace!(?event, "relay"),
            BehaviourEvent::Relayed(event) => tracing::trace!(?event, "relayed"),
            BehaviourEvent::Punch(event) => tracing::trace!(?event, "hole punching"),
            BehaviourEvent::Probe(event) => tracing::trace!(?event, "reachability"),
            BehaviourEvent::Gossip(event) => tracing::trace!(?event, "gossip"),
            BehaviourEvent::Kad(event) => tracing::trace!(?event, "kademlia"),
            BehaviourEvent::Identify(event) => tracing::trace!(?event, "identify"),
            BehaviourEvent::Mdns(event) => tracing::trace!(?event, "mdns"),
        }
    }

    fn on_gated_event(&mut self, protocol: Protocol, event: GatedEvent<RequestEvent>) {
        match event {
            GatedEvent::Inner(event) => self.on_request_event(protocol, event),
            GatedEvent::Refused(peer) => self.too_early(peer, protocol),
        }
    }

    fn on_request_event(&mut self, protocol: Protocol, event: RequestEvent) {
        match event {
            RequestEvent::Message { peer, message, .. } => match message {
                request_response::Message::Request { request_id, request, channel } => match request {
                    Ok(bytes) => self.on_request(peer, protocol, request_id, bytes, channel),
                    Err(error) => self.on_broken(peer, protocol, error, channel),
                },
                request_response::Message::Response { request_id, response } => {
                    self.answered(protocol, request_id, response.map_err(|error| refused_frame(&error)));
                }
            },
            RequestEvent::OutboundFailure { request_id, error, .. } => {
                if matches!(error, OutboundFailure::ConnectionClosed) && self.sent_again(protocol, request_id) {
                    return;
                }
                self.answered(protocol, request_id, Err(request_error(&error)));
            }
            RequestEvent::InboundFailure { peer, error, .. } => {
                if protocol == Protocol::Hello {
                    self.hello_answered(peer);
                }
                tracing::debug!(%peer, %protocol, %error, "inbound request failed");
            }
            RequestEvent::ResponseSent { peer, .. } if protocol == Protocol::Hello => self.hello_answered(peer),
            RequestEvent::ResponseSent { .. } => {}
        }
    }

    /// Its stream is reset by an answer that cannot be written.
    fn on_broken(&mut self, id: PeerId, protocol: Protocol, error: FrameError, channel: ResponseChannel<Framed>) {
        tracing::debug!(%id, %protocol, %error, "no frame");
        self.swarm.behaviour_mut().send_response(protocol, channel, Err(error));
        self.blame(id, Offence::BrokenFrame);
    }

    /// Nobody asks before hello by mistake; once or twice it may be another program.
    fn too_early(&mut self, id: PeerId, protocol: Protocol) {
        self.refuse(id, RefusalReason::RequestBeforeHello(protocol));
        self.blame(id, Offence::BeforeHello);
    }

    /// Dropping the channel ends the stream without an answer.
    fn on_request(
        &mut self,
        id: PeerId,
        protocol: Protocol,
        request: InboundRequestId,
        bytes: Vec<u8>,
        channel: ResponseChannel<Framed>,
    ) {
        let Some(peer) = self.peers.get_mut(&id).filter(|peer| peer.announced && !peer.closing) else { return };
        let node = peer.node;
        if !peer.allowance.request(protocol, bytes.len(), Instant::now()) {
            tracing::debug!(%node, %protocol, %request, "request dropped: too many");
            return self.blame(id, Offence::TooMany);
        }
        if !peer.admitted && protocol != Protocol::Hello {
            // The gate keeps such a request unread; this only says so once more, where it can be seen.
            return self.too_early(id, protocol);
        }
        // A frame has far less than 4 GiB.
        let cost = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        let Ok(budget) = self.inbound_budget.clone().try_acquire_many_owned(cost) else {
            return tracing::debug!(%node, %protocol, %request, "request dropped: too many bytes unanswered");
        };
        let token = RequestToken { peer: id, protocol, channel, _budget: budget };
        if !self.outbox.offer(NetworkEvent::Request { node, protocol, bytes, token }) {
            return tracing::debug!(%node, %protocol, %request, "request dropped: the shell is behind");
        }
        if protocol == Protocol::Hello {
            self.swarm.behaviour_mut().raise(id, Standing::Introduced);
        }
    }

    /// Sends a request whose connection has ended once more, over another connection. `false` if there is none, if it
    /// was done before, or if nobody waits for the answer.
    fn sent_again(&mut self, protocol: Protocol, id: OutboundRequestId) -> bool {
        let Some(waiting) = self.waiting.get_mut(&(protocol, id)) else { return false };
        let stays = self.peers.get(&waiting.peer).is_some_and(|peer| !peer.closing);
        // Asked of the swarm as well: to send a request to a peer that is gone would dial it.
        if !stays || waiting.reply.is_closed() || !self.swarm.is_connected(&waiting.peer) {
            return false;
        }
        let Some(bytes) = waiting.again.take() else { return false };
        let Some(waiting) = self.waiting.remove(&(protocol, id)) else { return false };
        let next = self.swarm.behaviour_mut().send_request(&waiting.peer, protocol, bytes);
        self.waiting.insert((protocol, next), waiting);
        true
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
        let admitted = self.peers.get_mut(&from).filter(|peer| peer.admitted && !peer.closing);
        let judgement = match admitted.map(|peer| (peer.allowance.gossip(Instant::now()), peer)) {
            // Log sync brings what is passed over here.
            Some((false, _)) => MessageAcceptance::Ignore,
            // The gate keeps gossip of others unread; what is left is a peer that is being closed.
            None => MessageAcceptance::Reject,
            Some((true, peer)) => {
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
                let Some(peer) = self.peers.get_mut(&id) else { return };
                peer.rtt = Some(rtt);
                // Half of the requests would take the relay. It goes when the other end has answered on the direct
                // connection, and not before: were the relayed one its only one until then, it would meet a stranger.
                for superseded in peer.superseded_by(connection) {
                    self.swarm.close_connection(superseded);
                }
            }
            // Another program that has no ping may be well all the same.
            Err(ping::Failure::Unsupported) => {}
            // TCP alone may take a quarter of an hour to notice that the other end is gone. The first failure in a row
            // is not even reported; the second is one of the ping's new stream, and comes under another name.
            Err(ping::Failure::Timeout | ping::Failure::Other { .. }) => {
                tracing::debug!(%id, "no answer to pings");
                self.swarm.close_connection(connection);
            }
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
        OutboundFailure::Io(error) => frame_error(error).map_or(RequestError::Closed, refused_frame),
    }
}

fn refused_frame(error: &FrameError) -> RequestError {
    match error {
        FrameError::TooLarge { bytes, max } => RequestError::TooLarge { bytes: *bytes, max: *max },
        FrameError::Length => RequestError::Malformed,
    }
}
