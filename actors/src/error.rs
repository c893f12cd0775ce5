//! What can go wrong when a node is asked something, each with a stable reason.

use plumb_core::measure::Duration;

/// Why a node did not do what it was asked. The text says what to do; [`NodeError::reason`] is for programs.
#[derive(Debug, thiserror::Error)]
pub enum NodeError {
    /// The request makes no sense.
    #[error("{0}")]
    Invalid(String),
    /// There is no such thing, or the caller may not know of it: the two are one answer (BDY-24).
    #[error("nothing here has the name `{0}`")]
    NotFound(String),
    /// The caller may not do this at all.
    #[error("{0}")]
    Denied(String),
    /// A bundle is not what it says that it is.
    #[error("{0}")]
    NotAuthentic(String),
    /// It contradicts what is already there.
    #[error("{0}")]
    Conflict(String),
    /// More than is given or taken at once.
    #[error("{0}")]
    TooLarge(String),
    /// This node publishes nothing at present.
    #[error("{0}")]
    Stopped(String),
    /// Too much is asked at once.
    #[error("the node is busy; try again in {} ms", retry_after.0)]
    Busy {
        /// When to ask again.
        retry_after: Duration,
    },
    /// The deadline passed.
    #[error("no answer within {} ms", after.0)]
    DeadlinePassed {
        /// The deadline.
        after: Duration,
    },
    /// Something of ours failed while it worked on this. It was started afresh.
    #[error("the {actor} actor failed while it worked on this and was started afresh; try again")]
    Crashed {
        /// Which one.
        actor: &'static str,
    },
    /// The node is not part of a federation.
    #[error("this node has no certificate yet, so it cannot speak to others; run `plumb org certify` for it")]
    NotCertified,
    /// Federation is switched off for this process.
    #[error("no running node serves this home, and other nodes can only be reached by one; start it with `plumb up`")]
    Offline,
    /// The store.
    #[error(transparent)]
    Storage(Box<plumb_storage::StorageError>),
    /// The text index.
    #[error(transparent)]
    Index(Box<plumb_storage::IndexError>),
    /// The vectors.
    #[error(transparent)]
    Vectors(Box<plumb_storage::VectorIndexError>),
    /// The network.
    #[error(transparent)]
    Network(Box<plumb_federation::driver::DriverError>),
    /// What was read cannot be used.
    #[error("what is stored cannot be read: {0}; `plumb doctor` looks for damage")]
    Damaged(String),
}

impl NodeError {
    /// A stable word for programs.
    pub fn reason(&self) -> &'static str {
        match self {
            NodeError::Invalid(_) => "invalid_request",
            NodeError::NotFound(_) => "not_found",
            NodeError::Denied(_) => "denied",
            NodeError::NotAuthentic(_) => "not_authentic",
            NodeError::Conflict(_) => "conflict",
            NodeError::TooLarge(_) => "too_large",
            NodeError::Stopped(_) => "publishing_stopped",
            NodeError::Busy { .. } => "busy",
            NodeError::DeadlinePassed { .. } => "deadline_passed",
            NodeError::Crashed { .. } => "actor_failed",
            NodeError::NotCertified => "not_certified",
            NodeError::Offline => "offline",
            NodeError::Storage(_) => "storage_failed",
            NodeError::Index(_) => "index_failed",
            NodeError::Vectors(_) => "vectors_failed",
            NodeError::Network(_) => "network_failed",
            NodeError::Damaged(_) => "damaged",
        }
    }
}

impl From<plumb_storage::StorageError> for NodeError {
    fn from(error: plumb_storage::StorageError) -> NodeError {
        match error {
            plumb_storage::StorageError::Busy => NodeError::Busy { retry_after: crate::door::RETRY_AFTER },
            error => NodeError::Storage(Box::new(error)),
        }
    }
}

impl From<plumb_storage::IndexError> for NodeError {
    fn from(error: plumb_storage::IndexError) -> NodeError {
        NodeError::Index(Box::new(error))
    }
}

impl From<plumb_storage::VectorIndexError> for NodeError {
    fn from(error: plumb_storage::VectorIndexError) -> NodeError {
        NodeError::Vectors(Box::new(error))
    }
}

impl From<plumb_federation::driver::DriverError> for NodeError {
    fn from(error: plumb_federation::driver::DriverError) -> NodeError {
        NodeError::Network(Box::new(error))
    }
}

impl From<plumb_core::graph::GraphError> for NodeError {
    fn from(error: plumb_core::graph::GraphError) -> NodeError {
        NodeError::Invalid(error.to_string())
    }
}

impl From<plumb_core::log::LogError> for NodeError {
    fn from(error: plumb_core::log::LogError) -> NodeError {
        NodeError::Invalid(error.to_string())
    }
}

impl From<plumb_core::content::ContentError> for NodeError {
    fn from(error: plumb_core::content::ContentError) -> NodeError {
        NodeError::Damaged(error.to_string())
    }
}

impl From<plumb_core::identity::SignedError> for NodeError {
    fn from(error: plumb_core::identity::SignedError) -> NodeError {
        NodeError::Damaged(error.to_string())
    }
}
