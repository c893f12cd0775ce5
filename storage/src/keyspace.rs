//! Keyspaces: the parts of the one sled tree, told apart by the first byte of the key.
//!
//! sled can apply a batch to *one* tree atomically; across trees it needs its transactions, which retry, clone what
//! they touch and cannot be grouped. So there is one tree, a keyspace is a prefix, and a change that adds a block, a
//! unit, an outbox row and an audit event is one batch that is there wholly or not at all.

use std::fmt;

/// Longest key within a keyspace, in bytes. A sled index node holds 256 keys and has to stay inside one log segment.
pub const KEY_BYTES_MAX: usize = 256;

macro_rules! keyspaces {
    ($($(#[doc = $doc:literal])* $name:ident = $number:literal, $text:literal;)*) => {
        /// A part of the store. The number is the first byte of every key in it; it is never changed and never
        /// reused, even when a keyspace goes.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum Keyspace {
            $($(#[doc = $doc])* $name = $number,)*
        }

        impl Keyspace {
            /// Every keyspace, in order of number.
            pub const ALL: &'static [Keyspace] = &[$(Keyspace::$name,)*];

            /// Its name, as messages and exports show it.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Keyspace::$name => $text,)*
                }
            }
        }
    };
}

// Number 0 belongs to the sled engine, which keeps the pieces of long values there.
keyspaces! {
    /// Block bytes by CID bytes. Written by [`Change::put_block`](crate::Change::put_block) only, checked on every read.
    Blocks = 1, "blocks";
    /// Who needs a block: CID bytes ‖ holder, empty value. Written by [`Change::hold`](crate::Change::hold) and
    /// [`Change::release`](crate::Change::release) only; the block goes with its last holder.
    Holds = 2, "holds";
    /// What this node knows of a source beside the source record itself: by CID of the record, or by another prefix
    /// of the owner's choosing.
    Sources = 3, "sources";
    /// Knowledge units by CID bytes of their chunk; the value is a `KnowledgeUnit`, shape 1.
    Units = 4, "units";
    /// What was derived from what: from ‖ to, both ways.
    Lineage = 5, "lineage";
    /// Work for the text index: sequence number (8 bytes, big-endian) → `IndexOp`, shape 1. Written by
    /// [`Change::index`](crate::Change::index), trimmed by the index writer.
    Outbox = 6, "outbox";
    /// The audit log's leaves: index (8 bytes, big-endian) → `AuditEvent`, shape 1. Written with every change.
    Audit = 7, "audit";
    /// The node's own transparency log: leaves by index, and its signed heads.
    PublicLog = 8, "public-log";
    /// What is kept of other nodes' logs: publisher ‖ index, heads, proofs of equivocation.
    ForeignLog = 9, "foreign-log";
    /// The importers' ledger: who holds what of ours and which obligations are open.
    Ledger = 10, "ledger";
    /// Notices by CID: retractions and their kin, and what applying them did.
    Notices = 11, "notices";
    /// What may not become active again: CIDs and fingerprints. Kept for ever.
    Barred = 12, "barred";
    /// Saved answers and exports with their lineage.
    Answers = 13, "answers";
    /// Jobs, their stages and leases.
    Jobs = 14, "jobs";
    /// The store about itself: schema version, identity, outbox marks, head of the audit log. Written by this crate.
    Meta = 15, "meta";
    /// Boundary policies by department or organisation.
    Policies = 16, "policies";
    /// What creators granted: person ‖ chunk.
    Grants = 17, "grants";
    /// Other nodes and organisations: certificates, pinned roots, revocations, trust levels, addresses.
    Peers = 18, "peers";
    /// Conflicts between units, with both sides.
    Conflicts = 19, "conflicts";
    /// What was imported from other nodes, and the receipts given for it.
    Imports = 20, "imports";
    /// Small settings and marks of the rooms above that fit nowhere else.
    Settings = 21, "settings";
    /// People and programs that may ask: accounts and token hashes.
    Accounts = 22, "accounts";
    /// Sealed notices of others that nothing here opens yet, and what is held that would open one.
    Sealed = 23, "sealed";
    /// Entities, the edges between them, and what units hang on them.
    Graph = 24, "graph";
    /// What became of what was shown: a row for a person and a question.
    Feedback = 25, "feedback";
}

impl Keyspace {
    /// The first byte of its keys.
    pub const fn prefix(self) -> u8 {
        self as u8
    }

    /// Whether only this crate writes it: a plain [`Change::put`](crate::Change::put) there is refused.
    pub const fn is_reserved(self) -> bool {
        matches!(self, Keyspace::Blocks | Keyspace::Holds | Keyspace::Outbox | Keyspace::Audit | Keyspace::Meta)
    }

    /// The whole key of a row.
    pub(crate) fn key(self, key: &[u8]) -> Vec<u8> {
        let mut whole = Vec::with_capacity(1 + key.len());
        whole.push(self.prefix());
        whole.extend_from_slice(key);
        whole
    }
}

impl fmt::Display for Keyspace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers are on disks out there. A failing line here means that a stored format was broken.
    #[test]
    fn numbers_and_names_are_frozen() {
        let listed: Vec<(u8, &str)> = Keyspace::ALL.iter().map(|k| (k.prefix(), k.as_str())).collect();
        assert_eq!(
            listed,
            [
                (1, "blocks"),
                (2, "holds"),
                (3, "sources"),
                (4, "units"),
                (5, "lineage"),
                (6, "outbox"),
                (7, "audit"),
                (8, "public-log"),
                (9, "foreign-log"),
                (10, "ledger"),
                (11, "notices"),
                (12, "barred"),
                (13, "answers"),
                (14, "jobs"),
                (15, "meta"),
                (16, "policies"),
                (17, "grants"),
                (18, "peers"),
                (19, "conflicts"),
                (20, "imports"),
                (21, "settings"),
                (22, "accounts"),
                (23, "sealed"),
                (24, "graph"),
                (25, "feedback"),
            ]
        );
    }
}
