//! The way that a teaching came.

use cid::Cid;

use super::{HOP_PERMILLE, HOPS_MAX, Hop, HopTag, Teaching};
use crate::identity::{NodeId, SecretKey, Signed, SignedError};
use crate::measure::{Micro, Timestamp};

/// A teaching with the hops that brought it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taught {
    /// What is taught, signed by its origin.
    pub teaching: Signed<Teaching>,
    /// The hops, the origin's own first.
    pub hops: Vec<Signed<Hop>>,
}

/// Why a chain is not believed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChainError {
    /// It came from nowhere.
    #[error("it has no hop, not even the origin's own")]
    Empty,
    /// It came too far.
    #[error("it came {0} hops; {HOPS_MAX} are allowed")]
    TooFar(usize),
    /// A hop is about something else.
    #[error("hop {at} passes on {names}, not this")]
    Other {
        /// Which, from 1.
        at: usize,
        /// What it names.
        names: Cid,
    },
    /// A hop does not follow the one before it.
    #[error("hop {at} does not follow the one before it")]
    Broken {
        /// Which, from 1.
        at: usize,
    },
    /// A hop is signed by a node that was not given it.
    #[error("hop {at} is signed by {signer}, to whom it was not given")]
    Signer {
        /// Which, from 1.
        at: usize,
        /// Who signed.
        signer: NodeId,
    },
    /// The last hop is for another node.
    #[error("it was given to {0}, not to this node")]
    Receiver(NodeId),
    /// Who hands it over is not the last who signed.
    #[error("{giver} hands it over, and {signer} signed the last hop")]
    Giver {
        /// Who handed it over.
        giver: NodeId,
        /// Who signed.
        signer: NodeId,
    },
}

impl Taught {
    /// The origin offers something to a node.
    pub fn begin(
        teaching: Signed<Teaching>,
        key: &SecretKey,
        to: NodeId,
        at: Timestamp,
    ) -> Result<Taught, SignedError> {
        Taught { teaching, hops: Vec::new() }.pass_on(key, to, at)
    }

    /// Passes it on to a node.
    pub fn pass_on(mut self, key: &SecretKey, to: NodeId, at: Timestamp) -> Result<Taught, SignedError> {
        let previous = self.hops.last().map(Signed::cid);
        let hop = Hop { tag: HopTag, teaching: self.teaching.cid(), previous, to, at };
        self.hops.push(Signed::seal(hop, key)?);
        Ok(self)
    }

    /// Where it arose.
    pub fn origin(&self) -> NodeId {
        *self.teaching.signer()
    }

    /// Whether it came this way to `me` from `giver`. Each signature was checked when its value was read.
    pub fn check(&self, me: &NodeId, giver: &NodeId) -> Result<(), ChainError> {
        if self.hops.len() > HOPS_MAX {
            return Err(ChainError::TooFar(self.hops.len()));
        }
        let (mut holder, mut previous) = (self.origin(), None);
        for (at, hop) in (1..).zip(&self.hops) {
            let said = hop.value();
            if said.teaching != self.teaching.cid() {
                return Err(ChainError::Other { at, names: said.teaching });
            }
            if said.previous != previous {
                return Err(ChainError::Broken { at });
            }
            if *hop.signer() != holder {
                return Err(ChainError::Signer { at, signer: *hop.signer() });
            }
            (holder, previous) = (said.to, Some(hop.cid()));
        }
        let last = self.hops.last().ok_or(ChainError::Empty)?;
        if last.value().to != *me {
            return Err(ChainError::Receiver(last.value().to));
        }
        if last.signer() != giver {
            return Err(ChainError::Giver { giver: *giver, signer: *last.signer() });
        }
        Ok(())
    }

    /// How sure one may be here: the origin's confidence after the hops that it came.
    pub fn confidence(&self) -> Micro {
        faded(self.teaching.value().confidence.into(), self.hops.len())
    }

    /// Whether this node may pass it on without making the chain too long.
    pub fn may_go_on(&self) -> bool {
        self.hops.len() < HOPS_MAX && self.teaching.value().may_propagate()
    }
}

/// A confidence after so many hops.
pub(super) fn faded(confidence: Micro, n_hops: usize) -> Micro {
    let mut left = u64::from(confidence.get());
    for _ in 0..n_hops.min(HOPS_MAX + 1) {
        left = left * HOP_PERMILLE / 1000;
    }
    Micro::from_ratio(left, 1_000_000)
}
