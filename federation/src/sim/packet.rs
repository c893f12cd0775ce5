//! What travels between simulated nodes: the frames of the wire, with what a real transport knows about them.

use cid::Cid;
use plumb_core::identity::NodeId;

use crate::wire::WireError;
use crate::wire::gossip::Gossip;
use crate::wire::log::{LogRequest, LogResponse};
use crate::wire::notice::{NoticeRequest, NoticeResponse};

/// A frame on the way. The transport knows to which request a response belongs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Packet {
    LogRequest(Vec<u8>),
    LogResponse {
        /// Whose log was asked for, unless heads were.
        publisher: Option<NodeId>,
        bytes: Vec<u8>,
    },
    NoticeRequest(Vec<u8>),
    NoticeResponse {
        notice: Cid,
        bytes: Vec<u8>,
    },
    Gossip(Vec<u8>),
}

/// A message, before it is encoded and after it is decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "a response is the rule, and lives for one call")]
pub(super) enum Message {
    LogRequest(LogRequest),
    LogResponse { publisher: Option<NodeId>, response: LogResponse },
    NoticeRequest(NoticeRequest),
    NoticeResponse { notice: Cid, response: NoticeResponse },
    Gossip(Gossip),
}

impl Message {
    pub(super) fn pack(&self) -> Packet {
        match self {
            Message::LogRequest(request) => Packet::LogRequest(request.encode()),
            Message::LogResponse { publisher, response } => {
                Packet::LogResponse { publisher: *publisher, bytes: response.encode() }
            }
            Message::NoticeRequest(request) => Packet::NoticeRequest(request.encode()),
            Message::NoticeResponse { notice, response } => {
                Packet::NoticeResponse { notice: *notice, bytes: response.encode() }
            }
            Message::Gossip(gossip) => Packet::Gossip(gossip.encode()),
        }
    }
}

impl Packet {
    /// Whether it answers a request.
    pub(super) fn is_answer(&self) -> bool {
        matches!(self, Packet::LogResponse { .. } | Packet::NoticeResponse { .. })
    }

    pub(super) fn unpack(&self) -> Result<Message, WireError> {
        Ok(match self {
            Packet::LogRequest(bytes) => Message::LogRequest(LogRequest::decode(bytes)?),
            Packet::LogResponse { publisher, bytes } => {
                Message::LogResponse { publisher: *publisher, response: LogResponse::decode(bytes)? }
            }
            Packet::NoticeRequest(bytes) => Message::NoticeRequest(NoticeRequest::decode(bytes)?),
            Packet::NoticeResponse { notice, bytes } => {
                Message::NoticeResponse { notice: *notice, response: NoticeResponse::decode(bytes)? }
            }
            Packet::Gossip(bytes) => Message::Gossip(Gossip::decode(bytes)?),
        })
    }
}
