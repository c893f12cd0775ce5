use plumb_core::content::RawBlock;
use plumb_core::identity::SecretKey;
use plumb_core::notice::AcknowledgementTag;
use proptest::prelude::*;

use super::*;

const NOW: Timestamp = Timestamp(1_760_000_000_000);

fn key(n: u8) -> SecretKey {
    SecretKey::from_seed([n; 32])
}

fn peer(n: u8) -> NodeId {
    key(n).public()
}

fn notice(n: u8) -> Cid {
    RawBlock::raw(vec![n]).cid
}

/// The word of holder `by`, signed by `signer`.
fn word(notice: Cid, by: u8, signer: u8) -> Signed<Acknowledgement> {
    let value = Acknowledgement { tag: AcknowledgementTag, notice, by: peer(by), n_units: 1, n_answers: 0, at: NOW };
    Signed::seal(value, &key(signer)).unwrap()
}

fn answered(peer: NodeId, notice: Cid, response: NoticeResponse) -> Event {
    Event::Answered { peer, notice, response }
}

/// A holder that owes, and is there.
fn owing(notices: &[Cid]) -> Delivery {
    let mut delivery = Delivery::restore([], 1);
    for notice in notices {
        delivery.handle(NOW, Event::Obliged { notice: *notice, holder: peer(1) });
    }
    delivery
}

fn sent(actions: &[Action]) -> Vec<Cid> {
    let notice = |action: &Action| match action {
        Action::DeliverNotice { notice, .. } => Some(*notice),
        _ => None,
    };
    actions.iter().filter_map(notice).collect()
}

#[test]
fn an_obligation_is_recorded_sent_and_closed_by_its_holder() {
    let mut delivery = Delivery::restore([], 1);
    let (notice, holder) = (notice(1), peer(1));
    let actions = delivery.handle(NOW, Event::Obliged { notice, holder });
    let open = Action::Record { notice, holder, standing: Standing::Open, acknowledgement: None };
    assert_eq!(actions, [open]);
    assert_eq!(delivery.handle(NOW, Event::Obliged { notice, holder }), [], "known");
    assert_eq!(sent(&delivery.handle(NOW, Event::Tick)), [], "nobody is there");
    assert_eq!(sent(&delivery.handle(NOW, Event::PeerAdmitted { peer: holder })), [notice]);

    let word = word(notice, 1, 1);
    let actions = delivery.handle(NOW, answered(holder, notice, NoticeResponse::Acknowledged(word.clone())));
    let standing = Standing::Acknowledged { at: NOW };
    let closed = Action::Record { notice, holder, standing: standing.clone(), acknowledgement: Some(word.clone()) };
    assert_eq!(actions, [closed]);
    assert_eq!(delivery.standings(&notice), BTreeMap::from([(holder, standing)]));
    assert_eq!(delivery.n_open(), 0);
    let again = delivery.handle(NOW, Event::AcknowledgementReceived { acknowledgement: word });
    assert_eq!(again, [], "what is closed is closed once");
    assert_eq!(delivery.handle(NOW, Event::Obliged { notice, holder }), [], "and stays so");
}

#[test]
fn only_the_holders_own_word_closes() {
    let mut delivery = owing(&[notice(1)]);
    delivery.handle(NOW, Event::PeerAdmitted { peer: peer(1) });
    for word in [
        word(notice(1), 1, 2), // signed by another
        word(notice(1), 2, 2), // of another
        word(notice(2), 1, 1), // for another notice
    ] {
        let actions = delivery.handle(NOW, answered(peer(1), notice(1), NoticeResponse::Acknowledged(word)));
        // A word that does not count is as good as none: that is all that is written down, and once.
        let is_silence = |a: &Action| matches!(a, Action::Record { standing: Standing::Silent { since: NOW }, .. });
        assert!(actions.iter().all(is_silence), "{actions:?}");
        assert_eq!(delivery.n_open(), 1);
    }
    // It does not matter who brings it.
    let acknowledgement = word(notice(1), 1, 1);
    delivery.handle(NOW, Event::AcknowledgementReceived { acknowledgement });
    assert_eq!(delivery.n_open(), 0);
}

#[test]
fn a_refusal_leaves_it_open_and_visible() {
    let mut delivery = owing(&[notice(1)]);
    delivery.handle(NOW, Event::PeerAdmitted { peer: peer(1) });
    let reason = "not mine".to_string();
    let actions =
        delivery.handle(NOW, answered(peer(1), notice(1), NoticeResponse::Refused { reason: reason.clone() }));
    let standing = Standing::Refused { at: NOW, reason };
    assert!(matches!(&actions[..], [Action::Record { standing: s, .. }] if *s == standing));
    assert_eq!(delivery.n_open(), 1);
    assert_eq!(sent(&delivery.handle(NOW.plus(Duration::seconds(60)), Event::Tick)), [], "not every minute");
    let later = NOW.plus(Duration::seconds(400));
    assert_eq!(sent(&delivery.handle(later, Event::Tick)), [notice(1)]);
}

#[test]
fn silence_is_tried_again_ever_more_slowly() {
    let mut delivery = owing(&[notice(1)]);
    delivery.handle(NOW, Event::PeerAdmitted { peer: peer(1) });
    let (mut at, mut n_sent) = (NOW, 1);
    for _ in 0..3600 {
        at = at.plus(Duration::seconds(1));
        n_sent += sent(&delivery.handle(at, Event::Tick)).len();
    }
    assert!((15..=50).contains(&n_sent), "{n_sent} in an hour");
}

#[test]
fn a_busy_holder_is_not_asked_before_its_time() {
    let mut delivery = owing(&[notice(1)]);
    delivery.handle(NOW, Event::PeerAdmitted { peer: peer(1) });
    delivery.handle(NOW, answered(peer(1), notice(1), NoticeResponse::Busy { retry_after_ms: 30_000 }));
    assert_eq!(sent(&delivery.handle(NOW.plus(Duration::seconds(29)), Event::Tick)), []);
    assert_eq!(sent(&delivery.handle(NOW.plus(Duration::seconds(30)), Event::Tick)), [notice(1)]);
}

#[test]
fn few_are_in_flight_and_a_lost_peer_frees_them() {
    let all: Vec<Cid> = (0..10).map(notice).collect();
    let mut delivery = owing(&all);
    let first = sent(&delivery.handle(NOW, Event::PeerAdmitted { peer: peer(1) }));
    assert_eq!(first.len(), DELIVERIES_PER_PEER_MAX);
    assert_eq!(sent(&delivery.handle(NOW, Event::Tick)), []);
    let word = word(first[0], 1, 1);
    let actions = delivery.handle(NOW, answered(peer(1), first[0], NoticeResponse::Acknowledged(word)));
    assert_eq!(sent(&actions).len(), 1, "one lands, the next goes");
    delivery.handle(NOW, Event::PeerLost { peer: peer(1) });
    let again = sent(&delivery.handle(NOW, Event::PeerAdmitted { peer: peer(1) }));
    assert_eq!(again.len(), DELIVERIES_PER_PEER_MAX);
    assert!(!again.contains(&first[0]));
}

proptest! {
    /// Whatever happens in whatever order: what was acknowledged is never sent again, also after a restart, and nothing
    /// but the holder's word ends an obligation.
    #[test]
    fn nothing_is_sent_after_its_acknowledgement(steps in proptest::collection::vec((0u8..9, 1u8..4, 0u8..5, 0u64..200_000), 1..120)) {
        let mut delivery = Delivery::restore([], 7);
        let mut stored: BTreeMap<(Cid, NodeId), Standing> = BTreeMap::new();
        let mut now = NOW;
        for (step, who, which, wait) in steps {
            now = now.plus(Duration(wait));
            let (peer, notice) = (peer(who), notice(which));
            let event = match step {
                0 => Event::Obliged { notice, holder: peer },
                1 => Event::PeerAdmitted { peer },
                2 => Event::PeerLost { peer },
                3 => answered(peer, notice, NoticeResponse::Acknowledged(word(notice, who, who))),
                4 => answered(peer, notice, NoticeResponse::Refused { reason: "no".into() }),
                5 => Event::DeliveryFailed { peer, notice },
                6 => Event::NotSent { peer, notice },
                7 => Event::Tick,
                _ => {
                    let rows = stored.iter().map(|((n, h), s)| (*n, *h, s.clone()));
                    delivery = Delivery::restore(rows, 7);
                    continue;
                }
            };
            let is_word = step == 3;
            for action in delivery.handle(now, event) {
                match action {
                    Action::DeliverNotice { peer, notice } => {
                        let standing = stored.get(&(notice, peer));
                        let is_open = standing.is_some_and(|s| !matches!(s, Standing::Acknowledged { .. }));
                        prop_assert!(is_open, "{:?}", standing);
                    }
                    Action::Record { notice, holder, standing, acknowledgement } => {
                        prop_assert_eq!(matches!(standing, Standing::Acknowledged { .. }), acknowledgement.is_some());
                        prop_assert!(acknowledgement.is_none() || is_word);
                        stored.insert((notice, holder), standing);
                    }
                    Action::Overflow { .. } => panic!("there is room"),
                }
            }
        }
    }
}

#[test]
fn a_silence_is_told_once_with_its_beginning_and_ends_with_a_word() {
    let (notice, holder) = (notice(1), peer(1));
    let mut delivery = owing(&[notice]);
    delivery.handle(NOW, Event::PeerAdmitted { peer: holder });
    let told = |actions: &[Action]| {
        let is_silence = |a: &&Action| matches!(a, Action::Record { standing: Standing::Silent { .. }, .. });
        actions.iter().filter(is_silence).count()
    };
    let late = NOW.plus(Duration::seconds(200));
    assert_eq!(told(&delivery.handle(NOW, Event::DeliveryFailed { peer: holder, notice })), 1);
    delivery.handle(late, Event::Tick);
    assert_eq!(told(&delivery.handle(late, Event::DeliveryFailed { peer: holder, notice })), 0, "it is silent still");
    assert_eq!(delivery.standings(&notice)[&holder], Standing::Silent { since: NOW });

    let refused = NoticeResponse::Refused { reason: "not trusted here".into() };
    delivery.handle(late, answered(holder, notice, refused));
    assert!(matches!(delivery.standings(&notice)[&holder], Standing::Refused { .. }), "a refusal is an answer");
    assert_eq!(told(&delivery.handle(late, Event::DeliveryFailed { peer: holder, notice })), 0);
    delivery.handle(late, answered(holder, notice, NoticeResponse::Acknowledged(word(notice, 1, 1))));
    assert_eq!(delivery.n_open(), 0);
}

/// What never left this node is tried again and frees its place, and nobody is said to be silent for it.
#[test]
fn what_was_not_sent_says_nothing_of_the_holder() {
    let all: Vec<Cid> = (0..=u8::try_from(DELIVERIES_PER_PEER_MAX).unwrap()).map(notice).collect();
    let holder = peer(1);
    let mut delivery = owing(&all);
    let first = sent(&delivery.handle(NOW, Event::PeerAdmitted { peer: holder }));
    assert_eq!(first.len(), DELIVERIES_PER_PEER_MAX);
    let (mut at, mut n_sent) = (NOW, 0);
    assert_eq!(delivery.handle(at, Event::NotSent { peer: holder, notice: first[0] }), []);
    let next = sent(&delivery.handle(at, Event::Tick));
    assert!(next.len() == 1 && !first.contains(&next[0]), "its place is free, and it waits itself");
    for _ in 0..3600 {
        at = at.plus(Duration::seconds(1));
        for notice in sent(&delivery.handle(at, Event::Tick)) {
            n_sent += usize::from(notice == first[0]);
            if notice == first[0] {
                assert_eq!(delivery.handle(at, Event::NotSent { peer: holder, notice }), []);
            }
        }
    }
    assert!((15..=60).contains(&n_sent), "{n_sent} in an hour");
    assert_eq!(delivery.standings(&first[0])[&holder], Standing::Open);
    // What went before it, and was never answered, is silence.
    assert!(matches!(delivery.standings(&first[1])[&holder], Standing::Silent { .. }));
    // A silence that was said before stays said.
    delivery.handle(at, Event::DeliveryFailed { peer: holder, notice: first[0] });
    assert_eq!(delivery.handle(at, Event::NotSent { peer: holder, notice: first[0] }), []);
    assert!(matches!(delivery.standings(&first[0])[&holder], Standing::Silent { .. }));
}
