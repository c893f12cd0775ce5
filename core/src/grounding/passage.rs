//! The passage of a chunk that a question asks for: one sentence, verbatim, with its byte range.

use unicode_segmentation::UnicodeSegmentation;

use crate::content::Chunk;
use crate::measure::Milli;
use crate::retrieval::{Query, TermStats, body_of, each_term, idf_micro, is_word};

/// Longest passage in characters (GRD-26).
pub const PASSAGE_CHARS_MAX: usize = 280;

/// The share of a question's weight that a text carries: the inverse document frequency of its terms that occur in the
/// text, over that of all its terms.
pub fn support(query: &Query, stats: &TermStats, chunk: &Chunk) -> Milli {
    weigh(&weights(query, stats), &body_of(chunk)).1
}

/// What each term of a question weighs.
fn weights<'q>(query: &'q Query, stats: &TermStats) -> Vec<(&'q str, u64)> {
    // A compound says nothing beyond its words of whether the question is answered.
    let terms = query.terms.iter().zip(&stats.doc_freq).filter(|(term, _)| is_word(term));
    // A word that nobody uses counts as one that a single document uses: in a small collection, where every word is
    // rare, a question would otherwise be judged by the words that it happens to bring along.
    let weight = |doc_freq: u64| idf_micro(stats.n_docs, doc_freq.max(1)).max(1);
    terms.map(|(term, doc_freq)| (term.as_str(), weight(*doc_freq))).collect()
}

fn weigh(weights: &[(&str, u64)], text: &str) -> (u64, Milli) {
    let mut present = vec![false; weights.len()];
    each_term(text, &mut |term| {
        for ((wanted, _), is_present) in weights.iter().zip(&mut present) {
            *is_present |= *wanted == term;
        }
    });
    let (mut carried, mut all) = (0u64, 0u64);
    for ((_, weight), is_present) in weights.iter().zip(present) {
        all = all.saturating_add(*weight);
        if is_present {
            carried = carried.saturating_add(*weight);
        }
    }
    (carried, Milli::from_ratio(carried, all))
}

/// The sentence of the chunk that carries most of the question, as a byte range of the chunk's text, with the share that
/// it carries; `None` if no sentence carries any of it. Of equals the first.
pub fn best_passage(query: &Query, stats: &TermStats, chunk: &Chunk) -> Option<(std::ops::Range<usize>, Milli)> {
    let weights = weights(query, stats);
    let mut best: Option<(u64, std::ops::Range<usize>, Milli)> = None;
    for range in sentences(&chunk.text) {
        let sentence = &chunk.text[range.clone()];
        if is_heading(sentence, chunk) {
            continue;
        }
        let (carried, share) = weigh(&weights, sentence);
        // What is no whole sentence (a caption, a row) says less than one that is.
        let worth = if is_whole(sentence) { carried } else { carried / 2 };
        if worth > 0 && best.as_ref().is_none_or(|(most, ..)| worth > *most) {
            best = Some((worth, range, share));
        }
    }
    best.map(|(_, range, share)| (cut(&chunk.text, range), share))
}

/// A heading names a subject and says nothing of it. A whole sentence that is also the title (of a note without any other)
/// does.
fn is_heading(sentence: &str, chunk: &Chunk) -> bool {
    let bare = sentence.trim_start_matches('#').trim();
    let is_named = bare == chunk.title.trim() || chunk.headings.iter().any(|h| h.trim() == bare);
    sentence.starts_with('#') || (is_named && !is_whole(sentence))
}

fn is_whole(sentence: &str) -> bool {
    let last = sentence.trim_end_matches(['"', '\'', ')', ']', '”', '’', '»', '*', '_', '`']).chars().next_back();
    matches!(last, Some('.' | '!' | '?' | '。' | '！' | '？' | '؟' | '…'))
}

/// Sentences by UAX #29, without the spaces around them. A line break inside a paragraph is a space and ends nothing;
/// an empty line, a heading or a list mark does.
fn sentences(text: &str) -> Vec<std::ops::Range<usize>> {
    let joined = join_lines(text);
    joined
        .split_sentence_bound_indices()
        .filter_map(|(at, sentence)| {
            let start = at + (sentence.len() - sentence.trim_start().len());
            let end = start + sentence.trim().len();
            (start < end).then_some(start..end)
        })
        .map(|range| range.start + mark_len(&text[range.clone()])..range.end)
        .collect()
}

/// The text with single line breaks as spaces: the same bytes at the same places otherwise.
fn join_lines(text: &str) -> String {
    let mut joined = String::with_capacity(text.len());
    let mut lines = text.split_inclusive('\n').peekable();
    while let Some(line) = lines.next() {
        let ends_here = line.trim().is_empty()
            || line.starts_with('#')
            || lines.peek().is_none_or(|next| next.trim().is_empty() || begins_block(next));
        match line.strip_suffix('\n') {
            Some(rest) if !ends_here => {
                joined.push_str(rest);
                joined.push(' ');
            }
            _ => joined.push_str(line),
        }
    }
    joined
}

fn begins_block(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with(['#', '|', '>']) || line.starts_with("```") || mark_len(line) > 0
}

/// Length of a list mark such as `- `, `* ` or `12. `; what stands behind it is the sentence.
fn mark_len(line: &str) -> usize {
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let rest = &line[digits..];
    match (digits, rest.as_bytes()) {
        (0, [b'-' | b'*' | b'+', b' ', ..]) => 2,
        (1..=3, [b'.' | b')', b' ', ..]) => digits + 2,
        _ => 0,
    }
}

/// At most [`PASSAGE_CHARS_MAX`] characters of the range, whole words where there are spaces.
fn cut(text: &str, range: std::ops::Range<usize>) -> std::ops::Range<usize> {
    let passage = &text[range.clone()];
    let Some((limit, _)) = passage.char_indices().nth(PASSAGE_CHARS_MAX) else {
        return range;
    };
    let at = passage[..limit].rfind(char::is_whitespace).filter(|at| *at > limit / 2).unwrap_or(limit);
    range.start..range.start + passage[..at].trim_end().len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(text: &str) -> Vec<&str> {
        sentences(text).into_iter().map(|r| &text[r]).collect()
    }

    #[test]
    fn a_sentence_may_run_over_lines_but_not_over_paragraphs() {
        let text = "# Pump 7\n\nPump 7 restarts\nat 4 bar. It stops below.\n\n- First item.\n- Second item\n";
        assert_eq!(
            of(text),
            ["# Pump 7", "Pump 7 restarts\nat 4 bar.", "It stops below.", "First item.", "Second item"]
        );
    }

    #[test]
    fn a_long_sentence_is_cut_behind_a_word() {
        let text = "word ".repeat(100);
        let range = cut(&text, 0..text.len());
        assert!(text[range.clone()].chars().count() <= PASSAGE_CHARS_MAX && text[range].ends_with("word"));
    }

    proptest! {
        #[test]
        fn passages_are_in_bounds_on_any_text(text in "(\\PC|\\n| |[.#*-]){0,600}") {
            for range in sentences(&text) {
                let range = cut(&text, range);
                prop_assert!(text.get(range).is_some());
            }
        }
    }
}
