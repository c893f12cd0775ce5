//! Where a bundle stands in its issuer's public log: the RFC 6962 inclusion proof, and the checkpoint that covers it.
//!
//! Whoever issues a bundle appends its CID to a public log in the same transaction. The proof shows that it did: were
//! the bundle to disappear from the log later, this checkpoint and the later one would convict the issuer.
//!
//! The proof hangs below the seal and not in what is signed, so who passes a bundle on can leave it out. Such a bundle
//! is *not logged*, and authentic; one with a proof that does not hold is not authentic.

use cid::Cid;
use serde::{Deserialize, Serialize};
use serde_bytes::ByteArray;

use super::verify::BundleError;
use crate::content::{RawBlock, block_type};
use crate::identity::NodeId;
use crate::log::{CompactRange, Hash, SignedCheckpoint, leaf_hash, verify_inclusion};

block_type!(LoggedTag, "plumb/logged/1");

/// The type and kind that the entry of an issued bundle has, in a log that follows `plumb/log-entry/1`.
const ENTRY_TYPE: &str = "plumb/log-entry/1";
const ENTRY_KIND: &str = "bundle";

/// That a bundle is an entry of its issuer's public log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoggedAt {
    /// `plumb/logged/1`
    #[serde(rename = "type")]
    pub tag: LoggedTag,
    /// The entry, byte for byte: its leaf hash is SHA-256 over 0x00 and this.
    #[serde(with = "serde_bytes")]
    pub entry: Vec<u8>,
    /// Its place in the log, from 0.
    pub index: u64,
    /// The siblings on the way from the leaf to the root, nearest first.
    pub proof: Vec<ByteArray<32>>,
    /// The head of the log that covers it, as a C2SP signed note.
    pub checkpoint: SignedCheckpoint,
}

/// What of an entry matters here.
#[derive(Deserialize)]
struct EntryV1 {
    #[serde(rename = "type")]
    tag: String,
    kind: String,
    cid: Cid,
}

/// Where a bundle was found to be logged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Logged {
    /// The log.
    pub origin: String,
    /// The entry's place, from 0.
    pub index: u64,
    /// Entries that the checkpoint covers.
    pub size: u64,
}

impl LoggedAt {
    /// For an entry that was just appended to a log that was `before`: the way up from the last leaf passes the roots of
    /// the perfect subtrees of what was before, smallest first, so no leaf has to be read.
    pub fn last(before: &CompactRange, entry: Vec<u8>, checkpoint: SignedCheckpoint) -> LoggedAt {
        let proof = before.hashes().iter().rev().copied().map(ByteArray::new).collect();
        LoggedAt { tag: LoggedTag, entry, index: before.size(), proof, checkpoint }
    }

    /// Checks that this bundle is in the public log of this issuer.
    pub fn check(&self, bundle: &Cid, issuer: &NodeId) -> Result<Logged, BundleError> {
        let entry: EntryV1 = RawBlock::dag_cbor(self.entry.clone()).decode()?;
        if (entry.tag.as_str(), entry.kind.as_str(), entry.cid) != (ENTRY_TYPE, ENTRY_KIND, *bundle) {
            return Err(BundleError::LogEntry);
        }
        let head = self.checkpoint.checkpoint();
        // A key may sign several logs; only the public one is open to everybody.
        if head.origin.as_str() != format!("{issuer}/public") {
            return Err(BundleError::LogOrigin { origin: head.origin.to_string(), issuer: *issuer });
        }
        self.checkpoint.verify(issuer).map_err(BundleError::Log)?;
        let proof: Vec<Hash> = self.proof.iter().map(|hash| hash.into_array()).collect();
        verify_inclusion(&leaf_hash(&self.entry), self.index, head.size, &proof, &head.root)
            .map_err(BundleError::Log)?;
        Ok(Logged { origin: head.origin.to_string(), index: self.index, size: head.size })
    }
}
