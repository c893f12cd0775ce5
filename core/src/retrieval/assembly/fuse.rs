//! One ranking of what was found: duplicates folded, the best kept, both sides of a conflict beside each other
//! (CTX-18 to CTX-20, KNU-17).

use std::collections::{BTreeMap, BTreeSet};

use cid::Cid;
use serde::Serialize;

use super::{Admitted, Score};
use crate::measure::Micro;

/// Two units more alike than this are one (CTX-18, KNU-17).
pub const DUPLICATE_ABOVE: Micro = Micro::from_const(900_000);
/// Results of a context (CTX-19).
pub const TOP_K: usize = 5;

/// Two chunks, the lesser first, so that a pair has one name.
fn pair(a: Cid, b: Cid) -> (Cid, Cid) {
    if a <= b { (a, b) } else { (b, a) }
}

/// How alike units are, where that is known; what is not known to be alike is not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PairSimilarities(BTreeMap<(Cid, Cid), Micro>);

impl PairSimilarities {
    /// From cosines of pairs. Of two values for one pair the lower counts: nothing is folded that not all call alike.
    pub fn new(pairs: impl IntoIterator<Item = (Cid, Cid, Micro)>) -> PairSimilarities {
        let mut similarities = BTreeMap::new();
        for (a, b, cosine) in pairs {
            similarities
                .entry(pair(a, b))
                .and_modify(|known: &mut Micro| *known = cosine.min(*known))
                .or_insert(cosine);
        }
        PairSimilarities(similarities)
    }

    fn are_duplicates(&self, a: Cid, b: Cid) -> bool {
        a == b || self.0.get(&pair(a, b)).is_some_and(|cosine| *cosine > DUPLICATE_ABOVE)
    }
}

/// Which units contradict each other, by their `contradiction_refs`. One side's reference is enough.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Opposed(BTreeSet<(Cid, Cid)>);

impl Opposed {
    /// From the references of units. A unit does not contradict itself.
    pub fn new(references: impl IntoIterator<Item = (Cid, Cid)>) -> Opposed {
        Opposed(references.into_iter().filter(|(a, b)| a != b).map(|(a, b)| pair(a, b)).collect())
    }

    fn are(&self, a: Cid, b: Cid) -> bool {
        self.0.contains(&pair(a, b))
    }
}

/// Something that was found and rated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate<'a> {
    /// The unit.
    pub unit: Admitted<'a>,
    /// Its score, with every factor.
    pub score: Score,
    /// Its place in the ranking of the search that found it: of two with one score the earlier one comes first, so that
    /// factors which are all equal change no order.
    pub rank: usize,
}

/// A result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found<'a> {
    /// The unit.
    pub unit: Admitted<'a>,
    /// Its score, with every factor.
    pub score: Score,
    /// Duplicates that were folded into it.
    pub copies: BTreeSet<Cid>,
    /// Independent sources among the duplicates (CTX-18, KNU-11).
    pub corroborations: usize,
    /// The results that contradict it. What the reader may not see is never among them (D21).
    pub opposed_by: BTreeSet<Cid>,
}

impl Found<'_> {
    /// Whether another result contradicts it (CTX-20, CFL-02).
    pub fn is_contested(&self) -> bool {
        !self.opposed_by.is_empty()
    }
}

/// What fusion made, and what it left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fused<'a> {
    /// The results, best first; the other side of a contested one follows it.
    pub found: Vec<Found<'a>>,
    /// The numbers of an explanation.
    pub counts: FusedCounts,
}

/// How many came in, and where they went: `candidates = found + folded + below`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FusedCounts {
    /// Came in.
    pub candidates: usize,
    /// Folded into a better duplicate.
    pub folded: usize,
    /// Ranked below the results.
    pub below: usize,
    /// Among the results only as the other side of a contested one.
    pub brought_up: usize,
}

/// Units that are one for the reader: the best, and its duplicates.
struct Group<'a> {
    best: Candidate<'a>,
    members: Vec<Admitted<'a>>,
}

impl Group<'_> {
    fn opposes(&self, chunk: Cid, opposed: &Opposed) -> bool {
        self.members.iter().any(|member| opposed.are(member.unit().chunk, chunk))
    }

    fn opposes_group(&self, other: &Group<'_>, opposed: &Opposed) -> bool {
        other.members.iter().any(|member| self.opposes(member.unit().chunk, opposed))
    }

    /// Sources among the duplicates that are neither the best one's nor its creator's, each counted once (KNU-11).
    fn corroborations(&self) -> usize {
        let best = self.best.unit.unit();
        let independent = |unit: &&crate::knowledge::KnowledgeUnit| {
            unit.source != best.source && (unit.origin.creator.is_none() || unit.origin.creator != best.origin.creator)
        };
        let others = self.members.iter().map(Admitted::unit).filter(independent);
        // A person who says it in three places says it once; what has no person counts by source.
        let (by_person, by_source): (BTreeSet<_>, BTreeSet<_>) = others
            .map(|unit| (unit.origin.creator.as_ref(), unit.origin.creator.is_none().then_some(unit.source)))
            .unzip();
        by_person.iter().flatten().count() + by_source.iter().flatten().count()
    }
}

/// The fusion of what all sources found, and the conflict pass over it.
///
/// 1. Highest score first, ties by the rank of the search, then by CID, so the order in which sources answered does not
///    matter.
/// 2. What is a duplicate of a better one is folded into it (cosine above 0.90), unless the two contradict each other:
///    near-equal words with opposite meaning are a conflict and no copy (CFL-08).
/// 3. The best `k` are results.
/// 4. Where a candidate contradicts a result, both are results, beside each other, and flagged: one that ranked below
///    `k` is brought up, the best one for each result (CTX-20).
pub fn fuse<'a>(candidates: Vec<Candidate<'a>>, alike: &PairSimilarities, opposed: &Opposed, k: usize) -> Fused<'a> {
    let n_candidates = candidates.len();
    let groups = folded(candidates, alike, opposed);
    let n_groups = groups.len();
    let mut places: Vec<usize> = (0..n_groups.min(k)).collect();
    let mut brought_up = Vec::new();
    for top in 0..places.len() {
        let is_other_side = |other: &usize| groups[top].opposes_group(&groups[*other], opposed);
        let answered = (0..n_groups.min(k)).any(|other| is_other_side(&other));
        if !answered && let Some(other) = (k..n_groups).find(is_other_side) {
            brought_up.push(other);
        }
    }
    brought_up.sort_unstable();
    brought_up.dedup();
    places.extend(&brought_up);
    let found = beside_each_other(&places, &groups, opposed);
    let below = n_groups - found.len();
    let counts =
        FusedCounts { candidates: n_candidates, folded: n_candidates - n_groups, below, brought_up: brought_up.len() };
    Fused { found, counts }
}

/// The groups, best first.
fn folded<'a>(mut candidates: Vec<Candidate<'a>>, alike: &PairSimilarities, opposed: &Opposed) -> Vec<Group<'a>> {
    // The whole score takes part, so that even the same unit with two scores has one order.
    candidates.sort_by(|a, b| {
        let by_score = b.score.score.cmp(&a.score.score);
        let by_rank = by_score.then_with(|| a.rank.cmp(&b.rank));
        by_rank.then_with(|| a.unit.unit().chunk.cmp(&b.unit.unit().chunk)).then_with(|| b.score.cmp(&a.score))
    });
    let mut groups: Vec<Group<'a>> = Vec::new();
    for candidate in candidates {
        let chunk = candidate.unit.unit().chunk;
        let same = |group: &&mut Group<'a>| {
            alike.are_duplicates(group.best.unit.unit().chunk, chunk) && !group.opposes(chunk, opposed)
        };
        match groups.iter_mut().find(same) {
            Some(group) => group.members.push(candidate.unit),
            None => groups.push(Group { best: candidate, members: vec![candidate.unit] }),
        }
    }
    groups
}

/// The results in the order in which they are read: by rank, but the other sides of a result directly after it.
fn beside_each_other<'a>(places: &[usize], groups: &[Group<'a>], opposed: &Opposed) -> Vec<Found<'a>> {
    let mut left = places.to_vec();
    let mut found = Vec::with_capacity(left.len());
    while let Some(first) = left.first().copied() {
        let (mut cluster, rest): (Vec<usize>, Vec<usize>) =
            left[1..].iter().partition(|other| groups[first].opposes_group(&groups[**other], opposed));
        cluster.insert(0, first);
        left = rest;
        for place in cluster {
            let group = &groups[place];
            let best = group.best.unit.unit().chunk;
            let others = places.iter().filter(|other| group.opposes_group(&groups[**other], opposed));
            found.push(Found {
                unit: group.best.unit,
                score: group.best.score,
                copies: group.members.iter().map(|m| m.unit().chunk).filter(|chunk| *chunk != best).collect(),
                corroborations: group.corroborations(),
                opposed_by: others.map(|other| groups[*other].best.unit.unit().chunk).collect(),
            });
        }
    }
    found
}

#[cfg(test)]
mod tests;
