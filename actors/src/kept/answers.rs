//! Saved answers and imported bundles.
//!
//! | keyspace | key | value |
//! | --- | --- | --- |
//! | answers | `b` ‖ CID of the bundle | [`SavedAnswer`] |
//! | answers | `t` ‖ time ‖ CID of the bundle | nothing: the order of listing |
//! | answers | `x` ‖ bundle | when its file was given out last |
//! | answers | `i` ‖ CID of the bundle | its matter: which question over which places, and what was said |
//! | answers | `s` ‖ id of the matter ‖ CID of the bundle | nothing: which bundles are on one matter |
//! | lineage | source ‖ bundle | nothing: which answers rest on a source |

use cid::Cid;
use plumb_core::boundary::Sensitivity;
use plumb_core::exchange::Matter;
use plumb_core::identity::{EntityId, OrgId};
use plumb_core::measure::Timestamp;
use plumb_storage::{Change, Keyspace, Records, RecordsExt, StorageError, Store};
use serde::{Deserialize, Serialize};

use super::{SHAPE, time_key};

/// An answer that was kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SavedAnswer {
    /// The bundle.
    pub bundle: Cid,
    /// Root of its file: the seal.
    pub root: Cid,
    /// The answer's block.
    pub answer: Cid,
    /// Every block of its file.
    pub blocks: Vec<Cid>,
    /// When it was kept.
    pub saved_at: Timestamp,
    /// Who asked, and who may read it beside the label's audience.
    pub person: EntityId,
    /// Its label.
    pub sensitivity: Sensitivity,
    /// The organisation whose label that is.
    pub org: OrgId,
    /// Chunks that it rests on. Whoever may not read one of them may not read it.
    pub chunks: Vec<Cid>,
    /// Their sources.
    pub sources: Vec<Cid>,
    /// Notices that reach it, in order of arrival.
    pub notices: Vec<Cid>,
    /// Whether it came from elsewhere.
    pub imported: bool,
}

/// Most bundles on one matter that are looked at. Each is an answer to the very same question.
const CONFLICTS_MAX: usize = 1000;

fn by_cid(bundle: &Cid) -> Vec<u8> {
    [&b"b"[..], &bundle.to_bytes()].concat()
}

/// The saved answer of a bundle.
pub(crate) fn answer(store: &Store, bundle: &Cid) -> Result<Option<SavedAnswer>, StorageError> {
    store.value(Keyspace::Answers, SHAPE, &by_cid(bundle))
}

/// Keeps an answer, with its lineage.
pub(crate) fn put_answer(change: &mut Change, row: &SavedAnswer) {
    let order = [&b"t"[..], &time_key(row.saved_at), &row.bundle.to_bytes()].concat();
    change.put(Keyspace::Answers, &order, Vec::new());
    for source in &row.sources {
        change.put(Keyspace::Lineage, &[source.to_bytes(), row.bundle.to_bytes()].concat(), Vec::new());
        super::sealed::put_held(change, source);
    }
    for block in &row.blocks {
        change.hold(block, &row.bundle.to_bytes());
    }
    update_answer(change, row);
}

/// Writes an answer's row alone: its flags changed.
pub(crate) fn update_answer(change: &mut Change, row: &SavedAnswer) {
    change.put_value(Keyspace::Answers, SHAPE, &by_cid(&row.bundle), row);
}

fn given_key(bundle: &Cid) -> Vec<u8> {
    [&b"x"[..], &bundle.to_bytes()].concat()
}

/// Notes that the file of an answer was given out: whoever has it must hear of what becomes of it.
pub(crate) fn put_given_out(change: &mut Change, bundle: &Cid, at: Timestamp) {
    change.put_value(Keyspace::Answers, SHAPE, &given_key(bundle), &at);
}

/// Whether the file of an answer was given out.
pub(crate) fn was_given_out(store: &Store, bundle: &Cid) -> Result<bool, StorageError> {
    Ok(store.get(Keyspace::Answers, &given_key(bundle))?.is_some())
}

/// Saved answers, newest first.
pub(crate) fn answers(store: &Store, limit: usize) -> Result<Vec<SavedAnswer>, StorageError> {
    let keys = store.scan_back(Keyspace::Answers, b"t", None, limit)?;
    keys.into_iter()
        .filter_map(|(key, _)| Cid::try_from(&key[9..]).ok())
        .filter_map(|c| answer(store, &c).transpose())
        .collect()
}

/// Saved answers that rest on a source.
pub(crate) fn answers_citing(store: &Store, source: &Cid) -> Result<Vec<SavedAnswer>, StorageError> {
    let prefix = source.to_bytes();
    store
        .rows(Keyspace::Lineage, &prefix)
        .filter_map(|row| match row {
            Ok((key, _)) => {
                Cid::try_from(&key[prefix.len()..]).ok().and_then(|bundle| answer(store, &bundle).transpose())
            }
            Err(error) => Some(Err(error)),
        })
        .collect()
}

#[derive(Serialize, Deserialize)]
struct MatterRow {
    #[serde(with = "serde_bytes")]
    id: Vec<u8>,
    #[serde(with = "serde_bytes")]
    said: Vec<u8>,
}

fn matter_key(bundle: &Cid) -> Vec<u8> {
    [&b"i"[..], &bundle.to_bytes()].concat()
}

/// Notes on which matter a bundle is.
pub(crate) fn put_matter(change: &mut Change, bundle: &Cid, matter: &Matter) {
    let row = MatterRow { id: matter.id.to_vec(), said: matter.said.to_vec() };
    change.put_value(Keyspace::Answers, SHAPE, &matter_key(bundle), &row);
    change.put(Keyspace::Answers, &[&b"s"[..], &matter.id, &bundle.to_bytes()].concat(), Vec::new());
}

/// The matter of a bundle. One that was kept before matters were noted has none.
pub(crate) fn matter(store: &Store, bundle: &Cid) -> Result<Option<Matter>, StorageError> {
    let row: Option<MatterRow> = store.value(Keyspace::Answers, SHAPE, &matter_key(bundle))?;
    row.map(|row| {
        let digest = |bytes: Vec<u8>| {
            bytes.try_into().map_err(|_| StorageError::Decode {
                keyspace: Keyspace::Answers,
                reason: "a matter is named by 32 bytes".to_string(),
            })
        };
        Ok(Matter { id: digest(row.id)?, said: digest(row.said)? })
    })
    .transpose()
}

/// The kept bundles that answer the same question from the same places, and say something else.
pub(crate) fn contradicting(store: &Store, own: &Matter) -> Result<Vec<Cid>, StorageError> {
    let prefix = [&b"s"[..], &own.id].concat();
    let mut found = Vec::new();
    for (key, _) in store.scan(Keyspace::Answers, &prefix, None, CONFLICTS_MAX)? {
        let Ok(bundle) = Cid::try_from(&key[prefix.len()..]) else { continue };
        if matter(store, &bundle)?.is_some_and(|other| other.contradicts(own)) {
            found.push(bundle);
        }
    }
    Ok(found)
}
