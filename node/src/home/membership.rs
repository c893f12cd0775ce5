//! How a node comes to belong to an organisation: the request, the root that certifies, the certificate.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use plumb_core::identity::{EntityId, EntityType, NodeId, OrgId, SecretKey, Signed};
use plumb_core::measure::Duration;
use plumb_core::trust::{self, CLOCK_TOLERANCE, Certificate, is_signed_by_its_root};
use serde::{Deserialize, Serialize};

use super::files::{make_private_dir, write_new};
use super::keys::{generate_key, read_key, write_key};
use crate::clock;

/// Largest certificate that is read: a real one has some hundred bytes.
pub const CERTIFICATE_BYTES_MAX: u64 = 64 * 1024;
/// Longest name of an organisation.
const NAME_BYTES_MAX: usize = 200;
/// What a request calls itself.
const REQUEST_TYPE: &str = "plumb/certificate-request/1";

/// What a node asks its organisation for. It is not secret and not signed: a certificate for a key that somebody else
/// holds is of no use to whoever asks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CertificateRequest {
    /// `plumb/certificate-request/1`
    #[serde(rename = "type")]
    pub kind: String,
    /// The node.
    pub node: NodeId,
    /// The department whose node it is.
    pub department: EntityId,
    /// The organisation that it wants to belong to, by name.
    pub organisation: String,
}

impl CertificateRequest {
    /// A request.
    pub fn new(node: NodeId, department: EntityId, organisation: String) -> CertificateRequest {
        CertificateRequest { kind: REQUEST_TYPE.to_string(), node, department, organisation }
    }
}

/// Reads a request.
pub fn read_request(file: &Path) -> anyhow::Result<CertificateRequest> {
    let read = || -> anyhow::Result<CertificateRequest> {
        let request: CertificateRequest = serde_json::from_slice(&read_small(file)?)?;
        if request.kind != REQUEST_TYPE || request.department.kind() != EntityType::Department {
            bail!("it is not of type {REQUEST_TYPE} for a department");
        }
        Ok(request)
    };
    read().with_context(|| format!("{} is not a certificate request", file.display()))
}

/// Reads a certificate, and checks that the organisation which it names signed it.
pub fn read_certificate(file: &Path) -> anyhow::Result<Signed<Certificate>> {
    let read = || -> anyhow::Result<Signed<Certificate>> {
        let certificate = Signed::<Certificate>::from_bytes(&read_small(file)?)?;
        if !is_signed_by_its_root(&certificate) {
            bail!("the organisation that it names did not sign it");
        }
        Ok(certificate)
    };
    read().with_context(|| format!("{} is not a certificate", file.display()))
}

/// Refuses a certificate that is not this node's, or not valid now.
pub fn check_own(certificate: &Signed<Certificate>, node: &NodeId) -> anyhow::Result<()> {
    let (c, now) = (certificate.value(), clock::now());
    if c.node != *node {
        bail!("the certificate is for {}, and this node is {node}", c.node);
    }
    if now.plus(CLOCK_TOLERANCE) < c.not_before {
        bail!("the certificate is valid only from {}; look at this machine's clock", c.not_before);
    }
    if c.not_after.plus(CLOCK_TOLERANCE) < now {
        bail!("the certificate expired at {}; the organisation has to certify this node again", c.not_after);
    }
    Ok(())
}

fn read_small(file: &Path) -> anyhow::Result<Vec<u8>> {
    let bytes = std::fs::metadata(file)?.len();
    if bytes > CERTIFICATE_BYTES_MAX {
        bail!("it has {bytes} bytes; at most {CERTIFICATE_BYTES_MAX} are read");
    }
    Ok(std::fs::read(file)?)
}

/// What is public about a root, as `organisation.json` beside the key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RootFacts {
    /// The organisation's name.
    pub name: String,
    /// Its root: a `did:key`.
    pub org: OrgId,
}

/// An organisation's root: its key and its name.
#[derive(Clone, Debug)]
pub struct Root {
    key: SecretKey,
    name: String,
}

impl Root {
    /// Founds an organisation. The key goes into `dir`, which may be apart from every node.
    pub fn found(dir: &Path, name: &str) -> anyhow::Result<Root> {
        check_name(name)?;
        make_private_dir(dir)?;
        let key = generate_key();
        write_key(dir, "organisation.key", &key)?;
        let facts = RootFacts { name: name.to_string(), org: key.public() };
        write_new(&dir.join("organisation.json"), &serde_json::to_vec_pretty(&facts)?)?;
        Ok(Root { key, name: name.to_string() })
    }

    /// Opens the root in a folder, or in the home of a node that keeps it.
    pub fn open(dir: &Path) -> anyhow::Result<Root> {
        let dir =
            Root::folder(dir).with_context(|| format!("{} holds no root key of an organisation", dir.display()))?;
        let key = read_key(&dir.join("organisation.key"))?;
        let file = dir.join("organisation.json");
        let facts: RootFacts = std::fs::read(&file)
            .map_err(anyhow::Error::from)
            .and_then(|bytes| Ok(serde_json::from_slice(&bytes)?))
            .with_context(|| format!("{} cannot be read", file.display()))?;
        if facts.org != key.public() {
            bail!("{} names another organisation than the key beside it", file.display());
        }
        Ok(Root { key, name: facts.name })
    }

    /// The folder in which a root key stands: the one that is named, or `keys/` below it.
    pub fn folder(dir: &Path) -> Option<PathBuf> {
        [dir.to_path_buf(), dir.join("keys")].into_iter().find(|d| d.join("organisation.key").is_file())
    }

    /// The organisation.
    pub fn org(&self) -> OrgId {
        self.key.public()
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Certifies a node.
    pub fn certify(
        &self,
        node: NodeId,
        department: EntityId,
        validity: Duration,
    ) -> anyhow::Result<Signed<Certificate>> {
        Ok(trust::certify(&self.key, &self.name, node, department, clock::now(), validity)?)
    }
}

/// Refuses what is no name of an organisation.
pub fn check_name(name: &str) -> anyhow::Result<()> {
    if name.trim().is_empty() || name.len() > NAME_BYTES_MAX || name.chars().any(char::is_control) {
        bail!("the name of an organisation has 1 to {NAME_BYTES_MAX} bytes on one line");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_root_opens_from_its_folder_and_from_a_home() {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::found(&dir.path().join("keys"), "Northwater").unwrap();
        for place in [dir.path().to_path_buf(), dir.path().join("keys")] {
            let opened = Root::open(&place).unwrap();
            assert_eq!((opened.org(), opened.name()), (root.org(), "Northwater"));
        }
        assert!(Root::found(&dir.path().join("keys"), "Northwater").is_err(), "a root is never written over");
        assert!(Root::open(&dir.path().join("nowhere")).is_err());
    }

    #[test]
    fn only_the_own_certificate_of_the_named_root_is_taken() {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::found(dir.path(), "Northwater").unwrap();
        let (node, other) = (generate_key().public(), generate_key().public());
        let certificate = root.certify(node, "department-a".parse().unwrap(), Duration::days(1)).unwrap();
        let file = dir.path().join("certificate");
        std::fs::write(&file, certificate.to_bytes()).unwrap();
        let read = read_certificate(&file).unwrap();
        assert!(check_own(&read, &node).is_ok());
        assert!(check_own(&read, &other).unwrap_err().to_string().contains("this node is"));

        let mut bytes = certificate.to_bytes();
        bytes[40] ^= 1;
        std::fs::write(&file, bytes).unwrap();
        assert!(read_certificate(&file).is_err());
    }

    #[test]
    fn a_request_says_what_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let request = CertificateRequest::new(generate_key().public(), "department-a".parse().unwrap(), "N".into());
        let file = dir.path().join("r.json");
        std::fs::write(&file, serde_json::to_vec(&request).unwrap()).unwrap();
        assert_eq!(read_request(&file).unwrap(), request);
        std::fs::write(&file, "{\"type\":\"other\"}").unwrap();
        assert!(read_request(&file).is_err());
    }
}
