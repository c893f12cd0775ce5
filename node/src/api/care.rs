//! Looking after the node.

use actix_web::web::{Data, Json, ServiceConfig};
use actix_web::{get, post};
use plumb_actors::supervisor::{Compact, CompactView, DoctorView, Examine, Rebuild, RebuildView};

use super::LONG;
use crate::problem::Problem;
use crate::serve::{Operator, Served};

/// The routes.
pub fn routes(config: &mut ServiceConfig) {
    config.service(rebuild).service(compact).service(doctor);
}

/// Builds the text index anew from the store. Operator only.
#[utoipa::path(tag = "care", responses((status = 200, body = RebuildView), (status = 403, body = Problem)))]
#[post("/v1/rebuild")]
async fn rebuild(served: Data<Served>, Operator(caller): Operator) -> Result<Json<RebuildView>, Problem> {
    Ok(Json(served.node.supervisor.ask(Rebuild { by: caller.label() }, LONG).await?))
}

/// Gives the space of what was overwritten and removed back to the disk, while the node goes on. It needs room for a copy
/// of the store. Operator only.
#[utoipa::path(tag = "care", responses((status = 200, body = CompactView), (status = 403, body = Problem)))]
#[post("/v1/compact")]
async fn compact(served: Data<Served>, Operator(caller): Operator) -> Result<Json<CompactView>, Problem> {
    Ok(Json(served.node.supervisor.ask(Compact { by: caller.label() }, LONG).await?))
}

/// Examines the node: store, index, audit log, labels, clocks. Operator only.
#[utoipa::path(tag = "care", responses((status = 200, body = DoctorView), (status = 403, body = Problem)))]
#[get("/v1/doctor")]
async fn doctor(served: Data<Served>, _operator: Operator) -> Result<Json<DoctorView>, Problem> {
    Ok(Json(served.node.supervisor.ask(Examine, LONG).await?))
}
