//! Bearer tokens.

use actix_web::web::{Data, Json, Path, ServiceConfig};
use actix_web::{delete, get, post};
use plumb_actors::supervisor::{CreateToken, ListTokens, NewTokenView, RevokeToken, TokenView};
use plumb_core::identity::EntityId;
use plumb_core::measure::Duration;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Done, QUICK};
use crate::problem::Problem;
use crate::serve::{Body, Operator, Served};

/// How long a token holds where nobody says otherwise.
pub const VALIDITY_DEFAULT: Duration = Duration::days(90);
/// Longest time that a token holds.
const VALIDITY_MAX: Duration = Duration::days(3660);
/// Longest label of a token.
const LABEL_BYTES_MAX: usize = 200;

/// The routes.
pub fn routes(config: &mut ServiceConfig) {
    config.service(list).service(create).service(revoke);
}

/// Lists tokens. Operator only.
#[utoipa::path(tag = "tokens", responses((status = 200, body = Vec<TokenView>), (status = 403, body = Problem)))]
#[get("/v1/tokens")]
async fn list(served: Data<Served>, _operator: Operator) -> Result<Json<Vec<TokenView>>, Problem> {
    Ok(Json(served.node.supervisor.ask(ListTokens, QUICK).await?))
}

/// For whom, and for how long.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TokenRequest {
    /// The person in whose name it is used; one of the node's people.
    pub person: String,
    /// What it is for.
    pub label: String,
    /// How long it holds, in milliseconds; otherwise 90 days.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub valid_ms: Option<u64>,
}

/// Makes a token. It is shown once; only its hash is kept. Operator only.
#[utoipa::path(tag = "tokens", request_body = TokenRequest, responses((status = 200, body = NewTokenView), (status = 400, body = Problem), (status = 403, body = Problem)))]
#[post("/v1/tokens")]
async fn create(
    served: Data<Served>,
    Operator(caller): Operator,
    body: Body<TokenRequest>,
) -> Result<Json<NewTokenView>, Problem> {
    let TokenRequest { person, label, valid_ms } = body.value;
    let person: EntityId = person.parse()?;
    if !served.people.contains(&person) {
        return Err(Problem::invalid(format!("`{person}` is not among the people of this node's plumb.toml")));
    }
    if label.len() > LABEL_BYTES_MAX || label.chars().any(char::is_control) {
        return Err(Problem::invalid(format!("a label has at most {LABEL_BYTES_MAX} bytes on one line")));
    }
    let validity = valid_ms.map_or(VALIDITY_DEFAULT, Duration);
    if validity.0 == 0 || validity > VALIDITY_MAX {
        return Err(Problem::invalid("a token holds for at least a moment and at most ten years"));
    }
    let message = CreateToken { by: caller.label(), person, label, validity };
    Ok(Json(served.node.supervisor.ask(message, QUICK).await?))
}

/// Revokes a token: from now on it is as good as none. Operator only.
#[utoipa::path(tag = "tokens", params(("id" = String, Path)), responses((status = 200, body = Done), (status = 403, body = Problem), (status = 404, body = Problem)))]
#[delete("/v1/tokens/{id}")]
async fn revoke(served: Data<Served>, Operator(caller): Operator, id: Path<String>) -> Result<Json<Done>, Problem> {
    let message = RevokeToken { by: caller.label(), id: id.into_inner() };
    served.node.supervisor.ask(message, QUICK).await?;
    Ok(Json(Done { done: true }))
}
