use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::boundary::{DepartmentPolicy, Sensitivity, readable};
use crate::identity::SecretKey;
use crate::knowledge::{KnowledgeType, KnowledgeUnit, Origin, SourceType, UnitState};

const NOW: Timestamp = Timestamp(1_760_000_000_000);
const REQUEST: u64 = 42;

fn key(n: u8) -> SecretKey {
    SecretKey::from_seed([n; 32])
}

fn department(name: &str) -> EntityId {
    name.parse().unwrap()
}

fn certificate() -> Certificate {
    super::super::certify(
        &key(1),
        "Northwater",
        key(2).public(),
        department("department-laboratory"),
        NOW,
        Duration::days(1),
    )
    .unwrap()
    .value()
    .clone()
}

fn assertion() -> Assertion {
    Assertion {
        tag: AssertionTag,
        org: key(1).public(),
        departments: vec![department("department-laboratory")],
        role: "member".into(),
        person: None,
        purpose: None,
        audience: key(3).public(),
        request: REQUEST,
        nonce: vec![7; ASSERTION_NONCE_BYTES],
        issued_at: NOW,
        expires_at: NOW.plus(Duration::seconds(30)),
    }
}

fn shown(assertion: Assertion, by: u8, now: Timestamp, nonces: &mut Nonces) -> Result<Requester, AssertionError> {
    let signed = Signed::seal(assertion, &key(by)).unwrap();
    asserted_requester(&certificate(), Some(&signed), &key(3).public(), REQUEST, now, nonces)
}

fn check(assertion: Assertion) -> Result<Requester, AssertionError> {
    shown(assertion, 2, NOW, &mut Nonces::default())
}

#[test]
fn each_way_to_be_refused_is_its_own_answer() {
    let requester = check(assertion()).unwrap();
    assert_eq!((requester.org, requester.departments.len(), requester.person), (key(1).public(), 1, None));
    assert!(matches!(
        shown(assertion(), 9, NOW, &mut Nonces::default()),
        Err(AssertionError::Signer { signer, .. }) if signer == key(9).public()
    ));
    let other = key(8).public();
    assert_eq!(check(Assertion { org: other, ..assertion() }), Err(AssertionError::Organisation));
    assert_eq!(check(Assertion { audience: other, ..assertion() }), Err(AssertionError::Audience(other)));
    let given = Err(AssertionError::Request { stated: 1, given: REQUEST });
    assert_eq!(check(Assertion { request: 1, ..assertion() }), given);
    assert!(matches!(check(Assertion { nonce: vec![7; 15], ..assertion() }), Err(AssertionError::Malformed(_))));
    assert!(matches!(check(Assertion { role: "x".repeat(201), ..assertion() }), Err(AssertionError::Malformed(_))));
    let departments = vec![department("department-a"); ASSERTION_DEPARTMENTS_MAX + 1];
    assert!(matches!(check(Assertion { departments, ..assertion() }), Err(AssertionError::Malformed(_))));
    let long = NOW.plus(ASSERTION_VALIDITY_MAX).plus(Duration(1));
    assert!(matches!(check(Assertion { expires_at: long, ..assertion() }), Err(AssertionError::Malformed(_))));
    let before = Timestamp(NOW.0 - 1);
    assert!(matches!(check(Assertion { expires_at: before, ..assertion() }), Err(AssertionError::Malformed(_))));
}

#[test]
fn clocks_that_differ_by_minutes_change_nothing() {
    let at = |ms: i64| shown(assertion(), 2, Timestamp(NOW.0 + ms), &mut Nonces::default());
    assert!(at(-299_000).is_ok() && at(329_000).is_ok());
    assert!(matches!(at(-301_000), Err(AssertionError::InFuture(_))));
    assert!(matches!(at(331_000), Err(AssertionError::Expired(_))));
}

#[test]
fn an_assertion_holds_once() {
    let mut nonces = Nonces::default();
    assert!(shown(assertion(), 2, NOW, &mut nonces).is_ok());
    assert_eq!(shown(assertion(), 2, NOW, &mut nonces), Err(AssertionError::Replayed));
    // As long as it would not be refused as expired, it is refused as used.
    let last = assertion().expires_at.plus(CLOCK_TOLERANCE);
    assert_eq!(shown(assertion(), 2, last, &mut nonces), Err(AssertionError::Replayed));
    assert!(shown(Assertion { nonce: vec![8; 16], ..assertion() }, 2, NOW, &mut nonces).is_ok());
}

#[test]
fn what_is_kept_is_bounded_and_never_forgotten_too_early() {
    let (mut nonces, signer) = (Nonces::default(), key(2).public());
    for n in 0..NONCES_PER_SIGNER_MAX {
        nonces.spend(&signer, &n.to_be_bytes(), NOW, NOW).unwrap();
    }
    assert_eq!(nonces.spend(&signer, b"one more", NOW, NOW), Err(AssertionError::Full));
    assert!(nonces.spend(&key(4).public(), b"another", NOW, NOW).is_ok(), "one signer does not shut out another");
    let later = NOW.plus(CLOCK_TOLERANCE).plus(Duration(1));
    assert!(nonces.spend(&signer, b"one more", later, later).is_ok(), "what cannot be shown any more makes room");
    assert_eq!(nonces.by_signer[&signer].len(), 1);
}

fn unit(sensitivity: Sensitivity, of: &str) -> KnowledgeUnit {
    let chunk = crate::content::RawBlock::raw(b"x".to_vec()).cid;
    KnowledgeUnit {
        chunk,
        source: chunk,
        kind: KnowledgeType::Context,
        scope: format!("department:{of}").parse().unwrap(),
        sensitivity,
        origin: Origin {
            source_type: SourceType::Document,
            source_ref: "x".into(),
            creator: None,
            publisher: key(3).public(),
            org: key(1).public(),
            department: department(of),
        },
        state: UnitState::Active,
    }
}

#[test]
fn a_node_that_asserts_nothing_reads_what_is_public() {
    let mut nonces = Nonces::default();
    let me = key(3).public();
    let stranger = asserted_requester(&certificate(), None, &me, REQUEST, NOW, &mut nonces).unwrap();
    for sensitivity in Sensitivity::ALL {
        let is_readable = readable(&stranger, &unit(sensitivity, "department-laboratory"), DepartmentPolicy::default());
        assert_eq!(is_readable.is_ok(), sensitivity == Sensitivity::Public, "{sensitivity}");
    }
}

proptest! {
    /// Whatever is asserted, it opens nothing that the certificate alone does not open.
    #[test]
    fn an_assertion_only_takes_away(
        names in proptest::collection::vec("(laboratory|operations|finance)", 0..4), person in any::<bool>(), role in "[a-z]{0,9}",
        restricted_within_department in any::<bool>(),
    ) {
        let departments: BTreeSet<EntityId> = names.iter().map(|n| department(&format!("department-{n}"))).collect();
        let asserted = Assertion {
            departments: departments.into_iter().collect(),
            role,
            person: person.then(|| "person-mara-lindqvist".parse().unwrap()),
            ..assertion()
        };
        let requester = check(asserted).unwrap();
        let whole = super::super::requester_of(&certificate());
        let policy = DepartmentPolicy { restricted_within_department };
        for sensitivity in Sensitivity::ALL {
            for of in ["department-laboratory", "department-operations", "department-finance"] {
                let unit = unit(sensitivity, of);
                prop_assert!(readable(&requester, &unit, policy).is_err() || readable(&whole, &unit, policy).is_ok());
            }
        }
    }
}
