//! A wheel, or another zip file. Everything in it was written by somebody else.

use std::cell::Cell;
use std::fs::File;
use std::io::{Error, ErrorKind, Read, Result as IoResult, Seek, SeekFrom};
use std::path::Path;

use zip::ZipArchive;
use zip::result::ZipError;

use super::{AddError, Added, Search, is_candidate};

/// Largest archive. The largest known wheel has 84 MB.
const ARCHIVE_BYTES_MAX: u64 = 256 << 20;
/// Bytes that are read to learn what is in an archive: enough for some 40,000 entries, more than [`ENTRIES_MAX`].
const DIRECTORY_BYTES_MAX: u64 = 4 << 20;
/// Most entries.
const ENTRIES_MAX: u64 = 10_000;
/// Longest name of an entry.
const NAME_BYTES_MAX: usize = 512;

/// Looks for a known model in an archive, in the archive's order.
pub(super) fn look(path: &Path, search: &mut Search) -> Result<Option<Added>, AddError> {
    let unreadable = |source| AddError::Read { path: path.to_path_buf(), source };
    let file = File::open(path).map_err(unreadable)?;
    let size = file.metadata().map_err(unreadable)?.len();
    if ARCHIVE_BYTES_MAX < size {
        return Err(AddError::TooMuch { what: "the archive", limit: ARCHIVE_BYTES_MAX, unit: "bytes" });
    }
    // The directory is read into memory before anything can be asked of it, so reading it is what is bounded; what is
    // read of the contents is bounded by the search.
    let left = Cell::new(DIRECTORY_BYTES_MAX);
    let mut archive = ZipArchive::new(Bounded { inner: &file, left: &left }).map_err(refused)?;
    left.set(u64::MAX);
    if ENTRIES_MAX < archive.len() as u64 {
        return Err(AddError::TooMuch { what: "the archive", limit: ENTRIES_MAX, unit: "files" });
    }
    if let Some(name) = archive.file_names().find(|name| !is_honest(name)) {
        return Err(AddError::Name(name.chars().take(80).collect::<String>().escape_debug().to_string()));
    }
    for i in 0..archive.len() {
        let entry = archive.by_index(i).map_err(refused)?;
        if !entry.is_file() || !is_candidate(entry.name(), entry.size()) {
            continue;
        }
        let (name, bytes) = (entry.name().to_string(), entry.size());
        if let Some(added) = search.candidate(&name, bytes, entry)? {
            return Ok(Some(added));
        }
    }
    Ok(None)
}

fn refused(error: ZipError) -> AddError {
    AddError::Archive(error.to_string())
}

/// Whether a name stays below where it is unpacked, on every system. Nothing is unpacked by name here; an archive that
/// tries is not one to take a model from.
fn is_honest(name: &str) -> bool {
    let drive = name.as_bytes().get(1) == Some(&b':');
    let strange = name.len() > NAME_BYTES_MAX || name.contains(['\\', '\0']) || name.starts_with('/') || drive;
    !strange && name.split('/').all(|part| part != "..")
}

/// A file of which only so many bytes are read, wherever they lie.
struct Bounded<'a> {
    inner: &'a File,
    left: &'a Cell<u64>,
}

impl Read for Bounded<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> IoResult<usize> {
        let left = self.left.get();
        if left == 0 && !buffer.is_empty() {
            return Err(Error::new(ErrorKind::InvalidData, "its list of contents is too long"));
        }
        let most = usize::try_from(left).unwrap_or(usize::MAX).min(buffer.len());
        let n_read = self.inner.read(&mut buffer[..most])?;
        self.left.set(left - n_read as u64);
        Ok(n_read)
    }
}

impl Seek for Bounded<'_> {
    fn seek(&mut self, to: SeekFrom) -> IoResult<u64> {
        self.inner.seek(to)
    }
}

#[cfg(test)]
mod tests {
    use super::is_honest;

    #[test]
    fn names_that_lead_out_are_not_honest() {
        for name in ["model.onnx", "a/b..c/model.onnx", "a/./b", "..a/b"] {
            assert!(is_honest(name), "{name}");
        }
        for name in ["../x", "a/../../x", "/etc/x", "C:x", "a\\..\\x", "a\0b", "a/..", &"x".repeat(513)] {
            assert!(!is_honest(name), "{name}");
        }
    }
}
