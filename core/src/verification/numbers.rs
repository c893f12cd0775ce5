//! Numbers: amounts with their units and limits, and points in time.

use super::claim::Word;
use super::words;

/// Amounts are held in millionths, so that decimal fractions are exact.
const SCALE: u128 = 1_000_000;

/// An amount.
#[derive(Clone, Debug)]
pub(super) struct Quantity {
    /// Millionths.
    pub(super) value: u128,
    /// Of what.
    pub(super) unit: String,
    /// Whether it is a limit.
    pub(super) bound: Bound,
    /// "About".
    pub(super) is_rough: bool,
}

/// How an amount is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bound {
    Exactly,
    AtLeast,
    AtMost,
}

/// How the amounts of two claims stand to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Numbers {
    /// All are equal, or compatible.
    Agree,
    /// One excludes its counterpart.
    Differ,
    /// Of different kinds, or not as many.
    Incomparable,
}

/// Compares the amounts in their order.
pub(super) fn compare_quantities(a: &[Quantity], b: &[Quantity]) -> Numbers {
    if a.len() != b.len() || a.iter().zip(b).any(|(x, y)| x.unit != y.unit) {
        return Numbers::Incomparable;
    }
    if a.iter().zip(b).any(|(x, y)| excludes(x, y)) { Numbers::Differ } else { Numbers::Agree }
}

/// Whether two amounts of one unit cannot both be meant. Two limits of one kind are two rules, and must be equal; a
/// limit and an amount exclude each other if the amount is beyond the limit.
fn excludes(x: &Quantity, y: &Quantity) -> bool {
    // "About ninety" is not at odds with ninety-two: a tenth is let pass.
    let near = x.is_rough || y.is_rough;
    let tolerance = if near { x.value.max(y.value) / 10 } else { 0 };
    let less = |low: u128, high: u128| high > low && high - low > tolerance;
    match (x.bound, y.bound) {
        (Bound::AtLeast, Bound::AtMost) | (Bound::Exactly, Bound::AtMost) | (Bound::AtLeast, Bound::Exactly) => {
            less(y.value, x.value)
        }
        (Bound::AtMost, Bound::AtLeast) | (Bound::AtMost, Bound::Exactly) | (Bound::Exactly, Bound::AtLeast) => {
            less(x.value, y.value)
        }
        _ => less(x.value, y.value) || less(y.value, x.value),
    }
}

pub(super) fn is_number(word: &str) -> bool {
    glued_number(word).is_some()
}

/// The value of a number, and the unit that is written on to it: `90`, `46,850`, `0.9`, `5mg`, `12%`, `€30`, `two`.
pub(super) fn glued_number(word: &str) -> Option<(u128, &str)> {
    if let Some(value) = words::number_word(word) {
        return Some((value * SCALE, ""));
    }
    let word = word.strip_prefix('~').unwrap_or(word);
    let (currency, rest) = match word.chars().next()? {
        c @ ('€' | '$' | '£') => word.split_at(c.len_utf8()),
        _ => ("", word),
    };
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.' && c != ',').unwrap_or(rest.len());
    let (number, unit) = rest.split_at(end);
    let unit = if unit.is_empty() { currency } else { unit };
    // `7b`, `3rd` and `2031-017` are names, not amounts.
    let is_unit = unit.is_empty() || words::is_unit(unit);
    if !is_unit { None } else { Some((decimal(number)?, unit)) }
}

/// A decimal number in millionths. A comma between groups of three digits is no sign of a fraction.
fn decimal(text: &str) -> Option<u128> {
    let (whole, fraction) = match text.split_once('.') {
        Some((whole, fraction)) => (whole, fraction),
        None => (text, ""),
    };
    let groups: Vec<&str> = whole.split(',').collect();
    let (first, others) = groups.split_first()?;
    if first.is_empty() || others.iter().any(|group| group.len() != 3) || fraction.len() > 6 {
        return None;
    }
    let digits = format!("{}{fraction:0<6}", groups.concat());
    if digits.len() > 30 { None } else { digits.parse().ok() }
}

/// A limit in front of a number, and how many words it has.
pub(super) fn bound_phrase(first: &str, second: &str, third: &str) -> Option<(Bound, usize)> {
    match (first, second, third) {
        ("no" | "not", "less" | "fewer" | "earlier" | "lower", "than") => Some((Bound::AtLeast, 3)),
        ("no" | "not", "more" | "later" | "longer" | "higher", "than") => Some((Bound::AtMost, 3)),
        ("at", "least", _) | ("more", "than", _) | ("minimum", "of", _) | ("longer", "than", _) => {
            Some((Bound::AtLeast, 2))
        }
        ("at", "most", _) | ("up", "to", _) | ("less" | "fewer", "than", _) | ("maximum", "of", _) => {
            Some((Bound::AtMost, 2))
        }
        ("over" | "above" | "exceeding" | "≥" | ">", ..) => Some((Bound::AtLeast, 1)),
        ("under" | "below" | "within" | "≤" | "<", ..) => Some((Bound::AtMost, 1)),
        _ => None,
    }
}

/// A point in time that begins at `at`, and how many words it has: `2031-03-01`, `02:40`, `Monday`, `9 February 2031`,
/// `March 3`, `in 1998`.
pub(super) fn date(words: &[Word], at: usize) -> Option<(String, usize)> {
    let word = words[at].lower.as_str();
    let get = |i: usize| words.get(i).map_or("", |w| w.lower.as_str());
    let is_day = |w: &str| w.parse::<u8>().is_ok_and(|day| (1..=31).contains(&day));
    let is_year = |w: &str| w.len() == 4 && w.parse::<u16>().is_ok_and(|year| (1500..2200).contains(&year));
    let digits_and = |separator: char, parts: usize| {
        word.split(separator).count() == parts
            && word
                .split(separator)
                .all(|part| !part.is_empty() && part.len() <= 4 && part.bytes().all(|b| b.is_ascii_digit()))
    };
    if digits_and('-', 3) || digits_and(':', 2) || digits_and('/', 3) || words::WEEKDAYS.contains(&word) {
        return Some((word.to_string(), 1));
    }
    let year_behind = |n: usize| {
        if is_year(get(at + n)) { (format!(" {}", get(at + n)), n + 1) } else { (String::new(), n) }
    };
    if is_day(word) && words::MONTHS.contains(&get(at + 1)) {
        let (year, n) = year_behind(2);
        return Some((format!("{word} {}{year}", get(at + 1)), n));
    }
    // "May" and "march" are words as well: alone they are months only beside a number.
    if words::MONTHS.contains(&word) {
        if is_day(get(at + 1)) {
            let (year, n) = year_behind(2);
            return Some((format!("{} {word}{year}", get(at + 1)), n));
        }
        if is_year(get(at + 1)) || !matches!(word, "may" | "march") {
            let (year, n) = year_behind(1);
            return Some((format!("{word}{year}"), n));
        }
        return None;
    }
    let previous = at.checked_sub(1).map_or("", get);
    let counted =
        !words[at].ends_clause && get(at + 1).ends_with('s') && words.get(at + 1).is_some_and(|w| w.term.is_some());
    let is_year_here = is_year(word) && words::BEFORE_A_YEAR.contains(&previous) && !counted;
    is_year_here.then(|| (word.to_string(), 1))
}
