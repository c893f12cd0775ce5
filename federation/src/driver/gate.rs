//! The admission gate: which behaviours a peer reaches before the shell has admitted it. None of them but hello.
//!
//! [`Gated`] wraps a behaviour. The behaviour itself knows every connection from the start; what is gated is the
//! connection's handler. Until the peer is admitted, the handler is not polled, so nothing is written (an
//! un-admitted peer does not even learn which topics we follow), and streams that arrive are not read:
//!
//! | standing | request protocols | gossip, Kademlia, relay, hole punching, reachability |
//! | --- | --- | --- |
//! | stranger: no hello yet | refused, and the connection is closed | waits, unread |
//! | introduced: a hello is under way | waits, unread | waits, unread |
//! | admitted | served | served |
//!
//! So what a stranger can speak is `/plumb/hello/1`, identify and ping, and nothing else. Relaying needs no exception:
//! a relay serves those whom it has admitted, both the one behind it and the one who calls.
//!
//! Waiting is not leniency. Two honest nodes admit each other at slightly different moments, and the one that is
//! first may already speak; gossip even announces its topics only once, right after connecting. Were that refused,
//! admission would be a race. The driver closes what is not admitted in time, so the wait has an end, and an unread
//! stream costs no more than its flow-control window.

mod handler;

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::task::{Context, Poll};

use libp2p::core::Endpoint;
use libp2p::core::transport::PortUse;
use libp2p::swarm::{
    ConnectionDenied, ConnectionId, FromSwarm, NetworkBehaviour, NotifyHandler, THandler, THandlerInEvent,
    THandlerOutEvent, ToSwarm,
};
use libp2p::{Multiaddr, PeerId};

pub(super) use handler::GatedHandler;
use handler::{HandlerIn, HandlerOut};

/// How a peer stands to the gate. It only ever rises, and is forgotten with the last connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Standing {
    /// Nothing is known but the key.
    #[default]
    Stranger,
    /// A hello went one way or the other; the shell is deciding.
    Introduced,
    /// The shell said yes.
    Admitted,
}

impl Standing {
    const ALL: [Standing; 3] = [Standing::Stranger, Standing::Introduced, Standing::Admitted];
}

/// A peer's standing, shared by the behaviour and the handlers of its connections.
///
/// Shared, and not told by message: handlers run in tasks of their own, and a request that follows an admission by a
/// hair's breadth must find it.
#[derive(Clone, Debug, Default)]
struct SharedStanding(Arc<AtomicU8>);

impl SharedStanding {
    fn get(&self) -> Standing {
        let place = usize::from(self.0.load(Ordering::Acquire));
        Standing::ALL.get(place).copied().unwrap_or_default()
    }

    /// Whether it rose by this.
    fn raise(&self, standing: Standing) -> bool {
        let raised = standing as u8;
        self.0.fetch_max(raised, Ordering::AcqRel) < raised
    }
}

/// Whether a connection is its peer's first, which is kept while it is idle.
///
/// Further ones come from two nodes that dial each other at once, from a probe of reachability, or from a relayed
/// connection that became a direct one. They end when nobody uses them, and the next one steps in when the first ends.
#[derive(Clone, Debug, Default)]
struct Principal(Arc<AtomicBool>);

impl Principal {
    fn get(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }

    fn set(&self) {
        self.0.store(true, Ordering::Release);
    }
}

/// What a gate does with streams of those who are not admitted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Door {
    /// Whether a stranger's stream is an offence that ends the connection.
    pub refuses_strangers: bool,
    /// How many unread streams wait on one connection. Of more, the oldest is dropped.
    pub waiting_max: usize,
}

/// What a gated behaviour reports.
#[derive(Debug)]
pub(super) enum GatedEvent<E> {
    /// An event of the behaviour inside.
    Inner(E),
    /// A stranger opened a stream and was refused.
    Refused(PeerId),
}

struct Visitor {
    standing: SharedStanding,
    connections: Vec<(ConnectionId, Principal)>,
}

impl Visitor {
    /// There is one principal connection as long as there is any. The one that became it now, if one did.
    fn appoint(&self) -> Option<ConnectionId> {
        if self.connections.iter().any(|(_, principal)| principal.get()) {
            return None;
        }
        let (connection, principal) = self.connections.first()?;
        principal.set();
        Some(*connection)
    }
}

/// What a gated behaviour asks of the swarm.
type Ask<B> = ToSwarm<GatedEvent<<B as NetworkBehaviour>::ToSwarm>, HandlerIn<THandlerInEvent<B>>>;

/// A behaviour behind the gate.
pub(super) struct Gated<B: NetworkBehaviour> {
    inner: B,
    door: Door,
    visitors: HashMap<PeerId, Visitor>,
    /// Connections that are not established yet.
    arriving: HashMap<ConnectionId, (SharedStanding, Principal)>,
    /// At most one per rise of a connection's standing, and one per connection that ends.
    pending: VecDeque<Ask<B>>,
}

impl<B: NetworkBehaviour> Gated<B> {
    pub(super) fn new(inner: B, door: Door) -> Gated<B> {
        Gated { inner, door, visitors: HashMap::new(), arriving: HashMap::new(), pending: VecDeque::new() }
    }

    pub(super) fn inner(&mut self) -> &mut B {
        &mut self.inner
    }

    /// Raises a connected peer's standing; never lowers it.
    pub(super) fn raise(&mut self, peer: PeerId, standing: Standing) {
        let Some(visitor) = self.visitors.get(&peer) else { return };
        if !visitor.standing.raise(standing) {
            return;
        }
        let connections: Vec<ConnectionId> = visitor.connections.iter().map(|(connection, _)| *connection).collect();
        for connection in connections {
            self.look_again(peer, connection);
        }
    }

    fn look_again(&mut self, peer_id: PeerId, connection: ConnectionId) {
        let handler = NotifyHandler::One(connection);
        self.pending.push_back(ToSwarm::NotifyHandler { peer_id, handler, event: HandlerIn::LookAgain });
    }

    fn handler(&mut self, connection: ConnectionId, peer: &PeerId, inner: THandler<B>) -> GatedHandler<THandler<B>> {
        let standing = self.visitors.get(peer).map(|visitor| visitor.standing.clone()).unwrap_or_default();
        let principal = Principal::default();
        self.arriving.insert(connection, (standing.clone(), principal.clone()));
        GatedHandler::new(inner, self.door, standing, principal)
    }
}

impl<B: NetworkBehaviour> NetworkBehaviour for Gated<B> {
    type ConnectionHandler = GatedHandler<THandler<B>>;
    type ToSwarm = GatedEvent<B::ToSwarm>;

    fn handle_pending_inbound_connection(
        &mut self,
        connection: ConnectionId,
        local: &Multiaddr,
        remote: &Multiaddr,
    ) -> Result<(), ConnectionDenied> {
        self.inner.handle_pending_inbound_connection(connection, local, remote)
    }

    fn handle_established_inbound_connection(
        &mut self,
        connection: ConnectionId,
        peer: PeerId,
        local: &Multiaddr,
        remote: &Multiaddr,
    ) -> Result<THandler<Self>, ConnectionDenied> {
        let inner = self.inner.handle_established_inbound_connection(connection, peer, local, remote)?;
        Ok(self.handler(connection, &peer, inner))
    }

    fn handle_pending_outbound_connection(
        &mut self,
        connection: ConnectionId,
        peer: Option<PeerId>,
        addresses: &[Multiaddr],
        role: Endpoint,
    ) -> Result<Vec<Multiaddr>, ConnectionDenied> {
        self.inner.handle_pending_outbound_connection(connection, peer, addresses, role)
    }

    fn handle_established_outbound_connection(
        &mut self,
        connection: ConnectionId,
        peer: PeerId,
        remote: &Multiaddr,
        role: Endpoint,
        port: PortUse,
    ) -> Result<THandler<Self>, ConnectionDenied> {
        let inner = self.inner.handle_established_outbound_connection(connection, peer, remote, role, port)?;
        Ok(self.handler(connection, &peer, inner))
    }

    fn on_swarm_event(&mut self, event: FromSwarm) {
        match &event {
            FromSwarm::ConnectionEstablished(established) => {
                let (standing, principal) = self.arriving.remove(&established.connection_id).unwrap_or_default();
                let visitor =
                    self.visitors.entry(established.peer_id).or_insert(Visitor { standing, connections: Vec::new() });
                visitor.connections.push((established.connection_id, principal));
                visitor.appoint();
            }
            // Another behaviour denied the connection after its handler was made.
            FromSwarm::ListenFailure(failure) => drop(self.arriving.remove(&failure.connection_id)),
            FromSwarm::DialFailure(failure) => drop(self.arriving.remove(&failure.connection_id)),
            FromSwarm::ConnectionClosed(closed) => {
                if let Some(visitor) = self.visitors.get_mut(&closed.peer_id) {
                    visitor.connections.retain(|(connection, _)| *connection != closed.connection_id);
                    if visitor.connections.is_empty() {
                        self.visitors.remove(&closed.peer_id);
                    } else if let Some(connection) = visitor.appoint() {
                        self.look_again(closed.peer_id, connection);
                    }
                }
            }
            _ => {}
        }
        self.inner.on_swarm_event(event);
    }

    fn on_connection_handler_event(&mut self, peer: PeerId, connection: ConnectionId, event: THandlerOutEvent<Self>) {
        match event {
            HandlerOut::Inner(event) => self.inner.on_connection_handler_event(peer, connection, event),
            HandlerOut::Refused => self.pending.push_back(ToSwarm::GenerateEvent(GatedEvent::Refused(peer))),
        }
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<ToSwarm<Self::ToSwarm, THandlerInEvent<Self>>> {
        if let Some(ask) = self.pending.pop_front() {
            return Poll::Ready(ask);
        }
        self.inner.poll(cx).map(|ask| ask.map_out(GatedEvent::Inner).map_in(HandlerIn::Inner))
    }
}
