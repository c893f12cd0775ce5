//! Bundles: listed, out, checked, in.

use actix_web::http::header::{ACCEPT, Accept, Header};
use actix_web::web::{Data, Json, Path, Query, ServiceConfig};
use actix_web::{HttpRequest, HttpResponse, get, post};
use plumb_actors::grounding::{
    BundleView, ExportBundle, ImportBundle, ImportView, ListBundles, VerdictView, VerifyBundle,
};
use plumb_core::exchange::Form;
use serde::Deserialize;
use utoipa::IntoParams;

use super::{Page, QUICK, WORK};
use crate::problem::Problem;
use crate::serve::{Asker, Bundle, Served};

/// The media type of a CAR file.
pub const CAR: &str = "application/vnd.ipld.car";
/// The media type of a Verifiable Credential (W3C "Verifiable Credentials Data Model v2.0", C.1).
pub const CREDENTIAL: &str = "application/vc";

/// What of an `Accept` header asks for the JSON form.
const JSON_TYPES: [&str; 4] = [CREDENTIAL, "application/json", "application/ld+json", "application/vc+ld+json"];

/// The media type of a form.
pub fn media_type(form: Form) -> &'static str {
    match form {
        Form::Car => CAR,
        Form::Json => CREDENTIAL,
    }
}

/// The form of a name.
pub fn form(name: &str) -> Result<Form, Problem> {
    [Form::Car, Form::Json]
        .into_iter()
        .find(|form| form.as_str() == name)
        .ok_or_else(|| Problem::invalid(format!("a bundle has the forms car and json, not `{name}`")))
}

/// The routes.
pub fn routes(config: &mut ServiceConfig) {
    config.service(list).service(export).service(verify).service(import);
}

/// Which bundles.
#[derive(Debug, Deserialize, IntoParams)]
pub struct Which {
    /// Only this one: its CID, or `last`.
    pub bundle: Option<String>,
    /// At most so many; 50 where nobody says, and never more than 1000.
    pub limit: Option<usize>,
}

/// Lists the saved and imported bundles that the caller may read, newest first, each with those that contradict it.
#[utoipa::path(
    tag = "bundles",
    params(Which),
    responses((status = 200, body = Vec<BundleView>), (status = 401, body = Problem), (status = 404, body = Problem))
)]
#[get("/v1/bundles")]
async fn list(
    served: Data<Served>,
    Asker(caller): Asker,
    which: Query<Which>,
) -> Result<Json<Vec<BundleView>>, Problem> {
    let Which { bundle, limit } = which.into_inner();
    let limit = Page { limit }.limit();
    Ok(Json(served.node.grounding.ask(ListBundles { caller, bundle, limit }, QUICK).await?))
}

/// In which form.
#[derive(Debug, Deserialize, IntoParams)]
pub struct Wanted {
    /// `car` or `json`; without it the `Accept` header decides, and without that it is `car`.
    pub format: Option<String>,
}

/// Gives the file of a saved or imported bundle: CAR v1, which standard IPLD tools read, or from its issuer a
/// Verifiable Credential with a Data Integrity proof (`eddsa-jcs-2022`).
#[utoipa::path(
    tag = "bundles",
    params(("id" = String, Path, description = "The CID of the bundle, or `last`"), Wanted),
    responses(
        (status = 200, content(
            (Vec<u8> = "application/vnd.ipld.car"),
            (Object = "application/vc"),
        )),
        (status = 400, body = Problem), (status = 404, body = Problem),
        (status = 409, description = "Another node issued it, so only CAR can be given", body = Problem),
    )
)]
#[get("/v1/bundles/{id}")]
async fn export(
    request: HttpRequest,
    served: Data<Served>,
    Asker(caller): Asker,
    id: Path<String>,
    wanted: Query<Wanted>,
) -> Result<HttpResponse, Problem> {
    let form = match &wanted.format {
        Some(name) => form(name)?,
        None => accepted(&request),
    };
    let message = ExportBundle { caller, bundle: id.into_inner(), form, name: served.did_web.clone() };
    let file = served.node.grounding.ask(message, WORK).await?;
    let name = match form {
        Form::Car => "attachment; filename=\"bundle.car\"",
        Form::Json => "attachment; filename=\"bundle.json\"",
    };
    Ok(HttpResponse::Ok()
        .content_type(media_type(form))
        .insert_header(("vary", ACCEPT.as_str()))
        .insert_header(("x-content-type-options", "nosniff"))
        .insert_header(("content-disposition", name))
        .body(file))
}

/// The form that a header prefers. What names neither is given CAR (RFC 9110, 12.4.1 permits that).
fn accepted(request: &HttpRequest) -> Form {
    let ranked = Accept::parse(request).map(|accept| accept.ranked()).unwrap_or_default();
    let named = ranked.iter().find_map(|media| match media.essence_str() {
        CAR => Some(Form::Car),
        media if JSON_TYPES.contains(&media) => Some(Form::Json),
        _ => None,
    });
    named.unwrap_or(Form::Car)
}

/// Verifies a bundle file, in either form, against what this node knows. A file that is not authentic is a verdict, not an error.
#[utoipa::path(
    tag = "bundles",
    request_body(content((Vec<u8> = "application/vnd.ipld.car"), (Object = "application/vc"))),
    responses((status = 200, body = VerdictView), (status = 401, body = Problem), (status = 413, body = Problem))
)]
#[post("/v1/bundles/verify")]
async fn verify(served: Data<Served>, _asker: Asker, bundle: Bundle) -> Result<Json<VerdictView>, Problem> {
    Ok(Json(served.node.grounding.ask(VerifyBundle { file: bundle.0 }, WORK).await?))
}

/// Who passed a file on.
#[derive(Debug, Deserialize, IntoParams)]
pub struct PassedOn {
    /// The node that passed the file on, if it is another than its issuer: a `did:key`.
    pub from: Option<String>,
}

/// Takes a bundle in, in either form: its evidence becomes searchable here, and a receipt goes to whoever issued it and to
/// whoever passed it on.
#[utoipa::path(
    tag = "bundles",
    params(PassedOn),
    request_body(content((Vec<u8> = "application/vnd.ipld.car"), (Object = "application/vc"))),
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
    Ok(Json(served.node.grounding.ask(ImportBundle { caller, file: bundle.0, from }, WORK).await?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use actix_web::test::TestRequest;

    #[test]
    fn a_header_chooses_the_form() {
        for (accept, form) in [
            (None, Form::Car),
            (Some("*/*"), Form::Car),
            (Some("text/html"), Form::Car),
            (Some("application/vnd.ipld.car"), Form::Car),
            (Some("application/vc"), Form::Json),
            (Some("application/json"), Form::Json),
            (Some("application/vc+ld+json, application/vnd.ipld.car;q=0.5"), Form::Json),
            (Some("application/json;q=0.1, application/vnd.ipld.car"), Form::Car),
            (Some("not a header"), Form::Car),
        ] {
            let request = accept.into_iter().fold(TestRequest::default(), |r, a| r.insert_header((ACCEPT, a)));
            assert_eq!(accepted(&request.to_http_request()), form, "{accept:?}");
        }
        assert!(form("json").is_ok() && form("pdf").is_err());
    }
}
