//! The port behind which the models stand.

use plumb_core::retrieval::Mix;
use plumb_core::vector::{ModelId, Quantised, Table, VectorError};

use crate::quantise::QuantiseError;

/// A model that gives texts their vectors. It is shared between threads; a call holds its thread until it is done, so
/// it belongs on a blocking pool.
pub trait Embedder: Send + Sync {
    /// What makes this model's vectors comparable with each other and with no others.
    fn id(&self) -> &ModelId;

    /// Coordinates of a vector.
    fn dims(&self) -> usize {
        self.id().dims()
    }

    /// Tokens of a text that are read, the two that frame it included.
    fn max_tokens(&self) -> usize {
        self.id().max_tokens()
    }

    /// How its ranking joins that of words. Measured for this model: with the weight of a stronger one it would ruin
    /// what words found.
    fn mix(&self) -> Mix;

    /// How many tokens a text has, the two that frame it included: the size by which chunks are cut to fit.
    fn count_tokens(&self, text: &str) -> Result<usize, EmbedError>;

    /// The vectors of texts, in their order. The shortest are computed first.
    ///
    /// `stop` is asked before each pass through the model; when it says so, what was computed is dropped and the answer
    /// is [`EmbedError::Stopped`].
    fn embed(&self, texts: &[&str], stop: &(dyn Fn() -> bool + Sync)) -> Result<Vec<Embedded>, EmbedError>;

    /// The vectors of a text's tokens, for late interaction, without the two that frame it.
    fn embed_tokens(&self, text: &str) -> Result<Table, EmbedError>;
}

/// A text's vector, and how much of the text it speaks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Embedded {
    /// The vector; zero for a text without a single token.
    pub vector: Quantised,
    /// How many tokens the text has. Of a text over [`crate::TEXT_BYTES_MAX`], only those before that are counted.
    pub tokens: usize,
    /// Whether the text was longer than the model takes: the vector speaks for its beginning.
    pub cut: bool,
}

/// How a model works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Threads of its own pool. One is as fast as two on a machine that has other work.
    pub threads: usize,
    /// Texts in one pass through the network, padded to the longest of them. With more than one, a vector depends on the
    /// texts beside it: the identity says so, and such vectors do not mix with those of texts that went alone.
    pub texts_per_pass: usize,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { threads: 1, texts_per_pass: 1 }
    }
}

/// Why texts have no vectors.
#[derive(Debug, thiserror::Error)]
pub enum EmbedError {
    /// Whoever asked does not want them any more.
    #[error("embedding was stopped; ask again for the texts that are left")]
    Stopped,
    /// The vocabulary does not load, or the text does not go through it.
    #[error("the text cannot be cut into tokens: {0}")]
    Tokens(String),
    /// The threads do not start.
    #[error("the threads of the model cannot be started: {0}")]
    Threads(String),
    /// The network failed.
    #[error("the model failed: {0}")]
    Network(String),
    /// The network gave something that is no direction.
    #[error("the model gave a vector that cannot be quantised")]
    Quantise(#[from] QuantiseError),
    /// Vectors that do not belong together.
    #[error("the model gave vectors that do not fit")]
    Vector(#[from] VectorError),
    /// A model that gives one vector for a text and none for its tokens.
    #[error("`{0}` gives no vectors of tokens; late interaction needs all-minilm-l6-v2")]
    NoTokens(String),
}
