//! The six stages around a search of this node: intent, entities, weights, search, fusion, conflicts (CTX-01).
//!
//! The boundary comes first and is not asked again: the search in the middle opens what the reader may read, and the
//! stages order what it found. Where no factor tells two results apart they stand as the search had them. Scores of
//! the search are not touched; what an answer or a bundle rests on is the search's own ranking.
//!
//! What an answer shows of the stages speaks of the reader's results and of the entity graph, which everybody of the
//! organisation may read: scopes that gave no result to this reader do not occur.

mod asked;
mod block;
mod conflicts;
mod feedback;
mod rating;
mod views;

use std::sync::Arc;
use std::time::Instant;

use actix::prelude::*;
use plumb_core::boundary::Requester;
use plumb_core::measure::Duration;
use plumb_core::retrieval::QUERY_BYTES_MAX;
use plumb_core::retrieval::assembly::{FLAT_FETCH, Opposed, PairSimilarities, Stage, Timings, fuse};

use super::{AskPeers, AssembleContext, Found, K_MAX, Retrieval};
use crate::caller::Caller;
use crate::error::NodeError;
use crate::premises::{Premises, blocking};

use asked::Asked;
use conflicts::{COMPARED_MAX, Conflicts};
use rating::Rating;

pub use block::{AssembleBlock, BlockView};
pub(crate) use feedback::Learned;
pub use feedback::{FeedbackView, ForgetFeedback, GiveFeedback, LearnedKindView, LearnedView, ShowLearned, ShownView};
pub use views::{ConflictView, FactorsView, IntentView, ResolvedView, ScopeView, StagesView};

/// Searches what the caller may read, on this node alone, in the six stages of assembly.
#[derive(Clone, Debug, actix::Message)]
#[rtype(result = "Result<Assembled, NodeError>")]
pub struct SearchInStages {
    /// Who asks.
    pub caller: Caller,
    /// The question.
    pub query: String,
    /// At most so many results; where one is contested the other side may come in addition.
    pub k: usize,
}

/// What the stages made of a search.
#[derive(Clone, Debug)]
pub struct Assembled {
    /// What was found, in the order of the stages.
    pub found: Found,
    /// What each stage did.
    pub stages: StagesView,
    /// Per result: every factor of its place.
    pub factors: Vec<FactorsView>,
    /// Per result: the results that contradict it.
    pub contested_by: Vec<Vec<cid::Cid>>,
}

impl Assembled {
    /// The results for a reader.
    pub fn view(&self, query: &str, explain: bool) -> super::SearchView {
        let mut view = self.found.view(query, explain);
        for ((hit, factors), others) in view.hits.iter_mut().zip(&self.factors).zip(&self.contested_by) {
            hit.contested_by = others.iter().map(ToString::to_string).collect();
            hit.factors = explain.then(|| factors.clone());
        }
        view.stages = explain.then(|| self.stages.clone());
        view
    }
}

/// Times what a stage does.
fn timed<T>(timings: &mut Timings, stage: Stage, work: impl FnOnce() -> T) -> T {
    let begun = Instant::now();
    let done = work();
    add(timings, stage, begun);
    done
}

fn add(timings: &mut Timings, stage: Stage, begun: Instant) {
    timings.add(stage, u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX));
}

/// A search between its stages: what was asked, and what was found.
struct Searched {
    premises: Arc<Premises>,
    requester: Requester,
    asked: Asked,
    found: Found,
    timings: Timings,
}

impl Retrieval {
    /// The first four stages. `fetch` results are looked for.
    fn search_in_stages(
        &mut self,
        caller: Caller,
        query: String,
        fetch: usize,
        ctx: &mut Context<Self>,
    ) -> ResponseFuture<Result<Searched, NodeError>> {
        let premises = self.premises.clone();
        // It begins when it is waited for.
        let search = AssembleContext {
            caller: caller.clone(),
            query: query.clone(),
            k: fetch,
            peers: AskPeers::default(),
            deadline: Duration(0),
        };
        let searching = <Retrieval as Handler<AssembleContext>>::handle(self, search, ctx);
        Box::pin(async move {
            if query.len() > QUERY_BYTES_MAX {
                return Err(NodeError::Invalid(format!("a question has at most {QUERY_BYTES_MAX} bytes")));
            }
            let requester = premises.requester(&caller)?;
            let (asked, mut timings) = {
                let premises = premises.clone();
                blocking(move || Asked::understand(&premises, &caller, &query)).await?
            };
            let begun = Instant::now();
            let found = searching.await?;
            add(&mut timings, Stage::Search, begun);
            Ok(Searched { premises, requester, asked, found, timings })
        })
    }
}

impl Handler<SearchInStages> for Retrieval {
    type Result = ResponseFuture<Result<Assembled, NodeError>>;

    fn handle(&mut self, ask: SearchInStages, ctx: &mut Context<Self>) -> Self::Result {
        let k = ask.k.clamp(1, K_MAX);
        // What ranks below may rank above with its factors, or contradict what does, so more is looked at than is shown.
        let fetch = k.saturating_mul(FLAT_FETCH).clamp(COMPARED_MAX, K_MAX);
        let searching = self.search_in_stages(ask.caller, ask.query.clone(), fetch, ctx);
        Box::pin(async move {
            let searched = searching.await?;
            blocking(move || results(searched, &ask.query, k)).await
        })
    }
}

/// The last two stages of a search: its results in their order, with the other sides of what is contested.
fn results(searched: Searched, query: &str, k: usize) -> Result<Assembled, NodeError> {
    let Searched { premises, requester, mut asked, mut found, mut timings } = searched;
    let rating = Rating::of(&premises, &requester, &mut asked, &found, &mut timings)?;
    let begun = Instant::now();
    let candidates = rating.candidates(&premises.readable_set(&requester));
    // Duplicates stay: who searches counts places, and a copy is a place of its own.
    let fused = fuse(candidates, &PairSimilarities::default(), &Opposed::default(), usize::MAX);
    let place = |chunk: &cid::Cid| found.evidence.iter().position(|e| e.cid == *chunk);
    let order: Vec<usize> = fused.found.iter().filter_map(|f| place(&f.unit.unit().chunk)).collect();
    add(&mut timings, Stage::Fusion, begun);

    let begun = Instant::now();
    let conflicts = Conflicts::among(query, &found, &order);
    let shown = conflicts.with_other_sides(&order, k);
    add(&mut timings, Stage::Conflicts, begun);

    let factors: Vec<FactorsView> = shown.iter().map(|at| rating.view(*at)).collect();
    let contested_by = shown.iter().map(|at| conflicts.against(&found, *at, &shown)).collect();
    let conflicts = conflicts.views(&found, &shown);
    let scopes = rating.scopes(&shown);
    keep(&mut found, &shown);
    let stages = asked.view(scopes, conflicts, &timings);
    Ok(Assembled { found, stages, factors, contested_by })
}

/// Keeps some of what was found, in this order.
fn keep(found: &mut Found, order: &[usize]) {
    fn pick<T: Clone>(all: &mut Vec<T>, order: &[usize]) {
        *all = order.iter().filter_map(|at| all.get(*at).cloned()).collect();
    }
    pick(&mut found.evidence, order);
    pick(&mut found.providers, order);
    pick(&mut found.factors, order);
    pick(&mut found.similarity, order);
    pick(&mut found.copies, order);
    let evidence = &found.evidence;
    let kept: std::collections::BTreeSet<cid::Cid> = evidence.iter().flat_map(|e| [e.cid, e.chunk.source]).collect();
    found.blocks.retain(|cid, _| kept.contains(cid));
}
