//! Which results contradict each other: stage six (CTX-20).
//!
//! Of each result the sentence is compared that answers the question, as the composer does it: two documents may well
//! differ about something else.

use std::collections::BTreeMap;

use cid::Cid;
use plumb_core::grounding::best_passage;
use plumb_core::retrieval::Query;
use plumb_core::retrieval::assembly::Opposed;
use plumb_core::verification::{Claim, Conflict, Relation};

use super::super::Found;
use super::views::ConflictView;

/// Results that are compared with each other, the best ones: a reader sees no more at once.
pub(super) const COMPARED_MAX: usize = 20;

/// The conflicts between results, by their places in the search.
pub(super) struct Conflicts {
    pairs: BTreeMap<(usize, usize), Conflict>,
    said: BTreeMap<usize, String>,
}

impl Conflicts {
    /// Compares the first results of an order.
    pub fn among(query: &str, found: &Found, order: &[usize]) -> Conflicts {
        let query = Query::new(query);
        let mut said = BTreeMap::new();
        let mut claims: Vec<(usize, Claim)> = Vec::new();
        let best = found.evidence.iter().map(|hit| hit.score).max().unwrap_or(0);
        for &at in order.iter().take(COMPARED_MAX) {
            // What has less than half of the best score says too little of what was asked to contradict it.
            if found.evidence[at].score < best / 2 {
                continue;
            }
            let chunk = &found.evidence[at].chunk;
            let Some((range, _)) = best_passage(&query, &found.stats, chunk) else { continue };
            let sentence = &chunk.text[range];
            if let Some(claim) = Claim::parse(sentence) {
                said.insert(at, sentence.to_string());
                claims.push((at, claim));
            }
        }
        let mut pairs = BTreeMap::new();
        for (i, (a, one)) in claims.iter().enumerate() {
            for (b, other) in &claims[i + 1..] {
                if let Some(conflict) = one.conflict_with(other) {
                    pairs.insert((*a.min(b), *a.max(b)), conflict);
                }
            }
        }
        Conflicts { pairs, said }
    }

    fn are(&self, a: usize, b: usize) -> bool {
        self.pairs.contains_key(&(a.min(b), a.max(b)))
    }

    /// The first `k` of an order, and behind them the best other side of each that is contested by none of them.
    pub fn with_other_sides(&self, order: &[usize], k: usize) -> Vec<usize> {
        let (mut shown, below) = match order.split_at_checked(k) {
            Some((shown, below)) => (shown.to_vec(), below),
            None => (order.to_vec(), &order[..0]),
        };
        for at in shown.clone() {
            if shown.iter().any(|other| self.are(at, *other)) {
                continue;
            }
            shown.extend(below.iter().find(|other| self.are(at, **other)));
        }
        shown
    }

    /// The chunks, among those shown, that contradict the result at a place.
    pub fn against(&self, found: &Found, at: usize, shown: &[usize]) -> Vec<Cid> {
        shown.iter().filter(|other| self.are(at, **other)).map(|other| found.evidence[*other].cid).collect()
    }

    /// For the fusion of a context.
    pub fn opposed(&self, found: &Found) -> Opposed {
        Opposed::new(self.pairs.keys().map(|(a, b)| (found.evidence[*a].cid, found.evidence[*b].cid)))
    }

    /// Both sides of each conflict between results that are shown.
    pub fn views(&self, found: &Found, shown: &[usize]) -> Vec<ConflictView> {
        let words = |at: &usize| self.said.get(at).cloned().unwrap_or_default();
        let is_shown = |((a, b), _): &(&(usize, usize), &Conflict)| shown.contains(a) && shown.contains(b);
        let view = |((a, b), conflict): (&(usize, usize), &Conflict)| ConflictView {
            a: found.evidence[*a].cid.to_string(),
            b: found.evidence[*b].cid.to_string(),
            a_says: words(a),
            b_says: words(b),
            relation: match conflict.relation {
                Relation::DirectContradiction => "direct-contradiction",
                Relation::TemporalConflict => "temporal-conflict",
                Relation::StatisticalConflict => "statistical-conflict",
            }
            .to_string(),
        };
        self.pairs.iter().filter(is_shown).map(view).collect()
    }
}
