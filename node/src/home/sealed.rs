//! A key under a passphrase: Argon2id makes a key of the passphrase, XChaCha20-Poly1305 seals the seed with it.
//!
//! What stands beside the sealed seed (whose it is, and how it was sealed) is bound to it as associated data, so a file
//! cannot be made to open as another organisation's root.

use argon2::{Algorithm, Argon2, Params, Version};
use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use multibase::Base;
use plumb_core::identity::SecretKey;
use rand::RngExt;
use serde::{Deserialize, Serialize};

/// Memory for one guess, in KiB: the second recommendation of RFC 9106, section 4.
const MEMORY_KIB: u32 = 64 * 1024;
/// Passes over it.
const PASSES: u32 = 3;
/// Lanes.
const LANES: u32 = 4;
/// Most memory that a file may ask for, in KiB.
const MEMORY_KIB_MAX: u32 = 1024 * 1024;
/// Most passes and lanes that it may ask for.
const WORK_MAX: u32 = 64;

const KDF: &str = "argon2id";
const CIPHER: &str = "xchacha20-poly1305";

/// A seed under a passphrase, as it stands in a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sealed {
    kdf: String,
    memory_kib: u32,
    passes: u32,
    lanes: u32,
    salt: String,
    cipher: String,
    nonce: String,
    seed: String,
}

/// Why a sealed key does not open.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SealedError {
    /// The passphrase is another one, or the file was changed. The two cannot be told apart.
    #[error("the passphrase does not open the root key")]
    Passphrase,
    /// It was sealed in a way that is not known here.
    #[error("the root key is sealed in a way that this program does not know: {0}")]
    Unknown(String),
}

impl Sealed {
    /// Seals a key. `about` is what stands beside it.
    pub fn seal(key: &SecretKey, passphrase: &str, about: &[u8]) -> Result<Sealed, SealedError> {
        let (salt, nonce): ([u8; 16], [u8; 24]) = (rand::rng().random(), rand::rng().random());
        let hex = |bytes: &[u8]| Base::Base16Lower.encode(bytes);
        let mut sealed = Sealed {
            kdf: KDF.to_string(),
            memory_kib: MEMORY_KIB,
            passes: PASSES,
            lanes: LANES,
            salt: hex(&salt),
            cipher: CIPHER.to_string(),
            nonce: hex(&nonce),
            seed: String::new(),
        };
        let payload = Payload { msg: &key.seed(), aad: about };
        let seed = sealed.cipher_under(passphrase, &salt)?.encrypt(XNonce::from_slice(&nonce), payload);
        sealed.seed = hex(&seed.map_err(|_| SealedError::Passphrase)?);
        Ok(sealed)
    }

    /// Opens it.
    pub fn open(&self, passphrase: &str, about: &[u8]) -> Result<SecretKey, SealedError> {
        if self.kdf != KDF || self.cipher != CIPHER {
            return Err(SealedError::Unknown(format!("{} and {}", self.kdf, self.cipher)));
        }
        let bytes = |text: &str| Base::Base16Lower.decode(text).map_err(|e| SealedError::Unknown(e.to_string()));
        let (salt, nonce, seed) = (bytes(&self.salt)?, bytes(&self.nonce)?, bytes(&self.seed)?);
        let nonce: [u8; 24] =
            nonce.try_into().map_err(|_| SealedError::Unknown("the nonce has not 24 bytes".to_string()))?;
        let payload = Payload { msg: &seed, aad: about };
        let opened = self.cipher_under(passphrase, &salt)?.decrypt(XNonce::from_slice(&nonce), payload);
        let seed = opened.map_err(|_| SealedError::Passphrase)?;
        seed.try_into().map(SecretKey::from_seed).map_err(|_| SealedError::Passphrase)
    }

    fn cipher_under(&self, passphrase: &str, salt: &[u8]) -> Result<XChaCha20Poly1305, SealedError> {
        let unknown = |e: argon2::Error| SealedError::Unknown(e.to_string());
        if self.memory_kib > MEMORY_KIB_MAX || self.passes > WORK_MAX || self.lanes > WORK_MAX {
            return Err(SealedError::Unknown("it asks for more work than any file should".to_string()));
        }
        let params = Params::new(self.memory_kib, self.passes, self.lanes, Some(32)).map_err(unknown)?;
        let mut key = [0; 32];
        Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
            .hash_password_into(passphrase.as_bytes(), salt, &mut key)
            .map_err(unknown)?;
        Ok(XChaCha20Poly1305::new(&key.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sealed_key_opens_with_its_passphrase_and_as_itself_only() {
        let key = SecretKey::from_seed([7; 32]);
        let sealed = Sealed::seal(&key, "correct horse", b"Northwater").unwrap();
        assert_eq!(sealed.open("correct horse", b"Northwater").unwrap().public(), key.public());
        assert_eq!(sealed.open("wrong horse", b"Northwater").unwrap_err(), SealedError::Passphrase);
        assert_eq!(sealed.open("correct horse", b"Southwater").unwrap_err(), SealedError::Passphrase);
        assert!(!serde_json::to_string(&sealed).unwrap().contains(&Base::Base16Lower.encode([7; 32])));

        let greedy = Sealed { memory_kib: u32::MAX, ..sealed.clone() };
        assert!(matches!(greedy.open("correct horse", b"Northwater"), Err(SealedError::Unknown(_))));
        for changed in [
            Sealed { kdf: "md5".into(), ..sealed.clone() },
            Sealed { nonce: "00".into(), ..sealed.clone() },
            Sealed { salt: "zz".into(), ..sealed.clone() },
            Sealed { passes: 0, ..sealed.clone() },
        ] {
            assert!(
                matches!(changed.open("correct horse", b"Northwater"), Err(SealedError::Unknown(_))),
                "{changed:?}"
            );
        }
        let short = Sealed { seed: "00".into(), ..sealed };
        assert_eq!(short.open("correct horse", b"Northwater").unwrap_err(), SealedError::Passphrase);
    }
}
