//! The JSON form: a W3C Verifiable Credential 2.0 that holds every block of a bundle, says in words what is in them, and
//! carries a Data Integrity proof of the issuing node.
//!
//! A reader who has only a credential library checks the proof and reads the words. A reader who has `plumb` recomputes
//! the words from the blocks, so a credential can say nothing that its evidence does not say, not even to somebody who
//! trusts the issuer. Only the issuer can make the proof; anybody can pass the credential on.
//!
//! The issuer goes by its `did:key`, or by a `did:web` that it gave itself. A `did:web` is a name and proves nothing by
//! itself: the key is the one that the certificate in the bundle names, with or without a network.

mod proof;
mod strict;
mod view;

use std::collections::BTreeMap;

use cid::Cid;
use multibase::Base;
use serde_json::Value;

use super::car::CAR_BLOCKS_MAX;
use super::file::{BUNDLE_BYTES_MAX, BundleFile};
use super::verify::Verified;
use crate::content::{ContentError, RawBlock, parse_cid};
use crate::identity::{DidWeb, NodeId, SecretKey};
use crate::measure::Timestamp;

pub use proof::{CRYPTOSUITE, ProofError, add_proof, check_proof};

/// Why a credential is not a bundle that we believe.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JsonError {
    /// Larger than we read, or than we write.
    #[error("the credential has {0} bytes; at most {BUNDLE_BYTES_MAX} are read; use the CAR form")]
    TooLarge(usize),
    /// Not JSON as we read it: whole numbers, no name twice.
    #[error("the credential cannot be read: {0}")]
    Read(String),
    /// A number that other readers of JSON would round.
    #[error("`{0}` is a number beyond 2^53, which JSON does not carry exactly; use the CAR form")]
    Number(String),
    /// A field that must be there is not, or is of another kind.
    #[error("`{field}` is not {expected}")]
    Shape {
        /// Which.
        field: &'static str,
        /// What it should be.
        expected: &'static str,
    },
    /// More blocks than we read.
    #[error("the credential has more than {CAR_BLOCKS_MAX} blocks")]
    TooManyBlocks,
    /// A block is not what its name says.
    #[error("`credentialSubject.blocks.{name}`: {source}")]
    Block {
        /// As it stands in the file.
        name: String,
        /// Why.
        source: ContentError,
    },
    /// A field says something else than the blocks.
    #[error("`{0}` does not say what the blocks of the bundle say")]
    Differs(String),
    /// A field that no block of the bundle answers for.
    #[error("`{0}` stands in no block of the bundle")]
    Unknown(String),
    /// A field is missing that follows from the blocks.
    #[error("`{0}` is missing")]
    Missing(String),
    /// The proof.
    #[error(transparent)]
    Proof(#[from] ProofError),
}

/// A credential that was read, and is not yet believed.
#[derive(Clone, Debug)]
pub(super) struct Credential {
    document: Value,
    issuer: String,
}

/// Whether an issuer goes by its key or by a name.
enum Named {
    Key,
    Web(DidWeb),
}

impl Credential {
    /// Reads a file: limits, shape, and every block against its CID.
    pub(super) fn read(bytes: &[u8]) -> Result<BundleFile, JsonError> {
        if bytes.len() > BUNDLE_BYTES_MAX {
            return Err(JsonError::TooLarge(bytes.len()));
        }
        let document = strict::read(bytes)?;
        let subject = &document["credentialSubject"];
        let root = subject["root"].as_str().and_then(|text| parse_cid(text).ok());
        let root = root.ok_or(JsonError::Shape { field: "credentialSubject.root", expected: "a CID" })?;
        let issuer = document["issuer"].as_str();
        let issuer = issuer.ok_or(JsonError::Shape { field: "issuer", expected: "a did" })?.to_string();
        let blocks = subject["blocks"].as_object();
        let blocks =
            blocks.ok_or(JsonError::Shape { field: "credentialSubject.blocks", expected: "a map of blocks" })?;
        if blocks.len() > CAR_BLOCKS_MAX {
            return Err(JsonError::TooManyBlocks);
        }
        let blocks = blocks
            .iter()
            .map(|(name, text)| {
                block(name, text).map_err(|source| JsonError::Block { name: strict::cut(name), source })
            })
            .collect::<Result<BTreeMap<Cid, Vec<u8>>, JsonError>>()?;
        Ok(BundleFile { root, blocks, credential: Some(Credential { document, issuer }) })
    }

    /// Who it says issued it.
    pub(super) fn issuer(&self) -> &str {
        &self.issuer
    }

    /// Checks the credential against the bundle, which was found authentic. Gives what was checked, in words.
    pub(super) fn check(&self, verified: &Verified) -> Result<Vec<String>, JsonError> {
        let named = self.named(&verified.bundle.issuer)?;
        strict::compare(&view::document(verified, &self.issuer), &without_proof(&self.document))?;
        let mut checks = vec!["every readable field says what the blocks say".to_string()];
        check_proof(&self.document, &method(&self.issuer, &verified.bundle.issuer), &verified.bundle.issuer)?;
        checks.push(format!("the {CRYPTOSUITE} proof of {} holds over the whole document", verified.bundle.issuer));
        if let Named::Web(name) = named {
            checks.push(format!(
                "{name} is how the issuer calls itself; nothing was looked up there, its key is the certified one"
            ));
        }
        Ok(checks)
    }

    fn named(&self, issuer: &NodeId) -> Result<Named, JsonError> {
        if self.issuer == issuer.to_string() {
            return Ok(Named::Key);
        }
        self.issuer.parse().map(Named::Web).map_err(|_| JsonError::Differs("issuer".to_string()))
    }
}

/// Writes the JSON form of a bundle that this key issued.
pub fn to_json(
    verified: &Verified,
    name: Option<&DidWeb>,
    key: &SecretKey,
    now: Timestamp,
) -> Result<Vec<u8>, JsonError> {
    let issuer = name.map_or_else(|| key.public().to_string(), ToString::to_string);
    let document = view::document(verified, &issuer);
    strict::check_numbers(&document)?;
    let signed = add_proof(document, &method(&issuer, &key.public()), now, key)?;
    let mut bytes = serde_json::to_vec_pretty(&signed).map_err(|e| JsonError::Read(e.to_string()))?;
    bytes.push(b'\n');
    if bytes.len() > BUNDLE_BYTES_MAX {
        return Err(JsonError::TooLarge(bytes.len()));
    }
    Ok(bytes)
}

/// The name of a key as an issuer's verification method.
fn method(issuer: &str, key: &NodeId) -> String {
    format!("{issuer}#{}", key.multikey())
}

fn without_proof(document: &Value) -> Value {
    let mut unsecured = document.clone();
    if let Some(members) = unsecured.as_object_mut() {
        members.remove("proof");
    }
    unsecured
}

fn block(name: &str, text: &Value) -> Result<(Cid, Vec<u8>), ContentError> {
    let cid = parse_cid(name)?;
    // A CID has several texts; here it has the one that it shows itself as, so no block can stand here twice.
    if cid.to_string() != name {
        return Err(ContentError::Cid(strict::cut(name)));
    }
    let decoded = text.as_str().and_then(|text| multibase::decode(text).ok());
    let Some((Base::Base64Url, bytes)) = decoded else {
        return Err(ContentError::Decode("it is not base64url behind the letter u".to_string()));
    };
    let block = RawBlock::checked(cid, bytes)?;
    Ok((block.cid, block.bytes))
}

#[cfg(test)]
mod tests;
