use super::*;
use proptest::prelude::*;

mod lines;

use lines::{HARMLESS, SENSITIVE};

/// Each labelled line is found under its own category, and the harmless ones are passed. On failure the lines are
/// listed with what was found in them, under recall and precision.
#[test]
fn labelled_lines_are_told_apart() {
    let categories = |text: &str| detect(text).iter().map(|f| f.category).collect::<Vec<_>>();
    let missed: Vec<_> = SENSITIVE.iter().filter(|(category, line)| !categories(line).contains(category)).collect();
    let alarms: Vec<_> = HARMLESS.iter().filter(|line| !detect(line).is_empty()).map(|l| (l, detect(l))).collect();
    let found = SENSITIVE.len() - missed.len();
    assert!(
        missed.is_empty() && alarms.is_empty(),
        "recall {found}/{}, precision {found}/{}\nmissed: {missed:#?}\nfalse alarms: {alarms:#?}",
        SENSITIVE.len(),
        found + alarms.len(),
    );
    assert!(SENSITIVE.len() >= 60 && HARMLESS.len() >= 60);
}

#[test]
fn the_finding_is_the_value_and_not_the_word_before_it() {
    let text = "user = x\npassword = \"heron-Lock-4471\"\n";
    let findings = detect(text);
    assert_eq!(findings.len(), 1);
    assert_eq!(&text[findings[0].range.clone()], "heron-Lock-4471");
    assert_eq!(findings[0].rule, "password-assignment");
}

#[test]
fn a_class_is_raised_and_never_lowered() {
    use Sensitivity::{Confidential, Internal, Public, Restricted};
    for (text, class) in [
        ("The reservoir was full on Monday.", Public),
        ("See ADR-12.", Internal),
        ("Net profit fell in the third quarter.", Restricted),
        ("Mara's salary rises in July.", Confidential),
        ("Net profit fell; the salary of Mara rises.", Confidential),
    ] {
        for suggested in Sensitivity::ALL {
            assert_eq!(classify(text, suggested), class.max(suggested), "{text} as {suggested}");
        }
    }
}

#[test]
fn check_digits_decide_about_numbers() {
    let found = |text: &str| detect(text).iter().any(|f| f.rule == "payment-card" || f.rule == "iban");
    assert!(found("4111 1111 1111 1111") && !found("4111 1111 1111 1112"));
    assert!(found("378282246310005") && !found("378282246310006"));
    assert!(found("DE89 3704 0044 0532 0130 00 BIC COBADEFF") && !found("DE89 3704 0044 0532 0130 01"));
    assert!(!found("0.4111111111111111") && !found("A4111111111111111") && !found("10.1000/4111111111111111"));
}

#[test]
fn the_bound_hides_no_stricter_class() {
    let text = format!("{}password: hunter2", "revenue ".repeat(10 * FINDINGS_MAX));
    let findings = detect(&text);
    assert_eq!(findings.len(), FINDINGS_MAX);
    assert!(findings.iter().any(|f| f.category == Category::Secret));
    assert_eq!(classify(&text, Sensitivity::Public), Sensitivity::Confidential);
}

/// Repetition of what a rule almost matches is where a backtracking engine would hang.
#[test]
fn hostile_text_is_read_in_linear_time() {
    for piece in ["password ", "4", "4 ", "eyJ", "a://", "set the password ", "api_key ", "DE00 ", "-----BEGIN ", "é"]
    {
        let text = piece.repeat(200_000 / piece.len());
        assert_eq!(classify(&text, Sensitivity::Internal), Sensitivity::Internal, "{piece}");
    }
}

proptest! {
    #[test]
    fn any_text_is_classified(text in "(?s).{0,300}", at in 0usize..4) {
        let suggested = Sensitivity::ALL[at];
        let findings = detect(&text);
        let strictest = findings.iter().map(|f| f.category.sensitivity()).max();
        prop_assert_eq!(classify(&text, suggested), strictest.map_or(suggested, |s| s.max(suggested)));
        for finding in findings {
            prop_assert!(text.get(finding.range).is_some());
        }
    }

    /// What is secret alone is secret between other lines.
    #[test]
    fn other_lines_hide_nothing(at in any::<prop::sample::Index>(), other in any::<prop::sample::Index>()) {
        let (category, line) = &SENSITIVE[at.index(SENSITIVE.len())];
        let other = HARMLESS[other.index(HARMLESS.len())];
        if *category == Category::Secret {
            let text = format!("{other}\n\n{line}\n\n{other}\n");
            prop_assert!(detect(&text).iter().any(|f| f.category == Category::Secret), "{}", text);
        }
    }
}
