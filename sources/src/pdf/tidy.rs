//! From lines as they are printed to text as it is meant: ligatures apart, words whole.

/// Puts the text of a page into order: spaces once, lines without margins, at most one empty line, words that were
/// divided at the end of a line whole again.
pub(super) fn tidy(page: &str) -> String {
    let mut out = String::with_capacity(page.len());
    let mut empty_lines = 0;
    for line in page.lines() {
        let line = line_of(line);
        if line.is_empty() {
            empty_lines += 1;
            continue;
        }
        if !out.is_empty() {
            if empty_lines == 0 && is_divided(&out, &line) {
                out.pop();
            } else {
                out.push_str(if empty_lines == 0 { "\n" } else { "\n\n" });
            }
        }
        out.push_str(&line);
        empty_lines = 0;
    }
    // A hyphen that may be shown, but is not at the end of a line, is not shown.
    out.retain(|c| c != '\u{ad}');
    out
}

fn line_of(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    for c in line.chars() {
        match c {
            '\u{fb00}' => out.push_str("ff"),
            '\u{fb01}' => out.push_str("fi"),
            '\u{fb02}' => out.push_str("fl"),
            '\u{fb03}' => out.push_str("ffi"),
            '\u{fb04}' => out.push_str("ffl"),
            '\u{fb05}' | '\u{fb06}' => out.push_str("st"),
            c if c.is_whitespace() => {
                if !out.is_empty() && !out.ends_with(' ') {
                    out.push(' ');
                }
            }
            // Fonts that lie about their letters give control characters.
            c if c.is_control() => {}
            c => out.push(c),
        }
    }
    out.truncate(out.trim_end().len());
    out
}

/// A hyphen between two small letters divides a word. In names and numbers it belongs there.
fn is_divided(before: &str, line: &str) -> bool {
    let mut end = before.chars().rev();
    let hyphen = end.next().is_some_and(|c| matches!(c, '-' | '\u{2010}' | '\u{ad}'));
    hyphen && end.next().is_some_and(char::is_lowercase) && line.starts_with(char::is_lowercase)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn pages() {
        for (page, expected) in [
            ("\n\n  a   b \n\n\n\nc\n", "a b\n\nc"),
            ("no sea taki-\nmata sanctus", "no sea takimata sanctus"),
            ("ﬁne oﬃce", "fine office"),
            ("1914-\n1918, Jean-\nPaul, co-\n\nop", "1914-\n1918, Jean-\nPaul, co-\n\nop"),
            ("soft\u{ad}ware and hard\u{ad}\nware", "software and hardware"),
            ("a\u{0}b\u{a0}c", "ab c"),
        ] {
            assert_eq!(tidy(page), expected);
        }
    }

    proptest! {
        #[test]
        fn what_is_tidy_stays_so(page in "([a-c]|-|\\n|\u{ad}|\u{fb01}|\\PC){0,60}") {
            let once = tidy(&page);
            // Joining may bring two halves together that could be joined again, but letters are never lost.
            let letters = |text: &str| text.chars().filter(|c| c.is_alphanumeric()).count();
            prop_assert_eq!(letters(&tidy(&once)), letters(&once));
        }
    }
}
