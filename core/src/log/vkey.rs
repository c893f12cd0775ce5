//! A key as other programs are told it: the verifier key of C2SP `signed-note`.
//!
//! ```text
//! name+key id, hex+base64(signature type ‖ public key)
//! ```

use std::fmt;

use multibase::Base;

use super::Origin;
use super::cosignature::ED25519_COSIGNATURE;
use super::note::{ED25519, key_id};
use crate::identity::PublicKey;

/// A name, a kind of signature and a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifierKey {
    name: Origin,
    kind: u8,
    key: PublicKey,
}

impl VerifierKey {
    /// That of a log, under whose name it signs checkpoints.
    pub fn of_log(origin: &Origin, key: &PublicKey) -> VerifierKey {
        VerifierKey { name: origin.clone(), kind: ED25519, key: *key }
    }

    /// That of a witness, under whose name it cosigns.
    pub fn of_witness(name: &Origin, key: &PublicKey) -> VerifierKey {
        VerifierKey { name: name.clone(), kind: ED25519_COSIGNATURE, key: *key }
    }
}

impl fmt::Display for VerifierKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let id = u32::from_be_bytes(key_id(self.name.as_str(), self.kind, &self.key));
        let material = [&[self.kind][..], self.key.as_bytes()].concat();
        write!(f, "{}+{id:08x}+{}", self.name, Base::Base64Pad.encode(material))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_published_key_is_written_as_it_was_published() {
        // The example of golang.org/x/mod/sumdb/note.
        let text = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";
        let bytes = Base::Base64Pad.decode(text.rsplit('+').next().unwrap()).unwrap();
        let key = PublicKey::from_bytes(bytes[1..].try_into().unwrap()).unwrap();
        let name = "PeterNeumann".parse().unwrap();
        assert_eq!(VerifierKey::of_log(&name, &key).to_string(), text);
        assert_ne!(VerifierKey::of_witness(&name, &key).to_string(), text);
    }
}
