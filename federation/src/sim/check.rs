//! The invariants, checked from outside after every occurrence.

use std::collections::{BTreeMap, BTreeSet};

use cid::Cid;
use plumb_core::identity::NodeId;

use super::byzantine;
use super::node::Node;
use crate::protocol::delivery::Standing;

/// What was seen so far, so that each entry and each acknowledgement is looked at once.
#[derive(Clone, Debug, Default)]
pub(super) struct Checker {
    /// How many entries of a log were good at a node.
    sizes: BTreeMap<(usize, NodeId), usize>,
    acknowledged: BTreeSet<(usize, Cid, NodeId)>,
}

/// Which invariant, and what was found.
pub(super) type Broken = (&'static str, String);

impl Checker {
    /// Looks at the node that has just done something.
    pub(super) fn check(&mut self, at: usize, nodes: &[Node], places: &BTreeMap<NodeId, usize>) -> Result<(), Broken> {
        let Some(node) = nodes.get(at) else {
            return Ok(());
        };
        for (publisher, size) in node.disk.sizes() {
            let seen = self.sizes.entry((at, *publisher)).or_default();
            if size < *seen {
                return Err(("SIM-2", format!("{publisher} had {seen} entries and has {size}")));
            }
            if *seen < size {
                let held = node.disk.entries(publisher);
                let source = places.get(publisher).and_then(|place| nodes.get(*place));
                // All of it again: what was good must not have changed either.
                if !source.is_some_and(|source| is_published(source, held)) {
                    return Err(("SIM-1", format!("{publisher} did not publish what is held of it")));
                }
                *seen = size;
            }
        }
        for ((notice, holder), standing) in &node.disk.obligations {
            let is_new =
                matches!(standing, Standing::Acknowledged { .. }) && self.acknowledged.insert((at, *notice, *holder));
            let holder = places.get(holder).and_then(|place| nodes.get(*place));
            if is_new && !holder.is_some_and(|holder| holder.disk.applied.contains(notice)) {
                return Err(("SIM-3", format!("{notice} is acknowledged and not applied")));
            }
        }
        Ok(())
    }
}

/// Whether these entries are a beginning of a history of this node.
fn is_published(source: &Node, held: &[Vec<u8>]) -> bool {
    source.disk.entries(&source.id).starts_with(held)
        || byzantine::other_face(source).is_some_and(|face| face.entries.starts_with(held))
}
