//! The vectors: of each chunk the direction in which its text points, by sensitivity class, and the nearest to a question.
//!
//! **Partitions** as in the text index: what a requester may not read is not scanned, and a clause over scope, department,
//! creator and chunk narrows a scan while it runs, not afterwards.
//!
//! **A copy.** A thread follows the outbox and keeps these files as the store says: what is deleted is overwritten, what is
//! relabelled moves, what is new waits until somebody brings its vector ([`VectorIndex::waiting`], [`VectorIndex::put`]). It
//! begins with a comparison of everything, and does so again when it missed something. Until a chunk is known to be still
//! there it is not found.
//!
//! **One model.** A [`VectorIndex`] is of one model, in a folder of its own; another model is another index beside it.
//!
//! **Exact.** A scan looks at every vector: integers, and the same answer on every machine.

mod file;
mod follower;
mod partition;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};
use std::thread::JoinHandle;
use std::time::Duration;

use cid::Cid;
use plumb_core::boundary::{Access, Sensitivity};
use plumb_core::content::Chunk;
use plumb_core::vector::{ModelId, Quantised, VectorError};

use crate::bell::Bell;
use crate::error::StorageError;
use crate::index::Entry;
use crate::records::Blocks;
use crate::store::Store;
use follower::Follower;
use partition::Partition;

/// Why the vectors cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum VectorIndexError {
    /// The folder or a file in it.
    #[error("the vectors in `{path}` cannot be opened or written; they can be deleted and are made again")]
    File {
        /// Which.
        path: std::path::PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A vector of another model.
    #[error(transparent)]
    Vector(#[from] VectorError),
    /// The store.
    #[error(transparent)]
    Store(#[from] StorageError),
    /// The thread did not start.
    #[error("the thread that keeps the vectors cannot be started: {0}")]
    Thread(std::io::Error),
}

/// What the vectors say of themselves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VectorCounters {
    /// Chunks with a vector, least sensitive first.
    pub embedded: [u64; 4],
    /// Chunks that wait for one.
    pub waiting: [u64; 4],
    /// Whether everything has been compared with the store since it was opened.
    pub settled: bool,
    /// Why the files stand still, if they do. It is tried again.
    pub stalled: Option<String>,
}

impl VectorCounters {
    /// How many in a thousand of the chunks in these partitions have a vector. None of none is all.
    pub fn share(&self, partitions: &[Sensitivity]) -> u16 {
        let sum = |counts: &[u64; 4]| partitions.iter().map(|class| counts[*class as usize]).sum::<u64>();
        let (embedded, waiting) = (sum(&self.embedded), sum(&self.waiting));
        if !self.settled {
            return 0;
        }
        let share = embedded.saturating_mul(1000).checked_div(embedded.saturating_add(waiting)).unwrap_or(1000);
        u16::try_from(share).unwrap_or(1000)
    }
}

/// The vectors of one model, and the thread that keeps them as the store says. Dropping it ends the thread.
pub struct VectorIndex {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

/// What the thread and its callers have in common.
struct Shared {
    store: Store,
    /// Where the files are, for messages.
    dir: std::path::PathBuf,
    bell: Arc<Bell>,
    partitions: [RwLock<Partition>; 4],
    /// Held by whoever changes a partition, so that a vector that comes late does not bring back what was deleted.
    queue: Mutex<Queue>,
    /// Told when something waits.
    more: Condvar,
}

#[derive(Default)]
struct Queue {
    waiting: BTreeMap<Cid, (Sensitivity, Entry)>,
    settled: bool,
    stalled: Option<String>,
    stop: bool,
}

impl VectorIndex {
    /// Opens the vectors of this model in this folder, which is made if it is missing.
    pub fn open(dir: &Path, store: &Store, model: &ModelId) -> Result<VectorIndex, VectorIndexError> {
        let at = |source| VectorIndexError::File { path: dir.to_path_buf(), source };
        fs::create_dir_all(dir).map_err(at)?;
        let mut partitions = Vec::with_capacity(Sensitivity::ALL.len());
        for class in Sensitivity::ALL {
            let file = dir.join(format!("{class}.vec"));
            partitions.push(RwLock::new(Partition::open(&file, model, store.id()).map_err(at)?));
        }
        let partitions = partitions.try_into().unwrap_or_else(|_| unreachable!("there are four classes"));
        let shared = Arc::new(Shared {
            store: store.clone(),
            dir: dir.to_path_buf(),
            bell: Arc::default(),
            partitions,
            queue: Mutex::default(),
            more: Condvar::new(),
        });
        store.ring_after_commit(&shared.bell);
        let follower = Follower::new(Arc::clone(&shared));
        let thread = std::thread::Builder::new()
            .name("plumb-vectors".into())
            .spawn(move || follower.run())
            .map_err(VectorIndexError::Thread)?;
        Ok(VectorIndex { shared, thread: Some(thread) })
    }

    /// The nearest chunks of a partition among those that the access admits, best first, with their dot products.
    pub fn nearest(
        &self,
        partition: Sensitivity,
        access: &Access,
        question: &Quantised,
        limit: usize,
    ) -> Result<Vec<(Cid, i32)>, VectorIndexError> {
        Ok(self.shared.reading(partition).nearest(access, question, limit)?)
    }

    /// The dot products of those of these chunks that lie in a partition and that the access admits.
    pub fn dots(
        &self,
        partition: Sensitivity,
        access: &Access,
        question: &Quantised,
        chunks: impl IntoIterator<Item = Cid>,
    ) -> Result<Vec<(Cid, i32)>, VectorIndexError> {
        Ok(self.shared.reading(partition).dots(access, question, chunks)?)
    }

    /// Up to `limit` chunks that wait for their vectors, with the texts to make them of; after at most `time` none.
    pub fn waiting(&self, limit: usize, time: Duration) -> Result<Vec<(Cid, String)>, VectorIndexError> {
        let chunks: Vec<Cid> = {
            let queue = self.shared.queue();
            let idle = |queue: &mut Queue| queue.waiting.is_empty() && !queue.stop;
            let queue = self.shared.more.wait_timeout_while(queue, time, idle);
            queue.unwrap_or_else(PoisonError::into_inner).0.waiting.keys().take(limit).copied().collect()
        };
        let mut texts = Vec::with_capacity(chunks.len());
        for chunk in chunks {
            let text = match self.shared.store.block(&chunk) {
                Ok(block) => block.and_then(|block| block.decode::<Chunk>().ok()).map(|chunk| text_of(&chunk)),
                Err(StorageError::Damaged { .. }) => None,
                Err(error) => return Err(error.into()),
            };
            match text {
                Some(text) => texts.push((chunk, text)),
                // What cannot be read cannot be found by its words either; `plumb doctor` tells of it.
                None => drop(self.shared.queue().waiting.remove(&chunk)),
            }
        }
        Ok(texts)
    }

    /// Takes the vectors of chunks that waited. One whose chunk was deleted meanwhile is dropped.
    pub fn put(&self, vectors: &[(Cid, Quantised)]) -> Result<(), VectorIndexError> {
        self.shared.store.check_room()?;
        let mut changed = [false; 4];
        for (chunk, vector) in vectors {
            let mut queue = self.shared.queue();
            let Some((class, entry)) = queue.waiting.get(chunk) else { continue };
            let written = self.shared.writing(*class).insert(entry, vector);
            changed[*class as usize] = true;
            queue.stalled = written.as_ref().err().map(ToString::to_string);
            written.map_err(|source| self.shared.failed(source))?;
            queue.waiting.remove(chunk);
        }
        for class in Sensitivity::ALL.into_iter().filter(|class| changed[*class as usize]) {
            self.shared.reading(class).sync().map_err(|source| self.shared.failed(source))?;
        }
        Ok(())
    }

    /// What the vectors say of themselves.
    pub fn counters(&self) -> VectorCounters {
        let queue = self.shared.queue();
        let mut waiting = [0; 4];
        queue.waiting.values().for_each(|(class, _)| waiting[*class as usize] += 1);
        VectorCounters {
            embedded: Sensitivity::ALL.map(|class| self.shared.reading(class).len()),
            waiting,
            settled: queue.settled,
            stalled: queue.stalled.clone(),
        }
    }
}

impl Drop for VectorIndex {
    fn drop(&mut self) {
        self.shared.queue().stop = true;
        self.shared.bell.ring();
        self.shared.more.notify_all();
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the thread that keeps the vectors had stopped by a panic");
        }
    }
}

impl Shared {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn reading(&self, class: Sensitivity) -> RwLockReadGuard<'_, Partition> {
        self.partitions[class as usize].read().unwrap_or_else(PoisonError::into_inner)
    }

    fn writing(&self, class: Sensitivity) -> std::sync::RwLockWriteGuard<'_, Partition> {
        self.partitions[class as usize].write().unwrap_or_else(PoisonError::into_inner)
    }

    fn failed(&self, source: std::io::Error) -> VectorIndexError {
        VectorIndexError::File { path: self.dir.clone(), source }
    }
}

/// What a chunk's vector is made of: what stands above it, and what it says.
fn text_of(chunk: &Chunk) -> String {
    let mut lines = vec![chunk.title.as_str()];
    lines.extend(chunk.headings.iter().map(String::as_str).filter(|heading| *heading != chunk.title));
    lines.push(&chunk.text);
    lines.retain(|line| !line.is_empty());
    lines.join("\n")
}
