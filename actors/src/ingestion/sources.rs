//! Sources as their readers see them, and how one is named.

use plumb_core::boundary::readable;
use plumb_core::content::parse_cid;
use plumb_core::notice::Effect;
use plumb_storage::unit;

use super::{ListSources, SourceView};
use crate::error::NodeError;
use crate::kept::{self, SourceRow, SourceState};
use crate::premises::Premises;

/// Lists what the caller may read.
pub(super) fn list(premises: &Premises, ask: &ListSources) -> Result<Vec<SourceView>, NodeError> {
    let requester = premises.requester(&ask.caller)?;
    let may_read = |row: &SourceRow| -> Result<bool, NodeError> {
        let Some(chunk) = row.chunks.first() else { return Ok(false) };
        Ok(unit(&premises.store, chunk)?.is_some_and(|u| readable(&requester, &u, premises.policy).is_ok()))
    };
    if let Some(name) = &ask.name {
        let mut views = Vec::new();
        for row in find_sources(premises, name)?.iter().take(ask.limit) {
            if may_read(row)? {
                views.push(view(premises, row)?);
            }
        }
        return Ok(views);
    }
    let mut views = Vec::new();
    for row in kept::sources_by_address(&premises.store, ask.after.as_deref()) {
        let row = row?;
        if views.len() == ask.limit {
            break;
        }
        if may_read(&row)? {
            views.push(view(premises, &row)?);
        }
    }
    Ok(views)
}

/// Sources of this name: a CID, an address, or the end of one. Superseded versions and what was removed answer to
/// their CID only.
pub(crate) fn find_sources(premises: &Premises, name: &str) -> Result<Vec<SourceRow>, NodeError> {
    if let Ok(cid) = parse_cid(name) {
        return Ok(kept::source(&premises.store, &cid)?.into_iter().collect());
    }
    let mut exact = Vec::new();
    let mut by_end = Vec::new();
    for row in kept::sources_by_address(&premises.store, None) {
        let row = row?;
        if matches!(row.state, SourceState::Superseded(_) | SourceState::Removed(_)) {
            continue;
        }
        if row.address == name {
            exact.push(row);
        } else if row.address.ends_with(name) {
            by_end.push(row);
        }
    }
    Ok(if exact.is_empty() { by_end } else { exact })
}

fn view(premises: &Premises, row: &SourceRow) -> Result<SourceView, NodeError> {
    let (state, withdrawn) = match &row.state {
        SourceState::Active => ("active", None),
        SourceState::Retracted(notice) => ("retracted", Some(*notice)),
        SourceState::Superseded(_) => ("superseded", None),
        SourceState::Removed(_) => ("removed", None),
    };
    let caution = kept::standing_on(&premises.store, &row.record)?.into_iter().find(|s| s.effect == Effect::Caution);
    Ok(SourceView {
        cid: row.record.to_string(),
        address: row.address.clone(),
        uri: row.uri.clone(),
        title: row.title.clone(),
        media_type: row.media_type.clone(),
        adapter: row.adapter.clone(),
        scope: row.scope.to_string(),
        sensitivity: row.sensitivity.to_string(),
        state: state.to_string(),
        notice: withdrawn.or(caution.map(|s| s.notice)).map(|n| n.to_string()),
        chunks: row.chunks.len() as u64,
        publisher: row.publisher.to_string(),
        own: row.publisher == premises.node(),
    })
}
