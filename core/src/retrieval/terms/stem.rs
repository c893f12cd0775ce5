//! Stems by script: of the word alone, never of what stands around it.
//!
//! A stem that followed from the language of a text would make the same word two terms, and a short question has no
//! language that could be told. `docs/decisions/0011-terms.md` has the numbers.

use std::borrow::Cow;

use rust_stemmers::{Algorithm, Stemmer};

/// The stem of a folded word. A word with a digit in it is a name or a number and stays as it is.
pub(super) fn stem(word: Cow<'_, str>) -> String {
    let Some(algorithm) = algorithm_of(&word) else { return word.into_owned() };
    let stem = Stemmer::create(algorithm).stem(&word).into_owned();
    if stem.is_empty() { word.into_owned() } else { stem }
}

fn algorithm_of(word: &str) -> Option<Algorithm> {
    if word.is_ascii() {
        return (!word.bytes().any(|b| b.is_ascii_digit())).then_some(Algorithm::English);
    }
    match word.chars().next()? {
        '\u{370}'..='\u{3ff}' => Some(Algorithm::Greek),
        '\u{400}'..='\u{52f}' => Some(Algorithm::Russian),
        '\u{600}'..='\u{6ff}' => Some(Algorithm::Arabic),
        '\u{b80}'..='\u{bff}' => Some(Algorithm::Tamil),
        _ => None,
    }
}
