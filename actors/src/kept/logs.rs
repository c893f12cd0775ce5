//! Public logs: this node's own, and what is held of others'. Both lie alike, so both are served alike.
//!
//! | key | value |
//! | --- | --- |
//! | `e` ‖ publisher ‖ index | the entry |
//! | `h` ‖ publisher | [`LogRow`] |
//! | `t` ‖ publisher ‖ level ‖ index | a hash of the tree ([`super::tree`]) |
//! | `i` ‖ leaf hash | the index of that entry, in the own log only |
//!
//! The own log lies in `public-log`, the others' in `foreign-log`. **A log only grows:** whoever writes states what it
//! was, and writes nothing if it has become longer meanwhile.

use cid::Cid;
use plumb_core::identity::{NodeId, SecretKey, Signed};
use plumb_core::log::{Checkpoint, CompactRange, leaf_hash};
use plumb_core::measure::Timestamp;
use plumb_core::trust::{CLOCK_TOLERANCE, Certificate};
use plumb_federation::wire::log::public_origin;
use plumb_federation::wire::log_entry::LogEntry;
use plumb_federation::wire::log_state::LogState;
use plumb_storage::{Change, Keyspace, Records, RecordsExt, StorageError, Store};
use serde::{Deserialize, Serialize};

use super::stopped::expect_not_stopped;
use super::tree::put_hashes;
use super::{Cosigned, SHAPE};
use crate::error::NodeError;

#[derive(Serialize, Deserialize)]
struct LogRow {
    /// [`LogState`], in its own stored form.
    #[serde(with = "serde_bytes")]
    state: Vec<u8>,
    as_of: Option<Timestamp>,
}

/// What is kept of a log beside its entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LogHead {
    /// How far it is held, and what proves it.
    pub state: LogState,
    /// When its publisher itself last said that there is no more. Of a copy that others gave nobody has said so.
    pub as_of: Option<Timestamp>,
}

impl LogHead {
    /// Since when the log is known to hold no more than what is held here: nothing of the kind is known of a part of it.
    pub fn confirmed(&self) -> Option<Timestamp> {
        self.as_of.filter(|_| self.state.is_whole())
    }
}

pub(super) fn keyspace(own: &NodeId, publisher: &NodeId) -> Keyspace {
    if own == publisher { Keyspace::PublicLog } else { Keyspace::ForeignLog }
}

pub(super) fn entry_key(publisher: &NodeId, index: u64) -> Vec<u8> {
    [&b"e"[..], publisher.as_bytes(), &index.to_be_bytes()].concat()
}

pub(super) fn head_key(publisher: &NodeId) -> Vec<u8> {
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

/// The head with its row as it is stored, which a change can then expect to find.
pub(super) fn head_and_row(
    store: &Store,
    own: &NodeId,
    publisher: &NodeId,
) -> Result<(Option<LogHead>, Option<Vec<u8>>), StorageError> {
    let keyspace = keyspace(own, publisher);
    let bytes = store.get(keyspace, &head_key(publisher))?;
    let row: Option<LogRow> =
        bytes.as_ref().map(|bytes| plumb_storage::stored::decode(keyspace, SHAPE, bytes)).transpose()?;
    Ok((row.map(|row| opened(keyspace, row)).transpose()?, bytes))
}

/// Replaces a head, under the condition that the row is still this one.
fn put_head(change: &mut Change, own: &NodeId, head: &LogHead, before: Option<Vec<u8>>) {
    let publisher = &head.state.publisher;
    let (keyspace, key) = (keyspace(own, publisher), head_key(publisher));
    change.expect(keyspace, &key, before);
    let row = LogRow { state: head.state.encode(), as_of: head.as_of };
    change.put_value(keyspace, SHAPE, &key, &row);
}

/// Writes entries behind `range`, with their hashes, and moves the range.
fn put_entries(change: &mut Change, own: &NodeId, publisher: &NodeId, range: &mut CompactRange, entries: &[Vec<u8>]) {
    let keyspace = keyspace(own, publisher);
    for entry in entries {
        change.put(keyspace, &entry_key(publisher, range.size()), entry.clone());
        put_hashes(change, keyspace, publisher, range, leaf_hash(entry));
    }
}

/// Writes verified entries of a log and the head that they lead to. What is there already must be the same, and is left
/// as it is. Returns whether anything is written.
pub(crate) fn extend(
    store: &Store,
    change: &mut Change,
    own: &NodeId,
    head: &LogHead,
    from: u64,
    entries: &[Vec<u8>],
) -> Result<bool, NodeError> {
    let publisher = &head.state.publisher;
    let (held, before) = head_and_row(store, own, publisher)?;
    let mut range = held.map(|held| held.state.range).unwrap_or_default();
    let refused = || NodeError::Conflict(format!("the entries do not continue what is held of the log of {publisher}"));
    let n_known = range.size().checked_sub(from).and_then(|n| usize::try_from(n).ok()).ok_or_else(refused)?;
    let known = n_known.min(entries.len());
    if self::entries(store, own, publisher, from, known)? != entries[..known] {
        return Err(refused());
    }
    if head.state.range.size() <= range.size() {
        return Ok(false);
    }
    put_entries(change, own, publisher, &mut range, &entries[known..]);
    if range != head.state.range {
        return Err(refused());
    }
    put_head(change, own, head, before);
    Ok(true)
}

/// Notes that a log was confirmed to have no more than it has. A log that has become longer meanwhile is left as it is:
/// then it is not the one that was confirmed. Returns whether anything is written.
pub(crate) fn confirm(
    store: &Store,
    change: &mut Change,
    own: &NodeId,
    publisher: &NodeId,
    size: u64,
    as_of: Timestamp,
) -> Result<bool, StorageError> {
    let (Some(held), before) = head_and_row(store, own, publisher)? else { return Ok(false) };
    // One that lies ahead is of a clock that was set back since.
    let is_newer = held.as_of.is_none_or(|before| before < as_of || as_of.plus(CLOCK_TOLERANCE) < before);
    if held.state.range.size() != size || !is_newer {
        return Ok(false);
    }
    put_head(change, own, &LogHead { as_of: Some(as_of), ..held }, before);
    Ok(true)
}

/// An entry of a log.
pub(crate) fn entry(
    store: &Store,
    own: &NodeId,
    publisher: &NodeId,
    index: u64,
) -> Result<Option<Vec<u8>>, StorageError> {
    store.get(keyspace(own, publisher), &entry_key(publisher, index))
}

/// Entries of a log from an index on.
pub(crate) fn entries(
    store: &Store,
    own: &NodeId,
    publisher: &NodeId,
    from: u64,
    limit: usize,
) -> Result<Vec<Vec<u8>>, StorageError> {
    if limit == 0 {
        return Ok(Vec::new());
    }
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

/// An append to the own log that was worked out and is not written yet.
pub(crate) struct Appended {
    /// The log before it.
    pub range: CompactRange,
    /// The head with it.
    pub head: LogHead,
    entries: Vec<Vec<u8>>,
    /// The row of the head before it.
    before: Option<Vec<u8>>,
}

/// Works out what appending entries to the own log makes of it, signed.
pub(crate) fn plan_append(
    store: &Store,
    key: &SecretKey,
    certificate: &Signed<Certificate>,
    entries: &[Vec<u8>],
    now: Timestamp,
) -> Result<Appended, NodeError> {
    let own = key.public();
    let (head, before) = head_and_row(store, &own, &own)?;
    let range = head.map(|head| head.state.range).unwrap_or_default();
    let mut longer = range.clone();
    entries.iter().for_each(|entry| longer.append(leaf_hash(entry)));
    let origin = public_origin(&own)?;
    let checkpoint = Checkpoint { origin, size: longer.size(), root: longer.root() }.sign(key);
    let certificate = certificate.clone();
    let state = LogState { publisher: own, range: longer, checkpoint, proof: Vec::new(), certificate };
    Ok(Appended { range, head: LogHead { state, as_of: Some(now) }, entries: entries.to_vec(), before })
}

/// Writes an append, under the condition that nobody else appends meanwhile, and that publishing is not stopped.
pub(crate) fn put_append(store: &Store, change: &mut Change, appended: Appended) -> Result<(), NodeError> {
    expect_not_stopped(store, change, &appended.head.state.publisher)?;
    write_append(change, appended);
    Ok(())
}

fn write_append(change: &mut Change, appended: Appended) {
    let Appended { mut range, head, entries, before } = appended;
    let own = head.state.publisher;
    put_entries(change, &own, &own, &mut range, &entries);
    put_head(change, &own, &head, before);
}

/// Appends entries to the own log, signed, under the condition that nobody else appends meanwhile, and that publishing
/// is not stopped.
pub(crate) fn append_own(
    store: &Store,
    change: &mut Change,
    key: &SecretKey,
    certificate: &Signed<Certificate>,
    entries: &[Vec<u8>],
    now: Timestamp,
) -> Result<(), NodeError> {
    put_append(store, change, plan_append(store, key, certificate, entries, now)?)
}

/// The same whether or not publishing is stopped: for whoever ends the stop in the same change.
pub(super) fn append_signed(
    store: &Store,
    change: &mut Change,
    key: &SecretKey,
    certificate: &Signed<Certificate>,
    entries: &[Vec<u8>],
    now: Timestamp,
) -> Result<(), NodeError> {
    write_append(change, plan_append(store, key, certificate, entries, now)?);
    Ok(())
}

/// Puts a cosignature under the own checkpoint, if that is still the head that it is for. Returns the head with it.
pub(crate) fn cosign_own(
    store: &Store,
    change: &mut Change,
    own: &NodeId,
    cosigned: &Cosigned,
) -> Result<Option<LogHead>, StorageError> {
    let (Some(mut head), before) = head_and_row(store, own, own)? else { return Ok(None) };
    let plain = &head.state.checkpoint;
    let with = plain.with_cosignatures([&cosigned.cosignature]);
    if plain.checkpoint().size != cosigned.size || with == *plain {
        return Ok(None);
    }
    head.state.checkpoint = with;
    put_head(change, own, &head, before);
    Ok(Some(head))
}

/// Takes a whole own log out of the store, apart from what [`super::put_aside`] keeps of it.
pub(super) fn delete_own(store: &Store, change: &mut Change, own: &NodeId) -> Result<(), StorageError> {
    let (_, before) = head_and_row(store, own, own)?;
    change.expect(Keyspace::PublicLog, &head_key(own), before);
    let of_own = [b"e", b"h", b"t"].map(|kind| [&kind[..], own.as_bytes()].concat());
    for prefix in of_own.into_iter().chain([b"i".to_vec()]) {
        for row in store.rows(Keyspace::PublicLog, &prefix) {
            change.delete(Keyspace::PublicLog, &row?.0);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
