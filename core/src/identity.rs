//! Who signs: Ed25519 keys as `did:key`, names of entities, and signatures that mean one thing only.
//!
//! A signature is over `domain ‖ 0x00 ‖ CID bytes`, so a signature made in one role can never be shown in another,
//! and what is signed has exactly one canonical form. Verification is strict: small-order points and non-canonical
//! encodings are refused (RFC 8032; Chalkias, Garillot, Nikolaenko, "Taming the many EdDSAs", 2020).

mod signed;
mod web;

use std::cell::RefCell;
use std::fmt;
use std::str::FromStr;

use cid::Cid;
use ed25519_dalek::{Signer, SigningKey, VerifyingKey};
use multibase::Base;
use serde::{Deserialize, Serialize};

pub use signed::{Signable, Signed, SignedError};
pub use web::DidWeb;

/// Multicodec prefix of an Ed25519 public key inside a `did:key` (0xed as a varint).
const ED25519_MULTICODEC: [u8; 2] = [0xed, 0x01];
/// A `did:key` of an Ed25519 key is 56 characters; this leaves room and still bounds what is decoded.
const DID_LEN_MAX: usize = 128;
/// Longest accepted entity id.
const ENTITY_ID_LEN_MAX: usize = 200;

/// Why an identity or a signature was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IdentityError {
    /// Not a `did:key` of an Ed25519 key.
    #[error("`{0}` is not a did:key of an Ed25519 key")]
    Did(String),
    /// Not the name of a host, or not a `did:web` of one.
    #[error("`{0}` is not the name of a host such as `evidence.example.org`, or its did:web")]
    DidWeb(String),
    /// The bytes are not a usable Ed25519 public key.
    #[error("the public key is not a valid Ed25519 point")]
    Key,
    /// The signature does not hold.
    #[error("the signature does not hold for {domain}")]
    Signature {
        /// The role in which it was checked.
        domain: &'static str,
    },
    /// Not an entity id.
    #[error("`{0}` is not an entity id such as `person-mara-lindqvist` or `department-operations`")]
    Entity(String),
    /// Not one of the eight types of entity.
    #[error(
        "`{0}` is no type of entity: person, team, department, organization, project, system, module and topic are"
    )]
    EntityType(String),
}

/// The role in which something is signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Domain {
    /// A node certificate, signed by an organisation's root.
    Certificate,
    /// A context bundle, signed by the node that answered.
    Bundle,
    /// A notice: retraction and its kin.
    Notice,
    /// An import receipt.
    Receipt,
    /// An acknowledgement that a notice was applied.
    Acknowledgement,
    /// A requester's assertion in a federated search.
    Assertion,
    /// A node's summary of its public collection.
    Summary,
    /// One root of an organisation gives way to another; both sign.
    Rotation,
    /// A root takes a node or a certificate back.
    Revocation,
    /// A piece of knowledge that its origin offers to others.
    Teaching,
    /// A step on the way of such a piece.
    Hop,
}

impl Domain {
    /// The prefix that is signed.
    pub const fn as_str(self) -> &'static str {
        match self {
            Domain::Certificate => "plumb/certificate/1",
            Domain::Bundle => "plumb/bundle/1",
            Domain::Notice => "plumb/notice/1",
            Domain::Receipt => "plumb/receipt/1",
            Domain::Acknowledgement => "plumb/acknowledgement/1",
            Domain::Assertion => "plumb/assertion/1",
            Domain::Summary => "plumb/summary/1",
            Domain::Rotation => "plumb/rotation/1",
            Domain::Revocation => "plumb/revocation/1",
            Domain::Teaching => "plumb/teaching/1",
            Domain::Hop => "plumb/hop/1",
        }
    }

    fn message(self, cid: &Cid) -> Vec<u8> {
        let mut message = self.as_str().as_bytes().to_vec();
        message.push(0);
        message.extend_from_slice(&cid.to_bytes());
        message
    }
}

/// A private key. It shows itself only through [`SecretKey::seed`], and never in debug output.
#[derive(Clone)]
pub struct SecretKey(SigningKey);

impl SecretKey {
    /// The key that 32 random bytes make.
    pub fn from_seed(seed: [u8; 32]) -> SecretKey {
        SecretKey(SigningKey::from_bytes(&seed))
    }

    /// The 32 bytes to keep safe.
    pub fn seed(&self) -> [u8; 32] {
        self.0.to_bytes()
    }

    /// The public half.
    pub fn public(&self) -> PublicKey {
        PublicKey(self.0.verifying_key().to_bytes())
    }

    /// Signs a CID in a role.
    pub fn sign(&self, domain: Domain, cid: &Cid) -> Signature {
        Signature(self.0.sign(&domain.message(cid)).to_bytes())
    }

    /// Signs plain bytes. Only for formats of others that fix the message, such as a C2SP signed note.
    pub fn sign_bytes(&self, message: &[u8]) -> Signature {
        Signature(self.0.sign(message).to_bytes())
    }
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SecretKey({})", self.public())
    }
}

/// An Ed25519 public key. Its text form is a `did:key`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PublicKey([u8; 32]);

thread_local! {
    /// The last keys that were found to be points of the curve.
    static POINTS: RefCell<[[u8; 32]; 8]> = const { RefCell::new([PublicKey::NOBODY.0; 8]) };
}

impl PublicKey {
    /// The neutral point of the curve: a name that nobody can have, because strict verification refuses every
    /// signature under a point of small order.
    pub const NOBODY: PublicKey = {
        let mut neutral = [0; 32];
        neutral[0] = 1;
        PublicKey(neutral)
    };

    /// Takes 32 bytes that are a point of the curve.
    pub fn from_bytes(bytes: [u8; 32]) -> Result<PublicKey, IdentityError> {
        // Whether it is one takes as long as a good part of a signature, and the same few keys stand in every row.
        if POINTS.with_borrow(|points| points.contains(&bytes)) {
            return Ok(PublicKey(bytes));
        }
        VerifyingKey::from_bytes(&bytes).map_err(|_| IdentityError::Key)?;
        POINTS.with_borrow_mut(|points| {
            points.rotate_right(1);
            points[0] = bytes;
        });
        Ok(PublicKey(bytes))
    }

    /// The 32 bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Checks a signature over a CID in a role.
    pub fn verify(&self, domain: Domain, cid: &Cid, signature: &Signature) -> Result<(), IdentityError> {
        self.verify_bytes(&domain.message(cid), signature)
            .map_err(|_| IdentityError::Signature { domain: domain.as_str() })
    }

    /// Checks a signature over plain bytes, strictly.
    pub fn verify_bytes(&self, message: &[u8], signature: &Signature) -> Result<(), IdentityError> {
        let key = VerifyingKey::from_bytes(&self.0).map_err(|_| IdentityError::Key)?;
        key.verify_strict(message, &ed25519_dalek::Signature::from_bytes(&signature.0))
            .map_err(|_| IdentityError::Signature { domain: "bytes" })
    }

    /// The key as a W3C Multikey: the `did:key` without its prefix.
    pub fn multikey(&self) -> String {
        let mut bytes = ED25519_MULTICODEC.to_vec();
        bytes.extend_from_slice(&self.0);
        multibase::encode(Base::Base58Btc, bytes)
    }

    /// A short form for people: the end of the `did:key`.
    pub fn short(&self) -> String {
        let did = self.to_string();
        did[did.len() - 8..].to_string()
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "did:key:{}", self.multikey())
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl FromStr for PublicKey {
    type Err = IdentityError;
    fn from_str(text: &str) -> Result<PublicKey, IdentityError> {
        let refused = || IdentityError::Did(text.chars().take(DID_LEN_MAX).collect());
        if text.len() > DID_LEN_MAX {
            return Err(refused());
        }
        let encoded = text.strip_prefix("did:key:").ok_or_else(refused)?;
        let (Base::Base58Btc, bytes) = multibase::decode(encoded).map_err(|_| refused())? else {
            return Err(refused());
        };
        let key = bytes.strip_prefix(&ED25519_MULTICODEC).ok_or_else(refused)?;
        let key: [u8; 32] = key.try_into().map_err(|_| refused())?;
        PublicKey::from_bytes(key)
    }
}

impl TryFrom<String> for PublicKey {
    type Error = IdentityError;
    fn try_from(text: String) -> Result<PublicKey, IdentityError> {
        text.parse()
    }
}

impl From<PublicKey> for String {
    fn from(key: PublicKey) -> String {
        key.to_string()
    }
}

/// A node, named by its key.
pub type NodeId = PublicKey;

/// An organisation, named by its first root key. Its root may be another one by now ([`crate::trust`]).
pub type OrgId = PublicKey;

/// An Ed25519 signature.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Signature([u8; 64]);

impl Signature {
    /// Takes the 64 bytes.
    pub fn from_bytes(bytes: [u8; 64]) -> Signature {
        Signature(bytes)
    }

    /// The 64 bytes.
    pub fn as_bytes(&self) -> &[u8; 64] {
        &self.0
    }
}

impl fmt::Debug for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Signature({})", multibase::encode(Base::Base16Lower, &self.0[..8]))
    }
}

/// CBOR byte string of 64 bytes.
impl Serialize for Signature {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serde_bytes::Bytes::new(&self.0).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Signature {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Signature, D::Error> {
        let bytes = serde_bytes::ByteBuf::deserialize(deserializer)?;
        let bytes: [u8; 64] =
            bytes.as_slice().try_into().map_err(|_| serde::de::Error::custom("a signature has 64 bytes"))?;
        Ok(Signature(bytes))
    }
}

/// What kind of thing an entity is (ENT-01).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "the names say it")]
pub enum EntityType {
    Person,
    Team,
    Department,
    Organization,
    Project,
    System,
    Module,
    Topic,
}

impl EntityType {
    /// Every type, in the order of the design.
    pub const ALL: [EntityType; 8] = [
        EntityType::Person,
        EntityType::Team,
        EntityType::Department,
        EntityType::Organization,
        EntityType::Project,
        EntityType::System,
        EntityType::Module,
        EntityType::Topic,
    ];

    /// Its lower-case name.
    pub const fn as_str(self) -> &'static str {
        match self {
            EntityType::Person => "person",
            EntityType::Team => "team",
            EntityType::Department => "department",
            EntityType::Organization => "organization",
            EntityType::Project => "project",
            EntityType::System => "system",
            EntityType::Module => "module",
            EntityType::Topic => "topic",
        }
    }
}

impl fmt::Display for EntityType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for EntityType {
    type Err = IdentityError;
    fn from_str(text: &str) -> Result<EntityType, IdentityError> {
        let known = EntityType::ALL.into_iter().find(|k| k.as_str() == text);
        known.ok_or_else(|| IdentityError::EntityType(text.chars().take(ENTITY_ID_LEN_MAX).collect()))
    }
}

/// `{type}-{slug}` (ENT-03), such as `department-operations`.
///
/// A slug of a name in ASCII holds `a-z`, `0-9` and single hyphens inside. A letter or digit of another script is kept
/// as it is, in lower case where it has one: `Ångström Café` gives `ångström-café`, `経営 企画` gives `経営-企画`. Dropping
/// them, as a rule of ASCII alone would, left such names with no id at all, or with one that another name has too.
/// Two spellings of one letter in Unicode (composed or not) are two slugs; whoever takes names from outside normalises
/// them first.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct EntityId {
    kind: EntityType,
    slug: String,
}

impl EntityId {
    /// The id of `name`: lower case, every run of anything but letters and digits becomes one hyphen. Letters of any
    /// script are kept, so that a name written in Greek or Chinese has an id too.
    pub fn new(kind: EntityType, name: &str) -> Result<EntityId, IdentityError> {
        let mut slug = String::new();
        for c in name.chars().flat_map(char::to_lowercase) {
            if c.is_alphanumeric() {
                slug.push(c);
            } else if !slug.is_empty() && !slug.ends_with('-') {
                slug.push('-');
            }
        }
        let slug = slug.trim_end_matches('-').to_string();
        if slug.is_empty() || slug.len() > ENTITY_ID_LEN_MAX {
            return Err(IdentityError::Entity(name.chars().take(ENTITY_ID_LEN_MAX).collect()));
        }
        Ok(EntityId { kind, slug })
    }

    /// What kind of thing it names.
    pub fn kind(&self) -> EntityType {
        self.kind
    }

    /// The name without its type.
    pub fn slug(&self) -> &str {
        &self.slug
    }
}

impl fmt::Display for EntityId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.kind.as_str(), self.slug)
    }
}

impl fmt::Debug for EntityId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl FromStr for EntityId {
    type Err = IdentityError;
    fn from_str(text: &str) -> Result<EntityId, IdentityError> {
        let refused = || IdentityError::Entity(text.chars().take(ENTITY_ID_LEN_MAX).collect());
        let (kind, slug) = text.split_once('-').ok_or_else(refused)?;
        let kind = kind.parse().map_err(|_| refused())?;
        let id = EntityId::new(kind, slug)?;
        if id.slug == slug { Ok(id) } else { Err(refused()) }
    }
}

impl TryFrom<String> for EntityId {
    type Error = IdentityError;
    fn try_from(text: String) -> Result<EntityId, IdentityError> {
        text.parse()
    }
}

impl From<EntityId> for String {
    fn from(id: EntityId) -> String {
        id.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::RawBlock;
    use proptest::prelude::*;

    #[test]
    fn a_did_key_is_the_one_of_the_specification() {
        // W3C did:key method, test vector of the Ed25519 section.
        let did = "did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK";
        let key: PublicKey = did.parse().unwrap();
        assert_eq!(key.to_string(), did);
    }

    #[test]
    fn other_dids_are_refused() {
        for text in
            ["", "did:web:example.org", "did:key:z", "did:key:zQ3shokFTS3brHcDQrn82RUDfCZESWL1ZdCEJwekUDPQiYBme"]
        {
            assert!(text.parse::<PublicKey>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_signature_holds_in_its_own_role_only() {
        let key = SecretKey::from_seed([1; 32]);
        let cid = RawBlock::raw(b"x".to_vec()).cid;
        let signature = key.sign(Domain::Receipt, &cid);
        assert!(key.public().verify(Domain::Receipt, &cid, &signature).is_ok());
        assert!(key.public().verify(Domain::Certificate, &cid, &signature).is_err());
        let other = RawBlock::raw(b"y".to_vec()).cid;
        assert!(key.public().verify(Domain::Receipt, &other, &signature).is_err());
    }

    #[test]
    fn a_small_order_key_proves_nothing() {
        // The neutral element: under lax rules it verifies the all-zero-S signature over any message.
        let mut neutral = [0u8; 32];
        neutral[0] = 1;
        let mut signature = [0u8; 64];
        signature[0] = 1;
        let cid = RawBlock::raw(b"x".to_vec()).cid;
        assert_eq!(PublicKey::NOBODY.as_bytes(), &neutral);
        assert!(VerifyingKey::from_bytes(&neutral).is_ok(), "a point, as every key that is remembered");
        assert!(PublicKey::NOBODY.verify(Domain::Bundle, &cid, &Signature(signature)).is_err());
        if let Ok(key) = PublicKey::from_bytes(neutral) {
            assert!(key.verify(Domain::Bundle, &cid, &Signature(signature)).is_err());
        }
    }

    #[test]
    fn entity_ids_follow_the_slug_rule() {
        let id = EntityId::new(EntityType::System, "Auth Service").unwrap();
        assert_eq!(id.to_string(), "system-auth-service");
        assert_eq!("person-mara-lindqvist".parse::<EntityId>().unwrap().slug(), "mara-lindqvist");
        for (name, slug) in [
            ("--Auth__Service!!", "auth-service"),
            ("C++ / Rust 2024", "c-rust-2024"),
            ("Ångström Café", "ångström-café"),
            ("経営 企画", "経営-企画"),
            ("Отдел №7", "отдел-7"),
        ] {
            assert_eq!(EntityId::new(EntityType::Topic, name).unwrap().slug(), slug);
        }
        assert!(EntityId::new(EntityType::Topic, "!?").is_err(), "a name without a letter or digit has no id");
        assert_eq!("topic".parse(), Ok(EntityType::Topic));
        assert_eq!("robot".parse::<EntityType>(), Err(IdentityError::EntityType("robot".into())));
        for bad in ["person", "person-", "robot-x", "person-A", "person-a--b"] {
            assert!(bad.parse::<EntityId>().is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn every_entity_id_parses_back(name in "\\PC{1,30}") {
            if let Ok(id) = EntityId::new(EntityType::Topic, &name) {
                prop_assert_eq!(id.to_string().parse::<EntityId>().unwrap(), id);
            }
        }

        #[test]
        fn every_key_parses_back(seed in any::<[u8; 32]>()) {
            let key = SecretKey::from_seed(seed).public();
            prop_assert_eq!(key.to_string().parse::<PublicKey>().unwrap(), key);
        }
    }
}
