//! Distance and proximity: who is near to whom (CTX-10, CTX-13, CTX-29, ENT-09, ENT-10).
//!
//! A distance is the least number of edges between two entities, whichever way they point. It is searched breadth
//! first. Most requests want few distances from one person, so the last step of a search never walks the outermost
//! ring, which is the largest: it asks each entity still wanted whether one of its own neighbours was reached.

use std::collections::BTreeMap;

use super::Graph;
use crate::identity::EntityId;
use crate::knowledge::ScopeLevel;
use crate::measure::Milli;

/// Beyond so many edges nothing is near (ENT-10).
pub const MAX_GRAPH_HOPS: u8 = 4;

/// Sources whose distances a request remembers: the person who asks, their team, the entities of the question. Each
/// costs a byte an entity.
const SOURCES_MAX: usize = 32;

/// Not reached.
const FAR: u8 = u8::MAX;

/// `1 / (1 + distance)`, truncated (CTX-10): 1000, 500, 333, 250, 200.
pub fn proximity_at(distance: u8) -> Milli {
    Milli::from_ratio(1, 1 + u64::from(distance))
}

/// What is assumed of a scope to which no path leads: the distance that its level has in an ordinary organisation,
/// personal 0, team 1, department 2, organisation 3 (CTX-29).
pub fn assumed_proximity(level: ScopeLevel) -> Milli {
    proximity_at(match level {
        ScopeLevel::Personal => 0,
        ScopeLevel::Team => 1,
        ScopeLevel::Department => 2,
        ScopeLevel::Organization => 3,
    })
}

impl Graph {
    /// The least number of edges between two entities, in either direction; none beyond [`MAX_GRAPH_HOPS`], or if one of
    /// them is not there. From anything to itself it is 0.
    pub fn distance(&self, from: &EntityId, to: &EntityId) -> Option<u8> {
        self.distances(from, [to])[0]
    }

    /// The distances from one entity to many, in their order, by one search.
    pub fn distances<'a>(&self, from: &EntityId, to: impl IntoIterator<Item = &'a EntityId>) -> Vec<Option<u8>> {
        let to: Vec<&EntityId> = to.into_iter().collect();
        let mut found: Vec<Option<u8>> = to.iter().map(|to| (*to == from).then_some(0)).collect();
        let Some(source) = self.node(from) else { return found };
        let wanted = to.iter().enumerate().filter_map(|(at, to)| Some((at, self.node(to)?)));
        let mut open: Vec<(usize, u32)> = wanted.filter(|(_, node)| *node != source).collect();
        let mut rings = Rings::around(self, source);
        for hops in 1..=MAX_GRAPH_HOPS {
            // Whatever has a neighbour in the ring before lies in this one.
            open.retain(|(at, node)| {
                let reached = self.near(*node).iter().any(|n| rings.distance[*n as usize] == hops - 1);
                if reached {
                    found[*at] = Some(hops);
                }
                !reached
            });
            if open.is_empty() || hops == MAX_GRAPH_HOPS || !rings.widen() {
                break;
            }
        }
        found
    }

    /// The proximity of one entity to another in a scope of a level: by their distance, or as the level assumes.
    pub fn proximity(&self, from: &EntityId, to: &EntityId, level: ScopeLevel) -> Milli {
        self.distance(from, to).map_or_else(|| assumed_proximity(level), proximity_at)
    }

    /// Every entity within `hops` edges of one, itself first, nearest first, then in the order of the ids (ENT-09). At
    /// most [`MAX_GRAPH_HOPS`] are walked.
    pub fn within(&self, from: &EntityId, hops: u8) -> Vec<(EntityId, u8)> {
        let Some(source) = self.node(from) else { return Vec::new() };
        let distance = self.reach(source, hops);
        let mut near: Vec<(&EntityId, u8)> = (0u32..)
            .zip(&distance)
            .filter(|(_, hops)| **hops != FAR)
            .map(|(node, hops)| (self.id(node), *hops))
            .collect();
        near.sort_unstable_by_key(|(id, hops)| (*hops, *id));
        near.into_iter().map(|(id, hops)| (id.clone(), hops)).collect()
    }

    /// The distance of every node from one, up to `hops`.
    fn reach(&self, source: u32, hops: u8) -> Vec<u8> {
        let mut rings = Rings::around(self, source);
        for _ in 0..hops.min(MAX_GRAPH_HOPS) {
            if !rings.widen() {
                break;
            }
        }
        rings.distance
    }
}

/// A search that widens ring by ring.
struct Rings<'g> {
    graph: &'g Graph,
    distance: Vec<u8>,
    ring: Vec<u32>,
    hops: u8,
}

impl<'g> Rings<'g> {
    fn around(graph: &'g Graph, source: u32) -> Rings<'g> {
        let mut distance = vec![FAR; graph.places()];
        distance[source as usize] = 0;
        Rings { graph, distance, ring: vec![source], hops: 0 }
    }

    /// One ring more; `false` if there is nothing further out.
    fn widen(&mut self) -> bool {
        self.hops += 1;
        let mut next = Vec::new();
        for &node in &self.ring {
            for &neighbour in self.graph.near(node) {
                let distance = &mut self.distance[neighbour as usize];
                if *distance == FAR {
                    *distance = self.hops;
                    next.push(neighbour);
                }
            }
        }
        self.ring = next;
        !self.ring.is_empty()
    }
}

/// The distances that a request has asked for, so that asking again reads no graph (CTX-13). It belongs to one graph:
/// when the connections of that graph change, it forgets.
#[derive(Clone, Debug, Default)]
pub struct ProximityCache {
    shape: u64,
    reached: BTreeMap<EntityId, Vec<u8>>,
    searches: u64,
}

impl ProximityCache {
    /// Searches from these ahead of the first question, as at the start of a session. Beyond the number of sources that
    /// a request remembers nothing more is kept, and such a source is searched at each question.
    pub fn warm<'a>(&mut self, graph: &Graph, from: impl IntoIterator<Item = &'a EntityId>) {
        self.forget_if_changed(graph);
        for from in from {
            let Some(source) = graph.node(from) else { continue };
            if self.reached.contains_key(from) || self.reached.len() >= SOURCES_MAX {
                continue;
            }
            self.searches += 1;
            self.reached.insert(from.clone(), graph.reach(source, MAX_GRAPH_HOPS));
        }
    }

    /// As [`Graph::distance`].
    pub fn distance(&mut self, graph: &Graph, from: &EntityId, to: &EntityId) -> Option<u8> {
        if from == to {
            return Some(0);
        }
        let target = graph.node(to)?;
        self.warm(graph, [from]);
        if let Some(reached) = self.reached.get(from) {
            return Some(reached[target as usize]).filter(|hops| *hops != FAR);
        }
        self.searches += 1;
        graph.distance(from, to)
    }

    /// As [`Graph::proximity`].
    pub fn proximity(&mut self, graph: &Graph, from: &EntityId, to: &EntityId, level: ScopeLevel) -> Milli {
        self.distance(graph, from, to).map_or_else(|| assumed_proximity(level), proximity_at)
    }

    /// How often the graph was searched so far.
    pub fn searches(&self) -> u64 {
        self.searches
    }

    fn forget_if_changed(&mut self, graph: &Graph) {
        if self.shape != graph.shape() {
            self.reached.clear();
            self.shape = graph.shape();
        }
    }
}
