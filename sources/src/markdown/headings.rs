//! Headings of Markdown (CommonMark 4.2 and 4.3), outside of code and comments.

use plumb_core::content::{Mark, MarkKind};

/// Finds the headings behind byte `from`, each marked at the beginning of its line.
pub(super) fn find(text: &str, from: usize) -> Vec<Mark> {
    let mut marks = Vec::new();
    let mut at = from;
    let mut fence: Option<(char, usize)> = None;
    let mut in_comment = false;
    // A paragraph of one line that may turn out to be a heading by what stands below it.
    let mut above: Option<(usize, &str)> = None;
    for line in text[from..].split_inclusive('\n') {
        let start = at;
        at += line.len();
        let content = line.trim_end();
        if in_comment {
            in_comment = !content.contains("-->");
            continue;
        }
        if let Some((mark, length)) = fence {
            if fence_of(content).is_some_and(|(m, n, info)| m == mark && n >= length && info.is_empty()) {
                fence = None;
            }
            continue;
        }
        if let Some((mark, length, _)) = fence_of(content) {
            (fence, above) = (Some((mark, length)), None);
            continue;
        }
        if content.trim_start().starts_with("<!--") {
            in_comment = !content.contains("-->");
            above = None;
            continue;
        }
        if let Some((level, heading)) = atx(content) {
            marks.push(mark(start, level, heading));
            above = None;
        } else if let Some(level) = underline(content)
            && let Some((line_start, heading)) = above.take().filter(|(_, heading)| !heading.is_empty())
        {
            marks.push(mark(line_start, level, heading));
        } else {
            // A second line of a paragraph is not underlined alone.
            above = match above {
                _ if content.is_empty() => None,
                None if is_paragraph(content) => Some((start, content.trim())),
                _ => Some((start, "")),
            };
        }
    }
    marks
}

fn mark(at: usize, level: u8, text: &str) -> Mark {
    /// A heading that is longer is none, and would be carried by every chunk below it.
    const HEADING_CHARS: usize = 300;
    Mark { at, kind: MarkKind::Heading { level, text: text.chars().take(HEADING_CHARS).collect() } }
}

/// What stands behind an indent that is not code.
fn unindented(line: &str) -> Option<&str> {
    let rest = line.trim_start_matches(' ');
    (line.len() - rest.len() <= 3).then_some(rest)
}

/// Mark, length and info string of a fence.
fn fence_of(line: &str) -> Option<(char, usize, &str)> {
    let rest = unindented(line)?;
    let mark = rest.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let info = rest.trim_start_matches(mark);
    let length = rest.len() - info.len();
    // Backticks in the info string make it code within a line.
    (length >= 3 && !(mark == '`' && info.contains('`'))).then_some((mark, length, info.trim()))
}

fn atx(line: &str) -> Option<(u8, &str)> {
    let rest = unindented(line)?;
    let text = rest.trim_start_matches('#');
    let level = u8::try_from(rest.len() - text.len()).ok().filter(|level| (1..=6).contains(level))?;
    if !text.is_empty() && !text.starts_with([' ', '\t']) {
        return None;
    }
    let text = text.trim();
    let open = text.trim_end_matches('#');
    let closed = open.is_empty() || open.ends_with([' ', '\t']);
    Some((level, if closed { open.trim_end() } else { text }))
}

fn underline(line: &str) -> Option<u8> {
    let rest = unindented(line)?;
    let only = |c: char| !rest.is_empty() && rest.chars().all(|x| x == c);
    if only('=') {
        Some(1)
    } else if only('-') {
        Some(2)
    } else {
        None
    }
}

/// Whether a line begins a paragraph, rather than a list, a quotation, a table or a line across the page.
fn is_paragraph(line: &str) -> bool {
    let Some(rest) = unindented(line) else { return false };
    let number = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    let in_list = rest.starts_with(['-', '*', '+']) && rest[1..].starts_with([' ', '\t'])
        || number.len() < rest.len() && number.starts_with(['.', ')']);
    !(in_list || rest.starts_with(['>', '|', '<']) || !rest.chars().any(char::is_alphanumeric))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(text: &str, expected: &[(usize, u8, &str)]) {
        let marks = find(text, 0);
        let seen: Vec<_> = marks
            .iter()
            .map(|m| match &m.kind {
                MarkKind::Heading { level, text } => (m.at, *level, text.as_str()),
                MarkKind::Page(_) => unreachable!("Markdown has no pages"),
            })
            .collect();
        assert_eq!(seen, expected, "{text}");
    }

    #[test]
    fn headings() {
        check("# A\n## B ##\n### C#\n#\n", &[(0, 1, "A"), (4, 2, "B"), (12, 3, "C#"), (19, 1, "")]);
        check("   # A\n    # code\n#no\n####### no\n", &[(0, 1, "A")]);
        check("# A\r\n\r\ntext\r\n", &[(0, 1, "A")]);
        check("A\n===\n\nB\n---\n\nC\nD\n---\n", &[(0, 1, "A"), (7, 2, "B")]);
        check("- item\n---\n\n> quote\n---\n\n| a |\n---\n\n---\n", &[]);
        check("# 経\n\n経\n===\n", &[(0, 1, "経"), (7, 1, "経")]);
    }

    #[test]
    fn code_and_comments_have_no_headings() {
        check("```\n# a\n```\n# B\n", &[(12, 1, "B")]);
        check("~~~~ sh\n# a\n~~~\n```\n# b\n~~~~~\n# C\n", &[(30, 1, "C")]);
        check("```\n# never closed\n", &[]);
        check("<!--\n# a\n-->\n# B\n<!-- # c -->\n# D\n", &[(13, 1, "B"), (30, 1, "D")]);
        check("``` a ` b\n# A\n", &[(10, 1, "A")]);
    }

    proptest! {
        #[test]
        fn marks_stand_at_the_beginning_of_lines(text in "([#=`~\\n -]|<!--|-->|[a-z]|\\PC){0,120}") {
            for mark in find(&text, 0) {
                prop_assert!(mark.at == 0 || text[..mark.at].ends_with('\n'));
            }
        }
    }
}
