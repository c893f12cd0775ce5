//! Receipts that this node owes: signed at once, kept until whoever gave the evidence has accepted them.
//!
//! Key in `imports`: `r` ‖ giver ‖ bundle → the signed receipt.

use std::collections::BTreeMap;

use cid::Cid;
use plumb_core::identity::{NodeId, Signed};
use plumb_core::notice::{RECEIPT_SOURCES_MAX, Receipt, ReceiptTag};
use plumb_storage::{Change, Keyspace, Records, RecordsExt};

use crate::error::NodeError;
use crate::premises::Premises;

/// What receipts are to be signed for.
#[derive(Clone, Debug)]
pub(crate) struct Owed {
    /// The bundle with which evidence came, or the answer that rests on it.
    pub bundle: Cid,
    /// Sources, each with who gave it.
    pub sources: Vec<(Cid, NodeId)>,
    /// Whether they may be passed on: what is public may.
    pub may_share: bool,
}

fn key(giver: &NodeId, bundle: &Cid) -> Vec<u8> {
    [&b"r"[..], giver.as_bytes(), &bundle.to_bytes()].concat()
}

/// Signs a receipt for each giver, in the change that takes the evidence in. Returns the givers, each with the receipt's
/// name.
pub(crate) fn put_owed(premises: &Premises, change: &mut Change, owed: &Owed) -> Result<Vec<(NodeId, Cid)>, NodeError> {
    let mut by_giver: BTreeMap<NodeId, Vec<Cid>> = BTreeMap::new();
    for (source, giver) in &owed.sources {
        by_giver.entry(*giver).or_default().push(*source);
    }
    if by_giver.is_empty() {
        return Ok(Vec::new());
    }
    change.audit(premises.event("node", "receipt.sign", owed.bundle, "ok", format!("for {} givers", by_giver.len())));
    let mut signed_for = Vec::new();
    for (giver, mut sources) in by_giver {
        sources.truncate(RECEIPT_SOURCES_MAX);
        let receipt = Receipt {
            tag: ReceiptTag,
            bundle: owed.bundle,
            sources,
            importer: premises.node(),
            from: giver,
            may_share: owed.may_share,
            at: premises.now(),
        };
        let signed = Signed::seal(receipt, &premises.key)?;
        change.put(Keyspace::Imports, &key(&giver, &owed.bundle), signed.to_bytes());
        signed_for.push((giver, signed.cid()));
    }
    Ok(signed_for)
}

/// Receipts that a giver has not accepted yet.
pub(super) fn owed_to(premises: &Premises, giver: &NodeId) -> Result<Vec<Signed<Receipt>>, NodeError> {
    let prefix = [&b"r"[..], giver.as_bytes()].concat();
    let mut owed = Vec::new();
    for row in premises.store.rows(Keyspace::Imports, &prefix) {
        owed.push(Signed::from_bytes(&row?.1)?);
    }
    Ok(owed)
}

/// A giver has accepted a receipt.
pub(super) fn accepted(premises: &Premises, giver: &NodeId, bundle: &Cid) -> Result<(), NodeError> {
    let mut change = Change::new(premises.event(&giver.to_string(), "receipt.accept", bundle, "ok", ""));
    change.delete(Keyspace::Imports, &key(giver, bundle));
    premises.store.commit(change)?;
    Ok(())
}
