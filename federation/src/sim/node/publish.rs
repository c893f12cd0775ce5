//! How a simulated node publishes: evidence, and what it later says of it.

use std::sync::Arc;

use plumb_core::content::{Fingerprint, RawBlock};
use plumb_core::identity::Signed;
use plumb_core::measure::Timestamp;
use plumb_core::notice::{Effect as NoticeEffect, Notice, NoticeKind, NoticeTag, Reason};

use super::{Behaviour, Effect, Leaf, Node, SimError, Write, root_of};
use crate::sim::shelf::Source;
use crate::wire::log_entry::LogEntry;

/// Notices that the organisation's root signs in place of the node, out of a thousand.
const BY_ROOT_PER_MILLE: u64 = 150;

/// Notices that undo an earlier one, out of a thousand, where there is one.
const UNDO_PER_MILLE: u64 = 350;

/// Notices that name the text too, out of a thousand.
const BY_TEXT_PER_MILLE: u64 = 700;

impl Node {
    /// Makes evidence, and enters it into the log.
    pub(in crate::sim) fn publish_evidence(&mut self, n: usize) -> Vec<Effect> {
        let (mut entries, mut sources) = (Vec::new(), Vec::new());
        for _ in 0..n {
            let source = self.made();
            entries.push(Leaf::new(LogEntry::Bundle { cid: source.cid }.encode()));
            sources.push(source);
        }
        vec![Effect::Write(Box::new(Write::Own { entries, notices: Vec::new(), sources }))]
    }

    fn made(&mut self) -> Arc<Source> {
        self.n_made += 1;
        let text = format!("source {} of {}", self.n_made, self.id);
        Arc::new(Source {
            cid: RawBlock::raw(text.clone().into_bytes()).cid,
            text: Fingerprint::of(&text),
            publisher: self.id,
            org: self.certificate.value().org,
        })
    }

    /// Takes a text that it holds in anew, as its own and under another name.
    pub(in crate::sim) fn copy(&mut self) -> Vec<Effect> {
        let held: Vec<Arc<Source>> = self.disk.shelf.held().map(|(source, _)| source.clone()).collect();
        let Some(original) = self.random.pick(&held).cloned() else {
            return Vec::new();
        };
        let copy = Source { text: original.text, ..(*self.made()).clone() };
        vec![Effect::Write(Box::new(Write::TakeIn { source: Arc::new(copy), giver: None }))]
    }

    /// Says something of its evidence, as chance will have it: one of the seven kinds.
    pub(in crate::sim) fn publish_notice(&mut self, now: Timestamp) -> Result<Vec<Effect>, SimError> {
        let Some(notice) = self.notice(now) else {
            return Ok(self.publish_evidence(1));
        };
        let root = if self.random.chance(BY_ROOT_PER_MILLE) { root_of(&notice.org) } else { None };
        let notice = Signed::seal(notice, root.as_ref().unwrap_or(&self.key))?;
        let entries = vec![Leaf::new(LogEntry::Notice(notice.clone()).encode())];
        Ok(vec![Effect::Write(Box::new(Write::Own { entries, notices: vec![notice], sources: Vec::new() }))])
    }

    fn notice(&mut self, now: Timestamp) -> Option<Notice> {
        let own = self.id;
        let is_usurper = self.behaviour == Behaviour::Forger && self.lies_from.is_some();
        let may_name = |source: &Source| is_usurper != (source.publisher == own);
        let held: Vec<Arc<Source>> =
            self.disk.shelf.held().map(|(source, _)| source).filter(|source| may_name(source)).cloned().collect();
        let earlier: Vec<Signed<Notice>> = self
            .disk
            .shelf
            .notices()
            .iter()
            .filter(|n| n.value().publisher == own && n.value().kind.effect() != NoticeEffect::Restore)
            .cloned()
            .collect();
        let tag = NoticeTag;
        let (publisher, org, issued_at) = (own, self.certificate.value().org, now);
        if !earlier.is_empty() && self.random.chance(UNDO_PER_MILLE) {
            let undone = self.random.pick(&earlier)?;
            return Some(Notice {
                tag,
                kind: NoticeKind::Reinstatement,
                reason: Reason::PublisherError,
                note: String::new(),
                undoes: Some(undone.cid()),
                publisher,
                org,
                issued_at,
                ..undone.value().clone()
            });
        }
        let source = self.random.pick(&held)?.clone();
        // Not the last kind, which undoes.
        let kinds = &NoticeKind::ALL[..NoticeKind::ALL.len() - 1];
        let kind = *self.random.pick(kinds)?;
        // Of a stranger's text nobody would know by name that it is not the usurper's, so that lie is another matter.
        let by_text = !is_usurper && self.random.chance(BY_TEXT_PER_MILLE);
        self.n_made += 1;
        Some(Notice {
            tag,
            kind,
            reason: Reason::DataError,
            note: format!("notice {}", self.n_made),
            targets: vec![source.cid],
            fingerprints: if by_text { vec![source.text] } else { Vec::new() },
            undoes: None,
            chunks: Vec::new(),
            superseded_by: None,
            audience: None,
            publisher,
            org,
            issued_at,
        })
    }
}
