//! The pattern families (CTX-03), each held to word bounds.

use std::sync::LazyLock;

use regex::RegexSet;

use super::{Clue, Intent, KEYWORD_POINTS, PATTERN_POINTS};

use Intent::{Architecture, Debugging, HowTo, Onboarding, Policy, Review, Security};

/// A pattern: its intent, its name in an explanation, and what matches between two word bounds.
type Pattern = (Intent, &'static str, &'static str);

const PATTERNS: [Pattern; 18] = [
    (
        Debugging,
        "a fault",
        "errors?|bugs?|fix(?:es|ed|ing)?|crash(?:es|ed|ing)?|fail(?:s|ed|ing|ures?)?|broken|throw(?:s|n|ing)?|threw\
         |exceptions?|time-?outs?|tim(?:es|ed|ing) out|issues?",
    ),
    (Debugging, "why does, is, did", "why (?:do|does|is|are|did)(?:n['’]t)?"),
    (
        Architecture,
        "a design",
        "architect(?:s|ures?|ural)?|design(?:s|ed|ing)?|patterns?|structur(?:es?|ed|ing|al)|approach(?:es)?",
    ),
    (Architecture, "should we use, adopt, switch", "should we (?:use|adopt|switch)"),
    (Onboarding, "how does", "how does"),
    (Onboarding, "explain, overview", "explain(?:s|ed)?|overview|getting started"),
    (Onboarding, "what is", "what (?:is|are)"),
    (Policy, "a policy", "polic(?:y|ies)|complian(?:ce|t)|regulat(?:ions?|ory)"),
    (Policy, "a standard, rule, requirement", "standards?|rules?|requirements?"),
    (HowTo, "how do, can, should I", "how (?:do|can|should) (?:i|we)"),
    (HowTo, "how to", "how to"),
    (HowTo, "steps to, for", "steps (?:to|for)"),
    (HowTo, "what's the command, way, process", "what(?:['’]s| is) the (?:command|way|process)"),
    (Review, "a review", "review(?:s|ed|ing|ers?)?|feedback"),
    (Review, "quality", "improv(?:es?|ed|ing|ements?)|quality|best practices?"),
    (Security, "security", "security|vulnerab(?:le|ility|ilities)|exploit(?:s|ed|ing|able)?|attack(?:s|ed|ing|ers?)?"),
    (Security, "auth", "auth(?:n|z|enticat(?:es?|ed|ing|ion)|ori[sz](?:es?|ed|ing|ation))?"),
    (Security, "cve, injection, xss", "cves?|injections?|xss"),
];

/// Keywords are the words of a family that hardly mean anything else; words such as "rule" or "way" are in patterns
/// only, so that they do not outweigh the question that they stand in.
const KEYWORDS: [Pattern; 28] = [
    (Debugging, "error", "errors?"),
    (Debugging, "bug", "bugs?"),
    (Debugging, "fix", "fix(?:es|ed|ing)?"),
    (Debugging, "crash", "crash(?:es|ed|ing)?"),
    (Debugging, "fail", "fail(?:s|ed|ing|ures?)?"),
    (Debugging, "broken", "broken"),
    (Debugging, "exception", "exceptions?"),
    (Debugging, "timeout", "time-?outs?"),
    (Architecture, "architecture", "architect(?:s|ures?|ural)?"),
    (Architecture, "design", "design(?:s|ed|ing)?"),
    (Architecture, "structure", "structures?"),
    (Onboarding, "explain", "explain(?:s|ed)?"),
    (Onboarding, "overview", "overview"),
    (Onboarding, "getting started", "getting started"),
    (Policy, "policy", "polic(?:y|ies)"),
    (Policy, "compliance", "complian(?:ce|t)"),
    (Policy, "regulation", "regulations?"),
    (HowTo, "how to", "how to"),
    (HowTo, "steps", "steps"),
    (HowTo, "command", "commands?"),
    (Review, "review", "review(?:s|ed|ing)?"),
    (Review, "feedback", "feedback"),
    (Review, "improve", "improve"),
    (Security, "security", "security"),
    (Security, "vulnerability", "vulnerab(?:le|ility|ilities)"),
    (Security, "exploit", "exploits?"),
    (Security, "attack", "attacks?"),
    (Security, "injection", "injections?"),
];

/// All of them, patterns first. It matches in time linear in the question, whatever the question is.
static SET: LazyLock<RegexSet> = LazyLock::new(|| {
    let bounded = |(_, _, words): &Pattern| format!(r"(?i)\b(?:{})\b", words.replace(' ', r"\s+"));
    RegexSet::new(PATTERNS.iter().chain(&KEYWORDS).map(bounded)).expect("the tables hold valid patterns")
});

/// What of the tables a question has, patterns first.
pub(super) fn clues(question: &str) -> Vec<(Intent, Clue)> {
    let clue = |at: usize| match PATTERNS.get(at) {
        Some((intent, name, _)) => (*intent, Clue::Pattern(name)),
        None => (KEYWORDS[at - PATTERNS.len()].0, Clue::Keyword(KEYWORDS[at - PATTERNS.len()].1)),
    };
    SET.matches(question).iter().map(clue).collect()
}

/// The most points that the tables can give an intent.
pub(super) fn points_max(intent: Intent) -> u16 {
    let of = |table: &[Pattern], points: u16| table.iter().filter(|p| p.0 == intent).map(|_| points).sum::<u16>();
    of(&PATTERNS, PATTERN_POINTS) + of(&KEYWORDS, KEYWORD_POINTS)
}
