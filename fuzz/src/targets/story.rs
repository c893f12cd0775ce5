//! A question and texts, composed into an answer, sealed and verified: what we seal from any evidence, others accept.

use plumb_core::boundary::strictest;
use plumb_core::exchange::Verdict;

use super::bundle::{holds, verified};
use super::{Shape, Target};
use crate::seeds::{SEALED_AT, Story, sealed, stories};

pub(super) const TARGET: Target = Target {
    name: "story",
    run,
    seeds: || stories().iter().map(bytes_of).collect(),
    input_bytes_max: 4 * 1024,
    shape: Shape::Bytes,
};

/// Between the question and the texts: the record separator of ASCII.
const CUT: char = '\u{1e}';

/// Most texts of one story.
const TEXTS_MAX: usize = 6;

fn bytes_of(story: &Story) -> Vec<u8> {
    let parts: Vec<&str> = std::iter::once(&story.question).chain(&story.texts).map(String::as_str).collect();
    parts.join(&CUT.to_string()).into_bytes()
}

fn run(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let mut parts = text.split(CUT);
    let question = parts.next().unwrap_or_default().to_string();
    // Two sources of one text would be one chunk with two names; a node keeps it once.
    let mut texts: Vec<String> = parts.take(TEXTS_MAX).map(str::to_string).collect();
    texts.sort();
    texts.dedup();
    let story = Story { question, texts };

    let (answer, bundle) = sealed(&story);
    for claim in &answer.claims {
        assert!(story.texts.iter().any(|text| text.contains(&claim.text)), "a claim stands in no text");
        assert!(!claim.citations.is_empty(), "a claim has no citation");
    }
    for citation in &answer.citations {
        let (start, end) = (citation.start as usize, citation.end as usize);
        assert!(story.texts.iter().any(|text| text.get(start..end).is_some()), "a citation is outside of every text");
    }
    let car = bundle.to_car();
    let verified = verified(&car, SEALED_AT).unwrap_or_else(|error| panic!("what we sealed is refused: {error}"));
    holds(&car, &verified);
    assert_eq!(verified.answer, answer);
    assert!(matches!(verified.verdict, Verdict::Current { .. }));
    assert_eq!(answer.sensitivity.max(verified.bundle.sensitivity), verified.bundle.sensitivity);
    assert_eq!(verified.bundle.sensitivity, strictest(verified.bundle.evidence.iter().map(|cited| cited.sensitivity)));
}
