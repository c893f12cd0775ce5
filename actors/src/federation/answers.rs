//! What an admitted peer gets to its requests. Its certificate makes it a requester like any other: the boundary decides
//! before anything is searched or read.

use std::sync::Arc;

use plumb_core::boundary::{Requester, readable};
use plumb_core::content::{Chunk, RawBlock, SourceRecord};
use plumb_core::identity::Signed;
use plumb_core::propagation::Reply;
use plumb_core::trust::{Assertion, Capability, Certificate, Incoming, Place, TrustError, requester_of};
use plumb_federation::driver::Protocol;
use plumb_federation::protocol::log_sync::page_from;
use plumb_federation::wire::WireError;
use plumb_federation::wire::blocks::{Blocks, BlocksRequest, BlocksResponse};
use plumb_federation::wire::log::{LogRequest, LogResponse};
use plumb_federation::wire::notice::{NoticeRequest, NoticeResponse};
use plumb_federation::wire::reason;
use plumb_federation::wire::search::{HITS_MAX, Hit, SearchRequest, SearchResponse};
use plumb_federation::wire::teach::{TeachRequest, TeachResponse};
use plumb_storage::{Blocks as _, Change, Records, unit};

use super::{Desk, summaries, teaching};
use crate::door::{Door, Late};
use crate::error::NodeError;
use crate::kept;
use crate::premises::{Premises, blocking};
use crate::retrieval::{local_hits, local_stats};
use crate::verification::{ApplyNotice, NoteReceipt, Verification};

/// When a peer shall come back after something of ours failed.
const RETRY_AFTER_MS: u64 = 1_000;

/// The answer to a request, or why it cannot be read.
pub(super) async fn answer(
    premises: Arc<Premises>,
    desk: Arc<Desk>,
    verification: Late<Door<Verification>>,
    certificate: Signed<Certificate>,
    protocol: Protocol,
    bytes: Vec<u8>,
) -> Result<Vec<u8>, WireError> {
    match protocol {
        // A hello is answered by the admission, and never comes here.
        Protocol::Hello => Ok(Vec::new()),
        Protocol::Search => {
            let request = SearchRequest::decode(&bytes)?;
            Ok(search(premises, desk, certificate, request).await.encode())
        }
        Protocol::Blocks => {
            let request = BlocksRequest::decode(&bytes)?;
            Ok(blocks(premises, certificate, request).await.encode())
        }
        Protocol::Log => {
            let request = LogRequest::decode(&bytes)?;
            Ok(log(premises, request).await.encode())
        }
        Protocol::Notice => {
            let request = NoticeRequest::decode(&bytes)?;
            Ok(notice(premises, desk, verification, &certificate, request).await.encode())
        }
        Protocol::Teach => {
            let request = TeachRequest::decode(&bytes)?;
            Ok(teach(premises, certificate, request).await.encode())
        }
    }
}

async fn search(
    premises: Arc<Premises>,
    desk: Arc<Desk>,
    certificate: Signed<Certificate>,
    request: SearchRequest,
) -> SearchResponse {
    let id = request.id();
    if let Err(why) = premises.serves(certificate.value(), &Capability::Search) {
        return SearchResponse::Denied { id, reason: why };
    }
    let found = blocking(move || search_as(&premises, &desk, certificate.value(), request));
    found.await.unwrap_or_else(|error| {
        tracing::error!(%error, "a peer's search failed here");
        SearchResponse::Busy { id, retry_after_ms: RETRY_AFTER_MS }
    })
}

fn search_as(
    premises: &Premises,
    desk: &Desk,
    certificate: &Certificate,
    request: SearchRequest,
) -> Result<SearchResponse, NodeError> {
    let id = request.id();
    let deny = |why: &str| SearchResponse::Denied { id, reason: reason(why) };
    let node = format!("{} of {}", certificate.node, certificate.org_name);
    // Who asks is settled before anything is opened.
    let requester = match desk.requester(certificate, &request, &premises.node(), premises.now()) {
        Ok(requester) => requester,
        Err(error) => {
            if desk.is_to_be_noted(&certificate.node, &format!("denied: {error}"), premises.now()) {
                let event = premises.event(&node, "search", subject_of(&request), "denied", &error);
                premises.store.commit(Change::new(event))?;
            }
            return Ok(deny(&error.to_string()));
        }
    };
    let who = match request.assertion() {
        Some(assertion) => format!("{node} for {}", asserted(assertion.value())),
        None => format!("{node} for nobody in particular"),
    };
    match request {
        SearchRequest::Statistics(_) if !desk.policy.share_statistics => {
            Ok(deny("this node keeps the statistics of its collection to itself"))
        }
        SearchRequest::Statistics(asked) => {
            Ok(SearchResponse::Statistics { id, stats: local_stats(premises, &requester, &asked.query)? })
        }
        SearchRequest::Hits(asked) => {
            let k = asked.k.min(HITS_MAX) as usize;
            // Whoever keeps its statistics ranks by them, and is fused by rank.
            let stats = match desk.policy.share_statistics {
                true => asked.stats,
                false => local_stats(premises, &requester, &asked.query)?,
            };
            let found = local_hits(premises, &requester, &asked.query, &stats, k)?;
            let hits: Vec<Hit> = found
                .into_iter()
                .filter_map(|hit| Hit::new(hit.score, hit.sensitivity, hit.chunk_block, hit.source_block).ok())
                .collect();
            let what = format!("{} hits to a peer", hits.len());
            let event = premises.event(&who, "search", &asked.query.text, "allowed", what);
            premises.store.commit(Change::new(event))?;
            Ok(SearchResponse::Hits { id, hits })
        }
        SearchRequest::Summary { .. } if !desk.policy.publish_summary => {
            Ok(deny("this node publishes no summary of its collection"))
        }
        SearchRequest::Summary { .. } => {
            Ok(SearchResponse::Summary { id, summary: Box::new(summaries::own(premises, desk)?) })
        }
        SearchRequest::Unknown(unknown) => Ok(deny(&format!("`{}` is not known here", unknown.kind))),
    }
}

/// What a question was about, for the audit log.
fn subject_of(request: &SearchRequest) -> &str {
    match request {
        SearchRequest::Statistics(asked) => &asked.query.text,
        SearchRequest::Hits(asked) => &asked.query.text,
        SearchRequest::Summary { .. } | SearchRequest::Unknown(_) => "",
    }
}

/// An assertion in words, for the audit log.
fn asserted(assertion: &Assertion) -> String {
    let mut words = format!("a {}", assertion.role);
    for department in &assertion.departments {
        words.push_str(&format!(" of {department}"));
    }
    if let Some(person) = &assertion.person {
        words.push_str(&format!(", {person}"));
    }
    if let Some(purpose) = &assertion.purpose {
        words.push_str(&format!(", purpose: {purpose}"));
    }
    words
}

async fn blocks(premises: Arc<Premises>, certificate: Signed<Certificate>, request: BlocksRequest) -> BlocksResponse {
    if let Err(why) = premises.serves(certificate.value(), &Capability::Content) {
        return BlocksResponse::Denied { reason: why };
    }
    let gathered = blocking(move || {
        let requester = requester_of(certificate.value());
        Ok(Blocks::gather(&request, |cid| {
            // What may not be read and what is not there are one answer.
            let block = premises.store.block(cid).ok().flatten()?;
            may_have(&premises, &requester, &block).ok().filter(|may| *may)?;
            Some(block.bytes)
        }))
    });
    match gathered.await {
        Ok(blocks) => BlocksResponse::Blocks(blocks),
        Err(_) => BlocksResponse::Busy { retry_after_ms: RETRY_AFTER_MS },
    }
}

/// A block is readable as what it is part of.
fn may_have(premises: &Premises, requester: &Requester, block: &RawBlock) -> Result<bool, NodeError> {
    let chunks = if block.decode::<Chunk>().is_ok() {
        vec![block.cid]
    } else if block.decode::<SourceRecord>().is_ok() {
        kept::source(&premises.store, &block.cid)?.map(|row| row.chunks).unwrap_or_default()
    } else {
        Vec::new()
    };
    for chunk in &chunks {
        let may = unit(&premises.store, chunk)?
            .is_some_and(|u| u.is_active() && readable(requester, &u, premises.policy).is_ok());
        if !may {
            return Ok(false);
        }
    }
    Ok(!chunks.is_empty())
}

async fn log(premises: Arc<Premises>, request: LogRequest) -> LogResponse {
    let answer = blocking(move || match request {
        LogRequest::Entries { publisher, from, limit } => {
            let own = premises.node();
            let Some(head) = kept::log_head(&premises.store, &own, &publisher)? else {
                return Ok(LogResponse::Missing { publisher });
            };
            let mut tree = kept::Tree::of(&premises.store, &own, &publisher);
            let absent = |at| NodeError::Damaged(format!("entry {at} of the log of {publisher} is missing"));
            let entry = |at| kept::entry(&premises.store, &own, &publisher, at)?.ok_or_else(|| absent(at));
            page_from(&head.state, |level, index| tree.node(level, index), from, limit, entry)
        }
        // Heads and cosignatures are exchanged by the machines; what is not known is answered like a bad moment.
        LogRequest::Heads(_) | LogRequest::Summary(_) | LogRequest::AddCheckpoint(_) | LogRequest::Unknown(_) => {
            Ok(LogResponse::Busy { retry_after_ms: RETRY_AFTER_MS })
        }
    });
    answer.await.unwrap_or(LogResponse::Busy { retry_after_ms: RETRY_AFTER_MS })
}

async fn teach(premises: Arc<Premises>, certificate: Signed<Certificate>, request: TeachRequest) -> TeachResponse {
    let taken = blocking(move || match request {
        TeachRequest::Offer(_) if premises.lets_in(&certificate.value().org) != Incoming::Full => {
            let reason = "nothing but notices is let in from your organisation".to_string();
            Ok(TeachResponse::Reply { reply: Reply::Rejected { reason }, n_pending: 0 })
        }
        TeachRequest::Offer(offer) => {
            let (reply, n_pending) = teaching::take(&premises, &certificate, &offer)?;
            Ok(TeachResponse::Reply { reply, n_pending })
        }
        TeachRequest::Unknown(unknown) => {
            let reason = reason(&format!("`{}` is not known here", unknown.kind));
            Ok(TeachResponse::Reply { reply: Reply::Rejected { reason }, n_pending: 0 })
        }
    });
    taken.await.unwrap_or_else(|error| {
        tracing::error!(%error, "what a peer teaches could not be judged");
        TeachResponse::Busy { retry_after_ms: RETRY_AFTER_MS }
    })
}

async fn notice(
    premises: Arc<Premises>,
    desk: Arc<Desk>,
    verification: Late<Door<Verification>>,
    by: &Signed<Certificate>,
    request: NoticeRequest,
) -> NoticeResponse {
    let Some(door) = verification.get() else {
        return NoticeResponse::Busy { retry_after_ms: RETRY_AFTER_MS };
    };
    let result = match request {
        NoticeRequest::Deliver { notice, certificate } => {
            // Who passes it on does not matter; whose it is does.
            let vouched = match premises.vouch(&certificate) {
                Ok(()) => Some(Box::new(certificate)),
                Err(TrustError::NotSignedByRoot | TrustError::UnknownRoot { .. }) => {
                    let why = "the notice is of a publisher whose organisation is not trusted here";
                    note_delivery(&premises, &desk, by, notice.cid(), "refused", why).await;
                    return NoticeResponse::Refused { reason: reason(why) };
                }
                // Its publisher may be known here by another certificate.
                Err(_) => None,
            };
            let cid = notice.cid();
            let apply =
                ApplyNotice { notice: Box::new(notice), certificate: vouched, place: Place::Shown, is_open: false };
            let applied = door.ask(apply, crate::DEADLINE).await;
            match &applied {
                Ok(_) => note_delivery(&premises, &desk, by, cid, "ok", "").await,
                Err(error) => note_delivery(&premises, &desk, by, cid, "failed", &error.to_string()).await,
            }
            applied.map(NoticeResponse::Acknowledged)
        }
        NoticeRequest::Receipt(receipt) => {
            let note = NoteReceipt { receipt: Box::new(receipt), by: by.value().node };
            door.ask(note, crate::DEADLINE).await.map(|()| NoticeResponse::Accepted)
        }
        NoticeRequest::Unknown(unknown) => {
            return NoticeResponse::Refused { reason: reason(&format!("`{}` is not known here", unknown.kind)) };
        }
    };
    result.unwrap_or_else(|error| match error {
        NodeError::Denied(why) | NodeError::Invalid(why) => NoticeResponse::Refused { reason: reason(&why) },
        _ => NoticeResponse::Busy { retry_after_ms: RETRY_AFTER_MS },
    })
}

/// Writes down that a peer delivered a notice. What is applied already is delivered once more only by whoever did not
/// get the acknowledgement.
async fn note_delivery(
    premises: &Arc<Premises>,
    desk: &Desk,
    by: &Signed<Certificate>,
    notice: cid::Cid,
    outcome: &str,
    why: &str,
) {
    let peer = by.value().node;
    // Of what is refused a peer can make up as much as it likes.
    let what = if outcome == "ok" { format!("notice {notice}") } else { format!("notice {outcome}: {why}") };
    if !desk.is_to_be_noted(&peer, &what, premises.now()) {
        return;
    }
    let event = premises.event(&peer.to_string(), "notice.delivered", notice, outcome, why);
    let premises = premises.clone();
    if let Err(error) = blocking(move || Ok(premises.store.commit(Change::new(event))?)).await {
        tracing::error!(%error, "that a notice was delivered could not be written down");
    }
}
