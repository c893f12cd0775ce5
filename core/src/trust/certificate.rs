//! The certificate: what an organisation says of one of its nodes.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;

use super::rotation::{ROTATIONS_MAX, Rotation};
use crate::boundary::Requester;
use crate::content::block_type;
use crate::identity::{Domain, EntityId, NodeId, OrgId, PublicKey, SecretKey, Signable, Signed, SignedError};
use crate::measure::{Duration, Timestamp};

/// How long a certificate is valid unless its organisation says otherwise.
pub const VALIDITY_DEFAULT: Duration = Duration::days(365);

/// Most capabilities that one certificate names.
pub const CAPABILITIES_MAX: usize = 16;
/// Most nodes that one node succeeds.
pub const SUCCEEDS_MAX: usize = 8;
/// Longest name of a capability, in bytes.
const CAPABILITY_BYTES_MAX: usize = 32;

block_type!(CertificateTag, "plumb/certificate/1");

/// What a node may do in the name of its organisation.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum Capability {
    /// Search at peers.
    Search,
    /// Fetch content of peers.
    Content,
    /// Publish notices.
    Notices,
    /// Cosign the logs of others.
    Witness,
    /// One that a newer program knows. It is kept.
    Other(String),
}

impl Capability {
    /// Those that this program knows.
    pub const KNOWN: [Capability; 4] =
        [Capability::Search, Capability::Content, Capability::Notices, Capability::Witness];

    /// Its name.
    pub fn as_str(&self) -> &str {
        match self {
            Capability::Search => "search",
            Capability::Content => "content",
            Capability::Notices => "notices",
            Capability::Witness => "witness",
            Capability::Other(name) => name,
        }
    }
}

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl From<String> for Capability {
    fn from(name: String) -> Capability {
        Capability::KNOWN.into_iter().find(|c| c.as_str() == name).unwrap_or(Capability::Other(name))
    }
}

impl From<Capability> for String {
    fn from(capability: Capability) -> String {
        capability.as_str().to_string()
    }
}

impl FromStr for Capability {
    type Err = Infallible;
    fn from_str(name: &str) -> Result<Capability, Infallible> {
        Ok(name.to_string().into())
    }
}

/// What an organisation says of one of its nodes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Certificate {
    /// `plumb/certificate/1`
    #[serde(rename = "type")]
    pub tag: CertificateTag,
    /// The organisation, by its first root.
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
    /// What the node may do, in the order in which it was written. A certificate that says nothing lets it do everything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capabilities: Option<Vec<Capability>>,
    /// Nodes of the same department whose evidence this node may take back in their stead.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub succeeds: Vec<NodeId>,
    /// Rotations in their stored form, from the first root to the one that signed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rotations: Vec<ByteBuf>,
}

impl Signable for Certificate {
    const DOMAIN: Domain = Domain::Certificate;
}

impl Certificate {
    /// Whether the node may do something.
    pub fn may(&self, capability: &Capability) -> bool {
        self.capabilities.as_ref().is_none_or(|all| all.contains(capability))
    }

    /// The rotations that it carries, if they lead on from its organisation's name; each is signed by both roots.
    pub fn rotations(&self) -> Option<Vec<Rotation>> {
        if self.rotations.len() > ROTATIONS_MAX {
            return None;
        }
        let mut at = self.org;
        let mut all = Vec::new();
        for bytes in &self.rotations {
            let rotation = Rotation::from_bytes(bytes).ok()?;
            if rotation.value().org != self.org || rotation.value().old != at {
                return None;
            }
            at = rotation.value().new;
            all.push(rotation);
        }
        Some(all)
    }

    /// Whether its lists are within their limits.
    pub fn is_within_limits(&self) -> bool {
        self.succeeds.len() <= SUCCEEDS_MAX
            && self.rotations.len() <= ROTATIONS_MAX
            && self.capabilities.as_ref().is_none_or(|all| {
                all.len() <= CAPABILITIES_MAX && all.iter().all(|c| c.as_str().len() <= CAPABILITY_BYTES_MAX)
            })
    }
}

/// What a root says of a node when it certifies it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Terms {
    /// The department.
    pub department: EntityId,
    /// What it may do; everything if nothing is said.
    pub capabilities: Option<BTreeSet<Capability>>,
    /// Whom it succeeds.
    pub succeeds: Vec<NodeId>,
    /// For how long.
    pub validity: Duration,
}

/// An organisation's first root signs for one of its nodes, which may do everything.
pub fn certify(
    root: &SecretKey,
    org_name: &str,
    node: NodeId,
    department: EntityId,
    now: Timestamp,
    validity: Duration,
) -> Result<Signed<Certificate>, SignedError> {
    let terms = Terms { department, capabilities: None, succeeds: Vec::new(), validity };
    certify_under(root, &[], org_name, node, terms, now)
}

/// A root signs for a node; `rotations` lead from the organisation's first root to it.
pub fn certify_under(
    root: &SecretKey,
    rotations: &[Rotation],
    org_name: &str,
    node: NodeId,
    terms: Terms,
    now: Timestamp,
) -> Result<Signed<Certificate>, SignedError> {
    let certificate = Certificate {
        tag: CertificateTag,
        org: rotations.first().map_or(root.public(), |first| first.value().org),
        org_name: org_name.to_string(),
        node,
        department: terms.department,
        not_before: now,
        not_after: now.plus(terms.validity),
        capabilities: terms.capabilities.map(|all| all.into_iter().collect()),
        succeeds: terms.succeeds,
        rotations: rotations.iter().map(|r| ByteBuf::from(r.to_bytes())).collect(),
    };
    Signed::seal(certificate, root)
}

/// Whether a root of the organisation that the certificate names signed it: the first, or one to which the rotations
/// that it carries lead. Whether that root is still in office is asked of [`Roots`](super::Roots).
pub fn is_signed_by_its_root(certificate: &Signed<Certificate>) -> bool {
    line_of(certificate).is_some()
}

/// The rotations that lead from the organisation's name to the signer of a certificate.
pub fn line_of(certificate: &Signed<Certificate>) -> Option<Vec<Rotation>> {
    let c = certificate.value();
    let rotations = c.rotations().filter(|_| c.is_within_limits())?;
    let last: PublicKey = rotations.last().map_or(c.org, |r| r.value().new);
    (last == *certificate.signer()).then_some(rotations)
}

/// The requester that an admitted node is.
pub fn requester_of(certificate: &Certificate) -> Requester {
    Requester::peer(certificate.org, certificate.department.clone())
}
