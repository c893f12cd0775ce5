//! JSON Lines: a container of records, one on each line.

mod record;

use std::borrow::Cow;
use std::collections::BTreeSet;

use encoding_rs::UTF_8;
use sha2::{Digest, Sha256};

use crate::adapter::{Emit, Source, SourceAdapter};
use crate::parked::{ParkReason, Parked, ParkedItem};
use crate::sniff::Sniffed;

/// Records with an id, a title and a text. Each is an item of its own, at the address of the file and the record's
/// id; a line that cannot be read is parked on its own.
pub struct JsonLines;

impl SourceAdapter for JsonLines {
    fn name(&self) -> &'static str {
        "jsonl/1"
    }

    fn accepts(&self, sniffed: &Sniffed) -> bool {
        sniffed.media_type == "application/jsonl"
    }

    fn parse(&self, source: &Source, emit: &mut Emit<'_>) -> Result<(), Parked> {
        let mut ids = Ids::default();
        for (line, number) in lines(source).zip(1usize..) {
            let line = line.strip_suffix(b"\r").unwrap_or(&line);
            if line.trim_ascii().is_empty() {
                continue;
            }
            let item = read_line(source, line, number, &mut ids);
            if emit(item).is_break() {
                break;
            }
        }
        Ok(())
    }
}

/// The lines, without their ends. In UTF-8, and in whatever is not quite UTF-8, they are cut before they are decoded:
/// one line in another encoding then spoils no other.
fn lines(source: &Source) -> Box<dyn Iterator<Item = Cow<'_, [u8]>> + '_> {
    let bytes = &source.input.bytes[source.sniffed.bom..];
    if source.sniffed.encoding.is_none_or(|encoding| encoding.is_ascii_compatible()) {
        return Box::new(bytes.split(|b| *b == b'\n').map(Cow::Borrowed));
    }
    let text = source.text().text.into_owned();
    let mut from = 0;
    Box::new(std::iter::from_fn(move || {
        let rest = text.get(from..)?;
        let length = rest.find('\n').unwrap_or(rest.len());
        from += length + 1;
        Some(Cow::Owned(rest.as_bytes()[..length].to_vec()))
    }))
}

fn read_line(source: &Source, line: &[u8], number: usize, ids: &mut Ids) -> Result<crate::SignalEnvelope, ParkedItem> {
    let by_number = || format!("line-{number}");
    let park = |fragment: Option<String>, reason: ParkReason, detail: String| ParkedItem {
        fragment: fragment.unwrap_or_else(by_number),
        parked: Parked::new(reason, format!("line {number}: {detail}")),
    };
    let limit = source.limits.line_bytes;
    if line.len() > limit {
        return Err(park(None, ParkReason::TooLarge, format!("{} bytes, and {limit} are allowed", line.len())));
    }
    let (text, encoding) = match std::str::from_utf8(line) {
        Ok(text) => (Cow::Borrowed(text), UTF_8),
        Err(_) => {
            let encoding = source.sniffed.encoding.unwrap_or(UTF_8);
            (encoding.decode_without_bom_handling(line).0, encoding)
        }
    };
    let record = record::read(&text).map_err(|(reason, detail)| park(None, reason, detail))?;
    // An id that looks like the number of a line could be taken for one.
    let id = record.id.filter(|id| !id.starts_with("line-") && ids.is_new(id));
    let fragment = id.unwrap_or_else(by_number);
    if record.text.trim().is_empty() {
        let detail = format!("nothing in its fields {}", record::TEXT.join(", "));
        return Err(park(Some(fragment), ParkReason::Empty, detail));
    }
    let mut envelope = source.envelope(record.text);
    envelope.raw_metadata.clear();
    if encoding != UTF_8 {
        envelope.raw_metadata.insert("encoding".into(), encoding.name().to_ascii_lowercase().into());
    }
    for (key, value) in record.metadata {
        crate::adapter::put_meta(&mut envelope.raw_metadata, &source.limits, &key, value);
    }
    envelope.title = record.title.unwrap_or_else(|| fragment.clone());
    envelope.entities = record.entities;
    envelope.address = source.input.item_address(Some(&fragment));
    envelope.origin.fragment = Some(fragment);
    envelope.raw = line.into();
    Ok(envelope)
}

/// The ids that were seen. Two records of one id need two addresses: the second is named by its line.
#[derive(Default)]
struct Ids(BTreeSet<[u8; 16]>);

impl Ids {
    fn is_new(&mut self, id: &str) -> bool {
        // Only part of a hash is kept of each, so that a million long ids stay small.
        let digest: [u8; 32] = Sha256::digest(id.as_bytes()).into();
        let mut head = [0; 16];
        head.copy_from_slice(&digest[..16]);
        self.0.insert(head)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::tests::{all, under};
    use crate::{Limits, MetaValue};

    const ADDRESS: &str = "file:///a/corpus.jsonl";

    fn titles(bytes: &[u8]) -> Vec<(String, String, String)> {
        let (envelopes, parked, _) = all(ADDRESS, Some("jsonl"), bytes);
        assert_eq!(parked, []);
        envelopes.into_iter().map(|e| (e.address.replace(ADDRESS, ""), e.title, e.text)).collect()
    }

    fn of(parts: &[(&str, &str, &str)]) -> Vec<(String, String, String)> {
        parts.iter().map(|(a, b, c)| (a.to_string(), b.to_string(), c.to_string())).collect()
    }

    #[test]
    fn records() {
        let lines = concat!(
            "{\"doc_id\": 4983, \"title\": \"T\", \"abstract\": [\"One sentence.\", \"Two.\"], \"structured\": false}\n",
            "\r\n",
            "{\"_id\": \"a b\", \"text\": \"First line\\nsecond\"}\r\n",
            "{\"query_id\": 7, \"title\": \"Only a title\"}\n",
            "{\"body\": \"No id\"}\n",
            "{\"id\": 4983, \"content\": \"Same id\"}",
        );
        assert_eq!(
            titles(lines.as_bytes()),
            of(&[
                ("#4983", "T", "One sentence. Two."),
                ("#a%20b", "First line", "First line\nsecond"),
                ("#7", "Only a title", "Only a title"),
                ("#line-5", "No id", "No id"),
                ("#line-6", "Same id", "Same id"),
            ])
        );
    }

    #[test]
    fn a_bad_line_is_parked_alone() {
        let deep = format!("{{\"text\": {}1{}}}", "[".repeat(100_000), "]".repeat(100_000));
        let lines = format!(
            "{{\"id\": 1, \"text\": \"a\"}}\n{{broken\n[1]\n{deep}\n{{\"id\": \"e\", \"text\": \" \"}}\n{{\"n\": 1}}\n{{\"id\": 2, \"text\": \"b\"}}\n"
        );
        let (envelopes, parked, summary) = all(ADDRESS, Some("jsonl"), lines.as_bytes());
        assert_eq!(envelopes.len(), 2);
        let seen: Vec<_> = parked.iter().map(|p| (p.fragment.as_str(), p.parked.reason.clone())).collect();
        assert_eq!(
            seen,
            [
                ("line-2", ParkReason::Broken),
                ("line-3", ParkReason::Broken),
                ("line-4", ParkReason::TooDeep),
                ("e", ParkReason::Empty),
                ("line-6", ParkReason::Empty),
            ]
        );
        assert_eq!(summary.unwrap().parked, 5);
        assert!(
            parked[0].to_string().starts_with("line-2: it is damaged and cannot be read (line 2: "),
            "{}",
            parked[0]
        );
    }

    #[test]
    fn a_line_that_is_too_long_is_parked_alone() {
        let lines = format!("{{\"id\": 1, \"text\": \"{}\"}}\n{{\"id\": 2, \"text\": \"b\"}}\n", "a".repeat(100));
        let limits = Limits { line_bytes: 60, ..Limits::default() };
        let (envelopes, parked, _) = under(limits, ADDRESS, Some("jsonl"), lines.as_bytes());
        assert_eq!((envelopes.len(), &parked[0].parked.reason), (1, &ParkReason::TooLarge));
    }

    #[test]
    fn an_item_has_its_own_bytes_and_metadata() {
        let line = "{\"id\": \"x\", \"text\": \"a\", \"year\": 1958, \"score\": 0.5, \"license\": \"CC0\", \"tags\": [\"b\"], \"entities\": [\"project-c\"]}";
        let (envelopes, _, _) = all(ADDRESS, None, format!("{line}\n{line}\n").as_bytes());
        assert_eq!(envelopes[0].raw.as_ref(), line.as_bytes());
        assert_eq!(envelopes[0].origin.fragment.as_deref(), Some("x"));
        assert_eq!(envelopes[0].entities, ["project-c"]);
        let metadata = &envelopes[0].raw_metadata;
        assert_eq!(metadata["year"], MetaValue::Integer(1958));
        assert_eq!(metadata["score"], MetaValue::from("0.5"));
        assert_eq!(metadata["tags"], MetaValue::from("[\"b\"]"));
        assert_eq!(metadata["id"], MetaValue::from("x"));
    }

    #[test]
    fn encodings() {
        let utf16: Vec<u8> = "\u{feff}{\"id\": 1, \"text\": \"ü\"}\n{\"id\": 2, \"text\": \"ö\"}"
            .encode_utf16()
            .flat_map(u16::to_le_bytes)
            .collect();
        assert_eq!(titles(&utf16), of(&[("#1", "ü", "ü"), ("#2", "ö", "ö")]));
        let mixed = b"{\"id\": 1, \"text\": \"\xc3\xa9t\xc3\xa9\"}\n{\"id\": 2, \"text\": \"\xe9t\xe9 fran\xe7ais\"}\n";
        assert_eq!(titles(mixed), of(&[("#1", "été", "été"), ("#2", "été français", "été français")]));
    }
}
