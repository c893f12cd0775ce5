//! Verifying and replaying a bundle, with nothing of ours running.

use std::collections::BTreeMap;

use cid::Cid;

use super::bundle::{Bundle, MAX_AGE_MAX, block_of, chunk_of, source_of};
use super::car::CarError;
use super::file::{BundleFile, Form};
use super::json::JsonError;
use super::logged::Logged;
use crate::boundary::{Sensitivity, strictest};
use crate::content::{CHUNK_BLOCK_BYTES_MAX, Chunk, ContentError, RawBlock, SourceRecord};
use crate::grounding::{Answer, Evidence, compose};
use crate::identity::{NodeId, Signed, SignedError};
use crate::log::LogError;
use crate::measure::Timestamp;
use crate::retrieval::{Query, TermStats};
use crate::trust::{CLOCK_TOLERANCE, Certificate, Place, Roots, TrustError, is_signed_by_its_root};

/// Why a bundle is not authentic. Every variant is a check that failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BundleError {
    /// The file.
    #[error(transparent)]
    Car(#[from] CarError),
    /// The credential.
    #[error(transparent)]
    Json(#[from] JsonError),
    /// A block inside.
    #[error(transparent)]
    Content(#[from] ContentError),
    /// The signature over the bundle, or over the certificate.
    #[error(transparent)]
    Signed(#[from] SignedError),
    /// Sealed by somebody else than it says.
    #[error("the bundle names {issuer} as its issuer, and {signer} signed it")]
    Issuer {
        /// Whom it names.
        issuer: NodeId,
        /// Who signed.
        signer: NodeId,
    },
    /// The certificate is another node's, or its organisation did not sign it.
    #[error("the certificate does not certify the issuer for the organisation that the bundle names")]
    Certificate,
    /// The certificate was not in order when the bundle was issued; where the bundle stands in its issuer's log, as of
    /// there.
    #[error("when the bundle was issued its issuer was not in order: {0}")]
    Issued(TrustError),
    /// The evidence contradicts itself.
    #[error("evidence {chunk}: {what}")]
    Evidence {
        /// Which chunk.
        chunk: Cid,
        /// What is wrong.
        what: &'static str,
    },
    /// A log head is not signed by the publisher that it is for.
    #[error("the log head of {0} is not signed by it")]
    Head(NodeId),
    /// The answer is not what the evidence gives.
    #[error("the answer in the bundle is not the one that its evidence gives")]
    Replay,
    /// The label is not the strictest of the evidence.
    #[error("the bundle is labelled {given}, and its evidence is {evidence}")]
    Label {
        /// The bundle's label.
        given: Sensitivity,
        /// That of its evidence.
        evidence: Sensitivity,
    },
    /// A block is in the file that no link reaches.
    #[error("block {0} belongs to nothing in the bundle: no link from the root reaches it")]
    Stray(Cid),
    /// A field outside of what is signed.
    #[error("the {place} has a field `{field}`, which nobody signed")]
    Unsigned {
        /// In which block.
        place: &'static str,
        /// Which field.
        field: String,
    },
    /// The entry that was logged is not that of this bundle.
    #[error("the log entry in the file is not that of this bundle")]
    LogEntry,
    /// The log is not the issuer's public one.
    #[error("the log `{origin}` is not the public log of {issuer}")]
    LogOrigin {
        /// Which log it is.
        origin: String,
        /// Whose it should be.
        issuer: NodeId,
    },
    /// The checkpoint or the inclusion proof does not hold.
    #[error("the proof that the bundle was logged does not hold: {0}")]
    Log(LogError),
}

/// What a reader knows of one source from elsewhere: their own node, or notices that they were given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceStatus {
    /// A notice withdrew it.
    Withdrawn(Cid),
    /// A notice counsels caution.
    Caution {
        /// Which.
        notice: Cid,
        /// When its publisher's log was last confirmed.
        as_of: Option<Timestamp>,
    },
    /// Its publisher's log was last confirmed then, and holds nothing against it.
    CurrentAsOf(Timestamp),
    /// Nothing is known.
    Unknown,
}

/// What a reader brings to a verification.
pub struct Knowledge<'a> {
    /// The moment at which it is judged.
    pub now: Timestamp,
    /// Organisations that the reader trusts.
    pub roots: &'a Roots,
    /// What the reader knows of a source, by its record's CID and its publisher.
    pub status: &'a dyn Fn(&Cid, &SourceRecord) -> SourceStatus,
    /// Where a bundle stands in its issuer's log, as far as the reader holds that. It is asked only where something
    /// depends on it: an issuer that was revoked since, a root that has retired.
    pub logged: &'a dyn Fn(&NodeId, &Cid) -> Option<u64>,
}

/// How the issuer's certificate stands to what the reader trusts. A certificate that was not in order when the bundle
/// was issued makes it not authentic ([`BundleError::Issued`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CertificateState {
    /// A root in office signed it, or one that was when the bundle was issued.
    Valid,
    /// It is in order, and the reader does not know the organisation.
    Unknown,
    /// It is signed by a root that contradicts another one.
    Disputed,
    /// It is signed by a root that has retired since, and whether the bundle was issued before cannot be told: it is not
    /// found in what is held of its issuer's log.
    Retired,
}

impl CertificateState {
    /// A stable word for programs.
    pub const fn as_str(self) -> &'static str {
        match self {
            CertificateState::Valid => "valid",
            CertificateState::Unknown => "unknown_root",
            CertificateState::Disputed => "disputed_root",
            CertificateState::Retired => "retired_root",
        }
    }
}

/// The verdict over an authentic bundle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing that it rests on is known to be withdrawn, as of this moment.
    Current {
        /// The oldest confirmation among its publishers.
        as_of: Timestamp,
    },
    /// Authentic, and some of its evidence was withdrawn.
    Retracted {
        /// Withdrawn sources, each with its notice.
        withdrawn: Vec<(Cid, Cid)>,
    },
    /// Authentic; whether its evidence still stands could not be confirmed.
    Unconfirmed {
        /// The last confirmation, or `None` where there never was one.
        since: Option<Timestamp>,
    },
}

/// One thing that was checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// What, in words.
    pub what: String,
}

/// A bundle that was found authentic.
#[derive(Clone, Debug)]
pub struct Verified {
    /// The bundle.
    pub bundle: Bundle,
    /// Its CID.
    pub cid: Cid,
    /// Root of its file: the seal.
    pub root: Cid,
    /// Which form the file has.
    pub form: Form,
    /// Where the issuer logged it, if the file proves it.
    pub logged: Option<Logged>,
    /// Its answer.
    pub answer: Answer,
    /// Its issuer's certificate.
    pub certificate: Signed<Certificate>,
    /// How that stands to what the reader trusts.
    pub certificate_state: CertificateState,
    /// Whether the reader trusts the issuer's organisation.
    pub root_is_trusted: bool,
    /// Chunks in rank order.
    pub chunks: Vec<(Cid, Chunk)>,
    /// Source records.
    pub sources: BTreeMap<Cid, SourceRecord>,
    /// Every block of the file.
    pub blocks: BTreeMap<Cid, Vec<u8>>,
    /// What was checked, in order.
    pub checks: Vec<Check>,
    /// What is known of its evidence.
    pub verdict: Verdict,
    /// Sources that a notice counsels caution about, each with it.
    pub cautions: Vec<(Cid, Cid)>,
}

/// Verifies a bundle file of either form. `Err` means *not authentic*.
pub fn verify(bytes: &[u8], knowledge: &Knowledge<'_>) -> Result<Verified, BundleError> {
    let mut checks = Vec::new();
    let mut passed = |what: String| checks.push(Check { what });

    let file = BundleFile::read(bytes)?;
    let blocks = &file.blocks;
    passed(format!("{} blocks hash to their CIDs", blocks.len()));

    let seal = file.seal()?;
    let signed = Signed::<Bundle>::assemble(block_of(blocks, &seal.bundle)?, seal.signer, seal.signature)?;
    let bundle = signed.value().clone();
    if bundle.issuer != seal.signer {
        return Err(BundleError::Issuer { issuer: bundle.issuer, signer: seal.signer });
    }
    passed(format!("the signature of {} holds over the bundle", bundle.issuer));

    let certificate = Signed::<Certificate>::from_bytes(&block_of(blocks, &bundle.certificate)?.bytes)?;
    let certificate_state = check_certificate(&signed.cid(), &bundle, &certificate, knowledge)?;
    passed(format!("the root of `{}` ({}) certified the issuer", certificate.value().org_name, bundle.org));

    let label = strictest(bundle.evidence.iter().map(|c| c.sensitivity));
    if bundle.sensitivity != label {
        return Err(BundleError::Label { given: bundle.sensitivity, evidence: label });
    }
    let (chunks, sources) = evidence_of(&bundle, blocks)?;
    passed(format!("{} chunks belong to their {} sources", chunks.len(), sources.len()));

    let answer: Answer = block_of(blocks, &bundle.answer)?.decode()?;
    let replayed = recompute(&bundle, &chunks, &sources, &answer)?;
    if RawBlock::encode(&replayed)?.cid != bundle.answer {
        return Err(BundleError::Replay);
    }
    passed("the evidence gives the same ranking and the same answer, byte for byte".to_string());

    for head in &bundle.heads {
        head.checkpoint.verify(&head.publisher).map_err(|_| BundleError::Head(head.publisher))?;
    }
    passed(format!("{} log heads are signed by their publishers", bundle.heads.len()));
    let logged = file.logged(&seal)?.map(|logged| logged.check(&signed.cid(), &bundle.issuer)).transpose()?;
    if let Some(Logged { index, size, .. }) = &logged {
        passed(format!("its issuer logged it at index {index} of {size}"));
    }
    file.refuse_strays()?;

    let (verdict, cautions) = judge(&bundle, &sources, knowledge);
    let verdict = match verdict {
        Verdict::Current { .. } if certificate_state == CertificateState::Retired => {
            Verdict::Unconfirmed { since: None }
        }
        verdict => verdict,
    };
    let form = file.form();
    let BundleFile { root, blocks, credential } = file;
    let mut verified = Verified {
        cid: signed.cid(),
        root,
        form,
        logged,
        certificate_state,
        root_is_trusted: certificate_state == CertificateState::Valid,
        bundle,
        answer,
        certificate,
        chunks,
        sources,
        blocks,
        checks,
        verdict,
        cautions,
    };
    if let Some(credential) = credential {
        let checks = credential.check(&verified)?;
        verified.checks.extend(checks.into_iter().map(|what| Check { what }));
    }
    Ok(verified)
}

/// Recomputes the answer of a bundle file from its evidence, in canonical bytes.
pub fn replay(bytes: &[u8]) -> Result<RawBlock, BundleError> {
    let file = BundleFile::read(bytes)?;
    let (_, bundle) = file.bundle()?;
    let (chunks, sources) = evidence_of(&bundle, &file.blocks)?;
    let answer: Answer = file.block(&bundle.answer)?.decode()?;
    Ok(RawBlock::encode(&recompute(&bundle, &chunks, &sources, &answer)?)?)
}

/// Whether the certificate was in order when the bundle was issued. Its time is compared with the bundle's own, since a
/// bundle outlives certificates. A revoked node and a retired root could write any time, so there the issuer's log
/// decides: what stands in it early enough counts.
fn check_certificate(
    cid: &Cid,
    bundle: &Bundle,
    certificate: &Signed<Certificate>,
    knowledge: &Knowledge<'_>,
) -> Result<CertificateState, BundleError> {
    let c = certificate.value();
    if !is_signed_by_its_root(certificate) || c.org != bundle.org || c.node != bundle.issuer {
        return Err(BundleError::Certificate);
    }
    if bundle.issued_at.plus(CLOCK_TOLERANCE) < c.not_before {
        return Err(BundleError::Issued(TrustError::InFuture(c.not_before)));
    }
    if c.not_after.plus(CLOCK_TOLERANCE) < bundle.issued_at {
        return Err(BundleError::Issued(TrustError::Expired(c.not_after)));
    }
    let place = || match (knowledge.logged)(&bundle.issuer, cid) {
        Some(index) => Place::Logged { publisher: bundle.issuer, index },
        None => Place::Shown,
    };
    if knowledge.roots.check_revoked(certificate, Place::Shown).is_err() {
        knowledge.roots.check_revoked(certificate, place()).map_err(BundleError::Issued)?;
    }
    match knowledge.roots.vouch(certificate) {
        Ok(()) => Ok(CertificateState::Valid),
        Err(TrustError::UnknownRoot { .. }) => Ok(CertificateState::Unknown),
        Err(TrustError::DisputedRoot { .. }) => Ok(CertificateState::Disputed),
        Err(TrustError::RetiredRoot { root }) => match place() {
            Place::Shown => Ok(CertificateState::Retired),
            place if knowledge.roots.history.is_before_rotation(&root, place) => Ok(CertificateState::Valid),
            Place::Logged { .. } => Err(BundleError::Issued(TrustError::RetiredRoot { root })),
        },
        Err(error) => Err(BundleError::Issued(error)),
    }
}

type Chunks = Vec<(Cid, Chunk)>;
type Sources = BTreeMap<Cid, SourceRecord>;

fn evidence_of(bundle: &Bundle, blocks: &BTreeMap<Cid, Vec<u8>>) -> Result<(Chunks, Sources), BundleError> {
    let (mut chunks, mut sources) = (Vec::new(), BTreeMap::new());
    for cited in &bundle.evidence {
        let refuse = |what| BundleError::Evidence { chunk: cited.chunk, what };
        if blocks.get(&cited.chunk).is_some_and(|b| b.len() > CHUNK_BLOCK_BYTES_MAX) {
            return Err(refuse("larger than any chunk"));
        }
        let chunk = chunk_of(blocks, &cited.chunk)?;
        if chunk.source != cited.source {
            return Err(refuse("it is a piece of another source"));
        }
        if chunk.end.checked_sub(chunk.start) != Some(chunk.text.len() as u64) {
            return Err(refuse("its range is not that of its text"));
        }
        sources.insert(cited.source, source_of(blocks, &cited.source)?);
        chunks.push((cited.chunk, chunk));
    }
    Ok((chunks, sources))
}

/// The answer that this evidence gives, ranked and composed again.
fn recompute(bundle: &Bundle, chunks: &Chunks, sources: &Sources, answer: &Answer) -> Result<Answer, BundleError> {
    let query = Query::new(&bundle.query);
    let stats = TermStats::from(&bundle.statistics);
    let refuse = |chunk, what| BundleError::Evidence { chunk, what };
    let mut evidence = Vec::new();
    let mut before: Option<(std::cmp::Reverse<u64>, Cid)> = None;
    for (cited, (cid, chunk)) in bundle.evidence.iter().zip(chunks) {
        stats.check(query.terms.len()).map_err(|_| refuse(*cid, "it was ranked under impossible statistics"))?;
        if query.score(chunk, &stats) != cited.score {
            return Err(refuse(*cid, "its score is not the one that its text has"));
        }
        let place = (std::cmp::Reverse(cited.score), *cid);
        if before.is_some_and(|b| b >= place) {
            return Err(refuse(*cid, "it stands out of rank"));
        }
        before = Some(place);
        let source = sources.get(&cited.source).ok_or_else(|| refuse(*cid, "its source is missing"))?;
        evidence.push(Evidence {
            cid: *cid,
            chunk: chunk.clone(),
            uri: source.uri.clone(),
            publisher: source.publisher,
            score: cited.score,
            distance: cited.distance,
            sensitivity: cited.sensitivity,
            caution: cited.caution,
            trust: cited.trust,
        });
    }
    Ok(compose(&query, &stats, &evidence, answer.generated_at))
}

/// What is known of the evidence, and where caution is counselled: the worst status of any source counts. For each source
/// the fresher of what the reader knows and what the bundle carried is taken. What was confirmed after the bundle was
/// issued, or is still to come, was not confirmed.
fn judge(bundle: &Bundle, sources: &Sources, knowledge: &Knowledge<'_>) -> (Verdict, Vec<(Cid, Cid)>) {
    let now = knowledge.now;
    let by = |latest: Timestamp| move |at: &Timestamp| *at <= latest.plus(CLOCK_TOLERANCE);
    let (mut withdrawn, mut cautions) = (Vec::new(), Vec::new());
    let mut oldest: Option<Timestamp> = None;
    let mut never = false;
    for (cid, source) in sources {
        let carried = bundle.heads.iter().find(|h| h.publisher == source.publisher).map(|h| h.as_of);
        let carried = carried.filter(by(now.min(bundle.issued_at)));
        let known = match (knowledge.status)(cid, source) {
            SourceStatus::Withdrawn(notice) => {
                withdrawn.push((*cid, notice));
                continue;
            }
            SourceStatus::Caution { notice, as_of } => {
                cautions.push((*cid, notice));
                as_of
            }
            SourceStatus::CurrentAsOf(at) => Some(at),
            SourceStatus::Unknown => None,
        };
        match carried.max(known.filter(by(now))) {
            Some(at) => oldest = Some(oldest.map_or(at, |o| o.min(at))),
            None => never = true,
        }
    }
    if !withdrawn.is_empty() {
        return (Verdict::Retracted { withdrawn }, cautions);
    }
    // An answer without evidence rests on nothing that could be withdrawn.
    let as_of = oldest.or(Some(bundle.issued_at).filter(by(now)));
    let max_age = bundle.max_age.min(MAX_AGE_MAX);
    let verdict = match as_of {
        Some(as_of) if !never && now.since(as_of) <= max_age => Verdict::Current { as_of },
        Some(as_of) if !never => Verdict::Unconfirmed { since: Some(as_of) },
        _ => Verdict::Unconfirmed { since: None },
    };
    (verdict, cautions)
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
