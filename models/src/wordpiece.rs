//! Texts as the tokens that the models read: the WordPiece vocabulary of BERT, which all of them share.

use std::sync::OnceLock;

use tokenizers::Tokenizer;

use crate::embedder::EmbedError;

/// Bytes of a text that are looked at. A model reads some 250 tokens; whoever gives more than this should have cut it.
pub const TEXT_BYTES_MAX: usize = 64 * 1024;

/// Ends a text. A cut text is ended too.
const SEP: u32 = 102;

/// The tokens that frame every text: `[CLS]` and `[SEP]`.
pub(crate) const FRAME: usize = 2;

/// A text as a model reads it.
pub(crate) struct Tokens {
    /// What the model reads, framed.
    pub ids: Vec<u32>,
    /// How many tokens there were, framed.
    pub total: usize,
    /// Whether that was more than the model reads.
    pub cut: bool,
}

impl Tokens {
    /// Whether there is nothing between the frames.
    pub fn are_none(&self) -> bool {
        self.total <= FRAME
    }
}

/// Cuts a text into tokens, and keeps the first `max`.
pub(crate) fn tokens(text: &str, max: usize) -> Result<Tokens, EmbedError> {
    let read = beginning(text);
    let encoding = tokenizer()?.encode_fast(read, true).map_err(|e| EmbedError::Tokens(e.to_string()))?;
    let mut ids = encoding.get_ids().to_vec();
    let total = ids.len();
    let cut = max < total || read.len() < text.len();
    if max < total {
        ids.truncate(max.saturating_sub(1));
        ids.push(SEP);
    }
    Ok(Tokens { ids, total, cut })
}

/// What is looked at of a text.
pub(crate) fn beginning(text: &str) -> &str {
    &text[..text.floor_char_boundary(TEXT_BYTES_MAX)]
}

fn tokenizer() -> Result<&'static Tokenizer, EmbedError> {
    static TOKENIZER: OnceLock<Result<Tokenizer, String>> = OnceLock::new();
    let load = || {
        let mut tokenizer =
            Tokenizer::from_bytes(include_bytes!("../assets/tokenizer.json")).map_err(|e| e.to_string())?;
        tokenizer.with_padding(None);
        tokenizer.with_truncation(None).map_err(|e| e.to_string())?;
        Ok(tokenizer)
    };
    TOKENIZER.get_or_init(load).as_ref().map_err(|e| EmbedError::Tokens(e.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use sha2::{Digest, Sha256};

    #[test]
    fn the_vocabulary_is_the_published_one() {
        let digest = crate::FileDigest(Sha256::digest(include_bytes!("../assets/tokenizer.json")).into());
        assert_eq!(digest.to_string(), "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037");
    }

    #[test]
    fn a_text_is_framed_and_cut() {
        let all = tokens("The reservoir was full.", 256).unwrap();
        assert_eq!(all.ids, [101, 1996, 8071, 2001, 2440, 1012, 102]);
        assert!(!all.cut && all.total == 7);
        let some = tokens("The reservoir was full.", 4).unwrap();
        assert_eq!(some.ids, [101, 1996, 8071, 102]);
        assert!(some.cut && some.total == 7);
        assert!(tokens(" \n\t", 256).unwrap().are_none());
        assert!(!tokens("?", 256).unwrap().are_none());
    }

    #[test]
    fn an_endless_text_is_cut_before_it_is_read() {
        let endless = "ä ".repeat(TEXT_BYTES_MAX);
        let cut = tokens(&endless, 256).unwrap();
        assert!(cut.cut && cut.ids.len() == 256 && cut.total <= TEXT_BYTES_MAX);
        assert!(tokens(&"x".repeat(TEXT_BYTES_MAX + 1), 256).unwrap().cut);
    }
}
