//! The bridge: a mailbox on one side, the swarm's channel on the other, and the protocol's state machines between.
//!
//! What to say to whom is decided in `plumb_federation::protocol`; this actor feeds the machines with what happens and
//! performs what they ask for. It keeps nothing that the store does not have: a new life begins from there.

mod answers;
mod coverage;
mod desk;
mod entries;
mod fetch;
mod live;
mod messages;
mod own_log;
mod peers;
mod receipts;
mod remarks;
mod search;
mod summaries;
mod taking;
mod teaching;
mod trusted;
mod witness;

use std::collections::BTreeMap;
use std::sync::Arc;

use actix::prelude::*;
use plumb_core::identity::{NodeId, Signed};
use plumb_core::measure::{Duration, Timestamp};
use plumb_core::propagation::{CYCLE, PER_CYCLE, pace};
use plumb_core::trust::Certificate;
use plumb_federation::driver::{NetworkEvent, NetworkHandle, Protocol};
use plumb_federation::wire::gossip::TOPIC;
use plumb_federation::wire::teach::TeachResponse;
use tokio::sync::{Mutex, mpsc};

use crate::door::{Door, Late};
use crate::error::NodeError;
use crate::kept;
use crate::premises::{Premises, blocking};
use crate::verification::Verification;
use live::{Live, Turn};

pub use desk::SearchPolicy;
pub use messages::*;
pub use teaching::{ListTeachings, ResolveTeaching, SendTeachings, SentView, SyncMode, Teach, TeachingView};

pub(crate) use desk::Desk;
pub(crate) use receipts::{Owed, put_owed};

/// How long one exchange of a teaching may take.
const EXCHANGE: std::time::Duration = std::time::Duration::from_secs(30);
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
    /// What is remembered of peers.
    pub desk: Arc<Desk>,
    /// When teachings are sent.
    pub sync: SyncMode,
    /// How often, in the background.
    pub sync_every: Duration,
}

/// Speaks to others.
pub struct Federation {
    premises: Arc<Premises>,
    link: Option<Link>,
    /// Set once the whole node stands; the two need each other.
    verification: Late<Door<Verification>>,
    live: Option<Live>,
    /// When a peer gets teachings next, and how many.
    paces: BTreeMap<NodeId, (Timestamp, usize)>,
    /// Whether teachings are on their way.
    is_sending: bool,
}
crate::living!(Federation, "federation");

impl Federation {
    pub(crate) fn new(
        premises: Arc<Premises>,
        link: Option<Link>,
        verification: Late<Door<Verification>>,
    ) -> Federation {
        Federation { premises, link, verification, live: None, paces: BTreeMap::new(), is_sending: false }
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
        if link.sync != SyncMode::QueryOnly {
            ctx.run_interval(TICK, |actor, ctx| actor.send_teachings(ctx, false));
        }
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

impl Handler<LookAgain> for Federation {
    type Result = Result<(), NodeError>;

    fn handle(&mut self, _: LookAgain, ctx: &mut Context<Self>) -> Self::Result {
        self.turn(Turn::LookAgain, ctx);
        Ok(())
    }
}

impl Handler<SendReceipts> for Federation {
    type Result = Result<(), NodeError>;

    fn handle(&mut self, ask: SendReceipts, ctx: &mut Context<Self>) -> Self::Result {
        ask.givers.into_iter().for_each(|giver| self.turn(Turn::SendReceipts(giver), ctx));
        Ok(())
    }
}

/// Teachings were sent to a peer: how many wait there.
#[derive(Message)]
#[rtype(result = "()")]
struct TeachingsSent {
    waiting: BTreeMap<NodeId, u64>,
}

impl Federation {
    /// Sends what is due to every peer whose time has come, or to all of them now. One round at a time.
    fn send_teachings(&mut self, ctx: &mut Context<Self>, now_to_all: bool) {
        let (Some(link), Some(live)) = (self.link.clone(), &self.live) else { return };
        if self.is_sending {
            return;
        }
        let now = self.premises.now();
        let whom: Vec<_> = live
            .admitted()
            .into_iter()
            .filter_map(|(peer, certificate)| {
                let (at, limit) = self.paces.get(&peer).copied().unwrap_or((now, PER_CYCLE));
                (now_to_all || at <= now).then_some((peer, certificate, if now_to_all { PER_CYCLE } else { limit }))
            })
            .collect();
        if whom.is_empty() {
            return;
        }
        self.is_sending = true;
        let (premises, me) = (self.premises.clone(), ctx.address());
        actix::spawn(async move {
            let waiting = offer_all(&premises, &link, whom).await;
            let _ = me.send(TeachingsSent { waiting }).await;
        });
    }
}

/// Offers to each what is due to it. Gives how many teachings wait for a person at each.
async fn offer_all(
    premises: &Arc<Premises>,
    link: &Link,
    whom: Vec<(NodeId, Signed<Certificate>, usize)>,
) -> BTreeMap<NodeId, u64> {
    let mut waiting = BTreeMap::new();
    for (peer, certificate, limit) in whom {
        waiting.insert(peer, 0);
        let offers = {
            let premises = premises.clone();
            blocking(move || teaching::due(&premises, &peer, &certificate, limit)).await
        };
        let offers = offers.unwrap_or_else(|error| {
            tracing::error!(%error, "what is offered to others cannot be read");
            Vec::new()
        });
        for (id, offer) in offers {
            let answer = link.network.request(peer, Protocol::Teach, offer.encode(), EXCHANGE).await;
            // Whoever does not answer, or is busy, is asked again in the next round.
            let Some(TeachResponse::Reply { reply, n_pending }) =
                answer.ok().and_then(|bytes| TeachResponse::decode(&bytes).ok())
            else {
                break;
            };
            waiting.insert(peer, n_pending);
            let premises = premises.clone();
            if let Err(error) = blocking(move || teaching::keep_reply(&premises, &id, &peer, &reply)).await {
                tracing::error!(%error, "a reply could not be written down");
                break;
            }
        }
    }
    waiting
}

impl Handler<TeachingsSent> for Federation {
    type Result = ();

    fn handle(&mut self, sent: TeachingsSent, _: &mut Context<Self>) {
        self.is_sending = false;
        let every = self.link.as_ref().map_or(CYCLE, |link| link.sync_every);
        let now = self.premises.now();
        for (peer, n_pending) in sent.waiting {
            let (limit, cycle) = pace(usize::try_from(n_pending).unwrap_or(usize::MAX));
            // The pace is in cycles of the design; a node with shorter ones keeps the proportion.
            let wait = Duration(every.0.saturating_mul(cycle.0) / CYCLE.0);
            self.paces.insert(peer, (now.plus(wait), limit));
        }
    }
}

impl Handler<Teach> for Federation {
    type Result = ResponseFuture<Result<Vec<TeachingView>, NodeError>>;

    fn handle(&mut self, ask: Teach, ctx: &mut Context<Self>) -> Self::Result {
        let (premises, me) = (self.premises.clone(), ctx.address());
        let at_once = self.link.as_ref().is_some_and(|link| link.sync == SyncMode::RealTimeSync);
        Box::pin(async move {
            let marked = blocking(move || teaching::mark(&premises, &ask)).await?;
            if at_once {
                // A mailbox that is full loses nothing: the next round sends it.
                let _ = me.try_send(SendNow);
            }
            Ok(marked)
        })
    }
}

/// There is something to send.
#[derive(Message)]
#[rtype(result = "()")]
struct SendNow;

impl Handler<SendNow> for Federation {
    type Result = ();

    fn handle(&mut self, _: SendNow, ctx: &mut Context<Self>) {
        self.send_teachings(ctx, true);
    }
}

impl Handler<SendTeachings> for Federation {
    type Result = ResponseFuture<Result<Vec<TeachingView>, NodeError>>;

    fn handle(&mut self, ask: SendTeachings, _: &mut Context<Self>) -> Self::Result {
        let (premises, link) = (self.premises.clone(), self.link().cloned());
        let admitted = self.live.as_ref().map(Live::admitted).unwrap_or_default();
        Box::pin(async move {
            if !ask.caller.operator {
                let reason = "only the operator of a node speaks for it; ask on its own machine";
                return Err(NodeError::Denied(reason.to_string()));
            }
            let whom = admitted.into_iter().map(|(peer, certificate)| (peer, certificate, PER_CYCLE)).collect();
            offer_all(&premises, &link?, whom).await;
            blocking(move || teaching::list(&premises, false)).await
        })
    }
}

impl Handler<ListTeachings> for Federation {
    type Result = ResponseFuture<Result<Vec<TeachingView>, NodeError>>;

    fn handle(&mut self, ask: ListTeachings, _: &mut Context<Self>) -> Self::Result {
        let premises = self.premises.clone();
        Box::pin(blocking(move || teaching::list(&premises, ask.pending)))
    }
}

impl Handler<ResolveTeaching> for Federation {
    type Result = ResponseFuture<Result<TeachingView, NodeError>>;

    fn handle(&mut self, ask: ResolveTeaching, _: &mut Context<Self>) -> Self::Result {
        let premises = self.premises.clone();
        Box::pin(blocking(move || teaching::resolve(&premises, &ask)))
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

impl Handler<FetchBlocks> for Federation {
    type Result = ResponseFuture<Result<Fetched, NodeError>>;

    fn handle(&mut self, ask: FetchBlocks, _: &mut Context<Self>) -> Self::Result {
        let (premises, link) = (self.premises.clone(), self.link().cloned());
        let peers = self.live.as_ref().map(Live::admitted).unwrap_or_default().into_keys().collect();
        Box::pin(async move { Ok(fetch::run(premises, link?, peers, ask).await) })
    }
}

impl Handler<ResumeLog> for Federation {
    type Result = ResponseFuture<Result<(), NodeError>>;

    fn handle(&mut self, ask: ResumeLog, ctx: &mut Context<Self>) -> Self::Result {
        let (premises, me) = (self.premises.clone(), ctx.address());
        Box::pin(async move {
            blocking(move || own_log::resume(&premises, &ask)).await?;
            let _ = me.send(Turn::OwnLogDecided).await;
            Ok(())
        })
    }
}

impl Handler<LiftFork> for Federation {
    type Result = ResponseFuture<Result<(), NodeError>>;

    fn handle(&mut self, ask: LiftFork, ctx: &mut Context<Self>) -> Self::Result {
        let (premises, me) = (self.premises.clone(), ctx.address());
        Box::pin(async move {
            let fork = blocking(move || own_log::lift(&premises, &ask)).await?;
            let _ = me.send(Turn::ForkDecided(Box::new(fork))).await;
            Ok(())
        })
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
