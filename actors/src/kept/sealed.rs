//! Sealed notices: those of others that nothing here opens yet, and which of this node's own went out sealed.
//!
//! | key | value |
//! | --- | --- |
//! | `e` ‖ publisher ‖ index | the entry, as it stands in that log |
//! | `l` ‖ tag ‖ publisher ‖ index | nothing: what is laid up for a source |
//! | `s` ‖ notice | nothing: one of this node's own |
//! | `t` ‖ tag | CID of the record that is held, or that an answer rests on |

use cid::Cid;
use plumb_core::identity::NodeId;
use plumb_core::notice::{SealedNotice, tag_of};
use plumb_federation::wire::log_entry::LogEntry;
use plumb_storage::{Change, Keyspace, Records, RecordsExt, StorageError, Store};

/// What one publisher says under one tag so often is laid up, and no more of it: nobody takes a source back hundreds of
/// times, and what is laid up is looked through whenever the source is met.
const LAID_UP_MAX: usize = 64;

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
    change.put(Keyspace::Sealed, &held_key(&tag_of(source)), source.to_bytes());
}

/// A source that is held here and opens a sealed notice.
pub(crate) fn opens(store: &Store, sealed: &SealedNotice) -> Result<Option<Cid>, StorageError> {
    for tag in sealed.tags() {
        if let Some(source) = store.get(Keyspace::Sealed, &held_key(tag))? {
            return Ok(Cid::try_from(source.as_slice()).ok());
        }
    }
    Ok(None)
}

/// Whether a record is held here, or an answer rests on it.
pub(crate) fn is_held(store: &Store, source: &Cid) -> Result<bool, StorageError> {
    Ok(store.get(Keyspace::Sealed, &held_key(&tag_of(source)))?.is_some())
}

/// Lays a sealed notice up for whatever of what it names is taken in later.
pub(crate) fn lay_up(
    store: &Store,
    change: &mut Change,
    at: SealedAt,
    sealed: &SealedNotice,
) -> Result<(), StorageError> {
    change.put(Keyspace::Sealed, &at.entry_key(), LogEntry::Sealed(sealed.clone()).encode());
    for tag in sealed.tags() {
        let of_publisher = [&b"l"[..], tag, at.publisher.as_bytes()].concat();
        if store.scan(Keyspace::Sealed, &of_publisher, None, LAID_UP_MAX)?.len() < LAID_UP_MAX {
            change.put(Keyspace::Sealed, &at.lock_key(tag), Vec::new());
        }
    }
    Ok(())
}

/// Whether anything is laid up for any source.
pub(crate) fn is_any_laid_up(store: &Store) -> Result<bool, StorageError> {
    Ok(!store.scan(Keyspace::Sealed, b"l", None, 1)?.is_empty())
}

/// Where what is laid up for a source stands.
pub(crate) fn laid_up(store: &Store, source: &Cid) -> Result<Vec<SealedAt>, StorageError> {
    let prefix = [&b"l"[..], &tag_of(source)].concat();
    let mut found = Vec::new();
    for row in store.rows(Keyspace::Sealed, &prefix) {
        found.extend(SealedAt::read(&row?.0[prefix.len()..]));
    }
    Ok(found)
}

/// One that is laid up.
pub(crate) fn sealed_at(store: &Store, at: SealedAt) -> Result<Option<SealedNotice>, StorageError> {
    let Some(entry) = store.get(Keyspace::Sealed, &at.entry_key())? else { return Ok(None) };
    match LogEntry::decode(&entry) {
        Ok(LogEntry::Sealed(sealed)) => Ok(Some(sealed)),
        Ok(_) | Err(_) => {
            let reason = format!("entry {} of {} is no sealed notice", at.index, at.publisher);
            Err(StorageError::Decode { keyspace: Keyspace::Sealed, reason })
        }
    }
}

/// Sources that are held and have something laid up: after a crash between the two.
pub(crate) fn left_sealed(store: &Store) -> Result<Vec<Cid>, StorageError> {
    let mut found = std::collections::BTreeSet::new();
    for row in store.rows(Keyspace::Sealed, b"l") {
        let key = row?.0;
        let Some(tag) = key.get(1..33) else { continue };
        if let Some(source) = store.get(Keyspace::Sealed, &held_key(tag))? {
            found.extend(Cid::try_from(source.as_slice()).ok());
        }
    }
    Ok(found.into_iter().collect())
}

/// What one source was said to open and does not.
pub(crate) fn forget_lock(change: &mut Change, at: SealedAt, source: &Cid) {
    change.delete(Keyspace::Sealed, &at.lock_key(&tag_of(source)));
}

/// A sealed notice is opened, and applied or refused: nothing waits for it any more.
pub(crate) fn take_down(change: &mut Change, at: SealedAt, sealed: &SealedNotice) {
    change.delete(Keyspace::Sealed, &at.entry_key());
    for tag in sealed.tags() {
        change.delete(Keyspace::Sealed, &at.lock_key(tag));
    }
}

fn own_key(notice: &Cid) -> Vec<u8> {
    [&b"s"[..], &notice.to_bytes()].concat()
}

/// Notes that a notice of this node went out sealed.
pub(crate) fn put_own_sealed(change: &mut Change, notice: &Cid) {
    change.put(Keyspace::Sealed, &own_key(notice), Vec::new());
}

/// Every notice of this node that went out sealed.
pub(crate) fn own_sealed(store: &Store) -> Result<Vec<Cid>, StorageError> {
    let mut all = Vec::new();
    for row in store.rows(Keyspace::Sealed, b"s") {
        all.extend(Cid::try_from(&row?.0[1..]).ok());
    }
    Ok(all)
}
