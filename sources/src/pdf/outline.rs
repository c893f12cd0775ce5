//! The outline of a PDF, as headings of its text.

use std::collections::{BTreeMap, BTreeSet};

use pdf_extract::{Dictionary, Document, Object};
use plumb_core::content::{Mark, MarkKind};

use super::info;

/// Entries of an outline that are looked at.
const ENTRIES_MAX: usize = 5_000;
/// Bytes of a line that may be a heading.
const LINE_BYTES: usize = 600;
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
    if entries.is_empty() {
        return Vec::new();
    }
    // Where each line stands, by its words and by its words without a number before them.
    let mut places: BTreeMap<String, Vec<(usize, &str)>> = BTreeMap::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if line.len() <= LINE_BYTES {
            for key in keys(line) {
                places.entry(key).or_default().push((at, line.trim()));
            }
        }
        at += line.len();
    }
    let mut marks = Vec::new();
    let mut from = 0;
    for (level, title) in entries {
        let Some(lines) = places.get(&words(title)) else { continue };
        let next = lines.partition_point(|(at, _)| *at < from);
        if let Some((at, line)) = lines.get(next) {
            marks.push(Mark { at: *at, kind: MarkKind::Heading { level: *level, text: (*line).to_string() } });
            from = at + 1;
        }
    }
    marks
}

fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn keys(line: &str) -> Vec<String> {
    let line = words(line);
    let (number, rest) = line.split_once(' ').unwrap_or_default();
    let is_number =
        number.starts_with(|c: char| c.is_ascii_digit()) && number.chars().all(|c| c.is_ascii_digit() || c == '.');
    let rest = rest.to_string();
    if is_number { vec![rest, line] } else { vec![line] }
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
