//! The rotation: one root gives way to another. The old key says so, so that whoever pins it may follow; the new key says
//! so too, so that nobody can hand an organisation to a key whose owner did not agree.

use cid::Cid;
use serde::{Deserialize, Serialize};

use crate::content::{ContentError, RawBlock, block_type};
use crate::identity::{Domain, IdentityError, OrgId, PublicKey, SecretKey, Signature};
use crate::measure::Timestamp;

/// Most rotations between an organisation's name and its current root. They travel with every certificate; an
/// organisation that changes its root every two years gets by for a generation.
pub const ROTATIONS_MAX: usize = 12;
/// Largest rotation in its stored form, in bytes.
pub const ROTATION_BYTES_MAX: usize = 1024;

block_type!(RotationTag, "plumb/rotation/1");

/// What both roots sign.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RootRotation {
    /// `plumb/rotation/1`
    #[serde(rename = "type")]
    pub tag: RotationTag,
    /// The organisation, by its first root.
    pub org: OrgId,
    /// The root that retires.
    pub old: PublicKey,
    /// The root from here on.
    pub new: PublicKey,
    /// When, as the organisation says. For people; nothing is decided by it.
    pub at: Timestamp,
}

/// Why a rotation is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RotationError {
    /// It is longer than any.
    #[error("a rotation has at most {ROTATION_BYTES_MAX} bytes")]
    TooLarge,
    /// It cannot be read.
    #[error(transparent)]
    Content(#[from] ContentError),
    /// One of the two signatures does not hold.
    #[error("the rotation is not signed by both roots: {0}")]
    Signature(#[from] IdentityError),
    /// A root cannot follow itself.
    #[error("the rotation leads from a root to itself")]
    Same,
}

/// A rotation whose two signatures have been checked, kept as the bytes that arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rotation {
    value: RootRotation,
    block: RawBlock,
    by_old: Signature,
    by_new: Signature,
}

/// How a rotation is stored and sent.
#[derive(Serialize, Deserialize)]
struct EnvelopeV1 {
    #[serde(with = "serde_bytes")]
    block: Vec<u8>,
    by_old: Signature,
    by_new: Signature,
}

impl Rotation {
    /// Both roots sign.
    pub fn seal(org: OrgId, old: &SecretKey, new: &SecretKey, at: Timestamp) -> Result<Rotation, RotationError> {
        let value = RootRotation { tag: RotationTag, org, old: old.public(), new: new.public(), at };
        let block = RawBlock::encode(&value)?;
        let (by_old, by_new) = (old.sign(Domain::Rotation, &block.cid), new.sign(Domain::Rotation, &block.cid));
        Rotation::assemble(block, by_old, by_new)
    }

    fn assemble(block: RawBlock, by_old: Signature, by_new: Signature) -> Result<Rotation, RotationError> {
        let value: RootRotation = block.decode()?;
        if value.old == value.new {
            return Err(RotationError::Same);
        }
        value.old.verify(Domain::Rotation, &block.cid, &by_old)?;
        value.new.verify(Domain::Rotation, &block.cid, &by_new)?;
        Ok(Rotation { value, block, by_old, by_new })
    }

    /// Reads the stored form, and checks both signatures. Total: any bytes give a value or an error.
    pub fn from_bytes(bytes: &[u8]) -> Result<Rotation, RotationError> {
        if bytes.len() > ROTATION_BYTES_MAX {
            return Err(RotationError::TooLarge);
        }
        let envelope: EnvelopeV1 =
            serde_ipld_dagcbor::from_slice(bytes).map_err(|e| ContentError::Decode(e.to_string()))?;
        Rotation::assemble(RawBlock::dag_cbor(envelope.block), envelope.by_old, envelope.by_new)
    }

    /// The stored form.
    pub fn to_bytes(&self) -> Vec<u8> {
        let envelope = EnvelopeV1 { block: self.block.bytes.clone(), by_old: self.by_old, by_new: self.by_new };
        serde_ipld_dagcbor::to_vec(&envelope).expect("bytes always encode")
    }

    /// What it says.
    pub fn value(&self) -> &RootRotation {
        &self.value
    }

    /// Its name.
    pub fn cid(&self) -> Cid {
        self.block.cid
    }
}
