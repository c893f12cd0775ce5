//! The node's name on the web: its DID document, for libraries that look up who signed a JSON bundle.

use actix_web::web::{Data, ServiceConfig};
use actix_web::{HttpResponse, get};
use serde::Serialize;
use utoipa::ToSchema;

use crate::problem::{Problem, Reason};
use crate::serve::Served;

/// Where the did:web method looks.
pub const PATH: &str = "/.well-known/did.json";

/// The media type of the document.
const MEDIA_TYPE: &str = "application/did+ld+json";

/// The routes.
pub fn routes(config: &mut ServiceConfig) {
    config.service(document);
}

/// A DID document (W3C "Decentralized Identifiers v1.0").
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DidDocument {
    /// What the terms mean.
    #[serde(rename = "@context")]
    context: [&'static str; 2],
    /// The `did:web`.
    id: String,
    /// The same node by its key.
    also_known_as: [String; 1],
    /// The node's key.
    verification_method: [Multikey; 1],
    /// Which key signs credentials.
    assertion_method: [String; 1],
}

/// A key (W3C "Controlled Identifiers v1.0").
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Multikey {
    id: String,
    #[serde(rename = "type")]
    kind: &'static str,
    controller: String,
    public_key_multibase: String,
}

/// Gives the DID document of this node, if it was given a name: `http.did_web` in plumb.toml.
#[utoipa::path(
    tag = "bundles",
    path = "/.well-known/did.json",
    responses((status = 200, body = DidDocument, content_type = "application/did+ld+json"), (status = 404, body = Problem))
)]
#[get("/.well-known/did.json")]
async fn document(served: Data<Served>) -> Result<HttpResponse, Problem> {
    let Some(name) = &served.did_web else {
        return Err(Problem::new(Reason::NotFound, "this node goes by its key; `http.did_web` would name it"));
    };
    let (name, key) = (name.to_string(), served.id.multikey());
    let method = format!("{name}#{key}");
    let document = DidDocument {
        context: ["https://www.w3.org/ns/did/v1", "https://w3id.org/security/multikey/v1"],
        id: name.clone(),
        also_known_as: [served.id.to_string()],
        assertion_method: [method.clone()],
        verification_method: [Multikey { id: method, kind: "Multikey", controller: name, public_key_multibase: key }],
    };
    Ok(HttpResponse::Ok().content_type(MEDIA_TYPE).json(document))
}
