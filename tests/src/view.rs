//! Looking into JSON answers. A missing field fails the test and shows the whole answer.

use serde_json::Value;

/// The text of a field, by JSON pointer.
#[track_caller]
pub fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    match value.pointer(pointer).and_then(Value::as_str) {
        Some(text) => text,
        None => panic!("no text at `{pointer}` in {value:#}"),
    }
}

/// The number of a field, by JSON pointer.
#[track_caller]
pub fn count(value: &Value, pointer: &str) -> u64 {
    match value.pointer(pointer).and_then(Value::as_u64) {
        Some(count) => count,
        None => panic!("no number at `{pointer}` in {value:#}"),
    }
}

/// The list of a field, by JSON pointer.
#[track_caller]
pub fn list<'a>(value: &'a Value, pointer: &str) -> &'a [Value] {
    match value.pointer(pointer).and_then(Value::as_array) {
        Some(list) => list,
        None => panic!("no list at `{pointer}` in {value:#}"),
    }
}

/// Hits of a search.
#[track_caller]
pub fn hits(search: &Value) -> &[Value] {
    list(search, "/hits")
}

/// Citations of an answer (`ask`), each with the sentence that it carries.
#[track_caller]
pub fn citations(answer: &Value) -> Vec<(&Value, &str)> {
    let claims = list(answer, "/answer/claims");
    let carried_by = |id: &str| {
        let claim = claims.iter().find(|c| list(c, "/citations").iter().any(|s| s == id));
        claim.map_or("", |c| text(c, "/text"))
    };
    list(answer, "/answer/citations").iter().map(|c| (c, carried_by(text(c, "/id")))).collect()
}

/// Text with every run of white space as one space.
pub fn collapse(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
