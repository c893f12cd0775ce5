//! What must hold of the bytes before and while they are loaded.
//!
//! A few numbers in a file decide how much memory loading takes: how far its streams of structure unpack, and how wide
//! the fields and rows in them are. The loader believes them, and an allocation that fails ends the whole process.
//! So they are looked at first. Every other stream is unpacked later, and measured then
//! ([`streams`](super::streams)).

use std::borrow::Cow;
use std::cell::Cell;

use pdf_extract::{Object, ObjectId};

use super::streams;
use crate::limits::Limits;
use crate::parked::{ParkReason, Parked};
use crate::sniff::find;

/// Bytes of structure (what is not in streams), and of structure packed in streams. One byte of it can become an
/// object of more than fifty.
const STRUCTURE_BYTES: usize = 32 << 20;

/// Bytes of one packed stream of structure in an encrypted file, which cannot be measured before it is decrypted.
/// Deflate unpacks to at most 1032 times as much.
const ENCRYPTED_BYTES: usize = 1 << 20;

/// Whether the file says that it is encrypted.
pub(super) fn is_encrypted(bytes: &[u8]) -> bool {
    find(bytes, b"/Encrypt").is_some()
}

/// Looks at the bytes before they are loaded, and begins to count what is unpacked while loading on this thread.
pub(super) fn check(bytes: &[u8], limits: &Limits) -> Result<(), Parked> {
    ROOM.set(STRUCTURE_BYTES);
    check_numbers(&unescaped(bytes))?;
    let encrypted = is_encrypted(bytes);
    let mut structure = 0;
    let mut from = 0;
    while let Some(at) = find(&bytes[from..], b"stream").map(|at| from + at) {
        let before = &bytes[from..at];
        structure += before.len();
        let data = data_start(bytes, at + b"stream".len());
        let end = find(&bytes[data..], b"endstream").map_or(bytes.len(), |end| data + end);
        // Only the last object counts; what is before it is another.
        let begin = before.windows(3).rposition(|w| w == b"obj").map_or(0, |at| at + 3);
        let dictionary = unescaped(&before[begin..]);
        let is_table = find(&dictionary, b"XRef").is_some();
        if is_table && streams::inflated_len(&bytes[data..end], limits.pdf_stream_bytes).is_none() {
            return Err(Parked::new(ParkReason::TooLarge, "its table of objects unpacks to too much"));
        }
        if encrypted && end - data > ENCRYPTED_BYTES && (is_table || find(&dictionary, b"ObjStm").is_some()) {
            return Err(Parked::new(ParkReason::TooLarge, "its encrypted structure takes too much memory"));
        }
        from = bytes.len().min(end + b"endstream".len());
    }
    if structure + (bytes.len() - from) > STRUCTURE_BYTES {
        return Err(Parked::new(ParkReason::TooLarge, "its structure takes too much memory"));
    }
    Ok(())
}

/// The data begins behind the line end.
fn data_start(bytes: &[u8], mut at: usize) -> usize {
    for end in [b'\r', b'\n'] {
        if bytes.get(at) == Some(&end) {
            at += 1;
        }
    }
    at
}

thread_local! {
    /// Bytes that structure may still unpack to in the document that is loaded on this thread. The loader takes a
    /// plain function, which has no other place for it.
    static ROOM: Cell<usize> = const { Cell::new(0) };
}

/// Given to the loader, which asks it about each object before it unpacks it. A stream of objects that is too large
/// is emptied: what was in it is missing then, and the document is what is left.
pub(super) fn admit(id: ObjectId, object: &mut Object) -> Option<(ObjectId, Object)> {
    let Object::Stream(stream) = object else { return Some((id, object.clone())) };
    if stream.dict.has_type(b"ObjStm") {
        let room = ROOM.get();
        match streams::unpacked_len(stream, room) {
            Some(n) => ROOM.set(room - n),
            None => stream.set_content(Vec::new()),
        }
    }
    // What is given back for a stream is not looked at.
    Some((id, Object::Null))
}

/// Numbers that become the size of an allocation, and what they may be at most. They are looked for in every byte,
/// since the loader can be sent anywhere.
const SIZES: [(&[u8], u64); 4] = [
    // Widths of the fields of a table of objects. Fonts use the name for widths of letters, by numbers of letters.
    (b"/W", 1 << 24),
    // Sizes of the rows of a picture.
    (b"/Columns", streams::ROW_NUMBER_MAX),
    (b"/Colors", streams::ROW_NUMBER_MAX),
    (b"/BitsPerComponent", streams::ROW_NUMBER_MAX),
];

fn check_numbers(bytes: &[u8]) -> Result<(), Parked> {
    for (key, max) in SIZES {
        let mut from = 0;
        while let Some(at) = find(&bytes[from..], key).map(|at| from + at + key.len()) {
            from = at;
            let (numbers, whole) = numbers_at(&bytes[at..]);
            // Fields of no width at all would be read for ever.
            let endless = key == b"/W" && whole && numbers == [0, 0, 0];
            if endless || numbers.iter().any(|n| *n > max) {
                return Err(Parked::new(ParkReason::Broken, "a size in it makes no sense"));
            }
        }
    }
    Ok(())
}

/// Bytes behind a key in which its numbers must stand.
const VALUE_BYTES: usize = 256;

/// The first numbers of a value, at most three, and whether an array ends behind them. A number too long to read
/// counts as the largest, as does whatever hides behind a comment that does not end.
fn numbers_at(value: &[u8]) -> (Vec<u64>, bool) {
    let mut numbers = Vec::new();
    let mut rest = &value[..value.len().min(VALUE_BYTES)];
    loop {
        rest = rest.trim_ascii_start();
        match rest.first() {
            Some(b'%') => {
                let end = rest.iter().position(|b| matches!(b, b'\r' | b'\n')).unwrap_or(rest.len());
                rest = &rest[end..];
            }
            Some(0) => rest = &rest[1..],
            Some(b'[') if numbers.is_empty() => rest = &rest[1..],
            Some(b'0'..=b'9' | b'+') if numbers.len() < 3 => {
                let digits = rest.iter().skip(1).take_while(|b| b.is_ascii_digit()).count() + 1;
                let number = String::from_utf8_lossy(&rest[..digits]);
                numbers.push(number.trim_start_matches('+').parse().unwrap_or(u64::MAX));
                rest = &rest[digits..];
            }
            None if value.len() > VALUE_BYTES => return (vec![u64::MAX], false),
            next => return (numbers, next == Some(&b']')),
        }
    }
}

/// The same with the escapes in names undone (`/#57` is `/W`).
fn unescaped(bytes: &[u8]) -> Cow<'_, [u8]> {
    if find(bytes, b"#").is_none() {
        return Cow::Borrowed(bytes);
    }
    let mut out = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some((&byte, tail)) = rest.split_first() {
        let hex = |at: usize| tail.get(at).and_then(|b| char::from(*b).to_digit(16));
        if let (b'#', Some(high), Some(low)) = (byte, hex(0), hex(1)) {
            out.extend(u8::try_from(high << 4 | low));
            rest = &tail[2..];
        } else {
            out.push(byte);
            rest = tail;
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn stream(dictionary: &str, data: &[u8]) -> Vec<u8> {
        let mut deflate = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
        deflate.write_all(data).unwrap();
        let packed = deflate.finish().unwrap();
        let head = format!("%PDF-1.5\n1 0 obj\n<<{dictionary}/Filter/FlateDecode>>\nstream\r\n");
        [head.as_bytes(), &packed, b"\nendstream\nendobj\n"].concat()
    }

    fn reason(bytes: &[u8]) -> Option<ParkReason> {
        check(bytes, &Limits::default()).err().map(|parked| parked.reason)
    }

    #[test]
    fn numbers_that_decide_on_memory() {
        let hidden = format!("/Type/XRef/W[%{}\n1 99999999999999 1]", "x".repeat(1000));
        for (dictionary, expected) in [
            ("/Type/XRef/W[1 2 1]/Index[0 4]", None),
            ("/Type/XRef/W [1 3 2]/DecodeParms<</Columns 6/Predictor 12>>", None),
            ("/Type/Font/W[0[1000 99999999] 65535 65535 500]/WC 1", None),
            ("/Type/XRef/W[1 99999999999999 1]", Some(ParkReason::Broken)),
            ("/Type/XRef/#57 %c\n[%d\n 1 99999999999999 1]", Some(ParkReason::Broken)),
            ("/Type/XRef/W[0 0 0]", Some(ParkReason::Broken)),
            ("/DecodeParms<</Columns 99999999999999999999999/Predictor 12>>", Some(ParkReason::Broken)),
            ("/DecodeParms<</Colors +999999>>", Some(ParkReason::Broken)),
            (hidden.as_str(), Some(ParkReason::Broken)),
        ] {
            assert_eq!(reason(&stream(dictionary, b"1 0 2 3")), expected, "{dictionary}");
        }
    }

    #[test]
    fn a_table_that_unpacks_to_too_much() {
        let bomb = vec![b' '; 17 << 20];
        assert_eq!(reason(&stream("/Type/XRef/W[1 2 1]", &bomb)), Some(ParkReason::TooLarge));
        assert_eq!(reason(&stream("/Type/XObject", &bomb)), None);
    }

    #[test]
    fn objects_that_unpack_to_too_much_are_emptied() {
        let data = vec![b' '; 9 << 20];
        let packed = stream("", &data);
        let at = find(&packed, b"stream\r\n").unwrap() + 8;
        let mut dictionary = pdf_extract::Dictionary::new();
        dictionary.set("Type", Object::Name(b"ObjStm".to_vec()));
        dictionary.set("Filter", Object::Name(b"FlateDecode".to_vec()));
        check(b"", &Limits::default()).unwrap();
        let kept = (0..5)
            .filter(|_| {
                let mut object = Object::Stream(pdf_extract::Stream::new(dictionary.clone(), packed[at..].to_vec()));
                admit((1, 0), &mut object);
                !object.as_stream().unwrap().content.is_empty()
            })
            .count();
        assert_eq!(kept, 3);
    }
}
