//! The audit log: one event for every change, chained into a Merkle tree in the same batch as the change.
//!
//! A leaf is the event's stored bytes. Beside the leaves only the compact range of the tree is kept (a few dozen
//! hashes), so appending costs O(log n) and the head can be read without touching the leaves. A head that was written
//! down elsewhere proves later that nothing was taken out or changed.

use plumb_core::log::{CompactRange, Hash, leaf_hash};
use plumb_core::measure::Timestamp;
use serde::{Deserialize, Serialize};

use crate::error::StorageError;
use crate::keyspace::Keyspace;
use crate::outbox::{number_key, number_of};
use crate::records::Records;
use crate::stored;

const SHAPE: u8 = 1;

/// Leaves that are read at a time while verifying.
const PAGE: usize = 1024;

/// Who did what to what, and how it ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditEvent {
    /// When.
    pub at: Timestamp,
    /// Who: an entity, a node, or the part of this node that acted by itself.
    pub actor: String,
    /// What, as noun and verb: `source.ingest`.
    pub action: String,
    /// To what: a CID, an entity, a job.
    pub subject: String,
    /// How it ended: `ok`, `denied`, …
    pub outcome: String,
    /// What else should be known. Never the text of evidence.
    pub detail: String,
}

/// Size and root of the audit log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AuditHead {
    /// Events in it.
    pub size: u64,
    /// RFC 6962 tree hash over them.
    pub root: Hash,
}

impl AuditEvent {
    /// The leaf's bytes.
    pub(crate) fn to_leaf(&self) -> Result<Vec<u8>, StorageError> {
        stored::encode(Keyspace::Audit, SHAPE, self)
    }

    /// The event of a leaf.
    pub fn from_leaf(bytes: &[u8]) -> Result<AuditEvent, StorageError> {
        stored::decode(Keyspace::Audit, SHAPE, bytes)
    }
}

/// The compact range as it is kept in the store.
#[derive(Serialize, Deserialize)]
struct StoredRange {
    size: u64,
    hashes: Vec<serde_bytes::ByteBuf>,
}

pub(crate) fn encode_range(range: &CompactRange) -> Result<Vec<u8>, StorageError> {
    let hashes = range.hashes().iter().map(|h| serde_bytes::ByteBuf::from(h.to_vec())).collect();
    stored::encode(Keyspace::Meta, SHAPE, &StoredRange { size: range.size(), hashes })
}

pub(crate) fn decode_range(bytes: &[u8]) -> Result<CompactRange, StorageError> {
    let range: StoredRange = stored::decode(Keyspace::Meta, SHAPE, bytes)?;
    let hashes = range
        .hashes
        .into_iter()
        .map(|h| Hash::try_from(h.into_vec()))
        .collect::<Result<Vec<Hash>, _>>()
        .map_err(|_| StorageError::Decode { keyspace: Keyspace::Meta, reason: "a hash has 32 bytes".into() })?;
    CompactRange::from_hashes(range.size, hashes).map_err(StorageError::AuditHead)
}

/// Hashes every stored leaf again and compares with the head.
///
/// It may run beside writers: what is appended meanwhile lies behind the head that was read first.
pub(crate) fn verify(records: &(impl Records + ?Sized), head: AuditHead) -> Result<(), StorageError> {
    let mut range = CompactRange::new();
    while range.size() < head.size {
        let from = number_key(range.size());
        let rows = records.scan(Keyspace::Audit, &[], Some(&from), PAGE)?;
        if rows.is_empty() {
            return Err(StorageError::AuditBroken { index: range.size(), size: head.size });
        }
        for (key, leaf) in rows {
            if range.size() == head.size {
                break;
            }
            if number_of(Keyspace::Audit, &key)? != range.size() {
                return Err(StorageError::AuditBroken { index: range.size(), size: head.size });
            }
            range.append(leaf_hash(&leaf));
        }
    }
    if range.root() == head.root {
        Ok(())
    } else {
        Err(StorageError::AuditBroken { index: head.size, size: head.size })
    }
}
