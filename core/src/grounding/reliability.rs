//! The reliability report: how much support an answer has, in integers. It says nothing of truth (REL-07).

use serde::{Deserialize, Serialize};

use crate::measure::Milli;
use crate::retrieval::{Query, is_word};

/// Under this an answer is not given (REL-05).
pub const RELIABILITY_MIN: Milli = Milli::from_const(250);

/// Most that one citation adds to the lexical mean (REL-03).
const LEXICAL_MAX: u64 = 200;
/// Most that one citation adds to the provenance mean (REL-03).
const PROVENANCE_MAX: u64 = 150;
/// Trust where none is given (TRU-01).
const TRUST_NEUTRAL: i64 = 50;

/// What one citation brings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Support {
    /// [`lexical_score`] of its chunk.
    pub lexical: u64,
    /// [`provenance_score`] of its chunk.
    pub provenance: u64,
    /// Trust in its source, 0 to 100, where the reader gave one.
    pub trust: Option<u8>,
}

/// The report (REL-01).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reliability {
    /// `answered` or `abstained`.
    pub status: String,
    /// How much support, in thousandths.
    pub confidence: Milli,
    /// Whether that is too little.
    pub abstained: bool,
    /// Why.
    pub reason: String,
    /// Citations.
    pub citation_count: u64,
    /// Distinct sources among them.
    pub source_count: u64,
    /// Mean lexical support.
    pub lexical_support: u64,
    /// Mean provenance support.
    pub provenance_support: u64,
    /// Mean trust.
    pub trust_support: u64,
}

impl Reliability {
    /// The report over some citations from `n_sources` sources (REL-02 to REL-06).
    ///
    /// `percent = lexical/4 + provenance/10 + min(30, 10·citations) + min(20, 5·sources) + (trust − 50)/5`, floored,
    /// clamped to 0..=100; at most 20 without any lexical support.
    pub fn of(supports: &[Support], n_sources: u64, min: Milli) -> Reliability {
        let n = supports.len() as u64;
        let mean = |sum: u64| sum.checked_div(n).unwrap_or(0);
        let lexical = mean(supports.iter().map(|s| s.lexical.min(LEXICAL_MAX)).sum());
        let provenance = mean(supports.iter().map(|s| s.provenance.min(PROVENANCE_MAX)).sum());
        let trust = supports.iter().map(|s| s.trust.map_or(TRUST_NEUTRAL, i64::from)).sum::<i64>();
        let trust = trust.checked_div(n as i64).unwrap_or(TRUST_NEUTRAL);
        let mut percent = (lexical / 4 + provenance / 10 + (10 * n).min(30) + (5 * n_sources).min(20)) as i64
            + (trust - TRUST_NEUTRAL).div_euclid(5);
        if n == 0 {
            percent = 0;
        } else if lexical == 0 {
            percent = percent.min(20);
        }
        let confidence = Milli::clamped(percent.clamp(0, 100) * 10);
        let abstained = n == 0 || confidence < min;
        Reliability {
            status: if abstained { "abstained" } else { "answered" }.to_string(),
            confidence,
            abstained,
            reason: if n == 0 {
                "no cited chunks available".to_string()
            } else if abstained {
                format!("confidence {confidence} below threshold {min}")
            } else {
                "sufficient grounded support".to_string()
            },
            citation_count: n,
            source_count: n_sources,
            lexical_support: lexical,
            provenance_support: provenance,
            trust_support: u64::try_from(trust).unwrap_or(0),
        }
    }
}

/// Lexical support of a chunk (RET-02): 10 for each occurrence of a query term in title or text, 20 for each query
/// term in the title, 40 if the whole query stands in it.
pub fn lexical_score(query: &Query, title: &str, text: &str) -> u64 {
    // The whole query is looked for below; a compound is its words once more.
    let words = |text: &str| -> Vec<u32> {
        let (tf, _) = query.occurrences(text);
        query.terms.iter().zip(tf).filter(|(term, _)| is_word(term)).map(|(_, n)| n).collect()
    };
    let (in_title, in_text) = (words(title), words(text));
    let hits: u64 = in_title.iter().chain(&in_text).map(|n| u64::from(*n)).sum();
    let titled = in_title.iter().filter(|n| **n > 0).count() as u64;
    let phrase = query.text.trim().to_lowercase();
    let whole = !phrase.is_empty() && format!("{title}\n{text}").to_lowercase().contains(&phrase);
    10 * hits + 20 * titled + 40 * u64::from(whole)
}

/// Provenance support of a chunk (RET-05): near evidence counts more, and so does evidence with a longer path.
pub fn provenance_score(distance: u32, path_len: u32) -> u64 {
    100u64.saturating_sub(20 * u64::from(distance)) + 5 * u64::from(path_len)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Vectors of the acceptance map, B5: lexical, provenance, citations, sources, confidence at trust 0, 50 and 100.
    #[test]
    fn confidence_has_the_vectors() {
        for (lexical, provenance, n, sources, expected) in [
            (0, 100, 1, 1, [150, 200, 200]),
            (40, 100, 1, 1, [250, 350, 450]),
            (44, 100, 1, 1, [260, 360, 460]),
            (4, 0, 1, 1, [60, 160, 260]),
            (200, 150, 1, 1, [700, 800, 900]),
            (200, 150, 4, 4, [1000, 1000, 1000]),
            (0, 150, 8, 8, [200, 200, 200]),
        ] {
            for (trust, confidence) in [0, 50, 100].into_iter().zip(expected) {
                let support = Support { lexical, provenance, trust: Some(trust) };
                let report = Reliability::of(&vec![support; n], sources, RELIABILITY_MIN);
                assert_eq!(report.confidence.get(), confidence, "{lexical} {provenance} {n} {sources} at {trust}");
                assert_eq!(report.abstained, confidence < 250);
            }
        }
    }

    #[test]
    fn lexical_support_has_the_vectors() {
        let (title, text) = ("Pulse fabric", "Lens preserves Pulse fabric citations.");
        assert_eq!(lexical_score(&Query::new("Pulse citations"), title, text), 50);
        assert_eq!(lexical_score(&Query::new("pulse fabric"), title, text), 120);
        assert_eq!(lexical_score(&Query::new("Pulse citations"), "Other", "unrelated"), 0);
    }

    #[test]
    fn provenance_falls_with_distance() {
        assert_eq!([0, 1, 5, 6].map(|d| provenance_score(d, 0)), [100, 80, 0, 0]);
    }
}
