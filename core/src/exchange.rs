//! The context bundle: an answer with everything that it rests on, signed, to be verified and replayed by anyone.
//!
//! `answer → claims → citations → chunks → source records`, the ranking with the statistics under which it was made,
//! the heads of the publishers' logs (what was known of retractions), the issuer's certificate and signature. A bundle
//! travels in one of two forms, and [`verify`] takes either, with no network and no node:
//!
//! - a CAR v1 file whose root is the [`Seal`]: the blocks as they are, for programs that speak IPLD;
//! - a W3C Verifiable Credential in JSON: the same blocks, and beside them what they say in words, with a Data
//!   Integrity proof that other people's libraries check.
//!
//! [`replay`] recomputes the answer from the bundle and must give the same bytes. A bundle proves with a [`LoggedAt`]
//! that its issuer put it on the public record. Two bundles on one [`Matter`] that say different things contradict each
//! other; both are kept.

mod bundle;
mod car;
mod file;
#[cfg(test)]
mod fixture;
mod json;
mod logged;
mod manifest;
mod matter;
pub mod session;
mod verify;

pub use bundle::{
    AnswerRef, Bundle, BundleTag, Cited, Contents, Head, ISSUED_MAX_AGE, MAX_AGE_MAX, Seal, SealTag, SealedBundle,
    Statistics, seal,
};
pub use car::{CAR_BLOCKS_MAX, CAR_BYTES_MAX, CarError, read_car, write_car};
pub use file::{BUNDLE_BYTES_MAX, BundleFile, Form};
pub use json::{CRYPTOSUITE, JsonError, ProofError, add_proof, check_proof, to_json};
pub use logged::{Logged, LoggedAt, LoggedTag};
pub use manifest::Manifest;
pub use matter::Matter;
pub use verify::{BundleError, CertificateState, Check, Knowledge, SourceStatus, Verdict, Verified, replay, verify};
