//! A folder, or a file by itself.

use std::fs::{File, metadata, read_dir};
use std::path::{Path, PathBuf};

use super::{AddError, Added, Search, is_candidate};

/// How deep a folder is looked into. A wheel that was unpacked has its model two below the top.
const DEPTH_MAX: usize = 6;
/// Names that are looked at.
const NAMES_MAX: u64 = 10_000;

/// Looks for a known model in a folder, in the order of names. Links to folders are not followed, so that there are no circles.
pub(super) fn look(top: &Path, search: &mut Search) -> Result<Option<Added>, AddError> {
    let mut n_names = 0;
    let mut folders: Vec<(PathBuf, usize)> = vec![(top.to_path_buf(), 0)];
    while let Some((folder, depth)) = folders.pop() {
        let unreadable = |source| AddError::Read { path: folder.clone(), source };
        let mut entries = Vec::new();
        for entry in read_dir(&folder).map_err(unreadable)? {
            n_names += 1;
            if NAMES_MAX < n_names {
                return Err(AddError::TooMuch { what: "the folder", limit: NAMES_MAX, unit: "files" });
            }
            let entry = entry.map_err(unreadable)?;
            entries.push((entry.path(), entry.file_type().map_err(unreadable)?));
        }
        entries.sort_by(|a, b| a.0.cmp(&b.0));
        for (path, kind) in entries {
            if kind.is_dir() {
                if depth < DEPTH_MAX {
                    folders.push((path, depth + 1));
                }
            } else if let Some(added) = candidate(&path, search)? {
                return Ok(Some(added));
            }
        }
    }
    Ok(None)
}

/// Looks at a file that somebody named, whatever its own name is.
pub(super) fn look_at(path: &Path, search: &mut Search) -> Result<Option<Added>, AddError> {
    let unreadable = |source| AddError::Read { path: path.to_path_buf(), source };
    let file = File::open(path).map_err(unreadable)?;
    let bytes = file.metadata().map_err(unreadable)?.len();
    search.candidate(&path.to_string_lossy(), bytes, file)
}

fn candidate(path: &Path, search: &mut Search) -> Result<Option<Added>, AddError> {
    // A link may lead nowhere, and a pipe would never end: only files are read.
    let Ok(about) = metadata(path) else { return Ok(None) };
    if about.is_file() && is_candidate(&path.to_string_lossy(), about.len()) {
        return look_at(path, search);
    }
    Ok(None)
}
