//! The composer: evidence in, answer out; pure, deterministic, extractive.

use std::collections::{BTreeMap, BTreeSet};

use super::passage::{best_passage, support};
use super::{
    Answer, AnswerTag, CITATIONS_MAX, Citation, Claim, ClaimLabel, Confidence, Contested, Evidence, GroundingState,
    RELIABILITY_MIN, Reliability, SENTENCE_OF_BEST_MIN, SUPPORT_MIN, SUPPORT_OF_BEST_MIN, Support, lexical_score,
    provenance_score,
};
use crate::boundary::{Sensitivity, strictest};
use crate::measure::{Milli, Timestamp};
use crate::retrieval::{Query, TermStats, is_word, words};
use crate::verification::conflict;

/// A passage that may be cited.
struct Passage<'a> {
    evidence: &'a Evidence,
    range: std::ops::Range<usize>,
    support: Milli,
    /// The share of the question that the sentence itself carries.
    sentence: Milli,
    overlap: Milli,
}

impl Passage<'_> {
    fn text(&self) -> &str {
        &self.evidence.chunk.text[self.range.clone()]
    }
}

/// Answers a question from evidence, or abstains. `evidence` comes in rank order.
pub fn compose(query: &Query, stats: &TermStats, evidence: &[Evidence], generated_at: Timestamp) -> Answer {
    let passages = passages(query, stats, evidence);
    let supports: Vec<Support> = passages
        .iter()
        .map(|p| Support {
            lexical: lexical_score(query, &p.evidence.chunk.title, &p.evidence.chunk.text),
            provenance: provenance_score(p.evidence.distance, 0),
            trust: p.evidence.trust,
        })
        .collect();
    let n_sources = passages.iter().map(|p| p.evidence.chunk.source).collect::<BTreeSet<_>>().len() as u64;
    let reliability = Reliability::of(&supports, n_sources, RELIABILITY_MIN);
    let passages = if reliability.abstained { Vec::new() } else { passages };

    let citations: Vec<Citation> = passages.iter().zip(1..).map(|(p, k)| citation(p, k)).collect();
    let claims: Vec<Claim> = passages
        .iter()
        .zip(1..)
        .map(|(p, k)| Claim {
            id: format!("c{k}"),
            text: p.text().to_string(),
            label: ClaimLabel::Retrieved,
            citations: vec![format!("s{k}")],
        })
        .collect();
    let conflicts = conflicts(&claims);
    let is_question = !query.text.trim().is_empty();
    Answer {
        tag: AnswerTag,
        generated_at,
        query: query.text.clone(),
        answer: prose(is_question, &claims, &conflicts),
        confidence: match citations.len() {
            0 => Confidence::Unavailable,
            1 | 2 => Confidence::Cautious,
            _ => Confidence::Grounded,
        },
        citation_map: claims.iter().map(|c| (c.id.clone(), c.citations.clone())).collect(),
        grounding_state: match citations.len() {
            0 if is_question => GroundingState::Ungrounded,
            0 => GroundingState::Abstained,
            1 | 2 => GroundingState::Partial,
            _ => GroundingState::Grounded,
        },
        abstained: citations.is_empty(),
        reliability,
        conflicts,
        sensitivity: strictest(passages.iter().map(|p| p.evidence.sensitivity)).max(Sensitivity::Public),
        citations,
        claims,
    }
}

/// The part of the evidence that an answer rests on, in rank order. Composing from it alone gives the same answer, so
/// this is what a bundle carries: nothing that its reader does not need, under no stricter label than that.
pub fn rests_on(query: &Query, stats: &TermStats, evidence: &[Evidence]) -> Vec<Evidence> {
    let cited: BTreeSet<_> = passages(query, stats, evidence).iter().map(|p| p.evidence.cid).collect();
    evidence.iter().filter(|e| cited.contains(&e.cid)).cloned().collect()
}

/// The passages worth citing, by overlap with the question (GRD-10), equal ones in rank order.
fn passages<'a>(query: &Query, stats: &TermStats, evidence: &'a [Evidence]) -> Vec<Passage<'a>> {
    let asked: BTreeSet<&str> = query.terms.iter().map(String::as_str).filter(|term| is_word(term)).collect();
    let mut found: Vec<Passage> = evidence
        .iter()
        .filter_map(|e| {
            let support = support(query, stats, &e.chunk);
            let (range, sentence) = best_passage(query, stats, &e.chunk).filter(|_| support >= SUPPORT_MIN)?;
            let overlap = jaccard(&asked, &e.chunk.title, &e.chunk.text[range.clone()]);
            Some(Passage { evidence: e, range, support, sentence, overlap })
        })
        .collect();
    let support_min = share_of_best(found.iter().map(|p| p.support), SUPPORT_OF_BEST_MIN);
    let sentence_min = share_of_best(found.iter().map(|p| p.sentence), SENTENCE_OF_BEST_MIN);
    found.retain(|p| u64::from(p.support.get()) >= support_min && u64::from(p.sentence.get()) >= sentence_min);
    found.truncate(CITATIONS_MAX);
    found.sort_by_key(|p| std::cmp::Reverse(p.overlap));
    found
}

/// A share of the greatest of some scores, in thousandths.
fn share_of_best(scores: impl Iterator<Item = Milli>, share: Milli) -> u64 {
    let best = scores.map(|s| u64::from(s.get())).max().unwrap_or(0);
    best * u64::from(share.get()) / 1000
}

/// Jaccard overlap of the question's terms with those of title and passage (RET-11).
fn jaccard(asked: &BTreeSet<&str>, title: &str, passage: &str) -> Milli {
    let said: BTreeSet<String> = words(title).into_iter().chain(words(passage)).collect();
    let common = asked.iter().filter(|t| said.contains(**t)).count() as u64;
    Milli::from_ratio(common, asked.len() as u64 + said.len() as u64 - common)
}

fn citation(passage: &Passage, k: u32) -> Citation {
    let chunk = &passage.evidence.chunk;
    Citation {
        id: format!("s{k}"),
        chunk: passage.evidence.cid,
        source: chunk.source,
        uri: passage.evidence.uri.clone(),
        title: chunk.title.clone(),
        start: chunk.start + passage.range.start as u64,
        end: chunk.start + passage.range.end as u64,
        page: chunk.page,
        publisher: passage.evidence.publisher,
        support: passage.support,
        caution: passage.evidence.caution,
    }
}

fn conflicts(claims: &[Claim]) -> Vec<Contested> {
    let pairs = claims.iter().enumerate().flat_map(|(i, a)| claims[i + 1..].iter().map(move |b| (a, b)));
    pairs
        .filter_map(|(a, b)| {
            let found = conflict(&a.text, &b.text)?;
            Some(Contested { a: a.id.clone(), b: b.id.clone(), relation: found.relation })
        })
        .collect()
}

/// The prose (GRD-08): each sentence once, with every citation that carries it.
fn prose(is_question: bool, claims: &[Claim], conflicts: &[Contested]) -> String {
    if claims.is_empty() {
        let said = if is_question {
            "No evidence here answers this, so nothing is asserted."
        } else {
            "Nothing was asked, so nothing is asserted."
        };
        return said.to_string();
    }
    let mut order: Vec<&str> = Vec::new();
    let mut marks: BTreeMap<&str, String> = BTreeMap::new();
    for (claim, k) in claims.iter().zip(1..) {
        let contested = conflicts.iter().any(|c| c.a == claim.id || c.b == claim.id);
        let mark = if contested { format!(" [{k}] [Contested]") } else { format!(" [{k}]") };
        if !marks.contains_key(claim.text.as_str()) {
            order.push(&claim.text);
        }
        marks.entry(&claim.text).or_default().push_str(&mark);
    }
    let n = claims.len();
    let noun = if n == 1 { "source" } else { "sources" };
    let sentences: Vec<String> = order.iter().map(|text| format!("{text}{}", marks[text])).collect();
    format!("Drawing on {n} grounded {noun}: {} Plumbline asserts nothing beyond these sources.", sentences.join(" "))
}
