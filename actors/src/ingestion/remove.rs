//! Removing a source from this node: it is found no more, and its bytes go with the last who needs them.
//!
//! A removal is this node's own affair and tells nobody; a retraction speaks to everyone who holds the source
//! (`verification`). What others hold can still be retracted afterwards, since the fingerprints of the text stay.

use std::collections::BTreeSet;

use cid::Cid;
use plumb_core::boundary::readable;
use plumb_core::content::{SourceRecord, parse_cid};
use plumb_core::knowledge::UnitState;
use plumb_storage::{Blocks, Change, Records, unit};

use super::{RemoveSource, RemovedView};
use crate::error::NodeError;
use crate::kept::{self, SourceRow, SourceState};
use crate::premises::Premises;
use crate::verification::texts_of;

/// Removes, or says what a removal would do.
pub(super) fn remove(premises: &Premises, ask: &RemoveSource) -> Result<RemovedView, NodeError> {
    // A job must not bring in anew what is being removed, nor the other way round.
    let _guard = premises.ingest_lock();
    let row = find(premises, ask)?;
    let blocks = blocks_of(premises, &row)?;
    let mut change = Change::new(premises.event(&ask.caller.label(), "source.remove", row.record, "ok", ""));
    let holder = row.record.to_bytes();
    let (mut blocks_erased, mut blocks_kept) = (0, 0);
    for block in &blocks {
        let holders = premises.store.holders(block).collect::<Result<Vec<_>, _>>()?;
        // What came with something offered is held by nobody.
        if holders.is_empty() {
            change.erase_block(block);
        } else {
            change.release(block, &holder);
        }
        if holders.iter().any(|other| *other != holder) {
            blocks_kept += 1;
        } else {
            blocks_erased += 1;
        }
    }
    let view = RemovedView {
        source: row.record.to_string(),
        address: row.address.clone(),
        title: row.title.clone(),
        chunks: row.chunks.len() as u64,
        blocks_erased,
        blocks_kept,
        answers: kept::answers_citing(&premises.store, &row.record)?.iter().map(|a| a.bundle.to_string()).collect(),
        holders: kept::holders(&premises.store, &row.record)?.iter().map(ToString::to_string).collect(),
        dry_run: ask.dry_run,
    };
    if ask.dry_run {
        return Ok(view);
    }
    change.audit(premises.event(
        &ask.caller.label(),
        "source.erase",
        row.record,
        "ok",
        format!("{} chunks, {blocks_erased} blocks erased, {blocks_kept} kept for others", view.chunks),
    ));
    for chunk in &row.chunks {
        if let Some(mut unit) = unit(&premises.store, chunk)? {
            // The unit stays as who may know of it: an answer that rests on it is no more open than before.
            unit.state = UnitState::Removed;
            change.put_unit(&unit);
        }
    }
    kept::vacate(&premises.store, &mut change, &row)?;
    let texts = match texts_of(premises, &row, &[]) {
        Ok(texts) => texts,
        // What is damaged can be removed; there is nothing left of it to recognise.
        Err(NodeError::Damaged(_)) => Vec::new(),
        Err(error) => return Err(error),
    };
    kept::retitle(&mut change, &SourceRow { state: SourceState::Removed(texts), ..row });
    let position = premises.store.commit(change)?;
    // Whoever hears that it is removed must not find it.
    premises.index.flush_to(position)?;
    Ok(view)
}

/// The source, if the caller may know of it and may remove it.
fn find(premises: &Premises, ask: &RemoveSource) -> Result<SourceRow, NodeError> {
    let absent = || NodeError::NotFound(ask.source.clone());
    let record = parse_cid(&ask.source).map_err(|_| absent())?;
    let row = kept::source(&premises.store, &record)?.filter(|row| !row.is_removed()).ok_or_else(absent)?;
    if ask.caller.operator {
        return Ok(row);
    }
    let requester = premises.requester(&ask.caller)?;
    for chunk in &row.chunks {
        let unit = unit(&premises.store, chunk)?;
        if unit.is_none_or(|unit| readable(&requester, &unit, premises.policy).is_err()) {
            return Err(absent());
        }
    }
    if row.creator.as_ref() == Some(&ask.caller.person) {
        return Ok(row);
    }
    Err(NodeError::Denied("only who brought a source in, and the operator of the node, may remove it".to_string()))
}

/// Everything that is stored of a source alone.
fn blocks_of(premises: &Premises, row: &SourceRow) -> Result<BTreeSet<Cid>, NodeError> {
    let mut blocks: BTreeSet<Cid> = row.chunks.iter().copied().chain([row.record, row.raw]).collect();
    if let Some(block) = premises.store.block(&row.record)? {
        blocks.insert(block.decode::<SourceRecord>()?.text);
    }
    Ok(blocks)
}
