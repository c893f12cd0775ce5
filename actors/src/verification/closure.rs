//! What depends on a source: the claims of saved answers, and the files that were given out of them.

use std::collections::BTreeMap;

use cid::Cid;
use plumb_core::grounding::Answer;
use plumb_core::lifecycle::{ClaimState, Standing, claim_states};
use plumb_core::notice::{Effect, Notice};
use plumb_storage::Blocks;

use crate::error::NodeError;
use crate::kept::{self, KeptEvent, SavedAnswer};
use crate::premises::Premises;

/// What a notice does here: a narrowing does one thing at home and another across the border.
pub(super) fn effect_of(notice: &Notice, standing: &[Standing]) -> Effect {
    match notice.kind.effect() {
        Effect::Withdraw if standing.iter().any(|s| s.effect == Effect::Narrow) => notice.kind.effect_at_home(),
        effect => effect,
    }
}

/// How each claim of a saved answer stands. `arriving` is what stands against some of its sources once a notice that is
/// being applied is counted; of the others the store says it.
pub(crate) fn claims_of(
    premises: &Premises,
    row: &SavedAnswer,
    arriving: &BTreeMap<Cid, Vec<Standing>>,
) -> Result<Vec<(String, ClaimState)>, NodeError> {
    let absent = || NodeError::Damaged(format!("block {} is missing", row.answer));
    let answer: Answer = premises.store.block(&row.answer)?.ok_or_else(absent)?.decode()?;
    let mut standing: BTreeMap<Cid, Vec<Standing>> = BTreeMap::new();
    for source in &row.sources {
        let against = match arriving.get(source) {
            Some(against) => against.clone(),
            None => kept::standing_on(&premises.store, source)?,
        };
        standing.insert(*source, against);
    }
    Ok(claim_states(&answer, |citation| {
        let against = standing.get(&citation.source).into_iter().flatten();
        against.into_iter().any(|s| s.effect == Effect::Withdraw && s.covers(&citation.chunk))
    }))
}

/// Events for one saved answer: itself, each claim that changed or changed back, and each file that was given of it.
pub(super) fn tell(
    premises: &Premises,
    notice: Cid,
    row: &SavedAnswer,
    arriving: &BTreeMap<Cid, Vec<Standing>>,
    events: &mut Vec<KeptEvent>,
) -> Result<(), NodeError> {
    let now = premises.now();
    let mut event = |what: &str, claim: Option<String>, state: &str| {
        events.push(KeptEvent {
            notice,
            what: what.to_string(),
            subject: row.bundle,
            claim,
            state: state.to_string(),
            at: now,
        });
    };
    let before = claims_of(premises, row, &BTreeMap::new())?;
    let after = claims_of(premises, row, arriving)?;
    let state = match after.iter().map(|(_, state)| *state).max() {
        Some(ClaimState::Unsupported) => "unsupported_in_part",
        Some(ClaimState::Weakened) => "weakened",
        Some(ClaimState::Supported) | None => "noted",
    };
    let is_gone = !after.is_empty() && after.iter().all(|(_, state)| *state == ClaimState::Unsupported);
    let state = if is_gone { "unsupported" } else { state };
    event("answer", None, state);
    for ((id, was), (_, is)) in before.iter().zip(&after) {
        if was != is {
            event("claim", Some(id.clone()), is.as_str());
        }
    }
    if kept::was_given_out(&premises.store, &row.bundle)? {
        event("export", None, state);
    }
    Ok(())
}
