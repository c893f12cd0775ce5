//! Proofs that an entry is in a log, and that a log only grew.
//!
//! Whoever proves has the leaves; whoever verifies has two small numbers, a root or two, and a list of hashes that may
//! come from anyone. Verification is iterative, looks at each hash once, and refuses proofs that are too long or too
//! short.

use super::LogError;
use super::tree::{CompactRange, Hash, node_hash};

/// The root over these leaves.
pub fn root_of(leaves: &[Hash]) -> Hash {
    let mut range = CompactRange::new();
    for leaf in leaves {
        range.append(*leaf);
    }
    range.root()
}

/// The largest power of two below `n`: where the tree over `n > 1` leaves is divided (RFC 9162 §2.1.1).
fn split(n: usize) -> usize {
    1 << (n - 1).ilog2()
}

/// The siblings on the way from entry `index` up to the root over `leaves` (RFC 9162 §2.1.3.1).
pub fn inclusion_proof(leaves: &[Hash], index: u64) -> Result<Vec<Hash>, LogError> {
    let size = leaves.len() as u64;
    let outside = LogError::Index { index, size };
    let Some(mut at) = usize::try_from(index).ok().filter(|at| *at < leaves.len()) else {
        return Err(outside);
    };
    let mut proof = Vec::new();
    let mut subtree = leaves;
    while subtree.len() > 1 {
        let (left, right) = subtree.split_at(split(subtree.len()));
        if at < left.len() {
            proof.push(root_of(right));
            subtree = left;
        } else {
            proof.push(root_of(left));
            at -= left.len();
            subtree = right;
        }
    }
    proof.reverse();
    Ok(proof)
}

/// Checks that `leaf` is entry `index` of the log of `size` entries with this root (RFC 9162 §2.1.3.2).
pub fn verify_inclusion(leaf: &Hash, index: u64, size: u64, proof: &[Hash], root: &Hash) -> Result<(), LogError> {
    if index >= size {
        return Err(LogError::Index { index, size });
    }
    // The names of RFC 9162: `fn_` and `sn` are the entry's and the last entry's position, one level higher each turn.
    let (mut fn_, mut sn) = (index, size - 1);
    let mut hash = *leaf;
    for sibling in proof {
        if sn == 0 {
            return Err(LogError::ProofLength(proof.len()));
        }
        if fn_ & 1 == 1 || fn_ == sn {
            hash = node_hash(sibling, &hash);
            // At the right edge a node without a sibling rises unhashed; pass the levels where that happens.
            while fn_ & 1 == 0 && fn_ != 0 {
                fn_ >>= 1;
                sn >>= 1;
            }
        } else {
            hash = node_hash(&hash, sibling);
        }
        fn_ >>= 1;
        sn >>= 1;
    }
    if sn != 0 {
        return Err(LogError::ProofLength(proof.len()));
    }
    if hash == *root { Ok(()) } else { Err(LogError::Root { size }) }
}

/// The hashes that lead from the log of the first `old` leaves to the log of all of them (RFC 9162 §2.1.4.1). Empty if
/// there is nothing to show: from an empty log, and from the log itself.
pub fn consistency_proof(leaves: &[Hash], old: u64) -> Result<Vec<Hash>, LogError> {
    let new = leaves.len() as u64;
    let Some(mut old_len) = usize::try_from(old).ok().filter(|old| *old <= leaves.len()) else {
        return Err(LogError::Shrunk { old, new });
    };
    if old_len == 0 || old_len == leaves.len() {
        return Ok(Vec::new());
    }
    let mut proof = Vec::new();
    let mut subtree = leaves;
    // SUBPROOF of the RFC. `whole` is its flag b: the old root is that of this very subtree, so the verifier has it.
    let mut whole = true;
    while old_len < subtree.len() {
        let (left, right) = subtree.split_at(split(subtree.len()));
        if old_len <= left.len() {
            proof.push(root_of(right));
            subtree = left;
        } else {
            proof.push(root_of(left));
            old_len -= left.len();
            subtree = right;
            whole = false;
        }
    }
    if !whole {
        proof.push(root_of(subtree));
    }
    proof.reverse();
    Ok(proof)
}

/// Checks that the log of `new_size` entries is that of `old_size` entries with more behind it (RFC 9162 §2.1.4.2).
/// Every log has grown from the empty one.
pub fn verify_consistency(
    old_size: u64,
    old_root: &Hash,
    new_size: u64,
    new_root: &Hash,
    proof: &[Hash],
) -> Result<(), LogError> {
    if old_size > new_size {
        return Err(LogError::Shrunk { old: old_size, new: new_size });
    }
    // The RFC leaves these two ends out: there is nothing to prove, and a proof with hashes in it would prove nothing.
    if old_size == 0 || old_size == new_size {
        if !proof.is_empty() {
            return Err(LogError::ProofLength(proof.len()));
        }
        let expected = if old_size == 0 { super::empty_root() } else { *new_root };
        if *old_root != expected {
            return Err(LogError::Root { size: old_size });
        }
        return if new_size == 0 && *new_root != expected { Err(LogError::Root { size: 0 }) } else { Ok(()) };
    }

    let length = || LogError::ProofLength(proof.len());
    // A perfect old tree is itself a node of the new one, and the verifier has its hash already.
    let (first, rest) =
        if old_size.is_power_of_two() { (old_root, proof) } else { proof.split_first().ok_or_else(length)? };
    let (mut fn_, mut sn) = (old_size - 1, new_size - 1);
    while fn_ & 1 == 1 {
        fn_ >>= 1;
        sn >>= 1;
    }
    let (mut from_old, mut from_new) = (*first, *first);
    for sibling in rest {
        if sn == 0 {
            return Err(length());
        }
        if fn_ & 1 == 1 || fn_ == sn {
            from_old = node_hash(sibling, &from_old);
            from_new = node_hash(sibling, &from_new);
            while fn_ & 1 == 0 && fn_ != 0 {
                fn_ >>= 1;
                sn >>= 1;
            }
        } else {
            from_new = node_hash(&from_new, sibling);
        }
        fn_ >>= 1;
        sn >>= 1;
    }
    if sn != 0 {
        return Err(length());
    }
    if from_old != *old_root {
        return Err(LogError::Root { size: old_size });
    }
    if from_new != *new_root {
        return Err(LogError::Root { size: new_size });
    }
    Ok(())
}

#[cfg(test)]
mod tests;
