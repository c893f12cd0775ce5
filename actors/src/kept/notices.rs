//! Notices, what they bar, who holds what, and to whom a notice is owed.
//!
//! | keyspace | key | value |
//! | --- | --- | --- |
//! | notices | `n` ‖ notice | [`KeptNotice`] |
//! | notices | `t` ‖ time ‖ notice | nothing: the order of listing |
//! | notices | `x` ‖ notice | [`RefusedNotice`]: it changed nothing |
//! | barred | `c` ‖ source ‖ notice, `f` ‖ fingerprint ‖ notice | nothing |
//! | barred | `u` ‖ notice ‖ notice that undoes it | nothing |
//! | ledger | `s` ‖ source ‖ holder | CID of the receipt |
//! | ledger | `r` ‖ receipt | the signed receipt |
//! | ledger | `o` ‖ notice ‖ holder | [`Obligation`] that is open |
//! | ledger | `c` ‖ notice ‖ holder | [`Obligation`] that an acknowledgement closed |
//!
//! In `notices` there are events, too ([`super::events`]), and lists that the world publishes ([`super::world`]).
//!
//! A notice that this node decided for itself (a reviewer's revocation, a retraction that the world published) is kept
//! beside the others and marked as local: it counts here whoever published the source, and never leaves.

use cid::Cid;
use plumb_core::content::Fingerprint;
use plumb_core::identity::{NodeId, Signed};
use plumb_core::lifecycle::{Standing, standing};
use plumb_core::measure::Timestamp;
use plumb_core::notice::{Notice, Receipt};
use plumb_storage::{Change, Keyspace, Records, RecordsExt, StorageError, Store};
use serde::{Deserialize, Serialize};

use super::{SHAPE, time_key};

/// A notice as it is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct KeptNotice {
    /// The signed notice, as it arrived.
    #[serde(with = "serde_bytes")]
    pub signed: Vec<u8>,
    /// When it was applied here.
    pub applied_at: Timestamp,
    /// Units that it changed here.
    pub n_units: u64,
    /// Saved answers that it flagged here.
    pub n_answers: u64,
    /// From where a local notice comes, such as `local:review` or `world:crossref`; `None` for a publisher's own.
    #[serde(default)]
    pub origin: Option<String>,
    /// Whether it is of this node's own organisation.
    #[serde(default)]
    pub is_at_home: bool,
    /// Whether it stands in a public log for everybody to read.
    #[serde(default)]
    pub is_open: bool,
}

/// What is known of a notice beside its own words.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Facts {
    /// Whether this node decided it for itself.
    pub is_local: bool,
    /// Whether it is of this node's own organisation.
    pub is_at_home: bool,
}

impl KeptNotice {
    /// What is known of it.
    pub fn facts(&self) -> Facts {
        Facts { is_local: self.origin.is_some(), is_at_home: self.is_at_home }
    }

    /// The notice.
    pub fn open(&self) -> Result<Signed<Notice>, StorageError> {
        open(&self.signed)
    }
}

/// A well-signed notice that changed nothing, because its signer had no right to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RefusedNotice {
    /// The signed notice, as it arrived.
    #[serde(with = "serde_bytes")]
    pub signed: Vec<u8>,
    /// When.
    pub at: Timestamp,
    /// Why.
    pub reason: String,
}

impl RefusedNotice {
    /// The notice.
    pub fn open(&self) -> Result<Signed<Notice>, StorageError> {
        open(&self.signed)
    }
}

fn open(signed: &[u8]) -> Result<Signed<Notice>, StorageError> {
    Signed::from_bytes(signed).map_err(|e| StorageError::Decode { keyspace: Keyspace::Notices, reason: e.to_string() })
}

/// Most refused notices that are kept to be shown, and written down. Anybody can sign more of them.
const REFUSED_MAX: usize = 1000;

/// What a holder owes, and whether it was done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Obligation {
    /// Since when it is open.
    pub opened_at: Timestamp,
    /// The signed acknowledgement that closed it.
    pub acknowledgement: Option<serde_bytes::ByteBuf>,
    /// When the holder refused, and why, in its words.
    #[serde(default)]
    pub refused: Option<(Timestamp, String)>,
    /// Since when it was delivered and not answered.
    #[serde(default)]
    pub silent_since: Option<Timestamp>,
}

impl Obligation {
    /// One that nothing was heard of.
    pub fn opened(at: Timestamp) -> Obligation {
        Obligation { opened_at: at, acknowledgement: None, refused: None, silent_since: None }
    }
}

fn key(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
    let mut key = vec![tag];
    parts.iter().for_each(|part| key.extend_from_slice(part));
    key
}

fn tail_cid(key: &[u8], prefix: usize) -> Option<Cid> {
    Cid::try_from(&key[prefix..]).ok()
}

/// The key of a notice's row.
pub(crate) fn notice_key(cid: &Cid) -> Vec<u8> {
    key(b'n', &[&cid.to_bytes()])
}

/// A notice.
pub(crate) fn notice(store: &Store, cid: &Cid) -> Result<Option<KeptNotice>, StorageError> {
    store.value(Keyspace::Notices, SHAPE, &notice_key(cid))
}

/// Notices, newest first.
pub(crate) fn notices(store: &Store, limit: usize) -> Result<Vec<KeptNotice>, StorageError> {
    let keys = store.scan_back(Keyspace::Notices, b"t", None, limit)?;
    keys.iter().filter_map(|(k, _)| tail_cid(k, 9)).filter_map(|cid| notice(store, &cid).transpose()).collect()
}

/// Keeps a notice.
pub(crate) fn put_notice(change: &mut Change, cid: &Cid, kept: &KeptNotice) {
    change.put(Keyspace::Notices, &key(b't', &[&time_key(kept.applied_at), &cid.to_bytes()]), Vec::new());
    change.put_value(Keyspace::Notices, SHAPE, &notice_key(cid), kept);
}

/// A notice that was refused.
pub(crate) fn refused(store: &Store, cid: &Cid) -> Result<Option<RefusedNotice>, StorageError> {
    store.value(Keyspace::Notices, SHAPE, &key(b'x', &[&cid.to_bytes()]))
}

/// Notices that were refused.
pub(crate) fn refused_notices(store: &Store) -> Result<Vec<RefusedNotice>, StorageError> {
    store
        .rows(Keyspace::Notices, b"x")
        .map(|row| plumb_storage::stored::decode(Keyspace::Notices, SHAPE, &row?.1))
        .collect()
}

/// Keeps a refused notice to be shown, if there is room. Returns whether there is.
pub(crate) fn put_refused(
    store: &Store,
    change: &mut Change,
    cid: &Cid,
    refused: &RefusedNotice,
) -> Result<bool, StorageError> {
    let has_room = store.scan(Keyspace::Notices, b"x", None, REFUSED_MAX)?.len() < REFUSED_MAX;
    if has_room {
        change.put_value(Keyspace::Notices, SHAPE, &key(b'x', &[&cid.to_bytes()]), refused);
    }
    Ok(has_room)
}

/// A notice that was refused is applied after all.
pub(crate) fn forget_refused(change: &mut Change, cid: &Cid) {
    change.delete(Keyspace::Notices, &key(b'x', &[&cid.to_bytes()]));
}

/// Writes what a notice stands against, for ever: sources by CID and texts by fingerprint, or the notice that it
/// undoes.
pub(crate) fn bar(change: &mut Change, cid: &Cid, notice: &Notice) {
    if let Some(undone) = &notice.undoes {
        change.put(Keyspace::Barred, &key(b'u', &[&undone.to_bytes(), &cid.to_bytes()]), Vec::new());
        return;
    }
    for target in &notice.targets {
        change.put(Keyspace::Barred, &key(b'c', &[&target.to_bytes(), &cid.to_bytes()]), Vec::new());
    }
    for fingerprint in &notice.fingerprints {
        change.put(Keyspace::Barred, &key(b'f', &[&fingerprint.0, &cid.to_bytes()]), Vec::new());
    }
}

fn standing_at(
    store: &Store,
    prefix: &[u8],
    arriving: Option<(&Signed<Notice>, Facts)>,
) -> Result<Vec<Standing>, StorageError> {
    let mut found: Vec<(Cid, Signed<Notice>, Facts)> =
        arriving.map(|(n, facts)| (n.cid(), n.clone(), facts)).into_iter().collect();
    let mut open = |cid: Cid| -> Result<(), StorageError> {
        if let Some(kept) = notice(store, &cid)? {
            found.push((cid, kept.open()?, kept.facts()));
        }
        Ok(())
    };
    for row in store.rows(Keyspace::Barred, prefix) {
        let Some(cid) = tail_cid(&row?.0, prefix.len()) else { continue };
        open(cid)?;
        let undone = key(b'u', &[&cid.to_bytes()]);
        for row in store.rows(Keyspace::Barred, &undone) {
            if let Some(by) = tail_cid(&row?.0, undone.len()) {
                open(by)?;
            }
        }
    }
    let mut standing = standing(found.iter().map(|(cid, signed, _)| (*cid, signed.value(), *signed.signer())));
    for one in &mut standing {
        let Some((_, signed, facts)) = found.iter().find(|(cid, ..)| *cid == one.notice) else { continue };
        one.is_local = facts.is_local;
        if facts.is_at_home {
            one.effect = signed.value().kind.effect_at_home();
        }
    }
    Ok(standing)
}

/// What stands against a source by name.
pub(crate) fn standing_on(store: &Store, source: &Cid) -> Result<Vec<Standing>, StorageError> {
    standing_at(store, &key(b'c', &[&source.to_bytes()]), None)
}

/// What stands against a source by name once a notice that names it, or undoes another, is counted too.
pub(crate) fn standing_with(
    store: &Store,
    source: &Cid,
    arriving: &Signed<Notice>,
    facts: Facts,
) -> Result<Vec<Standing>, StorageError> {
    standing_at(store, &key(b'c', &[&source.to_bytes()]), Some((arriving, facts)))
}

/// What stands against a text.
pub(crate) fn standing_by_text(store: &Store, text: &Fingerprint) -> Result<Vec<Standing>, StorageError> {
    standing_at(store, &key(b'f', &[&text.0]), None)
}

/// Whether anything at all stands against a text: the quick question that every chunk of an ingest asks.
pub(crate) fn is_barred(store: &Store, text: &Fingerprint) -> Result<bool, StorageError> {
    Ok(!store.scan(Keyspace::Barred, &key(b'f', &[&text.0]), None, 1)?.is_empty())
}

/// Notes that the importer of a receipt holds these of its sources.
pub(crate) fn put_receipt(change: &mut Change, receipt: &Signed<Receipt>, sources: &[Cid]) {
    let name = receipt.cid().to_bytes();
    for source in sources {
        change.put(Keyspace::Ledger, &holder_key(source, &receipt.value().importer), name.clone());
    }
    change.put(Keyspace::Ledger, &key(b'r', &[&name]), receipt.to_bytes());
}

fn holder_key(source: &Cid, holder: &NodeId) -> Vec<u8> {
    key(b's', &[&source.to_bytes(), holder.as_bytes()])
}

/// Whether somebody is known to hold a source.
pub(crate) fn holds(store: &Store, source: &Cid, holder: &NodeId) -> Result<bool, StorageError> {
    Ok(store.get(Keyspace::Ledger, &holder_key(source, holder))?.is_some())
}

/// Whoever is known to hold a source.
pub(crate) fn holders(store: &Store, source: &Cid) -> Result<Vec<NodeId>, StorageError> {
    let prefix = key(b's', &[&source.to_bytes()]);
    let mut holders = Vec::new();
    for row in store.rows(Keyspace::Ledger, &prefix) {
        let key = row?.0;
        let bytes: Option<[u8; 32]> = key[prefix.len()..].try_into().ok();
        holders.extend(bytes.and_then(|b| NodeId::from_bytes(b).ok()));
    }
    Ok(holders)
}

/// Whoever is known to hold anything that was given out here.
pub(crate) fn all_holders(store: &Store) -> Result<std::collections::BTreeSet<NodeId>, StorageError> {
    let mut holders = std::collections::BTreeSet::new();
    for row in store.rows(Keyspace::Ledger, b"s") {
        let key = row?.0;
        let bytes: Option<[u8; 32]> = key[key.len().saturating_sub(32)..].try_into().ok();
        holders.extend(bytes.and_then(|b| NodeId::from_bytes(b).ok()));
    }
    Ok(holders)
}

fn obligation_key(tag: u8, notice: &Cid, holder: &NodeId) -> Vec<u8> {
    key(tag, &[&notice.to_bytes(), holder.as_bytes()])
}

/// Writes an obligation.
pub(crate) fn put_obligation(change: &mut Change, notice: &Cid, holder: &NodeId, obligation: &Obligation) {
    let (open, closed) = (obligation_key(b'o', notice, holder), obligation_key(b'c', notice, holder));
    let here = if obligation.acknowledgement.is_some() {
        change.delete(Keyspace::Ledger, &open);
        closed
    } else {
        open
    };
    change.put_value(Keyspace::Ledger, SHAPE, &here, obligation);
}

/// One obligation.
pub(crate) fn obligation(store: &Store, notice: &Cid, holder: &NodeId) -> Result<Option<Obligation>, StorageError> {
    for tag in [b'c', b'o'] {
        let found = store.value(Keyspace::Ledger, SHAPE, &obligation_key(tag, notice, holder))?;
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

/// To whom a notice is owed, or was.
pub(crate) fn obligations(store: &Store, notice: &Cid) -> Result<Vec<(NodeId, Obligation)>, StorageError> {
    let mut all = std::collections::BTreeMap::new();
    for tag in [b'o', b'c'] {
        let prefix = key(tag, &[&notice.to_bytes()]);
        for row in store.rows(Keyspace::Ledger, &prefix) {
            let (key, value) = row?;
            let bytes: Option<[u8; 32]> = key[prefix.len()..].try_into().ok();
            if let Some(holder) = bytes.and_then(|b| NodeId::from_bytes(b).ok()) {
                all.insert(holder, plumb_storage::stored::decode(Keyspace::Ledger, SHAPE, &value)?);
            }
        }
    }
    Ok(all.into_iter().collect())
}

/// Every obligation that is open. A restarted node goes on from these.
pub(crate) fn open_obligations(store: &Store) -> Result<Vec<(Cid, NodeId, Obligation)>, StorageError> {
    let mut all = Vec::new();
    for row in store.rows(Keyspace::Ledger, b"o") {
        let (key, value) = row?;
        let split = key.len().saturating_sub(32);
        let holder: Option<[u8; 32]> = key[split..].try_into().ok();
        let notice = Cid::try_from(&key[1..split]).ok();
        if let (Some(notice), Some(holder)) = (notice, holder.and_then(|b| NodeId::from_bytes(b).ok())) {
            all.push((notice, holder, plumb_storage::stored::decode(Keyspace::Ledger, SHAPE, &value)?));
        }
    }
    Ok(all)
}

/// Writes down how an open obligation stands, unless it was closed meanwhile. Gives whether there is anything to write.
pub(crate) fn remark_obligation(
    store: &Store,
    change: &mut Change,
    notice: &Cid,
    holder: &NodeId,
    remark: impl FnOnce(&mut Obligation),
) -> Result<bool, StorageError> {
    let key = obligation_key(b'o', notice, holder);
    let before = store.get(Keyspace::Ledger, &key)?;
    let Some(mut obligation) = obligation(store, notice, holder)?.filter(|o| o.acknowledgement.is_none()) else {
        return Ok(false);
    };
    remark(&mut obligation);
    // An acknowledgement that is written between reading and writing must not be lost.
    change.expect(Keyspace::Ledger, &key, before);
    change.put_value(Keyspace::Ledger, SHAPE, &key, &obligation);
    Ok(true)
}
