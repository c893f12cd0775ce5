//! The factors of each result: stage three for the scopes that gave one, and the first half of stage five.

use std::collections::BTreeMap;

use plumb_core::boundary::{ReadableSet, Requester};
use plumb_core::evidence::{Inputs, evidence};
use plumb_core::knowledge::{KnowledgeUnit, Scope, SourceType};
use plumb_core::measure::{Factor, Micro, Weight};
use plumb_core::retrieval::assembly::{
    Admitted, Candidate, FlatSignals, Layer, Model, ScopeWeight, Score, Signals, SourceKind, Stage, Timings, rate,
    rate_flat,
};
use plumb_storage::unit;

use super::super::Found;
use super::asked::Asked;
use super::timed;
use super::views::FactorsView;
use crate::error::NodeError;
use crate::premises::Premises;

/// A result with its factors.
struct Rated {
    unit: KnowledgeUnit,
    score: Score,
    formula: String,
    scope_weight: ScopeWeight,
}

/// The results of a search with their factors, each at its place; what may not be read any more has none.
pub(super) struct Rating(Vec<Option<Rated>>);

impl Rating {
    /// Rates what was found. A unit that came from elsewhere is rated as one of its scope, like any other.
    pub fn of(
        premises: &Premises,
        requester: &Requester,
        asked: &mut Asked,
        found: &Found,
        timings: &mut Timings,
    ) -> Result<Rating, NodeError> {
        let set = premises.readable_set(requester);
        let admitted = |unit: &KnowledgeUnit| Admitted::of(&set, unit).is_some();
        let units = timed(timings, Stage::Fusion, || {
            let units = found.evidence.iter().map(|hit| Ok(unit(&premises.store, &hit.cid)?.filter(admitted)));
            units.collect::<Result<Vec<Option<KnowledgeUnit>>, NodeError>>()
        })?;
        let weights = timed(timings, Stage::Weights, || {
            let weights = units.iter().map(|unit| {
                let weigh = |unit: &KnowledgeUnit| asked.weight(premises, &unit.scope, is_document(unit));
                unit.as_ref().map(weigh).transpose()
            });
            weights.collect::<Result<Vec<Option<ScopeWeight>>, NodeError>>()
        })?;
        let nearness = nearness(found);
        Ok(timed(timings, Stage::Fusion, || {
            let mut rated = Vec::with_capacity(units.len());
            for ((similarity, unit), weight) in nearness.into_iter().zip(units).zip(weights) {
                rated.push(unit.zip(weight).and_then(|(unit, weight)| one(asked, &set, unit, similarity, weight)));
            }
            Rating(rated)
        }))
    }

    /// Everything that has factors, for the fusion.
    pub fn candidates<'r>(&'r self, set: &ReadableSet) -> Vec<Candidate<'r>> {
        let candidate = |(rank, rated): (usize, &'r Option<Rated>)| {
            let Rated { unit, score, .. } = rated.as_ref()?;
            Some(Candidate { unit: Admitted::of(set, unit)?, score: *score, rank })
        };
        self.0.iter().enumerate().filter_map(candidate).collect()
    }

    /// The factors of the result at a place of the search.
    pub fn view(&self, at: usize) -> FactorsView {
        let Some(Rated { unit, score, formula, .. }) = self.0.get(at).and_then(Option::as_ref) else {
            return FactorsView::default();
        };
        let factor = |factor: Factor| u32::from(factor.get()) * 1000;
        FactorsView {
            rank: at as u64 + 1,
            scope: unit.scope.to_string(),
            score: score.score.get(),
            similarity: score.similarity.get(),
            source: score.source_weight.get(),
            evidence: score.evidence.get(),
            fresh: score.fresh.get(),
            kind: factor(score.type_bias),
            document: factor(score.document_bias),
            recent: factor(score.recency_bias),
            lift: factor(score.lift),
            learned: factor(score.learned.factor),
            formula: formula.clone(),
        }
    }

    /// The scopes of some results, each once, with their weights.
    pub fn scopes(&self, places: &[usize]) -> Vec<(Scope, bool, ScopeWeight)> {
        let rated = places.iter().filter_map(|at| self.0.get(*at)?.as_ref());
        let scopes: BTreeMap<(Scope, bool), ScopeWeight> =
            rated.map(|r| ((r.unit.scope.clone(), is_document(&r.unit)), r.scope_weight)).collect();
        scopes.into_iter().map(|((scope, is_document), weight)| (scope, is_document, weight)).collect()
    }
}

/// How near each result is to the question: its share of the best score by words, or of the best by meaning, whichever
/// is more. Nothing counts as nearer than what the search placed before it, so its order is never turned round by a
/// similarity alone, however it ranked.
fn nearness(found: &Found) -> Vec<Micro> {
    let best_score = found.evidence.iter().map(|hit| hit.score).max().unwrap_or(0);
    let cosine = |at: usize| u64::from(found.similarity.get(at).copied().flatten().unwrap_or_default().get());
    let best_cosine = (0..found.evidence.len()).map(cosine).max().unwrap_or(0);
    let share = |part: u64, best: u64| if best == 0 { Micro::ZERO } else { Micro::from_ratio(part, best) };
    let mut least = Micro::ONE;
    let near = found.evidence.iter().enumerate().map(|(at, hit)| {
        least = least.min(share(hit.score, best_score).max(share(cosine(at), best_cosine)));
        least
    });
    near.collect()
}

pub(super) fn is_document(unit: &KnowledgeUnit) -> bool {
    unit.origin.source_type == SourceType::Document
}

/// One result. Without a graph the flat search of the first version rates it (CTX-27).
///
/// A node keeps no date of writing, so nothing is stale or recent, and the factors of both are one.
fn one(
    asked: &Asked,
    set: &ReadableSet,
    unit: KnowledgeUnit,
    similarity: Micro,
    scope_weight: ScopeWeight,
) -> Option<Rated> {
    let admitted = Admitted::of(set, &unit)?;
    let confidence = evidence(Inputs::new(unit.kind, unit.origin.source_type)).score;
    let (score, formula) = if asked.setting.is_flat() {
        let layer = Layer::of(unit.scope.level, false);
        let signals = FlatSignals { similarity, confidence, stale: Micro::ZERO, written: None, layer };
        let flat = rate_flat(admitted, signals, asked.now)?;
        let score = Score {
            score: Weight::try_from(flat.score.get()).unwrap_or_default(),
            similarity,
            source_weight: Weight::try_from(u32::from(flat.layer.get()) * 1000).unwrap_or_default(),
            evidence: confidence,
            fresh: flat.fresh,
            type_bias: Factor::ONE,
            document_bias: Factor::ONE,
            recency_bias: flat.recency,
            lift: Factor::ONE,
            // What is learned modulates the weights of the graph, and there is none.
            learned: Model::default().factor(asked.intent.intent, SourceKind::Type(unit.origin.source_type)),
        };
        (score, flat.to_string())
    } else {
        let signals = Signals {
            similarity,
            source_weight: scope_weight.weight,
            evidence: confidence,
            stale: Micro::ZERO,
            written: None,
        };
        let score = rate(asked.intent.intent, admitted, signals, asked.now, &asked.model);
        (score, score.to_string())
    };
    Some(Rated { unit, score, formula, scope_weight })
}
