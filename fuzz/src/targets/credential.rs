//! Bundles as Verifiable Credentials in JSON.

use plumb_core::exchange::{replay, to_json};
use serde_json::Value;

use super::bundle::{holds, verified};
use super::{Shape, Target};
use crate::laws;
use crate::seeds::{SEALED_AT, bundles, node};

pub(super) const TARGET: Target =
    Target { name: "bundle_json", run, seeds, input_bytes_max: 24 * 1024, shape: Shape::Bytes };

fn seeds() -> Vec<Vec<u8>> {
    let written = bundles().iter().filter_map(|bundle| {
        let verified = verified(&bundle.to_car(), SEALED_AT).ok()?;
        to_json(&verified, None, &node(), SEALED_AT).ok()
    });
    written.filter(|json| json.len() <= TARGET.input_bytes_max).collect()
}

fn run(bytes: &[u8]) {
    if let Err(error) = replay(bytes) {
        laws::short(&error);
    }
    match verified(bytes, SEALED_AT) {
        Ok(verified) => {
            // Spacing and the order of names are free; every name and value is covered by the proof or by the blocks.
            let read: Option<Value> = serde_json::from_slice(bytes).ok();
            let is_known = read.is_some_and(|read| values().contains(&read));
            assert!(is_known || is_car(bytes), "a credential passed that nobody wrote");
            holds(bytes, &verified);
        }
        Err(error) => laws::short(&error),
    }
}

/// A CAR file may come in here as well; it has a target of its own.
fn is_car(bytes: &[u8]) -> bool {
    bundles().iter().any(|bundle| bundle.to_car() == bytes)
}

fn values() -> &'static [Value] {
    static VALUES: std::sync::OnceLock<Vec<Value>> = std::sync::OnceLock::new();
    VALUES.get_or_init(|| seeds().iter().filter_map(|json| serde_json::from_slice(json).ok()).collect())
}
