//! The context bundle: an answer with everything that it rests on, signed, to be verified and replayed by anyone.
//!
//! `answer → claims → citations → chunks → source records`, the ranking with the statistics under which it was made,
//! the heads of the publishers' logs (what was known of retractions), the issuer's certificate and signature. A bundle
//! travels as a CAR v1 file whose root is the [`Seal`]; standard IPLD tools can read it. [`verify`] needs no network
//! and no node. [`replay`] recomputes the answer from the bundle and must give the same bytes.

mod bundle;
mod car;
pub mod session;
mod verify;

pub use bundle::{
    AnswerRef, Bundle, BundleTag, Cited, Contents, Head, ISSUED_MAX_AGE, Seal, SealTag, SealedBundle, Statistics, seal,
};
pub use car::{CAR_BLOCKS_MAX, CAR_BYTES_MAX, CarError, read_car, write_car};
pub use verify::{BundleError, CertificateState, Check, Knowledge, SourceStatus, Verdict, Verified, replay, verify};
