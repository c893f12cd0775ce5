//! How units of knowledge hang on the graph (KNU-07), and which of them are near (ENT-09).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use cid::Cid;
use serde::{Deserialize, Serialize};

use super::{End, Graph, GraphError, Relation};
use crate::identity::EntityId;
use crate::measure::Milli;

/// What a unit is linked to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LinkTarget {
    /// Its creator, its subject, its scope.
    Entity(EntityId),
    /// The unit from which it is derived.
    Unit(Cid),
}

impl LinkTarget {
    fn end(&self) -> End {
        match self {
            LinkTarget::Entity(id) => End::Entity(id.kind()),
            LinkTarget::Unit(_) => End::Unit,
        }
    }
}

impl fmt::Display for LinkTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LinkTarget::Entity(id) => id.fmt(f),
            LinkTarget::Unit(cid) => cid.fmt(f),
        }
    }
}

/// A unit is about something, was created by someone, belongs to a scope, or is derived from another unit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "LinkFields")]
pub struct UnitLink {
    unit: Cid,
    relation: Relation,
    target: LinkTarget,
    weight: Milli,
}

/// A link as it is stored: parts that may not fit each other.
#[derive(Deserialize)]
struct LinkFields {
    unit: Cid,
    relation: Relation,
    target: LinkTarget,
    weight: Milli,
}

impl TryFrom<LinkFields> for UnitLink {
    type Error = GraphError;
    fn try_from(fields: LinkFields) -> Result<UnitLink, GraphError> {
        UnitLink::new(fields.unit, fields.relation, fields.target, fields.weight)
    }
}

impl UnitLink {
    /// The link, if the relation may join the two ([`PAIRS`](super::PAIRS)).
    pub fn new(unit: Cid, relation: Relation, target: LinkTarget, weight: Milli) -> Result<UnitLink, GraphError> {
        relation.check(End::Unit, target.end())?;
        Ok(UnitLink { unit, relation, target, weight })
    }

    /// The unit.
    pub fn unit(&self) -> &Cid {
        &self.unit
    }

    /// How it stands to the target.
    pub fn relation(&self) -> Relation {
        self.relation
    }

    /// To what.
    pub fn target(&self) -> &LinkTarget {
        &self.target
    }

    /// How strongly.
    pub fn weight(&self) -> Milli {
        self.weight
    }
}

/// The links of many units, by what they are linked to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnitLinks {
    by_target: BTreeMap<LinkTarget, BTreeMap<(Relation, Cid), Milli>>,
    by_unit: BTreeMap<Cid, BTreeSet<(Relation, LinkTarget)>>,
}

impl UnitLinks {
    /// Takes a link in, or changes its weight in place.
    pub fn upsert(&mut self, link: &UnitLink) {
        let UnitLink { unit, relation, target, weight } = link;
        self.by_target.entry(target.clone()).or_default().insert((*relation, *unit), *weight);
        self.by_unit.entry(*unit).or_default().insert((*relation, target.clone()));
    }

    /// Removes every link of a unit, and those of others to it.
    pub fn remove_unit(&mut self, unit: &Cid) {
        for (relation, target) in self.by_unit.remove(unit).unwrap_or_default() {
            if let Some(links) = self.by_target.get_mut(&target) {
                links.remove(&(relation, *unit));
                if links.is_empty() {
                    self.by_target.remove(&target);
                }
            }
        }
        let target = LinkTarget::Unit(*unit);
        for (relation, other) in self.by_target.remove(&target).unwrap_or_default().into_keys() {
            if let Some(links) = self.by_unit.get_mut(&other) {
                links.remove(&(relation, target.clone()));
            }
        }
    }

    /// Removes one link and says what it was.
    pub fn remove(&mut self, unit: &Cid, relation: Relation, target: &LinkTarget) -> Option<UnitLink> {
        let links = self.by_target.get_mut(target)?;
        let weight = links.remove(&(relation, *unit))?;
        if links.is_empty() {
            self.by_target.remove(target);
        }
        if let Some(links) = self.by_unit.get_mut(unit) {
            links.remove(&(relation, target.clone()));
            if links.is_empty() {
                self.by_unit.remove(unit);
            }
        }
        Some(UnitLink { unit: *unit, relation, target: target.clone(), weight })
    }

    /// The links to an entity.
    pub fn to_entity(&self, entity: &EntityId) -> Vec<UnitLink> {
        let target = LinkTarget::Entity(entity.clone());
        let links = self.by_target.get(&target).into_iter().flatten();
        links
            .map(|((relation, unit), weight)| UnitLink {
                unit: *unit,
                relation: *relation,
                target: target.clone(),
                weight: *weight,
            })
            .collect()
    }

    /// The links of a unit.
    pub fn of_unit(&self, unit: &Cid) -> Vec<UnitLink> {
        let links = self.by_unit.get(unit).into_iter().flatten();
        let link = |(relation, target): &(Relation, LinkTarget)| {
            let weight = *self.by_target.get(target)?.get(&(*relation, *unit))?;
            Some(UnitLink { unit: *unit, relation: *relation, target: target.clone(), weight })
        };
        links.filter_map(link).collect()
    }

    /// The units that hang on an entity within `hops` edges of one, each with its least distance (ENT-09). Of what may be
    /// read of them it knows nothing: whoever asks filters first.
    pub fn within(&self, graph: &Graph, from: &EntityId, hops: u8) -> BTreeMap<Cid, u8> {
        let mut near = BTreeMap::new();
        for (entity, distance) in graph.within(from, hops) {
            let links = self.by_target.get(&LinkTarget::Entity(entity)).into_iter().flatten();
            for ((_, unit), _) in links {
                // The nearest entities come first, so the first distance is the least.
                near.entry(*unit).or_insert(distance);
            }
        }
        near
    }
}
