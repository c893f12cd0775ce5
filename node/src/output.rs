//! What a command prints: one JSON document, or text for a person. Nothing else goes to standard output.

use std::io::Write;

use serde::Serialize;

/// Prints a result in the form that was asked for.
pub fn emit<T: Serialize>(json: bool, value: &T, human: impl FnOnce() -> String) -> anyhow::Result<()> {
    if json { write(&format!("{}\n", serde_json::to_string_pretty(value)?)) } else { write(&plain(&human())) }
}

/// Writes to standard output. Whoever reads it may have heard enough (`plumb … | head`): that is no failure.
pub fn write(text: &str) -> anyhow::Result<()> {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}

/// Says something beside the result.
pub fn remark(text: &str) {
    // Standard error may be closed; then nobody wanted to hear it.
    let _ = writeln!(std::io::stderr(), "{}", plain(text).trim_end());
}

/// Text without what would drive a terminal: documents and names come from outside, and an escape sequence in a title
/// must not move a cursor or hide a line.
pub fn plain(text: &str) -> String {
    let drives = |c: char| {
        (c.is_control() && c != '\n' && c != '\t') || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    text.chars().map(|c| if drives(c) { '\u{fffd}' } else { c }).collect()
}

/// Text on one line, at most so many characters.
pub fn line(text: &str, chars_max: usize) -> String {
    let mut line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some((at, _)) = line.char_indices().nth(chars_max) {
        line.truncate(at);
        line.push('…');
    }
    line
}

/// Rows in columns.
#[derive(Default)]
pub struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these headings.
    pub fn new(headings: &[&str]) -> Table {
        Table { rows: vec![headings.iter().map(ToString::to_string).collect()] }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// The rows below each other, or a word if there are none.
    pub fn show(&self, none: &str) -> String {
        if self.rows.len() < 2 {
            return format!("{none}\n");
        }
        let n_columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |i: usize| self.rows.iter().filter_map(|r| r.get(i)).map(|c| c.chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..n_columns).map(width).collect();
        let mut text = String::new();
        for row in &self.rows {
            let cells: Vec<String> = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
            text.push_str(cells.join("  ").trim_end());
            text.push('\n');
        }
        text
    }
}

/// `1 source`, `2 sources`.
pub fn count(n: u64, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

/// The end of a `did:key` or a CID: enough for a person to tell a few apart.
pub fn short(id: &str) -> String {
    match id.char_indices().rev().nth(7) {
        Some((at, _)) if at > 0 => format!("…{}", &id[at..]),
        _ => id.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_cannot_drive_the_terminal() {
        assert_eq!(plain("a\u{1b}[2Jb\r\n\tc\u{202e}d"), "a\u{fffd}[2Jb\u{fffd}\n\tc\u{fffd}d");
    }

    #[test]
    fn columns_line_up() {
        let mut table = Table::new(&["id", "state"]);
        assert_eq!(table.show("no jobs"), "no jobs\n");
        table.row(["übung".to_string(), "done".to_string()]);
        assert_eq!(table.show(""), "id     state\nübung  done\n");
    }

    #[test]
    fn long_lines_are_cut_between_characters() {
        assert_eq!(line("äöü  \n x", 3), "äöü…");
        assert_eq!(line("abc", 3), "abc");
        assert_eq!((short("did:key:z6MkABCDEFGH").as_str(), short("abc").as_str()), ("…ABCDEFGH", "abc"));
    }
}
