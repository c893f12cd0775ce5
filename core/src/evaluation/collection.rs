//! Collections as JSON Lines: documents and queries, in the layouts of BEIR, of SciFact and of plain exports.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::text::{lines, name};
use super::{Fault, ReadError, Slices};

/// Names under which the id is kept, best first.
const ID: [&str; 5] = ["_id", "doc_id", "query_id", "id", "docno"];
/// Names under which the text of a document is kept.
const DOCUMENT_TEXT: [&str; 4] = ["text", "abstract", "body", "content"];
/// Names under which the text of a query is kept.
const QUERY_TEXT: [&str; 4] = ["text", "claim", "query", "title"];
/// The mark of the field of words in the format of SMART, which some exports of Cranfield left in the text.
const SMART_MARK: &str = ".W ";

/// A document of a collection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Its id, as judgments name it.
    pub id: String,
    /// Its title; may be empty.
    pub title: String,
    /// Its text, without the title; may be empty.
    pub text: String,
}

/// A query of a collection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JudgedQuery {
    /// Its id, as judgments name it.
    pub id: String,
    /// What is asked.
    pub text: String,
}

/// Reads documents: one JSON object on each line, with an id (`_id`, `doc_id`, `id`), a `title` if there is one, and the
/// text (`text`, `abstract`), which may be a list of sentences. Some collections begin the text with the title again; it
/// is taken off, for words that are said once must not count twice.
pub fn read_corpus(text: &str) -> Result<Vec<Record>, ReadError> {
    read_each(text, |object| {
        let id = id(object)?;
        let title = object.get("title").and_then(Value::as_str).unwrap_or_default().trim().to_string();
        let whole = text_of(object, &DOCUMENT_TEXT).ok_or(Fault::Missing("text"))?;
        let text = if title.is_empty() { None } else { whole.strip_prefix(&title).map(|t| t.trim_start().to_string()) };
        Ok((id.clone(), Record { id, title, text: text.unwrap_or(whole) }))
    })
}

/// Reads queries: one JSON object on each line, with an id and the text (`text`, `claim`, `query`). The slices of a
/// query are named in `slice` or `slices`; a claim of SciFact is in the slice of its label: `support`, `contradict`,
/// `mixed` or `no-evidence`.
pub fn read_queries(text: &str) -> Result<(Vec<JudgedQuery>, Slices), ReadError> {
    let mut slices = Slices::default();
    let queries = read_each(text, |object| {
        let id = id(object)?;
        let text = text_of(object, &QUERY_TEXT).ok_or(Fault::Missing("text"))?;
        for slice in slices_of(object) {
            slices.insert(slice, id.clone());
        }
        let text = text.strip_prefix(SMART_MARK).unwrap_or(&text).to_string();
        Ok((id.clone(), JudgedQuery { id, text }))
    })?;
    Ok((queries, slices))
}

/// Reads slices: a query and the name of a slice on each line, apart by a space or a tab. A query may stand on several
/// lines.
pub fn read_slices(text: &str) -> Result<Slices, ReadError> {
    let mut slices = Slices::default();
    for (number, line) in lines(text) {
        let columns: Vec<&str> = line?.split_whitespace().take(4).collect();
        let of = |fault| ReadError { line: number, fault };
        let [query, slice] = columns[..] else {
            let fault = Fault::Columns { found: columns.len(), wanted: "slices have 2: query slice" };
            return Err(of(fault));
        };
        slices.insert(name(slice).map_err(of)?, name(query).map_err(of)?);
    }
    Ok(slices)
}

/// One value from each line; an id stands once.
fn read_each<T>(
    text: &str,
    mut read: impl FnMut(&Map<String, Value>) -> Result<(String, T), Fault>,
) -> Result<Vec<T>, ReadError> {
    let (mut values, mut seen) = (Vec::new(), BTreeSet::new());
    for (number, line) in lines(text) {
        let of = |fault| ReadError { line: number, fault };
        let object: Map<String, Value> =
            serde_json::from_str(line?).map_err(|error| of(Fault::Json(error.to_string())))?;
        let (id, value) = read(&object).map_err(of)?;
        if !seen.insert(id.clone()) {
            return Err(of(Fault::Twice(id)));
        }
        values.push(value);
    }
    Ok(values)
}

fn id(object: &Map<String, Value>) -> Result<String, Fault> {
    let id = ID.iter().find_map(|key| match object.get(*key)? {
        Value::String(id) => Some(id.clone()),
        Value::Number(id) if !id.is_f64() => Some(id.to_string()),
        _ => None,
    });
    name(&id.ok_or(Fault::Missing("id"))?)
}

/// The first of these fields that is a text or a list of texts.
fn text_of(object: &Map<String, Value>, keys: &[&str]) -> Option<String> {
    keys.iter().find_map(|key| match object.get(*key)? {
        Value::String(text) => Some(text.trim().to_string()),
        Value::Array(parts) => parts.iter().map(Value::as_str).collect::<Option<Vec<_>>>().map(|parts| parts.join(" ")),
        _ => None,
    })
}

fn slices_of(object: &Map<String, Value>) -> BTreeSet<String> {
    let named = match (object.get("slices"), object.get("slice")) {
        (Some(Value::Array(names)), _) => names.iter().filter_map(Value::as_str).collect(),
        (_, Some(Value::String(slice))) => vec![slice.as_str()],
        _ => Vec::new(),
    };
    let named = named.into_iter().filter_map(|slice| name(slice).ok());
    named.chain(object.get("evidence").and_then(label_of)).collect()
}

/// The label of a claim by its evidence: documents, each with sets of sentences, each with a label.
fn label_of(evidence: &Value) -> Option<String> {
    let documents: &Map<String, Value> = evidence.as_object()?;
    let sets = documents.values().filter_map(Value::as_array).flatten();
    let mut labels: BTreeMap<&str, ()> = BTreeMap::new();
    labels.extend(sets.filter_map(|set| set.get("label")?.as_str()).map(|label| (label, ())));
    let has = |label| labels.contains_key(label);
    let name = match (has("SUPPORT"), has("CONTRADICT")) {
        (true, true) => "mixed",
        (true, false) => "support",
        (false, true) => "contradict",
        (false, false) => "no-evidence",
    };
    Some(name.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn documents_are_read_in_each_layout() {
        let text = r#"{"_id": "b1", "title": "On flow", "text": "Water flows.", "metadata": {}}
            {"doc_id": 4983, "title": "Brains", "abstract": ["One.", "Two."], "structured": false}

            {"doc_id": "7", "title": "on wings .", "text": "on wings . they lift ."}
            {"doc_id": "471", "text": ""}"#;
        let read: Vec<_> = read_corpus(text).unwrap().into_iter().map(|r| (r.id, r.title, r.text)).collect();
        let is = [
            ("b1", "On flow", "Water flows."),
            ("4983", "Brains", "One. Two."),
            ("7", "on wings .", "they lift ."),
            ("471", "", ""),
        ];
        assert_eq!(read, is.map(|(id, title, text)| (id.into(), title.into(), text.into())));
    }

    #[test]
    fn queries_are_read_with_their_slices() {
        let text = r#"{"query_id": "1", "original_id": "001", "text": ".W what laws"}
            {"id": 3, "claim": "It grows.", "evidence": {"9": [{"sentences": [1], "label": "SUPPORT"}]}}
            {"id": 4, "claim": "It shrinks.", "evidence": {}}
            {"_id": "x", "text": "asked", "slices": ["short", "rare"]}"#;
        let (queries, slices) = read_queries(text).unwrap();
        let texts: Vec<_> = queries.iter().map(|q| (q.id.as_str(), q.text.as_str())).collect();
        assert_eq!(texts, [("1", "what laws"), ("3", "It grows."), ("4", "It shrinks."), ("x", "asked")]);
        let names: Vec<_> = slices.iter().map(|(name, queries)| (name, queries.len())).collect();
        assert_eq!(names, [("no-evidence", 1), ("rare", 1), ("short", 1), ("support", 1)]);
    }

    #[test]
    fn a_wrong_line_is_named() {
        for (text, error) in [
            (
                "{\"id\": 1, \"text\": \"a\"}\n{\"id\": 1, \"text\": \"b\"}",
                "line 2: `1` was named before; keep one of the two lines",
            ),
            ("\n{\"text\": \"a\"}", "line 2: it has no id"),
            ("{\"id\": 1}", "line 1: it has no text"),
            (
                "{\"id\": \"a b\", \"text\": \"\"}",
                "line 1: `a b` is no name: it has 1 to 256 bytes, and neither spaces nor control characters",
            ),
        ] {
            assert_eq!(read_corpus(text).unwrap_err().to_string(), error);
        }
        for broken in ["[]", "{", "{} {}", "\u{0}", &"[".repeat(1000), &"{\"a\":".repeat(1000)] {
            assert!(matches!(read_corpus(broken).unwrap_err(), ReadError { line: 1, fault: Fault::Json(_) }));
        }
        let long = format!("{{\"id\": 1, \"text\": \"{}\"}}", "a".repeat(super::super::LINE_BYTES_MAX));
        assert_eq!(read_corpus(&long).unwrap_err().fault, Fault::TooLong);
        assert_eq!(read_slices("q1 short\nq2").unwrap_err().line, 2);
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "[{}\\[\\]\":,a-c0-9 \n]{0,60}") {
            let _ = (read_corpus(&text), read_queries(&text), read_slices(&text));
        }
    }
}
