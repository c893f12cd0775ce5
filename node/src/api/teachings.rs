//! Teachings: knowledge that is offered to peers, and what they offer.

use actix_web::http::StatusCode;
use actix_web::web::{Data, Json, Path, Query, ServiceConfig};
use actix_web::{HttpResponse, get, post};
use plumb_actors::federation::{ListTeachings, ResolveTeaching, SendTeachings, Teach, TeachingView};
use plumb_core::content::parse_cid;
use plumb_core::knowledge::KnowledgeType;
use plumb_core::measure::Milli;
use plumb_core::propagation::Resolution;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::{QUICK, WORK};
use crate::problem::Problem;
use crate::serve::{Asker, Body, Key, Operator, Served};

/// The routes.
pub fn routes(config: &mut ServiceConfig) {
    config.service(offer).service(list).service(send).service(resolve);
}

/// What to offer.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TeachRequest {
    /// A chunk by its CID, or a source by CID, address or end of address.
    pub target: String,
    /// decision, pattern, preference or error_fix.
    pub kind: String,
    /// How sure this node is, in thousandths; at least 850.
    pub confidence: u16,
    /// Whether a person validated it.
    #[serde(default)]
    pub validated: bool,
    /// How often it was seen.
    #[serde(default)]
    pub seen: u64,
}

/// How to decide.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ResolveRequest {
    /// accept, reject or context-dependent.
    pub resolution: String,
}

/// Which ones.
#[derive(Debug, Deserialize, IntoParams)]
pub struct Which {
    /// Only those that wait for a person.
    #[serde(default)]
    pub pending: bool,
}

/// Offers knowledge of this node to its peers. `Idempotency-Key` is honoured.
#[utoipa::path(
    tag = "teachings",
    request_body = TeachRequest,
    responses(
        (status = 200, body = Vec<TeachingView>), (status = 400, body = Problem), (status = 401, body = Problem),
        (status = 403, body = Problem), (status = 404, body = Problem),
    )
)]
#[post("/v1/teachings")]
async fn offer(
    served: Data<Served>,
    Asker(caller): Asker,
    key: Key,
    body: Body<TeachRequest>,
) -> Result<HttpResponse, Problem> {
    let TeachRequest { target, kind, confidence, validated, seen } = body.value;
    let kind: KnowledgeType = serde_json::from_value(kind.replace('-', "_").into())
        .map_err(|_| Problem::invalid(format!("`{kind}` is not decision, pattern, preference or error_fix")))?;
    let confidence = Milli::new(confidence).map_err(|e| Problem::invalid(e.to_string()))?;
    let message = Teach { caller: caller.clone(), target, kind, confidence, validated, seen };
    let work = async { Ok((StatusCode::OK, served.node.federation.ask(message, WORK).await?)) };
    served.replies.once(&caller, "teachings", key, body.digest, work).await
}

/// Lists teachings: those that came, and own ones. Operator only.
#[utoipa::path(tag = "teachings", params(Which), responses((status = 200, body = Vec<TeachingView>), (status = 403, body = Problem)))]
#[get("/v1/teachings")]
async fn list(
    served: Data<Served>,
    _operator: Operator,
    which: Query<Which>,
) -> Result<Json<Vec<TeachingView>>, Problem> {
    Ok(Json(served.node.federation.ask(ListTeachings { pending: which.pending }, QUICK).await?))
}

/// Sends what is due to every peer that is there now. Operator only.
#[utoipa::path(tag = "teachings", responses((status = 200, body = Vec<TeachingView>), (status = 403, body = Problem), (status = 503, body = Problem)))]
#[post("/v1/teachings/send")]
async fn send(served: Data<Served>, Asker(caller): Asker) -> Result<Json<Vec<TeachingView>>, Problem> {
    Ok(Json(served.node.federation.ask(SendTeachings { caller }, WORK).await?))
}

/// Decides about a teaching that waits. Operator only.
#[utoipa::path(
    tag = "teachings",
    params(("cid" = String, Path)),
    request_body = ResolveRequest,
    responses(
        (status = 200, body = TeachingView), (status = 400, body = Problem), (status = 403, body = Problem),
        (status = 404, body = Problem), (status = 409, body = Problem),
    )
)]
#[post("/v1/teachings/{cid}/resolve")]
async fn resolve(
    served: Data<Served>,
    Asker(caller): Asker,
    cid: Path<String>,
    body: Body<ResolveRequest>,
) -> Result<Json<TeachingView>, Problem> {
    let teaching = parse_cid(&cid).map_err(|e| Problem::invalid(e.to_string()))?;
    let resolution: Resolution = body.value.resolution.parse()?;
    Ok(Json(served.node.federation.ask(ResolveTeaching { caller, teaching, resolution }, WORK).await?))
}
