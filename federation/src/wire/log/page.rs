//! A page of a log's entries, with what proves them.

use plumb_core::identity::{NodeId, Signed};
use plumb_core::log::{Hash, SignedCheckpoint};
use plumb_core::trust::Certificate;
use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;

use super::super::log_entry::ENTRY_BYTES_MAX;
use super::super::{WireError, field};

/// Most entries on a page. A page is verified, stored and applied as one, so it bounds what a crash can undo.
pub const PAGE_ENTRIES_MAX: usize = 256;

/// When the entries of a page reach this many bytes, it is full. One entry always fits.
pub const PAGE_BYTES_MAX: usize = 1024 * 1024;

/// Entries `from..from + entries.len()` of a log, and what proves them against its checkpoint.
///
/// **Not verified yet**: decoding checks what a page says of itself, [`crate::protocol::LogSync`] whether it is true.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// Whose log.
    pub publisher: NodeId,
    /// Index of the first entry.
    pub from: u64,
    /// Root of the `from` entries before it, under the checkpoint.
    pub root: Hash,
    /// Consistency proof from there to the checkpoint.
    pub extends: Vec<Hash>,
    /// The entries, byte for byte: their hashes are the leaves.
    pub entries: Vec<Vec<u8>>,
    /// Consistency proof from behind the last entry to the checkpoint; empty if that is where it stands.
    pub rest: Vec<Hash>,
    /// The head under which all this holds.
    pub checkpoint: SignedCheckpoint,
    /// What the publisher's organisation says of it.
    pub certificate: Signed<Certificate>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct PageV1 {
    publisher: String,
    from: u64,
    root: ByteBuf,
    extends: Vec<ByteBuf>,
    entries: Vec<ByteBuf>,
    rest: Vec<ByteBuf>,
    checkpoint: String,
    certificate: ByteBuf,
}

impl From<&Page> for PageV1 {
    fn from(page: &Page) -> PageV1 {
        PageV1 {
            publisher: page.publisher.to_string(),
            from: page.from,
            root: ByteBuf::from(page.root.to_vec()),
            extends: field::bytes_of(&page.extends),
            entries: page.entries.iter().cloned().map(ByteBuf::from).collect(),
            rest: field::bytes_of(&page.rest),
            checkpoint: page.checkpoint.as_str().to_string(),
            certificate: ByteBuf::from(page.certificate.to_bytes()),
        }
    }
}

impl TryFrom<PageV1> for Page {
    type Error = WireError;
    fn try_from(page: PageV1) -> Result<Page, WireError> {
        field::at_most(page.entries.len(), PAGE_ENTRIES_MAX, "entries")?;
        for entry in &page.entries {
            field::at_most(entry.len(), ENTRY_BYTES_MAX, "bytes of entry")?;
        }
        let checkpoint = field::checkpoint(&page.checkpoint)?;
        let end = page.from.checked_add(page.entries.len() as u64);
        if end.is_none_or(|end| end > checkpoint.checkpoint().size) {
            return Err(WireError::Contradiction("a page goes beyond its checkpoint"));
        }
        Ok(Page {
            publisher: field::node(&page.publisher)?,
            from: page.from,
            root: field::hash(&page.root)?,
            extends: field::hashes(&page.extends)?,
            entries: page.entries.into_iter().map(ByteBuf::into_vec).collect(),
            rest: field::hashes(&page.rest)?,
            checkpoint,
            certificate: field::certificate(&page.certificate)?,
        })
    }
}
