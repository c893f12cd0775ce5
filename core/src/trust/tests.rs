use proptest::prelude::*;

use super::*;
use crate::content::RawBlock;
use crate::identity::{EntityId, NodeId, PublicKey, SecretKey, Signed};
use crate::measure::Timestamp;
use crate::notice::{Notice, NoticeError, NoticeKind, NoticeTag, Reason};

const NOW: Timestamp = Timestamp(1_800_000_000_000);

fn key(n: u8) -> SecretKey {
    SecretKey::from_seed([n; 32])
}

fn did(n: u8) -> PublicKey {
    key(n).public()
}

fn department(name: &str) -> EntityId {
    format!("department-{name}").parse().unwrap()
}

fn terms() -> Terms {
    Terms { department: department("a"), capabilities: None, succeeds: vec![], validity: Duration::days(30) }
}

/// Key `root` certifies node `node` of organisation 1, after these rotations.
fn certificate(root: u8, rotations: &[Rotation], node: u8, terms: Terms) -> Signed<Certificate> {
    certify_under(&key(root), rotations, "Northwater", did(node), terms, NOW).unwrap()
}

fn pinned() -> Roots {
    Roots::full([(did(1), "Northwater".to_string())])
}

fn rotation(old: u8, new: u8) -> Rotation {
    Rotation::seal(did(1), &key(old), &key(new), NOW).unwrap()
}

fn revocation(
    root: u8,
    node: u8,
    certificate: Option<&Signed<Certificate>>,
    log_size: Option<u64>,
) -> Signed<Revocation> {
    let value = Revocation {
        tag: RevocationTag,
        org: did(1),
        node: did(node),
        certificate: certificate.map(Signed::cid),
        reason: RevocationReason::KeyCompromise,
        note: String::new(),
        log_size,
        at: NOW,
    };
    Signed::seal(value, &key(root)).unwrap()
}

#[test]
fn each_way_to_be_refused_is_its_own_answer() {
    let (node, other) = (did(2), did(3));
    let cert = certificate(1, &[], 2, terms());
    let mut roots = pinned();
    assert_eq!(roots.admit(&node, &cert, NOW), Ok(()));
    assert_eq!(roots.admit(&node, &cert, Timestamp(NOW.0 - 240_000)), Ok(()), "minutes of skew change nothing");
    assert_eq!(roots.admit(&other, &cert, NOW).unwrap_err().code(), "other_node");
    let forged = Signed::seal(cert.value().clone(), &key(9)).unwrap();
    assert_eq!(roots.admit(&node, &forged, NOW), Err(TrustError::NotSignedByRoot));

    let early = roots.admit(&node, &cert, Timestamp(NOW.0 - 400_000)).unwrap_err();
    let late = roots.admit(&node, &cert, NOW.plus(Duration::days(31))).unwrap_err();
    let unknown = Roots::default().admit(&node, &cert, NOW).unwrap_err();
    roots.history.revoke(revocation(1, 2, None, None), 0);
    let revoked = roots.admit(&node, &cert, NOW).unwrap_err();
    let four = [early, late, unknown, revoked];
    assert_eq!(four.each_ref().map(TrustError::code), ["in_future", "expired", "unknown_root", "revoked"]);
    let texts: std::collections::BTreeSet<String> = four.iter().map(ToString::to_string).collect();
    assert_eq!(texts.len(), 4);
}

#[test]
fn a_changed_certificate_does_not_open() {
    let bytes = certificate(2, &[rotation(1, 2)], 5, terms()).to_bytes();
    assert!(Signed::<Certificate>::from_bytes(&bytes).is_ok());
    for i in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[i] ^= 1;
        assert!(Signed::<Certificate>::from_bytes(&changed).is_err(), "byte {i}");
    }
}

#[test]
fn what_a_certificate_lets_a_node_do_is_said_or_everything() {
    let all = certificate(1, &[], 2, terms());
    let some =
        Terms { capabilities: Some(["search".into(), "later".into()].map(|c: String| c.into()).into()), ..terms() };
    let some = certificate(1, &[], 2, some);
    for capability in Capability::KNOWN {
        assert!(all.value().may(&capability));
        assert_eq!(some.value().may(&capability), capability == Capability::Search);
    }
    let again = Signed::<Certificate>::from_bytes(&some.to_bytes()).unwrap();
    assert!(again.value().may(&Capability::Other("later".into())), "a capability of the future is kept");
}

#[test]
fn whoever_pins_the_old_root_follows_to_the_new_one() {
    let line = [rotation(1, 10), rotation(10, 11)];
    let new = certificate(11, &line, 5, terms());
    assert_eq!(new.value().org, did(1), "the organisation keeps its name");
    assert_eq!(pinned().admit(&did(5), &new, NOW), Ok(()), "the certificate brings its rotations along");
    assert_eq!(Roots::full([(did(11), "N".into())]).admit(&did(5), &new, NOW), Ok(()), "the new root itself is pinned");
    assert_eq!(Roots::full([(did(9), "N".into())]).admit(&did(5), &new, NOW).unwrap_err().code(), "unknown_root");

    // Whatever is left out or turned round does not lead there.
    for wrong in [&line[..1], &line[1..], &[line[1].clone(), line[0].clone()][..]] {
        let cert = certificate(11, wrong, 5, terms());
        assert_eq!(pinned().admit(&did(5), &cert, NOW).unwrap_err().code(), "not_signed_by_root", "{wrong:?}");
    }
}

#[test]
fn both_roots_have_to_sign() {
    let good = rotation(1, 10);
    assert_eq!(Rotation::from_bytes(&good.to_bytes()), Ok(good.clone()));
    let bytes = good.to_bytes();
    for i in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[i] ^= 1;
        assert!(Rotation::from_bytes(&changed).is_err(), "byte {i}");
    }
    assert_eq!(Rotation::seal(did(1), &key(1), &key(1), NOW), Err(RotationError::Same));
    // The same statement of both, with the signature of one of them twice.
    let mut one = good.to_bytes();
    let (a, b) = (*good_signature(&good, &key(1)).as_bytes(), *good_signature(&good, &key(10)).as_bytes());
    let at = one.windows(64).position(|w| w == b).unwrap();
    one[at..at + 64].copy_from_slice(&a);
    assert!(matches!(Rotation::from_bytes(&one), Err(RotationError::Signature(_))));
}

fn good_signature(rotation: &Rotation, key: &SecretKey) -> crate::identity::Signature {
    key.sign(crate::identity::Domain::Rotation, &rotation.cid())
}

#[test]
fn a_retired_key_proves_nothing_new() {
    let before = certificate(1, &[], 5, terms());
    let mut roots = pinned();
    roots.history.rotate(rotation(1, 10), [before.cid()]);
    assert_eq!(roots.admit(&did(5), &before, NOW), Ok(()), "it was known before");
    let late = certificate(1, &[], 6, terms());
    assert_eq!(roots.admit(&did(6), &late, NOW).unwrap_err().code(), "retired_root", "whatever date it claims");
    assert_eq!(roots.may_speak_as_root(&did(1), &did(1), Place::Shown).unwrap_err().code(), "retired_root");
    assert_eq!(roots.may_speak_as_root(&did(1), &did(10), Place::Shown), Ok(()));

    // In front of the rotation in the same log it was said in time, behind it was not; another log proves nothing.
    roots.history.locate(did(5), did(1), 7);
    let at = |publisher, index| roots.may_speak_as_root(&did(1), &did(1), Place::Logged { publisher, index });
    assert_eq!(at(did(5), 6), Ok(()));
    assert!(at(did(5), 8).is_err() && at(did(6), 6).is_err());
}

#[test]
fn two_rotations_of_one_root_are_followed_by_nobody_until_an_operator_decides() {
    let (a, b) = (rotation(1, 10), rotation(1, 11));
    let (by_a, by_b) =
        (certificate(10, std::slice::from_ref(&a), 5, terms()), certificate(11, std::slice::from_ref(&b), 6, terms()));
    let mut roots = pinned();
    roots.history.rotate(a.clone(), []);
    assert_eq!(roots.admit(&did(5), &by_a, NOW), Ok(()));
    assert_eq!(roots.admit(&did(6), &by_b, NOW).unwrap_err().code(), "disputed_root", "the rival is shown with it");
    roots.history.rotate(b, []);
    assert_eq!(roots.line(&did(1)).rivals.len(), 2);
    for (node, cert) in [(5, &by_a), (6, &by_b)] {
        assert_eq!(roots.admit(&did(node), cert, NOW).unwrap_err().code(), "disputed_root");
    }
    assert_eq!(roots.may_speak_as_root(&did(1), &did(1), Place::Shown).unwrap_err().code(), "disputed_root");

    roots.history.settle(did(1), did(11));
    assert_eq!(roots.admit(&did(6), &by_b, NOW), Ok(()));
    assert_eq!(roots.admit(&did(5), &by_a, NOW).unwrap_err().code(), "disputed_root");
    // A pin of the new root itself decides, too.
    let mut roots = Roots::full([(did(1), "N".into()), (did(10), "N".into())]);
    roots.history.rotate(a, []);
    roots.history.rotate(rotation(1, 11), []);
    assert_eq!(roots.admit(&did(5), &by_a, NOW), Ok(()));
}

/// A node whose people follow the other root holds what was certified further down that line, and shows it in good faith.
#[test]
fn whatever_follows_a_rival_is_disputed_too() {
    let (a, b, b2, b3) = (rotation(1, 10), rotation(1, 11), rotation(11, 12), rotation(12, 13));
    let line = [b.clone(), b2.clone(), b3];
    let code =
        |roots: &Roots, cert: &Signed<Certificate>| roots.admit(&did(6), cert, NOW).unwrap_err().code().to_string();
    let under = |n: usize| certificate([1, 11, 12, 13][n], &line[..n], 6, terms());
    let mut roots = pinned();
    roots.history.rotate(a, []);
    for n in 1..=3 {
        assert_eq!(code(&roots, &under(n)), "disputed_root", "{n} rotations, undecided");
    }
    roots.history.settle(did(1), did(10));
    for n in 1..=3 {
        assert_eq!(code(&roots, &under(n)), "disputed_root", "{n} rotations, and the other root is followed");
    }
    // Whoever was never handed anything is a stranger all the same, and a circle has an end.
    roots.history.rotate(rotation(12, 11), []);
    let claimed = Signed::seal(under(2).value().clone(), &key(14)).unwrap();
    assert_eq!(code(&roots, &claimed), "not_signed_by_root");
    roots.history.rotate(b2, []);
    assert_eq!(roots.standing(&did(1), &did(12)), RootStanding::Disputed);
    assert_eq!(roots.standing(&did(1), &did(13)), RootStanding::Stranger, "it was not heard of here");
    // It is followed as far as a line may go, and no farther.
    let last = 20 + u8::try_from(ROTATIONS_MAX).unwrap() - 1;
    roots.history.rotate(rotation(1, 20), []);
    for n in 20..=last {
        roots.history.rotate(rotation(n, n + 1), []);
    }
    assert_eq!(roots.standing(&did(1), &did(last)), RootStanding::Disputed);
    assert_eq!(roots.standing(&did(1), &did(last + 1)), RootStanding::Stranger);
}

#[test]
fn rotations_that_go_in_a_circle_end() {
    let mut roots = pinned();
    roots.history.rotate(rotation(1, 10), []);
    roots.history.rotate(rotation(10, 1), []);
    assert_eq!(roots.line(&did(1)).keys, [did(1), did(10)]);
}

#[test]
fn a_revocation_leaves_standing_what_was_logged_before() {
    let cert = certificate(1, &[], 5, terms());
    let mut roots = pinned();
    roots.history.revoke(revocation(1, 5, None, None), 4);
    let at = |index| roots.check_revoked(&cert, Place::Logged { publisher: did(5), index }).is_ok();
    assert!(at(3) && !at(4));
    assert!(roots.check_revoked(&cert, Place::Logged { publisher: did(6), index: 0 }).is_err(), "not its own log");

    // One certificate is taken back; the node may have another.
    let mut roots = pinned();
    roots.history.revoke(revocation(1, 5, Some(&cert), None), 0);
    let again = certificate(1, &[], 5, Terms { validity: Duration::days(60), ..terms() });
    assert_eq!(roots.admit(&did(5), &cert, NOW).unwrap_err().code(), "revoked");
    assert_eq!(roots.admit(&did(5), &again, NOW), Ok(()));
}

fn notice(signer: u8, publisher: u8) -> Signed<Notice> {
    let value = Notice {
        tag: NoticeTag,
        kind: NoticeKind::Retraction,
        reason: Reason::DataError,
        note: String::new(),
        targets: vec![RawBlock::raw(vec![]).cid],
        fingerprints: vec![],
        undoes: None,
        chunks: vec![],
        superseded_by: None,
        audience: None,
        publisher: did(publisher),
        org: did(1),
        issued_at: NOW,
    };
    Signed::seal(value, &key(signer)).unwrap()
}

/// Node 5 of department a published; 6 is its successor, 7 a colleague, 8 a successor of another department.
fn right(roots: &Roots, signer: u8, place: Place) -> Result<Authority, NoticeError> {
    let of = certificate(1, &[], 5, terms());
    let shown = match signer {
        6 => Some(certificate(1, &[], 6, Terms { succeeds: vec![did(5)], ..terms() })),
        7 => Some(certificate(1, &[], 7, terms())),
        8 => Some(certificate(1, &[], 8, Terms { succeeds: vec![did(5)], department: department("b"), ..terms() })),
        12 => {
            // Another organisation certifies itself a successor.
            let terms = Terms { succeeds: vec![did(5)], ..terms() };
            Some(certify_under(&key(40), &[], "Other", did(12), terms, NOW).unwrap())
        }
        _ => None,
    };
    let a = department("a");
    let published = Published { node: &did(5), org: &did(1), department: Some(&a), certificate: Some(&of) };
    roots.may_issue(&notice(signer, 5), published, shown.as_ref(), place)
}

#[test]
fn the_author_its_successor_and_the_root_may_speak_and_nobody_else() {
    let mut roots = pinned();
    roots.pin(did(40), Pin::full("Other"));
    assert_eq!(right(&roots, 5, Place::Shown), Ok(Authority::Publisher));
    assert_eq!(right(&roots, 6, Place::Shown), Ok(Authority::Successor));
    assert_eq!(right(&roots, 1, Place::Shown), Ok(Authority::Root));
    for stranger in [7, 8, 9, 12, 40] {
        assert!(matches!(right(&roots, stranger, Place::Shown), Err(NoticeError::Authority { .. })), "{stranger}");
    }
    roots.history.revoke(revocation(1, 5, None, Some(3)), 9);
    assert!(matches!(right(&roots, 5, Place::Shown), Err(NoticeError::Revoked { .. })));
    let logged = |index| Place::Logged { publisher: did(5), index };
    assert_eq!(right(&roots, 5, logged(2)), Ok(Authority::Publisher), "it was logged before");
    assert!(right(&roots, 5, logged(3)).is_err(), "the root said how much of the log stands");
    roots.history.revoke(revocation(1, 6, None, None), 0);
    assert!(matches!(right(&roots, 6, Place::Shown), Err(NoticeError::Root(TrustError::Revoked { .. }))));
}

#[test]
fn a_node_that_is_not_certified_for_notices_is_not_believed() {
    let terms = Terms { capabilities: Some([Capability::Search].into()), ..terms() };
    let of = certificate(1, &[], 5, terms);
    let published = Published { node: &did(5), org: &did(1), department: None, certificate: Some(&of) };
    let right = pinned().may_issue(&notice(5, 5), published, Some(&of), Place::Shown);
    assert!(matches!(right, Err(NoticeError::Incapable { .. })));
}

#[test]
fn statements_have_their_limits() {
    let line: Vec<Rotation> = (0..=ROTATIONS_MAX as u8).map(|i| rotation(i + 1, i + 2)).collect();
    let longest = certificate(ROTATIONS_MAX as u8 + 1, &line[..ROTATIONS_MAX], 90, terms());
    assert_eq!(pinned().admit(&did(90), &longest, NOW), Ok(()));
    let longer = certificate(ROTATIONS_MAX as u8 + 2, &line, 90, terms());
    assert_eq!(pinned().admit(&did(90), &longer, NOW), Err(TrustError::NotSignedByRoot));
    assert_eq!(Rotation::from_bytes(&vec![0; ROTATION_BYTES_MAX + 1]), Err(RotationError::TooLarge));
    let many: Vec<NodeId> = (0..=SUCCEEDS_MAX as u8).map(did).collect();
    assert!(!is_signed_by_its_root(&certificate(1, &[], 5, Terms { succeeds: many, ..terms() })));
}

const MINUTE: i64 = 60_000;

proptest! {
    /// Two honest clocks, each off by up to two and a half minutes: what is valid is admitted, and what is early or late
    /// is that, by whichever clock.
    #[test]
    fn minutes_of_skew_change_no_verdict(
        issuer in -150_000i64..=150_000,
        verifier in -150_000i64..=150_000,
        age in 0i64..=30 * 24 * 60,
        beyond in 6i64..=100_000,
    ) {
        let at = Timestamp(NOW.0 + issuer);
        let cert = certify_under(&key(1), &[], "N", did(5), terms(), at).unwrap();
        let mut roots = pinned();
        let seen = |roots: &Roots, minutes: i64| {
            let now = Timestamp(NOW.0 + minutes * MINUTE + verifier);
            roots.admit(&did(5), &cert, now).map_err(|e| e.code())
        };
        prop_assert_eq!(seen(&roots, age), Ok(()));
        prop_assert_eq!(seen(&roots, -beyond - 5), Err("in_future"));
        prop_assert_eq!(seen(&roots, 30 * 24 * 60 + beyond + 5), Err("expired"));
        prop_assert_eq!(seen(&Roots::default(), age), Err("unknown_root"));
        roots.history.revoke(revocation(1, 5, None, None), 0);
        for minutes in [age, -beyond - 5, 30 * 24 * 60 + beyond + 5] {
            prop_assert_eq!(seen(&roots, minutes), Err("revoked"));
        }
    }

    /// Whatever was known before, and in whichever order statements come: the same roots are followed.
    #[test]
    fn the_order_of_statements_does_not_matter(order in Just(vec![0usize, 1, 2, 3, 4]).prop_shuffle(), again in 0usize..5) {
        let mut roots = pinned();
        for i in order.iter().chain([&again]) {
            match i {
                0 => drop(roots.history.rotate(rotation(1, 10), [])),
                1 => drop(roots.history.rotate(rotation(10, 11), [])),
                2 => drop(roots.history.rotate(rotation(11, 12), [])),
                3 => drop(roots.history.revoke(revocation(12, 5, None, Some(2)), *i as u64)),
                _ => drop(roots.history.rotate(rotation(20, 21), [])),
            }
        }
        prop_assert_eq!(roots.line(&did(1)).keys, vec![did(1), did(10), did(11), did(12)]);
        prop_assert_eq!(roots.standing(&did(1), &did(11)), RootStanding::Retired);
        prop_assert_eq!(roots.standing(&did(1), &did(21)), RootStanding::Stranger);
        let revoked = roots.history.revoked(&did(1), &did(5), None, Place::Logged { publisher: did(5), index: 1 });
        prop_assert!(revoked.is_none());
    }

    #[test]
    fn any_bytes_give_a_rotation_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = Rotation::from_bytes(&bytes);
    }
}
