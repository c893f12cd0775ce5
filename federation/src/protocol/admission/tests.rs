use plumb_core::identity::{EntityId, SecretKey};
use plumb_core::trust::certify;

use super::*;
use crate::wire::Unknown;

fn key(n: u8) -> SecretKey {
    SecretKey::from_seed([n; 32])
}

const NOW: Timestamp = Timestamp(1_760_000_000_000);

fn certificate(root: u8, node: u8) -> Signed<Certificate> {
    let department: EntityId = "department-laboratory".parse().unwrap();
    certify(&key(root), "Northwater", key(node).public(), department, NOW, Duration::days(30)).unwrap()
}

/// Node 10 of organisation 1, which trusts organisations 1 and 2.
fn door() -> Admission {
    let named = |n: u8| (key(n).public(), format!("organisation {n}"));
    Admission::new(certificate(1, 10), "plumb/test", Roots::full([named(1), named(2)]))
}

fn hello(root: u8, node: u8) -> Hello {
    Hello { certificate: certificate(root, node), agent: "plumb/test".into(), heads: vec![] }
}

fn peer(n: u8) -> NodeId {
    key(n).public()
}

#[test]
fn a_peer_is_permitted_by_its_hello_and_admitted_by_its_answer() {
    let mut door = door();
    let peer = peer(20);
    assert_eq!(door.handle(NOW, Event::Connected { peer }), [Action::SendHello { peer }]);
    assert_eq!(door.permitted(&peer), None);

    let asked = door.handle(NOW, Event::HelloAsked { peer, hello: hello(2, 20) });
    assert_eq!(asked, [Action::Permit { peer }, Action::AnswerHello { peer }]);
    assert_eq!(door.permitted(&peer), Some(&certificate(2, 20)));
    assert_eq!(door.handle(NOW, Event::RequestArrived { peer }), []);

    let response = HelloResponse::Hello(hello(2, 20));
    let answered = door.handle(NOW, Event::HelloAnswered { peer, response: response.clone() });
    let admit = Action::Admit { peer, certificate: certificate(2, 20), heads: vec![] };
    assert_eq!(answered, [admit]);
    assert_eq!(door.handle(NOW, Event::HelloAnswered { peer, response }), [], "once");
    assert_eq!(door.handle(NOW, Event::Disconnected { peer }), [Action::Dismiss { peer }]);
    assert_eq!(door.permitted(&peer), None);
}

#[test]
fn the_answer_alone_permits_too() {
    let mut door = door();
    let peer = peer(20);
    door.handle(NOW, Event::Connected { peer });
    let response = HelloResponse::Hello(hello(2, 20));
    let answered = door.handle(NOW, Event::HelloAnswered { peer, response });
    let admit = Action::Admit { peer, certificate: certificate(2, 20), heads: vec![] };
    assert_eq!(answered, [Action::Permit { peer }, admit]);
}

#[test]
fn whoever_asks_before_its_hello_is_closed() {
    let mut door = door();
    let peer = peer(20);
    door.handle(NOW, Event::Connected { peer });
    let reason = CloseReason::NotAdmitted;
    assert_eq!(door.handle(NOW, Event::RequestArrived { peer }), [Action::Close { peer, reason }]);
}

#[test]
fn a_stranger_is_told_why_and_closed() {
    let mut door = door();
    for (peer, hello) in [
        (peer(30), hello(3, 30)), // of an organisation that is not pinned
        (peer(31), hello(2, 20)), // with the certificate of another
    ] {
        let actions = door.handle(NOW, Event::HelloAsked { peer, hello: hello.clone() });
        assert!(
            matches!(&actions[..], [
                Action::RefuseHello { response: HelloResponse::Refused { reason, .. }, .. },
                Action::Close { reason: CloseReason::Untrusted(_), .. },
            ] if !reason.is_empty()),
            "{actions:?}"
        );
        door.handle(NOW, Event::Connected { peer });
        let response = HelloResponse::Hello(hello);
        let actions = door.handle(NOW, Event::HelloAnswered { peer, response });
        assert!(matches!(&actions[..], [Action::Close { reason: CloseReason::Untrusted(_), .. }]), "{actions:?}");
        assert_eq!(door.permitted(&peer), None);
    }
}

#[test]
fn whoever_does_not_answer_in_kind_is_closed() {
    let unknown = Unknown { kind: "later".into(), bytes: vec![] };
    for response in [HelloResponse::Refused { reason: "no".into(), code: None }, HelloResponse::Unknown(unknown)] {
        let mut door = door();
        let peer = peer(20);
        door.handle(NOW, Event::Connected { peer });
        let actions = door.handle(NOW, Event::HelloAnswered { peer, response });
        assert!(matches!(&actions[..], [Action::Close { .. }]), "{actions:?}");
    }
    let mut door = door();
    let peer = peer(20);
    door.handle(NOW, Event::Connected { peer });
    let actions = door.handle(NOW, Event::HelloFailed { peer, reason: "reset".into() });
    assert!(matches!(&actions[..], [Action::Close { reason: CloseReason::Failed(_), .. }]));
    assert_eq!(door.handle(NOW, Event::HelloFailed { peer, reason: "reset".into() }), [], "it is gone");
}

#[test]
fn silence_ends() {
    let mut door = door();
    let peer = peer(20);
    door.handle(NOW, Event::Connected { peer });
    // Permission is not enough: it has to answer.
    door.handle(NOW, Event::HelloAsked { peer, hello: hello(2, 20) });
    assert_eq!(door.handle(NOW.plus(Duration::seconds(9)), Event::Tick), []);
    let reason = CloseReason::Timeout;
    assert_eq!(door.handle(NOW.plus(Duration::seconds(10)), Event::Tick), [Action::Close { peer, reason }]);
}

#[test]
fn certificates_end_and_roots_are_removed_while_peers_are_there() {
    let mut door = door();
    let peer = peer(20);
    door.handle(NOW, Event::Connected { peer });
    let response = HelloResponse::Hello(hello(2, 20));
    door.handle(NOW, Event::HelloAnswered { peer, response: response.clone() });
    let later = NOW.plus(Duration::days(31));
    let actions = door.handle(later, Event::Tick);
    assert!(matches!(
        &actions[..],
        [Action::Dismiss { .. }, Action::Close { reason: CloseReason::Untrusted(TrustError::Expired(_)), .. }]
    ));

    door.handle(NOW, Event::Connected { peer });
    door.handle(NOW, Event::HelloAnswered { peer, response });
    let actions = door.handle(NOW, Event::RootsChanged { roots: Roots::default() });
    assert!(matches!(&actions[..], [Action::Dismiss { .. }, Action::Close { .. }]));
}

/// In the future, expired, revoked, unknown: each is told to the peer as such, and the other side hears it.
#[test]
fn four_answers_are_told_apart_on_both_sides() {
    use plumb_core::trust::{Revocation, RevocationReason, RevocationTag};
    let revocation = Revocation {
        tag: RevocationTag,
        org: key(2).public(),
        node: peer(21),
        certificate: None,
        reason: RevocationReason::KeyCompromise,
        note: String::new(),
        log_size: None,
        at: NOW,
    };
    let mut roots = Roots::full([(key(2).public(), "organisation 2".to_string())]);
    roots.history.revoke(Signed::seal(revocation, &key(2)).unwrap(), 0);
    let early = Timestamp(NOW.0 - 3_600_000);
    for (now, root, node, code) in [
        (early, 2, 20, "in_future"),
        (NOW.plus(Duration::days(31)), 2, 20, "expired"),
        (NOW, 2, 21, "revoked"),
        (NOW, 3, 20, "unknown_root"),
    ] {
        let mut door = Admission::new(certificate(1, 10), "plumb/test", roots.clone());
        let peer = peer(node);
        let actions = door.handle(now, Event::HelloAsked { peer, hello: hello(root, node) });
        let [Action::RefuseHello { response, .. }, Action::Close { reason, .. }] = &actions[..] else {
            panic!("{code}: {actions:?}")
        };
        assert_eq!(reason.code(), Some(code));

        let sent = HelloResponse::decode(&response.encode()).unwrap();
        let mut other = self::door();
        other.handle(now, Event::Connected { peer });
        let heard = other.handle(now, Event::HelloAnswered { peer, response: sent });
        assert!(matches!(&heard[..], [Action::Close { reason, .. }] if reason.code() == Some(code)), "{heard:?}");
    }
}

#[test]
fn a_revocation_closes_who_was_admitted() {
    use plumb_core::trust::{Revocation, RevocationReason, RevocationTag};
    let mut door = door();
    let (revoked, colleague) = (peer(20), peer(21));
    for node in [20, 21] {
        door.handle(NOW, Event::Connected { peer: peer(node) });
        door.handle(NOW, Event::HelloAnswered { peer: peer(node), response: HelloResponse::Hello(hello(2, node)) });
    }
    let revocation = Revocation {
        tag: RevocationTag,
        org: key(2).public(),
        node: revoked,
        certificate: None,
        reason: RevocationReason::KeyLost,
        note: String::new(),
        log_size: None,
        at: NOW,
    };
    let mut roots = door.roots.clone();
    roots.history.revoke(Signed::seal(revocation, &key(2)).unwrap(), 1);
    let actions = door.handle(NOW, Event::RootsChanged { roots });
    let [Action::Dismiss { peer: dismissed }, Action::Close { peer: closed, reason }] = &actions[..] else {
        panic!("{actions:?}")
    };
    assert_eq!((dismissed, closed, reason.code()), (&revoked, &revoked, Some("revoked")));
    assert!(door.permitted(&colleague).is_some());
}

#[test]
fn there_is_room_for_so_many() {
    let mut door = door();
    let newcomer = |n: usize| {
        let mut seed = [9; 32];
        seed[..8].copy_from_slice(&n.to_be_bytes());
        SecretKey::from_seed(seed).public()
    };
    for n in 0..PEERS_MAX {
        assert_eq!(door.handle(NOW, Event::Connected { peer: newcomer(n) }).len(), 1);
    }
    let peer = newcomer(PEERS_MAX);
    let reason = CloseReason::Full;
    assert_eq!(door.handle(NOW, Event::Connected { peer }), [Action::Close { peer, reason }]);
}
