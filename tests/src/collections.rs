//! Real input: collections that are too large or not ours to keep in the repository.

use std::path::PathBuf;

use crate::workspace_root;

/// A file or folder of the collections: `$PLUMB_DATA/<path>`, by default `../shared/data/<path>` beside the workspace.
///
/// Absent data fails the test, for a check that silently did not run is worse than none. With `PLUMB_DATA_OPTIONAL=1`
/// it says that it did not run and gives `None`.
pub fn data(path: &str) -> Option<PathBuf> {
    let base = std::env::var_os("PLUMB_DATA").map_or_else(|| workspace_root().join("../shared/data"), PathBuf::from);
    let wanted = base.join(path);
    if let Ok(found) = wanted.canonicalize() {
        return Some(found);
    }
    let optional = std::env::var("PLUMB_DATA_OPTIONAL").is_ok_and(|v| v == "1");
    assert!(
        optional,
        "`{}` is missing: set PLUMB_DATA to the folder that holds `{path}`, or PLUMB_DATA_OPTIONAL=1 to go without",
        wanted.display()
    );
    eprintln!("DID NOT RUN: `{}` is missing (PLUMB_DATA_OPTIONAL=1)", wanted.display());
    None
}
