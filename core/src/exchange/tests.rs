use std::collections::BTreeMap;

use super::*;
use crate::boundary::Sensitivity;
use crate::content::{Fingerprint, SourceTag, chunks_of};
use crate::exchange::{Contents, Head, ISSUED_MAX_AGE, SealedBundle, seal};
use crate::identity::SecretKey;
use crate::log::{Checkpoint, CompactRange, leaf_hash};
use crate::measure::Duration;
use crate::retrieval::body_of;
use crate::trust::{VALIDITY_DEFAULT, certify};
use proptest::prelude::*;

const NOW: Timestamp = Timestamp(1_900_000_000_000);

fn node() -> SecretKey {
    SecretKey::from_seed([2; 32])
}

fn root() -> SecretKey {
    SecretKey::from_seed([1; 32])
}

fn roots() -> Roots {
    Roots::full([(root().public(), "Northwater".to_string())])
}

/// A sealed answer over two small sources.
fn sealed(with_head: bool) -> SealedBundle {
    let query = Query::new("At what pressure does pump 7 restart?");
    let mut blocks = BTreeMap::new();
    let mut found = Vec::new();
    for (name, text) in [
        ("a.md", "Pump 7 restarts at a pressure of 4 bar."),
        ("b.md", "The pump restart pressure of pump 7 is logged."),
    ] {
        let raw = RawBlock::raw(text.as_bytes().to_vec());
        let source = SourceRecord {
            tag: SourceTag,
            publisher: node().public(),
            scope: "department:department-operations".parse().unwrap(),
            uri: format!("file:{name}"),
            instance: vec![0; 16],
            title: name.into(),
            media_type: "text/markdown".into(),
            adapter: "markdown/1".into(),
            raw: raw.cid,
            text: raw.cid,
            fingerprint: Fingerprint::of(text),
        };
        let source = RawBlock::encode(&source).unwrap();
        let chunk = chunks_of(source.cid, name, text, &[]).remove(0);
        let chunk_block = RawBlock::encode(&chunk).unwrap();
        blocks.insert(source.cid, source.bytes);
        blocks.insert(chunk_block.cid, chunk_block.bytes);
        found.push((chunk_block.cid, chunk));
    }
    let mut stats = TermStats::empty(query.terms.len());
    for (_, chunk) in &found {
        let (tf, n) = query.frequencies(&body_of(chunk));
        stats.n_docs += 1;
        stats.n_terms += n;
        stats.doc_freq.iter_mut().zip(tf).for_each(|(df, tf)| *df += u64::from(tf > 0));
    }
    let mut evidence: Vec<Evidence> = found
        .into_iter()
        .map(|(cid, chunk)| Evidence {
            score: query.score(&chunk, &stats),
            cid,
            uri: format!("file:{}", chunk.title),
            chunk,
            publisher: node().public(),
            distance: 0,
            sensitivity: Sensitivity::Public,
            caution: None,
            trust: None,
        })
        .collect();
    evidence.sort_by(|a, b| b.score.cmp(&a.score).then(a.cid.cmp(&b.cid)));
    let answer = compose(&query, &stats, &evidence, NOW);
    let certificate = certify(
        &root(),
        "Northwater",
        node().public(),
        "department-operations".parse().unwrap(),
        NOW,
        VALIDITY_DEFAULT,
    )
    .unwrap();
    let mut log = CompactRange::new();
    log.append(leaf_hash(b"entry"));
    let checkpoint =
        Checkpoint { origin: node().public().to_string().parse().unwrap(), size: log.size(), root: log.root() }
            .sign(&node());
    let head = Head { publisher: node().public(), checkpoint, as_of: NOW };
    let contents = Contents {
        answer: &answer,
        stats: &stats,
        evidence: &evidence,
        blocks: &blocks,
        heads: if with_head { vec![head] } else { vec![] },
        certificate: &certificate,
        issued_at: NOW,
        max_age: ISSUED_MAX_AGE,
    };
    seal(&contents, &node()).unwrap()
}

fn judged(car: &[u8], now: Timestamp, status: SourceStatus) -> Result<Verdict, BundleError> {
    let roots = roots();
    let status = |_: &Cid, _: &SourceRecord| status;
    verify(car, &Knowledge { now, roots: &roots, status: &status, logged: &|_, _| None }).map(|v| v.verdict)
}

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
    let headless = sealed(false).to_car();
    assert_eq!(judged(&headless, NOW, SourceStatus::Unknown), Ok(Verdict::Unconfirmed { since: None }));
}

#[test]
fn every_single_byte_is_covered() {
    let car = sealed(true).to_car();
    for i in 0..car.len() {
        let mut changed = car.clone();
        changed[i] ^= 0x20;
        assert!(judged(&changed, NOW, SourceStatus::Unknown).is_err(), "byte {i} of {}", car.len());
    }
}

#[test]
fn a_replay_gives_the_same_bytes() {
    let sealed = sealed(true);
    let verified = verify(
        &sealed.to_car(),
        &Knowledge { now: NOW, roots: &roots(), status: &|_, _| SourceStatus::Unknown, logged: &|_, _| None },
    )
    .unwrap();
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
    })
    .unwrap();
    let mut blocks = sealed.blocks.clone();
    blocks.remove(&sealed.root);
    blocks.insert(seal.cid, seal.bytes);
    let car = crate::exchange::write_car(seal.cid, &blocks);
    assert!(matches!(judged(&car, NOW, SourceStatus::Unknown), Err(BundleError::Issuer { .. })));
}

proptest! {
    #[test]
    fn any_bytes_are_verified_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        prop_assert!(judged(&bytes, NOW, SourceStatus::Unknown).is_err());
    }
}
