//! What became of what was shown: one row for a person and a question, so that nobody moves a ranking by saying the same
//! thing again.
//!
//! | key | value |
//! | --- | --- |
//! | SHA-256(person ‖ 0 ‖ question) | [`FeedbackEvent`] |

use plumb_core::identity::EntityId;
use plumb_core::retrieval::assembly::FeedbackEvent;
use plumb_storage::{Change, Keyspace, Records, RecordsExt, StorageError, Store};
use sha2::{Digest, Sha256};

use super::SHAPE;

/// Most events that are kept; past it the oldest goes. A model counts, and ten thousand showings are plenty.
const EVENTS_MAX: usize = 10_000;

fn key(person: &EntityId, question: &str) -> Vec<u8> {
    let mut hash = Sha256::new();
    hash.update(person.to_string().as_bytes());
    hash.update([0]);
    hash.update(question.as_bytes());
    hash.finalize().to_vec()
}

/// Keeps feedback in the place of what the same person said on the same question before.
pub(crate) fn put_feedback(
    store: &Store,
    change: &mut Change,
    person: &EntityId,
    question: &str,
    event: &FeedbackEvent,
) -> Result<(), StorageError> {
    let key = key(person, question);
    if store.get(Keyspace::Feedback, &key)?.is_none() {
        let kept = rows(store).collect::<Result<Vec<_>, _>>()?;
        if kept.len() >= EVENTS_MAX
            && let Some((oldest, _)) = kept.iter().min_by_key(|(_, event)| event.at())
        {
            change.delete(Keyspace::Feedback, oldest);
        }
    }
    change.put_value(Keyspace::Feedback, SHAPE, &key, event);
    Ok(())
}

/// Every event, with its key.
fn rows(store: &Store) -> impl Iterator<Item = Result<(Vec<u8>, FeedbackEvent), StorageError>> + '_ {
    store.rows(Keyspace::Feedback, &[]).map(move |row| {
        let key = row?.0;
        let event = store.value(Keyspace::Feedback, SHAPE, &key)?;
        let event = event.ok_or_else(|| StorageError::Decode {
            keyspace: Keyspace::Feedback,
            reason: "a row went while it was read".to_string(),
        })?;
        Ok((key, event))
    })
}

/// Every event.
pub(crate) fn feedback(store: &Store) -> Result<Vec<FeedbackEvent>, StorageError> {
    rows(store).map(|row| Ok(row?.1)).collect()
}

/// Forgets every event. Says how many there were.
pub(crate) fn forget_feedback(store: &Store, change: &mut Change) -> Result<u64, StorageError> {
    let mut n = 0;
    for row in store.rows(Keyspace::Feedback, &[]) {
        change.delete(Keyspace::Feedback, &row?.0);
        n += 1;
    }
    Ok(n)
}
