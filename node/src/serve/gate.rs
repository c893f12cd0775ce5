//! What every request passes: identification, a place among those that are worked on, a time limit, a line in the log
//! and in the metrics.

use std::time::Instant;

use actix_web::body::MessageBody;
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::middleware::Next;
use actix_web::{Error, HttpMessage, web};
use tracing::Instrument;

use super::{Entrance, Served, caller, trace};
use crate::api;
use crate::problem::{Problem, Reason};

/// When to come back after finding every place taken, in milliseconds.
const RETRY_AFTER_MS: u64 = 250;

/// Paths that anybody may ask for: they say whether the node lives, who it is, and what its routes are; nothing that it
/// holds.
fn is_open(path: &str) -> bool {
    matches!(path, "/health/live" | "/health/ready" | "/metrics" | "/v1/openapi.json" | "/docs" | api::did::PATH)
        || path.starts_with("/docs/")
}

/// Lets a request pass.
pub async fn pass(
    request: ServiceRequest,
    next: Next<impl MessageBody>,
) -> Result<ServiceResponse<impl MessageBody>, Error> {
    let Some(served) = request.app_data::<web::Data<Served>>().cloned() else {
        return Err(Problem::new(Reason::Internal, "the server was put together without its state").into());
    };
    let begun = Instant::now();
    let method = request.method().clone();
    let route = request.match_pattern().unwrap_or_else(|| "unmatched".to_string());
    let parent = request.headers().get("traceparent").and_then(|value| value.to_str().ok()).unwrap_or_default();
    let (trace_id, parent_id) = trace::parse(parent).unwrap_or_default();
    // The route, not the path and never the query: what somebody asked for does not belong in a log.
    let span = tracing::info_span!("request", %method, %route, trace_id, parent_id);

    let result = admit(request, next, &served).instrument(span.clone()).await;
    let status = match &result {
        Ok(response) => response.status(),
        Err(error) => error.as_response_error().status_code(),
    };
    let took = begun.elapsed();
    served.metrics.request(method.as_str(), &route, status.as_u16(), took);
    span.in_scope(|| tracing::info!(status = status.as_u16(), ms = took.as_millis() as u64, "answered"));
    result
}

async fn admit<B: MessageBody>(
    request: ServiceRequest,
    next: Next<B>,
    served: &Served,
) -> Result<ServiceResponse<B>, Error> {
    let entrance = Entrance::of(request.request());
    let limit = served.request_max(entrance);
    let work = async {
        if is_open(request.path()) {
            return next.call(request).await;
        }
        let Some(_place) = served.metrics.enter(served.limits.requests_max) else {
            return Err(Problem::new(Reason::Busy, "the node works on as many requests as it takes at once")
                .retry_after(RETRY_AFTER_MS)
                .into());
        };
        // Hashes of the public log are for anybody, but not without a place: making a proof is work.
        if api::log::is_open(request.path()) {
            return next.call(request).await;
        }
        let caller = caller::identify(request.request(), served).await?;
        request.extensions_mut().insert(caller);
        next.call(request).await
    };
    match tokio::time::timeout(limit, work).await {
        Ok(result) => result,
        Err(_) => {
            Err(Problem::new(Reason::DeadlinePassed, format!("no answer within {} ms", limit.as_millis())).into())
        }
    }
}
