//! What a witness may cosign, by what it cosigned before.

use super::{Checkpoint, Hash, LogError, verify_consistency};

/// The largest head of one log that a witness has cosigned. It is written down before the cosignature leaves the
/// house: whoever forgets it could be made to sign two histories.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Witnessed {
    /// How many entries.
    pub size: u64,
    /// The root over them.
    pub root: Hash,
}

/// Why a witness does not cosign.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WitnessError {
    /// The proof starts at another size than what was cosigned last. Ask again from there.
    #[error("the last head that was cosigned here has {size} entries; prove consistency from there")]
    Conflict {
        /// What was cosigned last.
        size: u64,
    },
    /// A log without entries says nothing that could be held against it later.
    #[error("a log without entries is not cosigned")]
    Empty,
    /// Another head of the same size was cosigned: the log shows two histories.
    #[error("another root of {size} entries was cosigned here; the log shows two histories")]
    Forked {
        /// The size of both.
        size: u64,
    },
    /// The head does not continue what was cosigned.
    #[error("the head does not continue what was cosigned here")]
    Inconsistent(#[source] LogError),
}

impl Witnessed {
    /// Whether a head may be cosigned after this one (none: nothing of that log was cosigned yet), and what is then to
    /// be written down. That the log signed the head is for the caller to check, first.
    ///
    /// Law: whatever is asked in whatever order, no two heads that this accepts one after the other have one size and
    /// two roots, and none is smaller than the one before.
    pub fn accepts(
        last: Option<&Witnessed>,
        old: u64,
        head: &Checkpoint,
        proof: &[Hash],
    ) -> Result<Witnessed, WitnessError> {
        let size = last.map_or(0, |last| last.size);
        if old != size {
            return Err(WitnessError::Conflict { size });
        }
        if head.size == 0 {
            return Err(WitnessError::Empty);
        }
        if let Some(last) = last {
            if head.size == last.size && head.root != last.root {
                return Err(WitnessError::Forked { size });
            }
            verify_consistency(last.size, &last.root, head.size, &head.root, proof)
                .map_err(WitnessError::Inconsistent)?;
        } else if !proof.is_empty() {
            return Err(WitnessError::Inconsistent(LogError::ProofLength(proof.len())));
        }
        Ok(Witnessed { size: head.size, root: head.root })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::log::{consistency_proof, leaf_hash, root_of};
    use proptest::prelude::*;

    /// Two logs that share a beginning: what an honest and a lying face look like.
    fn faces(shared: usize, n: usize) -> [Vec<Hash>; 2] {
        let face = |mark: u8| {
            let leaf = |i: usize| leaf_hash(&[if i < shared { 0 } else { mark }, i as u8]);
            (0..n).map(leaf).collect()
        };
        [face(1), face(2)]
    }

    fn head(leaves: &[Hash]) -> Checkpoint {
        Checkpoint { origin: "a/public".parse().unwrap(), size: leaves.len() as u64, root: root_of(leaves) }
    }

    #[test]
    fn a_witness_goes_forward_only() {
        let [a, b] = faces(3, 10);
        let first = Witnessed::accepts(None, 0, &head(&a[..4]), &[]).unwrap();
        let proof = |leaves: &[Hash], old| consistency_proof(leaves, old).unwrap();
        let accepts = |old, leaves: &[Hash]| Witnessed::accepts(Some(&first), old, &head(leaves), &proof(leaves, old));
        assert_eq!(accepts(4, &a[..9]).map(|w| w.size), Ok(9));
        assert_eq!(accepts(4, &a[..4]), Ok(first), "the same again");
        assert_eq!(accepts(3, &a[..9]), Err(WitnessError::Conflict { size: 4 }));
        assert_eq!(accepts(4, &b[..4]), Err(WitnessError::Forked { size: 4 }));
        assert!(matches!(accepts(4, &b[..9]), Err(WitnessError::Inconsistent(_))));
        let smaller = Witnessed::accepts(Some(&first), 4, &head(&a[..3]), &[]);
        assert!(matches!(smaller, Err(WitnessError::Inconsistent(_))));
        assert_eq!(Witnessed::accepts(None, 0, &head(&[]), &[]), Err(WitnessError::Empty));
        assert!(Witnessed::accepts(None, 0, &head(&a), &[a[0]]).is_err(), "a proof of nothing");
    }

    /// One request, and where the power fails while it is worked on.
    #[derive(Clone, Debug)]
    struct Asked {
        face: usize,
        size: usize,
        honest_old: bool,
        old: u64,
        crash: Option<bool>,
    }

    fn asked() -> impl Strategy<Value = Asked> {
        (0..2usize, 0..20usize, any::<bool>(), 0..20u64, proptest::option::of(any::<bool>()))
            .prop_map(|(face, size, honest_old, old, crash)| Asked { face, size, honest_old, old, crash })
    }

    proptest! {
        /// A witness that writes down before it answers, and loses its memory wherever it likes in between, never
        /// signs two roots of one size and never a smaller size than before.
        #[test]
        fn never_two_roots_of_one_size(shared in 0..20usize, requests in proptest::collection::vec(asked(), 1..60)) {
            let faces = faces(shared, 20);
            let mut disk: Option<Witnessed> = None;
            let (mut signed, mut largest) = (BTreeMap::new(), 0);
            for ask in requests {
                let leaves = &faces[ask.face][..ask.size];
                let old = if ask.honest_old { disk.map_or(0, |d| d.size) } else { ask.old };
                let proof = consistency_proof(leaves, old).unwrap_or_default();
                let Ok(next) = Witnessed::accepts(disk.as_ref(), old, &head(leaves), &proof) else { continue };
                if ask.crash == Some(false) {
                    continue; // before it was written down: nothing was signed
                }
                disk = Some(next);
                if ask.crash == Some(true) {
                    continue; // written down, and nobody got the answer
                }
                prop_assert!(largest <= next.size);
                largest = next.size;
                let before = signed.insert(next.size, next.root);
                prop_assert!(before.is_none_or(|root| root == next.root));
            }
        }
    }
}
