//! The node: its actors behind their doors, started and stopped together.

use std::path::PathBuf;
use std::sync::{Arc, PoisonError};

use actix::{Arbiter, ArbiterHandle};
use plumb_core::boundary::DepartmentPolicy;
use plumb_core::identity::{EntityId, SecretKey, Signed};
use plumb_core::measure::Duration;
use plumb_core::trust::Certificate;
use plumb_federation::driver::Network;
use plumb_sources::{Limits, Registry};
use plumb_storage::{IndexCounters, IndexOptions, Store, StoreCounters, StoreOptions, TextIndex};
use tokio::sync::Mutex;

use crate::audit::Audit;
use crate::door::{Door, Late};
use crate::entities::Entities;
use crate::error::NodeError;
use crate::federation::{Desk, Federation, Link, SearchPolicy, SyncMode};
use crate::gravity::Gravity;
use crate::grounding::Grounding;
use crate::ingestion::{Ingestion, Jobs};
use crate::kept;
use crate::meaning::{Meaning, MeaningView, ModelChoice};
use crate::premises::{Kept, Premises, blocking};
use crate::retrieval::Retrieval;
use crate::supervisor::{ActorView, Supervisor};
use crate::verification::{Verification, settle_own};

/// A person who may ask this node, with what they belong to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Person {
    /// `person-…`
    pub id: EntityId,
    /// Their teams.
    pub teams: Vec<EntityId>,
    /// Their departments. The node's own department is not implied.
    pub departments: Vec<EntityId>,
}

/// What a node needs to live.
#[derive(Clone)]
pub struct NodeOptions {
    /// The home: `store/` and `index/` are below it.
    pub home: PathBuf,
    /// The node's key.
    pub key: SecretKey,
    /// Its certificate.
    pub certificate: Signed<Certificate>,
    /// Who may ask.
    pub people: Vec<Person>,
    /// What the organisation lets through where the matrix says "policy".
    pub policy: DepartmentPolicy,
    /// How it reaches others; `None` for a command that works on the home alone.
    pub network: Option<plumb_federation::driver::Options>,
    /// Largest source that is taken in, in bytes.
    pub source_bytes_max: u64,
    /// The model by whose vectors texts are found.
    pub model: ModelChoice,
    /// What other nodes are told in a search.
    pub search: SearchPolicy,
    /// When teachings are sent to peers.
    pub sync: SyncMode,
    /// How often, in the background.
    pub sync_every: Duration,
}

/// A running node. It must be started inside an actix system.
#[derive(Clone)]
pub struct Node {
    /// Takes sources in.
    pub ingestion: Door<Ingestion>,
    /// Finds.
    pub retrieval: Door<Retrieval>,
    /// Answers.
    pub grounding: Door<Grounding>,
    /// Applies notices.
    pub verification: Door<Verification>,
    /// Lets knowledge rise.
    pub gravity: Door<Gravity>,
    /// Knows who and what there is.
    pub entities: Door<Entities>,
    /// Writes down.
    pub audit: Door<Audit>,
    /// Speaks to others.
    pub federation: Door<Federation>,
    /// Looks after the others.
    pub supervisor: Door<Supervisor>,
    inner: Arc<Inner>,
}

/// How long work that runs may take to come to a safe point when a node stops.
const DRAIN: std::time::Duration = std::time::Duration::from_secs(20);

impl Node {
    /// Opens the home and starts every actor.
    pub async fn start(options: NodeOptions) -> Result<Node, NodeError> {
        let premises = {
            let options = options.clone();
            blocking(move || open(options)).await?
        };
        let jobs = Arc::new(Jobs::default());
        {
            let (premises, jobs) = (premises.clone(), jobs.clone());
            blocking(move || {
                jobs.settle(&premises)?;
                let event = |publisher: &_| premises.event("node", "log.hash", publisher, "ok", "");
                kept::complete_trees(&premises.store, &premises.node(), event)?;
                settle_own(&premises)
            })
            .await?;
        }
        let link = match options.network {
            None => None,
            Some(mut network) => {
                let premises = premises.clone();
                network.blocked = blocking(move || Ok(kept::blocked(&premises.store)?)).await?;
                let bootstrap = network.bootstrap.iter().map(ToString::to_string).collect();
                let (network, events) = Network::start(network, &options.key).await?;
                let desk = Arc::new(Desk::new(options.search));
                let (sync, sync_every) = (options.sync, options.sync_every);
                Some(Link { network, events: Arc::new(Mutex::new(events)), bootstrap, desk, sync, sync_every })
            }
        };
        Ok(Node::assemble(premises, jobs, link))
    }

    /// Every actor behind its door. Each recipe holds what its actor needs for another life.
    fn assemble(premises: Arc<Premises>, jobs: Arc<Jobs>, link: Option<Link>) -> Node {
        // One thread each for those that wait on each other; none of them does work that blocks.
        let arbiters = Arbiters::default();
        let audit = {
            let premises = premises.clone();
            Door::open(&arbiters.next(), move || Audit::new(premises.clone()))
        };
        let late_verification = Late::default();
        let federation = {
            let (premises, link, verification) = (premises.clone(), link.clone(), late_verification.clone());
            Door::open(&arbiters.next(), move || Federation::new(premises.clone(), link.clone(), verification.clone()))
        };
        let verification = {
            let (premises, federation) = (premises.clone(), federation.clone());
            Door::open(&arbiters.next(), move || Verification::new(premises.clone(), federation.clone()))
        };
        late_verification.set(verification.clone());
        let retrieval = {
            let (premises, federation, audit) = (premises.clone(), federation.clone(), audit.clone());
            Door::open(&arbiters.next(), move || Retrieval::new(premises.clone(), federation.clone(), audit.clone()))
        };
        let grounding = {
            let (premises, retrieval, federation) = (premises.clone(), retrieval.clone(), federation.clone());
            Door::open(&arbiters.next(), move || {
                Grounding::new(premises.clone(), retrieval.clone(), federation.clone())
            })
        };
        let ingestion = {
            let (premises, jobs) = (premises.clone(), jobs.clone());
            Door::open(&arbiters.next(), move || Ingestion::new(premises.clone(), jobs.clone()))
        };
        let gravity = {
            let premises = premises.clone();
            Door::open(&arbiters.next(), move || Gravity::new(premises.clone()))
        };
        let entities = {
            let premises = premises.clone();
            Door::open(&arbiters.next(), move || Entities::new(premises.clone()))
        };
        let late_node = Late::default();
        let supervisor = {
            let (premises, late_node) = (premises.clone(), late_node.clone());
            Door::open(&arbiters.next(), move || Supervisor::new(premises.clone(), late_node.clone()))
        };
        let node = Node {
            ingestion,
            retrieval,
            grounding,
            verification,
            gravity,
            entities,
            audit,
            federation,
            supervisor,
            inner: Arc::new(Inner { premises, jobs, link, arbiters, late_verification, late_node: late_node.clone() }),
        };
        late_node.set(node.clone());
        node
    }

    /// Starts afresh whichever actor is gone.
    pub(crate) fn revive(&self) {
        self.ingestion.revive();
        self.retrieval.revive();
        self.grounding.revive();
        self.verification.revive();
        self.gravity.revive();
        self.entities.revive();
        self.audit.revive();
        self.federation.revive();
    }

    /// How each actor is.
    pub fn actors(&self) -> Vec<ActorView> {
        vec![
            self.ingestion.view(),
            self.retrieval.view(),
            self.grounding.view(),
            self.verification.view(),
            self.gravity.view(),
            self.entities.view(),
            self.audit.view(),
            self.federation.view(),
            self.supervisor.view(),
        ]
    }

    /// What is counted, for metrics.
    pub fn counters(&self) -> Result<(StoreCounters, IndexCounters), NodeError> {
        Ok((self.inner.premises.store.counters()?, self.inner.premises.index.counters()))
    }

    /// How it finds by meaning.
    pub fn meaning(&self) -> MeaningView {
        self.inner.premises.meaning.view()
    }

    /// Stops taking work, lets what runs come to a safe point, and flushes.
    pub async fn stop(&self) {
        self.inner.jobs.cancel_all();
        if let Some(link) = &self.inner.link {
            link.network.shutdown().await;
        }
        let until = tokio::time::Instant::now() + DRAIN;
        while self.inner.jobs.n_running() > 0 && tokio::time::Instant::now() < until {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
        self.inner.late_node.clear();
        self.inner.late_verification.clear();
        self.inner.arbiters.stop();
        // Every acknowledged change is on the disk already; the index commits what it has, and would catch up anyway.
        let premises = self.inner.premises.clone();
        let flushed = blocking(move || {
            premises.meaning.stop();
            Ok(premises.index.flush_to(premises.store.position())?)
        })
        .await;
        if let Err(error) = flushed {
            tracing::warn!(%error, "the index was not flushed; it catches up at the next start");
        }
    }
}

/// What the doors share.
struct Inner {
    premises: Arc<Premises>,
    jobs: Arc<Jobs>,
    link: Option<Link>,
    arbiters: Arbiters,
    late_verification: Late<Door<Verification>>,
    late_node: Late<Node>,
}

/// The threads on which actors live.
#[derive(Default)]
struct Arbiters(std::sync::Mutex<Vec<Arbiter>>);

impl Arbiters {
    fn next(&self) -> ArbiterHandle {
        let arbiter = Arbiter::new();
        let handle = arbiter.handle();
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(arbiter);
        handle
    }

    fn stop(&self) {
        for arbiter in self.0.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            arbiter.stop();
        }
    }
}

fn open(options: NodeOptions) -> Result<Arc<Premises>, NodeError> {
    let store = Store::open(&options.home.join("store"), StoreOptions::default())?;
    let index = TextIndex::open(&options.home.join("index"), &store, IndexOptions::default())?;
    let limits =
        Limits { source_bytes: usize::try_from(options.source_bytes_max).unwrap_or(usize::MAX), ..Limits::default() };
    let registry = Registry::standard().with_limits(limits);
    let meaning = Meaning::begin(&options.home, &store, options.model);
    let kept = Kept { store, index, meaning };
    Premises::new(kept, registry, options.key, options.certificate, options.people, options.policy)
}
