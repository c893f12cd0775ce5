//! CAR v1: a header that names the roots, then blocks, each behind its length and its CID.
//!
//! ```text
//! varint n | dag-cbor {version: 1, roots: [CID]} | (varint n | CID | bytes)*
//! ```
//! Source: IPLD "Content Addressable aRchives", version 1. Limits come first: nothing is allocated because a length
//! says so, and every block is hashed before it is believed.

use std::collections::BTreeMap;

use cid::Cid;
use serde::{Deserialize, Serialize};

use crate::content::{ContentError, RawBlock, decode_canonical};

/// Largest CAR file that is read.
pub const CAR_BYTES_MAX: usize = 64 << 20;
/// Most blocks in one.
pub const CAR_BLOCKS_MAX: usize = 20_000;
/// Longest header: a few roots.
const HEADER_BYTES_MAX: usize = 4096;

/// Why bytes are not a CAR file that we read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CarError {
    /// Larger than we read.
    #[error("the file has {0} bytes; at most {CAR_BYTES_MAX} are read")]
    TooLarge(usize),
    /// More blocks than we read.
    #[error("the file has more than {CAR_BLOCKS_MAX} blocks")]
    TooManyBlocks,
    /// Ends in the middle, or a length is no number.
    #[error("the file is cut off or damaged at byte {0}")]
    Damaged(usize),
    /// The header is not that of CAR v1.
    #[error("the file does not begin as a CAR v1 file: {0}")]
    Header(String),
    /// The header names other than one root. What hangs below a second one, nobody signed.
    #[error("the header names {} roots ({}); a bundle has one", .0.len(), listed(.0))]
    Roots(Vec<Cid>),
    /// A block stands in the file more than once.
    #[error("block {0} stands in the file twice")]
    Twice(Cid),
    /// A block is not what its CID says.
    #[error("block at byte {at}: {source}")]
    Block {
        /// Where.
        at: usize,
        /// Why.
        source: ContentError,
    },
    /// The root block is not in the file.
    #[error("the root block {0} is not in the file")]
    NoRoot(Cid),
}

fn listed(roots: &[Cid]) -> String {
    roots.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct HeaderV1 {
    version: u64,
    roots: Vec<Cid>,
}

/// Writes blocks with one root. Blocks come in the order of their CIDs after the root, so equal content is equal bytes.
pub fn write_car(root: Cid, blocks: &BTreeMap<Cid, Vec<u8>>) -> Vec<u8> {
    let header = serde_ipld_dagcbor::to_vec(&HeaderV1 { version: 1, roots: vec![root] })
        .expect("a number and a list of CIDs always encode");
    let mut out = Vec::new();
    write_varint(&mut out, header.len());
    out.extend_from_slice(&header);
    let first = blocks.get_key_value(&root);
    for (cid, bytes) in first.into_iter().chain(blocks.iter().filter(|(cid, _)| **cid != root)) {
        let name = cid.to_bytes();
        write_varint(&mut out, name.len() + bytes.len());
        out.extend_from_slice(&name);
        out.extend_from_slice(bytes);
    }
    out
}

/// Reads a CAR file: its root, and its blocks, each checked against its CID.
pub fn read_car(bytes: &[u8]) -> Result<(Cid, BTreeMap<Cid, Vec<u8>>), CarError> {
    if bytes.len() > CAR_BYTES_MAX {
        return Err(CarError::TooLarge(bytes.len()));
    }
    let mut at = 0;
    let header = section(bytes, &mut at)?;
    if header.len() > HEADER_BYTES_MAX {
        return Err(CarError::Header(format!("its header has more than {HEADER_BYTES_MAX} bytes")));
    }
    let header: HeaderV1 = decode_canonical(header).map_err(|e| CarError::Header(e.to_string()))?;
    if header.version != 1 {
        return Err(CarError::Header(format!("it is of version {}", header.version)));
    }
    let [root] = header.roots.as_slice() else {
        return Err(CarError::Roots(header.roots));
    };
    let mut blocks = BTreeMap::new();
    while at < bytes.len() {
        if blocks.len() >= CAR_BLOCKS_MAX {
            return Err(CarError::TooManyBlocks);
        }
        let begin = at;
        let mut section = section(bytes, &mut at)?;
        let cid = Cid::read_bytes(&mut section).map_err(|_| CarError::Damaged(begin))?;
        let block = RawBlock::checked(cid, section.to_vec()).map_err(|source| CarError::Block { at: begin, source })?;
        if blocks.insert(block.cid, block.bytes).is_some() {
            return Err(CarError::Twice(block.cid));
        }
    }
    if !blocks.contains_key(root) {
        return Err(CarError::NoRoot(*root));
    }
    Ok((*root, blocks))
}

fn section<'a>(bytes: &'a [u8], at: &mut usize) -> Result<&'a [u8], CarError> {
    let begin = *at;
    let len = read_varint(bytes, at).ok_or(CarError::Damaged(begin))?;
    let end = at.checked_add(len).filter(|end| *end <= bytes.len()).ok_or(CarError::Damaged(begin))?;
    let section = &bytes[*at..end];
    *at = end;
    Ok(section)
}

fn write_varint(out: &mut Vec<u8>, mut n: usize) {
    while n >= 0x80 {
        out.push((n & 0x7f) as u8 | 0x80);
        n >>= 7;
    }
    out.push(n as u8);
}

/// Unsigned LEB128 of at most five bytes, in its shortest form.
fn read_varint(bytes: &[u8], at: &mut usize) -> Option<usize> {
    let mut n: u64 = 0;
    for i in 0..5 {
        let byte = *bytes.get(*at)?;
        *at += 1;
        n |= u64::from(byte & 0x7f) << (7 * i);
        if byte & 0x80 == 0 {
            let shortest = i == 0 || byte != 0;
            return usize::try_from(n).ok().filter(|_| shortest);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn blocks(contents: &[Vec<u8>]) -> (Cid, BTreeMap<Cid, Vec<u8>>) {
        let all: Vec<RawBlock> = contents.iter().cloned().map(RawBlock::raw).collect();
        (all[0].cid, all.into_iter().map(|b| (b.cid, b.bytes)).collect())
    }

    proptest! {
        #[test]
        fn a_car_file_reads_back(contents in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..300), 1..12)) {
            let (root, blocks) = blocks(&contents);
            prop_assert_eq!(read_car(&write_car(root, &blocks)).unwrap(), (root, blocks));
        }

        #[test]
        fn any_changed_byte_is_noticed(contents in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 1..40), 1..4), place in any::<prop::sample::Index>(), flip in 1u8..) {
            let (root, blocks) = blocks(&contents);
            let mut car = write_car(root, &blocks);
            let place = place.index(car.len());
            car[place] ^= flip;
            prop_assert!(read_car(&car).is_err() || read_car(&car).unwrap() != (root, blocks));
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            let _ = read_car(&bytes);
        }
    }

    #[test]
    fn a_second_root_and_a_second_copy_are_named() {
        let (root, blocks) = blocks(&[b"a".to_vec(), b"b".to_vec()]);
        let car = write_car(root, &blocks);
        let both: Vec<Cid> = blocks.keys().copied().collect();
        let header = serde_ipld_dagcbor::to_vec(&HeaderV1 { version: 1, roots: both.clone() }).unwrap();
        let mut two = Vec::new();
        write_varint(&mut two, header.len());
        two.extend_from_slice(&header);
        two.extend_from_slice(&car[59..]);
        let error = read_car(&two).unwrap_err();
        assert_eq!(error, CarError::Roots(both.clone()));
        assert!(both.iter().all(|cid| error.to_string().contains(&cid.to_string())), "{error}");
        assert_eq!(read_car(&[&car[..], &car[59..]].concat()), Err(CarError::Twice(root)));
    }

    #[test]
    fn a_length_that_lies_allocates_nothing() {
        assert_eq!(read_car(&[0xff, 0xff, 0xff, 0xff, 0x0f, 0]), Err(CarError::Damaged(0)));
    }
}
