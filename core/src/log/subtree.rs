//! The same proofs from stored hashes: a few of them, however long the log is.
//!
//! Whoever keeps the roots of the perfect subtrees (each with its height and its index among those of its height) need
//! not have the leaves at hand. Every hash of a proof is the root of a perfect subtree, except one at the right edge,
//! which is put together from at most 63 of them.

use super::tree::{Hash, empty_root, node_hash};
use super::{LOG_SIZE_MAX, LogError};

/// The largest power of two below `n`: where the tree over `n > 1` leaves is divided (RFC 9162 §2.1.1).
fn split(n: u64) -> u64 {
    1 << (n - 1).ilog2()
}

/// The root over the entries `from..to`. `from` is where a subtree of the log begins.
fn range_root<E>(from: u64, to: u64, node: &mut impl FnMut(u8, u64) -> Result<Hash, E>) -> Result<Hash, E> {
    let mut roots = Vec::new();
    let mut at = from;
    while at < to {
        let level = (to - at).ilog2();
        // At most 62, for a log has fewer than 2^63 entries.
        roots.push(node(level as u8, at >> level)?);
        at += 1 << level;
    }
    let mut from_the_right = roots.into_iter().rev();
    let Some(last) = from_the_right.next() else {
        return Ok(empty_root());
    };
    Ok(from_the_right.fold(last, |right, left| node_hash(&left, &right)))
}

/// The root over the first `size` entries. `node` gives the root of a perfect subtree by its height and its index.
pub fn root_from<E>(size: u64, mut node: impl FnMut(u8, u64) -> Result<Hash, E>) -> Result<Hash, E> {
    range_root(0, size, &mut node)
}

/// The siblings on the way from entry `index` up to the root over `size` entries (RFC 9162 §2.1.3.1).
pub fn inclusion_proof_from<E: From<LogError>>(
    size: u64,
    index: u64,
    mut node: impl FnMut(u8, u64) -> Result<Hash, E>,
) -> Result<Vec<Hash>, E> {
    if size > LOG_SIZE_MAX {
        return Err(LogError::Size(size).into());
    }
    if index >= size {
        return Err(LogError::Index { index, size }.into());
    }
    let mut proof = Vec::new();
    let (mut from, mut to) = (0, size);
    while to - from > 1 {
        let middle = from + split(to - from);
        if index < middle {
            proof.push(range_root(middle, to, &mut node)?);
            to = middle;
        } else {
            proof.push(range_root(from, middle, &mut node)?);
            from = middle;
        }
    }
    proof.reverse();
    Ok(proof)
}

/// The hashes that lead from the log of the first `old` entries to the log of `size` (RFC 9162 §2.1.4.1). Empty if there
/// is nothing to show: from an empty log, and from the log itself.
pub fn consistency_proof_from<E: From<LogError>>(
    size: u64,
    old: u64,
    mut node: impl FnMut(u8, u64) -> Result<Hash, E>,
) -> Result<Vec<Hash>, E> {
    if size > LOG_SIZE_MAX {
        return Err(LogError::Size(size).into());
    }
    if old > size {
        return Err(LogError::Shrunk { old, new: size }.into());
    }
    if old == 0 || old == size {
        return Ok(Vec::new());
    }
    let mut proof = Vec::new();
    let (mut from, mut to) = (0, size);
    // SUBPROOF of the RFC. `whole` is its flag b: the old root is that of this very subtree, so the verifier has it.
    let mut whole = true;
    while old < to {
        let middle = from + split(to - from);
        if old <= middle {
            proof.push(range_root(middle, to, &mut node)?);
            to = middle;
        } else {
            proof.push(range_root(from, middle, &mut node)?);
            from = middle;
            whole = false;
        }
    }
    if !whole {
        proof.push(range_root(from, to, &mut node)?);
    }
    proof.reverse();
    Ok(proof)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::log::{CompactRange, consistency_proof, inclusion_proof, leaf_hash, root_of};
    use proptest::prelude::*;

    /// A tree as a store keeps it.
    struct Kept {
        leaves: Vec<Hash>,
        nodes: BTreeMap<(u8, u64), Hash>,
    }

    fn kept(n: u64) -> Kept {
        let leaves: Vec<Hash> = (0..n).map(|i| leaf_hash(&i.to_be_bytes())).collect();
        let (mut range, mut nodes) = (CompactRange::new(), BTreeMap::new());
        for leaf in &leaves {
            range.append_telling(*leaf, |level, index, root| {
                assert_eq!(nodes.insert((level, index), root), None, "each is told once");
            });
        }
        Kept { leaves, nodes }
    }

    proptest! {
        #[test]
        fn they_are_those_from_the_leaves(n in 0..70u64, size in 0..80u64, at in 0..80u64) {
            let kept = kept(n);
            let size = size.min(n);
            let node = |level, index| kept.nodes.get(&(level, index)).copied().ok_or(LogError::Size(0));
            let leaves = &kept.leaves[..size as usize];
            prop_assert_eq!(root_from(size, node), Ok(root_of(leaves)));
            prop_assert_eq!(inclusion_proof_from(size, at, node), inclusion_proof(leaves, at));
            prop_assert_eq!(consistency_proof_from(size, at, node), consistency_proof(leaves, at));
        }
    }

    #[test]
    fn few_hashes_are_read_for_a_long_log() {
        // The hashes are nonsense: what is counted is how many are asked for.
        let mut n_read = 0;
        let mut node = |_: u8, _: u64| {
            n_read += 1;
            Ok::<_, LogError>([0; 32])
        };
        inclusion_proof_from(1_000_000_007, 123_456_789, &mut node).unwrap();
        consistency_proof_from(1_000_000_007, 123_456_789, &mut node).unwrap();
        root_from(1_000_000_007, &mut node).unwrap();
        root_from(LOG_SIZE_MAX, &mut node).unwrap();
        assert!(n_read < 5 * 30 + 63, "{n_read}");
    }
}
