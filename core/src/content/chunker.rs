//! Cutting text by headings and paragraphs, in any script, losing nothing.
//!
//! A chunk begins at a heading, or where the paragraphs so far are enough. A paragraph that is itself too long is cut
//! behind a sentence, else behind a space, else between two grapheme clusters, so that writing without spaces is cut
//! as well. Chunks do not overlap: they tile the text.

use unicode_segmentation::UnicodeSegmentation;

/// Longest chunk in characters (CHK-09: window of 1200).
pub const CHUNK_CHARS_MAX: usize = 1200;

/// Deepest heading path that a chunk carries.
const HEADINGS_MAX: usize = 8;

/// Something that an adapter knows of a place in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Byte offset at which it holds.
    pub at: usize,
    /// What it is.
    pub kind: MarkKind,
}

/// What a [`Mark`] says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MarkKind {
    /// A heading of this level (1 is outermost) begins here.
    Heading {
        /// 1 to 6.
        level: u8,
        /// Its text.
        text: String,
    },
    /// A page of this number begins here.
    Page(u32),
}

/// Bytes of the text that make one chunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// First byte.
    pub start: usize,
    /// Behind the last byte.
    pub end: usize,
    /// Headings above it, outermost first.
    pub headings: Vec<String>,
    /// Page on which it begins.
    pub page: Option<u32>,
}

/// Cuts `text`. `marks` that do not stand on a character boundary inside the text are ignored.
pub fn chunk(text: &str, marks: &[Mark]) -> Vec<Span> {
    let mut marks: Vec<&Mark> = marks.iter().filter(|m| m.at < text.len() && text.is_char_boundary(m.at)).collect();
    marks.sort_by_key(|m| m.at);
    let mut spans = Vec::new();
    for (start, end) in sections(text, &marks) {
        for (start, end) in pack(text, start, end) {
            spans.push(Span { start, end, headings: headings_at(&marks, start), page: page_at(&marks, start) });
        }
    }
    spans
}

/// The stretches between headings. A heading with no text before the next one stays with what follows.
fn sections(text: &str, marks: &[&Mark]) -> Vec<(usize, usize)> {
    let mut cuts = vec![0];
    let mut body_from = 0;
    for mark in marks {
        let MarkKind::Heading { text: heading, .. } = &mark.kind else {
            continue;
        };
        let has_body = text[body_from.min(mark.at)..mark.at].chars().any(char::is_alphanumeric);
        if has_body && mark.at > 0 {
            cuts.push(mark.at);
        }
        // The heading's own line is no body.
        let line_end = text[mark.at..].find('\n').map_or(text.len(), |n| mark.at + n + 1);
        body_from = line_end.max(floor_boundary(text, mark.at + heading.len().min(text.len() - mark.at)));
    }
    cuts.push(text.len());
    cuts.windows(2).map(|w| (w[0], w[1])).filter(|(start, end)| start < end).collect()
}

fn floor_boundary(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// Fills chunks with whole paragraphs.
fn pack(text: &str, start: usize, end: usize) -> Vec<(usize, usize)> {
    let mut spans: Vec<(usize, usize)> = Vec::new();
    let mut open: Option<(usize, usize, usize)> = None; // start, end, characters
    for (from, to) in paragraphs(text, start, end) {
        for (from, to, n_chars) in pieces(text, from, to) {
            open = match open {
                Some((s, _, n)) if n + n_chars <= CHUNK_CHARS_MAX => Some((s, to, n + n_chars)),
                Some((s, e, _)) => {
                    spans.push((s, e));
                    Some((from, to, n_chars))
                }
                None => Some((from, to, n_chars)),
            };
        }
    }
    spans.extend(open.map(|(s, e, _)| (s, e)));
    spans
}

/// Paragraphs with the blank lines behind them.
fn paragraphs(text: &str, start: usize, end: usize) -> Vec<(usize, usize)> {
    let mut out = Vec::new();
    let mut from = start;
    let mut at = start;
    let mut blank_before = false;
    for line in text[start..end].split_inclusive('\n') {
        let blank = line.trim().is_empty();
        if blank_before && !blank && at > from {
            out.push((from, at));
            from = at;
        }
        blank_before = blank;
        at += line.len();
    }
    if from < end {
        out.push((from, end));
    }
    out
}

/// A paragraph in pieces of at most [`CHUNK_CHARS_MAX`] characters.
fn pieces(text: &str, start: usize, end: usize) -> Vec<(usize, usize, usize)> {
    let mut out = Vec::new();
    let mut from = start;
    while from < end {
        let rest = &text[from..end];
        let Some((limit, _)) = rest.char_indices().nth(CHUNK_CHARS_MAX) else {
            out.push((from, end, rest.chars().count()));
            break;
        };
        let cut = best_cut(&rest[..limit]);
        out.push((from, from + cut, rest[..cut].chars().count()));
        from += cut;
    }
    out
}

/// Where to cut a window: behind its last sentence, else its last space, if that is past half of it; else behind its
/// last whole grapheme cluster.
fn best_cut(window: &str) -> usize {
    let half = window.len() / 2;
    let sentence = window.split_sentence_bound_indices().map(|(at, _)| at).last().filter(|at| *at > half);
    let space = || {
        window
            .char_indices()
            .rev()
            .find(|(_, c)| c.is_whitespace())
            .map(|(at, c)| at + c.len_utf8())
            .filter(|at| *at > half)
    };
    let cluster = || window.grapheme_indices(true).map(|(at, _)| at).next_back().filter(|at| *at > half);
    sentence.or_else(space).or_else(cluster).unwrap_or(window.len())
}

fn headings_at(marks: &[&Mark], at: usize) -> Vec<String> {
    let mut path: Vec<(u8, &str)> = Vec::new();
    for mark in marks.iter().take_while(|m| m.at <= at) {
        if let MarkKind::Heading { level, text } = &mark.kind {
            path.retain(|(l, _)| l < level);
            path.push((*level, text));
        }
    }
    path.into_iter().take(HEADINGS_MAX).map(|(_, text)| text.to_string()).collect()
}

fn page_at(marks: &[&Mark], at: usize) -> Option<u32> {
    marks
        .iter()
        .take_while(|m| m.at <= at)
        .filter_map(|m| match m.kind {
            MarkKind::Page(n) => Some(n),
            MarkKind::Heading { .. } => None,
        })
        .last()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn heading(at: usize, level: u8, text: &str) -> Mark {
        Mark { at, kind: MarkKind::Heading { level, text: text.into() } }
    }

    #[test]
    fn a_heading_opens_a_chunk_and_names_its_path() {
        let text = "# A\n\n## B\n\none\n\n## C\n\ntwo\n";
        let at = |needle: &str| text.find(needle).unwrap();
        let marks = [heading(0, 1, "A"), heading(at("## B"), 2, "B"), heading(at("## C"), 2, "C")];
        let spans = chunk(text, &marks);
        let seen: Vec<_> = spans.iter().map(|s| (&text[s.start..s.end], s.headings.join(">"))).collect();
        assert_eq!(seen, [("# A\n\n## B\n\none\n\n", "A".to_string()), ("## C\n\ntwo\n", "A>C".to_string())]);
    }

    #[test]
    fn text_without_spaces_is_cut_and_kept_whole() {
        let text = "経".repeat(3000);
        let spans = chunk(&text, &[]);
        assert_eq!(spans.iter().map(|s| text[s.start..s.end].chars().count()).collect::<Vec<_>>().len(), 3);
        assert_eq!(spans.last().unwrap().end, text.len());
    }

    #[test]
    fn a_page_is_that_of_the_first_byte() {
        let marks = [Mark { at: 0, kind: MarkKind::Page(1) }, Mark { at: 10, kind: MarkKind::Page(2) }];
        assert_eq!(page_at(&marks.iter().collect::<Vec<_>>(), 9), Some(1));
        assert_eq!(page_at(&marks.iter().collect::<Vec<_>>(), 10), Some(2));
    }

    proptest! {
        #[test]
        fn spans_tile_the_text_and_keep_the_bound(
            text in "([a-zA-Z0-9 .,]|\\n|\\PC){0,6000}",
            ats in proptest::collection::vec((0usize..6000, 1u8..6), 0..12),
        ) {
            let marks: Vec<Mark> = ats.into_iter().map(|(at, level)| heading(at, level, "h")).collect();
            let spans = chunk(&text, &marks);
            let mut at = 0;
            for span in &spans {
                prop_assert_eq!(span.start, at);
                prop_assert!(text[span.start..span.end].chars().count() <= CHUNK_CHARS_MAX);
                at = span.end;
            }
            prop_assert_eq!(at, text.len());
        }
    }
}
