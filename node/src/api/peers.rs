//! Peers: who is there, connecting, refusing.

use actix_web::web::{Data, Json, Query, ServiceConfig};
use actix_web::{get, post};
use plumb_actors::federation::{AwaitPeers, BlockPeer, ConnectPeer, ListPeers, PeersView, UnblockPeer};
use plumb_core::measure::Duration;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::{Done, QUICK, WORK, peers_deadline, with_peers};
use crate::problem::Problem;
use crate::serve::{Asker, Body, Operator, Served};

/// The routes.
pub fn routes(config: &mut ServiceConfig) {
    config.service(list).service(connect).service(block).service(unblock);
}

/// Whether to wait for peers.
#[derive(Debug, Deserialize, IntoParams)]
pub struct Await {
    /// Answer when so many peers are admitted, or the time is over.
    pub wait: Option<usize>,
    /// How long to wait, in milliseconds; otherwise 3000.
    pub deadline_ms: Option<u64>,
}

/// Shows this node among its peers.
#[utoipa::path(tag = "peers", params(Await), responses((status = 200, body = PeersView), (status = 401, body = Problem)))]
#[get("/v1/peers")]
async fn list(served: Data<Served>, _asker: Asker, wait: Query<Await>) -> Result<Json<PeersView>, Problem> {
    let peers = match wait.wait {
        None => served.node.federation.ask(ListPeers, QUICK).await?,
        Some(n) => {
            let deadline: Duration = peers_deadline(wait.deadline_ms)?;
            served.node.federation.ask(AwaitPeers { n, deadline }, with_peers(deadline)).await?
        }
    };
    Ok(Json(peers))
}

/// Whom to connect to.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ConnectRequest {
    /// A multiaddress, such as `/ip4/127.0.0.1/tcp/7412`.
    pub address: String,
}

/// Connects to another node. Operator only.
#[utoipa::path(tag = "peers", request_body = ConnectRequest, responses((status = 200, body = Done), (status = 400, body = Problem), (status = 403, body = Problem)))]
#[post("/v1/peers")]
async fn connect(served: Data<Served>, _operator: Operator, body: Body<ConnectRequest>) -> Result<Json<Done>, Problem> {
    served.node.federation.ask(ConnectPeer { address: body.value.address }, WORK).await?;
    Ok(Json(Done { done: true }))
}

/// Whom to refuse, or to refuse no more.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct BlockRequest {
    /// The node: a `did:key`.
    pub node: String,
}

/// Closes the connections to a node and refuses it from now on, also after a restart. Operator only.
#[utoipa::path(tag = "peers", request_body = BlockRequest, responses((status = 200, body = Done), (status = 400, body = Problem), (status = 403, body = Problem)))]
#[post("/v1/peers/block")]
async fn block(
    served: Data<Served>,
    Operator(caller): Operator,
    body: Body<BlockRequest>,
) -> Result<Json<Done>, Problem> {
    served.node.federation.ask(BlockPeer { by: caller.label(), node: body.value.node }, WORK).await?;
    Ok(Json(Done { done: true }))
}

/// Lets a blocked node connect again. Operator only.
#[utoipa::path(tag = "peers", request_body = BlockRequest, responses((status = 200, body = Done), (status = 400, body = Problem), (status = 403, body = Problem)))]
#[post("/v1/peers/unblock")]
async fn unblock(
    served: Data<Served>,
    Operator(caller): Operator,
    body: Body<BlockRequest>,
) -> Result<Json<Done>, Problem> {
    served.node.federation.ask(UnblockPeer { by: caller.label(), node: body.value.node }, WORK).await?;
    Ok(Json(Done { done: true }))
}
