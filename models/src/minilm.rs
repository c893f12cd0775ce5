//! all-MiniLM-L6-v2 from a file, as floats or as 8-bit integers.

mod candle;
mod onnx;

use std::io::Read;
use std::path::{Path, PathBuf};

use plumb_core::retrieval::Mix;
use plumb_core::vector::{ModelId, Quantised, Table};
use sha2::{Digest, Sha256};

use crate::catalogue::{FileDigest, Format, Known, RULE_ALONE, RULE_PADDED};
use crate::embedder::{EmbedError, Embedded, Embedder, Settings};
use crate::passes;
use crate::quantise::{normalise, quantise};
use crate::wordpiece::{FRAME, Tokens, tokens};

/// Texts in one pass, at most. More of them need more memory and gain nothing.
const TEXTS_PER_PASS_MAX: usize = 64;

/// Why a model did not open.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The file is not there or cannot be read.
    #[error("the model file `{path}` cannot be read: add it again")]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The bytes are others than those that were added.
    #[error("the model file `{path}` is damaged: delete it and add it again")]
    Damaged {
        /// The file.
        path: PathBuf,
    },
    /// The runtime does not take what it is known to take.
    #[error("the model does not load: {0}")]
    Load(String),
    /// The threads do not start.
    #[error(transparent)]
    Threads(#[from] EmbedError),
}

/// Runs the network over padded texts: what it makes of each token.
trait Network: Send + Sync {
    /// `rows * width * dims` numbers, by row, then by place.
    fn hidden(&self, padded: &Padded) -> Result<Vec<f32>, EmbedError>;
}

/// Texts as a rectangle of token ids. Where `mask` is 0, nothing is.
struct Padded {
    ids: Vec<u32>,
    mask: Vec<u32>,
    rows: usize,
    width: usize,
}

impl Padded {
    fn new(texts: &[&Tokens]) -> Padded {
        let width = texts.iter().map(|tokens| tokens.ids.len()).max().unwrap_or(0);
        let mut padded = Padded { ids: Vec::new(), mask: Vec::new(), rows: texts.len(), width };
        for (row, tokens) in (1..).zip(texts) {
            padded.ids.extend(&tokens.ids);
            padded.mask.resize(padded.ids.len(), 1);
            padded.ids.resize(row * width, 0);
            padded.mask.resize(row * width, 0);
        }
        padded
    }
}

/// all-MiniLM-L6-v2.
pub struct MiniLm {
    id: ModelId,
    mix: Mix,
    texts_per_pass: usize,
    network: Box<dyn Network>,
}

impl MiniLm {
    /// Opens a model in a folder of models. The bytes that are checked are those that are used.
    pub fn open(models: &Path, known: &'static Known, settings: Settings) -> Result<MiniLm, OpenError> {
        let path = known.path(models);
        let bytes = read(&path, known.bytes)?;
        if FileDigest(Sha256::digest(&bytes).into()) != known.digest {
            return Err(OpenError::Damaged { path });
        }
        let network: Box<dyn Network> = match known.format {
            Format::Safetensors => Box::new(candle::Candle::load(bytes, settings.threads)?),
            Format::Onnx => Box::new(onnx::Onnx::load(bytes, settings.threads)?),
        };
        let texts_per_pass = settings.texts_per_pass.clamp(1, TEXTS_PER_PASS_MAX);
        let rule = if texts_per_pass == 1 { RULE_ALONE } else { RULE_PADDED };
        Ok(MiniLm { id: known.id(rule), mix: known.mix, texts_per_pass, network })
    }

    /// What the network makes of texts, `dims` numbers for each place of each row.
    fn hidden(&self, padded: &Padded) -> Result<Vec<f32>, EmbedError> {
        let hidden = self.network.hidden(padded)?;
        let expected = padded.rows * padded.width * self.dims();
        if hidden.len() != expected {
            return Err(EmbedError::Network(format!("{} numbers instead of {expected}", hidden.len())));
        }
        Ok(hidden)
    }

    /// The unit vector of a text before it is quantised, to measure what quantising costs. Whatever is kept or ranked
    /// comes from [`Embedder::embed`].
    pub fn floats(&self, text: &str) -> Result<Vec<f32>, EmbedError> {
        let tokens = tokens(text, self.max_tokens())?;
        let hidden = self.hidden(&Padded::new(&[&tokens]))?;
        self.direction(&tokens, &hidden)
    }

    /// A text's vector out of what the network makes of its tokens; what is behind them is padding.
    fn direction(&self, tokens: &Tokens, hidden: &[f32]) -> Result<Vec<f32>, EmbedError> {
        let mut mean = mean(&hidden[..tokens.ids.len() * self.dims()], self.dims());
        normalise(&mut mean)?;
        Ok(mean)
    }

    fn pass(&self, texts: &[&Tokens]) -> Result<Vec<Embedded>, EmbedError> {
        let padded = Padded::new(texts);
        let hidden = self.hidden(&padded)?;
        let rows = hidden.chunks_exact(padded.width * self.dims());
        let embedded = texts.iter().zip(rows).map(|(tokens, row)| {
            let vector = if tokens.are_none() {
                Quantised::new(&self.id, vec![0; self.dims()])?
            } else {
                quantise(&self.id, &self.direction(tokens, row)?)?
            };
            Ok(Embedded { vector, tokens: tokens.total, cut: tokens.cut })
        });
        embedded.collect()
    }
}

impl Embedder for MiniLm {
    fn id(&self) -> &ModelId {
        &self.id
    }

    fn mix(&self) -> Mix {
        self.mix
    }

    fn count_tokens(&self, text: &str) -> Result<usize, EmbedError> {
        Ok(tokens(text, self.max_tokens())?.total)
    }

    fn embed(&self, texts: &[&str], stop: &(dyn Fn() -> bool + Sync)) -> Result<Vec<Embedded>, EmbedError> {
        let texts: Vec<Tokens> = texts.iter().map(|text| tokens(text, self.max_tokens())).collect::<Result<_, _>>()?;
        passes::run(&texts, |tokens| tokens.ids.len(), self.texts_per_pass, stop, |some| self.pass(some))
    }

    fn embed_tokens(&self, text: &str) -> Result<Table, EmbedError> {
        let tokens = tokens(text, self.max_tokens())?;
        let hidden = self.hidden(&Padded::new(&[&tokens]))?;
        let mut table = Table::new(&self.id);
        let inner = tokens.ids.len().saturating_sub(FRAME);
        for token in hidden.chunks_exact(self.dims()).skip(1).take(inner) {
            let mut token = token.to_vec();
            normalise(&mut token)?;
            table.push(&quantise(&self.id, &token)?)?;
        }
        Ok(table)
    }
}

/// The mean over tokens, each coordinate summed in the order of the text.
fn mean(tokens: &[f32], dims: usize) -> Vec<f32> {
    let mut sums = vec![0f32; dims];
    for token in tokens.chunks_exact(dims) {
        sums.iter_mut().zip(token).for_each(|(sum, x)| *sum += x);
    }
    let n = tokens.len() / dims;
    sums.into_iter().map(|sum| sum / n as f32).collect()
}

/// Reads a file that must have this size.
fn read(path: &Path, size: u64) -> Result<Vec<u8>, OpenError> {
    let unreadable = |source| OpenError::Read { path: path.to_path_buf(), source };
    let file = std::fs::File::open(path).map_err(unreadable)?;
    if file.metadata().map_err(unreadable)?.len() != size {
        return Err(OpenError::Damaged { path: path.to_path_buf() });
    }
    let mut bytes = Vec::new();
    file.take(size).read_to_end(&mut bytes).map_err(unreadable)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::KNOWN;

    #[test]
    fn texts_are_padded_to_the_longest() {
        let texts = [tokens("full", 256).unwrap(), tokens("The reservoir", 256).unwrap()];
        let padded = Padded::new(&texts.iter().collect::<Vec<_>>());
        assert_eq!((padded.rows, padded.width), (2, 4));
        assert_eq!(padded.ids, [101, 2440, 102, 0, 101, 1996, 8071, 102]);
        assert_eq!(padded.mask, [1, 1, 1, 0, 1, 1, 1, 1]);
    }

    #[test]
    fn only_the_bytes_that_were_added_are_opened() {
        let models = tempfile::tempdir().unwrap();
        let known = &KNOWN[1];
        let open = || MiniLm::open(models.path(), known, Settings::default()).map(|_| ());
        assert!(matches!(open(), Err(OpenError::Read { .. })));
        std::fs::write(known.path(models.path()), b"short").unwrap();
        assert!(matches!(open(), Err(OpenError::Damaged { .. })));
        let file = std::fs::File::create(known.path(models.path())).unwrap();
        file.set_len(known.bytes).unwrap();
        assert!(matches!(open(), Err(OpenError::Damaged { .. })), "the size is right and the bytes are not");
    }
}
