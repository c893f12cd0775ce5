//! The fields that several messages share: from their shape to what they mean.

use plumb_core::content::check_cid;
use plumb_core::identity::{NodeId, Signable, Signed};
use plumb_core::log::{Hash, SignedCheckpoint};
use plumb_core::trust::Certificate;
use serde_bytes::ByteBuf;

use super::scan::{Limits, scan};
use super::{CERTIFICATE_BYTES_MAX, CHECKPOINT_BYTES_MAX, REASON_BYTES_MAX, WireError};

/// Most hashes of a consistency proof: one for each level of the largest log, and one for the old root.
pub(super) const PROOF_HASHES_MAX: usize = 65;

/// Refuses what is longer than its limit.
pub(super) fn at_most(n: usize, max: usize, what: &'static str) -> Result<(), WireError> {
    if n <= max { Ok(()) } else { Err(WireError::Limit { what, max }) }
}

pub(super) fn node(did: &str) -> Result<NodeId, WireError> {
    did.parse().map_err(WireError::Key)
}

pub(super) fn cid(cid: cid::Cid) -> Result<cid::Cid, WireError> {
    check_cid(&cid).map_err(WireError::Block)?;
    Ok(cid)
}

pub(super) fn reason(text: String) -> Result<String, WireError> {
    at_most(text.len(), REASON_BYTES_MAX, "bytes of reason")?;
    Ok(text)
}

pub(super) fn checkpoint(text: &str) -> Result<SignedCheckpoint, WireError> {
    at_most(text.len(), CHECKPOINT_BYTES_MAX, "bytes of checkpoint")?;
    SignedCheckpoint::parse(text).map_err(WireError::Checkpoint)
}

/// A signed value from its envelope. Whether its signer may say it is asked elsewhere.
pub(super) fn signed<T: Signable>(bytes: &[u8], what: &'static str, max: usize) -> Result<Signed<T>, WireError> {
    at_most(bytes.len(), max, what)?;
    // Block, signer and signature, and room for what a newer version adds.
    let limits = Limits { bytes: max, items: 32 };
    scan(bytes, limits)?;
    Signed::from_bytes(bytes).map_err(|source| WireError::Signed { what, source })
}

pub(super) fn certificate(bytes: &[u8]) -> Result<Signed<Certificate>, WireError> {
    signed(bytes, "certificate", CERTIFICATE_BYTES_MAX)
}

pub(super) fn hash(bytes: &[u8]) -> Result<Hash, WireError> {
    Hash::try_from(bytes).map_err(|_| WireError::Contradiction("a hash has not 32 bytes"))
}

pub(super) fn hashes(list: &[ByteBuf]) -> Result<Vec<Hash>, WireError> {
    at_most(list.len(), PROOF_HASHES_MAX, "hashes")?;
    list.iter().map(|bytes| hash(bytes)).collect()
}

pub(super) fn bytes_of(hashes: &[Hash]) -> Vec<ByteBuf> {
    hashes.iter().map(|h| ByteBuf::from(h.to_vec())).collect()
}
