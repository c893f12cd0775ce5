//! The hash trees of the logs: what a proof or a tile is made of, without reading the entries.
//!
//! Kept are the leaf hashes and, of the tree above them, each eighth level: the hashes that tiles are made of
//! ([`plumb_core::log::TilePath`]). What lies between is hashed again when it is asked for, from one tile, so a proof
//! reads one tile for every eight levels.

use std::collections::BTreeMap;

use plumb_core::identity::NodeId;
use plumb_core::log::{CompactRange, Hash, TILE_HEIGHT, TILE_WIDTH, leaf_hash, root_of};
use plumb_storage::{AuditEvent, Change, Keyspace, Records, StorageError, Store};

use super::logs::{entries, keyspace, log_heads};
use crate::error::NodeError;

/// Entries that are hashed in one change when a tree is made anew.
const REBUILD_PAGE: usize = 4096;

fn hash_key(publisher: &NodeId, level: u8, index: u64) -> Vec<u8> {
    [&b"t"[..], publisher.as_bytes(), &[level], &index.to_be_bytes()].concat()
}

fn index_key(leaf: &Hash) -> Vec<u8> {
    [&b"i"[..], leaf].concat()
}

/// The index of an entry of the own log, by its leaf hash.
pub(crate) fn index_of(store: &Store, leaf: &Hash) -> Result<Option<u64>, StorageError> {
    let row = store.get(Keyspace::PublicLog, &index_key(leaf))?;
    Ok(row.and_then(|bytes| Some(u64::from_be_bytes(bytes.try_into().ok()?))))
}

/// Appends a leaf to the range and writes the hashes that are complete with it. Entries of the own log are also found by
/// their hash.
pub(super) fn put_hashes(
    change: &mut Change,
    keyspace: Keyspace,
    publisher: &NodeId,
    range: &mut CompactRange,
    leaf: Hash,
) {
    if keyspace == Keyspace::PublicLog {
        change.put(keyspace, &index_key(&leaf), range.size().to_be_bytes().to_vec());
    }
    range.append_telling(leaf, |level, index, hash| {
        if level % TILE_HEIGHT == 0 {
            change.put(keyspace, &hash_key(publisher, level / TILE_HEIGHT, index), hash.to_vec());
        }
    });
}

/// Reads the tree of one log.
pub(crate) struct Tree<'a> {
    store: &'a Store,
    keyspace: Keyspace,
    publisher: NodeId,
    /// Tiles that were read, by their level and index: a proof reads several hashes of each.
    read: BTreeMap<(u8, u64), Vec<Hash>>,
}

impl<'a> Tree<'a> {
    /// That of a publisher.
    pub fn of(store: &'a Store, own: &NodeId, publisher: &NodeId) -> Tree<'a> {
        Tree { store, keyspace: keyspace(own, publisher), publisher: *publisher, read: BTreeMap::new() }
    }

    /// The hashes of a tile, as far as it has any.
    pub fn tile(&mut self, level: u8, index: u64) -> Result<&[Hash], NodeError> {
        if !self.read.contains_key(&(level, index)) {
            let hashes = self.read_tile(level, index)?;
            self.read.insert((level, index), hashes);
        }
        Ok(&self.read[&(level, index)])
    }

    fn read_tile(&self, level: u8, index: u64) -> Result<Vec<Hash>, NodeError> {
        let damaged = || NodeError::Damaged(format!("the hash tree of the log of {}", self.publisher));
        let prefix = [&b"t"[..], self.publisher.as_bytes(), &[level]].concat();
        let first = index.checked_mul(TILE_WIDTH).ok_or_else(damaged)?;
        let from = hash_key(&self.publisher, level, first);
        let rows = self.store.scan(self.keyspace, &prefix, Some(&from), TILE_WIDTH as usize)?;
        let hashes = rows.into_iter().zip(first..).map(|((key, hash), at)| {
            let is_next = key == hash_key(&self.publisher, level, at);
            Hash::try_from(hash).ok().filter(|_| is_next).ok_or_else(damaged)
        });
        hashes.collect()
    }

    /// The root of a perfect subtree, by its height and its index.
    pub fn node(&mut self, level: u8, index: u64) -> Result<Hash, NodeError> {
        let within = level % TILE_HEIGHT;
        let first = index << within;
        let publisher = self.publisher;
        let tile = self.tile(level / TILE_HEIGHT, first / TILE_WIDTH)?;
        // Both are below 256.
        let (from, n) = ((first % TILE_WIDTH) as usize, 1usize << within);
        let absent =
            || NodeError::Damaged(format!("hash {index} of level {level} of the log of {publisher} is missing"));
        tile.get(from..from + n).map(root_of).ok_or_else(absent)
    }
}

/// Makes the tree of every log that has none: those that an older version wrote. The last leaf is written last, so
/// a tree that was begun and not ended is made again.
pub(crate) fn complete_trees(
    store: &Store,
    own: &NodeId,
    event: impl Fn(&NodeId) -> AuditEvent,
) -> Result<(), StorageError> {
    for head in log_heads(store, own)? {
        let (publisher, size) = (head.state.publisher, head.state.range.size());
        let keyspace = keyspace(own, &publisher);
        let Some(last) = size.checked_sub(1) else { continue };
        if store.get(keyspace, &hash_key(&publisher, 0, last))?.is_some() {
            continue;
        }
        let mut range = CompactRange::new();
        while range.size() < size {
            let page = entries(store, own, &publisher, range.size(), REBUILD_PAGE)?;
            if page.is_empty() {
                break;
            }
            let mut change = Change::new(event(&publisher));
            for entry in page {
                put_hashes(&mut change, keyspace, &publisher, &mut range, leaf_hash(&entry));
            }
            store.commit(change)?;
        }
    }
    Ok(())
}
