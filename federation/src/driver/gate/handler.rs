//! The gate on one connection.

use std::collections::VecDeque;
use std::task::{Context, Poll};

use libp2p::swarm::handler::{ConnectionEvent, FullyNegotiatedInbound};
use libp2p::swarm::{ConnectionHandler, ConnectionHandlerEvent, SubstreamProtocol};

use super::{Door, Principal, SharedStanding, Standing};

/// What the behaviour tells the handler.
#[derive(Debug)]
pub(in crate::driver) enum HandlerIn<E> {
    /// For the handler inside.
    Inner(E),
    /// The peer's standing rose. What it is now is read where it is needed; this only has the handler polled.
    LookAgain,
}

/// What the handler tells the behaviour.
#[derive(Debug)]
pub(in crate::driver) enum HandlerOut<E> {
    /// From the handler inside.
    Inner(E),
    /// A stranger's stream was dropped.
    Refused,
}

/// A stream that the peer opened.
type Inbound<H> =
    FullyNegotiatedInbound<<H as ConnectionHandler>::InboundProtocol, <H as ConnectionHandler>::InboundOpenInfo>;

/// A handler behind the gate.
pub(in crate::driver) struct GatedHandler<H: ConnectionHandler> {
    inner: H,
    door: Door,
    standing: SharedStanding,
    principal: Principal,
    /// Streams that wait for admission, unread; at most `door.waiting_max`.
    waiting: VecDeque<Inbound<H>>,
    /// A refusal that has yet to be reported.
    refused: bool,
}

impl<H: ConnectionHandler> GatedHandler<H> {
    pub(super) fn new(inner: H, door: Door, standing: SharedStanding, principal: Principal) -> GatedHandler<H> {
        GatedHandler { inner, door, standing, principal, waiting: VecDeque::new(), refused: false }
    }

    fn on_inbound(&mut self, stream: Inbound<H>) {
        let standing = self.standing.get();
        if standing == Standing::Stranger && self.door.refuses_strangers {
            self.refused = true;
            return;
        }
        self.waiting.push_back(stream);
        if standing == Standing::Admitted {
            self.let_in();
        } else if self.door.waiting_max < self.waiting.len() {
            self.waiting.pop_front();
        }
    }

    /// Hands the streams that waited to the handler inside, in the order in which they came.
    fn let_in(&mut self) {
        for stream in std::mem::take(&mut self.waiting) {
            self.inner.on_connection_event(ConnectionEvent::FullyNegotiatedInbound(stream));
        }
    }
}

impl<H: ConnectionHandler> ConnectionHandler for GatedHandler<H> {
    type FromBehaviour = HandlerIn<H::FromBehaviour>;
    type ToBehaviour = HandlerOut<H::ToBehaviour>;
    type InboundProtocol = H::InboundProtocol;
    type OutboundProtocol = H::OutboundProtocol;
    type InboundOpenInfo = H::InboundOpenInfo;
    type OutboundOpenInfo = H::OutboundOpenInfo;

    fn listen_protocol(&self) -> SubstreamProtocol<Self::InboundProtocol, Self::InboundOpenInfo> {
        self.inner.listen_protocol()
    }

    /// An admitted peer's connection is kept while idle: to close it only means a new handshake and a new hello at the
    /// next word. Those who are not admitted have a deadline instead.
    fn connection_keep_alive(&self) -> bool {
        let is_kept = self.principal.get() && self.standing.get() == Standing::Admitted;
        is_kept || self.inner.connection_keep_alive()
    }

    fn poll(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<ConnectionHandlerEvent<Self::OutboundProtocol, Self::OutboundOpenInfo, Self::ToBehaviour>> {
        if self.refused {
            self.refused = false;
            return Poll::Ready(ConnectionHandlerEvent::NotifyBehaviour(HandlerOut::Refused));
        }
        if self.standing.get() < Standing::Admitted {
            // Polled again when the behaviour's word or a stream arrives; both come through the connection itself.
            return Poll::Pending;
        }
        self.let_in();
        self.inner.poll(cx).map(|event| event.map_custom(HandlerOut::Inner))
    }

    fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<Option<Self::ToBehaviour>> {
        self.inner.poll_close(cx).map(|event| event.map(HandlerOut::Inner))
    }

    fn on_behaviour_event(&mut self, event: Self::FromBehaviour) {
        match event {
            HandlerIn::Inner(event) => self.inner.on_behaviour_event(event),
            // The connection polls the handler after every word from the behaviour.
            HandlerIn::LookAgain => {}
        }
    }

    fn on_connection_event(
        &mut self,
        event: ConnectionEvent<
            Self::InboundProtocol,
            Self::OutboundProtocol,
            Self::InboundOpenInfo,
            Self::OutboundOpenInfo,
        >,
    ) {
        match event {
            ConnectionEvent::FullyNegotiatedInbound(stream) => self.on_inbound(stream),
            other => self.inner.on_connection_event(other),
        }
    }
}
