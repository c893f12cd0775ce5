//! Public logs: this node's own, and what is held of others'. Both lie alike, so both are served alike.
//!
//! | key | value |
//! | --- | --- |
//! | `e` ‖ publisher ‖ index | the entry |
//! | `h` ‖ publisher | [`LogRow`] |
//! | `f` ‖ publisher | the proof that it showed two histories |
//!
//! The own log lies in `public-log`, the others' in `foreign-log`.

use cid::Cid;
use plumb_core::identity::{NodeId, SecretKey, Signed};
use plumb_core::log::{Checkpoint, CompactRange, leaf_hash};
use plumb_core::measure::Timestamp;
use plumb_core::trust::Certificate;
use plumb_federation::wire::log::{Fork, public_origin};
use plumb_federation::wire::log_entry::LogEntry;
use plumb_federation::wire::log_state::LogState;
use plumb_storage::{Change, Keyspace, Records, RecordsExt, StorageError, Store};
use serde::{Deserialize, Serialize};

use super::SHAPE;

#[derive(Serialize, Deserialize)]
struct LogRow {
    /// [`LogState`], in its own stored form.
    #[serde(with = "serde_bytes")]
    state: Vec<u8>,
    as_of: Timestamp,
}

/// What is kept of a log beside its entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LogHead {
    /// How far it is held, and what proves it.
    pub state: LogState,
    /// When it was last confirmed by its publisher that there is no more.
    pub as_of: Timestamp,
}

fn keyspace(own: &NodeId, publisher: &NodeId) -> Keyspace {
    if own == publisher { Keyspace::PublicLog } else { Keyspace::ForeignLog }
}

fn entry_key(publisher: &NodeId, index: u64) -> Vec<u8> {
    [&b"e"[..], publisher.as_bytes(), &index.to_be_bytes()].concat()
}

fn head_key(publisher: &NodeId) -> Vec<u8> {
    [&b"h"[..], publisher.as_bytes()].concat()
}

fn opened(keyspace: Keyspace, row: LogRow) -> Result<LogHead, StorageError> {
    let state = LogState::decode(&row.state).map_err(|e| StorageError::Decode { keyspace, reason: e.to_string() })?;
    Ok(LogHead { state, as_of: row.as_of })
}

/// The head of a log.
pub(crate) fn log_head(store: &Store, own: &NodeId, publisher: &NodeId) -> Result<Option<LogHead>, StorageError> {
    let keyspace = keyspace(own, publisher);
    let row: Option<LogRow> = store.value(keyspace, SHAPE, &head_key(publisher))?;
    row.map(|row| opened(keyspace, row)).transpose()
}

/// Every head that is held, the own one first.
pub(crate) fn log_heads(store: &Store, own: &NodeId) -> Result<Vec<LogHead>, StorageError> {
    let mut heads: Vec<LogHead> = log_head(store, own, own)?.into_iter().collect();
    for row in store.rows(Keyspace::ForeignLog, b"h") {
        let row = plumb_storage::stored::decode(Keyspace::ForeignLog, SHAPE, &row?.1)?;
        heads.push(opened(Keyspace::ForeignLog, row)?);
    }
    Ok(heads)
}

/// Writes a head and the entries that lead to it.
pub(crate) fn put_log_head(change: &mut Change, own: &NodeId, head: &LogHead, from: u64, entries: &[Vec<u8>]) {
    let publisher = &head.state.publisher;
    let keyspace = keyspace(own, publisher);
    for (entry, index) in entries.iter().zip(from..) {
        change.put(keyspace, &entry_key(publisher, index), entry.clone());
    }
    let row = LogRow { state: head.state.encode(), as_of: head.as_of };
    change.put_value(keyspace, SHAPE, &head_key(publisher), &row);
}

/// Entries of a log from an index on.
pub(crate) fn entries(
    store: &Store,
    own: &NodeId,
    publisher: &NodeId,
    from: u64,
    limit: usize,
) -> Result<Vec<Vec<u8>>, StorageError> {
    let prefix = [&b"e"[..], publisher.as_bytes()].concat();
    let rows = store.scan(keyspace(own, publisher), &prefix, Some(&entry_key(publisher, from)), limit)?;
    Ok(rows.into_iter().map(|(_, entry)| entry).collect())
}

/// Where a publisher's log says that it issued a bundle, as far as the log is held.
pub(crate) fn bundle_position(
    store: &Store,
    own: &NodeId,
    publisher: &NodeId,
    bundle: &Cid,
) -> Result<Option<u64>, StorageError> {
    let wanted = LogEntry::Bundle { cid: *bundle }.encode();
    let prefix = [&b"e"[..], publisher.as_bytes()].concat();
    for row in store.rows(keyspace(own, publisher), &prefix) {
        let (key, entry) = row?;
        if entry == wanted {
            let index: Option<[u8; 8]> = key[prefix.len()..].try_into().ok();
            return Ok(index.map(u64::from_be_bytes));
        }
    }
    Ok(None)
}

/// Keeps the proof that a publisher showed two histories.
pub(crate) fn put_fork(change: &mut Change, fork: &Fork) {
    let key = [&b"f"[..], fork.publisher.as_bytes()].concat();
    change.put(Keyspace::ForeignLog, &key, fork.encode());
}

/// Every such proof.
pub(crate) fn forks(store: &Store) -> Result<Vec<Fork>, StorageError> {
    store
        .rows(Keyspace::ForeignLog, b"f")
        .map(|row| {
            Fork::decode(&row?.1)
                .map_err(|e| StorageError::Decode { keyspace: Keyspace::ForeignLog, reason: e.to_string() })
        })
        .collect()
}

/// Whether a publisher showed two histories.
pub(crate) fn is_forked(store: &Store, publisher: &NodeId) -> Result<bool, StorageError> {
    let key = [&b"f"[..], publisher.as_bytes()].concat();
    Ok(store.get(Keyspace::ForeignLog, &key)?.is_some())
}

/// Appends entries to the own log, signed, under the condition that nobody else appends meanwhile.
pub(crate) fn append_own(
    store: &Store,
    change: &mut Change,
    key: &SecretKey,
    certificate: &Signed<Certificate>,
    entries: &[Vec<u8>],
    now: Timestamp,
) -> Result<(), StorageError> {
    let own = key.public();
    let before = store.get(Keyspace::PublicLog, &head_key(&own))?;
    let mut range = match log_head(store, &own, &own)? {
        Some(head) => head.state.range,
        None => CompactRange::new(),
    };
    let from = range.size();
    for entry in entries {
        range.append(leaf_hash(entry));
    }
    let origin = public_origin(&own)
        .map_err(|e| StorageError::Encode { keyspace: Keyspace::PublicLog, reason: e.to_string() })?;
    let checkpoint = Checkpoint { origin, size: range.size(), root: range.root() }.sign(key);
    let state = LogState { publisher: own, range, checkpoint, proof: Vec::new(), certificate: certificate.clone() };
    change.expect(Keyspace::PublicLog, &head_key(&own), before);
    put_log_head(change, &own, &LogHead { state, as_of: now }, from, entries);
    Ok(())
}
