//! The disk of a simulated node: all that a crash leaves.
//!
//! A write is one transaction. It waits in the queue of the node and reaches the disk some milliseconds later, in order;
//! in a crash a beginning of the queue, as long as chance will have it, has reached the disk, and nobody was told.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use cid::Cid;
use plumb_core::identity::{NodeId, SecretKey, Signed};
use plumb_core::log::{Checkpoint, CompactRange, Hash, leaf_hash};
use plumb_core::notice::{Notice, Receipt};
use plumb_core::trust::Certificate;

use super::SimError;
use super::frames::speaks;
use crate::protocol::delivery::Standing;
use crate::protocol::log_sync::page;
use crate::sim::shelf::{Shelf, Source};
use crate::wire::log::{Fork, LogResponse, public_origin};
use crate::wire::log_entry::LogEntry;
use crate::wire::log_state::LogState;

/// An entry of a log, kept once for all nodes that hold it.
#[derive(Debug)]
pub(in crate::sim) struct Leaf {
    pub(in crate::sim) bytes: Vec<u8>,
    pub(in crate::sim) hash: Hash,
    notice: OnceLock<Option<Signed<Notice>>>,
}

impl Leaf {
    pub(in crate::sim) fn new(bytes: Vec<u8>) -> Arc<Leaf> {
        let hash = leaf_hash(&bytes);
        Arc::new(Leaf { bytes, hash, notice: OnceLock::new() })
    }

    /// The notice that it is, if it is one. The real decoder says so, once for these bytes.
    fn notice(&self) -> Option<&Signed<Notice>> {
        let read = || match LogEntry::decode(&self.bytes) {
            Ok(LogEntry::Notice(notice)) => Some(notice),
            _ => None,
        };
        self.notice.get_or_init(read).as_ref()
    }
}

/// The transactions that take up entries of another's log. Notices are applied first: if the node dies between the two,
/// the entries come again, and applying twice changes nothing more.
pub(in crate::sim) fn taking_up(from: u64, entries: Vec<Arc<Leaf>>, state: LogState, via: NodeId) -> Vec<Write> {
    let publisher = state.publisher;
    let certificate = &state.certificate;
    let counts = |notice: &&Signed<Notice>| notice.value().publisher == publisher && speaks(notice, certificate);
    let notices = entries.iter().filter_map(|leaf| leaf.notice()).filter(counts);
    let apply = |notice: &Signed<Notice>| {
        let (notice, certificate, is_asked) = (notice.clone(), certificate.clone(), false);
        Write::Apply { notice, certificate, via, is_asked }
    };
    let mut writes: Vec<Write> = notices.map(apply).collect();
    writes.push(Write::Entries { from, entries, state });
    writes
}

/// A transaction.
#[derive(Clone, Debug)]
pub(in crate::sim) enum Write {
    /// The own log grows.
    Own { entries: Vec<Arc<Leaf>>, notices: Vec<Signed<Notice>>, sources: Vec<Arc<Source>> },
    /// A notice is applied.
    Apply {
        notice: Signed<Notice>,
        certificate: Signed<Certificate>,
        /// From whom it came.
        via: NodeId,
        /// Whether that node waits for an acknowledgement.
        is_asked: bool,
    },
    /// Another's log goes on.
    Entries { from: u64, entries: Vec<Arc<Leaf>>, state: LogState },
    /// Evidence comes in, perhaps from somebody who is owed a receipt.
    TakeIn { source: Arc<Source>, giver: Option<NodeId> },
    /// Somebody holds what came from here.
    Receipt(Signed<Receipt>),
    /// A receipt was accepted.
    Accepted { source: Cid, giver: NodeId },
    /// How an obligation stands.
    Standing { notice: Cid, holder: NodeId, standing: Standing },
    /// A publisher showed two histories.
    Fork(Box<Fork>),
}

#[derive(Clone, Debug)]
struct StoredLog {
    state: LogState,
    entries: Vec<Arc<Leaf>>,
}

#[derive(Clone, Debug, Default)]
pub(in crate::sim) struct Disk {
    logs: BTreeMap<NodeId, StoredLog>,
    pub(in crate::sim) shelf: Shelf,
    /// Of publishers whose notices are applied.
    certificates: BTreeMap<NodeId, Signed<Certificate>>,
    /// Who holds which source from here.
    ledger: BTreeMap<Cid, BTreeSet<NodeId>>,
    /// Receipts that are owed, by source and giver.
    pub(in crate::sim) owed: BTreeSet<(Cid, NodeId)>,
    pub(in crate::sim) obligations: BTreeMap<(Cid, NodeId), Standing>,
    pub(in crate::sim) forks: BTreeMap<NodeId, Fork>,
}

fn unreadable(error: impl std::fmt::Display) -> SimError {
    SimError::Name(format!("a stored log state cannot be read: {error}"))
}

impl Disk {
    /// The entries that are held of a log.
    pub(in crate::sim) fn entries(&self, publisher: &NodeId) -> &[Arc<Leaf>] {
        self.logs.get(publisher).map_or(&[], |log| &log.entries)
    }

    /// How many entries are held of a log.
    pub(in crate::sim) fn size(&self, publisher: &NodeId) -> u64 {
        self.entries(publisher).len() as u64
    }

    /// The logs of which something is held.
    pub(in crate::sim) fn logs(&self) -> impl Iterator<Item = &LogState> {
        self.logs.values().map(|log| &log.state)
    }

    /// How a log is held.
    pub(in crate::sim) fn state(&self, publisher: &NodeId) -> Option<&LogState> {
        self.logs.get(publisher).map(|log| &log.state)
    }

    /// What a restart reads: the records, from their bytes.
    pub(super) fn states(&self) -> Result<Vec<LogState>, SimError> {
        let reread = |log: &StoredLog| LogState::decode(&log.state.encode()).map_err(unreadable);
        self.logs.values().map(reread).collect()
    }

    /// Appends entries that follow; false if they do not.
    pub(super) fn append(&mut self, from: u64, entries: Vec<Arc<Leaf>>, state: LogState) -> bool {
        let empty = || StoredLog { state: state.clone(), entries: Vec::new() };
        let log = self.logs.entry(state.publisher).or_insert_with(empty);
        if from != log.entries.len() as u64 {
            return false;
        }
        log.entries.extend(entries);
        log.state = state;
        true
    }

    /// Appends to the own log, and signs its head.
    pub(super) fn append_own(
        &mut self,
        key: &SecretKey,
        certificate: &Signed<Certificate>,
        entries: Vec<Arc<Leaf>>,
    ) -> Result<LogState, SimError> {
        let own = key.public();
        let mut range = self.state(&own).map_or_else(CompactRange::new, |state| state.range.clone());
        let from = range.size();
        entries.iter().for_each(|leaf| range.append(leaf.hash));
        let checkpoint = Checkpoint { origin: public_origin(&own)?, size: range.size(), root: range.root() };
        let state = LogState {
            publisher: own,
            checkpoint: checkpoint.sign(key),
            range,
            proof: Vec::new(),
            certificate: certificate.clone(),
        };
        self.append(from, entries, state.clone());
        Ok(state)
    }

    /// Answers a request for entries.
    pub(super) fn serve(&self, publisher: NodeId, from: u64, limit: u32) -> LogResponse {
        let Some(log) = self.logs.get(&publisher) else {
            return LogResponse::Missing { publisher };
        };
        let leaves: Vec<Hash> = log.entries.iter().map(|leaf| leaf.hash).collect();
        let entry = |at: u64| log.entries.get(usize::try_from(at).ok()?).map(|leaf| leaf.bytes.clone());
        page(&log.state, &leaves, from, limit, entry)
    }

    /// Keeps a notice; whoever holds what it names from here owes an acknowledgement. Says who is new.
    pub(super) fn apply(&mut self, notice: &Signed<Notice>, certificate: &Signed<Certificate>) -> Vec<NodeId> {
        if !self.shelf.apply(notice) {
            return Vec::new();
        }
        let publisher = notice.value().publisher;
        self.certificates.entry(publisher).or_insert_with(|| certificate.clone());
        let holders = notice.value().targets.iter().filter_map(|target| self.ledger.get(target)).flatten();
        let holders: BTreeSet<NodeId> = holders.filter(|holder| **holder != publisher).copied().collect();
        holders.into_iter().filter(|holder| self.oblige(notice.cid(), *holder)).collect()
    }

    /// Keeps a receipt; what stands against the source is owed at once. Says which notices.
    pub(super) fn receipt(&mut self, receipt: &Receipt) -> Vec<Cid> {
        let mut owed = Vec::new();
        for source in &receipt.sources {
            self.ledger.entry(*source).or_default().insert(receipt.importer);
            let names = |notice: &&Signed<Notice>| notice.value().targets.contains(source);
            let named: Vec<Cid> = self.shelf.notices().iter().filter(names).map(Signed::cid).collect();
            owed.extend(named.into_iter().filter(|notice| self.oblige(*notice, receipt.importer)));
        }
        owed
    }

    fn oblige(&mut self, notice: Cid, holder: NodeId) -> bool {
        let is_new = !self.obligations.contains_key(&(notice, holder));
        if is_new {
            self.obligations.insert((notice, holder), Standing::Open);
        }
        is_new
    }

    /// The certificate of a publisher whose notices are known.
    pub(super) fn certificate(&self, publisher: &NodeId) -> Option<&Signed<Certificate>> {
        self.certificates.get(publisher)
    }

    pub(super) fn standings(&self) -> Vec<(Cid, NodeId, Standing)> {
        let row = |((notice, holder), standing): (&(Cid, NodeId), &Standing)| (*notice, *holder, standing.clone());
        self.obligations.iter().map(row).collect()
    }
}
