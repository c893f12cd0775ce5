//! The float weights, run with candle.

use candle_core::{DType, Device, Tensor};
use candle_nn::VarBuilder;
use candle_transformers::models::bert::{BertModel, Config, HiddenAct, PositionEmbeddingType};
use rayon::ThreadPool;

use super::{Network, OpenError, Padded};
use crate::embedder::EmbedError;
use crate::passes;

/// The network of all-MiniLM-L6-v2, as the file that goes with the weights describes it.
fn config() -> Config {
    Config {
        vocab_size: 30_522,
        hidden_size: 384,
        num_hidden_layers: 6,
        num_attention_heads: 12,
        intermediate_size: 1536,
        hidden_act: HiddenAct::Gelu,
        hidden_dropout_prob: 0.1,
        max_position_embeddings: 512,
        type_vocab_size: 2,
        initializer_range: 0.02,
        layer_norm_eps: 1e-12,
        pad_token_id: 0,
        position_embedding_type: PositionEmbeddingType::Absolute,
        use_cache: true,
        classifier_dropout: None,
        model_type: Some("bert".into()),
    }
}

/// A BERT in memory. Its matrix products take the threads of the pool in which they are called.
pub(super) struct Candle {
    model: BertModel,
    pool: ThreadPool,
}

impl Candle {
    pub(super) fn load(bytes: Vec<u8>, threads: usize) -> Result<Candle, OpenError> {
        let failed = |e: candle_core::Error| OpenError::Load(e.to_string());
        let weights = VarBuilder::from_buffered_safetensors(bytes, DType::F32, &Device::Cpu).map_err(failed)?;
        Ok(Candle { model: BertModel::load(weights, &config()).map_err(failed)?, pool: passes::pool(threads)? })
    }

    fn forward(&self, padded: &Padded) -> candle_core::Result<Vec<f32>> {
        let shape = (padded.rows, padded.width);
        let ids = Tensor::from_slice(&padded.ids, shape, &Device::Cpu)?;
        let mask = Tensor::from_slice(&padded.mask, shape, &Device::Cpu)?;
        let kinds = ids.zeros_like()?;
        self.model.forward(&ids, &kinds, Some(&mask))?.flatten_all()?.to_vec1()
    }
}

impl Network for Candle {
    fn hidden(&self, padded: &Padded) -> Result<Vec<f32>, EmbedError> {
        self.pool.install(|| self.forward(padded)).map_err(|e| EmbedError::Network(e.to_string()))
    }
}
