//! Finding what must not be open: credentials, and talk of people, of weaknesses and of business.
//!
//! A fixed list of rules, each a regular expression and, where words alone would mislead, a second look at what stands
//! around the match: "SQL injection" is a finding and "dependency injection" is none, and a run of sixteen digits is a
//! payment card only if its check digit holds. The automatic layer **only raises** a class (BDY-08). Text in which
//! nothing is found keeps the class that its source suggested (BDY-07, D15).
//!
//! A false alarm hides a text from somebody who could have had it; a miss shows it to everybody, for ever. So where a
//! secret is in doubt, it is one. Topics are judged the other way round: science and everyday prose must pass.
//!
//! Matching takes time linear in the text: the engine knows no backtracking, and every repetition in a rule is bounded.
//!
//! **Relies on:** being shown the whole text of a source. A chunk may hold one half of a private key.

mod secrets;
mod topics;

use std::cell::LazyCell;
use std::ops::Range;
use std::sync::LazyLock;

use regex::{Captures, Regex, RegexBuilder};

use super::Sensitivity;

/// Most findings that are listed. The class of a text is settled by the first; the list is for the person who asks
/// why, and they have seen enough by then. Rules of a stricter class come first, so the bound never hides one.
pub const FINDINGS_MAX: usize = 64;

/// What kind of sensitive thing was found, the strictest first (BDY-02 to BDY-06).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Category {
    /// Keys, tokens, passwords, connection strings, numbers of cards and accounts.
    Secret,
    /// Pay, reviews, hiring, what was said between four eyes.
    Personnel,
    /// Weaknesses, attacks, what went wrong.
    Security,
    /// Money, plans, what is not yet announced, data of customers.
    Business,
    /// How things are built here.
    Technical,
}

impl Category {
    /// The class below which such a text may not be.
    pub const fn sensitivity(self) -> Sensitivity {
        match self {
            Category::Secret | Category::Personnel => Sensitivity::Confidential,
            Category::Security | Category::Business => Sensitivity::Restricted,
            Category::Technical => Sensitivity::Internal,
        }
    }
}

/// One thing that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What kind.
    pub category: Category,
    /// The rule that found it.
    pub rule: &'static str,
    /// The bytes of the text that hold it. For a credential that is the value without the word before it.
    pub range: Range<usize>,
}

/// Everything that was found, up to `FINDINGS_MAX`, in the order of the text.
pub fn detect(text: &str) -> Vec<Finding> {
    let mut findings: Vec<Finding> = asked(text).flat_map(|rule| rule.find(text)).take(FINDINGS_MAX).collect();
    findings.sort_by_key(|f| (f.range.start, f.range.end, f.category, f.rule));
    findings
}

/// The class of a text: the suggested one, or the stricter one that its contents demand.
pub fn classify(text: &str, suggested: Sensitivity) -> Sensitivity {
    asked(text)
        .map(|rule| (rule, rule.pattern.category.sensitivity()))
        // The rules stand with the strictest class first: the first hit decides, and weaker rules need not be asked.
        .take_while(|(_, class)| *class > suggested)
        .find(|(rule, _)| rule.find(text).next().is_some())
        .map_or(suggested, |(_, class)| class)
}

/// A rule as it is written down.
struct Pattern {
    category: Category,
    name: &'static str,
    /// The first group that took part in the match is the value, else the whole match is. `\b` is between ASCII word
    /// characters and everything else, so that a word is found between letters of scripts without spaces.
    regex: &'static str,
    /// Whether a match counts.
    counts: fn(&Match) -> bool,
}

/// A pattern, compiled.
struct Rule {
    pattern: &'static Pattern,
    regex: Regex,
}

/// A match of a rule, and where it stands.
struct Match<'a> {
    text: &'a str,
    whole: Range<usize>,
    value: Range<usize>,
}

static RULES: LazyLock<Vec<Rule>> = LazyLock::new(|| {
    let patterns = secrets::PATTERNS.iter().chain(topics::PATTERNS);
    let mut rules: Vec<Rule> = patterns.map(Rule::compile).collect();
    rules.sort_by_key(|rule| rule.pattern.category);
    rules
});

/// All topics as one pattern. Most texts have none of them, and one pass says so; each rule alone would go over the whole
/// text, since they begin with too many words to look for. Most secrets begin with signs that are quickly seen to be
/// absent, and all of them in one pattern would be too large to be fast.
static ANY_TOPIC: LazyLock<Regex> = LazyLock::new(|| {
    let topics = RULES.iter().filter(|rule| rule.pattern.category != Category::Secret);
    let alternatives: Vec<String> = topics.map(|rule| format!("(?:{})", rule.regex.as_str())).collect();
    RegexBuilder::new(&alternatives.join("|"))
        .size_limit(ANY_TOPIC_BYTES_MAX)
        .build()
        .expect("the patterns are constants, and a test compiles them")
});

/// Most bytes of the compiled pattern of all topics.
const ANY_TOPIC_BYTES_MAX: usize = 64 << 20;

/// The rules that can match the text.
fn asked(text: &str) -> impl Iterator<Item = &'static Rule> {
    let has_topic = LazyCell::new(|| ANY_TOPIC.is_match(text));
    RULES.iter().filter(move |rule| rule.pattern.category == Category::Secret || *has_topic)
}

impl Rule {
    fn compile(pattern: &'static Pattern) -> Rule {
        let regex = pattern.regex.replace(r"\b", r"(?-u:\b)");
        Rule { pattern, regex: Regex::new(&regex).expect("the patterns are constants, and a test compiles them") }
    }

    fn find<'a>(&'a self, text: &'a str) -> impl Iterator<Item = Finding> + 'a {
        self.regex
            .captures_iter(text)
            .map(move |captures| Match::new(text, &captures))
            .filter(self.pattern.counts)
            .map(|m| Finding { category: self.pattern.category, rule: self.pattern.name, range: m.value })
    }
}

impl<'a> Match<'a> {
    fn new(text: &'a str, captures: &Captures<'_>) -> Match<'a> {
        let whole = captures.get_match().range();
        let value = captures.iter().skip(1).flatten().next().map_or(whole.clone(), |group| group.range());
        Match { text, whole, value }
    }

    fn whole(&self) -> &'a str {
        &self.text[self.whole.clone()]
    }

    fn value(&self) -> &'a str {
        &self.text[self.value.clone()]
    }

    /// Up to `n` bytes before the match, in lower case.
    fn before(&self, n: usize) -> String {
        let mut from = self.whole.start.saturating_sub(n);
        while !self.text.is_char_boundary(from) {
            from += 1;
        }
        self.text[from..self.whole.start].to_lowercase()
    }

    /// Up to `n` bytes behind the match, in lower case.
    fn after(&self, n: usize) -> String {
        let mut to = self.whole.end.saturating_add(n).min(self.text.len());
        while !self.text.is_char_boundary(to) {
            to -= 1;
        }
        self.text[self.whole.end..to].to_lowercase()
    }

    /// Whether any of these stands within `n` bytes of the match, at the beginning of a word.
    fn is_near(&self, n: usize, stems: &[&str]) -> bool {
        let around = format!("{} {}", self.before(n), self.after(n));
        let mut words = around.split(|c: char| !c.is_alphanumeric());
        words.any(|word| stems.iter().any(|stem| word.starts_with(stem)))
    }
}

fn always(_: &Match) -> bool {
    true
}

#[cfg(test)]
mod tests;
