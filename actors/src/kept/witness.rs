//! Cosignatures: what this node has cosigned of others' logs, and what others have cosigned of its own.
//!
//! | keyspace | key | value |
//! | --- | --- | --- |
//! | `foreign-log` | `w` ‖ publisher | the largest head of that log that was cosigned here, as its signed note |
//! | `public-log` | `c` ‖ witness | [`CosignedRow`] |

use plumb_core::identity::NodeId;
use plumb_core::log::{Cosignature, SignedCheckpoint};
use plumb_storage::{Change, Keyspace, Records, RecordsExt, StorageError, Store};
use serde::{Deserialize, Serialize};

use super::SHAPE;

#[derive(Serialize, Deserialize)]
struct CosignedRow {
    size: u64,
    line: String,
}

/// A cosignature of the own log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cosigned {
    /// Whose.
    pub witness: NodeId,
    /// The size that it is for.
    pub size: u64,
    /// The cosignature.
    pub cosignature: Cosignature,
}

fn key(kind: u8, node: &NodeId) -> Vec<u8> {
    [&[kind][..], node.as_bytes()].concat()
}

fn damaged(keyspace: Keyspace, reason: impl ToString) -> StorageError {
    StorageError::Decode { keyspace, reason: reason.to_string() }
}

/// What this node has cosigned last of a log.
pub(crate) fn witnessed(store: &Store, publisher: &NodeId) -> Result<Option<SignedCheckpoint>, StorageError> {
    let row = store.get(Keyspace::ForeignLog, &key(b'w', publisher))?;
    row.map(|bytes| note(&bytes)).transpose()
}

fn note(bytes: &[u8]) -> Result<SignedCheckpoint, StorageError> {
    let text = std::str::from_utf8(bytes).map_err(|e| damaged(Keyspace::ForeignLog, e))?;
    SignedCheckpoint::parse(text).map_err(|e| damaged(Keyspace::ForeignLog, e))
}

/// Writes down what is about to be cosigned, under the condition that it follows what was cosigned last. It has to be
/// on the disk before the cosignature is given away.
pub(crate) fn put_witnessed(
    change: &mut Change,
    publisher: &NodeId,
    last: Option<&SignedCheckpoint>,
    next: &SignedCheckpoint,
) {
    let key = key(b'w', publisher);
    change.expect(Keyspace::ForeignLog, &key, last.map(|c| c.as_str().as_bytes().to_vec()));
    change.put(Keyspace::ForeignLog, &key, next.as_str().as_bytes().to_vec());
}

/// Keeps a cosignature of the own log; it holds.
pub(crate) fn put_cosigned(change: &mut Change, cosigned: &Cosigned) {
    let row = CosignedRow { size: cosigned.size, line: cosigned.cosignature.to_string() };
    change.put_value(Keyspace::PublicLog, SHAPE, &key(b'c', &cosigned.witness), &row);
}

/// The newest cosignature of the own log by each witness.
pub(crate) fn cosigned(store: &Store) -> Result<Vec<Cosigned>, StorageError> {
    let mut all = Vec::new();
    for row in store.rows(Keyspace::PublicLog, b"c") {
        let (key, bytes) = row?;
        let row: CosignedRow = plumb_storage::stored::decode(Keyspace::PublicLog, SHAPE, &bytes)?;
        let bytes = key.get(1..).and_then(|key| <[u8; 32]>::try_from(key).ok());
        let witness = bytes.and_then(|bytes| NodeId::from_bytes(bytes).ok());
        let witness = witness.ok_or_else(|| damaged(Keyspace::PublicLog, "a witness is no key"))?;
        let cosignature = Cosignature::parse(&row.line).map_err(|e| damaged(Keyspace::PublicLog, e))?;
        all.push(Cosigned { witness, size: row.size, cosignature });
    }
    Ok(all)
}
