//! What the world published about works, by DOI, and which sources here it was applied to.
//!
//! | keyspace | key | value |
//! | --- | --- | --- |
//! | sources | `d` ‖ CID of the record | the source's own DOI, or that it has none |
//! | notices | `w` ‖ name of the feed | every report of it |
//! | notices | `m` ‖ CID of the record ‖ name of the feed | what of it was applied, each with the local notice |

use cid::Cid;
use plumb_sources::world::{Doi, Feed, Nature, Report};
use plumb_storage::{Change, Keyspace, RecordsExt, StorageError, Store};
use serde::{Deserialize, Serialize};

use super::SHAPE;

/// A report that was applied to a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Applied {
    /// What was reported.
    pub nature: Nature,
    /// The local notice that it became.
    pub notice: Cid,
}

fn doi_key(record: &Cid) -> Vec<u8> {
    [&b"d"[..], &record.to_bytes()].concat()
}

fn list_key(feed: Feed) -> Vec<u8> {
    [&b"w"[..], feed.as_str().as_bytes()].concat()
}

fn applied_key(record: &Cid, feed: Feed) -> Vec<u8> {
    [&b"m"[..], &record.to_bytes(), feed.as_str().as_bytes()].concat()
}

/// The DOI of a source: `None` if nobody has looked yet, else what was found.
pub(crate) fn doi_of(store: &Store, record: &Cid) -> Result<Option<Option<Doi>>, StorageError> {
    store.value(Keyspace::Sources, SHAPE, &doi_key(record))
}

/// Notes the DOI of a source, or that it has none.
pub(crate) fn put_doi(change: &mut Change, record: &Cid, doi: Option<&Doi>) {
    change.put_value(Keyspace::Sources, SHAPE, &doi_key(record), &doi);
}

/// Every report of a feed that is kept, by work.
pub(crate) fn world_list(store: &Store, feed: Feed) -> Result<Vec<Report>, StorageError> {
    Ok(store.value(Keyspace::Notices, SHAPE, &list_key(feed))?.unwrap_or_default())
}

/// Keeps the reports of a feed in place of those that were kept.
pub(crate) fn put_world_list(change: &mut Change, feed: Feed, reports: &[Report]) {
    change.put_value(Keyspace::Notices, SHAPE, &list_key(feed), reports);
}

/// What of a feed was applied to a source.
pub(crate) fn applied(store: &Store, record: &Cid, feed: Feed) -> Result<Vec<Applied>, StorageError> {
    Ok(store.value(Keyspace::Notices, SHAPE, &applied_key(record, feed))?.unwrap_or_default())
}

/// Writes what of a feed is applied to a source.
pub(crate) fn put_applied(change: &mut Change, record: &Cid, feed: Feed, applied: &[Applied]) {
    change.put_value(Keyspace::Notices, SHAPE, &applied_key(record, feed), applied);
}
