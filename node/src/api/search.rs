//! Searching.

use actix_web::post;
use actix_web::web::{Data, Json, ServiceConfig};
use plumb_actors::retrieval::{
    AssembleBlock, AssembleContext, BlockView, K_DEFAULT, K_MAX, SearchInStages, SearchView,
};
use plumb_core::retrieval::assembly::{BUDGET_API, BUDGET_MAX, TOP_K};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::asking::Peers;
use super::{WORK, check_query, peers_deadline, with_peers};
use crate::problem::Problem;
use crate::serve::{Asker, Body, Served};

/// The routes.
pub fn routes(config: &mut ServiceConfig) {
    config.service(search).service(context);
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

/// Searches what the caller may read, here and, if asked, at the peers. What is found here alone is placed by six stages:
/// intent, entities, scope weights, search, fusion, conflicts.
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
    if peers.ask(None).whom.is_none() {
        let message = SearchInStages { caller, query: query.clone(), k };
        return Ok(Json(served.node.retrieval.ask(message, WORK).await?.view(&query, explain)));
    }
    let message = AssembleContext { caller, query: query.clone(), k, peers: peers.ask(purpose), deadline };
    let found = served.node.retrieval.ask(message, with_peers(deadline)).await?;
    Ok(Json(found.view(&query, explain)))
}

/// For what a block of context is made.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct BlockRequest {
    /// The question.
    pub query: String,
    /// Most results: 1 to 20, otherwise 5. The other side of a contested one comes in addition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub k: Option<usize>,
    /// Most tokens, at four characters each: 1 to 20000, otherwise 1500.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<usize>,
}

/// Most results of a block.
const BLOCK_K_MAX: usize = 20;

/// Makes a block of context for a model out of what the caller may read on this node: each result on a line with its
/// type, who said it and how well it is supported; copies are folded, and what is contested comes with its other side.
#[utoipa::path(tag = "ask", request_body = BlockRequest, responses((status = 200, body = BlockView), (status = 400, body = Problem), (status = 401, body = Problem)))]
#[post("/v1/context")]
async fn context(
    served: Data<Served>,
    Asker(caller): Asker,
    body: Body<BlockRequest>,
) -> Result<Json<BlockView>, Problem> {
    let BlockRequest { query, k, max_tokens } = body.value;
    check_query(&query)?;
    let (k, max_tokens) = (k.unwrap_or(TOP_K), max_tokens.unwrap_or(BUDGET_API));
    if !(1..=BLOCK_K_MAX).contains(&k) || !(1..=BUDGET_MAX).contains(&max_tokens) {
        return Err(Problem::invalid(format!(
            "a block has 1 to {BLOCK_K_MAX} results and 1 to {BUDGET_MAX} tokens, not {k} and {max_tokens}"
        )));
    }
    Ok(Json(served.node.retrieval.ask(AssembleBlock { caller, query, k, max_tokens }, WORK).await?))
}
