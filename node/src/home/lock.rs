//! One process at a time works with a home.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};

use anyhow::Context as _;

use super::Home;

/// The right to work with a home. The system takes it back when the process ends, however it ends.
#[derive(Debug)]
pub struct HomeLock {
    _file: File,
}

impl HomeLock {
    /// Takes the lock, or says who has it.
    pub fn take(home: &Home) -> anyhow::Result<Result<HomeLock, Holder>> {
        let path = home.lock_file();
        let take = || -> std::io::Result<Result<HomeLock, Holder>> {
            let mut file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path)?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    let mut text = String::new();
                    file.read_to_string(&mut text)?;
                    return Ok(Err(Holder { pid: text.trim().parse().ok() }));
                }
                Err(TryLockError::Error(e)) => return Err(e),
            }
            file.set_len(0)?;
            file.rewind()?;
            writeln!(file, "{}", std::process::id())?;
            Ok(Ok(HomeLock { _file: file }))
        };
        take().with_context(|| format!("{} cannot be locked", path.display()))
    }

    /// Keeps the lock until this process ends. A node that has stopped may still be closing its store on threads of its
    /// own; whoever took the home before that is over would find the store in use.
    pub fn keep_until_exit(self) {
        std::mem::forget(self);
    }
}

/// Who has the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Holder {
    /// The process, if it already wrote that down.
    pub pid: Option<u32>,
}

impl std::fmt::Display for Holder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.pid {
            Some(pid) => write!(f, "process {pid}"),
            None => f.write_str("another process"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_is_told_who_the_first_is() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::at(Some(dir.path())).unwrap();
        let first = HomeLock::take(&home).unwrap().unwrap();
        let holder = HomeLock::take(&home).unwrap().unwrap_err();
        assert_eq!(holder.pid, Some(std::process::id()));
        drop(first);
        assert!(HomeLock::take(&home).unwrap().is_ok());
    }
}
