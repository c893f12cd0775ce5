//! What the index writer and its callers have in common: requests in one direction, the newest snapshot and the state
//! of things in the other.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock};

use super::IndexCounters;
use super::error::IndexError;
use super::view::Snapshot;
use crate::bell::Bell;
use crate::outbox::Position;

pub(super) struct Shared {
    /// Rung when there may be something to do.
    pub bell: Arc<Bell>,
    snapshot: RwLock<Arc<Snapshot>>,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// Somebody waits until this position can be found.
    wanted: Position,
    /// Rebuilds asked for and rebuilds done, counted.
    rebuilds_asked: u64,
    rebuilds_done: u64,
    stop: bool,
    /// The writer's thread has ended.
    stopped: bool,
    /// Failures so far, and the one that the writer is waiting after.
    failures: u64,
    failure: Option<String>,
    unreadable: u64,
    rebuilt: u64,
}

/// What the writer is asked to do.
pub(super) struct Requests {
    pub wanted: Position,
    pub rebuilds_asked: u64,
    pub rebuild: bool,
    pub stop: bool,
}

impl Shared {
    pub(super) fn new(snapshot: Snapshot) -> Shared {
        Shared {
            bell: Arc::default(),
            snapshot: RwLock::new(Arc::new(snapshot)),
            state: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    pub(super) fn snapshot(&self) -> Arc<Snapshot> {
        Arc::clone(&self.snapshot.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until `done`, or until the writer fails once more than it had, or ends.
    fn wait_until(&self, mut state: MutexGuard<'_, State>, done: impl Fn(&State) -> bool) -> Result<(), IndexError> {
        let failures = state.failures;
        loop {
            if done(&state) {
                return Ok(());
            }
            if state.stopped {
                return Err(IndexError::Stopped);
            }
            if let Some(reason) = state.failure.clone().filter(|_| state.failures > failures) {
                return Err(IndexError::Stalled { reason });
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    pub(super) fn flush_to(&self, position: Position) -> Result<(), IndexError> {
        let mut state = self.state();
        // Who waits for a search does not wait for a repair.
        if let Some(reason) = state.failure.clone() {
            return Err(IndexError::Stalled { reason });
        }
        state.wanted = state.wanted.max(position);
        self.bell.ring();
        self.wait_until(state, |_| self.snapshot().position >= position)
    }

    pub(super) fn rebuild(&self) -> Result<(), IndexError> {
        let mut state = self.state();
        state.rebuilds_asked += 1;
        let mine = state.rebuilds_asked;
        self.bell.ring();
        self.wait_until(state, |state| state.rebuilds_done >= mine)
    }

    pub(super) fn stop(&self) {
        self.state().stop = true;
        self.bell.ring();
    }

    pub(super) fn counters(&self, store: Position) -> IndexCounters {
        let snapshot = self.snapshot();
        let state = self.state();
        IndexCounters {
            position: snapshot.position,
            backlog: store.0.saturating_sub(snapshot.position.0),
            n_docs: std::array::from_fn(|class| snapshot.views[class].n_docs()),
            unreadable: state.unreadable,
            rebuilt: state.rebuilt,
            stalled: state.failure.clone(),
        }
    }

    // The writer's side.

    pub(super) fn requests(&self) -> Requests {
        let state = self.state();
        Requests {
            wanted: state.wanted,
            rebuilds_asked: state.rebuilds_asked,
            rebuild: state.rebuilds_asked > state.rebuilds_done,
            stop: state.stop,
        }
    }

    pub(super) fn publish(&self, snapshot: Snapshot) {
        *self.snapshot.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(snapshot);
        // Under the lock, so that nobody checks before and waits after.
        self.state().failure = None;
        self.changed.notify_all();
    }

    pub(super) fn rebuilt(&self, requests: u64) {
        let mut state = self.state();
        state.rebuilds_done = state.rebuilds_done.max(requests);
        self.changed.notify_all();
    }

    pub(super) fn count(&self, unreadable: u64, rebuilt: u64) {
        let mut state = self.state();
        state.unreadable += unreadable;
        state.rebuilt += rebuilt;
    }

    pub(super) fn failed(&self, reason: String) {
        let mut state = self.state();
        state.failures += 1;
        state.failure = Some(reason);
        self.changed.notify_all();
    }

    pub(super) fn stopped(&self) {
        self.state().stopped = true;
        self.changed.notify_all();
    }
}
