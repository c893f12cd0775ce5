//! The wire: each message between nodes as a versioned value with its encoder and its total decoder.
//!
//! A frame is one DAG-CBOR map with `type` (the name of the protocol, which ends in its version), `kind` (which message)
//! and the fields of that message. It is read in three steps:
//!
//! 1. **limits** — length, nesting, number of items, and canonical form, in one pass that allocates nothing;
//! 2. **shape** — the fields, into private structs whose names end in their version;
//! 3. **meaning** — keys, CIDs, signatures, checkpoints, and the limit of each list and text.
//!
//! Any bytes give a value or a [`WireError`]. Bytes that are left over are an error. A field that is not known is passed
//! over; a kind that is not known is kept as [`Unknown`], so a newer peer can be answered. What is passed on to others
//! (signed values, log entries, checkpoints) travels as the bytes that arrived and is never encoded again.
//!
//! A refusal reads the same way everywhere, and a number of a list is never trusted: what a frame claims is compared with
//! the bytes that it has before anything is set aside for it.

pub mod blocks;
pub mod gossip;
pub mod hello;
pub mod log;
pub mod log_entry;
pub mod log_state;
pub mod notice;
pub mod search;
pub mod teach;

mod error;
mod field;
mod frame;
mod scan;

pub use error::WireError;
pub use frame::Unknown;

/// Longest reason that a peer gives for a refusal, in bytes. It is shown to people, and nothing is decided by it.
pub const REASON_BYTES_MAX: usize = 512;

/// Largest signed certificate, in bytes: two keys, two names and a signature are some 500.
pub const CERTIFICATE_BYTES_MAX: usize = 8 * 1024;

/// Longest checkpoint, in bytes: three lines, its publisher's signature, and cosignatures of some sixty witnesses.
pub const CHECKPOINT_BYTES_MAX: usize = 16 * 1024;

/// Longest wait that a busy peer can ask for: an hour. What asks for more gets that.
pub const RETRY_AFTER_MS_MAX: u64 = 3_600_000;

/// What a peer says when it does not do what it was asked: cut to [`REASON_BYTES_MAX`], on a character.
pub fn reason(text: &str) -> String {
    let mut end = text.len().min(REASON_BYTES_MAX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end].to_string()
}

#[cfg(test)]
mod tests;
