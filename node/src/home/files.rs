//! Writing files so that a crash leaves the old one or the new one, and so that secrets are never readable by others,
//! not even for a moment.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use anyhow::{Context as _, anyhow};

/// Makes a folder, with its parents, that only its owner enters.
pub fn make_private_dir(dir: &Path) -> anyhow::Result<()> {
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(dir)
        .with_context(|| format!("{} cannot be made", dir.display()))
}

/// Writes a file that only its owner reads. It must not be there yet: a key is never written over.
pub fn write_private(file: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    write_with(file, bytes, 0o600)
}

/// Writes a file that must not be there yet.
pub fn write_new(file: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    write_with(file, bytes, 0o644)
}

fn write_with(file: &Path, bytes: &[u8], mode: u32) -> anyhow::Result<()> {
    let write = || -> std::io::Result<()> {
        let mut open = OpenOptions::new().write(true).create_new(true).mode(mode).open(file)?;
        open.write_all(bytes)?;
        open.sync_all()
    };
    write().map_err(|e| match e.kind() {
        std::io::ErrorKind::AlreadyExists => {
            anyhow!("{} is there already and is not written over", file.display())
        }
        _ => anyhow::Error::from(e).context(format!("{} cannot be written", file.display())),
    })
}

/// Writes a file or replaces it: whoever reads it sees the old bytes or the new ones, never a part.
pub fn write_atomically(file: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    // What is written so is not secret; the umask may still narrow it.
    replace_with(file, bytes, 0o644)
}

/// The same for a file that only its owner reads.
pub fn replace_private(file: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    replace_with(file, bytes, 0o600)
}

fn replace_with(file: &Path, bytes: &[u8], mode: u32) -> anyhow::Result<()> {
    let write = || -> std::io::Result<()> {
        let dir = match file.parent() {
            Some(dir) if !dir.as_os_str().is_empty() => dir,
            _ => Path::new("."),
        };
        let mut temporary = tempfile::Builder::new().permissions(Permissions::from_mode(mode)).tempfile_in(dir)?;
        temporary.write_all(bytes)?;
        temporary.as_file().sync_all()?;
        temporary.persist(file).map_err(|e| e.error)?;
        File::open(dir)?.sync_all()
    };
    write().with_context(|| format!("{} cannot be written", file.display()))
}
