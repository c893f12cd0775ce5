//! Inputs that once failed.

use std::path::PathBuf;

/// Where they are kept: a folder per target.
pub fn regressions_dir(target: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("regressions").join(target)
}

/// Those of a target, by the name of their file, in order. A target that never failed has none.
pub fn regressions(target: &str) -> Vec<(String, Vec<u8>)> {
    let Ok(entries) = std::fs::read_dir(regressions_dir(target)) else { return Vec::new() };
    let mut found: Vec<(String, Vec<u8>)> = entries
        .filter_map(Result::ok)
        .map(|entry| {
            let bytes = std::fs::read(entry.path()).expect("a regression can be read");
            (entry.file_name().to_string_lossy().into_owned(), bytes)
        })
        .collect();
    found.sort();
    found
}
