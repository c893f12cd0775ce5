//! The proof that a publisher showed two histories: heads of one log, both signed, that do not agree on how it begins.

use plumb_core::identity::NodeId;
use plumb_core::log::{Equivocation, Hash, LogError, SignedCheckpoint, verify_consistency};
use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;

use super::super::scan::Limits;
use super::super::{WireError, field, frame};

/// The tag of a fork on its own, which ends in its version.
pub const FORK_TYPE: &str = "plumb/fork/1";

/// Largest fork on its own, in bytes: two checkpoints with their proofs.
pub const FORK_BYTES_MAX: usize = 64 * 1024;

const LIMITS: Limits = Limits { bytes: FORK_BYTES_MAX, items: 512 };

/// Most forks in one message. A node sends others the next time.
pub const FORKS_MAX: usize = 8;

/// One of the two histories.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Face {
    /// What the publisher signed.
    pub checkpoint: SignedCheckpoint,
    /// The root of the first entries under it.
    pub root: Hash,
    /// That this is their root: a consistency proof from there to the checkpoint.
    pub proof: Vec<Hash>,
}

/// Two signed heads of one log whose first `size` entries differ.
///
/// Nobody but the holder of the publisher's key can make one, so it convinces whoever it is shown to. Two heads of the
/// same size are the plain case ([`Fork::equivocation`]); heads of different size contradict each other if a beginning
/// that both prove is not the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fork {
    /// Whose log.
    pub publisher: NodeId,
    /// How many entries both have at least.
    pub size: u64,
    /// One history.
    pub a: Face,
    /// The other.
    pub b: Face,
}

/// Why a fork convicts nobody.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ForkError {
    /// The heads are of two logs.
    #[error("the two heads are of two logs")]
    Logs,
    /// Both begin alike.
    #[error("the two histories do not contradict each other")]
    Compatible,
    /// A signature or a proof does not hold.
    #[error("one of the two histories is not proved")]
    Proof(#[source] LogError),
}

impl Fork {
    /// Checks that it convicts its publisher.
    pub fn check(&self) -> Result<(), ForkError> {
        let (a, b) = (self.a.checkpoint.checkpoint(), self.b.checkpoint.checkpoint());
        if a.origin != b.origin {
            return Err(ForkError::Logs);
        }
        if self.a.root == self.b.root {
            return Err(ForkError::Compatible);
        }
        for face in [&self.a, &self.b] {
            face.check(self.size, &self.publisher).map_err(ForkError::Proof)?;
        }
        Ok(())
    }

    /// The record to store, and to show to whoever asks.
    pub fn encode(&self) -> Vec<u8> {
        frame::encode(FORK_TYPE, "fork", &ForkV1::from(self))
    }

    /// Reads a record. Whether it convicts is [`Fork::check`].
    pub fn decode(bytes: &[u8]) -> Result<Fork, WireError> {
        let frame = frame::open_only(bytes, FORK_TYPE, "fork", LIMITS)?;
        frame.body::<ForkV1>()?.try_into()
    }

    /// The form that anyone with the two checkpoints can check, where both heads have the same size.
    pub fn equivocation(&self) -> Option<Equivocation> {
        let size_of = |face: &Face| face.checkpoint.checkpoint().size;
        let is_plain = size_of(&self.a) == self.size && size_of(&self.b) == self.size;
        is_plain.then(|| Equivocation { a: self.a.checkpoint.clone(), b: self.b.checkpoint.clone() })
    }
}

impl Face {
    /// The face of a log at the size of its checkpoint.
    pub fn whole(checkpoint: SignedCheckpoint) -> Face {
        Face { root: checkpoint.checkpoint().root, checkpoint, proof: Vec::new() }
    }

    fn check(&self, size: u64, publisher: &NodeId) -> Result<(), LogError> {
        let head = self.checkpoint.checkpoint();
        verify_consistency(size, &self.root, head.size, &head.root, &self.proof)?;
        self.checkpoint.verify(publisher)
    }
}

#[derive(Serialize, Deserialize)]
struct FaceV1 {
    checkpoint: String,
    root: ByteBuf,
    proof: Vec<ByteBuf>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct ForkV1 {
    publisher: String,
    size: u64,
    a: FaceV1,
    b: FaceV1,
}

impl From<&Face> for FaceV1 {
    fn from(face: &Face) -> FaceV1 {
        FaceV1 {
            checkpoint: face.checkpoint.as_str().to_string(),
            root: ByteBuf::from(face.root.to_vec()),
            proof: field::bytes_of(&face.proof),
        }
    }
}

impl TryFrom<FaceV1> for Face {
    type Error = WireError;
    fn try_from(face: FaceV1) -> Result<Face, WireError> {
        Ok(Face {
            checkpoint: field::checkpoint(&face.checkpoint)?,
            root: field::hash(&face.root)?,
            proof: field::hashes(&face.proof)?,
        })
    }
}

impl From<&Fork> for ForkV1 {
    fn from(fork: &Fork) -> ForkV1 {
        ForkV1 {
            publisher: fork.publisher.to_string(),
            size: fork.size,
            a: FaceV1::from(&fork.a),
            b: FaceV1::from(&fork.b),
        }
    }
}

impl TryFrom<ForkV1> for Fork {
    type Error = WireError;
    fn try_from(fork: ForkV1) -> Result<Fork, WireError> {
        Ok(Fork {
            publisher: field::node(&fork.publisher)?,
            size: fork.size,
            a: fork.a.try_into()?,
            b: fork.b.try_into()?,
        })
    }
}
