//! Cosignatures of witnesses: single lines that others wrote.

use plumb_core::identity::SecretKey;
use plumb_core::log::{Cosignature, SignedCheckpoint};

use super::{Shape, Target};
use crate::laws;
use crate::seeds::found;

pub(super) const TARGET: Target = Target {
    name: "cosignature",
    run,
    seeds: || found().cosignatures.iter().map(|line| line.clone().into_bytes()).collect(),
    input_bytes_max: 512,
    shape: Shape::Bytes,
};

fn run(bytes: &[u8]) {
    let Ok(line) = std::str::from_utf8(bytes) else { return };
    let cosignature = match Cosignature::parse(line) {
        Ok(cosignature) => cosignature,
        Err(error) => return laws::short(&error),
    };
    let written = cosignature.to_string();
    assert_eq!(written.trim_end_matches('\n'), line.strip_suffix('\n').unwrap_or(line), "one line has two texts");
    for note in &found().checkpoints {
        let Ok(checkpoint) = SignedCheckpoint::parse(note) else { continue };
        for seed in 1..=6 {
            match cosignature.verify(&checkpoint, &SecretKey::from_seed([seed; 32]).public()) {
                Ok(()) => assert!(found().cosignatures.contains(&written), "a witness cosigned what it never saw"),
                Err(error) => laws::short(&error),
            }
        }
    }
}
