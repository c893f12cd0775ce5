//! Peer names: a libp2p peer id and a node id are two spellings of one Ed25519 key.
//!
//! An Ed25519 peer id *contains* its key: it is the identity multihash of the key's protobuf, so both directions are
//! pure functions and no table has to be kept. Peers with keys of other kinds have no node id and get no connection.
//!
//! ```text
//! 00 24 | 08 01 12 20 | 32 bytes
//! |  |    |     |
//! |  |    |     key, 32 bytes
//! |  |    type = Ed25519
//! |  36 bytes
//! identity multihash
//! ```

use libp2p::PeerId;
use libp2p::identity::Keypair;
use plumb_core::identity::{NodeId, SecretKey};

/// What stands before the key in the bytes of an Ed25519 peer id.
const ED25519_PEER_PREFIX: [u8; 6] = [0x00, 0x24, 0x08, 0x01, 0x12, 0x20];

/// A peer id that names no node.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("peer {0} is not named by an Ed25519 key")]
pub struct ForeignKey(pub String);

/// The node that a peer id names.
pub fn node_of_peer(peer: &PeerId) -> Result<NodeId, ForeignKey> {
    let foreign = || ForeignKey(peer.to_base58());
    let bytes = peer.to_bytes();
    let key = bytes.strip_prefix(&ED25519_PEER_PREFIX).ok_or_else(foreign)?;
    let key: [u8; 32] = key.try_into().map_err(|_| foreign())?;
    NodeId::from_bytes(key).map_err(|_| foreign())
}

/// The peer id of a node.
pub fn peer_of_node(node: &NodeId) -> Result<PeerId, ForeignKey> {
    let mut bytes = ED25519_PEER_PREFIX.to_vec();
    bytes.extend_from_slice(node.as_bytes());
    PeerId::from_bytes(&bytes).map_err(|_| ForeignKey(node.to_string()))
}

/// The node's key in libp2p's hands: the handshake proves the same key that signs bundles and notices.
pub(super) fn keypair(secret: &SecretKey) -> Result<Keypair, libp2p::identity::DecodingError> {
    Keypair::ed25519_from_bytes(secret.seed())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn other_keys_are_foreign() {
        // A SHA-256 peer id, as RSA keys have it, and an identity multihash of something else.
        let rsa: PeerId = "QmYyQSo1c1Ym7orWxLYvCrM2EmxFTANf8wXmmE7DWjhx5N".parse().unwrap();
        assert!(node_of_peer(&rsa).is_err());
    }

    proptest! {
        #[test]
        fn both_directions_agree_with_libp2p(seed in any::<[u8; 32]>()) {
            let secret = SecretKey::from_seed(seed);
            let theirs = keypair(&secret).unwrap().public().to_peer_id();
            prop_assert_eq!(peer_of_node(&secret.public()).unwrap(), theirs);
            prop_assert_eq!(node_of_peer(&theirs).unwrap(), secret.public());
        }
    }
}
