//! The evidence on a node's disk, and what was said of it: what the store and the actors do, in a few lines.
//!
//! The rule is that of [`plumb_core::lifecycle`], called and not repeated. What is here is the bookkeeping around it: a
//! notice is kept whether or not what it names is held; evidence that comes later finds it; a reinstatement that comes
//! before the notice that it undoes is not lost.

use std::collections::BTreeMap;
use std::sync::Arc;

use cid::Cid;
use plumb_core::content::Fingerprint;
use plumb_core::identity::{NodeId, OrgId, Signed};
use plumb_core::lifecycle::{Standing, may_become_active, standing};
use plumb_core::log::Hash;
use plumb_core::notice::{Effect, Notice};
use sha2::{Digest, Sha256};

/// A piece of evidence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Its name.
    pub cid: Cid,
    /// Its text.
    pub text: Fingerprint,
    /// Whose evidence it is.
    pub publisher: NodeId,
    /// That node's organisation.
    pub org: OrgId,
}

#[derive(Clone, Debug)]
struct Held {
    source: Arc<Source>,
    is_active: bool,
}

/// Evidence and notices.
#[derive(Clone, Debug, Default)]
pub struct Shelf {
    held: BTreeMap<Cid, Held>,
    /// Notices that were applied, in the order of their names.
    notices: Vec<Signed<Notice>>,
}

impl Shelf {
    /// Evidence comes in. It becomes active unless something stands against it.
    pub fn take_in(&mut self, source: Arc<Source>) {
        let is_active = self.may_be_active(&source);
        self.held.insert(source.cid, Held { source, is_active });
    }

    /// A notice is applied. Says whether it is new.
    pub fn apply(&mut self, notice: &Signed<Notice>) -> bool {
        let Err(place) = self.notices.binary_search_by_key(&notice.cid(), Signed::cid) else {
            return false;
        };
        self.notices.insert(place, notice.clone());
        let named = notice.value();
        let concerned: Vec<Arc<Source>> = self
            .held
            .values()
            .map(|held| &held.source)
            .filter(|source| named.targets.contains(&source.cid) || named.fingerprints.contains(&source.text))
            .cloned()
            .collect();
        for source in concerned {
            let is_active = self.may_be_active(&source);
            if let Some(held) = self.held.get_mut(&source.cid) {
                held.is_active = is_active;
            }
        }
        true
    }

    /// Whether a notice was applied.
    pub fn knows(&self, notice: &Cid) -> bool {
        self.notice(notice).is_some()
    }

    /// A notice that was applied.
    pub fn notice(&self, notice: &Cid) -> Option<&Signed<Notice>> {
        let place = self.notices.binary_search_by_key(notice, Signed::cid).ok()?;
        self.notices.get(place)
    }

    /// The notices that were applied, in the order of their names.
    pub fn notices(&self) -> &[Signed<Notice>] {
        &self.notices
    }

    /// What is held, and whether it is shown to readers.
    pub fn held(&self) -> impl Iterator<Item = (&Arc<Source>, bool)> {
        self.held.values().map(|held| (&held.source, held.is_active))
    }

    /// A source that is held.
    pub fn source(&self, cid: &Cid) -> Option<&Arc<Source>> {
        self.held.get(cid).map(|held| &held.source)
    }

    /// Whether a source is shown to readers.
    pub fn is_active(&self, cid: &Cid) -> bool {
        self.held.get(cid).is_some_and(|held| held.is_active)
    }

    fn may_be_active(&self, source: &Source) -> bool {
        let by_name = self.standing(|notice| notice.targets.contains(&source.cid));
        let by_text = self.standing(|notice| notice.fingerprints.contains(&source.text));
        may_become_active(&by_name, &by_text, &source.publisher, &source.org).is_ok()
    }

    fn standing(&self, names: impl Fn(&Notice) -> bool) -> Vec<Standing> {
        // A reinstatement counts by what it undoes.
        let counts = |notice: &&Signed<Notice>| {
            let notice = notice.value();
            notice.kind.effect() == Effect::Restore || names(notice)
        };
        let notices = self.notices.iter().filter(counts);
        standing(notices.map(|notice| (notice.cid(), notice.value(), *notice.signer())))
    }

    /// A hash of all that is known: for each source that a notice of these publishers names, what stands against it. Equal
    /// for all nodes that heard the same, in whatever order.
    pub fn digest(&self, counts: impl Fn(&NodeId) -> bool) -> Hash {
        let mut hasher = Sha256::new();
        let counted = || self.notices.iter().filter(|notice| counts(&notice.value().publisher));
        let mut named: Vec<Cid> = counted().flat_map(|notice| notice.value().targets.clone()).collect();
        named.sort();
        named.dedup();
        counted().for_each(|notice| hasher.update(notice.cid().to_bytes()));
        for source in named {
            hasher.update(source.to_bytes());
            for standing in self.standing(|notice| counts(&notice.publisher) && notice.targets.contains(&source)) {
                hasher.update(standing.notice.to_bytes());
                hasher.update([u8::from(standing.effect == Effect::Withdraw)]);
            }
        }
        hasher.finalize().into()
    }

    /// A hash of what is held, and of what of it is active.
    pub fn state(&self) -> Hash {
        let mut hasher = Sha256::new();
        hasher.update(self.digest(|_| true));
        for held in self.held.values() {
            hasher.update(held.source.cid.to_bytes());
            hasher.update([u8::from(held.is_active)]);
        }
        hasher.finalize().into()
    }
}
