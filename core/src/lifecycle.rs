//! What a notice reaches, and what may never become active again.
//!
//! Two rules stand here. **Exact cascade:** a notice changes the dependency closure of what it names and nothing else.
//! **No resurrection:** on every path by which a unit can become active (ingest, import, rebuild, restore), what was
//! taken back — by CID, or by the fingerprint of its text — stays down until a reinstatement.

mod claims;

use std::collections::{BTreeMap, BTreeSet};

use cid::Cid;

use crate::boundary::Sensitivity;
use crate::content::{Chunk, Fingerprint};
use crate::identity::{NodeId, OrgId};
use crate::notice::{Effect, Notice};

pub use claims::{ClaimState, claim_states};

/// A chunk shorter than this (in letters and digits) has no fingerprint of its own in a notice: a heading such as
/// "Results" would bar half of the world's texts.
pub const FINGERPRINT_ALNUM_MIN: usize = 120;

/// Everything that depends on `roots`, the roots included, by following `derived` (what was made from this?).
pub fn closure(roots: impl IntoIterator<Item = Cid>, derived: impl Fn(&Cid) -> Vec<Cid>) -> BTreeSet<Cid> {
    let mut reached = BTreeSet::new();
    let mut open: Vec<Cid> = roots.into_iter().collect();
    while let Some(cid) = open.pop() {
        if reached.insert(cid) {
            open.extend(derived(&cid));
        }
    }
    reached
}

/// The fingerprints by which a source's text is known when it comes back: of the whole, and of each chunk that is long
/// enough to be its own.
pub fn fingerprints_of<'a>(whole: Fingerprint, chunks: impl IntoIterator<Item = &'a Chunk>) -> Vec<Fingerprint> {
    let mut all = BTreeSet::from([whole]);
    all.extend(chunks.into_iter().filter_map(|c| fingerprint_of_chunk(&c.text)));
    all.into_iter().collect()
}

/// The fingerprint of a chunk's text, if it is long enough to have one.
pub fn fingerprint_of_chunk(text: &str) -> Option<Fingerprint> {
    let is_long = text.chars().filter(|c| c.is_alphanumeric()).nth(FINGERPRINT_ALNUM_MIN - 1).is_some();
    is_long.then(|| Fingerprint::of(text))
}

/// One notice that stands against something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// The notice.
    pub notice: Cid,
    /// What it does.
    pub effect: Effect,
    /// Who signed it. That they may speak of the publisher's evidence was checked before it was kept.
    pub signer: NodeId,
    /// Whose evidence it speaks of.
    pub publisher: NodeId,
    /// Its publisher's organisation.
    pub org: OrgId,
    /// The chunks that it is about; none means the whole source.
    pub chunks: Vec<Cid>,
    /// The label that a narrowing gives at home.
    pub audience: Option<Sensitivity>,
    /// Whether this node decided it for itself. Then it counts here, whoever published the source, and nowhere else.
    pub is_local: bool,
}

impl Standing {
    /// Whether it is about this chunk.
    pub fn covers(&self, chunk: &Cid) -> bool {
        self.chunks.is_empty() || self.chunks.contains(chunk)
    }

    /// Whether it counts against what `publisher` of `org` published.
    pub fn counts_for(&self, publisher: &NodeId, org: &OrgId) -> bool {
        self.is_local || self.speaks_of(publisher, Some(org))
    }

    /// Whether it speaks of what this publisher published. A root says itself of which organisation the publisher is, so
    /// where that is not known only the publisher's own word counts.
    pub fn speaks_of(&self, publisher: &NodeId, org: Option<&OrgId>) -> bool {
        self.publisher == *publisher && (self.signer == *publisher || org == Some(&self.org))
    }
}

/// What stands against a source at one moment, from the notices that name it in the order of their log.
///
/// A reinstatement lifts exactly the notice that it undoes. The order among notices of different logs does not
/// matter: the result is the same for every order of delivery.
pub fn standing<'a>(notices: impl IntoIterator<Item = (Cid, &'a Notice, NodeId)>) -> Vec<Standing> {
    let mut against: BTreeMap<Cid, Standing> = BTreeMap::new();
    let mut lifted: BTreeSet<(Cid, NodeId, OrgId)> = BTreeSet::new();
    for (cid, notice, signer) in notices {
        match notice.kind.effect() {
            // Only who may speak for the same evidence lifts a notice, or a colleague could lift it by speaking of his own.
            Effect::Restore => lifted.extend(notice.undoes.map(|undone| (undone, notice.publisher, notice.org))),
            effect => {
                let standing = Standing {
                    notice: cid,
                    effect,
                    signer,
                    publisher: notice.publisher,
                    org: notice.org,
                    chunks: notice.chunks.clone(),
                    audience: notice.audience,
                    is_local: false,
                };
                against.insert(cid, standing);
            }
        }
    }
    against.into_values().filter(|s| !lifted.contains(&(s.notice, s.publisher, s.org))).collect()
}

/// Whether a unit may become active: the notices that name its source by CID count if they speak of what `publisher`
/// published; those that know its text by fingerprint count always.
pub fn may_become_active(
    by_cid: &[Standing],
    by_text: &[Standing],
    publisher: &NodeId,
    org: &OrgId,
) -> Result<(), Cid> {
    let counts = |s: &&Standing| s.counts_for(publisher, org);
    let named = by_cid.iter().filter(counts).find(|s| s.effect == Effect::Withdraw);
    let known = by_text.iter().find(|s| s.effect == Effect::Withdraw);
    match named.or(known) {
        Some(standing) => Err(standing.notice),
        None => Ok(()),
    }
}

/// The strictest label that narrowings at home give.
pub fn narrowed_to<'a>(standing: impl IntoIterator<Item = &'a Standing>) -> Option<Sensitivity> {
    standing.into_iter().filter(|s| s.effect == Effect::Narrow).filter_map(|s| s.audience).max()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::RawBlock;
    use crate::identity::SecretKey;
    use crate::measure::Timestamp;
    use crate::notice::{NoticeKind, NoticeTag, Reason};
    use proptest::prelude::*;

    fn cid(n: u8) -> Cid {
        RawBlock::raw(vec![n]).cid
    }

    fn key(n: u8) -> NodeId {
        SecretKey::from_seed([n; 32]).public()
    }

    fn notice(kind: NoticeKind, undoes: Option<Cid>) -> Notice {
        Notice {
            tag: NoticeTag,
            kind,
            reason: Reason::DataError,
            note: String::new(),
            targets: vec![cid(0)],
            fingerprints: vec![],
            undoes,
            chunks: vec![],
            superseded_by: None,
            audience: None,
            publisher: key(1),
            org: key(2),
            issued_at: Timestamp(0),
        }
    }

    #[test]
    fn a_notice_bars_until_it_is_undone() {
        let (retraction, lift) =
            (notice(NoticeKind::Retraction, None), notice(NoticeKind::Reinstatement, Some(cid(10))));
        let standing_now = standing([(cid(10), &retraction, key(1))]);
        assert_eq!(may_become_active(&standing_now, &[], &key(1), &key(2)), Err(cid(10)));
        assert_eq!(
            may_become_active(&[], &standing_now, &key(7), &key(8)),
            Err(cid(10)),
            "a copy of the text is barred too"
        );
        assert_eq!(
            may_become_active(&standing_now, &[], &key(7), &key(8)),
            Ok(()),
            "nobody takes back what is not theirs"
        );
        let colleague = Notice { publisher: key(3), ..lift.clone() };
        let after = standing([(cid(10), &retraction, key(1)), (cid(11), &colleague, key(3))]);
        assert_eq!(may_become_active(&after, &[], &key(1), &key(2)), Err(cid(10)), "nobody lifts what is not theirs");
        let after = standing([(cid(10), &retraction, key(1)), (cid(11), &lift, key(1))]);
        assert_eq!(may_become_active(&after, &[], &key(1), &key(2)), Ok(()));
    }

    #[test]
    fn a_local_decision_counts_whoever_published() {
        let retraction = notice(NoticeKind::Retraction, None);
        let mut standing_now = standing([(cid(10), &retraction, key(1))]);
        standing_now[0].is_local = true;
        assert_eq!(may_become_active(&standing_now, &[], &key(7), &key(8)), Err(cid(10)));
    }

    #[test]
    fn a_partial_retraction_covers_what_it_names() {
        let part = Notice { chunks: vec![cid(1)], ..notice(NoticeKind::PartialRetraction, None) };
        let standing_now = standing([(cid(10), &part, key(1))]);
        assert!(standing_now[0].covers(&cid(1)) && !standing_now[0].covers(&cid(2)));
        let whole = notice(NoticeKind::PartialRetraction, None);
        assert!(standing([(cid(11), &whole, key(1))])[0].covers(&cid(2)));
    }

    #[test]
    fn short_chunks_have_no_fingerprint() {
        assert_eq!(fingerprint_of_chunk("Results"), None);
        assert!(fingerprint_of_chunk(&"word ".repeat(30)).is_some());
    }

    proptest! {
        /// {retract, retract, reinstate, …} in every order with duplicates: the same state.
        #[test]
        fn the_order_of_delivery_does_not_matter(order in Just((0usize..5).collect::<Vec<_>>()).prop_shuffle(), again in 0usize..5) {
            let all = [
                (cid(10), notice(NoticeKind::Retraction, None)),
                (cid(11), notice(NoticeKind::Reinstatement, Some(cid(10)))),
                (cid(12), notice(NoticeKind::Retraction, None)),
                (cid(13), notice(NoticeKind::ExpressionOfConcern, None)),
                (cid(14), notice(NoticeKind::Reinstatement, Some(cid(13)))),
            ];
            let delivered = order.iter().chain([&again]).map(|i| (all[*i].0, &all[*i].1, key(1)));
            let standing = standing(delivered);
            prop_assert_eq!(standing.iter().map(|s| s.notice).collect::<Vec<_>>(), [cid(12)]);
        }

        /// The closure is exact: a node is reached if and only if a path leads to it.
        #[test]
        fn the_closure_is_what_paths_reach(edges in proptest::collection::btree_set((0u8..12, 0u8..12), 0..30), root in 0u8..12) {
            let derived = |c: &Cid| edges.iter().filter(|(a, _)| cid(*a) == *c).map(|(_, b)| cid(*b)).collect();
            let reached = closure([cid(root)], derived);
            let mut expected = BTreeSet::from([root]);
            for _ in 0..12 {
                let next: Vec<u8> = edges.iter().filter(|(a, _)| expected.contains(a)).map(|(_, b)| *b).collect();
                expected.extend(next);
            }
            prop_assert_eq!(reached, expected.into_iter().map(cid).collect::<BTreeSet<_>>());
        }
    }
}
