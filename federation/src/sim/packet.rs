//! What travels between simulated nodes: the frames of the wire, with what a real transport knows about them.
//!
//! Frames are shared: one that goes to ten thousand nodes is kept once, and the real decoder reads it once. Reading is a
//! function of the bytes, signatures included, so its result is remembered with them; the same holds for the checkpoints
//! inside, which are one value wherever the same text arrives.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use cid::Cid;
use plumb_core::identity::NodeId;
use plumb_core::log::{Hash, SignedCheckpoint, leaf_hash};

use super::node::Leaf;
use crate::wire::WireError;
use crate::wire::gossip::Gossip;
use crate::wire::log::{Heads, LogRequest, LogResponse};
use crate::wire::notice::{NoticeRequest, NoticeResponse};

/// Most frames, checkpoints and entries that are remembered at a time; then all are forgotten, and read anew.
const REMEMBERED_MAX: usize = 1 << 16;

/// What the transport knows of a frame: the protocol, and of a response to which request it belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum About {
    LogRequest,
    /// Whose log was asked for, unless heads were.
    LogResponse(Option<NodeId>),
    NoticeRequest,
    /// The notice that was delivered, or the source that was receipted.
    NoticeResponse(Cid),
    Gossip,
}

#[derive(Debug)]
struct Frame {
    bytes: Vec<u8>,
    hash: OnceLock<Hash>,
    read: OnceLock<Result<Message, WireError>>,
}

/// A frame on the way.
#[derive(Clone, Debug)]
pub(super) struct Packet {
    pub(super) about: About,
    frame: Arc<Frame>,
}

/// A message, before it is encoded and after it is decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Message {
    LogRequest(LogRequest),
    LogResponse { publisher: Option<NodeId>, response: LogResponse },
    NoticeRequest(NoticeRequest),
    NoticeResponse { about: Cid, response: NoticeResponse },
    Gossip(Gossip),
}

impl Message {
    pub(super) fn pack(&self) -> Packet {
        let (about, bytes) = match self {
            Message::LogRequest(request) => (About::LogRequest, request.encode()),
            Message::LogResponse { publisher, response } => (About::LogResponse(*publisher), response.encode()),
            Message::NoticeRequest(request) => (About::NoticeRequest, request.encode()),
            Message::NoticeResponse { about, response } => (About::NoticeResponse(*about), response.encode()),
            Message::Gossip(gossip) => (About::Gossip, gossip.encode()),
        };
        Packet::new(about, bytes)
    }
}

impl Packet {
    pub(super) fn new(about: About, bytes: Vec<u8>) -> Packet {
        Packet { about, frame: Arc::new(Frame { bytes, hash: OnceLock::new(), read: OnceLock::new() }) }
    }

    /// The same frame as an answer to another request.
    pub(super) fn about(&self, about: About) -> Packet {
        Packet::new(about, self.frame.bytes.clone())
    }

    pub(super) fn n_bytes(&self) -> usize {
        self.frame.bytes.len()
    }

    /// What names the frame, as gossipsub names it: by its content.
    pub(super) fn hash(&self) -> Hash {
        *self.frame.hash.get_or_init(|| leaf_hash(&self.frame.bytes))
    }

    /// Whether it answers a request.
    pub(super) fn is_answer(&self) -> bool {
        matches!(self.about, About::LogResponse(_) | About::NoticeResponse(_))
    }

    fn decode(&self) -> Result<Message, WireError> {
        let bytes = &self.frame.bytes;
        Ok(match self.about {
            About::LogRequest => Message::LogRequest(LogRequest::decode(bytes)?),
            About::LogResponse(publisher) => Message::LogResponse { publisher, response: LogResponse::decode(bytes)? },
            About::NoticeRequest => Message::NoticeRequest(NoticeRequest::decode(bytes)?),
            About::NoticeResponse(about) => Message::NoticeResponse { about, response: NoticeResponse::decode(bytes)? },
            About::Gossip => Message::Gossip(Gossip::decode(bytes)?),
        })
    }
}

/// What all nodes share, because it is the same bytes.
#[derive(Debug, Default)]
pub(super) struct Post {
    frames: BTreeMap<Hash, Packet>,
    checkpoints: BTreeMap<String, SignedCheckpoint>,
    leaves: BTreeMap<Hash, Arc<Leaf>>,
}

impl Post {
    /// The packet that is on the way already, if these bytes are.
    pub(super) fn shared(&mut self, packet: Packet) -> Packet {
        if self.frames.len() >= REMEMBERED_MAX {
            self.frames.clear();
        }
        let known = self.frames.entry(packet.hash()).or_insert_with(|| packet.clone());
        // What the transport knows may differ for equal bytes, and decides how they are read.
        if known.about == packet.about { known.clone() } else { packet }
    }

    /// The entry that somebody holds already, if it is the same.
    pub(super) fn leaf(&mut self, leaf: Arc<Leaf>) -> Arc<Leaf> {
        if self.leaves.len() >= REMEMBERED_MAX {
            self.leaves.clear();
        }
        self.leaves.entry(leaf.hash).or_insert(leaf).clone()
    }

    pub(super) fn read(&mut self, packet: &Packet) -> Result<Message, WireError> {
        let read = packet.frame.read.get_or_init(|| {
            let mut message = packet.decode()?;
            match &mut message {
                Message::LogRequest(LogRequest::Heads(heads))
                | Message::LogResponse { response: LogResponse::Heads(heads), .. } => self.share_heads(heads),
                Message::LogRequest(LogRequest::Summary(summary)) => {
                    summary.own.iter_mut().for_each(|head| self.share(&mut head.checkpoint));
                }
                Message::LogResponse { response: LogResponse::Page(page), .. } => self.share(&mut page.checkpoint),
                Message::Gossip(gossip) => self.share(&mut gossip.checkpoint),
                _ => {}
            }
            Ok(message)
        });
        read.clone()
    }

    fn share_heads(&mut self, heads: &mut Heads) {
        heads.heads.iter_mut().for_each(|head| self.share(&mut head.checkpoint));
    }

    fn share(&mut self, checkpoint: &mut SignedCheckpoint) {
        if self.checkpoints.len() >= REMEMBERED_MAX {
            self.checkpoints.clear();
        }
        match self.checkpoints.get(checkpoint.as_str()) {
            Some(known) => *checkpoint = known.clone(),
            None => {
                self.checkpoints.insert(checkpoint.as_str().to_string(), checkpoint.clone());
            }
        }
    }
}
