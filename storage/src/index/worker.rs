//! The index writer: follows the outbox, commits now and then, builds anew what cannot be used.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cid::Cid;
use plumb_core::boundary::Sensitivity;
use plumb_core::content::Chunk;
use plumb_core::retrieval;

use super::error::IndexError;
use super::fields::Entry;
use super::partition::{self, Found, Partition};
use super::shared::Shared;
use super::view::{Snapshot, View};
use super::{IndexOptions, LiveOps};
use crate::error::StorageError;
use crate::outbox::{IndexOp, Position};
use crate::records::Blocks;
use crate::store::Store;

/// Outbox rows that are read at a time.
const PAGE: usize = 256;

/// A partition that nothing happens in is committed all the same when it is so many rows behind, so that the outbox
/// can be trimmed. Until then its rows are kept, which costs less than committing all four each time.
const LAG_MAX: u64 = 10_000;

/// Operations after which a partition that is being built is committed, so that what it remembers of uncommitted
/// documents stays small.
const BUILD_COMMIT: usize = 50_000;

/// How long the writer waits after a failure before it opens everything again: doubled each time, up to the maximum.
const RETRY_FIRST: Duration = Duration::from_millis(500);
const RETRY_MAX: Duration = Duration::from_secs(30);

pub(super) struct Worker {
    dir: PathBuf,
    store: Store,
    options: IndexOptions,
    shared: Arc<Shared>,
    /// All four, in order; none while the writer stands still after a failure.
    partitions: Vec<Partition>,
    /// The last outbox row that was given to the partitions.
    applied: Position,
    /// Rows given since the last commit, and since when they wait.
    pending: usize,
    waiting_since: Option<Instant>,
}

impl Worker {
    /// Opens the partitions and brings them up to the store.
    pub(super) fn open(
        dir: PathBuf,
        store: Store,
        options: IndexOptions,
    ) -> Result<(Worker, Arc<Shared>), IndexError> {
        let (partitions, rebuilt) = open_all(&dir, &store, &options)?;
        let snapshot = snapshot_of(&partitions, Position::default(), None)?;
        let shared = Arc::new(Shared::new(snapshot));
        shared.count(rebuilt.unreadable, rebuilt.partitions);
        let mut worker = Worker {
            dir,
            store,
            options,
            shared: Arc::clone(&shared),
            partitions: Vec::new(),
            applied: Position::default(),
            pending: 0,
            waiting_since: None,
        };
        worker.begin(partitions);
        worker.catch_up()?;
        Ok((worker, shared))
    }

    pub(super) fn run(mut self) {
        // Whatever ends the thread, nobody waits for it for ever.
        struct Farewell(Arc<Shared>);
        impl Drop for Farewell {
            fn drop(&mut self) {
                self.0.stopped();
            }
        }
        let _farewell = Farewell(Arc::clone(&self.shared));
        let mut retry = RETRY_FIRST;
        let mut is_open = true;
        loop {
            let before = self.shared.snapshot().position;
            // Reopening finds the partitions at their last commit, and what came since is still in the outbox.
            let life = || if is_open { self.work() } else { self.reopen().and_then(|()| self.work()) };
            match catch_unwind(AssertUnwindSafe(life)).unwrap_or(Err(IndexError::Panicked)) {
                Ok(()) => return,
                Err(error) => {
                    let reason = chain(&error);
                    tracing::error!(%reason, "the index writer stands still");
                    self.partitions.clear();
                    is_open = false;
                    self.shared.failed(reason);
                }
            }
            if self.shared.snapshot().position > before {
                retry = RETRY_FIRST;
            }
            if self.pause(retry) {
                return;
            }
            retry = (retry * 2).min(RETRY_MAX);
        }
    }

    /// Follows the outbox until it is told to stop.
    fn work(&mut self) -> Result<(), IndexError> {
        loop {
            let requests = self.shared.requests();
            if requests.stop {
                return self.commit();
            }
            if requests.rebuild {
                self.rebuild()?;
                self.shared.rebuilt(requests.rebuilds_asked);
            }
            let caught_up = self.apply_page()?;
            let waited = self.waiting_since.map(|since| since.elapsed());
            let is_due = self.pending >= self.options.commit_rows
                || waited.is_some_and(|time| time >= self.options.commit_every)
                || (caught_up && requests.wanted > self.shared.snapshot().position);
            if is_due {
                self.commit()?;
            }
            if caught_up {
                let left = self.waiting_since.map(|since| self.options.commit_every.saturating_sub(since.elapsed()));
                self.shared.bell.wait(left);
            }
        }
    }

    /// Gives the next rows to the partitions. Returns whether there are no more.
    fn apply_page(&mut self) -> Result<bool, IndexError> {
        let rows = self.store.outbox(self.applied, PAGE)?;
        let caught_up = rows.len() < PAGE;
        if let Some(last) = rows.last() {
            self.store.check_room()?;
            self.waiting_since.get_or_insert_with(Instant::now);
            self.pending += rows.len();
            let last = last.0;
            for (position, op) in rows {
                self.apply(position, &op)?;
            }
            self.applied = last;
        }
        Ok(caught_up)
    }

    /// Gives one row to every partition that does not have it yet. Giving it twice does no harm.
    fn apply(&mut self, position: Position, op: &IndexOp) -> Result<(), IndexError> {
        let lacking = self.partitions.iter_mut().filter(|p| p.committed() < position);
        match readable(&self.store, op)? {
            Readable::Gone(chunk) => lacking.into_iter().try_for_each(|p| p.remove(&chunk))?,
            Readable::Entry { class, entry, body } => {
                for partition in lacking {
                    // Under no other label than this: a chunk that became more sensitive leaves where it was.
                    if partition.class() == class {
                        partition.add(&entry, &body)?;
                    } else {
                        partition.remove(&entry.chunk)?;
                    }
                }
            }
            Readable::Unreadable(chunk) => {
                lacking.into_iter().try_for_each(|p| p.remove(&chunk))?;
                self.shared.count(1, 0);
            }
        }
        Ok(())
    }

    /// Commits what is pending, shows it, and lets the outbox rows go that every partition has passed.
    fn commit(&mut self) -> Result<(), IndexError> {
        let position = self.applied;
        let before = self.shared.snapshot();
        for partition in &mut self.partitions {
            if partition.is_dirty() || position.0.saturating_sub(partition.committed().0) > LAG_MAX {
                partition.commit(position)?;
            }
        }
        self.pending = 0;
        self.waiting_since = None;
        // After opening again, `applied` begins at the partition that was committed longest ago, and the others are ahead
        // of it. What was visible stays so.
        let visible = position.max(before.position);
        self.shared.publish(snapshot_of(&self.partitions, visible, Some(&before))?);
        let passed = self.partitions.iter().map(Partition::committed).min().unwrap_or_default();
        if passed > self.store.trimmed() {
            self.store.trim_outbox(passed);
        }
        Ok(())
    }

    fn begin(&mut self, partitions: Vec<Partition>) {
        self.applied = partitions.iter().map(Partition::committed).min().unwrap_or_default();
        self.partitions = partitions;
        self.pending = 0;
        self.waiting_since = None;
    }

    fn catch_up(&mut self) -> Result<(), IndexError> {
        while !self.apply_page()? {
            if self.pending >= self.options.commit_rows {
                self.commit()?;
            }
        }
        self.commit()
    }

    fn reopen(&mut self) -> Result<(), IndexError> {
        let (partitions, rebuilt) = open_all(&self.dir, &self.store, &self.options)?;
        self.shared.count(rebuilt.unreadable, rebuilt.partitions);
        self.begin(partitions);
        self.catch_up()
    }

    /// Builds every partition anew and takes the new ones into use.
    fn rebuild(&mut self) -> Result<(), IndexError> {
        let rebuilt = build(&self.dir, &self.store, &self.options, &Sensitivity::ALL)?;
        // The old writers go before their directories do.
        self.partitions.clear();
        for class in Sensitivity::ALL {
            Partition::replace(&self.dir, class)?;
        }
        self.shared.count(rebuilt.unreadable, rebuilt.partitions);
        self.reopen()
    }

    /// Waits; returns whether it is time to end.
    fn pause(&self, time: Duration) -> bool {
        let until = Instant::now() + time;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if self.shared.requests().stop {
                return true;
            }
            if left.is_zero() {
                return false;
            }
            self.shared.bell.wait(Some(left));
        }
    }
}

#[derive(Default)]
struct Rebuilt {
    partitions: u64,
    unreadable: u64,
}

fn open_all(
    dir: &std::path::Path,
    store: &Store,
    options: &IndexOptions,
) -> Result<(Vec<Partition>, Rebuilt), IndexError> {
    partition::prepare(dir)?;
    let rows = store.trimmed()..=store.position();
    let open = |class| Partition::open(dir, class, store.id(), rows.clone(), options.writer_bytes);
    let mut found: Vec<Option<Partition>> = Vec::new();
    let mut unusable = Vec::new();
    for class in Sensitivity::ALL {
        match open(class) {
            Found::Usable(partition) => found.push(Some(*partition)),
            Found::Unusable(reason) => {
                tracing::info!(partition = %class, %reason, "building the index anew");
                unusable.push(class);
                found.push(None);
            }
        }
    }
    let mut rebuilt = Rebuilt::default();
    if !unusable.is_empty() {
        rebuilt = build(dir, store, options, &unusable)?;
        for class in unusable {
            Partition::replace(dir, class)?;
            found[class as usize] = match Partition::open(
                dir,
                class,
                store.id(),
                Position::default()..=Position(u64::MAX),
                options.writer_bytes,
            ) {
                Found::Usable(partition) => Some(*partition),
                Found::Unusable(reason) => {
                    let source = tantivy::TantivyError::InternalError(reason);
                    return Err(IndexError::Open { partition: class, source });
                }
            };
        }
    }
    Ok((found.into_iter().flatten().collect(), rebuilt))
}

/// Builds these partitions beside the old ones. They reflect the store at some position not before the one that they
/// carry; the outbox rows behind it are given to them afterwards, and giving what they have already does no harm.
fn build(
    dir: &std::path::Path,
    store: &Store,
    options: &IndexOptions,
    classes: &[Sensitivity],
) -> Result<Rebuilt, IndexError> {
    let position = store.position();
    let mut partitions = classes
        .iter()
        .map(|class| Partition::build(dir, *class, store.id(), position, options.writer_bytes))
        .collect::<Result<Vec<_>, _>>()?;
    let mut rebuilt = Rebuilt { partitions: classes.len() as u64, unreadable: 0 };
    let live: LiveOps = options.live;
    for (n, op) in live(store).enumerate() {
        if n % PAGE == 0 {
            store.check_room()?;
        }
        if n % BUILD_COMMIT == BUILD_COMMIT - 1 {
            partitions.iter_mut().try_for_each(|partition| partition.commit(Position::default()))?;
        }
        match readable(store, &op?)? {
            Readable::Entry { class, entry, body } => {
                if let Some(partition) = partitions.iter_mut().find(|p| p.class() == class) {
                    partition.add(&entry, &body)?;
                }
            }
            Readable::Unreadable(_) => rebuilt.unreadable += 1,
            Readable::Gone(_) => {}
        }
    }
    // What was read while it was on its way to the disk is there before the index says that it holds it.
    store.barrier()?;
    partitions.iter_mut().try_for_each(|partition| partition.commit(position))?;
    Ok(rebuilt)
}

/// An operation with the words that it needs.
enum Readable {
    Entry { class: Sensitivity, entry: Entry, body: String },
    /// It is to be removed.
    Gone(Cid),
    /// Its block is missing or damaged, so it cannot be found; `plumb doctor` tells of it.
    Unreadable(Cid),
}

fn readable(store: &Store, op: &IndexOp) -> Result<Readable, IndexError> {
    let (class, entry) = match op {
        IndexOp::Remove { chunk } => return Ok(Readable::Gone(*chunk)),
        IndexOp::Add { sensitivity, chunk, scope, department, creator } => (
            *sensitivity,
            Entry {
                chunk: *chunk,
                scope: scope.clone(),
                department: department.clone(),
                creator: creator.clone(),
            },
        ),
    };
    let chunk = match store.block(&entry.chunk) {
        Ok(Some(block)) => block.decode::<Chunk>().map_err(|e| e.to_string()),
        Ok(None) => Err("its block is missing".into()),
        Err(error @ StorageError::Damaged { .. }) => Err(chain(&error)),
        Err(error) => return Err(error.into()),
    };
    match chunk {
        Ok(chunk) => Ok(Readable::Entry { class, entry, body: retrieval::body_of(&chunk) }),
        Err(reason) => {
            tracing::warn!(chunk = %entry.chunk, %reason, "a chunk cannot be indexed");
            Ok(Readable::Unreadable(entry.chunk))
        }
    }
}

fn snapshot_of(
    partitions: &[Partition],
    position: Position,
    before: Option<&Snapshot>,
) -> Result<Snapshot, IndexError> {
    let views = partitions
        .iter()
        .map(|partition| {
            let class = partition.class();
            View::new(partition.searcher(), before.map(|snapshot| &snapshot.views[class as usize]))
                .map_err(|source| IndexError::Read { partition: class, source })
        })
        .collect::<Result<Vec<_>, _>>()?;
    let views = views.try_into().unwrap_or_else(|_| unreachable!("there are four partitions, opened together"));
    Ok(Snapshot { position, views })
}

/// An error with all that it rests on, in one line.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        next = cause.source();
    }
    text
}
