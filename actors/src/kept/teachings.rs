//! Teachings: what this node offers to others, and what others offered to it.
//!
//! | key in `imports` | value |
//! | --- | --- |
//! | `o` ‖ teaching | [`Offered`]: may be sent on |
//! | `p` ‖ teaching ‖ peer | [`Sent`]: was sent, and what came back |
//! | `t` ‖ teaching | [`Received`] |
//! | `w` ‖ giver ‖ teaching | nothing: waits for a person, and its giver was told so |

use cid::Cid;
use plumb_core::identity::NodeId;
use plumb_core::measure::{Milli, Timestamp};
use plumb_core::propagation::{Reply, Resolution};
use plumb_storage::{Change, Keyspace, Records, RecordsExt, StorageError, Store};
use serde::{Deserialize, Serialize};

use super::SHAPE;

/// A teaching that may be sent on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Offered {
    /// The signed teaching.
    #[serde(with = "serde_bytes")]
    pub teaching: Vec<u8>,
    /// The signed hops by which it came here; none if it arose here.
    pub hops: Vec<serde_bytes::ByteBuf>,
    /// Since when.
    pub at: Timestamp,
}

/// A teaching that was sent to a peer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Sent {
    /// What came back.
    pub reply: Reply,
    /// When.
    pub at: Timestamp,
}

/// What became of a teaching that came.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub(crate) enum Standing {
    /// It is known here now.
    Accepted,
    /// It contradicts something; a person decides.
    Pending {
        /// What it contradicts.
        against: Cid,
    },
    /// A person decided.
    Resolved {
        /// How.
        resolution: Resolution,
    },
}

/// A teaching that came.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Received {
    /// The offer, as it arrived.
    #[serde(with = "serde_bytes")]
    pub offer: Vec<u8>,
    /// Who handed it over.
    pub giver: NodeId,
    /// When.
    pub at: Timestamp,
    /// How sure one may be of it here.
    pub confidence: Milli,
    /// What became of it.
    pub standing: Standing,
    /// What it contradicts, if its giver was told that it waits. A conflict with what the giver may not read is not told,
    /// and an offer that comes twice is not told it either.
    #[serde(default)]
    pub told_against: Option<Cid>,
}

fn key(tag: u8, teaching: &Cid) -> Vec<u8> {
    [&[tag][..], &teaching.to_bytes()].concat()
}

fn sent_key(teaching: &Cid, peer: &NodeId) -> Vec<u8> {
    [&key(b'p', teaching)[..], peer.as_bytes()].concat()
}

fn all<T: serde::de::DeserializeOwned>(store: &Store, tag: u8) -> Result<Vec<(Cid, T)>, StorageError> {
    let mut rows = Vec::new();
    for row in store.rows(Keyspace::Imports, &[tag]) {
        let (key, value) = row?;
        if let Ok(teaching) = Cid::try_from(&key[1..]) {
            rows.push((teaching, plumb_storage::stored::decode(Keyspace::Imports, SHAPE, &value)?));
        }
    }
    Ok(rows)
}

/// Every teaching that may be sent on.
pub(crate) fn offered_teachings(store: &Store) -> Result<Vec<(Cid, Offered)>, StorageError> {
    all(store, b'o')
}

/// Keeps one that may be sent on.
pub(crate) fn put_offered(change: &mut Change, teaching: &Cid, offered: &Offered) {
    change.put_value(Keyspace::Imports, SHAPE, &key(b'o', teaching), offered);
}

/// What a peer replied to a teaching, if it was sent.
pub(crate) fn sent_teaching(store: &Store, teaching: &Cid, peer: &NodeId) -> Result<Option<Sent>, StorageError> {
    store.value(Keyspace::Imports, SHAPE, &sent_key(teaching, peer))
}

/// Everybody to whom a teaching was sent.
pub(crate) fn sent_to(store: &Store, teaching: &Cid) -> Result<Vec<(NodeId, Sent)>, StorageError> {
    let prefix = key(b'p', teaching);
    let mut rows = Vec::new();
    for row in store.rows(Keyspace::Imports, &prefix) {
        let (key, value) = row?;
        let peer = <[u8; 32]>::try_from(&key[prefix.len()..]).ok().and_then(|bytes| NodeId::from_bytes(bytes).ok());
        if let Some(peer) = peer {
            rows.push((peer, plumb_storage::stored::decode(Keyspace::Imports, SHAPE, &value)?));
        }
    }
    Ok(rows)
}

/// Keeps what a peer replied.
pub(crate) fn put_sent(change: &mut Change, teaching: &Cid, peer: &NodeId, sent: &Sent) {
    change.put_value(Keyspace::Imports, SHAPE, &sent_key(teaching, peer), sent);
}

/// A teaching that came.
pub(crate) fn received_teaching(store: &Store, teaching: &Cid) -> Result<Option<Received>, StorageError> {
    store.value(Keyspace::Imports, SHAPE, &key(b't', teaching))
}

/// Every teaching that came.
pub(crate) fn received_teachings(store: &Store) -> Result<Vec<(Cid, Received)>, StorageError> {
    all(store, b't')
}

/// Keeps a teaching that came.
pub(crate) fn put_received(change: &mut Change, teaching: &Cid, received: &Received) {
    let waits = [&b"w"[..], received.giver.as_bytes(), &teaching.to_bytes()].concat();
    match (&received.standing, received.told_against) {
        (Standing::Pending { .. }, Some(_)) => change.put(Keyspace::Imports, &waits, Vec::new()),
        _ => change.delete(Keyspace::Imports, &waits),
    };
    change.put_value(Keyspace::Imports, SHAPE, &key(b't', teaching), received);
}

/// How many teachings of a giver wait for a person, as far as it was told so; counted up to a bound.
pub(crate) fn n_waiting(store: &Store, giver: &NodeId, bound: usize) -> Result<usize, StorageError> {
    let prefix = [&b"w"[..], giver.as_bytes()].concat();
    Ok(store.scan(Keyspace::Imports, &prefix, None, bound)?.len())
}
