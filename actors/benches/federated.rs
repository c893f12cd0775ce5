//! What asking five peers costs against what the slowest of them needs for itself and one round trip, measured in one
//! run on the same documents.
//!
//! `cargo bench -p plumb-actors --bench federated` prints a table. Six real nodes in this process talk over real sockets
//! on loopback; the collection is that of `PLUMB_DATA` (default: `../shared/data` beside the workspace), cut into five.
//! Rounds are interleaved, so that whatever else the machine does falls on both sides. All nodes share this machine's
//! cores, which a federation does not: the ratio is an upper bound.

#[path = "shared/node.rs"]
mod node;

use std::time::{Duration, Instant};

use node::{DEADLINE, at, data, ingest, question, start};
use plumb_actors::Node;
use plumb_actors::federation::{AwaitPeers, ConnectPeer, ListPeers};
use plumb_actors::ingestion::Intake;
use plumb_core::boundary::Sensitivity;
use plumb_core::identity::SecretKey;
use plumb_federation::driver::{Network, NetworkEvent, NetworkHandle, Options, Protocol};

const N_PEERS: usize = 5;
const N_QUESTIONS: usize = 40;
const ROUND_TRIPS: usize = 200;

#[actix::main]
async fn main() {
    // `cargo test` runs benches without this flag to see that they start; there is nothing to see in a debug build.
    if !std::env::args().any(|a| a == "--bench") {
        println!("federated: run with `cargo bench -p plumb-actors --bench federated`");
        return;
    }
    let data = data();
    let homes: Vec<tempfile::TempDir> = (0..=N_PEERS).map(|_| tempfile::tempdir().expect("a temporary home")).collect();
    let mut nodes = Vec::new();
    for (n, home) in (0u8..).zip(&homes) {
        nodes.push(start(home.path(), n, Some(Options::default())).await);
    }
    let (asker, peers) = nodes.split_first().expect("there are six");
    let lines: Vec<String> = std::fs::read_to_string(data.join("scifact/corpus.jsonl"))
        .expect("the corpus is readable")
        .lines()
        .map(str::to_string)
        .collect();
    for (n, peer) in peers.iter().enumerate() {
        let part: Vec<&str> = lines.iter().skip(n).step_by(N_PEERS).map(String::as_str).collect();
        let corpus =
            Intake::Inline { name: "corpus.jsonl".to_string(), declared: None, bytes: part.join("\n").into_bytes() };
        ingest(peer, corpus, Sensitivity::Internal).await;
        let view = peer.federation.ask(ListPeers, DEADLINE).await.expect("the peer has a network");
        let address = view.listening.iter().find(|a| a.contains("/tcp/")).expect("it listens on TCP").clone();
        asker.federation.ask(ConnectPeer { address }, DEADLINE).await.expect("the peer can be dialled");
    }
    asker.federation.ask(AwaitPeers { n: N_PEERS, deadline: DEADLINE }, DEADLINE).await.expect("five peers");

    let questions: Vec<String> = lines
        .iter()
        .step_by(lines.len() / N_QUESTIONS)
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok()?["title"].as_str().map(str::to_string))
        .take(N_QUESTIONS)
        .collect();
    let round_trip = round_trip().await;
    let (mut federated, mut slowest) = (Vec::new(), Vec::new());
    for round in 0..2 {
        for question in &questions {
            let whole = search(asker, question, true).await;
            let mut alone = Duration::ZERO;
            for peer in peers {
                alone = alone.max(search(peer, question, false).await);
            }
            // The first round warms both sides.
            if round > 0 {
                federated.push(whole);
                slowest.push(alone + round_trip);
            }
        }
    }
    federated.sort_unstable();
    slowest.sort_unstable();
    println!(
        "{N_PEERS} peers, {} documents, {} questions, one round trip {round_trip:.2?}",
        lines.len(),
        questions.len()
    );
    println!("| what | federated | slowest peer alone and one round trip | ratio |\n| --- | --- | --- | --- |");
    for percent in [50, 95] {
        let (ours, theirs) = (at(&federated, percent), at(&slowest, percent));
        let ratio = ours.as_secs_f64() / theirs.as_secs_f64();
        println!("| search over {N_PEERS} peers, top 10, p{percent} | {ours:.2?} | {theirs:.2?} | {ratio:.2} |");
    }
    for node in &nodes {
        node.stop().await;
    }
}

async fn search(node: &Node, text: &str, peers: bool) -> Duration {
    let begin = Instant::now();
    let found = node.retrieval.ask(question(text, peers), DEADLINE).await.expect("a search");
    let took = begin.elapsed();
    assert!(found.coverage.complete, "{:?}", found.coverage);
    took
}

/// The median of one exchange between two bare networks: a small request, a small answer, nothing in between.
async fn round_trip() -> Duration {
    let (a, mut a_events) =
        Network::start(Options::default(), &SecretKey::from_seed([98; 32])).await.expect("a network");
    let (b, mut b_events) =
        Network::start(Options::default(), &SecretKey::from_seed([99; 32])).await.expect("a network");
    let address = b.listen_addrs().await.into_iter().find(|a| a.to_string().contains("/tcp/")).expect("TCP");
    a.dial(address).await.expect("it can be dialled");
    connected(&mut a_events).await;
    connected(&mut b_events).await;
    admit(&a, &b).await;
    let echo = {
        let b = b.clone();
        actix::spawn(async move {
            while let Some(event) = b_events.recv().await {
                if let NetworkEvent::Request { bytes, token, .. } = event {
                    let _ = b.respond(token, bytes).await;
                }
            }
        })
    };
    let mut took = Vec::new();
    for _ in 0..ROUND_TRIPS {
        let begin = Instant::now();
        let answer = a.request(b.node(), Protocol::Search, b"ping".to_vec(), Duration::from_secs(10)).await;
        answer.expect("an answer");
        took.push(begin.elapsed());
    }
    a.shutdown().await;
    b.shutdown().await;
    let _ = echo.await;
    took.sort_unstable();
    took[took.len() / 2]
}

async fn connected(events: &mut tokio::sync::mpsc::Receiver<NetworkEvent>) {
    while let Some(event) = events.recv().await {
        if matches!(event, NetworkEvent::Connected { .. }) {
            return;
        }
    }
}

async fn admit(a: &NetworkHandle, b: &NetworkHandle) {
    a.admit(b.node()).await.expect("it is connected");
    b.admit(a.node()).await.expect("it is connected");
}
