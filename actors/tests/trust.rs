//! Trust as peers see it over real sockets: four answers to a certificate, and a well-signed notice by somebody who has
//! no right to it.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::time::Duration as StdDuration;

use plumb_actors::audit::ListEvents;
use plumb_actors::federation::{AwaitPeers, ConnectPeer, ListPeers, PeerView, TrustOrganisation};
use plumb_actors::ingestion::{IngestSources, Intake, JobState, ListSources, ShowJob};
use plumb_actors::retrieval::AssembleContext;
use plumb_actors::verification::{ListNotices, Statement, TakeUp};
use plumb_actors::{Caller, Node, NodeOptions, Person};
use plumb_core::boundary::{DepartmentPolicy, Sensitivity};
use plumb_core::content::parse_cid;
use plumb_core::identity::{EntityId, NodeId, SecretKey, Signed};
use plumb_core::measure::{Duration, Timestamp};
use plumb_core::notice::{Notice, NoticeKind, NoticeTag, Reason};
use plumb_core::trust::{
    Capability, Certificate, Place, Revocation, RevocationReason, RevocationTag, Terms, certify_under,
};
use plumb_federation::driver::{self, Network, NetworkEvent, NetworkHandle, Protocol};
use plumb_federation::wire::hello::{Hello, HelloResponse};
use plumb_federation::wire::notice::{NoticeRequest, NoticeResponse};
use plumb_federation::wire::search::{SearchRequest, SearchResponse, StatisticsAsked};
use tokio::sync::mpsc;

const SOON: Duration = Duration::seconds(20);
const DAY: i64 = 86_400_000;

fn key(n: u8) -> SecretKey {
    SecretKey::from_seed([n; 32])
}

fn now() -> Timestamp {
    let since = std::time::SystemTime::now().duration_since(std::time::SystemTime::UNIX_EPOCH).unwrap();
    Timestamp(i64::try_from(since.as_millis()).unwrap())
}

fn department() -> EntityId {
    "department-works".parse().unwrap()
}

/// Root `root` certifies node `node` for a day that begins so many ms from now.
fn certificate(root: u8, node: u8, begins: i64, capabilities: Option<&[Capability]>) -> Signed<Certificate> {
    let terms = Terms {
        department: department(),
        capabilities: capabilities.map(|all| all.iter().cloned().collect()),
        succeeds: vec![],
        validity: Duration::days(1),
    };
    certify_under(&key(root), &[], "Org", key(node).public(), terms, Timestamp(now().0 + begins)).unwrap()
}

async fn start(home: &std::path::Path, node: u8, certificate: Signed<Certificate>) -> Node {
    let person = Person { id: "person-operator".parse().unwrap(), teams: vec![], departments: vec![department()] };
    let options = NodeOptions {
        home: home.to_path_buf(),
        key: key(node),
        certificate,
        people: vec![person],
        policy: DepartmentPolicy::default(),
        network: Some(driver::Options::default()),
        source_bytes_max: 64 << 20,
        sync: plumb_actors::federation::SyncMode::QueryOnly,
        sync_every: plumb_core::propagation::CYCLE,
        model: plumb_actors::meaning::ModelChoice::Off,
        search: plumb_actors::federation::SearchPolicy::default(),
    };
    Node::start(options).await.unwrap()
}

async fn trust(node: &Node, root: u8) {
    let trust = TrustOrganisation {
        by: "test".into(),
        org: key(root).public(),
        name: Some("other".into()),
        incoming: None,
        outgoing: None,
        weight: None,
    };
    node.federation.ask(trust, SOON).await.unwrap();
}

async fn peer(node: &Node, other: &NodeId) -> Option<PeerView> {
    let view = node.federation.ask(ListPeers, SOON).await.unwrap();
    view.peers.into_iter().find(|p| p.node == other.to_string())
}

/// Waits until something holds, within a bound.
async fn until<T, F: Future<Output = Option<T>>>(what: &str, mut look: impl FnMut() -> F) -> T {
    for _ in 0..800 {
        if let Some(found) = look().await {
            return found;
        }
        tokio::time::sleep(StdDuration::from_millis(50)).await;
    }
    panic!("waited in vain: {what}");
}

/// Four nodes come to one door, each with a certificate that is wrong in its own way. Each is told which, in its own
/// words, and the doorkeeper's operator sees the same.
#[actix::test]
async fn four_answers_over_the_network() {
    let homes: Vec<_> = (0..6).map(|_| tempfile::tempdir().unwrap()).collect();
    let door = start(homes[0].path(), 100, certificate(1, 100, -1000, None)).await;
    trust(&door, 2).await;
    let revocation = Revocation {
        tag: RevocationTag,
        org: key(2).public(),
        node: key(103).public(),
        certificate: None,
        reason: RevocationReason::KeyLost,
        note: String::new(),
        log_size: None,
        at: now(),
    };
    let statement = Statement::Revocation(Box::new(Signed::seal(revocation, &key(2)).unwrap()));
    let take_up =
        |statement| TakeUp { by: "test".into(), statement, place: Place::Shown, admitted: vec![], is_ours: true };
    assert!(door.verification.ask(take_up(statement), SOON).await.unwrap().is_news);
    let address = door.federation.ask(ListPeers, SOON).await.unwrap().listening[0].clone();

    let mut texts = std::collections::BTreeSet::new();
    for (home, root, node, begins, code) in [
        (&homes[1], 2, 101, DAY / 2, Some("in_future")),
        (&homes[2], 2, 102, -3 * DAY, Some("expired")),
        (&homes[3], 2, 103, -1000, Some("revoked")),
        (&homes[4], 3, 104, -1000, Some("unknown_root")),
        // Four minutes ahead of the door's clock, which is no reason.
        (&homes[5], 2, 105, 240_000, None),
    ] {
        let visitor = start(home.path(), node, certificate(root, node, begins, None)).await;
        trust(&visitor, 1).await;
        visitor.federation.ask(ConnectPeer { address: address.clone() }, SOON).await.unwrap();
        let name = key(node).public();
        match code {
            Some(code) => {
                let refused_by = |p: &PeerView| p.state == "refused" && p.reason.as_deref() == Some(code);
                let seen = until(code, || async { peer(&door, &name).await.filter(refused_by) }).await;
                let doors = key(100).public();
                until(code, || async { peer(&visitor, &doors).await.filter(refused_by) }).await;
                texts.insert(seen.detail.unwrap());
            }
            None => {
                door.federation.ask(AwaitPeers { n: 1, deadline: SOON }, SOON).await.unwrap();
            }
        }
        visitor.stop().await;
    }
    assert_eq!(texts.len(), 4, "{texts:?}");
    door.stop().await;
}

/// A peer of our own making, which follows no rules but those of the wire.
struct Raw {
    handle: NetworkHandle,
    events: mpsc::Receiver<NetworkEvent>,
    certificate: Signed<Certificate>,
}

impl Raw {
    /// Comes to a node, says hello and answers its hello.
    async fn come(node: u8, certificate: Signed<Certificate>, address: &str, door: NodeId) -> Raw {
        let (handle, events) = Network::start(driver::Options::default(), &key(node)).await.unwrap();
        let mut raw = Raw { handle, events, certificate };
        raw.handle.dial(address.parse().unwrap()).await.unwrap();
        loop {
            match raw.next().await {
                NetworkEvent::Connected { .. } => break,
                event => raw.greet(event).await,
            }
        }
        let hello = Hello { certificate: raw.certificate.clone(), agent: "raw".into(), heads: vec![] };
        raw.handle.admit(door).await.unwrap();
        let answer = raw.ask(door, Protocol::Hello, hello.encode()).await;
        assert!(matches!(HelloResponse::decode(&answer).unwrap(), HelloResponse::Hello(_)));
        raw
    }

    async fn next(&mut self) -> NetworkEvent {
        let within = tokio::time::timeout(StdDuration::from_secs(20), self.events.recv());
        within.await.expect("something happens in time").expect("the network runs")
    }

    /// Answers a hello.
    async fn greet(&self, event: NetworkEvent) {
        if let NetworkEvent::Request { protocol: Protocol::Hello, token, .. } = event {
            let hello = Hello { certificate: self.certificate.clone(), agent: "raw".into(), heads: vec![] };
            self.handle.respond(token, HelloResponse::Hello(hello).encode()).await.unwrap();
        }
    }

    /// Asks, and answers hellos meanwhile.
    async fn ask(&mut self, door: NodeId, protocol: Protocol, bytes: Vec<u8>) -> Vec<u8> {
        let handle = self.handle.clone();
        let request = handle.request(door, protocol, bytes, StdDuration::from_secs(20));
        tokio::pin!(request);
        loop {
            tokio::select! {
                done = &mut request => return done.unwrap(),
                event = self.events.recv() => match event {
                    Some(event) => self.greet(event).await,
                    None => panic!("the network ended"),
                },
            }
        }
    }

    async fn deliver(&mut self, door: NodeId, notice: Signed<Notice>) -> NoticeResponse {
        let certificate = self.certificate.clone();
        let request = NoticeRequest::Deliver { notice, certificate }.encode();
        NoticeResponse::decode(&self.ask(door, Protocol::Notice, request).await).unwrap()
    }
}

const STUDY: &str = "# Pump 7\n\nPump 7 is restarted at a pressure of 4 bar.\n";

#[actix::test]
async fn a_well_signed_notice_without_the_right_changes_nothing_and_is_shown() {
    let home = tempfile::tempdir().unwrap();
    // The door holds evidence of its own; a colleague of the same organisation and department comes.
    let door = start(home.path(), 100, certificate(1, 100, -1000, None)).await;
    let operator = || Caller { person: "person-operator".parse().unwrap(), operator: true };
    let intake = vec![Intake::Inline { name: "pump.md".into(), declared: None, bytes: STUDY.as_bytes().to_vec() }];
    let ask = IngestSources {
        caller: operator(),
        intake,
        scope: None,
        sensitivity: Some(Sensitivity::Public),
        adapter: None,
        dry_run: false,
    };
    let mut job = door.ingestion.ask(ask, SOON).await.unwrap();
    while job.state == JobState::Running {
        tokio::time::sleep(StdDuration::from_millis(20)).await;
        job = door.ingestion.ask(ShowJob { caller: operator(), id: job.id.clone() }, SOON).await.unwrap();
    }
    let list = ListSources { caller: operator(), name: None, after: None, limit: 1 };
    let source = door.ingestion.ask(list, SOON).await.unwrap()[0].cid.clone();
    let (address, id) = {
        let view = door.federation.ask(ListPeers, SOON).await.unwrap();
        (view.listening[0].clone(), key(100).public())
    };
    let found = || async {
        let ask = AssembleContext {
            caller: operator(),
            query: "pump pressure".into(),
            k: 5,
            peers: false.into(),
            deadline: Duration::seconds(5),
        };
        door.retrieval.ask(ask, SOON).await.unwrap().evidence.len()
    };
    let before = found().await;
    assert!(before > 0);

    let retraction = |publisher: u8, org: u8, signer: u8| {
        let notice = Notice {
            tag: NoticeTag,
            kind: NoticeKind::Retraction,
            reason: Reason::Fabrication,
            note: format!("believe {signer}"),
            targets: vec![parse_cid(&source).unwrap()],
            fingerprints: vec![],
            undoes: None,
            chunks: vec![],
            superseded_by: None,
            audience: None,
            publisher: key(publisher).public(),
            org: key(org).public(),
            issued_at: now(),
        };
        Signed::seal(notice, &key(signer)).unwrap()
    };
    let mut colleague = Raw::come(101, certificate(1, 101, -1000, None), &address, id).await;
    for notice in [
        retraction(100, 1, 101), // in the publisher's name
        retraction(101, 1, 101), // in its own name, about what another published
        retraction(101, 2, 101), // of another organisation
        retraction(100, 1, 9),   // signed by nobody who is known
    ] {
        let answer = colleague.deliver(id, notice.clone()).await;
        assert!(matches!(&answer, NoticeResponse::Refused { reason } if !reason.is_empty()), "{answer:?}");
        let listed = door.verification.ask(ListNotices { caller: operator(), limit: 100 }, SOON).await.unwrap();
        let shown = listed.iter().find(|n| n.notice == notice.cid().to_string()).unwrap();
        assert!(shown.refused.is_some() && shown.applied.is_none(), "{shown:?}");
    }
    let events = ListEvents { action: Some("notice.refuse".into()), before: None, limit: 10 };
    assert_eq!(door.audit.ask(events, SOON).await.unwrap().len(), 4);
    assert_eq!(found().await, before, "nothing changed");
    colleague.handle.shutdown().await;

    // A node that is certified for notices alone may not search, and one that is not may not publish notices.
    let mut silent = Raw::come(102, certificate(1, 102, -1000, Some(&[Capability::Notices])), &address, id).await;
    let asked = SearchRequest::Statistics(StatisticsAsked::new(1, "pump", 1000).unwrap());
    let answer = SearchResponse::decode(&silent.ask(id, Protocol::Search, asked.encode()).await).unwrap();
    assert!(matches!(&answer, SearchResponse::Denied { reason, .. } if reason.contains("search")), "{answer:?}");
    silent.handle.shutdown().await;
    let mut searcher = Raw::come(103, certificate(1, 103, -1000, Some(&[Capability::Search])), &address, id).await;
    let asked = SearchRequest::Statistics(StatisticsAsked::new(1, "pump", 1000).unwrap());
    let answer = SearchResponse::decode(&searcher.ask(id, Protocol::Search, asked.encode()).await).unwrap();
    assert!(matches!(&answer, SearchResponse::Statistics { .. }), "{answer:?}");
    let mut notice = retraction(103, 1, 103).value().clone();
    notice.targets = vec![plumb_core::content::RawBlock::raw(b"elsewhere".to_vec()).cid];
    let answer = searcher.deliver(id, Signed::seal(notice, &key(103)).unwrap()).await;
    assert!(matches!(&answer, NoticeResponse::Refused { reason } if reason.contains("certificate")), "{answer:?}");
    searcher.handle.shutdown().await;
    door.stop().await;
}
