//! An organisation's root on disk: a folder of its own, with the key under a passphrase.
//!
//! ```text
//! organisation.root   name, first root, rotations, and the key under a passphrase; 0600
//! ```
//!
//! A root that `plumb init` founded together with a home lies in its `keys/` without a passphrase, as `organisation.key`
//! and `organisation.json`, for a first try. `plumb org rotate` puts the next one under a passphrase.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use multibase::Base;
use plumb_core::identity::{Domain, NodeId, OrgId, SecretKey, Signable, Signed};
use plumb_core::trust::{self, Certificate, Rotation, Terms};
use serde::{Deserialize, Serialize};

use super::files::{make_private_dir, replace_private, write_new, write_private};
use super::keys::{generate_key, read_key, write_key};
use super::membership::{check_name, read_small};
use super::sealed::{Sealed, SealedError};
use crate::clock;
use crate::problem::{Problem, Reason};

/// What the file calls itself.
const ROOT_TYPE: &str = "plumb/root/1";
/// The file of a root under a passphrase.
const ROOT_FILE: &str = "organisation.root";
/// The files of a root without one.
const KEY_FILE: &str = "organisation.key";
const FACTS_FILE: &str = "organisation.json";

/// A root under a passphrase, as it is written.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RootFile {
    #[serde(rename = "type")]
    kind: String,
    name: String,
    org: OrgId,
    /// Rotations in their stored form, in base 64.
    rotations: Vec<String>,
    key: Sealed,
}

/// What is public about a root without a passphrase.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct RootFacts {
    name: String,
    org: OrgId,
}

/// An organisation's root: its key, its name, and how it came into office.
#[derive(Clone, Debug)]
pub struct Root {
    dir: PathBuf,
    key: SecretKey,
    name: String,
    rotations: Vec<Rotation>,
}

impl Root {
    /// Founds an organisation. The key goes into `dir`, which may be apart from every node, under the passphrase if there
    /// is one.
    pub fn found(dir: &Path, name: &str, passphrase: Option<&str>) -> anyhow::Result<Root> {
        check_name(name)?;
        make_private_dir(dir)?;
        if Root::folder(dir).is_some() {
            bail!("{} holds a root key already, and it is not written over", dir.display());
        }
        let root = Root { dir: dir.to_path_buf(), key: generate_key(), name: name.to_string(), rotations: Vec::new() };
        match passphrase {
            Some(passphrase) => write_private(&dir.join(ROOT_FILE), &root.sealed(passphrase)?)?,
            None => {
                write_key(dir, KEY_FILE, &root.key)?;
                let facts = RootFacts { name: name.to_string(), org: root.org() };
                write_new(&dir.join(FACTS_FILE), &serde_json::to_vec_pretty(&facts)?)?;
            }
        }
        Ok(root)
    }

    /// Opens the root in a folder, or in the home of a node that keeps it. The passphrase is asked for where there is
    /// one.
    pub fn open(dir: &Path, passphrase: impl FnOnce() -> anyhow::Result<String>) -> anyhow::Result<Root> {
        let dir =
            Root::folder(dir).with_context(|| format!("{} holds no root key of an organisation", dir.display()))?;
        let file = dir.join(ROOT_FILE);
        if file.is_file() {
            return Root::open_sealed(&dir, &file, passphrase);
        }
        let key = read_key(&dir.join(KEY_FILE))?;
        let file = dir.join(FACTS_FILE);
        let facts: RootFacts = std::fs::read(&file)
            .map_err(anyhow::Error::from)
            .and_then(|bytes| Ok(serde_json::from_slice(&bytes)?))
            .with_context(|| format!("{} cannot be read", file.display()))?;
        if facts.org != key.public() {
            bail!("{} names another organisation than the key beside it", file.display());
        }
        Ok(Root { dir, key, name: facts.name, rotations: Vec::new() })
    }

    fn open_sealed(
        dir: &Path,
        file: &Path,
        passphrase: impl FnOnce() -> anyhow::Result<String>,
    ) -> anyhow::Result<Root> {
        let read = || -> anyhow::Result<(RootFile, Vec<Rotation>)> {
            let root: RootFile = serde_json::from_slice(&read_small(file)?)?;
            if root.kind != ROOT_TYPE {
                bail!("it is not of type {ROOT_TYPE}");
            }
            let rotations = root.rotations.iter().map(|text| Ok(Rotation::from_bytes(&Base::Base64.decode(text)?)?));
            let rotations = rotations.collect::<anyhow::Result<Vec<_>>>()?;
            Ok((root, rotations))
        };
        let (root, rotations) = read().with_context(|| format!("{} is not a root", file.display()))?;
        let key = root.key.open(&passphrase()?, &about(&root.name, &root.org)).map_err(|error| match error {
            SealedError::Passphrase => {
                let place = file.display();
                anyhow::Error::from(Problem::new(Reason::Denied, format!("{place}: {error}")))
            }
            SealedError::Unknown(_) => anyhow::Error::from(error).context(format!("{} cannot be used", file.display())),
        })?;
        let mut at = root.org;
        for rotation in &rotations {
            if rotation.value().old != at || rotation.value().org != root.org {
                bail!("{}: its rotations do not lead to its key", file.display());
            }
            at = rotation.value().new;
        }
        if at != key.public() {
            bail!("{}: its rotations do not lead to its key", file.display());
        }
        Ok(Root { dir: dir.to_path_buf(), key, name: root.name, rotations })
    }

    /// The folder in which a root key stands: the one that is named, or `keys/` below it.
    pub fn folder(dir: &Path) -> Option<PathBuf> {
        let holds = |dir: &PathBuf| [ROOT_FILE, KEY_FILE].iter().any(|name| dir.join(name).is_file());
        [dir.to_path_buf(), dir.join("keys")].into_iter().find(holds)
    }

    fn sealed(&self, passphrase: &str) -> anyhow::Result<Vec<u8>> {
        let file = RootFile {
            kind: ROOT_TYPE.to_string(),
            name: self.name.clone(),
            org: self.org(),
            rotations: self.rotations.iter().map(|r| Base::Base64.encode(r.to_bytes())).collect(),
            key: Sealed::seal(&self.key, passphrase, &about(&self.name, &self.org()))?,
        };
        Ok(serde_json::to_vec_pretty(&file)?)
    }

    /// The organisation: its first root, whoever is in office now.
    pub fn org(&self) -> OrgId {
        self.rotations.first().map_or(self.key.public(), |first| first.value().org)
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The file in which it lies.
    pub fn file(&self) -> PathBuf {
        let sealed = self.dir.join(ROOT_FILE);
        if sealed.is_file() { sealed } else { self.dir.join(KEY_FILE) }
    }

    /// The rotations that led to this key.
    pub fn rotations(&self) -> &[Rotation] {
        &self.rotations
    }

    /// Certifies a node.
    pub fn certify(&self, node: NodeId, terms: Terms) -> anyhow::Result<Signed<Certificate>> {
        let certificate = trust::certify_under(&self.key, &self.rotations, &self.name, node, terms, clock::now())?;
        if !certificate.value().is_within_limits() {
            bail!(
                "a certificate names at most {} capabilities and {} nodes that it succeeds",
                trust::CAPABILITIES_MAX,
                trust::SUCCEEDS_MAX
            );
        }
        Ok(certificate)
    }

    /// Signs in the name of the organisation.
    pub fn sign<T: Signable>(&self, value: T) -> anyhow::Result<Signed<T>> {
        debug_assert!(T::DOMAIN != Domain::Certificate, "certificates carry the rotations");
        Ok(Signed::seal(value, &self.key)?)
    }

    /// Gives way to a new key, under the passphrase. The old key is gone with that: it can sign nothing that counts.
    pub fn rotate(self, passphrase: &str) -> anyhow::Result<(Root, Rotation)> {
        if self.rotations.len() >= trust::ROTATIONS_MAX {
            bail!(
                "the root was rotated {} times, which is as often as certificates can tell; found the organisation anew",
                trust::ROTATIONS_MAX
            );
        }
        let key = generate_key();
        let rotation = Rotation::seal(self.org(), &self.key, &key, clock::now())?;
        let rotations = self.rotations.iter().cloned().chain([rotation.clone()]).collect();
        let next = Root { key, rotations, ..self };
        replace_private(&next.dir.join(ROOT_FILE), &next.sealed(passphrase)?)?;
        for plain in [KEY_FILE, FACTS_FILE] {
            let plain = next.dir.join(plain);
            if plain.is_file() {
                std::fs::remove_file(&plain).with_context(|| format!("{} cannot be removed", plain.display()))?;
            }
        }
        Ok((next, rotation))
    }
}

/// What is bound to the sealed key.
fn about(name: &str, org: &OrgId) -> Vec<u8> {
    [ROOT_TYPE, name, &org.to_string()].join("\0").into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit::Exit;
    use std::os::unix::fs::PermissionsExt;

    fn asked(text: &str) -> impl FnOnce() -> anyhow::Result<String> {
        let text = text.to_string();
        move || Ok(text)
    }

    fn not_asked() -> anyhow::Result<String> {
        panic!("there is no passphrase to be asked for")
    }

    #[test]
    fn a_root_opens_from_its_folder_and_from_a_home() {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::found(&dir.path().join("keys"), "Northwater", None).unwrap();
        for place in [dir.path().to_path_buf(), dir.path().join("keys")] {
            let opened = Root::open(&place, not_asked).unwrap();
            assert_eq!((opened.org(), opened.name()), (root.org(), "Northwater"));
        }
        assert!(Root::found(&dir.path().join("keys"), "Northwater", None).is_err(), "a root is never written over");
        assert!(Root::found(&dir.path().join("keys"), "Northwater", Some("passphrase")).is_err());
        assert!(Root::open(&dir.path().join("nowhere"), not_asked).is_err());
    }

    #[test]
    fn a_root_under_a_passphrase_opens_with_that_only() {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::found(dir.path(), "Northwater", Some("a long passphrase")).unwrap();
        let file = root.file();
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(!text.contains(&Base::Base16Lower.encode(root.key.seed())));
        assert_eq!(Root::open(dir.path(), asked("a long passphrase")).unwrap().org(), root.org());
        let error = Root::open(dir.path(), asked("another passphrase")).unwrap_err();
        assert_eq!(Exit::of_error(&error), Exit::Denied);

        // A name that was changed in the file is not opened as that.
        std::fs::write(&file, text.replace("Northwater", "Southwater")).unwrap();
        let error = Root::open(dir.path(), asked("a long passphrase")).unwrap_err();
        assert_eq!(Exit::of_error(&error), Exit::Denied);
    }

    #[test]
    fn a_rotated_root_keeps_the_name_and_certifies_under_it() {
        let dir = tempfile::tempdir().unwrap();
        let first = Root::found(dir.path(), "Northwater", None).unwrap();
        let (org, old_key) = (first.org(), first.key.public());
        let (second, rotation) = first.rotate("a long passphrase").unwrap();
        assert_eq!((rotation.value().old, rotation.value().new), (old_key, second.key.public()));
        assert!(!dir.path().join(KEY_FILE).exists(), "the old key is gone");

        let opened = Root::open(dir.path(), asked("a long passphrase")).unwrap();
        let (third, _) = opened.rotate("another passphrase").unwrap();
        let opened = Root::open(dir.path(), asked("another passphrase")).unwrap();
        assert_eq!((opened.org(), opened.rotations().len()), (org, 2));
        let department = "department-a".parse().unwrap();
        let validity = plumb_core::measure::Duration::days(1);
        let terms = Terms { department, capabilities: None, succeeds: vec![], validity };
        let node = generate_key().public();
        let certificate = third.certify(node, terms).unwrap();
        assert_eq!(certificate.value().org, org);
        let roots = trust::Roots::full([(org, "Northwater".to_string())]);
        assert_eq!(roots.admit(&node, &certificate, clock::now()), Ok(()));
    }
}
