//! Whether a notice's signer may speak of the evidence that it names, by what is known here.

use plumb_core::identity::Signed;
use plumb_core::notice::Notice;
use plumb_core::trust::{Authority, Certificate, Incoming, Place, Published};

use crate::error::NodeError;
use crate::kept;
use crate::premises::Premises;

/// By which right a notice was issued; a denial if by none. `shown` is the certificate that came with it and is in
/// order; `place` is where it was found.
pub(super) fn judge(
    premises: &Premises,
    signed: &Signed<Notice>,
    shown: Option<&Signed<Certificate>>,
    place: Place,
) -> Result<Authority, NodeError> {
    let (notice, signer) = (signed.value(), signed.signer());
    if premises.lets_in(&notice.org) == Incoming::None {
        return Err(denied(format!("nothing is let in from organisation {}", notice.org)));
    }
    let known_as = |node| -> Result<Option<Signed<Certificate>>, NodeError> {
        let kept = premises.certificate_of(node)?;
        // What was shown may be newer than what is kept, and may be all that there is.
        let shown = shown.filter(|c| c.value().node == *node);
        let is_newer = |a: &Signed<Certificate>| {
            shown.is_some_and(|b| a.value().not_before < b.value().not_before || a.value().org != b.value().org)
        };
        Ok(if kept.as_ref().is_none_or(is_newer) { shown.cloned().or(kept) } else { kept })
    };
    let publisher = known_as(&notice.publisher)?;
    if publisher.as_ref().is_some_and(|c| c.value().org != notice.org) {
        return Err(denied(format!("its publisher is not of organisation {}", notice.org)));
    }
    if publisher.is_none() && signer == &notice.publisher {
        return Err(denied("the certificate of its publisher is not known here"));
    }
    let signers = if signer == &notice.publisher { publisher.clone() } else { known_as(signer)? };
    let department = match &publisher {
        Some(certificate) => Some(certificate.value().department.clone()),
        None => department_of(premises, notice)?,
    };
    let published = Published {
        node: &notice.publisher,
        org: &notice.org,
        department: department.as_ref(),
        certificate: publisher.as_ref(),
    };
    premises.roots().may_issue(signed, published, signers.as_ref(), place).map_err(denied)
}

/// The department of a publisher whose certificate is not known here, from evidence of it that is held.
fn department_of(premises: &Premises, notice: &Notice) -> Result<Option<plumb_core::identity::EntityId>, NodeError> {
    for target in &notice.targets {
        if let Some(row) = kept::source(&premises.store, target)?.filter(|row| row.publisher == notice.publisher) {
            return Ok(Some(row.department));
        }
    }
    Ok(None)
}

pub(super) fn denied(why: impl std::fmt::Display) -> NodeError {
    NodeError::Denied(format!("the notice is refused: {why}"))
}
