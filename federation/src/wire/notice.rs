//! `/plumb/notice/1`: a notice to whoever owes to hear it, and what comes back.
//!
//! | version | since | change |
//! | --- | --- | --- |
//! | 1 | 0.1.0 | deliver and acknowledge, receipt and accept |

use plumb_core::identity::Signed;
use plumb_core::notice::{Acknowledgement, NOTICE_BYTES_MAX, Notice, RECEIPT_SOURCES_MAX, Receipt};
use plumb_core::trust::Certificate;
use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;

use super::log::BusyV1;
use super::scan::Limits;
use super::{CERTIFICATE_BYTES_MAX, RETRY_AFTER_MS_MAX, Unknown, WireError, field, frame};

/// The name of the protocol.
pub const PROTOCOL: &str = "/plumb/notice/1";

/// Largest request, in bytes: a notice and a certificate.
pub const REQUEST_BYTES_MAX: usize = NOTICE_BYTES_MAX + CERTIFICATE_BYTES_MAX + 4 * 1024;

/// Largest response, in bytes: an acknowledgement or a reason.
pub const RESPONSE_BYTES_MAX: usize = ACKNOWLEDGEMENT_BYTES_MAX + 4 * 1024;

/// Largest signed receipt, in bytes: its sources are some 40 each.
pub const RECEIPT_BYTES_MAX: usize = RECEIPT_SOURCES_MAX * 64 + 4 * 1024;

/// Largest signed acknowledgement, in bytes.
pub const ACKNOWLEDGEMENT_BYTES_MAX: usize = 4 * 1024;

const REQUEST_LIMITS: Limits = Limits { bytes: REQUEST_BYTES_MAX, items: 64 };

const RESPONSE_LIMITS: Limits = Limits { bytes: RESPONSE_BYTES_MAX, items: 64 };

/// What is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoticeRequest {
    /// A notice, to be applied and acknowledged.
    Deliver {
        /// The notice.
        notice: Signed<Notice>,
        /// Its publisher's.
        certificate: Signed<Certificate>,
    },
    /// "I hold this of yours; tell me when you take it back."
    Receipt(Signed<Receipt>),
    /// A kind that a newer peer knows.
    Unknown(Unknown),
}

/// What is answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoticeResponse {
    /// The notice is applied.
    Acknowledged(Signed<Acknowledgement>),
    /// The receipt is kept.
    Accepted,
    /// It is not done.
    Refused {
        /// Why.
        reason: String,
    },
    /// Not now.
    Busy {
        /// When to ask again.
        retry_after_ms: u64,
    },
    /// A kind that a newer peer knows.
    Unknown(Unknown),
}

#[derive(Serialize, Deserialize)]
struct DeliverV1 {
    notice: ByteBuf,
    certificate: ByteBuf,
}

#[derive(Serialize, Deserialize)]
struct SignedV1 {
    signed: ByteBuf,
}

/// A notice that keeps its own rules.
pub(super) fn checked(bytes: &[u8]) -> Result<Signed<Notice>, WireError> {
    let notice: Signed<Notice> = field::signed(bytes, "notice", NOTICE_BYTES_MAX)?;
    notice.value().check().map_err(WireError::Notice)?;
    Ok(notice)
}

/// A receipt that its importer signed.
fn receipt(bytes: &[u8]) -> Result<Signed<Receipt>, WireError> {
    let receipt: Signed<Receipt> = field::signed(bytes, "receipt", RECEIPT_BYTES_MAX)?;
    field::at_most(receipt.value().sources.len(), RECEIPT_SOURCES_MAX, "sources")?;
    said_by(receipt, "receipt", |r| &r.importer)
}

/// An acknowledgement that its holder signed.
fn acknowledgement(bytes: &[u8]) -> Result<Signed<Acknowledgement>, WireError> {
    let signed = field::signed(bytes, "acknowledgement", ACKNOWLEDGEMENT_BYTES_MAX)?;
    said_by(signed, "acknowledgement", |a: &Acknowledgement| &a.by)
}

fn said_by<T: plumb_core::identity::Signable>(
    signed: Signed<T>,
    what: &'static str,
    speaker: impl Fn(&T) -> &plumb_core::identity::NodeId,
) -> Result<Signed<T>, WireError> {
    if signed.signer() == speaker(signed.value()) {
        Ok(signed)
    } else {
        let signer = *signed.signer();
        Err(WireError::Signer { what, signer })
    }
}

impl NoticeRequest {
    /// The frame.
    pub fn encode(&self) -> Vec<u8> {
        match self {
            NoticeRequest::Deliver { notice, certificate } => {
                let body = DeliverV1 {
                    notice: ByteBuf::from(notice.to_bytes()),
                    certificate: ByteBuf::from(certificate.to_bytes()),
                };
                frame::encode(PROTOCOL, "deliver", &body)
            }
            NoticeRequest::Receipt(receipt) => {
                let signed = ByteBuf::from(receipt.to_bytes());
                frame::encode(PROTOCOL, "receipt", &SignedV1 { signed })
            }
            NoticeRequest::Unknown(unknown) => unknown.bytes.clone(),
        }
    }

    /// Reads a frame. Whether the signer of a notice may issue it is asked where the evidence is known.
    pub fn decode(bytes: &[u8]) -> Result<NoticeRequest, WireError> {
        let frame = frame::open(bytes, PROTOCOL, REQUEST_LIMITS)?;
        Ok(match frame.kind {
            "deliver" => {
                let body: DeliverV1 = frame.body()?;
                NoticeRequest::Deliver {
                    notice: checked(&body.notice)?,
                    certificate: field::certificate(&body.certificate)?,
                }
            }
            "receipt" => NoticeRequest::Receipt(receipt(&frame.body::<SignedV1>()?.signed)?),
            _ => NoticeRequest::Unknown(frame.unknown()),
        })
    }
}

impl NoticeResponse {
    /// The frame.
    pub fn encode(&self) -> Vec<u8> {
        match self {
            NoticeResponse::Acknowledged(acknowledgement) => {
                let signed = ByteBuf::from(acknowledgement.to_bytes());
                frame::encode(PROTOCOL, "acknowledged", &SignedV1 { signed })
            }
            NoticeResponse::Accepted => frame::encode(PROTOCOL, "accepted", &frame::EmptyV1 {}),
            NoticeResponse::Refused { reason } => {
                let reason = super::reason(reason);
                frame::encode(PROTOCOL, "refused", &frame::ReasonV1 { reason })
            }
            NoticeResponse::Busy { retry_after_ms } => {
                let retry_after_ms = *retry_after_ms;
                frame::encode(PROTOCOL, "busy", &BusyV1 { retry_after_ms })
            }
            NoticeResponse::Unknown(unknown) => unknown.bytes.clone(),
        }
    }

    /// Reads a frame.
    pub fn decode(bytes: &[u8]) -> Result<NoticeResponse, WireError> {
        let frame = frame::open(bytes, PROTOCOL, RESPONSE_LIMITS)?;
        Ok(match frame.kind {
            "acknowledged" => NoticeResponse::Acknowledged(acknowledgement(&frame.body::<SignedV1>()?.signed)?),
            "accepted" => {
                frame.body::<frame::EmptyV1>()?;
                NoticeResponse::Accepted
            }
            "refused" => NoticeResponse::Refused { reason: field::reason(frame.body::<frame::ReasonV1>()?.reason)? },
            "busy" => {
                let asked = frame.body::<BusyV1>()?.retry_after_ms;
                NoticeResponse::Busy { retry_after_ms: asked.min(RETRY_AFTER_MS_MAX) }
            }
            _ => NoticeResponse::Unknown(frame.unknown()),
        })
    }
}
