//! The store: the ports over an engine, with the one writer in front.

use std::path::Path;
use std::sync::Arc;

use cid::Cid;
use plumb_core::content::{RawBlock, check_cid};

use crate::audit::{self, AuditEvent, AuditHead};
use crate::bell::Bell;
use crate::change::Change;
use crate::engine::{Batch, DiskEngine, Engine, MemoryEngine, Order, range_of};
use crate::error::StorageError;
use crate::keyspace::Keyspace;
use crate::outbox::{IndexOp, Position, number_key, number_of};
use crate::records::{Blocks, Records, RecordsExt, Row};
use crate::schema;
use crate::stored;
use crate::units;
use crate::writer::Writer;

const ID: &[u8] = b"id";
const SHAPE: u8 = 1;

/// How a store is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreOptions {
    /// Bytes of the store that are kept in memory. Peak memory is about this much (default 128 MiB).
    pub cache_bytes: u64,
    /// Bytes of free space on the file system below which nothing is written (default 64 MiB). Deleting, repairing
    /// and shutting down in order need some, too.
    pub reserve_bytes: u64,
}

impl Default for StoreOptions {
    fn default() -> StoreOptions {
        StoreOptions { cache_bytes: 128 * 1024 * 1024, reserve_bytes: 64 * 1024 * 1024 }
    }
}

/// What a store says of itself, for metrics and `plumb status`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreCounters {
    /// Index operations written so far.
    pub position: Position,
    /// Those of them that are still in the outbox.
    pub outbox_rows: u64,
    /// Events in the audit log.
    pub audit_events: u64,
    /// Bytes on the disk.
    pub disk_bytes: u64,
}

/// An open store. Clones are handles to the same one; it is closed with the last of them.
#[derive(Clone)]
pub struct Store {
    inner: Arc<Inner>,
}

struct Inner {
    /// Before the engine: the writer finishes, then the engine closes.
    writer: Writer,
    engine: Arc<dyn Engine>,
    id: [u8; 16],
}

impl Store {
    /// Opens the store in this directory, and makes a new one if there is none.
    pub fn open(dir: &Path, options: StoreOptions) -> Result<Store, StorageError> {
        Store::over(Arc::new(DiskEngine::open(dir, options.cache_bytes, options.reserve_bytes)?))
    }

    /// A store that is gone with the process: for tests and trials.
    pub fn in_memory() -> Result<Store, StorageError> {
        Store::over(Arc::new(MemoryEngine::default()))
    }

    pub(crate) fn over(engine: Arc<dyn Engine>) -> Result<Store, StorageError> {
        schema::settle(engine.as_ref(), schema::MIGRATIONS, schema::SCHEMA)?;
        let id = identity(engine.as_ref())?;
        let writer = Writer::start(Arc::clone(&engine))?;
        Ok(Store { inner: Arc::new(Inner { writer, engine, id }) })
    }

    /// The position of the last acknowledged change.
    pub fn position(&self) -> Position {
        self.inner.writer.position()
    }

    /// Size and root of the audit log.
    pub fn audit_head(&self) -> AuditHead {
        self.inner.writer.audit_head()
    }

    /// Events of the audit log with their numbers, from number `from` on, at most `limit`.
    pub fn audit_events(&self, from: u64, limit: usize) -> Result<Vec<(u64, AuditEvent)>, StorageError> {
        self.scan(Keyspace::Audit, &[], Some(&number_key(from)), limit)?
            .into_iter()
            .map(|(key, leaf)| Ok((number_of(Keyspace::Audit, &key)?, AuditEvent::from_leaf(&leaf)?)))
            .collect()
    }

    /// Hashes every event again and compares with the head. Returns the head that was verified.
    pub fn audit_verify(&self) -> Result<AuditHead, StorageError> {
        let head = self.audit_head();
        audit::verify(self, head)?;
        Ok(head)
    }

    /// Blocks whose bytes are not what their name says. It reads every block: for `plumb doctor`.
    pub fn damaged_blocks(&self) -> impl Iterator<Item = Result<Cid, StorageError>> + '_ {
        self.rows(Keyspace::Blocks, &[]).filter_map(|row| {
            let check = |(key, bytes): Row| -> Result<Option<Cid>, StorageError> {
                let cid = cid_at_front(Keyspace::Blocks, &key)?;
                Ok(RawBlock::checked(cid, bytes).is_err().then_some(cid))
            };
            row.and_then(check).transpose()
        })
    }

    /// Blocks that somebody holds and that are not there, once for each holder: for `plumb doctor`.
    pub fn missing_blocks(&self) -> impl Iterator<Item = Result<Cid, StorageError>> + '_ {
        self.rows(Keyspace::Holds, &[]).filter_map(|row| {
            let check = |(key, _): Row| -> Result<Option<Cid>, StorageError> {
                let cid = cid_at_front(Keyspace::Holds, &key)?;
                Ok((!self.has(&cid)?).then_some(cid))
            };
            row.and_then(check).transpose()
        })
    }

    /// Whoever noted that they need a block.
    pub fn holders(&self, cid: &Cid) -> impl Iterator<Item = Result<Vec<u8>, StorageError>> + '_ {
        let prefix = cid.to_bytes();
        let n = prefix.len();
        self.rows(Keyspace::Holds, &prefix).map(move |row| Ok(row?.0[n..].to_vec()))
    }

    /// Gives back the space of what was overwritten and deleted, while others read and write. It needs room on the disk for
    /// a copy of what is kept. Returns the bytes on the disk before and after.
    pub fn compact(&self) -> Result<(u64, u64), StorageError> {
        let before = self.inner.engine.disk_bytes()?;
        self.inner.engine.compact()?;
        Ok((before, self.inner.engine.disk_bytes()?))
    }

    /// What the store says of itself.
    pub fn counters(&self) -> Result<StoreCounters, StorageError> {
        let position = self.position();
        Ok(StoreCounters {
            position,
            outbox_rows: position.0.saturating_sub(self.inner.writer.trimmed().0),
            audit_events: self.audit_head().size,
            disk_bytes: self.inner.engine.disk_bytes()?,
        })
    }

    /// A random number that tells this store from every other, so that an index is never used with a store that it
    /// was not made from.
    pub(crate) fn id(&self) -> [u8; 16] {
        self.inner.id
    }

    /// The last outbox row that is gone.
    pub(crate) fn trimmed(&self) -> Position {
        self.inner.writer.trimmed()
    }

    /// Whether there is a unit about this chunk.
    pub(crate) fn has_unit(&self, chunk: &Cid) -> Result<bool, StorageError> {
        self.inner.engine.contains(&Keyspace::Units.key(&units::key(chunk)))
    }

    /// Refuses when the reserve of free space is reached.
    pub(crate) fn check_room(&self) -> Result<(), StorageError> {
        self.inner.engine.check_room(0)
    }

    pub(crate) fn trim_outbox(&self, up_to: Position) {
        self.inner.writer.trim(up_to);
    }

    pub(crate) fn ring_after_commit(&self, bell: &Arc<Bell>) {
        self.inner.writer.ring_after_commit(bell);
    }

    /// Waits until everything that could be read when it was called is on the disk.
    pub(crate) fn barrier(&self) -> Result<(), StorageError> {
        self.inner.writer.barrier()
    }

    /// Outbox rows behind `after`, in order. Rows that are written and not yet on the disk are none: what follows them
    /// would otherwise be ahead of the store after a crash.
    pub(crate) fn outbox(&self, after: Position, limit: usize) -> Result<Vec<(Position, IndexOp)>, StorageError> {
        let acknowledged = self.position().0.saturating_sub(after.0);
        let limit = limit.min(usize::try_from(acknowledged).unwrap_or(usize::MAX));
        self.scan(Keyspace::Outbox, &[], Some(&number_key(after.0.saturating_add(1))), limit)?
            .into_iter()
            .map(|(key, row)| Ok((Position(number_of(Keyspace::Outbox, &key)?), IndexOp::from_row(&row)?)))
            .collect()
    }

    fn scan_engine(
        &self,
        keyspace: Keyspace,
        prefix: &[u8],
        from: Option<&[u8]>,
        order: Order,
        limit: usize,
    ) -> Result<Vec<Row>, StorageError> {
        let from = from.map(|from| keyspace.key(from));
        let range = range_of(&keyspace.key(prefix), from.as_deref(), order);
        let mut rows = self.inner.engine.scan(range, order, limit)?;
        for (key, _) in &mut rows {
            key.remove(0);
        }
        Ok(rows)
    }
}

impl Records for Store {
    fn get(&self, keyspace: Keyspace, key: &[u8]) -> Result<Option<Vec<u8>>, StorageError> {
        self.inner.engine.get(&keyspace.key(key))
    }

    fn scan(
        &self,
        keyspace: Keyspace,
        prefix: &[u8],
        from: Option<&[u8]>,
        limit: usize,
    ) -> Result<Vec<Row>, StorageError> {
        self.scan_engine(keyspace, prefix, from, Order::Ascending, limit)
    }

    fn scan_back(
        &self,
        keyspace: Keyspace,
        prefix: &[u8],
        from: Option<&[u8]>,
        limit: usize,
    ) -> Result<Vec<Row>, StorageError> {
        self.scan_engine(keyspace, prefix, from, Order::Descending, limit)
    }

    fn commit(&self, change: Change) -> Result<Position, StorageError> {
        self.inner.writer.commit(change.prepare()?)
    }
}

impl Blocks for Store {
    fn block(&self, cid: &Cid) -> Result<Option<RawBlock>, StorageError> {
        let damaged = |e| StorageError::Damaged { cid: *cid, source: Box::new(e) };
        check_cid(cid).map_err(damaged)?;
        let bytes = self.inner.engine.get(&Keyspace::Blocks.key(&cid.to_bytes()))?;
        bytes.map(|bytes| RawBlock::checked(*cid, bytes).map_err(damaged)).transpose()
    }

    fn has(&self, cid: &Cid) -> Result<bool, StorageError> {
        self.inner.engine.contains(&Keyspace::Blocks.key(&cid.to_bytes()))
    }
}

fn cid_at_front(keyspace: Keyspace, key: &[u8]) -> Result<Cid, StorageError> {
    Cid::read_bytes(key).map_err(|e| StorageError::Decode { keyspace, reason: format!("a key is no CID: {e}") })
}

fn identity(engine: &dyn Engine) -> Result<[u8; 16], StorageError> {
    let key = Keyspace::Meta.key(ID);
    let wrong = |reason: &str| StorageError::Decode { keyspace: Keyspace::Meta, reason: reason.into() };
    match engine.get(&key)? {
        Some(bytes) => {
            let id: serde_bytes::ByteBuf = stored::decode(Keyspace::Meta, SHAPE, &bytes)?;
            id.as_slice().try_into().map_err(|_| wrong("the store's id has 16 bytes"))
        }
        None => {
            let id: [u8; 16] = rand::random();
            let row = stored::encode(Keyspace::Meta, SHAPE, serde_bytes::Bytes::new(&id))?;
            engine.apply(&Batch::from([(key, Some(row))]))?;
            Ok(id)
        }
    }
}
