//! Gravity: what would rise.

use actix_web::get;
use actix_web::web::{Data, Json, ServiceConfig};
use plumb_actors::gravity::{GravityView, PlanPromotions};

use super::LONG;
use crate::problem::Problem;
use crate::serve::{Operator, Served};

/// The routes.
pub fn routes(config: &mut ServiceConfig) {
    config.service(plan);
}

/// Says what independent corroboration would let rise, and what holds the rest. Operator only.
#[utoipa::path(tag = "gravity", responses((status = 200, body = GravityView), (status = 403, body = Problem)))]
#[get("/v1/gravity")]
async fn plan(served: Data<Served>, _operator: Operator) -> Result<Json<GravityView>, Problem> {
    Ok(Json(served.node.gravity.ask(PlanPromotions { fresh: true }, LONG).await?))
}
