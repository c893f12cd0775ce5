//! The organisations that this node trusts.

use actix_web::web::{Data, Json, Path, ServiceConfig};
use actix_web::{delete, get, post};
use plumb_actors::federation::{DistrustOrganisation, ListTrusted, TrustOrganisation, TrustedView};
use plumb_core::identity::OrgId;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Done, QUICK, WORK};
use crate::problem::Problem;
use crate::serve::{Body, Operator, Served};

/// Longest name for an organisation.
const NAME_BYTES_MAX: usize = 200;

/// The routes.
pub fn routes(config: &mut ServiceConfig) {
    config.service(list).service(add).service(remove);
}

/// Lists the organisations that are trusted, the own one first. Operator only.
#[utoipa::path(tag = "trust", responses((status = 200, body = Vec<TrustedView>), (status = 403, body = Problem)))]
#[get("/v1/trust")]
async fn list(served: Data<Served>, _operator: Operator) -> Result<Json<Vec<TrustedView>>, Problem> {
    Ok(Json(served.node.federation.ask(ListTrusted, QUICK).await?))
}

/// Whom to trust.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TrustRequest {
    /// The organisation's root: a `did:key`.
    pub org: String,
    /// A name for it.
    pub name: String,
}

/// Trusts an organisation: its nodes are admitted from now on. Operator only.
#[utoipa::path(tag = "trust", request_body = TrustRequest, responses((status = 200, body = Done), (status = 400, body = Problem), (status = 403, body = Problem)))]
#[post("/v1/trust")]
async fn add(
    served: Data<Served>,
    Operator(caller): Operator,
    body: Body<TrustRequest>,
) -> Result<Json<Done>, Problem> {
    let TrustRequest { org, name } = body.value;
    if name.trim().is_empty() || name.len() > NAME_BYTES_MAX || name.chars().any(char::is_control) {
        return Err(Problem::invalid(format!(
            "the name of an organisation has 1 to {NAME_BYTES_MAX} bytes on one line"
        )));
    }
    let message = TrustOrganisation { by: caller.label(), org: org.parse::<OrgId>()?, name };
    served.node.federation.ask(message, WORK).await?;
    Ok(Json(Done { done: true }))
}

/// Trusts an organisation no more: its nodes are disconnected and refused. Operator only.
#[utoipa::path(tag = "trust", params(("org" = String, Path)), responses((status = 200, body = Done), (status = 403, body = Problem), (status = 404, body = Problem)))]
#[delete("/v1/trust/{org}")]
async fn remove(served: Data<Served>, Operator(caller): Operator, org: Path<String>) -> Result<Json<Done>, Problem> {
    let message = DistrustOrganisation { by: caller.label(), org: org.parse::<OrgId>()? };
    served.node.federation.ask(message, WORK).await?;
    Ok(Json(Done { done: true }))
}
