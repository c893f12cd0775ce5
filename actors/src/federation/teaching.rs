//! Teaching: knowledge that proved itself here is offered to peers, and theirs is judged.
//!
//! What is offered to whom follows the boundary: a peer is a requester like any other, and a teaching that it may not
//! read is not sent. What a peer is told of its own offer depends on nothing that it may not read either: a conflict
//! with hidden knowledge holds the teaching back here, and the peer hears what a node without that knowledge would say.

mod offer;
mod take;

use cid::Cid;
use plumb_core::identity::Signed;
use plumb_core::propagation::{Reply, Resolution, Taught};
use plumb_federation::wire::teach::TeachRequest;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::caller::Caller;
use crate::error::NodeError;
use crate::kept::{self, Standing};
use crate::premises::Premises;

pub(super) use offer::{due, keep_reply, mark};
pub(super) use take::{resolve, take};

/// When a node sends teachings by itself (FED-03).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum SyncMode {
    /// Never; only when its operator says so. Peers may still ask it questions.
    #[default]
    QueryOnly,
    /// From time to time.
    BackgroundSync,
    /// As soon as there is something, and from time to time.
    RealTimeSync,
}

impl std::str::FromStr for SyncMode {
    type Err = plumb_core::knowledge::WordError;
    fn from_str(text: &str) -> Result<SyncMode, Self::Err> {
        match text {
            "query-only" => Ok(SyncMode::QueryOnly),
            "background-sync" => Ok(SyncMode::BackgroundSync),
            "real-time-sync" => Ok(SyncMode::RealTimeSync),
            other => Err(plumb_core::knowledge::WordError {
                given: other.chars().take(60).collect(),
                expected: "query-only, background-sync, real-time-sync",
            }),
        }
    }
}

/// Offers knowledge of this node to its peers.
#[derive(Clone, Debug, actix::Message)]
#[rtype(result = "Result<Vec<TeachingView>, NodeError>")]
pub struct Teach {
    /// Who asks. Only an operator speaks for the node.
    pub caller: Caller,
    /// A chunk by its CID, or a source by CID, address or end of address: then each of its chunks.
    pub target: String,
    /// What kind of knowledge.
    pub kind: plumb_core::knowledge::KnowledgeType,
    /// How sure this node is.
    pub confidence: plumb_core::measure::Milli,
    /// Whether a person validated it.
    pub validated: bool,
    /// How often it was seen.
    pub seen: u64,
}

/// Sends what is due to every peer that is there now, whatever the mode.
#[derive(Clone, Debug, actix::Message)]
#[rtype(result = "Result<Vec<TeachingView>, NodeError>")]
pub struct SendTeachings {
    /// Who asks.
    pub caller: Caller,
}

/// Lists teachings: offered ones and those that came.
#[derive(Clone, Debug, actix::Message)]
#[rtype(result = "Result<Vec<TeachingView>, NodeError>")]
pub struct ListTeachings {
    /// Only those that wait for a person.
    pub pending: bool,
}

/// Decides about a teaching that waits.
#[derive(Clone, Debug, actix::Message)]
#[rtype(result = "Result<TeachingView, NodeError>")]
pub struct ResolveTeaching {
    /// Who decides.
    pub caller: Caller,
    /// Which.
    pub teaching: Cid,
    /// How.
    pub resolution: Resolution,
}

/// A teaching as an operator sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TeachingView {
    /// Its CID.
    pub teaching: String,
    /// The chunk that it is about.
    pub chunk: String,
    /// What kind of knowledge.
    pub kind: String,
    /// Where it arose.
    pub origin: String,
    /// Hops that it came; 0 for one of this node.
    pub hops: u64,
    /// How sure one may be of it here, in thousandths.
    pub confidence: u16,
    /// `offered`, `accepted`, `pending`, or `resolved`.
    pub state: String,
    /// What it contradicts, if it waits for that reason.
    pub against: Option<String>,
    /// How a person decided.
    pub resolution: Option<String>,
    /// To whom it was sent, and what came back.
    pub sent: Vec<SentView>,
}

/// What a peer made of a teaching.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SentView {
    /// The peer.
    pub node: String,
    /// `accepted`, `skipped_duplicate`, `max_hops_exceeded`, `pending_review` or `rejected`.
    pub reply: String,
    /// Why, where there is more to say.
    pub detail: Option<String>,
    /// When.
    pub at: String,
}

/// All of them, or those that wait.
pub(super) fn list(premises: &Premises, pending: bool) -> Result<Vec<TeachingView>, NodeError> {
    let mut views = Vec::new();
    for (teaching, received) in kept::received_teachings(&premises.store)? {
        if !pending || matches!(received.standing, Standing::Pending { .. }) {
            views.push(view_received(premises, &teaching, &received)?);
        }
    }
    if !pending {
        for (teaching, offered) in kept::offered_teachings(&premises.store)? {
            // One that came and is passed on stands among those that came.
            if offered.hops.is_empty() {
                views.push(view_offered(premises, &teaching, &offered)?);
            }
        }
    }
    Ok(views)
}

fn view_received(premises: &Premises, teaching: &Cid, received: &kept::Received) -> Result<TeachingView, NodeError> {
    let damaged = || NodeError::Damaged(format!("teaching {teaching}"));
    let TeachRequest::Offer(offer) = TeachRequest::decode(&received.offer).map_err(|_| damaged())? else {
        return Err(damaged());
    };
    let (state, against, resolution) = match &received.standing {
        Standing::Accepted => ("accepted", None, None),
        Standing::Pending { against } => ("pending", Some(against.to_string()), None),
        Standing::Resolved { resolution } => ("resolved", None, Some(resolution.to_string())),
    };
    let mut view = view(premises, &offer.taught, state)?;
    (view.confidence, view.against, view.resolution) = (received.confidence.get(), against, resolution);
    Ok(view)
}

fn view_offered(premises: &Premises, teaching: &Cid, offered: &kept::Offered) -> Result<TeachingView, NodeError> {
    let taught = taught_of(offered).map_err(|_| NodeError::Damaged(format!("teaching {teaching}")))?;
    view(premises, &taught, "offered")
}

fn view(premises: &Premises, taught: &Taught, state: &str) -> Result<TeachingView, NodeError> {
    let said = taught.teaching.value();
    let sent = kept::sent_to(&premises.store, &taught.teaching.cid())?;
    let sent = sent.into_iter().map(|(node, sent)| {
        let (reply, detail) = words(&sent.reply);
        SentView { node: node.to_string(), reply: reply.to_string(), detail, at: sent.at.to_string() }
    });
    Ok(TeachingView {
        teaching: taught.teaching.cid().to_string(),
        chunk: said.chunk.to_string(),
        kind: serde_json::to_value(said.kind).ok().and_then(|k| k.as_str().map(str::to_string)).unwrap_or_default(),
        origin: taught.origin().to_string(),
        hops: taught.hops.len() as u64,
        confidence: plumb_core::measure::Milli::from(taught.confidence()).get(),
        state: state.to_string(),
        against: None,
        resolution: None,
        sent: sent.collect(),
    })
}

fn words(reply: &Reply) -> (&'static str, Option<String>) {
    match reply {
        Reply::Accepted => ("accepted", None),
        Reply::SkippedDuplicate { of } => ("skipped_duplicate", Some(of.to_string())),
        Reply::MaxHopsExceeded => ("max_hops_exceeded", None),
        Reply::PendingReview { against } => ("pending_review", Some(against.to_string())),
        Reply::Rejected { reason } => ("rejected", Some(reason.clone())),
    }
}

/// A teaching out of its row.
fn taught_of(offered: &kept::Offered) -> Result<Taught, NodeError> {
    let hops = offered.hops.iter().map(|hop| Signed::from_bytes(hop)).collect::<Result<_, _>>()?;
    Ok(Taught { teaching: Signed::from_bytes(&offered.teaching)?, hops })
}
