//! The targets without the engine: seeds, inputs that once failed, and mutated seeds.

use plumb_fuzz::mutate::{Draw, value};
use plumb_fuzz::targets::{Shape, refuses_what_is_too_large};
use plumb_fuzz::{TARGETS, Target, regressions, regressions_dir};
use proptest::prelude::*;

fn run_on(target: &Target, name: &str, bytes: &[u8]) {
    let outcome = std::panic::catch_unwind(|| (target.run)(bytes));
    assert!(outcome.is_ok(), "{} fails on {name}; the panic above says why", target.name);
}

#[test]
fn every_target_holds_on_its_seeds() {
    for target in TARGETS {
        let seeds = (target.seeds)();
        assert!(!seeds.is_empty(), "{} has no seeds", target.name);
        for (i, bytes) in seeds.iter().enumerate() {
            assert!(bytes.len() <= target.input_bytes_max, "seed {i} of {} is cut by the engine", target.name);
            run_on(target, &format!("seed {i}"), bytes);
        }
    }
}

#[test]
fn what_once_failed_holds() {
    for target in TARGETS {
        for (name, bytes) in regressions(target.name) {
            run_on(target, &name, &bytes);
        }
    }
}

#[test]
fn every_regression_has_a_target() {
    let folder = regressions_dir("");
    for entry in std::fs::read_dir(&folder).into_iter().flatten().filter_map(Result::ok) {
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_known = !entry.path().is_dir() || TARGETS.iter().any(|target| target.name == name);
        assert!(is_known, "{} names no target", entry.path().display());
    }
}

#[test]
fn every_frame_has_its_limit() {
    refuses_what_is_too_large();
}

#[test]
fn names_are_told_apart() {
    let mut names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), TARGETS.len());
}

/// A seed with one byte changed, cut off, or changed as a value.
fn mutated(target: &Target, draw: u64) -> Vec<u8> {
    let mut draw = Draw(draw);
    let seeds = (target.seeds)();
    let mut bytes = seeds[draw.below(seeds.len())].clone();
    let at = draw.below(bytes.len());
    match draw.below(4) {
        0 => bytes.truncate(at),
        1 if target.shape == Shape::DagCbor => bytes = value(&bytes, &mut draw).unwrap_or(bytes),
        _ => {
            if let Some(byte) = bytes.get_mut(at) {
                *byte = draw.below(256) as u8;
            }
        }
    }
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Total, and within its laws: whatever a changed seed is to its target.
    #[test]
    fn every_target_holds_on_changed_seeds(draw in any::<u64>()) {
        for target in TARGETS {
            let bytes = mutated(target, draw);
            let outcome = std::panic::catch_unwind(|| (target.run)(&bytes));
            prop_assert!(outcome.is_ok(), "{} fails on {:02x?}", target.name, bytes);
        }
    }

    #[test]
    fn every_target_holds_on_random_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        for target in TARGETS {
            let outcome = std::panic::catch_unwind(|| (target.run)(&bytes));
            prop_assert!(outcome.is_ok(), "{} fails on {:02x?}", target.name, bytes);
        }
    }
}
