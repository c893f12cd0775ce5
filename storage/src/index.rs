//! The text index: one tantivy index for each sensitivity class, a copy of the store that finds words.
//!
//! **Partitions.** What a requester may not read is not filtered out, it is not opened: public, internal, restricted and
//! confidential chunks lie in four indexes with four dictionaries. Within a partition a clause over scope, department,
//! creator and chunk narrows further.
//!
//! **A copy.** The store is the truth; the index follows the outbox and notes in every commit up to which row it got.
//! On opening it goes on from there. A partition that is missing, damaged, of another version or of another store is
//! built anew from the units. Nothing here is ever the only copy of anything.
//!
//! **Words are data.** What is indexed of a chunk, and what is looked up, are the terms of `core::retrieval`; no text
//! ever meets tantivy's query parser or its tokenizers.
//!
//! **Exact.** Statistics count live documents only, and the hits are exactly the best by the integer score of
//! `core::retrieval`; tantivy's floating-point scores only decide what is worth looking at (see `ranking`).

mod error;
mod fields;
mod partition;
mod ranking;
mod reading;
mod rebuild;
mod searcher;
mod shared;
mod view;
mod worker;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use plumb_core::boundary::Sensitivity;

use crate::error::StorageError;
use crate::outbox::{IndexOp, Position};
use crate::store::Store;
use crate::units;
use shared::Shared;
use worker::Worker;

pub use error::IndexError;
pub(crate) use fields::Entry;
pub use fields::INDEX_VERSION;
pub use searcher::{Candidate, SEARCH_LIMIT_MAX, Searcher};

/// Gives what the index should hold: an `Add` for everything that may be found, each chunk once. A rebuild reads it
/// while changes go on; whatever they do comes through the outbox afterwards.
pub type LiveOps = fn(&Store) -> Box<dyn Iterator<Item = Result<IndexOp, StorageError>> + '_>;

/// How the index works.
#[derive(Clone, Copy, Debug)]
pub struct IndexOptions {
    /// Longest time for which a change may stay unfindable when nobody asks for it with
    /// [`TextIndex::flush_to`] (default 1 s). A commit costs 10 to 100 ms, whatever its size.
    pub commit_every: Duration,
    /// Changes after which a commit comes early (default 5,000).
    pub commit_rows: usize,
    /// Memory of each partition's writer in bytes (default 24 MiB; at least 15 MB). What does not fit goes to the
    /// disk before the commit.
    pub writer_bytes: usize,
    /// Where a rebuild takes its operations from (default: every active unit in the store).
    pub live: LiveOps,
}

impl Default for IndexOptions {
    fn default() -> IndexOptions {
        IndexOptions {
            commit_every: Duration::from_secs(1),
            commit_rows: 5_000,
            writer_bytes: 24 * 1024 * 1024,
            live: |store| Box::new(units::live_ops(store)),
        }
    }
}

/// What the index says of itself, for metrics, `plumb status` and `plumb doctor`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexCounters {
    /// Up to here every change can be found.
    pub position: Position,
    /// Changes that cannot be found yet.
    pub backlog: u64,
    /// Live documents in each partition, least sensitive first.
    pub n_docs: [u64; 4],
    /// Chunks that could not be indexed since the start, because their block is missing or damaged.
    pub unreadable: u64,
    /// Partitions that were built anew since the start.
    pub rebuilt: u64,
    /// Why the writer stands still, if it does. It tries again by itself.
    pub stalled: Option<String>,
}

/// The text index and its writer thread. Dropping it commits what is pending and ends the thread.
pub struct TextIndex {
    shared: Arc<Shared>,
    store: Store,
    dir: PathBuf,
    thread: Option<JoinHandle<()>>,
}

impl TextIndex {
    /// Opens the index in this directory and brings it up to the store's position, building anew what cannot be used.
    pub fn open(dir: &Path, store: &Store, options: IndexOptions) -> Result<TextIndex, IndexError> {
        let (worker, shared) = Worker::open(dir.to_path_buf(), store.clone(), options)?;
        store.ring_after_commit(&shared.bell);
        let thread = std::thread::Builder::new()
            .name("plumb-index".into())
            .spawn(move || worker.run())
            .map_err(|source| IndexError::Thread(Arc::new(source)))?;
        Ok(TextIndex { shared, store: store.clone(), dir: dir.to_path_buf(), thread: Some(thread) })
    }

    /// The index as it is now: four partitions at one position. It stays as it is while changes go on.
    pub fn searcher(&self) -> Searcher {
        Searcher::new(self.shared.snapshot())
    }

    /// Waits until everything up to this position can be found. A position that lies ahead of the store counts as
    /// the store's own.
    pub fn flush_to(&self, position: Position) -> Result<(), IndexError> {
        self.shared.flush_to(position.min(self.store.position()))
    }

    /// Builds every partition anew from the store, while searches go on in the old ones. Returns when the new ones
    /// are in use.
    pub fn rebuild(&self) -> Result<(), IndexError> {
        self.shared.rebuild()
    }

    /// Compares the index files with their checksums and returns the partitions that are damaged. It reads all of
    /// them: for `plumb doctor`, which then rebuilds.
    pub fn damaged_partitions(&self) -> Result<Vec<Sensitivity>, IndexError> {
        let mut damaged = Vec::new();
        for class in Sensitivity::ALL {
            if !partition::is_intact(&self.dir, class)? {
                damaged.push(class);
            }
        }
        Ok(damaged)
    }

    /// What the index says of itself.
    pub fn counters(&self) -> IndexCounters {
        self.shared.counters(self.store.position())
    }
}

impl Drop for TextIndex {
    fn drop(&mut self) {
        self.shared.stop();
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the index writer had stopped by a panic");
        }
    }
}
