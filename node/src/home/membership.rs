//! How a node comes to belong to an organisation: the request, and the certificate.

use std::path::Path;

use anyhow::{Context as _, bail};
use plumb_core::identity::{EntityId, EntityType, NodeId, Signed};
use plumb_core::trust::{CLOCK_TOLERANCE, Certificate, is_signed_by_its_root};
use serde::{Deserialize, Serialize};

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

pub(super) fn read_small(file: &Path) -> anyhow::Result<Vec<u8>> {
    let bytes = std::fs::metadata(file)?.len();
    if bytes > CERTIFICATE_BYTES_MAX {
        bail!("it has {bytes} bytes; at most {CERTIFICATE_BYTES_MAX} are read");
    }
    Ok(std::fs::read(file)?)
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
    use super::super::{Root, generate_key};
    use super::*;
    use plumb_core::measure::Duration;
    use plumb_core::trust::Terms;

    #[test]
    fn only_the_own_certificate_of_the_named_root_is_taken() {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::found(dir.path(), "Northwater", None).unwrap();
        let (node, other) = (generate_key().public(), generate_key().public());
        let department = "department-a".parse().unwrap();
        let terms = Terms { department, capabilities: None, succeeds: vec![], validity: Duration::days(1) };
        let certificate = root.certify(node, terms).unwrap();
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
