//! A value with its signature, kept as the bytes that arrived.
//!
//! What was signed is never re-encoded: fields that a newer version added, and that we do not know, survive storing
//! and passing on byte for byte.

use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::{Domain, IdentityError, PublicKey, SecretKey, Signature};
use crate::content::{ContentError, RawBlock, decode_canonical};

/// A kind of block that is signed, always in the same role.
pub trait Signable: Serialize + DeserializeOwned {
    /// The role.
    const DOMAIN: Domain;
}

/// Why a signed value was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SignedError {
    /// The envelope or the block inside cannot be read.
    #[error(transparent)]
    Content(#[from] ContentError),
    /// The signature does not hold.
    #[error(transparent)]
    Identity(#[from] IdentityError),
}

/// A value, the block that it was signed as, who signed, and the signature, which has been checked. Copies share it:
/// one certificate stands in many places of a node.
#[derive(Debug, PartialEq, Eq)]
pub struct Signed<T>(Arc<Sealed<T>>);

#[derive(Debug, PartialEq, Eq)]
struct Sealed<T> {
    value: T,
    block: RawBlock,
    signer: PublicKey,
    signature: Signature,
}

impl<T> Clone for Signed<T> {
    fn clone(&self) -> Signed<T> {
        Signed(self.0.clone())
    }
}

/// How a signed value is stored and sent.
#[derive(Serialize, Deserialize)]
struct EnvelopeV1 {
    #[serde(with = "serde_bytes")]
    block: Vec<u8>,
    signer: PublicKey,
    signature: Signature,
}

impl<T: Signable> Signed<T> {
    /// Signs a value.
    pub fn seal(value: T, key: &SecretKey) -> Result<Signed<T>, SignedError> {
        let block = RawBlock::encode(&value)?;
        let signature = key.sign(T::DOMAIN, &block.cid);
        Ok(Signed(Arc::new(Sealed { value, block, signer: key.public(), signature })))
    }

    /// Takes a block with its signature, and checks it.
    pub fn assemble(block: RawBlock, signer: PublicKey, signature: Signature) -> Result<Signed<T>, SignedError> {
        signer.verify(T::DOMAIN, &block.cid, &signature)?;
        let value = block.decode()?;
        Ok(Signed(Arc::new(Sealed { value, block, signer, signature })))
    }

    /// Reads the stored form, and checks the signature. Total: any bytes give a value or an error.
    pub fn from_bytes(bytes: &[u8]) -> Result<Signed<T>, SignedError> {
        let envelope: EnvelopeV1 = decode_canonical(bytes)?;
        // The codec is ours to name: what is signed is always DAG-CBOR.
        let value_block = RawBlock::dag_cbor(envelope.block);
        Signed::assemble(value_block, envelope.signer, envelope.signature)
    }

    /// The stored form.
    pub fn to_bytes(&self) -> Vec<u8> {
        let Sealed { block, signer, signature, .. } = &*self.0;
        let envelope = EnvelopeV1 { block: block.bytes.clone(), signer: *signer, signature: *signature };
        serde_ipld_dagcbor::to_vec(&envelope).expect("bytes, a string and bytes always encode")
    }

    /// The value.
    pub fn value(&self) -> &T {
        &self.0.value
    }

    /// The block as it was signed.
    pub fn block(&self) -> &RawBlock {
        &self.0.block
    }

    /// The name of the value.
    pub fn cid(&self) -> cid::Cid {
        self.0.block.cid
    }

    /// Who signed. Whether they may is another question.
    pub fn signer(&self) -> &PublicKey {
        &self.0.signer
    }

    /// The signature.
    pub fn signature(&self) -> &Signature {
        &self.0.signature
    }
}
