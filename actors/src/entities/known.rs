//! The graph as this process holds it, and how it changes: a draft is made beside it, committed, and takes its place.

use std::collections::BTreeMap;

use plumb_core::graph::{Aliases, Edge, EdgeKey, EdgeUpsert, Entity, Graph, Population, UnitLink, UnitLinks};
use plumb_core::identity::EntityId;
use plumb_storage::{AuditEvent, Change, Store};

use crate::error::NodeError;
use crate::kept;

/// Names that are listed where one name means several.
const NAMED_MAX: usize = 5;

/// What is known of entities, for whoever asks at one moment. The rows of the store are the truth; this is derived from
/// them at the start of a node, and follows every change.
#[derive(Clone, Debug, Default)]
pub(crate) struct Known {
    /// Who is near to whom.
    pub graph: Graph,
    /// Which names mean whom.
    pub aliases: Aliases,
    /// Which units hang on whom.
    pub links: UnitLinks,
}

impl Known {
    /// Reads it from the store.
    pub fn read(store: &Store) -> Result<Known, NodeError> {
        let mut known = Known::default();
        for entity in kept::entities(store, None) {
            let entity = entity?;
            known.graph.insert(entity.id())?;
            known.aliases.enter(&entity);
        }
        for edge in kept::edges(store) {
            let edge = edge?;
            if let Err(error) = known.graph.upsert(&edge.to_upsert()) {
                tracing::warn!(edge = %edge.key, %error, "an edge is passed over");
            }
        }
        for link in kept::unit_links(store) {
            known.links.upsert(&link?);
        }
        known.graph.compact();
        Ok(known)
    }

    /// The entity that somebody means: by its id, or by a name that only one goes by.
    pub fn find(&self, name: &str) -> Result<EntityId, NodeError> {
        if let Ok(id) = name.parse::<EntityId>()
            && self.graph.contains(&id)
        {
            return Ok(id);
        }
        let mut named = self.aliases.named(name);
        match (named.pop(), named.len()) {
            (Some(one), 0) => Ok(one),
            (None, _) => Err(NodeError::NotFound(name.chars().take(200).collect())),
            (Some(last), _) => {
                named.push(last);
                let ids: Vec<String> = named.iter().take(NAMED_MAX).map(ToString::to_string).collect();
                Err(NodeError::Invalid(format!("`{name}` means several entities; say one of {}", ids.join(", "))))
            }
        }
    }
}

/// A graph in the making: what changes, and what it will be when that is committed.
pub(crate) struct Draft<'s> {
    store: &'s Store,
    known: Known,
    entities: BTreeMap<EntityId, Option<Entity>>,
    edges: BTreeMap<EdgeKey, Option<Edge>>,
    links: Vec<(UnitLink, bool)>,
}

impl<'s> Draft<'s> {
    /// A draft that changes nothing yet.
    pub fn of(store: &'s Store, known: Known) -> Draft<'s> {
        Draft { store, known, entities: BTreeMap::new(), edges: BTreeMap::new(), links: Vec::new() }
    }

    /// What the graph will be.
    pub fn known(&self) -> &Known {
        &self.known
    }

    /// An entity as it will be.
    pub fn entity(&self, id: &EntityId) -> Result<Option<Entity>, NodeError> {
        match self.entities.get(id) {
            Some(entity) => Ok(entity.clone()),
            None => Ok(kept::entity(self.store, id)?),
        }
    }

    /// Writes an entity, new or changed. The edges that its fields speak of are not drawn by it.
    pub fn put(&mut self, entity: Entity) -> Result<(), NodeError> {
        self.known.graph.insert(entity.id())?;
        self.known.aliases.enter(&entity);
        self.entities.insert(entity.id().clone(), Some(entity));
        Ok(())
    }

    /// Takes in what is newly known of an entity, which may be there already. Returns whether it was new.
    pub fn learn(&mut self, newer: Entity) -> Result<bool, NodeError> {
        let Some(mut entity) = self.entity(newer.id())? else {
            self.put(newer)?;
            return Ok(true);
        };
        let before = entity.clone();
        // The name that somebody gave here stays; what a manifest or an account calls it becomes one more alias.
        let name = entity.name().to_string();
        entity.merge(newer)?;
        entity.rename(&name)?;
        if entity != before {
            self.put(entity)?;
        }
        Ok(false)
    }

    /// Removes an entity, its edges, and what hung on it.
    pub fn remove(&mut self, id: &EntityId) {
        let edges = self.known.graph.edges_from(id).into_iter().chain(self.known.graph.edges_into(id));
        self.edges.extend(edges.map(|edge| (edge.key, None)));
        for link in self.known.links.to_entity(id) {
            self.unhang(link);
        }
        self.known.graph.remove(id);
        self.known.aliases.remove(id);
        self.entities.insert(id.clone(), None);
    }

    /// Draws an edge, or changes it.
    pub fn upsert(&mut self, upsert: &EdgeUpsert) -> Result<Edge, NodeError> {
        let before = self.known.graph.edge(upsert.key());
        let edge = self.known.graph.upsert(upsert)?;
        if before.as_ref() != Some(&edge) {
            self.edges.insert(edge.key.clone(), Some(edge.clone()));
        }
        Ok(edge)
    }

    /// Takes an edge away. Returns whether there was one.
    pub fn unlink(&mut self, key: &EdgeKey) -> bool {
        let gone = self.known.graph.remove_edge(key).is_some();
        if gone {
            self.edges.insert(key.clone(), None);
        }
        gone
    }

    /// Takes in everything that some facts speak of.
    pub fn take(&mut self, population: &Population) -> Result<(), NodeError> {
        for entity in population.entities() {
            self.learn(entity.clone())?;
        }
        for upsert in population.edges() {
            self.upsert(upsert)?;
        }
        Ok(())
    }

    /// Hangs a unit on something.
    pub fn hang(&mut self, link: UnitLink) {
        self.known.links.upsert(&link);
        self.links.push((link, true));
    }

    /// Takes a unit off what it hung on.
    pub fn unhang(&mut self, link: UnitLink) {
        self.known.links.remove(link.unit(), link.relation(), link.target());
        self.links.push((link, false));
    }

    /// Entities and edges that are written or deleted.
    pub fn counts(&self) -> (usize, usize) {
        (self.entities.len(), self.edges.len())
    }

    /// The change that makes it true, and what the graph then is.
    pub fn into_change(self, event: AuditEvent) -> (Change, Known) {
        let mut change = Change::new(event);
        for (id, entity) in &self.entities {
            match entity {
                Some(entity) => kept::put_entity(&mut change, entity),
                None => kept::delete_entity(&mut change, id),
            }
        }
        for (key, edge) in &self.edges {
            match edge {
                Some(edge) => kept::put_edge(&mut change, edge),
                None => kept::delete_edge(&mut change, key),
            }
        }
        for (link, stays) in &self.links {
            match stays {
                true => kept::put_unit_link(&mut change, link),
                false => kept::delete_unit_link(&mut change, link),
            }
        }
        (change, self.known)
    }
}
