//! Text into terms: words by Unicode segmentation (UAX #29), lower case, English stems (Porter2).
//!
//! Ideographs are words of their own, so unspaced scripts can be found. Every node must cut alike: a change here is a
//! new index version.

use rust_stemmers::{Algorithm, Stemmer};
use unicode_segmentation::UnicodeSegmentation;

/// Longest term in bytes; a longer word is cut there, so that a hostile text cannot fill the dictionary.
pub const TERM_BYTES_MAX: usize = 200;

/// Words that say nothing of a subject. The first 29 are the design's count (RET-17); the list is in stemmed form,
/// and the words with which questions begin are among them.
pub const STOP_WORDS: [&str; 54] = [
    "a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "from", "if", "in", "into", "is", "it", "of", "on",
    "or", "such", "that", "the", "their", "there", "these", "this", "to", "was", "with", // 29
    "about", "can", "could", "did", "do", "doe", "had", "has", "have", "how", "i", "its", "may", "must", "should",
    "were", "what", "when", "where", "which", "who", "whose", "whi", "will", "would",
];

/// Whether a term (stemmed, as [`terms`] gives it) is on the stop list.
pub fn is_stop_word(term: &str) -> bool {
    STOP_WORDS.contains(&term)
}

/// The terms of a text, in order.
pub fn terms(text: &str) -> Vec<String> {
    let stemmer = Stemmer::create(Algorithm::English);
    let mut out = Vec::new();
    // UAX #29 joins letters around a colon or an underscore; in names such as `acl:public` they part words.
    for word in text.unicode_words().flat_map(|w| w.split([':', '_'])).filter(|w| !w.is_empty()) {
        let lower = word.to_lowercase();
        let stem = if lower.is_ascii() { stemmer.stem(&lower).into_owned() } else { lower };
        out.push(truncated(stem));
    }
    out
}

fn truncated(mut term: String) -> String {
    if term.len() > TERM_BYTES_MAX {
        let mut at = TERM_BYTES_MAX;
        while !term.is_char_boundary(at) {
            at -= 1;
        }
        term.truncate(at);
    }
    term
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn words_of_any_script_become_terms() {
        assert_eq!(terms("The valves were CLOSED, twice."), ["the", "valv", "were", "close", "twice"]);
        assert_eq!(terms("経営者"), ["経", "営", "者"]);
        assert_eq!(terms("מים חיים"), ["מים", "חיים"]);
        assert_eq!(terms("pH 7.4 at 20°C"), ["ph", "7.4", "at", "20", "c"]);
    }

    #[test]
    fn every_stop_word_is_what_the_stemmer_makes_of_it() {
        for word in STOP_WORDS {
            assert!(terms(word).iter().all(|t| is_stop_word(t)), "{word} becomes {:?}", terms(word));
        }
        assert!(["does", "why"].iter().all(|w| is_stop_word(&terms(w)[0])));
    }

    #[test]
    fn a_word_without_end_is_cut() {
        assert_eq!(terms(&"å".repeat(1000))[0].len(), TERM_BYTES_MAX);
    }

    proptest! {
        #[test]
        fn terms_are_never_empty_nor_too_long(text in "\\PC{0,400}") {
            prop_assert!(terms(&text).iter().all(|t| !t.is_empty() && t.len() <= TERM_BYTES_MAX));
        }
    }
}
