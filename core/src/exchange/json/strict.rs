//! Reading JSON so that every reader reads the same: whole numbers that a double holds, no name twice in one map.
//!
//! JSON itself allows more (RFC 8259 §4, §6), and what is signed is the canonical form of what a reader understood: two
//! readers that take different ones of two equal names would both find the signature good, over different documents.

use std::cell::Cell;
use std::fmt;

use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use super::JsonError;

/// The largest number up to which every whole number is a double: 2^53 − 1.
const NUMBER_MAX: u64 = (1 << 53) - 1;

/// Most values of a document, each list and map counted. The largest bundle has one for each of its blocks and a few dozen
/// for each citation; and a value takes many times the two bytes that it can have in the file.
const VALUES_MAX: u32 = 200_000;

/// Most characters of a name in a message.
const NAME_CHARS_MAX: usize = 80;

/// Reads a document. Nesting is bounded by the parser, at 128.
pub(super) fn read(bytes: &[u8]) -> Result<Value, JsonError> {
    let left = Cell::new(VALUES_MAX);
    let mut parser = serde_json::Deserializer::from_slice(bytes);
    let document = Reader { left: &left }.deserialize(&mut parser);
    let document = document.and_then(|document| parser.end().map(|()| document));
    document.map_err(|e| JsonError::Read(e.to_string()))
}

/// A name as it may stand in a message.
pub(super) fn cut(name: &str) -> String {
    name.chars().take(NAME_CHARS_MAX).collect()
}

/// It has no way to take a fraction, which is therefore refused.
#[derive(Clone, Copy)]
struct Reader<'a> {
    /// Values that may still come.
    left: &'a Cell<u32>,
}

impl<'de> DeserializeSeed<'de> for Reader<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        match self.left.get().checked_sub(1) {
            Some(left) => self.left.set(left),
            None => return Err(de::Error::custom(format!("it has more than {VALUES_MAX} values"))),
        }
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Reader<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("text, a whole number, true, false, null, a list or a map")
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Value, E> {
        if value.unsigned_abs() <= NUMBER_MAX { Ok(value.into()) } else { Err(too_large(value)) }
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Value, E> {
        if value <= NUMBER_MAX { Ok(value.into()) } else { Err(too_large(value)) }
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E: de::Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(self)? {
            list.push(item);
        }
        Ok(list.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(name) = members.next_key::<String>()? {
            if map.contains_key(&name) {
                return Err(de::Error::custom(format!("`{}` stands twice in one map", cut(&name))));
            }
            map.insert(name, members.next_value_seed(self)?);
        }
        Ok(map.into())
    }
}

fn too_large<E: de::Error>(number: impl fmt::Display) -> E {
    E::custom(format!("{number} lies beyond 2^53, so readers of JSON would round it"))
}

/// Refuses numbers that [`read`] would not take, by the field's name.
pub(super) fn check_numbers(document: &Value) -> Result<(), JsonError> {
    walk(document, &mut String::new(), &mut |value, path| match value {
        Value::Number(n) if n.as_u64().or(n.as_i64().map(i64::unsigned_abs)).is_none_or(|n| n > NUMBER_MAX) => {
            Err(JsonError::Number(path.to_string()))
        }
        _ => Ok(()),
    })
}

fn walk(
    value: &Value,
    path: &mut String,
    visit: &mut impl FnMut(&Value, &str) -> Result<(), JsonError>,
) -> Result<(), JsonError> {
    visit(value, path)?;
    let len = path.len();
    match value {
        Value::Array(items) => {
            for (i, item) in items.iter().enumerate() {
                path.push_str(&format!("[{i}]"));
                walk(item, path, visit)?;
                path.truncate(len);
            }
        }
        Value::Object(members) => {
            for (name, member) in members {
                push_name(path, name);
                walk(member, path, visit)?;
                path.truncate(len);
            }
        }
        _ => {}
    }
    Ok(())
}

fn push_name(path: &mut String, name: &str) {
    if !path.is_empty() {
        path.push('.');
    }
    path.push_str(&cut(name));
}

/// Compares a document with the one that the blocks give, and names the first field that differs. What is too much is
/// looked for first: a field that was added is the likeliest attempt to say something unsigned.
pub(super) fn compare(ours: &Value, theirs: &Value) -> Result<(), JsonError> {
    compare_at(ours, theirs, &mut String::new())
}

fn compare_at(ours: &Value, theirs: &Value, path: &mut String) -> Result<(), JsonError> {
    let len = path.len();
    match (ours, theirs) {
        (Value::Object(ours), Value::Object(theirs)) => {
            if let Some(name) = theirs.keys().find(|name| !ours.contains_key(*name)) {
                push_name(path, name);
                return Err(JsonError::Unknown(path.clone()));
            }
            for (name, our) in ours {
                push_name(path, name);
                match theirs.get(name) {
                    Some(their) => compare_at(our, their, path)?,
                    None => return Err(JsonError::Missing(path.clone())),
                }
                path.truncate(len);
            }
            Ok(())
        }
        (Value::Array(ours), Value::Array(theirs)) if ours.len() == theirs.len() => {
            for (i, (our, their)) in ours.iter().zip(theirs).enumerate() {
                path.push_str(&format!("[{i}]"));
                compare_at(our, their, path)?;
                path.truncate(len);
            }
            Ok(())
        }
        (ours, theirs) if ours == theirs => Ok(()),
        _ => Err(JsonError::Differs(path.clone())),
    }
}
