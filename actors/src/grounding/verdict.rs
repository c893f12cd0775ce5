//! The verdict over a bundle file, with what this node knows of its evidence.

use actix::prelude::*;
use cid::Cid;
use plumb_core::content::SourceRecord;
use plumb_core::exchange::{
    BundleError, CertificateState, Knowledge, Manifest, SourceStatus, Verdict, Verified, verify,
};
use plumb_core::identity::NodeId;
use plumb_core::notice::Effect;
use plumb_core::trust::Roots;

use super::{Grounding, LoggedView, VerdictView, VerifyBundle, WithdrawnView};
use crate::error::NodeError;
use crate::kept;
use crate::premises::{Premises, blocking};
use crate::verification::unseal;

impl Handler<VerifyBundle> for Grounding {
    type Result = ResponseFuture<Result<VerdictView, NodeError>>;

    fn handle(&mut self, ask: VerifyBundle, _: &mut Context<Self>) -> Self::Result {
        let premises = self.premises.clone();
        Box::pin(blocking(move || match VerdictView::of_part(&ask.file) {
            Some(incomplete) => Ok(incomplete),
            None => Ok(VerdictView::of(&judge(&premises, &ask.file)?)),
        }))
    }
}

/// Verifies with this node's knowledge. The outer error is ours, the inner one the bundle's.
pub(super) fn judge(premises: &Premises, file: &[u8]) -> Result<Result<Verified, BundleError>, NodeError> {
    let roots = premises.roots();
    let first = judge_with(premises, file, &roots, None)?;
    // A source that is withdrawn in part counts for this bundle only if the bundle rests on that part.
    match &first {
        Ok(verified) if matches!(verified.verdict, Verdict::Retracted { .. }) => {
            let cited: Vec<Cid> = verified.bundle.evidence.iter().map(|evidence| evidence.chunk).collect();
            judge_with(premises, file, &roots, Some(&cited))
        }
        _ => Ok(first),
    }
}

fn judge_with(
    premises: &Premises,
    file: &[u8],
    roots: &Roots,
    cited: Option<&[Cid]>,
) -> Result<Result<Verified, BundleError>, NodeError> {
    let failed = std::cell::RefCell::new(None);
    let status = |cid: &Cid, record: &SourceRecord| match status_of(premises, cid, record, cited) {
        Ok(status) => status,
        Err(error) => {
            failed.borrow_mut().get_or_insert(error);
            SourceStatus::Unknown
        }
    };
    let logged = |issuer: &NodeId, bundle: &Cid| match kept::bundle_position(
        &premises.store,
        &premises.node(),
        issuer,
        bundle,
    ) {
        Ok(position) => position,
        Err(error) => {
            failed.borrow_mut().get_or_insert(error.into());
            None
        }
    };
    let knowledge = Knowledge { now: premises.now(), roots, status: &status, logged: &logged };
    let verified = verify(file, &knowledge);
    match failed.into_inner() {
        Some(error) => Err(error),
        None => Ok(verified),
    }
}

/// What this node knows of a source: what stands against it by name or by its text, else how fresh its publisher's
/// log is here.
fn status_of(
    premises: &Premises,
    cid: &Cid,
    record: &SourceRecord,
    cited: Option<&[Cid]>,
) -> Result<SourceStatus, NodeError> {
    unseal(premises, [cid])?;
    let mut by_name = kept::standing_on(&premises.store, cid)?;
    by_name.retain(|standing| cited.is_none_or(|cited| cited.iter().any(|chunk| standing.covers(chunk))));
    let own = premises.node();
    let head = kept::log_head(&premises.store, &own, &record.publisher)?;
    let org = head.as_ref().map(|head| head.state.certificate.value().org);
    let org = if record.publisher == own { Some(premises.org()) } else { org };
    // Only whoever may speak for the source counts; a name alone can be used by anybody.
    let mut speaks = by_name.iter().filter(|s| s.is_local || s.speaks_of(&record.publisher, org.as_ref()));
    if let Some(standing) = speaks.clone().find(|s| s.effect == Effect::Withdraw) {
        return Ok(SourceStatus::Withdrawn(standing.notice));
    }
    let as_of = match head {
        _ if record.publisher == own => Some(premises.now()),
        Some(head) if !kept::is_forked(&premises.store, &record.publisher)? => head.confirmed(),
        _ => None,
    };
    Ok(match (speaks.find(|s| s.effect == Effect::Caution), as_of) {
        (Some(standing), as_of) => SourceStatus::Caution { notice: standing.notice, as_of },
        (None, Some(as_of)) => SourceStatus::CurrentAsOf(as_of),
        (None, None) => SourceStatus::Unknown,
    })
}

/// Sources, each with a notice about it.
fn noted(verified: &Verified, notices: &[(Cid, Cid)]) -> Vec<WithdrawnView> {
    let view = |(source, notice): &(Cid, Cid)| WithdrawnView {
        source: source.to_string(),
        title: verified.sources.get(source).map(|s| s.title.clone()).unwrap_or_default(),
        notice: notice.to_string(),
    };
    notices.iter().map(view).collect()
}

impl VerdictView {
    fn empty() -> VerdictView {
        VerdictView {
            verdict: "not_authentic".to_string(),
            exit_code: 6,
            summary: String::new(),
            bundle: None,
            issuer: None,
            organisation: None,
            organisation_name: None,
            organisation_is_trusted: false,
            certificate: None,
            issued_at: None,
            query: None,
            form: None,
            logged: None,
            checks: Vec::new(),
            withdrawn: Vec::new(),
            cautions: Vec::new(),
            as_of: None,
        }
    }

    /// No verdict yet: the bundle is not whole. It may be when somebody who has the rest can be reached.
    pub(super) fn incomplete(bundle: String, summary: String) -> VerdictView {
        VerdictView {
            verdict: "incomplete".to_string(),
            exit_code: 8,
            summary,
            bundle: Some(bundle),
            ..VerdictView::empty()
        }
    }

    /// The verdict on a file that does not hold all that its bundle names: signed, and not to be judged yet.
    pub fn of_part(file: &[u8]) -> Option<VerdictView> {
        let manifest = Manifest::read(file).ok()?;
        let n_missing = manifest.missing().len();
        let summary = format!(
            "incomplete: {n_missing} of the {} blocks that the bundle names are not in the file; `plumb bundle import` \
             fetches them from peers that have them",
            manifest.n_named()
        );
        (n_missing > 0).then(|| VerdictView::incomplete(manifest.bundle.to_string(), summary))
    }

    /// The verdict for a reader.
    pub fn of(result: &Result<Verified, BundleError>) -> VerdictView {
        let empty = VerdictView::empty();
        let verified = match result {
            Ok(verified) => verified,
            Err(error) => {
                let certificate = match error {
                    BundleError::Issued(error) => Some(error.code().to_string()),
                    _ => None,
                };
                return VerdictView { summary: format!("not authentic: {error}"), certificate, ..empty };
            }
        };
        let (verdict, exit_code, summary, as_of) = match &verified.verdict {
            Verdict::Unconfirmed { .. } if verified.certificate_state == CertificateState::Retired => (
                "unconfirmed",
                5,
                "authentic; the root of its issuer has retired since, and whether it was issued before is unknown here"
                    .to_string(),
                None,
            ),
            Verdict::Current { as_of } => {
                ("authentic", 0, format!("authentic, and current as of {as_of}"), Some(as_of.to_string()))
            }
            Verdict::Retracted { withdrawn } => {
                let n = withdrawn.len();
                let noun = if n == 1 { "source" } else { "sources" };
                ("retracted", 4, format!("authentic, and retracted: {n} {noun} of its evidence withdrawn"), None)
            }
            Verdict::Unconfirmed { since: Some(since) } => (
                "unconfirmed",
                5,
                format!("authentic; whether its evidence still stands was last confirmed at {since}"),
                Some(since.to_string()),
            ),
            Verdict::Unconfirmed { since: None } => {
                ("unconfirmed", 5, "authentic; whether its evidence still stands is unknown here".to_string(), None)
            }
        };
        let summary = match verified.cautions.len() {
            0 => summary,
            1 => format!("{summary}; a notice counsels caution about one source"),
            n => format!("{summary}; notices counsel caution about {n} sources"),
        };
        let withdrawn = match &verified.verdict {
            Verdict::Retracted { withdrawn } => withdrawn.as_slice(),
            Verdict::Current { .. } | Verdict::Unconfirmed { .. } => &[],
        };
        VerdictView {
            verdict: verdict.to_string(),
            exit_code,
            summary,
            bundle: Some(verified.cid.to_string()),
            issuer: Some(verified.bundle.issuer.to_string()),
            organisation: Some(verified.bundle.org.to_string()),
            organisation_name: Some(verified.certificate.value().org_name.clone()),
            organisation_is_trusted: verified.root_is_trusted,
            certificate: Some(verified.certificate_state.as_str().to_string()),
            issued_at: Some(verified.bundle.issued_at.to_string()),
            query: Some(verified.bundle.query.clone()),
            form: Some(verified.form.as_str().to_string()),
            logged: verified.logged.as_ref().map(|at| LoggedView {
                log: at.origin.clone(),
                index: at.index,
                size: at.size,
            }),
            checks: verified.checks.iter().map(|c| c.what.clone()).collect(),
            withdrawn: noted(verified, withdrawn),
            cautions: noted(verified, &verified.cautions),
            as_of,
        }
    }
}
