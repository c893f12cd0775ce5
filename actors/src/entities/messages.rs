//! What the entities actor answers.

use std::collections::BTreeMap;
use std::path::PathBuf;

use plumb_core::graph::{Relation, Role};
use plumb_core::identity::{EntityId, EntityType};
use plumb_core::measure::Milli;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::NodeError;
use crate::caller::Caller;

/// Lists entities, in the order of the ids.
#[derive(Clone, Debug, actix::Message)]
#[rtype(result = "Result<Vec<EntityView>, NodeError>")]
pub struct ListEntities {
    /// Who asks.
    pub caller: Caller,
    /// Of one type.
    pub kind: Option<EntityType>,
    /// Behind this id.
    pub after: Option<String>,
    /// At most so many.
    pub limit: usize,
}

/// Shows an entity with its edges, and with the units on it that the caller may read.
#[derive(Clone, Debug, actix::Message)]
#[rtype(result = "Result<EntityPage, NodeError>")]
pub struct ShowEntity {
    /// Who asks.
    pub caller: Caller,
    /// Its id, or a name that no other goes by.
    pub name: String,
}

/// Creates an entity, with the edges that its fields speak of.
#[derive(Clone, Debug, actix::Message)]
#[rtype(result = "Result<EntityView, NodeError>")]
pub struct AddEntity {
    /// For the audit log.
    pub by: String,
    /// Of which type.
    pub kind: EntityType,
    /// Its name.
    pub name: String,
    /// Its id, where it is not made of the name.
    pub id: Option<EntityId>,
    /// What is known of it, by the names of the fields of its type.
    pub fields: BTreeMap<String, String>,
}

/// Gives an entity another name. It is still found by the old one.
#[derive(Clone, Debug, actix::Message)]
#[rtype(result = "Result<EntityView, NodeError>")]
pub struct RenameEntity {
    /// For the audit log.
    pub by: String,
    /// Which.
    pub entity: String,
    /// The new name.
    pub name: String,
}

/// Gives an entity one more name to find it by.
#[derive(Clone, Debug, actix::Message)]
#[rtype(result = "Result<EntityView, NodeError>")]
pub struct AddAlias {
    /// For the audit log.
    pub by: String,
    /// Which.
    pub entity: String,
    /// The name.
    pub alias: String,
}

/// Removes an entity and every edge that it has.
#[derive(Clone, Debug, actix::Message)]
#[rtype(result = "Result<(), NodeError>")]
pub struct RemoveEntity {
    /// For the audit log.
    pub by: String,
    /// Which.
    pub entity: String,
}

/// Draws an edge between two entities, or hangs a unit on one.
#[derive(Clone, Debug, actix::Message)]
#[rtype(result = "Result<EdgeView, NodeError>")]
pub struct LinkEntities {
    /// Who asks: what they may not read they cannot hang anywhere.
    pub caller: Caller,
    /// Where it begins: an entity, or a unit by its chunk.
    pub source: String,
    /// What it says.
    pub relation: Relation,
    /// Where it ends.
    pub target: String,
    /// Its weight; the full one where nobody says.
    pub weight: Option<Milli>,
    /// What a member is in a team.
    pub role: Option<Role>,
}

/// Takes an edge away.
#[derive(Clone, Debug, actix::Message)]
#[rtype(result = "Result<(), NodeError>")]
pub struct UnlinkEntities {
    /// Who asks.
    pub caller: Caller,
    /// Where it begins.
    pub source: String,
    /// What it says.
    pub relation: Relation,
    /// Where it ends.
    pub target: String,
}

/// Says how far two entities are from each other.
#[derive(Clone, Debug, actix::Message)]
#[rtype(result = "Result<DistanceView, NodeError>")]
pub struct MeasureDistance {
    /// Who asks.
    pub caller: Caller,
    /// From here.
    pub from: String,
    /// To there.
    pub to: String,
}

/// Fills the graph from facts: the people of the node with their teams and departments, and, if a folder is named, the
/// project in it.
#[derive(Clone, Debug, actix::Message)]
#[rtype(result = "Result<PopulatedView, NodeError>")]
pub struct PopulateGraph {
    /// For the audit log.
    pub by: String,
    /// The folder of a workspace.
    pub dir: Option<PathBuf>,
    /// The project's name, where it is not that of the folder.
    pub name: Option<String>,
    /// The team that owns the project.
    pub team: Option<String>,
}

/// An entity.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EntityView {
    /// Its id: it stays.
    pub id: String,
    /// Its type.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// Every name that it goes by, as names are compared.
    pub aliases: Vec<String>,
    /// What is known of it, by the names of the fields of its type.
    pub fields: BTreeMap<String, String>,
}

/// An entity with what stands around it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EntityPage {
    /// The entity.
    pub entity: EntityView,
    /// Edges that begin here.
    pub edges: Vec<EdgeView>,
    /// Edges that end here.
    pub edges_into: Vec<EdgeView>,
    /// Of a person: the departments, said or following from a team.
    pub departments: Vec<DepartmentView>,
    /// Units that hang on it, as far as the caller may read them.
    pub units: Vec<LinkedUnitView>,
}

/// An edge.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EdgeView {
    /// Where it begins.
    pub source: String,
    /// What it says.
    pub relation: String,
    /// Where it ends.
    pub target: String,
    /// Its weight at its last activity, in thousandths.
    pub weight: u16,
    /// How strong it is now: what nobody does any more fades.
    pub strength: u16,
    /// What a member is in a team.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// When something last happened on it; `null` of a unit's, which does not fade.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_at: Option<String>,
}

/// A department of a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DepartmentView {
    /// The department.
    pub department: String,
    /// The team from which it follows; `null` if an edge says it.
    pub through: Option<String>,
}

/// A unit that hangs on an entity.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LinkedUnitView {
    /// The unit, by its chunk.
    pub chunk: String,
    /// How it stands to the entity.
    pub relation: String,
    /// The title of its source.
    pub title: String,
}

/// How far two entities are from each other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DistanceView {
    /// From here.
    pub from: String,
    /// To there.
    pub to: String,
    /// The least number of edges, whichever way they point; `null` if there are more than four.
    pub distance: Option<u8>,
    /// `1 / (1 + distance)` in thousandths; `null` where there is no distance.
    pub proximity: Option<u16>,
}

/// What filling the graph did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PopulatedView {
    /// Entities that are new or changed.
    pub entities: u64,
    /// Edges that are new or changed.
    pub edges: u64,
    /// The project, if a folder was named.
    pub project: Option<String>,
    /// Packages that were found in it.
    pub systems: u64,
    /// Commits that were counted.
    pub commits: u64,
    /// What was left out, and why.
    pub remarks: Vec<String>,
}
