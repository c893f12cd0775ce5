//! What an append to the transparency log costs against the same bytes in plain sled, measured in one run.
//!
//! `cargo bench -p plumb-actors --bench log_append` prints a table: appends per second of either side, and the ratio of
//! the medians of interleaved rounds. Ours hashes the entry into the tree, signs the new head, writes entry, hashes,
//! head and audit event in one transaction, and is on the disk before it returns. Plain sled inserts the entry under its
//! index and is on the disk before it returns.

use std::path::Path;
use std::time::{Duration, Instant};

use plumb_core::identity::{SecretKey, Signed};
use plumb_core::measure::{Duration as Span, Timestamp};
use plumb_core::trust::{Certificate, certify};
use plumb_storage::{AuditEvent, Store, StoreOptions};

const ROUNDS: usize = 5;
/// Entries of one round, and how large each is: a notice of an ordinary source.
const ENTRIES: usize = 512;
const ENTRY_BYTES: usize = 700;
/// Entries that are appended together.
const BATCHES: [usize; 3] = [1, 16, 256];
const NOW: Timestamp = Timestamp(1_800_000_000_000);

fn main() {
    // `cargo test` runs benches without this flag to see that they start; a debug build says nothing of speed.
    if !std::env::args().any(|a| a == "--bench") {
        println!("log_append: run with `cargo bench -p plumb-actors --bench log_append`");
        return;
    }
    println!(
        "| appended together | log, entries/s | plain sled, entries/s | log / sled, time |\n| --- | --- | --- | --- |"
    );
    for batch in BATCHES {
        let home = tempfile::tempdir().expect("a temporary folder");
        let (log, sled) = (Log::open(&home.path().join("store")), Plain::open(&home.path().join("sled")));
        let (mut ours, mut plain) = (Vec::new(), Vec::new());
        for round in 0..ROUNDS {
            let entries = entries(round);
            ours.push(timed(|| entries.chunks(batch).for_each(|some| log.append(some))));
            plain.push(timed(|| entries.chunks(batch).for_each(|some| sled.append(some))));
        }
        let (ours, plain) = (median(ours), median(plain));
        let rate = |took: Duration| ENTRIES as f64 / took.as_secs_f64();
        println!(
            "| {batch} | {:.0} | {:.0} | {:.2} |",
            rate(ours),
            rate(plain),
            ours.as_secs_f64() / plain.as_secs_f64()
        );
    }
}

fn timed(work: impl FnOnce()) -> Duration {
    let begun = Instant::now();
    work();
    begun.elapsed()
}

fn median(mut values: Vec<Duration>) -> Duration {
    values.sort_unstable();
    values[values.len() / 2]
}

/// Bytes that do not compress to nothing, and differ in every round.
fn entries(round: usize) -> Vec<Vec<u8>> {
    let entry = |i: usize| {
        let mut state = (round * ENTRIES + i) as u64 ^ 0x9e37_79b9_7f4a_7c15;
        let mut byte = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 56) as u8
        };
        (0..ENTRY_BYTES).map(|_| byte()).collect()
    };
    (0..ENTRIES).map(entry).collect()
}

struct Log {
    store: Store,
    key: SecretKey,
    certificate: Signed<Certificate>,
}

impl Log {
    fn open(at: &Path) -> Log {
        let (root, key) = (SecretKey::from_seed([1; 32]), SecretKey::from_seed([2; 32]));
        let department = "department-bench".parse().expect("a department's name");
        let certificate =
            certify(&root, "Bench", key.public(), department, NOW, Span::days(30)).expect("a certificate");
        Log { store: Store::open(at, StoreOptions::default()).expect("an empty folder"), key, certificate }
    }

    fn append(&self, entries: &[Vec<u8>]) {
        let word = || "bench".to_string();
        let event =
            AuditEvent { at: NOW, actor: word(), action: word(), subject: word(), outcome: word(), detail: word() };
        plumb_actors::append_to_own_log(&self.store, &self.key, &self.certificate, event, entries).expect("an append");
    }
}

struct Plain {
    db: sled::Db,
    file: std::fs::File,
}

impl Plain {
    fn open(at: &Path) -> Plain {
        let db = sled::open(at).expect("an empty folder");
        Plain { db, file: std::fs::File::open(at.join("db")).expect("sled's file") }
    }

    fn append(&self, entries: &[Vec<u8>]) {
        let first = self.db.len() as u64;
        let mut batch = sled::Batch::default();
        for (entry, index) in entries.iter().zip(first..) {
            batch.insert(&index.to_be_bytes(), entry.as_slice());
        }
        self.db.apply_batch(batch).expect("a batch");
        self.db.flush().expect("a flush");
        self.file.sync_data().expect("an fsync");
    }
}
