//! The graph in memory: which entities there are, which edges, and who stands next to whom.
//!
//! Ids are interned: a node is a `u32`, its id is kept once. A node holds its outgoing edges, 16 bytes each and sorted
//! by target, and its *neighbours* in either direction, 4 bytes each and without repetition: a search for distances
//! reads nothing but these. Adding or removing an edge touches its two nodes alone.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::edge::State;
use super::{Edge, EdgeKey, EdgeUpsert, GraphError, Relation, Role};
use crate::identity::{EntityId, EntityType};
use crate::measure::{Milli, Timestamp};

/// Entities in one graph: far more than an organisation has, and their distances still fit in a request (one byte each).
pub const NODES_MAX: usize = 1 << 24;

/// The entities of one organisation and the edges between them. Two graphs are equal if they hold the same, however
/// they came to it.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    index: BTreeMap<Arc<EntityId>, u32>,
    nodes: Vec<Node>,
    /// Places of removed nodes, to be taken again.
    free: Vec<u32>,
    edge_count: usize,
    organization: Option<u32>,
    /// Counts the changes of what is connected, so that a remembered distance knows when it is old.
    shape: u64,
}

#[derive(Clone, Debug, Default)]
struct Node {
    /// Absent where a node was removed.
    id: Option<Arc<EntityId>>,
    /// Edges that begin here, by target and relation.
    out: Vec<Half>,
    /// Nodes at the other ends of the edges that begin or end here, in order.
    near: Vec<u32>,
}

/// An edge as its source holds it: a [`State`] with its fields laid flat, which is a third smaller.
#[derive(Clone, Copy, Debug)]
struct Half {
    active_at: Timestamp,
    target: u32,
    weight: Milli,
    relation: Relation,
    role: Option<Role>,
}

/// The promise of the module's first paragraph.
const _: () = assert!(size_of::<Half>() == 16);

impl Half {
    fn new(target: u32, relation: Relation, state: State) -> Half {
        Half { active_at: state.active_at, target, weight: state.weight, relation, role: state.role }
    }

    fn state(&self) -> State {
        State { active_at: self.active_at, weight: self.weight, role: self.role }
    }
}

impl PartialEq for Graph {
    fn eq(&self, other: &Graph) -> bool {
        self.index.keys().eq(other.index.keys()) && self.edges().eq(other.edges())
    }
}

impl Eq for Graph {}

impl Graph {
    /// Takes an entity in; `false` if it is there already. A node has one organisation (ENT-02).
    pub fn insert(&mut self, id: &EntityId) -> Result<bool, GraphError> {
        if self.index.contains_key(id) {
            return Ok(false);
        }
        if let (EntityType::Organization, Some(known)) = (id.kind(), self.organization) {
            let known = self.id(known).clone();
            return Err(GraphError::SecondOrganization { known, given: id.clone() });
        }
        if self.index.len() >= NODES_MAX {
            return Err(GraphError::Many { what: "entities in one graph", max: NODES_MAX });
        }
        let shared = Arc::new(id.clone());
        let fresh = Node { id: Some(shared.clone()), ..Node::default() };
        let node = if let Some(node) = self.free.pop() {
            self.nodes[node as usize] = fresh;
            node
        } else {
            self.nodes.push(fresh);
            u32::try_from(self.nodes.len() - 1).map_err(|_| GraphError::Many { what: "entities", max: NODES_MAX })?
        };
        if id.kind() == EntityType::Organization {
            self.organization = Some(node);
        }
        self.index.insert(shared, node);
        self.shape += 1;
        Ok(true)
    }

    /// Removes an entity and every edge that it has (ENT-08); `false` if there is none.
    pub fn remove(&mut self, id: &EntityId) -> bool {
        let Some(node) = self.index.remove(id) else { return false };
        let gone = std::mem::take(&mut self.nodes[node as usize]);
        self.edge_count -= gone.out.len();
        for neighbour in gone.near {
            let neighbour = &mut self.nodes[neighbour as usize];
            let before = neighbour.out.len();
            neighbour.out.retain(|half| half.target != node);
            self.edge_count -= before - neighbour.out.len();
            if let Ok(at) = neighbour.near.binary_search(&node) {
                neighbour.near.remove(at);
            }
        }
        if self.organization == Some(node) {
            self.organization = None;
        }
        self.free.push(node);
        self.shape += 1;
        true
    }

    /// Creates an edge or changes it in place (ENT-07), and says what it is now. Both ends must be there.
    pub fn upsert(&mut self, upsert: &EdgeUpsert) -> Result<Edge, GraphError> {
        let key = upsert.key();
        let (source, target) = (self.place(key.source())?, self.place(key.target())?);
        let out = &mut self.nodes[source as usize].out;
        let state = match find(out, target, key.relation()) {
            Ok(at) => {
                let state = upsert.applied(Some(out[at].state()));
                out[at] = Half::new(target, key.relation(), state);
                state
            }
            Err(at) => {
                let state = upsert.applied(None);
                out.insert(at, Half::new(target, key.relation(), state));
                self.edge_count += 1;
                self.join(source, target);
                state
            }
        };
        Ok(edge(key.clone(), state))
    }

    /// Removes an edge and says what it was.
    pub fn remove_edge(&mut self, key: &EdgeKey) -> Option<Edge> {
        let (source, target) = (self.node(key.source())?, self.node(key.target())?);
        let out = &mut self.nodes[source as usize].out;
        let at = find(out, target, key.relation()).ok()?;
        let half = out.remove(at);
        self.edge_count -= 1;
        if !self.points(source, target) && !self.points(target, source) {
            for (at, other) in [(source, target), (target, source)] {
                let near = &mut self.nodes[at as usize].near;
                if let Ok(at) = near.binary_search(&other) {
                    near.remove(at);
                }
            }
            self.shape += 1;
        }
        Some(edge(key.clone(), half.state()))
    }

    /// Gives back the room that growing left over. Worth it once, after a store has been read in.
    pub fn compact(&mut self) {
        for node in &mut self.nodes {
            node.out.shrink_to_fit();
            node.near.shrink_to_fit();
        }
        self.nodes.shrink_to_fit();
    }

    /// How many entities there are.
    pub fn len(&self) -> usize {
        self.index.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.index.is_empty()
    }

    /// How many edges there are.
    pub fn edge_count(&self) -> usize {
        self.edge_count
    }

    /// Whether an entity is there.
    pub fn contains(&self, id: &EntityId) -> bool {
        self.index.contains_key(id)
    }

    /// The organisation, if it is there.
    pub fn organization(&self) -> Option<&EntityId> {
        self.organization.map(|node| self.id(node))
    }

    /// Every entity, in the order of the ids.
    pub fn entities(&self) -> impl Iterator<Item = &EntityId> {
        self.index.keys().map(|id| &**id)
    }

    /// One edge.
    pub fn edge(&self, key: &EdgeKey) -> Option<Edge> {
        let (source, target) = (self.node(key.source())?, self.node(key.target())?);
        let out = &self.nodes[source as usize].out;
        find(out, target, key.relation()).ok().map(|at| edge(key.clone(), out[at].state()))
    }

    /// The edges that begin at an entity, in the order of their keys.
    pub fn edges_from(&self, id: &EntityId) -> Vec<Edge> {
        let Some(node) = self.node(id) else { return Vec::new() };
        let halves = self.nodes[node as usize].out.iter();
        let mut edges: Vec<Edge> = halves.map(|half| self.whole(id, half)).collect();
        edges.sort_unstable_by(|a, b| a.key.cmp(&b.key));
        edges
    }

    /// The edges that end at an entity, in the order of their keys.
    pub fn edges_into(&self, id: &EntityId) -> Vec<Edge> {
        let Some(node) = self.node(id) else { return Vec::new() };
        let mut edges = Vec::new();
        for &neighbour in &self.nodes[node as usize].near {
            let halves = self.halves(neighbour, node);
            edges.extend(halves.iter().map(|half| self.whole(self.id(neighbour), half)));
        }
        edges.sort_unstable_by(|a, b| a.key.cmp(&b.key));
        edges
    }

    /// Every edge, in the order of the keys.
    pub fn edges(&self) -> impl Iterator<Item = Edge> {
        self.index.keys().flat_map(|id| self.edges_from(id))
    }

    /// The learned edges of which so little is left at `now` that they may be pruned (GRV-19), in the order of the keys.
    /// A plan: nothing is removed.
    pub fn faded_edges(&self, now: Timestamp) -> Vec<EdgeKey> {
        self.edges().filter(|edge| edge.is_faded(now)).map(|edge| edge.key).collect()
    }

    /// Counts the changes of what is connected. Weights do not count.
    pub(super) fn shape(&self) -> u64 {
        self.shape
    }

    /// How many places for nodes there are: one more than the largest node.
    pub(super) fn places(&self) -> usize {
        self.nodes.len()
    }

    /// The node of an entity.
    pub(super) fn node(&self, id: &EntityId) -> Option<u32> {
        self.index.get(id).copied()
    }

    /// The entity of a node.
    pub(super) fn id(&self, node: u32) -> &EntityId {
        self.nodes[node as usize].id.as_deref().expect("only removed nodes have no id, and nothing leads to them")
    }

    /// The neighbours of a node in either direction.
    pub(super) fn near(&self, node: u32) -> &[u32] {
        &self.nodes[node as usize].near
    }

    fn place(&self, id: &EntityId) -> Result<u32, GraphError> {
        self.node(id).ok_or_else(|| GraphError::Absent(id.clone()))
    }

    /// The edges from one node to another.
    fn halves(&self, source: u32, target: u32) -> &[Half] {
        let out = &self.nodes[source as usize].out;
        let first = out.partition_point(|half| half.target < target);
        let after = out.partition_point(|half| half.target <= target);
        &out[first..after]
    }

    fn points(&self, source: u32, target: u32) -> bool {
        !self.halves(source, target).is_empty()
    }

    /// Makes two nodes neighbours.
    fn join(&mut self, one: u32, other: u32) {
        for (at, neighbour) in [(one, other), (other, one)] {
            let near = &mut self.nodes[at as usize].near;
            if let Err(place) = near.binary_search(&neighbour) {
                near.insert(place, neighbour);
                self.shape += 1;
            }
        }
    }

    fn whole(&self, source: &EntityId, half: &Half) -> Edge {
        edge(EdgeKey::known(source, half.relation, self.id(half.target)), half.state())
    }
}

fn find(out: &[Half], target: u32, relation: Relation) -> Result<usize, usize> {
    out.binary_search_by_key(&(target, relation), |half| (half.target, half.relation))
}

fn edge(key: EdgeKey, state: State) -> Edge {
    Edge { key, weight: state.weight, role: state.role, active_at: state.active_at }
}
