//! Jobs: where an ingest stands.

use std::time::Duration;

use actix_web::web::{Bytes, Data, Json, Path, Query, ServiceConfig};
use actix_web::{HttpResponse, get, post};
use futures::stream::unfold;
use plumb_actors::Caller;
use plumb_actors::ingestion::{CancelJob, JobState, JobView, ListJobs, ShowJob};

use super::{Page, QUICK};
use crate::problem::Problem;
use crate::serve::{Asker, Served};

/// How often a job is looked at for its events.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// The routes.
pub fn routes(config: &mut ServiceConfig) {
    config.service(list).service(show).service(events).service(cancel);
}

/// Lists the caller's jobs, newest first.
#[utoipa::path(tag = "ingest", params(Page), responses((status = 200, body = Vec<JobView>), (status = 401, body = Problem)))]
#[get("/v1/jobs")]
async fn list(served: Data<Served>, Asker(caller): Asker, page: Query<Page>) -> Result<Json<Vec<JobView>>, Problem> {
    Ok(Json(served.node.ingestion.ask(ListJobs { caller, limit: page.limit() }, QUICK).await?))
}

/// Shows a job.
#[utoipa::path(tag = "ingest", params(("id" = String, Path)), responses((status = 200, body = JobView), (status = 404, body = Problem)))]
#[get("/v1/jobs/{id}")]
async fn show(served: Data<Served>, Asker(caller): Asker, id: Path<String>) -> Result<Json<JobView>, Problem> {
    Ok(Json(served.node.ingestion.ask(ShowJob { caller, id: id.into_inner() }, QUICK).await?))
}

/// Stops a job at its next source. What it took in stays.
#[utoipa::path(tag = "ingest", params(("id" = String, Path)), responses((status = 200, body = JobView), (status = 404, body = Problem)))]
#[post("/v1/jobs/{id}/cancel")]
async fn cancel(served: Data<Served>, Asker(caller): Asker, id: Path<String>) -> Result<Json<JobView>, Problem> {
    Ok(Json(served.node.ingestion.ask(CancelJob { caller, id: id.into_inner() }, QUICK).await?))
}

/// Follows a job (server-sent events): `stage` whenever something changed, `end` once, then the stream closes.
#[utoipa::path(
    tag = "ingest",
    params(("id" = String, Path)),
    responses((status = 200, body = String, content_type = "text/event-stream"), (status = 404, body = Problem))
)]
#[get("/v1/jobs/{id}/events")]
async fn events(served: Data<Served>, Asker(caller): Asker, id: Path<String>) -> Result<HttpResponse, Problem> {
    let id = id.into_inner();
    // The first look is part of the request: a job that is absent is a 404, not an empty stream.
    let first = look(&served, &caller, &id).await?;
    let stream = unfold(Follow::Tell(Box::new(first)), move |follow| {
        let (served, caller, id) = (served.clone(), caller.clone(), id.clone());
        async move {
            let job = match follow {
                Follow::Tell(job) => job,
                Follow::From(last) => Box::new(next_change(&served, &caller, &id, &last).await?),
                Follow::Over => return None,
            };
            let text = event(&job);
            let next = if job.state == JobState::Running { Follow::From(job) } else { Follow::Over };
            Some((Ok::<Bytes, Problem>(text), next))
        }
    });
    Ok(HttpResponse::Ok()
        .content_type("text/event-stream")
        .insert_header(("cache-control", "no-store"))
        .streaming(stream))
}

enum Follow {
    Tell(Box<JobView>),
    From(Box<JobView>),
    Over,
}

async fn look(served: &Served, caller: &Caller, id: &str) -> Result<JobView, Problem> {
    Ok(served.node.ingestion.ask(ShowJob { caller: caller.clone(), id: id.to_string() }, QUICK).await?)
}

/// Waits until the job is not as it was. `None` if it can no longer be looked at: the stream then just ends, and its
/// reader asks again.
async fn next_change(served: &Served, caller: &Caller, id: &str, last: &JobView) -> Option<JobView> {
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        let job = look(served, caller, id).await.ok()?;
        if job != *last {
            return Some(job);
        }
    }
}

fn event(job: &JobView) -> Bytes {
    let name = if job.state == JobState::Running { "stage" } else { "end" };
    let data = serde_json::to_string(job).expect("strings and numbers always encode");
    Bytes::from(format!("event: {name}\ndata: {data}\n\n"))
}
