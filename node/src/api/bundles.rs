//! Bundles: out, checked, in.

use actix_web::web::{Data, Json, Path, Query, ServiceConfig};
use actix_web::{HttpResponse, get, post};
use plumb_actors::grounding::{ExportBundle, ImportBundle, ImportView, VerdictView, VerifyBundle};

use serde::Deserialize;
use utoipa::IntoParams;

use super::WORK;
use crate::problem::Problem;
use crate::serve::{Asker, Bundle, Served};

/// The media type of a bundle file.
pub const MEDIA_TYPE: &str = "application/vnd.ipld.car";

/// The routes.
pub fn routes(config: &mut ServiceConfig) {
    config.service(export).service(verify).service(import);
}

/// Gives the file of a saved or imported bundle: CAR v1, which standard IPLD tools read.
#[utoipa::path(
    tag = "bundles",
    params(("id" = String, Path, description = "The CID of the bundle, or `last`")),
    responses((status = 200, body = Vec<u8>, content_type = "application/vnd.ipld.car"), (status = 404, body = Problem))
)]
#[get("/v1/bundles/{id}")]
async fn export(served: Data<Served>, Asker(caller): Asker, id: Path<String>) -> Result<HttpResponse, Problem> {
    let car = served.node.grounding.ask(ExportBundle { caller, bundle: id.into_inner() }, WORK).await?;
    Ok(HttpResponse::Ok()
        .content_type(MEDIA_TYPE)
        .insert_header(("x-content-type-options", "nosniff"))
        .insert_header(("content-disposition", "attachment; filename=\"bundle.car\""))
        .body(car))
}

/// Verifies a bundle file against what this node knows. A file that is not authentic is a verdict, not an error.
#[utoipa::path(
    tag = "bundles",
    request_body(content = Vec<u8>, content_type = "application/vnd.ipld.car"),
    responses((status = 200, body = VerdictView), (status = 401, body = Problem), (status = 413, body = Problem))
)]
#[post("/v1/bundles/verify")]
async fn verify(served: Data<Served>, _asker: Asker, bundle: Bundle) -> Result<Json<VerdictView>, Problem> {
    Ok(Json(served.node.grounding.ask(VerifyBundle { car: bundle.0 }, WORK).await?))
}

/// Who passed a file on.
#[derive(Debug, Deserialize, IntoParams)]
pub struct PassedOn {
    /// The node that passed the file on, if it is another than its issuer: a `did:key`.
    pub from: Option<String>,
}

/// Takes a bundle in: its evidence becomes searchable here, and a receipt goes to whoever issued it and to whoever passed
/// it on.
#[utoipa::path(
    tag = "bundles",
    params(PassedOn),
    request_body(content = Vec<u8>, content_type = "application/vnd.ipld.car"),
    responses((status = 200, body = ImportView), (status = 400, body = Problem), (status = 403, body = Problem), (status = 413, body = Problem))
)]
#[post("/v1/bundles/import")]
async fn import(
    served: Data<Served>,
    Asker(caller): Asker,
    passed_on: Query<PassedOn>,
    bundle: Bundle,
) -> Result<Json<ImportView>, Problem> {
    let parse = |did: &String| did.parse().map_err(|_| Problem::invalid(format!("`{did}` is no did:key of a node")));
    let from = passed_on.from.as_ref().map(parse).transpose()?;
    Ok(Json(served.node.grounding.ask(ImportBundle { caller, car: bundle.0, from }, WORK).await?))
}
