//! `/plumb/search/1`: a question to several nodes, in two phases.
//!
//! First each node says what its readable documents tell of the question's terms; then each ranks under the sum of these
//! statistics, so that a federated ranking is that of one index over all of it. A hit carries its chunk and its source
//! record, and whoever asked computes the score again: a peer cannot push its own hits up.
//!
//! | version | since | change |
//! | --- | --- | --- |
//! | 1 | 0.1.0 | statistics, hits, denied, busy |
//! | 1 | 0.2.0 | an optional `assertion` with either question; summary |
//!
//! A field that an older node does not know is passed over by it, and a kind that it does not know is denied, so the
//! number stays.

mod hit;
mod summary;

use plumb_core::identity::Signed;
use plumb_core::retrieval::{CollectionSummary, QUERY_BYTES_MAX, QUERY_TERMS_MAX, Query, TermStats};
use plumb_core::trust::Assertion;
use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;

use super::scan::Limits;
use super::{RETRY_AFTER_MS_MAX, Unknown, WireError, field, frame};
use hit::HitV1;

pub use hit::{Hit, SOURCE_BLOCK_BYTES_MAX, check_hits, rescore};
pub use summary::SUMMARY_ENVELOPE_BYTES_MAX;

/// The name of the protocol.
pub const PROTOCOL: &str = "/plumb/search/1";

/// Most hits of one answer.
pub const HITS_MAX: u32 = 64;

/// Longest time that an asker says it waits: two minutes. What says more is read as that.
pub const DEADLINE_MS_MAX: u32 = 120_000;

/// Largest signed assertion, in bytes: two keys, some names, a nonce and a signature are some 600.
pub const ASSERTION_BYTES_MAX: usize = 3 * 1024;

/// Largest request, in bytes: a question, the statistics of its terms, and for whom it is asked.
pub const REQUEST_BYTES_MAX: usize = QUERY_BYTES_MAX + QUERY_TERMS_MAX * 16 + 4 * 1024;

/// Largest response, in bytes. Chunks have some 2 kB; [`HITS_MAX`] of the largest that are read have 80 kB each.
pub const RESPONSE_BYTES_MAX: usize = 6 * 1024 * 1024;

const REQUEST_LIMITS: Limits = Limits { bytes: REQUEST_BYTES_MAX, items: QUERY_TERMS_MAX + 64 };

const RESPONSE_LIMITS: Limits =
    Limits { bytes: RESPONSE_BYTES_MAX, items: HITS_MAX as usize * 12 + QUERY_TERMS_MAX + 64 };

/// "What do your documents say of the terms of this question?"
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatisticsAsked {
    /// Repeated by the answer.
    pub id: u64,
    /// The question.
    pub query: Query,
    /// How long the asker waits.
    pub deadline_ms: u32,
    /// For whom it is asked. The signature holds; whether it is for this request and this node is asked elsewhere.
    pub assertion: Option<Box<Signed<Assertion>>>,
}

impl StatisticsAsked {
    /// A question that is not too long to be asked.
    pub fn new(id: u64, query: &str, deadline_ms: u32) -> Result<StatisticsAsked, WireError> {
        let deadline_ms = deadline_ms.min(DEADLINE_MS_MAX);
        Ok(StatisticsAsked { id, query: question(query)?, deadline_ms, assertion: None })
    }
}

/// "What ranks highest with you, under these statistics?"
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HitsAsked {
    /// Repeated by the answer.
    pub id: u64,
    /// The question.
    pub query: Query,
    /// The sum of everybody's statistics.
    pub stats: TermStats,
    /// Most hits to give; never more than [`HITS_MAX`].
    pub k: u32,
    /// How long the asker waits.
    pub deadline_ms: u32,
    /// For whom it is asked, as in [`StatisticsAsked`].
    pub assertion: Option<Box<Signed<Assertion>>>,
}

/// What is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SearchRequest {
    /// Phase one.
    Statistics(StatisticsAsked),
    /// Phase two.
    Hits(HitsAsked),
    /// "What do you tell of your public collection?"
    Summary {
        /// Repeated by the answer.
        id: u64,
    },
    /// A kind that a newer peer knows.
    Unknown(Unknown),
}

/// What is answered. Each repeats the id of its request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SearchResponse {
    /// Phase one.
    Statistics {
        /// Of the request.
        id: u64,
        /// Over what the asker may read.
        stats: TermStats,
    },
    /// Phase two. **The scores are not checked yet**: [`check_hits`] does, with the question and the statistics.
    Hits {
        /// Of the request.
        id: u64,
        /// Highest first.
        hits: Vec<Hit>,
    },
    /// What it tells of its public collection. **Whether it is of now is not checked yet.**
    Summary {
        /// Of the request.
        id: u64,
        /// Signed by its publisher.
        summary: Box<Signed<CollectionSummary>>,
    },
    /// It does not answer whoever asked.
    Denied {
        /// Of the request.
        id: u64,
        /// Why.
        reason: String,
    },
    /// Not now.
    Busy {
        /// Of the request.
        id: u64,
        /// When to ask again.
        retry_after_ms: u64,
    },
    /// A kind that a newer peer knows.
    Unknown(Unknown),
}

#[derive(Serialize, Deserialize)]
struct StatisticsAskedV1 {
    id: u64,
    query: String,
    deadline_ms: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    assertion: Option<ByteBuf>,
}

#[derive(Serialize, Deserialize)]
struct HitsAskedV1 {
    id: u64,
    query: String,
    n_docs: u64,
    n_terms: u64,
    doc_freq: Vec<u64>,
    k: u32,
    deadline_ms: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    assertion: Option<ByteBuf>,
}

#[derive(Serialize, Deserialize)]
struct StatisticsV1 {
    id: u64,
    n_docs: u64,
    n_terms: u64,
    doc_freq: Vec<u64>,
}

#[derive(Serialize, Deserialize)]
struct HitsV1 {
    id: u64,
    hits: Vec<HitV1>,
}

#[derive(Serialize, Deserialize)]
struct DeniedV1 {
    id: u64,
    reason: String,
}

#[derive(Serialize, Deserialize)]
struct BusyV1 {
    id: u64,
    retry_after_ms: u64,
}

#[derive(Serialize, Deserialize)]
struct IdV1 {
    id: u64,
}

fn assertion(bytes: Option<ByteBuf>) -> Result<Option<Box<Signed<Assertion>>>, WireError> {
    let read = |bytes: ByteBuf| field::signed(&bytes, "assertion", ASSERTION_BYTES_MAX).map(Box::new);
    bytes.map(read).transpose()
}

fn bytes_of(assertion: Option<&Signed<Assertion>>) -> Option<ByteBuf> {
    assertion.map(|signed| ByteBuf::from(signed.to_bytes()))
}

fn question(text: &str) -> Result<Query, WireError> {
    field::at_most(text.len(), QUERY_BYTES_MAX, "bytes of question")?;
    Ok(Query::new(text))
}

/// Statistics that some collection can have, for a question of so many terms.
fn statistics(stats: TermStats, n_query_terms: usize) -> Result<TermStats, WireError> {
    field::at_most(stats.doc_freq.len(), QUERY_TERMS_MAX, "terms")?;
    stats.check(n_query_terms).map_err(|e| WireError::Statistics(e.to_string()))?;
    Ok(stats)
}

impl SearchRequest {
    /// The id that its answer repeats; of an unknown one, zero.
    pub fn id(&self) -> u64 {
        match self {
            SearchRequest::Statistics(asked) => asked.id,
            SearchRequest::Hits(asked) => asked.id,
            SearchRequest::Summary { id } => *id,
            SearchRequest::Unknown(_) => 0,
        }
    }

    /// For whom it is asked, if it says so.
    pub fn assertion(&self) -> Option<&Signed<Assertion>> {
        match self {
            SearchRequest::Statistics(asked) => asked.assertion.as_deref(),
            SearchRequest::Hits(asked) => asked.assertion.as_deref(),
            SearchRequest::Summary { .. } | SearchRequest::Unknown(_) => None,
        }
    }

    /// The same question, for whom the assertion says. A request for a summary is nobody's in particular.
    pub fn asserted(mut self, by: Signed<Assertion>) -> SearchRequest {
        match &mut self {
            SearchRequest::Statistics(asked) => asked.assertion = Some(Box::new(by)),
            SearchRequest::Hits(asked) => asked.assertion = Some(Box::new(by)),
            SearchRequest::Summary { .. } | SearchRequest::Unknown(_) => {}
        }
        self
    }

    /// The frame.
    pub fn encode(&self) -> Vec<u8> {
        match self {
            SearchRequest::Statistics(asked) => {
                let body = StatisticsAskedV1 {
                    id: asked.id,
                    query: asked.query.text.clone(),
                    deadline_ms: asked.deadline_ms,
                    assertion: bytes_of(asked.assertion.as_deref()),
                };
                frame::encode(PROTOCOL, "ask_statistics", &body)
            }
            SearchRequest::Hits(asked) => {
                let body = HitsAskedV1 {
                    id: asked.id,
                    query: asked.query.text.clone(),
                    n_docs: asked.stats.n_docs,
                    n_terms: asked.stats.n_terms,
                    doc_freq: asked.stats.doc_freq.clone(),
                    k: asked.k,
                    deadline_ms: asked.deadline_ms,
                    assertion: bytes_of(asked.assertion.as_deref()),
                };
                frame::encode(PROTOCOL, "ask_hits", &body)
            }
            SearchRequest::Summary { id } => frame::encode(PROTOCOL, "ask_summary", &IdV1 { id: *id }),
            SearchRequest::Unknown(unknown) => unknown.bytes.clone(),
        }
    }

    /// Reads a frame.
    pub fn decode(bytes: &[u8]) -> Result<SearchRequest, WireError> {
        let frame = frame::open(bytes, PROTOCOL, REQUEST_LIMITS)?;
        Ok(match frame.kind {
            "ask_statistics" => {
                let body: StatisticsAskedV1 = frame.body()?;
                let asked = StatisticsAsked::new(body.id, &body.query, body.deadline_ms)?;
                SearchRequest::Statistics(StatisticsAsked { assertion: assertion(body.assertion)?, ..asked })
            }
            "ask_hits" => {
                let body: HitsAskedV1 = frame.body()?;
                let query = question(&body.query)?;
                let stats = TermStats { n_docs: body.n_docs, n_terms: body.n_terms, doc_freq: body.doc_freq };
                SearchRequest::Hits(HitsAsked {
                    id: body.id,
                    stats: statistics(stats, query.terms.len())?,
                    query,
                    k: body.k.min(HITS_MAX),
                    deadline_ms: body.deadline_ms.min(DEADLINE_MS_MAX),
                    assertion: assertion(body.assertion)?,
                })
            }
            "ask_summary" => SearchRequest::Summary { id: frame.body::<IdV1>()?.id },
            _ => SearchRequest::Unknown(frame.unknown()),
        })
    }
}

impl SearchResponse {
    /// The id of the request that it answers; of an unknown one, none.
    pub fn id(&self) -> Option<u64> {
        match self {
            SearchResponse::Statistics { id, .. }
            | SearchResponse::Hits { id, .. }
            | SearchResponse::Summary { id, .. }
            | SearchResponse::Denied { id, .. }
            | SearchResponse::Busy { id, .. } => Some(*id),
            SearchResponse::Unknown(_) => None,
        }
    }

    /// The frame.
    pub fn encode(&self) -> Vec<u8> {
        match self {
            SearchResponse::Statistics { id, stats } => {
                let body = StatisticsV1 {
                    id: *id,
                    n_docs: stats.n_docs,
                    n_terms: stats.n_terms,
                    doc_freq: stats.doc_freq.clone(),
                };
                frame::encode(PROTOCOL, "statistics", &body)
            }
            SearchResponse::Hits { id, hits } => {
                let hits = hits.iter().map(HitV1::from).collect();
                frame::encode(PROTOCOL, "hits", &HitsV1 { id: *id, hits })
            }
            SearchResponse::Summary { id, summary } => summary::encode(*id, summary),
            SearchResponse::Denied { id, reason } => {
                let reason = super::reason(reason);
                frame::encode(PROTOCOL, "denied", &DeniedV1 { id: *id, reason })
            }
            SearchResponse::Busy { id, retry_after_ms } => {
                let body = BusyV1 { id: *id, retry_after_ms: *retry_after_ms };
                frame::encode(PROTOCOL, "busy", &body)
            }
            SearchResponse::Unknown(unknown) => unknown.bytes.clone(),
        }
    }

    /// Reads a frame.
    pub fn decode(bytes: &[u8]) -> Result<SearchResponse, WireError> {
        let frame = frame::open(bytes, PROTOCOL, RESPONSE_LIMITS)?;
        Ok(match frame.kind {
            "statistics" => {
                let body: StatisticsV1 = frame.body()?;
                let stats = TermStats { n_docs: body.n_docs, n_terms: body.n_terms, doc_freq: body.doc_freq };
                // For how many terms they should be is known to whoever asked; that they contradict nothing is known here.
                let n_terms = stats.doc_freq.len();
                let stats = statistics(stats, n_terms)?;
                SearchResponse::Statistics { id: body.id, stats }
            }
            "hits" => {
                let body: HitsV1 = frame.body()?;
                field::at_most(body.hits.len(), HITS_MAX as usize, "hits")?;
                let hits = body.hits.into_iter().map(Hit::try_from);
                SearchResponse::Hits { id: body.id, hits: hits.collect::<Result<_, _>>()? }
            }
            "summary" => {
                let (id, summary) = summary::decode(frame.body()?)?;
                SearchResponse::Summary { id, summary }
            }
            "denied" => {
                let body: DeniedV1 = frame.body()?;
                SearchResponse::Denied { id: body.id, reason: field::reason(body.reason)? }
            }
            "busy" => {
                let body: BusyV1 = frame.body()?;
                SearchResponse::Busy { id: body.id, retry_after_ms: body.retry_after_ms.min(RETRY_AFTER_MS_MAX) }
            }
            _ => SearchResponse::Unknown(frame.unknown()),
        })
    }
}
