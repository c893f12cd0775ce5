//! What the suite of every backend does not reach: files, locks, damage, a full disk.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use plumb_core::content::RawBlock;

use crate::conformance;
use crate::engine::{Batch, DiskEngine, Engine, MemoryEngine, Order, Range};
use crate::error::StorageError;
use crate::fixture::change;
use crate::keyspace::Keyspace;
use crate::outbox::IndexOp;
use crate::records::{Blocks, Records, Row};
use crate::store::{Store, StoreOptions};
use crate::writer::QUEUE_CHANGES;

const OPTIONS: StoreOptions = StoreOptions { cache_bytes: 16 * 1024 * 1024, reserve_bytes: 0 };

#[test]
fn memory_conforms() {
    conformance::suite(&|| Store::in_memory().unwrap());
}

#[test]
fn sled_conforms() {
    let dir = tempfile::tempdir().unwrap();
    let n = AtomicU64::new(0);
    conformance::suite(&|| {
        let n = n.fetch_add(1, Ordering::Relaxed);
        Store::open(&dir.path().join(n.to_string()), OPTIONS).unwrap()
    });
}

#[test]
fn a_store_is_there_again_when_it_is_opened_again() {
    let dir = tempfile::tempdir().unwrap();
    let block = RawBlock::raw(vec![7; 100_000]);
    let (id, head) = {
        let store = Store::open(dir.path(), OPTIONS).unwrap();
        let mut put = change();
        put.put_block(block.clone()).index(IndexOp::Remove { chunk: block.cid }).put(
            Keyspace::Jobs,
            b"a",
            b"1".to_vec(),
        );
        store.commit(put).unwrap();
        (store.id(), store.audit_head())
    };
    let store = Store::open(dir.path(), OPTIONS).unwrap();
    assert_eq!(store.block(&block.cid).unwrap(), Some(block));
    assert_eq!(store.get(Keyspace::Jobs, b"a").unwrap().unwrap(), b"1");
    assert_eq!((store.id(), store.audit_head(), store.position().0), (id, head, 1));
    store.commit(change()).unwrap();
    assert_eq!(store.audit_verify().unwrap().size, 2);
}

#[test]
fn a_store_is_opened_once() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path(), OPTIONS).unwrap();
    let error = Store::open(dir.path(), OPTIONS).err().unwrap();
    assert!(matches!(error, StorageError::InUse { .. }));
    assert!(error.to_string().contains("in use by another process"));
    drop(store);
    Store::open(dir.path(), OPTIONS).unwrap();
}

#[test]
fn a_newer_store_on_the_disk_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    drop(Store::open(dir.path(), OPTIONS).unwrap());
    let engine = DiskEngine::open(dir.path(), OPTIONS.cache_bytes, 0).unwrap();
    let version = crate::stored::encode(Keyspace::Meta, 1, &99u32).unwrap();
    engine.apply(&Batch::from([(Keyspace::Meta.key(b"schema"), Some(version))])).unwrap();
    drop(engine);
    assert!(matches!(Store::open(dir.path(), OPTIONS), Err(StorageError::Newer { found: 99, .. })));
}

#[test]
fn a_damaged_block_is_an_error_until_it_is_stored_again() {
    let engine = Arc::new(MemoryEngine::default());
    let store = Store::over(engine.clone()).unwrap();
    let block = RawBlock::raw(b"The dose is 5 mg.".to_vec());
    let put = |block: &RawBlock| {
        let mut put = change();
        put.put_block(block.clone());
        store.commit(put).unwrap();
    };
    put(&block);
    let key = Keyspace::Blocks.key(&block.cid.to_bytes());
    engine.apply(&Batch::from([(key, Some(b"The dose is 50 mg.".to_vec()))])).unwrap();
    let error = store.block(&block.cid).unwrap_err();
    assert!(matches!(&error, StorageError::Damaged { cid, .. } if *cid == block.cid));
    assert_eq!(store.damaged_blocks().collect::<Result<Vec<_>, _>>().unwrap(), [block.cid]);
    put(&block);
    assert_eq!(store.block(&block.cid).unwrap(), Some(block));
}

#[test]
fn what_was_changed_in_the_audit_log_is_found() {
    let engine = Arc::new(MemoryEngine::default());
    let store = Store::over(engine.clone()).unwrap();
    for _ in 0..3000 {
        store.commit(change()).unwrap();
    }
    let key = |n: u64| Keyspace::Audit.key(&n.to_be_bytes());
    let whole = engine.get(&key(2000)).unwrap().unwrap();
    let mut forged = whole.clone();
    *forged.last_mut().unwrap() ^= 1;
    engine.apply(&Batch::from([(key(2000), Some(forged))])).unwrap();
    assert!(matches!(store.audit_verify(), Err(StorageError::AuditBroken { index: 3000, size: 3000 })));
    engine.apply(&Batch::from([(key(2000), None)])).unwrap();
    assert!(matches!(store.audit_verify(), Err(StorageError::AuditBroken { index: 2000, .. })));
    engine.apply(&Batch::from([(key(2000), Some(whole)), (key(2999), None)])).unwrap();
    assert!(matches!(store.audit_verify(), Err(StorageError::AuditBroken { index: 2999, .. })));
}

/// See `engine::pieces`: sled does not sync its blob files, so there must be none.
#[test]
fn large_and_small_values_together_make_no_blob_file() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path(), OPTIONS).unwrap();
    let mut blocks = Vec::new();
    for n in 0..400u32 {
        // Sizes on both sides of a piece, some of many pieces, names in no order.
        let size = [17, 900, 5_000, 5_120, 5_121, 70_000][n as usize % 6];
        let block = RawBlock::raw((0..size).map(|i| (i as u32 ^ n) as u8).chain(n.to_be_bytes()).collect());
        let mut put = change();
        put.put_block(block.clone()).put(Keyspace::Sources, &n.to_be_bytes(), vec![0; 5_120]);
        store.commit(put).unwrap();
        blocks.push(block);
    }
    for block in blocks.iter().step_by(3) {
        let mut erase = change();
        erase.erase_block(&block.cid);
        store.commit(erase).unwrap();
    }
    drop(store);
    assert_eq!(std::fs::read_dir(dir.path().join("sled/blobs")).unwrap().count(), 0);
    let store = Store::open(dir.path(), OPTIONS).unwrap();
    for (n, block) in blocks.iter().enumerate() {
        assert_eq!(store.block(&block.cid).unwrap().as_ref(), (n % 3 != 0).then_some(block));
    }
}

/// Readers of a long value see one writing of it or another, never a mixture, while it is written again and again.
#[test]
fn a_long_value_is_never_read_half() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path(), OPTIONS).unwrap();
    let write = |n: u8| {
        let mut put = change();
        put.put(Keyspace::Answers, b"a", vec![n; 30_000 + usize::from(n)]);
        store.commit(put).unwrap();
    };
    write(0);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let readers: Vec<_> = (0..3)
            .map(|_| {
                scope.spawn(|| {
                    while !done.load(Ordering::Relaxed) {
                        let by_key = store.get(Keyspace::Answers, b"a").unwrap().unwrap();
                        let by_scan = store.scan(Keyspace::Answers, &[], None, 9).unwrap().remove(0).1;
                        for value in [by_key, by_scan] {
                            assert_eq!(value.len(), 30_000 + usize::from(value[0]));
                            assert!(value.iter().all(|b| *b == value[0]));
                        }
                    }
                })
            })
            .collect();
        (1..200).for_each(write);
        done.store(true, Ordering::Relaxed);
        readers.into_iter().for_each(|r| r.join().unwrap());
    });
}

/// A memory engine that can be told to fail, and that counts its batches.
#[derive(Default)]
struct Faulty {
    inner: MemoryEngine,
    is_full: AtomicBool,
    fails: AtomicBool,
    batches: AtomicU64,
    /// Held while a batch is applied, so that a test can make the writer wait.
    gate: std::sync::Mutex<()>,
}

impl Engine for Faulty {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StorageError> {
        self.inner.get(key)
    }
    fn contains(&self, key: &[u8]) -> Result<bool, StorageError> {
        self.inner.contains(key)
    }
    fn scan(&self, range: Range, order: Order, limit: usize) -> Result<Vec<Row>, StorageError> {
        self.inner.scan(range, order, limit)
    }
    fn apply(&self, batch: &Batch) -> Result<(), StorageError> {
        self.batches.fetch_add(1, Ordering::Relaxed);
        let _gate = self.gate.lock().unwrap();
        if self.fails.load(Ordering::Relaxed) {
            return Err(StorageError::Write { source: sled::Error::Unsupported("a broken disk".into()) });
        }
        self.inner.apply(batch)
    }
    fn compact(&self) -> Result<(), StorageError> {
        self.inner.compact()
    }
    fn remember(&self, _bytes: &[u8]) {}
    fn remembered(&self) -> Option<Vec<u8>> {
        None
    }
    fn check_room(&self, bytes: u64) -> Result<(), StorageError> {
        if self.is_full.load(Ordering::Relaxed) {
            return Err(StorageError::DiskFull { path: "/full".into(), free: 1, needed: bytes });
        }
        Ok(())
    }
    fn disk_bytes(&self) -> Result<u64, StorageError> {
        Ok(0)
    }
}

#[test]
fn a_full_disk_refuses_changes_and_reading_goes_on() {
    let engine = Arc::new(Faulty::default());
    let store = Store::over(engine.clone()).unwrap();
    let put = || {
        let mut put = change();
        put.put(Keyspace::Jobs, b"a", b"1".to_vec());
        store.commit(put)
    };
    put().unwrap();
    engine.is_full.store(true, Ordering::Relaxed);
    let error = put().unwrap_err();
    assert!(matches!(error, StorageError::DiskFull { .. }));
    assert!(error.to_string().contains("`/full` is full: 1 bytes are free"));
    assert_eq!(store.get(Keyspace::Jobs, b"a").unwrap().unwrap(), b"1");
    engine.is_full.store(false, Ordering::Relaxed);
    put().unwrap();
    assert_eq!(store.audit_verify().unwrap().size, 2);
}

#[test]
fn the_reserve_on_a_real_disk_is_kept() {
    let dir = tempfile::tempdir().unwrap();
    drop(Store::open(dir.path(), OPTIONS).unwrap());
    let store = Store::open(dir.path(), StoreOptions { reserve_bytes: u64::MAX, ..OPTIONS }).unwrap();
    assert!(matches!(store.commit(change()), Err(StorageError::DiskFull { .. })));
    assert_eq!(store.audit_verify().unwrap().size, 0);
}

#[test]
fn after_a_failed_write_nothing_more_is_accepted() {
    let engine = Arc::new(Faulty::default());
    let store = Store::over(engine.clone()).unwrap();
    engine.fails.store(true, Ordering::Relaxed);
    assert!(matches!(store.commit(change()), Err(StorageError::Write { .. })));
    engine.fails.store(false, Ordering::Relaxed);
    assert!(matches!(store.commit(change()), Err(StorageError::Broken)));
    assert_eq!(store.audit_head().size, 0);
}

/// While the writer is held up, callers gather; then all of them share a few batches. Past the bound they are refused.
#[test]
fn waiting_changes_are_written_together_and_their_number_is_bounded() {
    const BEYOND: usize = 50;
    let engine = Arc::new(Faulty::default());
    let store = Store::over(engine.clone()).unwrap();
    let before = engine.batches.load(Ordering::Relaxed);
    let outcomes: Vec<_> = std::thread::scope(|scope| {
        let commit = |n: usize| {
            let store = &store;
            scope.spawn(move || {
                let mut put = change();
                put.put(Keyspace::Jobs, &n.to_be_bytes(), b"1".to_vec());
                store.commit(put)
            })
        };
        let gate = engine.gate.lock().unwrap();
        let first = commit(0);
        while engine.batches.load(Ordering::Relaxed) == before {
            std::thread::yield_now();
        }
        // The writer stands at the gate and takes nothing more.
        let callers: Vec<_> = (1..=QUEUE_CHANGES + BEYOND).map(commit).collect();
        while callers.iter().filter(|c| c.is_finished()).count() < BEYOND {
            std::thread::yield_now();
        }
        drop(gate);
        callers.into_iter().chain([first]).map(|c| c.join().unwrap()).collect()
    });
    let n_done = outcomes.iter().filter(|o| o.is_ok()).count();
    assert_eq!(outcomes.iter().filter(|o| matches!(o, Err(StorageError::Busy))).count(), BEYOND);
    assert_eq!(n_done, QUEUE_CHANGES + 1);
    assert_eq!(store.scan(Keyspace::Jobs, &[], None, usize::MAX).unwrap().len(), n_done);
    assert_eq!(store.audit_verify().unwrap().size as usize, n_done);
    let n_batches = engine.batches.load(Ordering::Relaxed) - before;
    assert!(n_batches <= 4, "{n_batches} batches for {n_done} changes");
}

/// A log that was cut short is refused, since changes are gone. In one that was blanked or scrambled somewhere, sled may
/// miss rows without noticing, but what is served is what was stored.
#[test]
fn damaged_files_are_refused_or_serve_what_was_stored() {
    const PLACES: usize = 24;
    let whole = tempfile::tempdir().unwrap();
    let store = Store::open(whole.path(), OPTIONS).unwrap();
    let blocks: Vec<_> = (0..300u32).map(|n| RawBlock::raw(n.to_be_bytes().repeat(500))).collect();
    for block in &blocks {
        let mut put = change();
        put.put_block(block.clone());
        store.commit(put).unwrap();
    }
    drop(store);
    let files = ["witness", "sled/db", "sled/conf"].map(|name| (name, std::fs::read(whole.path().join(name)).unwrap()));
    for place in 0..PLACES {
        let is_cut = place % 3 == 0;
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("sled")).unwrap();
        for (name, bytes) in &files {
            let mut bytes = bytes.clone();
            let at = bytes.len() * place / PLACES;
            match place % 3 {
                _ if *name != "sled/db" => {}
                0 => bytes.truncate(at),
                1 => bytes[at..].iter_mut().take(4096).for_each(|b| *b = 0),
                _ => bytes[at..].iter_mut().take(64).for_each(|b| *b ^= 0x55),
            }
            std::fs::write(dir.path().join(name), bytes).unwrap();
        }
        match Store::open(dir.path(), OPTIONS) {
            Err(StorageError::Corrupt { .. } | StorageError::Lost { .. } | StorageError::Open { .. }) => {}
            Err(error) => panic!("{error}"),
            Ok(store) => {
                assert!(!is_cut, "{place}");
                assert_eq!(store.audit_head().size, 300, "{place}");
                for block in &blocks {
                    if let Ok(Some(found)) = store.block(&block.cid) {
                        assert_eq!(found, *block);
                    }
                }
            }
        }
    }
}

#[test]
fn a_store_that_lost_changes_goes_on_when_it_is_told_to() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path(), OPTIONS).unwrap();
    store.commit(change()).unwrap();
    drop(store);
    std::fs::remove_dir_all(dir.path().join("sled")).unwrap();
    let error = Store::open(dir.path(), OPTIONS).err().unwrap();
    assert!(matches!(error, StorageError::Lost { found: 0, known: 1 }));
    assert!(error.to_string().contains("remove the file `witness`"));
    std::fs::remove_file(dir.path().join("witness")).unwrap();
    Store::open(dir.path(), OPTIONS).unwrap().commit(change()).unwrap();
}
