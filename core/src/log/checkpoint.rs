//! The head of a log, signed: C2SP `tlog-checkpoint`.
//!
//! ```text
//! example.com/behind-the-sofa                                 origin: the log's name, and its key's
//! 20852163                                                    size
//! CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=                root
//!
//! — example.com/behind-the-sofa Az3grlgtzPICa5OS8npVmf1M…     signature over the three lines
//! ```

use std::fmt;
use std::str::FromStr;
use std::sync::{Arc, OnceLock};

use multibase::Base;
use serde::{Deserialize, Serialize};

use super::note::{self, Note};
use super::{Hash, LOG_SIZE_MAX, LogError};
use crate::identity::{PublicKey, SecretKey};

/// Longest accepted origin.
const ORIGIN_LEN_MAX: usize = 256;

/// The name of a log, such as `operations.example/public`. It is also the name of the log's key.
///
/// The specification only recommends that the two agree and that an origin can name a key. Here both are required:
/// then the origin alone says which signature line must hold. A foreign log that does otherwise is not read.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Origin(String);

impl Origin {
    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Origin {
    type Err = LogError;
    fn from_str(text: &str) -> Result<Origin, LogError> {
        if text.len() <= ORIGIN_LEN_MAX && note::is_key_name(text) {
            Ok(Origin(text.to_string()))
        } else {
            Err(LogError::Origin(text.chars().take(ORIGIN_LEN_MAX).collect()))
        }
    }
}

impl TryFrom<String> for Origin {
    type Error = LogError;
    fn try_from(text: String) -> Result<Origin, LogError> {
        text.parse()
    }
}

impl From<Origin> for String {
    fn from(origin: Origin) -> String {
        origin.0
    }
}

/// What a log says of itself: so many entries, with this root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// Which log.
    pub origin: Origin,
    /// How many entries.
    pub size: u64,
    /// The root over them.
    pub root: Hash,
}

impl Checkpoint {
    /// Signs it as the log's key. The caller answers for never signing two heads that contradict each other.
    pub fn sign(&self, key: &SecretKey) -> SignedCheckpoint {
        let text = note::sign(&self.to_string(), self.origin.as_str(), key);
        SignedCheckpoint::of(text, self.clone())
    }

    /// Reads the text of a note. Extension lines are permitted and say nothing.
    fn parse(body: &str) -> Result<Checkpoint, LogError> {
        let mut lines = body.strip_suffix('\n').unwrap_or(body).split('\n');
        let mut line = |missing| lines.next().ok_or(LogError::Body(missing));
        let origin = line("it has no origin")?.parse()?;
        let size = parse_size(line("it has no size")?)?;
        let root = note::unbase64(line("it has no root")?)
            .and_then(|bytes| Hash::try_from(bytes).ok())
            .ok_or(LogError::Body("the root is not 32 bytes of base64"))?;
        if lines.any(str::is_empty) {
            return Err(LogError::Body("an extension line is empty"));
        }
        Ok(Checkpoint { origin, size, root })
    }
}

/// Decimal, without sign and leading zeros: one size has one text.
fn parse_size(text: &str) -> Result<u64, LogError> {
    let size = text
        .parse::<u64>()
        .ok()
        .filter(|size| size.to_string() == text)
        .ok_or(LogError::Body("the size is not a plain decimal number"))?;
    if size <= LOG_SIZE_MAX { Ok(size) } else { Err(LogError::Size(size)) }
}

/// The text that is signed: three lines.
impl fmt::Display for Checkpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let root = Base::Base64Pad.encode(self.root);
        writeln!(f, "{}\n{}\n{root}", self.origin, self.size)
    }
}

/// A [`Checkpoint`] with its signatures. Its text is kept byte for byte, with the lines that mean nothing here, so that
/// it can be passed on and still holds for whoever understands them.
///
/// **It may be forged until [`SignedCheckpoint::verify`] has said otherwise.** Copies share the text, and what was found
/// out about its signature: the same bytes are not verified twice.
#[derive(Clone, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SignedCheckpoint(Arc<Text>);

struct Text {
    text: String,
    checkpoint: Checkpoint,
    /// A key that signed it, once that was checked. Nothing here can change afterwards, so it holds for ever.
    signed_by: OnceLock<PublicKey>,
}

impl PartialEq for SignedCheckpoint {
    fn eq(&self, other: &SignedCheckpoint) -> bool {
        // The checkpoint is read from the text.
        Arc::ptr_eq(&self.0, &other.0) || self.0.text == other.0.text
    }
}

impl Eq for SignedCheckpoint {}

impl SignedCheckpoint {
    fn of(text: String, checkpoint: Checkpoint) -> SignedCheckpoint {
        SignedCheckpoint(Arc::new(Text { text, checkpoint, signed_by: OnceLock::new() }))
    }

    /// Reads any text: it is a checkpoint, or this says why not.
    pub fn parse(text: &str) -> Result<SignedCheckpoint, LogError> {
        let note = Note::parse(text)?;
        let checkpoint = Checkpoint::parse(note.text)?;
        Ok(SignedCheckpoint::of(text.to_string(), checkpoint))
    }

    /// What is claimed.
    pub fn checkpoint(&self) -> &Checkpoint {
        &self.0.checkpoint
    }

    /// The signed note, as it came.
    pub fn as_str(&self) -> &str {
        &self.0.text
    }

    /// The text that signatures are over, with extension lines if it has any.
    pub(super) fn note_text(&self) -> Result<&str, LogError> {
        Ok(Note::parse(&self.0.text)?.text)
    }

    /// Checks that the log's key signed it.
    pub fn verify(&self, key: &PublicKey) -> Result<(), LogError> {
        if self.0.signed_by.get() == Some(key) {
            return Ok(());
        }
        let note = Note::parse(&self.0.text)?;
        let origin = &self.0.checkpoint.origin;
        if note.is_signed_by(origin.as_str(), key) {
            // Where several keys signed, the first that was asked about is remembered.
            let _ = self.0.signed_by.set(*key);
            Ok(())
        } else {
            Err(LogError::Unsigned(origin.to_string()))
        }
    }
}

impl fmt::Display for SignedCheckpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.text)
    }
}

impl fmt::Debug for SignedCheckpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SignedCheckpoint({:?})", self.0.text)
    }
}

impl FromStr for SignedCheckpoint {
    type Err = LogError;
    fn from_str(text: &str) -> Result<SignedCheckpoint, LogError> {
        SignedCheckpoint::parse(text)
    }
}

impl TryFrom<String> for SignedCheckpoint {
    type Error = LogError;
    fn try_from(text: String) -> Result<SignedCheckpoint, LogError> {
        SignedCheckpoint::parse(&text)
    }
}

impl From<SignedCheckpoint> for String {
    fn from(signed: SignedCheckpoint) -> String {
        signed.0.text.clone()
    }
}

/// Two faces of one log: heads of the same size with different roots, both signed. Nobody but the holder of the key
/// can make one, so it convinces whoever it is shown to, for ever.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Equivocation {
    /// One face.
    pub a: SignedCheckpoint,
    /// The other.
    pub b: SignedCheckpoint,
}

impl Equivocation {
    /// Checks that it convicts the holder of this key. Heads of two logs (a public one and an internal one, say) that
    /// share a key convict nobody, and neither do heads of different size: those are for [`super::verify_consistency`].
    pub fn check(&self, key: &PublicKey) -> Result<(), LogError> {
        let (a, b) = (self.a.checkpoint(), self.b.checkpoint());
        if a.origin != b.origin {
            return Err(LogError::Compatible("they are of two logs"));
        }
        if a.size != b.size {
            return Err(LogError::Compatible("they are of two sizes"));
        }
        if a.root == b.root {
            return Err(LogError::Compatible("their roots are equal"));
        }
        self.a.verify(key)?;
        self.b.verify(key)
    }
}

#[cfg(test)]
mod tests;
