use super::*;
use crate::log::{empty_root, leaf_hash};
use multibase::Base;
use proptest::prelude::*;

fn hex(text: &str) -> Vec<u8> {
    Base::Base16Lower.decode(text).unwrap()
}

fn hash(text: &str) -> Hash {
    hex(text).try_into().unwrap()
}

/// The eight entries of the reference tests of certificate-transparency.
fn reference_leaves() -> Vec<Hash> {
    ["", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f"]
        .map(|entry| leaf_hash(&hex(entry)))
        .to_vec()
}

/// Their roots, for one to eight entries.
const REFERENCE_ROOTS: [&str; 8] = [
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
];

fn leaves(n: usize) -> Vec<Hash> {
    (0..n).map(|i| leaf_hash(&i.to_be_bytes())).collect()
}

/// The definition of RFC 9162 §2.1.1, by the letter.
fn merkle_tree_hash(leaves: &[Hash]) -> Hash {
    match leaves {
        [] => empty_root(),
        [leaf] => *leaf,
        _ => {
            let (left, right) = leaves.split_at(split(leaves.len()));
            node_hash(&merkle_tree_hash(left), &merkle_tree_hash(right))
        }
    }
}

#[test]
fn the_reference_tree_has_its_roots() {
    assert_eq!(empty_root(), hash("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"));
    assert_eq!(root_of(&[]), empty_root());
    let leaves = reference_leaves();
    let mut range = CompactRange::new();
    for (i, root) in REFERENCE_ROOTS.iter().enumerate() {
        range.append(leaves[i]);
        assert_eq!(range.root(), hash(root), "{} entries", i + 1);
        assert_eq!(root_of(&leaves[..=i]), hash(root));
    }
}

/// Paths of the reference tests of certificate-transparency (`merkle_verifier_test`), with entries counted from zero.
#[test]
fn the_reference_tree_has_its_proofs() {
    let leaves = reference_leaves();
    let check = |proof: Vec<Hash>, expected: &[&str]| {
        let expected: Vec<Hash> = expected.iter().map(|h| hash(h)).collect();
        assert_eq!(proof, expected);
    };
    check(
        inclusion_proof(&leaves, 0).unwrap(),
        &[
            "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7",
            "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
            "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4",
        ],
    );
    check(
        inclusion_proof(&leaves[..3], 2).unwrap(),
        &["fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125"],
    );
    check(
        consistency_proof(&leaves, 6).unwrap(),
        &[
            "0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a",
            "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
            "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
        ],
    );
    check(
        consistency_proof(&leaves[..5], 2).unwrap(),
        &[
            "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
            "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
        ],
    );
}

#[test]
fn the_ends_of_consistency_are_settled() {
    let (old, new) = (root_of(&leaves(3)), root_of(&leaves(5)));
    let junk = [leaf_hash(b"x")];
    assert_eq!(verify_consistency(0, &empty_root(), 5, &new, &[]), Ok(()));
    assert_eq!(verify_consistency(5, &new, 5, &new, &[]), Ok(()));
    assert_eq!(verify_consistency(0, &empty_root(), 0, &empty_root(), &[]), Ok(()));
    assert!(verify_consistency(0, &empty_root(), 0, &new, &[]).is_err());
    assert!(verify_consistency(0, &old, 5, &new, &[]).is_err());
    assert!(verify_consistency(0, &empty_root(), 5, &new, &junk).is_err());
    assert!(verify_consistency(5, &old, 5, &new, &[]).is_err());
    assert!(verify_consistency(5, &new, 5, &new, &junk).is_err());
    assert_eq!(verify_consistency(5, &new, 3, &old, &[]), Err(LogError::Shrunk { old: 5, new: 3 }));
    assert!(consistency_proof(&leaves(3), 4).is_err());
}

#[test]
fn the_ends_of_inclusion_are_settled() {
    let one = leaves(1);
    assert_eq!(inclusion_proof(&one, 0), Ok(vec![]));
    assert_eq!(verify_inclusion(&one[0], 0, 1, &[], &one[0]), Ok(()));
    assert!(inclusion_proof(&one, 1).is_err());
    assert!(inclusion_proof(&[], 0).is_err());
    assert!(verify_inclusion(&one[0], 0, 0, &[], &empty_root()).is_err());
    // The largest numbers are answered, not computed with.
    assert!(verify_inclusion(&one[0], u64::MAX - 1, u64::MAX, &one, &one[0]).is_err());
    assert!(verify_consistency(u64::MAX - 1, &one[0], u64::MAX, &one[0], &one).is_err());
}

#[test]
fn a_frontier_is_taken_up_where_it_was_left() {
    let mut range = CompactRange::new();
    for (n, leaf) in leaves(70).into_iter().enumerate() {
        let restored = CompactRange::from_hashes(n as u64, range.hashes().to_vec()).unwrap();
        assert_eq!(restored, range);
        range.append(leaf);
    }
    let hashes = range.hashes().to_vec();
    assert!(CompactRange::from_hashes(71, hashes.clone()).is_err());
    assert!(CompactRange::from_hashes(0, hashes).is_err());
    assert!(CompactRange::from_hashes(u64::MAX, vec![[0; 32]; 64]).is_err());
}

proptest! {
    #[test]
    fn appending_gives_the_root_of_the_definition(n in 0usize..300) {
        prop_assert_eq!(root_of(&leaves(n)), merkle_tree_hash(&leaves(n)));
    }

    #[test]
    fn an_entry_is_proved_at_its_place_and_nowhere_else(
        (n, at) in (1usize..200).prop_flat_map(|n| (Just(n), 0..n)),
        other_at in 0u64..250, other_size in 0u64..250, flip in any::<prop::sample::Index>(), bit in 0u8..8,
    ) {
        let leaves = leaves(n);
        let (index, size, root) = (at as u64, n as u64, root_of(&leaves));
        let proof = inclusion_proof(&leaves, index).unwrap();
        prop_assert_eq!(verify_inclusion(&leaves[at], index, size, &proof, &root), Ok(()));

        let refused = |leaf: &Hash, index, size, proof: &[Hash], root: &Hash| {
            verify_inclusion(leaf, index, size, proof, root).is_err()
        };
        prop_assert!(refused(&leaf_hash(b"other"), index, size, &proof, &root));
        prop_assert!(refused(&leaves[at], index, size, &proof, &leaf_hash(b"other")));
        if other_at != index {
            prop_assert!(refused(&leaves[at], other_at, size, &proof, &root));
        }
        // A proof does not commit to the size by itself (a checkpoint does): another size may describe the same path.
        // It never moves the entry to another leaf, though.
        if !refused(&leaves[at], index, other_size, &proof, &root) {
            prop_assert!(index < other_size);
        }
        let mut longer = proof.clone();
        longer.push(root);
        prop_assert!(refused(&leaves[at], index, size, &longer, &root));
        if !proof.is_empty() {
            prop_assert!(refused(&leaves[at], index, size, &proof[1..], &root));
            let mut damaged = proof.clone();
            damaged[flip.index(proof.len())][flip.index(32)] ^= 1 << bit;
            prop_assert!(refused(&leaves[at], index, size, &damaged, &root));
        }
    }

    #[test]
    fn growth_is_proved_and_nothing_else(
        (n, old) in (2usize..200).prop_flat_map(|n| (Just(n), 1..n)),
        flip in any::<prop::sample::Index>(), bit in 0u8..8,
    ) {
        let leaves = leaves(n);
        let (old_size, new_size) = (old as u64, n as u64);
        let (old_root, new_root) = (root_of(&leaves[..old]), root_of(&leaves));
        let proof = consistency_proof(&leaves, old_size).unwrap();
        prop_assert_eq!(verify_consistency(old_size, &old_root, new_size, &new_root, &proof), Ok(()));

        // A log whose first entry was rewritten has no proof, whichever of the two heads is shown.
        let mut rewritten = leaves.clone();
        rewritten[0] = leaf_hash(b"rewritten");
        let forged = consistency_proof(&rewritten, old_size).unwrap();
        let other = root_of(&rewritten);
        prop_assert!(verify_consistency(old_size, &old_root, new_size, &other, &forged).is_err());
        prop_assert!(verify_consistency(old_size, &old_root, new_size, &other, &proof).is_err());

        let mut longer = proof.clone();
        longer.push(new_root);
        prop_assert!(verify_consistency(old_size, &old_root, new_size, &new_root, &longer).is_err());
        prop_assert!(verify_consistency(old_size, &old_root, new_size, &new_root, &proof[1..]).is_err());
        let mut damaged = proof.clone();
        damaged[flip.index(proof.len())][flip.index(32)] ^= 1 << bit;
        prop_assert!(verify_consistency(old_size, &old_root, new_size, &new_root, &damaged).is_err());
    }

    #[test]
    fn verification_is_total(
        numbers in any::<[u64; 2]>(), hashes in proptest::collection::vec(any::<Hash>(), 0..70), root in any::<Hash>(),
    ) {
        let [a, b] = numbers;
        let _ = verify_inclusion(&root, a, b, &hashes, &root);
        let _ = verify_consistency(a, &root, b, &root, &hashes);
        let _ = CompactRange::from_hashes(a, hashes);
    }
}
