//! Nodes that an operator blocked: `b` ‖ key → the node.

use plumb_core::identity::NodeId;
use plumb_storage::{Change, Keyspace, RecordsExt, StorageError, Store};

use super::SHAPE;

fn key(node: &NodeId) -> Vec<u8> {
    [b"b", node.as_bytes().as_slice()].concat()
}

/// Blocks a node, or blocks it no more.
pub(crate) fn put_blocked(change: &mut Change, node: &NodeId, is_blocked: bool) {
    if is_blocked {
        change.put_value(Keyspace::Peers, SHAPE, &key(node), node);
    } else {
        change.delete(Keyspace::Peers, &key(node));
    }
}

/// Everybody who is blocked.
pub(crate) fn blocked(store: &Store) -> Result<Vec<NodeId>, StorageError> {
    store
        .rows(Keyspace::Peers, b"b")
        .map(|row| plumb_storage::stored::decode(Keyspace::Peers, SHAPE, &row?.1))
        .collect()
}
