//! The index writer: follows the outbox, commits now and then, builds anew what cannot be used.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use plumb_core::boundary::Sensitivity;

use super::IndexOptions;
use super::error::{IndexError, chain};
use super::partition::Partition;
use super::reading::{Reading, read};
use super::rebuild::{build, open_all};
use super::shared::Shared;
use super::view::{Snapshot, View};
use crate::outbox::{IndexOp, Position};
use crate::store::Store;

/// Outbox rows that are read at a time.
const PAGE: usize = 256;

/// A partition that nothing happens in is committed all the same when it is so many rows behind, so that the outbox
/// can be trimmed. Until then its rows are kept, which costs less than committing all four each time.
const LAG_MAX: u64 = 10_000;

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
    pub(super) fn open(dir: PathBuf, store: Store, options: IndexOptions) -> Result<(Worker, Arc<Shared>), IndexError> {
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
        // What is there can be searched even if it cannot be brought up to date now, say because the disk is full.
        if let Err(error) = worker.catch_up() {
            worker.stand_still(&error);
        }
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
        loop {
            let before = self.shared.snapshot().position;
            // Reopening finds the partitions at their last commit, and what came since is still in the outbox.
            let life = || {
                if self.partitions.is_empty() {
                    self.reopen()?;
                }
                self.work()
            };
            match catch_unwind(AssertUnwindSafe(life)).unwrap_or(Err(IndexError::Panicked)) {
                Ok(()) => return,
                Err(error) => self.stand_still(&error),
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

    fn stand_still(&mut self, error: &IndexError) {
        let reason = chain(error);
        tracing::error!(%reason, "the index writer stands still");
        self.partitions.clear();
        self.shared.failed(reason);
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
        match read(&self.store, op)? {
            Reading::Gone(chunk) => lacking.into_iter().try_for_each(|p| p.remove(&chunk))?,
            Reading::Entry { class, entry, body } => {
                for partition in lacking {
                    // Under no other label than this: a chunk that became more sensitive leaves where it was.
                    if partition.class() == class {
                        partition.add(&entry, &body)?;
                    } else {
                        partition.remove(&entry.chunk)?;
                    }
                }
            }
            Reading::Unreadable(chunk) => {
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
