//! Trust: an organisation's root key, the certificates that it gives to its nodes, and the organisations that this node
//! has pinned.
//!
//! A node is admitted when its certificate is signed by the root of a pinned organisation, is not revoked, and is valid
//! now. *In the future*, *expired*, *revoked* and *unknown* are different answers, and clocks that differ by minutes
//! change none of them.
//!
//! An organisation is named for ever by its **first** root ([`OrgId`](crate::identity::OrgId)). Its current root may be
//! another key: a [`Rotation`], signed by both, leads from one to the next, and a certificate carries the rotations that
//! lead from the name to its signer. So what was signed for the name stays true when the key changes.
//!
//! | room | holds |
//! | --- | --- |
//! | [`Certificate`] | what an organisation says of one of its nodes |
//! | [`Rotation`] | one root gives way to another |
//! | [`Revocation`] | a node, or a certificate, counts no more |
//! | [`History`] | the rotations and revocations that were taken up here |
//! | [`Roots`] | the pinned organisations, and the one answer to "who may?" |
//! | [`Authority`] | who may take evidence back |

mod assertion;
mod authority;
mod certificate;
mod history;
mod pin;
mod revocation;
mod roots;
mod rotation;

pub use authority::{Authority, Published};
pub use certificate::{
    CAPABILITIES_MAX, Capability, Certificate, CertificateTag, SUCCEEDS_MAX, Terms, VALIDITY_DEFAULT, certify,
    certify_under, is_signed_by_its_root, line_of, requester_of,
};
pub use history::{History, Line, Place, Revoked, RootStanding};
pub use pin::{Incoming, Outgoing, Pin, WEIGHT_NEUTRAL};
pub use revocation::{REVOCATION_BYTES_MAX, Revocation, RevocationReason, RevocationTag};
pub use roots::{Roots, TrustError};
pub use rotation::{ROTATION_BYTES_MAX, ROTATIONS_MAX, RootRotation, Rotation, RotationError, RotationTag};

use crate::measure::Duration;

pub use assertion::{
    ASSERTION_NONCE_BYTES, ASSERTION_VALIDITY_MAX, ASSERTION_WORD_BYTES_MAX, Assertion, AssertionError, AssertionTag,
    Nonces, asserted_requester,
};

/// How far two honest clocks may differ.
pub const CLOCK_TOLERANCE: Duration = Duration::seconds(300);

#[cfg(test)]
mod tests;
