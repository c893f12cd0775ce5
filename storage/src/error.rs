//! Why the store refused or failed, and what to do about it.

use std::path::PathBuf;
use std::sync::Arc;

use cid::Cid;
use plumb_core::content::ContentError;
use plumb_core::log::LogError;

use crate::keyspace::{KEY_BYTES_MAX, Keyspace};

/// What can go wrong with the store.
#[derive(Clone, Debug, thiserror::Error)]
pub enum StorageError {
    /// The directory or the database in it could not be opened.
    #[error(
        "the store at `{}` cannot be opened; check the disk and the permissions, or restore the directory from a backup",
        path.display()
    )]
    Open {
        /// The store's directory.
        path: PathBuf,
        /// What the system said.
        source: sled::Error,
    },
    /// Another process has it.
    #[error("the store at `{}` is in use by another process; stop that one, or give this one another directory", path.display())]
    InUse {
        /// The store's directory.
        path: PathBuf,
    },
    /// Written by a newer version.
    #[error(
        "the store has schema version {found} and this program knows versions up to {known}; use a newer version of \
         the program, or restore a backup that was made with this one"
    )]
    Newer {
        /// The version in the store.
        found: u32,
        /// The newest that is known here.
        known: u32,
    },
    /// Written by a version for which there is no migration.
    #[error(
        "the store has schema version {found}, from which no migration leads to {known}; export it with the program \
         that wrote it and import it here"
    )]
    TooOld {
        /// The version in the store.
        found: u32,
        /// The version that this program writes.
        known: u32,
    },
    /// Data without a schema version.
    #[error(
        "the store holds data but no schema version, so it was not written by this program or is damaged; restore a \
         backup, or give an empty directory"
    )]
    Unversioned,
    /// The database's files are not what the database wrote.
    #[error("the store at `{}` is damaged and cannot be read; restore the directory from a backup", path.display())]
    Corrupt {
        /// The store's directory.
        path: PathBuf,
    },
    /// The store knows less than its witness.
    #[error(
        "the store has lost acknowledged changes: its audit log has {found} entries and had {known}; restore the \
         directory from a backup, or remove the file `witness` in it to go on with what is left"
    )]
    Lost {
        /// Entries of the audit log.
        found: u64,
        /// Entries that it had.
        known: u64,
    },
    /// Reading failed.
    #[error("reading {keyspace} failed; check the disk, then run `plumb doctor`")]
    Read {
        /// Where.
        keyspace: &'static str,
        /// What the database said.
        source: sled::Error,
    },
    /// Writing failed. Whether the change is in the store is known only after the next start.
    #[error("writing to the store failed; check the disk and restart the node")]
    Write {
        /// What the database said.
        source: sled::Error,
    },
    /// An earlier write failed, so nothing more is accepted.
    #[error("an earlier write to the store failed and nothing more is accepted; check the disk and restart the node")]
    Broken,
    /// The writer is gone.
    #[error("the store's writer has stopped; restart the node")]
    Stopped,
    /// Too much is waiting.
    #[error("the store is busy: too many changes are waiting; try again shortly")]
    Busy,
    /// Too little room.
    #[error(
        "the disk of `{}` is full: {free} bytes are free, and {needed} are needed to keep the reserve; free some \
         space, reading goes on meanwhile",
        path.display()
    )]
    DiskFull {
        /// The store's directory.
        path: PathBuf,
        /// Bytes free.
        free: u64,
        /// Bytes that would have to be.
        needed: u64,
    },
    /// The free space could not be read.
    #[error("the free space at `{}` cannot be read", path.display())]
    DiskSpace {
        /// The store's directory.
        path: PathBuf,
        /// What the system said.
        source: Arc<std::io::Error>,
    },
    /// A condition of the change does not hold: someone else changed the row first.
    #[error("the row `{key}` in {keyspace} is not as expected; read it again and repeat the change")]
    Conflict {
        /// Where.
        keyspace: Keyspace,
        /// The key, printable.
        key: String,
    },
    /// A keyspace that only the store itself writes.
    #[error("{0} is written by the store itself")]
    Reserved(Keyspace),
    /// A key beyond the limit.
    #[error("a key in {keyspace} has {bytes} bytes, more than {KEY_BYTES_MAX}")]
    KeyTooLong {
        /// Where.
        keyspace: Keyspace,
        /// Its length.
        bytes: usize,
    },
    /// A change beyond the limit.
    #[error("the change has {bytes} bytes, more than {max}; make several changes of it")]
    TooLarge {
        /// Its size.
        bytes: usize,
        /// The limit.
        max: usize,
    },
    /// A block that is not what its CID says, or is offered as such.
    #[error("block {cid} is damaged; run `plumb doctor`, and fetch or ingest it again")]
    Damaged {
        /// Its name.
        cid: Cid,
        /// What is wrong.
        source: Box<ContentError>,
    },
    /// A row whose pieces are not all there.
    #[error("the row `{key}` is damaged: a piece of it is missing; run `plumb doctor` and restore it from a backup")]
    Torn {
        /// The key, printable.
        key: String,
    },
    /// A stored value of a shape that is not known here.
    #[error(
        "a value in {keyspace} has shape {found} and shape {known} was expected; use a newer version of the program"
    )]
    Shape {
        /// Where.
        keyspace: Keyspace,
        /// Its shape.
        found: u8,
        /// The shape that was asked for.
        known: u8,
    },
    /// A stored value that cannot be read.
    #[error("a value in {keyspace} cannot be read ({reason}); run `plumb doctor`")]
    Decode {
        /// Where.
        keyspace: Keyspace,
        /// What the decoder said.
        reason: String,
    },
    /// A value that cannot be encoded.
    #[error("a value for {keyspace} cannot be encoded ({reason})")]
    Encode {
        /// Where to.
        keyspace: Keyspace,
        /// What the encoder said.
        reason: String,
    },
    /// The audit log's stored head makes no sense.
    #[error("the head of the audit log is damaged; restore the store from a backup and keep this one for examination")]
    AuditHead(#[source] LogError),
    /// The audit log's leaves are not those that were written.
    #[error(
        "the audit log does not verify at entry {index} of {size}; restore the store from a backup and keep this one \
         for examination"
    )]
    AuditBroken {
        /// The first entry that is missing, or the size if all are there and the root differs.
        index: u64,
        /// Entries according to the head.
        size: u64,
    },
}

/// A key as people can read it: what is printable stays, the rest becomes hex.
pub(crate) fn printable(key: &[u8]) -> String {
    key.iter().map(|b| if b.is_ascii_graphic() { char::from(*b).to_string() } else { format!("\\x{b:02x}") }).collect()
}
