//! For whom a node asks: the signed assertion that comes with a question to another node, and who its asker then is.
//!
//! A certificate says what a *node* is; an assertion says for whom that node asks this time. It can only take away:
//! the requester is what certificate **and** assertion allow. A node that asserts nothing is a stranger, to whom only
//! public evidence is readable. An assertion is for one receiver and one request, is short-lived, and holds once.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{CLOCK_TOLERANCE, Certificate};
use crate::boundary::Requester;
use crate::content::block_type;
use crate::identity::{Domain, EntityId, NodeId, OrgId, Signable, Signed};
use crate::measure::{Duration, Timestamp};

/// Longest time for which an assertion can be valid: a question is over in less.
pub const ASSERTION_VALIDITY_MAX: Duration = Duration::seconds(300);

/// Bytes of a nonce: enough that no two are ever drawn alike.
pub const ASSERTION_NONCE_BYTES: usize = 16;

/// Most departments that an assertion names. A person belongs to a few.
pub const ASSERTION_DEPARTMENTS_MAX: usize = 8;

/// Longest role or purpose, in bytes. Both are words for the audit log.
pub const ASSERTION_WORD_BYTES_MAX: usize = 200;

block_type!(AssertionTag, "plumb/assertion/1");

/// What a node says of whom it asks for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Assertion {
    /// `plumb/assertion/1`
    #[serde(rename = "type")]
    pub tag: AssertionTag,
    /// The organisation that asks.
    pub org: OrgId,
    /// Departments to which the requester belongs, as far as they matter to the receiver.
    pub departments: Vec<EntityId>,
    /// In which role, such as `member` or `operator`. Nothing is decided by it.
    pub role: String,
    /// Who asks, only where the asking node's policy says that it may be told. Nothing is decided by it.
    pub person: Option<EntityId>,
    /// What for, where somebody said so. Nothing is decided by it.
    pub purpose: Option<String>,
    /// The one node that it is for.
    pub audience: NodeId,
    /// The request that it is for.
    pub request: u64,
    /// Makes it different from every other.
    #[serde(with = "serde_bytes")]
    pub nonce: Vec<u8>,
    /// When it was signed.
    pub issued_at: Timestamp,
    /// Not valid after.
    pub expires_at: Timestamp,
}

impl Signable for Assertion {
    const DOMAIN: Domain = Domain::Assertion;
}

/// Why an assertion is refused. Each is a different answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AssertionError {
    /// Signed by another node than the one that asks.
    #[error("the assertion is signed by {signer}, and {asker} asks")]
    Signer {
        /// Who signed.
        signer: NodeId,
        /// Who asks.
        asker: NodeId,
    },
    /// Of another organisation than the certificate.
    #[error("the assertion is of another organisation than the certificate of the node that asks")]
    Organisation,
    /// For another node.
    #[error("the assertion is for node {0}")]
    Audience(NodeId),
    /// For another request.
    #[error("the assertion is for request {stated}, not for {given}")]
    Request {
        /// What it says.
        stated: u64,
        /// With what it came.
        given: u64,
    },
    /// It breaks its own limits.
    #[error("the assertion is malformed: {0}")]
    Malformed(&'static str),
    /// Not yet valid.
    #[error("the assertion is from {0}, which is in the future; compare the clocks")]
    InFuture(Timestamp),
    /// No longer valid.
    #[error("the assertion expired at {0}; compare the clocks")]
    Expired(Timestamp),
    /// It was shown before.
    #[error("the assertion was used before")]
    Replayed,
    /// More questions at a time than are kept apart.
    #[error("too many questions of this node at a time; ask again in some minutes")]
    Full,
}

impl Assertion {
    /// What can be checked without knowing who asks: sizes and times.
    fn check(&self, now: Timestamp) -> Result<(), AssertionError> {
        let malformed = |what| Err(AssertionError::Malformed(what));
        if self.nonce.len() != ASSERTION_NONCE_BYTES {
            return malformed("its nonce has not 16 bytes");
        }
        if self.departments.len() > ASSERTION_DEPARTMENTS_MAX {
            return malformed("it names too many departments");
        }
        let longest = self.role.len().max(self.purpose.as_ref().map_or(0, String::len));
        if longest > ASSERTION_WORD_BYTES_MAX {
            return malformed("its role or purpose is too long");
        }
        if self.expires_at < self.issued_at || self.expires_at.since(self.issued_at) > ASSERTION_VALIDITY_MAX {
            return malformed("it is valid for longer than any question takes");
        }
        if now.plus(CLOCK_TOLERANCE) < self.issued_at {
            return Err(AssertionError::InFuture(self.issued_at));
        }
        if self.expires_at.plus(CLOCK_TOLERANCE) < now {
            return Err(AssertionError::Expired(self.expires_at));
        }
        Ok(())
    }
}

/// Who asks, by the certificate of the asking node and by what it asserts: the most restrictive of both. Without an
/// assertion it is a stranger. With one that does not hold it is nobody: the question is refused.
///
/// `me` is the node that was asked, `request` the id of the question, `nonces` what it was shown before.
pub fn asserted_requester(
    certificate: &Certificate,
    assertion: Option<&Signed<Assertion>>,
    me: &NodeId,
    request: u64,
    now: Timestamp,
    nonces: &mut Nonces,
) -> Result<Requester, AssertionError> {
    let Some(signed) = assertion else { return Ok(Requester::stranger()) };
    let asserted = signed.value();
    if *signed.signer() != certificate.node {
        return Err(AssertionError::Signer { signer: *signed.signer(), asker: certificate.node });
    }
    if asserted.org != certificate.org {
        return Err(AssertionError::Organisation);
    }
    if asserted.audience != *me {
        return Err(AssertionError::Audience(asserted.audience));
    }
    if asserted.request != request {
        return Err(AssertionError::Request { stated: asserted.request, given: request });
    }
    asserted.check(now)?;
    nonces.spend(signed.signer(), &asserted.nonce, asserted.expires_at, now)?;
    let mut requester = Requester::peer(certificate.org, certificate.department.clone());
    requester.departments.retain(|department| asserted.departments.contains(department));
    requester.scopes.retain(|scope| asserted.departments.contains(scope));
    Ok(requester)
}

/// Nonces kept for one signer at a time: twelve questions a second for the six minutes that one can be shown. At 60 bytes
/// each a signer costs a quarter of a megabyte at most.
const NONCES_PER_SIGNER_MAX: usize = 4 * 1024;

/// Signers that are kept apart: as many as a node admits. What is over is refused, never forgotten.
const SIGNERS_MAX: usize = 1024;

/// The assertions that were shown and could still be shown again.
///
/// They are kept in memory, each until it would be refused as expired. A restart forgets them: what a node could replay
/// then is its own question, for only the signer itself can deliver an assertion.
#[derive(Clone, Debug, Default)]
pub struct Nonces {
    by_signer: BTreeMap<NodeId, BTreeMap<Vec<u8>, Timestamp>>,
}

impl Nonces {
    /// Takes note of a nonce; refuses one that was seen.
    fn spend(
        &mut self,
        signer: &NodeId,
        nonce: &[u8],
        expires_at: Timestamp,
        now: Timestamp,
    ) -> Result<(), AssertionError> {
        let is_kept = |until: &Timestamp| now <= until.plus(CLOCK_TOLERANCE);
        if !self.by_signer.contains_key(signer) && self.by_signer.len() == SIGNERS_MAX {
            self.by_signer.retain(|_, seen| seen.values().any(is_kept));
            if self.by_signer.len() == SIGNERS_MAX {
                return Err(AssertionError::Full);
            }
        }
        let seen = self.by_signer.entry(*signer).or_default();
        if seen.contains_key(nonce) {
            return Err(AssertionError::Replayed);
        }
        if seen.len() == NONCES_PER_SIGNER_MAX {
            seen.retain(|_, until| is_kept(until));
            if seen.len() == NONCES_PER_SIGNER_MAX {
                return Err(AssertionError::Full);
            }
        }
        seen.insert(nonce.to_vec(), expires_at);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
