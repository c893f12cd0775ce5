//! When it was last confirmed that a publisher took nothing more back.
//!
//! Key in `imports`: `h` ‖ publisher → the newest confirmation that came with a bundle. What this node itself confirmed
//! stands with the publisher's log.

use plumb_core::exchange::ISSUED_MAX_AGE;
use plumb_core::identity::NodeId;
use plumb_core::measure::Timestamp;
use plumb_core::trust::CLOCK_TOLERANCE;
use plumb_storage::{Change, Keyspace, RecordsExt, StorageError, Store};

use super::{SHAPE, is_forked, log_head};

/// What is known of the status of a publisher's evidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Confirmation {
    /// This node confirmed it, lately enough.
    Confirmed,
    /// Nobody confirmed it here, or too long ago.
    Unconfirmed {
        /// The last confirmation that is known of: by this node, or carried by a bundle.
        since: Option<Timestamp>,
    },
}

fn key(publisher: &NodeId) -> Vec<u8> {
    [&b"h"[..], publisher.as_bytes()].concat()
}

/// Whether the status of a publisher's evidence is confirmed. *Unknown* is a state of its own, and never *not retracted*.
pub(crate) fn confirmation(
    store: &Store,
    own: &NodeId,
    publisher: &NodeId,
    now: Timestamp,
) -> Result<Confirmation, StorageError> {
    if own == publisher {
        return Ok(Confirmation::Confirmed);
    }
    let confirmed = match log_head(store, own, publisher)? {
        Some(head) if !is_forked(store, publisher)? => head.confirmed(),
        _ => None,
    };
    // A clock that was ahead for a while confirmed nothing of the days that were to come.
    let confirmed = confirmed.filter(|at| *at <= now.plus(CLOCK_TOLERANCE));
    if confirmed.is_some_and(|at| now.since(at) <= ISSUED_MAX_AGE) {
        return Ok(Confirmation::Confirmed);
    }
    let carried: Option<Timestamp> = store.value(Keyspace::Imports, SHAPE, &key(publisher))?;
    Ok(Confirmation::Unconfirmed { since: confirmed.max(carried) })
}

/// Keeps the confirmation that came with a bundle, if it is newer than what is kept.
pub(crate) fn put_carried(
    store: &Store,
    change: &mut Change,
    publisher: &NodeId,
    as_of: Timestamp,
    now: Timestamp,
) -> Result<(), StorageError> {
    if now.plus(CLOCK_TOLERANCE) < as_of {
        return Ok(());
    }
    let known: Option<Timestamp> = store.value(Keyspace::Imports, SHAPE, &key(publisher))?;
    if known.is_none_or(|known| known < as_of) {
        change.put_value(Keyspace::Imports, SHAPE, &key(publisher), &as_of);
    }
    Ok(())
}
