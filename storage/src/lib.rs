//! What is kept: the store of blocks and records, and the text index that follows it.
//!
//! **The idea.** The [`Store`] is the truth: one sled tree in which every change is one atomic, synced batch that carries
//! its own [audit event](AuditEvent). The [`TextIndex`] is a copy that finds words: it reads the outbox that changes
//! write, may lag, may be lost, and is made again from the store. A crash can cost time, never knowledge.
//!
//! **The map**, in reading order:
//!
//! | room | holds |
//! | --- | --- |
//! | `keyspace` | the parts of the tree and their frozen numbers |
//! | `stored` | the form of values: shape byte, then DAG-CBOR |
//! | `change` | what becomes true together, with conditions; cannot be made without an audit event |
//! | `records` | the ports [`Records`] and [`Blocks`] that the rooms above see |
//! | `engine` | ordered bytes with atomic, durable batches: sled, and memory |
//! | `writer` | the one thread that writes: group commit, conditions, outbox numbers, audit chain |
//! | `audit` | the Merkle-chained log of every change |
//! | `witness` | what tells a store that lost changes from one that never had them |
//! | `schema` | the store's version and the migrations |
//! | `outbox`, `units` | what the index is told, and what it should hold |
//! | `index` | one tantivy index for each sensitivity class; exact statistics and exact ranking |
//! | `vectors` | one file of vectors for each class and model; the nearest by exact scan |
//!
//! **Invariant:** this crate decides nothing about knowledge. It does not know who may read, what a retraction reaches or
//! when a unit rises; it is told which partition to open, which rows to write, under which conditions.
//!
//! Everything here blocks. Call it from a thread on which that is allowed.
//!
//! ```
//! use plumb_core::content::RawBlock;
//! use plumb_core::measure::Timestamp;
//! use plumb_storage::{AuditEvent, Blocks, Change, Keyspace, Records, Store, StoreOptions};
//!
//! # let dir = tempfile::tempdir()?;
//! let store = Store::open(dir.path(), StoreOptions::default())?;
//! let block = RawBlock::raw(b"The reservoir was full on Monday.".to_vec());
//! let cid = block.cid;
//!
//! let mut change = Change::new(AuditEvent {
//!     at: Timestamp(1_700_000_000_000),
//!     actor: "person-mara-lindqvist".into(),
//!     action: "source.ingest".into(),
//!     subject: cid.to_string(),
//!     outcome: "ok".into(),
//!     detail: String::new(),
//! });
//! change.put_block(block).expect_absent(Keyspace::Jobs, b"job-1").put(Keyspace::Jobs, b"job-1", b"done".to_vec());
//! store.commit(change)?; // on the disk, together
//!
//! assert!(store.block(&cid)?.is_some());
//! assert_eq!(store.audit_verify()?.size, 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod audit;
mod bell;
mod change;
mod engine;
mod error;
mod index;
mod keyspace;
mod outbox;
mod records;
mod schema;
mod store;
pub mod stored;
mod units;
mod vectors;
mod witness;
mod writer;

#[cfg(test)]
mod conformance;
#[cfg(test)]
mod fixture;
#[cfg(test)]
mod tests;

pub use audit::{AuditEvent, AuditHead};
pub use change::{CHANGE_BYTES_MAX, Change};
pub use error::StorageError;
pub use index::{
    Candidate, INDEX_VERSION, IndexCounters, IndexError, IndexOptions, LiveOps, SEARCH_LIMIT_MAX, Searcher, TextIndex,
};
pub use keyspace::{KEY_BYTES_MAX, Keyspace};
pub use outbox::{IndexOp, Position};
pub use records::{Blocks, Records, RecordsExt, Row, Rows};
pub use store::{Store, StoreCounters, StoreOptions};
pub use units::{all_units, live_ops, unit};
pub use vectors::{VectorCounters, VectorIndex, VectorIndexError};
