use std::collections::BTreeMap;

use super::*;
use crate::exchange::fixture::{
    NOW, entry_of, judged, logged_behind, node, root, roots, sealed, sealed_and_logged, verified,
};
use crate::exchange::{LoggedAt, Seal, SealedBundle, write_car};
use crate::identity::{Domain, SecretKey};
use crate::measure::Duration;
use crate::trust::certify;
use ipld_core::ipld::Ipld;
use proptest::prelude::*;

/// Sealed at `NOW` under a certificate that became valid `begins` ms later and held for a day; judged with what the
/// reader knows of roots, and of the issuer's log.
fn issued(
    begins: i64,
    know: impl Fn(&mut Roots, &Signed<Certificate>),
    logged: Option<u64>,
) -> Result<CertificateState, String> {
    let template = verify(
        &sealed(true).to_car(),
        &Knowledge { now: NOW, roots: &roots(), status: &|_, _| SourceStatus::Unknown, logged: &|_, _| None },
    )
    .unwrap();
    let department = "department-operations".parse().unwrap();
    let begin = Timestamp(NOW.0 + begins);
    let certificate = certify(&root(), "Northwater", node().public(), department, begin, Duration::days(1)).unwrap();
    let file = RawBlock::raw(certificate.to_bytes());
    let bundle = Bundle { certificate: file.cid, issued_at: NOW, ..template.bundle.clone() };
    let signed = Signed::seal(bundle, &node()).unwrap();
    let seal = RawBlock::encode(&Seal {
        tag: crate::exchange::bundle::SealTag,
        bundle: signed.cid(),
        signer: node().public(),
        signature: *signed.signature(),
        logged: None,
    })
    .unwrap();
    let mut blocks = template.blocks.clone();
    for gone in [template.root, template.cid, template.bundle.certificate] {
        blocks.remove(&gone);
    }
    for block in [file, signed.block().clone(), seal.clone()] {
        blocks.insert(block.cid, block.bytes);
    }
    let car = SealedBundle { root: seal.cid, bundle: signed.cid(), blocks }.to_car();
    let mut roots = roots();
    know(&mut roots, &certificate);
    let knowledge = Knowledge {
        now: NOW.plus(Duration::days(400)),
        roots: &roots,
        status: &|_, _| SourceStatus::Unknown,
        logged: &|_, _| logged,
    };
    match verify(&car, &knowledge) {
        Ok(verified) => Ok(verified.certificate_state),
        Err(BundleError::Issued(error)) => Err(error.code().to_string()),
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn a_bundle_is_judged_by_its_issuers_standing_when_it_was_issued() {
    use crate::trust::{Revocation, RevocationReason, RevocationTag, Rotation};
    let code = |code: &str| Err(code.to_string());
    let nothing = |_: &mut Roots, _: &Signed<Certificate>| {};
    assert_eq!(
        issued(-1000, nothing, None),
        Ok(CertificateState::Valid),
        "it has expired since, which changes nothing"
    );
    assert_eq!(issued(240_000, nothing, None), Ok(CertificateState::Valid), "minutes of skew change nothing");
    assert_eq!(issued(400_000, nothing, None), code("in_future"));
    assert_eq!(issued(-2 * 86_400_000, nothing, None), code("expired"));
    assert_eq!(issued(-1000, |roots, _| *roots = Roots::default(), None), Ok(CertificateState::Unknown));

    let revoke = |roots: &mut Roots, _: &Signed<Certificate>| {
        let revocation = Revocation {
            tag: RevocationTag,
            org: root().public(),
            node: node().public(),
            certificate: None,
            reason: RevocationReason::KeyCompromise,
            note: String::new(),
            log_size: None,
            at: NOW,
        };
        roots.history.revoke(Signed::seal(revocation, &root()).unwrap(), 5);
    };
    assert_eq!(issued(-1000, revoke, None), code("revoked"), "the key could write any date");
    assert_eq!(issued(-1000, revoke, Some(4)), Ok(CertificateState::Valid), "it was logged before");
    assert_eq!(issued(-1000, revoke, Some(5)), code("revoked"));

    let next = SecretKey::from_seed([7; 32]);
    let rotate = |roots: &mut Roots, known: Option<cid::Cid>| {
        let rotation = Rotation::seal(root().public(), &root(), &next, NOW).unwrap();
        roots.history.rotate(rotation, known);
        roots.history.locate(node().public(), root().public(), 5);
    };
    assert_eq!(issued(-1000, |r, c| rotate(r, Some(c.cid())), None), Ok(CertificateState::Valid), "it was known");
    assert_eq!(issued(-1000, |r, _| rotate(r, None), None), Ok(CertificateState::Retired), "it cannot be told");
    assert_eq!(issued(-1000, |r, _| rotate(r, None), Some(6)), code("retired_root"));
    assert_eq!(issued(-1000, |r, _| rotate(r, None), Some(4)), Ok(CertificateState::Valid), "it was logged before");
}

#[test]
fn a_bundle_has_four_verdicts() {
    let car = sealed(true).to_car();
    let notice = RawBlock::raw(vec![1]).cid;
    let later = NOW.plus(Duration::days(3));
    assert_eq!(judged(&car, NOW, SourceStatus::Unknown), Ok(Verdict::Current { as_of: NOW }));
    assert!(
        matches!(judged(&car, NOW, SourceStatus::Withdrawn(notice)), Ok(Verdict::Retracted { withdrawn }) if withdrawn.len() == 2)
    );
    assert_eq!(judged(&car, later, SourceStatus::Unknown), Ok(Verdict::Unconfirmed { since: Some(NOW) }));
    assert_eq!(judged(&car, later, SourceStatus::CurrentAsOf(later)), Ok(Verdict::Current { as_of: later }));
    // What is still to come was not confirmed, whoever says so.
    assert_eq!(
        judged(&car, NOW, SourceStatus::CurrentAsOf(later)),
        Ok(Verdict::Current { as_of: NOW }),
        "what the bundle carries counts"
    );
    let before = Timestamp(NOW.0 - Duration::days(2).0.cast_signed());
    assert_eq!(judged(&car, before, SourceStatus::Unknown), Ok(Verdict::Unconfirmed { since: None }));
    let caution = SourceStatus::Caution { notice, as_of: Some(later) };
    assert_eq!(judged(&car, later, caution), Ok(Verdict::Current { as_of: later }), "a caution makes nothing stale");
    let headless = sealed(false).to_car();
    assert_eq!(judged(&headless, NOW, SourceStatus::Unknown), Ok(Verdict::Unconfirmed { since: None }));
}

#[test]
fn every_single_byte_is_covered() {
    let car = sealed_and_logged(5).to_car();
    for i in 0..car.len() {
        let mut changed = car.clone();
        changed[i] ^= 0x20;
        assert!(judged(&changed, NOW, SourceStatus::Unknown).is_err(), "byte {i} of {}", car.len());
    }
}

#[test]
fn a_replay_gives_the_same_bytes() {
    let sealed = sealed(true);
    let verified = verified(&sealed.to_car()).unwrap();
    let replayed = replay(&sealed.to_car()).unwrap();
    assert_eq!(replayed.cid, verified.bundle.answer);
    assert_eq!(replayed.bytes, sealed.blocks[&verified.bundle.answer]);
    assert!(!verified.answer.abstained && verified.root_is_trusted);
}

#[test]
fn a_block_that_nobody_signed_is_refused_by_name() {
    let mut sealed = sealed(true);
    let stray = RawBlock::raw(b"an ad".to_vec());
    sealed.blocks.insert(stray.cid, stray.bytes);
    assert_eq!(judged(&sealed.to_car(), NOW, SourceStatus::Unknown), Err(BundleError::Stray(stray.cid)));
}

#[test]
fn another_key_cannot_seal_in_the_issuers_name() {
    let sealed = sealed(true);
    let bundle: Bundle = block_of(&sealed.blocks, &sealed.bundle).unwrap().decode().unwrap();
    let forger = SecretKey::from_seed([9; 32]);
    let forged = Signed::seal(bundle, &forger).unwrap();
    let seal = RawBlock::encode(&Seal {
        tag: crate::exchange::SealTag,
        bundle: forged.cid(),
        signer: forger.public(),
        signature: *forged.signature(),
        logged: None,
    })
    .unwrap();
    let mut blocks = sealed.blocks.clone();
    blocks.remove(&sealed.root);
    blocks.insert(seal.cid, seal.bytes);
    let car = crate::exchange::write_car(seal.cid, &blocks);
    assert!(matches!(judged(&car, NOW, SourceStatus::Unknown), Err(BundleError::Issuer { .. })));
}

/// The same blocks under a seal with these fields over its own.
fn resealed(sealed: &SealedBundle, fields: &[(&str, Ipld)]) -> SealedBundle {
    let mut seal: BTreeMap<String, Ipld> = block_of(&sealed.blocks, &sealed.root).unwrap().decode().unwrap();
    seal.extend(fields.iter().map(|(name, value)| (name.to_string(), value.clone())));
    let seal = RawBlock::encode(&seal).unwrap();
    let mut blocks = sealed.blocks.clone();
    blocks.remove(&sealed.root);
    blocks.insert(seal.cid, seal.bytes);
    SealedBundle { root: seal.cid, bundle: sealed.bundle, blocks }
}

/// The bundle of a newer version: with one more field, and what that links to.
fn newer(sealed: &SealedBundle, field: &str, value: Ipld) -> SealedBundle {
    let mut bundle: BTreeMap<String, Ipld> = block_of(&sealed.blocks, &sealed.bundle).unwrap().decode().unwrap();
    bundle.insert(field.to_string(), value);
    let bundle = RawBlock::encode(&bundle).unwrap();
    let signature = node().sign(Domain::Bundle, &bundle.cid).as_bytes().to_vec();
    let mut newer = resealed(sealed, &[("bundle", Ipld::Link(bundle.cid)), ("signature", Ipld::Bytes(signature))]);
    newer.blocks.remove(&sealed.bundle);
    newer.blocks.insert(bundle.cid, bundle.bytes);
    newer.bundle = bundle.cid;
    newer
}

#[test]
fn a_logged_bundle_says_where() {
    for n in 0..20 {
        let sealed = sealed_and_logged(n);
        let logged = verified(&sealed.to_car()).unwrap().logged.unwrap();
        assert_eq!((logged.index, logged.size), (n, n + 1));
        assert_eq!(logged.origin, format!("{}/public", node().public()));
    }
    assert_eq!(verified(&sealed(true).to_car()).unwrap().logged, None, "and without a proof it is authentic");
}

#[test]
fn a_log_proof_that_does_not_hold_is_refused() {
    let good = sealed(true);
    let whole = logged_behind(5, entry_of(&good.bundle), &node());
    let refused = |logged: &LoggedAt| verified(&good.clone().with_log(logged).unwrap().to_car()).unwrap_err();
    let elsewhere = logged_behind(5, entry_of(&good.root), &node());
    assert_eq!(refused(&elsewhere), BundleError::LogEntry);
    let forged = logged_behind(5, entry_of(&good.bundle), &SecretKey::from_seed([9; 32]));
    assert!(matches!(refused(&forged), BundleError::LogOrigin { .. }));
    assert!(matches!(refused(&LoggedAt { index: 4, ..whole.clone() }), BundleError::Log(_)));
    let mut changed = whole.clone();
    changed.proof[0][0] ^= 1;
    assert!(matches!(refused(&changed), BundleError::Log(_)));
    changed = whole.clone();
    changed.proof.push(changed.proof[0]);
    assert!(matches!(refused(&changed), BundleError::Log(_)));
    changed = whole.clone();
    changed.checkpoint = logged_behind(6, entry_of(&good.bundle), &node()).checkpoint;
    assert!(matches!(refused(&changed), BundleError::Log(_)));
}

#[test]
fn a_field_outside_of_what_is_signed_is_refused_by_name() {
    let sealed = sealed_and_logged(3);
    let named = resealed(&sealed, &[("note", Ipld::String("trust me".into()))]);
    let error = verified(&named.to_car()).unwrap_err();
    assert_eq!(error, BundleError::Unsigned { place: "seal", field: "note".into() });
    assert!(error.to_string().contains("`note`"), "{error}");

    let seal: Seal = block_of(&sealed.blocks, &sealed.root).unwrap().decode().unwrap();
    let cid = seal.logged.unwrap();
    let mut logged: BTreeMap<String, Ipld> = block_of(&sealed.blocks, &cid).unwrap().decode().unwrap();
    logged.insert("witnesses".into(), Ipld::Integer(3));
    let logged = RawBlock::encode(&logged).unwrap();
    let mut forged = resealed(&sealed, &[("logged", Ipld::Link(logged.cid))]);
    forged.blocks.remove(&cid);
    forged.blocks.insert(logged.cid, logged.bytes);
    let error = verified(&forged.to_car()).unwrap_err();
    assert_eq!(error, BundleError::Unsigned { place: "log proof", field: "witnesses".into() });
}

#[test]
fn what_a_newer_version_signed_is_kept_with_all_that_it_links_to() {
    let extra = RawBlock::raw(b"a figure".to_vec());
    let mut newer = newer(&sealed(true), "figure", Ipld::List(vec![Ipld::Link(extra.cid)]));
    newer.blocks.insert(extra.cid, extra.bytes.clone());
    let verified = verified(&newer.to_car()).unwrap();
    assert_eq!(verified.cid, newer.bundle);
    assert_eq!(write_car(verified.root, &verified.blocks), newer.to_car());
    assert_eq!(verified.blocks[&extra.cid], extra.bytes);
}

proptest! {
    // A bundle is sealed and replayed for each case.
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn an_unknown_field_survives_byte_for_byte(field in "[a-z]{1,12}", text in "\\PC{0,40}", n in any::<i64>()) {
        let sealed = sealed(true);
        let known: BTreeMap<String, Ipld> = block_of(&sealed.blocks, &sealed.bundle).unwrap().decode().unwrap();
        prop_assume!(!known.contains_key(&field));
        let newer = newer(&sealed, &field, Ipld::List(vec![Ipld::String(text), Ipld::Integer(n.into())]));
        let verified = verified(&newer.to_car()).unwrap();
        prop_assert_eq!(write_car(verified.root, &verified.blocks), newer.to_car());
    }

    #[test]
    fn any_bytes_are_verified_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        prop_assert!(judged(&bytes, NOW, SourceStatus::Unknown).is_err());
    }
}

#[test]
fn a_bundle_without_its_evidence_is_whole_again_block_by_block() {
    use crate::exchange::Manifest;
    let sealed = sealed(true);
    let whole = sealed.to_car();
    let thin = Manifest::read(&whole).unwrap().to_thin_car();
    assert!(thin.len() < whole.len());
    let mut manifest = Manifest::read(&thin).unwrap();
    let missing = manifest.missing();
    assert_eq!((missing.len(), manifest.n_named()), (4, 4), "two chunks of two sources");
    assert_eq!(manifest.bundle, sealed.bundle);
    for cid in &missing {
        let forged = RawBlock { cid: *cid, bytes: b"forged".to_vec() };
        assert!(!manifest.add(forged), "its bytes have another hash");
        assert!(manifest.add(RawBlock { cid: *cid, bytes: sealed.blocks[cid].clone() }));
    }
    let stray = RawBlock::raw(b"stray".to_vec());
    assert!(!manifest.add(stray), "nobody named it");
    assert!(manifest.missing().is_empty());
    assert_eq!(manifest.to_car(), whole);

    let (root, mut blocks) = crate::exchange::read_car(&whole).unwrap();
    let seal: crate::exchange::Seal = RawBlock { cid: root, bytes: blocks[&root].clone() }.decode().unwrap();
    blocks.remove(&seal.bundle);
    assert!(Manifest::read(&crate::exchange::write_car(root, &blocks)).is_err(), "a manifest is never left out");
}
