//! `/plumb/blocks/1`: blocks by their name.
//!
//! The name is the hash of the bytes, so it does not matter who gives them; whoever reads an answer has checked each.
//!
//! | version | since | change |
//! | --- | --- | --- |
//! | 1 | 0.1.0 | blocks, denied, busy |

use std::collections::BTreeSet;

use cid::Cid;
use plumb_core::content::RawBlock;
use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;

use super::log::BusyV1;
use super::scan::Limits;
use super::{RETRY_AFTER_MS_MAX, Unknown, WireError, field, frame};

/// The name of the protocol.
pub const PROTOCOL: &str = "/plumb/blocks/1";

/// Most blocks of one request.
pub const CIDS_MAX: usize = 64;

/// Largest block that crosses the wire, in bytes: the raw bytes of a scanned report. Larger ones are missing to others.
pub const BLOCK_BYTES_MAX: usize = 8 * 1024 * 1024;

/// Largest request, in bytes.
pub const REQUEST_BYTES_MAX: usize = CIDS_MAX * 48 + 4 * 1024;

/// Largest response, in bytes: one block of the largest kind, or many small ones.
pub const RESPONSE_BYTES_MAX: usize = BLOCK_BYTES_MAX + 64 * 1024;

/// What a block takes beside its bytes: its name, and the names of the fields.
const BLOCK_OVERHEAD_BYTES: usize = 128;

const REQUEST_LIMITS: Limits = Limits { bytes: REQUEST_BYTES_MAX, items: CIDS_MAX + 64 };

const RESPONSE_LIMITS: Limits = Limits { bytes: RESPONSE_BYTES_MAX, items: CIDS_MAX * 8 + 64 };

/// "Give me these."
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlocksRequest {
    /// Which, each once.
    pub cids: BTreeSet<Cid>,
}

/// Blocks that were asked for. One that is neither given nor missing did not fit: ask for it again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Blocks {
    /// Those that are given. Their bytes are checked.
    pub blocks: Vec<RawBlock>,
    /// Those that the peer does not hold, or does not give to whoever asks.
    pub missing: Vec<Cid>,
}

/// What is answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BlocksResponse {
    /// Blocks.
    Blocks(Blocks),
    /// It does not answer whoever asked.
    Denied {
        /// Why.
        reason: String,
    },
    /// Not now.
    Busy {
        /// When to ask again.
        retry_after_ms: u64,
    },
    /// A kind that a newer peer knows.
    Unknown(Unknown),
}

impl BlocksRequest {
    /// Asks for so many of these as one request can.
    pub fn new(cids: impl IntoIterator<Item = Cid>) -> BlocksRequest {
        let mut asked = BTreeSet::new();
        for cid in cids {
            if asked.len() == CIDS_MAX {
                break;
            }
            asked.insert(cid);
        }
        BlocksRequest { cids: asked }
    }
}

impl Blocks {
    /// Gathers what is asked for, as far as it fits. `lookup` says what is held and may be given.
    pub fn gather(request: &BlocksRequest, mut lookup: impl FnMut(&Cid) -> Option<Vec<u8>>) -> Blocks {
        let mut gathered = Blocks::default();
        let mut left = BLOCK_BYTES_MAX + BLOCK_OVERHEAD_BYTES;
        for cid in &request.cids {
            match lookup(cid).filter(|bytes| bytes.len() <= BLOCK_BYTES_MAX) {
                Some(bytes) if bytes.len() + BLOCK_OVERHEAD_BYTES <= left => {
                    left -= bytes.len() + BLOCK_OVERHEAD_BYTES;
                    gathered.blocks.push(RawBlock { cid: *cid, bytes });
                }
                Some(_) => {}
                None => gathered.missing.push(*cid),
            }
        }
        gathered
    }

    /// Refuses what was not asked for, and what came twice.
    pub fn check_asked(&self, request: &BlocksRequest) -> Result<(), WireError> {
        let mut open = request.cids.clone();
        let named = self.blocks.iter().map(|b| &b.cid).chain(&self.missing);
        for cid in named {
            if !open.remove(cid) {
                return Err(WireError::Unasked(*cid));
            }
        }
        Ok(())
    }
}

#[derive(Serialize, Deserialize)]
struct AskV1 {
    cids: Vec<Cid>,
}

#[derive(Serialize, Deserialize)]
struct BlockV1 {
    cid: Cid,
    bytes: ByteBuf,
}

#[derive(Serialize, Deserialize)]
struct BlocksV1 {
    blocks: Vec<BlockV1>,
    missing: Vec<Cid>,
}

impl From<&Blocks> for BlocksV1 {
    fn from(blocks: &Blocks) -> BlocksV1 {
        let block = |b: &RawBlock| BlockV1 { cid: b.cid, bytes: ByteBuf::from(b.bytes.clone()) };
        BlocksV1 { blocks: blocks.blocks.iter().map(block).collect(), missing: blocks.missing.clone() }
    }
}

impl TryFrom<BlocksV1> for Blocks {
    type Error = WireError;
    fn try_from(blocks: BlocksV1) -> Result<Blocks, WireError> {
        let n = blocks.blocks.len() + blocks.missing.len();
        field::at_most(n, CIDS_MAX, "blocks")?;
        let checked = blocks.blocks.into_iter().map(|b| {
            field::at_most(b.bytes.len(), BLOCK_BYTES_MAX, "bytes of block")?;
            RawBlock::checked(b.cid, b.bytes.into_vec()).map_err(WireError::Block)
        });
        Ok(Blocks {
            blocks: checked.collect::<Result<_, _>>()?,
            missing: blocks.missing.into_iter().map(field::cid).collect::<Result<_, _>>()?,
        })
    }
}

impl BlocksRequest {
    /// The frame.
    pub fn encode(&self) -> Vec<u8> {
        let cids = self.cids.iter().copied().collect();
        frame::encode(PROTOCOL, "ask_blocks", &AskV1 { cids })
    }

    /// Reads a frame.
    pub fn decode(bytes: &[u8]) -> Result<BlocksRequest, WireError> {
        let frame = frame::open_only(bytes, PROTOCOL, "ask_blocks", REQUEST_LIMITS)?;
        let body: AskV1 = frame.body()?;
        field::at_most(body.cids.len(), CIDS_MAX, "blocks")?;
        if !body.cids.is_sorted_by(|a, b| a < b) {
            return Err(WireError::Contradiction("the blocks that are asked for are not in order, each once"));
        }
        let cids = body.cids.into_iter().map(field::cid);
        Ok(BlocksRequest { cids: cids.collect::<Result<_, _>>()? })
    }
}

impl BlocksResponse {
    /// The frame.
    pub fn encode(&self) -> Vec<u8> {
        match self {
            BlocksResponse::Blocks(blocks) => frame::encode(PROTOCOL, "blocks", &BlocksV1::from(blocks)),
            BlocksResponse::Denied { reason } => {
                let reason = super::reason(reason);
                frame::encode(PROTOCOL, "denied", &frame::ReasonV1 { reason })
            }
            BlocksResponse::Busy { retry_after_ms } => {
                let retry_after_ms = *retry_after_ms;
                frame::encode(PROTOCOL, "busy", &BusyV1 { retry_after_ms })
            }
            BlocksResponse::Unknown(unknown) => unknown.bytes.clone(),
        }
    }

    /// Reads a frame and checks each block against its name. Whether it was asked for is [`Blocks::check_asked`].
    pub fn decode(bytes: &[u8]) -> Result<BlocksResponse, WireError> {
        let frame = frame::open(bytes, PROTOCOL, RESPONSE_LIMITS)?;
        Ok(match frame.kind {
            "blocks" => BlocksResponse::Blocks(frame.body::<BlocksV1>()?.try_into()?),
            "denied" => BlocksResponse::Denied { reason: field::reason(frame.body::<frame::ReasonV1>()?.reason)? },
            "busy" => {
                let asked = frame.body::<BusyV1>()?.retry_after_ms;
                BlocksResponse::Busy { retry_after_ms: asked.min(RETRY_AFTER_MS_MAX) }
            }
            _ => BlocksResponse::Unknown(frame.unknown()),
        })
    }
}
