//! Sources as this node keeps them.
//!
//! | key | value |
//! | --- | --- |
//! | `c` ‖ CID of the record | [`SourceRow`] |
//! | `a` ‖ SHA-256(scope ‖ 0 ‖ address) | CID of the current record at that address in that scope |
//! | `n` ‖ address, cut ‖ 0 ‖ CID | nothing: the order of listing |

use cid::Cid;
use plumb_core::boundary::Sensitivity;
use plumb_core::content::Fingerprint;
use plumb_core::identity::{EntityId, NodeId, OrgId};
use plumb_core::knowledge::Scope;
use plumb_storage::{Change, Keyspace, RecordsExt, StorageError, Store};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::SHAPE;

/// Bytes of an address that stand in a key; keys are short, and what follows only orders the list.
const ADDRESS_KEY_BYTES: usize = 160;

/// A CIDv1 with SHA-256 is 36 bytes: version, codec, hash code, length, 32 bytes of hash.
const CID_LEN: usize = 36;

/// Where a source stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum SourceState {
    /// Its units are active.
    Active,
    /// A notice withdrew it.
    Retracted(Cid),
    /// A newer version stands at its address.
    Superseded(Cid),
    /// It was removed from this node, its text with it. The fingerprints of that text stay, so that what was given out
    /// before can still be retracted.
    Removed(Vec<Fingerprint>),
}

/// What this node knows of a source beside its record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SourceRow {
    /// CID of its record.
    pub record: Cid,
    /// Its full address on this node, or the one in the record if it was imported.
    pub address: String,
    /// Its title.
    pub title: String,
    /// Its address as others see it.
    pub uri: String,
    /// Media type.
    pub media_type: String,
    /// The adapter that read it.
    pub adapter: String,
    /// Whose it is.
    pub scope: Scope,
    /// The label of all its units.
    pub sensitivity: Sensitivity,
    /// CID of the raw bytes.
    pub raw: Cid,
    /// Its chunks, in order.
    pub chunks: Vec<Cid>,
    /// Who published it.
    pub publisher: NodeId,
    /// That node's organisation.
    pub org: OrgId,
    /// The publisher's department.
    pub department: EntityId,
    /// Who brought it in.
    pub creator: Option<EntityId>,
    /// Where it stands.
    pub state: SourceState,
}

impl SourceRow {
    /// Whether it was removed from this node.
    pub fn is_removed(&self) -> bool {
        matches!(self.state, SourceState::Removed(_))
    }
}

fn by_cid(record: &Cid) -> Vec<u8> {
    [&b"c"[..], &record.to_bytes()].concat()
}

fn by_address(scope: &Scope, address: &str) -> Vec<u8> {
    let mut hash = Sha256::new();
    hash.update(scope.to_string().as_bytes());
    hash.update([0]);
    hash.update(address.as_bytes());
    [&b"a"[..], &hash.finalize()[..]].concat()
}

fn in_order(address: &str, record: &Cid) -> Vec<u8> {
    let mut cut = address.len().min(ADDRESS_KEY_BYTES);
    while !address.is_char_boundary(cut) {
        cut -= 1;
    }
    [&b"n"[..], &address.as_bytes()[..cut], &[0], &record.to_bytes()].concat()
}

/// The source of this record.
pub(crate) fn source(store: &Store, record: &Cid) -> Result<Option<SourceRow>, StorageError> {
    store.value(Keyspace::Sources, SHAPE, &by_cid(record))
}

/// The current source at an address in a scope.
pub(crate) fn current_of(store: &Store, scope: &Scope, address: &str) -> Result<Option<SourceRow>, StorageError> {
    let record: Option<Cid> = store.value(Keyspace::Sources, SHAPE, &by_address(scope, address))?;
    match record {
        Some(record) => source(store, &record),
        None => Ok(None),
    }
}

/// Writes a source as the current one at its address.
pub(crate) fn put_source(change: &mut Change, row: &SourceRow) {
    change.put_value(Keyspace::Sources, SHAPE, &by_address(&row.scope, &row.address), &row.record);
    change.put(Keyspace::Sources, &in_order(&row.address, &row.record), Vec::new());
    super::sealed::put_held(change, &row.record);
    retitle(change, row);
}

/// Makes a source no longer the one at its address, nor one of the list. Its row stays.
pub(crate) fn vacate(store: &Store, change: &mut Change, row: &SourceRow) -> Result<(), StorageError> {
    // An older version lies at the address of the current one, which stays.
    if current_of(store, &row.scope, &row.address)?.is_some_and(|current| current.record == row.record) {
        change.delete(Keyspace::Sources, &by_address(&row.scope, &row.address));
    }
    change.delete(Keyspace::Sources, &in_order(&row.address, &row.record));
    Ok(())
}

/// The sources of these raw bytes.
pub(crate) fn sources_of_raw(store: &Store, raw: &Cid) -> Result<Vec<SourceRow>, StorageError> {
    let mut rows = Vec::new();
    for holder in store.holders(raw) {
        // Others than sources hold blocks too; their names are none of a source.
        if let Ok(record) = Cid::try_from(holder?.as_slice()) {
            rows.extend(source(store, &record)?.filter(|row| row.raw == *raw));
        }
    }
    Ok(rows)
}

/// Writes a source's row alone: its state or label changed.
pub(crate) fn retitle(change: &mut Change, row: &SourceRow) {
    change.put_value(Keyspace::Sources, SHAPE, &by_cid(&row.record), row);
}

/// Sources in the order of their addresses, behind one.
pub(crate) fn sources_by_address<'a>(
    store: &'a Store,
    after: Option<&str>,
) -> impl Iterator<Item = Result<SourceRow, StorageError>> + 'a {
    let after = after.map(str::to_string);
    store
        .rows(Keyspace::Sources, b"n")
        .map(move |row| {
            let (key, _) = row?;
            let at = key.len().saturating_sub(CID_LEN);
            let record = Cid::try_from(&key[at..])
                .map_err(|e| StorageError::Decode { keyspace: Keyspace::Sources, reason: e.to_string() })?;
            source(store, &record)?.ok_or_else(|| StorageError::Decode {
                keyspace: Keyspace::Sources,
                reason: format!("no row for {record}"),
            })
        })
        .filter(move |row| match (row, &after) {
            (Ok(row), Some(after)) => row.address > *after,
            _ => true,
        })
}
