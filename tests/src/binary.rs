//! The `plumb` binary under test.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::SystemTime;

/// The root of the workspace.
pub fn workspace_root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crate lies below the workspace")
}

/// The binary: `PLUMB_BIN` if set, else the one beside this test's own target directory. Cargo tells a test only of
/// binaries of its own package, so this one is looked up, and built if it is missing or older than its sources.
pub fn plumb_binary() -> &'static Path {
    static FOUND: OnceLock<PathBuf> = OnceLock::new();
    FOUND.get_or_init(|| match std::env::var_os("PLUMB_BIN") {
        Some(given) => PathBuf::from(given),
        None => built(),
    })
}

fn built() -> PathBuf {
    // target/<profile>/deps/<test>-<hash>
    let test = std::env::current_exe().expect("a test knows its own file");
    let profile = test.ancestors().nth(2).expect("tests lie in target/<profile>/deps");
    let binary = profile.join(format!("plumb{}", std::env::consts::EXE_SUFFIX));
    if is_fresh(&binary) {
        return binary;
    }
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["build", "--quiet", "--package", "plumb", "--bin", "plumb"]).current_dir(workspace_root());
    cargo.arg("--target-dir").arg(profile.parent().expect("a profile lies in the target directory"));
    if profile.ends_with("release") {
        cargo.arg("--release");
    }
    let status = cargo.status().expect("cargo can be run; or set PLUMB_BIN to a built `plumb`");
    assert!(status.success(), "`plumb` does not build");
    binary
}

/// Whether the binary is there and not older than any file that cargo says it was made from.
fn is_fresh(binary: &Path) -> bool {
    let modified = |path: &Path| path.metadata().and_then(|m| m.modified()).ok();
    let Some(made) = modified(binary) else { return false };
    let Ok(dependencies) = std::fs::read_to_string(binary.with_extension("d")) else { return false };
    let sources = dependencies.split_once(": ").map_or("", |(_, sources)| sources);
    sources.split_whitespace().all(|source| modified(Path::new(source)).unwrap_or(SystemTime::UNIX_EPOCH) <= made)
}
