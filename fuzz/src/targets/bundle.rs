//! Bundle files, verified whole with no node.

use cid::Cid;
use plumb_core::content::{RawBlock, SourceRecord};
use plumb_core::exchange::{BundleError, Knowledge, SourceStatus, Verified, replay, verify};
use plumb_core::measure::Timestamp;
use plumb_core::trust::Roots;

use super::{Shape, Target};
use crate::laws;
use crate::seeds::{SEALED_AT, bundles, genuine};

pub(super) const TARGET: Target = Target {
    name: "bundle",
    run,
    seeds: || bundles().iter().map(|bundle| bundle.to_car()).collect(),
    input_bytes_max: 8 * 1024,
    shape: Shape::Bytes,
};

/// Verifies at a time, knowing nothing of any source.
pub(super) fn verified(car: &[u8], now: Timestamp) -> Result<Verified, BundleError> {
    let status = |_: &Cid, _: &SourceRecord| SourceStatus::Unknown;
    verify(car, &Knowledge { now, roots: &Roots::default(), status: &status, logged: &|_, _| None })
}

fn run(bytes: &[u8]) {
    // Replaying asks nobody for a signature, so it meets what a signature would have kept out.
    if let Err(error) = replay(bytes) {
        laws::short(&error);
    }
    let verified = match verified(bytes, SEALED_AT) {
        Ok(verified) => verified,
        Err(error) => return laws::short(&error),
    };
    assert!(genuine().bundles.contains(&verified.cid), "a bundle passed that nobody sealed");
    holds(bytes, &verified);
}

/// What an authentic bundle is, whoever sealed it.
pub(super) fn holds(car: &[u8], verified: &Verified) {
    let replayed = replay(car).expect("what is authentic replays");
    assert_eq!(replayed.cid, verified.bundle.answer, "the answer is not what the evidence gives");
    let seal = verified.blocks.get(&verified.root).expect("the seal is in the file");
    let read: plumb_core::exchange::Seal =
        RawBlock::dag_cbor(seal.clone()).decode().expect("the seal of an authentic bundle is read");
    // The seal is signed by nobody, so nothing may stand in it beside what is checked.
    let plain = RawBlock::encode(&read).expect("a seal encodes");
    assert_eq!(plain.cid, verified.root, "a field stands in the seal that nobody signed");
    let evidence = verified.bundle.evidence.iter().flat_map(|cited| [cited.chunk, cited.source]);
    for cid in evidence.chain([verified.cid, verified.root, verified.bundle.answer]) {
        laws::canonical(verified.blocks.get(&cid).expect("what is verified is in the file"));
    }
}
