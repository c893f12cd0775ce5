//! The revocation: the root of an organisation takes a node, or one certificate, back.

use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

use cid::Cid;
use serde::{Deserialize, Serialize};

use crate::content::block_type;
use crate::identity::{Domain, NodeId, OrgId, Signable};
use crate::measure::Timestamp;

/// Largest signed revocation, in bytes: a note, and room for keys.
pub const REVOCATION_BYTES_MAX: usize = 8 * 1024;

block_type!(RevocationTag, "plumb/revocation/1");

/// Why; after the reasons of RFC 5280, section 5.3.1.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum RevocationReason {
    /// Somebody else has the key, or may have it.
    KeyCompromise,
    /// Nobody has the key any more.
    KeyLost,
    /// Another node or certificate stands in its place.
    Superseded,
    /// The node does not belong to the organisation any more.
    AffiliationChanged,
    /// The node is shut down.
    Cessation,
    /// It may not do any more what it was allowed to.
    PrivilegeWithdrawn,
    /// One that a newer program knows. It is kept, and revokes like any other.
    Other(String),
}

impl RevocationReason {
    /// Those that this program knows.
    pub const KNOWN: [RevocationReason; 6] = [
        RevocationReason::KeyCompromise,
        RevocationReason::KeyLost,
        RevocationReason::Superseded,
        RevocationReason::AffiliationChanged,
        RevocationReason::Cessation,
        RevocationReason::PrivilegeWithdrawn,
    ];

    /// Its code.
    pub fn as_str(&self) -> &str {
        match self {
            RevocationReason::KeyCompromise => "key_compromise",
            RevocationReason::KeyLost => "key_lost",
            RevocationReason::Superseded => "superseded",
            RevocationReason::AffiliationChanged => "affiliation_changed",
            RevocationReason::Cessation => "cessation",
            RevocationReason::PrivilegeWithdrawn => "privilege_withdrawn",
            RevocationReason::Other(name) => name,
        }
    }
}

impl fmt::Display for RevocationReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl From<String> for RevocationReason {
    fn from(name: String) -> RevocationReason {
        RevocationReason::KNOWN.into_iter().find(|r| r.as_str() == name).unwrap_or(RevocationReason::Other(name))
    }
}

impl From<RevocationReason> for String {
    fn from(reason: RevocationReason) -> String {
        reason.as_str().to_string()
    }
}

impl FromStr for RevocationReason {
    type Err = Infallible;
    fn from_str(name: &str) -> Result<RevocationReason, Infallible> {
        Ok(name.replace('-', "_").into())
    }
}

/// What a root says of a node that counts no more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Revocation {
    /// `plumb/revocation/1`
    #[serde(rename = "type")]
    pub tag: RevocationTag,
    /// The organisation, by its first root.
    pub org: OrgId,
    /// The node.
    pub node: NodeId,
    /// Only this certificate of it, by the CID of what was signed; the node may be certified anew.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certificate: Option<Cid>,
    /// Why.
    pub reason: RevocationReason,
    /// In words.
    pub note: String,
    /// How many entries of the node's own log stand. Where it is not said, those stand that a holder had when it heard.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_size: Option<u64>,
    /// When, as the organisation says. For people; nothing is decided by it.
    pub at: Timestamp,
}

impl Signable for Revocation {
    const DOMAIN: Domain = Domain::Revocation;
}
