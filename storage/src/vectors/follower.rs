//! The thread that keeps the vectors as the store says.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use plumb_core::boundary::Sensitivity;

use super::{Shared, VectorIndexError};
use crate::index::Entry;
use crate::outbox::{IndexOp, Position};
use crate::units::live_ops;

/// Outbox rows that are read at a time.
const PAGE: usize = 256;

/// How long it waits after a failure.
const RETRY: Duration = Duration::from_secs(5);

pub(super) struct Follower {
    shared: Arc<Shared>,
    /// Up to here it followed; `None` before everything was compared.
    position: Option<Position>,
}

impl Follower {
    pub(super) fn new(shared: Arc<Shared>) -> Follower {
        Follower { shared, position: None }
    }

    pub(super) fn run(mut self) {
        while !self.shared.queue().stop {
            let wait = match self.step() {
                Ok(true) => continue,
                Ok(false) => None,
                Err(error) => {
                    tracing::warn!(%error, "the vectors are not kept up to date; trying again");
                    self.shared.queue().stalled = Some(error.to_string());
                    // What half happened is found by comparing everything.
                    self.position = None;
                    Some(RETRY)
                }
            };
            self.shared.bell.wait(wait);
        }
    }

    /// Does the next piece of work. Returns whether there may be more.
    fn step(&mut self) -> Result<bool, VectorIndexError> {
        let Some(position) = self.position else {
            self.position = Some(self.compare()?);
            return Ok(true);
        };
        let rows = self.shared.store.outbox(position, PAGE)?;
        let next = Position(position.0.saturating_add(1));
        match rows.first() {
            Some((first, _)) if *first == next => {}
            // The text index was faster, and the rows are gone.
            _ if position < self.shared.store.position() => {
                self.position = None;
                return Ok(true);
            }
            _ => return Ok(false),
        }
        for (at, op) in &rows {
            self.apply(op)?;
            self.position = Some(*at);
        }
        self.sync()?;
        Ok(rows.len() == PAGE)
    }

    /// Compares everything with the store: what is not live there is erased, what has no vector waits for one.
    fn compare(&self) -> Result<Position, VectorIndexError> {
        // Changes from here on come through the outbox once more, which does no harm.
        let position = self.shared.store.position();
        for class in Sensitivity::ALL {
            self.shared.writing(class).forget_labels();
        }
        let mut live = HashSet::new();
        for op in live_ops(&self.shared.store) {
            let op = op?;
            if let IndexOp::Add { chunk, .. } = &op {
                live.insert(*chunk);
            }
            self.apply(&op)?;
            if self.shared.queue().stop {
                return Ok(position);
            }
        }
        self.shared.queue().waiting.retain(|chunk, _| live.contains(chunk));
        for class in Sensitivity::ALL {
            let gone = self.shared.reading(class).unlabelled();
            for chunk in gone {
                let _queue = self.shared.queue();
                self.shared.writing(class).remove(&chunk).map_err(|source| self.shared.failed(source))?;
            }
        }
        self.sync()?;
        let mut queue = self.shared.queue();
        (queue.settled, queue.stalled) = (true, None);
        Ok(position)
    }

    fn apply(&self, op: &IndexOp) -> Result<(), VectorIndexError> {
        let failed = |source| self.shared.failed(source);
        let mut queue = self.shared.queue();
        let (chunk, to) = match op {
            IndexOp::Remove { chunk } => (chunk, None),
            IndexOp::Add { sensitivity, chunk, scope, department, creator } => {
                let (scope, department, creator) = (scope.clone(), department.clone(), creator.clone());
                (chunk, Some((*sensitivity, Entry { chunk: *chunk, scope, department, creator })))
            }
        };
        let mut moved = None;
        for class in Sensitivity::ALL.into_iter().filter(|class| to.as_ref().is_none_or(|to| to.0 != *class)) {
            if let Some(vector) = self.shared.writing(class).remove(chunk).map_err(failed)? {
                moved = Some(vector);
            }
        }
        match to {
            None => drop(queue.waiting.remove(chunk)),
            Some((class, entry)) => {
                let mut partition = self.shared.writing(class);
                if partition.label(&entry) {
                    queue.waiting.remove(chunk);
                } else if let Some(vector) = moved {
                    partition.insert(&entry, &vector).map_err(failed)?;
                    queue.waiting.remove(chunk);
                } else {
                    queue.waiting.insert(*chunk, (class, entry));
                    self.shared.more.notify_all();
                }
            }
        }
        Ok(())
    }

    fn sync(&self) -> Result<(), VectorIndexError> {
        let sync = |class| self.shared.reading(class).sync().map_err(|source| self.shared.failed(source));
        Sensitivity::ALL.into_iter().try_for_each(sync)
    }
}
