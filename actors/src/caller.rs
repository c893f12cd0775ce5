//! Who is behind a request to this node.

use plumb_core::identity::EntityId;

/// Who asks. The shell makes it from where the request came in: the local socket, a bearer token, a peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The person for whom the request is made. Their rights decide what is read.
    pub person: EntityId,
    /// Whether the request came from the operator's side (the local socket): it may change the node itself.
    pub operator: bool,
}

impl Caller {
    /// For the audit log.
    pub fn label(&self) -> String {
        if self.operator { format!("operator as {}", self.person) } else { self.person.to_string() }
    }
}
