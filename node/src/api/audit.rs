//! The private audit log.

use actix_web::web::{Data, Json, Query, ServiceConfig};
use actix_web::{get, post};
use plumb_actors::audit::{AuditEventView, AuditVerdictView, ListEvents, VerifyAudit};
use serde::Deserialize;
use utoipa::IntoParams;

use super::{LONG, Page, QUICK};
use crate::problem::Problem;
use crate::serve::{Operator, Served};

/// The routes.
pub fn routes(config: &mut ServiceConfig) {
    config.service(list).service(verify);
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
