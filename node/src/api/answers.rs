//! Answers: given, kept, and looked at again.

use actix_web::web::{Data, Json, Path, Query, ServiceConfig};
use actix_web::{get, post};
use plumb_actors::grounding::{AnswerQuestion, ListAnswers, ShowAnswer};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::asking::Peers;
use super::envelope::{AnswerReply, SavedAnswerReply};
use super::{Page, QUICK, check_query, peers_deadline, with_peers};
use crate::problem::Problem;
use crate::serve::{Asker, Body, Served};

/// The routes.
pub fn routes(config: &mut ServiceConfig) {
    config.service(answer).service(grounded).service(list).service(show);
}

/// What to answer.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AnswerRequest {
    /// The question.
    pub query: String,
    /// Whether peers are asked too, and which.
    #[serde(default)]
    pub peers: Peers,
    /// What for, in a few words: peers that are asked are told, and write it down.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub purpose: Option<String>,
    /// How long peers have, in milliseconds; otherwise 3000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_ms: Option<u64>,
    /// Whether the answer is kept: sealed as a bundle, and flagged when its evidence is withdrawn.
    #[serde(default)]
    pub save: bool,
}

/// Answers a question from evidence, or abstains.
#[utoipa::path(
    tag = "ask",
    request_body = AnswerRequest,
    responses(
        (status = 200, description = "An answer, or an abstention", body = AnswerReply),
        (status = 400, body = Problem), (status = 401, body = Problem),
        (status = 503, body = Problem), (status = 504, body = Problem),
    )
)]
#[post("/v1/answer")]
async fn answer(
    served: Data<Served>,
    Asker(caller): Asker,
    body: Body<AnswerRequest>,
) -> Result<Json<AnswerReply>, Problem> {
    let AnswerRequest { query, peers, purpose, deadline_ms, save } = body.value;
    check_query(&query)?;
    let deadline = peers_deadline(deadline_ms)?;
    let message = AnswerQuestion { caller, query, peers: peers.ask(purpose), deadline, save };
    Ok(Json(served.node.grounding.ask(message, with_peers(deadline)).await?.into()))
}

/// The question of a `GET`.
#[derive(Debug, Deserialize, IntoParams)]
pub struct Asked {
    /// The question.
    pub q: String,
    /// Whether peers are asked too: `true`, `auto`, `all`, or how many.
    pub peers: Option<String>,
    /// How long peers have, in milliseconds; otherwise 3000.
    pub deadline_ms: Option<u64>,
}

/// The same as `POST /v1/answer`, without keeping anything.
#[utoipa::path(tag = "ask", params(Asked), responses((status = 200, body = AnswerReply), (status = 400, body = Problem), (status = 401, body = Problem)))]
#[get("/v1/grounded")]
async fn grounded(
    served: Data<Served>,
    Asker(caller): Asker,
    asked: Query<Asked>,
) -> Result<Json<AnswerReply>, Problem> {
    let Asked { q, peers, deadline_ms } = asked.into_inner();
    check_query(&q)?;
    let deadline = peers_deadline(deadline_ms)?;
    let peers = Peers::parse(peers.as_deref().unwrap_or("false")).map_err(Problem::invalid)?;
    let message = AnswerQuestion { caller, query: q, peers: peers.ask(None), deadline, save: false };
    Ok(Json(served.node.grounding.ask(message, with_peers(deadline)).await?.into()))
}

/// Lists the saved answers that the caller may read, newest first, as they stand now.
#[utoipa::path(tag = "ask", params(Page), responses((status = 200, body = Vec<SavedAnswerReply>), (status = 401, body = Problem)))]
#[get("/v1/answers")]
async fn list(
    served: Data<Served>,
    Asker(caller): Asker,
    page: Query<Page>,
) -> Result<Json<Vec<SavedAnswerReply>>, Problem> {
    let saved = served.node.grounding.ask(ListAnswers { caller, limit: page.limit() }, QUICK).await?;
    Ok(Json(saved.into_iter().map(SavedAnswerReply::from).collect()))
}

/// Shows a saved answer as it stands now: with what was withdrawn since.
#[utoipa::path(tag = "ask", params(("id" = String, Path, description = "The CID of its bundle, or `last`")), responses((status = 200, body = SavedAnswerReply), (status = 404, body = Problem)))]
#[get("/v1/answers/{id}")]
async fn show(served: Data<Served>, Asker(caller): Asker, id: Path<String>) -> Result<Json<SavedAnswerReply>, Problem> {
    Ok(Json(served.node.grounding.ask(ShowAnswer { caller, bundle: id.into_inner() }, QUICK).await?.into()))
}
