//! The task: it owns the swarm, waits for whatever comes next, and hands it on.

mod circuits;
mod commands;
mod events;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use libp2p::core::transport::ListenerId;
use libp2p::request_response::OutboundRequestId;
use libp2p::swarm::ConnectionId;
use libp2p::swarm::dial_opts::{DialOpts, PeerCondition};
use libp2p::{Multiaddr, PeerId, Swarm};
use plumb_core::identity::NodeId;
use tokio::sync::{Semaphore, mpsc};
use tokio::time::{Instant, MissedTickBehavior};

use super::DriverError;
use super::behaviour::Behaviour;
use super::conduct::{Conduct, Offence};
use super::event::{NetworkEvent, Outbox, RefusalReason};
use super::handle::{Command, CommandError, Reply, RequestError};
use super::options::{HELLO_STREAMS_MAX, INBOUND_BYTES_MAX, Limits};
use super::peers::Peers;
use super::protocol::Protocol;
use super::rate::Left;
use super::reach::is_relayed;
use super::redial::{JITTER_PERMILLE_MAX, RedialBook, peer_in};
use super::status::DialFailure;
use circuits::Circuits;

/// How often deadlines and re-dials are looked at. Both are seconds; a fraction of one is exact enough.
const TICK: Duration = Duration::from_millis(100);

/// When one lost address answers again, all others are tried within this time.
const HURRY: Duration = Duration::from_secs(2);

/// How long the start waits for the listeners to say where they listen.
const LISTEN_TIMEOUT: Duration = Duration::from_secs(5);

/// How long a peer that is refused has to hear why.
const LAST_WORD: Duration = Duration::from_secs(1);

/// How long it then has to read it: a connection that ends at once may end before its last bytes are looked at.
const READING: Duration = Duration::from_millis(250);

/// How long the end waits for connections to be closed in good order, so that peers learn of it at once.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// A request of ours that waits for its answer.
struct Waiting {
    peer: PeerId,
    reply: Reply<Result<Vec<u8>, RequestError>>,
    /// What to send once more if its connection ends and the peer has another one; `None` once that was done.
    ///
    /// A peer has two connections for a while whenever both sides dial, and the one with more of them than it allows
    /// ends what the other has already begun to use. That is no word of the peer on the request.
    again: Option<Vec<u8>>,
}

/// The driver.
pub(super) struct Driver {
    swarm: Swarm<Behaviour>,
    limits: Limits,
    outbox: Outbox,
    peers: Peers,
    book: RedialBook,
    conduct: Conduct,
    left: Left,
    circuits: Circuits,
    /// Dials of the book that are under way.
    dials: HashMap<ConnectionId, Multiaddr>,
    /// Bounded by the slots of each peer.
    waiting: HashMap<(Protocol, OutboundRequestId), Waiting>,
    /// With this node's `/p2p/` part.
    listen_addrs: Vec<Multiaddr>,
    /// Bytes of inbound requests that may still be taken in.
    inbound_budget: Arc<Semaphore>,
}

impl Driver {
    pub(super) fn new(swarm: Swarm<Behaviour>, limits: Limits, outbox: Outbox) -> Driver {
        Driver {
            book: RedialBook::new(limits.redial_delay_min, limits.redial_delay_max),
            inbound_budget: Arc::new(Semaphore::new(INBOUND_BYTES_MAX)),
            conduct: Conduct::default(),
            left: Left::default(),
            circuits: Circuits::default(),
            swarm,
            limits,
            outbox,
            peers: Peers::default(),
            dials: HashMap::new(),
            waiting: HashMap::new(),
            listen_addrs: Vec::new(),
        }
    }

    /// Opens the listeners, and waits until each has an address.
    pub(super) async fn listen(&mut self, addrs: &[Multiaddr]) -> Result<(), DriverError> {
        let mut silent: Vec<(ListenerId, Multiaddr)> = Vec::new();
        for addr in addrs {
            if let Some(relay) = self.circuits.add(addr, Instant::now()) {
                // The relay has to admit us first.
                self.dial(relay).map_err(|source| DriverError::Bootstrap { addr: addr.clone(), source })?;
                continue;
            }
            let failed = |reason: String| DriverError::Listen { addr: addr.clone(), reason };
            let id = self.swarm.listen_on(addr.clone()).map_err(|error| failed(error.to_string()))?;
            silent.push((id, addr.clone()));
        }
        let deadline = Instant::now() + LISTEN_TIMEOUT;
        while let Some((_, addr)) = silent.first() {
            let failed = |reason: String| DriverError::Listen { addr: addr.clone(), reason };
            let event = tokio::time::timeout_at(deadline, self.swarm.select_next_some())
                .await
                .map_err(|_| failed("no address came up in time".to_string()))?;
            match &event {
                libp2p::swarm::SwarmEvent::NewListenAddr { listener_id, .. } => {
                    silent.retain(|(id, _)| id != listener_id);
                }
                libp2p::swarm::SwarmEvent::ListenerClosed { listener_id, reason, .. } => {
                    let reason = reason.as_ref().err().map(ToString::to_string).unwrap_or_default();
                    if let Some((_, addr)) = silent.iter().find(|(id, _)| id == listener_id) {
                        return Err(DriverError::Listen { addr: addr.clone(), reason });
                    }
                }
                _ => {}
            }
            self.on_swarm_event(event);
        }
        Ok(())
    }

    /// Tells others of further addresses of this node.
    pub(super) fn announce(&mut self, addrs: Vec<Multiaddr>) {
        for addr in addrs {
            self.swarm.add_external_address(addr);
        }
    }

    /// Blocks nodes before the first connection. Of more than the list holds, those that are too many are told of.
    pub(super) fn block_all(&mut self, nodes: Vec<NodeId>) {
        for node in nodes {
            if let Err(error) = self.block(&node) {
                tracing::error!(%node, %error, "not blocked");
            }
        }
    }

    /// Puts the bootstrap peers into the re-dial book.
    pub(super) fn bootstrap(&mut self, addrs: Vec<Multiaddr>) -> Result<(), DriverError> {
        for addr in addrs {
            match self.dial(addr.clone()) {
                Ok(()) => {}
                // The operator's word against the operator's word: the newer one holds.
                Err(CommandError::Blocked) => tracing::warn!(%addr, "a bootstrap peer is blocked"),
                Err(source) => return Err(DriverError::Bootstrap { addr, source }),
            }
        }
        Ok(())
    }

    /// Runs until the shell ends it, or is gone.
    pub(super) async fn run(mut self, mut commands: mpsc::Receiver<Command>) {
        let mut tick = tokio::time::interval(TICK);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let ended = loop {
            tokio::select! {
                event = self.swarm.select_next_some() => self.on_swarm_event(event),
                command = commands.recv() => match command {
                    None => break None,
                    Some(Command::Shutdown { reply }) => break Some(reply),
                    Some(command) => self.on_command(command),
                },
                flushed = self.outbox.flush() => if flushed.is_err() { break None },
                _ = tick.tick() => self.on_tick(Instant::now()),
            }
        };
        drop(commands);
        self.close().await;
        if let Some(reply) = ended {
            // Whoever asked may have given up; the end is the same.
            let _ = reply.send(());
        }
    }

    async fn close(mut self) {
        self.waiting.clear();
        let connected: Vec<PeerId> = self.swarm.connected_peers().copied().collect();
        for peer in connected {
            // Fails only for a peer that is not connected any more.
            let _ = self.swarm.disconnect_peer_id(peer);
        }
        let deadline = Instant::now() + CLOSE_TIMEOUT;
        while self.swarm.connected_peers().next().is_some() {
            if tokio::time::timeout_at(deadline, self.swarm.select_next_some()).await.is_err() {
                break;
            }
        }
    }

    fn on_tick(&mut self, now: Instant) {
        for peer in self.peers.overdue(now) {
            self.refuse(peer, RefusalReason::NotAdmittedInTime);
        }
        for peer in self.peers.leaving(now) {
            self.hang_up(peer);
        }
        self.reserve(now);
        for addr in self.book.due(now) {
            self.dial_now(addr, now);
        }
    }

    fn dial_now(&mut self, addr: Multiaddr, now: Instant) {
        let named = peer_in(&addr);
        if let Some(peer) = named.filter(|peer| self.swarm.is_connected(peer)) {
            self.book.connected(peer, Some(&addr));
            return;
        }
        let opts = match named {
            // Each address of the book is tried for itself, also while another one of the peer is under way: whether it
            // answers is what an operator wants to know.
            Some(peer) => {
                let to = DialOpts::peer_id(peer).addresses(vec![addr.clone()]);
                to.condition(PeerCondition::Disconnected).build()
            }
            None => DialOpts::unknown_peer_id().address(addr.clone()).build(),
        };
        let connection = opts.connection_id();
        match self.swarm.dial(opts) {
            Ok(()) => {
                self.dials.insert(connection, addr);
            }
            Err(error) => self.dial_failed(addr, &error, now),
        }
    }

    fn dial_failed(&mut self, addr: Multiaddr, error: &libp2p::swarm::DialError, now: Instant) {
        use libp2p::swarm::DialError;
        let reason = DialFailure::of(error, is_relayed(&addr));
        let failures = self.book.failed(&addr, reason.clone(), now, jitter());
        if matches!(error, DialError::LocalPeerId { .. }) {
            // It leads back to this node, and always will.
            self.book.forget_addr(&addr);
        }
        if let Some(reason) = reason {
            self.outbox.tell(NetworkEvent::DialFailed { addr, reason, failures });
        }
    }

    /// Closes a peer's connections and says why, once.
    fn refuse(&mut self, id: PeerId, reason: RefusalReason) {
        let Some(peer) = self.peers.get_mut(&id) else { return };
        if !std::mem::replace(&mut peer.closing, true) && peer.announced {
            self.outbox.tell(NetworkEvent::Refused { node: peer.node, reason });
        }
        self.hang_up(id);
    }

    /// Notes what a peer did wrong; at the end of all patience it is closed and excluded.
    fn blame(&mut self, id: PeerId, offence: Offence) {
        let now = Instant::now();
        let Some(until) = self.conduct.note(id, offence, now) else { return };
        self.swarm.behaviour_mut().exclude(id, until);
        self.refuse(id, RefusalReason::Excluded { pause: until - now });
    }

    /// Closes a peer's connections as soon as the answer to its hello is out, if one is under way.
    fn see_off(&mut self, id: PeerId) {
        match self.peers.get_mut(&id) {
            Some(peer) if 0 < peer.answers_under_way => {
                peer.closing = true;
                peer.closes_at = Some(Instant::now() + LAST_WORD);
            }
            _ => self.hang_up(id),
        }
    }

    /// The answer to a hello is out, or has failed.
    fn hello_answered(&mut self, id: PeerId) {
        let Some(peer) = self.peers.get_mut(&id) else { return };
        peer.answers_under_way = peer.answers_under_way.saturating_sub(1);
        if peer.answers_under_way == 0 && peer.closes_at.is_some() {
            peer.closes_at = Some(Instant::now() + READING);
        }
    }

    /// Closes a peer's connections. Whoever waits for an answer of it learns so now, and not when the far end agrees to
    /// the closing.
    fn hang_up(&mut self, id: PeerId) {
        if let Some(peer) = self.peers.get_mut(&id) {
            peer.closing = true;
            peer.closes_at = None;
        }
        for (_, waiting) in self.waiting.extract_if(|_, waiting| waiting.peer == id) {
            // Whoever asked may have given up.
            let _ = waiting.reply.send(Err(RequestError::Closed));
        }
        // Fails only for a peer that is not connected any more.
        let _ = self.swarm.disconnect_peer_id(id);
    }

    /// Our own requests of one protocol to one peer: half of the streams, so that its requests find the other half.
    fn slots(&self, protocol: Protocol) -> usize {
        let streams = if protocol == Protocol::Hello { HELLO_STREAMS_MAX } else { self.limits.streams_per_peer_max };
        (streams / 2).max(1)
    }
}

fn jitter() -> u32 {
    rand::random_range(0..=JITTER_PERMILLE_MAX)
}
