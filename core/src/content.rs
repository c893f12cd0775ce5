//! Content: blocks named by their hash, the source record, the chunk, and the cutting of text into chunks.
//!
//! A block is bytes with a CIDv1: `dag-cbor` for structured values in canonical form (RFC 8949 §4.2, IPLD DAG-CBOR),
//! `raw` for bytes as they came; always SHA-256. A [`SourceRecord`] names the raw bytes and the text that an adapter
//! took out of them; a [`Chunk`] is one piece of that text. The chunks of a source, put end to end, are its text
//! again: not one character is lost.

mod canonical;
mod chunker;

use cid::Cid;
use cid::multihash::Multihash;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::identity::NodeId;
use crate::knowledge::Scope;

pub use canonical::{CanonicalError, DEPTH_MAX, Limits, check_canonical};
pub use chunker::{CHUNK_CHARS_MAX, Mark, MarkKind, Span, chunk};

/// Multicodec of canonical DAG-CBOR.
pub const DAG_CBOR: u64 = 0x71;
/// Multicodec of plain bytes.
pub const RAW: u64 = 0x55;
/// Multihash code of SHA-256.
pub const SHA2_256: u64 = 0x12;

/// A chunk's block is small: text of at most [`CHUNK_CHARS_MAX`] characters (four bytes each), title and headings.
/// Whoever takes chunks from outside refuses more than this.
pub const CHUNK_BLOCK_BYTES_MAX: usize = 64 * 1024;

/// Why bytes are not the block that they claim to be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ContentError {
    /// The CID is not CIDv1 with SHA-256 and a codec that we use.
    #[error("`{0}` is not a CIDv1 with sha2-256 and codec dag-cbor or raw")]
    Cid(String),
    /// The bytes hash to something else.
    #[error("the bytes are not those of {0}")]
    Mismatch(Cid),
    /// The bytes are not canonical DAG-CBOR.
    #[error("the block cannot be read")]
    Canonical(#[from] CanonicalError),
    /// The value is not of the expected shape.
    #[error("the block cannot be read: {0}")]
    Decode(String),
    /// The value cannot be encoded.
    #[error("the value cannot be encoded: {0}")]
    Encode(String),
}

/// Bytes and the CID that names them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawBlock {
    /// The name.
    pub cid: Cid,
    /// The bytes.
    pub bytes: Vec<u8>,
}

fn cid_of(codec: u64, bytes: &[u8]) -> Cid {
    let digest = Sha256::digest(bytes);
    let hash = Multihash::wrap(SHA2_256, digest.as_slice()).expect("32 bytes fit into a 64-byte multihash");
    Cid::new_v1(codec, hash)
}

impl RawBlock {
    /// Plain bytes.
    pub fn raw(bytes: Vec<u8>) -> RawBlock {
        RawBlock { cid: cid_of(RAW, &bytes), bytes }
    }

    /// Bytes that are meant as DAG-CBOR. Whether they are shows when they are decoded.
    pub fn dag_cbor(bytes: Vec<u8>) -> RawBlock {
        RawBlock { cid: cid_of(DAG_CBOR, &bytes), bytes }
    }

    /// A value in canonical DAG-CBOR.
    pub fn encode<T: Serialize + ?Sized>(value: &T) -> Result<RawBlock, ContentError> {
        let bytes = serde_ipld_dagcbor::to_vec(value).map_err(|e| ContentError::Encode(e.to_string()))?;
        Ok(RawBlock { cid: cid_of(DAG_CBOR, &bytes), bytes })
    }

    /// Takes bytes that claim to be `cid`, and checks the claim.
    pub fn checked(cid: Cid, bytes: Vec<u8>) -> Result<RawBlock, ContentError> {
        check_cid(&cid)?;
        if cid_of(cid.codec(), &bytes) != cid {
            return Err(ContentError::Mismatch(cid));
        }
        Ok(RawBlock { cid, bytes })
    }

    /// Reads the value. The decoder is strict: what is not canonical is refused, also in fields that are passed over.
    pub fn decode<T: DeserializeOwned>(&self) -> Result<T, ContentError> {
        if self.cid.codec() != DAG_CBOR {
            return Err(ContentError::Decode("it holds plain bytes".into()));
        }
        decode_canonical(&self.bytes)
    }
}

/// Reads a value of canonical DAG-CBOR that is not a block of its own.
pub(crate) fn decode_canonical<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, ContentError> {
    /// Enough to say what is wrong. The library's text may quote foreign bytes at any length.
    const DETAIL_CHARS: usize = 300;
    check_canonical(bytes, Limits::NONE)?;
    serde_ipld_dagcbor::from_slice(bytes)
        .map_err(|e| ContentError::Decode(e.to_string().chars().take(DETAIL_CHARS).collect()))
}

/// Refuses a CID of a kind that we do not use: an unknown hash cannot be checked.
pub fn check_cid(cid: &Cid) -> Result<(), ContentError> {
    let known = cid.version() == cid::Version::V1
        && matches!(cid.codec(), DAG_CBOR | RAW)
        && cid.hash().code() == SHA2_256
        && cid.hash().size() == 32;
    if known { Ok(()) } else { Err(ContentError::Cid(cid.to_string())) }
}

/// Reads a CID's text form and refuses kinds that we do not use.
pub fn parse_cid(text: &str) -> Result<Cid, ContentError> {
    let cid = Cid::try_from(text).map_err(|_| ContentError::Cid(text.chars().take(128).collect()))?;
    check_cid(&cid)?;
    Ok(cid)
}

/// SHA-256 of text with case, spacing and punctuation taken away: two texts with one fingerprint say the same words
/// in the same order. It is how a retracted text is recognised when it comes back as other bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint(pub [u8; 32]);

impl Fingerprint {
    /// The fingerprint of a text.
    pub fn of(text: &str) -> Fingerprint {
        let mut words = String::with_capacity(text.len());
        let mut gap = false;
        let mut take = |c: char| {
            if c.is_alphanumeric() {
                if gap && !words.is_empty() {
                    words.push(' ');
                }
                gap = false;
                words.push(c);
            } else {
                gap = true;
            }
        };
        for c in text.chars() {
            // Most letters by far, and their lower case needs no table.
            match c.is_ascii() {
                true => take(c.to_ascii_lowercase()),
                false => c.to_lowercase().for_each(&mut take),
            }
        }
        Fingerprint(Sha256::digest(words.as_bytes()).into())
    }
}

impl Serialize for Fingerprint {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serde_bytes::Bytes::new(&self.0).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Fingerprint {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Fingerprint, D::Error> {
        let bytes = serde_bytes::ByteBuf::deserialize(deserializer)?;
        let bytes: [u8; 32] =
            bytes.as_slice().try_into().map_err(|_| serde::de::Error::custom("a fingerprint has 32 bytes"))?;
        Ok(Fingerprint(bytes))
    }
}

/// What a block says it is. The tag stands in the block as `"type"`, so a block is never taken for another kind.
macro_rules! block_type {
    ($name:ident, $tag:literal) => {
        #[doc = concat!("The tag `", $tag, "`.")]
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $name;

        impl ::serde::Serialize for $name {
            fn serialize<S: ::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str($tag)
            }
        }

        impl<'de> ::serde::Deserialize<'de> for $name {
            fn deserialize<D: ::serde::Deserializer<'de>>(deserializer: D) -> Result<$name, D::Error> {
                let tag = <String as ::serde::Deserialize>::deserialize(deserializer)?;
                if tag == $tag {
                    Ok($name)
                } else {
                    Err(::serde::de::Error::custom(concat!("the block is not of type ", $tag)))
                }
            }
        }
    };
}
pub(crate) use block_type;

block_type!(SourceTag, "plumb/source/1");
block_type!(ChunkTag, "plumb/chunk/1");

/// One source as one owner holds it. Its CID is the name of the source; a changed text is another source record
/// with the same `uri` and `instance`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceRecord {
    /// `plumb/source/1`
    #[serde(rename = "type")]
    pub tag: SourceTag,
    /// The node that took it in, and that may retract it.
    pub publisher: NodeId,
    /// Whose it is.
    pub scope: Scope,
    /// Where it came from, as others may see it: an address, or `file:` with the bare name. The path on the owner's
    /// machine stays there.
    pub uri: String,
    /// Tells apart two sources of one owner whose `uri` reads the same: 16 bytes from the full address.
    #[serde(with = "serde_bytes")]
    pub instance: Vec<u8>,
    /// Its title.
    pub title: String,
    /// Media type of the raw bytes, by content.
    pub media_type: String,
    /// The adapter that read it, such as `markdown/1`.
    pub adapter: String,
    /// The bytes as they came (codec raw).
    pub raw: Cid,
    /// The text that the adapter took out (codec raw, UTF-8).
    pub text: Cid,
    /// Fingerprint of that text.
    pub fingerprint: Fingerprint,
}

impl SourceRecord {
    /// The `instance` of a full address under one publisher.
    pub fn instance_of(publisher: &NodeId, address: &str) -> Vec<u8> {
        let mut hash = Sha256::new();
        hash.update(publisher.as_bytes());
        hash.update(address.as_bytes());
        hash.finalize()[..16].to_vec()
    }
}

/// A piece of a source's text: what is indexed, found, cited and retracted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chunk {
    /// `plumb/chunk/1`
    #[serde(rename = "type")]
    pub tag: ChunkTag,
    /// CID of its [`SourceRecord`].
    pub source: Cid,
    /// Its place among the chunks of the source, from 0.
    pub ordinal: u32,
    /// Byte offset of its first byte in the source's text.
    pub start: u64,
    /// Byte offset behind its last byte.
    pub end: u64,
    /// Title of the source.
    pub title: String,
    /// Headings above it, outermost first.
    pub headings: Vec<String>,
    /// Page on which it begins, where the source has pages, from 1.
    pub page: Option<u32>,
    /// The text, verbatim: bytes `start..end` of the source's text.
    pub text: String,
}

/// Cuts the text of a source into its chunks.
pub fn chunks_of(source: Cid, title: &str, text: &str, marks: &[Mark]) -> Vec<Chunk> {
    chunk(text, marks)
        .into_iter()
        .zip(0u32..)
        .map(|(span, ordinal)| Chunk {
            tag: ChunkTag,
            source,
            ordinal,
            start: span.start as u64,
            end: span.end as u64,
            title: title.to_string(),
            headings: span.headings,
            page: span.page,
            text: text[span.start..span.end].to_string(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipld_core::ipld::Ipld;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    /// Vectors of the acceptance map, B2.
    #[test]
    fn canonical_blocks_have_the_cids_of_the_vectors() {
        let map = |pairs: &[(&str, i128)]| {
            Ipld::Map(pairs.iter().map(|(k, v)| (k.to_string(), Ipld::Integer(*v))).collect::<BTreeMap<_, _>>())
        };
        for (value, cid) in [
            (map(&[]), "bafyreigbtj4x7ip5legnfznufuopl4sg4knzc2cof6duas4b3q2fy6swua"),
            (Ipld::List(vec![]), "bafyreidwx2fvfdiaox32v2mnn6sxu3j4qoxeqcuenhtgrv5qv6litfnmoe"),
            (Ipld::String(String::new()), "bafyreiengp2sbi6ez34a2jctv34bwyjl7yoliteleaswgcwtqzrhmpyt2m"),
            (Ipld::Integer(0), "bafyreidogqfzz75tpkmjzjke425xqcrmpcib2p5tg44hnbirumdbpl5adu"),
            (Ipld::Integer(-1), "bafyreibwvht7dsk3ql73tf2d4dc4jtuv3a6juqykvrm7qtxtzp5lmfcqna"),
            (map(&[("a", 1)]), "bafyreihltcnuuyqp2jm24aqydpnlj7b6w3ogwrplomrjtg5rifv44mmjey"),
            (map(&[("b", 1), ("a", 2), ("aa", 3)]), "bafyreihikbjp4lwurexf3sv44sotvp23hra42a5sz3ebo5hfwoewzhqc7m"),
        ] {
            assert_eq!(RawBlock::encode(&value).unwrap().cid.to_string(), cid);
        }
    }

    #[test]
    fn what_is_not_canonical_is_refused() {
        for bytes in [
            &[0x18, 0x00][..],                                       // 0 in two bytes
            &[0xa2, 0x61, 0x62, 0x01, 0x61, 0x61, 0x02],             // keys out of order
            &[0xa0, 0x00],                                           // a byte left over
            &[0x9f, 0xff],                                           // indefinite length
            &[0xf9, 0x7e, 0x00],                                     // NaN
            &[0x9b, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], // an array that claims 2^63 items
        ] {
            let block = RawBlock { cid: cid_of(DAG_CBOR, bytes), bytes: bytes.to_vec() };
            assert!(block.decode::<Ipld>().is_err(), "{bytes:x?}");
        }
    }

    /// The library decodes only the fields that are asked for, and passes over the others as they are.
    #[test]
    fn a_field_of_the_future_is_canonical_too() {
        let block = RawBlock::encode(&chunks_of(RawBlock::raw(vec![]).cid, "t", "text", &[])[0]).unwrap();
        let with = |value: &[u8]| {
            let mut bytes = block.bytes.clone();
            bytes[0] += 1;
            bytes.extend_from_slice(b"\x69zz-future");
            bytes.extend_from_slice(value);
            RawBlock::dag_cbor(bytes).decode::<Chunk>()
        };
        assert_eq!(with(&[0x18, 0x18]), block.decode());
        for value in [&[0x18, 0x17][..], &[0xf9, 0, 0], &[0x9f, 0xff], &[0x61, 0xff], &[0xc1, 0], &[0xa1, 1, 1]] {
            assert!(matches!(with(value), Err(ContentError::Canonical(_))), "{value:x?}");
        }
    }

    #[test]
    fn a_refusal_quotes_foreign_text_only_in_part() {
        let long = Ipld::String("x".repeat(100_000));
        let refused = RawBlock::encode(&long).unwrap().decode::<crate::notice::NoticeKind>().unwrap_err();
        assert!(refused.to_string().len() < 1000);
    }

    #[test]
    fn a_block_is_what_its_cid_says() {
        let block = RawBlock::raw(b"evidence".to_vec());
        assert!(RawBlock::checked(block.cid, block.bytes.clone()).is_ok());
        assert_eq!(RawBlock::checked(block.cid, b"evidenc3".to_vec()), Err(ContentError::Mismatch(block.cid)));
        assert!(parse_cid("QmYwAPJzv5CZsnA625s3Xf2nemtYgPpHdWEz79ojWnPbdG").is_err(), "CIDv0 is refused");
    }

    #[test]
    fn a_fingerprint_ignores_dress_and_keeps_words() {
        assert_eq!(Fingerprint::of("Dose: 1.8 mg/L\n"), Fingerprint::of("  dose 1 8 MG L"));
        assert_ne!(Fingerprint::of("not safe"), Fingerprint::of("safe"));
        assert_ne!(Fingerprint::of("ab c"), Fingerprint::of("a bc"));
    }

    proptest! {
        #[test]
        fn chunks_put_end_to_end_are_the_text(text in "(\\PC|\\n){0,4000}") {
            let source = RawBlock::raw(vec![]).cid;
            let joined: String = chunks_of(source, "t", &text, &[]).iter().map(|c| c.text.as_str()).collect();
            prop_assert_eq!(joined, text);
        }
    }
}
