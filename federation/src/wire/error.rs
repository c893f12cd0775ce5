//! Why a frame was refused.

use cid::Cid;
use plumb_core::content::ContentError;
use plumb_core::identity::{IdentityError, NodeId, SignedError};
use plumb_core::log::LogError;
use plumb_core::notice::{NoticeError, SealedNoticeError};
use plumb_core::trust::RotationError;

/// Why a frame was refused, by the step that failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// Limits: there is more than is read.
    #[error("the message has more than {max} {what}")]
    Limit {
        /// What there is too much of.
        what: &'static str,
        /// How much is read.
        max: usize,
    },
    /// Limits: the bytes are not one value of canonical DAG-CBOR.
    #[error("the bytes are not canonical DAG-CBOR at offset {offset}: {what}")]
    Malformed {
        /// What is wrong.
        what: &'static str,
        /// Where.
        offset: usize,
    },
    /// Shape: it is a message of another protocol, or of another version.
    #[error("the message is of `{found}`, not of `{expected}`")]
    Version {
        /// What is read here.
        expected: &'static str,
        /// What it says it is.
        found: String,
    },
    /// Shape: it is another message of the protocol than the only one that can stand here.
    #[error("the message is a `{0}`, which cannot stand here")]
    Kind(String),
    /// Shape: fields are missing or of the wrong type.
    #[error("the message has not the fields of its kind: {0}")]
    Shape(String),
    /// Meaning: a number contradicts another one.
    #[error("the message contradicts itself: {0}")]
    Contradiction(&'static str),
    /// Meaning: not a key.
    #[error("the message names no usable key")]
    Key(#[source] IdentityError),
    /// Meaning: a signed value that cannot be read, or whose signature does not hold.
    #[error("the {what} in the message is refused")]
    Signed {
        /// What it should be.
        what: &'static str,
        /// Why not.
        #[source]
        source: SignedError,
    },
    /// Meaning: a rotation that cannot be read, or that not both roots signed.
    #[error("the rotation in the message is refused")]
    Rotation(#[source] RotationError),
    /// Meaning: a signed value by someone who may not say it.
    #[error("the {what} is signed by {signer}, who cannot say it")]
    Signer {
        /// What was signed.
        what: &'static str,
        /// Who signed.
        signer: NodeId,
    },
    /// Meaning: not a checkpoint.
    #[error("the checkpoint in the message is refused")]
    Checkpoint(#[source] LogError),
    /// Meaning: the notice breaks its own rules.
    #[error("the notice in the message is refused")]
    Notice(#[source] NoticeError),
    /// Meaning: a sealed notice with too much or too little in it.
    #[error("the sealed notice in the message is refused")]
    SealedNotice(#[source] SealedNoticeError),
    /// Meaning: statistics that no collection can have.
    #[error("the statistics in the message are refused: {0}")]
    Statistics(String),
    /// Meaning: a block that is not what its CID says, or not of the expected type.
    #[error("a block in the message is refused")]
    Block(#[source] ContentError),
    /// Meaning: a block or a hit that nobody asked for, or that came twice.
    #[error("{0} was not asked for, or came twice")]
    Unasked(Cid),
    /// Meaning: the chunk of a hit is not one of the source that came with it.
    #[error("the chunk {0} is not of the source that came with it")]
    Source(Cid),
    /// Meaning: the score of a hit is not what its chunk scores.
    #[error("the chunk {chunk} is said to score {stated} and scores {recomputed}")]
    Score {
        /// Which chunk.
        chunk: Cid,
        /// What the peer says.
        stated: u64,
        /// What everybody computes.
        recomputed: u64,
    },
    /// Meaning: the answer is to another question.
    #[error("the answer is to request {found}, not to {expected}")]
    Request {
        /// What was asked.
        expected: u64,
        /// What was answered.
        found: u64,
    },
}
