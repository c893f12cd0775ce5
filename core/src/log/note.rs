//! The signed note of C2SP `signed-note`: text, an empty line, and one line per signature.
//!
//! ```text
//! text of the note, any number of lines
//!
//! — key.name base64(key id ‖ signature)
//! — other.name base64(key id ‖ signature)
//! ```
//!
//! A signature that nobody here knows (a witness, a newer algorithm) is kept and says nothing.

use multibase::Base;
use sha2::{Digest, Sha256};

use super::LogError;
use crate::identity::{PublicKey, SecretKey, Signature};

/// Most bytes of a note that is read: a checkpoint with sixteen ML-DSA-44 cosignatures of some 3.3 kB fits.
pub const NOTE_BYTES_MAX: usize = 64 * 1024;
/// Most signatures of a note that is read. The specification asks for at least 16.
pub const NOTE_SIGNATURES_MAX: usize = 64;
/// Most lines of a note that is read: three, the signatures, and room for extension lines that nobody should use.
pub const NOTE_LINES_MAX: usize = 128;

/// Between the text, which keeps its last newline, and the signatures.
const SEPARATOR: &str = "\n\n";
const EM_DASH: &str = "\u{2014} ";
/// Signature type of Ed25519 over the text of the note.
pub(super) const ED25519: u8 = 0x01;
const KEY_ID_LEN: usize = 4;

/// One signature line, taken apart.
pub(super) struct NoteSignature<'a> {
    pub(super) name: &'a str,
    pub(super) key_id: [u8; KEY_ID_LEN],
    pub(super) bytes: Vec<u8>,
}

/// A signed note, taken apart. Borrows from the text that it was read from.
pub(super) struct Note<'a> {
    /// What is signed, with its last newline.
    pub(super) text: &'a str,
    signatures: Vec<NoteSignature<'a>>,
}

/// Whether a key can have this name.
pub(super) fn is_key_name(name: &str) -> bool {
    !name.is_empty() && !name.chars().any(|c| c.is_whitespace() || c.is_control() || c == '+')
}

/// The id of an Ed25519 key for one kind of signature, in a signature line. It finds the key, and proves nothing.
pub(super) fn key_id(name: &str, kind: u8, key: &PublicKey) -> [u8; KEY_ID_LEN] {
    let digest: [u8; 32] =
        Sha256::new().chain_update(name).chain_update([b'\n', kind]).chain_update(key.as_bytes()).finalize().into();
    [digest[0], digest[1], digest[2], digest[3]]
}

/// A signature line, with its newline.
pub(super) fn line(name: &str, key_id: [u8; KEY_ID_LEN], signature: &[u8]) -> String {
    format!("{EM_DASH}{name} {}\n", Base::Base64Pad.encode([&key_id[..], signature].concat()))
}

/// The whole note: `text`, which ends in a newline, signed by this key under this name.
pub(super) fn sign(text: &str, name: &str, key: &SecretKey) -> String {
    let signature = key.sign_bytes(text.as_bytes());
    format!("{text}\n{}", line(name, key_id(name, ED25519, &key.public()), signature.as_bytes()))
}

impl<'a> Note<'a> {
    /// Takes a note apart: limits first, then the shape.
    pub(super) fn parse(note: &'a str) -> Result<Note<'a>, LogError> {
        if note.len() > NOTE_BYTES_MAX {
            return Err(LogError::Limit { what: "bytes", max: NOTE_BYTES_MAX });
        }
        if note.bytes().filter(|b| *b == b'\n').count() > NOTE_LINES_MAX {
            return Err(LogError::Limit { what: "lines", max: NOTE_LINES_MAX });
        }
        if note.chars().any(|c| c < ' ' && c != '\n') {
            return Err(LogError::Note("it has control characters"));
        }
        let at = note.rfind(SEPARATOR).ok_or(LogError::Note("no empty line stands before signatures"))?;
        let text = &note[..=at];
        let lines = note[at + SEPARATOR.len()..]
            .strip_suffix('\n')
            .ok_or(LogError::Note("it does not end in a signature line"))?;
        if lines.split('\n').count() > NOTE_SIGNATURES_MAX {
            return Err(LogError::Limit { what: "signatures", max: NOTE_SIGNATURES_MAX });
        }
        let signatures = lines.split('\n').map(NoteSignature::parse).collect::<Option<_>>();
        let signatures = signatures.ok_or(LogError::Note("a signature line is malformed"))?;
        Ok(Note { text, signatures })
    }

    /// The signature lines, in their order.
    pub(super) fn signatures(&self) -> &[NoteSignature<'a>] {
        &self.signatures
    }

    /// Whether this key signed the text under this name. Lines of other names and keys are passed over; a line that
    /// claims to be of this key and does not hold spoils the note, as the specification advises.
    pub(super) fn is_signed_by(&self, name: &str, key: &PublicKey) -> bool {
        let key_id = key_id(name, ED25519, key);
        let holds = |signature: &NoteSignature| {
            <[u8; 64]>::try_from(signature.bytes.as_slice())
                .is_ok_and(|bytes| key.verify_bytes(self.text.as_bytes(), &Signature::from_bytes(bytes)).is_ok())
        };
        let mut of_the_key = self.signatures.iter().filter(|s| s.name == name && s.key_id == key_id).peekable();
        of_the_key.peek().is_some() && of_the_key.all(holds)
    }
}

impl<'a> NoteSignature<'a> {
    pub(super) fn parse(line: &'a str) -> Option<NoteSignature<'a>> {
        let (name, base64) = line.strip_prefix(EM_DASH)?.split_once(' ')?;
        let blob = unbase64(base64)?;
        let (key_id, bytes) = blob.split_first_chunk()?;
        let well_formed = is_key_name(name) && !bytes.is_empty();
        well_formed.then(|| NoteSignature { name, key_id: *key_id, bytes: bytes.to_vec() })
    }
}

/// The bytes of base64 (RFC 4648, section 4, with padding), of which they have one text. The decoder alone would also
/// take two padded texts one behind the other.
pub(super) fn unbase64(text: &str) -> Option<Vec<u8>> {
    Base::Base64Pad.decode(text).ok().filter(|bytes| Base::Base64Pad.encode(bytes) == text)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of golang.org/x/mod/sumdb/note, whose key and signature are public.
    const NEUMANN: &str = "If you think cryptography is the answer to your problem,\n\
        then you don't know what your problem is.\n\n\
        \u{2014} PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n";
    const NEUMANN_KEY: &str = "ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";

    fn neumann() -> PublicKey {
        let bytes = Base::Base64Pad.decode(NEUMANN_KEY).unwrap();
        let (kind, key) = bytes.split_first().unwrap();
        assert_eq!(*kind, ED25519);
        PublicKey::from_bytes(key.try_into().unwrap()).unwrap()
    }

    #[test]
    fn a_note_signed_by_another_implementation_holds() {
        let key = neumann();
        assert_eq!(key_id("PeterNeumann", ED25519, &key), [0xc7, 0x4f, 0x20, 0xa3]);
        let note = Note::parse(NEUMANN).unwrap();
        assert!(note.text.ends_with("problem is.\n"));
        assert!(note.is_signed_by("PeterNeumann", &key));
        assert!(!note.is_signed_by("EnochRoot", &key));
        let changed = NEUMANN.replace("don't know", "know");
        assert!(!Note::parse(&changed).unwrap().is_signed_by("PeterNeumann", &key));
    }

    #[test]
    fn foreign_lines_are_passed_over_and_a_false_one_spoils_the_note() {
        let (text, good) = NEUMANN.rsplit_once("\n\n").unwrap();
        let is_signed =
            |lines: &str| Note::parse(&format!("{text}\n\n{lines}")).unwrap().is_signed_by("PeterNeumann", &neumann());
        let foreign =
            "\u{2014} witness.example AAAAAGZm\n\u{2014} PeterNeumann AAAAAGZm\n\u{2014} witness.example x08go2Zm\n";
        assert!(is_signed(&format!("{foreign}{good}{foreign}")));
        assert!(!is_signed(foreign));
        assert!(!is_signed(&format!("{good}\u{2014} PeterNeumann x08go2Zm\n")));
    }

    #[test]
    fn what_is_no_note_is_refused() {
        let line = "\u{2014} a AAAAAGZm\n";
        assert!(Note::parse(&format!("text\n\n{line}")).is_ok());
        for bad in [
            String::new(),
            "text\n".into(),
            "text\n\n".into(),
            format!("text\n{line}"),
            format!("text\n\n{}", line.trim_end()),
            format!("text\r\n\n{line}"),
            format!("text\n\n{line}\n"),
            format!("text\n\n{line}not a signature\n"),
            "text\n\n- a AAAAAGZm\n".into(),
            "text\n\n\u{2014} a+b AAAAAGZm\n".into(),
            "text\n\n\u{2014} a AAAAAGZ\n".into(),
            "text\n\n\u{2014} a AAAAAGZn=\n".into(),
            "text\n\n\u{2014} a AAAAAA==\n".into(),
            "text\n\n\u{2014} a\u{a0}b AAAAAGZm\n".into(),
        ] {
            assert!(Note::parse(&bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn limits_come_first() {
        let line = "\u{2014} a AAAAAGZm\n";
        let limit = |note: String| match Note::parse(&note) {
            Err(LogError::Limit { what, .. }) => what,
            Err(other) => panic!("{other}"),
            Ok(_) => "none",
        };
        assert_eq!(limit(format!("text\n\n{}", line.repeat(NOTE_SIGNATURES_MAX))), "none");
        assert_eq!(limit(format!("text\n\n{}", line.repeat(NOTE_SIGNATURES_MAX + 1))), "signatures");
        assert_eq!(limit("\n".repeat(NOTE_LINES_MAX + 1)), "lines");
        assert_eq!(limit("x".repeat(NOTE_BYTES_MAX + 1)), "bytes");
    }
}
