//! One pass over DAG-CBOR before anything is decoded: length, nesting, number of items, canonical form.
//!
//! The DAG-CBOR library is strict about the fields that it decodes and lenient about those that it passes over, and it
//! follows nesting 256 levels down. Here the whole value is held to the rules: definite lengths in their shortest form,
//! text keys in order (shorter first, then by bytes), no tag but that of a CID, no floats. So what is accepted here is
//! DAG-CBOR to every other reader as well, also in the fields of the future. Each length is compared with the bytes that
//! are left, so ten bytes cannot claim a million items. Nothing is allocated beyond one entry per level of nesting.

use cid::Cid;

/// Most nested lists and maps. The deepest block or message has five.
pub const DEPTH_MAX: usize = 8;

/// How much is read of a block or a frame.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Most bytes.
    pub bytes: usize,
    /// Most items: each key, each value, each list and map counts. It bounds what decoding allocates, because a decoded
    /// item may take forty times the one byte that it can have on the wire.
    pub items: usize,
}

impl Limits {
    /// For bytes whose length is bounded where they come in.
    pub const NONE: Limits = Limits { bytes: usize::MAX, items: usize::MAX };
}

/// Why bytes are not read as DAG-CBOR.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CanonicalError {
    /// There is more than is read.
    #[error("there are more than {max} {what}")]
    Limit {
        /// What there is too much of.
        what: &'static str,
        /// How much is read.
        max: usize,
    },
    /// The bytes are not one value of canonical DAG-CBOR.
    #[error("the bytes are not canonical DAG-CBOR at offset {offset}: {what}")]
    Malformed {
        /// What is wrong.
        what: &'static str,
        /// Where.
        offset: usize,
    },
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
    fn wrong(&self, what: &'static str) -> CanonicalError {
        CanonicalError::Malformed { what, offset: self.at }
    }

    fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    fn take(&mut self, n: usize) -> Result<&'a [u8], CanonicalError> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let taken = rest.get(..n).ok_or(self.wrong("it ends too early"))?;
        self.at += n;
        Ok(taken)
    }

    /// Major type and argument of the next item.
    fn head(&mut self) -> Result<(u8, u64), CanonicalError> {
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

    fn content(&mut self, length: u64) -> Result<&'a [u8], CanonicalError> {
        let length = usize::try_from(length).map_err(|_| self.wrong("it ends too early"))?;
        self.take(length)
    }

    fn text(&mut self, length: u64) -> Result<&'a [u8], CanonicalError> {
        let text = self.content(length)?;
        match std::str::from_utf8(text) {
            Ok(_) => Ok(text),
            Err(_) => Err(self.wrong("a text is not UTF-8")),
        }
    }

    /// How many items a list or a map of this length holds. Each takes at least a byte.
    fn items(&self, length: u64, per_entry: usize) -> Result<usize, CanonicalError> {
        usize::try_from(length)
            .ok()
            .and_then(|n| n.checked_mul(per_entry))
            .filter(|n| *n <= self.left())
            .ok_or(self.wrong("a list claims more than there is"))
    }

    fn key(&mut self, last: Option<&[u8]>) -> Result<&'a [u8], CanonicalError> {
        let (major, length) = self.head()?;
        if major != TEXT {
            return Err(self.wrong("a key is not a text"));
        }
        let key = self.text(length)?;
        let follows = last.is_none_or(|last| (last.len(), last) < (key.len(), key));
        if follows { Ok(key) } else { Err(self.wrong("the keys are not in order")) }
    }

    fn cid(&mut self, tag: u64) -> Result<(), CanonicalError> {
        if tag != CID_TAG {
            return Err(self.wrong("a tag is not that of a CID"));
        }
        let (major, length) = self.head()?;
        if major != BYTES {
            return Err(self.wrong("a CID is not a byte string"));
        }
        // Behind a zero stands the CID, which has one form: shortest numbers, and nothing left over. It is written again
        // rather than measured, since the library drops the bits of a number that are too many for it.
        let is_cid = self
            .content(length)?
            .split_first()
            .is_some_and(|(first, rest)| *first == 0 && Cid::try_from(rest).is_ok_and(|cid| cid.to_bytes() == rest));
        if is_cid { Ok(()) } else { Err(self.wrong("a link is not a CID")) }
    }
}

/// Refuses bytes that are not one value of canonical DAG-CBOR within the limits.
pub fn check_canonical(bytes: &[u8], limits: Limits) -> Result<(), CanonicalError> {
    if bytes.len() > limits.bytes {
        return Err(CanonicalError::Limit { what: "bytes", max: limits.bytes });
    }
    let mut scanner = Scanner { bytes, at: 0 };
    let mut open: Vec<Level<'_>> = Vec::with_capacity(DEPTH_MAX);
    let mut n_items = 0;
    loop {
        n_items += 1;
        if n_items > limits.items {
            return Err(CanonicalError::Limit { what: "items", max: limits.items });
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
                        return Err(CanonicalError::Limit { what: "levels", max: DEPTH_MAX });
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
    use ipld_core::ipld::Ipld;
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
            &[0xd8, 0x2a, 0x45, 0x00, 0x01, 0x55, 0x00, 0x00],
            &[0x83, 0xf4, 0xf5, 0x20],
        ] {
            assert_eq!(check_canonical(bytes, WIDE), Ok(()), "{bytes:x?}");
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
            &[0xd8, 0x2a, 0x45, 0x01, 0x01, 0x55, 0x00, 0x00],       // no zero before the CID
            &[0xd8, 0x2a, 0x42, 0x00, 0x01],                         // no CID
            &[0xd8, 0x2a, 0x46, 0x00, 0x01, 0x55, 0x00, 0x00, 0x00], // a byte behind the CID
            &[0xd8, 0x2a, 0x46, 0x00, 0x81, 0x00, 0x55, 0x00, 0x00], // a number of the CID in two bytes
            // 2^64 + 2^63 as a number of the CID
            &[0xd8, 0x2a, 0x4e, 0, 1, 0x55, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x03, 0x00],
            &[0x61, 0xff],                                           // not UTF-8
            &[0x9b, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], // claims 2^63 items
            &[0xbb, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], // claims 2^64 entries
            &[0x5b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], // claims 2^64 bytes
            &[0x82, 0x00],                                           // one item is missing
        ] {
            assert!(check_canonical(bytes, WIDE).is_err(), "{bytes:x?}");
        }
    }

    #[test]
    fn limits_hold_on_both_sides() {
        let nested = |n: usize| [vec![0x81; n], vec![0x00]].concat();
        assert_eq!(check_canonical(&nested(DEPTH_MAX), WIDE), Ok(()));
        assert!(matches!(
            check_canonical(&nested(DEPTH_MAX + 1), WIDE),
            Err(CanonicalError::Limit { what: "levels", .. })
        ));
        let list = [vec![0x98, 30], vec![0x00; 30]].concat();
        let at = |bytes, items| check_canonical(&list, Limits { bytes, items });
        assert_eq!(at(32, 31), Ok(()));
        assert!(matches!(at(31, 31), Err(CanonicalError::Limit { what: "bytes", .. })));
        assert!(matches!(at(32, 30), Err(CanonicalError::Limit { what: "items", .. })));
    }

    proptest! {
        /// What passes here is read by the library into a value that has these bytes and no others.
        #[test]
        fn what_passes_is_canonical_to_the_library(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            if check_canonical(&bytes, WIDE).is_ok() {
                let theirs: Result<Ipld, _> = serde_ipld_dagcbor::from_slice(&bytes);
                prop_assert!(theirs.is_ok(), "{theirs:?}");
                prop_assert_eq!(serde_ipld_dagcbor::to_vec(&theirs.unwrap()).unwrap(), bytes);
            }
        }
    }
}
