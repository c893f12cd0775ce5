use plumb_core::identity::EntityId;
use plumb_core::log::{Cosignature, SignedCheckpoint, consistency_proof_from, root_from, root_of};
use plumb_core::measure::Duration;
use plumb_core::trust::certify;
use plumb_storage::{AuditEvent, StoreOptions};
use tempfile::TempDir;

use super::super::{
    Cause, Cosigned, Stopped, Tree, complete_trees, cosign_own, end_stop, index_of, put_aside, put_cosigned,
    put_stopped, put_witnessed, republish, stop, stopped, witnessed,
};
use super::*;

const NOW: Timestamp = Timestamp(1_760_000_000_000);

fn key(n: u8) -> SecretKey {
    SecretKey::from_seed([n; 32])
}

fn certificate(node: u8) -> Signed<Certificate> {
    let department: EntityId = "department-laboratory".parse().unwrap();
    certify(&key(1), "Northwater", key(node).public(), department, NOW, Duration::days(30)).unwrap()
}

fn own() -> NodeId {
    key(2).public()
}

fn store(dir: &TempDir) -> Store {
    Store::open(&dir.path().join("store"), StoreOptions::default()).unwrap()
}

fn event() -> AuditEvent {
    let word = || "test".to_string();
    AuditEvent { at: NOW, actor: word(), action: word(), subject: word(), outcome: word(), detail: word() }
}

fn change() -> Change {
    Change::new(event())
}

fn entry_of(n: u64) -> Vec<u8> {
    format!("entry {n}").into_bytes()
}

fn entries_of(range: std::ops::Range<u64>) -> Vec<Vec<u8>> {
    range.map(entry_of).collect()
}

fn append(store: &Store, entries: &[Vec<u8>]) -> Result<(), NodeError> {
    let mut change = change();
    append_own(store, &mut change, &key(2), &certificate(2), entries, NOW)?;
    store.commit(change)?;
    Ok(())
}

/// The state of a log with these entries, as its publisher signs it.
fn head(publisher: u8, entries: &[Vec<u8>]) -> LogHead {
    let mut range = CompactRange::new();
    entries.iter().for_each(|e| range.append(leaf_hash(e)));
    let origin = public_origin(&key(publisher).public()).unwrap();
    let checkpoint = Checkpoint { origin, size: range.size(), root: range.root() }.sign(&key(publisher));
    let (publisher, certificate) = (key(publisher).public(), certificate(publisher));
    LogHead { state: LogState { publisher, range, checkpoint, proof: vec![], certificate }, as_of: Some(NOW) }
}

fn take(store: &Store, head: &LogHead, from: u64, entries: &[Vec<u8>]) -> Result<bool, NodeError> {
    let mut change = change();
    let is_written = extend(store, &mut change, &own(), head, from, entries)?;
    if is_written {
        store.commit(change)?;
    }
    Ok(is_written)
}

#[test]
fn a_log_is_extended_once_and_only_by_what_follows() {
    let dir = TempDir::new().unwrap();
    let store = store(&dir);
    let all = entries_of(0..600);
    let publisher = key(3).public();
    let size = || log_head(&store, &own(), &publisher).unwrap().map_or(0, |h| h.state.range.size());
    assert!(take(&store, &head(3, &all[..300]), 0, &all[..300]).unwrap());
    assert!(take(&store, &head(3, &all), 290, &all[290..]).unwrap(), "what overlaps is compared, the rest is taken");
    assert!(!take(&store, &head(3, &all), 300, &all[300..]).unwrap(), "it is there");
    assert!(!take(&store, &head(3, &all[..300]), 0, &all[..300]).unwrap(), "an older task ends later");
    assert_eq!(size(), 600);

    let mut other = all.clone();
    other[599] = b"something else".to_vec();
    other.push(entry_of(600));
    assert!(take(&store, &head(3, &other), 599, &other[599..]).is_err(), "another history");
    let more = entries_of(0..602);
    assert!(take(&store, &head(3, &more), 601, &more[601..]).is_err(), "a gap");
    assert_eq!((size(), entries(&store, &own(), &publisher, 0, 1000).unwrap()), (600, all.clone()));

    let leaves: Vec<_> = all.iter().map(|e| leaf_hash(e)).collect();
    let mut tree = Tree::of(&store, &own(), &publisher);
    for size in [0, 1, 255, 256, 257, 512, 599, 600] {
        assert_eq!(root_from(size, |l, i| tree.node(l, i)).unwrap(), root_of(&leaves[..size as usize]), "{size}");
    }
}

#[test]
fn a_confirmation_of_an_older_log_is_none_of_the_longer_one() {
    let dir = TempDir::new().unwrap();
    let store = store(&dir);
    let all = entries_of(0..3);
    take(&store, &head(3, &all), 0, &all).unwrap();
    let publisher = key(3).public();
    let later = NOW.plus(Duration::seconds(60));
    let confirmed = |size| {
        let mut change = change();
        let is_written = confirm(&store, &mut change, &own(), &publisher, size, later).unwrap();
        if is_written {
            store.commit(change).unwrap();
        }
        is_written
    };
    assert!(!confirmed(2));
    assert_eq!(log_head(&store, &own(), &publisher).unwrap().unwrap().as_of, Some(NOW));
    assert!(confirmed(3));
    let held = log_head(&store, &own(), &publisher).unwrap().unwrap();
    assert_eq!((held.as_of, held.state.range.size()), (Some(later), 3));
    assert!(!confirmed(3), "it says nothing new");
}

#[test]
fn a_tree_that_is_missing_is_made_from_the_entries() {
    let dir = TempDir::new().unwrap();
    let store = store(&dir);
    append(&store, &entries_of(0..520)).unwrap();
    let (root, size) = (log_head(&store, &own(), &own()).unwrap().unwrap().state.range.root(), 520);
    let root_of_tree = || {
        let mut tree = Tree::of(&store, &own(), &own());
        root_from(size, |l, i| tree.node(l, i))
    };
    assert_eq!(root_of_tree().unwrap(), root);
    assert_eq!(index_of(&store, &leaf_hash(&entry_of(517))).unwrap(), Some(517));

    let mut gone = change();
    for prefix in [&b"t"[..], b"i"] {
        for row in store.rows(Keyspace::PublicLog, prefix) {
            gone.delete(Keyspace::PublicLog, &row.unwrap().0);
        }
    }
    store.commit(gone).unwrap();
    assert!(root_of_tree().is_err());
    complete_trees(&store, &own(), |_| event()).unwrap();
    assert_eq!(root_of_tree().unwrap(), root);
    assert_eq!(index_of(&store, &leaf_hash(&entry_of(517))).unwrap(), Some(517));
}

#[test]
fn nothing_is_published_while_it_is_stopped_also_after_a_restart() {
    let dir = TempDir::new().unwrap();
    let elsewhere = head(2, &entries_of(0..5)).state.checkpoint;
    let behind =
        |elsewhere: &SignedCheckpoint| Stopped { cause: Cause::Behind, since: NOW, elsewhere: elsewhere.clone() };
    {
        let store = store(&dir);
        append(&store, &entries_of(0..2)).unwrap();
        let mut change = change();
        assert!(stop(&store, &mut change, &own(), behind(&elsewhere)).unwrap());
        store.commit(change).unwrap();
    }
    let store = store(&dir);
    assert!(matches!(append(&store, &entries_of(2..3)), Err(NodeError::Stopped(_))));
    // A change that was begun before the stop meets it when it is committed.
    let mut late = change();
    append_signed(&store, &mut late, &key(2), &certificate(2), &entries_of(2..3), NOW).unwrap();
    late.expect_absent(Keyspace::PublicLog, &[&b"s"[..], own().as_bytes()].concat());
    assert!(matches!(store.commit(late), Err(StorageError::Conflict { .. })));

    assert!(!stop(&store, &mut change(), &own(), behind(&elsewhere)).unwrap(), "it is stopped for that");
    let all = entries_of(0..5);
    assert!(take(&store, &head(2, &all), 2, &all[2..]).unwrap(), "what is missing is taken all the same");
    let mut change = change();
    end_stop(&store, &mut change, &own()).unwrap();
    store.commit(change).unwrap();
    append(&store, &entries_of(5..6)).unwrap();
    assert!(!stop(&store, &mut self::change(), &own(), behind(&elsewhere)).unwrap(), "it was fetched meanwhile");
}

#[test]
fn what_only_this_node_had_is_published_behind_what_others_hold() {
    let dir = TempDir::new().unwrap();
    let store = store(&dir);
    let ours = [entries_of(0..3), vec![b"ours".to_vec()]].concat();
    let theirs = [entries_of(0..3), vec![b"theirs 1".to_vec(), b"theirs 2".to_vec()]].concat();
    append(&store, &ours).unwrap();
    let elsewhere = head(2, &theirs).state.checkpoint;
    let mut aside = change();
    put_aside(&store, &mut aside, &own()).unwrap();
    let adopting = Stopped { cause: Cause::Adopting, since: NOW, elsewhere };
    put_stopped(&store, &mut aside, &own(), &adopting).unwrap();
    store.commit(aside).unwrap();
    assert_eq!(log_head(&store, &own(), &own()).unwrap(), None);
    // Decided twice: what was put aside first stays.
    let mut again = change();
    put_aside(&store, &mut again, &own()).unwrap();
    store.commit(again).unwrap();

    assert!(take(&store, &head(2, &theirs), 0, &theirs).unwrap());
    let mut end = change();
    assert_eq!(republish(&store, &mut end, &key(2), &certificate(2), NOW).unwrap(), 1);
    store.commit(end).unwrap();
    assert_eq!(entries(&store, &own(), &own(), 0, 10).unwrap(), [theirs, vec![b"ours".to_vec()]].concat());
    assert_eq!(stopped(&store, &own()).unwrap(), None);
    append(&store, &entries_of(9..10)).unwrap();
}

#[test]
fn a_cosignature_stands_under_the_head_that_it_is_for() {
    let dir = TempDir::new().unwrap();
    let store = store(&dir);
    append(&store, &entries_of(0..1)).unwrap();
    let plain = log_head(&store, &own(), &own()).unwrap().unwrap().state.checkpoint;
    let cosignature = Cosignature::sign(&plain, NOW, &key(4)).unwrap();
    let cosigned = Cosigned { witness: key(4).public(), size: 1, cosignature };
    let cosign = || {
        let mut change = change();
        put_cosigned(&mut change, &cosigned);
        let head = cosign_own(&store, &mut change, &own(), &cosigned).unwrap();
        store.commit(change).unwrap();
        head.map(|h| h.state.checkpoint)
    };
    let with = cosign().unwrap();
    assert_eq!(with.cosignatures(), std::slice::from_ref(&cosigned.cosignature));
    assert_eq!(log_head(&store, &own(), &own()).unwrap().unwrap().state.checkpoint, with);
    assert_eq!(cosign(), None, "it is there");
    append(&store, &entries_of(1..2)).unwrap();
    assert_eq!(cosign(), None, "the log has grown");
    assert_eq!(super::super::cosigned(&store).unwrap(), std::slice::from_ref(&cosigned));
}

/// What a witness wrote down is there after a restart, and two answers at once do not both follow the same head.
#[test]
fn a_witness_remembers_and_its_memory_moves_one_step_at_a_time() {
    let dir = TempDir::new().unwrap();
    let publisher = key(3).public();
    let heads: Vec<_> = [1, 2, 3].map(|n| head(3, &entries_of(0..n)).state.checkpoint).into();
    {
        let store = store(&dir);
        assert_eq!(witnessed(&store, &publisher).unwrap(), None);
        let mut change = change();
        put_witnessed(&mut change, &publisher, None, &heads[0]);
        store.commit(change).unwrap();
    }
    let store = store(&dir);
    assert_eq!(witnessed(&store, &publisher).unwrap().as_ref(), Some(&heads[0]));
    let (mut one, mut two) = (change(), change());
    put_witnessed(&mut one, &publisher, Some(&heads[0]), &heads[1]);
    put_witnessed(&mut two, &publisher, Some(&heads[0]), &heads[2]);
    store.commit(one).unwrap();
    assert!(matches!(store.commit(two), Err(StorageError::Conflict { .. })));
    assert_eq!(witnessed(&store, &publisher).unwrap().as_ref(), Some(&heads[1]));
}

#[test]
fn a_proof_reads_few_rows_of_a_long_log() {
    let dir = TempDir::new().unwrap();
    let store = store(&dir);
    append(&store, &entries_of(0..3000)).unwrap();
    let mut tree = Tree::of(&store, &own(), &own());
    let mut n_asked = 0;
    let proof = consistency_proof_from(3000, 1234, |l, i| {
        n_asked += 1;
        tree.node(l, i)
    });
    assert!(proof.is_ok() && n_asked <= 24, "{n_asked}");
}
