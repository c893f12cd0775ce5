//! Engines: ordered bytes that change in atomic, durable batches. The lowest layer, which knows nothing of meaning.
//!
//! Keys are whole here, with the byte of their keyspace in front. One writer calls [`Engine::apply`]; any number of
//! readers read meanwhile.

mod memory;
mod on_disk;
mod pieces;

use std::collections::BTreeMap;
use std::ops::Bound;

use crate::error::StorageError;
use crate::records::Row;

pub(crate) use memory::MemoryEngine;
pub(crate) use on_disk::DiskEngine;

/// What a batch does to each key: a value to write, or nothing to delete.
pub(crate) type Batch = BTreeMap<Vec<u8>, Option<Vec<u8>>>;

/// A stretch of keys.
pub(crate) type Range = (Bound<Vec<u8>>, Bound<Vec<u8>>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    Ascending,
    Descending,
}

pub(crate) trait Engine: Send + Sync + 'static {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StorageError>;

    /// Whether the key is there, without reading a long value.
    fn contains(&self, key: &[u8]) -> Result<bool, StorageError>;

    fn scan(&self, range: Range, order: Order, limit: usize) -> Result<Vec<Row>, StorageError>;

    /// Makes the whole batch true or nothing of it, and returns when it would survive a loss of power.
    fn apply(&self, batch: &Batch) -> Result<(), StorageError>;

    /// Gives back the space of what is overwritten and deleted, while others read and write. It needs room for a copy.
    fn compact(&self) -> Result<(), StorageError>;

    /// Keeps a few bytes beside the data, in place of those before them. It may forget the last ones after a loss of
    /// power.
    fn remember(&self, bytes: &[u8]);

    /// What it was last told to remember.
    fn remembered(&self) -> Option<Vec<u8>>;

    /// Refuses if writing this much would eat into the reserve of free space.
    fn check_room(&self, bytes: u64) -> Result<(), StorageError>;

    /// Bytes that it occupies.
    fn disk_bytes(&self) -> Result<u64, StorageError>;

    /// Whether it holds nothing at all.
    fn is_empty(&self) -> Result<bool, StorageError> {
        Ok(self.scan((Bound::Unbounded, Bound::Unbounded), Order::Ascending, 1)?.is_empty())
    }
}

/// The keys that begin with `prefix`, from `from` on upwards or downwards (inclusive).
pub(crate) fn range_of(prefix: &[u8], from: Option<&[u8]>, order: Order) -> Range {
    let lowest = Bound::Included(prefix.to_vec());
    let highest = match successor(prefix) {
        Some(end) => Bound::Excluded(end),
        None => Bound::Unbounded,
    };
    match (order, from) {
        (Order::Ascending, Some(from)) if from > prefix => (Bound::Included(from.to_vec()), highest),
        (Order::Descending, Some(from)) if successor(prefix).is_none_or(|end| from < end.as_slice()) => {
            (lowest, Bound::Included(from.to_vec()))
        }
        _ => (lowest, highest),
    }
}

/// Whether no key can lie in the range; sled and `BTreeMap` differ in how they take such a one.
pub(crate) fn is_void(range: &Range) -> bool {
    match range {
        (Bound::Included(low), Bound::Included(high)) => low > high,
        (Bound::Included(low), Bound::Excluded(high)) => low >= high,
        _ => false,
    }
}

/// The smallest key behind all that begin with `prefix`, if there is one.
fn successor(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|b| *b != u8::MAX)?;
    let mut end = prefix[..=last].to_vec();
    end[last] += 1;
    Some(end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::ops::RangeBounds;

    proptest! {
        #[test]
        fn a_range_holds_exactly_the_keys_of_its_prefix(
            prefix in proptest::collection::vec(prop_oneof![Just(0u8), Just(1), Just(255)], 0..3),
            from in proptest::option::of(proptest::collection::vec(prop_oneof![Just(0u8), Just(1), Just(255)], 0..4)),
            key in proptest::collection::vec(prop_oneof![Just(0u8), Just(1), Just(255)], 0..4),
        ) {
            for order in [Order::Ascending, Order::Descending] {
                let range = range_of(&prefix, from.as_deref(), order);
                let inside = !is_void(&range) && range.contains(&key);
                let beyond = match (&from, order) {
                    (None, _) => true,
                    (Some(from), Order::Ascending) => key >= *from,
                    (Some(from), Order::Descending) => key <= *from,
                };
                prop_assert_eq!(inside, key.starts_with(&prefix) && beyond);
            }
        }
    }
}
