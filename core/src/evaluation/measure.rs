//! The measures of one query's list, and of many lists together.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

use super::{Documents, Fixed, Qrels, RELEVANT_FROM, Run, log2};

/// Deepest list that is measured. TREC runs have a thousand documents a query.
pub const CUTOFF_MAX: usize = 10_000;

/// A measure. Its name is that of `ir-measures` where that has it. *k* is how many documents from the top are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Measure {
    /// `nDCG@k`, linear gain: Σ gradeᵢ / log₂(i + 1) over the same sum for the best possible order of all judged
    /// documents. Negative grades gain nothing. Järvelin and Kekäläinen, TOIS 20 (2002), as `trec_eval` has it.
    Ndcg(usize),
    /// `AP@k`, whose mean is MAP: the mean of the precision at each relevant document among the first *k*, over all
    /// relevant documents. Buckley and Voorhees, SIGIR 2000; `map_cut` of `trec_eval`.
    Ap(usize),
    /// `R@k`: the share of the relevant documents that are among the first *k*.
    Recall(usize),
    /// `P@k`: the share of the first *k* places that hold a relevant document; a shorter list has empty places.
    Precision(usize),
    /// `RR`, whose mean is MRR: one over the rank of the first relevant document, however deep. Voorhees, TREC-8 (1999).
    Rr,
    /// `Coverage@k`: the share of the collection's documents that are among the first *k* of at least one query.
    /// Catalogue coverage of Ge, Delgado-Battenfeld and Jannach, RecSys 2010.
    Coverage(usize),
    /// `Diversity@k`: the mean over all pairs of the first *k* of one minus their likeness, which is the share of
    /// common terms among all terms of both (Jaccard). Smyth and McClave, ICCBR 2001. A list without a pair has none.
    Diversity(usize),
    /// `Serendipity@k`: the share of the first *k* places that hold a relevant document which a primitive system did not
    /// have among its first *k*. Ge, Delgado-Battenfeld and Jannach, RecSys 2010.
    Serendipity(usize),
}

/// A name that no measure has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no measure; there are nDCG@k, AP@k, R@k, P@k, RR, Coverage@k, Diversity@k and Serendipity@k, k from 1 \
     to {CUTOFF_MAX}"
)]
pub struct MeasureError(String);

impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, k) = match self {
            Measure::Ndcg(k) => ("nDCG", k),
            Measure::Ap(k) => ("AP", k),
            Measure::Recall(k) => ("R", k),
            Measure::Precision(k) => ("P", k),
            Measure::Rr => return f.pad("RR"),
            Measure::Coverage(k) => ("Coverage", k),
            Measure::Diversity(k) => ("Diversity", k),
            Measure::Serendipity(k) => ("Serendipity", k),
        };
        f.pad(&format!("{name}@{k}"))
    }
}

impl FromStr for Measure {
    type Err = MeasureError;

    fn from_str(text: &str) -> Result<Measure, MeasureError> {
        let refused = || MeasureError(text.chars().take(40).collect());
        if text == "RR" {
            return Ok(Measure::Rr);
        }
        let (name, k) = text.split_once('@').ok_or_else(refused)?;
        let k = k.parse().ok().filter(|k| (1..=CUTOFF_MAX).contains(k)).ok_or_else(refused)?;
        let of = match name {
            "nDCG" => Measure::Ndcg,
            "AP" => Measure::Ap,
            "R" => Measure::Recall,
            "P" => Measure::Precision,
            "Coverage" => Measure::Coverage,
            "Diversity" => Measure::Diversity,
            "Serendipity" => Measure::Serendipity,
            _ => return Err(refused()),
        };
        Ok(of(k))
    }
}

/// What a run is measured against.
#[derive(Clone, Copy, Debug)]
pub struct Judge<'a> {
    /// What is relevant.
    pub qrels: &'a Qrels,
    /// What was found.
    pub run: &'a Run,
    /// The collection; without it coverage and diversity cannot be told.
    pub documents: Option<&'a Documents>,
    /// What a primitive system found; without it serendipity cannot be told.
    pub primitive: Option<&'a Run>,
}

impl Judge<'_> {
    /// The value of a measure for each judged query. A query of which the run knows nothing has found nothing and
    /// counts, as in `trec_eval -c`; a query without judgments does not. Coverage, which no single list has, gives
    /// nothing.
    pub fn each(&self, measure: Measure) -> BTreeMap<String, Fixed> {
        let discounts = match measure {
            Measure::Ndcg(k) => discounts(k.min(self.deepest(k))),
            _ => Vec::new(),
        };
        let value = |query| self.one(measure, query, &discounts);
        self.qrels.queries().filter_map(|query| Some((query.to_string(), value(query)?))).collect()
    }

    /// The share of the collection that the first `k` of these queries reach.
    pub fn coverage<'q>(&self, k: usize, queries: impl IntoIterator<Item = &'q str>) -> Option<Fixed> {
        let documents = self.documents?;
        let reached: BTreeSet<&String> = queries
            .into_iter()
            .flat_map(|query| self.run.top(query, k))
            .filter(|document| documents.terms(document).is_some())
            .collect();
        Some(Fixed::ratio(whole(reached.len()), whole(documents.len())))
    }

    /// No list and no set of judgments is longer than this.
    fn deepest(&self, k: usize) -> usize {
        let judged = self.qrels.queries().map(|q| self.qrels.of(q).count());
        let found = self.qrels.queries().map(|q| self.run.top(q, k).len());
        judged.chain(found).max().unwrap_or(0)
    }

    fn one(&self, measure: Measure, query: &str, discounts: &[Fixed]) -> Option<Fixed> {
        match measure {
            Measure::Ndcg(k) => Some(self.ndcg(query, k, discounts)),
            Measure::Ap(k) => Some(self.average_precision(query, k)),
            Measure::Recall(k) => Some(Fixed::ratio(whole(self.n_found(query, k)), whole(self.n_relevant(query)))),
            Measure::Precision(k) => Some(Fixed::ratio(whole(self.n_found(query, k)), whole(k))),
            Measure::Rr => {
                let rank = self.run.top(query, usize::MAX).iter().position(|d| self.is_relevant(query, d));
                Some(rank.map_or(Fixed::ZERO, |at| Fixed::ratio(1, whole(at + 1))))
            }
            Measure::Diversity(k) => self.diversity(query, k),
            Measure::Serendipity(k) => self.serendipity(query, k),
            Measure::Coverage(_) => None,
        }
    }

    fn is_relevant(&self, query: &str, document: &str) -> bool {
        self.qrels.grade(query, document).is_some_and(|grade| grade >= RELEVANT_FROM)
    }

    fn n_relevant(&self, query: &str) -> usize {
        self.qrels.of(query).filter(|(_, grade)| *grade >= RELEVANT_FROM).count()
    }

    fn n_found(&self, query: &str, k: usize) -> usize {
        self.run.top(query, k).iter().filter(|d| self.is_relevant(query, d)).count()
    }

    fn ndcg(&self, query: &str, k: usize, discounts: &[Fixed]) -> Fixed {
        let gain = |grade: i32| i128::from(grade.max(0));
        let sum = |gains: &mut dyn Iterator<Item = i128>| {
            gains.zip(discounts).fold(Fixed::ZERO, |sum, (gain, discount)| sum.plus(discount.times(gain)))
        };
        let mut best: Vec<i128> = self.qrels.of(query).map(|(_, grade)| gain(grade)).collect();
        best.sort_unstable_by(|a, b| b.cmp(a));
        let found = self.run.top(query, k).iter().map(|d| gain(self.qrels.grade(query, d).unwrap_or(0)));
        sum(&mut found.into_iter()).over(sum(&mut best.into_iter().take(k)))
    }

    fn average_precision(&self, query: &str, k: usize) -> Fixed {
        let ranks = self.run.top(query, k).iter().zip(1..).filter(|(d, _)| self.is_relevant(query, d));
        let precisions = ranks.zip(1..).map(|((_, rank), n)| Fixed::ratio(n, rank));
        precisions.fold(Fixed::ZERO, Fixed::plus).shared_by(whole(self.n_relevant(query)))
    }

    fn diversity(&self, query: &str, k: usize) -> Option<Fixed> {
        let documents = self.documents?;
        let list: Vec<_> = self.run.top(query, k).iter().filter_map(|d| documents.terms(d)).collect();
        let pairs = list.iter().enumerate().flat_map(|(at, a)| list.iter().skip(at + 1).map(move |b| (*a, *b)));
        Fixed::mean(pairs.map(|(a, b)| Fixed::ONE.minus(likeness(a, b))))
    }

    fn serendipity(&self, query: &str, k: usize) -> Option<Fixed> {
        let expected = self.primitive?.top(query, k);
        let list = self.run.top(query, k).iter();
        let n = list.filter(|d| self.is_relevant(query, d) && !expected.contains(d)).count();
        Some(Fixed::ratio(whole(n), whole(k)))
    }
}

/// The share of common terms among all terms of both; of two texts without terms it is nothing.
fn likeness(a: &BTreeSet<String>, b: &BTreeSet<String>) -> Fixed {
    let common = a.intersection(b).count();
    Fixed::ratio(whole(common), whole(a.len() + b.len() - common))
}

/// `1 / log₂(rank + 1)` for the first `n` ranks.
fn discounts(n: usize) -> Vec<Fixed> {
    (1..=n as u64).map(|rank| Fixed::ONE.over(log2(rank + 1))).collect()
}

fn whole(n: usize) -> i128 {
    i128::try_from(n).unwrap_or(i128::MAX)
}

#[cfg(test)]
mod tests;
