//! Notices: how a publisher takes evidence back, and how everyone who holds it proves to have heard.
//!
//! A notice names sources, gives a reason, and is signed. It reaches holders through the publisher's log, whose
//! sequence orders notices; no clock does. Whoever imports evidence signs a [`Receipt`], so a notice has a finite list
//! of obligations, each closed only by a signed [`Acknowledgement`].

mod sealed;

use cid::Cid;
use serde::{Deserialize, Serialize};

use crate::boundary::Sensitivity;
use crate::content::{Fingerprint, block_type};
use crate::identity::{Domain, NodeId, OrgId, PublicKey, Signable};
use crate::knowledge::WordError;
use crate::measure::Timestamp;
use crate::trust::{RevocationReason, TrustError};

pub use sealed::{BODY_BYTES_MAX, LOCK_BYTES, NONCE_BYTES, SealedNotice, SealedNoticeError, tag_of};

block_type!(NoticeTag, "plumb/notice/1");
block_type!(ReceiptTag, "plumb/receipt/1");
block_type!(AcknowledgementTag, "plumb/acknowledgement/1");

/// Most sources that one notice names. More are more notices.
pub const TARGETS_MAX: usize = 256;
/// Most fingerprints that one notice carries.
pub const FINGERPRINTS_MAX: usize = 4096;
/// Most chunks that a partial retraction names. Who withdraws more withdraws the source.
pub const CHUNKS_MAX: usize = 1024;
/// Longest note, in bytes.
pub const NOTE_BYTES_MAX: usize = 4096;
/// Largest signed notice, in bytes: the three limits above and room for keys.
pub const NOTICE_BYTES_MAX: usize = 256 * 1024;
/// Most sources that one receipt names.
pub const RECEIPT_SOURCES_MAX: usize = 1024;

/// What kind of notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoticeKind {
    /// The source is withdrawn.
    Retraction,
    /// Part of the source is withdrawn: the chunks that it names. If it names none, nobody can tell the sound part from
    /// the other, and the whole source grounds nothing until a new version stands.
    PartialRetraction,
    /// A newer source stands in its place.
    Supersession,
    /// Fewer may hold it: it is withdrawn from whoever got it across the border, and at home its label rises.
    Narrowing,
    /// There is doubt. It is still found, and every answer says so.
    ExpressionOfConcern,
    /// A mistake that does not touch its findings was put right. It is still found, and every answer says so.
    Correction,
    /// An earlier notice no longer holds.
    Reinstatement,
}

/// What a notice does to what it names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It is found and cited no more.
    Withdraw,
    /// It is found, and marked wherever it is shown.
    Caution,
    /// It is found again.
    Restore,
    /// It is found by fewer: what a narrowing does inside the organisation that it comes from.
    Narrow,
}

impl Effect {
    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Effect::Withdraw => "withdraw",
            Effect::Caution => "caution",
            Effect::Restore => "restore",
            Effect::Narrow => "narrow",
        }
    }
}

impl NoticeKind {
    /// Every kind.
    pub const ALL: [NoticeKind; 7] = [
        NoticeKind::Retraction,
        NoticeKind::PartialRetraction,
        NoticeKind::Supersession,
        NoticeKind::Narrowing,
        NoticeKind::ExpressionOfConcern,
        NoticeKind::Correction,
        NoticeKind::Reinstatement,
    ];

    /// Its effect on an answer, across the border of the organisation that issued it.
    pub const fn effect(self) -> Effect {
        match self {
            NoticeKind::Retraction
            | NoticeKind::PartialRetraction
            | NoticeKind::Supersession
            | NoticeKind::Narrowing => Effect::Withdraw,
            NoticeKind::ExpressionOfConcern | NoticeKind::Correction => Effect::Caution,
            NoticeKind::Reinstatement => Effect::Restore,
        }
    }

    /// Its effect inside the organisation that issued it.
    pub const fn effect_at_home(self) -> Effect {
        match self {
            NoticeKind::Narrowing => Effect::Narrow,
            other => other.effect(),
        }
    }

    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            NoticeKind::Retraction => "retraction",
            NoticeKind::PartialRetraction => "partial_retraction",
            NoticeKind::Supersession => "supersession",
            NoticeKind::Narrowing => "narrowing",
            NoticeKind::ExpressionOfConcern => "expression_of_concern",
            NoticeKind::Correction => "correction",
            NoticeKind::Reinstatement => "reinstatement",
        }
    }
}

/// Why. Mandatory; after the reasons in the Retraction Watch taxonomy and the COPE retraction guidelines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names say it")]
pub enum Reason {
    DataError,
    AnalysisError,
    NotReproducible,
    Fabrication,
    Plagiarism,
    Duplicate,
    Consent,
    Legal,
    Privacy,
    Security,
    Superseded,
    PublisherError,
    Resolved,
    NotStated,
}

impl Reason {
    /// Every reason. [`Reason::NotStated`] is for what the world publishes without one; a publisher gives a reason.
    pub const ALL: [Reason; 14] = [
        Reason::DataError,
        Reason::AnalysisError,
        Reason::NotReproducible,
        Reason::Fabrication,
        Reason::Plagiarism,
        Reason::Duplicate,
        Reason::Consent,
        Reason::Legal,
        Reason::Privacy,
        Reason::Security,
        Reason::Superseded,
        Reason::PublisherError,
        Reason::Resolved,
        Reason::NotStated,
    ];

    /// Its code.
    pub const fn as_str(self) -> &'static str {
        match self {
            Reason::DataError => "data_error",
            Reason::AnalysisError => "analysis_error",
            Reason::NotReproducible => "not_reproducible",
            Reason::Fabrication => "fabrication",
            Reason::Plagiarism => "plagiarism",
            Reason::Duplicate => "duplicate",
            Reason::Consent => "consent",
            Reason::Legal => "legal",
            Reason::Privacy => "privacy",
            Reason::Security => "security",
            Reason::Superseded => "superseded",
            Reason::PublisherError => "publisher_error",
            Reason::Resolved => "resolved",
            Reason::NotStated => "not_stated",
        }
    }
}

impl std::str::FromStr for NoticeKind {
    type Err = WordError;
    fn from_str(text: &str) -> Result<NoticeKind, WordError> {
        let plain = text.replace('-', "_");
        NoticeKind::ALL.into_iter().find(|k| k.as_str() == plain).ok_or_else(|| WordError {
            given: text.chars().take(60).collect(),
            expected: "retraction, partial_retraction, supersession, narrowing, expression_of_concern, correction, reinstatement",
        })
    }
}

impl std::str::FromStr for Reason {
    type Err = WordError;
    fn from_str(text: &str) -> Result<Reason, WordError> {
        let plain = text.replace('-', "_");
        Reason::ALL.into_iter().find(|r| r.as_str() == plain).ok_or_else(|| WordError {
            given: text.chars().take(60).collect(),
            expected: "data_error, analysis_error, not_reproducible, fabrication, plagiarism, duplicate, consent, legal, privacy, security, superseded, publisher_error, resolved, not_stated",
        })
    }
}

/// What a publisher says of its evidence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notice {
    /// `plumb/notice/1`
    #[serde(rename = "type")]
    pub tag: NoticeTag,
    /// What kind.
    pub kind: NoticeKind,
    /// Why.
    pub reason: Reason,
    /// In words.
    pub note: String,
    /// Source records that it names.
    pub targets: Vec<Cid>,
    /// Fingerprints of their texts and of the chunks of these, so that the text is known when it comes back as other
    /// bytes.
    pub fingerprints: Vec<Fingerprint>,
    /// For a reinstatement: the notice that no longer holds.
    pub undoes: Option<Cid>,
    /// For a partial retraction: the chunks that are withdrawn. None means all of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub chunks: Vec<Cid>,
    /// For a supersession: the source that stands in its place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub superseded_by: Option<Cid>,
    /// For a narrowing: the label that it takes at home, at least.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audience: Option<Sensitivity>,
    /// The node whose evidence it is.
    pub publisher: NodeId,
    /// That node's organisation.
    pub org: OrgId,
    /// When it was signed, as its publisher says. For people; nothing is ordered by it.
    pub issued_at: Timestamp,
}

impl Signable for Notice {
    const DOMAIN: Domain = Domain::Notice;
}

/// Why a notice is refused, whatever it names.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoticeError {
    /// It names nothing, or more than the limit.
    #[error("a notice names 1 to {TARGETS_MAX} sources and at most {FINGERPRINTS_MAX} fingerprints")]
    Targets,
    /// The note is too long.
    #[error("the note is longer than {NOTE_BYTES_MAX} bytes")]
    Note,
    /// A reinstatement without the notice that it undoes, or the other way round.
    #[error("a reinstatement, and nothing else, names the notice that it undoes")]
    Undoes,
    /// A field that belongs to another kind, or too many chunks.
    #[error(
        "only a partial retraction names chunks (at most {CHUNKS_MAX}), only a supersession a newer source, only a narrowing an audience"
    )]
    Details,
    /// The signer is neither the publisher, nor its successor, nor its organisation's root.
    #[error("{signer} may not issue a notice for what {publisher} published")]
    Authority {
        /// Who signed.
        signer: PublicKey,
        /// Whose evidence it is.
        publisher: NodeId,
    },
    /// The signer's organisation has revoked it, and the notice is not older than that.
    #[error("{signer} was revoked by its organisation ({reason})")]
    Revoked {
        /// Who signed.
        signer: PublicKey,
        /// Why it was revoked.
        reason: RevocationReason,
    },
    /// The signer is not certified for notices.
    #[error("the certificate of {signer} does not let it publish notices")]
    Incapable {
        /// Who signed.
        signer: PublicKey,
    },
    /// Signed as a root, or under a certificate, that is not in order.
    #[error(transparent)]
    Root(TrustError),
}

impl Notice {
    /// Checks what can be checked without knowing the sources that it names.
    pub fn check(&self) -> Result<(), NoticeError> {
        if self.targets.is_empty() || self.targets.len() > TARGETS_MAX || self.fingerprints.len() > FINGERPRINTS_MAX {
            return Err(NoticeError::Targets);
        }
        if self.note.len() > NOTE_BYTES_MAX {
            return Err(NoticeError::Note);
        }
        if (self.kind == NoticeKind::Reinstatement) != self.undoes.is_some() {
            return Err(NoticeError::Undoes);
        }
        let fits = (self.chunks.is_empty() || self.kind == NoticeKind::PartialRetraction)
            && self.chunks.len() <= CHUNKS_MAX
            && (self.superseded_by.is_none() || self.kind == NoticeKind::Supersession)
            && (self.audience.is_none() || self.kind == NoticeKind::Narrowing);
        if fits { Ok(()) } else { Err(NoticeError::Details) }
    }
}

/// An importer's word that it holds evidence, given to whom it got it from. It is what a notice is owed to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// `plumb/receipt/1`
    #[serde(rename = "type")]
    pub tag: ReceiptTag,
    /// The bundle that was imported, or the answer in which the evidence was kept.
    pub bundle: Cid,
    /// The sources now held.
    pub sources: Vec<Cid>,
    /// Who holds them.
    pub importer: NodeId,
    /// Who gave them.
    pub from: NodeId,
    /// Whether the importer may pass them on.
    pub may_share: bool,
    /// When, as the importer says.
    pub at: Timestamp,
}

impl Signable for Receipt {
    const DOMAIN: Domain = Domain::Receipt;
}

/// A holder's word that it has applied a notice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Acknowledgement {
    /// `plumb/acknowledgement/1`
    #[serde(rename = "type")]
    pub tag: AcknowledgementTag,
    /// The notice.
    pub notice: Cid,
    /// Who applied it.
    pub by: NodeId,
    /// Units that it changed there.
    pub n_units: u64,
    /// Saved answers that it flagged there.
    pub n_answers: u64,
    /// When, as the holder says.
    pub at: Timestamp,
}

impl Signable for Acknowledgement {
    const DOMAIN: Domain = Domain::Acknowledgement;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::RawBlock;
    use crate::identity::SecretKey;

    #[test]
    fn words_parse_back() {
        for kind in NoticeKind::ALL {
            assert_eq!(kind.as_str().parse(), Ok(kind));
        }
        for reason in Reason::ALL {
            assert_eq!(reason.as_str().parse(), Ok(reason));
        }
        assert_eq!("expression-of-concern".parse(), Ok(NoticeKind::ExpressionOfConcern));
    }

    #[test]
    fn a_notice_keeps_its_own_rules() {
        let notice = Notice {
            tag: NoticeTag,
            kind: NoticeKind::Retraction,
            reason: Reason::DataError,
            note: String::new(),
            targets: vec![RawBlock::raw(vec![]).cid],
            fingerprints: vec![],
            undoes: None,
            chunks: vec![],
            superseded_by: None,
            audience: None,
            publisher: SecretKey::from_seed([1; 32]).public(),
            org: SecretKey::from_seed([2; 32]).public(),
            issued_at: Timestamp(0),
        };
        assert_eq!(notice.check(), Ok(()));
        assert_eq!(Notice { kind: NoticeKind::Reinstatement, ..notice.clone() }.check(), Err(NoticeError::Undoes));
        assert_eq!(Notice { targets: vec![], ..notice.clone() }.check(), Err(NoticeError::Targets));
        let chunk = RawBlock::raw(vec![1]).cid;
        let misplaced = [
            Notice { chunks: vec![chunk], ..notice.clone() },
            Notice { superseded_by: Some(chunk), ..notice.clone() },
            Notice { audience: Some(Sensitivity::Internal), ..notice.clone() },
            Notice { kind: NoticeKind::PartialRetraction, chunks: vec![chunk; CHUNKS_MAX + 1], ..notice },
        ];
        for notice in misplaced {
            assert_eq!(notice.check(), Err(NoticeError::Details));
        }
    }
}
