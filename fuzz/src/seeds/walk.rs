//! What is found inside the golden frames and the bundles: blocks, envelopes, checkpoints.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use ipld_core::ipld::Ipld;
use plumb_core::log::{Cosignature, SignedCheckpoint};

use super::{SignedBytes, bundles, golden};

/// Parts of the seeds, each once.
#[derive(Default)]
pub struct Found {
    /// Blocks that say what they are.
    pub blocks: BTreeSet<Vec<u8>>,
    /// Signed values in their stored form.
    pub envelopes: BTreeSet<Vec<u8>>,
    /// Checkpoints, as signed notes.
    pub checkpoints: BTreeSet<String>,
    /// Lines of witnesses.
    pub cosignatures: BTreeSet<String>,
}

/// Parts of all seeds.
pub fn found() -> &'static Found {
    static FOUND: OnceLock<Found> = OnceLock::new();
    FOUND.get_or_init(|| {
        let mut found = Found::default();
        for (_, frame) in golden() {
            look_into(frame, &mut found);
        }
        for block in bundles().iter().flat_map(|bundle| bundle.blocks.values()) {
            look_into(block, &mut found);
        }
        found
    })
}

/// Bytes may be a block, an envelope, or a frame around them.
fn look_into(bytes: &[u8], found: &mut Found) {
    let Ok(value @ Ipld::Map(_)) = serde_ipld_dagcbor::from_slice::<Ipld>(bytes) else { return };
    if signed_bytes(bytes).is_some() {
        found.envelopes.insert(bytes.to_vec());
    }
    if let Ipld::Map(map) = &value
        && matches!(map.get("type"), Some(Ipld::String(tag)) if tag.starts_with("plumb/"))
    {
        found.blocks.insert(bytes.to_vec());
    }
    look_through(&value, found);
}

fn look_through(value: &Ipld, found: &mut Found) {
    match value {
        Ipld::Map(map) => map.values().for_each(|value| look_through(value, found)),
        Ipld::List(list) => list.iter().for_each(|value| look_through(value, found)),
        Ipld::Bytes(bytes) => look_into(bytes, found),
        Ipld::String(text) if SignedCheckpoint::parse(text).is_ok() => {
            found.checkpoints.insert(text.clone());
        }
        Ipld::String(text) => {
            if let Ok(cosignature) = Cosignature::parse(text) {
                found.cosignatures.insert(cosignature.to_string());
            }
        }
        _ => {}
    }
}

/// The parts of an envelope, if it is one.
pub(super) fn signed_bytes(envelope: &[u8]) -> Option<SignedBytes> {
    let Ok(Ipld::Map(mut map)) = serde_ipld_dagcbor::from_slice::<Ipld>(envelope) else { return None };
    match (map.remove("block"), map.remove("signer"), map.remove("signature")) {
        (Some(Ipld::Bytes(block)), Some(Ipld::String(signer)), Some(Ipld::Bytes(signature))) => {
            Some((block, signer, signature))
        }
        _ => None,
    }
}
