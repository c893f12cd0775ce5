//! Long values in pieces, so that sled never makes a blob file.
//!
//! sled writes a tree node that grows beyond a quarter of a log segment (128 KiB) into a file of its own under
//! `blobs/`, and never syncs that file: after a loss of power the log could point at nothing. It also writes such a
//! node anew, whole, whenever one of its rows changes, and reads it whole for the smallest of them. A leaf node holds
//! up to 16 rows (a few more while it waits for its split), so rows of at most [`PIECE_BYTES`] keep every node inline.
//!
//! ```text
//! short value   key            -> 0 ‖ value
//! long value    key            -> 1 ‖ version (8) ‖ length (8)
//!               0 ‖ key ‖ version (8) ‖ index (4) -> piece
//! ```
//!
//! Integers are big-endian. Each writing of a long value has a version of its own, so a reader that comes between two
//! writings finds a piece missing, rather than the pieces of one under the head of the other, and reads again.

/// Longest row value but for one byte. Twenty of these and their keys stay under 128 KiB.
pub(super) const PIECE_BYTES: usize = 5 * 1024;

const SHORT: u8 = 0;
const LONG: u8 = 1;

/// First byte of the keys of pieces. No keyspace has this number.
pub(super) const PIECES: u8 = 0;

/// The head of a row as it stands in sled.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Head<'a> {
    /// The value itself.
    Short(&'a [u8]),
    /// The value lies in pieces.
    Long(Pieces),
}

/// Where the pieces of one long value are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pieces {
    pub version: u64,
    pub length: u64,
}

impl<'a> Head<'a> {
    /// Reads a head; nothing if the bytes are none.
    pub(super) fn read(bytes: &'a [u8]) -> Option<Head<'a>> {
        match bytes.split_first()? {
            (&SHORT, value) => Some(Head::Short(value)),
            (&LONG, rest) if rest.len() == 16 => {
                let (version, length) = rest.split_at(8);
                Some(Head::Long(Pieces {
                    version: u64::from_be_bytes(version.try_into().ok()?),
                    length: u64::from_be_bytes(length.try_into().ok()?),
                }))
            }
            _ => None,
        }
    }
}

impl Pieces {
    pub(super) fn count(self) -> u64 {
        self.length.div_ceil(PIECE_BYTES as u64)
    }

    /// The keys of the pieces, in order.
    pub(super) fn keys(self, key: &[u8]) -> impl Iterator<Item = Vec<u8>> {
        let mut stem = Vec::with_capacity(key.len() + 13);
        stem.push(PIECES);
        stem.extend_from_slice(key);
        stem.extend_from_slice(&self.version.to_be_bytes());
        // A change is bounded (CHANGE_BYTES_MAX), so the index fits into four bytes.
        (0..u32::try_from(self.count()).unwrap_or(u32::MAX))
            .map(move |index| [stem.as_slice(), &index.to_be_bytes()].concat())
    }
}

/// Whether the value has to be cut.
pub(super) fn is_long(value: &[u8]) -> bool {
    value.len() > PIECE_BYTES
}

pub(super) fn short_head(value: &[u8]) -> Vec<u8> {
    let mut head = Vec::with_capacity(1 + value.len());
    head.push(SHORT);
    head.extend_from_slice(value);
    head
}

pub(super) fn long_head(pieces: Pieces) -> Vec<u8> {
    let mut head = Vec::with_capacity(17);
    head.push(LONG);
    head.extend_from_slice(&pieces.version.to_be_bytes());
    head.extend_from_slice(&pieces.length.to_be_bytes());
    head
}
