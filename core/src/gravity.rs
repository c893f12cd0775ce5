//! Gravity: what independent corroboration lets rise, from a person to team, department, organisation.
//!
//! A plan is a value: it says what would rise and why not more, and changes nothing. Here stand the thresholds of the
//! design (GRV-02 to GRV-06) and the plan over statements that are corroborated word for word by other lineages;
//! similarity by meaning joins it with the embeddings. How well something is supported is for [`crate::evidence`].

use std::collections::{BTreeMap, BTreeSet};

use cid::Cid;

use crate::boundary::Sensitivity;
use crate::content::Fingerprint;
use crate::evidence::{Inputs, base_confidence, evidence};
use crate::identity::EntityId;
use crate::knowledge::{KnowledgeType, ScopeLevel};
use crate::measure::{Duration, Factor, Milli, ratio};

/// What a type weighs when it rises, in thousandths (GRV-02).
pub const fn type_weight(kind: KnowledgeType) -> u64 {
    match kind {
        KnowledgeType::Decision => 1500,
        KnowledgeType::ErrorFix => 1300,
        KnowledgeType::Pattern => 1200,
        KnowledgeType::Preference | KnowledgeType::CodePattern => 1000,
        KnowledgeType::Command => 800,
        KnowledgeType::Context | KnowledgeType::Summary => 700,
        KnowledgeType::Conversation => 500,
    }
}

/// Promotion score in thousandths: `min(1, evidence · type weight · freshness)` (GRV-01). A new unit has freshness 1.
pub fn promotion_score(evidence: Milli, kind: KnowledgeType, freshness: Milli) -> Milli {
    let above = u64::from(evidence.get()) * type_weight(kind) * u64::from(freshness.get());
    Milli::clamped(i64::try_from(ratio(above, 1_000_000_000, 1000)).unwrap_or(1000))
}

/// What a level asks of whatever rises from it: the score, and corroborations (GRV-04 to GRV-06). Nothing rises from
/// the organisation.
pub const fn threshold(from: ScopeLevel) -> Option<(Milli, u64)> {
    match from {
        ScopeLevel::Personal => Some((Milli::from_const(600), 2)),
        ScopeLevel::Team => Some((Milli::from_const(750), 3)),
        ScopeLevel::Department => Some((Milli::from_const(900), 5)),
        ScopeLevel::Organization => None,
    }
}

/// A unit as gravity sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Body {
    /// The unit, by its chunk.
    pub chunk: Cid,
    /// Its source.
    pub source: Cid,
    /// What it says.
    pub says: Fingerprint,
    /// What kind of knowledge.
    pub kind: KnowledgeType,
    /// How wide its scope is.
    pub level: ScopeLevel,
    /// How sensitive.
    pub sensitivity: Sensitivity,
    /// Who brought it in.
    pub creator: Option<EntityId>,
}

/// What would become of one unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The unit.
    pub chunk: Cid,
    /// From where it would rise.
    pub from: ScopeLevel,
    /// Independent corroborations: other sources by other people that say the same.
    pub corroborations: u64,
    /// Its promotion score.
    pub score: Milli,
    /// Why it stays, if it does.
    pub held: Option<Held>,
}

/// Why a unit stays where it is. The first reason that holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// Only public and internal knowledge rises.
    Sensitive,
    /// Too few independent corroborations.
    Corroborations,
    /// The score is too low.
    Score,
}

/// The plan over some units: a step for each that at least one other lineage corroborates.
pub fn plan(bodies: &[Body]) -> Vec<Step> {
    let mut by_saying: BTreeMap<Fingerprint, Vec<&Body>> = BTreeMap::new();
    for body in bodies {
        by_saying.entry(body.says).or_default().push(body);
    }
    let mut steps = Vec::new();
    for body in bodies {
        let Some((score_min, corroborations_min)) = threshold(body.level) else { continue };
        let others: BTreeSet<_> = by_saying[&body.says]
            .iter()
            // The same source, or the same person in another place, confirms nothing (KNU-11).
            .filter(|other| other.source != body.source && (other.creator.is_none() || other.creator != body.creator))
            .map(|other| (&other.creator, other.source))
            .collect();
        let people: BTreeSet<_> = others.iter().filter_map(|(creator, _)| creator.as_ref()).collect();
        let corroborations = if people.is_empty() { others.len() } else { people.len() } as u64;
        if corroborations == 0 {
            continue;
        }
        let support = Inputs {
            base: base_confidence(body.kind),
            corroborations,
            accesses: 0,
            authority: Factor::ONE,
            contradictions: 0,
            resolution: Factor::ONE,
            idle: Duration(0),
        };
        let score = promotion_score(evidence(support).score.into(), body.kind, Milli::ONE);
        let held = if body.sensitivity > Sensitivity::Internal {
            Some(Held::Sensitive)
        } else if corroborations < corroborations_min {
            Some(Held::Corroborations)
        } else if score < score_min {
            Some(Held::Score)
        } else {
            None
        };
        steps.push(Step { chunk: body.chunk, from: body.level, corroborations, score, held });
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::RawBlock;

    /// Vectors of the acceptance map, B6.
    #[test]
    fn formulas_give_the_vectors() {
        let milli = |n| Milli::new(n).unwrap();
        assert_eq!(promotion_score(milli(500), KnowledgeType::Decision, Milli::ONE).get(), 750);
        assert_eq!(promotion_score(Milli::ONE, KnowledgeType::Conversation, Milli::ONE).get(), 500);
    }

    fn body(n: u8, who: &str, sensitivity: Sensitivity) -> Body {
        Body {
            chunk: RawBlock::raw(vec![n]).cid,
            source: RawBlock::raw(vec![n, n]).cid,
            says: Fingerprint::of("restart pump 7 at 4 bar"),
            kind: KnowledgeType::ErrorFix,
            level: ScopeLevel::Personal,
            sensitivity,
            creator: Some(format!("person-{who}").parse().unwrap()),
        }
    }

    #[test]
    fn two_others_lift_a_note_and_copies_do_not() {
        let internal = Sensitivity::Internal;
        let three = [body(1, "a", internal), body(2, "b", internal), body(3, "c", internal)];
        assert!(plan(&three).iter().all(|s| s.held.is_none() && s.corroborations == 2));
        let copied = [body(1, "a", internal), body(2, "b", internal), body(3, "b", internal)];
        assert_eq!(plan(&copied)[0].held, Some(Held::Corroborations), "one person in two places counts once");
        let alone = [body(1, "a", internal), body(2, "a", internal)];
        assert!(plan(&alone).is_empty(), "nobody confirms themselves");
        let secret = [body(1, "a", Sensitivity::Restricted), body(2, "b", internal), body(3, "c", internal)];
        assert_eq!(plan(&secret)[0].held, Some(Held::Sensitive));
    }
}
