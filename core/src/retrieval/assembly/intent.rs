//! What a question is after: one of eight intents, by patterns, words and exemplars; no language model (CTX-02, CTX-03).
//!
//! A pattern that matches gives 2 points, a keyword 1; both are held to word bounds, so "author" is no question of
//! security and "prefix" none of debugging. Where an embedding model is at hand, the intent of the nearest exemplar
//! sentence gets 2 points, if it is near enough: so a paraphrase without any keyword is caught. The intent with most
//! points wins, ties go to the earlier one, and nothing at all is [`Intent::General`].

mod exemplars;
mod patterns;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::knowledge::WordError;
use crate::measure::Milli;

pub use exemplars::EXEMPLARS;

/// Points of a pattern (CTX-02).
pub const PATTERN_POINTS: u16 = 2;
/// Points of a keyword (CTX-02).
pub const KEYWORD_POINTS: u16 = 1;
/// Points of the nearest exemplar; as many as of a pattern, since each says one thing of the whole question.
pub const EXEMPLAR_POINTS: u16 = 2;
/// An exemplar must be at least this near. Below it a small sentence model finds everything near everything.
pub const EXEMPLAR_MIN: Milli = Milli::from_const(500);

/// What a question is after, in the order in which ties are decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "the names are the design's")]
pub enum Intent {
    Debugging,
    Architecture,
    Onboarding,
    Policy,
    HowTo,
    Review,
    Security,
    General,
}

impl Intent {
    /// Every intent, in order.
    pub const ALL: [Intent; 8] = [
        Intent::Debugging,
        Intent::Architecture,
        Intent::Onboarding,
        Intent::Policy,
        Intent::HowTo,
        Intent::Review,
        Intent::Security,
        Intent::General,
    ];

    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Intent::Debugging => "debugging",
            Intent::Architecture => "architecture",
            Intent::Onboarding => "onboarding",
            Intent::Policy => "policy",
            Intent::HowTo => "how-to",
            Intent::Review => "review",
            Intent::Security => "security",
            Intent::General => "general",
        }
    }
}

impl fmt::Display for Intent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Intent {
    type Err = WordError;
    fn from_str(text: &str) -> Result<Intent, WordError> {
        Intent::ALL.into_iter().find(|i| i.as_str() == text).ok_or_else(|| WordError {
            given: text.chars().take(40).collect(),
            expected: "debugging, architecture, onboarding, policy, how-to, review, security, general",
        })
    }
}

/// Why an intent got points.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Clue {
    /// A pattern matched: 2 points.
    Pattern(&'static str),
    /// A keyword stands in it: 1 point.
    Keyword(&'static str),
    /// This sentence is the nearest of all exemplars: 2 points.
    Exemplar(&'static str, Milli),
}

/// The intent of a question, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Detected {
    /// The intent.
    pub intent: Intent,
    /// Its points ÷ the most points that it could have; zero for [`Intent::General`].
    pub confidence: Milli,
    /// The points of every intent, in the order of [`Intent::ALL`].
    pub points: [u16; 8],
    /// What gave them.
    pub clues: Vec<(Intent, Clue)>,
}

/// How near a question is to each of [`EXEMPLARS`], in their order, as the embedding model of the index sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nearness(Vec<Milli>);

/// Similarities that are not one for each exemplar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{given} similarities for {expected} exemplars; embed every sentence of `EXEMPLARS` and compare each")]
pub struct NearnessError {
    given: usize,
    expected: usize,
}

impl Nearness {
    /// One similarity for each exemplar; a negative cosine is zero.
    pub fn new(similarities: Vec<Milli>) -> Result<Nearness, NearnessError> {
        let (given, expected) = (similarities.len(), EXEMPLARS.len());
        if given == expected { Ok(Nearness(similarities)) } else { Err(NearnessError { given, expected }) }
    }

    /// The nearest exemplar; of equally near ones the first.
    fn nearest(&self) -> Option<(Intent, &'static str, Milli)> {
        let mut nearest: Option<(Intent, &'static str, Milli)> = None;
        for ((intent, sentence), similarity) in EXEMPLARS.into_iter().zip(&self.0) {
            if nearest.is_none_or(|(_, _, best)| *similarity > best) {
                nearest = Some((intent, sentence, *similarity));
            }
        }
        nearest
    }
}

/// The intent of a question. Without a model `nearness` is none, and patterns and keywords decide alone.
pub fn detect(question: &str, nearness: Option<&Nearness>) -> Detected {
    let mut clues = patterns::clues(question);
    if let Some((intent, sentence, similarity)) = nearness.and_then(Nearness::nearest)
        && similarity >= EXEMPLAR_MIN
        && intent != Intent::General
    {
        clues.push((intent, Clue::Exemplar(sentence, similarity)));
    }
    let mut points = [0u16; 8];
    for (intent, clue) in &clues {
        points[*intent as usize] += match clue {
            Clue::Pattern(_) => PATTERN_POINTS,
            Clue::Keyword(_) => KEYWORD_POINTS,
            Clue::Exemplar(..) => EXEMPLAR_POINTS,
        };
    }
    let mut intent = Intent::General;
    for candidate in Intent::ALL {
        if points[candidate as usize] > points[intent as usize] {
            intent = candidate;
        }
    }
    let possible = patterns::points_max(intent) + if nearness.is_some() { EXEMPLAR_POINTS } else { 0 };
    let confidence = Milli::from_ratio(points[intent as usize].into(), possible.into());
    Detected { intent, confidence, points, clues }
}

#[cfg(test)]
mod tests;
