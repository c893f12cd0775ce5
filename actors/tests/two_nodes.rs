//! Two nodes of two organisations in one process, over real sockets: what one publishes the other finds, keeps, and
//! hears taken back.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::path::Path;
use std::time::Duration as StdDuration;

use plumb_actors::federation::{AwaitPeers, ConnectPeer, ListPeers, TrustOrganisation};
use plumb_actors::grounding::{AnswerQuestion, ExportBundle, ShowAnswer, VerifyBundle};
use plumb_actors::ingestion::{IngestSources, Intake, JobState, JobView, ListSources, ShowJob};
use plumb_actors::retrieval::AssembleContext;
use plumb_actors::supervisor::{Examine, Rebuild};
use plumb_actors::verification::{PublishNotice, ShowNotice};
use plumb_actors::{Caller, Node, NodeOptions, Person};
use plumb_core::boundary::{DepartmentPolicy, Sensitivity};
use plumb_core::exchange::Form;
use plumb_core::identity::{EntityId, SecretKey};
use plumb_core::measure::{Duration, Timestamp};
use plumb_core::notice::{NoticeKind, Reason};
use plumb_core::trust::{VALIDITY_DEFAULT, certify};
use plumb_federation::driver;

const SOON: Duration = Duration::seconds(20);

fn entity(name: &str) -> EntityId {
    name.parse().unwrap()
}

fn operator() -> Caller {
    Caller { person: entity("person-operator"), operator: true }
}

struct Running {
    node: Node,
    root: SecretKey,
    _home: Option<tempfile::TempDir>,
}

fn now() -> Timestamp {
    let since = std::time::SystemTime::now().duration_since(std::time::SystemTime::UNIX_EPOCH).unwrap();
    Timestamp(i64::try_from(since.as_millis()).unwrap())
}

async fn start(home: &Path, seed: u8, org: &str, department: &str, network: bool) -> (Node, SecretKey) {
    let (root, key) = (SecretKey::from_seed([seed; 32]), SecretKey::from_seed([seed + 100; 32]));
    let department = entity(department);
    let certificate = certify(&root, org, key.public(), department.clone(), now(), VALIDITY_DEFAULT).unwrap();
    let person = |name: &str| Person { id: entity(name), teams: vec![], departments: vec![department.clone()] };
    let options = NodeOptions {
        home: home.to_path_buf(),
        key,
        certificate,
        people: vec![person("person-operator"), person("person-ben")],
        policy: DepartmentPolicy::default(),
        network: network.then(driver::Options::default),
        source_bytes_max: 64 << 20,
        model: plumb_actors::meaning::ModelChoice::Off,
        search: plumb_actors::federation::SearchPolicy::default(),
        sync: plumb_actors::federation::SyncMode::QueryOnly,
        sync_every: plumb_core::propagation::CYCLE,
    };
    (Node::start(options).await.unwrap(), root)
}

async fn running(seed: u8, org: &str, department: &str) -> Running {
    let home = tempfile::tempdir().unwrap();
    let (node, root) = start(home.path(), seed, org, department, true).await;
    Running { node, root, _home: Some(home) }
}

async fn ingest(node: &Node, documents: &[(&str, &str)], sensitivity: Sensitivity) -> JobView {
    let intake = documents
        .iter()
        .map(|(name, text)| Intake::Inline { name: name.to_string(), declared: None, bytes: text.as_bytes().to_vec() })
        .collect();
    let ask = IngestSources {
        caller: operator(),
        intake,
        scope: None,
        sensitivity: Some(sensitivity),
        adapter: None,
        dry_run: false,
    };
    let mut job = node.ingestion.ask(ask, SOON).await.unwrap();
    while job.state == JobState::Running {
        tokio::time::sleep(StdDuration::from_millis(20)).await;
        job = node.ingestion.ask(ShowJob { caller: operator(), id: job.id.clone() }, SOON).await.unwrap();
    }
    assert_eq!(job.state, JobState::Done, "{job:?}");
    job
}

fn question(query: &str, peers: bool, save: bool) -> AnswerQuestion {
    AnswerQuestion {
        caller: operator(),
        query: query.into(),
        peers: peers.into(),
        deadline: Duration::seconds(5),
        save,
    }
}

/// Waits until something holds, within a bound.
async fn until<T, F: Future<Output = Option<T>>>(what: &str, mut look: impl FnMut() -> F) -> T {
    for _ in 0..400 {
        if let Some(found) = look().await {
            return found;
        }
        tokio::time::sleep(StdDuration::from_millis(50)).await;
    }
    panic!("waited in vain: {what}");
}

const STUDY: &str = "# Chloramine and biofilm\n\nA chloramine dose of 1.8 mg/L reduced biofilm growth by 62 percent in cast-iron mains.\n";
const QUERY: &str = "How much did chloramine reduce biofilm growth in cast-iron mains?";

#[actix::test]
async fn what_is_published_is_found_kept_and_heard_taken_back() {
    let publisher = running(1, "Halden", "department-hydrology").await;
    let reader = running(2, "Northwater", "department-operations").await;
    for (here, there) in [(&publisher, &reader), (&reader, &publisher)] {
        let trust = TrustOrganisation {
            by: "test".into(),
            org: there.root.public(),
            name: Some("other".into()),
            incoming: None,
            outgoing: None,
            weight: None,
        };
        here.node.federation.ask(trust, SOON).await.unwrap();
    }
    ingest(&publisher.node, &[("study.md", STUDY)], Sensitivity::Public).await;
    ingest(&publisher.node, &[("note.md", "The quillmark correction is 0.27 mg/L.")], Sensitivity::Internal).await;
    ingest(
        &reader.node,
        &[("pumps.md", "# Pumps\n\nPump 7 restarts at a pressure of 4 bar.\n")],
        Sensitivity::Internal,
    )
    .await;

    let address = publisher.node.federation.ask(ListPeers, SOON).await.unwrap().listening[0].clone();
    reader.node.federation.ask(ConnectPeer { address }, SOON).await.unwrap();
    for side in [&reader, &publisher] {
        side.node.federation.ask(AwaitPeers { n: 1, deadline: Duration::seconds(10) }, SOON).await.unwrap();
    }

    until("the publisher's log", || async {
        let peers = reader.node.federation.ask(ListPeers, SOON).await.unwrap().peers;
        peers.iter().any(|p| p.log_size > 0).then_some(())
    })
    .await;
    let answer = reader.node.grounding.ask(question(QUERY, true, true), SOON).await.unwrap();
    assert!(!answer.answer.abstained, "{answer:?}");
    assert!(answer.answer.claims[0].text.contains("62 percent"));
    assert_eq!(answer.coverage.peers[0].state, "answered", "{:?}", answer.coverage);
    let bundle = answer.bundle.unwrap();

    let hidden = AssembleContext {
        caller: operator(),
        query: "quillmark correction".into(),
        k: 10,
        peers: true.into(),
        deadline: Duration::seconds(5),
    };
    let found = reader.node.retrieval.ask(hidden, SOON).await.unwrap();
    assert_eq!(found.evidence.len(), 0, "internal evidence of another organisation is never found");

    let car = reader
        .node
        .grounding
        .ask(ExportBundle { caller: operator(), bundle: bundle.clone(), form: Form::Car, name: None }, SOON)
        .await
        .unwrap();
    let verdict = reader.node.grounding.ask(VerifyBundle { file: car.clone() }, SOON).await.unwrap();
    assert_eq!((verdict.exit_code, verdict.organisation_is_trusted), (0, true), "{verdict:?}");

    // The receipt reaches the publisher before it takes the study back.
    until("the receipt", || async {
        let sources = publisher
            .node
            .ingestion
            .ask(ListSources { caller: operator(), name: Some("study.md".into()), after: None, limit: 10 }, SOON)
            .await
            .unwrap();
        assert_eq!(sources.len(), 1);
        let events = publisher
            .node
            .audit
            .ask(plumb_actors::audit::ListEvents { action: Some("receipt.note".into()), before: None, limit: 1 }, SOON)
            .await
            .unwrap();
        (!events.is_empty()).then_some(())
    })
    .await;
    let retract = PublishNotice {
        caller: operator(),
        kind: NoticeKind::Retraction,
        reason: Reason::DataError,
        note: "the sensor was off".into(),
        targets: vec!["study.md".into()],
        chunks: Vec::new(),
        superseded_by: None,
        audience: None,
    };
    let notice = publisher.node.verification.ask(retract, SOON).await.unwrap();
    assert_eq!(notice.receipts.len(), 1, "{notice:?}");

    let flagged = until("the flag", || async {
        let shown =
            reader.node.grounding.ask(ShowAnswer { caller: operator(), bundle: bundle.clone() }, SOON).await.unwrap();
        (shown.state == "retracted-source").then_some(shown)
    })
    .await;
    assert!(flagged.flags[0].contains("data_error"), "{flagged:?}");
    until("the acknowledgement", || async {
        let cid = plumb_core::content::parse_cid(&notice.notice).unwrap();
        let view = publisher.node.verification.ask(ShowNotice { caller: operator(), notice: cid }, SOON).await.unwrap();
        (view.receipts[0].state == "acknowledged").then_some(())
    })
    .await;
    let verdict = reader.node.grounding.ask(VerifyBundle { file: car }, SOON).await.unwrap();
    assert_eq!(verdict.exit_code, 4, "{verdict:?}");
    let again = reader.node.grounding.ask(question(QUERY, true, false), SOON).await.unwrap();
    assert!(again.answer.abstained, "{again:?}");
    // The text does not come back under another name.
    let job = ingest(&reader.node, &[("copy.md", STUDY)], Sensitivity::Internal).await;
    assert_eq!((job.new, job.refused.len()), (0, 1), "{job:?}");
    for side in [&reader, &publisher] {
        let health = side.node.supervisor.ask(Examine, SOON).await.unwrap();
        assert!(health.healthy, "{health:?}");
        side.node.stop().await;
    }
}

#[actix::test]
async fn a_home_outlives_its_process() {
    let home = tempfile::tempdir().unwrap();
    let documents = [
        ("pumps.md", "# Pumps\n\nPump 7 restarts at a pressure of 4 bar.\n"),
        ("salary.md", "Salary review: the salary of Mara Lindqvist rises by 6.5 percent."),
    ];
    {
        let (node, _) = start(home.path(), 5, "Northwater", "department-operations", false).await;
        let job = ingest(&node, &documents, Sensitivity::Internal).await;
        assert_eq!((job.new, job.raised.len()), (2, 1), "{job:?}");
        let job = ingest(&node, &documents, Sensitivity::Internal).await;
        assert_eq!((job.new, job.unchanged), (0, 2));
        let ben = Caller { person: entity("person-ben"), operator: false };
        let salary = "By how much does the salary of Mara Lindqvist rise?";
        let mine = node.grounding.ask(question(salary, false, false), SOON).await.unwrap();
        assert!(!mine.answer.abstained, "the creator reads it");
        let theirs =
            node.grounding.ask(AnswerQuestion { caller: ben, ..question(salary, false, false) }, SOON).await.unwrap();
        assert!(theirs.answer.abstained && theirs.answer.citations.is_empty(), "nobody else does");
        node.stop().await;
    }
    // The store is closed when the last actor has gone.
    let node = until("the store is free", || async { start_again(home.path()).await }).await;
    let before = node.supervisor.ask(Examine, SOON).await.unwrap();
    node.supervisor.ask(Rebuild { by: "test".into() }, SOON).await.unwrap();
    let after = node.supervisor.ask(Examine, SOON).await.unwrap();
    assert!(before.healthy && after.healthy, "{before:?} {after:?}");
    assert_eq!(before.state_digest, after.state_digest);
    let answer =
        node.grounding.ask(question("At what pressure does pump 7 restart?", false, false), SOON).await.unwrap();
    assert_eq!(answer.answer.claims[0].text, "Pump 7 restarts at a pressure of 4 bar.");
    node.stop().await;
}

async fn start_again(home: &Path) -> Option<Node> {
    let (root, key) = (SecretKey::from_seed([5; 32]), SecretKey::from_seed([105; 32]));
    let department = entity("department-operations");
    let certificate = certify(&root, "Northwater", key.public(), department.clone(), now(), VALIDITY_DEFAULT).unwrap();
    let options = NodeOptions {
        home: home.to_path_buf(),
        key,
        certificate,
        people: vec![Person { id: entity("person-operator"), teams: vec![], departments: vec![department] }],
        policy: DepartmentPolicy::default(),
        network: None,
        source_bytes_max: 64 << 20,
        model: plumb_actors::meaning::ModelChoice::Off,
        search: plumb_actors::federation::SearchPolicy::default(),
        sync: plumb_actors::federation::SyncMode::QueryOnly,
        sync_every: plumb_core::propagation::CYCLE,
    };
    Node::start(options).await.ok()
}
