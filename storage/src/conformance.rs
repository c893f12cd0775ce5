//! One suite for every backend: what `Records` and `Blocks` promise, whatever stands behind them.
//!
//! Each check gets a fresh store. A backend is conforming when `suite` returns.

use cid::Cid;
use plumb_core::boundary::Sensitivity;
use plumb_core::content::RawBlock;

use crate::error::StorageError;
use crate::fixture::{change, chunk, event, unit};
use crate::keyspace::{KEY_BYTES_MAX, Keyspace};
use crate::outbox::{IndexOp, Position};
use crate::records::{Blocks, Records, RecordsExt};
use crate::store::Store;

pub(crate) fn suite(fresh: &dyn Fn() -> Store) {
    for check in [
        what_is_put_is_got,
        keyspaces_do_not_touch,
        scans_are_ordered_and_bounded,
        a_change_is_whole_or_nothing,
        conditions_are_compare_and_set,
        reserved_keyspaces_are_the_stores_own,
        limits_are_refusals,
        blocks_are_what_their_names_say,
        a_block_goes_with_its_last_holder,
        positions_count_index_operations,
        every_change_is_in_the_audit_log,
        long_values_are_values,
        units_lead_to_index_operations,
        many_threads_lose_nothing,
    ] {
        check(&fresh());
    }
}

fn what_is_put_is_got(store: &Store) {
    assert_eq!(store.get(Keyspace::Jobs, b"a").unwrap(), None);
    let mut first = change();
    first.put(Keyspace::Jobs, b"a", b"1".to_vec()).put(Keyspace::Jobs, b"b", Vec::new());
    store.commit(first).unwrap();
    assert_eq!(store.get(Keyspace::Jobs, b"a").unwrap(), Some(b"1".to_vec()));
    assert_eq!(store.get(Keyspace::Jobs, b"b").unwrap(), Some(Vec::new()), "an empty value is a value");
    let mut second = change();
    second.put(Keyspace::Jobs, b"a", b"2".to_vec()).delete(Keyspace::Jobs, b"b").delete(Keyspace::Jobs, b"none");
    store.commit(second).unwrap();
    assert_eq!(store.get(Keyspace::Jobs, b"a").unwrap(), Some(b"2".to_vec()));
    assert_eq!(store.get(Keyspace::Jobs, b"b").unwrap(), None);
    // Within a change the last step on a key counts.
    let mut third = change();
    third.put(Keyspace::Jobs, b"a", b"3".to_vec()).delete(Keyspace::Jobs, b"a").put(
        Keyspace::Jobs,
        b"a",
        b"4".to_vec(),
    );
    store.commit(third).unwrap();
    assert_eq!(store.get(Keyspace::Jobs, b"a").unwrap(), Some(b"4".to_vec()));
}

fn keyspaces_do_not_touch(store: &Store) {
    let mut all = change();
    for keyspace in Keyspace::ALL.iter().filter(|k| !k.is_reserved()) {
        for key in [&[][..], &[0], &[255], &[255, 255]] {
            all.put(*keyspace, key, vec![keyspace.prefix()]);
        }
    }
    store.commit(all).unwrap();
    for keyspace in Keyspace::ALL.iter().filter(|k| !k.is_reserved()) {
        let keys: Vec<_> = store.scan(*keyspace, &[], None, 100).unwrap();
        assert_eq!(
            keys,
            [&[][..], &[0], &[255], &[255, 255]].map(|key| (key.to_vec(), vec![keyspace.prefix()])),
            "{keyspace}"
        );
        assert_eq!(store.last(*keyspace, &[]).unwrap().unwrap().0, [255, 255]);
        assert_eq!(store.scan_back(*keyspace, &[], None, 100).unwrap().len(), 4);
    }
}

fn scans_are_ordered_and_bounded(store: &Store) {
    let mut many = change();
    for n in 0..600u32 {
        many.put(Keyspace::Lineage, format!("a{n:04}").as_bytes(), n.to_be_bytes().to_vec());
    }
    many.put(Keyspace::Lineage, b"b", Vec::new());
    store.commit(many).unwrap();
    let keys = |rows: Vec<(Vec<u8>, Vec<u8>)>| -> Vec<String> {
        rows.into_iter().map(|(key, _)| String::from_utf8(key).unwrap()).collect()
    };
    assert_eq!(keys(store.scan(Keyspace::Lineage, b"a", None, 3).unwrap()), ["a0000", "a0001", "a0002"]);
    assert_eq!(keys(store.scan(Keyspace::Lineage, b"a", Some(b"a0598"), 9).unwrap()), ["a0598", "a0599"]);
    assert_eq!(keys(store.scan(Keyspace::Lineage, b"a01", Some(b"a0000"), 1).unwrap()), ["a0100"]);
    assert_eq!(keys(store.scan(Keyspace::Lineage, b"a", Some(b"b"), 9).unwrap()), [""; 0]);
    assert_eq!(keys(store.scan(Keyspace::Lineage, b"c", None, 9).unwrap()), [""; 0]);
    assert_eq!(keys(store.scan(Keyspace::Lineage, b"a", None, 0).unwrap()), [""; 0]);
    assert_eq!(keys(store.scan_back(Keyspace::Lineage, b"a", None, 2).unwrap()), ["a0599", "a0598"]);
    assert_eq!(keys(store.scan_back(Keyspace::Lineage, b"a", Some(b"a0001"), 9).unwrap()), ["a0001", "a0000"]);
    assert_eq!(keys(store.scan_back(Keyspace::Lineage, b"a", Some(b"a"), 9).unwrap()), [""; 0]);
    assert_eq!(keys(store.scan_back(Keyspace::Lineage, b"a", Some(b"b"), 1).unwrap()), ["a0599"]);
    assert_eq!(store.last(Keyspace::Lineage, b"").unwrap().unwrap().0, b"b");
    let all: Vec<_> = store.rows(Keyspace::Lineage, b"a").collect::<Result<_, _>>().unwrap();
    assert_eq!(all.len(), 600);
    assert!(all.is_sorted());
}

fn a_change_is_whole_or_nothing(store: &Store) {
    let block = RawBlock::raw(b"evidence".to_vec());
    let cid = block.cid;
    let mut refused = change();
    refused.put_block(block).put(Keyspace::Jobs, b"a", b"1".to_vec()).index(IndexOp::Remove { chunk: cid }).expect(
        Keyspace::Jobs,
        b"a",
        Some(b"0".to_vec()),
    );
    let before = (store.position(), store.audit_head());
    assert!(matches!(store.commit(refused), Err(StorageError::Conflict { keyspace: Keyspace::Jobs, .. })));
    assert!(!store.has(&cid).unwrap());
    assert_eq!(store.get(Keyspace::Jobs, b"a").unwrap(), None);
    assert_eq!((store.position(), store.audit_head()), before);
}

fn conditions_are_compare_and_set(store: &Store) {
    let create = |value: &[u8]| {
        let mut create = change();
        create.expect_absent(Keyspace::Jobs, b"lease").put(Keyspace::Jobs, b"lease", value.to_vec());
        store.commit(create)
    };
    create(b"me").unwrap();
    assert!(create(b"you").is_err());
    let swap = |from: &[u8], to: &[u8]| {
        let mut swap = change();
        swap.expect(Keyspace::Jobs, b"lease", Some(from.to_vec())).put(Keyspace::Jobs, b"lease", to.to_vec());
        store.commit(swap)
    };
    assert!(swap(b"you", b"us").is_err());
    swap(b"me", b"us").unwrap();
    assert_eq!(store.get(Keyspace::Jobs, b"lease").unwrap().unwrap(), b"us");
    // Any row may be a condition, those of the store itself too.
    let mut on_meta = change();
    on_meta.expect_absent(Keyspace::Meta, b"nothing of this name");
    store.commit(on_meta).unwrap();
}

fn reserved_keyspaces_are_the_stores_own(store: &Store) {
    for keyspace in Keyspace::ALL.iter().filter(|k| k.is_reserved()) {
        let mut put = change();
        put.put(*keyspace, b"a", Vec::new());
        assert!(matches!(store.commit(put), Err(StorageError::Reserved(_))));
        let mut delete = change();
        delete.delete(*keyspace, b"a");
        assert!(matches!(store.commit(delete), Err(StorageError::Reserved(_))));
    }
}

fn limits_are_refusals(store: &Store) {
    let mut long_key = change();
    long_key.put(Keyspace::Jobs, &[1; KEY_BYTES_MAX + 1], Vec::new());
    assert!(matches!(store.commit(long_key), Err(StorageError::KeyTooLong { .. })));
    let mut longest = change();
    longest.put(Keyspace::Jobs, &[1; KEY_BYTES_MAX], Vec::new());
    store.commit(longest).unwrap();
    let mut large = change();
    for n in 0..5u8 {
        large.put(Keyspace::Jobs, &[n], vec![n; 60 * 1024 * 1024]);
    }
    assert!(matches!(store.commit(large), Err(StorageError::TooLarge { .. })));
}

fn blocks_are_what_their_names_say(store: &Store) {
    let block = RawBlock::encode(&vec!["a", "b"]).unwrap();
    let mut put = change();
    put.put_block(block.clone()).put_block(block.clone());
    store.commit(put).unwrap();
    assert_eq!(store.block(&block.cid).unwrap(), Some(block.clone()));
    assert!(store.has(&block.cid).unwrap());
    let absent = RawBlock::raw(b"absent".to_vec()).cid;
    assert_eq!(store.block(&absent).unwrap(), None);
    assert!(!store.has(&absent).unwrap());
    let mut forged = change();
    forged.put_block(RawBlock { cid: absent, bytes: b"something else".to_vec() });
    assert!(matches!(store.commit(forged), Err(StorageError::Damaged { .. })));
    let foreign: Cid = "QmYwAPJzv5CZsnA625s3Xf2nemtYgPpHdWEz79ojWnPbdG".parse().unwrap();
    assert!(store.block(&foreign).is_err(), "a name that cannot be checked is refused");
    assert_eq!(store.damaged_blocks().count(), 0);
}

fn a_block_goes_with_its_last_holder(store: &Store) {
    let block = RawBlock::raw(b"shared".to_vec());
    let cid = block.cid;
    let mut held = change();
    held.put_block(block.clone()).hold(&cid, b"one").hold(&cid, b"two").hold(&cid, b"two");
    store.commit(held).unwrap();
    let release = |holders: &[&[u8]]| {
        let mut release = change();
        for holder in holders {
            release.release(&cid, holder);
        }
        store.commit(release).unwrap();
        store.has(&cid).unwrap()
    };
    assert!(release(&[b"one"]));
    assert!(release(&[b"one", b"nobody"]), "who does not hold cannot let go");
    // Another holder comes in the same change in which the last one goes.
    let mut handed_on = change();
    handed_on.hold(&cid, b"three").release(&cid, b"two");
    store.commit(handed_on).unwrap();
    assert!(store.has(&cid).unwrap());
    assert!(!release(&[b"three"]));
    // A block that nobody ever held stays until it is erased.
    let mut free = change();
    free.put_block(block);
    store.commit(free).unwrap();
    assert!(release(&[b"nobody"]));
    let mut erase = change();
    erase.erase_block(&cid).hold(&cid, b"still");
    store.commit(erase).unwrap();
    assert!(!store.has(&cid).unwrap());
    assert_eq!(store.missing_blocks().collect::<Result<Vec<_>, _>>().unwrap(), [cid]);
}

fn positions_count_index_operations(store: &Store) {
    let (cid, _) = chunk(0, "a");
    assert_eq!(store.commit(change()).unwrap(), Position(0));
    let mut two = change();
    two.index(IndexOp::Remove { chunk: cid }).index(IndexOp::Remove { chunk: cid });
    assert_eq!(store.commit(two).unwrap(), Position(2));
    assert_eq!(store.commit(change()).unwrap(), Position(2));
    assert_eq!(store.position(), Position(2));
    let rows = store.outbox(Position(0), 10).unwrap();
    assert_eq!(rows.iter().map(|row| row.0.0).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(store.outbox(Position(1), 10).unwrap().len(), 1);
    assert_eq!(store.counters().unwrap().outbox_rows, 2);
    store.trim_outbox(Position(1));
    // The trim goes through the writer; behind this change it is done.
    store.commit(change()).unwrap();
    assert_eq!(store.outbox(Position(0), 10).unwrap().len(), 1);
    assert_eq!(store.trimmed(), Position(1));
    assert_eq!(store.position(), Position(2));
}

fn every_change_is_in_the_audit_log(store: &Store) {
    let empty = store.audit_verify().unwrap();
    assert_eq!(empty.size, 0);
    let mut first = change();
    first.audit(event("test.more"));
    store.commit(first).unwrap();
    store.commit(change()).unwrap();
    let head = store.audit_verify().unwrap();
    assert_eq!(head.size, 3);
    assert_ne!(head.root, empty.root);
    let events = store.audit_events(1, 10).unwrap();
    assert_eq!(
        events.iter().map(|e| (e.0, e.1.action.as_str())).collect::<Vec<_>>(),
        [(1, "test.more"), (2, "test.change")]
    );
    let leaves: Vec<_> =
        store.rows(Keyspace::Audit, &[]).map(|row| plumb_core::log::leaf_hash(&row.unwrap().1)).collect();
    assert_eq!(plumb_core::log::root_of(&leaves), head.root, "the head is that of RFC 6962 over the leaves");
}

fn long_values_are_values(store: &Store) {
    let value = |seed: u8, n: usize| -> Vec<u8> { (0..n).map(|i| (i % 251) as u8 ^ seed).collect() };
    for n in [0, 1, 5119, 5120, 5121, 10_240, 10_241, 1_000_000] {
        let mut put = change();
        put.put(Keyspace::Answers, b"long", value(7, n)).put(Keyspace::Answers, b"longer", value(9, n + 1));
        store.commit(put).unwrap();
        assert_eq!(store.get(Keyspace::Answers, b"long").unwrap(), Some(value(7, n)), "{n}");
        let rows = store.scan(Keyspace::Answers, &[], None, 10).unwrap();
        assert_eq!(rows, [(b"long".to_vec(), value(7, n)), (b"longer".to_vec(), value(9, n + 1))]);
        let mut swap = change();
        swap.expect(Keyspace::Answers, b"long", Some(value(7, n))).put(Keyspace::Answers, b"long", value(8, n));
        store.commit(swap).unwrap();
        assert_eq!(store.get(Keyspace::Answers, b"long").unwrap(), Some(value(8, n)));
    }
    let mut delete = change();
    delete.delete(Keyspace::Answers, b"long").delete(Keyspace::Answers, b"longer");
    store.commit(delete).unwrap();
    assert_eq!(store.scan(Keyspace::Answers, &[], None, 10).unwrap(), []);
}

fn units_lead_to_index_operations(store: &Store) {
    use plumb_core::knowledge::UnitState;
    let (cid, block) = chunk(0, "valve");
    let mut unit = unit(cid, Sensitivity::Internal, "team-water", Some("person-mara-lindqvist"));
    let mut put = change();
    put.put_block(block).put_unit(&unit);
    store.commit(put).unwrap();
    assert_eq!(crate::units::unit(store, &cid).unwrap().as_ref(), Some(&unit));
    let live: Vec<_> = crate::units::live_ops(store).collect::<Result<_, _>>().unwrap();
    assert!(matches!(&live[..], [IndexOp::Add { sensitivity: Sensitivity::Internal, chunk, .. }] if *chunk == cid));
    assert_eq!(store.outbox(Position(0), 9).unwrap(), [(Position(1), live[0].clone())]);
    // The states hold CIDs, so this also shows that they come back out of the store.
    for state in [UnitState::Retracted { notice: cid }, UnitState::Superseded { by: cid }] {
        unit.state = state;
        let mut put = change();
        put.put_unit(&unit);
        store.commit(put).unwrap();
        assert_eq!(crate::units::unit(store, &cid).unwrap().as_ref(), Some(&unit));
        assert_eq!(crate::units::live_ops(store).count(), 0);
    }
    assert!(matches!(
        store.outbox(Position(1), 9).unwrap()[..],
        [(_, IndexOp::Remove { .. }), (_, IndexOp::Remove { .. })]
    ));
}

/// Counters that many threads raise by compare-and-set: no raise is lost, none is counted twice.
fn many_threads_lose_nothing(store: &Store) {
    const THREADS: u64 = 8;
    const RAISES: u64 = 25;
    let before = store.audit_head().size;
    let refused: u64 = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|_| {
                scope.spawn(|| {
                    let mut refused = 0;
                    for _ in 0..RAISES {
                        loop {
                            let found = store.get(Keyspace::Settings, b"counter").unwrap();
                            let n = found.as_ref().map_or(0, |v| u64::from_be_bytes(v[..].try_into().unwrap()));
                            let mut raise = change();
                            raise.expect(Keyspace::Settings, b"counter", found).put(
                                Keyspace::Settings,
                                b"counter",
                                (n + 1).to_be_bytes().to_vec(),
                            );
                            match store.commit(raise) {
                                Ok(_) => break,
                                Err(StorageError::Conflict { .. }) => refused += 1,
                                Err(error) => panic!("{error}"),
                            }
                        }
                    }
                    refused
                })
            })
            .collect();
        threads.into_iter().map(|t| t.join().unwrap()).sum()
    });
    let counter = store.get(Keyspace::Settings, b"counter").unwrap().unwrap();
    assert_eq!(u64::from_be_bytes(counter[..].try_into().unwrap()), THREADS * RAISES);
    assert_eq!(store.audit_head().size - before, THREADS * RAISES, "refused changes ({refused}) leave no event");
    store.audit_verify().unwrap();
}
