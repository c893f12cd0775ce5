//! The block of context for a model: the best few, copies folded, both sides of what is contested (CTX-18 to CTX-21).

use std::collections::BTreeMap;
use std::time::Instant;

use actix::prelude::*;
use plumb_core::retrieval::assembly::{BUDGET_MAX, PairSimilarities, Passage, Stage, fuse, render};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::conflicts::{COMPARED_MAX, Conflicts};
use super::rating::Rating;
use super::views::StagesView;
use super::{Searched, add, timed};
use crate::caller::Caller;
use crate::error::NodeError;
use crate::premises::blocking;
use crate::retrieval::Retrieval;

/// Makes a block of context out of what the caller may read on this node.
#[derive(Clone, Debug, actix::Message)]
#[rtype(result = "Result<BlockView, NodeError>")]
pub struct AssembleBlock {
    /// Who asks.
    pub caller: Caller,
    /// The question.
    pub query: String,
    /// Most results; the other side of a contested one comes in addition.
    pub k: usize,
    /// Most tokens, at four characters each.
    pub max_tokens: usize,
}

/// A block of context.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BlockView {
    /// The text, inside its tag; empty if there is nothing to say.
    pub context: String,
    /// Tokens, at four characters each.
    pub tokens: u64,
    /// The chunks of its lines, in order.
    pub shown: Vec<String>,
    /// Texts that were cut to fit.
    pub n_cut: u64,
    /// Results that did not fit at all.
    pub n_left_out: u64,
    /// Other chunks that say the same as one shown, word for word.
    pub n_folded: u64,
    /// What each stage did.
    pub stages: StagesView,
}

impl Handler<AssembleBlock> for Retrieval {
    type Result = ResponseFuture<Result<BlockView, NodeError>>;

    fn handle(&mut self, ask: AssembleBlock, ctx: &mut Context<Self>) -> Self::Result {
        let k = ask.k.clamp(1, COMPARED_MAX);
        // Copies and other sides come from among what is looked at, however few are shown.
        let searching = self.search_in_stages(ask.caller, ask.query.clone(), COMPARED_MAX, ctx);
        Box::pin(async move {
            let searched = searching.await?;
            blocking(move || block(searched, &ask.query, k, ask.max_tokens.min(BUDGET_MAX))).await
        })
    }
}

fn block(searched: Searched, query: &str, k: usize, max_tokens: usize) -> Result<BlockView, NodeError> {
    let Searched { premises, requester, mut asked, found, mut timings } = searched;
    let set = premises.readable_set(&requester);
    let rating = Rating::of(&premises, &requester, &mut asked, &found, &mut timings)?;
    let places: Vec<usize> = (0..found.evidence.len()).collect();
    let conflicts = timed(&mut timings, Stage::Conflicts, || Conflicts::among(query, &found, &places));
    // The search has folded what says the same word for word.
    let fused = timed(&mut timings, Stage::Fusion, || {
        let candidates = rating.candidates(&set);
        fuse(candidates, &PairSimilarities::default(), &conflicts.opposed(&found), k)
    });
    let begun = Instant::now();
    let texts = found.evidence.iter().map(|e| (e.cid, Passage { text: e.chunk.text.clone(), written: None }));
    let block = render(&fused.found, &texts.collect::<BTreeMap<_, _>>(), max_tokens);
    add(&mut timings, Stage::Conflicts, begun);

    let place = |chunk: &cid::Cid| found.evidence.iter().position(|e| e.cid == *chunk);
    let shown: Vec<usize> = block.shown.iter().filter_map(place).collect();
    let stages = asked.view(rating.scopes(&shown), conflicts.views(&found, &shown), &timings);
    Ok(BlockView {
        tokens: block.tokens() as u64,
        context: block.text,
        shown: block.shown.iter().map(ToString::to_string).collect(),
        n_cut: block.n_cut as u64,
        n_left_out: block.n_left_out as u64,
        n_folded: shown.iter().filter_map(|at| found.copies.get(*at)).map(|copies| copies.len() as u64).sum(),
        stages,
    })
}
