//! What a peer of our own answers to a search: honestly over its documents, or in one of the ways of getting it wrong.

use std::collections::BTreeMap;
use std::time::Duration;

use plumb_core::boundary::Sensitivity;
use plumb_core::content::{Chunk, ChunkTag, Fingerprint, RawBlock, SourceRecord, SourceTag};
use plumb_core::identity::{SecretKey, Signed};
use plumb_core::measure::Duration as Span;
use plumb_core::retrieval::{CollectionSummary, Query, TermStats, body_of, is_word, terms};
use plumb_federation::wire::blocks::{Blocks, BlocksRequest, BlocksResponse};
use plumb_federation::wire::search::{Hit, SearchRequest, SearchResponse};

use super::now;

/// How a peer behaves when it is searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Behaviour {
    /// As an honest node does.
    Honest,
    /// The same, after a while.
    Slow(Duration),
    /// It takes every question and answers none.
    BlackHole,
    /// It refuses every question.
    Denies,
    /// It ends the stream of every question.
    Fails,
    /// It says that its hits score more than they do.
    Boasts,
    /// It labels its hits as internal.
    Leaks,
    /// It refuses to give statistics, and ranks by its own.
    Withholds,
}

/// A document of one chunk.
#[derive(Clone, Debug)]
pub struct Document {
    /// Its title.
    pub title: String,
    /// Its text.
    pub text: String,
}

impl Document {
    /// A document.
    pub fn new(title: &str, text: &str) -> Document {
        Document { title: title.to_string(), text: text.to_string() }
    }
}

/// The documents of a peer, ready to be searched.
#[derive(Debug)]
pub(super) struct Library {
    key: SecretKey,
    documents: Vec<(Chunk, RawBlock, RawBlock)>,
}

impl Library {
    pub(super) fn new(key: &SecretKey, documents: &[Document]) -> Library {
        let blocks = |document: &Document| {
            let raw = RawBlock::raw(document.text.as_bytes().to_vec()).cid;
            let source = SourceRecord {
                tag: SourceTag,
                publisher: key.public(),
                scope: "department:department-elsewhere".parse().expect("a scope"),
                uri: format!("file:{}", document.title),
                instance: vec![7; 16],
                title: document.title.clone(),
                media_type: "text/plain".into(),
                adapter: "text/1".into(),
                raw,
                text: raw,
                fingerprint: Fingerprint::of(&document.text),
            };
            let source = RawBlock::encode(&source).expect("a record is encoded");
            let chunk = Chunk {
                tag: ChunkTag,
                source: source.cid,
                ordinal: 0,
                start: 0,
                end: document.text.len() as u64,
                title: document.title.clone(),
                headings: Vec::new(),
                page: None,
                text: document.text.clone(),
            };
            let block = RawBlock::encode(&chunk).expect("a chunk is encoded");
            (chunk, block, source)
        };
        Library { key: key.clone(), documents: documents.iter().map(blocks).collect() }
    }

    fn stats(&self, query: &Query) -> TermStats {
        let mut stats = TermStats::empty(query.terms.len());
        for (chunk, _, _) in &self.documents {
            let (tf, n_terms) = query.frequencies(&body_of(chunk));
            stats.n_docs += 1;
            stats.n_terms += n_terms;
            tf.iter().zip(&mut stats.doc_freq).for_each(|(tf, df)| *df += u64::from(*tf > 0));
        }
        stats
    }

    fn hits(&self, query: &Query, stats: &TermStats, k: u32, behaviour: Behaviour) -> Vec<Hit> {
        let sensitivity = if behaviour == Behaviour::Leaks { Sensitivity::Internal } else { Sensitivity::Public };
        let mut hits: Vec<Hit> = self
            .documents
            .iter()
            .map(|(chunk, block, source)| {
                let score = query.score(chunk, stats);
                let stated = if behaviour == Behaviour::Boasts { score + score / 2 } else { score };
                Hit::new(stated, sensitivity, block.clone(), source.clone()).expect("a hit is whole")
            })
            .filter(|hit| hit.score() > 0)
            .collect();
        hits.sort_by(|a, b| b.score().cmp(&a.score()).then_with(|| a.chunk_block().cid.cmp(&b.chunk_block().cid)));
        hits.truncate(k as usize);
        hits
    }

    fn summary(&self) -> Signed<CollectionSummary> {
        let mut n_terms = 0;
        let mut doc_freq: BTreeMap<String, u64> = BTreeMap::new();
        for (chunk, _, _) in &self.documents {
            let all = terms(&body_of(chunk));
            n_terms += all.iter().filter(|term| is_word(term)).count() as u64;
            let distinct: std::collections::BTreeSet<String> = all.into_iter().collect();
            distinct.into_iter().for_each(|term| *doc_freq.entry(term).or_default() += 1);
        }
        let n_docs = self.documents.len() as u64;
        let summary = CollectionSummary::of(self.key.public(), n_docs, n_terms, doc_freq, now(), Span::days(1));
        Signed::seal(summary, &self.key).expect("a summary is signed")
    }

    pub(super) fn answer(&self, behaviour: Behaviour, request: &SearchRequest) -> SearchResponse {
        let id = request.id();
        let denied = |reason: &str| SearchResponse::Denied { id, reason: reason.to_string() };
        match request {
            _ if behaviour == Behaviour::Denies => denied("this organisation shares nothing with yours"),
            SearchRequest::Statistics(_) if behaviour == Behaviour::Withholds => denied("statistics are our own"),
            SearchRequest::Statistics(asked) => SearchResponse::Statistics { id, stats: self.stats(&asked.query) },
            SearchRequest::Hits(asked) => {
                let own = self.stats(&asked.query);
                let stats = if behaviour == Behaviour::Withholds { &own } else { &asked.stats };
                SearchResponse::Hits { id, hits: self.hits(&asked.query, stats, asked.k, behaviour) }
            }
            SearchRequest::Summary { .. } => SearchResponse::Summary { id, summary: Box::new(self.summary()) },
            SearchRequest::Unknown(_) => denied("not known here"),
        }
    }
}

/// It holds none of the blocks that it is asked for. One that boasts gives others in their place.
pub(super) fn blocks(behaviour: Behaviour, request: &BlocksRequest) -> BlocksResponse {
    let forged = |cid: &cid::Cid| RawBlock { cid: *cid, bytes: b"forged".to_vec() };
    BlocksResponse::Blocks(match behaviour {
        Behaviour::Boasts => Blocks { blocks: request.cids.iter().map(forged).collect(), missing: Vec::new() },
        _ => Blocks { blocks: Vec::new(), missing: request.cids.iter().copied().collect() },
    })
}
