//! What a bundle is made of, and how it is sealed.

use std::collections::{BTreeMap, BTreeSet};

use cid::Cid;
use serde::{Deserialize, Serialize};

use super::car::write_car;
use super::logged::LoggedAt;
use crate::boundary::{Sensitivity, strictest};
use crate::content::{Chunk, ContentError, RawBlock, SourceRecord, block_type};
use crate::grounding::{Answer, Evidence};
use crate::identity::{Domain, NodeId, OrgId, SecretKey, Signable, Signature, Signed, SignedError};
use crate::log::SignedCheckpoint;
use crate::measure::{Duration, Timestamp};
use crate::retrieval::TermStats;
use crate::trust::Certificate;

/// How long what a bundle says of retractions counts as fresh, unless its issuer says otherwise.
pub const ISSUED_MAX_AGE: Duration = Duration::days(1);

/// How long it counts as fresh at most, whatever its issuer says: whether evidence still stands is the reader's to ask.
pub const MAX_AGE_MAX: Duration = Duration::days(7);

block_type!(BundleTag, "plumb/bundle/1");
block_type!(SealTag, "plumb/seal/1");

/// The collection's statistics for the terms of the question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Statistics {
    /// Documents.
    pub n_docs: u64,
    /// Terms in all of them.
    pub n_terms: u64,
    /// Documents that hold each term, in the order of the question's terms.
    pub doc_freq: Vec<u64>,
}

impl From<&TermStats> for Statistics {
    fn from(stats: &TermStats) -> Statistics {
        Statistics { n_docs: stats.n_docs, n_terms: stats.n_terms, doc_freq: stats.doc_freq.clone() }
    }
}

impl From<&Statistics> for TermStats {
    fn from(stats: &Statistics) -> TermStats {
        TermStats { n_docs: stats.n_docs, n_terms: stats.n_terms, doc_freq: stats.doc_freq.clone() }
    }
}

/// One chunk that was before the composer, in rank order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cited {
    /// The chunk.
    pub chunk: Cid,
    /// Its source record.
    pub source: Cid,
    /// Its BM25 score in millionths.
    pub score: u64,
    /// Hops that it came.
    pub distance: u32,
    /// Its label.
    pub sensitivity: Sensitivity,
    /// A notice that counselled caution.
    pub caution: Option<Cid>,
    /// What the issuer let its organisation's evidence weigh, where that was not neutral.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trust: Option<u8>,
}

/// What the issuer knew of one publisher's log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// The publisher.
    pub publisher: NodeId,
    /// Its signed checkpoint, as a C2SP signed note.
    pub checkpoint: SignedCheckpoint,
    /// When the issuer last confirmed it.
    pub as_of: Timestamp,
}

/// The answer, by its block.
pub type AnswerRef = Cid;

/// What is signed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bundle {
    /// `plumb/bundle/1`
    #[serde(rename = "type")]
    pub tag: BundleTag,
    /// The node that answered.
    pub issuer: NodeId,
    /// Its organisation.
    pub org: OrgId,
    /// Its certificate: a raw block with the signed certificate's stored form.
    pub certificate: Cid,
    /// When it was sealed.
    pub issued_at: Timestamp,
    /// How long `heads` count as fresh.
    pub max_age: Duration,
    /// The question.
    pub query: String,
    /// The statistics under which evidence was ranked.
    pub statistics: Statistics,
    /// The evidence in rank order.
    pub evidence: Vec<Cited>,
    /// What was known of retractions.
    pub heads: Vec<Head>,
    /// The answer.
    pub answer: AnswerRef,
    /// The strictest label of the evidence; it decides where the bundle may go.
    pub sensitivity: Sensitivity,
}

impl Signable for Bundle {
    const DOMAIN: Domain = Domain::Bundle;
}

/// The root of the file: which bundle, signed by whom. Every other block hangs below it by links.
///
/// Nobody signs the seal itself, so it has these fields and no others, in canonical form.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seal {
    /// `plumb/seal/1`
    #[serde(rename = "type")]
    pub tag: SealTag,
    /// The bundle.
    pub bundle: Cid,
    /// Who signed.
    pub signer: NodeId,
    /// The signature, in the role `plumb/bundle/1`.
    pub signature: Signature,
    /// The [`LoggedAt`]: where the bundle stands in its issuer's public log. It cannot be in the bundle, because the log
    /// entry names the bundle.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logged: Option<Cid>,
}

/// What goes into a bundle.
#[derive(Clone, Debug)]
pub struct Contents<'a> {
    /// The answer.
    pub answer: &'a Answer,
    /// The statistics under which the evidence was ranked.
    pub stats: &'a TermStats,
    /// The evidence that was before the composer, in rank order.
    pub evidence: &'a [Evidence],
    /// Blocks of the evidence's chunks and source records, as they are kept.
    pub blocks: &'a BTreeMap<Cid, Vec<u8>>,
    /// What is known of the publishers' logs.
    pub heads: Vec<Head>,
    /// The issuer's certificate.
    pub certificate: &'a Signed<Certificate>,
    /// When it is sealed.
    pub issued_at: Timestamp,
    /// How long `heads` count as fresh.
    pub max_age: Duration,
}

/// A bundle, ready to travel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SealedBundle {
    /// The root: CID of the [`Seal`].
    pub root: Cid,
    /// The bundle's CID: what was signed.
    pub bundle: Cid,
    /// Every block, by CID.
    pub blocks: BTreeMap<Cid, Vec<u8>>,
}

impl SealedBundle {
    /// The CAR file.
    pub fn to_car(&self) -> Vec<u8> {
        write_car(self.root, &self.blocks)
    }

    /// The same bundle under a seal that also links to where it was logged.
    pub fn with_log(mut self, logged: &LoggedAt) -> Result<SealedBundle, ContentError> {
        let logged = RawBlock::encode(logged)?;
        let seal: Seal = block_of(&self.blocks, &self.root)?.decode()?;
        let seal = RawBlock::encode(&Seal { logged: Some(logged.cid), ..seal })?;
        self.blocks.remove(&self.root);
        self.root = seal.cid;
        for block in [logged, seal] {
            self.blocks.insert(block.cid, block.bytes);
        }
        Ok(self)
    }
}

/// Seals an answer with its evidence.
pub fn seal(contents: &Contents<'_>, key: &SecretKey) -> Result<SealedBundle, SignedError> {
    let answer = RawBlock::encode(contents.answer)?;
    let certificate = RawBlock::raw(contents.certificate.to_bytes());
    let certified = contents.certificate.value();
    let bundle = Bundle {
        tag: BundleTag,
        issuer: key.public(),
        org: certified.org,
        certificate: certificate.cid,
        issued_at: contents.issued_at,
        max_age: contents.max_age,
        query: contents.answer.query.clone(),
        statistics: contents.stats.into(),
        evidence: contents
            .evidence
            .iter()
            .map(|e| Cited {
                chunk: e.cid,
                source: e.chunk.source,
                score: e.score,
                distance: e.distance,
                sensitivity: e.sensitivity,
                caution: e.caution,
                trust: e.trust,
            })
            .collect(),
        heads: contents.heads.clone(),
        answer: answer.cid,
        sensitivity: strictest(contents.evidence.iter().map(|e| e.sensitivity)),
    };
    let signed = Signed::seal(bundle, key)?;
    let seal = RawBlock::encode(&Seal {
        tag: SealTag,
        bundle: signed.cid(),
        signer: *signed.signer(),
        signature: *signed.signature(),
        logged: None,
    })?;
    let mut blocks = BTreeMap::new();
    for cid in contents.evidence.iter().flat_map(|e| [e.cid, e.chunk.source]).collect::<BTreeSet<_>>() {
        let bytes = contents.blocks.get(&cid).ok_or_else(|| missing(&cid))?;
        blocks.insert(cid, bytes.clone());
    }
    for block in [answer, certificate, signed.block().clone(), seal.clone()] {
        blocks.insert(block.cid, block.bytes);
    }
    Ok(SealedBundle { root: seal.cid, bundle: signed.cid(), blocks })
}

fn missing(cid: &Cid) -> ContentError {
    ContentError::Decode(format!("block {cid} of the evidence is missing"))
}

/// Reads a chunk or a source record out of a bundle's blocks.
pub(super) fn chunk_of(blocks: &BTreeMap<Cid, Vec<u8>>, cid: &Cid) -> Result<Chunk, ContentError> {
    block_of(blocks, cid)?.decode()
}

pub(super) fn source_of(blocks: &BTreeMap<Cid, Vec<u8>>, cid: &Cid) -> Result<SourceRecord, ContentError> {
    block_of(blocks, cid)?.decode()
}

pub(super) fn block_of(blocks: &BTreeMap<Cid, Vec<u8>>, cid: &Cid) -> Result<RawBlock, ContentError> {
    let bytes = blocks.get(cid).ok_or_else(|| missing(cid))?;
    RawBlock::checked(*cid, bytes.clone())
}
