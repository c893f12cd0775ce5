//! A text cut into words, with what else each of them can be found by.

use std::borrow::Cow;

use sha2::{Digest, Sha256};
use unicode_segmentation::UnicodeSegmentation;

use super::fold::{letters, lower};
use super::stem::stem;
use super::{COMPOUND, TERM_BYTES_MAX, compound};

/// Between two fields of a text, where no phrase goes across.
pub(in crate::retrieval) const FIELD_BREAK: char = '\u{1e}';

/// What a term is of the text in which it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::retrieval) enum Kind {
    /// A word: it counts, and phrases are made of these.
    Word,
    /// A word that is the one before it, or several of them, in another form. It counts, and no phrase sees it.
    Also,
    /// A compound of words that were given: it does not count.
    Compound,
    /// The end of a field; the term is empty and is none.
    Break,
}

/// A CamelCase word with more bytes than this is a code, and its case says nothing.
const CAMEL_BYTES_MAX: usize = 48;
/// Most letters of a unit behind a number.
const UNIT_LETTERS_MAX: usize = 4;

/// Gives every term of the text to `give`, in order.
pub(in crate::retrieval) fn cut(text: &str, give: &mut dyn FnMut(Kind, &str)) {
    for (i, field) in text.split(FIELD_BREAK).enumerate() {
        if i > 0 {
            give(Kind::Break, "");
        }
        for token in letters(field).split(|c: char| c.is_whitespace() || c == '\u{200b}') {
            self::token(token, give);
        }
    }
}

/// What French and Italian write on to the next word.
const ARTICLES: [&str; 9] = ["l", "d", "j", "m", "n", "s", "t", "c", "qu"];

/// What stands between two spaces.
fn token(token: &str, give: &mut dyn FnMut(Kind, &str)) {
    if !token.is_ascii() {
        return runs(token, give);
    }
    // The most frequent case by far: letters, with signs before or behind them. UAX #29 parts them, and it is no compound.
    let word = token.trim_matches(|c: char| !c.is_ascii_alphanumeric());
    match word.bytes().all(|b| b.is_ascii_alphabetic()) {
        true if word.is_empty() => {}
        true => camel(word, give),
        false => runs(token, give),
    }
}

/// A token as runs of scripts with and without spaces.
fn runs(token: &str, give: &mut dyn FnMut(Kind, &str)) {
    let mut rest = token;
    while let Some(first) = rest.chars().next() {
        let unspaced = is_unspaced(first);
        let end = rest.find(|c| is_unspaced(c) != unspaced && !(unspaced && is_extending(c))).unwrap_or(rest.len());
        let (run, after) = rest.split_at(end);
        rest = after;
        if unspaced {
            characters(run, give);
        } else {
            words(run, give);
        }
    }
}

/// Scripts that put no spaces between words.
fn is_unspaced(c: char) -> bool {
    matches!(c,
        '\u{e00}'..='\u{e4e}' | '\u{e80}'..='\u{ecf}' | '\u{edc}'..='\u{eff}' | '\u{1000}'..='\u{103f}' // Thai, Lao, Myanmar
        | '\u{1050}'..='\u{108f}' | '\u{1780}'..='\u{17df}' | '\u{3005}'..='\u{3007}' // Khmer, signs that repeat
        | '\u{3041}'..='\u{3096}' | '\u{309d}'..='\u{309f}' | '\u{30a1}'..='\u{30fa}' | '\u{30fc}'..='\u{30ff}' // kana
        | '\u{31f0}'..='\u{31ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' // Han
        | '\u{20000}'..='\u{3ffff}')
}

fn is_extending(c: char) -> bool {
    matches!(c, '\u{3099}' | '\u{309a}') || unicode_normalization::char::is_combining_mark(c)
}

/// Each character of an unspaced run is a word, and two that follow each other are a compound: so 経営者 is found
/// inside a sentence, and before what merely has the same characters.
fn characters(run: &str, give: &mut dyn FnMut(Kind, &str)) {
    let mut before: Option<&str> = None;
    for character in run.graphemes(true).filter(|g| g.chars().any(char::is_alphanumeric)) {
        give(Kind::Word, &bounded(&lower(character)));
        if let Some(before) = before {
            give_compound(&format!("{before}{character}"), give);
        }
        before = Some(character);
    }
}

/// The words of a run without spaces, and then what they are compounds of.
fn words(run: &str, give: &mut dyn FnMut(Kind, &str)) {
    // UAX #29 joins letters around a colon or an underscore; in names such as `acl:public` they part words.
    for word in run.unicode_words().flat_map(|w| w.split([':', '_'])).filter(|w| !w.is_empty()) {
        self::word(word, give);
    }
    compound::compounds(run, &mut |name| give_compound(name, give));
}

fn word(word: &str, give: &mut dyn FnMut(Kind, &str)) {
    if word.bytes().all(|b| b.is_ascii_alphabetic()) {
        return camel(word, give);
    }
    let version = word.strip_prefix(['v', 'V']).filter(|rest| rest.contains('.')).unwrap_or(word);
    if version.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'.' | b',' | b';' | b'\'')) {
        return number(version, give);
    }
    if let Some((number, unit)) = measured(word) {
        self::number(number, give);
        plain(unit, Kind::Word, give);
        return give_compound(word, give);
    }
    if word.contains('.') {
        let parts = || word.split('.').filter(|part| !part.is_empty());
        return match parts().all(|part| part.chars().nth(1).is_none()) {
            // U.S. and e.g. are written without the points too.
            true => plain(&parts().collect::<String>(), Kind::Word, give),
            false => parts().for_each(|part| self::word(part, give)),
        };
    }
    // The article or pronoun that French and Italian write on to the next word.
    if let Some((article, rest)) = word.split_once('\'')
        && ARTICLES.iter().any(|known| article.eq_ignore_ascii_case(known))
        && rest.chars().nth(1).is_some()
    {
        plain(article, Kind::Word, give);
        return camel(rest, give);
    }
    camel(word, give);
}

/// A number, without the commas between its thousands; a version is also found by its first two places.
fn number(number: &str, give: &mut dyn FnMut(Kind, &str)) {
    let mut groups = number.split('.').next().unwrap_or_default().split(',');
    let thousands = number.contains(',')
        && groups.next().is_some_and(|first| (1..=3).contains(&first.len()))
        && groups.all(|group| group.len() == 3);
    let number: Cow<'_, str> = if thousands { number.replace(',', "").into() } else { number.into() };
    give(Kind::Word, &bounded(&number));
    let mut points = number.match_indices('.');
    if let (Some(_), Some((second, _))) = (points.next(), points.next()) {
        give(Kind::Also, &bounded(&number[..second]));
    }
}

/// A number with a unit written on to it.
fn measured(word: &str) -> Option<(&str, &str)> {
    let at = word.find(|c: char| !c.is_ascii_digit() && !matches!(c, '.' | ','))?;
    let (number, unit) = word.split_at(at);
    let is_unit = unit.chars().count() <= UNIT_LETTERS_MAX && unit.chars().all(char::is_alphabetic);
    (is_unit && number.ends_with(|c: char| c.is_ascii_digit())).then_some((number, unit))
}

/// A word, after its parts if it is written in CamelCase.
fn camel(word: &str, give: &mut dyn FnMut(Kind, &str)) {
    let kind = match camel_parts(word) {
        Some(parts) => {
            parts.iter().for_each(|part| plain(part, Kind::Word, give));
            Kind::Also
        }
        None => Kind::Word,
    };
    plain(word, kind, give);
}

/// `HTTPServer` is HTTP and Server. A part of one letter (`mRNA`, `iPhone`) is no word, and then there are no parts.
fn camel_parts(word: &str) -> Option<Vec<&str>> {
    if word.len() > CAMEL_BYTES_MAX || !word.chars().skip(1).any(char::is_uppercase) {
        return None;
    }
    let letters: Vec<(usize, char)> = word.char_indices().collect();
    let mut parts = Vec::new();
    let mut start = 0;
    for i in 1..letters.len() {
        let (before, (at, here)) = (letters[i - 1].1, letters[i]);
        let next_is_lower = letters.get(i + 1).is_some_and(|next| next.1.is_lowercase());
        if here.is_uppercase() && (before.is_lowercase() || (before.is_uppercase() && next_is_lower)) {
            parts.push(&word[start..at]);
            start = at;
        }
    }
    parts.push(&word[start..]);
    (parts.len() > 1 && parts.iter().all(|part| part.chars().nth(1).is_some())).then_some(parts)
}

fn plain(word: &str, kind: Kind, give: &mut dyn FnMut(Kind, &str)) {
    let stem = stem(lower(word));
    if !stem.as_str().is_empty() {
        give(kind, &bounded(stem.as_str()));
    }
}

fn give_compound(name: &str, give: &mut dyn FnMut(Kind, &str)) {
    let mut term = String::with_capacity(name.len() + 1);
    term.push(COMPOUND);
    term.push_str(&lower(name));
    give(Kind::Compound, &bounded(&term));
}

/// A term that is too long is cut and says with a hash which one it is: two with one beginning stay two.
fn bounded(term: &str) -> Cow<'_, str> {
    const HASH_BYTES: usize = 16;
    if term.len() <= TERM_BYTES_MAX {
        return term.into();
    }
    let hash = Sha256::digest(term.as_bytes());
    let mut at = TERM_BYTES_MAX - 1 - 2 * HASH_BYTES;
    while !term.is_char_boundary(at) {
        at -= 1;
    }
    let mut short = term[..at].to_string();
    short.push('#');
    for byte in &hash[..HASH_BYTES] {
        for nibble in [byte >> 4, byte & 15] {
            short.push(char::from_digit(u32::from(nibble), 16).unwrap_or('0'));
        }
    }
    short.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn given(by: impl Fn(&mut dyn FnMut(Kind, &str))) -> Vec<(Kind, String)> {
        let mut terms = Vec::new();
        by(&mut |kind, term| terms.push((kind, term.to_string())));
        terms
    }

    proptest! {
        #[test]
        fn the_short_way_gives_what_the_long_one_gives(text in "[!-~]{0,4}[a-zA-Z]{0,12}[!-~]{0,4}|[!-~]{0,30}") {
            prop_assert_eq!(given(|give| token(&text, give)), given(|give| runs(&text, give)));
        }
    }
}
