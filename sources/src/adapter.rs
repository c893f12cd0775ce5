//! The one interface behind which every kind of source stands (ING-09).

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::ControlFlow;

use plumb_core::content::{self, Span};
use plumb_core::knowledge::KnowledgeType;
use plumb_core::measure::Timestamp;
use sha2::{Digest, Sha256};

use crate::dates::moment;
use crate::enrich::{self, Finding};
use crate::envelope::{Input, MetaValue, OriginInfo, SignalEnvelope};
use crate::limits::Limits;
use crate::parked::{Parked, ParkedItem};
use crate::sniff::{Decoded, Sniffed};

/// What an adapter gives for each item: an envelope, or the item parked on its own while the rest goes on.
pub type Item = Result<SignalEnvelope, ParkedItem>;

/// Where an adapter puts its items. After `Break` nobody listens, and the adapter returns.
pub type Emit<'a> = dyn FnMut(Item) -> ControlFlow<()> + 'a;

/// What an adapter reads: the input, what its bytes turned out to be, and the bounds to keep.
#[derive(Clone, Debug)]
pub struct Source {
    /// The input.
    pub input: Input,
    /// What its bytes are.
    pub sniffed: Sniffed,
    /// The bounds.
    pub limits: Limits,
}

impl Source {
    /// The text of the bytes.
    pub fn text(&self) -> Decoded<'_> {
        self.sniffed.decode(&self.input.bytes)
    }

    /// An envelope for the whole input: what is the same for every adapter is filled in.
    pub fn envelope(&self, text: String) -> SignalEnvelope {
        let mut raw_metadata = BTreeMap::new();
        if let Some(encoding) = self.sniffed.encoding.filter(|e| *e != encoding_rs::UTF_8) {
            raw_metadata.insert("encoding".to_string(), MetaValue::from(encoding.name().to_ascii_lowercase()));
        }
        SignalEnvelope {
            text,
            origin: OriginInfo::default(),
            entities: Vec::new(),
            suggested_type: KnowledgeType::Context,
            suggested_sensitivity: None,
            raw_metadata,
            title: String::new(),
            media_type: self.sniffed.media_type,
            address: self.input.address.clone(),
            marks: Vec::new(),
            raw: self.input.bytes.clone(),
        }
    }
}

/// What a source says about its use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rights {
    /// A licence or a statement of rights, in its own words or as an address.
    Stated(String),
    /// It says nothing. That is not permission.
    Unknown,
}

/// One kind of source. [`parse`](SourceAdapter::parse) is what tells adapters apart; the other methods have a
/// default that fits most.
pub trait SourceAdapter: Send + Sync {
    /// Name and version, such as `markdown/1`. A change in the text that comes out is a new version.
    fn name(&self) -> &'static str;

    /// Whether it reads bytes of this kind.
    fn accepts(&self, sniffed: &Sniffed) -> bool;

    /// Takes the items out of the bytes and emits each as it is found. `Err` parks the input as a whole; one bad
    /// item of a container is emitted as parked instead.
    fn parse(&self, source: &Source, emit: &mut Emit<'_>) -> Result<(), Parked>;

    /// Cuts the text of an item. The spans tile it.
    fn chunk(&self, envelope: &SignalEnvelope) -> Vec<Span> {
        content::chunk(&envelope.text, &envelope.marks)
    }

    /// What in the text can be told without knowing its language: dates, DOIs, addresses, each with its bytes.
    fn enrich(&self, envelope: &SignalEnvelope) -> Vec<Finding> {
        enrich::find(&envelope.text)
    }

    /// When the source says that it was changed last, else when it says that it was published.
    fn freshness_signal(&self, envelope: &SignalEnvelope) -> Option<Timestamp> {
        const CHANGED: [&str; 16] = [
            "modified",
            "updated",
            "last_modified",
            "lastmod",
            "date_modified",
            "updated_at",
            "published",
            "date",
            "date_published",
            "published_at",
            "publish_date",
            "created",
            "created_at",
            "issued",
            "pubdate",
            "timestamp",
        ];
        CHANGED.iter().find_map(|key| moment(envelope.raw_metadata.get(*key)?.as_text()?))
    }

    /// SHA-256 of the item's own bytes: equal as long as nothing changed.
    fn change_fingerprint(&self, envelope: &SignalEnvelope) -> [u8; 32] {
        Sha256::digest(&envelope.raw).into()
    }

    /// What the source says about its use.
    fn rights_resolver(&self, envelope: &SignalEnvelope) -> Rights {
        const STATED: [&str; 7] =
            ["license", "licence", "rights", "usage_terms", "dc.rights", "dcterms.rights", "dcterms.license"];
        envelope.metadata_text(&STATED).map_or(Rights::Unknown, |text| Rights::Stated(text.trim().to_string()))
    }

    /// One line that names the source to a reader.
    fn attribution_renderer(&self, envelope: &SignalEnvelope) -> String {
        format!("{} — {}", envelope.title, envelope.address)
    }
}

/// Keeps a field of metadata within its bounds. A field that is already there stays.
pub(crate) fn put_meta(
    metadata: &mut BTreeMap<String, MetaValue>,
    limits: &Limits,
    key: &str,
    value: impl Into<MetaValue>,
) {
    /// Longer names are no names.
    const KEY_CHARS: usize = 100;
    let key: Cow<'_, str> = if key.chars().any(char::is_uppercase) { key.to_lowercase().into() } else { key.into() };
    if metadata.len() >= limits.meta_fields || key.is_empty() || key.chars().count() > KEY_CHARS {
        return;
    }
    let value = match value.into() {
        MetaValue::Text(text) if text.trim().is_empty() => return,
        MetaValue::Text(text) => MetaValue::Text(text.trim().chars().take(limits.meta_chars).collect()),
        integer => integer,
    };
    metadata.entry(key.into_owned()).or_insert(value);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sniff::sniff;

    /// A kind of source that somebody else might add: records of one line, `title|text`.
    struct Toy;

    impl SourceAdapter for Toy {
        fn name(&self) -> &'static str {
            "toy/1"
        }
        fn accepts(&self, sniffed: &Sniffed) -> bool {
            sniffed.media_type == "text/plain"
        }
        fn parse(&self, source: &Source, emit: &mut Emit<'_>) -> Result<(), Parked> {
            for line in source.text().text.lines() {
                let (title, text) = line.split_once('|').unwrap_or((line, line));
                let mut envelope = source.envelope(text.to_string());
                envelope.title = title.to_string();
                put_meta(&mut envelope.raw_metadata, &source.limits, "Date", "2024-05-06");
                put_meta(&mut envelope.raw_metadata, &source.limits, "Rights", " CC0 ");
                if emit(Ok(envelope)).is_break() {
                    break;
                }
            }
            Ok(())
        }
    }

    #[test]
    fn a_new_adapter_needs_no_change_elsewhere() {
        let input = Input::new("stdin:toy", None, b"A|See https://example.org/a on 2024-01-02.".to_vec());
        let registry = crate::Registry::new(vec![std::sync::Arc::new(Toy)]);
        let mut seen = Vec::new();
        let summary = crate::read_source(&registry, &input, &mut |item| {
            seen.push(item.unwrap());
            ControlFlow::Continue(())
        })
        .unwrap();
        assert_eq!((summary.adapter, summary.items), ("toy/1", 1));
        let envelope = &seen[0];
        assert_eq!(Toy.attribution_renderer(envelope), "A — stdin:toy");
        assert_eq!(Toy.rights_resolver(envelope), Rights::Stated("CC0".into()));
        assert_eq!(Toy.freshness_signal(envelope).unwrap().to_string(), "2024-05-06T00:00:00.000Z");
        assert_eq!(Toy.chunk(envelope).len(), 1);
        assert_eq!(Toy.enrich(envelope).len(), 2);
        assert_eq!(Toy.change_fingerprint(envelope), <[u8; 32]>::from(Sha256::digest(&input.bytes)));
    }

    #[test]
    fn metadata_keeps_its_bounds() {
        let limits = Limits { meta_fields: 2, meta_chars: 3, ..Limits::default() };
        let mut metadata = BTreeMap::new();
        for (key, value) in [("A", "long value"), ("b", "  "), ("", "x"), ("a", "second"), ("c", "x"), ("d", "x")] {
            put_meta(&mut metadata, &limits, key, value);
        }
        let seen: Vec<_> = metadata.iter().map(|(k, v)| (k.as_str(), v.as_text().unwrap())).collect();
        assert_eq!(seen, [("a", "lon"), ("c", "x")]);
    }

    #[test]
    fn a_source_that_says_nothing_has_unknown_rights() {
        let bytes: &[u8] = b"text";
        let source = Source {
            input: Input::new("stdin:x", None, bytes),
            sniffed: sniff(bytes, None),
            limits: Limits::default(),
        };
        let envelope = source.envelope("text".into());
        assert_eq!(Toy.rights_resolver(&envelope), Rights::Unknown);
        assert_eq!(Toy.freshness_signal(&envelope), None);
    }
}
