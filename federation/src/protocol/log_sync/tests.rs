use plumb_core::identity::{EntityId, SecretKey};
use plumb_core::log::{Checkpoint, CompactRange, Hash};
use plumb_core::trust::certify;

use super::*;
use crate::wire::log::{PAGE_ENTRIES_MAX, Page};

const NOW: Timestamp = Timestamp(1_760_000_000_000);

fn key(n: u8) -> SecretKey {
    SecretKey::from_seed([n; 32])
}

fn peer(n: u8) -> NodeId {
    key(n).public()
}

/// Organisation 1 is pinned.
const ORG: u8 = 1;
/// The node whose machine is tested.
const OWN: u8 = 10;

fn certificate_of(root: u8, node: u8) -> Signed<Certificate> {
    let department: EntityId = "department-laboratory".parse().unwrap();
    certify(&key(root), "Northwater", peer(node), department, NOW, Duration::days(30)).unwrap()
}

fn roots() -> Roots {
    Roots::full([(peer(ORG), "Northwater".to_string())])
}

fn machine(stored: impl IntoIterator<Item = LogState>) -> LogSync {
    LogSync::new(certificate_of(ORG, OWN), roots(), stored, [], NOW, 5)
}

/// Somebody's log.
#[derive(Clone)]
struct Publisher {
    node: u8,
    root: u8,
    entries: Vec<Vec<u8>>,
}

impl Publisher {
    fn new(node: u8, n_entries: usize) -> Publisher {
        let entry = |i| format!("entry {i} of {node}").into_bytes();
        Publisher { node, root: ORG, entries: (0..n_entries).map(entry).collect() }
    }

    fn id(&self) -> NodeId {
        peer(self.node)
    }

    /// The same up to `at`, and something else there.
    fn forked(&self, at: usize) -> Publisher {
        let mut other = self.clone();
        other.entries[at] = b"something else".to_vec();
        other
    }

    fn leaves(&self, size: usize) -> Vec<Hash> {
        self.entries[..size].iter().map(|entry| leaf_hash(entry)).collect()
    }

    fn state(&self, size: usize) -> LogState {
        let mut range = CompactRange::new();
        self.leaves(size).into_iter().for_each(|leaf| range.append(leaf));
        let origin = public_origin(&self.id()).unwrap();
        let checkpoint = Checkpoint { origin, size: range.size(), root: range.root() }.sign(&key(self.node));
        LogState {
            publisher: self.id(),
            range,
            checkpoint,
            proof: vec![],
            certificate: certificate_of(self.root, self.node),
        }
    }

    fn head(&self, size: usize) -> Head {
        Head { publisher: self.id(), checkpoint: self.state(size).checkpoint }
    }

    /// A page as an honest holder of `size` entries cuts it.
    fn page(&self, size: usize, from: u64) -> Page {
        let response = super::page(&self.state(size), &self.leaves(size), from, u32::MAX, |at| {
            Some(self.entries[usize::try_from(at).unwrap()].clone())
        });
        match response {
            LogResponse::Page(page) => page,
            other => panic!("{other:?}"),
        }
    }

    fn gossip(&self, index: usize) -> Gossip {
        Gossip {
            publisher: self.id(),
            index: index as u64,
            entry: self.entries[index].clone(),
            checkpoint: self.state(index + 1).checkpoint,
            certificate: certificate_of(self.root, self.node),
        }
    }
}

fn admitted(n: u8, heads: &[Head]) -> Event {
    Event::PeerAdmitted { peer: peer(n), heads: heads.to_vec() }
}

fn said(n: u8, heads: &[Head]) -> Event {
    Event::HeadsReceived { peer: peer(n), heads: Heads { heads: heads.to_vec(), forks: vec![] } }
}

fn received(n: u8, page: Page) -> Event {
    Event::EntriesReceived { peer: peer(n), publisher: page.publisher, response: LogResponse::Page(page) }
}

/// Whom it asks for whose entries, and from where.
fn asks(actions: &[Action]) -> Vec<(NodeId, NodeId, u64)> {
    let ask = |action: &Action| match action {
        Action::RequestEntries { peer, publisher, request: LogRequest::Entries { from, .. } } => {
            Some((*peer, *publisher, *from))
        }
        _ => None,
    };
    actions.iter().filter_map(ask).collect()
}

/// What it has stored: from where, how many, and up to which size the log is then held.
fn stores(actions: &[Action]) -> Vec<(u64, usize, u64)> {
    let store = |action: &Action| match action {
        Action::StoreEntries { from, entries, state, .. } => Some((*from, entries.len(), state.range.size())),
        _ => None,
    };
    actions.iter().filter_map(store).collect()
}

fn faults(actions: &[Action]) -> Vec<(NodeId, Fault)> {
    let fault = |action: &Action| match action {
        Action::PenalisePeer { peer, fault } => Some((*peer, *fault)),
        _ => None,
    };
    actions.iter().filter_map(fault).collect()
}

fn proofs(actions: &[Action]) -> Vec<&Fork> {
    let proof = |action: &'_ Action| matches!(action, Action::Equivocation { .. });
    actions
        .iter()
        .filter(|action| proof(action))
        .map(|action| match action {
            Action::Equivocation { proof } => proof,
            _ => unreachable!(),
        })
        .collect()
}

/// Performs what is to be stored, at once.
fn store_all(sync: &mut LogSync, now: Timestamp, actions: Vec<Action>) -> Vec<Action> {
    let mut all = Vec::new();
    for action in actions {
        if let Action::StoreEntries { state, .. } = &action {
            let (publisher, size) = (state.publisher, state.range.size());
            // What is stored is read again.
            assert_eq!(LogState::decode(&state.encode()).as_ref(), Ok(state));
            let more = sync.handle(now, Event::Stored { publisher, size });
            all.extend(store_all(sync, now, more));
        }
        all.push(action);
    }
    all
}

#[test]
fn a_long_log_is_taken_up_page_by_page() {
    let publisher = Publisher::new(20, PAGE_ENTRIES_MAX * 2 + 10);
    let size = publisher.entries.len();
    let mut sync = machine([]);
    let mut actions = sync.handle(NOW, admitted(30, &[publisher.head(size)]));
    let mut n_pages = 0;
    while let [(asked, of, from)] = asks(&actions)[..] {
        assert_eq!((asked, of, from), (peer(30), publisher.id(), sync.size(&of)));
        let answer = sync.handle(NOW, received(30, publisher.page(size, from)));
        assert_eq!(asks(&answer), [], "not before the page is stored");
        assert!(sync.heads().heads.is_empty(), "what is not held whole is not shown");
        actions = store_all(&mut sync, NOW, answer);
        n_pages += 1;
    }
    assert_eq!((n_pages, sync.size(&publisher.id())), (3, size as u64));
    assert_eq!(sync.heads().heads, [publisher.head(size)], "and now it is");
    assert_eq!(sync.state(&publisher.id()), Some(publisher.state(size)));
}

#[test]
fn catch_up_goes_on_after_a_restart_in_the_middle() {
    let publisher = Publisher::new(20, PAGE_ENTRIES_MAX + 10);
    let size = publisher.entries.len();
    let mut sync = machine([]);
    sync.handle(NOW, admitted(30, &[publisher.head(size)]));
    let actions = sync.handle(NOW, received(30, publisher.page(size, 0)));
    store_all(&mut sync, NOW, actions);
    let state = sync.state(&publisher.id()).unwrap();
    assert!(!state.is_whole());

    let mut sync = machine([LogState::decode(&state.encode()).unwrap()]);
    let actions = sync.handle(NOW, admitted(31, &[publisher.head(size)]));
    assert_eq!(asks(&actions), [(peer(31), publisher.id(), PAGE_ENTRIES_MAX as u64)]);
    let actions = sync.handle(NOW, received(31, publisher.page(size, PAGE_ENTRIES_MAX as u64)));
    store_all(&mut sync, NOW, actions);
    assert_eq!(sync.size(&publisher.id()), size as u64);

    // In the middle of it the publisher can be convicted too, and the proof is portable.
    let mut sync = machine([state]);
    let other = publisher.forked(3);
    sync.handle(NOW, admitted(31, &[other.head(size)]));
    let mut longer = other.clone();
    longer.entries.push(b"more".to_vec());
    let actions = sync.handle(NOW, said(31, &[longer.head(size + 1)]));
    assert_eq!(proofs(&actions).len() + usize::from(sync.fork(&publisher.id()).is_some()), 1);
    assert_eq!(sync.fork(&publisher.id()).unwrap().check(), Ok(()));
}

#[test]
fn gossip_of_the_next_entry_is_taken_up_at_once() {
    let publisher = Publisher::new(20, 3);
    let mut sync = machine([publisher.state(2)]);
    sync.handle(NOW, admitted(30, &[]));
    let gossip = publisher.gossip(2);
    let actions = sync.handle(NOW, Event::GossipReceived { peer: peer(30), gossip: gossip.clone() });
    assert_eq!(actions[0], Action::JudgeGossip(GossipVerdict::Accept));
    assert_eq!(stores(&actions), [(2, 1, 3)]);
    assert_eq!(asks(&actions), []);
    store_all(&mut sync, NOW, actions);
    let again = sync.handle(NOW, Event::GossipReceived { peer: peer(30), gossip });
    assert_eq!(again, [Action::JudgeGossip(GossipVerdict::Ignore)]);
}

#[test]
fn gossip_ahead_of_us_says_what_to_ask_for() {
    let publisher = Publisher::new(20, 9);
    let mut sync = machine([publisher.state(2)]);
    sync.handle(NOW, admitted(30, &[]));
    let event = Event::GossipReceived { peer: peer(30), gossip: publisher.gossip(8) };
    let actions = sync.handle(NOW, event.clone());
    assert_eq!(actions[0], Action::JudgeGossip(GossipVerdict::Accept), "its head is news");
    assert_eq!(asks(&actions), [(peer(30), publisher.id(), 2)]);
    assert_eq!(sync.handle(NOW, event)[0], Action::JudgeGossip(GossipVerdict::Ignore), "once");
}

#[test]
fn forged_gossip_is_rejected_and_not_believed() {
    let publisher = Publisher::new(20, 3);
    let mut sync = machine([publisher.state(2)]);
    sync.handle(NOW, admitted(30, &[]));
    let judge = |sync: &mut LogSync, gossip: Gossip| {
        let actions = sync.handle(NOW, Event::GossipReceived { peer: peer(30), gossip });
        assert_eq!(stores(&actions), []);
        (actions[0].clone(), faults(&actions))
    };
    let by_other = Checkpoint { ..publisher.state(3).checkpoint.checkpoint().clone() }.sign(&key(66));
    let forged = Gossip { checkpoint: by_other, ..publisher.gossip(2) };
    let rejected = Action::JudgeGossip(GossipVerdict::Reject);
    assert_eq!(judge(&mut sync, forged), (rejected.clone(), vec![(peer(30), Fault::Checkpoint)]));
    let forged = Gossip { certificate: certificate_of(ORG, 21), ..publisher.gossip(2) };
    assert_eq!(judge(&mut sync, forged), (rejected, vec![(peer(30), Fault::Certificate)]));
    // Also where the head is known: what is kept is passed on.
    sync.handle(NOW, said(30, &[publisher.head(3)]));
    let by_other = publisher.state(3).checkpoint.checkpoint().clone().sign(&key(66));
    let forged = Gossip { checkpoint: by_other, ..publisher.gossip(2) };
    assert_eq!(
        judge(&mut sync, forged),
        (Action::JudgeGossip(GossipVerdict::Reject), vec![(peer(30), Fault::Checkpoint)])
    );
    // A true head with another entry: whoever passes it on need not know.
    let forged = Gossip { entry: b"forged".to_vec(), ..publisher.gossip(2) };
    assert_eq!(judge(&mut sync, forged), (Action::JudgeGossip(GossipVerdict::Ignore), vec![]));
}

#[test]
fn a_peer_that_forges_is_blamed_and_another_is_asked() {
    let publisher = Publisher::new(20, 6);
    let good = publisher.page(6, 2);
    let with = |change: fn(&mut Page)| {
        let mut page = good.clone();
        change(&mut page);
        page
    };
    let forged = [
        (with(|p| p.entries[0].push(0)), Fault::Entries),
        (with(|p| drop(p.entries.pop())), Fault::Entries),
        (with(|p| p.entries.swap(0, 1)), Fault::Entries),
        (with(|p| p.extends.clear()), Fault::Entries),
        (with(|p| p.root = leaf_hash(b"x")), Fault::Entries),
        (with(|p| p.certificate = certificate_of(ORG, 21)), Fault::Certificate),
        (with(|p| p.certificate = certificate_of(66, 20)), Fault::Certificate),
        (with(|p| p.checkpoint = p.checkpoint.checkpoint().clone().sign(&key(66))), Fault::Checkpoint),
        (with(|p| p.publisher = peer(21)), Fault::Answer),
    ];
    for (at, (page, fault)) in forged.into_iter().enumerate() {
        let mut sync = machine([publisher.state(2)]);
        // The certificate that no root signed names organisation 1.
        let page = if at == 6 { Page { certificate: not_signed_by_root(), ..page } } else { page };
        sync.handle(NOW, admitted(30, &[publisher.head(6)]));
        sync.handle(NOW, admitted(31, &[publisher.head(6)]));
        let asked = sync.logs[&publisher.id()].asked.as_ref().unwrap().peer;
        let other = if asked == peer(30) { peer(31) } else { peer(30) };
        let publisher_id = publisher.id();
        let event = Event::EntriesReceived { peer: asked, publisher: publisher_id, response: LogResponse::Page(page) };
        let actions = sync.handle(NOW, event);
        assert_eq!(stores(&actions), [], "case {at}");
        assert_eq!(faults(&actions), [(asked, fault)], "case {at}");
        assert_eq!(proofs(&actions), Vec::<&Fork>::new(), "case {at}: the publisher is not to blame");
        assert_eq!(asks(&actions), [(other, publisher_id, 2)], "case {at}");
    }
}

fn not_signed_by_root() -> Signed<Certificate> {
    let claimed = Certificate { org: peer(ORG), ..certificate_of(66, 20).value().clone() };
    Signed::seal(claimed, &key(66)).unwrap()
}

#[test]
fn two_heads_of_one_size_convict_their_publisher() {
    let publisher = Publisher::new(20, 6);
    let other = publisher.forked(3);
    let mut sync = machine([publisher.state(4)]);
    sync.handle(NOW, admitted(30, &[]));
    let actions = sync.handle(NOW, said(30, &[other.head(4)]));
    let [proof] = proofs(&actions)[..] else { panic!("{actions:?}") };
    assert_eq!(proof.check(), Ok(()));
    assert_eq!(proof.equivocation().unwrap().check(&publisher.id()), Ok(()));
    assert_eq!(faults(&actions), [], "whoever shows it is not to blame");

    // Nothing more, from anybody, in any way; what is held stays and is said no more; the proof is passed on.
    let actions = sync.handle(NOW, said(30, &[publisher.head(6), other.head(6)]));
    assert_eq!(actions, []);
    let event = Event::GossipReceived { peer: peer(30), gossip: publisher.gossip(4) };
    assert_eq!(sync.handle(NOW, event), [Action::JudgeGossip(GossipVerdict::Ignore)]);
    assert_eq!(sync.handle(NOW, received(30, publisher.page(6, 4))), []);
    assert_eq!(sync.size(&publisher.id()), 4);
    let heads = sync.heads();
    assert_eq!((heads.heads.len(), heads.forks.len()), (0, 1));

    // Another node believes the proof, and not the accusation alone.
    let mut next = machine([publisher.state(4)]);
    next.handle(NOW, admitted(30, &[]));
    let mut false_charge = heads.forks[0].clone();
    false_charge.b = false_charge.a.clone();
    let accuse =
        |fork: Fork| Event::HeadsReceived { peer: peer(30), heads: Heads { heads: vec![], forks: vec![fork] } };
    assert_eq!(faults(&next.handle(NOW, accuse(false_charge))), [(peer(30), Fault::Fork)]);
    assert!(next.fork(&publisher.id()).is_none());
    assert_eq!(proofs(&next.handle(NOW, accuse(heads.forks[0].clone()))).len(), 1);

    // It holds after a restart.
    let mut restarted = LogSync::new(certificate_of(ORG, OWN), roots(), [publisher.state(4)], heads.forks, NOW, 5);
    let actions = restarted.handle(NOW, admitted(30, &[publisher.head(6)]));
    assert_eq!(asks(&actions), []);
}

#[test]
fn a_longer_log_with_another_beginning_convicts_its_publisher() {
    for held in 1..8 {
        let publisher = Publisher::new(20, 9);
        let other = publisher.forked(held - 1);
        let mut sync = machine([publisher.state(held)]);
        sync.handle(NOW, admitted(30, &[other.head(9)]));
        let actions = sync.handle(NOW, received(30, other.page(9, held as u64)));
        let [proof] = proofs(&actions)[..] else { panic!("{held}: {actions:?}") };
        assert_eq!(proof.check(), Ok(()), "{held}");
        assert_eq!(stores(&actions), []);
        assert_eq!(faults(&actions), [], "the peer showed what it has");
    }
}

#[test]
fn a_publisher_under_a_root_that_is_not_pinned_is_left_alone() {
    let foreign = Publisher { root: 2, ..Publisher::new(20, 3) };
    let mut sync = machine([]);
    let actions = sync.handle(NOW, admitted(30, &[foreign.head(3)]));
    assert_eq!(asks(&actions).len(), 1, "nobody knows yet whose it is");
    let actions = sync.handle(NOW, received(30, foreign.page(3, 0)));
    assert_eq!((stores(&actions), faults(&actions)), (vec![], vec![]), "others may trust others");
    assert_eq!(asks(&sync.handle(NOW, said(30, &[foreign.head(3)]))), []);
    // When the operator pins it, it is heard.
    let mut roots = roots();
    roots.pin(peer(2), plumb_core::trust::Pin::full("Southwater"));
    assert_eq!(asks(&sync.handle(NOW, Event::RootsChanged { roots })), [(peer(30), foreign.id(), 0)]);
    let actions = sync.handle(NOW, received(30, foreign.page(3, 0)));
    assert_eq!(stores(&actions), [(0, 3, 3)]);
}

#[test]
fn a_publisher_whose_time_is_over_is_still_heard() {
    let publisher = Publisher::new(20, 3);
    let later = NOW.plus(Duration::days(400));
    let mut sync = machine([]);
    sync.handle(later, admitted(30, &[publisher.head(3)]));
    assert_eq!(stores(&sync.handle(later, received(30, publisher.page(3, 0)))), [(0, 3, 3)]);
}

#[test]
fn heads_of_another_log_or_another_key_are_blamed() {
    let publisher = Publisher::new(20, 3);
    let mut sync = machine([]);
    sync.handle(NOW, admitted(30, &[]));
    let other_log =
        Checkpoint { origin: "internal".parse().unwrap(), ..publisher.state(3).checkpoint.checkpoint().clone() };
    let other_log = Head { publisher: publisher.id(), checkpoint: other_log.sign(&key(20)) };
    assert_eq!(faults(&sync.handle(NOW, said(30, &[other_log]))), [(peer(30), Fault::Checkpoint)]);
    let other_key = publisher.head(3).checkpoint.checkpoint().clone().sign(&key(66));
    let other_key = Head { publisher: publisher.id(), checkpoint: other_key };
    assert_eq!(faults(&sync.handle(NOW, said(30, &[other_key]))), [(peer(30), Fault::Checkpoint)]);
    assert_eq!(sync.publishers().collect::<Vec<_>>(), [&peer(OWN)]);
}

#[test]
fn a_silent_peer_costs_each_publisher_one_timeout() {
    let publishers: Vec<Publisher> = (100..120).map(|n| Publisher::new(n, 2)).collect();
    let heads: Vec<Head> = publishers.iter().map(|p| p.head(2)).collect();
    let mut sync = machine([]);
    let (silent, good) = (30, 31);
    let mut queue = sync.handle(NOW, admitted(silent, &heads));
    assert_eq!(asks(&queue).len(), REQUESTS_PER_PEER_MAX, "it cannot have more of us");
    queue.extend(sync.handle(NOW, admitted(good, &heads)));
    let mut now = NOW;
    let mut done_at = None;
    for _ in 0..200 {
        while let Some(action) = queue.pop() {
            if let [(asked, publisher, from)] = asks(std::slice::from_ref(&action))[..]
                && asked == peer(good)
            {
                let page = publishers.iter().find(|p| p.id() == publisher).unwrap().page(2, from);
                let actions = sync.handle(now, received(good, page));
                queue.extend(store_all(&mut sync, now, actions));
            }
        }
        let n_held = publishers.iter().filter(|p| sync.size(&p.id()) == 2).count();
        if n_held == publishers.len() {
            done_at = Some(now);
            break;
        }
        if now == NOW {
            assert_eq!(n_held, publishers.len() - REQUESTS_PER_PEER_MAX, "the others do not wait");
        }
        now = now.plus(Duration::seconds(1));
        queue.extend(sync.handle(now, Event::Tick));
    }
    assert!(done_at.unwrap() <= NOW.plus(Duration(REQUEST_TIMEOUT.0 * 2)));
}

#[test]
fn failures_are_tried_again_ever_more_slowly_and_elsewhere_at_once() {
    let publisher = Publisher::new(20, 2);
    let mut sync = machine([]);
    let failed = |n: u8| Event::RequestFailed { peer: peer(n), publisher: publisher.id() };
    let actions = sync.handle(NOW, admitted(30, &[publisher.head(2)]));
    assert_eq!(asks(&actions).len(), 1);
    assert_eq!(asks(&sync.handle(NOW, failed(30))), []);
    let actions = sync.handle(NOW, admitted(31, &[publisher.head(2)]));
    assert_eq!(asks(&actions), [(peer(31), publisher.id(), 0)]);
    sync.handle(NOW, Event::PeerLost { peer: peer(31) });
    let (mut now, mut n_asked) = (NOW, 0);
    for _ in 0..3600 {
        now = now.plus(Duration::seconds(1));
        let n = asks(&sync.handle(now, Event::Tick)).len();
        n_asked += n;
        if n > 0 {
            sync.handle(now, failed(30));
        }
    }
    assert!((25..=80).contains(&n_asked), "{n_asked} in an hour");
}

#[test]
fn a_busy_peer_is_not_asked_before_its_time() {
    let publisher = Publisher::new(20, 2);
    let mut sync = machine([]);
    sync.handle(NOW, admitted(30, &[publisher.head(2)]));
    let response = LogResponse::Busy { retry_after_ms: 60_000 };
    sync.handle(NOW, Event::EntriesReceived { peer: peer(30), publisher: publisher.id(), response });
    assert_eq!(asks(&sync.handle(NOW.plus(Duration::seconds(59)), Event::Tick)), []);
    assert_eq!(asks(&sync.handle(NOW.plus(Duration::seconds(60)), Event::Tick)).len(), 1);
}

#[test]
fn pages_that_come_late_or_twice_do_no_harm() {
    let publisher = Publisher::new(20, 8);
    let mut sync = machine([]);
    sync.handle(NOW, admitted(30, &[publisher.head(4)]));
    let page = publisher.page(4, 0);
    // Late: its request is given up already.
    sync.handle(NOW, Event::RequestFailed { peer: peer(30), publisher: publisher.id() });
    let actions = sync.handle(NOW, received(30, page.clone()));
    assert_eq!(stores(&actions), [(0, 4, 4)]);
    assert_eq!(sync.handle(NOW, received(30, page.clone())), [], "twice, before it is stored");
    store_all(&mut sync, NOW, actions);
    assert_eq!(sync.handle(NOW, received(30, page.clone())), [], "twice, after it is stored");
    // Twice, while the next one is asked for: that request stays in flight.
    assert_eq!(asks(&sync.handle(NOW, said(30, &[publisher.head(8)]))).len(), 1);
    assert_eq!(sync.handle(NOW, received(30, page)), []);
    assert_eq!(stores(&sync.handle(NOW, received(30, publisher.page(8, 4)))), [(4, 4, 8)]);
}

#[test]
fn what_the_disk_refuses_is_asked_for_again() {
    let publisher = Publisher::new(20, 2);
    let mut sync = machine([]);
    sync.handle(NOW, admitted(30, &[publisher.head(2)]));
    assert_eq!(stores(&sync.handle(NOW, received(30, publisher.page(2, 0)))).len(), 1);
    let actions = sync.handle(NOW, Event::StoreFailed { publisher: publisher.id() });
    assert_eq!(asks(&actions), [], "not at once");
    assert_eq!(sync.size(&publisher.id()), 0);
    let actions = sync.handle(NOW.plus(Duration::seconds(10)), Event::Tick);
    assert_eq!(asks(&actions), [(peer(30), publisher.id(), 0)]);
}

#[test]
fn our_own_log_is_told_to_all() {
    let own = Publisher::new(OWN, 5);
    let mut sync = machine([own.state(2)]);
    (30..40).for_each(|n| drop(sync.handle(NOW, admitted(n, &[]))));
    let publish = |entries: &[Vec<u8>], size| Event::Published {
        entries: entries.to_vec(),
        checkpoint: own.state(size).checkpoint,
    };
    let actions = sync.handle(NOW, publish(&own.entries[2..5], 5));
    assert_eq!(actions[0], Action::Gossip(own.gossip(4)));
    let pushed = actions.iter().filter(|action| matches!(action, Action::SendHeads { .. })).count();
    assert_eq!((pushed, actions.len()), (PUSH_FANOUT, PUSH_FANOUT + 1));
    assert_eq!(sync.state(&own.id()), Some(own.state(5)));
    let checkpoint = own.state(5).checkpoint;
    assert_eq!(sync.handle(NOW, publish(&own.entries[2..5], 5)), [Action::OwnLogBroken { checkpoint }]);
}

#[test]
fn a_node_that_was_set_back_hears_of_it_and_fetches_its_own_log() {
    let own = Publisher::new(OWN, 5);
    let mut sync = machine([own.state(2)]);
    let actions = sync.handle(NOW, admitted(30, &[own.head(5)]));
    assert_eq!(actions[0], Action::OwnLogBehind { checkpoint: own.state(5).checkpoint });
    assert_eq!(asks(&actions), [(peer(30), own.id(), 2)]);
    // Publishing now would show two histories.
    let other = own.forked(2);
    let checkpoint = other.state(3).checkpoint;
    let event = Event::Published { entries: other.entries[2..3].to_vec(), checkpoint: checkpoint.clone() };
    assert_eq!(sync.handle(NOW, event), [Action::OwnLogBroken { checkpoint }]);
    let actions = sync.handle(NOW, received(30, own.page(5, 2)));
    store_all(&mut sync, NOW, actions);
    assert_eq!(sync.size(&own.id()), 5);
}

#[test]
fn heads_are_exchanged_from_time_to_time() {
    let mut sync = machine([Publisher::new(20, 2).state(2)]);
    sync.handle(NOW, admitted(30, &[]));
    let (mut now, mut n_sent) = (NOW, 0);
    for _ in 0..600 {
        now = now.plus(Duration::seconds(1));
        for action in sync.handle(now, Event::Tick) {
            assert!(matches!(&action, Action::SendHeads { request: LogRequest::Summary(_), .. }));
            n_sent += 1;
        }
    }
    assert!((45..=75).contains(&n_sent), "{n_sent} in ten minutes");
    sync.handle(now, Event::PeerLost { peer: peer(30) });
    assert_eq!(sync.handle(now.plus(Duration::seconds(60)), Event::Tick), []);
}

#[test]
fn one_peer_cannot_fill_the_room_with_made_up_publishers() {
    let mut sync = machine([]);
    let made_up = |n: usize| {
        let mut seed = [77; 32];
        seed[..8].copy_from_slice(&n.to_be_bytes());
        let key = SecretKey::from_seed(seed);
        let origin = public_origin(&key.public()).unwrap();
        let checkpoint = Checkpoint { origin, size: 1, root: leaf_hash(b"x") }.sign(&key);
        Head { publisher: key.public(), checkpoint }
    };
    let heads: Vec<Head> = (0..CANDIDATES_PER_PEER_MAX + 20).map(made_up).collect();
    sync.handle(NOW, admitted(30, &heads));
    assert_eq!(sync.logs.len(), CANDIDATES_PER_PEER_MAX + 1);
    // Another peer still has room for a true one.
    let publisher = Publisher::new(20, 1);
    let actions = sync.handle(NOW, admitted(31, &[publisher.head(1)]));
    assert_eq!(asks(&actions), [(peer(31), publisher.id(), 0)]);
    sync.handle(NOW, Event::PeerLost { peer: peer(30) });
    assert_eq!(sync.logs.len(), 2, "they go with whoever made them up");
}

#[test]
fn a_key_that_nobody_vouches_for_convicts_itself_without_a_record() {
    let stranger = Publisher::new(20, 4);
    let mut sync = machine([]);
    sync.handle(NOW, admitted(30, &[stranger.head(4)]));
    let actions = sync.handle(NOW, said(30, &[stranger.forked(1).head(4)]));
    assert_eq!(actions, []);
    assert_eq!(asks(&sync.handle(NOW.plus(Duration::seconds(60)), Event::Tick)), [], "it is left alone");
}

#[test]
fn a_page_is_cut_within_its_limits() {
    let publisher = Publisher::new(20, 10);
    let (state, leaves) = (publisher.state(10), publisher.leaves(10));
    let entry = |at: u64| publisher.entries.get(usize::try_from(at).unwrap()).cloned();
    let n_entries = |from, limit| match super::page(&state, &leaves, from, limit, entry) {
        LogResponse::Page(page) => Some(page.entries.len()),
        _ => None,
    };
    assert_eq!((n_entries(0, 3), n_entries(8, 3), n_entries(10, 3)), (Some(3), Some(2), Some(0)));
    assert_eq!(n_entries(11, 3), None, "there is nothing behind the end");
    let hole = |at: u64| (at != 4).then(|| entry(at)).flatten();
    assert!(matches!(super::page(&state, &leaves, 0, 9, hole), LogResponse::Missing { .. }));
    assert!(matches!(super::page(&state, &leaves[..9], 0, 9, entry), LogResponse::Missing { .. }));
    let large = |_| Some(vec![0; 400 * 1024]);
    let LogResponse::Page(page) = super::page(&state, &leaves, 0, 9, large) else { panic!() };
    assert_eq!(page.entries.len(), 3, "one more than fits below the bound, and no more");
}

/// What each of two nodes with many logs lacks of the other's, it hears of in one exchange, and of nothing else.
#[test]
fn a_summary_costs_what_differs() {
    let publishers: Vec<Publisher> = (40..140).map(|n| Publisher::new(n, 3)).collect();
    let states = |size: usize| publishers.iter().map(move |p| p.state(size));
    let mut a = machine(states(3));
    let other = certificate_of(ORG, 11);
    let mut b = LogSync::new(other, roots(), states(3), [], NOW, 6);
    // a lacks the end of one log, b that of another.
    a.logs.insert(publishers[7].id(), Log::restored(publishers[7].state(2)));
    b.logs.insert(publishers[8].id(), Log::restored(publishers[8].state(1)));
    a.handle(NOW, admitted(11, &[]));
    b.handle(NOW, admitted(OWN, &[]));

    let request = a.exchange(&peer(11));
    assert!(request.encode().len() < 2048, "{} bytes for a hundred logs", request.encode().len());
    let answer = b.answer(&LogRequest::decode(&request.encode()).unwrap()).unwrap();
    assert!(answer.heads.contains(&publishers[7].head(3)), "it shows what a lacks");
    assert!(answer.heads.len() < 12, "{} heads for two that differ", answer.heads.len());
    let actions = a.handle(NOW, Event::HeadsReceived { peer: peer(11), heads: answer });
    assert_eq!(asks(&actions), [(peer(11), publishers[7].id(), 2)]);
    let returned: Vec<&LogRequest> = actions
        .iter()
        .filter_map(|action| match action {
            Action::SendHeads { request, .. } => Some(request),
            _ => None,
        })
        .collect();
    let [LogRequest::Heads(returned)] = returned[..] else { panic!("{actions:?}") };
    assert_eq!(returned.heads, [publishers[8].head(3)], "a says where it is ahead, and that alone");
    let actions = b.handle(NOW, Event::HeadsReceived { peer: peer(OWN), heads: returned.clone() });
    assert_eq!(asks(&actions), [(peer(OWN), publishers[8].id(), 1)]);

    // With the same logs there is nothing to say.
    let mut c = LogSync::new(certificate_of(ORG, 12), roots(), states(3), [], NOW, 7);
    let mut d = LogSync::new(certificate_of(ORG, 13), roots(), states(3), [], NOW, 8);
    c.handle(NOW, admitted(13, &[]));
    let request = c.exchange(&peer(13));
    let answer = d.answer(&request).unwrap();
    assert_eq!(answer, Heads::default());
    assert_eq!(c.handle(NOW, Event::HeadsReceived { peer: peer(13), heads: answer }), []);
}

/// A node that was away hears in a hello that there is more than the hello names, and asks.
#[test]
fn a_hello_that_is_cut_is_followed_by_a_question() {
    let publishers: Vec<Publisher> = (40..140).map(|n| Publisher::new(n, 1)).collect();
    let mut old = LogSync::new(certificate_of(ORG, 11), roots(), publishers.iter().map(|p| p.state(1)), [], NOW, 6);
    let introduction = old.introduction();
    assert_eq!(introduction.len(), HEADS_NAMED_MAX);
    let mut late = machine([]);
    let actions = late.handle(NOW, admitted(11, &introduction));
    let request = actions.iter().find_map(|action| match action {
        Action::SendHeads { request, .. } => Some(request.clone()),
        _ => None,
    });
    let answer = old.answer(&request.unwrap()).unwrap();
    assert_eq!(answer.heads.len(), publishers.len());
}

fn failed(n: u8, publisher: NodeId) -> Event {
    Event::RequestFailed { peer: peer(n), publisher }
}

/// Whoever passes gossip on need not hold the log. It is asked, since it probably does; if it does not, that is no
/// failure, and as soon as it says that it holds the log it is asked again.
#[test]
fn who_passes_gossip_on_is_not_held_to_it() {
    let publisher = Publisher::new(20, 5);
    let mut sync = machine([publisher.state(1)]);
    sync.handle(NOW, admitted(30, &[]));
    let actions = sync.handle(NOW, Event::GossipReceived { peer: peer(30), gossip: publisher.gossip(4) });
    assert_eq!(asks(&actions), [(peer(30), publisher.id(), 1)]);
    let actions = sync.handle(NOW, received(30, publisher.page(1, 1)));
    assert_eq!((asks(&actions), faults(&actions)), (vec![], vec![]), "it holds no more than we do");
    let later = NOW.plus(Duration::seconds(300));
    assert_eq!(asks(&sync.handle(later, Event::Tick)), [], "and is not asked again and again");
    assert_eq!(asks(&sync.handle(later, said(30, &[publisher.head(5)]))), [(peer(30), publisher.id(), 1)]);
    // Having said so itself, it is held to it.
    sync.handle(later, failed(30, publisher.id()));
    assert_eq!(asks(&sync.handle(later, said(30, &[publisher.head(5)]))), []);
}

/// A silent peer is waited for as long as a request may take, unless somebody else offers the same.
#[test]
fn patience_is_short_where_another_can_be_asked() {
    let publisher = Publisher::new(20, 5);
    let after = |n| NOW.plus(Duration::seconds(n));
    let mut sync = machine([publisher.state(1)]);
    let actions = sync.handle(NOW, admitted(30, &[publisher.head(5)]));
    assert_eq!(asks(&actions), [(peer(30), publisher.id(), 1)]);
    assert_eq!(asks(&sync.handle(after(20), Event::Tick)), [], "nobody else has it");
    assert_eq!(asks(&sync.handle(after(20), admitted(31, &[publisher.head(5)]))), [], "one at a time");
    assert_eq!(asks(&sync.handle(after(21), Event::Tick)), [(peer(31), publisher.id(), 1)]);
    // What comes late is taken up all the same.
    assert_eq!(stores(&sync.handle(after(22), received(30, publisher.page(5, 1)))), [(1, 4, 5)]);
}

/// What had to be asked for is told to a few as soon as it is held; what gossip brought is not, since gossip goes on.
#[test]
fn what_was_asked_for_is_passed_on_as_a_rumour() {
    let publisher = Publisher::new(20, 6);
    let mut sync = machine([publisher.state(1)]);
    (30..40).for_each(|n| drop(sync.handle(NOW, admitted(n, &[]))));
    sync.handle(NOW, said(30, &[publisher.head(5)]));
    sync.handle(NOW, received(30, publisher.page(5, 1)));
    let pushed = |actions: &[Action]| -> Vec<Head> {
        let push = |action: &Action| match action {
            Action::SendHeads { request: LogRequest::Heads(heads), .. } => Some(heads.heads.clone()),
            _ => None,
        };
        actions.iter().filter_map(push).flatten().collect()
    };
    let actions = sync.handle(NOW, Event::Stored { publisher: publisher.id(), size: 5 });
    assert_eq!(pushed(&actions), vec![publisher.head(5); PUSH_FANOUT]);
    sync.handle(NOW, Event::GossipReceived { peer: peer(30), gossip: publisher.gossip(5) });
    let actions = sync.handle(NOW, Event::Stored { publisher: publisher.id(), size: 6 });
    assert_eq!(sync.size(&publisher.id()), 6);
    assert_eq!(pushed(&actions), []);
}

/// What a quarantine is worth after an operator's decision: the held history goes on, the proof that was decided on
/// convicts nobody again, and another history does.
#[test]
fn a_decision_ends_a_quarantine_and_forgives_no_second_fork() {
    let publisher = Publisher::new(20, 6);
    let other = publisher.forked(2);
    let mut sync = machine([publisher.state(4)]);
    sync.handle(NOW, admitted(11, &[]));
    let actions = sync.handle(NOW, said(11, &[other.head(4)]));
    let [Action::Equivocation { proof }] = actions.as_slice() else { panic!("{actions:?}") };
    let tell = |forks: &[Fork]| {
        let heads = Heads { heads: vec![], forks: forks.to_vec() };
        Event::HeadsReceived { peer: peer(11), heads }
    };

    sync.decide(proof);
    assert!(sync.fork(&publisher.id()).is_none());
    let turned = Fork { a: proof.b.clone(), b: proof.a.clone(), ..proof.clone() };
    assert_eq!(sync.handle(NOW, tell(&[proof.clone(), turned])), [], "it was decided on");
    assert_eq!(asks(&sync.handle(NOW, said(11, &[publisher.head(6)]))), [(peer(11), publisher.id(), 4)]);
    assert_eq!(stores(&sync.handle(NOW, received(11, publisher.page(6, 4)))), [(4, 2, 6)]);
    sync.handle(NOW, Event::Stored { publisher: publisher.id(), size: 6 });

    let actions = sync.handle(NOW, said(11, &[other.head(6)]));
    assert!(matches!(actions.as_slice(), [Action::Equivocation { .. }]), "{actions:?}");
}

#[test]
fn cosignatures_travel_with_the_own_head() {
    let own = Publisher::new(OWN, 3);
    let mut sync = machine([own.state(3)]);
    let plain = own.state(3).checkpoint;
    let word = plumb_core::log::Cosignature::sign(&plain, NOW, &key(11)).unwrap();
    let cosigned = plain.with_cosignatures([&word]);
    assert_eq!(sync.handle(NOW, Event::Cosigned { checkpoint: cosigned.clone() }), []);
    assert_eq!(sync.heads().heads[0].checkpoint, cosigned);
    let older = own.state(2).checkpoint;
    sync.handle(NOW, Event::Cosigned { checkpoint: older });
    assert_eq!(sync.heads().heads[0].checkpoint, cosigned, "another head is no news of this one");
    // For whoever holds the log it is the head that they hold.
    let mut follower = LogSync::new(certificate_of(ORG, 12), roots(), [own.state(3)], [], NOW, 6);
    follower.handle(NOW, admitted(OWN, &[]));
    let heads = Heads { heads: vec![Head { publisher: own.id(), checkpoint: cosigned }], forks: vec![] };
    assert_eq!(follower.handle(NOW, Event::HeadsReceived { peer: peer(OWN), heads }), []);
}

/// A candidate that its introducer leaves behind is kept as long as another peer is asked for it, or that peer's place
/// in flight would never be free again.
#[test]
fn a_peer_that_is_asked_for_a_candidate_gets_its_place_back() {
    let stranger = Publisher::new(20, 4);
    let mut sync = machine([]);
    sync.handle(NOW, admitted(31, &[]));
    sync.handle(NOW, admitted(30, &[]));
    // Peer 31 is asked for what peer 30 spoke of first.
    sync.handle(NOW, said(30, &[Publisher { entries: vec![], ..stranger.clone() }.head(0)]));
    assert_eq!(asks(&sync.handle(NOW, said(31, &[stranger.head(4)]))), [(peer(31), stranger.id(), 0)]);
    // It convicts itself, and nobody offers it any more.
    sync.handle(NOW, said(30, &[stranger.forked(1).head(4)]));
    sync.handle(NOW, Event::PeerLost { peer: peer(30) });
    assert_eq!(sync.peers[&peer(31)].n_in_flight, 1);
    sync.handle(NOW, failed(31, stranger.id()));
    assert_eq!(sync.peers[&peer(31)].n_in_flight, 0);
    // With nothing under way it goes with the last who knows of it.
    sync.handle(NOW, Event::PeerLost { peer: peer(31) });
    assert_eq!(sync.n_known(), 1);
}

/// Whoever stores entries learns who gave them: the publisher itself, or somebody who holds its log.
#[test]
fn entries_come_with_whoever_gave_them() {
    let publisher = Publisher::new(20, 6);
    let mut sync = machine([publisher.state(1)]);
    [20, 30].into_iter().for_each(|n| drop(sync.handle(NOW, admitted(n, &[]))));
    let givers = |actions: &[Action]| -> Vec<NodeId> {
        let giver = |action: &Action| match action {
            Action::StoreEntries { peer, .. } => Some(*peer),
            _ => None,
        };
        actions.iter().filter_map(giver).collect()
    };
    for (giver, size) in [(30, 3), (20, 5)] {
        sync.handle(NOW, said(giver, &[publisher.head(size)]));
        let actions = sync.handle(NOW, received(giver, publisher.page(size, sync.size(&publisher.id()))));
        assert_eq!(givers(&actions), [peer(giver)]);
        store_all(&mut sync, NOW, actions);
    }
    let actions = sync.handle(NOW, Event::GossipReceived { peer: peer(30), gossip: publisher.gossip(5) });
    assert_eq!(givers(&actions), [peer(30)], "the bearer of gossip, not its publisher");
}

/// A certificate under a root that somebody made up, for a publisher that has a good one.
fn under_a_made_up_root(publisher: &Publisher) -> Signed<Certificate> {
    certificate_of(99, publisher.node)
}

/// Anybody can make up a root and certify anybody under it. It says nothing of the publisher, whose log is followed on,
/// whether it comes in a page or in gossip, and also if it is our own.
#[test]
fn a_made_up_root_stops_no_log() {
    let own = Publisher::new(OWN, 4);
    for publisher in [Publisher::new(20, 6), own] {
        let size = publisher.entries.len();
        let mut sync = machine([publisher.state(2)]);
        sync.handle(NOW, admitted(30, &[]));
        sync.handle(NOW, admitted(31, &[]));
        let gossip = Gossip { certificate: under_a_made_up_root(&publisher), ..publisher.gossip(2) };
        let actions = sync.handle(NOW, Event::GossipReceived { peer: peer(30), gossip });
        assert_eq!(actions, [Action::JudgeGossip(GossipVerdict::Ignore)]);
        let actions = sync.handle(NOW, said(30, &[publisher.head(size)]));
        assert_eq!(asks(&actions), [(peer(30), publisher.id(), 2)], "gossip that is not believed changes nothing");
        sync.handle(NOW, said(31, &[publisher.head(size)]));
        let page = Page { certificate: under_a_made_up_root(&publisher), ..publisher.page(size, 2) };
        let actions = sync.handle(NOW, received(30, page.clone()));
        assert_eq!((stores(&actions), faults(&actions)), (vec![], vec![]), "others may trust others");
        assert_eq!(asks(&actions), [(peer(31), publisher.id(), 2)], "the other one is asked at once");
        // Who says it again, unasked, takes nothing away from the others either.
        assert_eq!(sync.handle(NOW, received(30, page)), []);
        assert_eq!(stores(&sync.handle(NOW, received(31, publisher.page(size, 2)))), [(2, size - 2, size as u64)]);
    }
}

/// The same for a publisher of which no certificate was seen yet: whoever comes first with a made-up one does not keep
/// the good one away.
#[test]
fn a_made_up_root_keeps_no_candidate_away() {
    let publisher = Publisher::new(20, 3);
    let mut sync = machine([]);
    sync.handle(NOW, admitted(30, &[publisher.head(3)]));
    let page = Page { certificate: under_a_made_up_root(&publisher), ..publisher.page(3, 0) };
    assert_eq!(asks(&sync.handle(NOW, received(30, page))), []);
    let gossip = Gossip { certificate: under_a_made_up_root(&publisher), ..publisher.gossip(2) };
    sync.handle(NOW, Event::GossipReceived { peer: peer(30), gossip });
    let actions = sync.handle(NOW, admitted(31, &[publisher.head(3)]));
    assert_eq!(asks(&actions), [(peer(31), publisher.id(), 0)]);
    assert_eq!(stores(&sync.handle(NOW, received(31, publisher.page(3, 0)))), [(0, 3, 3)]);
}

/// What is not trusted here is asked for once an hour of each who offers it, however often they offer it, and takes no
/// room for ever.
#[test]
fn a_publisher_under_a_root_that_is_not_pinned_is_seldom_asked_for() {
    let foreign = Publisher { root: 2, ..Publisher::new(20, 3) };
    let mut sync = machine([]);
    let bearers = [30, 31, 32];
    bearers.into_iter().for_each(|n| drop(sync.handle(NOW, admitted(n, &[]))));
    let (mut now, mut n_asked) = (NOW, 0);
    let hours = 3;
    for second in 0..hours * 3600 {
        now = now.plus(Duration::seconds(1));
        let mut queue = sync.handle(now, Event::Tick);
        if second % 10 == 0 {
            bearers.into_iter().for_each(|n| queue.extend(sync.handle(now, said(n, &[foreign.head(3)]))));
        }
        while let Some(action) = queue.pop() {
            for (asked, _, from) in asks(&[action]) {
                n_asked += 1;
                let publisher = foreign.id();
                let response = LogResponse::Page(foreign.page(3, from));
                queue.extend(sync.handle(now, Event::EntriesReceived { peer: asked, publisher, response }));
            }
        }
    }
    assert!(n_asked <= bearers.len() * (hours + 1) && bearers.len() * (hours - 1) <= n_asked, "{n_asked}");
    // Nobody speaks of it any more, and it is forgotten.
    for _ in 0..2 * 3600 {
        now = now.plus(Duration::seconds(1));
        sync.handle(now, Event::Tick);
    }
    assert_eq!((sync.n_known(), sync.wanted.len()), (1, 0));
}
