//! Landmarks: what a question is compared with though no chunk says it, the exemplars of intents (CTX-02) and what is said
//! of entities (CTX-08).
//!
//! They are embedded by the thread that embeds chunks, between its batches, and held in memory. Until they are there,
//! patterns and names decide alone, as they do without a model.

use std::collections::BTreeMap;

use plumb_core::graph::{Details, Entity, Similar};
use plumb_core::identity::EntityId;
use plumb_core::measure::Milli;
use plumb_core::retrieval::assembly::{EXEMPLARS, Nearness};
use plumb_core::vector::{Quantised, VectorError};
use plumb_models::{EmbedError, Embedder};

/// Entities that are embedded, in the order of their ids. A larger graph is found by names beyond that.
const ENTITIES_MAX: usize = 2048;
/// Texts that are embedded at a time, so that chunks and a stop do not wait long.
const BATCH: usize = 8;
/// An entity is at least this similar to a question that means it. Below it a small sentence model finds everything near
/// everything, as with exemplars.
const SIMILAR_MIN: Milli = Milli::from_const(500);
/// A question means few things that it does not name.
const SIMILAR_MAX: usize = 3;

/// The landmarks of one model.
#[derive(Default)]
pub(super) struct Landmarks {
    exemplars: Vec<Quantised>,
    entities: BTreeMap<EntityId, (String, Option<Quantised>)>,
}

/// How a question lies to the landmarks.
#[derive(Default)]
pub(crate) struct Bearings {
    /// How near it is to each exemplar, once all of them are embedded.
    pub nearness: Option<Nearness>,
    /// Entities that are like it, the most similar first.
    pub similar: Vec<Similar>,
}

impl Landmarks {
    /// Whether a question would be compared with nothing.
    pub fn is_empty(&self) -> bool {
        self.exemplars.is_empty()
    }

    /// Takes the entities as they are now. What says the same as before keeps its vector.
    pub fn set_entities(&mut self, entities: impl Iterator<Item = Entity>) {
        let mut before = std::mem::take(&mut self.entities);
        for entity in entities.take(ENTITIES_MAX) {
            let text = text_of(&entity);
            let vector = before.remove(entity.id()).filter(|(was, _)| *was == text).and_then(|(_, vector)| vector);
            self.entities.insert(entity.id().clone(), (text, vector));
        }
    }

    /// The next few texts that have no vector.
    pub fn missing(&self) -> Missing {
        if self.exemplars.len() < EXEMPLARS.len() {
            let texts = EXEMPLARS[self.exemplars.len()..].iter().take(BATCH).map(|(_, text)| (*text).to_string());
            return Missing { of: Vec::new(), texts: texts.collect() };
        }
        let bare = self.entities.iter().filter(|(_, (_, vector))| vector.is_none()).take(BATCH);
        let (of, texts) = bare.map(|(id, (text, _))| (id.clone(), text.clone())).unzip();
        Missing { of, texts }
    }

    /// Takes the vectors of what was missing.
    pub fn found(&mut self, missing: Missing, vectors: Vec<Quantised>) {
        if missing.of.is_empty() {
            self.exemplars.extend(vectors);
            return;
        }
        for ((id, text), vector) in missing.of.iter().zip(missing.texts).zip(vectors) {
            // It may say something else by now.
            if let Some((_, place)) = self.entities.get_mut(id).filter(|(now, _)| *now == text) {
                *place = Some(vector);
            }
        }
    }

    /// Where a question lies.
    pub fn bearings(&self, question: &Quantised) -> Result<Bearings, VectorError> {
        let near = |vector: &Quantised| {
            question.cosine(vector).map(|cosine| Milli::from_ratio(cosine.get().into(), 1_000_000))
        };
        let exemplars = self.exemplars.iter().map(near).collect::<Result<Vec<Milli>, _>>()?;
        let mut similar = Vec::new();
        for (entity, (_, vector)) in &self.entities {
            if let Some(vector) = vector {
                let score = near(vector)?;
                if score >= SIMILAR_MIN {
                    similar.push(Similar { entity: entity.clone(), score });
                }
            }
        }
        similar.sort_by(|a, b| b.score.cmp(&a.score).then_with(|| a.entity.cmp(&b.entity)));
        similar.truncate(SIMILAR_MAX);
        Ok(Bearings { nearness: Nearness::new(exemplars).ok(), similar })
    }
}

/// Texts to embed: of these entities, or of exemplars where there are none.
pub(super) struct Missing {
    of: Vec<EntityId>,
    texts: Vec<String>,
}

impl Missing {
    /// Their vectors; none if there is nothing to do.
    pub fn embed(
        &self,
        embedder: &dyn Embedder,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<Option<Vec<Quantised>>, EmbedError> {
        if self.texts.is_empty() {
            return Ok(None);
        }
        let texts: Vec<&str> = self.texts.iter().map(String::as_str).collect();
        let embedded = embedder.embed(&texts, stop)?;
        Ok(Some(embedded.into_iter().map(|embedded| embedded.vector).collect()))
    }
}

/// What is said of an entity, as a sentence.
fn text_of(entity: &Entity) -> String {
    let more = match entity.details() {
        Details::Team { purpose, .. } => purpose.as_deref(),
        Details::Topic { description } => description.as_deref(),
        _ => None,
    };
    match more {
        Some(more) => format!("{}: {more}", entity.name()),
        None => entity.name().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_core::vector::{ModelId, Pooling, Precision};

    fn vector(x: i8, y: i8) -> Quantised {
        let id = ModelId::new("test", [0; 32], 2, 256, Pooling::Mean, Precision::F32, 1).unwrap();
        Quantised::new(&id, vec![x, y]).unwrap()
    }

    fn team(name: &str, purpose: &str) -> Entity {
        Entity::new(name, Details::Team { purpose: Some(purpose.into()), department: None }).unwrap()
    }

    /// Finds everything that is missing; says in how many turns.
    fn complete(landmarks: &mut Landmarks, made: Quantised) -> usize {
        for turn in 0.. {
            let missing = landmarks.missing();
            if missing.texts.is_empty() {
                return turn;
            }
            assert!(missing.texts.len() <= BATCH);
            let vectors = vec![made.clone(); missing.texts.len()];
            landmarks.found(missing, vectors);
        }
        unreachable!()
    }

    #[test]
    fn exemplars_come_first_and_count_when_all_of_them_are_there() {
        let mut landmarks = Landmarks::default();
        landmarks.set_entities([team("Pump Crew", "keeps the pumps running")].into_iter());
        let missing = landmarks.missing();
        assert!(missing.of.is_empty());
        let n = missing.texts.len();
        landmarks.found(missing, vec![vector(127, 0); n]);
        assert!(landmarks.bearings(&vector(127, 0)).unwrap().nearness.is_none());
        complete(&mut landmarks, vector(127, 0));
        let bearings = landmarks.bearings(&vector(127, 0)).unwrap();
        assert!(bearings.nearness.is_some());
        assert_eq!(bearings.similar.len(), 1);
    }

    #[test]
    fn what_is_said_anew_of_an_entity_is_embedded_anew() {
        let mut landmarks = Landmarks::default();
        landmarks.set_entities([team("A", "one"), team("B", "two")].into_iter());
        complete(&mut landmarks, vector(127, 0));
        landmarks.set_entities([team("A", "one"), team("B", "three")].into_iter());
        assert_eq!(landmarks.missing().texts, ["B: three"]);
        landmarks.set_entities([team("B", "three")].into_iter());
        assert!(landmarks.bearings(&vector(127, 0)).unwrap().similar.is_empty(), "A is gone, and B has no vector yet");
    }

    #[test]
    fn only_what_is_similar_enough_is_meant_at_both_edges() {
        let mut landmarks = Landmarks::default();
        let many = ["A", "B", "C", "D"].map(|name| team(name, "one"));
        landmarks.set_entities(many.into_iter());
        complete(&mut landmarks, vector(100, 0));
        // The cosine of 60 degrees, give or take an integer.
        assert_eq!(landmarks.bearings(&vector(58, 100)).unwrap().similar.len(), SIMILAR_MAX);
        assert_eq!(landmarks.bearings(&vector(57, 100)).unwrap().similar, []);
    }
}
