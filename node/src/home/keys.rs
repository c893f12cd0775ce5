//! Keys on disk: 32 bytes of seed in hex, readable by their owner alone.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use multibase::Base;
use plumb_core::identity::SecretKey;
use rand::RngExt;

use super::files::{make_private_dir, write_private};

/// A key from the system's randomness.
pub fn generate_key() -> SecretKey {
    SecretKey::from_seed(rand::rng().random())
}

/// Writes a key into a folder, which is made if it is not there.
pub fn write_key(dir: &Path, name: &str, key: &SecretKey) -> anyhow::Result<PathBuf> {
    make_private_dir(dir)?;
    let file = dir.join(name);
    let text = format!("{}\n", Base::Base16Lower.encode(key.seed()));
    write_private(&file, text.as_bytes())?;
    Ok(file)
}

/// Reads a key, and refuses one that others on this machine could have read.
pub fn read_key(file: &Path) -> anyhow::Result<SecretKey> {
    let read = || -> anyhow::Result<SecretKey> {
        let mode = std::fs::metadata(file)?.permissions().mode();
        if mode & 0o077 != 0 {
            bail!("others may read it (mode {:03o}); `chmod 600` it, and replace the key if anyone did", mode & 0o777);
        }
        let text = std::fs::read_to_string(file)?;
        let seed = Base::Base16Lower.decode(text.trim()).ok().and_then(|bytes| <[u8; 32]>::try_from(bytes).ok());
        match seed {
            Some(seed) => Ok(SecretKey::from_seed(seed)),
            None => bail!("it is not 32 bytes in hex"),
        }
    };
    read().with_context(|| format!("the key {} cannot be used", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_reads_back_and_is_its_owners_alone() {
        let dir = tempfile::tempdir().unwrap();
        let key = generate_key();
        let file = write_key(&dir.path().join("keys"), "node.key", &key).unwrap();
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&file), mode(file.parent().unwrap())), (0o600, 0o700));
        assert_eq!(read_key(&file).unwrap().public(), key.public());

        let again = write_key(file.parent().unwrap(), "node.key", &generate_key()).unwrap_err();
        assert!(again.to_string().contains("not written over"), "{again}");

        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o640)).unwrap();
        assert!(format!("{:#}", read_key(&file).unwrap_err()).contains("mode 640"));
    }

    #[test]
    fn what_is_no_key_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        for (i, text) in ["", "00", "zz", &"0".repeat(66)].into_iter().enumerate() {
            let file = dir.path().join(i.to_string());
            write_private(&file, text.as_bytes()).unwrap();
            assert!(format!("{:#}", read_key(&file).unwrap_err()).contains("32 bytes"), "{text}");
        }
    }
}
