//! The model whose weights are in the program: paraphrase-MiniLM-L3-v2 with 4-bit weights.

use plumb_core::measure::Milli;
use plumb_core::retrieval::{Blend, Mix};
use plumb_core::vector::{ModelId, Pooling, Precision, Quantised, Table};
use pocket_encoder::Encoder;
use rayon::ThreadPool;

use crate::catalogue::{RULE_ALONE, hex};
use crate::embedder::{EmbedError, Embedded, Embedder, Settings};
use crate::passes;
use crate::quantise::quantise;
use crate::wordpiece::{Tokens, beginning, tokens};

/// SHA-256 of the weights in the crate, as its metadata says; a test compares.
const WEIGHTS: [u8; 32] = hex("dabb40d5d98a22372c8921acf048cb54bb8bf6d781b1233b2a360d5125789c7e");
const DIMS: u16 = 384;
const MAX_TOKENS: u16 = 128;

/// The embedded model. It needs no file and no set-up; alone it is weaker than words, and beside them it helps.
pub struct Pocket {
    id: ModelId,
    encoder: Encoder,
    pool: ThreadPool,
}

impl Pocket {
    /// Unpacks the weights, once for each program. It takes a tenth of a second and 70 MB.
    ///
    /// Texts always go alone through this model, whatever the settings say of passes.
    pub fn new(settings: Settings) -> Result<Pocket, EmbedError> {
        let name = "paraphrase-minilm-l3-v2";
        let id = ModelId::new(name, WEIGHTS, DIMS, MAX_TOKENS, Pooling::Mean, Precision::Q4, RULE_ALONE)
            .expect("the name and the dimensions above are in bounds, as every test shows");
        Ok(Pocket { id, encoder: Encoder::new().map_err(network)?, pool: passes::pool(settings.threads)? })
    }

    fn one(&self, text: &str, tokens: &Tokens) -> Result<Embedded, EmbedError> {
        let vector = if tokens.are_none() {
            Quantised::new(&self.id, vec![0; self.dims()])?
        } else {
            let read = beginning(text);
            let embedded = self.pool.install(|| self.encoder.embed(&[read])).map_err(network)?;
            let floats = embedded.first().ok_or_else(|| network("no vector came back"))?;
            quantise(&self.id, floats)?
        };
        Ok(Embedded { vector, tokens: tokens.total, cut: tokens.cut })
    }
}

impl Embedder for Pocket {
    fn id(&self) -> &ModelId {
        &self.id
    }

    fn mix(&self) -> Mix {
        Mix { blend: Blend::MinMax, dense: Milli::from_const(400) }
    }

    fn count_tokens(&self, text: &str) -> Result<usize, EmbedError> {
        Ok(tokens(text, self.max_tokens())?.total)
    }

    fn embed(&self, texts: &[&str], stop: &(dyn Fn() -> bool + Sync)) -> Result<Vec<Embedded>, EmbedError> {
        let mut read = Vec::with_capacity(texts.len());
        for text in texts {
            read.push((*text, tokens(text, self.max_tokens())?));
        }
        let pass = |some: &[&(&str, Tokens)]| some.iter().map(|(text, tokens)| self.one(text, tokens)).collect();
        passes::run(&read, |(_, tokens)| tokens.ids.len(), 1, stop, pass)
    }

    fn embed_tokens(&self, _text: &str) -> Result<Table, EmbedError> {
        Err(EmbedError::NoTokens(self.id.name().to_string()))
    }
}

fn network(error: impl std::fmt::Display) -> EmbedError {
    EmbedError::Network(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_identity_is_what_the_crate_says() {
        let info = pocket_encoder::model_info();
        assert_eq!(info.revision, format!("sha256:{}", crate::FileDigest(WEIGHTS)));
        assert_eq!((info.dimensions, info.max_tokens), (usize::from(DIMS), usize::from(MAX_TOKENS)));
    }
}
