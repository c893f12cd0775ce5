//! Notices: published, listed, and who has confirmed them.
//!
//! Whoever may read a source may read the notices about it. Who else holds it is the operator's to see, and so is the
//! signed form of a notice, which names everything that it is about.

use actix_web::http::StatusCode;
use actix_web::web::{Data, Json, Path, Query, ServiceConfig};
use actix_web::{HttpResponse, get, post};
use plumb_actors::Caller;
use plumb_actors::verification::{
    DraftNotice, EventsView, ExportNotice, ListEvents, ListNotices, NoticeView, ObligationView, PublishNotice,
    PublishSigned, ShowNotice, WATCH_FILE_BYTES_MAX, WatchView, WatchWorld,
};
use plumb_core::boundary::Sensitivity;
use plumb_core::content::parse_cid;
use plumb_core::identity::Signed;
use plumb_core::notice::{NoticeKind, Reason as NoticeReason};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::{LONG, Page, QUICK, WORK};
use crate::problem::Problem;
use crate::serve::{Asker, Body, Key, Operator, Served, Words};

/// The routes.
pub fn routes(config: &mut ServiceConfig) {
    config
        .service(publish)
        .service(events)
        .service(watch)
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
    /// For a partial retraction: the chunks that are withdrawn, by their CIDs. None means all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub chunks: Vec<String>,
    /// For a supersession: the source that stands in their place, named like a target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub superseded_by: Option<String>,
    /// For a narrowing: the label at home (internal, restricted or confidential); otherwise internal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audience: Option<String>,
}

/// Publishes a notice about sources of this node; about sources of others it is a local revocation, which counts here and
/// is published nowhere. `Idempotency-Key` is honoured.
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
    let NoticeRequest { kind, reason, note, targets, chunks, superseded_by, audience } = request;
    let invalid = |e: plumb_core::content::ContentError| Problem::invalid(e.to_string());
    let chunks = chunks.iter().map(|chunk| parse_cid(chunk).map_err(invalid)).collect::<Result<Vec<_>, _>>()?;
    Ok(PublishNotice {
        caller,
        kind: kind.parse::<NoticeKind>()?,
        reason: reason.parse::<NoticeReason>()?,
        note,
        targets,
        chunks,
        superseded_by,
        audience: audience.map(|label| label.parse::<Sensitivity>()).transpose()?,
    })
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

/// Lists notices, newest first: those about what the caller may read, and what others published for everybody.
#[utoipa::path(tag = "notices", params(Page), responses((status = 200, body = Vec<NoticeView>), (status = 401, body = Problem)))]
#[get("/v1/notices")]
async fn list(served: Data<Served>, Asker(caller): Asker, page: Query<Page>) -> Result<Json<Vec<NoticeView>>, Problem> {
    Ok(Json(served.node.verification.ask(ListNotices { caller, limit: page.limit() }, QUICK).await?))
}

/// Shows a notice; to the operator with its obligations. One about nothing that the caller may read is 404.
#[utoipa::path(tag = "notices", params(("cid" = String, Path)), responses((status = 200, body = NoticeView), (status = 401, body = Problem), (status = 404, body = Problem)))]
#[get("/v1/notices/{cid}")]
async fn show(served: Data<Served>, Asker(caller): Asker, cid: Path<String>) -> Result<Json<NoticeView>, Problem> {
    Ok(Json(find(&served, caller, &cid).await?))
}

/// From where on.
#[derive(Debug, Deserialize, IntoParams)]
pub struct After {
    /// The id of the last event that was worked off; from the beginning where nobody says.
    pub after: Option<String>,
    /// At most so many; 50 where nobody says, and never more than 1000.
    pub limit: Option<usize>,
}

/// Lists what notices changed here, oldest first: sources, saved answers, their claims, and files that were given out. An
/// event may be told twice, and its id is the same then; none is left out.
#[utoipa::path(tag = "notices", params(After), responses((status = 200, body = EventsView), (status = 401, body = Problem), (status = 404, body = Problem)))]
#[get("/v1/notices/events")]
async fn events(served: Data<Served>, Asker(caller): Asker, from: Query<After>) -> Result<Json<EventsView>, Problem> {
    let After { after, limit } = from.into_inner();
    let ask = ListEvents { caller, after, limit: Page { limit }.limit() };
    Ok(Json(served.node.verification.ask(ask, QUICK).await?))
}

/// Which file to compare with what is held.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WatchRequest {
    /// The absolute path of the file on the node's machine.
    pub path: String,
    /// Whether it is all that its feed says: what it names no more is lifted.
    #[serde(default)]
    pub complete: bool,
    /// Say what would happen, and change nothing.
    #[serde(default)]
    pub dry_run: bool,
}

/// Compares a file of retractions (Crossref records, the list of Retraction Watch) with the DOIs of what this node holds.
/// Nothing is sent anywhere; what matches becomes a local notice. Operator only.
#[utoipa::path(tag = "notices", request_body = WatchRequest, responses((status = 200, body = WatchView), (status = 400, body = Problem), (status = 403, body = Problem)))]
#[post("/v1/notices/watch")]
async fn watch(
    served: Data<Served>,
    Operator(caller): Operator,
    body: Body<WatchRequest>,
) -> Result<Json<WatchView>, Problem> {
    let WatchRequest { path, complete, dry_run } = body.value;
    let path = std::path::PathBuf::from(path);
    if !path.is_absolute() {
        return Err(Problem::invalid("give the whole path of the file"));
    }
    let unreadable = |e: std::io::Error| Problem::invalid(format!("{} cannot be read: {e}", path.display()));
    let bytes = tokio::fs::metadata(&path).await.map_err(unreadable)?.len();
    if bytes > WATCH_FILE_BYTES_MAX as u64 {
        return Err(Problem::invalid(format!(
            "{} has {bytes} bytes; at most {WATCH_FILE_BYTES_MAX} are read",
            path.display()
        )));
    }
    let file = tokio::fs::read(&path).await.map_err(unreadable)?;
    let ask = WatchWorld { caller, file, is_complete: complete, dry_run };
    Ok(Json(served.node.verification.ask(ask, LONG).await?))
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
    Operator(caller): Operator,
    of: Query<OfNotice>,
) -> Result<Json<ReceiptsView>, Problem> {
    let notice = find(&served, caller, &of.notice).await?;
    let confirmed = notice.receipts.iter().filter(|r| r.state == "acknowledged").count();
    Ok(Json(ReceiptsView {
        notice: notice.notice,
        holders: notice.receipts.len(),
        confirmed,
        receipts: notice.receipts,
    }))
}

async fn find(served: &Served, caller: plumb_actors::Caller, cid: &str) -> Result<NoticeView, Problem> {
    let notice = parse_cid(cid).map_err(|e| Problem::invalid(e.to_string()))?;
    Ok(served.node.verification.ask(ShowNotice { caller, notice }, QUICK).await?)
}
