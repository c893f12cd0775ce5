//! A portable context: what was found for a question, ranked in integers and cut to a budget, as one JSON document that
//! a reader without a node can inspect, answer from, or sign elsewhere (BUN-01 to BUN-11).
//!
//! This is the read-only layer. It makes values out of values: it keeps nothing, signs nothing, and has no way to write
//! (BUN-09, D3). Whoever wants a proof seals an answer as a [`super::Bundle`] instead.
//!
//! | step | gives |
//! | --- | --- |
//! | chunks, in any order | [`Session::assemble`] sorts, ranks and cuts: a [`Session`] |
//! | a session | [`Session::to_json`], and back by [`Session::from_json`] |
//! | a session, whatever became of its sources | [`Session::answer`]: the same answer always |

mod answer;
mod rank;
mod trust;
mod view;

use std::fmt::Write;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

pub use answer::{SENTENCE_CHARS_MAX, SessionAnswer};
pub use trust::{SourceTrust, TRUST_MAX, TRUST_NEUTRAL, TrustPair, TrustParseError};

/// The format that the header names.
pub const FORMAT: &str = "knitweb-lens-context";

/// Its version.
pub const VERSION: u64 = 1;

/// Chunks, unless told otherwise (BUN-06).
pub const MAX_CHUNKS_DEFAULT: u32 = 8;

/// Characters of all chunks together, unless told otherwise (BUN-06).
pub const BUDGET_CHARS_DEFAULT: u32 = 4000;

/// Ranked chunks that are considered for each one that fits (RET-09).
pub const OVERSAMPLE: u32 = 4;

/// Largest document that is read, in bytes.
pub const SESSION_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Most chunks of a document that is read.
pub const SESSION_CHUNKS_MAX: usize = 1024;

/// Why a document is not a session.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// Too long.
    #[error("a context of {bytes} bytes; at most {SESSION_BYTES_MAX} are read")]
    Size {
        /// How long it is.
        bytes: usize,
    },
    /// Not JSON of this shape: a missing field, a fraction where an integer belongs, a negative budget.
    #[error("not a context")]
    Shape(#[from] serde_json::Error),
    /// Another format or version.
    #[error("a document of format `{format}`, version {version}; this reads {FORMAT}, version {VERSION}")]
    Format {
        /// The format that it names.
        format: String,
        /// The version.
        version: u64,
    },
    /// More chunks than are read.
    #[error("a context of {0} chunks; at most {SESSION_CHUNKS_MAX} are read")]
    Chunks(usize),
    /// The id is not that of what stands below it.
    #[error("the context is called {named}, and its question, chunks and budget make {computed}")]
    Id {
        /// The id that it bears.
        named: String,
        /// The id that it should bear.
        computed: String,
    },
}

/// A piece of evidence as a session carries it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SessionChunk {
    /// Whose it is: the id of its source.
    pub source_id: String,
    /// Where that is found.
    pub source_uri: String,
    /// Its CID, if it has one.
    #[serde(default)]
    pub cid: Option<String>,
    /// The node or record it comes from, if that has a name.
    #[serde(default)]
    pub node_id: Option<String>,
    /// The way to it: headings, or relations written `rel->dst`.
    #[serde(default)]
    pub path: Vec<String>,
    /// Title.
    pub title: String,
    /// Text.
    pub text: String,
    /// How much its kind of source counts (RET-03).
    #[serde(default)]
    pub priority: i64,
    /// A weight that it brings along (RET-04), 1 unless it says otherwise; below nothing counts as nothing.
    #[serde(default = "weight_default")]
    pub weight: i64,
    /// Hops that it came (RET-05).
    #[serde(default)]
    pub distance: u32,
}

/// Of a chunk that brings no weight of its own.
pub const WEIGHT_DEFAULT: i64 = 1;

fn weight_default() -> i64 {
    WEIGHT_DEFAULT
}

/// A chunk in its place, with every part of its score (BUN-03).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RankedChunk {
    /// The chunk.
    pub chunk: SessionChunk,
    /// The sum of what follows (RET-01).
    pub score: i64,
    /// Of terms (RET-02).
    pub lexical_score: i64,
    /// Of distance and path (RET-05).
    pub provenance_score: i64,
    /// Of the kind of source (RET-03).
    pub priority_score: i64,
    /// Of the weight (RET-04).
    pub weight_score: i64,
    /// Of the reader's trust in the source (RET-06); 0 where none was given.
    #[serde(default)]
    pub trust_score: i64,
}

/// How much a session may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Most chunks.
    pub max_chunks: u32,
    /// Most characters of their texts together.
    pub budget_chars: u32,
}

impl Default for Budget {
    fn default() -> Budget {
        Budget { max_chunks: MAX_CHUNKS_DEFAULT, budget_chars: BUDGET_CHARS_DEFAULT }
    }
}

/// What was found for a question (BUN-02).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    /// `lens-session:` and a SHA-256 over question, chunk keys and budget. It does not cover the texts (BUN-05);
    /// [`Session::content_digest`] does.
    pub session_id: String,
    /// The question.
    pub query: String,
    /// Most characters.
    pub budget_chars: u32,
    /// Most chunks.
    pub max_chunks: u32,
    /// Characters used.
    pub used_chars: u64,
    /// The chunks, best first.
    pub ranked_chunks: Vec<RankedChunk>,
}

#[derive(Serialize, Deserialize)]
struct Document {
    format: String,
    version: u64,
    session: Session,
}

impl Session {
    /// Ranks chunks for a question and takes what fits. The order in which they come changes nothing (BUN-11).
    pub fn assemble(query: &str, chunks: Vec<SessionChunk>, trust: Option<&SourceTrust>, budget: Budget) -> Session {
        let mut ranked = rank::ranked(query, chunks, trust);
        ranked.truncate(budget.max_chunks.saturating_mul(OVERSAMPLE) as usize);
        let (ranked_chunks, used_chars) = within(ranked, budget);
        let mut session = Session {
            session_id: String::new(),
            query: query.to_string(),
            budget_chars: budget.budget_chars,
            max_chunks: budget.max_chunks,
            used_chars,
            ranked_chunks,
        };
        session.session_id = session.computed_id();
        session
    }

    /// The document, indented for people.
    pub fn to_json(&self) -> Result<String, SessionError> {
        let document = Document { format: FORMAT.to_string(), version: VERSION, session: self.clone() };
        Ok(serde_json::to_string_pretty(&document)?)
    }

    /// The bytes that are signed elsewhere: the document with sorted keys and without spaces (BUN-08).
    pub fn canonical_bytes(&self) -> Result<Vec<u8>, SessionError> {
        let document = Document { format: FORMAT.to_string(), version: VERSION, session: self.clone() };
        Ok(compact(&serde_json::to_value(document)?).into_bytes())
    }

    /// SHA-256 over [`Session::canonical_bytes`], texts included, in hexadecimal.
    pub fn content_digest(&self) -> Result<String, SessionError> {
        Ok(hex(&Sha256::digest(self.canonical_bytes()?)))
    }

    /// Reads a document.
    pub fn from_json(bytes: &[u8]) -> Result<Session, SessionError> {
        if bytes.len() > SESSION_BYTES_MAX {
            return Err(SessionError::Size { bytes: bytes.len() });
        }
        let document: Document = serde_json::from_slice(bytes)?;
        if document.format != FORMAT || document.version != VERSION {
            let format = document.format.chars().take(80).collect();
            return Err(SessionError::Format { format, version: document.version });
        }
        let session = document.session;
        if session.ranked_chunks.len() > SESSION_CHUNKS_MAX {
            return Err(SessionError::Chunks(session.ranked_chunks.len()));
        }
        let computed = session.computed_id();
        if session.session_id != computed {
            let named = session.session_id.chars().take(80).collect();
            return Err(SessionError::Id { named, computed });
        }
        Ok(session)
    }

    fn computed_id(&self) -> String {
        let keys: Vec<serde_json::Value> = self
            .ranked_chunks
            .iter()
            .map(|ranked| {
                let c = &ranked.chunk;
                serde_json::json!([c.source_id, c.source_uri, c.cid, c.node_id, c.path])
            })
            .collect();
        let named = serde_json::json!({
            "query": self.query,
            "chunks": keys,
            "budget_chars": self.budget_chars,
            "max_chunks": self.max_chunks,
        });
        stable_id("lens-session", &named)
    }
}

/// A content-derived id: `prefix:` and the SHA-256 of the value as JSON with sorted keys, without spaces (CHK-10).
pub fn stable_id(prefix: &str, value: &serde_json::Value) -> String {
    format!("{prefix}:{}", hex(&Sha256::digest(compact(value))))
}

/// Sorted keys without spaces. The library's maps are sorted unless some crate of the build turns that off, so it is
/// done here, where it is promised.
fn compact(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::Array(items) => format!("[{}]", items.iter().map(compact).collect::<Vec<_>>().join(",")),
        serde_json::Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_by_key(|(name, _)| *name);
            let fields =
                fields.into_iter().map(|(k, v)| format!("{}:{}", serde_json::Value::from(k.as_str()), compact(v)));
            format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
        }
        plain => plain.to_string(),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The first chunk is cut to fit; of the others each is taken that still fits whole (BUN-06).
fn within(ranked: Vec<RankedChunk>, budget: Budget) -> (Vec<RankedChunk>, u64) {
    let (mut taken, mut used) = (Vec::new(), 0u64);
    let most = u64::from(budget.budget_chars);
    for mut ranked in ranked {
        if taken.len() as u64 == u64::from(budget.max_chunks) || most == 0 {
            break;
        }
        let mut n_chars = ranked.chunk.text.chars().count() as u64;
        if used + n_chars > most {
            if !taken.is_empty() {
                continue;
            }
            ranked.chunk.text = ranked.chunk.text.chars().take(budget.budget_chars as usize).collect();
            n_chars = most;
        }
        used += n_chars;
        taken.push(ranked);
    }
    (taken, used)
}

#[cfg(test)]
mod tests;
