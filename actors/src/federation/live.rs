//! The machines of one life of the bridge: what happens goes in, what they ask for is performed.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use actix::prelude::*;
use cid::Cid;
use plumb_core::identity::{NodeId, Signed};
use plumb_core::measure::Timestamp;
use plumb_core::trust::{Capability, Certificate, Place};
use plumb_federation::driver::{GossipId, NetworkEvent, Protocol, RefusalReason, RequestToken};
use plumb_federation::protocol::log_sync::GossipVerdict;
use plumb_federation::protocol::{
    Admission, Delivery, LogSync, Witnessing, admission, delivery, has_passed, log_sync, witnessing,
};
use plumb_federation::wire::gossip::{Gossip, TOPIC};
use plumb_federation::wire::hello::{Hello, HelloResponse};
use plumb_federation::wire::log::{Fork, Heads, LogRequest, LogResponse};
use plumb_federation::wire::notice::{NoticeRequest, NoticeResponse};
use plumb_storage::{Change, Records};

use super::remarks::{self, Remarks};
use super::{Federation, Link, answers, own_log, receipts, summaries, taking, witness};
use crate::door::{Door, Late};
use crate::error::NodeError;
use crate::kept;
use crate::premises::{Premises, blocking};
use crate::verification::{NoteAcknowledgement, Statement, TakeUp, Verification};

/// How long one exchange of the background may take.
pub(super) const EXCHANGE: Duration = Duration::from_secs(30);
/// How long a hello may take.
const HELLO: Duration = Duration::from_secs(8);
/// How long a stranger that is refused stays connected, so that it hears why: closing at once would overtake the answer
/// to its hello. It can ask nothing meanwhile.
const LINGER: Duration = Duration::from_secs(1);
/// Gossip is tried so often; what it does not reach, the sync does.
const GOSSIP_TRIES: usize = 5;
/// How old a stored confirmation of a log may be before a newer one is written down.
const CONFIRM_EVERY: plumb_core::measure::Duration = plumb_core::measure::Duration::seconds(15);

/// Something that happened.
#[derive(Message)]
#[rtype(result = "()")]
pub(super) enum Turn {
    /// On the network.
    Network(NetworkEvent),
    /// A peer was connected when this life began.
    Met(NodeId),
    /// To the admission.
    Admission(admission::Event),
    /// To the logs.
    Log(log_sync::Event),
    /// To the witnessing.
    Witnessing(witnessing::Event),
    /// The operator decided what becomes of the own log.
    OwnLogDecided,
    /// The operator decided on a fork of somebody's log.
    ForkDecided(Box<Fork>),
    /// To the deliveries.
    Delivery(delivery::Event),
    /// The own log grew, or obligations were opened.
    LogGrew,
    /// Receipts are owed to this node.
    SendReceipts(NodeId),
    /// The trusted organisations changed.
    RootsChanged,
    /// An operator lets more in than before: what was refused of the logs that are held may count now.
    LookAgain,
    /// A stranger that was refused has had time to hear why.
    HangUp(NodeId),
    /// Time passed.
    Tick,
}

/// The machines.
pub(super) struct Live {
    pub(super) premises: Arc<Premises>,
    pub(super) link: Link,
    verification: Late<Door<Verification>>,
    admission: Admission,
    pub(super) log_sync: LogSync,
    witnessing: Witnessing,
    delivery: Delivery,
    pub(super) admitted: BTreeMap<NodeId, Signed<Certificate>>,
    /// Hellos that wait for the admission's word.
    hellos: BTreeMap<NodeId, RequestToken>,
    /// Why a peer was refused, for the operator.
    remarks: Remarks,
    /// The gossip message that is being judged, and who passed it on.
    gossip: Option<(GossipId, NodeId)>,
    confirmed: BTreeMap<NodeId, Timestamp>,
    /// When summaries were last looked after.
    summaries_at: Timestamp,
}

impl Live {
    /// Takes up what the store has.
    pub fn begin(
        premises: &Arc<Premises>,
        link: Link,
        verification: Late<Door<Verification>>,
    ) -> Result<Live, NodeError> {
        // A former life may have ended in the middle of it.
        own_log::settle(premises)?;
        crate::verification::unseal_left(premises)?;
        let heads = kept::log_heads(&premises.store, &premises.node())?;
        let confirmed = heads.iter().filter_map(|h| Some((h.state.publisher, h.as_of?))).collect();
        let obligations = kept::open_obligations(&premises.store)?.into_iter().map(|(notice, holder, o)| {
            let standing = match (o.refused, o.silent_since) {
                (Some((at, reason)), _) => delivery::Standing::Refused { at, reason },
                (None, Some(since)) => delivery::Standing::Silent { since },
                (None, None) => delivery::Standing::Open,
            };
            (notice, holder, standing)
        });
        Ok(Live {
            premises: premises.clone(),
            link,
            verification,
            admission: Admission::new(
                premises.certificate.clone(),
                concat!("plumb/", env!("CARGO_PKG_VERSION")),
                premises.roots(),
            ),
            log_sync: own_log::log_sync(premises)?,
            witnessing: Witnessing::new(rand::random()),
            delivery: Delivery::restore(obligations, rand::random()),
            admitted: BTreeMap::new(),
            hellos: BTreeMap::new(),
            remarks: Remarks::default(),
            gossip: None,
            confirmed,
            summaries_at: premises.now(),
        })
    }

    /// Who is admitted now.
    pub fn admitted(&self) -> BTreeMap<NodeId, Signed<Certificate>> {
        self.admitted.clone()
    }

    /// Why peers were refused.
    pub fn remarks(&self) -> &Remarks {
        &self.remarks
    }

    /// One turn.
    pub fn turn(&mut self, now: Timestamp, turn: Turn, me: &Addr<Federation>) {
        match turn {
            Turn::Network(event) => self.network(now, event, me),
            Turn::Met(peer) => self.admission(now, admission::Event::Connected { peer }, me),
            Turn::Admission(event) => self.admission(now, event, me),
            // It was told on the way here, and the peer may be gone again.
            Turn::Log(log_sync::Event::PeerAdmitted { peer, .. })
            | Turn::Witnessing(witnessing::Event::PeerAdmitted { peer, .. })
            | Turn::Delivery(delivery::Event::PeerAdmitted { peer })
                if !self.admitted.contains_key(&peer) => {}
            Turn::Log(event) => self.log(now, event, me),
            Turn::Witnessing(event) => self.witness(now, event, me),
            Turn::OwnLogDecided => self.reload(now, me),
            Turn::ForkDecided(fork) => self.log_sync.decide(&fork),
            Turn::Delivery(event) => self.delivery(now, event, me),
            Turn::LogGrew => self.log_grew(now, me),
            Turn::SendReceipts(giver) => self.send_receipts(giver),
            Turn::RootsChanged => {
                let roots = self.premises.roots();
                self.remarks.clear();
                self.admission(now, admission::Event::RootsChanged { roots: roots.clone() }, me);
                self.log(now, log_sync::Event::RootsChanged { roots }, me);
                self.redial();
            }
            Turn::LookAgain => {
                let (premises, verification) = (self.premises.clone(), self.verification.clone());
                actix::spawn(async move {
                    let Some(door) = verification.get() else { return };
                    if let Err(error) = super::entries::apply_held(&premises, &door).await {
                        tracing::error!(%error, "the logs that are held could not be looked at again");
                    }
                });
            }
            Turn::HangUp(peer) => {
                if self.admission.permitted(&peer).is_none() {
                    let network = self.link.network.clone();
                    actix::spawn(async move { network.disconnect(peer).await });
                }
            }
            Turn::Tick => {
                self.admission(now, admission::Event::Tick, me);
                self.log(now, log_sync::Event::Tick, me);
                self.witness(now, witnessing::Event::Tick, me);
                self.delivery(now, delivery::Event::Tick, me);
                self.refresh_summaries(now);
            }
        }
    }

    /// Fetches the summaries that were fetched long ago.
    fn refresh_summaries(&mut self, now: Timestamp) {
        if !has_passed(self.summaries_at, summaries::FETCH_EVERY, now) {
            return;
        }
        self.summaries_at = now;
        for peer in self.admitted.keys().filter(|peer| summaries::is_due(&self.link.desk, peer, now)) {
            let (premises, network, desk) = (self.premises.clone(), self.link.network.clone(), self.link.desk.clone());
            actix::spawn(summaries::fetch(premises, network, desk, *peer));
        }
    }

    fn network(&mut self, now: Timestamp, event: NetworkEvent, me: &Addr<Federation>) {
        match event {
            NetworkEvent::Connected { node, .. } => {
                self.admission(now, admission::Event::Connected { peer: node }, me);
            }
            NetworkEvent::Disconnected { node } => {
                self.hellos.remove(&node);
                self.admission(now, admission::Event::Disconnected { peer: node }, me);
            }
            NetworkEvent::Request { node, protocol: Protocol::Hello, bytes, token } => match Hello::decode(&bytes) {
                Ok(hello) => {
                    self.hellos.insert(node, token);
                    self.admission(now, admission::Event::HelloAsked { peer: node, hello }, me);
                }
                Err(error) => {
                    let reason = error.to_string();
                    self.admission(now, admission::Event::HelloFailed { peer: node, reason }, me);
                }
            },
            NetworkEvent::Request { node, protocol, bytes, token } => {
                let permitted = self.admission.permitted(&node).cloned();
                self.admission(now, admission::Event::RequestArrived { peer: node }, me);
                if let Some(certificate) = permitted {
                    self.answer(now, node, certificate, protocol, bytes, token, me);
                }
            }
            NetworkEvent::Gossip { from, bytes, message_id, .. } => {
                self.gossip = Some((message_id, from));
                match Gossip::decode(&bytes) {
                    Ok(gossip) => self.log(now, log_sync::Event::GossipReceived { peer: from, gossip }, me),
                    Err(error) => {
                        tracing::warn!(peer = %from, %error, "gossip that cannot be read");
                        self.judge_gossip(false);
                    }
                }
            }
            NetworkEvent::Refused { node, reason } => {
                let is_passing = reason == RefusalReason::NotAdmittedInTime;
                if self.remarks.note(node, remarks::code_of_refusal(&reason), reason, is_passing) {
                    tracing::warn!(peer = %node, %reason, "refused");
                }
            }
            // The first time, and then ever more rarely: a long outage does not fill the disk.
            NetworkEvent::DialFailed { addr, reason, failures } if failures.is_power_of_two() => {
                tracing::warn!(%addr, failures, %reason, "not reached");
            }
            NetworkEvent::DialFailed { .. } => {}
            NetworkEvent::Listening { addr } => tracing::info!(%addr, "listening"),
        }
    }

    /// Answers a request of an admitted peer. Head exchanges are of the machine; the rest reads the store.
    #[expect(clippy::too_many_arguments, reason = "one request has this many parts")]
    fn answer(
        &mut self,
        now: Timestamp,
        peer: NodeId,
        certificate: Signed<Certificate>,
        protocol: Protocol,
        bytes: Vec<u8>,
        token: RequestToken,
        me: &Addr<Federation>,
    ) {
        let network = self.link.network.clone();
        if protocol == Protocol::Log {
            match LogRequest::decode(&bytes) {
                Ok(request @ (LogRequest::Heads(_) | LogRequest::Summary(_))) => {
                    if let Some(answer) = self.log_sync.answer(&request) {
                        let answer = LogResponse::Heads(answer).encode();
                        actix::spawn(async move { network.respond(token, answer).await });
                    }
                    // A summary names the head of its sender's own log, and no other.
                    let heads = match request {
                        LogRequest::Heads(heads) => heads,
                        LogRequest::Summary(summary) => {
                            Heads { heads: summary.own.into_iter().collect(), forks: Vec::new() }
                        }
                        _ => Heads::default(),
                    };
                    self.confirm(now, peer, &heads);
                    self.log(now, log_sync::Event::HeadsReceived { peer, heads }, me);
                    return;
                }
                Ok(LogRequest::AddCheckpoint(asked)) => {
                    witness::answer(self.premises.clone(), network, peer, asked, token, me.clone());
                    return;
                }
                // Whatever else it is, or is not, is seen where it is answered.
                Ok(_) | Err(_) => {}
            }
        }
        let (premises, verification) = (self.premises.clone(), self.verification.clone());
        let desk = self.link.desk.clone();
        let me = me.clone();
        actix::spawn(async move {
            match answers::answer(premises, desk, verification, certificate, protocol, bytes).await {
                Ok(answer) => {
                    if let Err(error) = network.respond(token, answer).await {
                        tracing::debug!(%peer, %error, "an answer that nobody waited for");
                    }
                    // What was taken in from it is owed a receipt.
                    if protocol == Protocol::Teach {
                        let _ = me.send(Turn::SendReceipts(peer)).await;
                    }
                }
                // Whoever sends what cannot be read is not one of ours; the connection goes, and the stream with it.
                Err(error) => {
                    tracing::warn!(%peer, ?protocol, %error, "a request that cannot be read; the peer is disconnected");
                    drop(token);
                    let _ = network.penalise(peer).await;
                }
            }
        });
    }

    /// What the certificate of a hello says of its organisation's roots is taken up, whether or not it admits: a rotation
    /// that contradicts another one is seen nowhere else.
    fn learn(&self, event: &admission::Event) {
        let certificate = match event {
            admission::Event::HelloAsked { hello, .. }
            | admission::Event::HelloAnswered { response: HelloResponse::Hello(hello), .. } => &hello.certificate,
            _ => return,
        };
        let roots = self.premises.roots();
        let admitted: Vec<_> = self.admitted.values().map(|c| (c.cid(), *c.signer())).collect();
        for rotation in certificate.value().rotations().unwrap_or_default() {
            if !roots.pins(&rotation.value().org) || roots.history.has(&rotation) {
                continue;
            }
            let (verification, by) = (self.verification.clone(), certificate.value().node.to_string());
            let (statement, admitted) = (Statement::Rotation(Box::new(rotation)), admitted.clone());
            actix::spawn(async move {
                let Some(door) = verification.get() else { return };
                let ask = TakeUp { by, statement, place: Place::Shown, admitted, is_ours: false };
                if let Err(error) = door.ask(ask, crate::DEADLINE).await {
                    tracing::warn!(%error, "a rotation was not taken up");
                }
            });
        }
    }

    fn admission(&mut self, now: Timestamp, event: admission::Event, me: &Addr<Federation>) {
        self.learn(&event);
        let mut was_admitted = None;
        for action in self.admission.handle(now, event) {
            let network = self.link.network.clone();
            match action {
                admission::Action::SendHello { peer } => {
                    // Without heads: the logs that we hold say whom we deal with, and nobody knows yet who this is.
                    let hello = self.admission.hello(Vec::new()).encode();
                    let me = me.clone();
                    actix::spawn(async move {
                        let answer = network.request(peer, Protocol::Hello, hello, HELLO).await;
                        let event = match answer {
                            Ok(bytes) => match HelloResponse::decode(&bytes) {
                                Ok(response) => admission::Event::HelloAnswered { peer, response },
                                Err(error) => admission::Event::HelloFailed { peer, reason: error.to_string() },
                            },
                            Err(error) => admission::Event::HelloFailed { peer, reason: error.to_string() },
                        };
                        let _ = me.send(Turn::Admission(event)).await;
                    });
                }
                admission::Action::Permit { peer } => {
                    actix::spawn(async move { network.admit(peer).await });
                }
                admission::Action::AnswerHello { peer } => {
                    let answer = HelloResponse::Hello(self.admission.hello(self.log_sync.introduction())).encode();
                    if let Some(token) = self.hellos.remove(&peer) {
                        actix::spawn(async move {
                            // Admitted before it is told so: its next request must not find the door shut.
                            let _ = network.admit(peer).await;
                            let _ = network.respond(token, answer).await;
                        });
                    }
                }
                admission::Action::RefuseHello { peer, response } => {
                    if let Some(token) = self.hellos.remove(&peer) {
                        let answer = response.encode();
                        actix::spawn(async move { network.respond(token, answer).await });
                    }
                }
                admission::Action::Admit { peer, certificate, heads } => {
                    tracing::info!(%peer, organisation = certificate.value().org_name, "admitted");
                    self.admitted.insert(peer, certificate.clone());
                    self.remarks.forget(&peer);
                    self.confirm(now, peer, &Heads { heads: heads.clone(), forks: Vec::new() });
                    let (premises, desk, me) = (self.premises.clone(), self.link.desk.clone(), me.clone());
                    let may_witness = certificate.value().may(&Capability::Witness);
                    actix::spawn(async move {
                        let _ = network.admit(peer).await;
                        actix::spawn(summaries::fetch(premises.clone(), network.clone(), desk, peer));
                        let _ = me.send(Turn::Log(log_sync::Event::PeerAdmitted { peer, heads })).await;
                        let cosigned = witness::cosigned_by(&premises, &peer);
                        let event = witnessing::Event::PeerAdmitted { peer, cosigned, may_witness };
                        let _ = me.send(Turn::Witnessing(event)).await;
                        own_log::probe(&premises, &network, peer, &me).await;
                        let _ = me.send(Turn::Delivery(delivery::Event::PeerAdmitted { peer })).await;
                        owe_newcomer(premises, certificate, &me).await;
                        let _ = me.send(Turn::SendReceipts(peer)).await;
                    });
                }
                admission::Action::Dismiss { peer } => {
                    self.admitted.remove(&peer);
                    was_admitted = Some(peer);
                    self.link.desk.forget_summary(&peer);
                    self.log(now, log_sync::Event::PeerLost { peer }, me);
                    self.witness(now, witnessing::Event::PeerLost { peer }, me);
                    self.delivery(now, delivery::Event::PeerLost { peer }, me);
                }
                admission::Action::Close { peer, reason } => self.close(peer, &reason, was_admitted == Some(peer), me),
            }
        }
    }

    fn close(&mut self, peer: NodeId, reason: &admission::CloseReason, was_admitted: bool, me: &Addr<Federation>) {
        // A hello that broke off says nothing of who it was with: its address is tried again, and what was found out about
        // the peer before stays said. A refusal waits for an operator.
        let is_passing = remarks::is_passing(reason);
        let stays_said = is_passing && self.remarks.knows(&peer);
        if !stays_said && self.remarks.note(peer, &remarks::code_of(reason), reason, is_passing) {
            tracing::info!(%peer, %reason, "closed");
        }
        if matches!(reason, admission::CloseReason::Untrusted(_)) && !was_admitted {
            let me = me.clone();
            actix::spawn(async move {
                tokio::time::sleep(LINGER).await;
                let _ = me.send(Turn::HangUp(peer)).await;
            });
            return;
        }
        let network = self.link.network.clone();
        actix::spawn(async move {
            let _ = if is_passing { network.close(peer).await } else { network.disconnect(peer).await };
        });
    }

    fn redial(&self) {
        let (network, bootstrap) = (self.link.network.clone(), self.link.bootstrap.clone());
        actix::spawn(async move { dial_all(&network, &bootstrap).await });
    }

    fn witness(&mut self, now: Timestamp, event: witnessing::Event, me: &Addr<Federation>) {
        for witnessing::Action::Ask { peer, old } in self.witnessing.handle(now, event) {
            witness::ask(self.premises.clone(), self.link.network.clone(), peer, old, me.clone());
        }
    }

    pub(super) fn log(&mut self, now: Timestamp, event: log_sync::Event, me: &Addr<Federation>) {
        for action in self.log_sync.handle(now, event) {
            let (network, me) = (self.link.network.clone(), me.clone());
            match action {
                log_sync::Action::RequestEntries { peer, publisher, request } => {
                    actix::spawn(async move {
                        let answer = network.request(peer, Protocol::Log, request.encode(), EXCHANGE).await;
                        let response = answer.ok().and_then(|bytes| LogResponse::decode(&bytes).ok());
                        let event = match response {
                            Some(response) => log_sync::Event::EntriesReceived { peer, publisher, response },
                            None => log_sync::Event::RequestFailed { peer, publisher },
                        };
                        let _ = me.send(Turn::Log(event)).await;
                    });
                }
                log_sync::Action::StoreEntries { peer, from, entries, state } => {
                    let (premises, verification) = (self.premises.clone(), self.verification.clone());
                    let (publisher, size) = (state.publisher, state.range.size());
                    self.confirmed.insert(publisher, now);
                    actix::spawn(async move {
                        let is_own = publisher == premises.node();
                        let event = match taking::take_entries(premises, verification, from, entries, state, peer).await
                        {
                            Ok(()) => log_sync::Event::Stored { publisher, size },
                            Err(error) => {
                                tracing::error!(%publisher, %error, "entries of a log could not be kept");
                                log_sync::Event::StoreFailed { publisher }
                            }
                        };
                        let _ = me.send(Turn::Log(event)).await;
                        if is_own {
                            let _ = me.send(Turn::LogGrew).await;
                        }
                    });
                }
                log_sync::Action::SendHeads { peer, request } => {
                    actix::spawn(async move {
                        let answer = network.request(peer, Protocol::Log, request.encode(), EXCHANGE).await;
                        if let Ok(Ok(LogResponse::Heads(heads))) = answer.map(|b| LogResponse::decode(&b)) {
                            let _ = me.send(Turn::Log(log_sync::Event::HeadsReceived { peer, heads })).await;
                        }
                    });
                }
                log_sync::Action::Gossip(gossip) => {
                    let bytes = gossip.encode();
                    actix::spawn(async move {
                        for attempt in 0..GOSSIP_TRIES {
                            match network.publish(TOPIC, bytes.clone()).await {
                                Err(error) if error.is_retryable() => {
                                    tokio::time::sleep(Duration::from_millis(200 << attempt)).await;
                                }
                                Ok(()) | Err(_) => break,
                            }
                        }
                    });
                }
                log_sync::Action::JudgeGossip(verdict) => self.judge_gossip(verdict == GossipVerdict::Accept),
                log_sync::Action::Equivocation { proof } => {
                    tracing::error!(publisher = %proof.publisher, "a publisher showed two histories of its log");
                    own_log::keep_fork(self.premises.clone(), proof);
                }
                log_sync::Action::PenalisePeer { peer, fault } => {
                    tracing::warn!(%peer, %fault, "the peer is disconnected");
                    let event = self.premises.event("federation", "peer.fault", peer, "disconnected", fault);
                    self.write(Change::new(event));
                    self.remarks.note(peer, "fault", fault, false);
                    actix::spawn(async move { network.penalise(peer).await });
                }
                log_sync::Action::OwnLogBehind { checkpoint } => {
                    own_log::stop_behind(self.premises.clone(), checkpoint);
                }
                log_sync::Action::OwnLogBroken { checkpoint } => {
                    tracing::error!(
                        size = checkpoint.checkpoint().size,
                        "this node's log does not continue what it published before; what others hold is compared anew"
                    );
                    // In a turn of its own, for the machine is at work.
                    actix::spawn(async move { me.send(Turn::OwnLogDecided).await });
                }
            }
        }
    }

    fn judge_gossip(&mut self, accept: bool) {
        if let Some((message, from)) = self.gossip.take() {
            let network = self.link.network.clone();
            actix::spawn(async move { network.report_gossip(message, from, accept).await });
        }
    }

    fn write(&self, change: Change) {
        let premises = self.premises.clone();
        actix::spawn(async move {
            let written = blocking(move || Ok(premises.store.commit(change)?)).await;
            if let Err(error) = written {
                tracing::error!(%error, "could not be written down");
            }
        });
    }

    /// A publisher itself said how long its log is. If that is what is held here, the log is confirmed as of now.
    fn confirm(&mut self, now: Timestamp, peer: NodeId, heads: &Heads) {
        let says = heads.heads.iter().find(|h| h.publisher == peer).map(|h| h.size());
        let is_whole = says == Some(self.log_sync.size(&peer)) && says != Some(0);
        let is_due = self.confirmed.get(&peer).is_none_or(|at| has_passed(*at, CONFIRM_EVERY, now));
        if is_whole
            && is_due
            && let Some(size) = says
        {
            self.confirmed.insert(peer, now);
            taking::note_confirmed(self.premises.clone(), peer, size, now);
        }
    }

    /// Tells the machines what the store has beyond what they know.
    fn log_grew(&mut self, now: Timestamp, me: &Addr<Federation>) {
        if let Err(error) = self.try_log_grew(now, me) {
            tracing::error!(%error, "the own log cannot be read");
        }
    }

    fn try_log_grew(&mut self, now: Timestamp, me: &Addr<Federation>) -> Result<(), NodeError> {
        let own = self.premises.node();
        // The head first: entries are only ever added behind it.
        if let Some(head) = kept::log_head(&self.premises.store, &own, &own)? {
            let known = self.log_sync.size(&own);
            let n_new = usize::try_from(head.state.range.size().saturating_sub(known)).unwrap_or(usize::MAX);
            if n_new > 0 {
                let entries = kept::entries(&self.premises.store, &own, &own, known, n_new)?;
                self.log(now, log_sync::Event::Published { entries, checkpoint: head.state.checkpoint }, me);
            }
            let size = self.log_sync.size(&own);
            self.witness(now, witnessing::Event::HeadIs { size }, me);
        }
        for (notice, holder, _) in kept::open_obligations(&self.premises.store)? {
            self.delivery(now, delivery::Event::Obliged { notice, holder }, me);
        }
        self.delivery(now, delivery::Event::Tick, me);
        Ok(())
    }

    fn delivery(&mut self, now: Timestamp, event: delivery::Event, me: &Addr<Federation>) {
        for action in self.delivery.handle(now, event) {
            match action {
                delivery::Action::DeliverNotice { peer, notice } => self.deliver(peer, notice, me),
                delivery::Action::Record { acknowledgement: Some(word), .. } => {
                    let verification = self.verification.clone();
                    actix::spawn(async move {
                        let Some(door) = verification.get() else { return };
                        let note = NoteAcknowledgement { acknowledgement: Box::new(word) };
                        if let Err(error) = door.ask(note, crate::DEADLINE).await {
                            tracing::error!(%error, "an acknowledgement could not be kept");
                        }
                    });
                }
                delivery::Action::Record { notice, holder, standing, .. } => {
                    self.remark_obligation(notice, holder, standing)
                }
                delivery::Action::Overflow { notice, holder } => {
                    tracing::error!(%notice, %holder, "too many obligations; this one waits in the store");
                }
            }
        }
    }

    /// Writes down that a holder refused, or since when it is silent: both leave the obligation open, and visible.
    fn remark_obligation(&self, notice: Cid, holder: NodeId, standing: delivery::Standing) {
        let event = match &standing {
            delivery::Standing::Refused { reason, .. } => {
                tracing::warn!(%holder, %notice, reason, "a holder refuses a notice");
                self.premises.event(&holder.to_string(), "notice.refuse", notice, "refused", reason)
            }
            delivery::Standing::Silent { .. } => {
                self.premises.event(&holder.to_string(), "notice.silence", notice, "silent", "")
            }
            delivery::Standing::Open | delivery::Standing::Acknowledged { .. } => return,
        };
        let premises = self.premises.clone();
        actix::spawn(async move {
            let written = blocking(move || {
                let mut change = Change::new(event);
                let remark = |obligation: &mut kept::Obligation| match standing {
                    delivery::Standing::Refused { at, reason } => obligation.refused = Some((at, reason)),
                    delivery::Standing::Silent { since } => obligation.silent_since = Some(since),
                    delivery::Standing::Open | delivery::Standing::Acknowledged { .. } => {}
                };
                if kept::remark_obligation(&premises.store, &mut change, &notice, &holder, remark)? {
                    premises.store.commit(change)?;
                }
                Ok(())
            });
            if let Err(error) = written.await {
                tracing::error!(%error, "how an obligation stands could not be written down");
            }
        });
    }

    fn deliver(&self, peer: NodeId, notice: Cid, me: &Addr<Federation>) {
        let (premises, network, me) = (self.premises.clone(), self.link.network.clone(), me.clone());
        actix::spawn(async move {
            let request = blocking(move || {
                let absent = || NodeError::NotFound(notice.to_string());
                let signed = kept::notice(&premises.store, &notice)?.ok_or_else(absent)?.open()?;
                // Of whoever signed it, if that is a node: the publisher, or its successor.
                let certificate = match premises.certificate_of(signed.signer())? {
                    Some(certificate) => Some(certificate),
                    None => premises.certificate_of(&signed.value().publisher)?,
                };
                let certificate = certificate.ok_or_else(absent)?;
                Ok(NoticeRequest::Deliver { notice: signed, certificate }.encode())
            })
            .await;
            let event = match request {
                Ok(request) => match network.request(peer, Protocol::Notice, request, EXCHANGE).await {
                    Ok(bytes) => match NoticeResponse::decode(&bytes) {
                        Ok(response) => delivery::Event::Answered { peer, notice, response },
                        Err(_) => delivery::Event::DeliveryFailed { peer, notice },
                    },
                    Err(error) if error.was_sent() => delivery::Event::DeliveryFailed { peer, notice },
                    Err(_) => delivery::Event::NotSent { peer, notice },
                },
                Err(error) => {
                    tracing::error!(%notice, %error, "a notice that is owed cannot be read");
                    delivery::Event::NotSent { peer, notice }
                }
            };
            let _ = me.send(Turn::Delivery(event)).await;
        });
    }

    fn send_receipts(&self, giver: NodeId) {
        if !self.admitted.contains_key(&giver) {
            return;
        }
        let (premises, network) = (self.premises.clone(), self.link.network.clone());
        actix::spawn(async move {
            let owed = {
                let premises = premises.clone();
                blocking(move || receipts::owed_to(&premises, &giver)).await
            };
            for receipt in owed.unwrap_or_default() {
                let bundle = receipt.value().bundle;
                let request = NoticeRequest::Receipt(receipt).encode();
                let answer = network.request(giver, Protocol::Notice, request, EXCHANGE).await;
                let accepted = answer.ok().and_then(|bytes| NoticeResponse::decode(&bytes).ok());
                if let Some(NoticeResponse::Accepted) = accepted {
                    let premises = premises.clone();
                    if let Err(error) = blocking(move || receipts::accepted(&premises, &giver, &bundle)).await {
                        tracing::error!(%error, "that a receipt was accepted could not be written down");
                    }
                }
            }
        });
    }
}

/// Owes a peer the sealed notices of its own organisation that were published before it was known.
async fn owe_newcomer(premises: Arc<Premises>, certificate: Signed<Certificate>, me: &Addr<Federation>) {
    match blocking(move || crate::verification::owe_newcomer(&premises, certificate.value())).await {
        Ok(true) => {
            let _ = me.send(Turn::LogGrew).await;
        }
        Ok(false) => {}
        Err(error) => tracing::error!(%error, "what a newcomer is owed could not be written down"),
    }
}

async fn dial_all(network: &plumb_federation::driver::NetworkHandle, addresses: &[String]) {
    for address in addresses {
        if let Ok(address) = address.parse() {
            let _ = network.dial(address).await;
        }
    }
}
