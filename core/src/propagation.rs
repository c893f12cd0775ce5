//! Propagation: how a piece of knowledge that proved itself on one node is offered to others, and what they make of it.
//!
//! The origin signs a [`Teaching`]; every node that passes it on signs a [`Hop`], which names the hop before it and the
//! node that it is for. So a chain can be neither shortened nor given to somebody else, and nobody lengthens it unseen.
//! Confidence fades by [`HOP_PERMILLE`] a hop. It is computed from the origin's number by whoever receives: no number
//! that came along the way is believed (FED-05, D10).
//!
//! What is taught is evidence like any other. Accepting it never makes it true: it stands under the same boundaries and
//! the same notices, and what contradicts something known waits for a person (FED-07).

mod chain;
mod judge;

use cid::Cid;
use serde::{Deserialize, Serialize};

use crate::boundary::Sensitivity;
use crate::content::block_type;
use crate::identity::{Domain, NodeId, Signable};
use crate::knowledge::KnowledgeType;
use crate::measure::{Duration, Milli, Timestamp};

pub use chain::{ChainError, Taught};
pub use judge::{Known, Reply, Resolution, judge, resolve};

block_type!(TeachingTag, "plumb/teaching/1");
block_type!(HopTag, "plumb/hop/1");

/// Hops that a teaching may come (FED-04).
pub const HOPS_MAX: usize = 3;

/// What is left of a confidence after a hop, in thousandths (D10).
pub const HOP_PERMILLE: u64 = 850;

/// Least confidence of what is offered to others (FED-06).
pub const CONFIDENCE_MIN: Milli = Milli::from_const(850);

/// How often something must have been seen if no person validated it (FED-06).
pub const SEEN_MIN: u64 = 3;

/// Teachings that are sent in one cycle (FED-08).
pub const PER_CYCLE: usize = 50;

/// Teachings that may wait for a person before their givers are slowed down (FED-08).
pub const PENDING_SLOW: usize = 500;

/// How often a node offers what is new, in the background (FED-03).
pub const CYCLE: Duration = Duration::seconds(300);

/// A piece of knowledge, offered by the node where it arose.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Teaching {
    /// `plumb/teaching/1`
    #[serde(rename = "type")]
    pub tag: TeachingTag,
    /// The evidence.
    pub chunk: Cid,
    /// Its source record.
    pub source: Cid,
    /// What kind of knowledge.
    pub kind: KnowledgeType,
    /// How sensitive.
    pub sensitivity: Sensitivity,
    /// How sure the origin is.
    pub confidence: Milli,
    /// Whether a person validated it there.
    pub validated: bool,
    /// How often it was seen there.
    pub seen: u64,
    /// When, as the origin says. For people; nothing is ordered by it.
    pub at: Timestamp,
}

impl Signable for Teaching {
    const DOMAIN: Domain = Domain::Teaching;
}

/// One step on the way of a teaching, signed by whoever passes it on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hop {
    /// `plumb/hop/1`
    #[serde(rename = "type")]
    pub tag: HopTag,
    /// What is passed on.
    pub teaching: Cid,
    /// The hop before this one; none for the origin's own.
    pub previous: Option<Cid>,
    /// To whom.
    pub to: NodeId,
    /// When, as its signer says.
    pub at: Timestamp,
}

impl Signable for Hop {
    const DOMAIN: Domain = Domain::Hop;
}

impl Teaching {
    /// Whether it may be offered to others (FED-06): sure enough, of a kind that others can use, and validated or seen
    /// often enough.
    pub fn may_propagate(&self) -> bool {
        let useful = matches!(
            self.kind,
            KnowledgeType::Decision | KnowledgeType::Pattern | KnowledgeType::Preference | KnowledgeType::ErrorFix
        );
        useful && self.confidence >= CONFIDENCE_MIN && (self.validated || self.seen >= SEEN_MIN)
    }
}

/// How many teachings go out in this cycle, and when the next one begins (FED-08). A receiver whose queue is long gets
/// fewer, and less often; one whose queue is longer still gets none.
pub fn pace(receiver_pending: usize) -> (usize, Duration) {
    match receiver_pending.checked_div(PENDING_SLOW).unwrap_or(0) {
        0 => (PER_CYCLE, CYCLE),
        1 => (PER_CYCLE / 5, Duration(CYCLE.0 * 2)),
        _ => (0, Duration(CYCLE.0 * 4)),
    }
}

#[cfg(test)]
mod tests;
