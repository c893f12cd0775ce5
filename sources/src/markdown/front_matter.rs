//! Front matter: the fields between two lines `---` at the beginning of a file.
//!
//! Only the flat part of YAML that people write there is read: `key: value` at the left margin, and lists of plain
//! values. Nested structures are left alone; the text keeps them as they are.

use crate::envelope::MetaValue;

/// How many lines front matter may have. Without an end by then, the first `---` was a line to look at.
const LINES_MAX: usize = 400;

/// What was found.
#[derive(Debug, Default)]
pub(super) struct FrontMatter {
    /// Name and value of each field.
    pub(super) fields: Vec<(String, MetaValue)>,
    /// Byte offset behind it; 0 if there is none.
    pub(super) end: usize,
}

pub(super) fn read(text: &str) -> FrontMatter {
    let mut lines = text.split_inclusive('\n');
    let Some(first) = lines.next().filter(|line| line.trim_end() == "---") else {
        return FrontMatter::default();
    };
    let mut front = FrontMatter { fields: Vec::new(), end: first.len() };
    let mut list: Option<(String, Vec<String>)> = None;
    for line in lines.take(LINES_MAX) {
        front.end += line.len();
        let trimmed = line.trim_end();
        if trimmed == "---" || trimmed == "..." {
            close(&mut list, &mut front.fields);
            return front;
        }
        if let Some(item) = trimmed.trim_start().strip_prefix("- ") {
            if let Some((_, items)) = &mut list {
                items.push(unquote(item).to_string());
            }
            continue;
        }
        if trimmed.starts_with([' ', '\t', '#']) || trimmed.is_empty() {
            continue;
        }
        close(&mut list, &mut front.fields);
        let Some((key, value)) = trimmed.split_once(':') else { continue };
        let (key, value) = (unquote(key).to_string(), value.trim());
        if value.is_empty() {
            list = Some((key, Vec::new()));
        } else if !value.starts_with(['|', '>', '{', '&', '*']) {
            front.fields.push((key, scalar(value)));
        }
    }
    FrontMatter::default()
}

fn close(list: &mut Option<(String, Vec<String>)>, fields: &mut Vec<(String, MetaValue)>) {
    if let Some((key, items)) = list.take().filter(|(_, items)| !items.is_empty()) {
        fields.push((key, items.join(", ").into()));
    }
}

fn scalar(value: &str) -> MetaValue {
    if let Some(items) = value.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        return items.split(',').map(unquote).collect::<Vec<_>>().join(", ").into();
    }
    let quoted = value.starts_with(['"', '\'']);
    // A comment begins behind a space; inside quotes it is text.
    let value = if quoted { value } else { value.split(" #").next().unwrap_or(value) };
    let whole = value.trim().parse::<i64>().ok().filter(|n| n.to_string() == value.trim());
    match whole {
        Some(n) if !quoted => MetaValue::Integer(n),
        _ => unquote(value).into(),
    }
}

fn unquote(text: &str) -> &str {
    let text = text.trim();
    let inside = |quote: char| text.strip_prefix(quote)?.strip_suffix(quote);
    inside('"').or_else(|| inside('\'')).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[(&str, &str)], rest: &str) {
        let front = read(text);
        let seen: Vec<_> = front
            .fields
            .iter()
            .map(|(key, value)| match value {
                MetaValue::Text(text) => (key.as_str(), text.clone()),
                MetaValue::Integer(n) => (key.as_str(), format!("#{n}")),
            })
            .collect();
        let seen: Vec<_> = seen.iter().map(|(key, value)| (*key, value.as_str())).collect();
        assert_eq!(seen, expected, "{text}");
        assert_eq!(&text[front.end..], rest);
    }

    #[test]
    fn fields() {
        check(
            "---\na: 1\nb: '1'\nc: x # y\nd: \"x # y\"\n---\nText",
            &[("a", "#1"), ("b", "1"), ("c", "x"), ("d", "x # y")],
            "Text",
        );
        check("---\r\na: [x, \"y\"]\r\n# b: c\r\n...\r\nText", &[("a", "x, y")], "Text");
        check("---\na:\n- x\n- y\nb:\n  c: d\n---\n", &[("a", "x, y")], "");
        check("---\na: |\n  long\ndate: 2024-01-02\nn: 007\n---\n", &[("date", "2024-01-02"), ("n", "007")], "");
    }

    #[test]
    fn what_is_no_front_matter() {
        for text in ["", "---", "---\nText\n", "\n---\na: b\n---\n", "----\na: b\n----\n"] {
            check(text, &[], text);
        }
    }
}
