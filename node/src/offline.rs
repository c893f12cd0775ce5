//! What can be said of a bundle file with nothing of ours running.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, bail};
use cid::Cid;
use plumb_actors::grounding::VerdictView;
use plumb_core::content::SourceRecord;
use plumb_core::exchange::{
    BUNDLE_BYTES_MAX, Bundle, BundleError, BundleFile, Form, Knowledge, Matter, SourceStatus, Verified, replay, verify,
};
use plumb_core::grounding::Answer;
use plumb_core::identity::{OrgId, Signed};
use plumb_core::lifecycle::standing;
use plumb_core::notice::{Effect, NOTICE_BYTES_MAX, Notice};
use plumb_core::trust::{Place, Published, Roots};
use plumb_federation::wire::log_entry::LogEntry;
use serde::Serialize;

use crate::api::envelope;
use crate::clock;

/// Reads a bundle file. What is larger than any bundle is not read.
pub fn read_file(file: &Path) -> anyhow::Result<Vec<u8>> {
    read_bounded(file, BUNDLE_BYTES_MAX as u64)
}

fn read_bounded(file: &Path, max: u64) -> anyhow::Result<Vec<u8>> {
    let read = || -> anyhow::Result<Vec<u8>> {
        let bytes = std::fs::metadata(file)?.len();
        if bytes > max {
            bail!("it has {bytes} bytes; at most {max} are read");
        }
        Ok(std::fs::read(file)?)
    };
    read().with_context(|| format!("{} cannot be read", file.display()))
}

/// Reads a signed notice, as somebody passed it on.
pub fn read_notice(file: &Path) -> anyhow::Result<Signed<Notice>> {
    let bytes = read_bounded(file, NOTICE_BYTES_MAX as u64)?;
    let notice =
        Signed::<Notice>::from_bytes(&bytes).with_context(|| format!("{} is not a signed notice", file.display()))?;
    notice.value().check().with_context(|| format!("{} is not a notice", file.display()))?;
    Ok(notice)
}

/// Reads a rotation or a revocation, as a root wrote it.
pub fn read_statement(file: &Path) -> anyhow::Result<LogEntry> {
    let bytes = read_bounded(file, NOTICE_BYTES_MAX as u64)?;
    let entry = LogEntry::decode(&bytes).with_context(|| format!("{} is no statement of a root", file.display()))?;
    match &entry {
        LogEntry::Rotation(_) | LogEntry::Revocation(_) => Ok(entry),
        _ => bail!("{} is neither a rotation nor a revocation", file.display()),
    }
}

/// What the named organisations say of their roots and nodes. Rotations come first, since they say who may revoke.
fn roots_with(trusted: &[OrgId], statements: &[LogEntry]) -> Roots {
    let mut roots = Roots::full(trusted.iter().map(|org| (*org, String::new())));
    for statement in statements {
        if let LogEntry::Rotation(rotation) = statement {
            roots.history.rotate(rotation.clone(), []);
        }
    }
    for statement in statements {
        if let LogEntry::Revocation(revocation) = statement {
            let org = revocation.value().org;
            if roots.may_speak_as_root(&org, revocation.signer(), Place::Shown).is_ok() {
                roots.history.revoke(revocation.clone(), 0);
            }
        }
    }
    roots
}

/// Verifies a bundle with nothing but the roots, the notices and the statements of roots that its reader names.
pub fn verdict(file: &[u8], trusted: &[OrgId], notices: &[Signed<Notice>], statements: &[LogEntry]) -> VerdictView {
    let roots = roots_with(trusted, statements);
    let unknown = |_: &Cid, _: &SourceRecord| SourceStatus::Unknown;
    let with = |status: &dyn Fn(&Cid, &SourceRecord) -> SourceStatus| {
        verify(file, &Knowledge { now: clock::now(), roots: &roots, status, logged: &|_, _| None })
    };
    let first = with(&unknown);
    let result = match &first {
        Ok(verified) if !notices.is_empty() => with(&|cid, source| status_of(verified, &roots, notices, cid, source)),
        _ => first,
    };
    VerdictView::of_part(file).unwrap_or_else(|| VerdictView::of(&result))
}

/// What the given notices say of a source. A notice counts if its signer may speak for the source: its publisher, or
/// the root of the publisher's organisation, which is only known here for whoever issued the bundle.
fn status_of(
    verified: &Verified,
    roots: &Roots,
    notices: &[Signed<Notice>],
    cid: &Cid,
    source: &SourceRecord,
) -> SourceStatus {
    let is_issuers = source.publisher == verified.bundle.issuer;
    let speaks = |notice: &&Signed<Notice>| {
        let published = Published {
            node: &source.publisher,
            org: if is_issuers { &verified.bundle.org } else { &notice.value().org },
            department: None,
            certificate: is_issuers.then_some(&verified.certificate),
        };
        (is_issuers || *notice.signer() == source.publisher)
            && notice.value().publisher == source.publisher
            && notice.value().org == *published.org
            && roots.may_issue(notice, published, None, Place::Shown).is_ok()
    };
    let naming = notices.iter().filter(|n| n.value().targets.contains(cid)).filter(speaks);
    // A notice about part of a source counts if the bundle rests on that part.
    let cited = |chunks: &[Cid]| verified.bundle.evidence.iter().any(|e| chunks.contains(&e.chunk));
    let naming = naming.filter(|n| n.value().chunks.is_empty() || cited(&n.value().chunks));
    let standing = standing(naming.map(|n| (n.cid(), n.value(), *n.signer())));
    let with = |effect| standing.iter().find(|s| s.effect == effect).map(|s| s.notice);
    match (with(Effect::Withdraw), with(Effect::Caution)) {
        (Some(notice), _) => SourceStatus::Withdrawn(notice),
        (None, Some(notice)) => SourceStatus::Caution { notice, as_of: None },
        (None, None) => SourceStatus::Unknown,
    }
}

/// An answer, composed again from the evidence of a bundle.
#[derive(Debug, Serialize)]
pub struct ReplayView {
    /// Whether it has the bytes of the answer in the bundle.
    pub equal: bool,
    /// The CID of the answer in the bundle.
    pub given: String,
    /// The CID of the answer as it was composed again.
    pub replayed: String,
    /// The answer as it was composed again.
    pub answer: envelope::Answer,
}

/// Composes the answer of a bundle again. Gives its canonical bytes beside the view.
pub fn replayed(file: &[u8]) -> Result<(ReplayView, Vec<u8>), BundleError> {
    let contents = Contents::read(file)?;
    let block = replay(file)?;
    let view = ReplayView {
        equal: block.cid == contents.bundle.answer,
        given: contents.bundle.answer.to_string(),
        replayed: block.cid.to_string(),
        answer: block.decode::<Answer>()?.into(),
    };
    Ok((view, block.bytes))
}

/// What stands in a bundle file. Reading it proves nothing; verifying does.
pub struct Contents {
    /// The bundle's CID.
    pub cid: Cid,
    /// The bundle.
    pub bundle: Bundle,
    /// Its answer.
    pub answer: Answer,
    /// Its source records.
    pub sources: BTreeMap<Cid, SourceRecord>,
    /// Blocks of the file.
    pub n_blocks: usize,
    /// Its form.
    pub form: Form,
    /// The name by which the issuer signed the JSON form.
    pub issuer_name: Option<String>,
    /// Its matter.
    pub matter: Matter,
    /// Whether the file claims that the bundle was logged.
    pub claims_log: bool,
}

impl Contents {
    /// Reads a bundle file of either form.
    pub fn read(bytes: &[u8]) -> Result<Contents, BundleError> {
        let file = BundleFile::read(bytes)?;
        let (cid, bundle) = file.bundle()?;
        let answer: Answer = file.block(&bundle.answer)?.decode()?;
        let mut sources = BTreeMap::new();
        for cited in &bundle.evidence {
            sources.insert(cited.source, file.block(&cited.source)?.decode()?);
        }
        Ok(Contents {
            cid,
            answer,
            sources,
            n_blocks: file.blocks.len(),
            form: file.form(),
            issuer_name: file.issuer_name().map(str::to_string),
            matter: Matter::of(&cid, &file.blocks)?,
            claims_log: file.seal()?.logged.is_some(),
            bundle,
        })
    }
}
