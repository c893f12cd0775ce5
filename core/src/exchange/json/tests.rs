use serde_json::json;

use super::*;
use crate::exchange::fixture::{NOW, node, sealed, sealed_and_logged, verified};
use crate::exchange::{BundleError, Form, replay};

/// The example of "Data Integrity EdDSA Cryptosuites v1.0", B.3 "Representation: eddsa-jcs-2022".
const W3C: &str = include_str!("../../../../fixtures/credentials/w3c-eddsa-jcs-2022.json");
const W3C_KEY: &str = "did:key:z6MkrJVnaZkeFzdQyMZu1cgjg7k1pZZ6pvBQ7XJPt4swbTQ2";
const W3C_SECRET: &str = "z3u2en7t5LR2WtQH5PfFqMqwVHBeXouLzo6haApm8XHqvjxq";

/// A credential that openvc-core signed.
const OPENVC: &str = include_str!("../../../../fixtures/credentials/openvc-eddsa-jcs-2022.json");

fn credential() -> Value {
    let verified = verified(&sealed_and_logged(5).to_car()).unwrap();
    serde_json::from_slice(&to_json(&verified, None, &node(), NOW).unwrap()).unwrap()
}

fn judged(document: &Value) -> Result<Verified, BundleError> {
    verified(&serde_json::to_vec(document).unwrap())
}

/// Signs a changed document as its issuer would: the proof then holds, and something else has to find it out.
fn signed_again(document: &Value) -> Value {
    let issuer = document["issuer"].as_str().unwrap_or_default().to_string();
    add_proof(without_proof(document), &method(&issuer, &node().public()), NOW, &node()).unwrap()
}

fn same(a: &Verified, b: &Verified) -> bool {
    (a.cid, a.root, &a.blocks, &a.verdict, &a.logged) == (b.cid, b.root, &b.blocks, &b.verdict, &b.logged)
}

#[test]
fn the_example_of_the_specification_verifies_and_is_signed_alike() {
    let document: Value = serde_json::from_str(W3C).unwrap();
    let key: NodeId = W3C_KEY.parse().unwrap();
    let method = method(W3C_KEY, &key);
    assert_eq!(check_proof(&document, &method, &key), Ok(()));

    // Its secret key is published with it: 0x8026 and 32 bytes. 2023-02-24T23:36:38Z is when it was made; ours says
    // milliseconds too, so the same second has another text and another signature.
    let (_, secret) = multibase::decode(W3C_SECRET).unwrap();
    let key = SecretKey::from_seed(secret[2..].try_into().unwrap());
    assert_eq!(key.public().to_string(), W3C_KEY);
    let ours = add_proof(without_proof(&document), &method, Timestamp(1_677_281_798_000), &key).unwrap();
    assert_eq!(ours["proof"]["created"], "2023-02-24T23:36:38.000Z");
    assert_eq!(check_proof(&ours, &method, &key.public()), Ok(()));
    let members = |v: &Value| v["proof"].as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(members(&ours), members(&document), "the same members");

    for pointer in ["/name", "/credentialSubject/alumniOf", "/proof/created", "/validFrom"] {
        let mut changed = document.clone();
        *changed.pointer_mut(pointer).unwrap() = "2023-01-01T00:00:01Z".into();
        assert_eq!(check_proof(&changed, &method, &key.public()), Err(ProofError::Signature), "{pointer}");
    }
}

#[test]
fn what_another_library_signed_verifies() {
    let document: Value = serde_json::from_str(OPENVC).unwrap();
    let method = document["proof"]["verificationMethod"].as_str().unwrap();
    let key: NodeId = method.split('#').next().unwrap().parse().unwrap();
    assert_eq!(check_proof(&document, method, &key), Ok(()));
    let mut changed = document.clone();
    changed["credentialSubject"]["quantity"] = 4.into();
    assert_eq!(check_proof(&changed, method, &key), Err(ProofError::Signature));
}

#[test]
fn both_forms_are_one_bundle() {
    for sealed in [sealed(true), sealed(false), sealed_and_logged(9)] {
        let car = sealed.to_car();
        let by_car = verified(&car).unwrap();
        let json = to_json(&by_car, None, &node(), NOW).unwrap();
        let by_json = verified(&json).unwrap();
        assert!(same(&by_car, &by_json));
        assert_eq!((by_car.form, by_json.form), (Form::Car, Form::Json));
        assert_eq!(crate::exchange::write_car(by_json.root, &by_json.blocks), car);
        assert_eq!(replay(&json).unwrap(), replay(&car).unwrap());
        // White space means nothing.
        assert!(same(&by_car, &verified(&[b"\n \t".to_vec(), json].concat()).unwrap()));
    }
}

#[test]
fn every_part_of_it_is_covered() {
    let verified = verified(&sealed_and_logged(5).to_car()).unwrap();
    let json = to_json(&verified, None, &node(), NOW).unwrap();
    // One byte in seven, so that it takes no half a minute. The last byte is the end of the line.
    for i in (0..json.len() - 1).step_by(7) {
        let mut changed = json.clone();
        changed[i] ^= if json[i] == b'\n' { 0x40 } else { 0x20 };
        assert!(crate::exchange::fixture::verified(&changed).is_err(), "byte {i} of {}", json.len());
    }
}

/// Every place of a document, as a JSON pointer with its name, without what lies below `blocks` and `proof`.
fn places(value: &Value, pointer: String, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            for (name, member) in members.iter().filter(|(name, _)| *name != "blocks" && *name != "proof") {
                places(member, format!("{pointer}/{name}"), found);
            }
        }
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(i, item)| places(item, format!("{pointer}/{i}"), found));
        }
        _ => found.push(pointer),
    }
}

#[test]
fn no_readable_field_can_say_anything_else_not_even_the_issuer() {
    let document = credential();
    let mut all = Vec::new();
    places(&document, String::new(), &mut all);
    assert!(all.len() > 40, "{all:?}");
    for pointer in all {
        let mut changed = document.clone();
        let place = changed.pointer_mut(&pointer).unwrap();
        *place = match place {
            Value::String(text) => format!("{text}.").into(),
            Value::Number(n) => (n.as_u64().unwrap() + 1).into(),
            Value::Bool(flag) => (!*flag).into(),
            _ => unreachable!("a credential has no nulls: {pointer}"),
        };
        let error = judged(&signed_again(&changed)).unwrap_err().to_string();
        let name = pointer.rsplit('/').find(|part| part.parse::<usize>().is_err()).unwrap();
        assert!(error.contains(name), "{pointer}: {error}");
    }
}

#[test]
fn what_was_added_is_named_wherever_it_stands() {
    let document = credential();
    for (pointer, path) in [
        ("", "note"),
        ("/credentialSubject", "credentialSubject.note"),
        ("/credentialSubject/organisation", "credentialSubject.organisation.note"),
        ("/credentialSubject/citations/0", "credentialSubject.citations[0].note"),
        ("/credentialSubject/sentences/0", "credentialSubject.sentences[0].note"),
        ("/@context/1", "@context[1].note"),
    ] {
        let mut changed = document.clone();
        changed.pointer_mut(pointer).unwrap()["note"] = "endorsed".into();
        for changed in [signed_again(&changed), changed] {
            assert_eq!(judged(&changed).unwrap_err(), BundleError::Json(JsonError::Unknown(path.into())));
        }
    }
    let mut changed = document.clone();
    changed["credentialSubject"].as_object_mut().unwrap().remove("sensitivity");
    let missing = JsonError::Missing("credentialSubject.sensitivity".into());
    assert_eq!(judged(&signed_again(&changed)).unwrap_err(), BundleError::Json(missing));

    let stray = RawBlock::raw(b"an ad".to_vec());
    let mut changed = document.clone();
    changed["credentialSubject"]["blocks"][stray.cid.to_string()] =
        multibase::encode(Base::Base64Url, &stray.bytes).into();
    assert_eq!(judged(&signed_again(&changed)).unwrap_err(), BundleError::Stray(stray.cid));
}

#[test]
fn the_proof_has_its_members_and_no_other() {
    let document = credential();
    let refused = |member: &str, value: Value| {
        let mut changed = document.clone();
        changed["proof"][member] = value;
        judged(&changed).unwrap_err().to_string()
    };
    for member in ["nonce", "challenge", "domain", "expires", "previousProof", "x"] {
        assert!(refused(member, "1".into()).contains(&format!("`proof.{member}`")), "{member}");
    }
    for member in MEMBERS_OF_A_PROOF {
        let error = refused(member, "zother".into());
        // A changed time is as good a time as another; that it was changed shows in the signature.
        let named = if member == "created" { "proof.proofValue" } else { member };
        assert!(error.contains(named), "{member}: {error}");
        let mut changed = document.clone();
        changed["proof"].as_object_mut().unwrap().remove(member);
        let error = judged(&changed).unwrap_err().to_string();
        assert!(error.contains(&format!("`proof.{member}`")), "{member}: {error}");
    }
    for none in [json!(null), json!([]), json!([document["proof"]])] {
        let mut changed = document.clone();
        changed["proof"] = none;
        assert_eq!(judged(&changed).unwrap_err(), BundleError::Json(ProofError::None.into()));
    }
    // A stranger's proof over the very same document.
    let stranger = SecretKey::from_seed([9; 32]);
    let theirs = add_proof(without_proof(&document), &method("did:web:a.example", &stranger.public()), NOW, &stranger);
    let error = judged(&theirs.unwrap()).unwrap_err().to_string();
    assert!(error.contains("proof.verificationMethod"), "{error}");
}

const MEMBERS_OF_A_PROOF: [&str; 7] =
    ["@context", "type", "cryptosuite", "created", "verificationMethod", "proofPurpose", "proofValue"];

#[test]
fn json_that_others_read_otherwise_is_refused_at_the_door() {
    let refused = |text: &str| match BundleFile::read(text.as_bytes()) {
        Err(BundleError::Json(error)) => error.to_string(),
        other => panic!("{text}: {other:?}"),
    };
    for (text, part) in [
        (r#"{"a": 1.5}"#, "1.5"),
        (r#"{"a": 1.0}"#, "1.0"),
        (r#"{"a": 1e3}"#, "1000"),
        (r#"{"a": -0}"#, "-0"),
        (r#"{"a": 9007199254740992}"#, "2^53"),
        (r#"{"a": -9007199254740992}"#, "2^53"),
        (r#"{"a": 18446744073709551616}"#, "e+19"),
        (r#"{"a": {"b": 1, "b": 1}}"#, "`b` stands twice"),
        (r#"{"a": 1, "\u0061": 1}"#, "`a` stands twice"),
        (r#"{"a": "\ud800"}"#, "hex escape"),
        (r#"{"a": 1} {}"#, "trailing"),
        (r#"{"a": 1"#, "EOF"),
        (r#"{"a": NaN}"#, "expected"),
        (r#"{"a": 9007199254740991, "b": -9007199254740991}"#, "credentialSubject.root"),
    ] {
        let error = refused(text);
        assert!(error.contains(part), "{text}: {error}");
    }
    assert!(refused(&format!("{{\"a\": {}", "[".repeat(100_000))).contains("recursion"));
    assert!(refused(&format!("{{\"a\": [{}0]}}", "0,".repeat(200_000))).contains("200000 values"));
    assert!(matches!(
        BundleFile::read(&vec![b'{'; BUNDLE_BYTES_MAX + 1]),
        Err(BundleError::Json(JsonError::TooLarge(_)))
    ));
}

#[test]
fn a_block_stands_under_its_one_name() {
    let document = credential();
    let (name, text) = document["credentialSubject"]["blocks"].as_object().unwrap().iter().next().unwrap();
    let upper = multibase::encode(Base::Base32Upper, parse_cid(name).unwrap().to_bytes());
    for (name, text) in [
        (upper.as_str(), text.clone()),
        ("QmYwAPJzv5CZsnA625s3Xf2nemtYgPpHdWEz79ojWnPbdG", text.clone()),
        (name, "uAAAA".into()),
        (name, "not multibase".into()),
        (name, 7.into()),
    ] {
        let mut changed = document.clone();
        changed["credentialSubject"]["blocks"][name] = text;
        let error = judged(&changed).unwrap_err();
        assert!(matches!(&error, BundleError::Json(JsonError::Block { .. })), "{error}");
        assert!(error.to_string().contains(name), "{error}");
    }
}

#[test]
fn a_did_web_is_a_name_and_the_certificate_is_the_trust() {
    let car = sealed_and_logged(5).to_car();
    let name = DidWeb::of_host("evidence.example.org").unwrap();
    let json = to_json(&verified(&car).unwrap(), Some(&name), &node(), NOW).unwrap();
    let document: Value = serde_json::from_slice(&json).unwrap();
    assert_eq!(document["issuer"], "did:web:evidence.example.org");
    let method = format!("did:web:evidence.example.org#{}", node().public().multikey());
    assert_eq!(document["proof"]["verificationMethod"], method);
    let named = verified(&json).unwrap();
    assert!(same(&named, &verified(&car).unwrap()));
    let said =
        named.checks.iter().any(|c| c.what.contains("did:web:evidence.example.org") && c.what.contains("certified"));
    assert!(said, "{:?}", named.checks);

    // Whoever owns the name, the key is the one of the certificate.
    let thief = SecretKey::from_seed([9; 32]);
    let method = format!("did:web:evidence.example.org#{}", thief.public().multikey());
    let forged = add_proof(without_proof(&document), &method, NOW, &thief).unwrap();
    assert!(judged(&forged).unwrap_err().to_string().contains("proof.verificationMethod"));
    for issuer in
        ["did:web:a.example:path", "https://example.org", "did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK"]
    {
        let mut changed = document.clone();
        changed["issuer"] = issuer.into();
        let error = judged(&signed_again(&changed)).unwrap_err();
        assert_eq!(error, BundleError::Json(JsonError::Differs("issuer".into())), "{issuer}");
    }
}
