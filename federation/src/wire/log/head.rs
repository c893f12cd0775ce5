//! Heads: which logs a node holds, and how far.

use plumb_core::identity::NodeId;
use plumb_core::log::SignedCheckpoint;
use serde::{Deserialize, Serialize};

use super::super::{WireError, field};
use super::fork::{FORKS_MAX, Fork, ForkV1};

/// Most heads in one message. A node that holds more logs sends another part of them each time.
pub const HEADS_MAX: usize = 512;

/// Most bytes that the heads of one message take. [`Heads::push`] stays below it.
pub const HEADS_BYTES_MAX: usize = 768 * 1024;

/// What a head takes beside its checkpoint: the key, the size, the names of the fields.
const HEAD_OVERHEAD_BYTES: usize = 128;

/// One log as one node holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// Whose log.
    pub publisher: NodeId,
    /// Its last checkpoint there. **Not verified yet**: whoever reads it has to ask its publisher's key.
    pub checkpoint: SignedCheckpoint,
}

impl Head {
    /// How many entries it has.
    pub fn size(&self) -> u64 {
        self.checkpoint.checkpoint().size
    }
}

/// What two nodes tell each other from time to time, so that nobody misses anything for long.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Heads {
    /// Logs.
    pub heads: Vec<Head>,
    /// Publishers that showed two histories, with the proof.
    pub forks: Vec<Fork>,
}

impl Heads {
    /// Adds a head, unless the message is full.
    pub fn push(&mut self, head: Head) -> bool {
        let taken: usize = self.heads.iter().map(bytes_of).sum();
        let fits = self.heads.len() < HEADS_MAX && taken + bytes_of(&head) <= HEADS_BYTES_MAX;
        if fits {
            self.heads.push(head);
        }
        fits
    }
}

fn bytes_of(head: &Head) -> usize {
    head.checkpoint.as_str().len() + HEAD_OVERHEAD_BYTES
}

#[derive(Serialize, Deserialize)]
pub(in super::super) struct HeadV1 {
    publisher: String,
    size: u64,
    checkpoint: String,
}

#[derive(Serialize, Deserialize)]
pub(super) struct HeadsV1 {
    heads: Vec<HeadV1>,
    forks: Vec<ForkV1>,
}

impl From<&Head> for HeadV1 {
    fn from(head: &Head) -> HeadV1 {
        HeadV1 {
            publisher: head.publisher.to_string(),
            size: head.size(),
            checkpoint: head.checkpoint.as_str().to_string(),
        }
    }
}

impl TryFrom<HeadV1> for Head {
    type Error = WireError;
    fn try_from(head: HeadV1) -> Result<Head, WireError> {
        let checkpoint = field::checkpoint(&head.checkpoint)?;
        if checkpoint.checkpoint().size != head.size {
            return Err(WireError::Contradiction("a head has another size than its checkpoint"));
        }
        Ok(Head { publisher: field::node(&head.publisher)?, checkpoint })
    }
}

/// The heads of a message, within their limit.
pub(in super::super) fn all(heads: Vec<HeadV1>) -> Result<Vec<Head>, WireError> {
    field::at_most(heads.len(), HEADS_MAX, "heads")?;
    heads.into_iter().map(Head::try_from).collect()
}

impl From<&Heads> for HeadsV1 {
    fn from(heads: &Heads) -> HeadsV1 {
        HeadsV1 {
            heads: heads.heads.iter().map(HeadV1::from).collect(),
            forks: heads.forks.iter().map(ForkV1::from).collect(),
        }
    }
}

impl TryFrom<HeadsV1> for Heads {
    type Error = WireError;
    fn try_from(heads: HeadsV1) -> Result<Heads, WireError> {
        field::at_most(heads.forks.len(), FORKS_MAX, "forks")?;
        Ok(Heads {
            heads: all(heads.heads)?,
            forks: heads.forks.into_iter().map(Fork::try_from).collect::<Result<_, _>>()?,
        })
    }
}
