//! What a question is after, whom it speaks of, and how much a scope counts for it: stages one to three.

use std::collections::BTreeMap;
use std::sync::Arc;

use plumb_core::graph::{Details, Graph, How, ProximityCache, Relation, Resolution};
use plumb_core::identity::{EntityId, EntityType};
use plumb_core::knowledge::{Scope, ScopeLevel};
use plumb_core::measure::{Micro, Milli, Timestamp};
use plumb_core::retrieval::assembly::{
    Clue, Detected, Model, Role, ScopeFacts, ScopeWeight, Setting, Society, Stage, Timings, detect, weigh,
};

use super::feedback::learned_for;
use super::timed;
use super::views::{ConflictView, IntentView, ResolvedView, ScopeView, StagesView};
use crate::caller::Caller;
use crate::entities::Known;
use crate::error::NodeError;
use crate::kept;
use crate::premises::Premises;

/// Members of a scope whose activity is looked at: more say nothing more of whether anything happens there.
const MEMBERS_MAX: usize = 64;

/// A question, understood.
pub(super) struct Asked {
    pub intent: Detected,
    pub setting: Setting,
    pub now: Timestamp,
    /// What was learned from what the caller may read. Nothing, until there is feedback.
    pub model: Model,
    entities: Vec<Resolution>,
    known: Arc<Known>,
    /// Whoever asks, and whom the question names: what is near to one of them is near.
    near: Vec<EntityId>,
    proximity: ProximityCache,
    weights: BTreeMap<(Scope, bool), ScopeWeight>,
}

impl Asked {
    /// The first two stages, and of the third what can be done before anything is found: the searches in the graph.
    pub fn understand(premises: &Premises, caller: &Caller, query: &str) -> Result<(Asked, Timings), NodeError> {
        let mut timings = Timings::default();
        let model = learned_for(premises, caller)?;
        let known = premises.entities();
        let (intent, similar) = timed(&mut timings, Stage::Intent, || {
            let bearings = premises.meaning.bearings(query);
            (detect(query, bearings.nearness.as_ref()), bearings.similar)
        });
        let entities = timed(&mut timings, Stage::Entities, || known.aliases.resolve(query, &similar));
        let asked = timed(&mut timings, Stage::Weights, || {
            let near: Vec<EntityId> =
                std::iter::once(caller.person.clone()).chain(entities.iter().map(|r| r.entity.clone())).collect();
            let mut proximity = ProximityCache::default();
            proximity.warm(&known.graph, &near);
            let n_people = known.graph.entities().filter(|id| id.kind() == EntityType::Person).count() as u64;
            let setting = Setting::of(Society { n_entities: Some(known.graph.len() as u64), n_people });
            Asked {
                intent,
                setting,
                now: premises.now(),
                model,
                entities,
                known,
                near,
                proximity,
                weights: BTreeMap::new(),
            }
        });
        Ok((asked, timings))
    }

    /// What a scope counts for this question; of documents in it, or of what is none.
    pub fn weight(&mut self, premises: &Premises, scope: &Scope, is_document: bool) -> Result<ScopeWeight, NodeError> {
        if let Some(weight) = self.weights.get(&(scope.clone(), is_document)) {
            return Ok(*weight);
        }
        let (role, expertise) = self.speaker(premises, scope)?;
        let facts = ScopeFacts {
            level: self.setting.level(scope.level),
            proximity: self.proximity_of(scope),
            last_activity: last_activity(&self.known.graph, &scope.entity),
            role,
            expertise,
            is_document,
        };
        let weight = weigh(self.intent.intent, &facts, self.now, &self.model);
        self.weights.insert((scope.clone(), is_document), weight);
        Ok(weight)
    }

    /// `1/(1+distance)` from the nearest of those from whom it is measured. A single person has nobody to be far from.
    fn proximity_of(&mut self, scope: &Scope) -> Option<Micro> {
        if self.setting != Setting::Organisation {
            return None;
        }
        let graph = &self.known.graph;
        let distances = self.near.iter().filter_map(|from| self.proximity.distance(graph, from, &scope.entity));
        distances.min().map(|hops| Micro::from_ratio(1, 1 + u64::from(hops)))
    }

    /// Who speaks in a person's own scope: what they are, and how much they know of what is asked. Of a wider scope
    /// nobody in particular does.
    fn speaker(&self, premises: &Premises, scope: &Scope) -> Result<(Role, Milli), NodeError> {
        if scope.level != ScopeLevel::Personal {
            return Ok((Role::Member, Milli::ZERO));
        }
        let edges = self.known.graph.edges_from(&scope.entity);
        let leads = edges.iter().any(|edge| edge.role == Some(plumb_core::graph::Role::Lead));
        let asked_of = |topic: &EntityId| self.entities.iter().any(|resolved| resolved.entity == *topic);
        let expert = edges.iter().filter(|e| e.key.relation() == Relation::ExpertIn && asked_of(e.key.target()));
        let expertise = expert.map(|edge| edge.strength(self.now)).max().unwrap_or_default();
        let said = match kept::entity(&premises.store, &scope.entity)?.as_ref().map(|entity| entity.details()) {
            Some(Details::Person { role: Some(role), .. }) => role_of(role),
            _ => Role::Member,
        };
        Ok((said.max(if leads { Role::Lead } else { Role::Member }), expertise))
    }

    /// What the stages did, for a reader: of scopes those that gave results.
    pub fn view(
        &self,
        scopes: Vec<(Scope, bool, ScopeWeight)>,
        conflicts: Vec<ConflictView>,
        timings: &Timings,
    ) -> StagesView {
        let Detected { intent, confidence, clues, .. } = &self.intent;
        let clue = |clue: &Clue| match clue {
            Clue::Pattern(pattern) => format!("the pattern `{pattern}`"),
            Clue::Keyword(word) => format!("the word `{word}`"),
            Clue::Exemplar(sentence, similarity) => format!("like “{sentence}” ({similarity})"),
        };
        let weighed = |(scope, is_document, weight): (Scope, bool, ScopeWeight)| ScopeView {
            scope: scope.to_string(),
            documents: is_document,
            weight: weight.weight.get(),
            formula: weight.to_string(),
        };
        StagesView {
            intent: IntentView {
                intent: intent.to_string(),
                confidence: confidence.get(),
                clues: clues.iter().map(|(intent, c)| format!("{intent}: {}", clue(c))).collect(),
            },
            entities: self.entities.iter().map(resolved).collect(),
            setting: match self.setting {
                Setting::NoGraph => "no-graph",
                Setting::SingleUser => "single-user",
                Setting::Organisation => "organisation",
            }
            .to_string(),
            weights: scopes.into_iter().map(weighed).collect(),
            conflicts,
            took_us: timings.took_us.iter().map(|(stage, us)| (stage.to_string(), *us)).collect(),
            total_us: timings.total_us(),
        }
    }
}

fn resolved(resolution: &Resolution) -> ResolvedView {
    ResolvedView {
        entity: resolution.entity.to_string(),
        confidence: resolution.confidence.get(),
        how: match resolution.how {
            How::Exact => "exact".to_string(),
            How::Mention => "mention".to_string(),
            How::Fuzzy { edits: 1 } => "fuzzy, one edit".to_string(),
            How::Fuzzy { edits } => format!("fuzzy, {edits} edits"),
            How::Similar => "similar".to_string(),
        },
        alias: resolution.alias.clone(),
    }
}

/// What somebody is, out of the words of an account.
fn role_of(words: &str) -> Role {
    let role = |word: &str| match word {
        "director" | "head" | "chief" | "vp" | "president" | "ceo" | "cto" | "cio" => Role::Director,
        "principal" => Role::Principal,
        "senior" => Role::Senior,
        "lead" => Role::Lead,
        _ => Role::Member,
    };
    let lower = words.to_lowercase();
    lower.split(|c: char| !c.is_alphanumeric()).map(role).max().unwrap_or_default()
}

/// When somebody of a scope last did something that an edge grew by.
fn last_activity(graph: &Graph, scope: &EntityId) -> Option<Timestamp> {
    let into = graph.edges_into(scope);
    let members = into.iter().filter(|e| matches!(e.key.relation(), Relation::MemberOf | Relation::BelongsTo));
    let people = std::iter::once(scope).chain(members.map(|e| e.key.source())).take(1 + MEMBERS_MAX);
    let edges = people.flat_map(|person| graph.edges_from(person));
    edges.filter(|edge| edge.key.relation().is_learned()).map(|edge| edge.active_at).max()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_word_of_a_role_counts() {
        for (words, role) in [
            ("", Role::Member),
            ("operator", Role::Member),
            ("Team Lead", Role::Lead),
            ("senior engineer", Role::Senior),
            ("Senior Principal", Role::Principal),
            ("Director of leading operations", Role::Director),
        ] {
            assert_eq!(role_of(words), role, "{words}");
        }
    }
}
