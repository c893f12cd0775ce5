//! The outline of a PDF, as headings of its text.

use std::collections::BTreeSet;

use pdf_extract::{Dictionary, Document, Object};
use plumb_core::content::{Mark, MarkKind};

use super::info;

/// Entries of an outline that are looked at.
const ENTRIES_MAX: usize = 5_000;
/// Levels of headings.
const LEVELS_MAX: u8 = 6;

/// An entry: its level, from 1, and its title.
pub(super) type Entry = (u8, String);

/// The entries in their order. Files may link them in circles, so each is visited once.
pub(super) fn read(document: &Document) -> Vec<Entry> {
    let mut entries = Vec::new();
    let mut seen = BTreeSet::new();
    let outlines = document.catalog().ok().and_then(|catalog| follow(document, catalog, b"Outlines"));
    let mut pending: Vec<(u8, Option<&Object>)> = Vec::new();
    if let Some(first) = outlines.and_then(|outlines| outlines.get(b"First").ok()) {
        pending.push((1, Some(first)));
    }
    while let Some((level, Some(link))) = pending.pop() {
        let Ok(id) = link.as_reference() else { continue };
        let Ok(node) = document.get_dictionary(id) else { continue };
        if !seen.insert(id) || entries.len() >= ENTRIES_MAX {
            continue;
        }
        if let Some(title) = info::text(document, node, b"Title") {
            entries.push((level, title));
        }
        if let Ok(next) = node.get(b"Next") {
            pending.push((level, Some(next)));
        }
        if let Ok(first) = node.get(b"First") {
            pending.push(((level + 1).min(LEVELS_MAX), Some(first)));
        }
    }
    entries
}

fn follow<'a>(document: &'a Document, dictionary: &'a Dictionary, key: &[u8]) -> Option<&'a Dictionary> {
    document.dereference(dictionary.get(key).ok()?).ok()?.1.as_dict().ok()
}

/// Finds each entry as a line of the text, in order. A line that has a number before the title is that heading too
/// (`1 Introduction`); one with a page number behind it is of a table of contents. What is not found is left out.
pub(super) fn place(entries: &[Entry], text: &str) -> Vec<Mark> {
    let mut marks = Vec::new();
    let mut lines = Lines { text, at: 0 };
    for (level, title) in entries {
        let rest = lines.at;
        let found = lines.by_ref().find(|(_, line)| is_heading(line, title));
        match found {
            Some((at, line)) => {
                marks.push(Mark { at, kind: MarkKind::Heading { level: *level, text: line.trim().to_string() } });
            }
            // The next one may still be ahead.
            None => lines.at = rest,
        }
    }
    marks
}

fn is_heading(line: &str, title: &str) -> bool {
    let line = line.trim();
    let same = |a: &str| a.split_whitespace().eq(title.split_whitespace());
    if same(line) {
        return true;
    }
    let number = line.split_whitespace().next().unwrap_or_default();
    let is_number = number.starts_with(|c: char| c.is_ascii_digit())
        && number.chars().all(|c| c.is_ascii_digit() || c == '.');
    is_number && same(&line[number.len()..])
}

struct Lines<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Iterator for Lines<'a> {
    type Item = (usize, &'a str);

    fn next(&mut self) -> Option<(usize, &'a str)> {
        let rest = &self.text[self.at..];
        let line = rest.split_inclusive('\n').next()?;
        let at = self.at;
        self.at += line.len();
        Some((at, line))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_found_as_lines() {
        let text = "Contents\n1 Foo 2\n2 Bar 3\n\n1 Foo\ntext\nBar\nFoo\n";
        let entries: Vec<Entry> = ["Foo", "Gone", "Bar", "Foo"].iter().map(|t| (1, t.to_string())).collect();
        let seen: Vec<_> = place(&entries, text).iter().map(|mark| mark.at).collect();
        assert_eq!(seen, [26, 37, 41]);
    }
}
