//! The pinned organisations with what is known of their roots: the one answer to "who is it, and is that in order?".

use std::borrow::Cow;
use std::collections::BTreeMap;

use cid::Cid;

use super::certificate::{Certificate, line_of};
use super::history::{History, Line, Place, RootStanding};
use super::pin::Pin;
use super::rotation::Rotation;
use super::{CLOCK_TOLERANCE, RevocationReason};
use crate::identity::{NodeId, OrgId, PublicKey, Signed};
use crate::measure::Timestamp;

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
    /// A root that has retired signed it, and it was not known before that.
    #[error("root {root} has retired, and this was not known before it did; the current root has to sign anew")]
    RetiredRoot {
        /// The root.
        root: PublicKey,
    },
    /// Two rotations contradict each other.
    #[error(
        "two rotations of the roots of {org} contradict each other, and {root} is not followed here; \
         ask its people, and decide with `plumb trust settle`"
    )]
    DisputedRoot {
        /// The organisation.
        org: OrgId,
        /// The root that signed.
        root: PublicKey,
    },
    /// Not yet valid.
    #[error("the certificate is valid only from {0}; compare the clocks")]
    InFuture(Timestamp),
    /// No longer valid.
    #[error("the certificate expired at {0}; its organisation has to certify the node again")]
    Expired(Timestamp),
    /// Taken back by its organisation.
    #[error("node {node} was revoked by its organisation ({reason}); only another node or certificate is admitted")]
    Revoked {
        /// The node.
        node: NodeId,
        /// Why.
        reason: RevocationReason,
        /// The statement.
        statement: Cid,
    },
    /// It is another node's.
    #[error("the certificate is for node {certified}, and {presented} presents it")]
    OtherNode {
        /// Whom it certifies.
        certified: NodeId,
        /// Who showed it.
        presented: NodeId,
    },
}

impl TrustError {
    /// A stable word for programs, as it stands in a refusal.
    pub const fn code(&self) -> &'static str {
        match self {
            TrustError::NotSignedByRoot => "not_signed_by_root",
            TrustError::UnknownRoot { .. } => "unknown_root",
            TrustError::RetiredRoot { .. } => "retired_root",
            TrustError::DisputedRoot { .. } => "disputed_root",
            TrustError::InFuture(_) => "in_future",
            TrustError::Expired(_) => "expired",
            TrustError::Revoked { .. } => "revoked",
            TrustError::OtherNode { .. } => "other_node",
        }
    }
}

/// The pinned organisations, and what is known of their roots and nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Roots {
    pins: BTreeMap<OrgId, Pin>,
    /// Rotations and revocations.
    pub history: History,
}

impl Roots {
    /// Pins some organisations in full, each under the name that the operator knows it by.
    pub fn full(named: impl IntoIterator<Item = (OrgId, String)>) -> Roots {
        let pins = named.into_iter().map(|(org, name)| (org, Pin::full(name))).collect();
        Roots { pins, history: History::default() }
    }

    /// Pins an organisation, or changes what was decided about it.
    pub fn pin(&mut self, org: OrgId, pin: Pin) {
        self.pins.insert(org, pin);
    }

    /// Pins it no more.
    pub fn unpin(&mut self, org: &OrgId) {
        self.pins.remove(org);
    }

    /// Every pin, by the key that was pinned.
    pub fn all(&self) -> impl Iterator<Item = (&OrgId, &Pin)> {
        self.pins.iter()
    }

    /// The roots of an organisation, from the first to the current one.
    pub fn line(&self, org: &OrgId) -> Line {
        self.line_in(&self.history, org)
    }

    fn line_in(&self, history: &History, org: &OrgId) -> Line {
        history.line(org, |key| self.pins.contains_key(key))
    }

    /// What was decided about an organisation: by its name, or by a later root of it that was pinned instead.
    pub fn pin_of(&self, org: &OrgId) -> Option<&Pin> {
        self.pins.get(org).or_else(|| self.line(org).keys.iter().find_map(|key| self.pins.get(key)))
    }

    /// Whether an organisation is pinned.
    pub fn pins(&self, org: &OrgId) -> bool {
        self.pin_of(org).is_some()
    }

    /// The history with the rotations that a certificate brings along.
    fn with<'a>(&'a self, rotations: &[Rotation]) -> Cow<'a, History> {
        let mut history = Cow::Borrowed(&self.history);
        for rotation in rotations.iter().filter(|r| !self.history.has(r)) {
            history.to_mut().rotate(rotation.clone(), []);
        }
        history
    }

    /// Whether a certificate is signed by a root in office of a pinned organisation. Of its node and its time nothing is
    /// asked.
    pub fn vouch(&self, certificate: &Signed<Certificate>) -> Result<(), TrustError> {
        let c = certificate.value();
        let rotations = line_of(certificate).ok_or(TrustError::NotSignedByRoot)?;
        let history = self.with(&rotations);
        let line = self.line_in(&history, &c.org);
        let is_pinned = self.pins.contains_key(&c.org)
            || rotations.iter().any(|r| self.pins.contains_key(&r.value().new))
            || line.keys.iter().any(|key| self.pins.contains_key(key));
        if !is_pinned {
            return Err(TrustError::UnknownRoot { org: c.org, name: c.org_name.clone() });
        }
        let root = *certificate.signer();
        match history.standing(&line, &root) {
            RootStanding::Current => Ok(()),
            // A certificate that is news cannot be older than the news of its root's retirement.
            RootStanding::Retired | RootStanding::Disputed if self.history.knew(&certificate.cid()) => Ok(()),
            RootStanding::Retired => Err(TrustError::RetiredRoot { root }),
            RootStanding::Disputed => Err(TrustError::DisputedRoot { org: c.org, root }),
            RootStanding::Stranger => Err(TrustError::NotSignedByRoot),
        }
    }

    /// Admits a node that presents a certificate, or says why not.
    pub fn admit(&self, node: &NodeId, certificate: &Signed<Certificate>, now: Timestamp) -> Result<(), TrustError> {
        let c = certificate.value();
        self.vouch(certificate)?;
        if c.node != *node {
            return Err(TrustError::OtherNode { certified: c.node, presented: *node });
        }
        self.check_revoked(certificate, Place::Shown)?;
        if now.plus(CLOCK_TOLERANCE) < c.not_before {
            return Err(TrustError::InFuture(c.not_before));
        }
        if c.not_after.plus(CLOCK_TOLERANCE) < now {
            return Err(TrustError::Expired(c.not_after));
        }
        Ok(())
    }

    /// Refuses what the node of a certificate says at a place that its revocation does not leave standing.
    pub fn check_revoked(&self, certificate: &Signed<Certificate>, place: Place) -> Result<(), TrustError> {
        let c = certificate.value();
        match self.history.revoked(&c.org, &c.node, Some(&certificate.cid()), place) {
            Some(revoked) => Err(TrustError::Revoked {
                node: c.node,
                reason: revoked.statement.value().reason.clone(),
                statement: revoked.statement.cid(),
            }),
            None => Ok(()),
        }
    }

    /// How a key stands to an organisation.
    pub fn standing(&self, org: &OrgId, key: &PublicKey) -> RootStanding {
        self.history.standing(&self.line(org), key)
    }

    /// Whether a key may speak as the root of an organisation, where it does. A retired one may not say anything new.
    pub fn may_speak_as_root(&self, org: &OrgId, key: &PublicKey, place: Place) -> Result<(), TrustError> {
        match self.standing(org, key) {
            RootStanding::Current => Ok(()),
            RootStanding::Retired if self.history.is_before_rotation(key, place) => Ok(()),
            RootStanding::Retired => Err(TrustError::RetiredRoot { root: *key }),
            RootStanding::Disputed => Err(TrustError::DisputedRoot { org: *org, root: *key }),
            RootStanding::Stranger => Err(TrustError::NotSignedByRoot),
        }
    }
}
