//! The history of roots and nodes as it is known here: rotations, revocations, and where in a log they stand.
//!
//! Nothing in it is decided by a date, for a stolen key can write any. What a retired root signed counts if it was known
//! here before the rotation was, or stands in a log in front of the rotation; what a revoked node said counts if it
//! stands in its log in front of the revocation's place.

use std::collections::{BTreeMap, BTreeSet};

use cid::Cid;

use super::revocation::Revocation;
use super::rotation::{ROTATIONS_MAX, Rotation};
use crate::identity::{NodeId, OrgId, PublicKey, Signed};

/// Where something that was signed was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// At no place that proves when: it was just shown.
    Shown,
    /// In a public log.
    Logged {
        /// Whose.
        publisher: NodeId,
        /// At which index.
        index: u64,
    },
}

/// A revocation that was taken up here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Revoked {
    /// What the root said.
    pub statement: Signed<Revocation>,
    /// Entries of the node's log in front of this index stand.
    pub stands_before: u64,
}

/// How a key stands to an organisation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RootStanding {
    /// It is its root.
    Current,
    /// It was.
    Retired,
    /// Two rotations of one root contradict each other, and nobody has decided which one to follow; or another one is
    /// followed.
    Disputed,
    /// It is none of its roots.
    Stranger,
}

/// The roots of an organisation, from the first to the current one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The keys in order.
    pub keys: Vec<PublicKey>,
    /// The rivals that want to follow the last of them, if there is more than one and nobody has decided.
    pub rivals: Vec<PublicKey>,
}

impl Line {
    /// The last root that is beyond dispute.
    pub fn current(&self) -> Option<&PublicKey> {
        self.keys.last()
    }
}

/// Rotations and revocations that were taken up here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History {
    /// By the root that retires, then by the one that follows.
    rotations: BTreeMap<PublicKey, BTreeMap<PublicKey, Rotation>>,
    /// Whom the operator decided to follow where two contradict each other.
    settled: BTreeMap<PublicKey, PublicKey>,
    /// Certificates that were known here before their root retired.
    known: BTreeSet<Cid>,
    /// By node, then by the statement's name.
    revocations: BTreeMap<NodeId, BTreeMap<Cid, Revoked>>,
    /// Where a publisher's log has the rotation of a root.
    positions: BTreeMap<(NodeId, PublicKey), u64>,
}

impl History {
    /// Takes up a rotation, with the certificates of the retiring root that are known by now. Whether it is news.
    pub fn rotate(&mut self, rotation: Rotation, known: impl IntoIterator<Item = Cid>) -> bool {
        let successors = self.rotations.entry(rotation.value().old).or_default();
        let is_first = successors.is_empty();
        let is_news = !successors.contains_key(&rotation.value().new);
        if is_news {
            successors.insert(rotation.value().new, rotation);
        }
        // What first appears after the root has retired is not known, whatever comes later.
        if is_first {
            self.known.extend(known);
        }
        is_news
    }

    /// Takes up a certificate that counts as known although its root has retired: this was found out before.
    pub fn remember(&mut self, certificate: Cid) {
        self.known.insert(certificate);
    }

    /// Notes where a publisher's log has the rotation of a root. The first place counts.
    pub fn locate(&mut self, publisher: NodeId, old: PublicKey, index: u64) -> bool {
        let at = self.positions.entry((publisher, old)).or_insert(u64::MAX);
        let is_earlier = index < *at;
        *at = index.min(*at);
        is_earlier
    }

    /// The operator decided whom to follow.
    pub fn settle(&mut self, old: PublicKey, new: PublicKey) {
        self.settled.insert(old, new);
    }

    /// Takes up a revocation; `held` entries of the node's log are held here. Whether it is news.
    pub fn revoke(&mut self, statement: Signed<Revocation>, held: u64) -> bool {
        let stands_before = statement.value().log_size.unwrap_or(held);
        let of_node = self.revocations.entry(statement.value().node).or_default();
        let is_news = !of_node.contains_key(&statement.cid());
        of_node.entry(statement.cid()).or_insert(Revoked { statement, stands_before });
        is_news
    }

    /// Whether a rotation was taken up.
    pub fn has(&self, rotation: &Rotation) -> bool {
        let successors = self.rotations.get(&rotation.value().old);
        successors.is_some_and(|all| all.contains_key(&rotation.value().new))
    }

    /// The rotations of a root: more than one contradict each other.
    pub fn rotations_of(&self, old: &PublicKey) -> impl Iterator<Item = &Rotation> {
        self.rotations.get(old).into_iter().flat_map(BTreeMap::values)
    }

    /// Every revocation.
    pub fn revocations(&self) -> impl Iterator<Item = &Revoked> {
        self.revocations.values().flat_map(BTreeMap::values)
    }

    /// The roots of an organisation. Where two contradict each other, the operator's decision counts, or else the one
    /// that is pinned by itself.
    pub fn line(&self, org: &OrgId, is_pinned: impl Fn(&PublicKey) -> bool) -> Line {
        let mut keys = vec![*org];
        let mut at = *org;
        while keys.len() <= ROTATIONS_MAX {
            let Some(successors) = self.rotations.get(&at) else { break };
            let followed: Vec<PublicKey> =
                successors.iter().filter(|(_, r)| r.value().org == *org).map(|(new, _)| *new).collect();
            let next = match (followed.as_slice(), self.settled.get(&at)) {
                ([], _) => break,
                ([one], _) => *one,
                (several, Some(settled)) if several.contains(settled) => *settled,
                (several, _) => {
                    let pinned: Vec<PublicKey> = several.iter().copied().filter(&is_pinned).collect();
                    match pinned.as_slice() {
                        [one] => *one,
                        _ => return Line { keys, rivals: followed },
                    }
                }
            };
            if keys.contains(&next) {
                break;
            }
            keys.push(next);
            at = next;
        }
        Line { keys, rivals: Vec::new() }
    }

    /// How a key stands to the organisation whose line this is.
    pub fn standing(&self, line: &Line, key: &PublicKey) -> RootStanding {
        match line.keys.iter().position(|k| k == key) {
            Some(at) if at + 1 < line.keys.len() => RootStanding::Retired,
            Some(_) if line.rivals.is_empty() => RootStanding::Current,
            Some(_) => RootStanding::Disputed,
            None if self.descends(line, key) => RootStanding::Disputed,
            None => RootStanding::Stranger,
        }
    }

    /// Whether a key was to follow a root of this line, or to follow one that was: whoever is not followed is no stranger,
    /// nor is what comes after it. It is looked for as far as a line may go.
    fn descends(&self, line: &Line, key: &PublicKey) -> bool {
        let Some(org) = line.keys.first() else {
            return false;
        };
        let mut seen: BTreeSet<PublicKey> = line.keys.iter().copied().collect();
        let mut last: Vec<PublicKey> = line.keys.clone();
        for _ in 0..ROTATIONS_MAX {
            let successors = last.iter().filter_map(|root| self.rotations.get(root)).flatten();
            let of_org = successors.filter(|(_, rotation)| rotation.value().org == *org);
            last = of_org.map(|(new, _)| *new).filter(|new| seen.insert(*new)).collect();
            if last.is_empty() || seen.contains(key) {
                break;
            }
        }
        seen.contains(key)
    }

    /// Whether a certificate was known before its root retired.
    pub fn knew(&self, certificate: &Cid) -> bool {
        self.known.contains(certificate)
    }

    /// Where a publisher's log has the rotation of a root, if that is known.
    pub fn position(&self, publisher: &NodeId, old: &PublicKey) -> Option<u64> {
        self.positions.get(&(*publisher, *old)).copied()
    }

    /// Whether something that a root signed stands in front of the root's rotation in the log where it was found.
    pub fn is_before_rotation(&self, old: &PublicKey, place: Place) -> bool {
        match place {
            Place::Shown => false,
            Place::Logged { publisher, index } => {
                self.position(&publisher, old).is_some_and(|rotated_at| index < rotated_at)
            }
        }
    }

    /// The revocation by which what a node says counts no more, if it is said at this place.
    pub fn revoked(&self, org: &OrgId, node: &NodeId, certificate: Option<&Cid>, place: Place) -> Option<&Revoked> {
        let of_node = self.revocations.get(node)?;
        of_node.values().find(|revoked| {
            let value = revoked.statement.value();
            let is_meant =
                value.org == *org && (value.certificate.is_none() || value.certificate.as_ref() == certificate);
            let stands = match place {
                Place::Logged { publisher, index } => publisher == *node && index < revoked.stands_before,
                Place::Shown => false,
            };
            is_meant && !stands
        })
    }
}
