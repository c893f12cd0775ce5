//! The disk of a simulated node: all that a crash leaves.

use std::collections::{BTreeMap, BTreeSet};

use cid::Cid;
use plumb_core::identity::{NodeId, Signed};
use plumb_core::log::{CompactRange, Hash, leaf_hash};
use plumb_core::notice::Notice;

use super::SimError;
use crate::protocol::delivery::Standing;
use crate::protocol::log_sync::page;
use crate::wire::log::{Fork, LogResponse};
use crate::wire::log_entry::LogEntry;
use crate::wire::log_state::LogState;

/// One publisher's log on a disk.
#[derive(Clone, Debug)]
struct StoredLog {
    /// As bytes, so that each restart reads what a restart reads.
    state: Vec<u8>,
    entries: Vec<Vec<u8>>,
    leaves: Vec<Hash>,
}

#[derive(Clone, Debug, Default)]
pub(in crate::sim) struct Disk {
    logs: BTreeMap<NodeId, StoredLog>,
    /// Notices that were applied.
    pub(in crate::sim) applied: BTreeSet<Cid>,
    /// Notices that this node published.
    pub(in crate::sim) notices: BTreeMap<Cid, Signed<Notice>>,
    pub(in crate::sim) obligations: BTreeMap<(Cid, NodeId), Standing>,
    pub(in crate::sim) forks: BTreeMap<NodeId, Fork>,
}

fn unreadable(error: impl std::fmt::Display) -> SimError {
    SimError::Name(format!("a stored log state cannot be read: {error}"))
}

impl Disk {
    /// The entries that are held of a log.
    pub(in crate::sim) fn entries(&self, publisher: &NodeId) -> &[Vec<u8>] {
        self.logs.get(publisher).map_or(&[], |log| &log.entries)
    }

    /// How many entries are held of each log.
    pub(in crate::sim) fn sizes(&self) -> impl Iterator<Item = (&NodeId, usize)> {
        self.logs.iter().map(|(id, log)| (id, log.entries.len()))
    }

    pub(super) fn states(&self) -> Result<Vec<LogState>, SimError> {
        let states = self.logs.values().map(|log| LogState::decode(&log.state).map_err(unreadable));
        states.collect()
    }

    pub(in crate::sim) fn state(&self, publisher: &NodeId) -> Result<Option<LogState>, SimError> {
        let stored = self.logs.get(publisher);
        stored.map(|log| LogState::decode(&log.state).map_err(unreadable)).transpose()
    }

    pub(super) fn range(&self, publisher: &NodeId) -> Result<CompactRange, SimError> {
        Ok(self.state(publisher)?.map_or_else(CompactRange::new, |state| state.range))
    }

    /// Appends entries that follow, and applies the notices among them; false if they do not follow.
    pub(super) fn append(&mut self, from: u64, entries: Vec<Vec<u8>>, state: &LogState) -> bool {
        let log = self.logs.entry(state.publisher).or_insert_with(|| StoredLog {
            state: Vec::new(),
            entries: Vec::new(),
            leaves: Vec::new(),
        });
        if from != log.entries.len() as u64 {
            return false;
        }
        log.state = state.encode();
        for entry in entries {
            if let Ok(LogEntry::Notice(notice)) = LogEntry::decode(&entry) {
                self.applied.insert(notice.cid());
            }
            log.leaves.push(leaf_hash(&entry));
            log.entries.push(entry);
        }
        true
    }

    /// Answers a request for entries.
    pub(super) fn serve(&self, publisher: NodeId, from: u64, limit: u32) -> Result<LogResponse, SimError> {
        let missing = LogResponse::Missing { publisher };
        let Some(log) = self.logs.get(&publisher) else {
            return Ok(missing);
        };
        let state = LogState::decode(&log.state).map_err(unreadable)?;
        Ok(page(&state, &log.leaves, from, limit, |at| log.entries.get(usize::try_from(at).ok()?).cloned()))
    }

    pub(super) fn standings(&self) -> Vec<(Cid, NodeId, Standing)> {
        let row = |((notice, holder), standing): (&(Cid, NodeId), &Standing)| (*notice, *holder, standing.clone());
        self.obligations.iter().map(row).collect()
    }

    pub(super) fn is_acknowledged(&self, notice: &Cid, holder: &NodeId) -> bool {
        let standing = self.obligations.get(&(*notice, *holder));
        matches!(standing, Some(Standing::Acknowledged { .. }))
    }

    pub(in crate::sim) fn n_unacknowledged(&self) -> usize {
        let is_open = |standing: &&Standing| !matches!(standing, Standing::Acknowledged { .. });
        self.obligations.values().filter(is_open).count()
    }
}
