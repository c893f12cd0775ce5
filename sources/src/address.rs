//! Addresses of files as URIs, and percent-encoding (RFC 3986).

use std::path::{Component, Path};

/// Bytes that stand for themselves in a path of a `file:` URI.
const IN_PATH: &[u8] = b"/-._~!$&'()*+,;=:@";
/// Bytes that stand for themselves in a fragment.
pub(crate) const IN_FRAGMENT: &[u8] = b"/?-._~!$&'()*+,;=:@";

/// The `file:` URI of a path, made absolute. Links are followed only where the path goes up (`..`), which cannot be
/// understood without. Bytes that are not ASCII are encoded, so that a name in any encoding has exactly one address.
pub fn file_address(path: &Path) -> String {
    let goes_up = path.components().any(|part| part == Component::ParentDir);
    let resolved = if goes_up { path.canonicalize().ok() } else { None };
    let path = resolved.or_else(|| std::path::absolute(path).ok()).unwrap_or_else(|| path.to_path_buf());
    format!("file://{}", percent_encode(&path_bytes(&path), IN_PATH))
}

/// Whether no file lies at a `file:` address any more. It is not known of an address that cannot be looked at, nor of any
/// other: those are not gone.
pub fn is_gone(address: &str) -> bool {
    let Some(path) = address.split('#').next().and_then(|base| base.strip_prefix("file://")) else { return false };
    let found = std::fs::symlink_metadata(path_of(percent_decode_bytes(path)));
    found.is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound)
}

#[cfg(unix)]
fn path_of(bytes: Vec<u8>) -> std::path::PathBuf {
    use std::os::unix::ffi::OsStringExt;
    std::ffi::OsString::from_vec(bytes).into()
}

#[cfg(not(unix))]
fn path_of(bytes: Vec<u8>) -> std::path::PathBuf {
    String::from_utf8_lossy(&bytes).into_owned().into()
}

#[cfg(unix)]
fn path_bytes(path: &Path) -> Vec<u8> {
    use std::os::unix::ffi::OsStrExt;
    path.as_os_str().as_bytes().to_vec()
}

#[cfg(not(unix))]
fn path_bytes(path: &Path) -> Vec<u8> {
    let text = path.to_string_lossy().replace('\\', "/");
    if text.starts_with('/') { text.into_bytes() } else { format!("/{text}").into_bytes() }
}

pub(crate) fn percent_encode(bytes: &[u8], plain: &[u8]) -> String {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    let mut out = String::with_capacity(bytes.len());
    for &byte in bytes {
        if byte.is_ascii_alphanumeric() || plain.contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push('%');
            out.push(char::from(HEX[usize::from(byte >> 4)]));
            out.push(char::from(HEX[usize::from(byte & 15)]));
        }
    }
    out
}

/// The text behind a percent-encoded one, for reading by people.
pub(crate) fn percent_decode(text: &str) -> String {
    String::from_utf8_lossy(&percent_decode_bytes(text)).into_owned()
}

fn percent_decode_bytes(text: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        let hex = |at: usize| tail.get(at).and_then(|b| char::from(*b).to_digit(16)).and_then(|d| u8::try_from(d).ok());
        match (byte, hex(0), hex(1)) {
            (b'%', Some(high), Some(low)) => {
                out.push(high << 4 | low);
                rest = &tail[2..];
            }
            _ => {
                out.push(byte);
                rest = tail;
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_path_is_an_address() {
        assert_eq!(file_address(Path::new("/a b/ü#.md")), "file:///a%20b/%C3%BC%23.md");
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("a")).unwrap();
        let up = dir.path().join("a").join("..").join("a");
        assert_eq!(file_address(&up), file_address(&dir.path().canonicalize().unwrap().join("a")));
    }

    #[test]
    fn a_file_is_gone_when_nothing_lies_at_its_address() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a ü#.md");
        std::fs::write(&path, "x").unwrap();
        let address = file_address(&path);
        assert!(!is_gone(&address));
        assert!(!is_gone(&format!("{address}#item")));
        std::fs::remove_file(&path).unwrap();
        assert!(is_gone(&address));
        assert!(is_gone(&format!("{address}#item")));
        for other in ["inline:a.md", "https://example.org/a", ""] {
            assert!(!is_gone(other), "{other}");
        }
    }

    proptest! {
        #[test]
        fn encoding_is_undone_by_decoding(text in ".{0,40}") {
            prop_assert_eq!(percent_decode(&percent_encode(text.as_bytes(), IN_PATH)), text);
        }
    }
}
