//! What a witness says of a log's head: C2SP `tlog-cosignature`, version 1.
//!
//! ```text
//! cosignature/v1                                        header: nothing else that is signed begins so
//! time 1679315147                                       when, in seconds
//! example.com/behind-the-sofa                           the note that is cosigned, whole
//! 20852163
//! CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=
//! ```
//!
//! It stands among the note's signature lines, under the witness's own name and a key id of its own kind:
//!
//! ```text
//! — witness.example.com/w1 base64(key id ‖ time as 8 bytes ‖ signature)
//! ```
//!
//! It means: at that time this was the largest head of the log that the witness had seen, and it continues every other
//! that it cosigned ([`super::Witnessed`]).

use std::fmt;

use super::note::{self, NoteSignature};
use super::{LogError, Origin, SignedCheckpoint};
use crate::identity::{PublicKey, SecretKey, Signature};
use crate::measure::Timestamp;

/// Most cosignatures that one checkpoint carries, so that it stays small enough to travel with every head.
pub const COSIGNATURES_MAX: usize = 16;

/// Signature type of an Ed25519 cosignature.
pub(super) const ED25519_COSIGNATURE: u8 = 0x04;
const TIME_LEN: usize = 8;

/// The name under which a node cosigns. It follows from its key, so whoever reads the line knows which key must hold.
pub fn witness_name(witness: &PublicKey) -> Result<Origin, LogError> {
    format!("{witness}/witness").parse()
}

/// One witness's word for one checkpoint.
///
/// **It may be forged until [`Cosignature::verify`] has said otherwise.**
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cosignature {
    name: Origin,
    key_id: [u8; 4],
    at_s: u64,
    signature: Signature,
}

impl Cosignature {
    /// Cosigns. The caller answers for having written down first what it cosigns, and for the rules of
    /// [`super::Witnessed::accepts`].
    pub fn sign(checkpoint: &SignedCheckpoint, at: Timestamp, key: &SecretKey) -> Result<Cosignature, LogError> {
        let name = witness_name(&key.public())?;
        let at_s = u64::try_from(at.0 / 1000).unwrap_or(0);
        let signature = key.sign_bytes(&message(checkpoint, at_s)?);
        let key_id = note::key_id(name.as_str(), ED25519_COSIGNATURE, &key.public());
        Ok(Cosignature { name, key_id, at_s, signature })
    }

    /// Reads a signature line: it has the shape of a cosignature, or this says why not.
    pub fn parse(line: &str) -> Result<Cosignature, LogError> {
        if line.len() > note::NOTE_BYTES_MAX {
            return Err(LogError::Limit { what: "bytes", max: note::NOTE_BYTES_MAX });
        }
        let line = line.strip_suffix('\n').unwrap_or(line);
        let signature = NoteSignature::parse(line).ok_or(LogError::Note("a signature line is malformed"))?;
        Cosignature::of(&signature).ok_or(LogError::Note("the line has not the shape of a cosignature"))
    }

    pub(super) fn of(line: &NoteSignature<'_>) -> Option<Cosignature> {
        let (time, signature) = line.bytes.split_first_chunk::<TIME_LEN>()?;
        let at_s = u64::from_be_bytes(*time);
        let signature = Signature::from_bytes(signature.try_into().ok()?);
        // The specification bounds the time so that it fits a signed number.
        let is_time = i64::try_from(at_s).is_ok();
        is_time.then_some(Cosignature { name: line.name.parse().ok()?, key_id: line.key_id, at_s, signature })
    }

    /// Under which name.
    pub fn name(&self) -> &Origin {
        &self.name
    }

    /// When, as the witness says: in seconds since 1970.
    pub fn at_s(&self) -> u64 {
        self.at_s
    }

    /// Checks that this witness cosigned this very note, under its own name.
    pub fn verify(&self, checkpoint: &SignedCheckpoint, witness: &PublicKey) -> Result<(), LogError> {
        let unsigned = || LogError::Unsigned(checkpoint.checkpoint().origin.to_string());
        let is_its_line = self.name == witness_name(witness)?
            && self.key_id == note::key_id(self.name.as_str(), ED25519_COSIGNATURE, witness);
        if !is_its_line {
            return Err(unsigned());
        }
        witness.verify_bytes(&message(checkpoint, self.at_s)?, &self.signature).map_err(|_| unsigned())
    }
}

/// The signature line, with its newline.
impl fmt::Display for Cosignature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let blob = [&self.at_s.to_be_bytes()[..], self.signature.as_bytes()].concat();
        f.write_str(&note::line(self.name.as_str(), self.key_id, &blob))
    }
}

fn message(checkpoint: &SignedCheckpoint, at_s: u64) -> Result<Vec<u8>, LogError> {
    Ok(format!("cosignature/v1\ntime {at_s}\n{}", checkpoint.note_text()?).into_bytes())
}

impl SignedCheckpoint {
    /// What witnesses say of it, as far as the lines have the shape of a cosignature. None of them is verified.
    pub fn cosignatures(&self) -> Vec<Cosignature> {
        let note = note::Note::parse(self.as_str());
        note.map(|note| note.signatures().iter().filter_map(Cosignature::of).collect()).unwrap_or_default()
    }

    /// The same checkpoint with these cosignatures added, at most [`COSIGNATURES_MAX`] together; a witness that is there
    /// already is not added again. What is given is trusted to be verified.
    pub fn with_cosignatures<'a>(&self, more: impl IntoIterator<Item = &'a Cosignature>) -> SignedCheckpoint {
        let mut there: Vec<Origin> = self.cosignatures().into_iter().map(|c| c.name).collect();
        let mut text = self.as_str().to_string();
        for cosignature in more {
            if there.len() < COSIGNATURES_MAX && !there.contains(&cosignature.name) {
                there.push(cosignature.name.clone());
                text.push_str(&cosignature.to_string());
            }
        }
        // The lines are well formed and the note stays within its limits; were it not so, it stays as it was.
        SignedCheckpoint::parse(&text).unwrap_or_else(|_| self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::{Checkpoint, empty_root};

    fn key(n: u8) -> SecretKey {
        SecretKey::from_seed([n; 32])
    }

    fn checkpoint(size: u64) -> SignedCheckpoint {
        let origin = "operations.example/public".parse().unwrap();
        Checkpoint { origin, size, root: empty_root() }.sign(&key(1))
    }

    /// The example of the specification; its witness's key is not published, so only the shape can be read.
    const SOFA: &str = "example.com/behind-the-sofa\n20852163\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n\n\
        \u{2014} example.com/behind-the-sofa Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Zhcyv2q1gGzGku9nTo+zyWE+xeMcTOAYQ8=\n\
        \u{2014} witness.example.com/w1 jWbPPwAAAABkGFDLEZMHwSRaJNiIDoe9DYn/zXcrtPHeolMI5OWXEhZCB9dlrDJsX3b2oyin1nPZqhf5nNo0xUe+mbIUBkBIfZ+qnA==\n";

    #[test]
    fn the_example_of_the_specification_is_read() {
        let signed = SignedCheckpoint::parse(SOFA).unwrap();
        let [cosignature] = signed.cosignatures().try_into().unwrap();
        assert_eq!(cosignature.name().as_str(), "witness.example.com/w1");
        assert_eq!(cosignature.at_s(), 1_679_315_147);
        assert!(SOFA.ends_with(&cosignature.to_string()));
        assert_eq!(
            String::from_utf8(message(&signed, cosignature.at_s()).unwrap()).unwrap(),
            "cosignature/v1\ntime 1679315147\nexample.com/behind-the-sofa\n20852163\n\
             CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n"
        );
    }

    #[test]
    fn a_cosignature_holds_for_its_witness_and_its_note() {
        let cosignature = Cosignature::sign(&checkpoint(7), Timestamp(1_700_000_000_999), &key(2)).unwrap();
        assert_eq!(cosignature.at_s(), 1_700_000_000);
        assert_eq!(cosignature.verify(&checkpoint(7), &key(2).public()), Ok(()));
        assert!(cosignature.verify(&checkpoint(8), &key(2).public()).is_err());
        assert!(cosignature.verify(&checkpoint(7), &key(3).public()).is_err());
        assert_eq!(Cosignature::parse(&cosignature.to_string()), Ok(cosignature.clone()));
        let later = Cosignature { at_s: cosignature.at_s() + 1, ..cosignature };
        assert!(later.verify(&checkpoint(7), &key(2).public()).is_err(), "the time is signed");
    }

    #[test]
    fn a_cosigned_checkpoint_is_still_the_logs_own() {
        let plain = checkpoint(7);
        let words: Vec<_> = (2..30).map(|n| Cosignature::sign(&plain, Timestamp(0), &key(n)).unwrap()).collect();
        let cosigned = plain.with_cosignatures(&words);
        assert_eq!(cosigned.checkpoint(), plain.checkpoint());
        assert_eq!(cosigned.verify(&key(1).public()), Ok(()));
        assert_eq!(cosigned.cosignatures(), words[..COSIGNATURES_MAX]);
        assert_eq!(cosigned.with_cosignatures(&words), cosigned, "nobody signs twice");
        assert_eq!(plain.with_cosignatures(&[]), plain);
    }

    #[test]
    fn what_is_no_cosignature_is_refused() {
        for line in ["", "\u{2014} a AAAAAGZm\n", "\u{2014} a\n", "no line"] {
            assert!(Cosignature::parse(line).is_err(), "{line:?}");
        }
        let signature = Cosignature::sign(&checkpoint(1), Timestamp(0), &key(2)).unwrap().signature;
        let blob = [&u64::MAX.to_be_bytes()[..], signature.as_bytes()].concat();
        assert!(Cosignature::parse(&note::line("a", [0; 4], &blob)).is_err(), "a time that no number takes");
    }
}
