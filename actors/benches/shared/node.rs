//! A node in this process, with real documents in it, and what is read off a list of times.

use std::path::{Path, PathBuf};
use std::time::Duration;

use plumb_actors::federation::{SearchPolicy, SyncMode};
use plumb_actors::ingestion::{IngestSources, Intake, JobState, ShowJob};
use plumb_actors::retrieval::AssembleContext;
use plumb_actors::{Caller, Node, NodeOptions, Person};
use plumb_core::boundary::{DepartmentPolicy, Sensitivity};
use plumb_core::identity::{EntityId, SecretKey};
use plumb_core::measure::{Duration as Span, Timestamp};
use plumb_core::trust::{VALIDITY_DEFAULT, certify};
use plumb_federation::driver::Options;

/// How long anything here may take.
pub const DEADLINE: Span = Span::seconds(300);

/// The folder of test collections; without it there is nothing to measure, and that is said.
pub fn data() -> PathBuf {
    let default = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data");
    let data = std::env::var_os("PLUMB_DATA").map_or_else(default, PathBuf::from);
    if !data.join("scifact/corpus.jsonl").exists() {
        eprintln!("no scifact/corpus.jsonl below {}; set PLUMB_DATA to the folder of test collections", data.display());
        std::process::exit(1);
    }
    data
}

/// Who asks.
pub fn caller() -> Caller {
    Caller { person: "person-operator".parse().expect("a person's name"), operator: true }
}

/// The `n`-th node of one organisation.
pub async fn start(home: &Path, n: u8, network: Option<Options>) -> Node {
    let (root, key) = (SecretKey::from_seed([200; 32]), SecretKey::from_seed([n + 1; 32]));
    let department: EntityId = format!("department-bench-{n}").parse().expect("a department's name");
    let since = std::time::SystemTime::now().duration_since(std::time::SystemTime::UNIX_EPOCH).expect("after 1970");
    let now = Timestamp(i64::try_from(since.as_millis()).expect("a date that fits"));
    let certificate =
        certify(&root, "Bench", key.public(), department.clone(), now, VALIDITY_DEFAULT).expect("a certificate");
    let options = NodeOptions {
        home: home.to_path_buf(),
        key,
        certificate,
        people: vec![Person { id: caller().person, teams: vec![], departments: vec![department] }],
        policy: DepartmentPolicy::default(),
        network,
        source_bytes_max: 64 << 20,
        model: plumb_actors::meaning::ModelChoice::Off,
        search: SearchPolicy::default(),
        sync: SyncMode::QueryOnly,
        sync_every: plumb_core::propagation::CYCLE,
    };
    Node::start(options).await.expect("a node in an empty home")
}

/// Takes documents in, and waits until they are found.
pub async fn ingest(node: &Node, intake: Intake, sensitivity: Sensitivity) {
    let ask = IngestSources {
        caller: caller(),
        intake: vec![intake],
        scope: None,
        sensitivity: Some(sensitivity),
        adapter: None,
        dry_run: false,
    };
    let mut job = node.ingestion.ask(ask, DEADLINE).await.expect("the corpus is taken in");
    while job.state == JobState::Running {
        tokio::time::sleep(Duration::from_millis(5)).await;
        job = node.ingestion.ask(ShowJob { caller: caller(), id: job.id }, DEADLINE).await.expect("the job");
    }
    assert_eq!(job.state, JobState::Done, "{job:?}");
}

/// A question for the ten best, of this node or of all.
pub fn question(text: &str, peers: bool) -> AssembleContext {
    AssembleContext {
        caller: caller(),
        query: text.to_string(),
        k: 10,
        peers: peers.into(),
        deadline: Span::seconds(20),
    }
}

/// The value at a percentile of a sorted list.
pub fn at(sorted: &[Duration], percent: usize) -> Duration {
    sorted[(sorted.len() * percent).div_ceil(100).saturating_sub(1)]
}
