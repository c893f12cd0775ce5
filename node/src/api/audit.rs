//! The two logs: the private audit log, and the head of the public one.

use actix_web::web::{Data, Json, Query, ServiceConfig};
use actix_web::{HttpResponse, get, post};
use plumb_actors::audit::{AuditEventView, AuditVerdictView, ListEvents, VerifyAudit};
use plumb_actors::federation::OwnCheckpoint;
use serde::Deserialize;
use utoipa::IntoParams;

use super::{LONG, Page, QUICK};
use crate::problem::Problem;
use crate::serve::{Asker, Operator, Served};

/// The routes.
pub fn routes(config: &mut ServiceConfig) {
    config.service(list).service(verify).service(checkpoint);
}

/// Which events.
#[derive(Debug, Deserialize, IntoParams)]
pub struct Which {
    /// Only events whose action begins with this.
    pub action: Option<String>,
    /// Before this index, to go on with a list.
    pub before: Option<u64>,
    /// At most so many; 50 where nobody says, and never more than 1000.
    pub limit: Option<usize>,
}

/// Lists audit events, newest first. Operator only.
#[utoipa::path(tag = "audit", params(Which), responses((status = 200, body = Vec<AuditEventView>), (status = 403, body = Problem)))]
#[get("/v1/audit")]
async fn list(
    served: Data<Served>,
    _operator: Operator,
    which: Query<Which>,
) -> Result<Json<Vec<AuditEventView>>, Problem> {
    let Which { action, before, limit } = which.into_inner();
    let message = ListEvents { action, before, limit: Page { limit }.limit() };
    Ok(Json(served.node.audit.ask(message, QUICK).await?))
}

/// Hashes every audit event again and compares the root. Operator only.
#[utoipa::path(tag = "audit", responses((status = 200, body = AuditVerdictView), (status = 403, body = Problem)))]
#[post("/v1/audit/verify")]
async fn verify(served: Data<Served>, _operator: Operator) -> Result<Json<AuditVerdictView>, Problem> {
    Ok(Json(served.node.audit.ask(VerifyAudit, LONG).await?))
}

/// The signed head of this node's public log, as a C2SP checkpoint.
#[utoipa::path(tag = "audit", responses((status = 200, body = String, content_type = "text/plain"), (status = 401, body = Problem)))]
#[get("/v1/log/checkpoint")]
async fn checkpoint(served: Data<Served>, _asker: Asker) -> Result<HttpResponse, Problem> {
    let note = served.node.federation.ask(OwnCheckpoint, QUICK).await?;
    Ok(HttpResponse::Ok().content_type("text/plain; charset=utf-8").body(note))
}
