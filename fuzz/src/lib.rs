//! Fuzz targets for every decoder of foreign bytes.
//!
//! A [`Target`] is a function that takes any bytes and must come back. Most assert more than that: what is accepted is
//! canonical, comes out again as it went in, keeps its limits, and nothing counts as signed that nobody signed
//! ([`laws`]). The same functions run in two ways:
//!
//! - `fuzz/run TARGET|all --seconds N` drives them with libFuzzer, which watches which branches an input reaches. The
//!   engine is the binary of this crate, behind the feature `engine`; it needs a C++ compiler and the stable toolchain.
//! - `cargo test -p plumb-fuzz` feeds them the seeds, each input that ever failed (`fuzz/regressions/TARGET/`), and
//!   mutated seeds.
//!
//! Seeds are the golden bytes of `fixtures/wire`, what is found inside them, bundles that are sealed here, and the
//! documents of `fixtures/story`. `docs/fuzzing.md` has the figures of the long runs.
//!
//! **Invariant:** a target is a pure function of its input. It reads no clock, no file and no network, so an input that
//! failed once fails again.

pub mod laws;
pub mod mutate;
pub mod panics;
pub mod seeds;
pub mod targets;

mod regressions;

pub use regressions::{regressions, regressions_dir};
pub use targets::{TARGETS, Target, target};
