//! The 8-bit weights, run with rten.

use std::sync::Arc;

use rten::{Model, ModelOptions, NodeId, RunOptions, ThreadPool, Value};
use rten_tensor::NdTensor;

use super::{Network, OpenError, Padded};
use crate::embedder::EmbedError;

/// A network in memory, and where things go into it and come out.
pub(super) struct Onnx {
    model: Model,
    ids: NodeId,
    mask: NodeId,
    kinds: NodeId,
    hidden: NodeId,
    pool: Arc<ThreadPool>,
}

impl Onnx {
    pub(super) fn load(bytes: Vec<u8>, threads: usize) -> Result<Onnx, OpenError> {
        let failed = |e: &dyn std::fmt::Display| OpenError::Load(e.to_string());
        let model = ModelOptions::with_all_ops().prepack_weights(true).load(bytes).map_err(|e| failed(&e))?;
        let node = |name: &str| model.node_id(name).map_err(|e| failed(&e));
        let (ids, mask, kinds) = (node("input_ids")?, node("attention_mask")?, node("token_type_ids")?);
        let hidden = node("last_hidden_state")?;
        let pool = Arc::new(ThreadPool::with_num_threads(threads.max(1)));
        Ok(Onnx { model, ids, mask, kinds, hidden, pool })
    }

    fn forward(&self, padded: &Padded) -> Result<Vec<f32>, String> {
        let shape = [padded.rows, padded.width];
        let input = |numbers: &[u32]| -> Result<Value, String> {
            let numbers: Result<Vec<i32>, _> = numbers.iter().map(|n| i32::try_from(*n)).collect();
            Ok(NdTensor::from_data(shape, numbers.map_err(|e| e.to_string())?).into())
        };
        let inputs = vec![
            (self.ids, input(&padded.ids)?.into()),
            (self.mask, input(&padded.mask)?.into()),
            (self.kinds, input(&vec![0; padded.ids.len()])?.into()),
        ];
        let options = RunOptions::default().with_thread_pool(Some(self.pool.clone()));
        let [hidden] = self.model.run_n(inputs, [self.hidden], Some(options)).map_err(|e| e.to_string())?;
        let (_, numbers) = hidden.into_shape_vec::<f32, 3>().map_err(|e| e.to_string())?;
        Ok(numbers)
    }
}

impl Network for Onnx {
    fn hidden(&self, padded: &Padded) -> Result<Vec<f32>, EmbedError> {
        self.forward(padded).map_err(EmbedError::Network)
    }
}
