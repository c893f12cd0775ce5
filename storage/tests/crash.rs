//! `kill -9` at any moment: what was acknowledged is there, whole, and the index equals the units.
//!
//! A child process (this executable again) writes from several threads and prints a line for every acknowledgement. The
//! parent kills it after some of them, opens what is left, and compares with what each thread must have done.
//!
//! `PLUMB_SEED=… cargo test -p plumb-storage --test crash` repeats the parent's choices; the moment within the child's
//! work is the machine's.

#![expect(clippy::unwrap_used, reason = "a test")]

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use plumb_core::boundary::Sensitivity;
use plumb_core::content::{Chunk, ChunkTag, RawBlock};
use plumb_core::identity::SecretKey;
use plumb_core::knowledge::{KnowledgeType, KnowledgeUnit, Origin, SourceType, UnitState};
use plumb_core::measure::Timestamp;
use plumb_storage::{
    AuditEvent, Blocks, Change, IndexOptions, Keyspace, Records, RecordsExt, Store, StoreOptions, TextIndex, unit,
};

const THREADS: u64 = 4;
const ROUNDS: u64 = 10;
const DIR: &str = "PLUMB_CRASH_DIR";

fn open(dir: &Path) -> (Store, TextIndex) {
    let options = StoreOptions { cache_bytes: 16 * 1024 * 1024, reserve_bytes: 0 };
    let store = Store::open(&dir.join("store"), options).unwrap();
    // Often, so that commits of the index are hit too.
    let options =
        IndexOptions { commit_every: Duration::from_millis(10), writer_bytes: 15_000_000, ..IndexOptions::default() };
    let index = TextIndex::open(&dir.join("index"), &store, options).unwrap();
    (store, index)
}

/// The chunk of a thread's `n`-th step.
fn chunk(thread: u64, n: u64) -> RawBlock {
    RawBlock::encode(&Chunk {
        tag: ChunkTag,
        source: RawBlock::raw(b"a source".to_vec()).cid,
        ordinal: 0,
        start: 0,
        end: 0,
        title: "Log".into(),
        headings: Vec::new(),
        page: None,
        text: format!("valve {n} of thread {thread}"),
    })
    .unwrap()
}

fn unit_of(block: &RawBlock, n: u64) -> KnowledgeUnit {
    let node = SecretKey::from_seed([1; 32]).public();
    KnowledgeUnit {
        chunk: block.cid,
        source: RawBlock::raw(b"a source".to_vec()).cid,
        kind: KnowledgeType::Context,
        scope: "team:team-water".parse().unwrap(),
        sensitivity: Sensitivity::ALL[(n % 4) as usize],
        origin: Origin {
            source_type: SourceType::Document,
            source_ref: "file:log".into(),
            creator: None,
            publisher: node,
            org: node,
            department: "department-operations".parse().unwrap(),
        },
        state: UnitState::Active,
    }
}

/// A value of many pieces, for some steps.
fn long_value(thread: u64, n: u64) -> Vec<u8> {
    let length = if n.is_multiple_of(3) { 40_000 } else { 100 };
    (0..length).map(|i| (i * 31 + n * 7 + thread) as u8).collect()
}

fn key(thread: u64, n: u64) -> Vec<u8> {
    [thread.to_be_bytes(), n.to_be_bytes()].concat()
}

/// Every fifth step takes back what was done two steps before.
fn takes_back(n: u64) -> bool {
    n % 5 == 4
}

fn step(thread: u64, n: u64) -> Change {
    let mut change = Change::new(AuditEvent {
        at: Timestamp(n as i64),
        actor: format!("thread-{thread}"),
        action: "test.step".into(),
        subject: n.to_string(),
        outcome: "ok".into(),
        detail: String::new(),
    });
    let done = (n > 0).then(|| n.to_be_bytes().to_vec());
    change.expect(Keyspace::Settings, &thread.to_be_bytes(), done).put(
        Keyspace::Settings,
        &thread.to_be_bytes(),
        (n + 1).to_be_bytes().to_vec(),
    );
    if takes_back(n) {
        let block = chunk(thread, n - 2);
        change.delete_unit(&block.cid).release(&block.cid, b"unit").delete(Keyspace::Answers, &key(thread, n - 2));
    } else {
        let block = chunk(thread, n);
        let unit = unit_of(&block, n);
        change.hold(&block.cid, b"unit").put_block(block).put_unit(&unit).put(
            Keyspace::Answers,
            &key(thread, n),
            long_value(thread, n),
        );
    }
    change
}

/// How many steps of a thread are in the store.
fn steps_done(store: &Store, thread: u64) -> u64 {
    let value = store.get(Keyspace::Settings, &thread.to_be_bytes()).unwrap();
    value.map_or(0, |v| u64::from_be_bytes(v[..].try_into().unwrap()))
}

/// The child. As a test of its own it does nothing.
#[test]
fn child() {
    let Some(dir) = std::env::var_os(DIR) else { return };
    let (store, _index) = open(Path::new(&dir));
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let store = &store;
            scope.spawn(move || {
                for n in steps_done(store, thread).. {
                    store.commit(step(thread, n)).unwrap();
                    let mut out = std::io::stdout().lock();
                    writeln!(out, "ack {thread} {n}").unwrap();
                    out.flush().unwrap();
                }
            });
        }
    });
}

#[test]
fn what_was_acknowledged_survives_kill_9() {
    let seed = std::env::var("PLUMB_SEED").map_or_else(|_| rand::random(), |s| s.parse().unwrap());
    println!("PLUMB_SEED={seed}");
    let mut dice = seed;
    let mut roll = move |n: u64| {
        // splitmix64
        dice = u64::wrapping_add(dice, 0x9e37_79b9_7f4a_7c15);
        let mut z: u64 = dice;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % n
    };
    let dir = tempfile::tempdir().unwrap();
    let mut acknowledged = BTreeMap::new();
    for round in 0..ROUNDS {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "child", "--nocapture", "--test-threads=1"])
            .env(DIR, dir.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let n_acks = 1 + roll(300);
        let mut seen = 0;
        while seen < n_acks {
            let line = lines.next().expect("the child ended by itself").unwrap();
            seen += u64::from(note(&mut acknowledged, &line));
        }
        // The moment of the last line is always just behind a flush; so a little later, or a little later still.
        std::thread::sleep(Duration::from_micros(roll(20_000)));
        child.kill().unwrap();
        // What it had still said counts as well.
        for line in lines.map_while(Result::ok) {
            note(&mut acknowledged, &line);
        }
        child.wait().unwrap();
        check(dir.path(), &acknowledged, round);
    }
}

/// Notes an acknowledgement; returns whether the line was one. A line cut short by the kill is none.
fn note(acknowledged: &mut BTreeMap<u64, u64>, line: &str) -> bool {
    // The harness may have begun the line.
    let Some((_, words)) = line.split_once("ack ") else { return false };
    let Some((thread, n)) = words.split_once(' ') else { return false };
    let (Ok(thread), Ok(n)) = (thread.parse::<u64>(), n.parse::<u64>()) else { return false };
    let steps = acknowledged.entry(thread).or_default();
    // The first of a round may leave one out, which was done and not told. A number that was cut short is smaller than
    // the step that is due.
    if n == *steps || n == *steps + 1 {
        *steps = n + 1;
    }
    true
}

fn check(dir: &Path, acknowledged: &BTreeMap<u64, u64>, round: u64) {
    let (store, index) = open(dir);
    let mut total = 0;
    let mut expected: [BTreeSet<_>; 4] = Default::default();
    for thread in 0..THREADS {
        let done = steps_done(&store, thread);
        let acked = acknowledged.get(&thread).copied().unwrap_or(0);
        // One step of each thread may have been on its way.
        assert!(done == acked || done == acked + 1, "round {round}: thread {thread} has {done} of {acked} steps");
        total += done;
        for n in (0..done).filter(|n| !takes_back(*n)) {
            let block = chunk(thread, n);
            let is_there = !(takes_back(n + 2) && n + 2 < done);
            let context = format!("round {round}: step {n} of thread {thread}");
            assert_eq!(store.block(&block.cid).unwrap(), is_there.then_some(block.clone()), "{context}");
            assert_eq!(
                store.get(Keyspace::Answers, &key(thread, n)).unwrap(),
                is_there.then(|| long_value(thread, n)),
                "{context}"
            );
            assert_eq!(unit(&store, &block.cid).unwrap(), is_there.then(|| unit_of(&block, n)), "{context}");
            if is_there {
                expected[(n % 4) as usize].insert(block.cid);
            }
        }
        // Nothing of a step that is not there.
        assert_eq!(store.get(Keyspace::Answers, &key(thread, done)).unwrap(), None);
    }
    let head = store.audit_verify().unwrap();
    assert_eq!(head.size, total, "round {round}: one event for each change");
    let mut events: Vec<_> =
        store.audit_events(0, usize::MAX).unwrap().into_iter().map(|(_, e)| (e.actor, e.at)).collect();
    events.sort();
    events.dedup();
    assert_eq!(events.len() as u64, total);
    let n_units: usize = expected.iter().map(BTreeSet::len).sum();
    assert_eq!(store.rows(Keyspace::Units, &[]).count(), n_units);
    assert_eq!(store.rows(Keyspace::Blocks, &[]).count(), n_units);
    assert_eq!(store.damaged_blocks().count(), 0);

    let searcher = index.searcher();
    assert_eq!(searcher.position(), store.position());
    for class in Sensitivity::ALL {
        let found: BTreeSet<_> = searcher.ids(class).collect::<Result<_, _>>().unwrap();
        assert_eq!(found, expected[class as usize], "round {round}: {class}");
    }
    assert_eq!(index.counters().rebuilt, 0, "round {round}: a crash makes no index unusable");
}
