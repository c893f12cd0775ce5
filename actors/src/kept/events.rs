//! What notices changed, in order, for whoever derives something from this node's knowledge.
//!
//! | key in `notices` | value |
//! | --- | --- |
//! | `e` ‖ number (8 bytes, big-endian) | [`KeptEvent`] |
//! | `i` ‖ SHA-256(id) | the number |
//! | `q` | how many there are |
//!
//! An event's id follows from what it says, so a consumer that meets one twice knows it again.

use cid::Cid;
use plumb_core::measure::Timestamp;
use plumb_storage::{Change, Keyspace, Records, RecordsExt, StorageError, Store};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::SHAPE;

/// Something that a notice changed here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct KeptEvent {
    /// The notice.
    pub notice: Cid,
    /// `source`, `answer`, `claim` or `export`.
    pub what: String,
    /// A source record, or a bundle.
    pub subject: Cid,
    /// Which claim of the bundle.
    pub claim: Option<String>,
    /// How it stands now.
    pub state: String,
    /// When.
    pub at: Timestamp,
}

impl KeptEvent {
    /// Its name: the same for the same change, however often it is told.
    pub fn id(&self) -> String {
        let claim = self.claim.as_deref().map(|c| format!(".{c}")).unwrap_or_default();
        format!("{}:{}:{}{claim}", self.notice, self.what, self.subject)
    }
}

fn by_number(number: u64) -> Vec<u8> {
    [&b"e"[..], &number.to_be_bytes()].concat()
}

fn by_id(id: &str) -> Vec<u8> {
    [&b"i"[..], &Sha256::digest(id.as_bytes())[..]].concat()
}

/// Appends events. The change is refused if somebody else appends meanwhile.
pub(crate) fn put_events(store: &Store, change: &mut Change, events: &[KeptEvent]) -> Result<(), StorageError> {
    if events.is_empty() {
        return Ok(());
    }
    let before = store.get(Keyspace::Notices, b"q")?;
    let first: u64 = store.value(Keyspace::Notices, SHAPE, b"q")?.unwrap_or(0);
    for (event, number) in events.iter().zip(first..) {
        change.put_value(Keyspace::Notices, SHAPE, &by_number(number), event);
        change.put_value(Keyspace::Notices, SHAPE, &by_id(&event.id()), &number);
    }
    change.expect(Keyspace::Notices, b"q", before);
    change.put_value(Keyspace::Notices, SHAPE, b"q", &(first + events.len() as u64));
    Ok(())
}

/// The number and the event of this id.
pub(crate) fn event_at(store: &Store, id: &str) -> Result<Option<(u64, KeptEvent)>, StorageError> {
    let Some(number) = store.value(Keyspace::Notices, SHAPE, &by_id(id))? else { return Ok(None) };
    let event: Option<KeptEvent> = store.value(Keyspace::Notices, SHAPE, &by_number(number))?;
    Ok(event.map(|event| (number, event)))
}

/// Events from a number on.
pub(crate) fn events_after(store: &Store, from: u64, limit: usize) -> Result<Vec<(u64, KeptEvent)>, StorageError> {
    let rows = store.scan(Keyspace::Notices, b"e", Some(&by_number(from)), limit)?;
    let read = |(key, value): (Vec<u8>, Vec<u8>)| {
        let number = key.get(1..9).and_then(|n| n.try_into().ok()).map(u64::from_be_bytes);
        let number = number.ok_or_else(|| StorageError::Decode {
            keyspace: Keyspace::Notices,
            reason: "the key of an event has a number".into(),
        })?;
        Ok((number, plumb_storage::stored::decode(Keyspace::Notices, SHAPE, &value)?))
    };
    rows.into_iter().map(read).collect()
}
