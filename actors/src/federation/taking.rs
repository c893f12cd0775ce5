//! Taking up what the sync brings of logs: applied, then kept.

use std::sync::Arc;

use plumb_core::identity::NodeId;
use plumb_core::measure::Timestamp;
use plumb_federation::wire::log_state::LogState;
use plumb_storage::{Change, Records, StorageError};

use super::{entries, own_log};
use crate::door::{Door, Late};
use crate::error::NodeError;
use crate::grounding::APPEND_TRIES;
use crate::kept::{self, LogHead};
use crate::premises::{Premises, blocking};
use crate::verification::Verification;

/// Applies verified entries of a log, then keeps them. Applying comes first: if the node dies between the two, the
/// entries come again, and applying twice changes nothing more.
pub(super) async fn take_entries(
    premises: Arc<Premises>,
    verification: Late<Door<Verification>>,
    from: u64,
    new: Vec<Vec<u8>>,
    state: LogState,
    giver: NodeId,
) -> Result<(), NodeError> {
    let door = verification.get().ok_or(NodeError::Offline)?;
    entries::apply(&premises, &door, from, &new, &state).await?;
    blocking(move || keep(&premises, from, &new, state, &giver)).await
}

fn keep(premises: &Premises, from: u64, entries: &[Vec<u8>], state: LogState, giver: &NodeId) -> Result<(), NodeError> {
    let (publisher, own) = (state.publisher, premises.node());
    // Only the publisher itself knows that there is no more.
    let as_of = if *giver == publisher && state.is_whole() {
        Some(premises.now())
    } else {
        kept::log_head(&premises.store, &own, &publisher)?.and_then(|head| head.as_of)
    };
    let head = LogHead { state, as_of };
    for _ in 0..APPEND_TRIES {
        let what = format!("{} entries from {from}", entries.len());
        let mut change = Change::new(premises.event(&publisher.to_string(), "log.sync", publisher, "ok", what));
        if !kept::extend(&premises.store, &mut change, &own, &head, from, entries)? {
            return Ok(());
        }
        if publisher == own {
            own_log::end_when_whole(premises, &mut change, &head.state)?;
        }
        match premises.store.commit(change) {
            Ok(_) if publisher == own => return own_log::settle(premises),
            Ok(_) => return Ok(()),
            Err(StorageError::Conflict { .. }) => continue,
            Err(error) => return Err(error.into()),
        }
    }
    Err(NodeError::Busy { retry_after: crate::door::RETRY_AFTER })
}

/// Writes down that a publisher itself said that its log has no more than what is held here.
pub(super) fn note_confirmed(premises: Arc<Premises>, publisher: NodeId, size: u64, now: Timestamp) {
    actix::spawn(async move {
        let noted = blocking(move || {
            let mut change = Change::new(premises.event("federation", "log.state", publisher, "ok", ""));
            let own = premises.node();
            if !kept::confirm(&premises.store, &mut change, &own, &publisher, size, now)? {
                return Ok(());
            }
            match premises.store.commit(change) {
                // It grew at this moment, so it is not what was confirmed; the next exchange confirms it again.
                Ok(_) | Err(StorageError::Conflict { .. }) => Ok(()),
                Err(error) => Err(error.into()),
            }
        });
        if let Err(error) = noted.await {
            tracing::error!(%error, "that a log was confirmed could not be written down");
        }
    });
}
