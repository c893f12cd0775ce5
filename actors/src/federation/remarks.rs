//! Why peers are not admitted, for the operator and the log.

use std::collections::BTreeMap;
use std::fmt::Display;

use plumb_core::identity::NodeId;
use plumb_federation::driver::RefusalReason;
use plumb_federation::protocol::admission::{CloseReason, PEERS_MAX};

/// What is remarked of one peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Remark {
    /// A word for programs.
    pub code: String,
    /// A sentence for people.
    pub text: String,
    /// How often it was the same.
    pub times: u64,
    /// Whether it is of an exchange that broke off, which says nothing of the peer.
    pub is_passing: bool,
}

/// The last remark on each peer.
#[derive(Clone, Debug, Default)]
pub(super) struct Remarks(BTreeMap<NodeId, Remark>);

impl Remarks {
    /// Keeps a remark. Whether it is worth a line in the log: the first time, and then ever more rarely, so that a peer
    /// that comes again and again does not fill the disk.
    pub fn note(&mut self, peer: NodeId, code: &str, text: impl Display, is_passing: bool) -> bool {
        // As many as there are peers at most: a stranger that comes under ever new keys fills no memory.
        if PEERS_MAX <= self.0.len() && !self.0.contains_key(&peer) {
            return false;
        }
        let fresh = Remark { code: code.to_string(), text: text.to_string(), times: 0, is_passing };
        let remark = self.0.entry(peer).or_insert_with(|| fresh.clone());
        if remark.code != fresh.code {
            *remark = fresh;
        } else {
            remark.text = fresh.text;
            remark.is_passing = is_passing;
        }
        remark.times = remark.times.saturating_add(1);
        remark.times.is_power_of_two()
    }

    /// Whether something is remarked of a peer.
    pub fn knows(&self, peer: &NodeId) -> bool {
        self.0.contains_key(peer)
    }

    /// The peer is well again.
    pub fn forget(&mut self, peer: &NodeId) {
        self.0.remove(peer);
    }

    /// Everybody may try anew.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// All of them.
    pub fn all(&self) -> BTreeMap<NodeId, Remark> {
        self.0.clone()
    }
}

/// The word for why admission closed a connection.
pub(super) fn code_of(reason: &CloseReason) -> String {
    let otherwise = match reason {
        CloseReason::Untrusted(error) => error.code(),
        CloseReason::RefusedByPeer { .. } => "refused_by_peer",
        CloseReason::Timeout | CloseReason::NotAdmitted => "no_certificate",
        CloseReason::Failed(_) => "hello_failed",
        CloseReason::Full => "full",
    };
    reason.code().unwrap_or(otherwise).to_string()
}

/// Whether admission closed a connection because the exchange broke off, or for want of room. A refusal waits for an operator.
pub(super) fn is_passing(reason: &CloseReason) -> bool {
    matches!(reason, CloseReason::Failed(_) | CloseReason::Timeout | CloseReason::Full)
}

/// The word for why the driver closed one.
pub(super) fn code_of_refusal(reason: &RefusalReason) -> &'static str {
    match reason {
        RefusalReason::RequestBeforeHello(_) | RefusalReason::NotAdmittedInTime => "no_certificate",
        RefusalReason::Excluded { .. } => "rate_limited",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_remark_is_logged_ever_more_rarely_and_the_list_is_bounded() {
        let peer = |n: u32| {
            let mut seed = [0; 32];
            seed[..4].copy_from_slice(&n.to_be_bytes());
            plumb_core::identity::SecretKey::from_seed(seed).public()
        };
        let mut remarks = Remarks::default();
        let lines = (0..1000).filter(|_| remarks.note(peer(0), "timed_out", "it was silent", true)).count();
        assert_eq!(lines, 10);
        assert!(remarks.note(peer(0), "unknown_root", "another", false), "another reason is news");
        for n in 1..PEERS_MAX as u32 + 10 {
            remarks.note(peer(n), "full", "", true);
        }
        assert_eq!(remarks.all().len(), PEERS_MAX);
        remarks.forget(&peer(0));
        assert!(remarks.note(peer(0), "unknown_root", "", false));
    }
}
