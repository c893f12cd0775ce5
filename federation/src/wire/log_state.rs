//! What a node keeps of one publisher's log, beside its entries: as a value, and as the bytes that are stored.

use plumb_core::identity::{NodeId, Signed};
use plumb_core::log::{CompactRange, Hash, SignedCheckpoint, verify_consistency};
use plumb_core::trust::Certificate;
use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;

use super::scan::Limits;
use super::{WireError, field, frame};

/// The tag of the record, which ends in its version.
pub const TYPE: &str = "plumb/log-state/1";

/// Largest record, in bytes: a checkpoint, two lists of hashes, a certificate.
pub const LOG_STATE_BYTES_MAX: usize = 64 * 1024;

const LIMITS: Limits = Limits { bytes: LOG_STATE_BYTES_MAX, items: 512 };

/// How far a log is held, and what proves it. It is stored in the transaction that stores the entries, and given back to
/// [`crate::protocol::LogSync`] at the next start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogState {
    /// Whose log.
    pub publisher: NodeId,
    /// Its right edge at the last entry that is held.
    pub range: CompactRange,
    /// The head under which the entries were taken up. If its size is not that of the range, the log is not yet held
    /// whole, and not served.
    pub checkpoint: SignedCheckpoint,
    /// Consistency proof from the range to the checkpoint; empty if it is whole.
    pub proof: Vec<Hash>,
    /// What the publisher's organisation says of it.
    pub certificate: Signed<Certificate>,
}

#[derive(Serialize, Deserialize)]
struct LogStateV1 {
    publisher: String,
    size: u64,
    range: Vec<ByteBuf>,
    checkpoint: String,
    proof: Vec<ByteBuf>,
    certificate: ByteBuf,
}

impl LogState {
    /// Whether every entry under the checkpoint is held.
    pub fn is_whole(&self) -> bool {
        self.range.size() == self.checkpoint.checkpoint().size
    }

    /// The record to store.
    pub fn encode(&self) -> Vec<u8> {
        let body = LogStateV1 {
            publisher: self.publisher.to_string(),
            size: self.range.size(),
            range: field::bytes_of(self.range.hashes()),
            checkpoint: self.checkpoint.as_str().to_string(),
            proof: field::bytes_of(&self.proof),
            certificate: ByteBuf::from(self.certificate.to_bytes()),
        };
        frame::encode(TYPE, "log", &body)
    }

    /// Reads a record, and checks that its checkpoint is of its range.
    pub fn decode(bytes: &[u8]) -> Result<LogState, WireError> {
        let frame = frame::open_only(bytes, TYPE, "log", LIMITS)?;
        let body: LogStateV1 = frame.body()?;
        let range = CompactRange::from_hashes(body.size, field::hashes(&body.range)?).map_err(WireError::Checkpoint)?;
        let checkpoint = field::checkpoint(&body.checkpoint)?;
        let proof = field::hashes(&body.proof)?;
        let head = checkpoint.checkpoint();
        verify_consistency(range.size(), &range.root(), head.size, &head.root, &proof)
            .map_err(WireError::Checkpoint)?;
        Ok(LogState {
            publisher: field::node(&body.publisher)?,
            range,
            checkpoint,
            proof,
            certificate: field::certificate(&body.certificate)?,
        })
    }
}
