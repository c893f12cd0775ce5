//! How peers behave, and what an operator sees of it.

use super::*;
use crate::driver::{DialFailure, RefusalReason, Trying};

/// Asks as fast as it can, and waits for no answer.
async fn flood(from: &Node, to: NodeId, requests: usize) -> usize {
    let ask = |_| from.handle.request(to, Protocol::Search, vec![7], PATIENCE);
    let mut refused = 0;
    for batch in 0..requests / 8 {
        let answers = futures::future::join_all((0..8).map(|place| ask((batch, place)))).await;
        refused += answers.iter().filter(|answer| answer.is_err()).count();
    }
    refused
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_peer_that_floods_is_excluded_and_others_are_served() {
    let slow = |options: &mut Options| options.limits.requests_per_second = 5;
    let (mut victim, mut flooder, mut honest) =
        (Node::start_with(1, slow).await, Node::start(2).await, Node::start(3).await);
    meet(&mut flooder, &mut victim, "tcp").await;
    meet(&mut honest, &mut victim, "tcp").await;
    let (flooder_id, victim_id) = (flooder.id(), victim.id());
    let flooding = tokio::spawn(async move { (flood(&flooder, victim_id, 400).await, flooder) });
    let mut heard = 0;
    let pause = loop {
        let event = victim.until("an exclusion", Some).await;
        match event {
            NetworkEvent::Request { token, bytes, .. } => {
                heard += 1;
                victim.handle.respond(token, bytes).await.unwrap();
            }
            NetworkEvent::Refused { node, reason: RefusalReason::Excluded { pause } } => {
                assert_eq!(node, flooder_id);
                break pause;
            }
            _ => {}
        }
    };
    // The burst, what came in while the flood lasted, and nothing more.
    assert!((20..150).contains(&heard), "{heard} requests were let through");
    assert!(Duration::ZERO < pause);
    victim.disconnected(flooder_id).await;
    assert_eq!(honest.round_trip(&mut victim, Protocol::Search, vec![1, 2]).await, [2, 1]);
    let (refused, mut flooder) = flooding.await.unwrap();
    assert!(300 < refused, "{refused}");

    // It does not get back in, and its own side says why not in words.
    let status = victim.handle.status().await;
    assert!(status.excluded.iter().any(|(node, left)| *node == flooder_id && *left <= pause));
    assert!(status.peers.iter().all(|peer| peer.node != flooder_id && peer.score == 100));
    let back = victim.within(WATCH, |event| matches!(event, NetworkEvent::Connected { .. }).then_some(()));
    assert!(back.await.is_none());

    // Whoever asks for it by name lets it in again.
    victim.handle.dial(flooder.addr("quic-v1").await).await.unwrap();
    victim.connected(flooder_id).await;
    flooder.connected(victim_id).await;
    end([victim, flooder, honest]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_address_says_why_it_is_not_reached_and_when_it_is_tried() {
    let (mut a, b) = (Node::start(1).await, Node::start(2).await);
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    // The listener is gone: nobody is at this port.
    let refused: Multiaddr = format!("/ip4/127.0.0.1/tcp/{}", silent.port()).parse().unwrap();
    let nameless: Multiaddr = b.addr("tcp").await.iter().take(2).collect();
    let wrong = nameless.with_p2p(crate::driver::peer_of_node(&key(9).public()).unwrap()).unwrap();
    let good = b.addr("quic-v1").await;
    for addr in [&refused, &wrong, &good] {
        a.handle.dial(addr.clone()).await.unwrap();
    }
    let mut seen = std::collections::BTreeSet::new();
    while seen.len() < 3 {
        let addr = a.until("an outcome", |event| match event {
            NetworkEvent::DialFailed { addr, .. } => Some(addr.to_string()),
            NetworkEvent::Connected { .. } => Some("connected".to_string()),
            _ => None,
        });
        seen.insert(addr.await);
    }
    let status = a.handle.status().await;
    let of = |addr: &Multiaddr| status.addresses.iter().find(|address| address.addr == *addr).unwrap();
    assert_eq!(of(&refused).last_failure, Some(DialFailure::ConnectionRefused));
    assert_eq!(of(&wrong).last_failure.as_ref().map(DialFailure::code), Some("wrong_key"));
    assert_eq!(of(&wrong).node, Some(key(9).public()));
    assert!(of(&refused).failures >= 1 && of(&refused).last_tried.is_some());
    assert!(!matches!(of(&refused).trying, Trying::Connected));
    assert_eq!((of(&good).trying, of(&good).node), (Trying::Connected, Some(b.id())));
    end([a, b]).await;
}
