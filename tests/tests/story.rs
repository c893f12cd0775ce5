//! The whole story, asserted: three real processes of two organisations, on the documents of `fixtures/story`.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::path::Path;
use std::time::Duration;

use plumb_tests::{
    Question, RunningNode, Story, citations, count, finish, hits, list, plumb_binary, questions, story_dir, text, until,
};
use serde_json::{Value, json};

const STUDY: &str = "study-chloramine-biofilm.md";
const STUDY_QUESTION: &str = "How much did chloramine reduce biofilm growth in cast-iron mains?";
const STUDY_SENTENCE: &str = "A chloramine dose of 1.8 mg/L reduced biofilm growth by 62 percent in cast-iron mains.";
const SALARY_QUESTION: &str = "By how much does Mara Lindqvist's salary rise?";

/// How long a notice may take to reach every holder.
const NOTICE_TIME: Duration = Duration::from_secs(60);

/// What the README of the story says must never leave Northwater, and Halden.
const NORTHWATER_SECRETS: [&str; 6] =
    ["nw_live_51f0c2", "heron-lock-4471", "46,850", "2,140 households", "cve-2031-10457", "74.9 million"];
const HALDEN_SECRETS: [&str; 3] = ["quillmark", "0.27 mg/l", "yellow folder"];

#[test]
fn every_question_of_the_story_has_the_outcome_that_it_should_have() {
    let story = Story::told();
    for question in questions("local") {
        let answer = story.node(&question.node).home.ok(&["ask", &question.question]);
        assert_cites(&answer, &question);
    }
    for question in questions("federated") {
        let answer = story.operations.home.ok(&["ask", &question.question, "--peers"]);
        assert_cites(&answer, &question);
        assert_eq!(answer["coverage"]["complete"], true, "{answer:#}");
        assert_eq!(list(&answer, "/coverage/peers").len(), 2, "{answer:#}");
    }
    for question in questions("unknown") {
        let answer = story.node(&question.node).home.run(&["ask", &question.question, "--peers"]).expect(3);
        assert_eq!(answer["answer"]["abstained"], true);
        assert_eq!(list(&answer, "/answer/citations"), &[] as &[Value]);
    }
    for question in questions("denied") {
        let (asked, secrets) = match question.node.as_str() {
            "halden-hydrology" => (&story.operations, &HALDEN_SECRETS[..]),
            _ => (&story.hydrology, &NORTHWATER_SECRETS[..]),
        };
        for verb in ["ask", "search"] {
            let outcome = asked.home.run(&[verb, &question.question, "--peers"]);
            assert!(outcome.code == 0 || outcome.code == 3, "{outcome}");
            // The reply repeats the question, which may hold the word itself.
            let reply = without_question(outcome.json(), &question.question).to_string().to_lowercase();
            for secret in secrets {
                assert!(!reply.contains(secret), "`{secret}` left its organisation: {outcome}");
            }
        }
    }
}

#[test]
fn what_may_not_be_read_is_as_if_it_were_not_there() {
    let story = Story::told();
    let laboratory = &story.laboratory.home;
    laboratory.ok(&["ask", SALARY_QUESTION, "--as", "person-ilse-kerrigan"]);
    let denied = laboratory.run(&["ask", SALARY_QUESTION, "--as", "person-mara-lindqvist"]).expect(3);
    assert!(!denied.to_string().contains("46,850"), "{denied:#}");

    for (question, side_a, side_b) in [
        ("How long are customer meter readings retained?", "90 days", "30 days"),
        ("May valves be exercised during heavy rain?", "must be exercised", "must not be exercised"),
    ] {
        let answer = story.operations.home.ok(&["ask", question]);
        let said: Vec<&str> = citations(&answer).iter().map(|(_, sentence)| *sentence).collect();
        assert!(said.iter().any(|s| s.contains(side_a)) && said.iter().any(|s| s.contains(side_b)), "{answer:#}");
        assert!(!list(&answer, "/answer/conflicts").is_empty(), "both sides are marked as a conflict: {answer:#}");
    }
}

/// The same searches, before and after the other side took in what the asker may not read: every hit, count and
/// statistic is equal.
#[test]
fn hidden_documents_leave_no_trace_in_what_others_are_told() {
    const QUERIES: [&str; 6] = [
        "quillmark",
        "quillmark correction adds to every reading",
        "chloramine sensor calibration loops",
        "salary of Mara Lindqvist",
        "biofilm on iron pipes",
        "hand tests of the loops",
    ];
    let story = Story::begin();
    let public = story_dir().join("halden-hydrology/public");
    story.hydrology.home.ok(&["ingest", public.to_str().unwrap(), "--sensitivity", "public"]);
    let bottles = story_dir().join("northwater-laboratory/reserve-bottles-cold-room.md");
    story.laboratory.home.ok(&["ingest", bottles.to_str().unwrap(), "--sensitivity", "internal"]);
    let http = story.operations.http("person-tomas-brandvold");
    let ask_everything = || -> Vec<Value> {
        let by_command = QUERIES.map(|q| story.operations.home.ok(&["search", q, "--peers", "--explain"]));
        let by_http = QUERIES.map(|q| {
            http.post("/v1/search", &json!({"query": q, "peers": true, "explain": true, "k": 20})).expect(200)
        });
        by_command.into_iter().chain(by_http).map(without_clocks).collect()
    };
    let before = ask_everything();

    let internal = story_dir().join("halden-hydrology/internal");
    let job = story.hydrology.home.ok(&["ingest", internal.to_str().unwrap(), "--sensitivity", "internal"]);
    assert_eq!(count(&job, "/new"), 3, "{job:#}");
    let salary = story_dir().join("northwater-laboratory/note-one-to-one-lindqvist.md");
    let job = story.laboratory.home.ok(&["ingest", salary.to_str().unwrap(), "--sensitivity", "internal"]);
    assert_eq!(list(&job, "/raised").len(), 1, "the salary note is confidential, whatever was declared: {job:#}");
    assert_eq!(hits(&story.hydrology.home.ok(&["search", "quillmark"])).len(), 1, "at home it is found");

    for (before, after) in before.iter().zip(ask_everything()) {
        assert_eq!(*before, after, "for {}", before["query"]);
    }
    for searched in before.iter().filter(|s| s["query"] == "quillmark") {
        assert_eq!(hits(searched), &[] as &[Value]);
    }
}

#[test]
fn a_retraction_reaches_every_holder_and_lasts() {
    let mut story = Story::told();
    let file = story.file("answer.car");
    let car = file.to_str().unwrap();
    let answer = story.operations.home.ok(&["ask", STUDY_QUESTION, "--peers", "--save"]);
    let bundle = text(&answer, "/bundle").to_string();
    story.operations.home.ok(&["bundle", "export", &bundle, "--out", car]);
    assert_eq!(story.laboratory.home.ok(&["bundle", "verify", car])["verdict"], "authentic");
    let import = story.laboratory.home.ok(&["bundle", "import", car]);
    assert!(count(&import, "/imported") > 0, "{import:#}");

    // What was imported grounds an answer of its own, with no peer asked.
    let local = story.laboratory.home.ok(&["ask", STUDY_QUESTION, "--save"]);
    assert!(says(&local, STUDY_SENTENCE), "{local:#}");
    let local_bundle = text(&local, "/bundle").to_string();

    let notice = story.hydrology.home.ok(&["retract", STUDY, "--kind", "retraction", "--reason", "data-error"]);
    let notice_id = text(&notice, "/notice").to_string();
    until("both holders have acknowledged the notice", NOTICE_TIME, || {
        let receipts = story.hydrology.home.ok(&["notices", "show", &notice_id]);
        let receipts = list(&receipts, "/receipts").to_vec();
        receipts.len() == 2 && receipts.iter().all(|r| r["state"] == "acknowledged")
    });
    for (node, saved) in [(&story.operations, &bundle), (&story.laboratory, &local_bundle)] {
        let shown = node.home.ok(&["answers", "show", saved]);
        assert_eq!(shown["state"], "retracted-source", "{shown:#}");
        assert!(!list(&shown, "/flags").is_empty(), "{shown:#}");
        assert_withdrawn(node);
    }
    let verdict = story.laboratory.home.run(&["bundle", "verify", car]).expect(4);
    assert_eq!(verdict["verdict"], "retracted");
    assert_eq!(text(&verdict, "/withdrawn/0/notice"), notice_id);

    // A restart and a rebuild bring nothing back; neither does the same file, nor the bundle, nor its bytes anew.
    let home = story.laboratory.home.clone();
    assert!(story.laboratory.restart(&[&story.operations, &story.hydrology]).success());
    story.await_peers();
    home.ok(&["rebuild"]);
    assert_withdrawn(&story.laboratory);
    let again = home.ok(&["bundle", "import", car]);
    assert_eq!(count(&again, "/imported"), 0, "{again:#}");
    let path = story_dir().join("halden-hydrology/public").join(STUDY);
    // All that was to come in is refused: that is a denial.
    let job = home.run(&["ingest", path.to_str().unwrap(), "--sensitivity", "internal"]).expect(7);
    assert_eq!((count(&job, "/new"), list(&job, "/refused").len()), (0, 1), "{job:#}");
    assert_withdrawn(&story.laboratory);
    assert_eq!(home.ok(&["answers", "show", &local_bundle])["state"], "retracted-source");

    for node in [&story.operations, &story.laboratory, &story.hydrology] {
        assert_eq!(node.home.ok(&["audit", "verify"])["intact"], true);
        assert_eq!(node.home.ok(&["doctor"])["healthy"], true);
    }
    let homes = [&story.operations, &story.laboratory, &story.hydrology].map(|node| node.home.dir.clone());
    for node in [story.operations, story.laboratory, story.hydrology] {
        assert!(node.stop().success(), "SIGTERM ends a node in order");
    }
    // Searches, a bundle, notices and receipts have crossed the borders. What must never leave lies in no file there.
    let [operations, laboratory, hydrology] = homes;
    assert!(holds(&operations, "heron-lock-4471") && holds(&hydrology, "quillmark"), "the look finds what is there");
    for secret in NORTHWATER_SECRETS {
        assert!(!holds(&hydrology, secret), "`{secret}` left Northwater");
    }
    for secret in HALDEN_SECRETS {
        assert!(!holds(&operations, secret) && !holds(&laboratory, secret), "`{secret}` left the Halden Institute");
    }
}

/// Log sync, not gossip: the holder was away when the notice came, and its publisher is away when the holder returns.
#[test]
fn a_notice_reaches_a_node_that_was_away_from_a_peer_that_is_not_its_publisher() {
    let story = Story::told();
    let file = story.file("answer.car");
    let car = file.to_str().unwrap();
    story.operations.home.ok(&["ask", STUDY_QUESTION, "--peers", "--save", "--bundle", car]);
    story.laboratory.home.ok(&["bundle", "import", car]);
    let saved = story.laboratory.home.ok(&["ask", STUDY_QUESTION, "--save"]);
    let home = story.laboratory.home.clone();
    assert!(story.laboratory.stop().success());

    story.hydrology.home.ok(&["retract", STUDY, "--kind", "retraction", "--reason", "data-error"]);
    until("operations has applied the notice", NOTICE_TIME, || {
        story.operations.home.ok(&["notices", "list"])[0]["applied"].is_object()
    });
    assert!(story.hydrology.stop().success());

    let laboratory = RunningNode::start(&home, &[&story.operations]);
    let id = text(&saved, "/bundle");
    until("the laboratory hears of it from operations", NOTICE_TIME, || {
        home.ok(&["answers", "show", id])["state"] == "retracted-source"
    });
    assert_withdrawn(&laboratory);
}

/// The demonstration tells the same story with the same commands. It must be whole, and leave nothing behind.
#[test]
fn the_demonstration_shows_what_it_says_and_leaves_nothing() {
    let scratch = tempfile::TempDir::new().unwrap();
    let mut command = std::process::Command::new(plumb_binary());
    command.args(["demo", "--json"]).env("TMPDIR", scratch.path());
    let report = finish(command, Duration::from_secs(120)).expect(0);
    assert_eq!(report["ok"], true, "{report:#}");
    assert!(list(&report, "/steps").len() >= 18, "{report:#}");
    assert!(list(&report, "/steps").iter().all(|step| !list(step, "/shown").is_empty()), "{report:#}");
    println!("the demonstration took {} ms", report["milliseconds"]);

    let values = list(&report, "/steps").iter().flat_map(|step| list(step, "/values"));
    let processes: Vec<&str> = values.filter(|v| v["name"] == "process").map(|v| text(v, "/value")).collect();
    assert_eq!(processes.len(), 4, "three nodes, one of them twice: {processes:?}");
    for pid in processes {
        let pid = rustix::process::Pid::from_raw(pid.parse().unwrap()).unwrap();
        assert!(rustix::process::test_kill_process(pid).is_err(), "process {pid:?} is still there");
    }
    let left: Vec<_> = std::fs::read_dir(scratch.path()).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}

#[track_caller]
fn assert_cites(answer: &Value, question: &Question) {
    let sentence = question.sentence.as_deref().expect("a question with an answer has a sentence");
    assert!(says(answer, sentence), "`{sentence}` is not cited: {answer:#}");
    let name = question.path.as_deref().and_then(|p| p.rsplit('/').next()).expect("and a document");
    let places = citations(answer);
    assert!(places.iter().any(|(c, _)| text(c, "/uri").contains(name)), "`{name}` is not cited: {answer:#}");
}

/// Whether any file below a folder holds these words, in any case.
fn holds(folder: &Path, words: &str) -> bool {
    std::fs::read_dir(folder).unwrap().map(Result::unwrap).any(|entry| {
        let kind = entry.file_type().unwrap();
        let found =
            |bytes: Vec<u8>| bytes.windows(words.len()).any(|window| window.eq_ignore_ascii_case(words.as_bytes()));
        (kind.is_dir() && holds(&entry.path(), words))
            || (kind.is_file() && found(std::fs::read(entry.path()).unwrap()))
    })
}

fn says(answer: &Value, sentence: &str) -> bool {
    citations(answer).iter().any(|(_, said)| said.contains(sentence))
}

/// The study is neither found nor cited at this node any more.
#[track_caller]
fn assert_withdrawn(node: &RunningNode) {
    let found = node.home.ok(&["search", "chloramine dose biofilm growth cast-iron mains"]);
    assert!(hits(&found).iter().all(|hit| !text(hit, "/uri").ends_with(STUDY)), "{found:#}");
    let outcome = node.home.run(&["ask", STUDY_QUESTION]);
    assert!(outcome.code == 0 || outcome.code == 3, "{outcome}");
    assert!(!says(&outcome.json(), "62 percent"), "{outcome}");
}

/// Takes away what tells of clocks and not of documents.
fn without_clocks(mut search: Value) -> Value {
    for peer in search["coverage"]["peers"].as_array_mut().into_iter().flatten() {
        peer["feed_age_ms"] = Value::Null;
    }
    search["coverage"]["peers"].as_array_mut().into_iter().for_each(|peers| {
        peers.sort_by_key(|peer| peer["node"].to_string());
    });
    search
}

fn without_question(mut reply: Value, question: &str) -> Value {
    for pointer in ["/query", "/answer/query"] {
        if let Some(field) = reply.pointer_mut(pointer) {
            assert_eq!(*field, question);
            *field = Value::Null;
        }
    }
    reply
}
