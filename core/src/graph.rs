//! The entity graph: who and what there is in an organisation, how it hangs together, and who is near to whom.
//!
//! People are in teams, teams in departments; people work on projects, projects contain systems, systems modules. What
//! somebody asks is answered first from what is *near* to them, and a name in their question ("the platform team")
//! means an entity. So the room has four ideas:
//!
//! - An [`Entity`] is a typed row with a stable [`EntityId`](crate::identity::EntityId). Its name may change, its id
//!   never does, and every name that it ever had stays an alias.
//! - An [`Edge`] is a weighted [`Relation`] between two entities. What a relation may join is a table ([`PAIRS`]). An
//!   edge stores what was observed (weight, last activity); how strong it is *now* is always computed from these, never
//!   written back, so a decay that runs twice has decayed once.
//! - The [`Graph`] holds ids and edges in memory, compactly, for one purpose: distances. Proximity is
//!   `1 / (1 + distance)` over edges in either direction, up to [`MAX_GRAPH_HOPS`]; beyond, the scope's level says what
//!   is assumed ([`assumed_proximity`]).
//! - [`Aliases`] turn a text into entities: exact, mentioned, misspelt, or similar by somebody else's measure.
//!
//! Units of knowledge are no nodes of it: two topics are not near because one document speaks of both. They hang on
//! entities by [`UnitLinks`], which answer "which units lie within N hops".
//!
//! What fills the graph is in [`Population`]: functions from facts (accounts, workspaces, manifests, commits, accesses)
//! to upserts. **Invariant:** nothing here reads a file, a clock or a repository; facts arrive parsed.
//!
//! ```
//! use plumb_core::graph::{EdgeKey, EdgeUpsert, Graph, Relation, WEIGHT_DEFAULT};
//! use plumb_core::identity::EntityId;
//! use plumb_core::measure::Timestamp;
//!
//! let id = |text: &str| text.parse::<EntityId>().expect("an id");
//! let mut graph = Graph::default();
//! for entity in ["person-mara", "team-platform", "department-operations"] {
//!     graph.insert(&id(entity))?;
//! }
//! for (source, relation, target) in [
//!     ("person-mara", Relation::MemberOf, "team-platform"),
//!     ("team-platform", Relation::PartOf, "department-operations"),
//! ] {
//!     let key = EdgeKey::new(id(source), relation, id(target))?;
//!     graph.upsert(&EdgeUpsert::set(key, WEIGHT_DEFAULT, Timestamp(0)))?;
//! }
//! assert_eq!(graph.distance(&id("person-mara"), &id("department-operations")), Some(2));
//! // Nobody said so; it follows from the team.
//! assert_eq!(graph.departments_of(&id("person-mara"))[0].department, id("department-operations"));
//! # Ok::<(), plumb_core::graph::GraphError>(())
//! ```

mod alias;
mod belonging;
mod edge;
mod entity;
mod fuzzy;
mod link;
mod network;
mod populate;
mod proximity;
mod relation;
mod resolve;
mod weight;

use crate::identity::{EntityId, EntityType, IdentityError};

pub use alias::{ALIASES_PER_ENTITY_MAX, Aliases, fold};
pub use belonging::Belonging;
pub use edge::{Change, Edge, EdgeKey, EdgeUpsert, Role};
pub use entity::{Details, Entity, FIELD_LEN_MAX, NAME_LEN_MAX};
pub use link::{LinkTarget, UnitLink, UnitLinks};
pub use network::{Graph, NODES_MAX};
pub use populate::{
    Access, Account, Commits, Manifest, MentionFacts, Module, ModuleMap, Population, Workspace, from_access,
    from_accounts, from_commits, from_manifests, from_mentions, from_new_commit, from_workspace,
};
pub use proximity::{MAX_GRAPH_HOPS, ProximityCache, assumed_proximity, proximity_at};
pub use relation::{End, PAIRS, Relation};
pub use resolve::{How, Resolution, Similar};
pub use weight::{
    EXPERT_STEP, FADE_PERIOD, FADED_BELOW, TOUCH_STEP, WEIGHT_ASSUMED, WEIGHT_DEFAULT, faded, touches_weight,
    works_on_weight,
};

/// Why something is not taken into the graph.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GraphError {
    /// A name from which no id can be made.
    #[error("no id can be made of the name; give one with at least one letter or digit")]
    Identity(#[from] IdentityError),
    /// Not one of the fourteen relations.
    #[error("`{0}` is no relation; one of them is `member_of`, and they are lower case")]
    Relation(String),
    /// A relation between things that it may not join.
    #[error("a {from} {relation} no {to}: only these are allowed: {allowed}")]
    Pair {
        /// The relation.
        relation: Relation,
        /// What stood at its source.
        from: End,
        /// What stood at its target.
        to: End,
        /// The pairs that it may join.
        allowed: String,
    },
    /// An edge from an entity to itself.
    #[error("`{0}` cannot be related to itself")]
    Loop(EntityId),
    /// A role on an edge other than `member_of`.
    #[error("only member_of has a role, {0} has none")]
    Role(Relation),
    /// A role that is neither of the two.
    #[error("`{0}` is no role; use lead or member")]
    RoleName(String),
    /// An edge to an entity that is not in the graph.
    #[error("`{0}` is not in the graph; create the entity first")]
    Absent(EntityId),
    /// A second organisation.
    #[error("this node's organisation is `{known}`; `{given}` cannot be a second one")]
    SecondOrganization {
        /// The one that there is.
        known: EntityId,
        /// The one that was to join it.
        given: EntityId,
    },
    /// Fields of another type than the id's.
    #[error("`{id}` cannot have the fields of a {given}")]
    Details {
        /// The entity.
        id: EntityId,
        /// Whose fields these are.
        given: EntityType,
    },
    /// News of another entity.
    #[error("`{given}` is not `{known}`, and its fields are not taken over")]
    Other {
        /// The entity that was to learn.
        known: EntityId,
        /// Of which the news are.
        given: EntityId,
    },
    /// A field that names an entity of the wrong type.
    #[error("{field} must name a {expected}, `{given}` is none")]
    Reference {
        /// The field.
        field: &'static str,
        /// What it has to name.
        expected: EntityType,
        /// What it named.
        given: EntityId,
    },
    /// A field that is empty or too long.
    #[error("{field} has {len} bytes; give it 1 to {max}")]
    Length {
        /// The field.
        field: &'static str,
        /// How long it was.
        len: usize,
        /// How long it may be.
        max: usize,
    },
    /// Too many of something.
    #[error("more than {max} {what}; remove some first")]
    Many {
        /// Of what.
        what: &'static str,
        /// How many there may be.
        max: usize,
    },
}

#[cfg(test)]
mod tests;
