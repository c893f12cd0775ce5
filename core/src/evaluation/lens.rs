//! Answers that are judged: what they must cite, when they must abstain, and whether they say only what stands in
//! their evidence (EVL-12).

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::text::lines;
use super::{Fault, ReadError};
use crate::grounding::Confidence;
use crate::measure::Milli;

/// Characters from the beginning of a chunk by which an answer shows that it used it.
const BEGINNING_CHARS: usize = 80;

/// A question with what a right answer does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// What it is called.
    pub name: String,
    /// What is asked.
    pub query: String,
    /// Files and folders that are taken in before.
    pub paths: Vec<String>,
    /// How far sources are trusted, 0 to 100, by their name.
    pub source_trust: BTreeMap<String, u8>,
    /// Whether there is nothing to answer from.
    pub should_abstain: bool,
    /// Names of sources that must be cited: each is a part of the address or of the title.
    pub must_cite: Vec<String>,
}

/// What was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Given {
    /// The prose.
    pub text: String,
    /// Whether it declined.
    pub abstained: bool,
    /// How sure it is, in thousandths.
    pub confidence: Milli,
    /// The word for that.
    pub band: Confidence,
    /// What it cites.
    pub cited: Vec<Cited>,
}

/// A chunk that an answer cites.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cited {
    /// Its source's address.
    pub uri: String,
    /// Its source's title.
    pub title: String,
    /// Its text.
    pub text: String,
}

/// What an answer did about abstaining.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stance {
    /// It answered what can be answered.
    Answered,
    /// It declined where there is nothing to answer from.
    TrueAbstention,
    /// It declined what can be answered.
    FalseAbstention,
    /// It answered where there is nothing to answer from.
    MissedAbstention,
}

/// What is said of one answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgement {
    /// Whether it was right to answer or to decline.
    pub stance: Stance,
    /// Names that must be cited and are not.
    pub uncited: Vec<String>,
    /// Whether all that it cites is in what it says.
    pub faithful: bool,
}

impl Judgement {
    /// Judges an answer. Faithful is one whose text has the title or the first 80 characters of each chunk that it
    /// cites, white space aside; an answer that cites nothing made it up. Whoever declines says nothing that could be
    /// unfaithful.
    pub fn of(case: &Case, given: &Given) -> Judgement {
        let stance = match (case.should_abstain, given.abstained) {
            (false, false) => Stance::Answered,
            (true, true) => Stance::TrueAbstention,
            (false, true) => Stance::FalseAbstention,
            (true, false) => Stance::MissedAbstention,
        };
        let is_cited = |name: &String| given.cited.iter().any(|c| c.uri.contains(name) || c.title.contains(name));
        let said = spaced(&given.text);
        let is_in = |cited: &Cited| {
            let title = spaced(&cited.title);
            let beginning: String = spaced(&cited.text).chars().take(BEGINNING_CHARS).collect();
            [title, beginning].iter().any(|part| !part.is_empty() && said.contains(part.as_str()))
        };
        Judgement {
            stance,
            uncited: case.must_cite.iter().filter(|name| !is_cited(name)).cloned().collect(),
            faithful: given.abstained || (!given.cited.is_empty() && given.cited.iter().all(is_in)),
        }
    }

    /// Whether nothing is wrong with it.
    pub fn passes(&self) -> bool {
        matches!(self.stance, Stance::Answered | Stance::TrueAbstention) && self.uncited.is_empty() && self.faithful
    }
}

/// The totals over all cases.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Cases.
    pub n: usize,
    /// Cases with nothing wrong.
    pub n_passed: usize,
    /// Rightly declined.
    pub true_abstentions: usize,
    /// Declined although there was an answer.
    pub false_abstentions: usize,
    /// Answered although there was nothing to answer from.
    pub missed_abstentions: usize,
    /// Answers that leave out what must be cited.
    pub citation_failures: usize,
    /// Answers that say what their evidence does not.
    pub faithfulness_failures: usize,
    /// How many answers each word for their confidence was given to.
    pub bands: BTreeMap<&'static str, usize>,
    confidence_sum: u64,
}

impl Totals {
    /// Counts an answer.
    pub fn add(&mut self, given: &Given, judgement: &Judgement) {
        self.n += 1;
        self.n_passed += usize::from(judgement.passes());
        match judgement.stance {
            Stance::Answered => {}
            Stance::TrueAbstention => self.true_abstentions += 1,
            Stance::FalseAbstention => self.false_abstentions += 1,
            Stance::MissedAbstention => self.missed_abstentions += 1,
        }
        self.citation_failures += usize::from(!judgement.uncited.is_empty());
        self.faithfulness_failures += usize::from(!judgement.faithful);
        let band = match given.band {
            Confidence::Unavailable => "unavailable",
            Confidence::Cautious => "cautious",
            Confidence::Grounded => "grounded",
        };
        *self.bands.entry(band).or_default() += 1;
        self.confidence_sum += u64::from(given.confidence.get());
    }

    /// The mean confidence.
    pub fn confidence(&self) -> Milli {
        Milli::from_ratio(self.confidence_sum, (self.n as u64).saturating_mul(1000))
    }
}

/// Reads cases: on each line a JSON object with `name` and `query`, and if wanted `paths`, `source_trust`,
/// `should_abstain` and `must_cite`.
pub fn read_cases(text: &str) -> Result<Vec<Case>, ReadError> {
    let read = |(number, line): (usize, Result<&str, ReadError>)| {
        let of = |fault| ReadError { line: number, fault };
        let object = serde_json::from_str(line?).map_err(|error| of(Fault::Json(error.to_string())))?;
        read_case(&object).map_err(|missing| of(Fault::Missing(missing)))
    };
    lines(text).map(read).collect()
}

fn read_case(object: &Map<String, Value>) -> Result<Case, &'static str> {
    let text = |key: &'static str| object.get(key).and_then(Value::as_str).map(str::to_string).ok_or(key);
    let list = |key: &'static str| match object.get(key) {
        None => Ok(Vec::new()),
        Some(value) => value
            .as_array()
            .and_then(|names| names.iter().map(|name| Some(name.as_str()?.to_string())).collect())
            .ok_or("list of texts where one is wanted"),
    };
    let trust = |(name, value): (&String, &Value)| {
        let trust = value.as_u64().filter(|trust| *trust <= 100).and_then(|trust| u8::try_from(trust).ok());
        Some((name.clone(), trust?))
    };
    let source_trust = match object.get("source_trust") {
        None => BTreeMap::new(),
        Some(value) => value
            .as_object()
            .and_then(|sources| sources.iter().map(trust).collect())
            .ok_or("source_trust from 0 to 100 for each source")?,
    };
    let should_abstain = match object.get("should_abstain") {
        None => false,
        Some(value) => value.as_bool().ok_or("true or false in should_abstain")?,
    };
    Ok(Case {
        name: text("name")?,
        query: text("query")?,
        paths: list("paths")?,
        source_trust,
        should_abstain,
        must_cite: list("must_cite")?,
    })
}

fn spaced(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const CASES: &str = r#"{"name": "flushing", "query": "Which velocity?", "must_cite": ["flushing.md"], "paths": ["a"]}
        {"name": "nothing", "query": "Who won?", "should_abstain": true, "source_trust": {"a": 70}}"#;

    fn given(text: &str, cited: &[(&str, &str)]) -> Given {
        let cited: Vec<Cited> = cited
            .iter()
            .map(|(uri, text)| Cited { uri: (*uri).into(), title: String::new(), text: (*text).into() })
            .collect();
        let confidence = Milli::clamped(if text.is_empty() { 100 } else { 700 });
        let band = if text.is_empty() { Confidence::Unavailable } else { Confidence::Cautious };
        Given { text: text.into(), abstained: text.is_empty(), confidence, band, cited }
    }

    #[test]
    fn answers_are_judged_and_counted() {
        let cases = read_cases(CASES).unwrap();
        let chunk = "A velocity of\n1.5 m/s removes loose deposits from the wall of the pipe, as three trials have shown since.";
        let good = "A velocity of 1.5 m/s removes loose deposits from the wall of the pipe, as three trials [1]";
        let mut totals = Totals::default();
        for (case, given, stance, passes) in [
            (0, given(good, &[("file:flushing.md", chunk)]), Stance::Answered, true),
            // A stub that ignores its context: nothing of the chunk is in what it says.
            (0, given("It depends.", &[("file:flushing.md", chunk)]), Stance::Answered, false),
            (0, given("It depends.", &[]), Stance::Answered, false),
            (0, given(good, &[("file:other.md", chunk)]), Stance::Answered, false),
            (0, given("", &[]), Stance::FalseAbstention, false),
            (1, given("", &[]), Stance::TrueAbstention, true),
            (1, given(good, &[("file:other.md", chunk)]), Stance::MissedAbstention, false),
        ] {
            let judgement = Judgement::of(&cases[case], &given);
            assert_eq!((judgement.stance, judgement.passes()), (stance, passes), "{given:?}");
            totals.add(&given, &judgement);
        }
        assert_eq!((totals.n, totals.n_passed), (7, 2));
        assert_eq!((totals.true_abstentions, totals.false_abstentions, totals.missed_abstentions), (1, 1, 1));
        assert_eq!((totals.citation_failures, totals.faithfulness_failures), (3, 2));
        assert_eq!(totals.confidence().get(), (5 * 700 + 2 * 100) / 7);
        assert_eq!(totals.bands, BTreeMap::from([("cautious", 5), ("unavailable", 2)]));
    }

    #[test]
    fn a_wrong_case_is_named() {
        for (text, error) in [
            ("{\"name\": \"a\"}", "line 1: it has no query"),
            (
                "{\"name\": \"a\", \"query\": \"b\", \"must_cite\": \"c\"}",
                "line 1: it has no list of texts where one is wanted",
            ),
            (
                "{\"name\": \"a\", \"query\": \"b\", \"source_trust\": {\"a\": 101}}",
                "line 1: it has no source_trust from 0 to 100 for each source",
            ),
        ] {
            assert_eq!(read_cases(text).unwrap_err().to_string(), error);
        }
        assert!(matches!(read_cases("x").unwrap_err().fault, Fault::Json(_)));
        assert_eq!(read_cases(CASES).unwrap()[1].source_trust["a"], 70);
    }
}
