//! What bytes are: media type and encoding, by content.
//!
//! Three questions in this order. Do the first bytes name a binary format ([`magic`])? If not, in which encoding are
//! they text, if any ([`encoding`])? And what kind of text is it ([`kind`])? What the sender declared is asked only
//! where content leaves two answers open.

mod encoding;
mod kind;
mod magic;

pub(crate) use magic::find;

use std::borrow::Cow;

use encoding_rs::Encoding;

use crate::parked::{ParkReason, Parked};

/// What bytes turned out to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sniffed {
    /// The media type.
    pub media_type: &'static str,
    /// The encoding, if it is text.
    pub encoding: Option<&'static Encoding>,
    /// Bytes of the byte order mark, which is no part of the text.
    pub bom: usize,
    /// Why no adapter needs to be asked: it is empty, or neither text nor a known format.
    pub refused: Option<Parked>,
}

/// Bytes as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decoded<'a> {
    /// The text.
    pub text: Cow<'a, str>,
    /// Whether bytes that mean nothing in the encoding were replaced by U+FFFD.
    pub damaged: bool,
}

impl Sniffed {
    /// The text of the bytes that were sniffed; empty if they are no text.
    pub fn decode<'a>(&self, bytes: &'a [u8]) -> Decoded<'a> {
        let bytes = bytes.get(self.bom..).unwrap_or_default();
        let Some(encoding) = self.encoding else {
            return Decoded { text: Cow::Borrowed(""), damaged: false };
        };
        let (text, damaged) = encoding.decode_without_bom_handling(bytes);
        Decoded { text, damaged }
    }

    fn binary(media_type: &'static str) -> Sniffed {
        Sniffed { media_type, encoding: None, bom: 0, refused: None }
    }
}

/// Looks at bytes. `declared` is a media type or the extension of a file name, with or without parameters.
pub fn sniff(bytes: &[u8], declared: Option<&str>) -> Sniffed {
    if bytes.is_empty() {
        return Sniffed { refused: Some(ParkReason::Empty.into()), ..Sniffed::binary("application/x-empty") };
    }
    if let Some(media_type) = magic::media_type(bytes) {
        return Sniffed::binary(media_type);
    }
    let declared = Declared::of(declared);
    let (encoding, bom) = match encoding::detect(bytes, declared.charset) {
        Ok(found) => found,
        Err(why) => {
            let refused = Some(Parked::new(ParkReason::Binary, why));
            return Sniffed { refused, ..Sniffed::binary("application/octet-stream") };
        }
    };
    let mut sniffed = Sniffed { media_type: "text/plain", encoding: Some(encoding), bom, refused: None };
    let decoded = sniffed.decode(bytes);
    if let Some(why) = encoding::not_text(&decoded) {
        let refused = Some(Parked::new(ParkReason::Binary, why));
        return Sniffed { refused, ..Sniffed::binary("application/octet-stream") };
    }
    sniffed.media_type = kind::of(&decoded.text, &declared);
    sniffed
}

/// What the sender says it is.
#[derive(Debug, Default)]
struct Declared {
    /// A word for the kind: the extension, or the last part of the media type.
    kind: Option<String>,
    charset: Option<&'static Encoding>,
}

impl Declared {
    fn of(declared: Option<&str>) -> Declared {
        let Some(declared) = declared else { return Declared::default() };
        let mut parts = declared.split(';').map(str::trim);
        let kind = parts.next().unwrap_or_default().trim_start_matches('.').to_ascii_lowercase();
        // `text/markdown` and `text/x-markdown` and `md` are one kind, as are `application/xhtml+xml` and `xhtml`.
        let kind = kind.rsplit('/').next().unwrap_or_default().trim_start_matches("x-").to_string();
        let charset = parts
            .filter_map(|part| part.split_once('='))
            .find(|(key, _)| key.trim().eq_ignore_ascii_case("charset"))
            .and_then(|(_, label)| Encoding::for_label(label.trim().trim_matches(['"', '\'']).as_bytes()));
        Declared { kind: Some(kind).filter(|kind| !kind.is_empty()), charset }
    }

    fn is(&self, kinds: &[&str]) -> bool {
        self.kind.as_deref().is_some_and(|kind| kinds.contains(&kind))
    }
}

#[cfg(test)]
mod tests;
