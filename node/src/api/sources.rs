//! Sources, and the blocks that they are made of.

use actix_web::web::{Data, Json, Path, Query, ServiceConfig};
use actix_web::{HttpResponse, delete, get};
use plumb_actors::ingestion::{ListSources, RemoveSource, RemovedView, SourceView};
use plumb_actors::retrieval::ReadBlock;
use plumb_core::content::{DAG_CBOR, parse_cid};
use serde::Deserialize;
use utoipa::IntoParams;

use super::{Page, QUICK};
use crate::problem::Problem;
use crate::serve::{Asker, Served};

/// The routes.
pub fn routes(config: &mut ServiceConfig) {
    config.service(list).service(remove).service(block);
}

/// Which sources.
#[derive(Debug, Deserialize, IntoParams)]
pub struct Which {
    /// Only this one: a CID, an address or the end of one.
    pub name: Option<String>,
    /// Behind this address, to go on with a list.
    pub after: Option<String>,
    /// At most so many; 50 where nobody says, and never more than 1000.
    pub limit: Option<usize>,
}

/// Lists the sources that the caller may read, by address.
#[utoipa::path(tag = "sources", params(Which), responses((status = 200, body = Vec<SourceView>), (status = 401, body = Problem)))]
#[get("/v1/sources")]
async fn list(
    served: Data<Served>,
    Asker(caller): Asker,
    which: Query<Which>,
) -> Result<Json<Vec<SourceView>>, Problem> {
    let Which { name, after, limit } = which.into_inner();
    let message = ListSources { caller, name, after, limit: Page { limit }.limit() };
    Ok(Json(served.node.ingestion.ask(message, QUICK).await?))
}

/// How to remove.
#[derive(Debug, Deserialize, IntoParams)]
pub struct Removal {
    /// Say what would happen, and change nothing.
    #[serde(default)]
    pub dry_run: bool,
}

/// Removes a source from this node: it is found no more, and its bytes go unless another source or a saved answer needs
/// them. For the operator, and for who brought it in. Nodes that hold it are not told: a retraction does that.
#[utoipa::path(
    tag = "sources",
    params(("cid" = String, Path), Removal),
    responses(
        (status = 200, body = RemovedView),
        (status = 401, body = Problem),
        (status = 403, body = Problem),
        (status = 404, body = Problem),
    )
)]
#[delete("/v1/sources/{cid}")]
async fn remove(
    served: Data<Served>,
    Asker(caller): Asker,
    cid: Path<String>,
    removal: Query<Removal>,
) -> Result<Json<RemovedView>, Problem> {
    let message = RemoveSource { caller, source: cid.into_inner(), dry_run: removal.dry_run };
    Ok(Json(served.node.ingestion.ask(message, QUICK).await?))
}

/// Gives a block as its bytes, if the caller may read what it belongs to. A block that may not be read is absent.
#[utoipa::path(
    tag = "sources",
    params(("cid" = String, Path)),
    responses(
        (status = 200, body = Vec<u8>, content_type = "application/vnd.ipld.raw"),
        (status = 404, body = Problem),
    )
)]
#[get("/v1/blocks/{cid}")]
async fn block(served: Data<Served>, Asker(caller): Asker, cid: Path<String>) -> Result<HttpResponse, Problem> {
    let cid = parse_cid(&cid).map_err(|e| Problem::invalid(e.to_string()))?;
    let block = served.node.retrieval.ask(ReadBlock { caller, cid }, QUICK).await?;
    let media_type =
        if block.cid.codec() == DAG_CBOR { "application/vnd.ipld.dag-cbor" } else { "application/vnd.ipld.raw" };
    Ok(HttpResponse::Ok()
        .content_type(media_type)
        .insert_header(("etag", format!("\"{}\"", block.cid)))
        // The bytes are anybody's: a browser must not take them for a page of this server.
        .insert_header(("x-content-type-options", "nosniff"))
        .insert_header(("content-disposition", format!("attachment; filename=\"{}.bin\"", block.cid)))
        .body(block.bytes))
}
