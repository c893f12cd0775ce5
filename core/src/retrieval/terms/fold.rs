//! Folding: what people take for the same word becomes the same characters.
//!
//! Compatibility forms are resolved (NFKC), case is folded, and marks go where their users leave them out: accents of
//! Latin and Greek letters, Hebrew points, Arabic vowel signs. Marks that make another letter stay: the vowel signs of
//! the scripts of India, the voicing marks of kana, the breve of й.

use std::borrow::Cow;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::canonical_combining_class;

/// The folded form of a text. Folding twice changes nothing.
pub fn fold(text: &str) -> String {
    let letters = letters(text);
    lower(&letters).into_owned()
}

/// The text with one form for each letter, in the case that it was written in: identifiers are cut by case.
pub(super) fn letters(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    let mut base = '\0';
    let kept: String = text
        .nfkd()
        .filter(|c| {
            if is_dropped(*c, base) {
                return false;
            }
            if canonical_combining_class(*c) == 0 {
                base = *c;
            }
            true
        })
        .map(plain)
        .nfc()
        .collect();
    Cow::Owned(spelt_out(kept))
}

/// In lower case, as the Unicode standard compares without case: ß is ss. Takes what [`letters`] gives.
pub(super) fn lower(letters: &str) -> Cow<'_, str> {
    if letters.bytes().all(|b| b.is_ascii() && !b.is_ascii_uppercase()) {
        return Cow::Borrowed(letters);
    }
    if letters.is_ascii() {
        return Cow::Owned(letters.to_ascii_lowercase());
    }
    // Folding case can take a letter apart or give one that has another spelling. Two rounds reach what stays.
    let folded = caseless::default_case_fold_str(letters);
    Cow::Owned(caseless::default_case_fold_str(&self::letters(&folded)))
}

/// Whether a character of a decomposed text is left out behind this base.
fn is_dropped(c: char, base: char) -> bool {
    match c {
        // Cyrillic й, ў and ї are letters of their own; ё is written е, and stress is not written.
        '\u{300}'..='\u{36f}' => match base {
            '\u{400}'..='\u{52f}' => !(c == '\u{306}' || (c == '\u{308}' && !matches!(base, 'е' | 'Е'))),
            _ => true,
        },
        '\u{1ab0}'..='\u{1aff}' | '\u{1dc0}'..='\u{1dff}' | '\u{20d0}'..='\u{20ff}' | '\u{fe20}'..='\u{fe2f}' => true,
        // Hebrew accents and points, without the punctuation between them.
        '\u{591}'..='\u{5bd}' | '\u{5bf}' | '\u{5c1}' | '\u{5c2}' | '\u{5c4}' | '\u{5c5}' | '\u{5c7}' => true,
        // Arabic signs above and below letters, and the stretching of a line.
        '\u{610}'..='\u{61a}' | '\u{640}' | '\u{64b}'..='\u{65f}' | '\u{670}' => true,
        '\u{6d6}'..='\u{6dc}' | '\u{6df}'..='\u{6e4}' | '\u{6e7}' | '\u{6e8}' | '\u{6ea}'..='\u{6ed}' => true,
        '\u{8d3}'..='\u{8e1}' | '\u{8e3}'..='\u{8ff}' | '\u{711}' | '\u{730}'..='\u{74a}' => true,
        // Invisible: soft hyphen, joiners, marks of direction, selectors of a glyph.
        '\u{ad}' | '\u{61c}' | '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' => true,
        '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' => true,
        _ => false,
    }
}

/// One sign for what has several, and ASCII for the digits of every script.
fn plain(c: char) -> char {
    match c {
        '’' | '‘' | 'ʼ' | '`' => '\'',
        '\u{2010}' | '\u{2011}' | '\u{2212}' | '־' => '-',
        'ı' => 'i',
        'ø' => 'o',
        'Ø' => 'O',
        'ł' => 'l',
        'Ł' => 'L',
        'đ' | 'ð' => 'd',
        'Đ' | 'Ð' => 'D',
        'ħ' => 'h',
        'Ħ' => 'H',
        'ŧ' => 't',
        'Ŧ' => 'T',
        // Persian and Urdu keyboards have another kaf and yeh than Arabic ones.
        'ک' => 'ك',
        'ی' | 'ى' => 'ي',
        _ if c.is_ascii() => c,
        _ => digit(c).unwrap_or(c),
    }
}

/// The first digit of each script that stands in its own ten places.
const ZEROS: [u32; 37] = [
    0x660, 0x6f0, 0x7c0, 0x966, 0x9e6, 0xa66, 0xae6, 0xb66, 0xbe6, 0xc66, 0xce6, 0xd66, 0xde6, 0xe50, 0xed0, 0xf20,
    0x1040, 0x1090, 0x17e0, 0x1810, 0x1946, 0x19d0, 0x1a80, 0x1a90, 0x1b50, 0x1bb0, 0x1c40, 0x1c50, 0xa620, 0xa8d0,
    0xa900, 0xa9d0, 0xa9f0, 0xaa50, 0xabf0, 0x104a0, 0x11066,
];

fn digit(c: char) -> Option<char> {
    let c = u32::from(c);
    let i = ZEROS.partition_point(|zero| *zero <= c).checked_sub(1)?;
    char::from_digit(c - ZEROS[i], 10)
}

/// Two letters for the ligatures that no decomposition takes apart.
fn spelt_out(text: String) -> String {
    if !text.contains(['æ', 'Æ', 'œ', 'Œ', 'þ', 'Þ']) {
        return text;
    }
    let mut out = String::with_capacity(text.len() + 4);
    for c in text.chars() {
        match c {
            'æ' => out.push_str("ae"),
            'Æ' => out.push_str("AE"),
            'œ' => out.push_str("oe"),
            'Œ' => out.push_str("OE"),
            'þ' => out.push_str("th"),
            'Þ' => out.push_str("TH"),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_people_take_for_the_same_is_the_same() {
        for (one, other) in [
            ("café", "cafe"),
            ("cafe\u{301}", "CAFÉ"),
            ("ﬁle", "file"),
            ("İstanbul", "istanbul"),
            ("Diyarbakır", "diyarbakir"),
            ("Straße", "STRASSE"),
            ("Œuvre", "oeuvre"),
            ("smørrebrød", "smorrebrod"),
            ("ＡＢＣ１２", "abc12"),
            ("x²", "x2"),
            ("ΣΊΣΥΦΟΣ", "σισυφος"),
            ("Ёлка", "елка"),
            ("שָׁלוֹם", "שלום"),
            ("مُحَمَّد", "محمد"),
            ("العـــربية", "العربية"),
            ("أحمد", "احمد"),
            ("٢٠٢٦", "2026"),
            ("१२३", "123"),
            ("co\u{ad}operate", "cooperate"),
            ("ｶﾞｽ", "ガス"),
            ("don’t", "don't"),
        ] {
            assert_eq!(fold(one), fold(other), "{one} {other}");
        }
    }

    #[test]
    fn marks_that_make_another_letter_stay() {
        for (one, other) in [("май", "маи"), ("がく", "かく"), ("कि", "क"), ("ไม่", "ไม")] {
            assert_ne!(fold(one), fold(other));
        }
    }

    proptest! {
        #[test]
        fn folding_twice_changes_nothing(text in "(\\PC|[\u{300}-\u{345}\u{5b0}-\u{5c7}\u{64b}-\u{655}ßİıςﬃǰΐ]){0,60}") {
            let once = fold(&text);
            prop_assert_eq!(fold(&once), once);
        }
    }
}
