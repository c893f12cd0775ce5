//! The vectors of a store that changes: what is deleted, relabelled, half written, and what a reader may see.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use cid::Cid;
use plumb_core::boundary::{Access, Clause, Sensitivity};
use plumb_core::vector::{ModelId, Pooling, Precision, Quantised};

use super::{VectorCounters, VectorIndex};
use crate::fixture::{change, chunk, entity, scratch, unit};
use crate::{Records, Store};

const PATIENCE: Duration = Duration::from_secs(20);

fn model(name: &str) -> ModelId {
    ModelId::new(name, [7; 32], 3, 128, Pooling::Mean, Precision::F32, 1).unwrap()
}

fn vector(coords: [i8; 3]) -> Quantised {
    Quantised::new(&model("one"), coords.to_vec()).unwrap()
}

/// Waits until the counters are as they should be.
fn until(index: &VectorIndex, what: &str, is_so: impl Fn(&VectorCounters) -> bool) -> VectorCounters {
    let begun = Instant::now();
    loop {
        let counters = index.counters();
        if is_so(&counters) {
            return counters;
        }
        assert!(begun.elapsed() < PATIENCE, "{what}: {counters:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn sums(counters: &VectorCounters) -> (u64, u64) {
    (counters.embedded.iter().sum(), counters.waiting.iter().sum())
}

/// Gives whatever waits a vector by its text: `a` points one way, `b` another, all else a third.
fn embed(index: &VectorIndex) -> BTreeMap<Cid, String> {
    let mut seen = BTreeMap::new();
    loop {
        let texts = index.waiting(2, Duration::ZERO).unwrap();
        if texts.is_empty() {
            return seen;
        }
        let direction = |text: &str| match text.lines().last() {
            Some("a") => vector([127, 0, 0]),
            Some("b") => vector([0, 127, 0]),
            _ => vector([0, 0, 127]),
        };
        let vectors: Vec<(Cid, Quantised)> = texts.iter().map(|(c, text)| (*c, direction(text))).collect();
        index.put(&vectors).unwrap();
        seen.extend(texts);
    }
}

/// A store, and the vectors of one model over it.
struct World {
    dir: tempfile::TempDir,
    store: Store,
    index: Option<VectorIndex>,
    ordinal: u32,
}

impl World {
    fn new() -> World {
        let (dir, store) = (scratch(), Store::in_memory().unwrap());
        let index = Some(open(dir.path(), &store, "one"));
        World { dir, store, index, ordinal: 0 }
    }

    fn index(&self) -> &VectorIndex {
        self.index.as_ref().unwrap()
    }

    fn close(&mut self) {
        self.index = None;
    }

    fn open(&mut self) {
        self.index = Some(open(self.dir.path(), &self.store, "one"));
    }

    fn add(&mut self, class: Sensitivity, team: &str, creator: Option<&str>, text: &str) -> Cid {
        self.ordinal += 1;
        let (cid, block) = chunk(self.ordinal, text);
        let mut change = change();
        change.put_block(block).put_unit(&unit(cid, class, team, creator));
        self.store.commit(change).unwrap();
        cid
    }

    fn delete(&self, chunk: &Cid) {
        let mut change = change();
        change.delete_unit(chunk);
        self.store.commit(change).unwrap();
    }

    fn has(&self, embedded: u64, waiting: u64) -> VectorCounters {
        until(self.index(), "chunks with and without vectors", |c| c.settled && sums(c) == (embedded, waiting))
    }

    /// What is found, which is also all that has a score when every chunk is named.
    fn nearest(&self, class: Sensitivity, access: &Access) -> Vec<Cid> {
        let question = vector([127, 1, 0]);
        let hits = self.index().nearest(class, access, &question, 10).unwrap();
        let named = crate::all_units(&self.store).map(|unit| unit.unwrap().chunk);
        let dots = self.index().dots(class, access, &question, named).unwrap();
        assert_eq!(hits.iter().collect::<BTreeSet<_>>(), dots.iter().collect());
        hits.into_iter().map(|(chunk, _)| chunk).collect()
    }

    fn bytes(&self, class: Sensitivity) -> Vec<u8> {
        fs::read(self.dir.path().join(format!("{class}.vec"))).unwrap()
    }
}

fn open(dir: &Path, store: &Store, name: &str) -> VectorIndex {
    VectorIndex::open(dir, store, &model(name)).unwrap()
}

const TEAM: &str = "team-platform";

#[test]
fn what_waits_is_embedded_and_found() {
    let mut world = World::new();
    let a = world.add(Sensitivity::Public, TEAM, None, "a");
    let b = world.add(Sensitivity::Public, TEAM, None, "b");
    let counters = world.has(0, 2);
    assert_eq!(counters.share(&[Sensitivity::Public]), 0);
    assert_eq!(world.nearest(Sensitivity::Public, &Access::Whole), []);
    assert_eq!(embed(world.index()).len(), 2);
    assert_eq!(world.has(2, 0).share(&Sensitivity::ALL), 1000);
    assert_eq!(world.nearest(Sensitivity::Public, &Access::Whole), [a, b]);
    // Embedded once: a later start finds them in the file.
    world.close();
    world.open();
    world.has(2, 0);
    assert_eq!(world.nearest(Sensitivity::Public, &Access::Whole), [a, b]);
}

#[test]
fn what_is_deleted_is_overwritten_even_while_nobody_looks() {
    let mut world = World::new();
    let a = world.add(Sensitivity::Internal, TEAM, None, "a");
    let b = world.add(Sensitivity::Internal, TEAM, None, "b");
    world.has(0, 2);
    embed(world.index());
    world.has(2, 0);
    let holds = |world: &World, chunk: &Cid| {
        let name = chunk.to_bytes();
        world.bytes(Sensitivity::Internal).windows(name.len()).any(|window| window == name)
    };
    assert!(holds(&world, &a) && holds(&world, &b));
    world.delete(&a);
    world.has(1, 0);
    assert!(!holds(&world, &a));
    assert_eq!(world.nearest(Sensitivity::Internal, &Access::Whole), [b]);
    world.close();
    world.delete(&b);
    world.open();
    world.has(0, 0);
    assert!(!holds(&world, &b));
    // Their places are used again.
    let before = world.bytes(Sensitivity::Internal).len();
    world.add(Sensitivity::Internal, TEAM, None, "a");
    world.has(0, 1);
    embed(world.index());
    assert_eq!(world.bytes(Sensitivity::Internal).len(), before);
}

#[test]
fn a_vector_that_comes_too_late_brings_nothing_back() {
    let mut world = World::new();
    let a = world.add(Sensitivity::Public, TEAM, None, "a");
    world.has(0, 1);
    let texts = world.index().waiting(10, Duration::ZERO).unwrap();
    world.delete(&a);
    world.has(0, 0);
    world.index().put(&[(texts[0].0, vector([127, 0, 0]))]).unwrap();
    assert_eq!(sums(&world.index().counters()), (0, 0));
}

#[test]
fn a_chunk_that_became_more_sensitive_leaves_where_it_was() {
    let mut world = World::new();
    let a = world.add(Sensitivity::Public, TEAM, None, "a");
    world.has(0, 1);
    embed(world.index());
    world.has(1, 0);
    let mut change = change();
    change.put_unit(&unit(a, Sensitivity::Confidential, TEAM, Some("person-mara")));
    world.store.commit(change).unwrap();
    let counters = until(world.index(), "the move", |c| c.embedded == [0, 0, 0, 1]);
    assert_eq!(counters.waiting, [0; 4], "it is the same text and the same vector");
    assert_eq!(world.nearest(Sensitivity::Public, &Access::Whole), []);
    assert_eq!(world.nearest(Sensitivity::Confidential, &Access::Whole), [a]);
}

#[test]
fn a_clause_narrows_the_scan() {
    let mut world = World::new();
    let ours = world.add(Sensitivity::Restricted, TEAM, None, "b");
    let theirs = world.add(Sensitivity::Restricted, "team-finance", Some("person-mara"), "a");
    world.has(0, 2);
    embed(world.index());
    world.has(2, 0);
    let part = |clause| Access::Part(clause);
    let of = |world: &World, access| world.nearest(Sensitivity::Restricted, &access);
    assert_eq!(of(&world, part(Clause { scopes: [entity(TEAM)].into(), ..Clause::default() })), [ours]);
    assert_eq!(of(&world, part(Clause { creator: Some(entity("person-mara")), ..Clause::default() })), [theirs]);
    assert_eq!(of(&world, part(Clause { chunks: [ours].into(), ..Clause::default() })), [ours]);
    let everybody = Clause { departments: [entity("department-operations")].into(), ..Clause::default() };
    assert_eq!(of(&world, part(everybody)), [theirs, ours]);
    assert_eq!(of(&world, part(Clause { scopes: [entity("team-unknown")].into(), ..Clause::default() })), []);
    assert_eq!(of(&world, Access::Closed), []);
}

#[test]
fn another_model_or_store_begins_anew() {
    let mut world = World::new();
    world.add(Sensitivity::Public, TEAM, None, "a");
    world.has(0, 1);
    embed(world.index());
    world.close();
    let other = open(world.dir.path(), &world.store, "two");
    until(&other, "everything waits", |c| c.settled && sums(c) == (0, 1));
    let refused = other.put(&[(other.waiting(1, Duration::ZERO).unwrap()[0].0, vector([1, 2, 3]))]);
    assert!(refused.is_err(), "a vector of another model");
}

#[test]
fn half_written_and_damaged_slots_are_empty() {
    let mut world = World::new();
    let a = world.add(Sensitivity::Public, TEAM, None, "a");
    world.has(0, 1);
    embed(world.index());
    let b = world.add(Sensitivity::Public, TEAM, None, "b");
    world.has(1, 1);
    embed(world.index());
    world.close();
    let path = world.dir.path().join("public.vec");
    let whole = fs::read(&path).unwrap();
    // The end of the second slot was never written, and a bit of the first has turned.
    for (cut, flip, left) in [(whole.len() - 1, None, 1), (whole.len(), Some(64 + 37), 1), (64, None, 0), (10, None, 0)]
    {
        fs::write(&path, &whole[..cut]).unwrap();
        if let Some(at) = flip {
            let mut file = fs::OpenOptions::new().write(true).open(&path).unwrap();
            file.seek(SeekFrom::Start(at)).unwrap();
            file.write_all(&[whole[usize::try_from(at).unwrap()] ^ 1]).unwrap();
        }
        world.open();
        world.has(left, 2 - left);
        embed(world.index());
        world.has(2, 0);
        assert_eq!(world.nearest(Sensitivity::Public, &Access::Whole), [a, b]);
        world.close();
    }
}
