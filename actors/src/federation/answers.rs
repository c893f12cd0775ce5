//! What an admitted peer gets to its requests. Its certificate makes it a requester like any other: the boundary decides
//! before anything is searched or read.

use std::sync::Arc;

use plumb_core::boundary::{Requester, readable};
use plumb_core::content::{Chunk, RawBlock, SourceRecord};
use plumb_core::identity::Signed;
use plumb_core::log::leaf_hash;
use plumb_core::trust::{Certificate, is_signed_by_its_root, requester_of};
use plumb_federation::driver::Protocol;
use plumb_federation::protocol::log_sync::page;
use plumb_federation::wire::WireError;
use plumb_federation::wire::blocks::{Blocks, BlocksRequest, BlocksResponse};
use plumb_federation::wire::log::{LogRequest, LogResponse};
use plumb_federation::wire::notice::{NoticeRequest, NoticeResponse};
use plumb_federation::wire::reason;
use plumb_federation::wire::search::{HITS_MAX, Hit, SearchRequest, SearchResponse};
use plumb_storage::{Blocks as _, Change, Records, unit};

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
            Ok(search(premises, certificate, request).await.encode())
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
            Ok(notice(premises, verification, request).await.encode())
        }
    }
}

async fn search(premises: Arc<Premises>, certificate: Signed<Certificate>, request: SearchRequest) -> SearchResponse {
    let id = match &request {
        SearchRequest::Statistics(asked) => asked.id,
        SearchRequest::Hits(asked) => asked.id,
        SearchRequest::Unknown(_) => 0,
    };
    let found = blocking(move || {
        let requester = requester_of(certificate.value());
        match request {
            SearchRequest::Statistics(asked) => {
                let stats = local_stats(&premises, &requester, &asked.query)?;
                Ok(SearchResponse::Statistics { id, stats })
            }
            SearchRequest::Hits(asked) => {
                let k = asked.k.min(HITS_MAX) as usize;
                let found = local_hits(&premises, &requester, &asked.query, &asked.stats, k)?;
                let hits: Vec<Hit> = found
                    .into_iter()
                    .filter_map(|hit| Hit::new(hit.score, hit.sensitivity, hit.chunk_block, hit.source_block).ok())
                    .collect();
                let who = format!("{} of {}", certificate.value().node, certificate.value().org_name);
                let what = format!("{} hits to a peer", hits.len());
                let event = premises.event(&who, "search", &asked.query.text, "allowed", what);
                premises.store.commit(Change::new(event))?;
                Ok(SearchResponse::Hits { id, hits })
            }
            SearchRequest::Unknown(unknown) => {
                let reason = reason(&format!("`{}` is not known here", unknown.kind));
                Ok(SearchResponse::Denied { id, reason })
            }
        }
    });
    found.await.unwrap_or_else(|error| {
        tracing::error!(%error, "a peer's search failed here");
        SearchResponse::Busy { id, retry_after_ms: RETRY_AFTER_MS }
    })
}

async fn blocks(premises: Arc<Premises>, certificate: Signed<Certificate>, request: BlocksRequest) -> BlocksResponse {
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
            let n = usize::try_from(head.state.range.size()).unwrap_or(usize::MAX);
            let entries = kept::entries(&premises.store, &own, &publisher, 0, n)?;
            let leaves: Vec<_> = entries.iter().map(|e| leaf_hash(e)).collect();
            Ok(page(&head.state, &leaves, from, limit, |i| {
                usize::try_from(i).ok().and_then(|i| entries.get(i).cloned())
            }))
        }
        // Heads are exchanged by the machine; what is not known is answered like a bad moment.
        LogRequest::Heads(_) | LogRequest::Summary(_) | LogRequest::Unknown(_) => {
            Ok(LogResponse::Busy { retry_after_ms: RETRY_AFTER_MS })
        }
    });
    answer.await.unwrap_or(LogResponse::Busy { retry_after_ms: RETRY_AFTER_MS })
}

async fn notice(
    premises: Arc<Premises>,
    verification: Late<Door<Verification>>,
    request: NoticeRequest,
) -> NoticeResponse {
    let Some(door) = verification.get() else {
        return NoticeResponse::Busy { retry_after_ms: RETRY_AFTER_MS };
    };
    let result = match request {
        NoticeRequest::Deliver { notice, certificate } => {
            // Who passes it on does not matter; who published it does.
            let known = is_signed_by_its_root(&certificate)
                && premises.roots().pins(&certificate.value().org)
                && certificate.value().node == notice.value().publisher;
            if !known {
                let why = "the notice is of a publisher whose organisation is not trusted here";
                return NoticeResponse::Refused { reason: reason(why) };
            }
            let apply = ApplyNotice { notice: Box::new(notice) };
            door.ask(apply, crate::DEADLINE).await.map(NoticeResponse::Acknowledged)
        }
        NoticeRequest::Receipt(receipt) => {
            let note = NoteReceipt { receipt: Box::new(receipt) };
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
