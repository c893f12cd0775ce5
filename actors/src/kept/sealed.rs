//! Sealed notices: those of others that nothing here opens yet, and which of this node's own went out sealed.
//!
//! | keyspace | key | value |
//! | --- | --- | --- |
//! | notices | `e` ‖ publisher ‖ index | the entry, as it stands in that log |
//! | notices | `l` ‖ tag ‖ publisher ‖ index | nothing: what is laid up for a source |
//! | notices | `s` ‖ notice | nothing: one of this node's own |
//! | sources | `t` ‖ tag | CID of the record that is held, or that an answer rests on |

use cid::Cid;
use plumb_core::identity::NodeId;
use plumb_core::notice::{SealedNotice, tag_of};
use plumb_federation::wire::log_entry::LogEntry;
use plumb_storage::{Change, Keyspace, Records, RecordsExt, StorageError, Store};

/// Where a sealed notice stands in a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SealedAt {
    /// Whose log.
    pub publisher: NodeId,
    /// At which index.
    pub index: u64,
}

impl SealedAt {
    fn bytes(&self) -> Vec<u8> {
        [&self.publisher.as_bytes()[..], &self.index.to_be_bytes()].concat()
    }

    fn read(bytes: &[u8]) -> Option<SealedAt> {
        let (publisher, index) = bytes.split_first_chunk::<32>()?;
        let index = u64::from_be_bytes(index.try_into().ok()?);
        Some(SealedAt { publisher: NodeId::from_bytes(*publisher).ok()?, index })
    }

    fn entry_key(&self) -> Vec<u8> {
        [&b"e"[..], &self.bytes()].concat()
    }

    fn lock_key(&self, tag: &[u8]) -> Vec<u8> {
        [&b"l"[..], tag, &self.bytes()].concat()
    }
}

fn held_key(tag: &[u8]) -> Vec<u8> {
    [&b"t"[..], tag].concat()
}

/// Notes that a source is held, so that sealed notices on it are opened.
pub(crate) fn put_held(change: &mut Change, source: &Cid) {
    change.put(Keyspace::Sources, &held_key(&tag_of(source)), source.to_bytes());
}

/// A source that is held here and opens a sealed notice.
pub(crate) fn opens(store: &Store, sealed: &SealedNotice) -> Result<Option<Cid>, StorageError> {
    for tag in sealed.tags() {
        if let Some(source) = store.get(Keyspace::Sources, &held_key(tag))? {
            return Ok(Cid::try_from(source.as_slice()).ok());
        }
    }
    Ok(None)
}

/// Lays a sealed notice up for whatever of what it names is taken in later.
pub(crate) fn lay_up(change: &mut Change, at: SealedAt, sealed: &SealedNotice) {
    change.put(Keyspace::Notices, &at.entry_key(), LogEntry::Sealed(sealed.clone()).encode());
    for tag in sealed.tags() {
        change.put(Keyspace::Notices, &at.lock_key(tag), Vec::new());
    }
}

/// What is laid up for a source.
pub(crate) fn laid_up(store: &Store, source: &Cid) -> Result<Vec<(SealedAt, SealedNotice)>, StorageError> {
    let prefix = [&b"l"[..], &tag_of(source)].concat();
    let mut found = Vec::new();
    for row in store.rows(Keyspace::Notices, &prefix) {
        let key = row?.0;
        let Some(at) = SealedAt::read(&key[prefix.len()..]) else { continue };
        let Some(entry) = store.get(Keyspace::Notices, &at.entry_key())? else { continue };
        match LogEntry::decode(&entry) {
            Ok(LogEntry::Sealed(sealed)) => found.push((at, sealed)),
            Ok(_) | Err(_) => {
                let reason = format!("what is laid up for {source} is no sealed notice");
                return Err(StorageError::Decode { keyspace: Keyspace::Notices, reason });
            }
        }
    }
    Ok(found)
}

/// A sealed notice is opened, and applied or refused: nothing waits for it any more.
pub(crate) fn take_down(change: &mut Change, at: SealedAt, sealed: &SealedNotice) {
    change.delete(Keyspace::Notices, &at.entry_key());
    for tag in sealed.tags() {
        change.delete(Keyspace::Notices, &at.lock_key(tag));
    }
}

fn own_key(notice: &Cid) -> Vec<u8> {
    [&b"s"[..], &notice.to_bytes()].concat()
}

/// Notes that a notice of this node went out sealed.
pub(crate) fn put_own_sealed(change: &mut Change, notice: &Cid) {
    change.put(Keyspace::Notices, &own_key(notice), Vec::new());
}

/// Whether a notice of this node went out sealed.
pub(crate) fn is_own_sealed(store: &Store, notice: &Cid) -> Result<bool, StorageError> {
    Ok(store.get(Keyspace::Notices, &own_key(notice))?.is_some())
}

/// Every notice of this node that went out sealed.
pub(crate) fn own_sealed(store: &Store) -> Result<Vec<Cid>, StorageError> {
    let mut all = Vec::new();
    for row in store.rows(Keyspace::Notices, b"s") {
        all.extend(Cid::try_from(&row?.0[1..]).ok());
    }
    Ok(all)
}
