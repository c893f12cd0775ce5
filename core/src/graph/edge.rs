//! Edges, and the one way in which they change: upserts.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::weight::{FADED_BELOW, faded, grown};
use super::{End, GraphError, Relation};
use crate::identity::EntityId;
use crate::measure::{Milli, Timestamp};

/// Which edge: there is at most one from a source to a target in a relation. Its ends are such as the relation may join
/// ([`PAIRS`](super::PAIRS)), and two different entities.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "KeyFields")]
pub struct EdgeKey {
    source: EntityId,
    relation: Relation,
    target: EntityId,
}

/// An edge's name as it is stored: three parts that may not fit each other.
#[derive(Deserialize)]
struct KeyFields {
    source: EntityId,
    relation: Relation,
    target: EntityId,
}

impl TryFrom<KeyFields> for EdgeKey {
    type Error = GraphError;
    fn try_from(fields: KeyFields) -> Result<EdgeKey, GraphError> {
        EdgeKey::new(fields.source, fields.relation, fields.target)
    }
}

impl EdgeKey {
    /// The edge between these two, if the relation may join them.
    pub fn new(source: EntityId, relation: Relation, target: EntityId) -> Result<EdgeKey, GraphError> {
        relation.check(End::Entity(source.kind()), End::Entity(target.kind()))?;
        if source == target { Err(GraphError::Loop(source)) } else { Ok(EdgeKey { source, relation, target }) }
    }

    /// An edge that stood in the graph, whose check is behind it.
    pub(super) fn known(source: &EntityId, relation: Relation, target: &EntityId) -> EdgeKey {
        EdgeKey { source: source.clone(), relation, target: target.clone() }
    }

    /// Where it begins.
    pub fn source(&self) -> &EntityId {
        &self.source
    }

    /// What it says.
    pub fn relation(&self) -> Relation {
        self.relation
    }

    /// Where it ends.
    pub fn target(&self) -> &EntityId {
        &self.target
    }
}

impl fmt::Display for EdgeKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.source, self.relation, self.target)
    }
}

/// What a member is in a team (ENT-05).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// One of the team.
    #[default]
    Member,
    /// Who leads it.
    Lead,
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Role::Member => "member",
            Role::Lead => "lead",
        })
    }
}

impl FromStr for Role {
    type Err = GraphError;
    fn from_str(text: &str) -> Result<Role, GraphError> {
        match text {
            "member" => Ok(Role::Member),
            "lead" => Ok(Role::Lead),
            _ => Err(GraphError::RoleName(text.chars().take(40).collect())),
        }
    }
}

/// An edge as it is kept: what was observed, and nothing that time alone changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Edge {
    /// Which edge.
    pub key: EdgeKey,
    /// Its weight at its last activity.
    pub weight: Milli,
    /// What the source is in the target: of `member_of` always there, of others never.
    pub role: Option<Role>,
    /// When something last happened on it.
    pub active_at: Timestamp,
}

impl Edge {
    /// How strong it is at `now` ([`faded`]).
    pub fn strength(&self, now: Timestamp) -> Milli {
        faded(self.key.relation, self.weight, self.active_at, now)
    }

    /// Whether so little is left of it at `now` that it may be pruned.
    pub fn is_faded(&self, now: Timestamp) -> bool {
        self.key.relation.is_learned() && self.strength(now) < FADED_BELOW
    }

    /// The upsert that makes this edge in a graph that has none: how a store fills the memory.
    pub fn to_upsert(&self) -> EdgeUpsert {
        let change = Change::Set { weight: self.weight, role: self.role };
        EdgeUpsert { key: self.key.clone(), change, at: self.active_at }
    }
}

/// What an upsert does to the edge of its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The edge is so.
    Set {
        /// Its weight.
        weight: Milli,
        /// Its role.
        role: Option<Role>,
    },
    /// Something happened: so much more, from nothing if there was no edge.
    Grow {
        /// How much more.
        by: Milli,
    },
}

/// One observation of an edge: creates it, or changes it in place.
///
/// Observations come late and twice, from several places. So their order does not matter where it need not:
/// - *Sets* among themselves: the latest wins, and of two of one moment the heavier. Repeating one changes nothing.
/// - *Growths* among themselves add up to at most the full weight. Each is an event, and is applied once by its caller.
/// - A set replaces what had grown before its moment, and is itself too late if something happened after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EdgeUpsert {
    key: EdgeKey,
    change: Change,
    at: Timestamp,
}

impl EdgeUpsert {
    /// The edge has this weight. Whoever is a member of a team without another word is a plain member.
    pub fn set(key: EdgeKey, weight: Milli, at: Timestamp) -> EdgeUpsert {
        let role = (key.relation == Relation::MemberOf).then_some(Role::Member);
        EdgeUpsert { key, change: Change::Set { weight, role }, at }
    }

    /// The edge has this weight, and its source this role.
    pub fn set_role(key: EdgeKey, weight: Milli, role: Role, at: Timestamp) -> Result<EdgeUpsert, GraphError> {
        if key.relation != Relation::MemberOf {
            return Err(GraphError::Role(key.relation));
        }
        Ok(EdgeUpsert { key, change: Change::Set { weight, role: Some(role) }, at })
    }

    /// Something happened on the edge.
    pub fn grow(key: EdgeKey, by: Milli, at: Timestamp) -> EdgeUpsert {
        EdgeUpsert { key, change: Change::Grow { by }, at }
    }

    /// Which edge.
    pub fn key(&self) -> &EdgeKey {
        &self.key
    }

    /// What is done to it.
    pub fn change(&self) -> Change {
        self.change
    }

    /// When it was observed.
    pub fn at(&self) -> Timestamp {
        self.at
    }

    /// What becomes of the edge.
    pub(super) fn applied(&self, known: Option<State>) -> State {
        let first_role = (self.key.relation == Relation::MemberOf).then_some(Role::Member);
        match (self.change, known) {
            (Change::Set { weight, role }, None) => State { active_at: self.at, weight, role },
            // The order of the fields is the rule: later, then heavier, then the higher role.
            (Change::Set { weight, role }, Some(known)) => known.max(State { active_at: self.at, weight, role }),
            (Change::Grow { by }, None) => State { active_at: self.at, weight: by, role: first_role },
            (Change::Grow { by }, Some(known)) => {
                State { active_at: known.active_at.max(self.at), weight: grown(known.weight, by), role: known.role }
            }
        }
    }
}

/// What an edge carries besides its name. Ordered by which of two observations counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct State {
    pub active_at: Timestamp,
    pub weight: Milli,
    pub role: Option<Role>,
}
