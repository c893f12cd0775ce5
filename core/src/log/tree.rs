//! The hash tree and its right edge.

use sha2::{Digest, Sha256};

use super::LogError;

/// A SHA-256 hash: of a leaf, of an inner node, or of the whole log.
pub type Hash = [u8; 32];

/// Most entries of one log. Other implementations of C2SP checkpoints hold the size in a signed 64-bit integer.
pub const LOG_SIZE_MAX: u64 = i64::MAX as u64;

/// Leaves and inner nodes are hashed with different first bytes, so that an inner node cannot be passed off as an
/// entry (RFC 6962 §2.1).
const LEAF_PREFIX: [u8; 1] = [0x00];
const NODE_PREFIX: [u8; 1] = [0x01];

/// The hash of an entry.
pub fn leaf_hash(entry: &[u8]) -> Hash {
    Sha256::new().chain_update(LEAF_PREFIX).chain_update(entry).finalize().into()
}

/// The hash of an inner node.
pub fn node_hash(left: &Hash, right: &Hash) -> Hash {
    Sha256::new().chain_update(NODE_PREFIX).chain_update(left).chain_update(right).finalize().into()
}

/// The root of a log without entries: the hash of nothing.
pub fn empty_root() -> Hash {
    Sha256::digest([]).into()
}

/// The right edge of a log: the roots of the perfect subtrees that its entries fill, largest first. It is all that is
/// needed to append and to state the root. A log of 13 entries has three:
///
/// ```text
///        o
///    o       o
///  o   o   o   o     o   o
/// 0 1 2 3 4 5 6 7   8 9 a b   c        13 = 8 + 4 + 1
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CompactRange {
    size: u64,
    hashes: Vec<Hash>,
}

impl CompactRange {
    /// That of an empty log.
    pub fn new() -> CompactRange {
        CompactRange::default()
    }

    /// Takes up what [`CompactRange::size`] and [`CompactRange::hashes`] gave. Only the shape is checked: compare the
    /// [`CompactRange::root`] with a checkpoint to know that the hashes are right.
    pub fn from_hashes(size: u64, hashes: Vec<Hash>) -> Result<CompactRange, LogError> {
        if size > LOG_SIZE_MAX {
            return Err(LogError::Size(size));
        }
        let expected = size.count_ones();
        if usize::try_from(expected) != Ok(hashes.len()) {
            return Err(LogError::Frontier { size, expected, given: hashes.len() });
        }
        Ok(CompactRange { size, hashes })
    }

    /// Appends an entry, given as its [`leaf_hash`].
    pub fn append(&mut self, leaf: Hash) {
        self.append_telling(leaf, |_, _, _| {});
    }

    /// The same, and tells every perfect subtree that is complete with it, the leaf first: its height, its index among
    /// those of its height, and its root. Whoever keeps these has the whole tree.
    pub fn append_telling(&mut self, leaf: Hash, mut complete: impl FnMut(u8, u64, Hash)) {
        self.hashes.push(leaf);
        let (mut level, mut index) = (0, self.size);
        complete(level, index, leaf);
        // As in binary addition: each trailing one is a subtree of the same height as the one just made.
        for _ in 0..self.size.trailing_ones() {
            let right = self.hashes.pop().expect("it was pushed, here or a turn ago");
            let left = self.hashes.pop().expect("one hash stands for each bit of the size");
            let root = node_hash(&left, &right);
            self.hashes.push(root);
            (level, index) = (level + 1, index >> 1);
            complete(level, index, root);
        }
        self.size += 1;
    }

    /// How many entries the log has.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The root of the log.
    pub fn root(&self) -> Hash {
        let mut from_the_right = self.hashes.iter().rev();
        let Some(last) = from_the_right.next() else {
            return empty_root();
        };
        from_the_right.fold(*last, |right, left| node_hash(left, &right))
    }

    /// The roots of the perfect subtrees, largest first.
    pub fn hashes(&self) -> &[Hash] {
        &self.hashes
    }
}
