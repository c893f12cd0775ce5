//! Where the passphrase of a root key comes from: a file, the environment, or whoever sits at the terminal.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;
use rand::RngExt;

use crate::exit::UsageError;
use crate::home::write_private;

/// The environment variable that may hold it.
pub const VARIABLE: &str = "PLUMB_ROOT_PASSPHRASE";
/// Shortest passphrase that a root key is put under, in characters.
const CHARS_MIN: usize = 8;
/// Largest file that is read for one.
const FILE_BYTES_MAX: u64 = 4096;

/// Where the passphrase of the root key comes from.
#[derive(Debug, Args)]
pub struct PassphraseArgs {
    /// Read the passphrase of the root key from this file; otherwise from PLUMB_ROOT_PASSPHRASE, or the terminal
    #[arg(long, value_name = "FILE")]
    passphrase_file: Option<PathBuf>,
}

impl PassphraseArgs {
    /// From a file.
    pub fn of_file(file: PathBuf) -> PassphraseArgs {
        PassphraseArgs { passphrase_file: Some(file) }
    }

    /// The passphrase, if it was given without being asked for.
    pub fn given(&self) -> anyhow::Result<Option<String>> {
        if let Some(file) = &self.passphrase_file {
            let read = || -> anyhow::Result<String> {
                let bytes = std::fs::metadata(file)?.len();
                anyhow::ensure!(bytes <= FILE_BYTES_MAX, "it has {bytes} bytes; at most {FILE_BYTES_MAX} are read");
                Ok(std::fs::read_to_string(file)?)
            };
            let text = read().with_context(|| format!("the passphrase file {} cannot be read", file.display()))?;
            // A file that an editor wrote ends with a line end, which belongs to no passphrase.
            return Ok(Some(text.trim_end_matches(['\r', '\n']).to_string()));
        }
        match std::env::var(VARIABLE) {
            Ok(passphrase) => Ok(Some(passphrase)),
            Err(std::env::VarError::NotPresent) => Ok(None),
            Err(error @ std::env::VarError::NotUnicode(_)) => Err(anyhow::Error::from(error).context(VARIABLE)),
        }
    }

    /// The passphrase of a root key that there is.
    pub fn ask(&self) -> anyhow::Result<String> {
        match self.given()? {
            Some(passphrase) => Ok(passphrase),
            None => prompt("Passphrase of the root key: "),
        }
    }

    /// A passphrase for a root key that is about to be made.
    pub fn choose(&self) -> anyhow::Result<String> {
        let passphrase = match self.given()? {
            Some(passphrase) => passphrase,
            None => {
                let first = prompt("Passphrase for the new root key: ")?;
                if first != prompt("The same again: ")? {
                    return Err(UsageError("the two passphrases differ".to_string()).into());
                }
                first
            }
        };
        if passphrase.chars().count() < CHARS_MIN {
            let text = format!("a root key is put under a passphrase of at least {CHARS_MIN} characters");
            return Err(UsageError(text).into());
        }
        Ok(passphrase)
    }
}

/// Makes up a passphrase and writes it into a file that only its owner reads. Gives the file, as an argument.
pub fn make_passphrase(file: &Path) -> anyhow::Result<String> {
    let random: [u8; 16] = rand::rng().random();
    write_private(file, multibase::Base::Base32Lower.encode(random).as_bytes())?;
    Ok(file.display().to_string())
}

fn prompt(text: &str) -> anyhow::Result<String> {
    if !std::io::stdin().is_terminal() {
        return Err(UsageError(format!(
            "the root key has a passphrase, and there is no terminal to ask for it at; give it with --passphrase-file \
             or {VARIABLE}"
        ))
        .into());
    }
    rpassword::prompt_password(text).context("the passphrase cannot be read")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit::Exit;

    #[test]
    fn a_file_gives_its_line_and_short_ones_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("p");
        let args = PassphraseArgs { passphrase_file: Some(file.clone()) };
        assert!(args.ask().is_err(), "there is no such file");
        std::fs::write(&file, "a long passphrase\r\n").unwrap();
        assert_eq!(args.ask().unwrap(), "a long passphrase");
        assert_eq!(args.choose().unwrap(), "a long passphrase");
        std::fs::write(&file, "short\n").unwrap();
        assert_eq!(Exit::of_error(&args.choose().unwrap_err()), Exit::Usage);
        std::fs::write(&file, vec![b'x'; 5000]).unwrap();
        assert!(args.ask().is_err());
    }
}
