//! The witness: a few bytes beside the database that know how far it had got.
//!
//! sled takes a log that ends early for one that was being written when the power went, and opens what is before the
//! end. After a crash that is right; after a damaged or restored file it loses, without a word, changes that were
//! acknowledged, down to an empty store. So after every group, when it is on the disk, the size and root of the audit
//! log are written into a file of their own. A store that knows less than its witness is not opened.
//!
//! The file is not synced: after a loss of power the witness may know less than the store, never more.

use plumb_core::log::{Hash, leaf_hash};

use crate::audit::AuditHead;
use crate::error::StorageError;

/// `size (8) ‖ root (32) ‖ first 8 bytes of the leaf hash of these`
pub(crate) const WITNESS_BYTES: usize = 48;

pub(crate) fn encode(head: AuditHead) -> [u8; WITNESS_BYTES] {
    let mut bytes = [0; WITNESS_BYTES];
    bytes[..8].copy_from_slice(&head.size.to_be_bytes());
    bytes[8..40].copy_from_slice(&head.root);
    let check = leaf_hash(&bytes[..40]);
    bytes[40..].copy_from_slice(&check[..8]);
    bytes
}

fn decode(bytes: &[u8]) -> Option<AuditHead> {
    if bytes.len() != WITNESS_BYTES || leaf_hash(&bytes[..40])[..8] != bytes[40..] {
        return None;
    }
    let size = u64::from_be_bytes(bytes[..8].try_into().ok()?);
    Some(AuditHead { size, root: Hash::try_from(&bytes[8..40]).ok()? })
}

/// Refuses a store that knows less than its witness, or other things.
pub(crate) fn check(witness: Option<&[u8]>, head: AuditHead) -> Result<(), StorageError> {
    let Some(bytes) = witness else { return Ok(()) };
    let Some(known) = decode(bytes) else {
        tracing::warn!("the store's witness cannot be read; whether changes were lost is unknown");
        return Ok(());
    };
    if head.size < known.size || (head.size == known.size && head.root != known.root) {
        return Err(StorageError::Lost { found: head.size, known: known.size });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_that_knows_less_is_refused() {
        let at = |size, root| AuditHead { size, root: [root; 32] };
        let witness = encode(at(5, 1));
        assert!(check(None, at(0, 0)).is_ok());
        assert!(check(Some(&witness), at(5, 1)).is_ok());
        assert!(check(Some(&witness), at(6, 2)).is_ok());
        assert!(matches!(check(Some(&witness), at(4, 0)), Err(StorageError::Lost { found: 4, known: 5 })));
        assert!(check(Some(&witness), at(5, 2)).is_err(), "as many, but others");
        assert!(check(Some(&witness[..47]), at(0, 0)).is_ok(), "what cannot be read proves nothing");
        let mut spoilt = witness;
        spoilt[7] ^= 1;
        assert!(check(Some(&spoilt), at(0, 0)).is_ok());
    }
}
