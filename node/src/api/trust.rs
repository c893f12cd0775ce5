//! The organisations that this node trusts, and what they say of their roots and nodes.

use actix_web::web::{Data, Json, Path, Query, ServiceConfig};
use actix_web::{delete, get, patch, post};
use plumb_actors::federation::{DistrustOrganisation, ListTrusted, RemovedView, TrustOrganisation, TrustedView};
use plumb_actors::verification::{SettleRoots, Statement, TakeUp};
use plumb_core::identity::{OrgId, PublicKey};
use plumb_core::trust::{Incoming, Outgoing, Place};
use plumb_federation::wire::log_entry::LogEntry;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::{Done, QUICK, WORK};
use crate::problem::Problem;
use crate::serve::{Body, Operator, Served, Words};

/// Longest name for an organisation.
const NAME_BYTES_MAX: usize = 200;

/// The routes.
pub fn routes(config: &mut ServiceConfig) {
    config.service(list).service(add).service(set).service(remove).service(take_up).service(settle);
}

/// Lists the organisations that are trusted, the own one first. Operator only.
#[utoipa::path(tag = "trust", responses((status = 200, body = Vec<TrustedView>), (status = 403, body = Problem)))]
#[get("/v1/trust")]
async fn list(served: Data<Served>, _operator: Operator) -> Result<Json<Vec<TrustedView>>, Problem> {
    Ok(Json(served.node.federation.ask(ListTrusted, QUICK).await?))
}

/// How far to trust an organisation. What is not said stays as it is; at first it is `full`, `full` and 50.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Levels {
    /// A name for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What is let in: `full`, `notices` or `none`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub incoming: Option<String>,
    /// What is let out: `full` or `none`. Notices always are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outgoing: Option<String>,
    /// What its evidence weighs in a reliability report, 0 to 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<u8>,
}

/// Whom to trust, and how far.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TrustRequest {
    /// The organisation's root: a `did:key`.
    pub org: String,
    /// A name for it.
    pub name: String,
    /// What is let in: `full`, `notices` or `none`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub incoming: Option<String>,
    /// What is let out: `full` or `none`. Notices always are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outgoing: Option<String>,
    /// What its evidence weighs in a reliability report, 0 to 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<u8>,
}

fn message(by: String, org: OrgId, levels: Levels) -> Result<TrustOrganisation, Problem> {
    let Levels { name, incoming, outgoing, weight } = levels;
    let is_no_name =
        |name: &String| name.trim().is_empty() || name.len() > NAME_BYTES_MAX || name.chars().any(char::is_control);
    if name.as_ref().is_some_and(is_no_name) {
        return Err(Problem::invalid(format!(
            "the name of an organisation has 1 to {NAME_BYTES_MAX} bytes on one line"
        )));
    }
    let incoming = incoming.map(|word| word.parse::<Incoming>()).transpose()?;
    let outgoing = outgoing.map(|word| word.parse::<Outgoing>()).transpose()?;
    Ok(TrustOrganisation { by, org, name, incoming, outgoing, weight })
}

/// Trusts an organisation: its nodes are admitted from now on. Operator only.
#[utoipa::path(tag = "trust", request_body = TrustRequest, responses((status = 200, body = Done), (status = 400, body = Problem), (status = 403, body = Problem)))]
#[post("/v1/trust")]
async fn add(
    served: Data<Served>,
    Operator(caller): Operator,
    body: Body<TrustRequest>,
) -> Result<Json<Done>, Problem> {
    let TrustRequest { org, name, incoming, outgoing, weight } = body.value;
    let levels = Levels { name: Some(name), incoming, outgoing, weight };
    served.node.federation.ask(message(caller.label(), org.parse::<OrgId>()?, levels)?, WORK).await?;
    Ok(Json(Done { done: true }))
}

/// Changes how far an organisation is trusted. Operator only.
#[utoipa::path(tag = "trust", params(("org" = String, Path)), request_body = Levels, responses((status = 200, body = TrustedView), (status = 400, body = Problem), (status = 403, body = Problem), (status = 404, body = Problem)))]
#[patch("/v1/trust/{org}")]
async fn set(
    served: Data<Served>,
    Operator(caller): Operator,
    org: Path<String>,
    body: Body<Levels>,
) -> Result<Json<TrustedView>, Problem> {
    let message = message(caller.label(), org.parse::<OrgId>()?, body.value)?;
    Ok(Json(served.node.federation.ask(message, WORK).await?))
}

/// How to remove.
#[derive(Clone, Copy, Debug, Default, Deserialize, IntoParams)]
pub struct Forget {
    /// Refuse it even if it holds evidence of this node, and would hear of no notice any more.
    #[serde(default)]
    pub forget: bool,
}

/// Trusts an organisation no more: its nodes are disconnected and refused. One that holds evidence of this node is
/// excluded from content instead, for it has to hear what becomes of that. Operator only.
#[utoipa::path(tag = "trust", params(("org" = String, Path), Forget), responses((status = 200, body = RemovedView), (status = 403, body = Problem), (status = 404, body = Problem)))]
#[delete("/v1/trust/{org}")]
async fn remove(
    served: Data<Served>,
    Operator(caller): Operator,
    org: Path<String>,
    forget: Query<Forget>,
) -> Result<Json<RemovedView>, Problem> {
    let message = DistrustOrganisation { by: caller.label(), org: org.parse::<OrgId>()?, forget: forget.forget };
    Ok(Json(served.node.federation.ask(message, WORK).await?))
}

/// What became of a statement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct StatementView {
    /// `rotation` or `revocation`.
    pub kind: String,
    /// Of which organisation, by its first root.
    pub org: String,
    /// Whether it was not known here before.
    pub news: bool,
    /// Whether it now stands in this node's log, from where everybody hears it.
    pub published: bool,
}

/// Takes up what an organisation says of its roots or nodes: a rotation or a revocation, as its root wrote it into a
/// file. That of the own organisation goes into this node's log. Operator only.
#[utoipa::path(
    tag = "trust",
    request_body(content = Vec<u8>, content_type = "application/cbor"),
    responses((status = 200, body = StatementView), (status = 400, body = Problem), (status = 403, body = Problem))
)]
#[post("/v1/trust/statements")]
async fn take_up(
    served: Data<Served>,
    Operator(caller): Operator,
    words: Words,
) -> Result<Json<StatementView>, Problem> {
    let entry = LogEntry::decode(&words.0)
        .map_err(|e| Problem::invalid(format!("it is neither a rotation nor a revocation: {e}")))?;
    let (kind, org) = match &entry {
        LogEntry::Rotation(rotation) => ("rotation", rotation.value().org),
        LogEntry::Revocation(revocation) => ("revocation", revocation.value().org),
        _ => return Err(Problem::invalid("it is neither a rotation nor a revocation")),
    };
    let Some(statement) = Statement::of(&entry) else {
        return Err(Problem::invalid("it is neither a rotation nor a revocation"));
    };
    let message = TakeUp { by: caller.label(), statement, place: Place::Shown, admitted: Vec::new(), is_ours: true };
    let taken = served.node.verification.ask(message, WORK).await?;
    Ok(Json(StatementView {
        kind: kind.to_string(),
        org: org.to_string(),
        news: taken.is_news,
        published: taken.is_published,
    }))
}

/// Which of two rivals to follow.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SettleRequest {
    /// The root to follow: a `did:key`.
    pub root: String,
}

/// Decides which of two rotations that contradict each other is followed. Operator only.
#[utoipa::path(tag = "trust", request_body = SettleRequest, responses((status = 200, body = Done), (status = 400, body = Problem), (status = 403, body = Problem), (status = 404, body = Problem)))]
#[post("/v1/trust/settle")]
async fn settle(
    served: Data<Served>,
    Operator(caller): Operator,
    body: Body<SettleRequest>,
) -> Result<Json<Done>, Problem> {
    let message = SettleRoots { by: caller.label(), new: body.value.root.parse::<PublicKey>()? };
    served.node.verification.ask(message, WORK).await?;
    Ok(Json(Done { done: true }))
}
