//! Proofs of the log: any hashes, and numbers that do not fit them.
//!
//! A proof is put together out of the hashes of a real tree, so that the fuzzer gets close to a false one: the first
//! byte says how many entries the log has, the second and third which two numbers are claimed, and each further byte
//! picks one hash.

use plumb_core::log::{
    CompactRange, Hash, consistency_proof, inclusion_proof, leaf_hash, node_hash, root_of, verify_consistency,
    verify_inclusion,
};

use super::{Shape, Target};
use crate::laws;

pub(super) const TARGET: Target = Target { name: "proof", run, seeds, input_bytes_max: 64, shape: Shape::Bytes };

/// Most entries of the log.
const ENTRIES_MAX: usize = 40;

/// Places in the list of hashes of honest proofs.
fn seeds() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for (size, index) in [(1, 0), (2, 1), (7, 3), (8, 8), (13, 12), (40, 33)] {
        let leaves = leaves(size);
        let known = hashes(&leaves);
        let inclusion = inclusion_proof(&leaves, index).unwrap_or_default();
        let consistency = consistency_proof(&leaves, index).unwrap_or_default();
        for proof in [inclusion, consistency] {
            let places =
                proof.iter().map(|hash| known.iter().position(|known| known == hash).unwrap_or_default() as u8);
            seeds.push([size as u8, index as u8, size as u8].into_iter().chain(places).collect());
        }
    }
    seeds
}

fn leaves(size: usize) -> Vec<Hash> {
    (0..size).map(|i| leaf_hash(&[i as u8])).collect()
}

/// Every hash of the tree, level by level, then the right edges.
fn hashes(leaves: &[Hash]) -> Vec<Hash> {
    let mut all = leaves.to_vec();
    let mut level = leaves.to_vec();
    while level.len() > 1 {
        level = level.chunks(2).map(|pair| pair.get(1).map_or(pair[0], |right| node_hash(&pair[0], right))).collect();
        all.extend_from_slice(&level);
    }
    all.extend((0..=leaves.len()).map(|n| root_of(&leaves[..n])));
    all
}

fn run(bytes: &[u8]) {
    let [size, old, new, rest @ ..] = bytes else { return };
    let leaves = leaves(usize::from(*size) % (ENTRIES_MAX + 1));
    let (size, root) = (leaves.len() as u64, root_of(&leaves));
    let known = hashes(&leaves);
    let pick = |byte: &u8| known.get(usize::from(*byte) % known.len()).copied().unwrap_or_default();
    let (old, new) = (u64::from(*old), u64::from(*new));
    let proof: Vec<Hash> = rest.iter().map(pick).collect();

    // Whatever is shown to be in the log is in the log, at that place.
    for leaf in known.iter().take(leaves.len() + 2) {
        match verify_inclusion(leaf, old, size, &proof, &root) {
            Ok(()) => assert_eq!(leaves.get(old as usize), Some(leaf), "an entry is proved that is not there"),
            Err(error) => laws::short(&error),
        }
    }
    // Whatever is shown to be how the log began is how it began.
    for old_root in &known {
        match verify_consistency(old, old_root, size, &root, &proof) {
            Ok(()) => {
                let first = leaves.get(..old as usize).expect("a beginning is proved that is longer than the log");
                assert_eq!(*old_root, root_of(first), "a beginning is proved that was not");
            }
            Err(error) => laws::short(&error),
        }
    }
    // Numbers without bound, and frontiers of any shape.
    let wide = new.wrapping_mul(0x0101_0101_0101_0101);
    let _ = verify_inclusion(&root, old, wide, &proof, &root);
    let _ = verify_consistency(old, &root, wide, &root, &proof);
    if let Ok(range) = CompactRange::from_hashes(wide, proof.clone()) {
        assert_eq!((range.size(), range.hashes()), (wide, proof.as_slice()));
        let _ = range.root();
    }
}
