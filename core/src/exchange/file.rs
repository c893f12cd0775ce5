//! A bundle file of either form, read and not yet believed.

use std::collections::{BTreeMap, BTreeSet};

use cid::Cid;
use ipld_core::codec::Links;
use ipld_core::ipld::Ipld;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_ipld_dagcbor::codec::DagCborCodec;

use super::bundle::{Bundle, Seal, block_of};
use super::car::{CAR_BYTES_MAX, read_car};
use super::json::Credential;
use super::logged::LoggedAt;
use super::verify::BundleError;
use crate::content::{ContentError, DAG_CBOR, RawBlock};
use crate::log::NOTE_BYTES_MAX;

/// Largest bundle file that is read, in either form.
pub const BUNDLE_BYTES_MAX: usize = CAR_BYTES_MAX;

/// Largest block that no signature covers: the longest signed note, and room around it. What is in it is looked at field by
/// field, and a field takes many times the few bytes that it can have in the block.
const UNSIGNED_BYTES_MAX: usize = NOTE_BYTES_MAX + 8 * 1024;

const SEAL_FIELDS: [&str; 5] = ["type", "bundle", "signer", "signature", "logged"];
const LOGGED_FIELDS: [&str; 5] = ["type", "entry", "index", "proof", "checkpoint"];

/// The form that a bundle file has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// CAR v1.
    Car,
    /// A Verifiable Credential in JSON.
    Json,
}

impl Form {
    /// The form that a file seems to have. A credential begins with `{`; no CAR file of ours does, because the first byte
    /// of a CAR file is the length of its header, and one root makes it 58.
    pub fn of(bytes: &[u8]) -> Form {
        match bytes.iter().find(|b| !b.is_ascii_whitespace()) {
            Some(b'{') => Form::Json,
            _ => Form::Car,
        }
    }

    /// Its word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Form::Car => "car",
            Form::Json => "json",
        }
    }
}

/// A bundle file, taken apart: its root, and its blocks, each checked against its CID. What the blocks say is only
/// believed after [`super::verify`].
#[derive(Clone, Debug)]
pub struct BundleFile {
    /// The root: CID of the [`Seal`].
    pub root: Cid,
    /// Every block, by CID.
    pub blocks: BTreeMap<Cid, Vec<u8>>,
    pub(super) credential: Option<Credential>,
}

impl BundleFile {
    /// Reads a file of either form.
    pub fn read(bytes: &[u8]) -> Result<BundleFile, BundleError> {
        match Form::of(bytes) {
            Form::Json => Ok(Credential::read(bytes)?),
            Form::Car => {
                let (root, blocks) = read_car(bytes)?;
                Ok(BundleFile { root, blocks, credential: None })
            }
        }
    }

    /// Which form it has.
    pub fn form(&self) -> Form {
        if self.credential.is_some() { Form::Json } else { Form::Car }
    }

    /// The name under which the issuer signed a credential, such as `did:web:evidence.example.org`.
    pub fn issuer_name(&self) -> Option<&str> {
        self.credential.as_ref().map(Credential::issuer)
    }

    /// The seal. It is not signed, so a field that is none of its own is refused by name.
    pub fn seal(&self) -> Result<Seal, BundleError> {
        exact("seal", &SEAL_FIELDS, &self.block(&self.root)?)
    }

    /// The bundle, as it stands in the file.
    pub fn bundle(&self) -> Result<(Cid, Bundle), BundleError> {
        let cid = self.seal()?.bundle;
        Ok((cid, self.block(&cid)?.decode()?))
    }

    /// One block.
    pub fn block(&self, cid: &Cid) -> Result<RawBlock, ContentError> {
        block_of(&self.blocks, cid)
    }

    pub(super) fn logged(&self, seal: &Seal) -> Result<Option<LoggedAt>, BundleError> {
        seal.logged.map(|cid| exact("log proof", &LOGGED_FIELDS, &self.block(&cid)?)).transpose()
    }

    /// A block that no link reaches from the root was not signed by anybody: it is refused by name. What a field that we
    /// do not know links to belongs to the bundle, as the field does.
    pub(super) fn refuse_strays(&self) -> Result<(), BundleError> {
        let mut reached = BTreeSet::from([self.root]);
        let mut next = vec![self.root];
        while let Some(cid) = next.pop() {
            let Some(bytes) = self.blocks.get(&cid).filter(|_| cid.codec() == DAG_CBOR) else { continue };
            let links = DagCborCodec::links(bytes).map_err(|e| ContentError::Decode(e.to_string()))?;
            next.extend(links.filter(|link| reached.insert(*link)));
        }
        match self.blocks.keys().find(|cid| !reached.contains(cid)) {
            Some(stray) => Err(BundleError::Stray(*stray)),
            None => Ok(()),
        }
    }
}

/// Reads a block that no signature covers: it has the fields that it must have, and one encoding.
fn exact<T: Serialize + DeserializeOwned>(
    place: &'static str,
    fields: &[&str],
    block: &RawBlock,
) -> Result<T, BundleError> {
    if block.bytes.len() > UNSIGNED_BYTES_MAX {
        let reason = format!("the {place} has {} bytes; at most {UNSIGNED_BYTES_MAX} are read", block.bytes.len());
        return Err(ContentError::Decode(reason).into());
    }
    let map: BTreeMap<String, Ipld> = block.decode()?;
    if let Some(field) = map.into_keys().find(|field| !fields.contains(&field.as_str())) {
        return Err(BundleError::Unsigned { place, field });
    }
    let value: T = block.decode()?;
    if RawBlock::encode(&value)?.cid != block.cid {
        return Err(ContentError::Decode(format!("the {place} is not in canonical form")).into());
    }
    Ok(value)
}
