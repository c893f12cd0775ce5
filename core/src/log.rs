//! The Merkle log: an append-only list that nobody can rewrite or fork without leaving a proof of it.
//!
//! Entries are leaves of the binary hash tree of RFC 6962 §2.1 (RFC 9162 §2.1 with SHA-256). A log publishes its head
//! as a [`SignedCheckpoint`] in the text form of C2SP `tlog-checkpoint` and `signed-note`, so that witnesses and
//! monitors made by others can read it. From two heads and a few hashes anyone can check
//!
//! - that an entry is in the log: [`inclusion_proof`], [`verify_inclusion`];
//! - that the later head only appended: [`consistency_proof`], [`verify_consistency`];
//! - that the log showed two faces: [`Equivocation`].
//!
//! Whoever appends keeps a [`CompactRange`], at most 63 hashes, and not the tree. Whoever proves keeps the roots of the
//! perfect subtrees, in [tiles](TilePath), and needs a few of them for a proof: [`inclusion_proof_from`],
//! [`consistency_proof_from`]. A [witness](Witnessed) confirms with a [`Cosignature`] that a head continues the last.
//!
//! **Invariant:** this room knows nothing of what an entry means. The transparency log and the audit log are both
//! lists of bytes here.

mod checkpoint;
mod cosignature;
mod note;
mod proof;
mod subtree;
mod tile;
mod tree;
mod vkey;
mod witness;

pub use checkpoint::{Checkpoint, Equivocation, Origin, SignedCheckpoint};
pub use cosignature::{COSIGNATURES_MAX, Cosignature, witness_name};
pub use note::{NOTE_BYTES_MAX, NOTE_LINES_MAX, NOTE_SIGNATURES_MAX};
pub use proof::{consistency_proof, inclusion_proof, root_of, verify_consistency, verify_inclusion};
pub use subtree::{consistency_proof_from, inclusion_proof_from, root_from};
pub use tile::{TILE_HEIGHT, TILE_WIDTH, TilePath, TileWidth, bundle_of};
pub use tree::{CompactRange, Hash, LOG_SIZE_MAX, empty_root, leaf_hash, node_hash};
pub use vkey::VerifierKey;
pub use witness::{WitnessError, Witnessed};

/// Why a proof, a frontier or a checkpoint was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LogError {
    /// More leaves than a log can have.
    #[error("a log has at most {LOG_SIZE_MAX} entries, not {0}")]
    Size(u64),
    /// A frontier has one hash for each bit that is set in its size.
    #[error("a frontier of {size} entries has {expected} hashes, not {given}")]
    Frontier {
        /// The claimed size.
        size: u64,
        /// How many hashes that size has.
        expected: u32,
        /// How many came.
        given: usize,
    },
    /// The index lies outside the log.
    #[error("entry {index} is not in a log of {size} entries")]
    Index {
        /// Which entry.
        index: u64,
        /// How many there are.
        size: u64,
    },
    /// The old head is larger than the new one.
    #[error("a log of {old} entries cannot have become one of {new}")]
    Shrunk {
        /// Entries of the old head.
        old: u64,
        /// Entries of the new head.
        new: u64,
    },
    /// The proof has more or fewer hashes than its place in the tree needs.
    #[error("the proof has the wrong number of hashes ({0})")]
    ProofLength(usize),
    /// The hashes do not lead to this root.
    #[error("the proof does not lead to the root of the log of {size} entries")]
    Root {
        /// Which of the roots was missed.
        size: u64,
    },
    /// The text exceeds a limit. It was not read further.
    #[error("the checkpoint has more than {max} {what}")]
    Limit {
        /// What there is too much of.
        what: &'static str,
        /// How much is read.
        max: usize,
    },
    /// Not a signed note.
    #[error("the text is not a signed note: {0}")]
    Note(&'static str),
    /// A signed note, but not that of a checkpoint.
    #[error("the note is not a checkpoint: {0}")]
    Body(&'static str),
    /// Not a name that a log can have.
    #[error("`{0}` is not the origin of a log: it is empty, too long, or has spaces, `+` or control characters")]
    Origin(String),
    /// No signature of this key holds.
    #[error("the checkpoint of `{0}` is not signed by the expected key")]
    Unsigned(String),
    /// Not the path of a tile.
    #[error("`{0}` is not the path of a tile; it is LEVEL/N or LEVEL/N.p/W, and N is written as in x001/x234/067")]
    Tile(String),
    /// An entry that no bundle takes.
    #[error("entry {index} has {bytes} bytes, and a bundle takes at most 65535 of one entry; read it by itself")]
    Bundle {
        /// Its index in the bundle.
        index: usize,
        /// Its length.
        bytes: usize,
    },
    /// Two checkpoints that can both be true.
    #[error("the two checkpoints do not contradict each other: {0}")]
    Compatible(&'static str),
}
