//! From paths to files: every regular file below them, in the order of names.

use std::collections::VecDeque;
use std::fs::{self, FileType};
use std::path::{Path, PathBuf};

use crate::address::file_address;
use crate::load::unreadable;
use crate::parked::{ParkReason, Parked};

/// Directories inside each other. Beyond this it is a trap or a mistake.
const DEPTH_MAX: usize = 128;

/// A file, or what stands in its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Its address.
    pub address: String,
    /// Its path.
    pub path: PathBuf,
    /// Why it is not read, if it is not.
    pub parked: Option<Parked>,
}

/// Lists every file below `paths`, directories in the order of their names. Hidden entries of directories (`.git`)
/// are left out, as they are in every listing; a path that is named is taken, hidden or not.
///
/// A link is followed if it was named, or if it leads to a file below the directory that was named. Links to
/// directories and links out are reported as parked: what is read is what was named. So is whatever is no regular
/// file, or cannot be listed. Nothing is opened.
pub fn walk<P: AsRef<Path>>(paths: impl IntoIterator<Item = P>) -> Walk {
    let named = paths.into_iter().map(|path| Entry { path: path.as_ref().to_path_buf(), depth: 0, root: None });
    Walk { pending: named.collect() }
}

/// The files of a [`walk`], found as they are asked for.
#[derive(Debug)]
pub struct Walk {
    pending: VecDeque<Entry>,
}

#[derive(Debug)]
struct Entry {
    path: PathBuf,
    depth: usize,
    /// The directory that was named and that this is below, without links in its path.
    root: Option<PathBuf>,
}

/// What becomes of an entry.
enum Step {
    File,
    Directory(Vec<Entry>),
    Parked(Parked),
}

impl Iterator for Walk {
    type Item = Found;

    fn next(&mut self) -> Option<Found> {
        loop {
            let entry = self.pending.pop_front()?;
            let parked = match look(&entry) {
                Step::Directory(entries) => {
                    for entry in entries.into_iter().rev() {
                        self.pending.push_front(entry);
                    }
                    continue;
                }
                Step::File => None,
                Step::Parked(parked) => Some(parked),
            };
            return Some(Found { address: file_address(&entry.path), path: entry.path, parked });
        }
    }
}

fn look(entry: &Entry) -> Step {
    let result = match &entry.root {
        // What was named is taken for what it leads to.
        None => fs::metadata(&entry.path).map(|metadata| metadata.file_type()),
        Some(_) => fs::symlink_metadata(&entry.path).map(|metadata| metadata.file_type()),
    };
    match result {
        Err(error) => Step::Parked(unreadable(&error)),
        Ok(kind) if kind.is_symlink() => look_through(entry),
        Ok(kind) if kind.is_dir() => list(entry),
        Ok(kind) => file(kind),
    }
}

fn file(kind: FileType) -> Step {
    if kind.is_file() { Step::File } else { Step::Parked(Parked::new(ParkReason::NotAFile, special(kind))) }
}

#[cfg(unix)]
fn special(kind: FileType) -> &'static str {
    use std::os::unix::fs::FileTypeExt;
    match kind {
        _ if kind.is_fifo() => "a pipe",
        _ if kind.is_socket() => "a socket",
        _ => "a device",
    }
}

#[cfg(not(unix))]
fn special(_: FileType) -> &'static str {
    ""
}

/// A link below a directory that was named.
fn look_through(entry: &Entry) -> Step {
    let resolved = fs::canonicalize(&entry.path).and_then(|target| Ok((fs::metadata(&target)?, target)));
    let (metadata, target) = match resolved {
        Ok(resolved) => resolved,
        // The system finds a link that leads to itself before we do.
        Err(error) if is_loop(&error) => return Step::Parked(Parked::new(ParkReason::LinkLoop, "the link itself")),
        Err(error) => return Step::Parked(unreadable(&error)),
    };
    let inside = entry.root.as_ref().is_some_and(|root| target.starts_with(root));
    if metadata.is_dir() {
        let own = fs::canonicalize(entry.path.parent().unwrap_or(&entry.path)).unwrap_or_default();
        let reason = if own.starts_with(&target) { ParkReason::LinkLoop } else { ParkReason::LinkNotFollowed };
        return Step::Parked(Parked::new(reason, format!("to the directory {}", target.display())));
    }
    if !inside {
        return Step::Parked(Parked::new(ParkReason::LinkNotFollowed, format!("out, to {}", target.display())));
    }
    file(metadata.file_type())
}

#[cfg(unix)]
fn is_loop(error: &std::io::Error) -> bool {
    error.raw_os_error() == Some(libc::ELOOP)
}

#[cfg(not(unix))]
fn is_loop(_: &std::io::Error) -> bool {
    false
}

fn list(entry: &Entry) -> Step {
    if entry.depth >= DEPTH_MAX {
        return Step::Parked(Parked::new(ParkReason::TooDeep, format!("{DEPTH_MAX} directories inside each other")));
    }
    let listing = fs::read_dir(&entry.path).and_then(|entries| {
        let names: Result<Vec<_>, _> = entries.map(|entry| entry.map(|entry| entry.file_name())).collect();
        let root = entry.root.clone().map_or_else(|| fs::canonicalize(&entry.path), Ok)?;
        Ok((names?, root))
    });
    let (mut names, root) = match listing {
        Ok(listing) => listing,
        Err(error) => return Step::Parked(unreadable(&error)),
    };
    names.retain(|name| !name.as_encoded_bytes().starts_with(b"."));
    names.sort();
    let below = |name| Entry { path: entry.path.join(name), depth: entry.depth + 1, root: Some(root.clone()) };
    Step::Directory(names.into_iter().map(below).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Paths relative to the directory, with what became of them.
    fn seen(dir: &Path, paths: &[&str]) -> Vec<(String, &'static str)> {
        walk(paths.iter().map(|path| dir.join(path)))
            .map(|found| {
                assert_eq!(found.address, file_address(&found.path));
                let path = found.path.strip_prefix(dir).unwrap().to_string_lossy().into_owned();
                (path, found.parked.map_or("file", |parked| parked.reason.code()))
            })
            .collect()
    }

    fn file(dir: &Path, name: &str) {
        let path = dir.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, name).unwrap();
    }

    fn is(expected: &[(&str, &'static str)]) -> Vec<(String, &'static str)> {
        expected.iter().map(|(path, what)| (path.to_string(), *what)).collect()
    }

    #[test]
    fn files_come_in_the_order_of_names() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["b.md", "a/z.txt", "a/b/c.txt", "a.txt", ".git/config", "a/.hidden", "ü"] {
            file(dir.path(), name);
        }
        let files =
            is(&[("a/b/c.txt", "file"), ("a/z.txt", "file"), ("a.txt", "file"), ("b.md", "file"), ("ü", "file")]);
        assert_eq!(seen(dir.path(), &[""]), files);
        assert_eq!(
            seen(dir.path(), &["b.md", ".git", "gone"]),
            is(&[("b.md", "file"), (".git/config", "file"), ("gone", "vanished")])
        );
        assert_eq!(seen(dir.path(), &[]), []);
    }

    #[test]
    fn a_directory_too_deep_is_parked() {
        let dir = tempfile::tempdir().unwrap();
        file(dir.path(), &format!("{}x.txt", "d/".repeat(DEPTH_MAX)));
        file(dir.path(), "e.txt");
        let seen = seen(dir.path(), &[""]);
        assert_eq!((seen.len(), seen[0].1, seen[1].1), (2, "too_deep", "file"));
    }

    #[cfg(unix)]
    #[test]
    fn links_lead_neither_out_nor_round() {
        use std::os::unix::fs::symlink;
        let (dir, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        file(other.path(), "secret.txt");
        file(dir.path(), "a/one.txt");
        let link = |target: &Path, name: &str| symlink(target, dir.path().join(name)).unwrap();
        link(dir.path(), "a/up");
        link(Path::new("self"), "self");
        link(&dir.path().join("a"), "b");
        link(other.path(), "out");
        link(&other.path().join("secret.txt"), "out.txt");
        link(Path::new("a/one.txt"), "in.txt");
        link(Path::new("gone.txt"), "dangling");
        assert_eq!(
            seen(dir.path(), &[""]),
            is(&[
                ("a/one.txt", "file"),
                ("a/up", "link_loop"),
                ("b", "link_not_followed"),
                ("dangling", "vanished"),
                ("in.txt", "file"),
                ("out", "link_not_followed"),
                ("out.txt", "link_not_followed"),
                ("self", "link_loop"),
            ])
        );
        // A link that is named is followed.
        assert_eq!(seen(dir.path(), &["out", "out.txt"]), is(&[("out/secret.txt", "file"), ("out.txt", "file")]));
    }

    #[cfg(unix)]
    #[test]
    fn pipes_and_sockets_are_parked_unopened() {
        let dir = tempfile::tempdir().unwrap();
        assert!(std::process::Command::new("mkfifo").arg(dir.path().join("pipe")).status().unwrap().success());
        let _socket = std::os::unix::net::UnixListener::bind(dir.path().join("socket")).unwrap();
        assert_eq!(seen(dir.path(), &[""]), is(&[("pipe", "not_a_file"), ("socket", "not_a_file")]));
        assert_eq!(seen(dir.path(), &["pipe"]), is(&[("pipe", "not_a_file")]));
        assert_eq!(walk(["/dev/null"]).next().unwrap().parked.unwrap().detail, "a device");
    }

    #[cfg(unix)]
    #[test]
    fn a_directory_that_may_not_be_listed_is_parked() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        file(dir.path(), "a/x.txt");
        let locked = dir.path().join("a");
        fs::set_permissions(&locked, fs::Permissions::from_mode(0o000)).unwrap();
        let listable = fs::read_dir(&locked).is_ok();
        let seen = seen(dir.path(), &[""]);
        fs::set_permissions(&locked, fs::Permissions::from_mode(0o755)).unwrap();
        // The superuser may list anything.
        assert_eq!(seen, if listable { is(&[("a/x.txt", "file")]) } else { is(&[("a", "unreadable")]) });
    }
}
