//! `did:web`: the name of a host as the name of an issuer.
//!
//! Only the form without a path is taken, whose document lies at `/.well-known/did.json` of the host (did:web method,
//! §2.5.2). The name is for people and for libraries that look it up; here a key is trusted for its certificate alone.

use std::fmt;
use std::str::FromStr;

use super::IdentityError;

const PREFIX: &str = "did:web:";
/// Longest name of a host (RFC 1035 §2.3.4).
const HOST_LEN_MAX: usize = 253;
/// Longest part of it between dots.
const LABEL_LEN_MAX: usize = 63;

/// A `did:web` of a host, such as `did:web:evidence.example.org` or, with a port, `did:web:localhost%3A8443`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DidWeb {
    host: String,
    port: Option<u16>,
}

impl DidWeb {
    /// The name of `evidence.example.org` or `localhost:8443`. A name in another script is given in its ASCII form.
    pub fn of_host(text: &str) -> Result<DidWeb, IdentityError> {
        let refused = || IdentityError::DidWeb(text.chars().take(HOST_LEN_MAX).collect());
        let (host, port) = match text.split_once(':') {
            Some((host, port)) => (host, Some(port.parse::<u16>().ok().filter(|n| n.to_string() == port && *n > 0))),
            None => (text, None),
        };
        let port = port.map(|port| port.ok_or_else(refused)).transpose()?;
        // An address of numbers is no name (did:web method, §2.1).
        let is_address = host.rsplit('.').next().is_some_and(|last| last.bytes().all(|b| b.is_ascii_digit()));
        let fits = host.len() <= HOST_LEN_MAX && host.split('.').all(is_label) && !is_address;
        if fits { Ok(DidWeb { host: host.to_string(), port }) } else { Err(refused()) }
    }
}

/// Lower case, so that one host has one name.
fn is_label(label: &str) -> bool {
    let inside = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    !label.is_empty()
        && label.len() <= LABEL_LEN_MAX
        && label.bytes().all(inside)
        && !label.starts_with('-')
        && !label.ends_with('-')
}

impl fmt::Display for DidWeb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{}", self.host)?;
        match self.port {
            // The colon of a port is escaped, because a colon begins a path.
            Some(port) => write!(f, "%3A{port}"),
            None => Ok(()),
        }
    }
}

impl FromStr for DidWeb {
    type Err = IdentityError;
    fn from_str(text: &str) -> Result<DidWeb, IdentityError> {
        let refused = || IdentityError::DidWeb(text.chars().take(HOST_LEN_MAX).collect());
        let name = text.strip_prefix(PREFIX).filter(|name| !name.contains(':')).ok_or_else(refused)?;
        let web = DidWeb::of_host(&name.replacen("%3A", ":", 1)).map_err(|_| refused())?;
        if web.to_string() == text { Ok(web) } else { Err(refused()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_has_one_name() {
        for (host, name) in [
            ("evidence.example.org", "did:web:evidence.example.org"),
            ("localhost:8443", "did:web:localhost%3A8443"),
            ("xn--bcher-kva.example", "did:web:xn--bcher-kva.example"),
        ] {
            let web = DidWeb::of_host(host).unwrap();
            assert_eq!(web.to_string(), name);
            assert_eq!(name.parse::<DidWeb>(), Ok(web));
        }
    }

    #[test]
    fn what_is_no_host_is_refused() {
        let long = "a.".repeat(200);
        for host in [
            "",
            "Example.org",
            "a..b",
            "-a.b",
            "a b",
            "b\u{fc}cher.example",
            "a:0",
            "a:x",
            "a:080",
            "a:1:2",
            "a/b",
            "127.0.0.1",
            "a@b",
            &long,
        ] {
            assert!(DidWeb::of_host(host).is_err(), "{host}");
        }
        for name in ["did:web:", "did:web:a.b:path", "did:web:a%3a80", "did:key:z6Mk", "evidence.example.org"] {
            assert!(name.parse::<DidWeb>().is_err(), "{name}");
        }
    }
}
