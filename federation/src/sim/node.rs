//! A simulated node: a disk, the machines in memory, and the shell between them and the network.

mod disk;
mod publish;

use std::collections::BTreeSet;

use plumb_core::identity::{EntityId, NodeId, SecretKey, Signed};
use plumb_core::log::{Hash, leaf_hash};
use plumb_core::measure::{Duration, Timestamp};
use plumb_core::notice::{Acknowledgement, AcknowledgementTag};
use plumb_core::trust::{Certificate, Roots, certify};

use super::packet::{Message, Packet};
use super::{EPOCH, SimError, byzantine};
use crate::protocol::delivery;
use crate::protocol::log_sync::{self, Fault, GossipVerdict};
use crate::protocol::{Delivery, LogSync, Random};
use crate::wire::log::{Head, LogRequest, LogResponse};
use crate::wire::log_state::LogState;
use crate::wire::notice::{NoticeRequest, NoticeResponse};

pub(super) use disk::Disk;

/// How a node behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Behaviour {
    /// As it should.
    Honest,
    /// It changes what it passes on, signs for others, and acknowledges for others.
    Forger,
    /// It shows two histories of its own log.
    Equivocator,
}

/// What a node wants done.
#[derive(Clone, Debug)]
pub(super) enum Effect {
    Send {
        to: NodeId,
        packet: Packet,
    },
    /// To all neighbours.
    Publish {
        except: Option<NodeId>,
        packet: Packet,
    },
    Write(Box<Write>),
    Convicted {
        publisher: NodeId,
    },
    Blamed {
        peer: NodeId,
        fault: Fault,
    },
    Broke {
        invariant: &'static str,
        what: String,
    },
}

/// A write on its way to the disk.
#[derive(Clone, Debug)]
pub(super) struct Write {
    from: u64,
    entries: Vec<Vec<u8>>,
    state: LogState,
}

#[derive(Clone, Debug)]
struct Running {
    sync: LogSync,
    delivery: Delivery,
    /// Gossip that was seen, by its hash.
    seen: BTreeSet<Hash>,
}

/// Organisations; every node trusts them all.
const ORGS: [u8; 3] = [201, 202, 203];

#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) id: NodeId,
    pub(super) key: SecretKey,
    pub(super) certificate: Signed<Certificate>,
    pub(super) behaviour: Behaviour,
    pub(super) disk: Disk,
    /// Index of the first entry of its own log since it began to lie.
    pub(super) lies_from: Option<usize>,
    /// Counts boots, so that what belongs to an earlier life is not taken for this one's.
    pub(super) life: u64,
    pub(super) random: Random,
    skew_ms: i64,
    running: Option<Running>,
    n_published: u64,
}

fn root(org: u8) -> SecretKey {
    SecretKey::from_seed([org; 32])
}

fn roots() -> Roots {
    let named = |org: &u8| (root(*org).public(), format!("organisation {org}"));
    Roots(ORGS.iter().map(named).collect())
}

impl Node {
    pub(super) fn new(at: usize, behaviour: Behaviour, skew_ms: i64, random: Random) -> Result<Node, SimError> {
        let mut seed = [7; 32];
        seed[..8].copy_from_slice(&(at as u64).to_be_bytes());
        let key = SecretKey::from_seed(seed);
        let org = ORGS[at % ORGS.len()];
        let department: EntityId = "department-simulation".parse().map_err(|e| SimError::Name(format!("{e}")))?;
        let year = Duration::days(365);
        let certificate = certify(&root(org), "Simulated", key.public(), department, EPOCH, year)?;
        Ok(Node {
            id: key.public(),
            key,
            certificate,
            behaviour,
            disk: Disk::default(),
            lies_from: None,
            life: 0,
            random,
            skew_ms,
            running: None,
            n_published: 0,
        })
    }

    /// What its clock shows.
    pub(super) fn clock(&self, now: Timestamp) -> Timestamp {
        Timestamp(now.0 + self.skew_ms)
    }

    pub(super) fn is_up(&self) -> bool {
        self.running.is_some()
    }

    pub(super) fn lives(&self, life: u64) -> bool {
        self.is_up() && self.life == life
    }

    /// Starts from what is on the disk.
    pub(super) fn boot(&mut self, now: Timestamp, seed: u64) -> Result<(), SimError> {
        let states = self.disk.states()?;
        let certificate = self.certificate.clone();
        self.life += 1;
        self.running = Some(Running {
            sync: LogSync::new(certificate, roots(), states, self.disk.forks.values().cloned(), now, seed),
            delivery: Delivery::restore(self.disk.standings(), seed),
            seen: BTreeSet::new(),
        });
        Ok(())
    }

    pub(super) fn crash(&mut self) {
        self.running = None;
    }

    /// What it says of itself in a hello.
    pub(super) fn introduction(&mut self) -> (NodeId, Vec<Head>) {
        let heads = self.running.as_mut().map(|running| running.sync.heads().heads);
        (self.id, heads.unwrap_or_default())
    }

    pub(super) fn tick(&mut self, now: Timestamp) -> Result<Vec<Effect>, SimError> {
        let mut effects = self.sync(now, log_sync::Event::Tick, None)?;
        effects.extend(self.deliver(now, delivery::Event::Tick)?);
        if let Some(message) = byzantine::unprompted(self) {
            let packet = message.pack();
            effects.push(Effect::Publish { except: None, packet });
        }
        Ok(effects)
    }

    /// From here on it lies, if it is one that does.
    pub(super) fn begin_to_lie(&mut self) {
        self.lies_from = Some(self.disk.entries(&self.id).len());
    }

    pub(super) fn admitted(&mut self, now: Timestamp, peer: NodeId, heads: Vec<Head>) -> Result<Vec<Effect>, SimError> {
        let mut effects = self.sync(now, log_sync::Event::PeerAdmitted { peer, heads }, None)?;
        effects.extend(self.deliver(now, delivery::Event::PeerAdmitted { peer })?);
        Ok(effects)
    }

    pub(super) fn lost(&mut self, now: Timestamp, peer: NodeId) -> Vec<Effect> {
        if let Some(running) = &mut self.running {
            running.sync.handle(now, log_sync::Event::PeerLost { peer });
            running.delivery.handle(now, delivery::Event::PeerLost { peer });
        }
        Vec::new()
    }

    /// A frame arrives.
    pub(super) fn arrived(&mut self, now: Timestamp, peer: NodeId, packet: Packet) -> Result<Vec<Effect>, SimError> {
        let Ok(message) = packet.unpack() else {
            return self.failed(now, peer, packet);
        };
        match message {
            Message::LogRequest(LogRequest::Heads(heads)) => {
                let mut effects = Vec::new();
                if let Some(running) = &mut self.running {
                    let response = LogResponse::Heads(running.sync.heads());
                    let publisher = None;
                    effects.push(self.message(peer, Message::LogResponse { publisher, response }));
                }
                effects.extend(self.sync(now, log_sync::Event::HeadsReceived { peer, heads }, None)?);
                Ok(effects)
            }
            Message::LogRequest(LogRequest::Entries { publisher, from, limit }) => {
                let response = self.disk.serve(publisher, from, limit)?;
                let publisher = Some(publisher);
                Ok(vec![self.message(peer, Message::LogResponse { publisher, response })])
            }
            Message::LogRequest(LogRequest::AddCheckpoint(_) | LogRequest::Unknown(_)) => Ok(Vec::new()),
            Message::LogResponse { publisher: None, response: LogResponse::Heads(heads) } => {
                self.sync(now, log_sync::Event::HeadsReceived { peer, heads }, None)
            }
            Message::LogResponse { publisher: Some(publisher), response } => {
                let event = log_sync::Event::EntriesReceived { peer, publisher, response };
                self.sync(now, event, None)
            }
            Message::LogResponse { .. } => Ok(Vec::new()),
            Message::NoticeRequest(request) => self.notice_asked(now, peer, request),
            Message::NoticeResponse { notice, response } => {
                let event = delivery::Event::Answered { peer, notice, response };
                self.deliver(now, event)
            }
            Message::Gossip(gossip) => {
                let Packet::Gossip(bytes) = packet else {
                    return Ok(Vec::new());
                };
                let is_new = self.running.as_mut().is_some_and(|running| running.seen.insert(leaf_hash(&bytes)));
                if !is_new {
                    return Ok(Vec::new());
                }
                let event = log_sync::Event::GossipReceived { peer, gossip };
                self.sync(now, event, Some((peer, bytes)))
            }
        }
    }

    /// What a shell reports when a request came to nothing: it or its answer was lost, or could not be read.
    pub(super) fn failed(&mut self, now: Timestamp, peer: NodeId, packet: Packet) -> Result<Vec<Effect>, SimError> {
        let asked = match &packet {
            Packet::LogRequest(_) | Packet::NoticeRequest(_) => packet.unpack().ok(),
            _ => None,
        };
        match (packet, asked) {
            (Packet::LogResponse { publisher: Some(publisher), .. }, _)
            | (_, Some(Message::LogRequest(LogRequest::Entries { publisher, .. }))) => {
                self.sync(now, log_sync::Event::RequestFailed { peer, publisher }, None)
            }
            (Packet::NoticeResponse { notice, .. }, _) => {
                self.deliver(now, delivery::Event::DeliveryFailed { peer, notice })
            }
            (_, Some(Message::NoticeRequest(NoticeRequest::Deliver { notice, .. }))) => {
                let notice = notice.cid();
                self.deliver(now, delivery::Event::DeliveryFailed { peer, notice })
            }
            _ => Ok(Vec::new()),
        }
    }

    /// A notice for something that we hold: it is applied, on disk, before it is acknowledged.
    fn notice_asked(&mut self, now: Timestamp, peer: NodeId, request: NoticeRequest) -> Result<Vec<Effect>, SimError> {
        let NoticeRequest::Deliver { notice, .. } = request else {
            return Ok(Vec::new());
        };
        let named = notice.cid();
        let response = if *notice.signer() == notice.value().publisher {
            self.disk.applied.insert(named);
            let acknowledgement = Acknowledgement {
                tag: AcknowledgementTag,
                notice: named,
                by: self.id,
                n_units: 1,
                n_answers: 0,
                at: now,
            };
            NoticeResponse::Acknowledged(Signed::seal(acknowledgement, &self.key)?)
        } else {
            let reason = "the signer may not speak for the publisher".to_string();
            NoticeResponse::Refused { reason }
        };
        let notice = named;
        Ok(vec![self.message(peer, Message::NoticeResponse { notice, response })])
    }

    /// A write has reached the disk.
    pub(super) fn written(&mut self, now: Timestamp, write: Write) -> Result<Vec<Effect>, SimError> {
        let (publisher, size) = (write.state.publisher, write.state.range.size());
        if !self.disk.append(write.from, write.entries, &write.state) {
            let what = format!("entries {}.. of {publisher} do not follow", write.from);
            return Ok(vec![Effect::Broke { invariant: "SIM-1", what }]);
        }
        self.sync(now, log_sync::Event::Stored { publisher, size }, None)
    }

    /// Gives the log machine an event, and performs its actions. `gossip` is the frame that the event came from.
    fn sync(
        &mut self,
        now: Timestamp,
        event: log_sync::Event,
        gossip: Option<(NodeId, Vec<u8>)>,
    ) -> Result<Vec<Effect>, SimError> {
        let Some(running) = &mut self.running else {
            return Ok(Vec::new());
        };
        let mut effects = Vec::new();
        for action in running.sync.handle(now, event) {
            match action {
                log_sync::Action::RequestEntries { peer, request, .. }
                | log_sync::Action::SendHeads { peer, request } => {
                    effects.push(self.message(peer, Message::LogRequest(request)));
                }
                log_sync::Action::StoreEntries { from, entries, state } => {
                    if self.disk.forks.contains_key(&state.publisher) {
                        let what = format!("entries of {} are taken up", state.publisher);
                        effects.push(Effect::Broke { invariant: "SIM-5", what });
                    }
                    effects.push(Effect::Write(Box::new(Write { from, entries, state })));
                }
                log_sync::Action::Gossip(gossip) => {
                    // A node that lies has its own way to gossip.
                    if !byzantine::is_lying(self) {
                        let packet = Message::Gossip(gossip).pack();
                        effects.push(Effect::Publish { except: None, packet });
                    }
                }
                log_sync::Action::JudgeGossip(GossipVerdict::Accept) => {
                    if let Some((peer, bytes)) = &gossip {
                        effects.push(Effect::Publish { except: Some(*peer), packet: Packet::Gossip(bytes.clone()) });
                    }
                }
                log_sync::Action::JudgeGossip(_) => {}
                log_sync::Action::Equivocation { proof } => {
                    let publisher = proof.publisher;
                    if let Err(error) = proof.check() {
                        let what = format!("the proof against {publisher} is none: {error}");
                        effects.push(Effect::Broke { invariant: "SIM-5", what });
                    }
                    self.disk.forks.insert(publisher, proof);
                    effects.push(Effect::Convicted { publisher });
                }
                log_sync::Action::PenalisePeer { peer, fault } => {
                    if self.behaviour == Behaviour::Honest {
                        effects.push(Effect::Blamed { peer, fault });
                    }
                }
                // Its own machine will have no part in it.
                log_sync::Action::OwnLogBroken { .. } if byzantine::is_lying(self) => {
                    if let Some(gossip) = byzantine::insistence(self) {
                        effects.push(Effect::Publish { except: None, packet: gossip.pack() });
                    }
                }
                log_sync::Action::OwnLogBehind { .. } | log_sync::Action::OwnLogBroken { .. } => {
                    let what = format!("{action:?}");
                    effects.push(Effect::Broke { invariant: "SIM-2", what });
                }
            }
        }
        Ok(effects)
    }

    /// Gives the delivery machine an event, and performs its actions.
    fn deliver(&mut self, now: Timestamp, event: delivery::Event) -> Result<Vec<Effect>, SimError> {
        let Some(running) = &mut self.running else {
            return Ok(Vec::new());
        };
        let mut effects = Vec::new();
        for action in running.delivery.handle(now, event) {
            match action {
                delivery::Action::DeliverNotice { peer, notice } => {
                    if self.disk.is_acknowledged(&notice, &peer) {
                        let what = format!("{notice} was sent again to {peer}");
                        effects.push(Effect::Broke { invariant: "SIM-4", what });
                    }
                    if let Some(notice) = self.disk.notices.get(&notice) {
                        let request =
                            NoticeRequest::Deliver { notice: notice.clone(), certificate: self.certificate.clone() };
                        effects.push(self.message(peer, Message::NoticeRequest(request)));
                    }
                }
                delivery::Action::Record { notice, holder, standing, .. } => {
                    self.disk.obligations.insert((notice, holder), standing);
                }
                delivery::Action::Overflow { .. } => {}
            }
        }
        Ok(effects)
    }

    fn message(&mut self, to: NodeId, message: Message) -> Effect {
        let packet = byzantine::outgoing(self, &to, message).pack();
        Effect::Send { to, packet }
    }
}
