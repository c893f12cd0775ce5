//! The six stages around a search, through the command line: what they explain, what they reorder and what never, both
//! sides of what is contested, the block for a model, and that nothing hidden shows in any of them.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use plumb_tests::{Home, Organisation, count, hits, list, text};
use serde_json::Value;
use tempfile::TempDir;

const STAGES: [&str; 6] = ["intent", "entities", "weights", "search", "fusion", "conflicts"];

fn home(scratch: &TempDir) -> Home {
    let org = Organisation::found(scratch.path(), "Northwater");
    let home = org.node(scratch.path(), "operations", "person-mara");
    home.add_person("person-jon", &["operations"]);
    home
}

fn ingest(home: &Home, name: &str, words: &str, more: &[&str]) {
    let file = home.scratch().join(name);
    std::fs::write(&file, words).unwrap();
    home.ok(&[&["ingest", file.to_str().unwrap()], more].concat());
}

fn titles(search: &Value) -> Vec<&str> {
    hits(search).iter().map(|hit| text(hit, "/title")).collect()
}

#[test]
fn what_is_near_to_the_question_comes_first_and_every_factor_is_shown() {
    let scratch = TempDir::new().unwrap();
    let home = home(&scratch);
    let note = |title: &str, words: &str| format!("# {title}\n\nThe valve of station nine {words}.\n");
    ingest(&home, "short.md", &note("Short", "sticks"), &["--scope", "team:team-laboratory"]);
    let long = "sticks in winter, which the crew has seen again and again since the first frost of the year";
    ingest(&home, "long.md", &note("Long", long), &["--scope", "team:team-pump-crew"]);
    let ask = |question: &str, more: &[&str]| home.ok(&[&["search", question, "--explain"], more].concat());

    // Without a graph the flat search rates: both lie in one layer, and the shorter text is nearer to the words.
    let flat = ask("valve of station nine", &[]);
    assert_eq!((titles(&flat), text(&flat, "/stages/setting")), (vec!["Short", "Long"], "no-graph"));

    home.ok(&["entity", "populate"]);
    for team in ["Laboratory", "Pump Crew"] {
        home.ok(&["entity", "add", "team", team]);
    }
    let far = ask("valve of station nine", &[]);
    assert_eq!((titles(&far), text(&far, "/stages/setting")), (vec!["Short", "Long"], "organisation"));
    // The same words, and the team is named with a letter wrong: its scope is at no distance from the question.
    let near = ask("valve of station nine, says the pump crev", &[]);
    assert_eq!(text(&near, "/stages/entities/0/entity"), "team-pump-crew");
    assert!(text(&near, "/stages/entities/0/how").starts_with("fuzzy"), "{near:#}");
    assert_eq!(titles(&near), ["Long", "Short"], "{near:#}");
    assert_eq!(count(&near, "/hits/0/factors/rank"), 2, "the search itself had it second");
    let scores: Vec<u64> = hits(&near).iter().map(|hit| count(hit, "/factors/score")).collect();
    assert!(scores[0] > scores[1], "{scores:?}");
    for hit in hits(&near) {
        // What is shown is the whole product.
        let millionths = |name: &str| u128::from(count(hit, &format!("/factors/{name}")));
        let parts = ["similarity", "source", "evidence", "fresh", "kind", "document", "recent", "lift", "learned"];
        let product = parts.iter().fold(1_000_000_000_000u128, |product, name| product * millionths(name) / 1_000_000);
        assert_eq!(product / 1_000_000, millionths("score"), "{hit:#}");
        assert_eq!(
            count(hit, "/score"),
            hit["explain"]["terms"].as_array().unwrap().iter().map(|t| count(t, "/score_micro")).sum::<u64>()
        );
    }
    assert_eq!(list(&near, "/stages/weights").len(), 2);
    for stage in STAGES {
        assert!(near["stages"]["took_us"][stage].is_u64(), "{stage} has no time: {near:#}");
    }
    let debugging = ask("why does the valve of station nine fail?", &[]);
    assert_eq!(text(&debugging, "/stages/intent/intent"), "debugging");
    assert!(list(&debugging, "/stages/intent/clues").len() >= 2, "{debugging:#}");

    let shown = home.shown(&["search", "valve of station nine, says the pump crew", "--explain"]);
    for stage in STAGES {
        let line = shown.lines().find(|line| line.starts_with(stage));
        assert!(line.is_some_and(|line| line.ends_with(" ms")), "{stage} in {shown}");
    }
    assert!(shown.contains("team-pump-crew by `pump crew`, mention") && shown.contains("× lift 1.000"), "{shown}");
    let plain = home.ok(&["search", "valve of station nine"]);
    assert!(plain.get("stages").is_none() && plain["hits"][0].get("factors").is_none(), "{plain:#}");
}

#[test]
fn where_no_factor_differs_the_order_is_that_of_the_search() {
    let scratch = TempDir::new().unwrap();
    let home = home(&scratch);
    for n in 0..24 {
        let more = "and the pump ".repeat(n % 7);
        let words = format!("# Note {n}\n\nThe pump {more}of hall {n} has a policy for a timeout.\n");
        ingest(&home, &format!("note{n}.md"), &words, &[]);
    }
    for populated in [false, true] {
        if populated {
            home.ok(&["entity", "populate"]);
        }
        for question in ["pump", "why does the pump timeout", "pump policy of the hall", "operations pump"] {
            for k in ["3", "10", "100"] {
                let found = home.ok(&["search", question, "--k", k, "--explain"]);
                let scores: Vec<u64> = hits(&found).iter().map(|hit| count(hit, "/score")).collect();
                assert!(!scores.is_empty() && scores.is_sorted_by(|a, b| a >= b), "{question}: {scores:?}");
                let ranks: Vec<u64> = hits(&found).iter().map(|hit| count(hit, "/factors/rank")).collect();
                assert_eq!(ranks, (1..=ranks.len() as u64).collect::<Vec<_>>(), "{question}");
            }
        }
    }
}

#[test]
fn both_sides_of_what_is_contested_are_shown() {
    let scratch = TempDir::new().unwrap();
    let home = home(&scratch);
    ingest(&home, "queue.md", "# Queue\n\nThe pump room must use the Redis queue for alarm messages.\n", &[]);
    let opposite = "# Other queue\n\nThe pump room must not use the Redis queue for alarm messages.\n";
    ingest(&home, "other.md", opposite, &[]);
    ingest(
        &home,
        "copy.md",
        "# Queue\n\nThe pump room must use the Redis queue for alarm messages.\n",
        &["--scope", "team:team-a"],
    );
    let question = "pump room Redis queue alarm messages";
    for k in ["1", "5"] {
        let found = home.ok(&["search", question, "--k", k, "--explain"]);
        let conflict = list(&found, "/stages/conflicts").first().unwrap_or_else(|| panic!("{found:#}")).clone();
        let said = [text(&conflict, "/a_says"), text(&conflict, "/b_says")];
        assert!(
            said.iter().any(|s| s.contains("must not use")) && said.iter().any(|s| s.contains("must use")),
            "{said:?}"
        );
        for side in ["/a", "/b"] {
            let hit = hits(&found).iter().find(|h| text(h, "/chunk") == text(&conflict, side)).unwrap();
            assert!(!list(hit, "/contested_by").is_empty(), "{hit:#}");
        }
    }
    assert_eq!(home.shown(&["search", question, "--k", "1"]).matches("[Contested]").count(), 2);

    let block = home.ok(&["context", "block", question]);
    let context = text(&block, "/context");
    assert!(
        context.starts_with("<cortex-context>\n1. [Context] [Contested] undated (person-mara, evidence 0.72"),
        "{context}"
    );
    assert!(context.contains("\nConflicting: 1 against 2\n") && context.ends_with("</cortex-context>\n"), "{context}");
    assert_eq!((list(&block, "/shown").len(), count(&block, "/n_folded")), (2, 1), "the copy is folded: {context}");
    assert_eq!(home.shown(&["context", "block", question]), context);
    let short = home.ok(&["context", "block", question, "--max-tokens", "70"]);
    assert!(count(&short, "/tokens") <= 70 && count(&short, "/n_cut") + count(&short, "/n_left_out") > 0, "{short:#}");
    let nothing = home.ok(&["context", "block", "zygomorphic quasar"]);
    assert_eq!((text(&nothing, "/context"), count(&nothing, "/tokens")), ("", 0));
    assert_eq!(home.run(&["context", "block", "x", "--max-tokens", "0"]).code, 2);
}

/// An answer without what a clock gave.
fn timeless(mut answer: Value) -> Value {
    if let Some(stages) = answer["stages"].as_object_mut() {
        stages.remove("took_us");
        stages.remove("total_us");
    }
    answer
}

#[test]
fn what_may_not_be_read_shows_in_no_stage() {
    let scratch = TempDir::new().unwrap();
    let home = home(&scratch);
    home.ok(&["entity", "populate"]);
    home.ok(&["entity", "add", "team", "Vault"]);
    let words = |what: &str| format!("# Shutdown {what}\n\nThe shutdown of pump seven must be approved {what}.\n");
    ingest(&home, "open.md", &words("by the shift lead"), &[]);
    ingest(&home, "team.md", &words("by two people"), &["--scope", "team:team-pumps"]);
    let questions =
        ["who must approve the shutdown of pump seven", "security policy of the shutdown", "vault shutdown"];
    let asked = |person: &str| -> Vec<Value> {
        let ask = |question: &&str| {
            let found = home.ok(&["search", question, "--explain", "--as", person]);
            [timeless(found), timeless(home.ok(&["context", "block", question, "--as", person]))]
        };
        questions.iter().flat_map(ask).collect()
    };
    let (before, owner) = (asked("person-jon"), asked("person-mara"));
    // A secret that says the opposite, one of a scope that nobody is in, and one of her own.
    let opposite = "# Shutdown secret\n\nThe shutdown of pump seven must not be approved by the shift lead.\n";
    ingest(&home, "secret.md", opposite, &["--sensitivity", "confidential"]);
    ingest(&home, "vault.md", &words("by the vault"), &["--sensitivity", "restricted", "--scope", "team:team-vault"]);
    let personal = ["--sensitivity", "restricted", "--scope", "personal:person-mara"];
    ingest(&home, "mine.md", &words("by the shift lead and by me"), &personal);
    assert_eq!(asked("person-jon"), before);
    let sees = asked("person-mara");
    assert_ne!(sees, owner, "who may read it finds it, contested and in its scope");
    let all = serde_json::to_string(&sees).unwrap();
    assert!(all.contains("personal:person-mara") && all.contains("direct-contradiction"), "{all}");
    // She is not in that team either.
    assert!(!all.contains("team:team-vault"));
}

/// What people say of what they were shown moves the weights by little, for whoever may read it, and can be forgotten.
#[test]
fn feedback_moves_the_weights_and_never_the_boundary() {
    let scratch = TempDir::new().unwrap();
    let home = home(&scratch);
    let note = |title: &str| format!("# {title}\n\nThe valve of station nine sticks.\n");
    ingest(&home, "team.md", &note("Team"), &["--scope", "team:team-pump-crew"]);
    ingest(&home, "own.md", &note("Own"), &["--scope", "personal:person-mara"]);
    ingest(&home, "secret.md", &note("Secret"), &["--scope", "personal:person-mara", "--sensitivity", "restricted"]);
    home.ok(&["entity", "populate"]);
    home.ok(&["entity", "add", "team", "Pump Crew"]);
    let question = "valve of station nine";
    let ask = |person: &str| {
        let mut found = home.ok(&["search", question, "--explain", "--as", person]);
        found["stages"]["took_us"] = Value::Null;
        found["stages"]["total_us"] = Value::Null;
        found
    };
    let give =
        |person: &str, what: &[&str]| home.run(&[&["feedback", "give", question, "--as", person], what].concat());
    let learned = |person: &str| home.ok(&["feedback", "show", "--as", person]);
    let (of_mara, of_jon) = (ask("person-mara"), ask("person-jon"));
    for hit in hits(&of_mara) {
        assert_eq!(count(hit, "/factors/learned"), 1_000_000, "nothing is learned before somebody says something");
    }
    let chunk = |title: &str| {
        text(hits(&of_mara).iter().find(|hit| text(hit, "/title") == title).unwrap(), "/chunk").to_string()
    };
    let (team, own, secret) = (chunk("Team"), chunk("Own"), chunk("Secret"));

    // To Jon, Mara's restricted note is absent; and what she says of it moves nothing for anybody who may not read all of
    // its class.
    give("person-jon", &["--used", &secret]).expect(1);
    give("person-mara", &["--used", &secret]).expect(0);
    assert_eq!(list(&learned("person-jon"), "/kinds").len(), 0);
    assert_eq!(ask("person-jon"), of_jon);

    let given = give("person-mara", &["--used", &team, "--wrong", &own]).expect(0);
    assert_eq!(text(&given, "/units/0/help"), "used");
    assert!(count(&given, "/units/0/source_weight") > 0, "with the weight that its scope had: {given:#}");
    let shown = learned("person-jon");
    let factor = |name: &str| {
        let kinds = list(&shown, "/kinds");
        kinds.iter().find(|kind| text(kind, "/kind") == name).map(|kind| count(kind, "/factor")).unwrap()
    };
    // One of three showings helped: (1 + 20/3) ÷ (1 + 20)/3 and (0 + 20/3) ÷ (2 + 20)/3, to the nearest thousandth.
    assert_eq!((factor("level:team"), factor("level:personal")), (1095, 909), "{shown:#}");
    let weight = |found: &Value| {
        let weights = list(found, "/stages/weights").to_vec();
        weights.iter().find(|w| text(w, "/scope") == "team:team-pump-crew").map(|w| count(w, "/weight")).unwrap()
    };
    assert!(weight(&ask("person-jon")) > weight(&of_jon));

    // The same person on the same question says one thing.
    for _ in 0..3 {
        give("person-mara", &["--used", &team, "--wrong", &own]).expect(0);
    }
    assert_eq!(learned("person-jon"), shown);
    give("person-mara", &[]).expect(2);
    assert_eq!(home.ok(&["feedback", "forget"])["events"], 1);
    assert_eq!((ask("person-mara"), ask("person-jon")), (of_mara, of_jon));
}
