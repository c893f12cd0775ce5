//! A summary of the heads that a node holds: a few hundred bytes in place of all of them.
//!
//! The logs are thrown into buckets by a salted hash of their publisher, and of each bucket a short hash travels. Who
//! receives it makes the same buckets of what it holds, and answers with the heads of those that differ. Two nodes that
//! hold the same say so in one small message, and what differs costs what differs.
//!
//! The salt is drawn anew for each summary, so nobody can prepare two states that look alike: whoever tries has one
//! exchange in which two of 2⁶⁴ values may meet, and the next exchange has another salt.

use plumb_core::identity::NodeId;
use plumb_core::log::Hash;
use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;
use sha2::{Digest, Sha256};

use super::super::{WireError, field};
use super::head::{Head, HeadV1};

/// Bytes of the hash of a bucket.
const BUCKET_BYTES: usize = 8;

/// Fewest buckets, so that a node that holds nothing yet can say so.
pub const BUCKETS_MIN: usize = 8;

/// Most buckets: 2 KiB. With as many logs as a node follows, one holds sixteen.
pub const BUCKETS_MAX: usize = 256;

/// How a log stands in a summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// Whole, up to this head.
    Whole {
        /// How many entries.
        size: u64,
        /// The root over them.
        root: Hash,
    },
    /// In quarantine.
    Forked,
}

/// "This is what I hold, in short; which heads do you have that I lack?"
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// Drawn anew each time.
    pub salt: u64,
    /// The hash of each bucket.
    pub buckets: Vec<[u8; BUCKET_BYTES]>,
    /// The head of the sender's own log, if it has entries: nobody can say better how far that goes.
    pub own: Option<Head>,
}

/// In which bucket a publisher's log is.
pub fn bucket_of(salt: u64, publisher: &NodeId, n_buckets: usize) -> usize {
    let hash = Sha256::new().chain_update(salt.to_be_bytes()).chain_update(publisher.as_bytes()).finalize();
    let number = hash.iter().take(4).fold(0usize, |number, byte| number << 8 | usize::from(*byte));
    number % n_buckets.max(1)
}

/// How many buckets a node that holds so many logs makes: about one for each.
pub fn n_buckets_for(n_logs: usize) -> usize {
    n_logs.next_power_of_two().clamp(BUCKETS_MIN, BUCKETS_MAX)
}

/// The hashes of the buckets of logs that come in the order of their publishers.
pub fn buckets<'a>(
    salt: u64,
    n_buckets: usize,
    logs: impl IntoIterator<Item = (&'a NodeId, Held)>,
) -> Vec<[u8; BUCKET_BYTES]> {
    let mut hashers = vec![Sha256::new().chain_update(salt.to_be_bytes()); n_buckets];
    for (publisher, held) in logs {
        let Some(hasher) = hashers.get_mut(bucket_of(salt, publisher, n_buckets)) else {
            continue;
        };
        hasher.update(publisher.as_bytes());
        match held {
            Held::Whole { size, root } => {
                hasher.update([0]);
                hasher.update(size.to_be_bytes());
                hasher.update(root);
            }
            Held::Forked => hasher.update([1]),
        }
    }
    let short = |hasher: Sha256| {
        let mut short = [0; BUCKET_BYTES];
        short.iter_mut().zip(hasher.finalize()).for_each(|(to, from)| *to = from);
        short
    };
    hashers.into_iter().map(short).collect()
}

#[derive(Serialize, Deserialize)]
pub(super) struct SummaryV1 {
    salt: u64,
    buckets: ByteBuf,
    own: Vec<HeadV1>,
}

impl From<&Summary> for SummaryV1 {
    fn from(summary: &Summary) -> SummaryV1 {
        SummaryV1 {
            salt: summary.salt,
            buckets: ByteBuf::from(summary.buckets.concat()),
            own: summary.own.iter().map(HeadV1::from).collect(),
        }
    }
}

impl TryFrom<SummaryV1> for Summary {
    type Error = WireError;
    fn try_from(summary: SummaryV1) -> Result<Summary, WireError> {
        field::at_most(summary.buckets.len(), BUCKETS_MAX * BUCKET_BYTES, "bytes of buckets")?;
        field::at_most(summary.own.len(), 1, "heads of its own")?;
        let (buckets, rest) = summary.buckets.as_chunks::<BUCKET_BYTES>();
        if !rest.is_empty() || buckets.len() < BUCKETS_MIN {
            return Err(WireError::Contradiction("the buckets of a summary are not whole"));
        }
        Ok(Summary {
            salt: summary.salt,
            buckets: buckets.to_vec(),
            own: summary.own.into_iter().next().map(Head::try_from).transpose()?,
        })
    }
}
