//! From an operation to the words that it needs.

use cid::Cid;
use plumb_core::boundary::Sensitivity;
use plumb_core::content::Chunk;
use plumb_core::retrieval;

use super::error::{IndexError, chain};
use super::fields::Entry;
use crate::error::StorageError;
use crate::outbox::IndexOp;
use crate::records::Blocks;
use crate::store::Store;

/// An operation with the words that it needs.
pub(super) enum Reading {
    Entry {
        class: Sensitivity,
        entry: Entry,
        body: String,
    },
    /// It is to be removed.
    Gone(Cid),
    /// Its block is missing or damaged, so it cannot be found; `plumb doctor` tells of it.
    Unreadable(Cid),
}

pub(super) fn read(store: &Store, op: &IndexOp) -> Result<Reading, IndexError> {
    let (class, entry) = match op {
        IndexOp::Remove { chunk } => return Ok(Reading::Gone(*chunk)),
        IndexOp::Add { sensitivity, chunk, scope, department, creator } => (
            *sensitivity,
            Entry { chunk: *chunk, scope: scope.clone(), department: department.clone(), creator: creator.clone() },
        ),
    };
    let chunk = match store.block(&entry.chunk) {
        Ok(Some(block)) => block.decode::<Chunk>().map_err(|e| e.to_string()),
        // A chunk that was deleted soon after; the row that removes it follows.
        Ok(None) if !store.has_unit(&entry.chunk)? => return Ok(Reading::Gone(entry.chunk)),
        Ok(None) => Err("its block is missing".into()),
        Err(error @ StorageError::Damaged { .. }) => Err(chain(&error)),
        Err(error) => return Err(error.into()),
    };
    match chunk {
        Ok(chunk) => Ok(Reading::Entry { class, entry, body: retrieval::body_of(&chunk) }),
        Err(reason) => {
            tracing::warn!(chunk = %entry.chunk, %reason, "a chunk cannot be indexed");
            Ok(Reading::Unreadable(entry.chunk))
        }
    }
}
