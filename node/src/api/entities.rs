//! The entity graph: who and what there is, and who is near to whom.

use std::collections::BTreeMap;
use std::path::PathBuf;

use actix_web::web::{Data, Json, Path, Query, ServiceConfig};
use actix_web::{delete, get, patch, post};
use plumb_actors::entities::{
    AddAlias, AddEntity, DistanceView, EdgeView, EntityPage, EntityView, LinkEntities, ListEntities, MeasureDistance,
    PopulateGraph, PopulatedView, RemoveEntity, RenameEntity, ShowEntity, UnlinkEntities,
};
use plumb_core::graph::{GraphError, Relation};
use plumb_core::identity::{EntityId, EntityType};
use plumb_core::measure::Milli;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::{Done, LONG, Page, QUICK};
use crate::problem::Problem;
use crate::serve::{Asker, Body, Operator, Served};

/// The routes.
pub fn routes(config: &mut ServiceConfig) {
    // `populate` stands before `{entity}`, which would take its name for one.
    config.service(list).service(add).service(populate).service(show).service(rename).service(remove);
    config.service(alias).service(distance).service(link).service(unlink);
}

impl From<GraphError> for Problem {
    fn from(error: GraphError) -> Problem {
        Problem::invalid(error.to_string())
    }
}

/// Which entities.
#[derive(Debug, Deserialize, IntoParams)]
pub struct Which {
    /// Of one type only, such as `team`.
    pub kind: Option<String>,
    /// Behind this id, to go on with a list.
    pub after: Option<String>,
    /// At most so many; 50 where nobody says, and never more than 1000.
    pub limit: Option<usize>,
}

/// Lists entities, by id.
#[utoipa::path(tag = "entities", params(Which), responses((status = 200, body = Vec<EntityView>), (status = 400, body = Problem), (status = 401, body = Problem)))]
#[get("/v1/entities")]
async fn list(
    served: Data<Served>,
    Asker(caller): Asker,
    which: Query<Which>,
) -> Result<Json<Vec<EntityView>>, Problem> {
    let Which { kind, after, limit } = which.into_inner();
    let kind = kind.map(|kind| kind.parse::<EntityType>()).transpose()?;
    let message = ListEntities { caller, kind, after, limit: Page { limit }.limit() };
    Ok(Json(served.node.entities.ask(message, QUICK).await?))
}

/// A new entity.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct EntityRequest {
    /// Its type: `person`, `team`, `department`, `organization`, `project`, `system`, `module` or `topic`.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// Its id, where it is not to be made of type and name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// What is known of it, by the names of the fields of its type.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub fields: BTreeMap<String, String>,
}

/// Creates an entity, with the edges that its fields speak of. Operator only.
#[utoipa::path(tag = "entities", request_body = EntityRequest, responses((status = 200, body = EntityView), (status = 400, body = Problem), (status = 403, body = Problem), (status = 409, body = Problem)))]
#[post("/v1/entities")]
async fn add(
    served: Data<Served>,
    Operator(caller): Operator,
    body: Body<EntityRequest>,
) -> Result<Json<EntityView>, Problem> {
    let EntityRequest { kind, name, id, fields } = body.value;
    let id = id.map(|id| id.parse::<EntityId>()).transpose()?;
    let message = AddEntity { by: caller.label(), kind: kind.parse()?, name, id, fields };
    Ok(Json(served.node.entities.ask(message, QUICK).await?))
}

/// Shows an entity with its edges, and with the units on it that the caller may read.
#[utoipa::path(tag = "entities", params(("entity" = String, Path)), responses((status = 200, body = EntityPage), (status = 401, body = Problem), (status = 404, body = Problem)))]
#[get("/v1/entities/{entity}")]
async fn show(served: Data<Served>, Asker(caller): Asker, entity: Path<String>) -> Result<Json<EntityPage>, Problem> {
    let message = ShowEntity { caller, name: entity.into_inner() };
    Ok(Json(served.node.entities.ask(message, QUICK).await?))
}

/// A name.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NameRequest {
    /// The name.
    pub name: String,
}

/// Gives an entity another name; it is still found by the old one, and its id stays. Operator only.
#[utoipa::path(tag = "entities", params(("entity" = String, Path)), request_body = NameRequest, responses((status = 200, body = EntityView), (status = 400, body = Problem), (status = 403, body = Problem), (status = 404, body = Problem)))]
#[patch("/v1/entities/{entity}")]
async fn rename(
    served: Data<Served>,
    Operator(caller): Operator,
    entity: Path<String>,
    body: Body<NameRequest>,
) -> Result<Json<EntityView>, Problem> {
    let message = RenameEntity { by: caller.label(), entity: entity.into_inner(), name: body.value.name };
    Ok(Json(served.node.entities.ask(message, QUICK).await?))
}

/// Gives an entity one more name to find it by. Operator only.
#[utoipa::path(tag = "entities", params(("entity" = String, Path)), request_body = NameRequest, responses((status = 200, body = EntityView), (status = 400, body = Problem), (status = 403, body = Problem), (status = 404, body = Problem)))]
#[post("/v1/entities/{entity}/aliases")]
async fn alias(
    served: Data<Served>,
    Operator(caller): Operator,
    entity: Path<String>,
    body: Body<NameRequest>,
) -> Result<Json<EntityView>, Problem> {
    let message = AddAlias { by: caller.label(), entity: entity.into_inner(), alias: body.value.name };
    Ok(Json(served.node.entities.ask(message, QUICK).await?))
}

/// Removes an entity and every edge that it has. Operator only.
#[utoipa::path(tag = "entities", params(("entity" = String, Path)), responses((status = 200, body = Done), (status = 403, body = Problem), (status = 404, body = Problem)))]
#[delete("/v1/entities/{entity}")]
async fn remove(served: Data<Served>, Operator(caller): Operator, entity: Path<String>) -> Result<Json<Done>, Problem> {
    let message = RemoveEntity { by: caller.label(), entity: entity.into_inner() };
    served.node.entities.ask(message, QUICK).await?;
    Ok(Json(Done { done: true }))
}

/// Says how many edges lie between two entities: none beyond four.
#[utoipa::path(tag = "entities", params(("entity" = String, Path), ("other" = String, Path)), responses((status = 200, body = DistanceView), (status = 401, body = Problem), (status = 404, body = Problem)))]
#[get("/v1/entities/{entity}/distance/{other}")]
async fn distance(
    served: Data<Served>,
    Asker(caller): Asker,
    ends: Path<(String, String)>,
) -> Result<Json<DistanceView>, Problem> {
    let (from, to) = ends.into_inner();
    Ok(Json(served.node.entities.ask(MeasureDistance { caller, from, to }, QUICK).await?))
}

/// An edge to draw.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkRequest {
    /// Where it begins: an entity by id or name, or a unit by its chunk.
    pub source: String,
    /// What it says, such as `member_of`.
    pub relation: String,
    /// Where it ends.
    pub target: String,
    /// Its weight in thousandths; 1000 where nobody says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<u16>,
    /// Of `member_of`: `member` or `lead`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
}

/// Draws an edge between two entities, or hangs a unit on one. Operator only.
#[utoipa::path(tag = "entities", request_body = LinkRequest, responses((status = 200, body = EdgeView), (status = 400, body = Problem), (status = 403, body = Problem), (status = 404, body = Problem)))]
#[post("/v1/edges")]
async fn link(
    served: Data<Served>,
    Operator(caller): Operator,
    body: Body<LinkRequest>,
) -> Result<Json<EdgeView>, Problem> {
    let LinkRequest { source, relation, target, weight, role } = body.value;
    let weight = weight.map(Milli::new).transpose().map_err(|e| Problem::invalid(e.to_string()))?;
    let role = role.map(|role| role.parse()).transpose()?;
    let message = LinkEntities { caller, source, relation: relation.parse()?, target, weight, role };
    Ok(Json(served.node.entities.ask(message, QUICK).await?))
}

/// Which edge.
#[derive(Debug, Deserialize, IntoParams)]
pub struct Ends {
    /// Where it begins.
    pub source: String,
    /// What it says.
    pub relation: String,
    /// Where it ends.
    pub target: String,
}

/// Takes an edge away. Operator only.
#[utoipa::path(tag = "entities", params(Ends), responses((status = 200, body = Done), (status = 400, body = Problem), (status = 403, body = Problem), (status = 404, body = Problem)))]
#[delete("/v1/edges")]
async fn unlink(served: Data<Served>, Operator(caller): Operator, ends: Query<Ends>) -> Result<Json<Done>, Problem> {
    let Ends { source, relation, target } = ends.into_inner();
    let relation: Relation = relation.parse()?;
    served.node.entities.ask(UnlinkEntities { caller, source, relation, target }, QUICK).await?;
    Ok(Json(Done { done: true }))
}

/// From what to fill the graph.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PopulateRequest {
    /// The absolute path of a workspace on the node's machine; without it, from the people of the node alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dir: Option<String>,
    /// The project's name, where it is not that of the folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The team that owns the project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub team: Option<String>,
}

/// Fills the graph from facts: the node's people, teams and departments, and the packages and history of a workspace.
/// Operator only.
#[utoipa::path(tag = "entities", request_body = PopulateRequest, responses((status = 200, body = PopulatedView), (status = 400, body = Problem), (status = 403, body = Problem)))]
#[post("/v1/entities/populate")]
async fn populate(
    served: Data<Served>,
    Operator(caller): Operator,
    body: Body<PopulateRequest>,
) -> Result<Json<PopulatedView>, Problem> {
    let PopulateRequest { dir, name, team } = body.value;
    let dir = dir.map(PathBuf::from);
    if let Some(dir) = dir.as_ref().filter(|dir| !dir.is_absolute()) {
        return Err(Problem::invalid(format!("`{}` is not an absolute path", dir.display())));
    }
    let message = PopulateGraph { by: caller.label(), dir, name, team };
    Ok(Json(served.node.entities.ask(message, LONG).await?))
}
