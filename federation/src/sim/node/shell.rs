//! The shell around a node's machines: it feeds them events and performs their actions.

use plumb_core::identity::{NodeId, Signed};
use plumb_core::measure::Timestamp;
use plumb_core::notice::{Acknowledgement, AcknowledgementTag};

use super::{Effect, Fact, Node, SimError, Write, byzantine};
use crate::protocol::delivery::{self, Standing};
use crate::protocol::log_sync::{self, GossipVerdict};
use crate::sim::packet::{Message, Packet};
use crate::wire::notice::{NoticeRequest, NoticeResponse};

/// How many ticks pass between two tries to give a receipt.
const RECEIPT_EVERY_TICKS: u64 = 10;

/// What the machines and others are told of a write, once it is on the disk.
#[derive(Debug, Default)]
pub(super) struct Told {
    logs: Vec<log_sync::Event>,
    deliveries: Vec<delivery::Event>,
    messages: Vec<(NodeId, Message)>,
}

impl Node {
    pub(in crate::sim) fn tick(&mut self, now: Timestamp) -> Vec<Effect> {
        let own = self.id;
        let mut effects = self.sync(now, log_sync::Event::Tick, own, None);
        effects.extend(self.deliver(now, delivery::Event::Tick));
        let Some(running) = &mut self.running else {
            return effects;
        };
        running.n_ticks += 1;
        if running.n_ticks.is_multiple_of(RECEIPT_EVERY_TICKS) && !self.disk.owed.is_empty() {
            let here: Vec<NodeId> = running.peers.iter().copied().collect();
            here.into_iter().for_each(|giver| self.send_receipts(now, giver, &mut effects));
        }
        for packet in byzantine::unprompted(self) {
            effects.push(Effect::Publish { except: None, packet });
        }
        effects
    }

    pub(in crate::sim) fn admitted(
        &mut self,
        now: Timestamp,
        peer: NodeId,
        heads: Vec<crate::wire::log::Head>,
    ) -> Vec<Effect> {
        if let Some(running) = &mut self.running {
            running.peers.insert(peer);
        }
        let mut effects = self.sync(now, log_sync::Event::PeerAdmitted { peer, heads }, peer, None);
        effects.extend(self.deliver(now, delivery::Event::PeerAdmitted { peer }));
        self.send_receipts(now, peer, &mut effects);
        effects
    }

    pub(in crate::sim) fn lost(&mut self, now: Timestamp, peer: NodeId) {
        if let Some(running) = &mut self.running {
            running.peers.remove(&peer);
            running.sync.handle(now, log_sync::Event::PeerLost { peer });
            running.delivery.handle(now, delivery::Event::PeerLost { peer });
        }
    }

    /// The next write has reached the disk.
    pub(in crate::sim) fn flushed(&mut self, now: Timestamp) -> Result<Vec<Effect>, SimError> {
        let Some(write) = self.queue.pop_front() else {
            return Ok(Vec::new());
        };
        let (facts, told) = self.commit(write)?;
        let own = self.id;
        let mut effects: Vec<Effect> = facts.into_iter().map(Effect::Fact).collect();
        for event in told.logs {
            effects.extend(self.sync(now, event, own, None));
        }
        for event in told.deliveries {
            effects.extend(self.deliver(now, event));
        }
        for (to, message) in told.messages {
            self.message(to, message, &mut effects);
        }
        Ok(effects)
    }

    /// Changes the disk.
    pub(super) fn commit(&mut self, write: Write) -> Result<(Vec<Fact>, Told), SimError> {
        let (mut facts, mut told) = (Vec::new(), Told::default());
        let obliged = |notice, holder| delivery::Event::Obliged { notice, holder };
        match write {
            Write::Own { entries, notices, sources } => {
                sources.iter().for_each(|source| self.disk.shelf.take_in(source.clone()));
                for notice in &notices {
                    let holders = self.disk.apply(notice, &self.certificate);
                    told.deliveries.extend(holders.into_iter().map(|holder| obliged(notice.cid(), holder)));
                }
                let bytes: Vec<Vec<u8>> = entries.iter().map(|leaf| leaf.bytes.clone()).collect();
                let state = self.disk.append_own(&self.key, &self.certificate, entries)?;
                let (publisher, size, root) = (self.id, state.range.size(), state.range.root());
                let taken: Vec<_> = sources.iter().map(|source| source.cid).collect();
                facts.push(Fact::Published { notices: notices.clone(), sources });
                facts.push(Fact::Grew { publisher, size, root });
                facts.extend(notices.into_iter().map(|notice| Fact::Applied { notice, via: None }));
                facts.extend(taken.into_iter().map(|source| Fact::TookIn { source }));
                told.logs.push(log_sync::Event::Published { entries: bytes, checkpoint: state.checkpoint });
            }
            Write::Apply { notice, certificate, via, is_asked } => {
                let is_new = !self.disk.shelf.knows(&notice.cid());
                let holders = self.disk.apply(&notice, &certificate);
                told.deliveries.extend(holders.into_iter().map(|holder| obliged(notice.cid(), holder)));
                if is_asked {
                    let word = Acknowledgement {
                        tag: AcknowledgementTag,
                        notice: notice.cid(),
                        by: self.id,
                        n_units: 1,
                        n_answers: 0,
                        at: notice.value().issued_at,
                    };
                    let response = NoticeResponse::Acknowledged(Signed::seal(word, &self.key)?);
                    told.messages.push((via, Message::NoticeResponse { about: notice.cid(), response }));
                }
                if is_new {
                    facts.push(Fact::Applied { notice, via: Some(via) });
                }
            }
            Write::Entries { from, entries, state } => {
                let (publisher, size, root) = (state.publisher, state.range.size(), state.range.root());
                if self.disk.forks.contains_key(&publisher) {
                    facts.push(Fact::Quarantined { publisher });
                }
                if self.disk.append(from, entries, state) {
                    facts.push(Fact::Grew { publisher, size, root });
                    told.logs.push(log_sync::Event::Stored { publisher, size });
                } else {
                    facts.push(Fact::Gap { publisher, from });
                }
            }
            Write::TakeIn { source, giver } => {
                let cid = source.cid;
                self.disk.shelf.take_in(source);
                self.disk.owed.extend(giver.map(|giver| (cid, giver)));
                facts.push(Fact::TookIn { source: cid });
            }
            Write::Receipt(receipt) => {
                let importer = receipt.value().importer;
                let owed = self.disk.receipt(receipt.value());
                told.deliveries.extend(owed.into_iter().map(|notice| obliged(notice, importer)));
                let (about, response) = (receipt.value().bundle, NoticeResponse::Accepted);
                told.messages.push((importer, Message::NoticeResponse { about, response }));
            }
            Write::Accepted { source, giver } => {
                self.disk.owed.remove(&(source, giver));
            }
            Write::Standing { notice, holder, standing } => {
                if matches!(standing, Standing::Acknowledged { .. }) {
                    facts.push(Fact::Closed { notice, holder });
                }
                self.disk.obligations.insert((notice, holder), standing);
            }
            Write::Fork(proof) => {
                self.disk.forks.insert(proof.publisher, *proof);
            }
        }
        Ok((facts, told))
    }

    /// Gives the log machine an event that came from somebody, and performs its actions. `gossip` is the frame that it
    /// came in.
    pub(super) fn sync(
        &mut self,
        now: Timestamp,
        event: log_sync::Event,
        via: NodeId,
        gossip: Option<&Packet>,
    ) -> Vec<Effect> {
        let Some(running) = &mut self.running else {
            return Vec::new();
        };
        let mut effects = Vec::new();
        for action in running.sync.handle(now, event) {
            match action {
                log_sync::Action::RequestEntries { peer, request, .. }
                | log_sync::Action::SendHeads { peer, request } => {
                    self.message(peer, Message::LogRequest(request), &mut effects);
                }
                log_sync::Action::StoreEntries { peer, from, entries, state } => {
                    effects.push(Effect::Store { from, entries, state: Box::new(state), via: peer });
                }
                log_sync::Action::Gossip(gossip) => {
                    // A node that shows two histories has its own way to gossip.
                    if byzantine::gossips(self) {
                        let packet = Message::Gossip(gossip).pack();
                        effects.push(Effect::Publish { except: None, packet });
                    }
                }
                log_sync::Action::JudgeGossip(GossipVerdict::Accept) => {
                    if let Some(packet) = gossip.filter(|_| byzantine::gossips(self)) {
                        effects.push(Effect::Publish { except: Some(via), packet: packet.clone() });
                    }
                }
                log_sync::Action::JudgeGossip(_) => {}
                log_sync::Action::Equivocation { proof } => {
                    let proof = Box::new(proof);
                    effects.push(Effect::Write(Box::new(Write::Fork(proof.clone()))));
                    effects.push(Effect::Fact(Fact::Convicted { proof }));
                }
                log_sync::Action::PenalisePeer { peer, fault } => {
                    effects.push(Effect::Fact(Fact::Blamed { peer, fault }));
                }
                // Its own machine will have no part in it.
                log_sync::Action::OwnLogBroken { .. } if byzantine::is_lying(self) => {
                    if let Some(gossip) = byzantine::insistence(self) {
                        effects.push(Effect::Publish { except: None, packet: gossip.pack() });
                    }
                }
                log_sync::Action::OwnLogBehind { .. } | log_sync::Action::OwnLogBroken { .. } => {
                    effects.push(Effect::Fact(Fact::OwnLog(format!("{action:?}"))));
                }
            }
        }
        effects
    }

    /// Gives the delivery machine an event, and performs its actions.
    pub(super) fn deliver(&mut self, now: Timestamp, event: delivery::Event) -> Vec<Effect> {
        let Some(running) = &mut self.running else {
            return Vec::new();
        };
        let mut effects = Vec::new();
        for action in running.delivery.handle(now, event) {
            match action {
                delivery::Action::DeliverNotice { peer, notice } => {
                    let signed = self.disk.shelf.notice(&notice).cloned();
                    let publisher = signed.as_ref().map(|signed| signed.value().publisher);
                    let certificate = publisher.and_then(|publisher| self.disk.certificate(&publisher).cloned());
                    if let Some((notice, certificate)) = signed.zip(certificate) {
                        effects.push(Effect::Fact(Fact::Delivered { notice: notice.cid(), holder: peer }));
                        let request = NoticeRequest::Deliver { notice, certificate };
                        self.message(peer, Message::NoticeRequest(request), &mut effects);
                    } else {
                        effects.extend(self.deliver(now, delivery::Event::NotSent { peer, notice }));
                    }
                }
                // The obligation was opened in the transaction that gave cause to it.
                delivery::Action::Record { standing: Standing::Open, .. } => {}
                delivery::Action::Record { notice, holder, standing, .. } => {
                    if matches!(standing, Standing::Acknowledged { .. }) {
                        effects.push(Effect::Fact(Fact::Heard { notice, holder }));
                    }
                    effects.push(Effect::Write(Box::new(Write::Standing { notice, holder, standing })));
                }
                delivery::Action::Overflow { .. } => {}
            }
        }
        effects
    }
}
