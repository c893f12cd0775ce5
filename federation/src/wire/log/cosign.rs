//! Witnessing: a publisher asks a peer to cosign its newest head.

use plumb_core::log::{Cosignature, Hash, SignedCheckpoint};
use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;

use super::super::{WireError, field};

/// Longest cosignature line that is read, in bytes: a key's name of 256 and some hundred of base64 fit.
const COSIGNATURE_BYTES_MAX: usize = 1024;

/// A head to be cosigned, and what shows that it continues what the witness cosigned last. The same as a request to a
/// witness of C2SP `tlog-witness`, in the frame of this protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddCheckpoint {
    /// The size that the witness cosigned last, as far as the publisher knows; 0 for nothing.
    pub old: u64,
    /// Consistency proof from there.
    pub proof: Vec<Hash>,
    /// The head, signed by its log. **Not verified yet.**
    pub checkpoint: SignedCheckpoint,
}

/// What the witness cosigned last is another size than the publisher thought.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// What it cosigned last.
    pub size: u64,
    /// That head itself, signed by the log: a publisher that was set back learns from it what it once said.
    pub checkpoint: Option<SignedCheckpoint>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct AddCheckpointV1 {
    old: u64,
    proof: Vec<ByteBuf>,
    checkpoint: String,
}

#[derive(Serialize, Deserialize)]
pub(super) struct ConflictV1 {
    size: u64,
    checkpoint: Option<String>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct CosignedV1 {
    line: String,
}

impl From<&AddCheckpoint> for AddCheckpointV1 {
    fn from(asked: &AddCheckpoint) -> AddCheckpointV1 {
        AddCheckpointV1 {
            old: asked.old,
            proof: field::bytes_of(&asked.proof),
            checkpoint: asked.checkpoint.as_str().to_string(),
        }
    }
}

impl TryFrom<AddCheckpointV1> for AddCheckpoint {
    type Error = WireError;
    fn try_from(asked: AddCheckpointV1) -> Result<AddCheckpoint, WireError> {
        Ok(AddCheckpoint {
            old: asked.old,
            proof: field::hashes(&asked.proof)?,
            checkpoint: field::checkpoint(&asked.checkpoint)?,
        })
    }
}

impl From<&Conflict> for ConflictV1 {
    fn from(conflict: &Conflict) -> ConflictV1 {
        let checkpoint = conflict.checkpoint.as_ref().map(|c| c.as_str().to_string());
        ConflictV1 { size: conflict.size, checkpoint }
    }
}

impl TryFrom<ConflictV1> for Conflict {
    type Error = WireError;
    fn try_from(conflict: ConflictV1) -> Result<Conflict, WireError> {
        let checkpoint = conflict.checkpoint.map(|text| field::checkpoint(&text)).transpose()?;
        if checkpoint.as_ref().is_some_and(|c| c.checkpoint().size != conflict.size) {
            return Err(WireError::Contradiction("a conflict has another size than its checkpoint"));
        }
        Ok(Conflict { size: conflict.size, checkpoint })
    }
}

impl From<&Cosignature> for CosignedV1 {
    fn from(cosignature: &Cosignature) -> CosignedV1 {
        CosignedV1 { line: cosignature.to_string() }
    }
}

impl TryFrom<CosignedV1> for Cosignature {
    type Error = WireError;
    fn try_from(cosigned: CosignedV1) -> Result<Cosignature, WireError> {
        field::at_most(cosigned.line.len(), COSIGNATURE_BYTES_MAX, "bytes of cosignature")?;
        let cosignature = Cosignature::parse(&cosigned.line).map_err(WireError::Checkpoint)?;
        if cosignature.to_string() == cosigned.line {
            Ok(cosignature)
        } else {
            Err(WireError::Contradiction("a cosignature is written otherwise than it is read"))
        }
    }
}
