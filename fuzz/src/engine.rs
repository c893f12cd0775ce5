//! The engine: libFuzzer, on the target that `PLUMB_FUZZ_TARGET` names. `fuzz/run` builds and starts it.
//!
//! | variable | does |
//! | --- | --- |
//! | `PLUMB_FUZZ_TARGET` | the target |
//! | `PLUMB_FUZZ_SEEDS` | writes the target's seeds and regressions into this folder and goes on |
//! | `PLUMB_FUZZ_LIST` | prints each target with the length of its longest input, and ends |

#![no_main]

use std::path::Path;
use std::sync::OnceLock;

use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};
use plumb_fuzz::mutate::{Draw, value};
use plumb_fuzz::targets::Shape;
use plumb_fuzz::{TARGETS, Target, panics, regressions, target};

static CHOSEN: OnceLock<&'static Target> = OnceLock::new();

fn chosen() -> &'static Target {
    CHOSEN.get_or_init(|| {
        let name = std::env::var("PLUMB_FUZZ_TARGET").unwrap_or_default();
        target(&name).unwrap_or_else(|| panic!("PLUMB_FUZZ_TARGET={name} names no target; see `fuzz/run --list`"))
    })
}

fn start() {
    if std::env::var_os("PLUMB_FUZZ_LIST").is_some() {
        for target in TARGETS {
            println!("{} {}", target.name, target.input_bytes_max);
        }
        std::process::exit(0);
    }
    if let Some(folder) = std::env::var_os("PLUMB_FUZZ_SEEDS") {
        write_seeds(Path::new(&folder));
    }
    // After libFuzzer's own hook, which ends the process: a panic on a parser's thread goes to the target instead.
    panics::watch();
}

fn write_seeds(folder: &Path) {
    let own = (chosen().seeds)().into_iter().enumerate().map(|(i, bytes)| (format!("seed-{i}"), bytes));
    for (name, bytes) in own.chain(regressions(chosen().name)) {
        std::fs::write(folder.join(name), bytes).expect("the folder of seeds can be written");
    }
}

fuzz_target!(init: start(), |bytes: &[u8]| (chosen().run)(bytes));

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    let mut draw = Draw(u64::from(seed));
    // Half of the changes of a value are changes of its bytes: what is nearly a value must be refused as well.
    if chosen().shape == Shape::DagCbor
        && draw.below(2) == 0
        && let Some(changed) = value(&data[..size], &mut draw).filter(|changed| changed.len() <= max_size)
    {
        data[..changed.len()].copy_from_slice(&changed);
        return changed.len();
    }
    fuzzer_mutate(data, size, max_size)
});
