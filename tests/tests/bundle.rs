//! Bundles: what `plumb bundle verify` says of each kind, replay, and what may not be imported.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::path::Path;

use plumb_core::measure::Timestamp;
use plumb_tests::{Crafted, Home, PUMP_QUESTION, PUMP_SENTENCE, Pair, count, list, now, text};
use serde_json::Value;

#[test]
fn an_authentic_bundle_is_0_everywhere_and_4_after_its_retraction() {
    let pair = Pair::new();
    let file = pair.bundle("public");
    let verdict = verify(&pair.issuer, &file, 0);
    assert_eq!(text(&verdict, "/verdict"), "authentic");
    assert_eq!(text(&verdict, "/organisation_name"), "Alder");
    assert_eq!(text(&verdict, "/query"), PUMP_QUESTION);
    assert!(list(&verdict, "/checks").len() >= 5, "{verdict:#}");
    assert_eq!(verify(&pair.reader, &file, 0)["organisation_is_trusted"], true);
    // With no home at all there is nobody to trust, and everything else can still be checked.
    assert_eq!(verify(&pair.nowhere(), &file, 0)["organisation_is_trusted"], false);

    pair.issuer.ok(&["retract", "pump.md", "--kind", "retraction", "--reason", "data-error", "--note", "wrong pump"]);
    let verdict = verify(&pair.issuer, &file, 4);
    assert_eq!(text(&verdict, "/verdict"), "retracted");
    assert_eq!(list(&verdict, "/withdrawn").len(), 1, "{verdict:#}");
    // Who has not heard of it cannot say so; the bundle is as fresh as it says it is.
    verify(&pair.nowhere(), &file, 0);

    let notice = text(&pair.issuer.ok(&["notices", "list"]), "/0/notice").to_string();
    pair.issuer.ok(&["reinstate", &notice, "--reason", "resolved"]);
    verify(&pair.issuer, &file, 0);
}

#[test]
fn a_bundle_whose_status_nobody_confirmed_is_5() {
    let pair = Pair::new();
    let now = now();
    let stale = Timestamp(now.0 - 3 * 24 * 3600 * 1000);
    for (name, issued_at, as_of, exit, verdict) in [
        ("fresh.car", now, Some(now), 0, "authentic"),
        ("no-head.car", now, None, 5, "unconfirmed"),
        ("stale.car", stale, Some(stale), 5, "unconfirmed"),
        ("stale-head.car", now, Some(stale), 5, "unconfirmed"),
    ] {
        let file = pair.scratch.path().join(name);
        std::fs::write(&file, Crafted { issued_at, as_of, ..Crafted::saying(PUMP_SENTENCE) }.to_car()).unwrap();
        for home in [&pair.nowhere(), &pair.reader] {
            let said = verify(home, &file, exit);
            assert_eq!(text(&said, "/verdict"), verdict, "{name}: {said:#}");
        }
    }
}

#[test]
fn a_changed_bundle_is_6_whichever_byte_was_changed() {
    let pair = Pair::new();
    let file = pair.bundle("public");
    let whole = std::fs::read(&file).unwrap();
    let nowhere = pair.nowhere();
    let check = |name: String, bytes: &[u8]| {
        let changed = pair.scratch.path().join(&name);
        std::fs::write(&changed, bytes).unwrap();
        let outcome = nowhere.run(&["bundle".as_ref(), "verify".as_ref(), changed.as_os_str()]);
        assert_eq!(outcome.code, 6, "{name}: {outcome}");
        assert_eq!(text(&outcome.json(), "/verdict"), "not_authentic");
        std::fs::remove_file(changed).unwrap();
    };
    let places: Vec<usize> = (0..whole.len()).step_by(50).collect();
    // Two at a time: a process each is the cost.
    std::thread::scope(|scope| {
        for half in places.chunks(places.len().div_ceil(2)) {
            let (check, whole) = (&check, &whole);
            scope.spawn(move || {
                for &at in half {
                    let mut bytes = whole.clone();
                    bytes[at] ^= 1 << (at % 8);
                    check(format!("flip-{at}"), &bytes);
                }
            });
        }
    });
    for n in [0, 1, 40, whole.len() / 2, whole.len() - 1] {
        check(format!("cut-{n}"), &whole[..n]);
    }
    check("longer".into(), &[&whole[..], b"\0"].concat());
    println!("{} single bytes of {} flipped, each refused", places.len(), whole.len());
}

#[test]
fn a_replay_in_another_home_gives_the_same_bytes() {
    let pair = Pair::new();
    let file = pair.bundle("public");
    let replay = |home: &Home| {
        let out = pair.scratch.path().join("replayed.cbor");
        let args = ["bundle".as_ref(), "replay".as_ref(), file.as_os_str(), "--out".as_ref(), out.as_os_str()];
        assert_eq!(home.ok(&args)["equal"], true);
        std::fs::read(&out).unwrap()
    };
    let at_home = replay(&pair.issuer);
    assert!(String::from_utf8_lossy(&at_home).contains(PUMP_SENTENCE));
    assert_eq!(at_home, replay(&pair.reader));
    assert_eq!(at_home, replay(&pair.nowhere()));
}

#[test]
fn what_is_not_public_is_not_imported_across_the_border() {
    let pair = Pair::new();
    let internal = pair.bundle("internal");
    let args = ["bundle".as_ref(), "import".as_ref(), internal.as_os_str()];
    let outcome = pair.reader.run(&args);
    match outcome.code {
        7 => {}
        0 => {
            let import = outcome.json();
            assert_eq!(count(&import, "/imported"), 0, "{import:#}");
            assert!(!list(&import, "/refused").is_empty(), "{import:#}");
        }
        _ => panic!("neither denied nor refused source by source: {outcome}"),
    }
    let found = pair.reader.ok(&["search", "pump pressure restarted"]);
    assert_eq!(list(&found, "/hits"), &[] as &[Value], "nothing of it is held");

    // The same document, public, at an issuer who holds nothing else.
    let pair = Pair::new();
    let public = pair.bundle("public");
    let import = pair.reader.ok(&["bundle".as_ref(), "import".as_ref(), public.as_os_str()]);
    assert!(count(&import, "/imported") > 0, "what is public comes in: {import:#}");
    assert_eq!(list(&pair.reader.ok(&["search", "pump pressure restarted"]), "/hits").len(), 1);
}

#[track_caller]
fn verify(home: &Home, file: &Path, exit: i32) -> Value {
    let verdict = home.run(&["bundle".as_ref(), "verify".as_ref(), file.as_os_str()]).expect(exit);
    assert_eq!(count(&verdict, "/exit_code"), exit as u64, "{verdict:#}");
    verdict
}
