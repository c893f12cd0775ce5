//! Who may take evidence back: whoever published it, the node that succeeds it, or the root of its organisation.

use super::certificate::{Capability, Certificate};
use super::history::{Place, RootStanding};
use super::roots::Roots;
use crate::identity::{EntityId, NodeId, OrgId, Signed};
use crate::notice::{Notice, NoticeError};

/// By which right a notice was issued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Authority {
    /// By whoever published the evidence.
    Publisher,
    /// By the node that its organisation certified as the publisher's successor.
    Successor,
    /// By the root of its organisation.
    Root,
}

/// Whose evidence it is that a notice names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Published<'a> {
    /// The node that published it.
    pub node: &'a NodeId,
    /// That node's organisation.
    pub org: &'a OrgId,
    /// That node's department, where it is known.
    pub department: Option<&'a EntityId>,
    /// That node's certificate, where it is known.
    pub certificate: Option<&'a Signed<Certificate>>,
}

impl Roots {
    /// By which right a notice was issued, if by any. `signer` is the certificate of whoever signed it, where that is a
    /// node and known; `place` is where the notice was found.
    pub fn may_issue(
        &self,
        notice: &Signed<Notice>,
        published: Published<'_>,
        signer: Option<&Signed<Certificate>>,
        place: Place,
    ) -> Result<Authority, NoticeError> {
        let key = notice.signer();
        if key == published.node {
            let certificate = published.certificate.map(Signed::cid);
            if let Some(revoked) = self.history.revoked(published.org, key, certificate.as_ref(), place) {
                let reason = revoked.statement.value().reason.clone();
                return Err(NoticeError::Revoked { signer: *key, reason });
            }
            if published.certificate.is_some_and(|c| !c.value().may(&Capability::Notices)) {
                return Err(NoticeError::Incapable { signer: *key });
            }
            return Ok(Authority::Publisher);
        }
        if self.standing(published.org, key) != RootStanding::Stranger {
            self.may_speak_as_root(published.org, key, place).map_err(NoticeError::Root)?;
            return Ok(Authority::Root);
        }
        let stranger = || NoticeError::Authority { signer: *key, publisher: *published.node };
        let certificate = signer.filter(|c| c.value().node == *key).ok_or_else(stranger)?;
        let c = certificate.value();
        let succeeds = c.org == *published.org
            && c.succeeds.contains(published.node)
            && published.department.is_none_or(|department| *department == c.department);
        if !succeeds {
            return Err(stranger());
        }
        self.vouch(certificate).map_err(NoticeError::Root)?;
        self.check_revoked(certificate, place).map_err(NoticeError::Root)?;
        if !c.may(&Capability::Notices) {
            return Err(NoticeError::Incapable { signer: *key });
        }
        Ok(Authority::Successor)
    }
}
