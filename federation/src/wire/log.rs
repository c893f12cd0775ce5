//! `/plumb/log/1`: everybody's public log, from anybody who holds it.
//!
//! A node says which heads it holds, and asks for the entries that it lacks. A page of entries proves two things on its
//! own: that its checkpoint continues the log that the asker has, and that its entries are the next ones under that
//! checkpoint. So a long log is taken up page by page, and whoever lies (the peer or the publisher) is known at once:
//!
//! ```text
//!        what the asker has        the page              what is still to come
//!     ├─────────────────────────┼───────────────┼──────────────────────────────┤
//!     0                        from        from + entries                checkpoint.size
//!                          root │               │                              │
//!                               ├── `extends` ──┼──────────────────────────────┤  consistency proof
//!                                               ├────────── `rest` ────────────┤  consistency proof
//! ```
//!
//! | version | since | change |
//! | --- | --- | --- |
//! | 1 | 0.1.0 | heads, forks, entries, missing, busy; then add_checkpoint, cosigned, conflict, refused; then summary |

pub(super) mod head;

mod cosign;
mod fork;
mod page;
pub mod summary;

use plumb_core::identity::NodeId;
use plumb_core::log::{Cosignature, LogError, Origin};
use serde::{Deserialize, Serialize};

use super::log_entry::ENTRY_BYTES_MAX;
use super::scan::Limits;
use super::{RETRY_AFTER_MS_MAX, Unknown, WireError, field, frame};

pub use cosign::{AddCheckpoint, Conflict};
pub use fork::{FORK_BYTES_MAX, FORK_TYPE, FORKS_MAX, Face, Fork, ForkError};
pub use head::{HEADS_BYTES_MAX, HEADS_MAX, Head, Heads};
pub use page::{PAGE_BYTES_MAX, PAGE_ENTRIES_MAX, Page};
pub use summary::Summary;

use cosign::{AddCheckpointV1, ConflictV1, CosignedV1};
use head::HeadsV1;
use page::PageV1;
use summary::SummaryV1;

/// The name of the protocol.
pub const PROTOCOL: &str = "/plumb/log/1";

/// Largest frame of this protocol, in bytes, either way: a page of entries, its proofs, checkpoint and certificate.
pub const FRAME_BYTES_MAX: usize = PAGE_BYTES_MAX + ENTRY_BYTES_MAX + 64 * 1024;

const LIMITS: Limits = Limits {
    bytes: FRAME_BYTES_MAX,
    // Heads are four items each, a fork has its proofs, an entry is one item.
    items: HEADS_MAX * 8 + FORKS_MAX * 256 + PAGE_ENTRIES_MAX + 256,
};

/// The name of a node's public log, which follows from its key. So a node has one public log: were its name free, a
/// node could show each neighbour another log, and no two of its heads would contradict each other.
pub fn public_origin(publisher: &NodeId) -> Result<Origin, LogError> {
    format!("{publisher}/public").parse()
}

/// What is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogRequest {
    /// Entries of a log.
    Entries {
        /// Whose log.
        publisher: NodeId,
        /// Index of the first.
        from: u64,
        /// Most entries to give; never more than [`PAGE_ENTRIES_MAX`].
        limit: u32,
    },
    /// "These I hold; which do you?"
    Heads(Heads),
    /// "In short, these I hold; which do you have beyond them?"
    Summary(Summary),
    /// "Cosign this head of mine."
    AddCheckpoint(AddCheckpoint),
    /// A kind that a newer peer knows.
    Unknown(Unknown),
}

/// What is answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogResponse {
    /// Entries, with their proof.
    Page(Page),
    /// The heads that the other side holds.
    Heads(Heads),
    /// It does not hold that log, or not that part of it.
    Missing {
        /// Whose log.
        publisher: NodeId,
    },
    /// The head is cosigned.
    Cosigned(Cosignature),
    /// The proof starts at another size than what was cosigned last.
    Conflict(Conflict),
    /// The head is not cosigned, now or ever.
    Refused {
        /// Why.
        reason: String,
    },
    /// Not now.
    Busy {
        /// When to ask again.
        retry_after_ms: u64,
    },
    /// A kind that a newer peer knows.
    Unknown(Unknown),
}

#[derive(Serialize, Deserialize)]
struct EntriesV1 {
    publisher: String,
    from: u64,
    limit: u32,
}

#[derive(Serialize, Deserialize)]
struct MissingV1 {
    publisher: String,
}

/// How long to wait.
#[derive(Serialize, Deserialize)]
pub(super) struct BusyV1 {
    pub(super) retry_after_ms: u64,
}

impl LogRequest {
    /// The frame.
    pub fn encode(&self) -> Vec<u8> {
        match self {
            LogRequest::Entries { publisher, from, limit } => {
                let body = EntriesV1 { publisher: publisher.to_string(), from: *from, limit: *limit };
                frame::encode(PROTOCOL, "entries", &body)
            }
            LogRequest::Heads(heads) => frame::encode(PROTOCOL, "heads", &HeadsV1::from(heads)),
            LogRequest::Summary(summary) => frame::encode(PROTOCOL, "summary", &SummaryV1::from(summary)),
            LogRequest::AddCheckpoint(asked) => {
                frame::encode(PROTOCOL, "add_checkpoint", &AddCheckpointV1::from(asked))
            }
            LogRequest::Unknown(unknown) => unknown.bytes.clone(),
        }
    }

    /// Reads a frame.
    pub fn decode(bytes: &[u8]) -> Result<LogRequest, WireError> {
        let frame = frame::open(bytes, PROTOCOL, LIMITS)?;
        Ok(match frame.kind {
            "entries" => {
                let body: EntriesV1 = frame.body()?;
                LogRequest::Entries { publisher: field::node(&body.publisher)?, from: body.from, limit: body.limit }
            }
            "heads" => LogRequest::Heads(frame.body::<HeadsV1>()?.try_into()?),
            "summary" => LogRequest::Summary(frame.body::<SummaryV1>()?.try_into()?),
            "add_checkpoint" => LogRequest::AddCheckpoint(frame.body::<AddCheckpointV1>()?.try_into()?),
            _ => LogRequest::Unknown(frame.unknown()),
        })
    }
}

impl LogResponse {
    /// The frame.
    pub fn encode(&self) -> Vec<u8> {
        match self {
            LogResponse::Page(page) => frame::encode(PROTOCOL, "page", &PageV1::from(page)),
            LogResponse::Heads(heads) => frame::encode(PROTOCOL, "heads", &HeadsV1::from(heads)),
            LogResponse::Missing { publisher } => {
                let publisher = publisher.to_string();
                frame::encode(PROTOCOL, "missing", &MissingV1 { publisher })
            }
            LogResponse::Cosigned(cosignature) => frame::encode(PROTOCOL, "cosigned", &CosignedV1::from(cosignature)),
            LogResponse::Conflict(conflict) => frame::encode(PROTOCOL, "conflict", &ConflictV1::from(conflict)),
            LogResponse::Refused { reason } => {
                let reason = super::reason(reason);
                frame::encode(PROTOCOL, "refused", &frame::ReasonV1 { reason })
            }
            LogResponse::Busy { retry_after_ms } => {
                let retry_after_ms = *retry_after_ms;
                frame::encode(PROTOCOL, "busy", &BusyV1 { retry_after_ms })
            }
            LogResponse::Unknown(unknown) => unknown.bytes.clone(),
        }
    }

    /// Reads a frame. Whether the proofs of a page hold is for [`crate::protocol::LogSync`], which knows the log.
    pub fn decode(bytes: &[u8]) -> Result<LogResponse, WireError> {
        let frame = frame::open(bytes, PROTOCOL, LIMITS)?;
        Ok(match frame.kind {
            "page" => LogResponse::Page(frame.body::<PageV1>()?.try_into()?),
            "heads" => LogResponse::Heads(frame.body::<HeadsV1>()?.try_into()?),
            "missing" => LogResponse::Missing { publisher: field::node(&frame.body::<MissingV1>()?.publisher)? },
            "cosigned" => LogResponse::Cosigned(frame.body::<CosignedV1>()?.try_into()?),
            "conflict" => LogResponse::Conflict(frame.body::<ConflictV1>()?.try_into()?),
            "refused" => LogResponse::Refused { reason: field::reason(frame.body::<frame::ReasonV1>()?.reason)? },
            "busy" => {
                let asked = frame.body::<BusyV1>()?.retry_after_ms;
                LogResponse::Busy { retry_after_ms: asked.min(RETRY_AFTER_MS_MAX) }
            }
            _ => LogResponse::Unknown(frame.unknown()),
        })
    }
}
