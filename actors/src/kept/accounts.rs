//! Bearer tokens: `k` ‖ id → [`Token`]. Only the hash of a token is kept.

use plumb_core::identity::EntityId;
use plumb_core::measure::Timestamp;
use plumb_storage::{Keyspace, RecordsExt, StorageError, Store};
use serde::{Deserialize, Serialize};

use super::SHAPE;

/// A token as it is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Token {
    /// Its id: the readable first part of the token.
    pub id: String,
    /// SHA-256 of the whole token. It has 256 random bits, so a plain hash is enough.
    #[serde(with = "serde_bytes")]
    pub hash: Vec<u8>,
    /// For whom.
    pub person: EntityId,
    /// What it is for.
    pub label: String,
    /// Until when it holds.
    pub expires_at: Timestamp,
}

impl Token {
    /// The key of a token's row.
    pub fn key(id: &str) -> Vec<u8> {
        [b"k", id.as_bytes()].concat()
    }
}

/// Every token.
pub(crate) fn tokens(store: &Store) -> Result<Vec<Token>, StorageError> {
    store
        .rows(Keyspace::Accounts, b"k")
        .map(|row| plumb_storage::stored::decode(Keyspace::Accounts, SHAPE, &row?.1))
        .collect()
}
