//! One pass over a frame before anything is decoded: length, nesting, number of items, canonical form.
//!
//! The DAG-CBOR library is strict about the fields that it decodes and lenient about those that it passes over, and it
//! follows nesting 256 levels down. Here the whole frame is held to the rules: definite lengths in their shortest form,
//! text keys in order (shorter first, then by bytes), no tag but that of a CID, no floats. Each length is compared with
//! the bytes that are left, so a frame of ten bytes cannot claim a million items. Nothing is allocated beyond one entry
//! per level of nesting.

use super::WireError;

/// Most nested lists and maps. Our deepest message has four.
const DEPTH_MAX: usize = 8;

/// How much is read of a frame or a block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Most bytes.
    pub(super) bytes: usize,
    /// Most items: each key, each value, each list and map counts. It bounds what decoding allocates, because a decoded
    /// item may take forty times the one byte that it can have on the wire.
    pub(super) items: usize,
}

const UNSIGNED: u8 = 0;
const NEGATIVE: u8 = 1;
const BYTES: u8 = 2;
const TEXT: u8 = 3;
const LIST: u8 = 4;
const MAP: u8 = 5;
const TAG: u8 = 6;
const CID_TAG: u64 = 42;
/// False, true and null: the simple values of the IPLD data model.
const SIMPLE: std::ops::RangeInclusive<u64> = 20..=22;

/// A list or a map that is not yet read to its end.
struct Level<'a> {
    left: usize,
    is_map: bool,
    last_key: Option<&'a [u8]>,
}

struct Scanner<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Scanner<'a> {
    fn wrong(&self, what: &'static str) -> WireError {
        WireError::Malformed { what, offset: self.at }
    }

    fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    fn take(&mut self, n: usize) -> Result<&'a [u8], WireError> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let taken = rest.get(..n).ok_or(self.wrong("it ends too early"))?;
        self.at += n;
        Ok(taken)
    }

    /// Major type and argument of the next item.
    fn head(&mut self) -> Result<(u8, u64), WireError> {
        let first = self.take(1)?.first().copied().unwrap_or_default();
        let (major, info) = (first >> 5, first & 0x1f);
        let (n_bytes, least) = match info {
            0..=23 => return Ok((major, u64::from(info))),
            24 => (1, 24),
            25 => (2, 1 << 8),
            26 => (4, 1 << 16),
            27 => (8, 1 << 32),
            _ => return Err(self.wrong("a length is not definite")),
        };
        let argument = self.take(n_bytes)?.iter().fold(0u64, |value, byte| value << 8 | u64::from(*byte));
        if major > TAG {
            return Err(self.wrong("a float or a simple value has no place here"));
        }
        if argument < least {
            return Err(self.wrong("a number is not in its shortest form"));
        }
        Ok((major, argument))
    }

    fn content(&mut self, length: u64) -> Result<&'a [u8], WireError> {
        let length = usize::try_from(length).map_err(|_| self.wrong("it ends too early"))?;
        self.take(length)
    }

    fn text(&mut self, length: u64) -> Result<&'a [u8], WireError> {
        let text = self.content(length)?;
        match std::str::from_utf8(text) {
            Ok(_) => Ok(text),
            Err(_) => Err(self.wrong("a text is not UTF-8")),
        }
    }

    /// How many items a list or a map of this length holds. Each takes at least a byte.
    fn items(&self, length: u64, per_entry: usize) -> Result<usize, WireError> {
        usize::try_from(length)
            .ok()
            .and_then(|n| n.checked_mul(per_entry))
            .filter(|n| *n <= self.left())
            .ok_or(self.wrong("a list claims more than there is"))
    }

    fn key(&mut self, last: Option<&[u8]>) -> Result<&'a [u8], WireError> {
        let (major, length) = self.head()?;
        if major != TEXT {
            return Err(self.wrong("a key is not a text"));
        }
        let key = self.text(length)?;
        let follows = last.is_none_or(|last| (last.len(), last) < (key.len(), key));
        if follows { Ok(key) } else { Err(self.wrong("the keys are not in order")) }
    }

    fn cid(&mut self, tag: u64) -> Result<(), WireError> {
        if tag != CID_TAG {
            return Err(self.wrong("a tag is not that of a CID"));
        }
        let (major, length) = self.head()?;
        let is_identity = major == BYTES && self.content(length)?.first() == Some(&0);
        if is_identity { Ok(()) } else { Err(self.wrong("a CID is not a byte string that begins with zero")) }
    }
}

/// Refuses bytes that are not one value of canonical DAG-CBOR within the limits.
pub(super) fn scan(bytes: &[u8], limits: Limits) -> Result<(), WireError> {
    if bytes.len() > limits.bytes {
        return Err(WireError::Limit { what: "bytes", max: limits.bytes });
    }
    let mut scanner = Scanner { bytes, at: 0 };
    let mut open: Vec<Level<'_>> = Vec::with_capacity(DEPTH_MAX);
    let mut n_items = 0;
    loop {
        n_items += 1;
        if n_items > limits.items {
            return Err(WireError::Limit { what: "items", max: limits.items });
        }
        let key_place = open.last().filter(|level| level.is_map && level.left % 2 == 0);
        if let Some(last_key) = key_place.map(|level| level.last_key) {
            let key = scanner.key(last_key)?;
            if let Some(level) = open.last_mut() {
                level.last_key = Some(key);
            }
        } else {
            let (major, argument) = scanner.head()?;
            match major {
                UNSIGNED | NEGATIVE => {}
                BYTES => drop(scanner.content(argument)?),
                TEXT => drop(scanner.text(argument)?),
                LIST | MAP => {
                    let is_map = major == MAP;
                    let left = scanner.items(argument, if is_map { 2 } else { 1 })?;
                    if open.len() == DEPTH_MAX {
                        return Err(WireError::Limit { what: "levels", max: DEPTH_MAX });
                    }
                    // An empty one is read already; another is read when its last item is.
                    if left > 0 {
                        open.push(Level { left, is_map, last_key: None });
                        continue;
                    }
                }
                TAG => scanner.cid(argument)?,
                _ if SIMPLE.contains(&argument) => {}
                _ => return Err(scanner.wrong("a float or a simple value has no place here")),
            }
        }
        // One item is read: count it, and close whatever it completes.
        while let Some(level) = open.last_mut() {
            level.left -= 1;
            if level.left > 0 {
                break;
            }
            open.pop();
        }
        if open.is_empty() {
            break;
        }
    }
    if scanner.left() > 0 {
        return Err(scanner.wrong("bytes are left over"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const WIDE: Limits = Limits { bytes: 1 << 16, items: 1 << 12 };

    #[test]
    fn canonical_values_pass() {
        for bytes in [
            &[0x00][..],
            &[0x80],
            &[0xa0],
            &[0x81, 0x80],
            &[0xa1, 0x61, 0x61, 0xa0],
            &[0x82, 0x80, 0x01],
            &[0xa2, 0x61, 0x61, 0x80, 0x61, 0x62, 0xf6],
            &[0x18, 0x18],
            &[0xd8, 0x2a, 0x42, 0x00, 0x01],
            &[0x83, 0xf4, 0xf5, 0x20],
        ] {
            assert_eq!(scan(bytes, WIDE), Ok(()), "{bytes:x?}");
        }
    }

    #[test]
    fn what_is_not_canonical_is_refused() {
        for bytes in [
            &[][..],
            &[0x18, 0x17],                                           // 23 in two bytes
            &[0x19, 0x00, 0xff],                                     // 255 in three
            &[0xa2, 0x61, 0x62, 0x01, 0x61, 0x61, 0x02],             // keys out of order
            &[0xa2, 0x61, 0x61, 0x01, 0x61, 0x61, 0x02],             // a key twice
            &[0xa1, 0x01, 0x01],                                     // a number as key
            &[0xa0, 0x00],                                           // a byte left over
            &[0x9f, 0xff],                                           // indefinite length
            &[0xf9, 0x00, 0x00],                                     // a float
            &[0xfb, 0, 0, 0, 0, 0, 0, 0, 0],                         // a float
            &[0xf7],                                                 // undefined
            &[0xf8, 0x20],                                           // a simple value
            &[0xc1, 0x00],                                           // another tag
            &[0xd8, 0x2a, 0x41, 0x01],                               // no identity prefix
            &[0x61, 0xff],                                           // not UTF-8
            &[0x9b, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], // claims 2^63 items
            &[0xbb, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], // claims 2^64 entries
            &[0x5b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], // claims 2^64 bytes
            &[0x82, 0x00],                                           // one item is missing
        ] {
            assert!(scan(bytes, WIDE).is_err(), "{bytes:x?}");
        }
    }

    #[test]
    fn limits_hold_on_both_sides() {
        let nested = |n: usize| [vec![0x81; n], vec![0x00]].concat();
        assert_eq!(scan(&nested(DEPTH_MAX), WIDE), Ok(()));
        assert!(matches!(scan(&nested(DEPTH_MAX + 1), WIDE), Err(WireError::Limit { what: "levels", .. })));
        let list = [vec![0x98, 30], vec![0x00; 30]].concat();
        let at = |bytes, items| scan(&list, Limits { bytes, items });
        assert_eq!(at(32, 31), Ok(()));
        assert!(matches!(at(31, 31), Err(WireError::Limit { what: "bytes", .. })));
        assert!(matches!(at(32, 30), Err(WireError::Limit { what: "items", .. })));
    }

    proptest! {
        /// Whatever the library reads within the limits, and nothing that it refuses.
        #[test]
        fn random_bytes_are_judged_as_by_the_library(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            let ours = scan(&bytes, WIDE);
            let theirs = serde_ipld_dagcbor::from_slice::<Ipld>(&bytes);
            if ours.is_ok() {
                prop_assert!(theirs.is_ok(), "{theirs:?}");
            }
        }
    }

    /// Enough of the data model to let the library judge: everything is passed over except lists and maps.
    #[derive(Debug)]
    struct Ipld;

    impl<'de> serde::Deserialize<'de> for Ipld {
        fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Ipld, D::Error> {
            serde::de::IgnoredAny::deserialize(deserializer).map(|_| Ipld)
        }
    }
}
