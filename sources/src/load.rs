//! From a path to bytes, without being held up or filled up.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::path::Path;

use crate::limits::Limits;
use crate::parked::{ParkReason, Parked};

/// Reads a file. The size is checked before and while reading, since a file may grow; pipes, sockets and devices are
/// refused without waiting for anything.
pub fn load(path: &Path, limits: &Limits) -> Result<Vec<u8>, Parked> {
    let before = std::fs::metadata(path).map_err(|e| unreadable(&e))?;
    if !before.is_file() {
        return Err(ParkReason::NotAFile.into());
    }
    let file = open(path).map_err(|e| unreadable(&e))?;
    // What was opened may be another thing than what was looked at.
    let metadata = file.metadata().map_err(|e| unreadable(&e))?;
    if !metadata.is_file() {
        return Err(ParkReason::NotAFile.into());
    }
    let limit = limits.source_bytes as u64;
    let too_large = |bytes: u64| Parked::new(ParkReason::TooLarge, format!("{bytes} bytes, and {limit} are allowed"));
    if metadata.len() > limit {
        return Err(too_large(metadata.len()));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or_default());
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes).map_err(|e| unreadable(&e))?;
    if bytes.len() as u64 > limit {
        return Err(too_large(bytes.len() as u64));
    }
    Ok(bytes)
}

/// Opens without waiting: opening a pipe for reading waits for a writer, and a file may become a pipe at any time.
fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NONBLOCK);
    options.open(path)
}

/// Why the system does not give it.
pub(crate) fn unreadable(error: &io::Error) -> Parked {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => ParkReason::Vanished.into(),
        _ => Parked::new(ParkReason::Unreadable, error.to_string()),
    }
}

/// What the name of a file says of its kind: its extension.
pub fn declared_of(path: &Path) -> Option<String> {
    path.extension().map(|extension| extension.to_string_lossy().to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason(path: &Path, limits: &Limits) -> ParkReason {
        load(path, limits).unwrap_err().reason
    }

    #[test]
    fn files_are_loaded_within_bounds() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.TXT");
        std::fs::write(&path, "four").unwrap();
        assert_eq!(load(&path, &Limits::default()).unwrap(), b"four");
        assert_eq!(load(&path, &Limits { source_bytes: 4, ..Limits::default() }).unwrap(), b"four");
        assert_eq!(reason(&path, &Limits { source_bytes: 3, ..Limits::default() }), ParkReason::TooLarge);
        assert_eq!(declared_of(&path).as_deref(), Some("txt"));
    }

    /// A file of a terabyte that takes no room: it is refused by its size.
    #[test]
    fn a_huge_file_is_not_read() {
        let file = tempfile::NamedTempFile::new().unwrap();
        if file.as_file().set_len(1 << 40).is_err() {
            file.as_file().set_len(1 << 32).unwrap();
        }
        assert_eq!(reason(file.path(), &Limits::default()), ParkReason::TooLarge);
    }

    #[test]
    fn what_is_not_there_or_no_file() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(reason(&dir.path().join("gone"), &Limits::default()), ParkReason::Vanished);
        assert_eq!(reason(dir.path(), &Limits::default()), ParkReason::NotAFile);
    }

    /// The system says 0 bytes of these, and gives some.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_file_that_says_nothing_of_its_size_is_bounded_while_reading() {
        let limits = Limits { source_bytes: 3, ..Limits::default() };
        assert_eq!(reason(Path::new("/proc/self/status"), &limits), ParkReason::TooLarge);
    }

    #[cfg(unix)]
    #[test]
    fn a_pipe_is_refused_without_waiting() {
        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        assert_eq!(reason(&pipe, &Limits::default()), ParkReason::NotAFile);
        // Opening alone does not wait either.
        assert!(open(&pipe).is_ok());
        assert_eq!(reason(Path::new("/dev/zero"), &Limits::default()), ParkReason::NotAFile);
    }
}
