//! How simulated nodes lie.
//!
//! A liar runs the honest machines, and changes what they send, or says more than they do.

use plumb_core::content::RawBlock;
use plumb_core::identity::{NodeId, SecretKey, Signed};
use plumb_core::log::{Checkpoint, Hash, consistency_proof, leaf_hash, root_of};
use plumb_core::measure::Duration;
use plumb_core::notice::{Acknowledgement, Notice};
use plumb_core::trust::{Certificate, certify};

use super::EPOCH;
use super::node::{Behaviour, Node};
use super::packet::{About, Message, Packet};
use crate::wire::gossip::Gossip;
use crate::wire::log::{Head, Heads, LogRequest, LogResponse, Page, public_origin};
use crate::wire::log_entry::LogEntry;
use crate::wire::notice::NoticeResponse;

/// Messages that a flooder sends to each neighbour with every tick.
const FLOOD: usize = 3;

/// The history that an equivocator shows to the other half of its neighbours: its first entry since it began to lie is
/// another one.
pub(super) struct OtherFace {
    entries: Vec<Vec<u8>>,
    pub(super) leaves: Vec<Hash>,
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
    let mut entries: Vec<Vec<u8>> = node.disk.entries(&node.id).iter().map(|leaf| leaf.bytes.clone()).collect();
    let differs = entries.get_mut(node.lies_from?)?;
    let cid = RawBlock::raw(differs.clone()).cid;
    *differs = LogEntry::Bundle { cid }.encode();
    let leaves = entries.iter().map(|entry| leaf_hash(entry)).collect();
    Some(OtherFace { entries, leaves })
}

/// Whether a node publishes and passes on gossip as its machines say.
pub(super) fn gossips(node: &Node) -> bool {
    // Who shows two histories shows them in answers; who withholds passes nothing on.
    let silent = matches!(node.behaviour, Behaviour::Equivocator | Behaviour::Withholder);
    !(silent && is_lying(node))
}

/// Whether a node keeps what it hears, to say it again.
pub(super) fn records(node: &Node) -> bool {
    matches!(node.behaviour, Behaviour::Replayer | Behaviour::Flooder)
}

/// What a liar says of its own accord, to all its neighbours.
pub(super) fn unprompted(node: &mut Node) -> Vec<Packet> {
    if !is_lying(node) {
        return Vec::new();
    }
    match node.behaviour {
        Behaviour::Forger if node.random.chance(100) => invention(node).map(|lie| lie.pack()).into_iter().collect(),
        Behaviour::Flooder => (0..FLOOD).filter_map(|_| flood(node)).collect(),
        Behaviour::Replayer => repeated(node).into_iter().collect(),
        _ => Vec::new(),
    }
}

/// Garbage, a publisher that does not exist, or something old.
fn flood(node: &mut Node) -> Option<Packet> {
    match node.random.below(8) {
        0..=2 => {
            let n_bytes = node.random.below(400);
            let bytes = (0..n_bytes).map(|_| node.random.number().to_le_bytes()[0]).collect();
            Some(Packet::new(About::Gossip, bytes))
        }
        3 => {
            let mut seed = [0; 32];
            seed[..8].copy_from_slice(&node.random.number().to_le_bytes());
            let key = SecretKey::from_seed(seed);
            let publisher = key.public();
            let (origin, size) = (public_origin(&publisher).ok()?, 1 + node.random.below(1000));
            let checkpoint = Checkpoint { origin, size, root: leaf_hash(b"made up") }.sign(&key);
            let heads = vec![Head { publisher, checkpoint }];
            Some(Message::LogRequest(LogRequest::Heads(Heads { heads, forks: Vec::new() })).pack())
        }
        _ => repeated(node),
    }
}

/// Something that was said before and can be said without being asked.
fn repeated(node: &mut Node) -> Option<Packet> {
    let old: Vec<Packet> = node.tape.iter().filter(|packet| !packet.is_answer()).cloned().collect();
    node.random.pick(&old).cloned()
}

/// A next entry of somebody's log, or a true one under a certificate that looks like that of a stranger.
fn invention(node: &mut Node) -> Option<Message> {
    let others: Vec<NodeId> = node.disk.logs().map(|log| log.publisher).filter(|id| *id != node.id).collect();
    let publisher = *node.random.pick(&others)?;
    if node.random.chance(500) {
        let certificate = made_up_certificate(node, publisher)?;
        return Some(Message::Gossip(Gossip { certificate, ..last_gossip(node, &publisher)? }));
    }
    let index = node.disk.size(&publisher);
    Some(Message::Gossip(Gossip {
        publisher,
        index,
        entry: invented(node, publisher)?,
        checkpoint: forged_head(node, publisher, index + 1)?.checkpoint,
        certificate: node.disk.state(&publisher)?.certificate.clone(),
    }))
}

/// The newest entry of a liar's own log, said to all although it is convicted.
pub(super) fn insistence(node: &Node) -> Option<Message> {
    last_gossip(node, &node.id).map(Message::Gossip)
}

/// What was last gossiped of a log, as far as it is held.
fn last_gossip(node: &Node, publisher: &NodeId) -> Option<Gossip> {
    let state = node.disk.state(publisher)?.clone();
    let entry = node.disk.entries(publisher).last()?.bytes.clone();
    Some(Gossip {
        publisher: *publisher,
        index: state.range.size().checked_sub(1)?,
        entry,
        checkpoint: state.checkpoint,
        certificate: state.certificate,
    })
}

/// A certificate for somebody under a root that nobody pins. Nothing in it is false but whose word it is.
fn made_up_certificate(node: &mut Node, publisher: NodeId) -> Option<Signed<Certificate>> {
    let root = SecretKey::from_seed([66 + u8::try_from(node.random.below(8)).ok()?; 32]);
    let department = node.certificate.value().department.clone();
    certify(&root, "Made up", publisher, department, EPOCH, Duration::days(365)).ok()
}

/// What a node sends in place of what its machines would have it send, if anything.
pub(super) fn outgoing(node: &mut Node, to: &NodeId, message: Message) -> Option<Packet> {
    if !is_lying(node) {
        return Some(message.pack());
    }
    let lie = match node.behaviour {
        Behaviour::Honest | Behaviour::Flooder => None,
        Behaviour::Forger => forged(node, message.clone()),
        Behaviour::Equivocator => two_faced(node, to, message.clone()),
        Behaviour::Withholder => match message {
            Message::LogResponse { publisher: Some(publisher), .. } if node.random.chance(500) => {
                let response = LogResponse::Missing { publisher };
                Some(Message::LogResponse { publisher: Some(publisher), response })
            }
            Message::LogResponse { publisher: Some(_), .. } | Message::NoticeResponse { .. } => return None,
            _ => None,
        },
        Behaviour::Replayer => {
            let answer = message.pack();
            let is_like = |old: &&Packet| answer.is_answer() && old.about == answer.about;
            let old: Vec<Packet> = node.tape.iter().filter(is_like).cloned().collect();
            let old = node.random.pick(&old).filter(|_| node.random.clone().chance(500)).cloned();
            return Some(old.map_or(answer.clone(), |old| old.about(answer.about)));
        }
    };
    Some(lie.unwrap_or(message).pack())
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
        Message::NoticeResponse { about, response } => {
            let response = match response {
                NoticeResponse::Acknowledged(word) => forged_word(node, &word)?,
                other => other,
            };
            Message::NoticeResponse { about, response }
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

/// Changes an entry, invents one, drops one, breaks a proof, or vouches with its own certificate or with a stranger's.
fn forged_page(node: &mut Node, mut page: Page) -> Option<Page> {
    if page.publisher == node.id {
        return Some(page);
    }
    match node.random.below(7) {
        0 => page.entries.last_mut()?.push(0),
        1 => *page.entries.first_mut()? = invented(node, page.publisher)?,
        2 => drop(page.entries.pop()),
        3 => page.root = leaf_hash(b"forged"),
        4 => page.certificate = node.certificate.clone(),
        5 => page.certificate = made_up_certificate(node, page.publisher)?,
        _ => {
            let size = page.from + page.entries.len() as u64;
            page.checkpoint = forged_head(node, page.publisher, size)?.checkpoint;
        }
    }
    Some(page)
}

/// A notice in the name of another.
fn invented(node: &Node, publisher: NodeId) -> Option<Vec<u8>> {
    let notice = node.disk.shelf.notices().first()?;
    let notice = Notice { publisher, ..notice.value().clone() };
    Some(LogEntry::Notice(Signed::seal(notice, &node.key).ok()?).encode())
}

/// The word of another, under the forger's own key.
fn forged_word(node: &Node, word: &Signed<Acknowledgement>) -> Option<NoticeResponse> {
    let by = node.disk.logs().map(|log| log.publisher).find(|id| *id != node.id)?;
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
        Message::LogRequest(LogRequest::Summary(mut summary)) => {
            summary.own.iter_mut().for_each(|head| head.checkpoint = checkpoint.clone());
            Message::LogRequest(LogRequest::Summary(summary))
        }
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
