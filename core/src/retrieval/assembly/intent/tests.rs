//! Phrases, false hits, ties and the exemplar path.

use proptest::prelude::*;

use super::*;

fn intent(question: &str) -> Intent {
    detect(question, None).intent
}

fn nearness(of: impl Fn(usize, Intent) -> u16) -> Nearness {
    let one = |(i, (intent, _)): (usize, &(Intent, &str))| Milli::new(of(i, *intent)).unwrap();
    Nearness::new(EXEMPLARS.iter().enumerate().map(one).collect()).unwrap()
}

#[test]
fn a_phrase_of_each_family_is_found() {
    let families: [(Intent, &[&str]); 7] = [
        (
            Intent::Debugging,
            &[
                "error",
                "bugs",
                "fix it",
                "it crashed",
                "builds fail",
                "broken",
                "it throws",
                "exception",
                "timeout",
                "timed out",
                "issue",
                "Why does it stop",
                "why is it slow",
                "WHY DID it end",
                "why isn’t it here",
            ],
        ),
        (
            Intent::Architecture,
            &[
                "architect",
                "architecture",
                "design",
                "patterns",
                "structure",
                "approach",
                "should we use sled",
                "should we adopt it",
                "should  we switch",
            ],
        ),
        (Intent::Onboarding, &["how does it work", "explain this", "what is a pump", "overview", "getting\tstarted"]),
        (Intent::Policy, &["policy", "policies", "compliance", "regulation", "standard", "rules", "requirement"]),
        (
            Intent::HowTo,
            &[
                "how do I begin",
                "how can I begin",
                "how should I begin",
                "how to begin",
                "steps to begin",
                "steps for it",
                "what's the command",
                "what’s the way",
                "what is the command",
            ],
        ),
        (Intent::Review, &["review", "feedback", "improve", "quality", "best practice"]),
        (
            Intent::Security,
            &[
                "security",
                "vulnerable",
                "vulnerability",
                "exploit",
                "attack",
                "auth",
                "authorisation",
                "CVE-2024-3094",
                "injection",
                "xss",
            ],
        ),
    ];
    for (expected, phrases) in families {
        for phrase in phrases {
            assert_eq!(intent(phrase), expected, "{phrase}");
        }
    }
}

#[test]
fn words_that_only_contain_a_keyword_are_nothing() {
    for question in [
        "Who is the author?",
        "the prefix of a table",
        "authority and authorship",
        "terror and debugger",
        "reissue the tissue",
        "preview",
        "ruler",
        "redesigned",
        "the failsafe",
        "",
        "   ",
        "מים חיים 経営者",
    ] {
        let detected = detect(question, None);
        assert_eq!((detected.intent, detected.confidence), (Intent::General, Milli::ZERO), "{question}");
        assert!(detected.clues.is_empty());
    }
}

#[test]
fn points_and_confidence_are_those_of_the_design() {
    let detected = detect("error", None);
    assert_eq!(
        detected.clues,
        [(Intent::Debugging, Clue::Pattern("a fault")), (Intent::Debugging, Clue::Keyword("error"))]
    );
    assert_eq!(detected.points[0], 3);
    // Two patterns and eight keywords: 12 points are possible.
    assert_eq!(detected.confidence.get(), 250);
    // With a model two more are possible.
    assert_eq!(detect("error", Some(&nearness(|_, _| 0))).confidence.get(), 214);
    assert_eq!(
        detect("why did the fix fail: error, bug, crash, broken, exception, timeout", None).confidence,
        Milli::ONE
    );
}

#[test]
fn ties_go_to_the_earlier_intent() {
    let detected = detect("standards of quality", None);
    assert_eq!((detected.points[3], detected.points[5]), (2, 2));
    assert_eq!(detected.intent, Intent::Policy);
    // The order in the text does not matter, and one more point does.
    assert_eq!(intent("quality of standards"), Intent::Policy);
    assert_eq!(intent("improve our standards"), Intent::Review);
}

#[test]
fn an_exemplar_catches_a_paraphrase_without_a_keyword() {
    let question = "The thing keeps dying and nobody knows what happened";
    assert_eq!(intent(question), Intent::General);
    let near = nearness(|i, _| if i == 0 { 812 } else { 300 });
    let detected = detect(question, Some(&near));
    assert_eq!(detected.intent, Intent::Debugging);
    assert_eq!(detected.clues, [(Intent::Debugging, Clue::Exemplar(EXEMPLARS[0].1, Milli::new(812).unwrap()))]);
}

#[test]
fn an_exemplar_counts_from_its_threshold_on() {
    let at = |n| detect("hm", Some(&nearness(|i, _| if i == 26 { n } else { 0 }))).intent;
    assert_eq!((at(499), at(500)), (Intent::General, Intent::Security));
}

#[test]
fn only_the_nearest_exemplar_counts() {
    let near = nearness(|_, intent| if intent == Intent::Security { 901 } else { 900 });
    assert_eq!(detect("hm", Some(&near)).points.iter().sum::<u16>(), EXEMPLAR_POINTS);
    assert_eq!(detect("hm", Some(&near)).intent, Intent::Security);
    assert_eq!(detect("hm", Some(&nearness(|_, _| 900))).intent, Intent::Debugging, "equally near: the first");
    let general = nearness(|_, intent| if intent == Intent::General { 901 } else { 900 });
    assert_eq!(detect("hm", Some(&general)).intent, Intent::General);
    assert!(Nearness::new(vec![Milli::ONE]).is_err());
}

/// An exemplar with a keyword in it would prove nothing: the patterns would have found it.
#[test]
fn exemplars_do_not_lean_on_the_tables() {
    for (expected, sentence) in EXEMPLARS {
        let found = intent(sentence);
        assert!(found == Intent::General || expected == Intent::General, "{sentence} is {found} by its words");
    }
    for intent in Intent::ALL {
        assert_eq!(EXEMPLARS.iter().filter(|e| e.0 == intent).count(), 4, "{intent}");
        assert_eq!(intent.to_string().parse(), Ok(intent));
    }
}

proptest! {
    #[test]
    fn any_text_has_an_intent_and_a_bounded_confidence(
        text in "\\PC{0,200}", near in proptest::collection::vec(0u16..=1000, EXEMPLARS.len()),
    ) {
        let near = Nearness::new(near.into_iter().map(|n| Milli::new(n).unwrap()).collect()).unwrap();
        for detected in [detect(&text, None), detect(&text, Some(&near))] {
            let most = detected.points.iter().max().copied().unwrap_or(0);
            prop_assert_eq!(detected.points[detected.intent as usize], most);
            prop_assert_eq!(detected.confidence == Milli::ZERO, detected.intent == Intent::General);
        }
    }

    /// One more keyword never lowers its intent.
    #[test]
    fn a_word_more_never_takes_points(text in "[a-z ]{0,60}") {
        let more = format!("{text} security");
        prop_assert!(detect(&more, None).points[6] >= detect(&text, None).points[6]);
    }
}
