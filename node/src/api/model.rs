//! The embedding model.

use actix_web::get;
use actix_web::web::{self, Data, Json, ServiceConfig};
use plumb_actors::meaning::MeaningView;

use crate::problem::{Problem, Reason};
use crate::serve::{Operator, Served};

/// The routes.
pub fn routes(config: &mut ServiceConfig) {
    config.service(show);
}

/// Says which model finds by meaning, and how far it has come. For the operator: it counts everything that is kept.
#[utoipa::path(
    tag = "care",
    responses((status = 200, body = MeaningView), (status = 401, body = Problem), (status = 403, body = Problem))
)]
#[get("/v1/model")]
async fn show(served: Data<Served>, _operator: Operator) -> Result<Json<MeaningView>, Problem> {
    let node = served.node.clone();
    let view = web::block(move || node.meaning()).await;
    Ok(Json(view.map_err(|_| Problem::new(Reason::Internal, "the state of the model cannot be read"))?))
}
