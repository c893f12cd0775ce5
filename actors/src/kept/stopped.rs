//! That this node publishes nothing at present, since its log would show two histories if it did.
//!
//! | keyspace | key | value |
//! | --- | --- | --- |
//! | `public-log` | `s` ‖ own | [`Stopped`] |
//! | `public-log` | `o` ‖ index | an entry that was published here and may have to be published again |

use plumb_core::identity::{NodeId, SecretKey, Signed};
use plumb_core::log::SignedCheckpoint;
use plumb_core::measure::Timestamp;
use plumb_core::trust::Certificate;
use plumb_storage::{Change, Keyspace, Records, RecordsExt, StorageError, Store};
use serde::{Deserialize, Serialize};

use super::SHAPE;
use super::logs::{append_signed, delete_own, entries, head_and_row, head_key};
use crate::error::NodeError;

/// Entries that are read at a time while two histories are compared.
const PAGE: usize = 1024;

/// Why nothing is published.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Cause {
    /// Others hold more of the own log: this node was set back. The missing entries are fetched.
    Behind,
    /// This node signed two histories of its log, and the proof is kept.
    Forked,
    /// The operator has decided to take up the history that others hold; it is fetched.
    Adopting,
}

/// That nothing is published, and what it waits for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stopped {
    /// Why.
    pub cause: Cause,
    /// Since when.
    pub since: Timestamp,
    /// The head that others hold.
    pub elsewhere: SignedCheckpoint,
}

impl Stopped {
    /// What is wrong and what to do, for people.
    pub fn text(&self) -> String {
        let n = self.elsewhere.checkpoint().size;
        match self.cause {
            Cause::Behind => format!(
                "publishing is stopped: others hold {n} entries of this node's log, and this node fewer; it was set back \
                 to an older state. What is missing is fetched from peers by itself; connect to them (`plumb peers \
                 connect`), or, if nobody has it any more, go on without with `plumb log resume --accept-loss`"
            ),
            Cause::Forked => "publishing is stopped: this node signed two histories of its log (`plumb log forks`). \
                 `plumb log resume --accept-loss` takes up the one that peers hold and publishes behind it what only \
                 this node has"
                .to_string(),
            Cause::Adopting => format!(
                "publishing is stopped until the {n} entries of this node's log that peers hold are fetched; connect to \
                 peers (`plumb peers connect`)"
            ),
        }
    }
}

fn stop_key(own: &NodeId) -> Vec<u8> {
    [&b"s"[..], own.as_bytes()].concat()
}

fn aside_key(index: u64) -> Vec<u8> {
    [&b"o"[..], &index.to_be_bytes()].concat()
}

/// Whether publishing is stopped.
pub(crate) fn stopped(store: &Store, own: &NodeId) -> Result<Option<Stopped>, StorageError> {
    store.value(Keyspace::PublicLog, SHAPE, &stop_key(own))
}

/// Stops publishing, unless that is not needed any more: what others held is held here by now, or it is stopped for a
/// graver cause. Returns whether anything is written.
pub(crate) fn stop(store: &Store, change: &mut Change, own: &NodeId, next: Stopped) -> Result<bool, StorageError> {
    let (head, head_row) = head_and_row(store, own, own)?;
    let row = store.get(Keyspace::PublicLog, &stop_key(own))?;
    let before = stopped(store, own)?;
    let size = next.elsewhere.checkpoint().size;
    let is_held = head.is_some_and(|head| size <= head.state.range.size());
    let next = match (next.cause, before) {
        (Cause::Behind, None) if is_held => return Ok(false),
        (Cause::Behind, Some(before)) => {
            // The farthest head is what is waited for.
            if before.cause == Cause::Forked || size <= before.elsewhere.checkpoint().size {
                return Ok(false);
            }
            Stopped { elsewhere: next.elsewhere, ..before }
        }
        (Cause::Forked, Some(before)) if before.cause == Cause::Forked => return Ok(false),
        _ => next,
    };
    change.expect(Keyspace::PublicLog, &head_key(own), head_row);
    change.expect(Keyspace::PublicLog, &stop_key(own), row);
    change.put_value(Keyspace::PublicLog, SHAPE, &stop_key(own), &next);
    Ok(true)
}

/// Stops publishing for another cause than so far, under the condition that it is stopped as it was when this was
/// decided.
pub(crate) fn put_stopped(
    store: &Store,
    change: &mut Change,
    own: &NodeId,
    next: &Stopped,
) -> Result<(), StorageError> {
    let row = store.get(Keyspace::PublicLog, &stop_key(own))?;
    change.expect(Keyspace::PublicLog, &stop_key(own), row);
    change.put_value(Keyspace::PublicLog, SHAPE, &stop_key(own), next);
    Ok(())
}

/// Lets publishing go on, under the condition that it is stopped as it was when this was decided.
pub(crate) fn end_stop(store: &Store, change: &mut Change, own: &NodeId) -> Result<(), StorageError> {
    let row = store.get(Keyspace::PublicLog, &stop_key(own))?;
    change.expect(Keyspace::PublicLog, &stop_key(own), row);
    change.delete(Keyspace::PublicLog, &stop_key(own));
    Ok(())
}

/// Refuses a change that publishes while publishing is stopped, now or when it is committed.
pub(super) fn expect_not_stopped(store: &Store, change: &mut Change, own: &NodeId) -> Result<(), NodeError> {
    if let Some(stopped) = stopped(store, own)? {
        return Err(NodeError::Stopped(stopped.text()));
    }
    change.expect_absent(Keyspace::PublicLog, &stop_key(own));
    Ok(())
}

/// Puts the own log aside, entry by entry, and begins an empty one that takes up what others hold. What was put aside
/// before stays there.
pub(crate) fn put_aside(store: &Store, change: &mut Change, own: &NodeId) -> Result<(), StorageError> {
    let last = store.last(Keyspace::PublicLog, b"o")?;
    let last = last.and_then(|(key, _)| Some(u64::from_be_bytes(key.get(1..)?.try_into().ok()?)));
    let first = last.map_or(0, |last| last + 1);
    let mut at = 0;
    loop {
        let page = entries(store, own, own, at, PAGE)?;
        if page.is_empty() {
            break;
        }
        for entry in page {
            change.put(Keyspace::PublicLog, &aside_key(first + at), entry);
            at += 1;
        }
    }
    delete_own(store, change, own)
}

/// Publishes again what was put aside and is not in the log that was taken up, and lets publishing go on. Returns how
/// many entries that are.
pub(crate) fn republish(
    store: &Store,
    change: &mut Change,
    key: &SecretKey,
    certificate: &Signed<Certificate>,
    now: Timestamp,
) -> Result<usize, NodeError> {
    let own = key.public();
    let mut lost: Vec<Vec<u8>> = Vec::new();
    for row in store.rows(Keyspace::PublicLog, b"o") {
        let (key, entry) = row?;
        change.delete(Keyspace::PublicLog, &key);
        if !lost.contains(&entry) {
            lost.push(entry);
        }
    }
    let mut at = 0;
    while !lost.is_empty() {
        let page = entries(store, &own, &own, at, PAGE)?;
        if page.is_empty() {
            break;
        }
        at += page.len() as u64;
        lost.retain(|entry| !page.contains(entry));
    }
    if !lost.is_empty() {
        append_signed(store, change, key, certificate, &lost, now)?;
    }
    end_stop(store, change, &own)?;
    Ok(lost.len())
}
