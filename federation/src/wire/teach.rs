//! `/plumb/teach/1`: a piece of knowledge with the way that it came, and what the receiver makes of it.
//!
//! | version | since | change |
//! | --- | --- | --- |
//! | 1 | 0.1.0 | offer and reply |

use plumb_core::content::RawBlock;
use plumb_core::propagation::{HOPS_MAX, Reply, Taught};
use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;

use super::log::BusyV1;
use super::scan::Limits;
use super::{REASON_BYTES_MAX, RETRY_AFTER_MS_MAX, Unknown, WireError, field, frame};

/// The name of the protocol.
pub const PROTOCOL: &str = "/plumb/teach/1";

/// Largest signed teaching or hop, in bytes: some 400 each.
pub const SIGNED_BYTES_MAX: usize = 4 * 1024;

/// Largest chunk or source record, in bytes.
pub const BLOCK_BYTES_MAX: usize = 64 * 1024;

/// Hops that are read: one more than may be, so that *too far* is an answer and not an unreadable message.
const HOPS_READ_MAX: usize = HOPS_MAX + 1;

/// Largest request, in bytes.
pub const REQUEST_BYTES_MAX: usize = (1 + HOPS_READ_MAX) * SIGNED_BYTES_MAX + 2 * BLOCK_BYTES_MAX + 4 * 1024;

/// Largest response, in bytes.
pub const RESPONSE_BYTES_MAX: usize = REASON_BYTES_MAX + 4 * 1024;

const REQUEST_LIMITS: Limits = Limits { bytes: REQUEST_BYTES_MAX, items: 64 };

const RESPONSE_LIMITS: Limits = Limits { bytes: RESPONSE_BYTES_MAX, items: 64 };

/// What is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "an offer is the rule, and lives for one call")]
pub enum TeachRequest {
    /// "This is known here; do you want it?"
    Offer(Offer),
    /// A kind that a newer peer knows.
    Unknown(Unknown),
}

/// A teaching with its evidence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    /// What, and by which way.
    pub taught: Taught,
    /// The chunk that it names.
    pub chunk: RawBlock,
    /// The chunk's source record.
    pub source: RawBlock,
}

/// What is answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TeachResponse {
    /// What became of it.
    Reply {
        /// That.
        reply: Reply,
        /// How many teachings wait for a person there: whoever offers goes by it.
        n_pending: u64,
    },
    /// Not now.
    Busy {
        /// When to ask again.
        retry_after_ms: u64,
    },
    /// A kind that a newer peer knows.
    Unknown(Unknown),
}

#[derive(Serialize, Deserialize)]
struct OfferV1 {
    teaching: ByteBuf,
    hops: Vec<ByteBuf>,
    chunk: ByteBuf,
    source: ByteBuf,
}

#[derive(Serialize, Deserialize)]
struct ReplyV1 {
    reply: Reply,
    n_pending: u64,
}

impl From<&Offer> for OfferV1 {
    fn from(offer: &Offer) -> OfferV1 {
        OfferV1 {
            teaching: ByteBuf::from(offer.taught.teaching.to_bytes()),
            hops: offer.taught.hops.iter().map(|hop| ByteBuf::from(hop.to_bytes())).collect(),
            chunk: ByteBuf::from(offer.chunk.bytes.clone()),
            source: ByteBuf::from(offer.source.bytes.clone()),
        }
    }
}

impl TryFrom<OfferV1> for Offer {
    type Error = WireError;
    fn try_from(offer: OfferV1) -> Result<Offer, WireError> {
        field::at_most(offer.hops.len(), HOPS_READ_MAX, "hops")?;
        field::at_most(offer.chunk.len(), BLOCK_BYTES_MAX, "bytes of chunk")?;
        field::at_most(offer.source.len(), BLOCK_BYTES_MAX, "bytes of source record")?;
        let teaching = field::signed(&offer.teaching, "teaching", SIGNED_BYTES_MAX)?;
        let hops =
            offer.hops.iter().map(|hop| field::signed(hop, "hop", SIGNED_BYTES_MAX)).collect::<Result<_, _>>()?;
        let taught = Taught { teaching, hops };
        // The names are those of the teaching: bytes that are not what it names are no blocks.
        let said = taught.teaching.value();
        let (chunk, source) = (field::cid(said.chunk)?, field::cid(said.source)?);
        let chunk = RawBlock::checked(chunk, offer.chunk.into_vec()).map_err(WireError::Block)?;
        let source = RawBlock::checked(source, offer.source.into_vec()).map_err(WireError::Block)?;
        Ok(Offer { taught, chunk, source })
    }
}

impl TeachRequest {
    /// The frame.
    pub fn encode(&self) -> Vec<u8> {
        match self {
            TeachRequest::Offer(offer) => frame::encode(PROTOCOL, "offer", &OfferV1::from(offer)),
            TeachRequest::Unknown(unknown) => unknown.bytes.clone(),
        }
    }

    /// Reads a frame. Whether the way leads from whoever sends it to this node is asked where that is known.
    pub fn decode(bytes: &[u8]) -> Result<TeachRequest, WireError> {
        let frame = frame::open(bytes, PROTOCOL, REQUEST_LIMITS)?;
        Ok(match frame.kind {
            "offer" => TeachRequest::Offer(frame.body::<OfferV1>()?.try_into()?),
            _ => TeachRequest::Unknown(frame.unknown()),
        })
    }
}

impl TeachResponse {
    /// The frame.
    pub fn encode(&self) -> Vec<u8> {
        match self {
            TeachResponse::Reply { reply, n_pending } => {
                let reply = match reply {
                    Reply::Rejected { reason } => Reply::Rejected { reason: super::reason(reason) },
                    other => other.clone(),
                };
                frame::encode(PROTOCOL, "reply", &ReplyV1 { reply, n_pending: *n_pending })
            }
            TeachResponse::Busy { retry_after_ms } => {
                frame::encode(PROTOCOL, "busy", &BusyV1 { retry_after_ms: *retry_after_ms })
            }
            TeachResponse::Unknown(unknown) => unknown.bytes.clone(),
        }
    }

    /// Reads a frame.
    pub fn decode(bytes: &[u8]) -> Result<TeachResponse, WireError> {
        let frame = frame::open(bytes, PROTOCOL, RESPONSE_LIMITS)?;
        Ok(match frame.kind {
            "reply" => {
                let ReplyV1 { reply, n_pending } = frame.body()?;
                match &reply {
                    Reply::Rejected { reason } => field::at_most(reason.len(), REASON_BYTES_MAX, "bytes of reason")?,
                    Reply::SkippedDuplicate { of: cid } | Reply::PendingReview { against: cid } => {
                        field::cid(*cid)?;
                    }
                    Reply::Accepted | Reply::MaxHopsExceeded => {}
                }
                TeachResponse::Reply { reply, n_pending }
            }
            "busy" => {
                let asked = frame.body::<BusyV1>()?.retry_after_ms;
                TeachResponse::Busy { retry_after_ms: asked.min(RETRY_AFTER_MS_MAX) }
            }
            _ => TeachResponse::Unknown(frame.unknown()),
        })
    }
}
