//! Text into terms: folded words by Unicode segmentation (UAX #29) with their stems, and the names that are made of
//! them.
//!
//! | in a text | its terms |
//! | --- | --- |
//! | Les cafés | les, cafe |
//! | 経営者 | 経, 営, `=経営`, 者, `=営者` |
//! | HTTPServer | http, server, httpserver |
//! | core/src/lib.rs | core, src, lib, rs, `=core/src/lib.rs`, `=lib.rs` |
//! | v1.2.3 | 1.2.3, 1.2 |
//! | 20mg | 20, mg, `=20mg` |
//!
//! A term with [`COMPOUND`] in front is a *compound*: it makes a text with the whole name rank above one with its parts,
//! and does not count towards the length of the text, so that a name is as long as the words that it is made of.
//!
//! The same word has the same terms wherever it stands. Every node must cut alike: whoever changes anything here raises
//! [`ANALYSIS_VERSION`].

mod compound;
pub(super) mod cut;
mod fold;
mod stem;

pub use fold::fold;

use cut::{Kind, cut};

/// Version of how text is cut, folded, stemmed and weighed by field. An index of another version is built anew.
pub const ANALYSIS_VERSION: u32 = 2;

/// Longest term in bytes. A longer word is cut, with a hash of the whole, so that a hostile text cannot fill the
/// dictionary and two long names with one beginning are not the same.
pub const TERM_BYTES_MAX: usize = 200;

/// Stands before a compound, and before no other term.
pub const COMPOUND: char = '=';

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

/// Whether a term is a word and counts towards the length of its text; otherwise it is a compound.
pub fn is_word(term: &str) -> bool {
    !term.starts_with(COMPOUND)
}

/// The terms of a text, in order, compounds behind their parts.
pub fn terms(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    each_term(text, &mut |term| out.push(term.to_string()));
    out
}

/// Gives the terms of a text to `give`, in the order of [`terms`].
pub fn each_term(text: &str, give: &mut dyn FnMut(&str)) {
    cut(text, &mut |kind, term| {
        if kind != Kind::Break {
            give(term);
        }
    });
}

/// The terms of a text that are words.
pub fn words(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    cut(text, &mut |kind, term| {
        if matches!(kind, Kind::Word | Kind::Also) {
            out.push(term.to_string());
        }
    });
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn words_of_any_script_become_terms() {
        assert_eq!(terms("The valves were CLOSED, twice."), ["the", "valv", "were", "close", "twice"]);
        assert_eq!(terms("経営者"), ["経", "営", "=経営", "者", "=営者"]);
        assert_eq!(terms("東京タワー"), ["東", "京", "=東京", "タ", "=京タ", "ワ", "=タワ", "ー", "=ワー"]);
        assert_eq!(terms("מים חיים"), ["מים", "חיים"]);
        assert_eq!(terms("ВОДЫ водой"), ["вод", "вод"]);
        assert_eq!(terms("pH 7.4 at 20°C"), ["ph", "7.4", "at", "20", "c"]);
        assert_eq!(
            terms("U.S. e.g. 3,000.50 l'été d’eau O'Brien"),
            ["us", "eg", "3000.50", "l", "ete", "d", "eau", "o'brien"]
        );
    }

    #[test]
    fn names_are_found_whole_and_by_their_parts() {
        for (text, expected) in [
            ("HTTPServer", "http server httpserver"),
            ("mRNA iPhone pH", "mrna iphon ph"),
            ("snake_case_name", "snake case name =snake_case_name"),
            ("acl:public", "acl public"),
            ("std::fs::read_dir", "std fs read dir =std::fs::read_dir =read_dir"),
            ("plumb.core.terms", "plumb core term =plumb.core.terms"),
            ("(well-known), and/or", "well known and or"),
            ("v1.2.3 1.2.3", "1.2.3 1.2 1.2.3 1.2"),
            ("20mg 2.5ml", "20 mg =20mg 2.5 ml =2.5ml"),
            ("ops@water.example.org", "op water exampl org =ops@water.example.org =water.example.org"),
            (
                "https://www.Example.org/a/b.html?x=1.",
                "https www exampl org a b html x 1 =www.example.org/a/b.html?x=1 =www.example.org =b.html",
            ),
            ("2024-05-01", "2024 05 01 =2024-05-01"),
        ] {
            assert_eq!(terms(text).join(" "), expected, "{text}");
        }
    }

    #[test]
    fn every_stop_word_is_what_the_stemmer_makes_of_it() {
        for word in STOP_WORDS {
            assert!(terms(word).iter().all(|t| is_stop_word(t)), "{word} becomes {:?}", terms(word));
        }
        assert!(["does", "why"].iter().all(|w| is_stop_word(&terms(w)[0])));
    }

    #[test]
    fn long_names_stay_whole_or_keep_a_hash() {
        for name in
            ["9f86d081884c7d659a2feaa0c55ad015a3bf4f1b", "bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku"]
        {
            assert_eq!(terms(name), [name]);
        }
        let (one, other) = ("å".repeat(1000), format!("{}b", "å".repeat(1000)));
        assert!(terms(&one)[0].len() <= TERM_BYTES_MAX && terms(&one)[0].len() > TERM_BYTES_MAX - 3);
        assert_ne!(terms(&one), terms(&other));
        let address = |end: &str| format!("https://example.org/{}/{end}", "very/long/".repeat(40));
        let compounds = |end: &str| terms(&address(end)).into_iter().filter(|t| t.contains('#')).collect::<Vec<_>>();
        assert_ne!(compounds("a"), compounds("b"));
        assert!(matches!(&compounds("a")[..], [one] if one.starts_with('=')));
    }

    proptest! {
        #[test]
        fn terms_are_never_empty_nor_too_long(text in "(\\PC|[a-zA-Z0-9_./:@'-]){0,400}") {
            for term in terms(&text) {
                prop_assert!(!term.is_empty() && term.len() <= TERM_BYTES_MAX && term != "=");
                prop_assert!(!term.contains(char::is_whitespace), "{:?}", term);
            }
        }

        /// A word has its terms wherever it stands.
        #[test]
        fn the_same_words_have_the_same_terms(a in "\\PC{0,60}", b in "[a-zA-Z0-9_./:é-]{0,40}") {
            let mut apart = terms(&a);
            apart.extend(terms(&b));
            prop_assert_eq!(terms(&format!("{a} {b}")), apart);
        }

        #[test]
        fn lower_case_without_accents_finds_the_word(word in "[a-zA-Zéèüçñßøœ]{1,12}") {
            let term = terms(&word).pop().unwrap();
            prop_assert_eq!(terms(&fold(&word)), [term]);
        }
    }
}
