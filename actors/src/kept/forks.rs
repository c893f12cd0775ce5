//! Proofs that a publisher showed two histories, and what an operator decided about them.
//!
//! | key | value |
//! | --- | --- |
//! | `f` ‖ publisher | the proof for which it is in quarantine |
//! | `d` ‖ publisher ‖ digest of the proof | a proof on which the operator has decided; it is kept for ever |
//! | `l` ‖ publisher ‖ digest | a head of the own log whose entries the operator gave up |

use plumb_core::identity::NodeId;
use plumb_core::log::SignedCheckpoint;
use plumb_federation::wire::log::Fork;
use plumb_storage::{Change, Keyspace, Records, RecordsExt, StorageError, Store};
use sha2::{Digest, Sha256};

fn key(kind: u8, publisher: &NodeId, rest: &[u8]) -> Vec<u8> {
    [&[kind][..], publisher.as_bytes(), rest].concat()
}

fn damaged(reason: impl ToString) -> StorageError {
    StorageError::Decode { keyspace: Keyspace::ForeignLog, reason: reason.to_string() }
}

fn all(store: &Store, kind: u8) -> Result<Vec<Fork>, StorageError> {
    store.rows(Keyspace::ForeignLog, &[kind]).map(|row| Fork::decode(&row?.1).map_err(damaged)).collect()
}

/// Keeps the proof that a publisher showed two histories.
pub(crate) fn put_fork(change: &mut Change, fork: &Fork) {
    change.put(Keyspace::ForeignLog, &key(b'f', &fork.publisher, &[]), fork.encode());
}

/// The proofs against publishers that are in quarantine.
pub(crate) fn forks(store: &Store) -> Result<Vec<Fork>, StorageError> {
    all(store, b'f')
}

/// The proofs on which the operator has decided.
pub(crate) fn decided_forks(store: &Store) -> Result<Vec<Fork>, StorageError> {
    all(store, b'd')
}

/// The proof for which a publisher is in quarantine.
pub(crate) fn fork(store: &Store, publisher: &NodeId) -> Result<Option<Fork>, StorageError> {
    let row = store.get(Keyspace::ForeignLog, &key(b'f', publisher, &[]))?;
    row.map(|bytes| Fork::decode(&bytes).map_err(damaged)).transpose()
}

/// Whether a publisher is in quarantine.
pub(crate) fn is_forked(store: &Store, publisher: &NodeId) -> Result<bool, StorageError> {
    Ok(store.get(Keyspace::ForeignLog, &key(b'f', publisher, &[]))?.is_some())
}

/// Ends the quarantine for which this is the proof. The proof is kept.
pub(crate) fn decide_fork(change: &mut Change, fork: &Fork) {
    let bytes = fork.encode();
    change.delete(Keyspace::ForeignLog, &key(b'f', &fork.publisher, &[]));
    change.put(Keyspace::ForeignLog, &key(b'd', &fork.publisher, &Sha256::digest(&bytes)), bytes);
}

/// Gives up what only this head of the own log speaks for.
pub(crate) fn give_up(change: &mut Change, own: &NodeId, checkpoint: &SignedCheckpoint) {
    let text = checkpoint.as_str().as_bytes().to_vec();
    change.put(Keyspace::ForeignLog, &key(b'l', own, &Sha256::digest(&text)), text);
}

/// The heads of the own log that were given up.
pub(crate) fn given_up(store: &Store) -> Result<Vec<SignedCheckpoint>, StorageError> {
    let read = |bytes: Vec<u8>| SignedCheckpoint::parse(std::str::from_utf8(&bytes).ok()?).ok();
    let rows = store.rows(Keyspace::ForeignLog, b"l");
    rows.map(|row| read(row?.1).ok_or_else(|| damaged("a head that was given up is no checkpoint"))).collect()
}
