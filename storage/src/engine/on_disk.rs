//! The engine on sled 0.34.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::ops::Bound;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use sled::Db;

use super::pieces::{self, Head, PIECES, Pieces};
use super::{Batch, Engine, Order, Range, is_void};
use crate::error::{StorageError, printable};
use crate::keyspace::Keyspace;
use crate::records::Row;

/// The file in the store's directory whose lock says that the store is in use.
const LOCK_FILE: &str = "lock";

/// The file beside the database for what [`Engine::remember`] is told.
const WITNESS_FILE: &str = "witness";

/// How often a long value is read again when a writer came in between. Each time means that a whole batch was
/// committed during one read, so the bound is never met unless a piece is really gone.
const REREADS_MAX: usize = 64;

pub(crate) struct DiskEngine {
    db: Db,
    /// sled's log. Its own flush is `sync_file_range` on Linux, which reaches neither the disk's write cache nor the
    /// file's size (spacejam/sled issues 1351 and 1452); `sync_data` through this handle does.
    log: File,
    witness: File,
    path: PathBuf,
    reserve_bytes: u64,
    /// Keyspaces (first bytes of keys) in which a value was ever long. In the others nothing has to be looked for when a
    /// row is written, and looking costs as much as writing.
    with_pieces: [AtomicBool; 256],
    /// Held as long as the database is open, and dropped after it (fields are dropped in order).
    _lock: File,
}

/// How long a lock of sled's may outlive the database that held it.
const LET_GO_WITHIN: Duration = Duration::from_secs(5);

/// Opens the database. Our own lock says that no other store has it open; a store that was dropped a moment ago in this
/// process may still hold sled's, whose last thread lets go of it in its own time.
fn when_let_go(open: impl Fn() -> sled::Result<Db>) -> sled::Result<Db> {
    let begun = Instant::now();
    loop {
        match open() {
            Err(sled::Error::Io(error))
                if error.to_string().contains("could not acquire lock") && begun.elapsed() < LET_GO_WITHIN =>
            {
                std::thread::sleep(Duration::from_millis(5));
            }
            outcome => return outcome,
        }
    }
}

impl DiskEngine {
    pub(crate) fn open(path: &Path, cache_bytes: u64, reserve_bytes: u64) -> Result<DiskEngine, StorageError> {
        let failed = |source: sled::Error| StorageError::Open { path: path.to_path_buf(), source };
        std::fs::create_dir_all(path).map_err(|e| failed(e.into()))?;
        // sled locks its log too, but tells a held lock from other failures only by the wording of a message.
        let lock = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(path.join(LOCK_FILE))
            .map_err(|e| failed(e.into()))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(std::fs::TryLockError::WouldBlock) => return Err(StorageError::InUse { path: path.to_path_buf() }),
            Err(std::fs::TryLockError::Error(e)) => return Err(failed(e.into())),
        }
        let config = sled::Config::new()
            .path(path.join("sled"))
            .cache_capacity(cache_bytes)
            // Every batch is flushed before it is acknowledged; a flusher in the background would only disturb.
            .flush_every_ms(None);
        // sled reports most damage as an error, and meets some of it with a panic.
        let db = catch_unwind(AssertUnwindSafe(|| when_let_go(|| config.open())))
            .map_err(|_| StorageError::Corrupt { path: path.to_path_buf() })?
            .map_err(|error| match error {
                sled::Error::Corruption { .. } => StorageError::Corrupt { path: path.to_path_buf() },
                source => failed(source),
            })?;
        let log = OpenOptions::new()
            .read(true)
            .write(true)
            .open(path.join("sled").join("db"))
            .map_err(|e| failed(e.into()))?;
        let witness = OpenOptions::new()
            .create(true)
            .truncate(false)
            .read(true)
            .write(true)
            .open(path.join(WITNESS_FILE))
            .map_err(|e| failed(e.into()))?;
        let with_pieces = std::array::from_fn(|_| AtomicBool::new(false));
        for keyspace in 0..=u8::MAX {
            if let Some(piece) = db.scan_prefix([PIECES, keyspace]).next() {
                piece.map_err(failed)?;
                with_pieces[usize::from(keyspace)].store(true, Ordering::Relaxed);
            }
        }
        Ok(DiskEngine { db, log, witness, path: path.to_path_buf(), reserve_bytes, with_pieces, _lock: lock })
    }

    fn raw(&self, key: &[u8]) -> Result<Option<sled::IVec>, StorageError> {
        self.db.get(key).map_err(|source| StorageError::Read { keyspace: keyspace_name(key), source })
    }

    /// The value behind a head; nothing if a piece is missing.
    fn assemble(&self, key: &[u8], head: &[u8]) -> Result<Option<Vec<u8>>, StorageError> {
        let pieces = match Head::read(head) {
            Some(Head::Short(value)) => return Ok(Some(value.to_vec())),
            Some(Head::Long(pieces)) => pieces,
            None => return Err(StorageError::Torn { key: printable(key) }),
        };
        let mut value = Vec::new();
        for key in pieces.keys(key) {
            match self.raw(&key)? {
                Some(piece) => value.extend_from_slice(&piece),
                None => return Ok(None),
            }
        }
        Ok((value.len() as u64 == pieces.length).then_some(value))
    }

    /// Removes from the batch what an overwritten or deleted long value leaves behind.
    fn drop_pieces(&self, batch: &mut sled::Batch, key: &[u8]) -> Result<(), StorageError> {
        if let Some(head) = self.raw(key)?
            && let Some(Head::Long(old)) = Head::read(&head)
        {
            old.keys(key).for_each(|piece| batch.remove(piece));
        }
        Ok(())
    }
}

impl Engine for DiskEngine {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StorageError> {
        for _ in 0..REREADS_MAX {
            let Some(head) = self.raw(key)? else { return Ok(None) };
            if let Some(value) = self.assemble(key, &head)? {
                return Ok(Some(value));
            }
        }
        Err(StorageError::Torn { key: printable(key) })
    }

    fn contains(&self, key: &[u8]) -> Result<bool, StorageError> {
        self.db.contains_key(key).map_err(|source| StorageError::Read { keyspace: keyspace_name(key), source })
    }

    fn scan(&self, range: Range, order: Order, limit: usize) -> Result<Vec<Row>, StorageError> {
        if is_void(&range) {
            return Ok(Vec::new());
        }
        // The pieces lie below every keyspace and are nobody's rows.
        let low = match range.0 {
            Bound::Unbounded => Bound::Included(vec![PIECES + 1]),
            low => low,
        };
        let mut inside = self.db.range((low, range.1));
        let mut rows = Vec::new();
        while rows.len() < limit {
            let next = match order {
                Order::Ascending => inside.next(),
                Order::Descending => inside.next_back(),
            };
            let Some(next) = next else { break };
            let (key, head) = next.map_err(|source| StorageError::Read { keyspace: "a stretch of rows", source })?;
            let value = match self.assemble(&key, &head)? {
                Some(value) => value,
                // A writer came in between: the row is another by now, or gone.
                None => match self.get(&key)? {
                    Some(value) => value,
                    None => continue,
                },
            };
            rows.push((key.to_vec(), value));
        }
        Ok(rows)
    }

    fn apply(&self, batch: &Batch) -> Result<(), StorageError> {
        let failed = |source: sled::Error| StorageError::Write { source };
        let mut writes = sled::Batch::default();
        for (key, value) in batch {
            let with_pieces = &self.with_pieces[usize::from(key.first().copied().unwrap_or_default())];
            if with_pieces.load(Ordering::Relaxed) {
                self.drop_pieces(&mut writes, key)?;
            }
            match value {
                None => writes.remove(key.as_slice()),
                Some(value) if pieces::is_long(value) => {
                    with_pieces.store(true, Ordering::Relaxed);
                    let version = self.db.generate_id().map_err(failed)?;
                    let long = Pieces { version, length: value.len() as u64 };
                    for (piece_key, piece) in long.keys(key).zip(value.chunks(pieces::PIECE_BYTES)) {
                        writes.insert(piece_key, piece);
                    }
                    writes.insert(key.as_slice(), pieces::long_head(long));
                }
                Some(value) => writes.insert(key.as_slice(), pieces::short_head(value)),
            }
        }
        self.db.apply_batch(writes).map_err(failed)?;
        self.db.flush().map_err(failed)?;
        self.log.sync_data().map_err(|e| failed(e.into()))
    }

    fn remember(&self, bytes: &[u8]) {
        let mut file = &self.witness;
        if let Err(error) = file.seek(SeekFrom::Start(0)).and_then(|_| file.write_all(bytes)) {
            tracing::warn!(%error, "the store's witness was not written");
        }
    }

    fn remembered(&self) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        let mut file = &self.witness;
        match file.seek(SeekFrom::Start(0)).and_then(|_| file.read_to_end(&mut bytes)) {
            Ok(0) => None,
            Ok(_) => Some(bytes),
            Err(error) => {
                tracing::warn!(%error, "the store's witness was not read");
                None
            }
        }
    }

    fn check_room(&self, bytes: u64) -> Result<(), StorageError> {
        let free = fs4::available_space(&self.path)
            .map_err(|e| StorageError::DiskSpace { path: self.path.clone(), source: Arc::new(e) })?;
        let needed = self.reserve_bytes.saturating_add(bytes);
        if free < needed {
            return Err(StorageError::DiskFull { path: self.path.clone(), free, needed });
        }
        Ok(())
    }

    fn disk_bytes(&self) -> Result<u64, StorageError> {
        self.db.size_on_disk().map_err(|source| StorageError::Read { keyspace: "the size of the store", source })
    }
}

fn keyspace_name(key: &[u8]) -> &'static str {
    let number = key.first().copied();
    Keyspace::ALL.iter().find(|k| Some(k.prefix()) == number).map_or("a piece of a long value", |k| k.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_value_that_goes_leaves_nothing_behind() {
        let dir = tempfile::tempdir().unwrap();
        let engine = DiskEngine::open(dir.path(), 16 * 1024 * 1024, 0).unwrap();
        let apply = |value: Option<usize>| {
            engine.apply(&Batch::from([(vec![1, 2], value.map(|n| vec![0; n]))])).unwrap();
            engine.db.scan_prefix([PIECES]).count()
        };
        assert_eq!(apply(Some(3 * pieces::PIECE_BYTES)), 3);
        assert_eq!(apply(Some(3 * pieces::PIECE_BYTES + 1)), 4);
        assert_eq!(apply(Some(10)), 0);
        assert_eq!(apply(Some(2 * pieces::PIECE_BYTES)), 2);
        assert_eq!(apply(None), 0);
        assert!(engine.is_empty().unwrap());
    }

    #[test]
    fn a_lost_piece_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let engine = DiskEngine::open(dir.path(), 16 * 1024 * 1024, 0).unwrap();
        engine.apply(&Batch::from([(vec![1, 2], Some(vec![0; 3 * pieces::PIECE_BYTES]))])).unwrap();
        let (piece, _) = engine.db.scan_prefix([PIECES]).nth(1).unwrap().unwrap();
        engine.db.remove(piece).unwrap();
        assert!(matches!(engine.get(&[1, 2]), Err(StorageError::Torn { .. })));
    }
}
