//! An engine without a disk: for tests of the rooms above, and as the plain reading of what an engine is.

use std::collections::BTreeMap;
use std::sync::{PoisonError, RwLock};

use super::{Batch, Engine, Order, Range, is_void};
use crate::error::StorageError;
use crate::records::Row;

#[derive(Default)]
pub(crate) struct MemoryEngine {
    rows: RwLock<BTreeMap<Vec<u8>, Vec<u8>>>,
}

impl Engine for MemoryEngine {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StorageError> {
        Ok(self.rows.read().unwrap_or_else(PoisonError::into_inner).get(key).cloned())
    }

    fn contains(&self, key: &[u8]) -> Result<bool, StorageError> {
        Ok(self.rows.read().unwrap_or_else(PoisonError::into_inner).contains_key(key))
    }

    fn scan(&self, range: Range, order: Order, limit: usize) -> Result<Vec<Row>, StorageError> {
        if is_void(&range) {
            return Ok(Vec::new());
        }
        let rows = self.rows.read().unwrap_or_else(PoisonError::into_inner);
        let inside = rows.range(range).map(|(key, value)| (key.clone(), value.clone()));
        Ok(match order {
            Order::Ascending => inside.take(limit).collect(),
            Order::Descending => inside.rev().take(limit).collect(),
        })
    }

    fn apply(&self, batch: &Batch) -> Result<(), StorageError> {
        let mut rows = self.rows.write().unwrap_or_else(PoisonError::into_inner);
        for (key, value) in batch {
            match value {
                Some(value) => rows.insert(key.clone(), value.clone()),
                None => rows.remove(key),
            };
        }
        Ok(())
    }

    fn compact(&self) -> Result<(), StorageError> {
        Ok(())
    }

    fn remember(&self, _bytes: &[u8]) {}

    fn remembered(&self) -> Option<Vec<u8>> {
        None
    }

    fn check_room(&self, _bytes: u64) -> Result<(), StorageError> {
        Ok(())
    }

    fn disk_bytes(&self) -> Result<u64, StorageError> {
        Ok(0)
    }
}
