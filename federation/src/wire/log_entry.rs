//! What a leaf of a public log is: a notice, open or sealed, the issue of a bundle, a certificate, or what an
//! organisation says of its roots and nodes.
//!
//! A log is a list of bytes to whoever follows it; this says what they mean. The leaf is always kept as it came, so an
//! entry that a newer node wrote is passed on whole by one that cannot read it.

use cid::Cid;
use plumb_core::identity::Signed;
use plumb_core::notice::{BODY_BYTES_MAX, LOCK_BYTES, Notice, SealedNotice, TARGETS_MAX};
use plumb_core::trust::{Certificate, REVOCATION_BYTES_MAX, Revocation, Rotation};
use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;

use super::scan::Limits;
use super::{Unknown, WireError, field, frame};

/// The tag of an entry, which ends in its version.
pub const TYPE: &str = "plumb/log-entry/1";

/// Largest entry, in bytes: the largest notice, sealed, with all its locks, and room around it.
pub const ENTRY_BYTES_MAX: usize = BODY_BYTES_MAX + LOCKS_BYTES_MAX + 4 * 1024;

const LOCKS_BYTES_MAX: usize = TARGETS_MAX * LOCK_BYTES;

const LIMITS: Limits = Limits { bytes: ENTRY_BYTES_MAX, items: 64 };

/// One entry of a public log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogEntry {
    /// A notice of the publisher.
    Notice(Signed<Notice>),
    /// A notice of the publisher about what is not public.
    Sealed(SealedNotice),
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
struct SealedV1 {
    notice: Cid,
    nonce: ByteBuf,
    body: ByteBuf,
    /// One behind the other.
    locks: ByteBuf,
}

impl From<&SealedNotice> for SealedV1 {
    fn from(sealed: &SealedNotice) -> SealedV1 {
        SealedV1 {
            notice: sealed.notice,
            nonce: ByteBuf::from(sealed.nonce.to_vec()),
            body: ByteBuf::from(sealed.body.clone()),
            locks: ByteBuf::from(sealed.locks.concat()),
        }
    }
}

impl TryFrom<SealedV1> for SealedNotice {
    type Error = WireError;
    fn try_from(body: SealedV1) -> Result<SealedNotice, WireError> {
        let (locks, rest) = body.locks.as_chunks::<{ LOCK_BYTES }>();
        let nonce = body.nonce.as_slice().try_into();
        let (Ok(nonce), []) = (nonce, rest) else {
            return Err(WireError::Contradiction("a sealed notice has a nonce of 24 bytes and locks of 64"));
        };
        let sealed =
            SealedNotice { notice: field::cid(body.notice)?, nonce, locks: locks.to_vec(), body: body.body.into_vec() };
        sealed.check().map_err(WireError::SealedNotice)?;
        Ok(sealed)
    }
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
            LogEntry::Sealed(sealed) => frame::encode(TYPE, "sealed", &SealedV1::from(sealed)),
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
            "sealed" => LogEntry::Sealed(frame.body::<SealedV1>()?.try_into()?),
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
