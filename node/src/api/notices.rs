//! Notices: published, listed, and who has confirmed them.
//!
//! Reading them is the operator's: a notice shows titles of sources and who holds them, whatever their labels.

use actix_web::http::StatusCode;
use actix_web::web::{Data, Json, Path, Query, ServiceConfig};
use actix_web::{HttpResponse, get, post};
use plumb_actors::Caller;
use plumb_actors::verification::{
    DraftNotice, ExportNotice, ListNotices, NoticeView, ObligationView, PublishNotice, PublishSigned, ShowNotice,
};
use plumb_core::content::parse_cid;
use plumb_core::identity::Signed;
use plumb_core::notice::{NoticeKind, Reason as NoticeReason};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::{Page, QUICK, WORK};
use crate::problem::Problem;
use crate::serve::{Asker, Body, Key, Operator, Served, Words};

/// The routes.
pub fn routes(config: &mut ServiceConfig) {
    config
        .service(publish)
        .service(draft)
        .service(publish_signed)
        .service(list)
        .service(show)
        .service(signed)
        .service(receipts);
}

/// What to publish.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NoticeRequest {
    /// retraction, partial_retraction, supersession, narrowing, expression_of_concern, correction or reinstatement.
    pub kind: String,
    /// data_error, analysis_error, not_reproducible, fabrication, plagiarism, duplicate, consent, legal, privacy,
    /// security, superseded, publisher_error or resolved.
    pub reason: String,
    /// In words.
    #[serde(default)]
    pub note: String,
    /// Sources: CIDs, addresses or ends of addresses. For a reinstatement: the notice that no longer holds.
    pub targets: Vec<String>,
}

/// Publishes a notice about sources of this node. `Idempotency-Key` is honoured.
#[utoipa::path(
    tag = "notices",
    request_body = NoticeRequest,
    responses(
        (status = 200, body = NoticeView), (status = 400, body = Problem), (status = 401, body = Problem),
        (status = 403, body = Problem), (status = 404, body = Problem), (status = 409, body = Problem),
    )
)]
#[post("/v1/notices")]
async fn publish(
    served: Data<Served>,
    Asker(caller): Asker,
    key: Key,
    body: Body<NoticeRequest>,
) -> Result<HttpResponse, Problem> {
    let message = wish(caller.clone(), body.value)?;
    let work = async { Ok((StatusCode::OK, served.node.verification.ask(message, WORK).await?)) };
    served.replies.once(&caller, "notices", key, body.digest, work).await
}

fn wish(caller: Caller, request: NoticeRequest) -> Result<PublishNotice, Problem> {
    let NoticeRequest { kind, reason, note, targets } = request;
    let (kind, reason) = (kind.parse::<NoticeKind>()?, reason.parse::<NoticeReason>()?);
    Ok(PublishNotice { caller, kind, reason, note, targets })
}

/// Gives a notice as the root of the organisation is to sign it, in canonical DAG-CBOR: it may name what any node of the
/// organisation published. Operator only.
#[utoipa::path(
    tag = "notices",
    request_body = NoticeRequest,
    responses(
        (status = 200, body = Vec<u8>, content_type = "application/cbor"), (status = 400, body = Problem),
        (status = 403, body = Problem), (status = 404, body = Problem),
    )
)]
#[post("/v1/notices/draft")]
async fn draft(
    served: Data<Served>,
    Operator(caller): Operator,
    body: Body<NoticeRequest>,
) -> Result<HttpResponse, Problem> {
    let message = DraftNotice { notice: wish(caller, body.value)? };
    let bytes = served.node.verification.ask(message, WORK).await?;
    Ok(HttpResponse::Ok().content_type("application/cbor").body(bytes))
}

/// Publishes a notice that the root of the organisation signed. Operator only.
#[utoipa::path(
    tag = "notices",
    request_body(content = Vec<u8>, content_type = "application/cbor"),
    responses((status = 200, body = NoticeView), (status = 400, body = Problem), (status = 403, body = Problem))
)]
#[post("/v1/notices/signed")]
async fn publish_signed(
    served: Data<Served>,
    Operator(caller): Operator,
    words: Words,
) -> Result<Json<NoticeView>, Problem> {
    let notice = Signed::from_bytes(&words.0).map_err(|e| Problem::invalid(format!("it is no signed notice: {e}")))?;
    let message = PublishSigned { caller, notice: Box::new(notice) };
    Ok(Json(served.node.verification.ask(message, WORK).await?))
}

/// Lists notices, newest first: own ones, those that arrived, and those that were refused. Operator only.
#[utoipa::path(tag = "notices", params(Page), responses((status = 200, body = Vec<NoticeView>), (status = 403, body = Problem)))]
#[get("/v1/notices")]
async fn list(served: Data<Served>, _operator: Operator, page: Query<Page>) -> Result<Json<Vec<NoticeView>>, Problem> {
    Ok(Json(served.node.verification.ask(ListNotices { limit: page.limit() }, QUICK).await?))
}

/// Shows a notice with its obligations. Operator only.
#[utoipa::path(tag = "notices", params(("cid" = String, Path)), responses((status = 200, body = NoticeView), (status = 403, body = Problem), (status = 404, body = Problem)))]
#[get("/v1/notices/{cid}")]
async fn show(served: Data<Served>, _operator: Operator, cid: Path<String>) -> Result<Json<NoticeView>, Problem> {
    Ok(Json(find(&served, &cid).await?))
}

/// Gives a signed notice as it is kept (DAG-CBOR): whoever has it can judge a bundle by it without a node. Operator
/// only.
#[utoipa::path(
    tag = "notices",
    params(("cid" = String, Path)),
    responses(
        (status = 200, body = Vec<u8>, content_type = "application/cbor"),
        (status = 403, body = Problem), (status = 404, body = Problem),
    )
)]
#[get("/v1/notices/{cid}/signed")]
async fn signed(served: Data<Served>, _operator: Operator, cid: Path<String>) -> Result<HttpResponse, Problem> {
    let notice = parse_cid(&cid).map_err(|e| Problem::invalid(e.to_string()))?;
    let bytes = served.node.verification.ask(ExportNotice { notice }, QUICK).await?;
    Ok(HttpResponse::Ok().content_type("application/cbor").body(bytes))
}

/// Of which notice.
#[derive(Debug, Deserialize, IntoParams)]
pub struct OfNotice {
    /// Its CID.
    pub notice: String,
}

/// Who owes a notice's application, and who has confirmed it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ReceiptsView {
    /// The notice.
    pub notice: String,
    /// How many are known to hold what it names.
    pub holders: usize,
    /// How many of these have confirmed that they applied it.
    pub confirmed: usize,
    /// Each of them.
    pub receipts: Vec<ObligationView>,
}

/// Shows who is known to hold what a notice names, and whether they have applied it. Operator only.
#[utoipa::path(tag = "notices", params(OfNotice), responses((status = 200, body = ReceiptsView), (status = 403, body = Problem), (status = 404, body = Problem)))]
#[get("/v1/receipts")]
async fn receipts(
    served: Data<Served>,
    _operator: Operator,
    of: Query<OfNotice>,
) -> Result<Json<ReceiptsView>, Problem> {
    let notice = find(&served, &of.notice).await?;
    let confirmed = notice.receipts.iter().filter(|r| r.state == "acknowledged").count();
    Ok(Json(ReceiptsView {
        notice: notice.notice,
        holders: notice.receipts.len(),
        confirmed,
        receipts: notice.receipts,
    }))
}

async fn find(served: &Served, cid: &str) -> Result<NoticeView, Problem> {
    let notice = parse_cid(cid).map_err(|e| Problem::invalid(e.to_string()))?;
    Ok(served.node.verification.ask(ShowNotice { notice }, QUICK).await?)
}
