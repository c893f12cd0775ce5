//! Whether two claims contradict each other: polarity first, then numbers and dates.
//!
//! Two sentences that a similarity measure takes for near duplicates may say opposite things ("use Redis", "never use
//! Redis"), so this question is asked before any merging (CFL-08, D5). The answer is made of words alone: no model, no
//! threshold of a vector space, the same on every machine.
//!
//! A conflict that is shown wrongly costs trust in all that are shown rightly, so these rules ask for much: the claims
//! must speak of the same things, neither may put another word where the other has one, and numbers that only *name*
//! something (station 3), dates and places must agree. A paraphrase is therefore not compared; it is no conflict and
//! no agreement either. The word lists are English; numbers are compared in any language that writes spaces.
//!
//! **Invariant:** `conflict(a, b) == conflict(b, a)`, and nothing conflicts with itself.

mod claim;
mod numbers;
mod words;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::measure::Milli;
use numbers::{Numbers, compare_quantities};
use words::Opposition;

pub use claim::{CLAIM_WORDS_MAX, Claim};

/// Least share of the terms of both claims that they must have in common. Below it the longer one says too much else.
pub const ALIGNMENT_MIN_MILLI: u16 = 500;

/// How two claims stand against each other (CON-02).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Relation {
    /// One says what the other denies.
    DirectContradiction,
    /// They give different points in time for what happens once.
    TemporalConflict,
    /// They give different amounts of the same. A length of time is an amount.
    StatisticalConflict,
}

/// By what a conflict was recognised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// "must" and "must not".
    Negation,
    /// "open" and "closed".
    Antonym,
    /// "use A" and "use B instead of A".
    Replacement,
    /// "90 days" and "30 days".
    Number,
    /// "opened in 1998" and "opened in 2003".
    Date,
}

/// Two claims that cannot both be true. Which is, is not for this room to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conflict {
    /// How they stand against each other.
    pub relation: Relation,
    /// By what that was recognised.
    pub cause: Cause,
    /// The share of their terms that they have in common.
    pub alignment: Milli,
}

/// The conflict between two claims, if there is one. A claim is a sentence; of more than [`CLAIM_WORDS_MAX`] words
/// nothing is said.
pub fn conflict(a: &str, b: &str) -> Option<Conflict> {
    Claim::parse(a)?.conflict_with(&Claim::parse(b)?)
}

impl Claim {
    /// The conflict with another claim, if there is one. For whoever compares one claim with many.
    pub fn conflict_with(&self, other: &Claim) -> Option<Conflict> {
        let (relation, cause) = recognise(self, other)?;
        Some(Conflict { relation, cause, alignment: alignment(self, other) })
    }
}

/// The rules in their order: polarity first.
fn recognise(a: &Claim, b: &Claim) -> Option<(Relation, Cause)> {
    if a.names != b.names {
        return None;
    }
    let numbers = compare_quantities(&a.quantities, &b.quantities);
    let same_moment = a.dates == b.dates;
    if same_moment && numbers == Numbers::Agree {
        if is_negated(a, b) {
            return Some((Relation::DirectContradiction, Cause::Negation));
        }
        if is_opposite(a, b) {
            return Some((Relation::DirectContradiction, Cause::Antonym));
        }
        if is_replaced(a, b) || is_replaced(b, a) {
            return Some((Relation::DirectContradiction, Cause::Replacement));
        }
    }
    if !has_same_polarity(a, b) || !is_same_matter(a, b) {
        return None;
    }
    if same_moment && numbers == Numbers::Differ {
        return Some((Relation::StatisticalConflict, Cause::Number));
    }
    // What is measured every day is measured on many days; what opens, opens once.
    let happens_once = a.terms.keys().any(|term| b.terms.contains_key(term) && words::happens_once(term));
    let other_moment = !same_moment && a.dates.len() == b.dates.len();
    (other_moment && numbers == Numbers::Agree && happens_once).then_some((Relation::TemporalConflict, Cause::Date))
}

/// Whether both affirm or both deny. Two denials in one claim cancel each other.
fn has_same_polarity(a: &Claim, b: &Claim) -> bool {
    a.n_negations % 2 == b.n_negations % 2
}

/// Terms of `a` that `b` has not.
fn only_in<'a>(a: &'a Claim, b: &Claim) -> BTreeSet<&'a str> {
    a.terms.keys().filter(|term| !b.terms.contains_key(*term)).map(String::as_str).collect()
}

fn n_shared(a: &Claim, b: &Claim) -> usize {
    a.terms.keys().filter(|term| b.terms.contains_key(*term)).count()
}

/// The share of terms in common (Jaccard).
fn alignment(a: &Claim, b: &Claim) -> Milli {
    let shared = n_shared(a, b);
    Milli::from_ratio(shared as u64, (a.terms.len() + b.terms.len() - shared) as u64)
}

/// Whether both speak of the same: at least two terms in common, and only one of them says more than the other. Where
/// each has a word that the other has not, one stands in the place of the other, and it may well be another thing.
fn is_same_matter(a: &Claim, b: &Claim) -> bool {
    let one_sided = only_in(a, b).is_empty() || only_in(b, a).is_empty();
    one_sided && n_shared(a, b) >= 2 && alignment(a, b).get() >= ALIGNMENT_MIN_MILLI
}

/// Whether exactly one of them denies something that the other says.
fn is_negated(a: &Claim, b: &Claim) -> bool {
    // "Some valves leak" and "some valves do not leak" are both true.
    if has_same_polarity(a, b) || (a.is_partial && b.is_partial) {
        return false;
    }
    let denied = a.terms.iter().any(|(term, here)| {
        b.terms
            .get(term)
            .is_some_and(|there| here.is_negated != there.is_negated && !here.is_displaced && !there.is_displaced)
    });
    denied && is_same_matter(a, b)
}

/// Whether they differ in one word each, and these are opposites.
fn is_opposite(a: &Claim, b: &Claim) -> bool {
    if !has_same_polarity(a, b) {
        return false;
    }
    let (mut left, mut right) = (only_in(a, b), only_in(b, a));
    // Most claims differ in more words than one; then it does not matter whether any are opposites.
    if left.len() > 1 && right.len() > 1 {
        return false;
    }
    let pairs = left.iter().flat_map(|x| right.iter().map(move |y| (*x, *y)));
    let opposed: Vec<(&str, &str, Opposition)> =
        pairs.filter_map(|(x, y)| words::opposition(x, y).map(|opposition| (x, y, opposition))).collect();
    let [(x, y, opposition)] = opposed[..] else {
        return false;
    };
    // "The old pump", "the new pump": a quality before its noun says which one is meant.
    if opposition == Opposition::Quality && (a.terms[x].qualifies || b.terms[y].qualifies) {
        return false;
    }
    left.remove(x);
    right.remove(y);
    let n_rest = left.len() + right.len();
    let shared = n_shared(a, b);
    (left.is_empty() || right.is_empty())
        && (shared >= 2 || (shared == 1 && n_rest == 0))
        && Milli::from_ratio(shared as u64, (shared + n_rest) as u64).get() >= ALIGNMENT_MIN_MILLI
}

/// Whether `b` puts something else in the place of what `a` asks for: `a` has everything that `b` displaces, and
/// something of what `b` says about it.
fn is_replaced(a: &Claim, b: &Claim) -> bool {
    let displaced: Vec<&String> = b.terms.iter().filter(|(_, m)| m.is_displaced).map(|(term, _)| term).collect();
    let affirmed = |term: &String| a.terms.get(term).is_some_and(|m| !m.is_displaced && !m.is_negated);
    let about_it = b.terms.iter().filter(|(term, m)| !m.is_displaced && a.terms.contains_key(*term)).count();
    !displaced.is_empty()
        && displaced.iter().all(|term| affirmed(term))
        && about_it >= 1
        && has_same_polarity(a, b)
        && only_in(a, b).len() <= n_shared(a, b)
}

#[cfg(test)]
mod tests;
