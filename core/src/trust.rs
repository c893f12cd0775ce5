//! Trust: an organisation's root key, the certificates that it gives to its nodes, and the roots that this node has
//! pinned.
//!
//! A node is admitted when its certificate is signed by a pinned root and is valid now. *In the future*, *expired* and
//! *unknown root* are different answers, and clocks that differ by minutes change none of them.

mod assertion;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::boundary::Requester;
use crate::content::block_type;
use crate::identity::{Domain, EntityId, NodeId, OrgId, SecretKey, Signable, Signed, SignedError};
use crate::measure::{Duration, Timestamp};

pub use assertion::{
    ASSERTION_NONCE_BYTES, ASSERTION_VALIDITY_MAX, ASSERTION_WORD_BYTES_MAX, Assertion, AssertionError, AssertionTag,
    Nonces, asserted_requester,
};

/// How far two honest clocks may differ.
pub const CLOCK_TOLERANCE: Duration = Duration::seconds(300);

/// How long a certificate is valid unless its organisation says otherwise.
pub const VALIDITY_DEFAULT: Duration = Duration::days(365);

block_type!(CertificateTag, "plumb/certificate/1");

/// What an organisation says of one of its nodes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Certificate {
    /// `plumb/certificate/1`
    #[serde(rename = "type")]
    pub tag: CertificateTag,
    /// The organisation, by its root key.
    pub org: OrgId,
    /// The organisation's name, for people.
    pub org_name: String,
    /// The node.
    pub node: NodeId,
    /// The department whose node it is.
    pub department: EntityId,
    /// Not valid before.
    pub not_before: Timestamp,
    /// Not valid after.
    pub not_after: Timestamp,
}

impl Signable for Certificate {
    const DOMAIN: Domain = Domain::Certificate;
}

/// Why a certificate does not admit. Each is a different answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TrustError {
    /// It is not signed by the organisation that it names.
    #[error("the certificate is not signed by the root of the organisation that it names")]
    NotSignedByRoot,
    /// The organisation is not pinned here.
    #[error("organisation {org} (`{name}`) is not trusted here; `plumb trust add {org}` would trust it")]
    UnknownRoot {
        /// Its root.
        org: OrgId,
        /// The name that it gives itself.
        name: String,
    },
    /// Not yet valid.
    #[error("the certificate is valid only from {0}; compare the clocks")]
    InFuture(Timestamp),
    /// No longer valid.
    #[error("the certificate expired at {0}; its organisation has to certify the node again")]
    Expired(Timestamp),
    /// It is another node's.
    #[error("the certificate is for node {certified}, and {presented} presents it")]
    OtherNode {
        /// Whom it certifies.
        certified: NodeId,
        /// Who showed it.
        presented: NodeId,
    },
}

/// An organisation's root signs for one of its nodes.
pub fn certify(
    root: &SecretKey,
    org_name: &str,
    node: NodeId,
    department: EntityId,
    now: Timestamp,
    validity: Duration,
) -> Result<Signed<Certificate>, SignedError> {
    let certificate = Certificate {
        tag: CertificateTag,
        org: root.public(),
        org_name: org_name.to_string(),
        node,
        department,
        not_before: now,
        not_after: now.plus(validity),
    };
    Signed::seal(certificate, root)
}

/// Whether the organisation that the certificate names did sign it.
pub fn is_signed_by_its_root(certificate: &Signed<Certificate>) -> bool {
    *certificate.signer() == certificate.value().org
}

/// The organisation roots that an operator has pinned, each with the name that the operator knows it by.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Roots(pub BTreeMap<OrgId, String>);

impl Roots {
    /// Whether an organisation is pinned.
    pub fn pins(&self, org: &OrgId) -> bool {
        self.0.contains_key(org)
    }

    /// Admits a node that presents a certificate, or says why not.
    pub fn admit(&self, node: &NodeId, certificate: &Signed<Certificate>, now: Timestamp) -> Result<(), TrustError> {
        let c = certificate.value();
        if !is_signed_by_its_root(certificate) {
            return Err(TrustError::NotSignedByRoot);
        }
        if !self.pins(&c.org) {
            return Err(TrustError::UnknownRoot { org: c.org, name: c.org_name.clone() });
        }
        if c.node != *node {
            return Err(TrustError::OtherNode { certified: c.node, presented: *node });
        }
        if now.plus(CLOCK_TOLERANCE) < c.not_before {
            return Err(TrustError::InFuture(c.not_before));
        }
        if c.not_after.plus(CLOCK_TOLERANCE) < now {
            return Err(TrustError::Expired(c.not_after));
        }
        Ok(())
    }
}

/// The requester that an admitted node is.
pub fn requester_of(certificate: &Certificate) -> Requester {
    Requester::peer(certificate.org, certificate.department.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(n: u8) -> SecretKey {
        SecretKey::from_seed([n; 32])
    }

    #[test]
    fn each_way_to_be_refused_is_its_own_answer() {
        let (root, node, other) = (key(1), key(2).public(), key(3).public());
        let at = Timestamp(1_000_000_000_000);
        let department: EntityId = "department-laboratory".parse().unwrap();
        let cert = certify(&root, "Northwater", node, department.clone(), at, Duration::days(1)).unwrap();
        let pinned = Roots(BTreeMap::from([(root.public(), "Northwater".to_string())]));

        assert_eq!(pinned.admit(&node, &cert, at), Ok(()));
        assert_eq!(pinned.admit(&node, &cert, Timestamp(at.0 - 240_000)), Ok(()), "minutes of skew change nothing");
        assert!(matches!(pinned.admit(&node, &cert, Timestamp(at.0 - 400_000)), Err(TrustError::InFuture(_))));
        assert!(matches!(pinned.admit(&node, &cert, at.plus(Duration::days(2))), Err(TrustError::Expired(_))));
        assert!(matches!(pinned.admit(&other, &cert, at), Err(TrustError::OtherNode { .. })));
        assert!(matches!(Roots::default().admit(&node, &cert, at), Err(TrustError::UnknownRoot { .. })));

        let forged = Certificate { org: root.public(), ..cert.value().clone() };
        let forged = Signed::seal(forged, &key(9)).unwrap();
        assert_eq!(pinned.admit(&node, &forged, at), Err(TrustError::NotSignedByRoot));
    }

    #[test]
    fn a_changed_certificate_does_not_open() {
        let cert =
            certify(&key(1), "N", key(2).public(), "department-a".parse().unwrap(), Timestamp(0), VALIDITY_DEFAULT)
                .unwrap();
        let bytes = cert.to_bytes();
        assert_eq!(Signed::<Certificate>::from_bytes(&bytes).unwrap(), cert);
        for i in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[i] ^= 1;
            assert!(Signed::<Certificate>::from_bytes(&changed).is_err(), "byte {i}");
        }
    }
}
