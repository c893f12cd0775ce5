//! Stems by script: of the word alone, never of what stands around it.
//!
//! A stem that followed from the language of a text would make the same word two terms, and a short question has no
//! language that could be told. `docs/decisions/0011-terms.md` has the numbers.

use std::borrow::Cow;
use std::cell::RefCell;

use rust_stemmers::{Algorithm, Stemmer};

/// Longest word whose stem is remembered; few are longer.
const REMEMBERED_BYTES_MAX: usize = 15;
/// Words whose stems are remembered by a thread: 128 KiB, in which the words of a language that occur again and again have
/// their place. Two that share one displace each other.
const SLOTS: usize = 4096;

thread_local! {
    /// Stemming is most of what cutting a text costs, and texts repeat their words.
    static REMEMBERED: RefCell<Vec<Remembered>> = const { RefCell::new(Vec::new()) };
}

/// A word and its stem, both ASCII.
#[derive(Clone, Copy, Default)]
pub(super) struct Remembered {
    word: [u8; REMEMBERED_BYTES_MAX],
    word_len: u8,
    stem: [u8; REMEMBERED_BYTES_MAX],
    stem_len: u8,
}

/// A stem, wherever it lies.
pub(super) enum Stem<'a> {
    Written(Cow<'a, str>),
    Remembered(Remembered),
}

impl Stem<'_> {
    pub(super) fn as_str(&self) -> &str {
        match self {
            Stem::Written(stem) => stem,
            Stem::Remembered(slot) => {
                std::str::from_utf8(&slot.stem[..usize::from(slot.stem_len)]).expect("what is remembered is ASCII")
            }
        }
    }
}

/// The stem of a folded word. A word with a digit in it is a name or a number and stays as it is.
pub(super) fn stem(word: Cow<'_, str>) -> Stem<'_> {
    match algorithm_of(&word) {
        None => Stem::Written(word),
        Some(Algorithm::English) if word.len() <= REMEMBERED_BYTES_MAX => remembered(word),
        Some(algorithm) => Stem::Written(stemmed(algorithm, &word).into()),
    }
}

fn remembered(word: Cow<'_, str>) -> Stem<'_> {
    // FNV-1a.
    let hash = word.bytes().fold(0x811c_9dc5_u32, |hash, b| (hash ^ u32::from(b)).wrapping_mul(0x0100_0193));
    let at = (hash ^ (hash >> 16)) as usize % SLOTS;
    let known = REMEMBERED.with_borrow(|slots| slots.get(at).copied());
    if let Some(known) = known
        && known.word[..usize::from(known.word_len)] == *word.as_bytes()
    {
        return Stem::Remembered(known);
    }
    let stem = stemmed(Algorithm::English, &word);
    let mut slot = Remembered::default();
    if let (Ok(word_len), Ok(stem_len)) = (u8::try_from(word.len()), u8::try_from(stem.len()))
        && stem.len() <= REMEMBERED_BYTES_MAX
        && stem.is_ascii()
    {
        slot.word[..word.len()].copy_from_slice(word.as_bytes());
        slot.stem[..stem.len()].copy_from_slice(stem.as_bytes());
        (slot.word_len, slot.stem_len) = (word_len, stem_len);
        REMEMBERED.with_borrow_mut(|slots| {
            slots.resize(SLOTS, Remembered::default());
            slots[at] = slot;
        });
    }
    Stem::Written(stem.into())
}

fn stemmed(algorithm: Algorithm, word: &str) -> String {
    let stem = Stemmer::create(algorithm).stem(word).into_owned();
    if stem.is_empty() { word.to_string() } else { stem }
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Whatever was remembered before, in this place or another.
        #[test]
        fn what_is_remembered_is_the_stem(words in proptest::collection::vec("[a-z]{1,3}(ing|ed|ies|ness)?|[a-z']{1,20}", 1..200)) {
            for word in words.iter().chain(&words) {
                let given = stem(word.into());
                prop_assert_eq!(given.as_str(), stemmed(Algorithm::English, word));
            }
        }
    }
}
