//! The home of a node: one folder with its configuration, keys, certificate, store and index.
//!
//! ```text
//! plumb.toml              configuration
//! keys/node.key           the node's seed, hex, 0600
//! keys/organisation.key   the organisation's root, only where it was founded with the home
//! keys/certificate        what the organisation says of this node
//! store/ index/           what is kept
//! plumb.lock plumb.sock   who works with the home, and how to reach the node that runs
//! ```

mod files;
mod keys;
mod lock;
mod membership;
mod root;
mod sealed;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow, bail};
use plumb_core::identity::{SecretKey, Signed};
use plumb_core::trust::Certificate;

pub use files::{write_atomically, write_new, write_private};
pub use keys::{generate_key, read_key, write_key};
pub use lock::HomeLock;
pub use membership::{CertificateRequest, check_name, check_own, read_certificate, read_request};
pub use root::Root;

/// Longest path of a unix socket that every platform takes: `sun_path` has 104 bytes on some, and ends with a zero.
const SOCKET_PATH_BYTES_MAX: usize = 103;

/// Where a node lives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Home {
    root: PathBuf,
}

impl Home {
    /// The home that is named, or the platform's place for it.
    pub fn at(named: Option<&Path>) -> anyhow::Result<Home> {
        let root = match named {
            Some(path) => {
                std::path::absolute(path).with_context(|| format!("{} is not a usable path", path.display()))?
            }
            None => directories::ProjectDirs::from("", "", "plumbline")
                .ok_or_else(|| anyhow!("this user has no home directory; name a place with --home"))?
                .data_dir()
                .to_path_buf(),
        };
        Ok(Home { root })
    }

    /// The folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// `plumb.toml`
    pub fn config_file(&self) -> PathBuf {
        self.root.join("plumb.toml")
    }

    /// The folder of keys.
    pub fn keys(&self) -> PathBuf {
        self.root.join("keys")
    }

    /// The node's key.
    pub fn node_key_file(&self) -> PathBuf {
        self.keys().join("node.key")
    }

    /// The certificate.
    pub fn certificate_file(&self) -> PathBuf {
        self.keys().join("certificate")
    }

    /// The certificate request that `plumb init --join` writes.
    pub fn request_file(&self) -> PathBuf {
        self.root.join("node.request.json")
    }

    /// The local socket of the node that runs here.
    pub fn socket(&self) -> PathBuf {
        self.root.join("plumb.sock")
    }

    /// The socket of a node that a command starts for itself. It has another name, so that nobody else comes to a node
    /// that is about to end.
    pub fn command_socket(&self) -> PathBuf {
        self.root.join("command.sock")
    }

    /// The lock file.
    pub fn lock_file(&self) -> PathBuf {
        self.root.join("plumb.lock")
    }

    /// Whether somebody made a home here.
    pub fn exists(&self) -> bool {
        self.config_file().is_file()
    }

    /// Whether its node may speak for an organisation.
    pub fn is_certified(&self) -> bool {
        self.exists() && self.certificate_file().is_file()
    }

    /// Refuses a folder that is no home, and says how to make one.
    pub fn require(&self) -> anyhow::Result<()> {
        if self.exists() {
            return Ok(());
        }
        bail!(
            "there is no home in {}; `plumb init --org NAME --department DEPARTMENT` makes one, \
             --home or PLUMB_HOME names another place",
            self.root.display()
        )
    }

    /// Refuses a place whose socket nobody could open.
    pub fn check_socket_path(&self) -> anyhow::Result<()> {
        let bytes = self.command_socket().as_os_str().len();
        if bytes <= SOCKET_PATH_BYTES_MAX {
            return Ok(());
        }
        bail!(
            "{} is too long for a local socket ({bytes} bytes, at most {SOCKET_PATH_BYTES_MAX}); \
             choose a shorter path for the home",
            self.command_socket().display()
        )
    }

    /// The node's key.
    pub fn node_key(&self) -> anyhow::Result<SecretKey> {
        self.require()?;
        read_key(&self.node_key_file())
    }

    /// The certificate; it is this node's and of its organisation. Says what to do where there is none.
    pub fn certificate(&self, key: &SecretKey) -> anyhow::Result<Signed<Certificate>> {
        if !self.certificate_file().is_file() {
            bail!(
                "this node has no certificate yet: whoever keeps the root key of the organisation runs \
                 `plumb org certify {} --root DIR --out FILE`, and here `plumb org accept FILE` installs it",
                self.request_file().display()
            );
        }
        let certificate = read_certificate(&self.certificate_file())?;
        check_own(&certificate, &key.public())?;
        Ok(certificate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_without_a_home_says_how_to_make_one() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::at(Some(dir.path())).unwrap();
        assert!(!home.is_certified());
        assert!(home.require().unwrap_err().to_string().contains("plumb init"));
        std::fs::write(home.config_file(), "").unwrap();
        write_key(&home.keys(), "node.key", &SecretKey::from_seed([1; 32])).unwrap();
        let error = home.certificate(&home.node_key().unwrap()).unwrap_err();
        assert!(error.to_string().contains("plumb org accept"), "{error}");
    }

    #[test]
    fn a_path_too_long_for_a_socket_is_refused_early() {
        let home = Home::at(Some(Path::new(&format!("/tmp/{}", "x".repeat(120))))).unwrap();
        assert!(home.check_socket_path().unwrap_err().to_string().contains("shorter"));
    }
}
