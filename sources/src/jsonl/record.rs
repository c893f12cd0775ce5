//! One record: which of its fields is the id, the title, the text.

use serde_json::{Map, Value};

use crate::envelope::{MetaValue, first_line};
use crate::parked::ParkReason;

/// Names under which corpora keep the id, best first.
const ID: [&str; 4] = ["id", "doc_id", "_id", "query_id"];
/// Names under which corpora keep the text, best first.
pub(super) const TEXT: [&str; 4] = ["text", "abstract", "body", "content"];

/// Longest id that names an item. A longer one is text that somebody put there.
const ID_BYTES: usize = 200;
/// Characters of a title that is made of the text.
const TITLE_CHARS: usize = 100;
/// Entities taken from one record.
const ENTITIES_MAX: usize = 256;

/// A record as it was understood.
#[derive(Debug)]
pub(super) struct Record {
    pub(super) id: Option<String>,
    pub(super) title: Option<String>,
    pub(super) text: String,
    pub(super) entities: Vec<String>,
    pub(super) metadata: Vec<(String, MetaValue)>,
}

/// Reads a line. A record that has a title and no text is about its title.
pub(super) fn read(line: &str) -> Result<Record, (ParkReason, String)> {
    let value: Value = serde_json::from_str(line).map_err(|error| {
        let detail = error.to_string();
        // Nesting beyond 128 is refused by the parser; it has no other name for it than its words.
        let reason = if detail.contains("recursion limit") { ParkReason::TooDeep } else { ParkReason::Broken };
        (reason, detail)
    })?;
    let Value::Object(mut fields) = value else {
        return Err((ParkReason::Broken, "it is not an object".into()));
    };
    let id = ID.iter().find_map(|key| id(fields.get(*key)?));
    let own_title = match fields.remove("title") {
        Some(Value::String(title)) if !title.trim().is_empty() => Some(title),
        _ => None,
    };
    let text = take_text(&mut fields).or_else(|| own_title.clone()).unwrap_or_default();
    let entities = match fields.remove("entities") {
        Some(Value::Array(names)) => names.into_iter().filter_map(name).take(ENTITIES_MAX).collect(),
        _ => Vec::new(),
    };
    Ok(Record {
        id,
        title: own_title.or_else(|| first_line(&text, TITLE_CHARS)),
        text,
        entities,
        metadata: fields.into_iter().filter_map(|(key, value)| Some((key, meta(value)?))).collect(),
    })
}

fn id(value: &Value) -> Option<String> {
    let id = match value {
        Value::String(id) => id.trim().to_string(),
        Value::Number(n) if !n.is_f64() => n.to_string(),
        _ => return None,
    };
    (!id.is_empty() && id.len() <= ID_BYTES && !id.contains(char::is_control)).then_some(id)
}

fn name(value: Value) -> Option<String> {
    match value {
        Value::String(name) if !name.trim().is_empty() => Some(name),
        _ => None,
    }
}

/// The first field of text that says something. Sentences that stand apart in an array are joined by one space, so
/// that each is still there word for word.
fn take_text(fields: &mut Map<String, Value>) -> Option<String> {
    for key in TEXT {
        let text = match fields.get(key) {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Array(parts)) if parts.iter().all(Value::is_string) => {
                parts.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" ")
            }
            _ => continue,
        };
        fields.remove(key);
        if !text.trim().is_empty() {
            return Some(text);
        }
    }
    None
}

/// Integers stay such; text stays text; anything else is kept as it would be written.
fn meta(value: Value) -> Option<MetaValue> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(MetaValue::Text(text)),
        Value::Number(n) => Some(n.as_i64().map_or_else(|| MetaValue::Text(n.to_string()), MetaValue::Integer)),
        other => Some(MetaValue::Text(other.to_string())),
    }
}
