//! Unpacking streams within bounds.

use std::io::{self, Read};

use flate2::read::{DeflateDecoder, ZlibDecoder};
use pdf_extract::{Dictionary, Object, Stream};

/// LZW unpacks to at most about 1400 times as much, and is not measured: files that use it are old and small.
const LZW_BYTES: usize = 64 << 10;

/// Wider rows than any picture. The rows of a predictor are allocated as wide as the file says.
pub(super) const ROW_NUMBER_MAX: u64 = 65_536;

/// How many bytes deflated data unpacks to, if not more than `limit`. What is damaged counts as far as it goes.
pub(super) fn inflated_len(data: &[u8], limit: usize) -> Option<usize> {
    let zlib = drain(ZlibDecoder::new(data), limit);
    // The library tries without the header, too.
    let n = if zlib == 0 { drain(DeflateDecoder::new(data.get(2..).unwrap_or_default()), limit) } else { zlib };
    (n <= limit).then_some(n)
}

/// Reads to the end, to damage, or beyond the limit.
fn drain(mut reader: impl Read, limit: usize) -> usize {
    let mut block = [0; 16 << 10];
    let mut n = 0;
    while n <= limit {
        match reader.read(&mut block) {
            Ok(0) => break,
            Ok(read) => n += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    n
}

/// How many bytes a stream unpacks to at most, if not more than `limit`.
pub(super) fn unpacked_len(stream: &Stream, limit: usize) -> Option<usize> {
    if stream.content.len() > limit {
        return None;
    }
    let Ok(filters) = stream.filters() else { return Some(stream.content.len()) };
    let unpacks = |filter: &&[u8]| matches!(**filter, [b'F', b'l', ..] | [b'L', b'Z', ..]);
    match filters.iter().copied().filter(unpacks).count() {
        // The filters that do not unpack give at most four bytes for one.
        0 => return Some(stream.content.len().saturating_mul(4)).filter(|n| *n <= limit),
        1 if rows_are_sensible(&stream.dict) => {}
        // Several multiply. No writer does it.
        _ => return None,
    }
    let at = filters.iter().position(unpacks)?;
    let before = if at == 0 { None } else { Some(without_filters_from(stream, at).decompressed_content().ok()?) };
    let before = before.as_deref().unwrap_or(&stream.content);
    let n = if filters[at].starts_with(b"L") {
        (before.len() <= LZW_BYTES).then_some(limit)?
    } else {
        inflated_len(before, limit)?
    };
    Some(n)
}

fn without_filters_from(stream: &Stream, at: usize) -> Stream {
    let mut copy = stream.clone();
    if let Ok(Object::Array(filters)) = copy.dict.get_mut(b"Filter") {
        filters.truncate(at);
    }
    copy
}

fn rows_are_sensible(dictionary: &Dictionary) -> bool {
    let Ok(parameters) = dictionary.get(b"DecodeParms").and_then(Object::as_dict) else { return true };
    let sensible = |n: i64| u64::try_from(n).is_ok_and(|n| n <= ROW_NUMBER_MAX);
    [&b"Columns"[..], b"Colors", b"BitsPerComponent"]
        .into_iter()
        .filter_map(|key| parameters.get(key).ok())
        .all(|value| value.as_i64().is_ok_and(sensible))
}

/// The bytes of a stream, if they stay within `limit` and their filters are known.
pub(super) fn unpacked(stream: &Stream, limit: usize) -> Option<Vec<u8>> {
    unpacked_len(stream, limit)?;
    match stream.filters() {
        Err(_) => Some(stream.content.clone()),
        Ok(_) => stream.decompressed_content().ok(),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn deflated(data: &[u8]) -> Vec<u8> {
        let mut deflate = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
        deflate.write_all(data).unwrap();
        deflate.finish().unwrap()
    }

    fn stream(filters: &[&str], content: Vec<u8>) -> Stream {
        let mut dictionary = Dictionary::new();
        let names: Vec<Object> = filters.iter().map(|name| Object::Name(name.as_bytes().to_vec())).collect();
        if !names.is_empty() {
            dictionary.set("Filter", Object::Array(names));
        }
        Stream::new(dictionary, content)
    }

    #[test]
    fn streams_are_unpacked_within_the_limit() {
        let data = vec![7u8; 1000];
        for (limit, expected) in [(1000, Some(data.clone())), (999, None)] {
            assert_eq!(unpacked(&stream(&["FlateDecode"], deflated(&data)), limit), expected);
            assert_eq!(unpacked(&stream(&[], data.clone()), limit), expected);
        }
        let twice = deflated(&deflated(&data));
        assert_eq!(unpacked(&stream(&["FlateDecode", "FlateDecode"], twice), 1 << 20), None);
        assert_eq!(unpacked(&stream(&["DCTDecode"], data.clone()), 1 << 20), None);
        assert_eq!(unpacked(&stream(&["ASCII85Decode"], b"87cUR~>".to_vec()), 1 << 20), Some(b"Hell".to_vec()));
    }

    #[test]
    fn damaged_data_is_unpacked_as_far_as_it_goes() {
        let mut packed = deflated(&vec![7u8; 1 << 20]);
        packed.truncate(packed.len() / 2);
        assert!(unpacked(&stream(&["FlateDecode"], packed), 1 << 20).is_some_and(|data| data.len() > 1000));
    }

    #[test]
    fn rows_wider_than_memory_are_refused() {
        let mut odd = stream(&["FlateDecode"], deflated(b"abc"));
        let mut parameters = Dictionary::new();
        parameters.set("Predictor", 12);
        parameters.set("Columns", 1_i64 << 50);
        odd.dict.set("DecodeParms", parameters);
        assert_eq!(unpacked(&odd, 1 << 20), None);
    }
}
