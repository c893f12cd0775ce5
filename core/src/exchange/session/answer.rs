//! The answer from exactly what a session holds (BUN-07, GRD-26).

use serde::{Deserialize, Serialize};
use unicode_segmentation::UnicodeSegmentation;

use super::rank::{lexical, terms};
use super::trust::SourceTrust;
use super::{RankedChunk, Session};
use crate::grounding::{RELIABILITY_MIN, Reliability, Support};
use crate::measure::Milli;

/// Longest sentence of an answer, in characters.
pub const SENTENCE_CHARS_MAX: usize = 280;

/// What is said where the evidence does not carry an answer.
const ABSTENTION: &str = "There is not enough evidence here for an answer.";

/// An answer out of a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionAnswer {
    /// A line for each citation: `[k] title: sentence`. Or why there is none.
    pub text: String,
    /// Places of the cited chunks among the ranked ones, from 1. Chunks that share no word with the question are no
    /// citations, however high another part of their score lifts them (D4).
    pub citations: Vec<u64>,
    /// How much support it has.
    pub reliability: Reliability,
}

impl Session {
    /// Answers from the session alone. Its threshold is the standard one, so that everyone who has the document gets
    /// the same answer.
    pub fn answer(&self, trust: Option<&SourceTrust>) -> SessionAnswer {
        self.answer_above(trust, RELIABILITY_MIN)
    }

    /// Answers under a threshold of one's own (REL-05).
    pub fn answer_above(&self, trust: Option<&SourceTrust>, min: Milli) -> SessionAnswer {
        let (words, phrase) = (terms(&self.query), self.query.trim().to_lowercase());
        let cited: Vec<(u64, &RankedChunk, i64)> = (1u64..)
            .zip(&self.ranked_chunks)
            // Recomputed: a document's own number is a claim.
            .map(|(k, r)| (k, r, lexical(&words, &phrase, &r.chunk.title, &r.chunk.text)))
            .filter(|(_, _, lexical)| *lexical > 0)
            .collect();
        let supports: Vec<Support> = cited
            .iter()
            .map(|(_, r, lexical)| Support {
                lexical: u64::try_from(*lexical).unwrap_or(0),
                provenance: u64::try_from(r.provenance_score).unwrap_or(0),
                trust: trust.and_then(|trust| trust.of(&r.chunk.source_id)),
            })
            .collect();
        let mut sources: Vec<&str> = cited.iter().map(|(_, r, _)| r.chunk.source_id.as_str()).collect();
        sources.sort_unstable();
        sources.dedup();
        let reliability = Reliability::of(&supports, sources.len() as u64, min);
        if reliability.abstained {
            return SessionAnswer { text: ABSTENTION.to_string(), citations: Vec::new(), reliability };
        }
        let lines: Vec<String> = cited
            .iter()
            .map(|(k, r, _)| format!("[{k}] {}: {}", r.chunk.title, best_sentence(&words, &r.chunk.text)))
            .collect();
        let citations = cited.iter().map(|(k, ..)| *k).collect();
        SessionAnswer { text: lines.join("\n"), citations, reliability }
    }
}

/// The first of the sentences that hold the most distinct words of the question, cut to its limit.
fn best_sentence(words: &[String], text: &str) -> String {
    let mut best = ("", 0);
    for sentence in text.unicode_sentences().map(str::trim).filter(|s| !s.is_empty()) {
        let has = terms(sentence);
        let mut found: Vec<&String> = words.iter().filter(|w| has.contains(w)).collect();
        found.sort_unstable();
        found.dedup();
        if best.0.is_empty() || found.len() > best.1 {
            best = (sentence, found.len());
        }
    }
    best.0.chars().take(SENTENCE_CHARS_MAX).collect()
}
