//! Why the text index refused or failed, and what to do about it.

use std::path::PathBuf;
use std::sync::Arc;

use plumb_core::boundary::Sensitivity;
use tantivy::TantivyError;

use crate::error::StorageError;

/// What can go wrong with the text index. Nothing of it loses knowledge: the store has everything, and
/// `plumb rebuild` makes the index again.
#[derive(Clone, Debug, thiserror::Error)]
pub enum IndexError {
    /// The store did not give what the index needs.
    #[error("the index could not read the store")]
    Store(#[from] StorageError),
    /// A directory could not be made, moved or removed.
    #[error("the index directory `{}` cannot be prepared; check the disk and the permissions", path.display())]
    Directory {
        /// Which.
        path: PathBuf,
        /// What the system said.
        source: Arc<std::io::Error>,
    },
    /// A partition could not be opened even though it was just built.
    #[error("the {partition} index cannot be opened; remove its directory and start again, it is rebuilt then")]
    Open {
        /// Which.
        partition: Sensitivity,
        /// What tantivy said.
        source: TantivyError,
    },
    /// Writing failed.
    #[error("writing the {partition} index failed; check the disk, the writer tries again by itself")]
    Write {
        /// Which.
        partition: Sensitivity,
        /// What tantivy said.
        source: TantivyError,
    },
    /// Reading failed.
    #[error("reading the {partition} index failed; run `plumb rebuild`")]
    Read {
        /// Which.
        partition: Sensitivity,
        /// What tantivy said.
        source: TantivyError,
    },
    /// Statistics that no collection can have.
    #[error("the term statistics are refused: {reason}")]
    Stats {
        /// What is wrong with them.
        reason: String,
    },
    /// The writer stands still.
    #[error("the index writer stands still and tries again by itself: {reason}")]
    Stalled {
        /// Why.
        reason: String,
    },
    /// The writer panicked. It begins afresh by itself.
    #[error("the index writer panicked; please report this with the log around it")]
    Panicked,
    /// The writer is gone.
    #[error("the index writer has stopped; restart the node")]
    Stopped,
    /// The writer's thread could not be started.
    #[error("the index writer cannot be started")]
    Thread(#[source] Arc<std::io::Error>),
}

/// An error with all that it rests on, in one line.
pub(super) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        next = cause.source();
    }
    text
}
