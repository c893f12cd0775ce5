//! A claim, taken apart: what it speaks of, what it denies, and its numbers, sorted into amounts, names and dates.

use std::collections::{BTreeMap, BTreeSet};

use super::numbers::{Bound, Quantity, bound_phrase, date, glued_number, is_number};
use super::words;
use crate::retrieval;

/// Longest claim that is compared, in words. A longer text is no claim but a passage.
pub const CLAIM_WORDS_MAX: usize = 128;

/// Most displaced words behind "instead of".
const DISPLACED_MAX: usize = 3;

/// A claim, taken apart.
#[derive(Clone, Debug, Default)]
pub struct Claim {
    /// Content terms, stemmed, synonyms made one.
    pub(super) terms: BTreeMap<String, Mention>,
    /// How many negations it has.
    pub(super) n_negations: usize,
    /// Whether it speaks of some and not of all.
    pub(super) is_partial: bool,
    /// Amounts, in order.
    pub(super) quantities: Vec<Quantity>,
    /// Numbers that only name something: `station 3`, `HR-11`.
    pub(super) names: BTreeSet<String>,
    /// Points in time.
    pub(super) dates: BTreeSet<String>,
}

/// How a term is used.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Mention {
    /// It is the first thing behind a negation.
    pub(super) is_negated: bool,
    /// It stands behind "instead of".
    pub(super) is_displaced: bool,
    /// A content word follows directly.
    pub(super) qualifies: bool,
}

/// A word of the text.
pub(super) struct Word {
    /// Lower case, without punctuation around it.
    pub(super) lower: String,
    /// The term under which it is compared, if it says something of the subject.
    pub(super) term: Option<String>,
    /// Whether punctuation that ends a clause stands behind it.
    pub(super) ends_clause: bool,
}

/// What the words before mean for the word at hand.
#[derive(Default)]
struct Pending {
    negated: bool,
    displaced: usize,
    bound: Option<Bound>,
    rough: bool,
}

impl Claim {
    /// Takes a claim apart. Nothing comes of a text of more than [`CLAIM_WORDS_MAX`] words.
    pub fn parse(text: &str) -> Option<Claim> {
        let words = split(text)?;
        let mut claim = Claim::default();
        let mut pending = Pending::default();
        let mut at = 0;
        while at < words.len() {
            at += claim.take(&words, at, &mut pending);
        }
        Some(claim)
    }

    /// Takes the word at `at`, or a phrase that begins there, and says how many words that were.
    fn take(&mut self, words: &[Word], at: usize, pending: &mut Pending) -> usize {
        let word = words[at].lower.as_str();
        let next = |n: usize| words.get(at + n).map_or("", |w| w.lower.as_str());
        if let Some((bound, n)) = bound_phrase(word, next(1), next(2)).filter(|(_, n)| is_number(next(*n))) {
            pending.bound = Some(bound);
            return n;
        }
        if words::ROUGH.contains(&word) && is_number(next(1)) {
            pending.rough = true;
            return 1;
        }
        if word == "without"
            && let Some((attribute, n)) = self.attribute(words, at)
        {
            self.names.insert(attribute);
            return n;
        }
        if words::is_negator(word) {
            // "Not only", "or not" and "no later than" deny nothing.
            let idle = matches!(next(1), "only" | "just" | "merely" | "later" | "earlier" | "more" | "less" | "fewer")
                || (at > 0 && words[at - 1].lower == "or");
            if !idle {
                self.n_negations += 1;
                pending.negated = true;
            }
            return if next(1) == "longer" { 2 } else { 1 };
        }
        if matches!((word, next(1)), ("instead", "of") | ("rather", "than")) || (word == "place" && next(1) == "of") {
            pending.displaced = DISPLACED_MAX;
            return 2;
        }
        // "Not for some reason": only what stands before a denial narrows what is denied.
        self.is_partial |= self.n_negations == 0 && words::PARTIAL.contains(&word);
        if let Some((date, n)) = date(words, at) {
            self.dates.insert(date);
            return n;
        }
        if let Some((value, unit)) = glued_number(word) {
            return self.take_number(words, at, value, unit, pending);
        }
        if word.chars().any(|c| c.is_ascii_digit()) {
            self.names.insert(word.to_string());
            return 1;
        }
        self.take_term(words, at, pending);
        1
    }

    /// What "without" says of a subject: "households without wells" are others than those with. Behind the verb, at
    /// the end of the claim, it denies something of the whole: "the pump runs without oil".
    fn attribute(&self, words: &[Word], at: usize) -> Option<(String, usize)> {
        let content = |from: usize| words[from..].iter().filter_map(|w| w.term.as_ref());
        let n = words[at..].iter().position(|w| w.term.is_some())? + 1;
        let is_denial = self.terms.len() >= 2 && content(at + n).count() <= 1;
        let of = content(at).next()?;
        (!is_denial).then(|| (format!("without {of}"), n))
    }

    fn take_term(&mut self, words: &[Word], at: usize, pending: &mut Pending) {
        let word = &words[at];
        let next = words.get(at + 1);
        let previous = at.checked_sub(1).map_or("", |before| words[before].lower.as_str());
        let state_of_a_switch = word.lower == "on"
            && words::BEFORE_A_STATE.contains(&previous)
            && next.is_none_or(|next| word.ends_clause || next.lower == "and" || next.lower == "during");
        let Some(term) = word.term.clone().or_else(|| state_of_a_switch.then(|| "on".to_string())) else {
            // "Instead of Express for new services": what follows the preposition is not displaced.
            if pending.displaced < DISPLACED_MAX {
                pending.displaced = 0;
            }
            return;
        };
        let followed = next.is_some_and(|next| !word.ends_clause && next.term.is_some());
        let mention = self.terms.entry(term).or_default();
        mention.is_negated |= std::mem::take(&mut pending.negated);
        mention.is_displaced |= pending.displaced > 0;
        mention.qualifies |= followed;
        pending.displaced = if word.ends_clause { 0 } else { pending.displaced.saturating_sub(1) };
    }

    /// A number is a name behind a label ("pump 7"), else an amount of what follows it.
    fn take_number(&mut self, words: &[Word], at: usize, value: u128, unit: &str, pending: &mut Pending) -> usize {
        let bound = pending.bound.take().unwrap_or(Bound::Exactly);
        let is_rough = std::mem::take(&mut pending.rough);
        let previous = at.checked_sub(1).map_or("", |before| words[before].lower.as_str());
        if unit.is_empty() && words::is_label(&stem(previous)) {
            self.names.insert(format!("{} {}", stem(previous), words[at].lower));
            return 1;
        }
        let mut n = 1;
        let mut value = value;
        let ends = |n: usize| words[at + n - 1].ends_clause;
        if !ends(n)
            && let Some(factor) = words.get(at + n).and_then(|w| words::multiplier(&w.lower))
        {
            value = value.saturating_mul(factor);
            n += 1;
        }
        let follows = words.get(at + n).filter(|_| !ends(n)).and_then(|w| w.term.clone()).unwrap_or_default();
        let unit = if unit.is_empty() { follows } else { words::unit(unit) };
        // What is measured is part of what is spoken of; it is taken as a term when its turn comes.
        if words.get(at + n).is_none_or(|w| w.term.as_ref() != Some(&unit)) && !unit.is_empty() {
            self.terms.entry(unit.clone()).or_default();
        }
        self.quantities.push(Quantity { value, unit, bound, is_rough });
        n
    }
}

/// Words between spaces, hyphens and slashes between letters; nothing if there are too many.
fn split(text: &str) -> Option<Vec<Word>> {
    let mut words = Vec::new();
    for piece in text.split_whitespace() {
        let ends_clause = piece.ends_with([',', ';', '.', ':', '?', '!', ')']);
        let piece = piece.to_lowercase().replace('’', "'");
        // "Non-smokers" are not smokers denied but other people.
        let piece = piece.replace("non-", "non");
        let parts: Vec<&str> = if piece.chars().any(|c| c.is_ascii_digit()) || piece.contains('/') {
            vec![&piece]
        } else {
            piece.split(['-', '–', '—']).collect()
        };
        let keep = |c: char| c.is_alphanumeric() || "%°€$£~".contains(c);
        let trimmed: Vec<&str> =
            parts.iter().map(|part| part.trim_matches(|c| !keep(c))).filter(|p| !p.is_empty()).collect();
        for (i, part) in trimmed.iter().enumerate() {
            let part = part.strip_suffix("'s").unwrap_or(part);
            let ends_clause = ends_clause && i + 1 == trimmed.len();
            words.push(Word { lower: part.to_string(), term: content_term(part), ends_clause });
        }
        if words.len() > CLAIM_WORDS_MAX {
            return None;
        }
    }
    Some(words)
}

/// The stem under which a word is compared.
fn stem(word: &str) -> String {
    let stem = retrieval::words(word).concat();
    words::canonical(&stem).unwrap_or(&stem).to_string()
}

/// The term of a word that says something of the subject.
fn content_term(word: &str) -> Option<String> {
    if word.chars().any(|c| c.is_ascii_digit()) || words::is_negator(word) {
        return None;
    }
    if word == "%" {
        return Some(words::unit(word));
    }
    let stem = stem(word);
    let is_content = !stem.is_empty() && !retrieval::is_stop_word(&stem) && !words::FUNCTION.contains(&word);
    is_content.then_some(stem)
}
