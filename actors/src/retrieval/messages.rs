//! What the retrieval actor answers.

use plumb_core::grounding::Evidence;
use plumb_core::measure::{Duration, Milli};
use plumb_core::retrieval::{AskWhom, TermStats};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use utoipa::ToSchema;

use crate::NodeError;
use crate::caller::Caller;

/// Results where nobody says how many.
pub const K_DEFAULT: usize = 10;
/// Most results of one search.
pub const K_MAX: usize = 100;

/// Searches what the caller may read, here and, if asked, at the peers.
#[derive(Clone, Debug, actix::Message)]
#[rtype(result = "Result<Found, NodeError>")]
pub struct AssembleContext {
    /// Who asks.
    pub caller: Caller,
    /// The question.
    pub query: String,
    /// At most so many results.
    pub k: usize,
    /// Whether peers are asked too, and which.
    pub peers: AskPeers,
    /// How long peers have.
    pub deadline: Duration,
}

/// Whether peers are asked too, which of them, and what for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AskPeers {
    /// Which. `None`: nobody.
    pub whom: Option<AskWhom>,
    /// What for, in a few words. The peers are told, and write it down.
    pub purpose: Option<String>,
}

impl From<bool> for AskPeers {
    fn from(ask: bool) -> AskPeers {
        AskPeers { whom: ask.then_some(AskWhom::Auto), purpose: None }
    }
}

/// What was found, for the composer.
#[derive(Clone, Debug)]
pub struct Found {
    /// In rank order.
    pub evidence: Vec<Evidence>,
    /// The statistics under which it was ranked.
    pub stats: TermStats,
    /// Blocks of the chunks and their source records.
    pub blocks: BTreeMap<cid::Cid, Vec<u8>>,
    /// Providers of each chunk, in rank order.
    pub providers: Vec<Vec<plumb_core::identity::NodeId>>,
    /// Who was asked, and what came of it.
    pub coverage: Coverage,
    /// Per result in rank order: how often each term of the question occurs, and how many terms the chunk has.
    pub factors: Vec<(Vec<u32>, u64)>,
    /// The question's terms.
    pub terms: Vec<String>,
    /// The model whose vectors took part in the ranking, if one did.
    pub model: Option<String>,
    /// Per result in rank order: how near its vector is to the question's, where meaning found it.
    pub similarity: Vec<Option<Milli>>,
    /// Per result in rank order: other chunks with the same text.
    pub copies: Vec<Vec<CopyView>>,
    /// Publishers of the evidence whose word on whether it still stands could not be confirmed.
    pub unconfirmed: BTreeMap<plumb_core::identity::NodeId, super::UnconfirmedView>,
}

/// Who was asked, and what came of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Coverage {
    /// Documents of this node that the caller may read.
    pub local_documents: u64,
    /// Every peer that is known, whether it was asked or not.
    pub peers: Vec<PeerCoverage>,
    /// Whether every one of them answered.
    pub complete: bool,
    /// Whether one that did not answer could change the result: it may hold what nobody else holds.
    #[serde(default)]
    pub missing_could_change: bool,
}

/// One peer in a federated search.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PeerCoverage {
    /// The peer: a `did:key`.
    pub node: String,
    /// Its organisation and department, as its certificate says.
    pub name: String,
    /// `answered`, `fused_by_rank`, `denied`, `busy`, `timed_out`, `unreachable`, `invalid`, `not_asked`, `breaker_open`.
    pub state: String,
    /// More words, where there are any.
    pub detail: Option<String>,
    /// Results that came from it.
    pub hits: u64,
    /// Results of it that were dropped because they are not what it said.
    #[serde(default)]
    pub dropped: u64,
    /// How long ago its log was last confirmed, in milliseconds; `null` if never.
    pub feed_age_ms: Option<u64>,
}

/// A result as its reader sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct HitView {
    /// The chunk.
    pub chunk: String,
    /// Its source record.
    pub source: String,
    /// Its source's address as others see it.
    pub uri: String,
    /// Its source's title.
    pub title: String,
    /// Headings above it.
    pub headings: Vec<String>,
    /// Page, where there are pages.
    pub page: Option<u32>,
    /// The text.
    pub text: String,
    /// Score of its words in millionths of a BM25 unit.
    pub score: u64,
    /// How near its meaning is to that of the question, in thousandths (cosine), where it was found by that too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub similarity: Option<u16>,
    /// Other readable chunks with the same text: other names under which the same was taken in.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub copies: Vec<CopyView>,
    /// How sensitive.
    pub sensitivity: String,
    /// Who published it.
    pub publisher: String,
    /// Who gave it.
    pub providers: Vec<String>,
    /// A notice that counsels caution.
    pub caution: Option<String>,
    /// Set if nobody could confirm that its publisher took nothing back: the status is unknown, and not *current*.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unconfirmed: Option<super::UnconfirmedView>,
    /// Every factor of the score, if asked for.
    pub explain: Option<Explanation>,
    /// Every factor of its place, if asked for; of a search that went to other nodes there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub factors: Option<super::FactorsView>,
    /// The chunks of results that contradict it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contested_by: Vec<String>,
}

/// The same text under another name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CopyView {
    /// The chunk.
    pub chunk: String,
    /// Its source record.
    pub source: String,
    /// Its source's address as others see it.
    pub uri: String,
    /// Its source's title.
    pub title: String,
}

/// Every factor of a score.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Explanation {
    /// `BM25` (RET-20); with vectors, how both sides were joined and by which model.
    pub method: String,
    /// Documents in the statistics.
    pub n_docs: u64,
    /// Terms in all of them.
    pub n_terms: u64,
    /// Terms of this chunk.
    pub chunk_terms: u64,
    /// Per term of the question.
    pub terms: Vec<TermFactor>,
}

/// One term's part in a score.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TermFactor {
    /// The term.
    pub term: String,
    /// Occurrences in the chunk.
    pub tf: u32,
    /// Documents that hold it.
    pub df: u64,
    /// Inverse document frequency in millionths.
    pub idf_micro: u64,
    /// Its part of the score in millionths.
    pub score_micro: u64,
}

/// The results of a search.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SearchView {
    /// The question.
    pub query: String,
    /// The results, best first.
    pub hits: Vec<HitView>,
    /// The model whose vectors took part in the ranking; without one, words alone ranked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Who was asked.
    pub coverage: Coverage,
    /// What each stage did, if asked for; of a search that went to other nodes there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stages: Option<super::StagesView>,
}

impl Found {
    /// The results for a reader.
    pub fn view(&self, query: &str, explain: bool) -> SearchView {
        let hits = self
            .evidence
            .iter()
            .enumerate()
            .map(|(i, e)| HitView {
                chunk: e.cid.to_string(),
                source: e.chunk.source.to_string(),
                uri: e.uri.clone(),
                title: e.chunk.title.clone(),
                headings: e.chunk.headings.clone(),
                page: e.chunk.page,
                text: e.chunk.text.clone(),
                score: e.score,
                similarity: self.similarity[i].map(Milli::get),
                copies: self.copies[i].clone(),
                sensitivity: e.sensitivity.to_string(),
                publisher: e.publisher.to_string(),
                providers: self.providers[i].iter().map(ToString::to_string).collect(),
                caution: e.caution.map(|c| c.to_string()),
                unconfirmed: self.unconfirmed.get(&e.publisher).cloned(),
                explain: explain.then(|| self.explain(i)),
                factors: None,
                contested_by: Vec::new(),
            })
            .collect();
        SearchView {
            query: query.to_string(),
            hits,
            model: self.model.clone(),
            coverage: self.coverage.clone(),
            stages: None,
        }
    }

    fn explain(&self, i: usize) -> Explanation {
        let (tf, chunk_terms) = &self.factors[i];
        let terms = self
            .terms
            .iter()
            .zip(tf)
            .zip(&self.stats.doc_freq)
            .map(|((term, tf), df)| {
                let one = TermStats { doc_freq: vec![*df], ..self.stats.clone() };
                TermFactor {
                    term: term.clone(),
                    tf: *tf,
                    df: *df,
                    idf_micro: plumb_core::retrieval::idf_micro(self.stats.n_docs, *df),
                    score_micro: plumb_core::retrieval::bm25(&one, &[*tf], *chunk_terms),
                }
            })
            .collect();
        Explanation {
            method: match &self.model {
                None => "BM25".to_string(),
                Some(model) => format!("BM25, blended with the vectors of {model}"),
            },
            n_docs: self.stats.n_docs,
            n_terms: self.stats.n_terms,
            chunk_terms: *chunk_terms,
            terms,
        }
    }
}

/// Gives a block, if the caller may read what it belongs to.
#[derive(Clone, Debug, actix::Message)]
#[rtype(result = "Result<plumb_core::content::RawBlock, NodeError>")]
pub struct ReadBlock {
    /// Who asks.
    pub caller: Caller,
    /// Its name.
    pub cid: cid::Cid,
}
