//! Meaning: the embedding model of this node, the vectors that it made, and the thread that makes more of them.
//!
//! Embedding a chunk costs tens of milliseconds, so it runs behind ingestion on a thread of its own, and words are found at
//! once. As long as many chunks have no vector yet, a ranking by meaning would prefer those that have one; so it takes part
//! only from [`SHARE_MIN`] on.
//!
//! **One model.** Vectors of two models lie in different folders and are never compared. A new model builds its vectors
//! beside those of the model that serves, and takes its place when it has all of them; the old ones stay on the disk, so the
//! way back costs what has changed since.

mod choice;
mod landmarks;
mod worker;

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use plumb_core::boundary::Sensitivity;
use plumb_core::retrieval::Mix;
use plumb_core::vector::Quantised;
use plumb_models::Embedder;
use plumb_storage::{Store, VectorCounters, VectorIndex};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

pub use choice::{ModelChoice, ModelChoiceError, models};
pub(crate) use landmarks::Bearings;
use landmarks::Landmarks;
use worker::Worker;

/// How many of a thousand chunks must have vectors before they take part in a ranking.
pub const SHARE_MIN: u16 = 900;

/// How long a question waits for a model that is being opened, and how often it looks.
const START_TIME: Duration = Duration::from_secs(3);
const LOOK: Duration = Duration::from_millis(5);

/// Questions whose vectors are remembered: each is asked of more than one stage of a search.
const QUESTIONS_KEPT: usize = 16;

/// A model at work: what embeds, and what it has embedded.
pub(crate) struct Model {
    pub embedder: Arc<dyn Embedder>,
    pub index: VectorIndex,
    landmarks: RwLock<Landmarks>,
    questions: Mutex<VecDeque<(String, Quantised)>>,
}

impl Model {
    fn new(embedder: Arc<dyn Embedder>, index: VectorIndex) -> Model {
        Model { embedder, index, landmarks: RwLock::default(), questions: Mutex::default() }
    }

    /// A question as a vector. A model that fails leaves the ranking to the words.
    fn question(&self, text: &str) -> Option<Quantised> {
        let mut kept = self.questions.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, vector)) = kept.iter().find(|(question, _)| question == text) {
            return Some(vector.clone());
        }
        drop(kept);
        let vector = match self.embedder.embed(&[text], &|| false) {
            Ok(embedded) => embedded.into_iter().next()?.vector,
            Err(error) => {
                tracing::warn!(%error, "the question was not embedded; words alone rank");
                return None;
            }
        };
        kept = self.questions.lock().unwrap_or_else(PoisonError::into_inner);
        kept.truncate(QUESTIONS_KEPT - 1);
        kept.push_front((text.to_string(), vector.clone()));
        Some(vector)
    }
}

/// What the thread and those who search have in common.
#[derive(Default)]
struct State {
    /// The model that had all vectors last.
    serving: Option<Arc<Model>>,
    /// The model that was chosen, as long as it has not.
    building: Option<Arc<Model>>,
    failed: Option<String>,
}

/// The meaning of what a node keeps.
pub(crate) struct Meaning {
    state: Arc<RwLock<State>>,
    stop: Arc<AtomicBool>,
    entities_changed: Arc<AtomicBool>,
    thread: Mutex<Option<JoinHandle<()>>>,
    choice: ModelChoice,
}

/// A question as a vector, and what it is compared with.
pub(crate) struct Asked {
    pub model: Arc<Model>,
    pub question: Quantised,
}

impl Asked {
    pub fn mix(&self) -> Mix {
        self.model.embedder.mix()
    }
}

impl Meaning {
    /// Begins to embed what is kept, if a model is chosen.
    pub fn begin(home: &std::path::Path, store: &Store, choice: ModelChoice) -> Meaning {
        let state: Arc<RwLock<State>> = Arc::default();
        let stop: Arc<AtomicBool> = Arc::default();
        let entities_changed: Arc<AtomicBool> = Arc::default();
        let meaning = |thread| Meaning {
            state: Arc::clone(&state),
            stop: Arc::clone(&stop),
            entities_changed: Arc::clone(&entities_changed),
            thread: Mutex::new(thread),
            choice: choice.clone(),
        };
        if choice == ModelChoice::Off {
            return meaning(None);
        }
        let worker = Worker::new(
            home.to_path_buf(),
            store.clone(),
            choice.clone(),
            state.clone(),
            stop.clone(),
            entities_changed.clone(),
        );
        match std::thread::Builder::new().name("plumb-embed".into()).spawn(move || worker.run()) {
            Ok(thread) => meaning(Some(thread)),
            Err(error) => {
                write(&state).failed = Some(format!("the thread that embeds cannot be started: {error}"));
                meaning(None)
            }
        }
    }

    /// The question as a vector, if enough of these partitions has vectors. A model that fails leaves the ranking to the
    /// words.
    pub fn ask(&self, text: &str, partitions: &[Sensitivity]) -> Option<Asked> {
        let model = self.ready(partitions)?;
        Some(Asked { question: model.question(text)?, model })
    }

    /// Where a question lies to the landmarks, as far as they are embedded.
    pub fn bearings(&self, text: &str) -> Bearings {
        let model = {
            let state = read(&self.state);
            state.serving.clone().or_else(|| state.building.clone())
        };
        let lie = |model: Arc<Model>| {
            let landmarks = model.landmarks.read().unwrap_or_else(PoisonError::into_inner);
            if landmarks.is_empty() {
                return None;
            }
            landmarks.bearings(&model.question(text)?).ok()
        };
        model.and_then(lie).unwrap_or_default()
    }

    /// The entities are others now.
    pub fn entities_changed(&self) {
        self.entities_changed.store(true, Ordering::Release);
    }

    /// Whether it is still loading the model or looking what there is.
    fn is_starting(&self) -> bool {
        let state = read(&self.state);
        let settled = |model: &Arc<Model>| model.index.counters().settled;
        let models = [&state.serving, &state.building];
        let nothing = models.iter().all(|model| model.is_none());
        self.choice != ModelChoice::Off
            && state.failed.is_none()
            && !self.stop.load(Ordering::Acquire)
            && (nothing || !models.into_iter().flatten().any(settled))
    }

    fn ready(&self, partitions: &[Sensitivity]) -> Option<Arc<Model>> {
        // A command that opens the home for one question would otherwise never see a vector.
        let begun = Instant::now();
        while self.is_starting() && begun.elapsed() < START_TIME {
            std::thread::sleep(LOOK);
        }
        let (serving, building) = {
            let state = read(&self.state);
            (state.serving.clone(), state.building.clone())
        };
        let is_ready = |model: &Arc<Model>| model.index.counters().share(partitions) >= SHARE_MIN;
        serving.filter(is_ready).or_else(|| building.filter(is_ready))
    }

    /// What is to be said of it.
    pub fn view(&self) -> MeaningView {
        let state = read(&self.state);
        let view = |model: &Arc<Model>| ModelView::of(model.embedder.id().to_string(), &model.index.counters());
        MeaningView {
            chosen: self.choice.to_string(),
            serving: state.serving.as_ref().map(view),
            building: state.building.as_ref().map(view),
            failed: state.failed.clone(),
        }
    }

    /// Ends the thread after the chunk that it is at.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Release);
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if thread.is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("the thread that embeds had stopped by a panic");
        }
        *write(&self.state) = State::default();
    }
}

impl Drop for Meaning {
    fn drop(&mut self) {
        self.stop();
    }
}

fn read(state: &RwLock<State>) -> std::sync::RwLockReadGuard<'_, State> {
    state.read().unwrap_or_else(PoisonError::into_inner)
}

fn write(state: &RwLock<State>) -> std::sync::RwLockWriteGuard<'_, State> {
    state.write().unwrap_or_else(PoisonError::into_inner)
}

/// Where the vectors of a model lie.
fn folder(home: &std::path::Path, embedder: &dyn Embedder) -> PathBuf {
    home.join("vectors").join(&embedder.id().digest().to_string()[..16])
}

/// How a node finds by meaning.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MeaningView {
    /// What the configuration says: `embedded`, `off`, or the name of a model that was added.
    pub chosen: String,
    /// The model whose vectors take part in rankings.
    pub serving: Option<ModelView>,
    /// The chosen model, as long as chunks wait for its vectors.
    pub building: Option<ModelView>,
    /// Why there is none, and what to do.
    pub failed: Option<String>,
}

/// A model and how far it has come.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ModelView {
    /// Its identity: name, precision, dimensions, pooling, tokens, rule, SHA-256 of its weights.
    pub model: String,
    /// Chunks that have a vector of it.
    pub embedded: u64,
    /// Chunks that wait for one.
    pub waiting: u64,
    /// Whether everything was compared with the store since the start.
    pub settled: bool,
    /// Why nothing moves, if nothing does.
    pub stalled: Option<String>,
}

impl ModelView {
    fn of(model: String, counters: &VectorCounters) -> ModelView {
        ModelView {
            model,
            embedded: counters.embedded.iter().sum(),
            waiting: counters.waiting.iter().sum(),
            settled: counters.settled,
            stalled: counters.stalled.clone(),
        }
    }
}
