//! Searching.

use actix_web::post;
use actix_web::web::{Data, Json, ServiceConfig};
use plumb_actors::retrieval::{AssembleContext, K_DEFAULT, K_MAX, SearchView};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::asking::Peers;
use super::{check_query, peers_deadline, with_peers};
use crate::problem::Problem;
use crate::serve::{Asker, Body, Served};

/// The routes.
pub fn routes(config: &mut ServiceConfig) {
    config.service(search);
}

/// What to search for.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SearchRequest {
    /// The question. It is all words: nothing in it is an operator.
    pub query: String,
    /// At most so many results: 1 to 100, otherwise 10.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub k: Option<usize>,
    /// Whether peers are asked too, and which.
    #[serde(default)]
    pub peers: Peers,
    /// What for, in a few words: peers that are asked are told, and write it down.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub purpose: Option<String>,
    /// Whether every factor of each score is shown.
    #[serde(default)]
    pub explain: bool,
    /// How long peers have, in milliseconds; otherwise 3000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_ms: Option<u64>,
}

/// Searches what the caller may read, here and, if asked, at the peers.
#[utoipa::path(
    tag = "ask",
    request_body = SearchRequest,
    responses(
        (status = 200, body = SearchView), (status = 400, body = Problem), (status = 401, body = Problem),
        (status = 503, body = Problem), (status = 504, body = Problem),
    )
)]
#[post("/v1/search")]
async fn search(
    served: Data<Served>,
    Asker(caller): Asker,
    body: Body<SearchRequest>,
) -> Result<Json<SearchView>, Problem> {
    let SearchRequest { query, k, peers, purpose, explain, deadline_ms } = body.value;
    check_query(&query)?;
    let k = k.unwrap_or(K_DEFAULT);
    if !(1..=K_MAX).contains(&k) {
        return Err(Problem::invalid(format!("a search gives 1 to {K_MAX} results, not {k}")));
    }
    let deadline = peers_deadline(deadline_ms)?;
    let message = AssembleContext { caller, query: query.clone(), k, peers: peers.ask(purpose), deadline };
    let found = served.node.retrieval.ask(message, with_peers(deadline)).await?;
    Ok(Json(found.view(&query, explain)))
}
