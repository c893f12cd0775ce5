//! Units as they are stored, and what the text index should hold of them.

use cid::Cid;
use plumb_core::knowledge::KnowledgeUnit;

use crate::error::StorageError;
use crate::keyspace::Keyspace;
use crate::outbox::IndexOp;
use crate::records::{Records, RecordsExt};
use crate::stored;

/// The shape in which a `KnowledgeUnit` is stored.
pub(crate) const SHAPE: u8 = 1;

/// The key of the unit that is about this chunk.
pub(crate) fn key(chunk: &Cid) -> Vec<u8> {
    chunk.to_bytes()
}

/// The unit that is about this chunk.
pub fn unit(records: &(impl Records + ?Sized), chunk: &Cid) -> Result<Option<KnowledgeUnit>, StorageError> {
    records.value(Keyspace::Units, SHAPE, &key(chunk))
}

/// Every unit, in order of chunk.
pub fn all_units<R: Records + ?Sized>(records: &R) -> impl Iterator<Item = Result<KnowledgeUnit, StorageError>> + '_ {
    records.rows(Keyspace::Units, &[]).map(|row| stored::decode(Keyspace::Units, SHAPE, &row?.1))
}

/// What the text index should hold: an `Add` for every active unit. A rebuild starts from this.
pub fn live_ops<R: Records + ?Sized>(records: &R) -> impl Iterator<Item = Result<IndexOp, StorageError>> + '_ {
    all_units(records).filter_map(|unit| match unit {
        Ok(unit) => unit.is_active().then(|| Ok(IndexOp::of(&unit))),
        Err(error) => Some(Err(error)),
    })
}
