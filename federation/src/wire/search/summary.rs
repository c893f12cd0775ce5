//! A node's summary of its public collection, on its way.

use plumb_core::identity::Signed;
use plumb_core::retrieval::{CollectionSummary, SUMMARY_BYTES_MAX, SUMMARY_TERMS_MAX};
use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;

use super::super::scan::{Limits, scan};
use super::super::{WireError, field, frame};
use super::PROTOCOL;

/// Largest signed summary, in bytes.
pub const SUMMARY_ENVELOPE_BYTES_MAX: usize = SUMMARY_BYTES_MAX + 1024;

/// A term and its count are two items; the rest are some twenty.
const SUMMARY_ITEMS_MAX: usize = SUMMARY_TERMS_MAX * 2 + 64;

#[derive(Serialize, Deserialize)]
pub(super) struct SummaryV1 {
    id: u64,
    summary: ByteBuf,
}

pub(super) fn encode(id: u64, summary: &Signed<CollectionSummary>) -> Vec<u8> {
    frame::encode(PROTOCOL, "summary", &SummaryV1 { id, summary: ByteBuf::from(summary.to_bytes()) })
}

/// The summary is signed by the node that it is of, and its block is held to the rules of every block.
pub(super) fn decode(body: SummaryV1) -> Result<(u64, Box<Signed<CollectionSummary>>), WireError> {
    let signed: Signed<CollectionSummary> = field::signed(&body.summary, "summary", SUMMARY_ENVELOPE_BYTES_MAX)?;
    scan(&signed.block().bytes, Limits { bytes: SUMMARY_BYTES_MAX, items: SUMMARY_ITEMS_MAX })?;
    if *signed.signer() != signed.value().publisher {
        return Err(WireError::Signer { what: "summary", signer: *signed.signer() });
    }
    Ok((body.id, Box::new(signed)))
}
