//! The envelope: what an adapter takes out of one item (SIG-01), and the input it came from.

use std::collections::BTreeMap;
use std::sync::Arc;

use plumb_core::boundary::Sensitivity;
use plumb_core::content::Mark;
use plumb_core::knowledge::{KnowledgeType, SourceType};

use crate::address;

/// Bytes from outside, with where they came from.
#[derive(Clone, Debug)]
pub struct Input {
    /// A full URI: `file:///…`, `https://…`, `stdin:name`.
    pub address: String,
    /// What the sender says it is: a media type, or the extension of a file. Weak evidence: content decides, and
    /// this settles only what content leaves open (Markdown or plain text).
    pub declared: Option<String>,
    /// The bytes.
    pub bytes: Arc<[u8]>,
}

impl Input {
    /// An input.
    pub fn new(address: impl Into<String>, declared: Option<&str>, bytes: impl Into<Arc<[u8]>>) -> Input {
        Input { address: address.into(), declared: declared.map(str::to_string), bytes: bytes.into() }
    }

    /// The address of one item in it.
    pub(crate) fn item_address(&self, fragment: Option<&str>) -> String {
        match fragment {
            None => self.address.clone(),
            Some(fragment) => {
                let base = self.address.split('#').next().unwrap_or_default();
                format!("{base}#{}", address::percent_encode(fragment.as_bytes(), address::IN_FRAGMENT))
            }
        }
    }

    /// A title for want of a better: the last name in the address.
    pub(crate) fn name(&self) -> String {
        let path = self.address.split(['#', '?']).next().unwrap_or_default().trim_end_matches('/');
        let name = path.rsplit(['/', ':']).next().unwrap_or_default();
        let name = address::percent_decode(name);
        if name.trim().is_empty() { self.address.clone() } else { name }
    }
}

/// A value of metadata. There are no floats: what is kept must read the same on every machine (CHK-03).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MetaValue {
    /// Text, and whatever else has no integer form.
    Text(String),
    /// A whole number.
    Integer(i64),
}

impl MetaValue {
    /// The text, if it is one.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            MetaValue::Text(text) => Some(text),
            MetaValue::Integer(_) => None,
        }
    }
}

impl From<&str> for MetaValue {
    fn from(text: &str) -> MetaValue {
        MetaValue::Text(text.to_string())
    }
}

impl From<String> for MetaValue {
    fn from(text: String) -> MetaValue {
        MetaValue::Text(text)
    }
}

impl From<usize> for MetaValue {
    fn from(n: usize) -> MetaValue {
        MetaValue::Integer(i64::try_from(n).unwrap_or(i64::MAX))
    }
}

/// From what kind of signal an envelope comes, and which part of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OriginInfo {
    /// The kind of signal.
    pub source_type: SourceType,
    /// Which item of a container, if it is in one.
    pub fragment: Option<String>,
}

/// One item as an adapter understood it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignalEnvelope {
    /// The text, verbatim. Never empty when it comes out of [`read_source`](crate::read_source).
    pub text: String,
    /// Where it comes from.
    pub origin: OriginInfo,
    /// Names of entities that the source itself gives.
    pub entities: Vec<String>,
    /// What kind of knowledge it may be.
    pub suggested_type: KnowledgeType,
    /// How sensitive the source says it is. A suggestion: the boundary decides.
    pub suggested_sensitivity: Option<Sensitivity>,
    /// What else the source says of itself.
    pub raw_metadata: BTreeMap<String, MetaValue>,
    /// Its title.
    pub title: String,
    /// Media type of the bytes, by content.
    pub media_type: &'static str,
    /// The full address: that of the input, with `#fragment` for an item of a container.
    pub address: String,
    /// Headings and pages, in the order of the text.
    pub marks: Vec<Mark>,
    /// The item's own bytes: the whole file, or the line of JSON Lines.
    pub raw: Arc<[u8]>,
}

impl SignalEnvelope {
    /// The first field of this list that has a value of text.
    pub fn metadata_text(&self, keys: &[&str]) -> Option<&str> {
        keys.iter().find_map(|key| self.raw_metadata.get(*key)?.as_text()).filter(|text| !text.trim().is_empty())
    }
}

/// The first line with something in it, cut behind a word to `chars` characters.
pub(crate) fn first_line(text: &str, chars: usize) -> Option<String> {
    let line = text.lines().map(str::trim).find(|line| line.chars().any(char::is_alphanumeric))?;
    Some(shorten(line, chars))
}

/// Cuts behind a word, with an ellipsis, if it is longer than `chars` characters.
pub(crate) fn shorten(text: &str, chars: usize) -> String {
    let Some((limit, _)) = text.char_indices().nth(chars) else { return text.to_string() };
    let head = &text[..limit];
    let cut = head.rfind(char::is_whitespace).filter(|at| *at > limit / 2).unwrap_or(limit);
    format!("{}…", head[..cut].trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_has_the_address_of_its_container_and_a_fragment() {
        let input = Input::new("file:///a/corpus%20one.jsonl#old", None, Vec::new());
        assert_eq!(input.item_address(Some("a b#1")), "file:///a/corpus%20one.jsonl#a%20b%231");
        assert_eq!(input.item_address(None), "file:///a/corpus%20one.jsonl#old");
        assert_eq!(input.name(), "corpus one.jsonl");
        assert_eq!(Input::new("stdin:notes", None, Vec::new()).name(), "notes");
        assert_eq!(Input::new("https:///", None, Vec::new()).name(), "https:///");
    }

    #[test]
    fn a_long_line_is_cut_behind_a_word() {
        assert_eq!(shorten("one two three", 9), "one two…");
        assert_eq!(shorten("経経経経", 2), "経経…");
        assert_eq!(first_line("\n--\n  Title here \nrest", 80).as_deref(), Some("Title here"));
        assert_eq!(first_line(" \n---\n", 80), None);
    }
}
