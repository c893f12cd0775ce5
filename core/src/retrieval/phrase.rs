//! Phrases in quotes: words that must follow each other.

use super::terms::cut::{Kind, cut};

/// Most phrases of a query that are looked at, and most words of each; what follows is ignored.
pub const PHRASES_MAX: usize = 16;
/// See [`PHRASES_MAX`].
pub const PHRASE_WORDS_MAX: usize = 64;

/// Signs that open and close a phrase.
const QUOTES: [(char, char); 4] = [('"', '"'), ('“', '”'), ('„', '“'), ('«', '»')];

/// The phrases of a query, each as its words. A quote inside of a word (5"3, צה"ל) is none, nor is one without end.
pub(super) fn phrases(text: &str) -> Vec<Vec<String>> {
    let mut found: Vec<Vec<String>> = Vec::new();
    let mut before = ' ';
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        let opens = QUOTES.iter().find(|(open, _)| *open == c).filter(|_| !before.is_alphanumeric());
        before = c;
        let Some((_, close)) = opens else { continue };
        let Some(end) = end_of(rest, *close) else { continue };
        let mut words = words_in_order(&rest[..end]);
        words.truncate(PHRASE_WORDS_MAX);
        // One that goes across a field is none.
        let words: Vec<String> = words.into_iter().collect::<Option<_>>().unwrap_or_default();
        if !words.is_empty() && !found.contains(&words) && found.len() < PHRASES_MAX {
            found.push(words);
        }
        rest = &rest[end + close.len_utf8()..];
        before = *close;
    }
    found
}

/// Where the closing quote stands: the first that no word goes on behind.
fn end_of(text: &str, close: char) -> Option<usize> {
    text.match_indices(close)
        .map(|(at, _)| at)
        .find(|at| !text[at + close.len_utf8()..].starts_with(char::is_alphanumeric))
}

/// The words of a text in order, with `None` where a field ends.
pub(super) fn words_in_order(text: &str) -> Vec<Option<String>> {
    let mut words = Vec::new();
    cut(text, &mut |kind, term| match kind {
        Kind::Word => words.push(Some(term.to_string())),
        Kind::Break => words.push(None),
        Kind::Also | Kind::Compound => {}
    });
    words
}

/// Whether the words of the phrase follow each other.
pub(super) fn contains(words: &[Option<String>], phrase: &[String]) -> bool {
    words.windows(phrase.len()).any(|some| some.iter().zip(phrase).all(|(word, wanted)| word.as_ref() == Some(wanted)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_quotes_make_a_phrase() {
        for (text, expected) in [
            (r#"the "safety valve" of"#, &[&["safeti", "valv"][..]][..]),
            (r#""a b" “c d” «e» "#, &[&["a", "b"], &["c", "d"], &["e"]]),
            (r#"5"3 and צה"ל of "nothing"#, &[]),
            (r#""" "((" "x"#, &[]),
            (r#""a 5"3 b""#, &[&["a", "5", "3", "b"]]),
        ] {
            assert_eq!(phrases(text), expected, "{text}");
        }
    }

    #[test]
    fn many_quotes_are_read_in_no_time_and_to_a_limit() {
        let text: String = (0..1000).map(|i| format!("\"p{i} q\" ")).collect();
        assert_eq!(phrases(&text).len(), PHRASES_MAX);
        assert!(phrases(&"\"".repeat(8192)).is_empty());
    }
}
