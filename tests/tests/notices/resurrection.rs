//! What was withdrawn does not come back to life, on any path, until its publisher reinstates it.

use plumb_tests::{RunningNode, count, list, text, until};

use super::{NOTICE_TIME, Pair, audited, await_state, did, document, found, retract, seal, take_in};

const ABOUT: &str = "aldrin gauge read metres dawn";

#[test]
fn nothing_that_was_withdrawn_comes_back_to_life() {
    let mut pair = Pair::begin();
    let at = pair.scratch.path().to_path_buf();
    let home = pair.publisher.home.clone();
    let away = pair.importer.home.clone();
    let file = take_in(&home, &at, "aldrin");
    let (_, car) = seal(&home, &at, "aldrin");
    let car = car.to_str().unwrap();
    away.ok(&["bundle", "import", car]);
    let own = away.ok(&["ask", &super::question("aldrin"), "--save"]);
    let saved = text(&own, "/bundle").to_string();

    // A backup of both, from before.
    assert!(pair.importer.stop().success());
    let backup = away.copy_to("backup-of-the-importer");
    pair.importer = RunningNode::start(&away, &[&pair.publisher]);
    pair.importer.await_peers(1);

    let notice = retract(&home, "aldrin.md", "retraction", &[]);
    await_state(&home, &notice, &did(&pair.importer), "acknowledged");
    let gone = |side: &plumb_tests::Home| {
        let hits = found(side, ABOUT, "aldrin");
        assert!(hits.is_empty(), "{hits:#?}");
        let answer = side.run(&["ask", &super::question("aldrin")]);
        assert!(!answer.json().to_string().contains("4.2 metres"), "{answer}");
    };
    gone(&home);
    gone(&away);

    // The same file; the same text under another name with other ends of lines; a copy for the whole organisation.
    let renamed = at.join("something-else.txt");
    std::fs::write(&renamed, document("aldrin").replace('\n', "\r\n")).unwrap();
    for (side, path, more) in [
        (&home, &file, &[][..]),
        (&home, &renamed, &[][..]),
        (&away, &file, &[][..]),
        (&away, &renamed, &[][..]),
        (&home, &file, &["--scope", "organization:organization-halden"][..]),
        (&away, &file, &["--scope", "organization:organization-northwater"][..]),
    ] {
        let before = side.ok(&["audit", "list", "--action", "source.ingest", "--limit", "1000"]);
        let args = [&["ingest", path.to_str().unwrap()], more].concat();
        let job = side.run(&args).expect(7);
        assert_eq!((count(&job, "/new"), list(&job, "/refused").len()), (0, 1), "{job:#}");
        assert!(text(&job, "/refused/0/reason").contains(&notice), "{job:#}");
        let after = side.ok(&["audit", "list", "--action", "source.ingest", "--limit", "1000"]);
        let n = |events: &serde_json::Value| {
            events.as_array().unwrap().iter().filter(|e| e["outcome"] == "refused").count()
        };
        assert_eq!(n(&after), n(&before) + 1, "the attempt is written down");
        gone(side);
    }
    // The old bundle.
    let again = away.ok(&["bundle", "import", car]);
    assert_eq!((count(&again, "/imported"), list(&again, "/refused").len()), (0, 1), "{again:#}");
    let source = text(&home.ok(&["notices", "show", &notice]), "/targets/0/source").to_string();
    assert_eq!(audited(&away, "source.import", &source)[0]["outcome"], "refused");
    gone(&away);

    // A saved answer, and the file that is made of it now, carry it as withdrawn.
    let out = at.join("later.car");
    away.ok(&["bundle", "export", &saved, "--out", out.to_str().unwrap()]);
    assert_eq!(away.run(&["bundle", "verify", out.to_str().unwrap()]).expect(4)["verdict"], "retracted");
    assert_eq!(away.ok(&["answers", "show", &saved])["state"], "retracted-source");

    // A restart, and an index that is built anew.
    assert!(pair.importer.restart(&[&pair.publisher]).success());
    away.ok(&["rebuild"]);
    gone(&away);

    // The backup does not know yet, says that it cannot know, and hears it at its first contact.
    assert!(pair.importer.stop().success());
    assert!(!found(&backup, ABOUT, "aldrin").is_empty());
    let restored = RunningNode::start(&backup, &[&pair.publisher]);
    until("the restored node has heard of it", NOTICE_TIME, || found(&backup, ABOUT, "aldrin").is_empty());
    gone(&backup);
    assert_eq!(backup.ok(&["answers", "show", &saved])["state"], "retracted-source");

    // (h) It was a mistake. The publisher reinstates it; the old retraction that comes once more does not win.
    let lifted = home.ok(&["reinstate", &notice]);
    await_state(&home, text(&lifted, "/notice"), &did(&restored), "acknowledged");
    assert!(!found(&backup, ABOUT, "aldrin").is_empty());
    assert_eq!(backup.ok(&["answers", "show", &saved])["state"], "current");
    assert!(restored.stop().success());
    // The importer's own home still stands at the retraction: it takes the retraction's log up from there.
    let importer = RunningNode::start(&away, &[&pair.publisher]);
    until("the importer has it again", NOTICE_TIME, || !found(&away, ABOUT, "aldrin").is_empty());
    // It hears the whole log once more, from its beginning, when it starts anew; and still has it.
    away.ok(&["rebuild"]);
    assert!(!found(&away, ABOUT, "aldrin").is_empty());
    assert!(importer.stop().success());
    let job = home.run(&["ingest", renamed.to_str().unwrap()]);
    assert_eq!(count(&job.json(), "/new"), 1, "what was reinstated may come in again: {job}");
}

/// (d) The notice is there before the evidence.
#[test]
fn a_notice_that_comes_before_the_evidence_keeps_it_out() {
    let pair = Pair::begin();
    let (home, away, at) = (&pair.publisher.home, &pair.importer.home, pair.scratch.path());
    take_in(home, at, "aldrin");
    let (_, car) = seal(home, at, "aldrin");
    let notice = retract(home, "aldrin.md", "retraction", &[]);
    until("the importer has the notice", NOTICE_TIME, || {
        away.ok(&["notices", "list"]).as_array().unwrap().iter().any(|n| n["notice"] == notice)
    });
    assert_eq!(super::receipts(home, &notice), [], "nobody holds it");
    let import = away.ok(&["bundle", "import", car.to_str().unwrap()]);
    assert_eq!((count(&import, "/imported"), list(&import, "/refused").len()), (0, 1), "{import:#}");
    assert!(found(away, ABOUT, "aldrin").is_empty());
    // It holds the bytes now, so the notice is owed to it, and it confirms at once.
    await_state(home, &notice, &did(&pair.importer), "acknowledged");
    // An upload of the text is as barred as the import.
    let file = at.join("copy.md");
    std::fs::write(&file, document("aldrin")).unwrap();
    away.run(&["ingest", file.to_str().unwrap()]).expect(7);
}

/// What is down because its text was withdrawn elsewhere stays down, whatever is said of its name.
#[test]
fn a_word_about_its_name_does_not_bring_up_what_its_text_keeps_down() {
    let pair = Pair::begin();
    let (home, away, at) = (&pair.publisher.home, &pair.importer.home, pair.scratch.path());
    // Two sources of one text. The bundle is about the first.
    take_in(home, at, "aldrin");
    let (_, car) = seal(home, at, "aldrin");
    let first = text(&found(home, ABOUT, "aldrin")[0], "/source").to_string();
    let copy = at.join("copy.md");
    std::fs::write(&copy, document("aldrin")).unwrap();
    assert_eq!(count(&home.ok(&["ingest", copy.to_str().unwrap(), "--sensitivity", "public"]), "/new"), 1);
    let withdrawn = retract(home, "copy.md", "retraction", &[]);
    until("the importer has the notice", NOTICE_TIME, || away.run(&["notices", "show", &withdrawn]).code == 0);
    let import = away.ok(&["bundle", "import", car.to_str().unwrap()]);
    assert_eq!((count(&import, "/imported"), list(&import, "/refused").len()), (0, 1), "{import:#}");

    let corrected = retract(home, &first, "correction", &[]);
    await_state(home, &corrected, &did(&pair.importer), "acknowledged");
    assert!(found(away, ABOUT, "aldrin").is_empty());
    away.ok(&["rebuild"]);
    assert!(found(away, ABOUT, "aldrin").is_empty());
}
