//! The outbox: what a change asks of the text index, written in the same batch as the change itself.
//!
//! The index is a copy that may lag; the outbox is what makes the lag finite. Rows are numbered without gaps. The
//! index writer takes them in order, and only when every partition has committed past a row is it trimmed.

use cid::Cid;
use plumb_core::boundary::Sensitivity;
use plumb_core::identity::EntityId;
use plumb_core::knowledge::KnowledgeUnit;
use serde::{Deserialize, Serialize};

use crate::error::StorageError;
use crate::keyspace::Keyspace;
use crate::stored;

const SHAPE: u8 = 1;

/// A point in the life of the store: how many index operations had been written by then. A change without any has
/// the position of the change before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Position(pub u64);

/// Something to do to the text index.
///
/// The words are not in it: the index writer reads them from the chunk's block, which is therefore stored in the same
/// change or an earlier one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IndexOp {
    /// Makes the chunk findable under these labels, and under no others: whatever was indexed of it before goes, in
    /// whichever partition it was.
    Add {
        /// The partition.
        sensitivity: Sensitivity,
        /// The chunk.
        chunk: Cid,
        /// The entity of the unit's scope.
        scope: EntityId,
        /// The department whose node published it.
        department: EntityId,
        /// Who brought it in.
        creator: Option<EntityId>,
    },
    /// Makes the chunk unfindable, in whichever partition it is.
    Remove {
        /// The chunk.
        chunk: Cid,
    },
}

impl IndexOp {
    /// What the index should hold of a unit: it is findable while it is active.
    pub fn of(unit: &KnowledgeUnit) -> IndexOp {
        if unit.is_active() {
            IndexOp::Add {
                sensitivity: unit.sensitivity,
                chunk: unit.chunk,
                scope: unit.scope.entity.clone(),
                department: unit.origin.department.clone(),
                creator: unit.origin.creator.clone(),
            }
        } else {
            IndexOp::Remove { chunk: unit.chunk }
        }
    }

    /// The chunk that it is about.
    pub fn chunk(&self) -> &Cid {
        match self {
            IndexOp::Add { chunk, .. } | IndexOp::Remove { chunk } => chunk,
        }
    }

    pub(crate) fn to_row(&self) -> Result<Vec<u8>, StorageError> {
        stored::encode(Keyspace::Outbox, SHAPE, self)
    }

    pub(crate) fn from_row(bytes: &[u8]) -> Result<IndexOp, StorageError> {
        stored::decode(Keyspace::Outbox, SHAPE, bytes)
    }
}

/// The key of a numbered row: numbers sort as their big-endian bytes do.
pub(crate) fn number_key(n: u64) -> [u8; 8] {
    n.to_be_bytes()
}

/// The number in such a key.
pub(crate) fn number_of(keyspace: Keyspace, key: &[u8]) -> Result<u64, StorageError> {
    let bytes = key
        .try_into()
        .map_err(|_| StorageError::Decode { keyspace, reason: format!("a key has {} bytes, not 8", key.len()) })?;
    Ok(u64::from_be_bytes(bytes))
}
