//! What a PDF says of itself: its information dictionary, and the files in it.

use pdf_extract::{Dictionary, Document, Object};

/// Keys of the information dictionary, and the fields that they fill.
const FIELDS: [(&[u8], &str); 8] = [
    (b"Title", "title"),
    (b"Author", "author"),
    (b"Subject", "subject"),
    (b"Keywords", "keywords"),
    (b"Creator", "creator"),
    (b"Producer", "producer"),
    (b"CreationDate", "created"),
    (b"ModDate", "modified"),
];

pub(super) fn read(document: &Document) -> Vec<(&'static str, String)> {
    let info = document.trailer.get(b"Info").and_then(|info| document.dereference(info));
    let Ok((_, Object::Dictionary(info))) = info else { return Vec::new() };
    let field = |(key, name): &(&[u8], &'static str)| Some((*name, text(document, info, key)?));
    FIELDS.iter().filter_map(field).collect()
}

/// A string for people: UTF-16 or UTF-8 with a byte order mark, else nearly Latin 1 (ISO 32000-1, 7.9.2.2).
pub(super) fn text(document: &Document, dictionary: &Dictionary, key: &[u8]) -> Option<String> {
    let (_, object) = document.dereference(dictionary.get(key).ok()?).ok()?;
    let bytes = object.as_str().ok()?;
    let text = match bytes {
        [0xfe, 0xff, rest @ ..] => encoding_rs::UTF_16BE.decode_without_bom_handling(rest).0,
        [0xff, 0xfe, rest @ ..] => encoding_rs::UTF_16LE.decode_without_bom_handling(rest).0,
        [0xef, 0xbb, 0xbf, rest @ ..] => encoding_rs::UTF_8.decode_without_bom_handling(rest).0,
        // Many writers put UTF-8 there without saying so.
        _ => match std::str::from_utf8(bytes) {
            Ok(text) => text.into(),
            Err(_) => encoding_rs::WINDOWS_1252.decode_without_bom_handling(bytes).0,
        },
    };
    let text = text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|w| !w.is_empty());
    let text = text.collect::<Vec<_>>().join(" ");
    (!text.is_empty()).then_some(text)
}

/// How many files are embedded. They are not read.
pub(super) fn embedded_files(document: &Document) -> usize {
    let embedded = |object: &&Object| object.as_stream().is_ok_and(|stream| stream.dict.has_type(b"EmbeddedFile"));
    document.objects.values().filter(embedded).count()
}
