//! What a node does with what arrives.

use plumb_core::identity::{NodeId, Signed};
use plumb_core::log::Hash;
use plumb_core::measure::Timestamp;
use plumb_core::notice::{Notice, Receipt};
use plumb_core::trust::{Certificate, Place, Published, is_signed_by_its_root};

use super::{Effect, Node, Write, byzantine, roots};
use crate::protocol::{delivery, log_sync};
use crate::sim::packet::{About, Message, Packet};
use crate::wire::WireError;
use crate::wire::log::{Heads, LogRequest, LogResponse};
use crate::wire::notice::{NoticeRequest, NoticeResponse};

/// Most packets that a replayer keeps.
const TAPE_MAX: usize = 64;

impl Node {
    /// Whether gossip is new here. It is asked before anything is decoded, as gossipsub does.
    pub(in crate::sim) fn is_news(&mut self, packet: &Packet) -> bool {
        let Some(running) = &mut self.running else {
            return false;
        };
        let short = |hash: Hash| hash.iter().take(8).fold(0u64, |short, byte| short << 8 | u64::from(*byte));
        packet.about != About::Gossip || running.seen.insert(short(packet.hash()))
    }

    /// A frame arrives.
    pub(in crate::sim) fn arrived(
        &mut self,
        now: Timestamp,
        peer: NodeId,
        packet: &Packet,
        message: Result<Message, WireError>,
    ) -> Vec<Effect> {
        if byzantine::records(self) {
            self.tape.push_back(packet.clone());
            self.tape.truncate(TAPE_MAX);
        }
        let Ok(message) = message else {
            return self.failed(now, peer, packet.about, None);
        };
        let mut effects = Vec::new();
        match message {
            Message::LogRequest(LogRequest::Entries { publisher, from, limit }) => {
                let response = self.disk.serve(publisher, from, limit);
                let publisher = Some(publisher);
                self.message(peer, Message::LogResponse { publisher, response }, &mut effects);
            }
            Message::LogRequest(request) => {
                let answer = self.running.as_mut().and_then(|running| running.sync.answer(&request));
                if let Some(heads) = answer {
                    let (publisher, response) = (None, LogResponse::Heads(heads));
                    self.message(peer, Message::LogResponse { publisher, response }, &mut effects);
                }
                let heads = match request {
                    LogRequest::Heads(heads) => heads,
                    LogRequest::Summary(summary) => {
                        Heads { heads: summary.own.into_iter().collect(), forks: Vec::new() }
                    }
                    LogRequest::Entries { .. } | LogRequest::AddCheckpoint(_) | LogRequest::Unknown(_) => {
                        return effects;
                    }
                };
                effects.extend(self.sync(now, log_sync::Event::HeadsReceived { peer, heads }, peer, None));
            }
            Message::LogResponse { publisher: None, response: LogResponse::Heads(heads) } => {
                effects.extend(self.sync(now, log_sync::Event::HeadsReceived { peer, heads }, peer, None));
            }
            Message::LogResponse { publisher: Some(publisher), response } => {
                let event = log_sync::Event::EntriesReceived { peer, publisher, response };
                effects.extend(self.sync(now, event, peer, None));
            }
            Message::LogResponse { .. } => {}
            Message::NoticeRequest(NoticeRequest::Deliver { notice, certificate }) => {
                self.delivered(peer, notice, certificate, &mut effects);
            }
            Message::NoticeRequest(NoticeRequest::Receipt(receipt)) => {
                if *receipt.signer() == receipt.value().importer && receipt.value().from == self.id {
                    effects.push(Effect::Write(Box::new(Write::Receipt(receipt))));
                }
            }
            Message::NoticeRequest(NoticeRequest::Unknown(_)) => {}
            Message::NoticeResponse { about, response: NoticeResponse::Accepted } => {
                if self.disk.owed.contains(&(about, peer)) {
                    effects.push(Effect::Write(Box::new(Write::Accepted { source: about, giver: peer })));
                }
            }
            Message::NoticeResponse { about, response } => {
                let event = delivery::Event::Answered { peer, notice: about, response };
                effects.extend(self.deliver(now, event));
            }
            Message::Gossip(gossip) => {
                let event = log_sync::Event::GossipReceived { peer, gossip };
                effects.extend(self.sync(now, event, peer, Some(packet)));
            }
        }
        effects
    }

    /// What a shell reports when a request came to nothing: it or its answer was lost, or could not be read. Of a lost
    /// request the message is known.
    pub(in crate::sim) fn failed(
        &mut self,
        now: Timestamp,
        peer: NodeId,
        about: About,
        asked: Option<Message>,
    ) -> Vec<Effect> {
        match (about, asked) {
            (About::LogResponse(Some(publisher)), _)
            | (_, Some(Message::LogRequest(LogRequest::Entries { publisher, .. }))) => {
                self.sync(now, log_sync::Event::RequestFailed { peer, publisher }, peer, None)
            }
            (About::NoticeResponse(notice), _) => self.deliver(now, delivery::Event::DeliveryFailed { peer, notice }),
            (_, Some(Message::NoticeRequest(NoticeRequest::Deliver { notice, .. }))) => {
                let notice = notice.cid();
                self.deliver(now, delivery::Event::DeliveryFailed { peer, notice })
            }
            _ => Vec::new(),
        }
    }

    /// A notice that somebody owes us. It is applied, on disk, before it is acknowledged; who brings it does not matter.
    fn delivered(
        &mut self,
        peer: NodeId,
        notice: Signed<Notice>,
        certificate: Signed<Certificate>,
        effects: &mut Vec<Effect>,
    ) {
        let about = notice.cid();
        if speaks(&notice, &certificate) {
            let (via, is_asked) = (peer, true);
            effects.push(Effect::Write(Box::new(Write::Apply { notice, certificate, via, is_asked })));
        } else {
            let reason = "the signer may not speak for the publisher".to_string();
            let response = NoticeResponse::Refused { reason };
            self.message(peer, Message::NoticeResponse { about, response }, effects);
        }
    }

    /// A receipt for what came from a peer.
    pub(super) fn send_receipts(&mut self, now: Timestamp, giver: NodeId, effects: &mut Vec<Effect>) {
        let owed: Vec<_> = self.disk.owed.iter().filter(|(_, to)| *to == giver).map(|(source, _)| *source).collect();
        for source in owed {
            let receipt = Receipt {
                tag: plumb_core::notice::ReceiptTag,
                bundle: source,
                sources: vec![source],
                importer: self.id,
                from: giver,
                may_share: true,
                at: now,
            };
            if let Ok(receipt) = Signed::seal(receipt, &self.key) {
                self.message(giver, Message::NoticeRequest(NoticeRequest::Receipt(receipt)), effects);
            }
        }
    }
}

/// Whether a notice is signed by the publisher that it names, or by the root of that publisher's organisation, which is
/// trusted here.
pub(super) fn speaks(notice: &Signed<Notice>, certificate: &Signed<Certificate>) -> bool {
    let (publisher, of) = (&notice.value().publisher, certificate.value());
    let is_known = is_signed_by_its_root(certificate) && roots().pins(&of.org) && of.node == *publisher;
    let published =
        Published { node: publisher, org: &of.org, department: Some(&of.department), certificate: Some(certificate) };
    is_known && roots().may_issue(notice, published, None, Place::Shown).is_ok()
}
