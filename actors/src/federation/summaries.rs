//! Summaries of collections: this node's own, if its policy says so, and those of its peers.

use std::sync::Arc;
use std::time::Duration as StdDuration;

use plumb_core::boundary::Sensitivity;
use plumb_core::identity::{NodeId, Signed};
use plumb_core::measure::{Duration, Timestamp};
use plumb_core::retrieval::CollectionSummary;
use plumb_federation::driver::{NetworkHandle, Protocol};
use plumb_federation::protocol::has_passed;
use plumb_federation::wire::search::{SearchRequest, SearchResponse};

use super::Desk;
use super::desk::OwnSummary;
use crate::error::NodeError;
use crate::premises::Premises;

/// How long a summary of ours is valid.
const VALIDITY: Duration = Duration::days(1);

/// A summary is counted anew when the collection changed, and not more often than this: it reads a whole dictionary.
const COUNT_EVERY: Duration = Duration::seconds(10);

/// A peer's summary is fetched anew after this.
pub(super) const FETCH_EVERY: Duration = Duration::seconds(600);

/// How long a peer has to give its summary.
const FETCH_WITHIN: StdDuration = StdDuration::from_secs(10);

/// This node's summary over its public evidence, and over nothing else: partitions that are not public are not opened.
pub(super) fn own(premises: &Premises, desk: &Desk) -> Result<Signed<CollectionSummary>, NodeError> {
    let now = premises.now();
    let searcher = premises.index.searcher();
    if let Some(own) = desk.own_summary() {
        let age = now.since(own.signed.value().issued_at);
        // One of a clock that was ahead is not in order at whoever gets it.
        let is_ahead = now < own.signed.value().issued_at;
        let is_current = own.position == searcher.position() && age.0 < VALIDITY.0 / 2;
        if !is_ahead && (is_current || age < COUNT_EVERY) {
            return Ok(own.signed);
        }
    }
    let n_docs = searcher.n_docs(Sensitivity::Public);
    let (n_terms, doc_freq) = searcher.doc_freqs(Sensitivity::Public)?;
    let summary = CollectionSummary::of(premises.node(), n_docs, n_terms, doc_freq, now, VALIDITY);
    let signed = Signed::seal(summary, &premises.key).map_err(|e| NodeError::Damaged(e.to_string()))?;
    desk.set_own_summary(OwnSummary { signed: signed.clone(), position: searcher.position() });
    Ok(signed)
}

/// Whether a peer's summary should be fetched.
pub(super) fn is_due(desk: &Desk, peer: &NodeId, now: Timestamp) -> bool {
    desk.summary_fetched_at(peer).is_none_or(|at| has_passed(at, FETCH_EVERY, now))
}

/// Fetches a peer's summary and keeps it. A peer that publishes none is one of which nothing is known.
pub(super) async fn fetch(premises: Arc<Premises>, network: NetworkHandle, desk: Arc<Desk>, peer: NodeId) {
    let request = SearchRequest::Summary { id: rand::random() };
    let asked = request.id();
    let Ok(bytes) = network.request(peer, Protocol::Search, request.encode(), FETCH_WITHIN).await else { return };
    let now = premises.now();
    match SearchResponse::decode(&bytes) {
        Ok(SearchResponse::Summary { id, summary }) if id == asked && summary.value().publisher == peer => {
            match summary.value().check(now) {
                Ok(()) => desk.keep_summary(summary.value().clone(), now),
                Err(error) => tracing::warn!(%peer, %error, "a summary that is not used"),
            }
        }
        Ok(SearchResponse::Denied { .. } | SearchResponse::Busy { .. }) => {}
        Ok(_) => tracing::warn!(%peer, "another answer than a summary"),
        Err(error) => tracing::warn!(%peer, %error, "a summary that cannot be read"),
    }
}
