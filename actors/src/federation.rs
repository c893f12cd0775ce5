//! The bridge: a mailbox on one side, the swarm's channel on the other, and the protocol's state machines between.
//!
//! What to say to whom is decided in `plumb_federation::protocol`; this actor feeds the machines with what happens and
//! performs what they ask for. It keeps nothing that the store does not have: a new life begins from there.

mod answers;
mod entries;
mod live;
mod messages;
mod peers;
mod receipts;
mod search;
mod trusted;

use std::sync::Arc;

use actix::prelude::*;
use plumb_federation::driver::{NetworkEvent, NetworkHandle};
use plumb_federation::wire::gossip::TOPIC;
use tokio::sync::{Mutex, mpsc};

use crate::door::{Door, Late};
use crate::error::NodeError;
use crate::kept;
use crate::premises::{Premises, blocking};
use crate::verification::Verification;
use live::{Live, Turn};

pub use messages::*;

/// How often the machines are told that time passed.
const TICK: std::time::Duration = std::time::Duration::from_millis(500);

/// The network as the actor finds it in each of its lives.
#[derive(Clone)]
pub(crate) struct Link {
    /// The way out.
    pub network: NetworkHandle,
    /// The way in. Each life takes it in turn.
    pub events: Arc<Mutex<mpsc::Receiver<NetworkEvent>>>,
    /// Addresses to connect to from the start.
    pub bootstrap: Vec<String>,
}

/// Speaks to others.
pub struct Federation {
    premises: Arc<Premises>,
    link: Option<Link>,
    /// Set once the whole node stands; the two need each other.
    verification: Late<Door<Verification>>,
    live: Option<Live>,
}
crate::living!(Federation, "federation");

impl Federation {
    pub(crate) fn new(
        premises: Arc<Premises>,
        link: Option<Link>,
        verification: Late<Door<Verification>>,
    ) -> Federation {
        Federation { premises, link, verification, live: None }
    }

    fn link(&self) -> Result<&Link, NodeError> {
        self.link.as_ref().ok_or(NodeError::Offline)
    }
}

impl Actor for Federation {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Context<Self>) {
        let Some(link) = self.link.clone() else { return };
        match Live::begin(&self.premises, link.clone(), self.verification.clone()) {
            Ok(live) => self.live = Some(live),
            Err(error) => {
                tracing::error!(%error, "the state of the federation cannot be read; nothing is sent or answered");
                return;
            }
        }
        let me = ctx.address();
        let pump = {
            let (events, network) = (link.events.clone(), link.network.clone());
            async move {
                if let Err(error) = network.subscribe(TOPIC).await {
                    tracing::error!(%error, "gossip is not followed");
                }
                // Whoever was connected in a former life is met anew.
                for peer in network.peers().await {
                    if me.send(Turn::Met(peer.node)).await.is_err() {
                        return;
                    }
                }
                let mut events = events.lock().await;
                // `send` waits for room in the mailbox: a busy bridge slows the swarm down, and nothing grows.
                while let Some(event) = events.recv().await {
                    if me.send(Turn::Network(event)).await.is_err() {
                        return;
                    }
                }
            }
        };
        actix::spawn(pump);
        ctx.run_interval(TICK, |actor, ctx| actor.turn(Turn::Tick, ctx));
        ctx.notify(Turn::LogGrew);
    }
}

impl Federation {
    /// Gives the machines one turn and performs what they ask for.
    fn turn(&mut self, turn: Turn, ctx: &mut Context<Self>) {
        let now = self.premises.now();
        if let Some(live) = &mut self.live {
            live.turn(now, turn, &ctx.address());
        }
    }
}

impl Handler<Turn> for Federation {
    type Result = ();

    fn handle(&mut self, turn: Turn, ctx: &mut Context<Self>) {
        self.turn(turn, ctx);
    }
}

impl Handler<LogGrew> for Federation {
    type Result = Result<(), NodeError>;

    fn handle(&mut self, _: LogGrew, ctx: &mut Context<Self>) -> Self::Result {
        self.turn(Turn::LogGrew, ctx);
        Ok(())
    }
}

impl Handler<RootsMoved> for Federation {
    type Result = Result<(), NodeError>;

    fn handle(&mut self, _: RootsMoved, ctx: &mut Context<Self>) -> Self::Result {
        self.turn(Turn::RootsChanged, ctx);
        Ok(())
    }
}

impl Handler<OweReceipts> for Federation {
    type Result = ResponseFuture<Result<Vec<cid::Cid>, NodeError>>;

    fn handle(&mut self, owed: OweReceipts, ctx: &mut Context<Self>) -> Self::Result {
        let (premises, me) = (self.premises.clone(), ctx.address());
        Box::pin(async move {
            let signed = blocking(move || receipts::owe(&premises, &owed)).await?;
            // A mailbox that is full loses nothing: what is owed is sent again when its giver is admitted.
            for (giver, _) in &signed {
                let _ = me.try_send(Turn::SendReceipts(*giver));
            }
            Ok(signed.into_iter().map(|(_, receipt)| receipt).collect())
        })
    }
}

impl Handler<SearchPeers> for Federation {
    type Result = ResponseFuture<Result<PeerResults, NodeError>>;

    fn handle(&mut self, ask: SearchPeers, _: &mut Context<Self>) -> Self::Result {
        let (premises, link) = (self.premises.clone(), self.link().cloned());
        let admitted = self.live.as_ref().map(Live::admitted).unwrap_or_default();
        Box::pin(async move { search::run(premises, link?, admitted, ask).await })
    }
}

impl Handler<OwnCheckpoint> for Federation {
    type Result = ResponseFuture<Result<String, NodeError>>;

    fn handle(&mut self, _: OwnCheckpoint, _: &mut Context<Self>) -> Self::Result {
        let premises = self.premises.clone();
        Box::pin(blocking(move || {
            let own = premises.node();
            let head = kept::log_head(&premises.store, &own, &own)?;
            head.map(|h| h.state.checkpoint.as_str().to_string())
                .ok_or_else(|| NodeError::NotFound("checkpoint of an empty log".to_string()))
        }))
    }
}
