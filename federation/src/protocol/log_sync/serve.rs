//! The other side of log sync: a page cut from a log that is held.

use plumb_core::log::{Hash, LogError, consistency_proof_from, root_from, root_of};

use crate::wire::log::{LogResponse, PAGE_BYTES_MAX, PAGE_ENTRIES_MAX, Page};
use crate::wire::log_state::LogState;

/// Answers a request for entries `from..` of a log that is held.
///
/// `leaves` are the hashes of all its entries in order, and `entry` reads one. Hashing the proofs takes time in
/// proportion to the leaves, some ten milliseconds for a hundred thousand; who keeps the tree uses [`page_from`].
pub fn page(
    state: &LogState,
    leaves: &[Hash],
    from: u64,
    limit: u32,
    mut entry: impl FnMut(u64) -> Option<Vec<u8>>,
) -> LogResponse {
    let missing = LogResponse::Missing { publisher: state.publisher };
    if leaves.len() as u64 != state.range.size() {
        return missing;
    }
    let outside = |index| LogError::Index { index, size: leaves.len() as u64 };
    let node = |level: u8, index: u64| {
        let from = usize::try_from(index << level).map_err(|_| outside(index))?;
        leaves.get(from..from + (1 << level)).map(root_of).ok_or(outside(index))
    };
    page_from(state, node, from, limit, |at| entry(at).ok_or(outside(at))).unwrap_or(missing)
}

/// The same from a tree that is kept: `node` gives the root of a perfect subtree by its height and its index, and
/// `entry` reads one entry. It reads in proportion to the page and to the logarithm of the log.
///
/// What the two report is given back as it is; a place outside the log is [`LogResponse::Missing`].
pub fn page_from<E: From<LogError>>(
    state: &LogState,
    mut node: impl FnMut(u8, u64) -> Result<Hash, E>,
    from: u64,
    limit: u32,
    mut entry: impl FnMut(u64) -> Result<Vec<u8>, E>,
) -> Result<LogResponse, E> {
    let size = state.range.size();
    if !state.is_whole() || from > size {
        return Ok(LogResponse::Missing { publisher: state.publisher });
    }
    let limit = u64::from(limit).min(PAGE_ENTRIES_MAX as u64);
    let (mut entries, mut n_bytes, mut at) = (Vec::new(), 0, from);
    while at < size && at - from < limit && n_bytes < PAGE_BYTES_MAX {
        let bytes = entry(at)?;
        n_bytes += bytes.len();
        entries.push(bytes);
        at += 1;
    }
    Ok(LogResponse::Page(Page {
        publisher: state.publisher,
        from,
        root: root_from(from, &mut node)?,
        extends: consistency_proof_from(size, from, &mut node)?,
        entries,
        rest: consistency_proof_from(size, at, &mut node)?,
        checkpoint: state.checkpoint.clone(),
        certificate: state.certificate.clone(),
    }))
}
