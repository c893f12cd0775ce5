//! The thread that embeds.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use cid::Cid;
use plumb_core::vector::Quantised;
use plumb_storage::{Store, VectorIndex};

use super::choice::ModelChoice;
use super::{Model, State, folder, read, write};
use crate::kept;

/// Chunks that are embedded between two writes. What a stop interrupts is that much work.
const BATCH: usize = 16;

/// How long it waits for chunks before it looks whether it is to end.
const WAIT: Duration = Duration::from_millis(200);

/// How long it waits after a failure.
const RETRY: Duration = Duration::from_secs(10);

/// Names the model that had all vectors last.
const SERVING: &str = "serving";

pub(super) struct Worker {
    home: PathBuf,
    store: Store,
    choice: ModelChoice,
    state: Arc<RwLock<State>>,
    stop: Arc<AtomicBool>,
    entities_changed: Arc<AtomicBool>,
}

impl Worker {
    pub(super) fn new(
        home: PathBuf,
        store: Store,
        choice: ModelChoice,
        state: Arc<RwLock<State>>,
        stop: Arc<AtomicBool>,
        entities_changed: Arc<AtomicBool>,
    ) -> Worker {
        Worker { home, store, choice, state, stop, entities_changed }
    }

    pub(super) fn run(self) {
        while !self.is_stopped() {
            let Err(reason) = self.work() else { return };
            tracing::warn!(%reason, "no embeddings for now; words alone rank");
            write(&self.state).failed = Some(reason);
            self.rest();
        }
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }

    fn rest(&self) {
        let begun = std::time::Instant::now();
        while !self.is_stopped() && begun.elapsed() < RETRY {
            std::thread::sleep(WAIT);
        }
    }

    /// Opens the models, and embeds until it is told to stop.
    fn work(&self) -> Result<(), String> {
        let Some(chosen) = self.open(&self.choice)? else { return Ok(()) };
        let served = self.served().filter(|served| *served != self.choice);
        let serving = match served.map(|served| self.open(&served)) {
            // What served before is of use until the chosen one has everything, and no more than that.
            None | Some(Err(_)) => None,
            Some(Ok(serving)) => serving,
        };
        *write(&self.state) = State { serving, building: Some(chosen), failed: None };
        self.entities_changed.store(true, Ordering::Release);
        while !self.is_stopped() {
            let (serving, building) = {
                let state = read(&self.state);
                (state.serving.clone(), state.building.clone())
            };
            match (building, serving) {
                (Some(building), serving) => {
                    self.embed(&building)?;
                    self.survey(serving.as_ref().unwrap_or(&building))?;
                    self.switch(building)?;
                }
                (None, Some(serving)) => {
                    self.embed(&serving)?;
                    self.survey(&serving)?;
                }
                (None, None) => return Ok(()),
            }
        }
        Ok(())
    }

    fn open(&self, choice: &ModelChoice) -> Result<Option<Arc<Model>>, String> {
        let Some(embedder) = choice.load(&self.home)? else { return Ok(None) };
        let index = VectorIndex::open(&folder(&self.home, embedder.as_ref()), &self.store, embedder.id());
        Ok(Some(Arc::new(Model::new(embedder, index.map_err(|e| e.to_string())?))))
    }

    /// Embeds some of what waits, or waits for it a moment.
    fn embed(&self, model: &Model) -> Result<(), String> {
        let texts = model.index.waiting(BATCH, WAIT).map_err(|e| e.to_string())?;
        if texts.is_empty() {
            return Ok(());
        }
        let words: Vec<&str> = texts.iter().map(|(_, text)| text.as_str()).collect();
        let embedded = match model.embedder.embed(&words, &|| self.is_stopped()) {
            Ok(embedded) => embedded,
            Err(plumb_models::EmbedError::Stopped) => return Ok(()),
            Err(error) => return Err(error.to_string()),
        };
        let vectors: Vec<(Cid, Quantised)> =
            texts.iter().map(|(chunk, _)| *chunk).zip(embedded.into_iter().map(|e| e.vector)).collect();
        model.index.put(&vectors).map_err(|e| e.to_string())
    }

    /// Embeds the landmarks that have no vector.
    fn survey(&self, model: &Model) -> Result<(), String> {
        let landmarks = || model.landmarks.write().unwrap_or_else(PoisonError::into_inner);
        if self.entities_changed.swap(false, Ordering::AcqRel) {
            let entities = kept::entities(&self.store, None).collect::<Result<Vec<_>, _>>();
            landmarks().set_entities(entities.map_err(|e| e.to_string())?.into_iter());
        }
        // Chunks go before: without them a document is not found, without these a question is merely less understood.
        while model.index.counters().waiting.iter().all(|waiting| *waiting == 0) {
            let missing = landmarks().missing();
            match missing.embed(model.embedder.as_ref(), &|| self.is_stopped()) {
                Ok(Some(vectors)) => landmarks().found(missing, vectors),
                Ok(None) | Err(plumb_models::EmbedError::Stopped) => break,
                Err(error) => return Err(error.to_string()),
            }
        }
        Ok(())
    }

    /// The chosen model takes over as soon as it has everything. What served before stays on the disk.
    fn switch(&self, building: Arc<Model>) -> Result<(), String> {
        let counters = building.index.counters();
        if !counters.settled || counters.waiting.iter().any(|waiting| *waiting > 0) {
            return Ok(());
        }
        let file = self.home.join("vectors").join(SERVING);
        let new = file.with_extension("new");
        fs::write(&new, self.choice.to_string())
            .and_then(|()| fs::rename(&new, &file))
            .map_err(|e| format!("`{}` cannot be written: {e}", file.display()))?;
        tracing::info!(model = %building.embedder.id(), "every chunk has its vector");
        let mut state = write(&self.state);
        (state.serving, state.building) = (Some(building), None);
        self.entities_changed.store(true, Ordering::Release);
        Ok(())
    }

    fn served(&self) -> Option<ModelChoice> {
        fs::read_to_string(self.home.join("vectors").join(SERVING)).ok()?.parse().ok()
    }
}
