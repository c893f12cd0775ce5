//! The frame around every message: `type`, `kind`, and the fields of the message beside them in one map.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::WireError;
use super::scan::{Limits, scan};

/// Longest kind, in bytes.
const KIND_BYTES_MAX: usize = 64;

/// A message of the right protocol and version whose kind a newer peer knows and we do not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unknown {
    /// What the peer calls it.
    pub kind: String,
    /// The whole frame, as it came.
    pub bytes: Vec<u8>,
}

#[derive(Serialize)]
struct FrameV1<'a, B> {
    #[serde(rename = "type")]
    protocol: &'a str,
    kind: &'a str,
    #[serde(flatten)]
    body: &'a B,
}

#[derive(Deserialize)]
struct HeaderV1<'a> {
    #[serde(rename = "type")]
    protocol: &'a str,
    kind: &'a str,
}

/// A frame that is within its limits and of the right protocol.
pub(super) struct Frame<'a> {
    /// Which message.
    pub(super) kind: &'a str,
    bytes: &'a [u8],
}

/// Writes a frame.
pub(super) fn encode<B: Serialize>(protocol: &str, kind: &str, body: &B) -> Vec<u8> {
    // Texts, bytes, integers, CIDs and lists of these always encode. Were one not to, what results is the empty frame,
    // which every decoder refuses.
    serde_ipld_dagcbor::to_vec(&FrameV1 { protocol, kind, body }).unwrap_or_default()
}

/// Reads as far as the kind: limits, then protocol and version.
pub(super) fn open<'a>(bytes: &'a [u8], protocol: &'static str, limits: Limits) -> Result<Frame<'a>, WireError> {
    scan(bytes, limits)?;
    let header: HeaderV1<'a> = shape(bytes)?;
    if header.protocol != protocol {
        return Err(WireError::Version { expected: protocol, found: super::reason(header.protocol) });
    }
    if header.kind.len() > KIND_BYTES_MAX {
        return Err(WireError::Limit { what: "bytes of kind", max: KIND_BYTES_MAX });
    }
    Ok(Frame { kind: header.kind, bytes })
}

/// Reads as far as the kind, where there is only one.
pub(super) fn open_only<'a>(
    bytes: &'a [u8],
    protocol: &'static str,
    kind: &'static str,
    limits: Limits,
) -> Result<Frame<'a>, WireError> {
    let frame = open(bytes, protocol, limits)?;
    if frame.kind == kind { Ok(frame) } else { Err(WireError::Kind(frame.kind.to_string())) }
}

impl Frame<'_> {
    /// The fields of the message.
    pub(super) fn body<B: DeserializeOwned>(&self) -> Result<B, WireError> {
        shape(self.bytes)
    }

    /// The frame as something to keep.
    pub(super) fn unknown(&self) -> Unknown {
        Unknown { kind: self.kind.to_string(), bytes: self.bytes.to_vec() }
    }
}

/// The fields of a value whose limits are checked.
pub(super) fn shape<'a, B: Deserialize<'a>>(bytes: &'a [u8]) -> Result<B, WireError> {
    serde_ipld_dagcbor::from_slice(bytes).map_err(|e| WireError::Shape(super::reason(&e.to_string())))
}

/// The fields of a message that has none.
#[derive(Serialize, Deserialize)]
pub(super) struct EmptyV1 {}

/// The fields of a refusal.
#[derive(Serialize, Deserialize)]
pub(super) struct ReasonV1 {
    pub(super) reason: String,
}
