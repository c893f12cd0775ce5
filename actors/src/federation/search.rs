//! One federated question: who is asked is chosen, the machine decides, this signs, sends, waits and never waits past the
//! deadline.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use plumb_core::identity::{NodeId, Signed, SignedError};
use plumb_core::measure::{Duration, Timestamp};
use plumb_core::retrieval::{Query, TermStats, select};
use plumb_core::trust::{ASSERTION_NONCE_BYTES, Assertion, AssertionTag, Certificate, Incoming};
use plumb_federation::driver::{Protocol, RequestError};
use plumb_federation::protocol::search::{Action, Event, FederatedSearch, PEERS_MAX, Phase};
use plumb_federation::wire::search::{SearchRequest, SearchResponse};

use super::coverage::{Outcomes, Unasked};
use super::{Asker, Desk, Link, PeerResults, SearchPeers, coverage};
use crate::error::NodeError;
use crate::premises::{Premises, blocking};

/// How long an assertion holds beyond the deadline of its question: what is under way may still arrive.
const ASSERTION_MARGIN: Duration = Duration::seconds(5);

/// Asks the admitted peers that are chosen, of those whose evidence is let in.
pub(super) async fn run(
    premises: Arc<Premises>,
    link: Link,
    mut admitted: BTreeMap<NodeId, Signed<Certificate>>,
    ask: SearchPeers,
) -> Result<PeerResults, NodeError> {
    admitted.retain(|_, certificate| premises.lets_in(&certificate.value().org) == Incoming::Full);
    let desk = link.desk.clone();
    let now = premises.now();
    let mut unasked = BTreeMap::new();
    let chosen = choose(&desk, &admitted, &ask, now, &mut unasked);
    let mut permitted = Vec::new();
    for peer in chosen {
        match desk.permit(&peer, now) {
            Ok(patience) => permitted.push((peer, patience)),
            Err(until) => {
                unasked.insert(peer, Unasked::BreakerOpen { until });
            }
        }
    }
    let known = with_unasked(ask.own_stats, &ask.query, &desk, unasked.keys(), now);
    let deadline_ms = u32::try_from(ask.deadline.0).unwrap_or(u32::MAX);
    let k = u32::try_from(ask.k).unwrap_or(u32::MAX);
    let begun = FederatedSearch::start(rand::random(), ask.query, known, k, permitted, premises.now(), deadline_ms);
    let (mut machine, mut actions) = begun.map_err(|e| NodeError::Invalid(e.to_string()))?;
    let mut asked = FuturesUnordered::new();
    loop {
        for action in actions.drain(..) {
            match action {
                Action::Ask { peer, phase, request } => {
                    let request = assert(&premises, &desk, &ask.asker, &peer, request, ask.deadline)
                        .map_err(|e| NodeError::Damaged(e.to_string()))?;
                    asked.push(exchange(premises.clone(), link.clone(), peer, phase, request, ask.deadline));
                }
                Action::Finish(outcome) => {
                    let now = premises.now();
                    outcome.coverage.iter().for_each(|(peer, state)| desk.note_outcome(peer, state, now));
                    let has_department = !ask.asker.departments.is_empty();
                    let outcomes = Outcomes { admitted, unasked, outcome, has_department };
                    return blocking(move || coverage::results(&premises, outcomes)).await;
                }
            }
        }
        // A clock that was set back would have it sleep for as long.
        let wait = machine.wake_at().map_or(0, |at: Timestamp| at.since(premises.now()).0).min(ask.deadline.0);
        let event = tokio::select! {
            Some(event) = asked.next(), if !asked.is_empty() => event,
            () = tokio::time::sleep(std::time::Duration::from_millis(wait.max(1))) => Event::Tick,
        };
        actions = machine.handle(premises.now(), event);
    }
}

/// Which peers are asked, the most promising first; the others are noted as not asked.
fn choose(
    desk: &Desk,
    admitted: &BTreeMap<NodeId, Signed<Certificate>>,
    ask: &SearchPeers,
    now: Timestamp,
    unasked: &mut BTreeMap<NodeId, Unasked>,
) -> Vec<NodeId> {
    let held: BTreeMap<NodeId, _> = admitted.keys().map(|peer| (*peer, desk.summary(peer, now))).collect();
    let summaries = held.iter().map(|(peer, summary)| (*peer, summary.as_deref())).collect();
    let mut chosen = select(&ask.query, &summaries, ask.whom);
    chosen.truncate(PEERS_MAX);
    let others = admitted.keys().filter(|peer| !chosen.contains(peer));
    unasked.extend(others.map(|peer| (*peer, Unasked::RankedBelow { n_asked: chosen.len() })));
    chosen
}

/// Our statistics with what the summaries of those say who are not asked. So a word weighs what it weighs among all nodes, and
/// not what it weighs among the few that were chosen because they are full of it.
fn with_unasked<'a>(
    own: TermStats,
    query: &Query,
    desk: &Desk,
    unasked: impl Iterator<Item = &'a NodeId>,
    now: Timestamp,
) -> TermStats {
    let mut sum = own;
    for peer in unasked {
        if let Some(summary) = desk.summary(peer, now)
            && let Err(error) = sum.merge(&summary.stats(query))
        {
            tracing::warn!(%peer, %error, "a summary that is not counted");
        }
    }
    sum
}

/// The question with what this node says of whom it asks for: to this one peer, for this one request, and once.
fn assert(
    premises: &Premises,
    desk: &Desk,
    asker: &Asker,
    peer: &NodeId,
    request: SearchRequest,
    deadline: Duration,
) -> Result<SearchRequest, SignedError> {
    let now = premises.now();
    let assertion = Assertion {
        tag: AssertionTag,
        org: premises.org(),
        departments: asker.departments.clone(),
        role: asker.role.to_string(),
        person: desk.policy.name_person.then(|| asker.person.clone()),
        purpose: asker.purpose.clone(),
        audience: *peer,
        request: request.id(),
        nonce: rand::random::<[u8; ASSERTION_NONCE_BYTES]>().to_vec(),
        issued_at: now,
        expires_at: now.plus(deadline).plus(ASSERTION_MARGIN),
    };
    Ok(request.asserted(Signed::seal(assertion, &premises.key)?))
}

/// One exchange with one peer.
async fn exchange(
    premises: Arc<Premises>,
    link: Link,
    peer: NodeId,
    phase: Phase,
    request: SearchRequest,
    deadline: Duration,
) -> Event {
    let begun = premises.now();
    let within = std::time::Duration::from_millis(deadline.0);
    match link.network.request(peer, Protocol::Search, request.encode(), within).await {
        Ok(bytes) => {
            link.desk.note_latency(&peer, premises.now().since(begun));
            Event::Answered { peer, phase, response: SearchResponse::decode(&bytes) }
        }
        // Our own limit on what is under way to one peer says nothing of the peer.
        Err(RequestError::Busy) => {
            let response = SearchResponse::Busy { id: request.id(), retry_after_ms: BUSY_MS };
            Event::Answered { peer, phase, response: Ok(response) }
        }
        Err(error) => {
            tracing::debug!(%peer, %error, "no answer to a search");
            Event::Unreachable { peer, phase }
        }
    }
}

/// When a peer to which too many questions are under way can be asked again.
const BUSY_MS: u64 = 500;
