//! How simulated nodes lie.
//!
//! A liar runs the honest machines, and changes what they send.

use plumb_core::content::RawBlock;
use plumb_core::identity::{NodeId, Signed};
use plumb_core::log::{Checkpoint, Hash, consistency_proof, leaf_hash, root_of};
use plumb_core::notice::{Acknowledgement, Notice};

use super::node::{Behaviour, Node};
use super::packet::Message;
use crate::wire::gossip::Gossip;
use crate::wire::log::{Head, Heads, LogRequest, LogResponse, Page, public_origin};
use crate::wire::log_entry::LogEntry;
use crate::wire::notice::NoticeResponse;

/// The history that an equivocator shows to the other half of its neighbours: its first entry since it began to lie is
/// another one.
pub(super) struct OtherFace {
    pub(super) entries: Vec<Vec<u8>>,
    leaves: Vec<Hash>,
}

/// Whether a node lies now.
pub(super) fn is_lying(node: &Node) -> bool {
    node.lies_from.is_some() && node.behaviour != Behaviour::Honest
}

/// The second history of an equivocator, once it has one.
pub(super) fn other_face(node: &Node) -> Option<OtherFace> {
    if node.behaviour != Behaviour::Equivocator {
        return None;
    }
    let mut entries = node.disk.entries(&node.id).to_vec();
    let differs = entries.get_mut(node.lies_from?)?;
    let cid = RawBlock::raw(differs.clone()).cid;
    *differs = LogEntry::Bundle { cid }.encode();
    let leaves = entries.iter().map(|entry| leaf_hash(entry)).collect();
    Some(OtherFace { entries, leaves })
}

/// What a liar says of its own accord.
pub(super) fn unprompted(node: &mut Node) -> Option<Message> {
    if node.behaviour != Behaviour::Forger || !is_lying(node) || !node.random.chance(100) {
        return None;
    }
    let others: Vec<NodeId> = node.disk.sizes().map(|(id, _)| *id).filter(|id| *id != node.id).collect();
    let publisher = *node.random.pick(&others)?;
    let index = node.disk.entries(&publisher).len() as u64;
    Some(Message::Gossip(Gossip {
        publisher,
        index,
        entry: invented(node, publisher)?,
        checkpoint: forged_head(node, publisher, index + 1)?.checkpoint,
        certificate: node.disk.state(&publisher).ok()??.certificate,
    }))
}

/// The newest entry of a liar's own log, said to all although it is convicted.
pub(super) fn insistence(node: &Node) -> Option<Message> {
    let state = node.disk.state(&node.id).ok()??;
    let entry = node.disk.entries(&node.id).last()?.clone();
    Some(Message::Gossip(Gossip {
        publisher: node.id,
        index: state.range.size().checked_sub(1)?,
        entry,
        checkpoint: state.checkpoint,
        certificate: state.certificate,
    }))
}

/// What a node sends in place of what its machines would have it send.
pub(super) fn outgoing(node: &mut Node, to: &NodeId, message: Message) -> Message {
    if !is_lying(node) {
        return message;
    }
    let lie = match node.behaviour {
        Behaviour::Honest => None,
        Behaviour::Forger => forged(node, message.clone()),
        Behaviour::Equivocator => two_faced(node, to, message.clone()),
    };
    lie.unwrap_or(message)
}

/// A forger has heads, pages, and acknowledgements of its own making.
fn forged(node: &mut Node, message: Message) -> Option<Message> {
    Some(match message {
        Message::LogRequest(LogRequest::Heads(heads)) => {
            Message::LogRequest(LogRequest::Heads(forged_heads(node, heads)?))
        }
        Message::LogResponse { publisher, response } => {
            let response = match response {
                LogResponse::Heads(heads) => LogResponse::Heads(forged_heads(node, heads)?),
                LogResponse::Page(page) => LogResponse::Page(forged_page(node, page)?),
                other => other,
            };
            Message::LogResponse { publisher, response }
        }
        Message::NoticeResponse { notice, response } => {
            let response = match response {
                NoticeResponse::Acknowledged(word) => forged_word(node, &word)?,
                other => other,
            };
            Message::NoticeResponse { notice, response }
        }
        other @ (Message::LogRequest(_) | Message::NoticeRequest(_) | Message::Gossip(_)) => other,
    })
}

/// Says that somebody's log is longer than it is.
fn forged_heads(node: &mut Node, mut heads: Heads) -> Option<Heads> {
    for head in &mut heads.heads {
        if head.publisher != node.id && node.random.chance(300) {
            *head = forged_head(node, head.publisher, head.size() + 1)?;
        }
    }
    Some(heads)
}

/// A head in the name of another, under the forger's own key.
fn forged_head(node: &Node, publisher: NodeId, size: u64) -> Option<Head> {
    let origin = public_origin(&publisher).ok()?;
    let root = leaf_hash(b"forged");
    let checkpoint = Checkpoint { origin, size, root }.sign(&node.key);
    Some(Head { publisher, checkpoint })
}

/// Changes an entry, invents one, drops one, breaks a proof, or vouches with its own certificate.
fn forged_page(node: &mut Node, mut page: Page) -> Option<Page> {
    if page.publisher == node.id {
        return Some(page);
    }
    match node.random.below(6) {
        0 => page.entries.last_mut()?.push(0),
        1 => *page.entries.first_mut()? = invented(node, page.publisher)?,
        2 => drop(page.entries.pop()),
        3 => page.root = leaf_hash(b"forged"),
        4 => page.certificate = node.certificate.clone(),
        _ => {
            let size = page.from + page.entries.len() as u64;
            page.checkpoint = forged_head(node, page.publisher, size)?.checkpoint;
        }
    }
    Some(page)
}

/// A notice in the name of another.
fn invented(node: &Node, publisher: NodeId) -> Option<Vec<u8>> {
    let notice = node.disk.notices.values().next()?;
    let notice = Notice { publisher, ..notice.value().clone() };
    Some(LogEntry::Notice(Signed::seal(notice, &node.key).ok()?).encode())
}

/// The word of another, under the forger's own key.
fn forged_word(node: &Node, word: &Signed<Acknowledgement>) -> Option<NoticeResponse> {
    let (by, _) = node.disk.sizes().find(|(id, _)| **id != node.id)?;
    let by = *by;
    let forged = Acknowledgement { by, ..word.value().clone() };
    Some(NoticeResponse::Acknowledged(Signed::seal(forged, &node.key).ok()?))
}

/// To half of the others an equivocator shows its second history.
fn two_faced(node: &Node, to: &NodeId, message: Message) -> Option<Message> {
    if to.as_bytes().first()? % 2 == 0 {
        return None;
    }
    let face = other_face(node)?;
    let origin = public_origin(&node.id).ok()?;
    let size = face.leaves.len() as u64;
    let root = root_of(&face.leaves);
    let checkpoint = Checkpoint { origin, size, root }.sign(&node.key);
    let turned = |mut heads: Heads| {
        for head in heads.heads.iter_mut().filter(|head| head.publisher == node.id) {
            head.checkpoint = checkpoint.clone();
        }
        heads
    };
    Some(match message {
        Message::LogRequest(LogRequest::Heads(heads)) => Message::LogRequest(LogRequest::Heads(turned(heads))),
        Message::LogResponse { publisher, response: LogResponse::Heads(heads) } => {
            Message::LogResponse { publisher, response: LogResponse::Heads(turned(heads)) }
        }
        Message::LogResponse { publisher, response: LogResponse::Page(page) } if page.publisher == node.id => {
            let from = usize::try_from(page.from).ok()?;
            let end = from + page.entries.len();
            let response = LogResponse::Page(Page {
                root: root_of(face.leaves.get(..from)?),
                extends: consistency_proof(&face.leaves, page.from).ok()?,
                entries: face.entries.get(from..end)?.to_vec(),
                rest: consistency_proof(&face.leaves, end as u64).ok()?,
                checkpoint: checkpoint.clone(),
                ..page
            });
            Message::LogResponse { publisher, response }
        }
        other => other,
    })
}
