//! Following the outbox, standing still, being lost, being built anew.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use plumb_core::boundary::{Access, Sensitivity};

use super::{World, by_hand, words};
use crate::engine::{Batch, Engine, MemoryEngine};
use crate::fixture::{change, chunk, scratch, unit};
use crate::index::{IndexError, IndexOptions, TextIndex};
use crate::keyspace::Keyspace;
use crate::outbox::Position;
use crate::records::Records;
use crate::store::{Store, StoreOptions};

/// A world with something in three partitions, committed.
fn small_world() -> World {
    let mut world = World::new();
    let a = world.add(Sensitivity::Public, "team-water", None, "The valve was closed.");
    let b = world.add(Sensitivity::Internal, "team-water", None, "The pump was replaced.");
    world.add(Sensitivity::Restricted, "team-power", Some("person-mara"), "The grid failed.");
    world.flush();
    world.reclassify(&a, Sensitivity::Confidential);
    world.remove(&b);
    world.add(Sensitivity::Internal, "team-water", None, "Another pump.");
    world.flush();
    world.check_ids();
    world
}

#[test]
fn what_was_flushed_can_be_found_and_a_searcher_stays_as_it_is() {
    let mut world = World::new();
    let before = world.index().searcher();
    let cid = world.add(Sensitivity::Public, "team-water", None, "The valve was closed.");
    world.flush();
    let after = world.index().searcher();
    let find = |searcher: &crate::index::Searcher| {
        let query = words("valves");
        let stats = searcher.stats(&[Sensitivity::Public], &query).unwrap();
        searcher.candidates(Sensitivity::Public, &Access::Whole, &query, &stats, 9).unwrap()
    };
    assert_eq!(find(&before), []);
    assert_eq!(find(&after)[0].chunk, cid);
    world.remove(&cid);
    world.flush();
    assert_eq!(find(&after)[0].chunk, cid);
    assert_eq!(find(&world.index().searcher()), []);
    assert_eq!(world.index().searcher().position(), Position(2));
    world.index().flush_to(Position(u64::MAX)).unwrap();
}

#[test]
fn a_chunk_is_in_one_partition_only() {
    let mut world = World::new();
    let cid = world.add(Sensitivity::Public, "team-water", None, "The valve was closed.");
    for class in [Sensitivity::Confidential, Sensitivity::Internal, Sensitivity::Internal, Sensitivity::Public] {
        // Before and after the first place of it was committed.
        world.reclassify(&cid, class);
        world.check_ids_after_flush();
    }
    world.reclassify(&cid, Sensitivity::Restricted);
    world.reclassify(&cid, Sensitivity::Confidential);
    world.check_ids_after_flush();
}

impl World {
    fn check_ids_after_flush(&self) {
        self.flush();
        self.check_ids();
    }
}

#[test]
fn the_index_goes_on_where_it_was() {
    let mut world = small_world();
    world.close();
    // While it is closed the store goes on.
    let cid = world.add(Sensitivity::Public, "team-water", None, "A late valve.");
    world.add(Sensitivity::Internal, "team-water", None, "A late pump.");
    world.remove(&cid);
    world.open();
    assert_eq!(world.index().counters().rebuilt, 0);
    assert_eq!(world.index().counters().backlog, 0);
    world.check_ids();
}

#[test]
fn an_index_that_cannot_be_used_is_built_anew() {
    type Spoil = fn(&World);
    let spoils: [(&str, u64, Spoil); 6] = [
        ("all of it is gone", 4, |world| fs::remove_dir_all(world.dir.path()).unwrap()),
        ("one partition is gone", 1, |world| fs::remove_dir_all(world.dir.path().join("internal")).unwrap()),
        ("its description is gone", 1, |world| {
            fs::remove_file(world.dir.path().join("restricted").join("meta.json")).unwrap();
        }),
        ("its description is damaged", 1, |world| {
            let path = world.dir.path().join("public").join("meta.json");
            let text = fs::read_to_string(&path).unwrap();
            fs::write(path, &text[..text.len() / 2]).unwrap();
        }),
        ("it is of another version", 1, |world| {
            let path = world.dir.path().join("confidential").join("meta.json");
            let text = fs::read_to_string(&path).unwrap();
            let other = text.replace("\\\"version\\\":", "\\\"version\\\":7");
            assert_ne!(text, other);
            fs::write(path, other).unwrap();
        }),
        ("a segment is cut short", 1, |world| {
            let segment = fs::read_dir(world.dir.path().join("internal"))
                .unwrap()
                .map(|entry| entry.unwrap().path())
                .find(|path| path.extension().is_some_and(|e| e == "term"))
                .unwrap();
            fs::File::options().write(true).open(segment).unwrap().set_len(10).unwrap();
        }),
    ];
    for (what, n_rebuilt, spoil) in spoils {
        let mut world = small_world();
        world.close();
        spoil(&world);
        world.add(Sensitivity::Public, "team-water", None, "A late valve.");
        world.open();
        assert_eq!(world.index().counters().rebuilt, n_rebuilt, "{what}");
        world.check_ids();
        // And it goes on from there.
        world.add(Sensitivity::Internal, "team-water", None, "A later pump.");
        world.check_ids_after_flush();
    }
}

#[test]
fn an_index_of_another_store_is_built_anew() {
    let mut world = small_world();
    world.close();
    world.store = Store::in_memory().unwrap();
    world.units.clear();
    world.add(Sensitivity::Public, "team-water", None, "Another valve.");
    world.open();
    assert_eq!(world.index().counters().rebuilt, 4);
    world.check_ids();
}

#[test]
fn an_index_that_missed_trimmed_rows_is_built_anew() {
    let mut world = small_world();
    world.close();
    let stale = scratch();
    let copy = |from: &std::path::Path, to: &std::path::Path| {
        let _ = fs::remove_dir_all(to);
        fs::create_dir_all(to).unwrap();
        for entry in fs::read_dir(from).unwrap() {
            let entry = entry.unwrap();
            fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
        }
    };
    copy(&world.dir.path().join("public"), stale.path());
    world.open();
    // Long enough a stretch that even the idle partitions are committed and the outbox is trimmed.
    let cid = world.add(Sensitivity::Internal, "team-water", None, "A valve.");
    for _ in 0..60 {
        let mut touch = change();
        for _ in 0..200 {
            touch.put_unit(&world.units[&cid].0);
        }
        world.store.commit(touch).unwrap();
    }
    world.check_ids_after_flush();
    world.close();
    world.store.commit(change()).unwrap();
    assert!(world.store.trimmed() > Position(0));
    copy(stale.path(), &world.dir.path().join("public"));
    world.open();
    assert_eq!(world.index().counters().rebuilt, 1);
    world.check_ids();
}

#[test]
fn what_an_interrupted_rebuild_left_is_removed() {
    let mut world = small_world();
    world.close();
    for leftover in ["public.building", "internal.retired"] {
        fs::create_dir(world.dir.path().join(leftover)).unwrap();
        fs::write(world.dir.path().join(leftover).join("x"), "x").unwrap();
    }
    world.open();
    world.check_ids();
    let mut left: Vec<_> =
        fs::read_dir(world.dir.path()).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    left.sort();
    assert_eq!(left, ["confidential", "internal", "public", "restricted"]);
}

#[test]
fn a_rebuild_under_way_loses_nothing_of_what_happens_meanwhile() {
    let mut world = small_world();
    for n in 0..300 {
        world.add(Sensitivity::ALL[n % 4], "team-water", None, "A valve, a pump, a grid.");
    }
    let done = AtomicBool::new(false);
    let index = world.index.take().unwrap();
    std::thread::scope(|scope| {
        let searching = scope.spawn(|| {
            let query = words("grid");
            while !done.load(Ordering::Relaxed) {
                let searcher = index.searcher();
                let stats = searcher.stats(&Sensitivity::ALL, &query).unwrap();
                searcher.candidates(Sensitivity::Restricted, &Access::Whole, &query, &stats, 5).unwrap();
            }
        });
        let rebuilding = scope.spawn(|| index.rebuild().unwrap());
        let chunks: Vec<_> = world.units.keys().copied().collect();
        for (n, chunk) in chunks.iter().enumerate().take(100) {
            match n % 3 {
                0 => world.remove(chunk),
                1 => world.reclassify(chunk, Sensitivity::ALL[n % 4]),
                _ => drop(world.add(Sensitivity::ALL[n % 4], "team-water", None, "Meanwhile.")),
            }
        }
        rebuilding.join().unwrap();
        done.store(true, Ordering::Relaxed);
        searching.join().unwrap();
    });
    assert_eq!(index.counters().rebuilt, 4 + 4, "the first four at the very beginning");
    world.index = Some(index);
    world.check_ids_after_flush();
    assert_eq!(world.index().damaged_partitions().unwrap(), []);
}

#[test]
fn a_chunk_whose_block_is_damaged_is_not_found_and_is_counted() {
    let engine = Arc::new(MemoryEngine::default());
    let store = Store::over(engine.clone()).unwrap();
    let dir = scratch();
    let (cid, block) = chunk(1, "valve");
    let (lost, _) = chunk(2, "valve");
    let mut put = change();
    put.put_block(block);
    put.put_unit(&unit(cid, Sensitivity::Public, "team-water", None));
    put.put_unit(&unit(lost, Sensitivity::Public, "team-water", None));
    store.commit(put).unwrap();
    engine.apply(&Batch::from([(Keyspace::Blocks.key(&cid.to_bytes()), Some(b"x".to_vec()))])).unwrap();
    // One that was taken back right after is not missed.
    let (brief, _) = chunk(3, "valve");
    let mut put = change();
    put.put_unit(&unit(brief, Sensitivity::Public, "team-water", None)).delete_unit(&brief);
    let index = TextIndex::open(dir.path(), &store, by_hand()).unwrap();
    assert_eq!(index.counters().n_docs, [0; 4]);
    assert_eq!(index.counters().unreadable, 2);
    store.commit(put).unwrap();
    index.flush_to(store.position()).unwrap();
    assert_eq!(index.counters().unreadable, 2);
}

#[test]
fn without_being_asked_it_commits_after_a_while() {
    let store = Store::in_memory().unwrap();
    let dir = scratch();
    let options = IndexOptions { commit_every: Duration::from_millis(1), ..IndexOptions::default() };
    let index = TextIndex::open(dir.path(), &store, options).unwrap();
    let (cid, block) = chunk(1, "valve");
    let mut put = change();
    put.put_block(block).put_unit(&unit(cid, Sensitivity::Public, "team-water", None));
    let position = store.commit(put).unwrap();
    while index.searcher().position() < position {
        std::thread::yield_now();
    }
    assert!(index.searcher().contains(Sensitivity::Public, &cid).unwrap());
}

/// The source of a rebuild that fails, once.
#[test]
fn a_failed_rebuild_is_told_and_the_index_serves_on() {
    static FAILS: AtomicBool = AtomicBool::new(false);
    let store = Store::in_memory().unwrap();
    let dir = scratch();
    let options = IndexOptions {
        live: |store| {
            let broken = FAILS.swap(false, Ordering::Relaxed).then_some(Err(crate::StorageError::Stopped));
            Box::new(broken.into_iter().chain(crate::live_ops(store)))
        },
        ..by_hand()
    };
    let index = TextIndex::open(dir.path(), &store, options).unwrap();
    let (cid, block) = chunk(1, "valve");
    let mut put = change();
    put.put_block(block).put_unit(&unit(cid, Sensitivity::Public, "team-water", None));
    let position = store.commit(put).unwrap();
    index.flush_to(position).unwrap();
    FAILS.store(true, Ordering::Relaxed);
    let error = index.rebuild().unwrap_err();
    assert!(matches!(&error, IndexError::Stalled { reason } if reason.contains("writer has stopped")), "{error}");
    assert!(index.searcher().contains(Sensitivity::Public, &cid).unwrap());
    // It opens again by itself, does what is left of its orders, and goes on.
    index.rebuild().unwrap();
    assert_eq!(index.counters().stalled, None);
    assert!(index.searcher().contains(Sensitivity::Public, &cid).unwrap());
}

#[test]
fn an_index_that_cannot_catch_up_is_searched_all_the_same() {
    let store_dir = scratch();
    let dir = scratch();
    let open = |reserve_bytes| {
        let options = StoreOptions { cache_bytes: 16 * 1024 * 1024, reserve_bytes };
        let store = Store::open(store_dir.path(), options).unwrap();
        let index = TextIndex::open(dir.path(), &store, by_hand()).unwrap();
        (store, index)
    };
    let add = |store: &Store, n| {
        let (cid, block) = chunk(n, "valve");
        let mut put = change();
        put.put_block(block).put_unit(&unit(cid, Sensitivity::Public, "team-water", None));
        store.commit(put).unwrap();
        cid
    };
    let (store, index) = open(0);
    let first = add(&store, 1);
    index.flush_to(store.position()).unwrap();
    drop(index);
    let second = add(&store, 2);
    drop(store);
    // Now the disk is as good as full.
    let (store, index) = open(u64::MAX);
    let find = |index: &TextIndex, cid| index.searcher().contains(Sensitivity::Public, cid).unwrap();
    assert!(find(&index, &first));
    assert!(!find(&index, &second));
    assert!(index.counters().stalled.unwrap().contains("full"));
    assert!(matches!(index.flush_to(store.position()), Err(IndexError::Stalled { .. })));
    drop(index);
    drop(store);
    let (_store, index) = open(0);
    assert!(find(&index, &first) && find(&index, &second));
}
