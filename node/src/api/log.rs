//! The public log as others read it: C2SP `tlog-tiles`, proofs, and what the operator decides about it.
//!
//! The checkpoint, the tiles of hashes and the proofs are open to anybody who reaches the port: they show that the log
//! only grows, and nothing of what is in it. Entries take a token like everything else, for a notice may concern
//! evidence that is not public (docs/decisions/0007-the-log-over-http.md).

use actix_web::http::header;
use actix_web::web::{Data, Json, Path, Query, ServiceConfig};
use actix_web::{HttpResponse, get, post};
use multibase::Base;
use plumb_actors::audit::{
    ConsistencyView, EntryName, ExportFork, ForkView, InclusionView, ListForks, LogStatusView, ProveConsistency,
    ProveInclusion, ReadEntry, ReadTile, ShowLog,
};
use plumb_actors::federation::{LiftFork, OwnCheckpoint, ResumeLog};
use plumb_core::identity::NodeId;
use plumb_core::log::{Hash, TilePath};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::{Done, QUICK, WORK};
use crate::problem::{Problem, Reason};
use crate::serve::{Asker, Body, Operator, Served};

/// A tile never changes, so it may be kept for ever: a year, as caches count.
const FOR_EVER: &str = "public, max-age=31536000, immutable";
/// The same for what takes a token.
const FOR_EVER_PRIVATE: &str = "private, max-age=31536000, immutable";
/// The checkpoint moves with every entry.
const BRIEFLY: &str = "public, max-age=2";

/// The media type of tiles.
const BYTES: &str = "application/octet-stream";

/// The routes. That of bundles comes before that of tiles, whose pattern it fits too.
pub fn routes(config: &mut ServiceConfig) {
    config
        .service(checkpoint)
        .service(bundle)
        .service(tile)
        .service(entry)
        .service(inclusion)
        .service(consistency)
        .service(status)
        .service(resume)
        .service(forks)
        .service(fork)
        .service(lift);
}

/// Whether a path shows hashes of the log and nothing of what is in it.
pub fn is_open(path: &str) -> bool {
    let is_tile = path.starts_with("/v1/log/tile/") && !path.starts_with("/v1/log/tile/entries/");
    is_tile || path == "/v1/log/checkpoint" || path.starts_with("/v1/log/proof/")
}

/// The signed head of this node's public log, as a C2SP checkpoint with the cosignatures of its witnesses. Open to
/// anybody.
#[utoipa::path(tag = "log", security(()), responses((status = 200, body = String, content_type = "text/plain"), (status = 404, body = Problem)))]
#[get("/v1/log/checkpoint")]
async fn checkpoint(served: Data<Served>) -> Result<HttpResponse, Problem> {
    let note = served.node.federation.ask(OwnCheckpoint, QUICK).await?;
    let mut response = HttpResponse::Ok();
    response.insert_header((header::CACHE_CONTROL, BRIEFLY)).content_type("text/plain; charset=utf-8");
    Ok(response.body(note))
}

async fn read_tile(served: &Served, path: &str, cached: &'static str) -> Result<HttpResponse, Problem> {
    let path: TilePath = path.parse().map_err(|e| Problem::invalid(format!("{e}")))?;
    let bytes = served.node.audit.ask(ReadTile { path }, QUICK).await?;
    let mut response = HttpResponse::Ok();
    response.insert_header((header::CACHE_CONTROL, cached)).content_type(BYTES);
    Ok(response.body(bytes))
}

/// A tile of hashes (C2SP tlog-tiles): `{L}/{N}` or `{L}/{N}.p/{W}`, with N as in `x001/x234/067`. Open to anybody.
#[utoipa::path(
    tag = "log",
    security(()),
    params(("path" = String, Path)),
    responses(
        (status = 200, body = Vec<u8>, content_type = "application/octet-stream"),
        (status = 400, body = Problem), (status = 404, body = Problem),
    )
)]
#[get("/v1/log/tile/{path:.*}")]
async fn tile(served: Data<Served>, path: Path<String>) -> Result<HttpResponse, Problem> {
    // An encoded slash passes the router and means a bundle of entries all the same.
    if path.parse::<TilePath>().is_ok_and(|path| path.level.is_none()) {
        return Err(Problem::new(Reason::NotFound, format!("tile/{path} is no tile of hashes")));
    }
    read_tile(&served, &path, FOR_EVER).await
}

/// A bundle of entries (C2SP tlog-tiles): each behind its length in two bytes. An entry of more than 65535 bytes fits
/// into none; then this is 413, and `/v1/log/entry/{index}` gives each of them.
#[utoipa::path(
    tag = "log",
    params(("path" = String, Path)),
    responses(
        (status = 200, body = Vec<u8>, content_type = "application/octet-stream"), (status = 400, body = Problem),
        (status = 401, body = Problem), (status = 404, body = Problem), (status = 413, body = Problem),
    )
)]
#[get("/v1/log/tile/entries/{path:.*}")]
async fn bundle(served: Data<Served>, _asker: Asker, path: Path<String>) -> Result<HttpResponse, Problem> {
    read_tile(&served, &format!("entries/{path}"), FOR_EVER_PRIVATE).await
}

/// One entry of the log as it is hashed (DAG-CBOR), of whatever length.
#[utoipa::path(
    tag = "log",
    params(("index" = u64, Path)),
    responses(
        (status = 200, body = Vec<u8>, content_type = "application/cbor"),
        (status = 401, body = Problem), (status = 404, body = Problem),
    )
)]
#[get("/v1/log/entry/{index}")]
async fn entry(served: Data<Served>, _asker: Asker, index: Path<u64>) -> Result<HttpResponse, Problem> {
    let bytes = served.node.audit.ask(ReadEntry { index: *index }, QUICK).await?;
    let mut response = HttpResponse::Ok();
    response.insert_header((header::CACHE_CONTROL, FOR_EVER_PRIVATE)).content_type("application/cbor");
    Ok(response.body(bytes))
}

/// What is to be proved to be in the log.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub struct InclusionOf {
    /// The entry, by its index.
    pub index: Option<u64>,
    /// Or by its leaf hash, base64 or hex.
    pub leaf: Option<String>,
    /// In the log of the first so many entries; otherwise in the whole log.
    pub size: Option<u64>,
}

/// Proves that an entry is in the log (RFC 6962). Open to anybody.
#[utoipa::path(tag = "log", security(()), params(InclusionOf), responses((status = 200, body = InclusionView), (status = 400, body = Problem), (status = 404, body = Problem)))]
#[get("/v1/log/proof/inclusion")]
async fn inclusion(served: Data<Served>, of: Query<InclusionOf>) -> Result<Json<InclusionView>, Problem> {
    let named = match (of.index, &of.leaf) {
        (Some(index), None) => EntryName::Index(index),
        (None, Some(leaf)) => EntryName::Leaf(hash(leaf)?),
        _ => return Err(Problem::invalid("name one entry, by `index` or by `leaf`")),
    };
    Ok(Json(served.node.audit.ask(ProveInclusion { entry: named, size: of.size }, QUICK).await?))
}

/// A hash, in whichever alphabet it came.
fn hash(text: &str) -> Result<Hash, Problem> {
    [Base::Base16Lower, Base::Base64Pad, Base::Base64UrlPad, Base::Base64Url]
        .into_iter()
        .find_map(|base| Hash::try_from(base.decode(text).ok()?).ok())
        .ok_or_else(|| Problem::invalid("a leaf hash is 32 bytes, in hex or base64 (percent-encode its `+` and `/`)"))
}

/// Between which sizes.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub struct ConsistencyOf {
    /// From so many entries.
    pub from: u64,
    /// To so many; otherwise to the whole log.
    pub to: Option<u64>,
}

/// Proves that the log only grew (RFC 6962). Open to anybody.
#[utoipa::path(tag = "log", security(()), params(ConsistencyOf), responses((status = 200, body = ConsistencyView), (status = 400, body = Problem)))]
#[get("/v1/log/proof/consistency")]
async fn consistency(served: Data<Served>, of: Query<ConsistencyOf>) -> Result<Json<ConsistencyView>, Problem> {
    Ok(Json(served.node.audit.ask(ProveConsistency { from: of.from, to: of.to }, QUICK).await?))
}

/// How this node's public log stands, who has cosigned it, and which logs of others are held. Operator only.
#[utoipa::path(tag = "log", responses((status = 200, body = LogStatusView), (status = 403, body = Problem)))]
#[get("/v1/log/status")]
async fn status(served: Data<Served>, _operator: Operator) -> Result<Json<LogStatusView>, Problem> {
    Ok(Json(served.node.audit.ask(ShowLog, QUICK).await?))
}

/// What the operator decides.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ResumeRequest {
    /// That the operator knows that something of the own log is lost.
    pub accept_loss: bool,
}

/// Lets publishing go on although something of the own log is lost. Operator only.
#[utoipa::path(tag = "log", request_body = ResumeRequest, responses((status = 200, body = LogStatusView), (status = 403, body = Problem), (status = 409, body = Problem)))]
#[post("/v1/log/resume")]
async fn resume(
    served: Data<Served>,
    Operator(caller): Operator,
    body: Body<ResumeRequest>,
) -> Result<Json<LogStatusView>, Problem> {
    let ask = ResumeLog { by: caller.label(), accept_loss: body.value.accept_loss };
    served.node.federation.ask(ask, WORK).await?;
    Ok(Json(served.node.audit.ask(ShowLog, QUICK).await?))
}

/// Lists proofs that publishers showed two histories of their log. Operator only.
#[utoipa::path(tag = "log", responses((status = 200, body = Vec<ForkView>), (status = 403, body = Problem)))]
#[get("/v1/log/forks")]
async fn forks(served: Data<Served>, _operator: Operator) -> Result<Json<Vec<ForkView>>, Problem> {
    Ok(Json(served.node.audit.ask(ListForks, QUICK).await?))
}

/// Gives the proof against a publisher (DAG-CBOR): whoever has it can check it without a node. Operator only.
#[utoipa::path(
    tag = "log",
    params(("node" = String, Path)),
    responses(
        (status = 200, body = Vec<u8>, content_type = "application/cbor"),
        (status = 403, body = Problem), (status = 404, body = Problem),
    )
)]
#[get("/v1/log/forks/{node}/proof")]
async fn fork(served: Data<Served>, _operator: Operator, node: Path<String>) -> Result<HttpResponse, Problem> {
    let publisher: NodeId = node.parse()?;
    let bytes = served.node.audit.ask(ExportFork { publisher }, QUICK).await?;
    Ok(HttpResponse::Ok().content_type("application/cbor").body(bytes))
}

/// What the operator says about it.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LiftRequest {
    /// Why, in words; the audit log keeps it.
    #[serde(default)]
    pub note: String,
}

/// Ends the quarantine of a publisher. The proof against it is kept, and convicts it no more. Operator only.
#[utoipa::path(
    tag = "log",
    params(("node" = String, Path)),
    request_body = LiftRequest,
    responses((status = 200, body = Done), (status = 400, body = Problem), (status = 403, body = Problem), (status = 404, body = Problem))
)]
#[post("/v1/log/forks/{node}/lift")]
async fn lift(
    served: Data<Served>,
    Operator(caller): Operator,
    node: Path<String>,
    body: Body<LiftRequest>,
) -> Result<Json<Done>, Problem> {
    let ask = LiftFork { by: caller.label(), publisher: node.into_inner(), note: body.value.note };
    served.node.federation.ask(ask, WORK).await?;
    Ok(Json(Done { done: true }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_open_and_entries_are_not() {
        for path in ["/v1/log/checkpoint", "/v1/log/tile/0/000", "/v1/log/proof/inclusion"] {
            assert!(is_open(path), "{path}");
        }
        for path in [
            "/v1/log/tile/entries/000",
            "/v1/log/entry/0",
            "/v1/log/status",
            "/v1/log/forks",
            "/v1/log/resume",
            "/v1/log/checkpoint/x",
            "/v1/notices",
            "/v1/log/tile",
            "/v1/log/proof",
        ] {
            assert!(!is_open(path), "{path}");
        }
    }

    #[test]
    fn a_leaf_hash_is_read_in_each_alphabet() {
        let bytes = [0xfb; 32];
        for base in [Base::Base16Lower, Base::Base64Pad, Base::Base64UrlPad, Base::Base64Url] {
            assert_eq!(hash(&base.encode(bytes)).unwrap(), bytes);
        }
        for bad in ["", "00", "zz", &"0".repeat(66)] {
            assert!(hash(bad).is_err(), "{bad}");
        }
    }
}
