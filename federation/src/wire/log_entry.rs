//! What a leaf of a public log is: a notice, the issue of a bundle, a certificate, or what an organisation says of its
//! roots and nodes.
//!
//! A log is a list of bytes to whoever follows it; this says what they mean. The leaf is always kept as it came, so an
//! entry that a newer node wrote is passed on whole by one that cannot read it.

use cid::Cid;
use plumb_core::identity::Signed;
use plumb_core::notice::{NOTICE_BYTES_MAX, Notice};
use plumb_core::trust::{Certificate, REVOCATION_BYTES_MAX, Revocation, Rotation};
use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;

use super::scan::Limits;
use super::{Unknown, WireError, field, frame};

/// The tag of an entry, which ends in its version.
pub const TYPE: &str = "plumb/log-entry/1";

/// Largest entry, in bytes: the largest notice, and room around it.
pub const ENTRY_BYTES_MAX: usize = NOTICE_BYTES_MAX + 4 * 1024;

const LIMITS: Limits = Limits { bytes: ENTRY_BYTES_MAX, items: 64 };

/// One entry of a public log.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "one entry at a time, which lives for one call")]
pub enum LogEntry {
    /// A notice of the publisher.
    Notice(Signed<Notice>),
    /// The publisher issued a bundle.
    Bundle {
        /// Its name.
        cid: Cid,
    },
    /// A certificate that the publisher goes by from here on.
    Certificate(Signed<Certificate>),
    /// The root of an organisation gives way to another one.
    Rotation(Rotation),
    /// An organisation takes a node or a certificate back.
    Revocation(Signed<Revocation>),
    /// A kind that a newer node knows.
    Unknown(Unknown),
}

#[derive(Serialize, Deserialize)]
struct SignedV1 {
    signed: ByteBuf,
}

#[derive(Serialize, Deserialize)]
struct BundleV1 {
    cid: Cid,
}

impl LogEntry {
    /// The bytes of the leaf.
    pub fn encode(&self) -> Vec<u8> {
        let signed = |kind, bytes| {
            let signed = ByteBuf::from(bytes);
            frame::encode(TYPE, kind, &SignedV1 { signed })
        };
        match self {
            LogEntry::Notice(notice) => signed("notice", notice.to_bytes()),
            LogEntry::Bundle { cid } => frame::encode(TYPE, "bundle", &BundleV1 { cid: *cid }),
            LogEntry::Certificate(certificate) => signed("certificate", certificate.to_bytes()),
            LogEntry::Rotation(rotation) => signed("rotation", rotation.to_bytes()),
            LogEntry::Revocation(revocation) => signed("revocation", revocation.to_bytes()),
            LogEntry::Unknown(unknown) => unknown.bytes.clone(),
        }
    }

    /// Reads a leaf. Who may say it is asked where the log is applied.
    pub fn decode(bytes: &[u8]) -> Result<LogEntry, WireError> {
        let frame = frame::open(bytes, TYPE, LIMITS)?;
        Ok(match frame.kind {
            "notice" => {
                let notice = super::notice::checked(&frame.body::<SignedV1>()?.signed)?;
                LogEntry::Notice(notice)
            }
            "bundle" => LogEntry::Bundle { cid: field::cid(frame.body::<BundleV1>()?.cid)? },
            "certificate" => LogEntry::Certificate(field::certificate(&frame.body::<SignedV1>()?.signed)?),
            "rotation" => {
                let rotation = Rotation::from_bytes(&frame.body::<SignedV1>()?.signed).map_err(WireError::Rotation)?;
                LogEntry::Rotation(rotation)
            }
            "revocation" => LogEntry::Revocation(field::signed(
                &frame.body::<SignedV1>()?.signed,
                "revocation",
                REVOCATION_BYTES_MAX,
            )?),
            _ => LogEntry::Unknown(frame.unknown()),
        })
    }
}
