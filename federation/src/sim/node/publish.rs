//! How a simulated node publishes.

use plumb_core::content::RawBlock;
use plumb_core::identity::{NodeId, Signed};
use plumb_core::log::{Checkpoint, leaf_hash};
use plumb_core::measure::Timestamp;
use plumb_core::notice::{Notice, NoticeKind, NoticeTag, Reason};

use super::{Effect, Node, SimError};
use crate::protocol::{delivery, log_sync};
use crate::wire::log::public_origin;
use crate::wire::log_entry::LogEntry;
use crate::wire::log_state::LogState;

/// Holders of each notice.
const HOLDERS: usize = 3;

impl Node {
    /// Its own log grows, and whoever holds what a notice takes back owes an acknowledgement.
    pub(in crate::sim) fn publish(
        &mut self,
        now: Timestamp,
        n_entries: usize,
        holders: &[NodeId],
    ) -> Result<Vec<Effect>, SimError> {
        let own = self.id;
        let mut range = self.disk.range(&own)?;
        let (mut entries, mut notices) = (Vec::new(), Vec::new());
        // A long batch is one of bundles.
        let per_mille = if n_entries <= 10 { 500 } else { 20 };
        for _ in 0..n_entries {
            self.n_published += 1;
            let entry = if self.random.chance(per_mille) {
                let notice = self.notice(now)?;
                notices.push(notice.clone());
                LogEntry::Notice(notice)
            } else {
                let cid = RawBlock::raw(format!("bundle {} {own}", self.n_published).into_bytes()).cid;
                LogEntry::Bundle { cid }
            };
            let bytes = entry.encode();
            range.append(leaf_hash(&bytes));
            entries.push(bytes);
        }
        let checkpoint = Checkpoint { origin: public_origin(&own)?, size: range.size(), root: range.root() };
        let checkpoint = checkpoint.sign(&self.key);
        let from = range.size() - n_entries as u64;
        let state = LogState {
            publisher: own,
            range,
            checkpoint: checkpoint.clone(),
            proof: Vec::new(),
            certificate: self.certificate.clone(),
        };
        // A node publishes what is on its disk already.
        self.disk.append(from, entries.clone(), &state);
        let mut effects = Vec::new();
        for notice in notices {
            let named = notice.cid();
            self.disk.notices.insert(named, notice);
            for holder in holders.iter().take(HOLDERS) {
                let event = delivery::Event::Obliged { notice: named, holder: *holder };
                effects.extend(self.deliver(now, event)?);
            }
        }
        let event = log_sync::Event::Published { entries, checkpoint };
        effects.extend(self.sync(now, event, None)?);
        Ok(effects)
    }

    fn notice(&self, now: Timestamp) -> Result<Signed<Notice>, SimError> {
        let target = RawBlock::raw(format!("source {} {}", self.n_published, self.id).into_bytes());
        let notice = Notice {
            tag: NoticeTag,
            kind: NoticeKind::Retraction,
            reason: Reason::DataError,
            note: String::new(),
            targets: vec![target.cid],
            fingerprints: Vec::new(),
            undoes: None,
            chunks: Vec::new(),
            superseded_by: None,
            audience: None,
            publisher: self.id,
            org: self.certificate.value().org,
            issued_at: now,
        };
        Ok(Signed::seal(notice, &self.key)?)
    }
}
