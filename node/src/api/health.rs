//! Whether the node lives, whether it takes work, and how it works.

use actix_web::web::{self, Data, ServiceConfig};
use actix_web::{HttpRequest, HttpResponse, get};
use plumb_actors::supervisor::{HealthView, ShowHealth};
use serde::Serialize;
use utoipa::ToSchema;

use super::QUICK;
use crate::metrics;
use crate::problem::{Problem, Reason};
use crate::serve::{Entrance, Served};

/// The routes.
pub fn routes(config: &mut ServiceConfig) {
    config.service(live).service(ready).service(show_metrics);
}

/// The process answers.
#[derive(Serialize, ToSchema)]
pub struct LiveView {
    /// Always true.
    pub live: bool,
}

/// Whether the process lives. Nothing is looked at: a node that is busy must not be killed for it.
#[utoipa::path(tag = "health", responses((status = 200, body = LiveView)))]
#[get("/health/live")]
async fn live() -> HttpResponse {
    HttpResponse::Ok().json(LiveView { live: true })
}

/// Whether the node takes work: every actor is alive and the store takes writes.
#[utoipa::path(tag = "health", responses((status = 200, body = HealthView), (status = 503, body = HealthView)))]
#[get("/health/ready")]
async fn ready(served: Data<Served>) -> Result<HttpResponse, Problem> {
    let health = served.node.supervisor.ask(ShowHealth, QUICK).await?;
    let mut response = if health.ready { HttpResponse::Ok() } else { HttpResponse::ServiceUnavailable() };
    Ok(response.json(health))
}

/// How the node works, as OpenMetrics text. What it holds is counted for the operator only.
#[utoipa::path(tag = "health", responses((status = 200, body = String, content_type = "application/openmetrics-text")))]
#[get("/metrics")]
async fn show_metrics(request: HttpRequest, served: Data<Served>) -> Result<HttpResponse, Problem> {
    let health = served.node.supervisor.ask(ShowHealth, QUICK).await?;
    let node = served.node.clone();
    let (store, index) = web::block(move || node.counters())
        .await
        .map_err(|_| Problem::new(Reason::Internal, "the counters cannot be read"))??;
    let operator = Entrance::of(&request) == Entrance::Socket;
    let text = served
        .metrics
        .render(&health, &store, &index, operator)
        .map_err(|_| Problem::new(Reason::Internal, "the metrics cannot be written"))?;
    Ok(HttpResponse::Ok().content_type(metrics::MEDIA_TYPE).body(text))
}
