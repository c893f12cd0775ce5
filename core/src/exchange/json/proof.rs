//! Data Integrity proofs with the cryptosuite `eddsa-jcs-2022` (W3C "Data Integrity EdDSA Cryptosuites v1.0", §3.3).
//!
//! ```text
//! signature = Ed25519( SHA-256(JCS(proof without proofValue)) ‖ SHA-256(JCS(document without proof)) )
//! ```
//! JCS is the canonical form of RFC 8785. The proof covers every member of the document and every member of itself; a
//! member of the proof that we do not know is refused all the same, because what it would mean is unknown.

use multibase::Base;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::identity::{PublicKey, SecretKey, Signature};
use crate::measure::Timestamp;

/// The cryptosuite.
pub const CRYPTOSUITE: &str = "eddsa-jcs-2022";
const TYPE: &str = "DataIntegrityProof";
const PURPOSE: &str = "assertionMethod";
const MEMBERS: [&str; 7] =
    ["@context", "type", "cryptosuite", "created", "verificationMethod", "proofPurpose", "proofValue"];

/// Why a proof does not hold.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProofError {
    /// There is none, or several.
    #[error("`proof` is not one proof")]
    None,
    /// A member that we do not know.
    #[error("`proof.{0}` is no member of a proof of `{CRYPTOSUITE}`")]
    Unknown(String),
    /// A member is missing, or says something else.
    #[error("`proof.{member}` is not {expected}")]
    Member {
        /// Which.
        member: &'static str,
        /// What it should be.
        expected: String,
    },
    /// The document has no canonical form.
    #[error("the document has no canonical form: {0}")]
    Canonical(String),
    /// The signature does not hold.
    #[error("`proof.proofValue` is not the signature of the issuer's key over this document")]
    Signature,
}

/// Adds the proof of a key, by the name of its verification method, to a document that has none.
pub fn add_proof(document: Value, method: &str, created: Timestamp, key: &SecretKey) -> Result<Value, ProofError> {
    let Value::Object(mut members) = document else { return Err(ProofError::None) };
    if members.contains_key("proof") {
        return Err(ProofError::None);
    }
    let mut proof = json!({
        "type": TYPE,
        "cryptosuite": CRYPTOSUITE,
        "created": created.to_string(),
        "verificationMethod": method,
        "proofPurpose": PURPOSE,
    });
    if let Some(context) = members.get("@context") {
        proof["@context"] = context.clone();
    }
    let signature = key.sign_bytes(&message(&members, &proof)?);
    proof["proofValue"] = multibase::encode(Base::Base58Btc, signature.as_bytes()).into();
    members.insert("proof".to_string(), proof);
    Ok(Value::Object(members))
}

/// Checks the proof of a document: made with this key, under this name of a verification method.
pub fn check_proof(document: &Value, method: &str, key: &PublicKey) -> Result<(), ProofError> {
    let mut members = document.as_object().cloned().ok_or(ProofError::None)?;
    let Some(Value::Object(mut proof)) = members.remove("proof") else { return Err(ProofError::None) };
    if let Some(unknown) = proof.keys().find(|name| !MEMBERS.contains(&name.as_str())) {
        return Err(ProofError::Unknown(super::strict::cut(unknown)));
    }
    for (member, expected) in
        [("type", TYPE), ("cryptosuite", CRYPTOSUITE), ("proofPurpose", PURPOSE), ("verificationMethod", method)]
    {
        if proof.get(member).and_then(Value::as_str) != Some(expected) {
            return Err(ProofError::Member { member, expected: format!("`{expected}`") });
        }
    }
    // The specification lets a document have more contexts than its proof, unsigned ones at the end. Ours has none.
    if proof.get("@context") != members.get("@context") {
        return Err(ProofError::Member { member: "@context", expected: "that of the document".to_string() });
    }
    if !proof.get("created").is_some_and(Value::is_string) {
        return Err(ProofError::Member { member: "created", expected: "a time".to_string() });
    }
    let signature = proof.remove("proofValue").as_ref().and_then(Value::as_str).and_then(signature_of);
    let signature = signature.ok_or_else(|| ProofError::Member {
        member: "proofValue",
        expected: "64 bytes in base58 behind the letter z".to_string(),
    })?;
    key.verify_bytes(&message(&members, &Value::Object(proof))?, &signature).map_err(|_| ProofError::Signature)
}

/// What is signed.
fn message(document: &Map<String, Value>, proof: &Value) -> Result<Vec<u8>, ProofError> {
    let mut message = Sha256::digest(canonical(proof)?).to_vec();
    message.extend_from_slice(&Sha256::digest(canonical(document)?));
    Ok(message)
}

fn canonical(value: &impl serde::Serialize) -> Result<Vec<u8>, ProofError> {
    serde_json_canonicalizer::to_vec(value).map_err(|e| ProofError::Canonical(e.to_string()))
}

fn signature_of(text: &str) -> Option<Signature> {
    // 64 bytes are at most 88 characters of base58, which takes the square of its length to decode.
    let (Base::Base58Btc, bytes) = multibase::decode(text.get(..text.len().min(100))?).ok()? else { return None };
    bytes.try_into().ok().map(Signature::from_bytes)
}
