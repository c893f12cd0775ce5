//! Gossip on `plumb/notices/1/public`: the newest entry of a log, as soon as it is written.
//!
//! It is for speed. Whoever holds everything before it takes it up at once; anybody else learns from its checkpoint that
//! there is something to fetch. What gossip loses, log sync brings.

use plumb_core::identity::{NodeId, Signed};
use plumb_core::log::SignedCheckpoint;
use plumb_core::trust::Certificate;
use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;

use super::log_entry::ENTRY_BYTES_MAX;
use super::scan::Limits;
use super::{CERTIFICATE_BYTES_MAX, CHECKPOINT_BYTES_MAX, WireError, field, frame};

/// The topic of the public logs.
pub const TOPIC: &str = "plumb/notices/1/public";

/// The tag of the message, which ends in its version.
pub const TYPE: &str = "plumb/notices/1";

/// Largest message, in bytes: an entry, a checkpoint and a certificate.
pub const MESSAGE_BYTES_MAX: usize = ENTRY_BYTES_MAX + CHECKPOINT_BYTES_MAX + CERTIFICATE_BYTES_MAX + 4 * 1024;

const LIMITS: Limits = Limits { bytes: MESSAGE_BYTES_MAX, items: 64 };

/// The last entry of a log.
///
/// **Not verified yet**: [`crate::protocol::LogSync`] knows whether it follows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gossip {
    /// Whose log.
    pub publisher: NodeId,
    /// Index of the entry, which is the last under the checkpoint.
    pub index: u64,
    /// The entry, byte for byte.
    pub entry: Vec<u8>,
    /// The head of the log with it.
    pub checkpoint: SignedCheckpoint,
    /// What the publisher's organisation says of it.
    pub certificate: Signed<Certificate>,
}

#[derive(Serialize, Deserialize)]
struct GossipV1 {
    publisher: String,
    index: u64,
    entry: ByteBuf,
    checkpoint: String,
    certificate: ByteBuf,
}

impl Gossip {
    /// The message.
    pub fn encode(&self) -> Vec<u8> {
        let body = GossipV1 {
            publisher: self.publisher.to_string(),
            index: self.index,
            entry: ByteBuf::from(self.entry.clone()),
            checkpoint: self.checkpoint.as_str().to_string(),
            certificate: ByteBuf::from(self.certificate.to_bytes()),
        };
        frame::encode(TYPE, "entry", &body)
    }

    /// Reads a message.
    pub fn decode(bytes: &[u8]) -> Result<Gossip, WireError> {
        let frame = frame::open_only(bytes, TYPE, "entry", LIMITS)?;
        let body: GossipV1 = frame.body()?;
        field::at_most(body.entry.len(), ENTRY_BYTES_MAX, "bytes of entry")?;
        let checkpoint = field::checkpoint(&body.checkpoint)?;
        if body.index.checked_add(1) != Some(checkpoint.checkpoint().size) {
            return Err(WireError::Contradiction("the entry is not the last under its checkpoint"));
        }
        Ok(Gossip {
            publisher: field::node(&body.publisher)?,
            index: body.index,
            entry: body.entry.into_vec(),
            checkpoint,
            certificate: field::certificate(&body.certificate)?,
        })
    }
}
