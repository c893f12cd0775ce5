//! The description of the routes: OpenAPI for programs, a page for people.

use actix_web::http::header;
use actix_web::web::ServiceConfig;
use actix_web::{HttpResponse, get};
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityScheme};
use utoipa::{Modify, OpenApi};
use utoipa_swagger_ui::SwaggerUi;

use super::{
    answers, audit, bundles, care, did, entities, eval, feedback, gravity, health, ingest, jobs, log, model, notices,
    peers, search, sources, teachings, tokens, trust,
};

/// The description.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "Plumbline",
        description = "A node that answers only from evidence, and hears of retractions. \
                       Errors are problem documents (RFC 9457) with a stable `reason`. \
                       What a caller may not know of is 404, with the body that it would have if it were absent."
    ),
    modifiers(&Bearer),
    security(("bearer" = [])),
    paths(
        health::live, health::ready, health::show_metrics,
        ingest::ingest, jobs::list, jobs::show, jobs::events, jobs::cancel,
        sources::list, sources::remove, sources::block,
        feedback::give, feedback::show, feedback::forget,
        eval::evaluate,
        search::search, search::context, answers::answer, answers::grounded, answers::list, answers::show,
        bundles::list, bundles::export, bundles::verify, bundles::import, did::document,
        notices::publish, notices::draft, notices::publish_signed, notices::list, notices::show, notices::signed,
        notices::receipts, notices::events, notices::watch,
        peers::list, peers::connect, peers::block, peers::unblock,
        teachings::offer, teachings::list, teachings::send, teachings::resolve,
        trust::list, trust::add, trust::set, trust::remove, trust::take_up, trust::settle,
        audit::list, audit::verify, gravity::plan,
        entities::list, entities::add, entities::populate, entities::show, entities::rename, entities::remove,
        entities::alias, entities::distance, entities::link, entities::unlink,
        log::checkpoint, log::tile, log::bundle, log::entry, log::inclusion, log::consistency, log::status,
        log::resume, log::forks, log::fork, log::lift,
        tokens::list, tokens::create, tokens::revoke,
        care::rebuild, care::compact, care::doctor, model::show,
    )
)]
pub struct ApiDoc;

struct Bearer;

impl Modify for Bearer {
    fn modify(&self, openapi: &mut utoipa::openapi::OpenApi) {
        let components = openapi.components.get_or_insert_default();
        components.add_security_scheme("bearer", SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer)));
    }
}

/// The routes.
pub fn routes(config: &mut ServiceConfig) {
    config.service(to_page).service(SwaggerUi::new("/docs/{_:.*}").url("/v1/openapi.json", ApiDoc::openapi()));
}

/// `/docs` itself; the page and its parts lie below it.
#[get("/docs")]
async fn to_page() -> HttpResponse {
    HttpResponse::PermanentRedirect().insert_header((header::LOCATION, "/docs/")).finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_route_says_what_it_does() {
        let json = ApiDoc::openapi().to_json().unwrap();
        let openapi: serde_json::Value = serde_json::from_str(&json).unwrap();
        for (path, operations) in openapi["paths"].as_object().unwrap() {
            for (method, operation) in operations.as_object().unwrap() {
                assert!(operation["summary"].is_string(), "{method} {path} says nothing of itself");
                assert!(operation["tags"][0].is_string(), "{method} {path} belongs nowhere");
            }
        }
        for schema in ["JobView", "AnswerReply", "SearchView", "NoticeView", "VerdictView", "Problem"] {
            assert!(json.contains(&format!("#/components/schemas/{schema}")), "{schema}");
        }
    }
}
