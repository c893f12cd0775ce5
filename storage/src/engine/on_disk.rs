//! The engine on sled 0.34.
//!
//! sled gives space back slowly: a segment of its log is rewritten only when half of it is dead, and what is rewritten all the
//! time leaves many that are not. So a database can be copied, row by row, into a new one that takes its place
//! ([`Engine::compact`]); `current` in the store's directory says which one counts.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::ops::Bound;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
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

/// The file that says which database of the directory counts, by its number.
const CURRENT_FILE: &str = "current";

/// Bytes that a copy writes at once.
const COPY_BYTES: usize = 1 << 20;
/// Rows that a copy reads at once.
const COPY_ROWS: usize = 512;
/// Rows that may be left to copy while writers wait: some milliseconds.
const LAST_ROWS: usize = 256;
/// How often what was written meanwhile is copied too. Writers that outrun the copy wait for its end.
const CATCH_UPS_MAX: usize = 16;

pub(crate) struct DiskEngine {
    /// The database that counts. Readers go on with the one that they have when another takes its place.
    open: RwLock<Arc<Database>>,
    /// Held by whoever writes. Inside are the keys that were written since a copy began, while one is made.
    writing: Mutex<Option<BTreeSet<Vec<u8>>>>,
    witness: File,
    path: PathBuf,
    cache_bytes: u64,
    reserve_bytes: u64,
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
        let number = current(path).map_err(|e| failed(e.into()))?;
        let database = Database::open(path, number, cache_bytes)?;
        // What a copy left behind that was interrupted, or that took over.
        if let Err(error) = delete_others(path, number) {
            tracing::warn!(%error, path = %path.display(), "a database that does not count was not deleted");
        }
        let witness = OpenOptions::new()
            .create(true)
            .truncate(false)
            .read(true)
            .write(true)
            .open(path.join(WITNESS_FILE))
            .map_err(|e| failed(e.into()))?;
        Ok(DiskEngine {
            open: RwLock::new(Arc::new(database)),
            writing: Mutex::new(None),
            witness,
            path: path.to_path_buf(),
            cache_bytes,
            reserve_bytes,
            _lock: lock,
        })
    }

    fn database(&self) -> Arc<Database> {
        Arc::clone(&self.open.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn writing(&self) -> MutexGuard<'_, Option<BTreeSet<Vec<u8>>>> {
        self.writing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Copies everything into a new database, what is written meanwhile too, and lets it take the place of the old one.
    fn replace(&self, old: &Database, new: Arc<Database>) -> Result<(), StorageError> {
        let mut after = Bound::Unbounded;
        loop {
            let rows = old.scan((after, Bound::Unbounded), Order::Ascending, COPY_ROWS)?;
            let Some((last, _)) = rows.last() else { break };
            after = Bound::Excluded(last.clone());
            new.write_all(rows.into_iter().map(|(key, value)| (key, Some(value))))?;
        }
        for _ in 0..CATCH_UPS_MAX {
            let written = self.writing().replace(BTreeSet::new()).unwrap_or_default();
            let n = written.len();
            copy_keys(written, old, &new)?;
            if n <= LAST_ROWS {
                break;
            }
        }
        // Most of it goes to the disk while others write; what is left is little.
        new.sync()?;
        let mut writing = self.writing();
        copy_keys(writing.take().unwrap_or_default(), old, &new)?;
        new.sync()?;
        set_current(&self.path, new.number).map_err(|e| StorageError::Write { source: e.into() })?;
        *self.open.write().unwrap_or_else(PoisonError::into_inner) = new;
        Ok(())
    }
}

/// One database of sled.
struct Database {
    db: Db,
    /// sled's log. Its own flush is `sync_file_range` on Linux, which reaches neither the disk's write cache nor the
    /// file's size (spacejam/sled issues 1351 and 1452); `sync_data` through this handle does.
    log: File,
    number: u64,
    /// Keyspaces (first bytes of keys) in which a value was ever long. In the others nothing has to be looked for when a
    /// row is written, and looking costs as much as writing.
    with_pieces: [AtomicBool; 256],
}

impl Database {
    fn open(path: &Path, number: u64, cache_bytes: u64) -> Result<Database, StorageError> {
        let failed = |source: sled::Error| StorageError::Open { path: path.to_path_buf(), source };
        let dir = path.join(name_of(number));
        let config = sled::Config::new()
            .path(&dir)
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
        let log = OpenOptions::new().read(true).write(true).open(dir.join("db")).map_err(|e| failed(e.into()))?;
        let with_pieces = std::array::from_fn(|_| AtomicBool::new(false));
        for keyspace in 0..=u8::MAX {
            if let Some(piece) = db.scan_prefix([PIECES, keyspace]).next() {
                piece.map_err(failed)?;
                with_pieces[usize::from(keyspace)].store(true, Ordering::Relaxed);
            }
        }
        Ok(Database { db, log, number, with_pieces })
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

    /// Writes rows, and deletes those without a value. They are on the disk after [`Database::sync`].
    fn write<'a>(
        &self,
        rows: impl IntoIterator<Item = (&'a Vec<u8>, Option<&'a Vec<u8>>)>,
    ) -> Result<(), StorageError> {
        let failed = |source: sled::Error| StorageError::Write { source };
        let mut writes = sled::Batch::default();
        for (key, value) in rows {
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
        self.db.apply_batch(writes).map_err(failed)
    }

    /// Writes many rows, some at a time.
    fn write_all(&self, rows: impl Iterator<Item = (Vec<u8>, Option<Vec<u8>>)>) -> Result<(), StorageError> {
        let (mut some, mut bytes) = (Vec::new(), 0);
        for (key, value) in rows {
            bytes += key.len() + value.as_ref().map_or(0, Vec::len);
            some.push((key, value));
            if bytes >= COPY_BYTES {
                self.write(some.iter().map(|(key, value)| (key, value.as_ref())))?;
                (some, bytes) = (Vec::new(), 0);
            }
        }
        self.write(some.iter().map(|(key, value)| (key, value.as_ref())))
    }

    fn sync(&self) -> Result<(), StorageError> {
        let failed = |source: sled::Error| StorageError::Write { source };
        self.db.flush().map_err(failed)?;
        self.log.sync_data().map_err(|e| failed(e.into()))
    }
}

/// Copies rows as they are now; those that are gone, go.
fn copy_keys(keys: BTreeSet<Vec<u8>>, old: &Database, new: &Database) -> Result<(), StorageError> {
    let rows = keys.into_iter().map(|key| old.get(&key).map(|value| (key, value)));
    new.write_all(rows.collect::<Result<Vec<_>, _>>()?.into_iter())
}

/// The directory of a database. The first one has had no number since before there were others.
fn name_of(number: u64) -> String {
    if number == 0 { "sled".to_string() } else { format!("sled-{number}") }
}

/// The number of the database that counts.
fn current(path: &Path) -> std::io::Result<u64> {
    match fs::read_to_string(path.join(CURRENT_FILE)) {
        Ok(text) => text.trim().parse().map_err(|_| std::io::Error::other(format!("`{CURRENT_FILE}` holds no number"))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(0),
        Err(error) => Err(error),
    }
}

/// Says which database counts. It is the old one or the new one, whenever the power fails.
fn set_current(path: &Path, number: u64) -> std::io::Result<()> {
    let new = path.join("current.new");
    let mut file = File::create(&new)?;
    file.write_all(number.to_string().as_bytes())?;
    file.sync_all()?;
    fs::rename(&new, path.join(CURRENT_FILE))?;
    File::open(path)?.sync_all()
}

/// Deletes every database but one.
fn delete_others(path: &Path, number: u64) -> std::io::Result<()> {
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_database = name == "sled" || name.strip_prefix("sled-").is_some_and(|n| n.parse::<u64>().is_ok());
        if is_database && name != name_of(number) {
            fs::remove_dir_all(entry.path())?;
        }
    }
    Ok(())
}

impl Engine for DiskEngine {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StorageError> {
        self.database().get(key)
    }

    fn contains(&self, key: &[u8]) -> Result<bool, StorageError> {
        self.database().contains(key)
    }

    fn scan(&self, range: Range, order: Order, limit: usize) -> Result<Vec<Row>, StorageError> {
        self.database().scan(range, order, limit)
    }

    fn apply(&self, batch: &Batch) -> Result<(), StorageError> {
        let mut writing = self.writing();
        let database = self.database();
        if let Some(written) = writing.as_mut() {
            written.extend(batch.keys().cloned());
        }
        database.write(batch.iter().map(|(key, value)| (key, value.as_ref())))?;
        database.sync()
    }

    fn compact(&self) -> Result<(), StorageError> {
        let old = self.database();
        // At worst nothing of it is dead.
        self.check_room(self.disk_bytes()?)?;
        {
            let mut writing = self.writing();
            if writing.is_some() {
                return Err(StorageError::Busy);
            }
            *writing = Some(BTreeSet::new());
        }
        let copied = delete_others(&self.path, old.number)
            .map_err(|e| StorageError::Write { source: e.into() })
            .and_then(|()| Database::open(&self.path, old.number + 1, self.cache_bytes))
            .and_then(|new| self.replace(&old, Arc::new(new)));
        // Where it failed nobody needs to know any more what is written.
        self.writing().take();
        copied?;
        let begun = Instant::now();
        let mut old = old;
        while let Err(read) = Arc::try_unwrap(old).map(drop) {
            if begun.elapsed() > LET_GO_WITHIN {
                tracing::warn!(path = %self.path.display(), "the old database is still read, and goes when the store is opened next");
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(5));
            old = read;
        }
        delete_others(&self.path, self.database().number).map_err(|e| StorageError::Write { source: e.into() })
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
        self.database()
            .db
            .size_on_disk()
            .map_err(|source| StorageError::Read { keyspace: "the size of the store", source })
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
            engine.database().db.scan_prefix([PIECES]).count()
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
        let (piece, _) = engine.database().db.scan_prefix([PIECES]).nth(1).unwrap().unwrap();
        engine.database().db.remove(piece).unwrap();
        assert!(matches!(engine.get(&[1, 2]), Err(StorageError::Torn { .. })));
    }

    #[test]
    fn a_copy_takes_the_place_of_the_database_and_loses_nothing_that_is_written_meanwhile() {
        let dir = tempfile::tempdir().unwrap();
        let open = || DiskEngine::open(dir.path(), 16 * 1024 * 1024, 0).unwrap();
        let engine = open();
        let key = |n: u32| [&[7u8][..], &n.to_be_bytes()].concat();
        let value = |n: u32, round: u8| vec![round; if n.is_multiple_of(50) { 3 * pieces::PIECE_BYTES } else { 300 }];
        // Rewritten and deleted all over: most of the log is dead.
        for round in 0..20u8 {
            let batch = (0..1000).map(|n| (key(n), Some(value(n, round))));
            engine.apply(&batch.collect()).unwrap();
        }
        engine.apply(&(500..1000).map(|n| (key(n), None)).collect()).unwrap();
        let before = engine.disk_bytes().unwrap();
        let stop = std::sync::atomic::AtomicBool::new(false);
        let written = std::thread::scope(|scope| {
            let writer = scope.spawn(|| {
                let mut n = 2000;
                while !stop.load(std::sync::atomic::Ordering::Acquire) || n < 2050 {
                    let batch = Batch::from([(key(n), Some(value(n, 99))), (key(n - 2000), None)]);
                    engine.apply(&batch).unwrap();
                    assert_eq!(engine.get(&key(n)).unwrap(), Some(value(n, 99)));
                    n += 1;
                }
                n
            });
            engine.compact().unwrap();
            engine.compact().unwrap();
            stop.store(true, std::sync::atomic::Ordering::Release);
            writer.join().unwrap()
        });
        let rows = |engine: &DiskEngine| {
            engine.scan((Bound::Unbounded, Bound::Unbounded), Order::Ascending, usize::MAX).unwrap()
        };
        let wanted: Vec<Row> = (0..500)
            .filter(|n| *n >= written - 2000)
            .map(|n| (key(n), value(n, 19)))
            .chain((2000..written).map(|n| (key(n), value(n, 99))))
            .collect();
        assert_eq!(rows(&engine), wanted);
        engine.compact().unwrap();
        let after = engine.disk_bytes().unwrap();
        assert!(after * 2 < before, "{before} bytes became {after}");
        drop(engine);
        let databases = || {
            let names = fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap());
            names.filter(|name| name.starts_with("sled")).collect::<Vec<_>>()
        };
        assert_eq!(databases(), ["sled-3"]);
        assert_eq!(rows(&open()), wanted);

        // A copy that was interrupted counts for nothing, and goes.
        fs::create_dir(dir.path().join("sled-4")).unwrap();
        fs::write(dir.path().join("sled-4").join("db"), b"half of it").unwrap();
        assert_eq!(rows(&open()), wanted);
        assert_eq!(databases(), ["sled-3"]);
    }
}
