//! What fills the graph: facts in, upserts out (ENT-12 to ENT-19).
//!
//! A [`Population`] is a value: entities and observations of edges, for a caller to store and to apply. Facts come
//! parsed, with the moment at which they held. Saying the same facts again changes nothing, with two exceptions that are
//! events and are said once: [`from_new_commit`] and [`from_access`].

mod activity;
mod code;
mod people;

use std::collections::BTreeMap;

use super::{Edge, EdgeKey, EdgeUpsert, Entity, Graph, GraphError, Relation};
use crate::identity::{EntityId, EntityType};
use crate::measure::{Milli, Timestamp};

pub use activity::{Access, Commits, MentionFacts, from_access, from_commits, from_mentions, from_new_commit};
pub use code::{Manifest, Module, ModuleMap, Workspace, from_manifests, from_workspace};
pub use people::{Account, from_accounts};

/// Entities and edges that facts speak of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Population {
    entities: BTreeMap<EntityId, Entity>,
    edges: Vec<EdgeUpsert>,
}

impl Population {
    /// The entities, in the order of their ids.
    pub fn entities(&self) -> impl Iterator<Item = &Entity> {
        self.entities.values()
    }

    /// The observations of edges, in the order in which the facts had them.
    pub fn edges(&self) -> &[EdgeUpsert] {
        &self.edges
    }

    /// Takes another one in: what it knows of an entity is the newer knowledge.
    pub fn merge(&mut self, newer: Population) -> Result<(), GraphError> {
        newer.entities.into_values().try_for_each(|entity| self.entity(entity))?;
        self.edges.extend(newer.edges);
        Ok(())
    }

    /// Brings the graph up to these facts, and says what the changed edges are now, for the store. Entities come first,
    /// so that facts may speak of each other in any order.
    ///
    /// The first edge whose end is missing ends it with an error; what came before it stays, and saying the facts again
    /// after the entity was created is right, as far as they are no events.
    pub fn apply(&self, graph: &mut Graph) -> Result<Vec<Edge>, GraphError> {
        self.entities.keys().try_for_each(|id| graph.insert(id).map(drop))?;
        let mut changed = BTreeMap::new();
        for upsert in &self.edges {
            changed.insert(upsert.key().clone(), graph.upsert(upsert)?);
        }
        Ok(changed.into_values().collect())
    }

    /// Takes an entity in, or what is new of it.
    fn entity(&mut self, entity: Entity) -> Result<(), GraphError> {
        match self.entities.get_mut(entity.id()) {
            Some(known) => known.merge(entity),
            None => {
                self.entities.insert(entity.id().clone(), entity);
                Ok(())
            }
        }
    }

    /// Takes an entity in, and the edges that its fields imply.
    fn entity_with_edges(&mut self, entity: Entity, at: Timestamp) -> Result<(), GraphError> {
        self.edges.extend(entity.implied_edges(at)?);
        self.entity(entity)
    }

    fn set(
        &mut self,
        source: &EntityId,
        relation: Relation,
        target: &EntityId,
        weight: Milli,
        at: Timestamp,
    ) -> Result<(), GraphError> {
        self.edges.push(EdgeUpsert::set(EdgeKey::new(source.clone(), relation, target.clone())?, weight, at));
        Ok(())
    }
}

/// Refuses an id of another type than a field has to name.
fn names(field: &'static str, id: &EntityId, expected: EntityType) -> Result<(), GraphError> {
    if id.kind() == expected { Ok(()) } else { Err(GraphError::Reference { field, expected, given: id.clone() }) }
}

#[cfg(test)]
mod tests;
