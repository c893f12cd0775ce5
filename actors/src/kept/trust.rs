//! What is kept of trust: the pinned organisations, and the statements about their roots and nodes.
//!
//! | key in `peers` | value |
//! | --- | --- |
//! | `t` ‖ organisation | [`PinRow`]; shape 1 was the organisation with its name, and counts as full trust |
//! | `r` ‖ old root ‖ new root | the signed rotation |
//! | `k` ‖ certificate | nothing: it was known here before its root retired |
//! | `l` ‖ publisher ‖ old root | where the publisher's log has the rotation of that root |
//! | `d` ‖ old root | the new root that the operator decided to follow |
//! | `v` ‖ statement | [`RevokedRow`] |

use cid::Cid;
use plumb_core::identity::{NodeId, OrgId, PublicKey, Signed};
use plumb_core::trust::{Incoming, Outgoing, Pin, Revocation, Roots, Rotation};
use plumb_storage::{Change, Keyspace, RecordsExt, StorageError, Store, stored};
use serde::{Deserialize, Serialize};

use super::SHAPE;

/// The shape of a pin since levels of trust.
const PIN_SHAPE: u8 = 2;

#[derive(Serialize, Deserialize)]
struct PinRow {
    org: OrgId,
    name: String,
    incoming: Incoming,
    outgoing: Outgoing,
    weight: u8,
}

#[derive(Serialize, Deserialize)]
struct RevokedRow {
    #[serde(with = "serde_bytes")]
    signed: Vec<u8>,
    /// Entries of the node's log that were held here when the revocation was taken up.
    held: u64,
}

fn key(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
    let mut key = vec![tag];
    parts.iter().for_each(|part| key.extend_from_slice(part));
    key
}

/// Pins an organisation.
pub(crate) fn put_pin(change: &mut Change, org: OrgId, pin: &Pin) {
    let Pin { name, incoming, outgoing, weight } = pin.clone();
    let row = PinRow { org, name, incoming, outgoing, weight };
    change.put_value(Keyspace::Peers, PIN_SHAPE, &key(b't', &[org.as_bytes()]), &row);
}

/// Pins it no more.
pub(crate) fn delete_pin(change: &mut Change, org: &OrgId) {
    change.delete(Keyspace::Peers, &key(b't', &[org.as_bytes()]));
}

/// Keeps a rotation, and the certificates that were known before it was.
pub(crate) fn put_rotation(change: &mut Change, rotation: &Rotation, known: &[Cid]) {
    let value = rotation.value();
    change.put(Keyspace::Peers, &key(b'r', &[value.old.as_bytes(), value.new.as_bytes()]), rotation.to_bytes());
    for certificate in known {
        change.put(Keyspace::Peers, &key(b'k', &[&certificate.to_bytes()]), Vec::new());
    }
}

/// Keeps where a publisher's log has the rotation of a root.
pub(crate) fn put_position(change: &mut Change, publisher: &NodeId, old: &PublicKey, index: u64) {
    change.put_value(Keyspace::Peers, SHAPE, &key(b'l', &[publisher.as_bytes(), old.as_bytes()]), &index);
}

/// Keeps whom the operator decided to follow.
pub(crate) fn put_decision(change: &mut Change, old: &PublicKey, new: &PublicKey) {
    change.put_value(Keyspace::Peers, SHAPE, &key(b'd', &[old.as_bytes()]), new);
}

/// Keeps a revocation.
pub(crate) fn put_revocation(change: &mut Change, revocation: &Signed<Revocation>, held: u64) {
    let row = RevokedRow { signed: revocation.to_bytes(), held };
    change.put_value(Keyspace::Peers, SHAPE, &key(b'v', &[&revocation.cid().to_bytes()]), &row);
}

fn damaged(reason: impl ToString) -> StorageError {
    StorageError::Decode { keyspace: Keyspace::Peers, reason: reason.to_string() }
}

fn public_key(bytes: &[u8]) -> Result<PublicKey, StorageError> {
    let bytes: [u8; 32] = bytes.try_into().map_err(|_| damaged("a key has not 32 bytes"))?;
    PublicKey::from_bytes(bytes).map_err(damaged)
}

fn pin(bytes: &[u8]) -> Result<(OrgId, Pin), StorageError> {
    if stored::shape(bytes) == Some(SHAPE) {
        let (org, name): (OrgId, String) = stored::decode(Keyspace::Peers, SHAPE, bytes)?;
        return Ok((org, Pin::full(name)));
    }
    let PinRow { org, name, incoming, outgoing, weight } = stored::decode(Keyspace::Peers, PIN_SHAPE, bytes)?;
    Ok((org, Pin { name, incoming, outgoing, weight }))
}

/// Everything that is kept of trust.
pub(crate) fn roots(store: &Store) -> Result<Roots, StorageError> {
    let mut roots = Roots::default();
    for row in store.rows(Keyspace::Peers, b"t") {
        let (org, pin) = pin(&row?.1)?;
        roots.pin(org, pin);
    }
    for row in store.rows(Keyspace::Peers, b"k") {
        roots.history.remember(Cid::try_from(&row?.0[1..]).map_err(damaged)?);
    }
    for row in store.rows(Keyspace::Peers, b"r") {
        roots.history.rotate(Rotation::from_bytes(&row?.1).map_err(damaged)?, []);
    }
    for row in store.rows(Keyspace::Peers, b"d") {
        let (key, value) = row?;
        let new: PublicKey = stored::decode(Keyspace::Peers, SHAPE, &value)?;
        roots.history.settle(public_key(&key[1..])?, new);
    }
    for row in store.rows(Keyspace::Peers, b"l") {
        let (key, value) = row?;
        let (publisher, old) = key[1..].split_at_checked(32).ok_or_else(|| damaged("a key is cut short"))?;
        let index: u64 = stored::decode(Keyspace::Peers, SHAPE, &value)?;
        roots.history.locate(public_key(publisher)?, public_key(old)?, index);
    }
    for row in store.rows(Keyspace::Peers, b"v") {
        let row: RevokedRow = stored::decode(Keyspace::Peers, SHAPE, &row?.1)?;
        roots.history.revoke(Signed::from_bytes(&row.signed).map_err(damaged)?, row.held);
    }
    Ok(roots)
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_core::identity::SecretKey;
    use plumb_core::measure::Timestamp;
    use plumb_core::trust::{RevocationReason, RevocationTag};
    use plumb_storage::{AuditEvent, Records, StoreOptions};

    fn did(n: u8) -> PublicKey {
        SecretKey::from_seed([n; 32]).public()
    }

    fn change() -> Change {
        Change::new(AuditEvent {
            at: Timestamp(0),
            actor: "test".into(),
            action: "test".into(),
            subject: "test".into(),
            outcome: "ok".into(),
            detail: String::new(),
        })
    }

    /// A store that an older program wrote: its organisations are trusted in full, as they were.
    #[test]
    fn a_pin_of_the_first_shape_is_full_trust() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path(), StoreOptions::default()).unwrap();
        let mut old = change();
        old.put_value(Keyspace::Peers, 1, &[&b"t"[..], did(1).as_bytes()].concat(), &(did(1), "Northwater"));
        store.commit(old).unwrap();
        assert_eq!(roots(&store).unwrap(), Roots::full([(did(1), "Northwater".to_string())]));

        let excluded = Pin { incoming: Incoming::Notices, outgoing: Outgoing::None, weight: 5, ..Pin::full("N") };
        let mut new = change();
        put_pin(&mut new, did(1), &excluded);
        store.commit(new).unwrap();
        assert_eq!(roots(&store).unwrap().pin_of(&did(1)), Some(&excluded));
    }

    #[test]
    fn statements_come_back_as_they_were() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path(), StoreOptions::default()).unwrap();
        let key = |n| SecretKey::from_seed([n; 32]);
        let certificate = plumb_core::content::RawBlock::raw(b"certificate".to_vec()).cid;
        let revocation = Revocation {
            tag: RevocationTag,
            org: did(1),
            node: did(5),
            certificate: None,
            reason: RevocationReason::Other("later".into()),
            note: "why".into(),
            log_size: None,
            at: Timestamp(3),
        };
        let revocation = Signed::seal(revocation, &key(1)).unwrap();
        let mut expected = Roots::full([(did(1), "N".to_string())]);
        let mut write = change();
        put_pin(&mut write, did(1), &Pin::full("N"));
        for new in [2, 3] {
            let rotation = Rotation::seal(did(1), &key(1), &key(new), Timestamp(0)).unwrap();
            put_rotation(&mut write, &rotation, &[certificate]);
            expected.history.rotate(rotation, [certificate]);
        }
        put_position(&mut write, &did(7), &did(1), 4);
        put_decision(&mut write, &did(1), &did(3));
        put_revocation(&mut write, &revocation, 9);
        store.commit(write).unwrap();
        expected.history.locate(did(7), did(1), 4);
        expected.history.settle(did(1), did(3));
        expected.history.revoke(revocation, 9);
        assert_eq!(roots(&store).unwrap(), expected);
    }
}
