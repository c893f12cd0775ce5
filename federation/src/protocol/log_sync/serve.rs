//! The other side of log sync: a page cut from a log that is held.

use plumb_core::log::{Hash, LogError, consistency_proof, root_of};

use crate::wire::log::{LogResponse, PAGE_BYTES_MAX, PAGE_ENTRIES_MAX, Page};
use crate::wire::log_state::LogState;

/// Answers a request for entries `from..` of a log that is held.
///
/// `leaves` are the hashes of all its entries in order, and `entry` reads one. Hashing the proofs takes time in
/// proportion to the leaves, some ten milliseconds for a hundred thousand.
pub fn page(
    state: &LogState,
    leaves: &[Hash],
    from: u64,
    limit: u32,
    entry: impl FnMut(u64) -> Option<Vec<u8>>,
) -> LogResponse {
    let is_servable = state.is_whole() && leaves.len() as u64 == state.range.size();
    let page = is_servable.then(|| cut(state, leaves, from, limit, entry));
    match page {
        Some(Ok(Some(page))) => LogResponse::Page(page),
        _ => LogResponse::Missing { publisher: state.publisher },
    }
}

fn cut(
    state: &LogState,
    leaves: &[Hash],
    from: u64,
    limit: u32,
    mut entry: impl FnMut(u64) -> Option<Vec<u8>>,
) -> Result<Option<Page>, LogError> {
    // First of all: it refuses a place outside the log.
    let extends = consistency_proof(leaves, from)?;
    let limit = u64::from(limit).min(PAGE_ENTRIES_MAX as u64);
    let (mut entries, mut n_bytes, mut at) = (Vec::new(), 0, from);
    while at < state.range.size() && at - from < limit && n_bytes < PAGE_BYTES_MAX {
        let Some(bytes) = entry(at) else {
            return Ok(None);
        };
        n_bytes += bytes.len();
        entries.push(bytes);
        at += 1;
    }
    let before = usize::try_from(from).map_or(leaves, |n| leaves.get(..n).unwrap_or(leaves));
    Ok(Some(Page {
        publisher: state.publisher,
        from,
        root: root_of(before),
        extends,
        entries,
        rest: consistency_proof(leaves, at)?,
        checkpoint: state.checkpoint.clone(),
        certificate: state.certificate.clone(),
    }))
}
