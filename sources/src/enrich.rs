//! What can be told of a text without knowing its language: dates, DOIs, addresses.

use crate::dates::is_date;

/// What a [`Finding`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FindingKind {
    /// A date, `2024-01-03`.
    Date,
    /// A DOI, in lower case: DOIs do not tell cases apart.
    Doi,
    /// An address on the web.
    Url,
}

/// Something found in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What it is.
    pub kind: FindingKind,
    /// Byte offset of its first byte.
    pub start: usize,
    /// Byte offset behind its last byte.
    pub end: usize,
    /// It, in its usual form.
    pub value: String,
}

/// Findings kept of one text. A list of references has hundreds; a log with a date on each line has any number.
const FINDINGS_MAX: usize = 10_000;

/// Longest address or DOI that is taken for one.
const LENGTH_MAX: usize = 2_048;

/// Finds what there is, in the order of the text.
pub(crate) fn find(text: &str) -> Vec<Finding> {
    let mut found: Vec<Finding> = urls(text).chain(dois(text)).chain(dates(text)).take(FINDINGS_MAX).collect();
    found.sort_by_key(|f| (f.start, f.end));
    found
}

fn urls(text: &str) -> impl Iterator<Item = Finding> + '_ {
    text.match_indices("http").filter_map(|(start, _)| {
        if text[..start].chars().next_back().is_some_and(char::is_alphanumeric) {
            return None;
        }
        let rest = &text[start..];
        let scheme = ["https://", "http://"].into_iter().find(|scheme| rest.starts_with(scheme))?;
        let length = token_length(rest);
        (length > scheme.len()).then(|| Finding {
            kind: FindingKind::Url,
            start,
            end: start + length,
            value: rest[..length].to_string(),
        })
    })
}

fn dois(text: &str) -> impl Iterator<Item = Finding> + '_ {
    text.match_indices("10.").filter_map(|(start, _)| {
        if text[..start].chars().next_back().is_some_and(|c| c.is_alphanumeric() || c == '.') {
            return None;
        }
        let rest = &text[start..];
        let registrant = rest[3..].bytes().take_while(u8::is_ascii_digit).count();
        if !(4..=9).contains(&registrant) || !rest[3 + registrant..].starts_with('/') {
            return None;
        }
        let length = token_length(rest);
        (length > 4 + registrant).then(|| Finding {
            kind: FindingKind::Doi,
            start,
            end: start + length,
            value: rest[..length].to_ascii_lowercase(),
        })
    })
}

fn dates(text: &str) -> impl Iterator<Item = Finding> + '_ {
    text.match_indices('-').filter_map(|(dash, _)| {
        let start = dash.checked_sub(4)?;
        let date = text.get(start..start + 10)?;
        let digit = |c: char| c.is_ascii_digit();
        let alone = !text[..start].ends_with(digit) && !text[start + 10..].starts_with(digit);
        (alone && is_date(date)).then(|| Finding {
            kind: FindingKind::Date,
            start,
            end: start + 10,
            value: date.to_string(),
        })
    })
}

/// Length of what stands before the next space or quote, without the punctuation of the sentence around it. A
/// closing bracket belongs to it if it closes one inside.
fn token_length(text: &str) -> usize {
    let mut end = text
        .char_indices()
        .find(|(at, c)| *at >= LENGTH_MAX || c.is_whitespace() || c.is_control() || "<>\"“”„«»`{}|\\^".contains(*c))
        .map_or(text.len(), |(at, _)| at);
    let count = |c: char| text[..end].matches(c).count();
    // How many more of each bracket are closed than opened.
    let (mut round, mut square) = (count(')').saturating_sub(count('(')), count(']').saturating_sub(count('[')));
    while let Some(last) = text[..end].chars().next_back() {
        let unopened = match last {
            ')' => &mut round,
            ']' => &mut square,
            _ if ".,;:!?'’*_。、，；：！？".contains(last) => &mut 1,
            _ => break,
        };
        if *unopened == 0 {
            break;
        }
        *unopened -= 1;
        end -= last.len_utf8();
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(text: &str, expected: &[(FindingKind, &str)]) {
        let found = find(text);
        let seen: Vec<_> = found.iter().map(|f| (f.kind, f.value.as_str())).collect();
        assert_eq!(seen, expected, "{text}");
    }

    #[test]
    fn findings() {
        use FindingKind::{Date, Doi, Url};
        check(
            "See https://example.org/a_(b), or <http://x.y>.",
            &[(Url, "https://example.org/a_(b)"), (Url, "http://x.y")],
        );
        check("(https://example.org)", &[(Url, "https://example.org")]);
        check("doi:10.7554/eLife.06003. Also 10.1000/182", &[(Doi, "10.7554/elife.06003"), (Doi, "10.1000/182")]);
        check("https://doi.org/10.1000/182", &[(Url, "https://doi.org/10.1000/182"), (Doi, "10.1000/182")]);
        check("on 2024-02-29, not 2023-02-29 or 12024-01-01", &[(Date, "2024-02-29")]);
        check("version 110.1234/x, 10.12/x, 10.1234/ and http:// alone", &[]);
        check("経2024-01-02経", &[(Date, "2024-01-02")]);
    }

    proptest! {
        #[test]
        fn a_finding_is_where_it_says(text in "(https?://|10\\.1234/|2024-01-0[1-9]|[ .,)(]|\\PC){0,60}") {
            for finding in find(&text) {
                let there = &text[finding.start..finding.end];
                prop_assert_eq!(there.to_ascii_lowercase(), finding.value.to_ascii_lowercase());
            }
        }
    }
}
