//! Where the fuzzer begins: valid inputs, so that it need not guess a format from nothing.

mod bundle;
mod documents;
mod golden;
mod walk;

use std::collections::BTreeSet;
use std::sync::OnceLock;

use cid::Cid;

pub use bundle::{SEALED_AT, Story, bundles, certificate, node, sealed, stories};
pub use documents::{documents, pdfs};
pub use golden::golden;
pub use walk::{Found, found};

pub(crate) use walk::signed_bytes;

/// A block, the key that signed it, the signature.
pub type SignedBytes = (Vec<u8>, String, Vec<u8>);

/// All that was ever signed with a key of the seeds.
pub struct Genuine {
    /// Values in envelopes.
    pub signed: BTreeSet<SignedBytes>,
    /// Bundles, which are signed outside an envelope.
    pub bundles: BTreeSet<Cid>,
    /// Texts of checkpoints, without their signature lines.
    pub checkpoints: BTreeSet<String>,
}

/// All that was ever signed with a key of the seeds.
pub fn genuine() -> &'static Genuine {
    static GENUINE: OnceLock<Genuine> = OnceLock::new();
    GENUINE.get_or_init(|| Genuine {
        signed: found().envelopes.iter().flat_map(|bytes| walk::signed_bytes(bytes)).collect(),
        bundles: bundles().iter().map(|bundle| bundle.bundle).collect(),
        checkpoints: found().checkpoints.iter().map(|text| body_of_note(text).to_string()).collect(),
    })
}

/// What is signed of a note: everything before its signature lines.
pub fn body_of_note(note: &str) -> &str {
    note.rfind("\n\n").map_or(note, |at| &note[..=at])
}
