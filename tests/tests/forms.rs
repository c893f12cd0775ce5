//! The two forms of a bundle, what of them is refused by name, and bundles that contradict each other.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::path::{Path, PathBuf};

use ipld_core::ipld::Ipld;
use multibase::Base;
use plumb_core::content::RawBlock;
use plumb_core::exchange::{BundleFile, write_car};
use plumb_tests::{Crafted, Home, Http, PUMP_SENTENCE, Pair, RunningNode, count, list, resealed, text};
use serde_json::{Value, json};

/// The JSON form of the issuer's last bundle.
#[track_caller]
fn export(home: &Home, bundle: &str, format: &str, file: &Path) -> Value {
    let args = ["bundle", "export", bundle, "--format", format, "--out"].map(AsRef::as_ref);
    home.ok(&[&args[..], &[file.as_os_str()]].concat())
}

#[track_caller]
fn verify(home: &Home, file: &Path, exit: i32) -> Value {
    let verdict = home.run(&["bundle".as_ref(), "verify".as_ref(), file.as_os_str()]).expect(exit);
    assert_eq!(count(&verdict, "/exit_code"), exit as u64, "{verdict:#}");
    verdict
}

#[track_caller]
fn import(home: &Home, file: &Path) -> Value {
    home.ok(&["bundle".as_ref(), "import".as_ref(), file.as_os_str()])
}

/// A file of these bytes.
fn file(pair: &Pair, name: &str, bytes: &[u8]) -> PathBuf {
    let file = pair.scratch.path().join(name);
    std::fs::write(&file, bytes).unwrap();
    file
}

/// Whether one of the checks says this.
fn checked(verdict: &Value, part: &str) -> bool {
    list(verdict, "/checks").iter().any(|check| check.as_str().unwrap().contains(part))
}

#[test]
fn both_forms_are_verified_replayed_and_imported_alike() {
    let pair = Pair::new();
    let car = pair.bundle("public");
    let json = pair.scratch.path().join("answer.json");
    let exported = export(&pair.issuer, "last", "json", &json);
    assert_eq!(exported["format"], "json");
    let document: Value = serde_json::from_slice(&std::fs::read(&json).unwrap()).unwrap();
    assert_eq!(document["@context"][0], "https://www.w3.org/ns/credentials/v2");
    assert_eq!(text(&document, "/credentialSubject/sentences/0/text"), PUMP_SENTENCE);
    assert_eq!(document["credentialSubject"]["citations"][0]["address"], "file:pump.md");

    for home in [&pair.issuer, &pair.reader, &pair.nowhere()] {
        let (by_car, by_json) = (verify(home, &car, 0), verify(home, &json, 0));
        assert_eq!((&by_car["form"], &by_json["form"]), (&json!("car"), &json!("json")));
        for same in ["bundle", "issuer", "issued_at", "verdict", "logged", "organisation"] {
            assert_eq!(by_car[same], by_json[same], "{same}");
        }
        assert!(checked(&by_json, "eddsa-jcs-2022") && !checked(&by_car, "eddsa-jcs-2022"), "{by_json:#}");
        let shown = |file: &Path| home.ok(&["bundle".as_ref(), "show".as_ref(), file.as_os_str()]);
        assert_eq!(shown(&car)["answer"], shown(&json)["answer"]);
        let replayed = |file: &Path| home.ok(&["bundle".as_ref(), "replay".as_ref(), file.as_os_str()]);
        assert_eq!(replayed(&car), replayed(&json));
    }

    // What came in as JSON goes out as the issuer's CAR file, and not as JSON: the proof is the issuer's to make.
    assert!(count(&import(&pair.reader, &json), "/imported") > 0);
    let bundle = text(&exported, "/bundle");
    let again = pair.scratch.path().join("again.car");
    export(&pair.reader, bundle, "car", &again);
    assert_eq!(std::fs::read(&again).unwrap(), std::fs::read(&car).unwrap());
    let args = ["bundle", "export", bundle, "--format", "json", "--out", "no.json"];
    let refused = pair.reader.run(&args);
    assert_eq!(refused.code, 1, "{refused}");
    assert!(refused.to_string().contains("export it as CAR"), "{refused}");

    pair.issuer.ok(&["retract", "pump.md", "--kind", "retraction", "--reason", "data-error", "--note", "wrong pump"]);
    assert_eq!(list(&verify(&pair.issuer, &json, 4), "/withdrawn").len(), 1);
}

#[test]
fn an_issued_bundle_proves_where_it_was_logged() {
    let pair = Pair::new();
    let car = std::fs::read(pair.bundle("public")).unwrap();
    let first = verify(&pair.nowhere(), &file(&pair, "first.car", &car), 0);
    // The log begins with the node's certificate.
    assert_eq!((count(&first, "/logged/index"), count(&first, "/logged/size")), (1, 2), "{first:#}");
    assert_eq!(text(&first, "/logged/log"), format!("{}/public", text(&first, "/issuer")));
    assert!(checked(&first, "logged it at index 1 of 2"), "{first:#}");
    let second = pair.scratch.path().join("second.car");
    let ask = ["ask", "pressure of pump 7", "--save", "--bundle"].map(AsRef::as_ref);
    pair.issuer.ok(&[&ask[..], &[second.as_os_str()]].concat());
    assert_eq!(count(&verify(&pair.nowhere(), &second, 0), "/logged/index"), 2);

    let logged = |seal: &std::collections::BTreeMap<String, Ipld>| match seal["logged"] {
        Ipld::Link(cid) => cid,
        ref other => panic!("{other:?}"),
    };
    let without = resealed(&car, |seal, blocks| {
        blocks.remove(&logged(seal));
        seal.remove("logged");
    });
    let verdict = verify(&pair.nowhere(), &file(&pair, "unlogged.car", &without), 0);
    assert_eq!(verdict["logged"], Value::Null, "authentic, and not logged: {verdict:#}");

    // The proof of another bundle of the same issuer.
    let other = BundleFile::read(&std::fs::read(&second).unwrap()).unwrap();
    let proof = other.block(&other.seal().unwrap().logged.unwrap()).unwrap();
    let wrong = resealed(&car, |seal, blocks| {
        blocks.remove(&logged(seal));
        blocks.insert(proof.cid, proof.bytes);
        seal.insert("logged".into(), Ipld::Link(proof.cid));
    });
    let verdict = verify(&pair.nowhere(), &file(&pair, "wrong.car", &wrong), 6);
    assert!(text(&verdict, "/summary").contains("log entry"), "{verdict:#}");
}

#[test]
fn what_nobody_signed_is_refused_by_its_name() {
    let pair = Pair::new();
    let car = std::fs::read(pair.bundle("public")).unwrap();
    let json = pair.scratch.path().join("answer.json");
    export(&pair.issuer, "last", "json", &json);
    let document: Value = serde_json::from_slice(&std::fs::read(&json).unwrap()).unwrap();
    let refused = |name: &str, bytes: &[u8], part: &str| {
        let changed = file(&pair, name, bytes);
        for home in [&pair.nowhere(), &pair.reader] {
            let verdict = verify(home, &changed, 6);
            assert!(text(&verdict, "/summary").contains(part), "{name}: {verdict:#}");
        }
        let import = pair.reader.run(&["bundle".as_ref(), "import".as_ref(), changed.as_os_str()]);
        assert_eq!(import.code, 6, "{name}: {import}");
    };
    let with = |pointer: &str, name: &str, value: Value| {
        let mut changed = document.clone();
        changed.pointer_mut(pointer).unwrap()[name] = value;
        serde_json::to_vec(&changed).unwrap()
    };
    let stray = RawBlock::raw(b"an advertisement".to_vec());
    let name = stray.cid.to_string();
    let text = multibase::encode(Base::Base64Url, &stray.bytes);

    refused("top.json", &with("", "endorsedBy", "did:web:a.example".into()), "`endorsedBy`");
    refused("subject.json", &with("/credentialSubject", "rating", 5.into()), "`credentialSubject.rating`");
    refused("answer.json", &with("/credentialSubject", "answer", "6 bar.".into()), "`credentialSubject.answer`");
    refused("proof.json", &with("/proof", "nonce", "1".into()), "`proof.nonce`");
    refused("block.json", &with("/credentialSubject/blocks", &name, text.into()), &name);
    refused("fraction.json", &with("/credentialSubject/reliability", "confidence", json!(1.5)), "1.5");
    refused("trailing.json", &[&serde_json::to_vec(&document).unwrap()[..], b"{}"].concat(), "trailing");

    let BundleFile { root, mut blocks, .. } = BundleFile::read(&car).unwrap();
    refused("trailing.car", &[&car[..], b"\0"].concat(), &format!("byte {}", car.len()));
    refused("seal.car", &resealed(&car, |seal, _| drop(seal.insert("note".into(), Ipld::Bool(true)))), "`note`");
    refused("twice.car", &[&car[..], &car[59..]].concat(), "stands in the file twice");
    blocks.insert(stray.cid, stray.bytes);
    refused("block.car", &write_car(root, &blocks), &name);
    // A header with two roots, and the rest as it is.
    let roots = Ipld::List(vec![Ipld::Link(root), Ipld::Link(stray.cid)]);
    let header =
        RawBlock::encode(&std::collections::BTreeMap::from([("roots", roots), ("version", 1.into())])).unwrap();
    let length = u8::try_from(header.bytes.len()).unwrap();
    refused("roots.car", &[&[length][..], &header.bytes, &car[59..]].concat(), &name);
}

#[test]
fn a_field_of_a_newer_version_is_passed_on_byte_for_byte() {
    let pair = Pair::new();
    pair.reader.ok(&["trust", "add", &Crafted::organisation(), "--name", "Cedar"]);
    let fields = vec![
        ("zeta".to_string(), Ipld::List(vec![Ipld::Integer(7), Ipld::Null, Ipld::Bytes(vec![0, 255])])),
        ("alpha".to_string(), Ipld::String("of a version to come".into())),
    ];
    let car = Crafted { fields, ..Crafted::saying(PUMP_SENTENCE) }.to_car();
    let newer = file(&pair, "newer.car", &car);
    let verdict = verify(&pair.reader, &newer, 0);
    assert!(count(&import(&pair.reader, &newer), "/imported") > 0);
    let again = pair.scratch.path().join("again.car");
    export(&pair.reader, text(&verdict, "/bundle"), "car", &again);
    assert_eq!(std::fs::read(again).unwrap(), car);
}

#[test]
fn two_answers_to_one_question_are_both_kept_and_shown() {
    let pair = Pair::new();
    pair.reader.ok(&["trust", "add", &Crafted::organisation(), "--name", "Cedar"]);
    let four = file(&pair, "four.car", &Crafted::saying(PUMP_SENTENCE).to_car());
    let five = file(&pair, "five.car", &Crafted::saying(&PUMP_SENTENCE.replace('4', "5")).to_car());
    let again =
        Crafted { issued_at: plumb_core::measure::Timestamp(1_780_000_000_000), ..Crafted::saying(PUMP_SENTENCE) };
    let again = file(&pair, "again.car", &again.to_car());

    let first = import(&pair.reader, &four);
    assert_eq!(first["conflicts_with"], json!([]));
    let second = import(&pair.reader, &five);
    assert_eq!(second["conflicts_with"], json!([first["bundle"]]), "the same question over the same place: {second:#}");
    // The same said at another time contradicts only what the first contradicts.
    let third = import(&pair.reader, &again);
    assert_eq!(third["conflicts_with"], json!([second["bundle"]]));

    let listed = pair.reader.ok(&["bundle", "list"]);
    let of = |bundle: &Value| list(&listed, "").iter().find(|row| row["bundle"] == *bundle).unwrap();
    assert_eq!(list(&listed, "").len(), 3, "all are kept: {listed:#}");
    assert_eq!(of(&first["bundle"])["conflicts_with"], json!([second["bundle"]]));
    assert_eq!(list(of(&second["bundle"]), "/conflicts_with").len(), 2);
    let matters: std::collections::BTreeSet<&str> = list(&listed, "").iter().map(|r| text(r, "/matter")).collect();
    assert_eq!(matters.len(), 1);
    let shown = pair.reader.ok(&["bundle", "show", text(&first, "/bundle")]);
    assert_eq!(shown["conflicts_with"], json!([second["bundle"]]));
    assert_eq!(shown["matter"], of(&first["bundle"])["matter"]);
}

#[test]
fn a_node_with_a_name_on_the_web_signs_under_it() {
    let pair = Pair::new();
    pair.bundle("public");
    let toml = pair.issuer.dir.join("plumb.toml");
    let text_of = std::fs::read_to_string(&toml).unwrap();
    let named = text_of.replace("# did_web = \"\"", "did_web = \"evidence.example.org\"");
    assert_ne!(named, text_of);
    std::fs::write(&toml, named).unwrap();

    let node = RunningNode::start(&pair.issuer, &[]);
    // Anybody may look it up, without a token.
    let did = Http::new(node.http_addr(), None).get("/.well-known/did.json").expect(200);
    assert_eq!(did["id"], "did:web:evidence.example.org");
    let key = text(&did, "/alsoKnownAs/0").to_string();
    let document = node.http("person-issuer").get("/v1/bundles/last?format=json").expect(200);
    assert_eq!(document["issuer"], did["id"]);
    assert_eq!(document["proof"]["verificationMethod"], did["verificationMethod"][0]["id"]);
    assert_eq!(document["credentialSubject"]["issuedBy"], key.as_str());
    assert!(node.stop().success());

    let file = file(&pair, "named.json", &serde_json::to_vec(&document).unwrap());
    let verdict = verify(&pair.nowhere(), &file, 0);
    assert_eq!(verdict["issuer"], key.as_str(), "the trust is in the certified key");
    assert!(checked(&verdict, "nothing was looked up"), "{verdict:#}");

    // Another node goes by its key, and has nothing to look up.
    let node = RunningNode::start(&pair.reader, &[]);
    Http::new(node.http_addr(), None).get("/.well-known/did.json").expect(404);
}
