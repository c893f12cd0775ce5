//! In which encoding bytes are text, if in any.

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, ISO_2022_JP, UTF_8, UTF_16BE, UTF_16LE};

use super::Decoded;

/// Bytes from which a legacy encoding is guessed. Guesses do not become better beyond.
const GUESS_BYTES: usize = 1 << 20;

/// Where a page or an XML file says in which encoding it is (the HTML standard looks at 1024 bytes; pages exceed it).
const LABEL_BYTES: usize = 4096;

/// The encoding, and the length of the byte order mark; or why it is no text.
///
/// A byte order mark decides. Else what is valid UTF-8 is UTF-8, whatever anybody says of it: text in another
/// encoding is practically never valid UTF-8 by chance. Then come zeros in every second byte, the label of the
/// sender, the label in the text, and the guess.
pub(crate) fn detect(
    bytes: &[u8],
    declared: Option<&'static Encoding>,
) -> Result<(&'static Encoding, usize), &'static str> {
    if let Some((encoding, bom)) = Encoding::for_bom(bytes) {
        return Ok((encoding, bom));
    }
    if bytes.contains(&0) {
        return utf_16(bytes).map(|encoding| (encoding, 0)).ok_or("it has zero bytes");
    }
    let labelled = || declared.or_else(|| label(&bytes[..bytes.len().min(LABEL_BYTES)]));
    if std::str::from_utf8(bytes).is_ok() {
        // ISO-2022-JP is ASCII with escape sequences, so it is valid UTF-8 and means something else.
        let escapes = bytes.windows(2).any(|pair| pair == b"\x1b$");
        if escapes && (labelled() == Some(ISO_2022_JP) || guess(bytes) == ISO_2022_JP) {
            return Ok((ISO_2022_JP, 0));
        }
        return Ok((UTF_8, 0));
    }
    // A label that names UTF-8 is wrong here, and UTF-16 would have zeros.
    let legacy = labelled().filter(|e| ![UTF_8, UTF_16LE, UTF_16BE].contains(e));
    Ok((legacy.unwrap_or_else(|| guess(bytes)), 0))
}

fn guess(bytes: &[u8]) -> &'static Encoding {
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Allow);
    let head = &bytes[..bytes.len().min(GUESS_BYTES)];
    detector.feed(head, head.len() == bytes.len());
    detector.guess(None, Utf8Detection::Deny)
}

/// UTF-16 without a mark. Latin text has a zero in every second byte; others have it at least in spaces and line
/// ends. All zeros stand on one side, and what they decode to has no lone surrogates and nothing unassigned.
fn utf_16(bytes: &[u8]) -> Option<&'static Encoding> {
    if !bytes.len().is_multiple_of(2) {
        return None;
    }
    let zeros_at = |side: usize| bytes.iter().skip(side).step_by(2).filter(|b| **b == 0).count();
    let encoding = match (zeros_at(0), zeros_at(1)) {
        (0, n) if n * 100 >= bytes.len() / 2 => UTF_16LE,
        (n, 0) if n * 100 >= bytes.len() / 2 => UTF_16BE,
        _ => return None,
    };
    let text = encoding.decode_without_bom_handling_and_without_replacement(bytes)?;
    let odd = |c: char| matches!(u32::from(c), 0xe000..=0xf8ff | 0xfff0..=0xffff | 0xf0000..);
    (!text.chars().any(odd)).then_some(encoding)
}

/// The encoding that a page or an XML file names: `charset=…` in a `meta` element, `encoding="…"` in a declaration.
fn label(head: &[u8]) -> Option<&'static Encoding> {
    let head: String = head.iter().map(|b| char::from(b.to_ascii_lowercase())).collect();
    if !head.contains('<') {
        return None;
    }
    let after = |key: &str| {
        head.match_indices(key).find_map(|(at, _)| {
            let value = head[at + key.len()..].trim_start().strip_prefix('=')?.trim_start();
            let value = value.trim_start_matches(['"', '\'']);
            let end = value.find(|c: char| !c.is_ascii_alphanumeric() && !"-_:.".contains(c)).unwrap_or(value.len());
            Encoding::for_label(&value.as_bytes()[..end])
        })
    };
    after("charset").or_else(|| if head.starts_with("<?xml") { after("encoding") } else { None })
}

/// Why decoded characters are no text. One stray control character is no reason, a good part of them is; so are many
/// replaced bytes, since a guess always finds some encoding.
pub(crate) fn not_text(decoded: &Decoded<'_>) -> Option<&'static str> {
    let (mut controls, mut replaced, mut n_chars) = (0usize, 0usize, 0usize);
    for c in decoded.text.chars() {
        n_chars += 1;
        match c {
            '\0' => return Some("it has zero bytes"),
            '\t' | '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{1b}' | '\u{85}' => {}
            '\u{fffd}' => replaced += 1,
            c if c.is_control() => controls += 1,
            _ => {}
        }
    }
    if controls * 100 > n_chars && controls > 1 || controls == n_chars && n_chars > 0 {
        Some("it has many control characters")
    } else if decoded.damaged && replaced * 4 > n_chars {
        Some("its bytes mean nothing in any encoding")
    } else {
        None
    }
}
