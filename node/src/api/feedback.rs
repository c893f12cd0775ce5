//! Feedback: what became of what a search showed, and what is learned from it.

use actix_web::web::{Data, Json, ServiceConfig};
use actix_web::{delete, get, post};
use plumb_actors::retrieval::{FeedbackView, ForgetFeedback, GiveFeedback, LearnedView, ShowLearned};
use plumb_core::retrieval::assembly::Help;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::QUICK;
use crate::problem::Problem;
use crate::serve::{Asker, Body, Operator, Served};

/// The routes.
pub fn routes(config: &mut ServiceConfig) {
    config.service(give).service(show).service(forget);
}

/// What became of what a question was answered with. Chunks are named by their CIDs, as a search shows them.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct FeedbackRequest {
    /// The question, as it was asked.
    pub query: String,
    /// What was used: a fix that was applied, a passage that was cited.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub used: Vec<String>,
    /// What nobody did anything with.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub passed_over: Vec<String>,
    /// What turned out to be wrong.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub wrong: Vec<String>,
}

/// Says what became of what a question was answered with. The same person on the same question replaces what they said before.
#[utoipa::path(
    tag = "feedback",
    request_body = FeedbackRequest,
    responses(
        (status = 200, body = FeedbackView),
        (status = 400, body = Problem),
        (status = 401, body = Problem),
        (status = 404, body = Problem),
    )
)]
#[post("/v1/feedback")]
async fn give(
    served: Data<Served>,
    Asker(caller): Asker,
    body: Body<FeedbackRequest>,
) -> Result<Json<FeedbackView>, Problem> {
    let FeedbackRequest { query, used, passed_over, wrong } = body.value;
    let with = |names: Vec<String>, help: Help| names.into_iter().map(move |name| (name, help));
    let shown = with(used, Help::Used).chain(with(passed_over, Help::PassedOver)).chain(with(wrong, Help::Wrong));
    let message = GiveFeedback { caller, query, shown: shown.collect() };
    Ok(Json(served.node.retrieval.ask(message, QUICK).await?))
}

/// Shows what was learned from feedback on what the caller may read.
#[utoipa::path(tag = "feedback", responses((status = 200, body = LearnedView), (status = 401, body = Problem)))]
#[get("/v1/feedback")]
async fn show(served: Data<Served>, Asker(caller): Asker) -> Result<Json<LearnedView>, Problem> {
    Ok(Json(served.node.retrieval.ask(ShowLearned { caller }, QUICK).await?))
}

/// How much was forgotten.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Forgotten {
    /// Events of feedback.
    pub events: u64,
}

/// Forgets all feedback, and with it everything that was learned. Operator only.
#[utoipa::path(tag = "feedback", responses((status = 200, body = Forgotten), (status = 403, body = Problem)))]
#[delete("/v1/feedback")]
async fn forget(served: Data<Served>, Operator(caller): Operator) -> Result<Json<Forgotten>, Problem> {
    let events = served.node.retrieval.ask(ForgetFeedback { by: caller.label() }, QUICK).await?;
    Ok(Json(Forgotten { events }))
}
