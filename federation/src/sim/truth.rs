//! What was really published, by whom: what the checkers compare the nodes with.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use cid::Cid;
use plumb_core::identity::{NodeId, OrgId, Signed};
use plumb_core::log::{CompactRange, Hash};
use plumb_core::notice::{Effect, Notice};

use super::byzantine;
use super::node::Node;
use super::shelf::{Shelf, Source};

/// What one node published.
#[derive(Clone, Debug, Default)]
struct Published {
    /// Its histories, an honest one has one: the root at each size.
    faces: Vec<Vec<Hash>>,
}

/// All that was published.
#[derive(Clone, Debug, Default)]
pub(super) struct Truth {
    logs: BTreeMap<NodeId, Published>,
    orgs: BTreeMap<NodeId, OrgId>,
    /// Notices that were issued by whoever may, or may think so.
    notices: BTreeMap<Cid, Signed<Notice>>,
    by_target: BTreeMap<Cid, BTreeSet<Cid>>,
    by_text: BTreeMap<[u8; 32], BTreeSet<Cid>>,
    by_undone: BTreeMap<Cid, BTreeSet<Cid>>,
    sources: BTreeMap<Cid, Arc<Source>>,
}

impl Truth {
    pub(super) fn new(nodes: &[Node]) -> Truth {
        let orgs = nodes.iter().map(|node| (node.id, node.certificate.value().org)).collect();
        Truth { orgs, ..Truth::default() }
    }

    /// A node's own log grew.
    pub(super) fn published(&mut self, node: &Node, notices: &[Signed<Notice>], sources: &[Arc<Source>]) {
        let log = self.logs.entry(node.id).or_default();
        let leaves = node.disk.entries(&node.id).iter().map(|leaf| leaf.hash);
        let faces = [Some(leaves.collect()), byzantine::other_face(node).map(|face| face.leaves)];
        log.faces = faces.into_iter().flatten().map(roots).collect();
        for notice in notices {
            let (cid, value) = (notice.cid(), notice.value());
            self.notices.insert(cid, notice.clone());
            for target in &value.targets {
                self.by_target.entry(*target).or_default().insert(cid);
            }
            for text in &value.fingerprints {
                self.by_text.entry(text.0).or_default().insert(cid);
            }
            if let Some(undone) = value.undoes {
                self.by_undone.entry(undone).or_default().insert(cid);
            }
        }
        self.sources.extend(sources.iter().map(|source| (source.cid, source.clone())));
    }

    /// How many entries a node published.
    pub(super) fn size(&self, publisher: &NodeId) -> u64 {
        let longest = self.logs.get(publisher).and_then(|log| log.faces.iter().map(Vec::len).max());
        longest.map_or(0, |n_roots| n_roots.saturating_sub(1) as u64)
    }

    /// Whether a log that had `before` and now has `after`, as size and root, is one history of its publisher.
    pub(super) fn is_one_history(&self, publisher: &NodeId, before: (u64, Hash), after: (u64, Hash)) -> bool {
        let has = |face: &Vec<Hash>, (size, root): (u64, Hash)| {
            usize::try_from(size).is_ok_and(|size| face.get(size) == Some(&root))
        };
        let faces = self.logs.get(publisher).into_iter().flat_map(|log| &log.faces);
        faces.into_iter().any(|face| has(face, before) && has(face, after))
    }

    /// Whether a notice was issued by the publisher that it names, or by that one's organisation.
    pub(super) fn was_issued(&self, notice: &Signed<Notice>) -> bool {
        let publisher = &notice.value().publisher;
        let may = notice.signer() == publisher || Some(notice.signer()) == self.orgs.get(publisher);
        may && self.notices.get(&notice.cid()) == Some(notice)
    }

    /// Whether a source may be shown by a node that knows these notices: a second reading of the rule, written from its
    /// text and not from its code.
    ///
    /// *It is down if some notice withdraws it that is not undone by its own organisation, and that either names it, speaks
    /// of what its publisher published, and is signed by that one or by its root, or knows its text.* A root that signs
    /// what a colleague says of evidence that is not the colleague's has said nothing.
    pub(super) fn may_be_shown(&self, source: &Source, shelf: &Shelf) -> bool {
        let stands = |cid: &&Cid| {
            let Some(notice) = self.notices.get(*cid).filter(|_| shelf.knows(cid)) else {
                return false;
            };
            let undoing = self.by_undone.get(*cid).into_iter().flatten().filter(|by| shelf.knows(by));
            let mut undoing = undoing.filter_map(|by| self.notices.get(by));
            let is_undone = undoing.any(|by| by.value().org == notice.value().org);
            !is_undone && notice.value().kind.effect() == Effect::Withdraw
        };
        let is_entitled = |cid: &Cid| {
            self.notices.get(cid).is_some_and(|notice| {
                let speaks_of_it = notice.value().publisher == source.publisher;
                speaks_of_it && [source.publisher, source.org].contains(notice.signer())
            })
        };
        let mut named = self.by_target.get(&source.cid).into_iter().flatten().filter(stands);
        let mut known = self.by_text.get(&source.text.0).into_iter().flatten().filter(stands);
        !named.any(is_entitled) && known.next().is_none()
    }

    /// Sources that a notice bears on.
    pub(super) fn concerned<'a>(
        &self,
        notice: &'a Notice,
        shelf: &'a Shelf,
    ) -> impl Iterator<Item = &'a Arc<Source>> + use<'a> {
        let names =
            |source: &Source| notice.targets.contains(&source.cid) || notice.fingerprints.contains(&source.text);
        shelf.held().map(|(source, _)| source).filter(move |source| names(source))
    }
}

fn roots(leaves: Vec<Hash>) -> Vec<Hash> {
    let mut range = CompactRange::new();
    let mut roots = vec![range.root()];
    for leaf in leaves {
        range.append(leaf);
        roots.push(range.root());
    }
    roots
}
