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
    if !signed_bytes(bytes).is_empty() {
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

/// What is signed in an envelope, once for each signature; nothing if it is no envelope. A rotation has two signers, whose
/// keys stand in its block, so the field stands for the signer.
pub(crate) fn signed_bytes(envelope: &[u8]) -> Vec<SignedBytes> {
    let Ok(Ipld::Map(mut map)) = serde_ipld_dagcbor::from_slice::<Ipld>(envelope) else { return Vec::new() };
    let Some(Ipld::Bytes(block)) = map.remove("block") else { return Vec::new() };
    match (map.remove("signer"), map.remove("signature"), map.remove("by_old"), map.remove("by_new")) {
        (Some(Ipld::String(signer)), Some(Ipld::Bytes(signature)), None, None) => vec![(block, signer, signature)],
        (None, None, Some(Ipld::Bytes(by_old)), Some(Ipld::Bytes(by_new))) => {
            vec![(block.clone(), "by_old".to_string(), by_old), (block, "by_new".to_string(), by_new)]
        }
        _ => Vec::new(),
    }
}
