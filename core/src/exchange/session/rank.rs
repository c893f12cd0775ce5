//! The integer ranking of a session: `score = lexical + 100·priority + 10·max(weight, 0) + provenance + trust`
//! (RET-01 to RET-07).

use super::{RankedChunk, SessionChunk, SourceTrust};

/// For each occurrence of a term in title and text.
const HIT: i64 = 10;
/// For each term of the question that stands in the title.
const TITLED: i64 = 20;
/// If the whole question stands in it.
const PHRASE: i64 = 40;
/// For each point of priority. It outweighs the words, as the format has it: ten points are a hundred hits.
const PRIORITY: i64 = 100;
/// For each point of weight.
const WEIGHT: i64 = 10;
/// For evidence that came no hop.
const NEAR: i64 = 100;
/// Less for each hop.
const HOP: i64 = 20;
/// For each item of the path.
const PATH_ITEM: i64 = 5;

/// The chunks with their scores, best first. Equal scores are ordered by what the chunks are: first by the fields that
/// the format names (RET-07), then by the others, so the order in which they came is forgotten.
pub(super) fn ranked(query: &str, chunks: Vec<SessionChunk>, trust: Option<&SourceTrust>) -> Vec<RankedChunk> {
    let (terms, phrase) = (terms(query), query.trim().to_lowercase());
    let mut ranked: Vec<RankedChunk> = chunks.into_iter().map(|chunk| score(&terms, &phrase, chunk, trust)).collect();
    ranked.sort_by(|a, b| {
        let (x, y) = (&a.chunk, &b.chunk);
        b.score.cmp(&a.score).then_with(|| key(x).cmp(&key(y))).then_with(|| x.cmp(y))
    });
    ranked
}

type Key<'a> = (&'a str, &'a str, Option<&'a str>, Option<&'a str>, &'a str, &'a str);

fn key(c: &SessionChunk) -> Key<'_> {
    (&c.source_id, &c.source_uri, c.cid.as_deref(), c.node_id.as_deref(), &c.title, &c.text)
}

fn score(terms: &[String], phrase: &str, chunk: SessionChunk, trust: Option<&SourceTrust>) -> RankedChunk {
    let lexical_score = lexical(terms, phrase, &chunk.title, &chunk.text);
    let n_path = i64::try_from(chunk.path.len()).unwrap_or(i64::MAX);
    let near = NEAR.saturating_sub(HOP.saturating_mul(i64::from(chunk.distance))).max(0);
    let provenance_score = near.saturating_add(PATH_ITEM.saturating_mul(n_path));
    let priority_score = chunk.priority.saturating_mul(PRIORITY);
    let weight_score = chunk.weight.max(0).saturating_mul(WEIGHT);
    let trust_score = trust.map_or(0, |trust| trust.score(&chunk.source_id));
    let parts = [lexical_score, provenance_score, priority_score, weight_score, trust_score];
    let score = parts.into_iter().fold(0, i64::saturating_add);
    RankedChunk { chunk, score, lexical_score, provenance_score, priority_score, weight_score, trust_score }
}

/// A term that the question repeats counts again (RET-02).
pub(super) fn lexical(query: &[String], phrase: &str, title: &str, text: &str) -> i64 {
    let (in_title, in_text) = (terms(title), terms(text));
    let count = |words: &[String], term: &String| words.iter().filter(|w| *w == term).count();
    let hits: usize = query.iter().map(|term| count(&in_title, term) + count(&in_text, term)).sum();
    let titled = query.iter().filter(|term| in_title.contains(term)).count();
    let whole = !phrase.is_empty() && format!("{title}\n{text}").to_lowercase().contains(phrase);
    let of = |n: usize| i64::try_from(n).unwrap_or(i64::MAX);
    HIT.saturating_mul(of(hits)).saturating_add(TITLED.saturating_mul(of(titled))) + if whole { PHRASE } else { 0 }
}

/// The format's own tokeniser (RET-08): runs of `a–z0–9` in lower case; words of one letter only if there are no others.
/// The node's search has one for every script; this one must cut as every reader of the format does.
pub(super) fn terms(text: &str) -> Vec<String> {
    let lower = text.to_lowercase();
    let all: Vec<&str> =
        lower.split(|c: char| !(c.is_ascii_lowercase() || c.is_ascii_digit())).filter(|w| !w.is_empty()).collect();
    let long: Vec<String> = all.iter().filter(|w| w.len() > 1).map(ToString::to_string).collect();
    if long.is_empty() { all.into_iter().map(str::to_string).collect() } else { long }
}
