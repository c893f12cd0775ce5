//! A node that cannot be dialled is reached through a relay that knows both, and directly once that is possible.

use libp2p::multiaddr::Protocol as Part;

use super::*;

fn serving(options: &mut Options) {
    options.relay = true;
    options.limits.redial_delay_min = Duration::from_millis(50);
}

/// A node that listens through the relay and nowhere else.
async fn behind(seed: u8, relay: &Node) -> Node {
    let through = relay.addr("tcp").await.with(Part::P2pCircuit);
    Node::start_with(seed, |options| options.listen = vec![through]).await
}

async fn admit_both(a: &mut Node, b: &mut Node) {
    a.connected(b.id()).await;
    b.connected(a.id()).await;
    a.handle.admit(b.id()).await.unwrap();
    b.handle.admit(a.id()).await.unwrap();
}

/// The address through the relay, once there is a reservation.
async fn circuit(node: &mut Node) -> Multiaddr {
    node.until("a reservation", |event| match event {
        NetworkEvent::Listening { addr } if addr.iter().any(|part| part == Part::P2pCircuit) => Some(addr),
        _ => None,
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_members_meet_through_a_relay_that_admitted_both() {
    let mut relay = Node::start_with(1, serving).await;
    let mut hidden = behind(2, &relay).await;
    admit_both(&mut hidden, &mut relay).await;
    let addr = circuit(&mut hidden).await;

    let mut caller = Node::start(3).await;
    caller.handle.dial(relay.addr("tcp").await).await.unwrap();
    admit_both(&mut caller, &mut relay).await;
    caller.handle.dial(addr).await.unwrap();
    admit_both(&mut caller, &mut hidden).await;
    assert_eq!(caller.round_trip(&mut hidden, Protocol::Search, vec![1, 2, 3]).await, [3, 2, 1]);
    assert_eq!(hidden.round_trip(&mut caller, Protocol::Notice, vec![4, 5]).await, [5, 4]);
    end([caller, hidden, relay]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_relay_serves_nobody_whom_it_did_not_admit() {
    let mut relay = Node::start_with(1, serving).await;
    // It has a reservation; the caller is a stranger to the relay.
    let mut hidden = behind(2, &relay).await;
    admit_both(&mut hidden, &mut relay).await;
    let addr = circuit(&mut hidden).await;
    let mut stranger = Node::start(3).await;
    stranger.handle.dial(addr).await.unwrap();
    stranger.connected(relay.id()).await;
    relay.connected(stranger.id()).await;
    let reached = hidden.within(WATCH, |event| matches!(event, NetworkEvent::Connected { .. }).then_some(()));
    assert!(reached.await.is_none());

    // And a stranger gets no reservation.
    let mut other = behind(4, &relay).await;
    other.connected(relay.id()).await;
    // It trusts the relay, which does not know it.
    other.handle.admit(relay.id()).await.unwrap();
    let listening = other.within(WATCH, |event| matches!(event, NetworkEvent::Listening { .. }).then_some(()));
    assert!(listening.await.is_none());
    end([stranger, other, hidden, relay]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_direct_connection_takes_over_from_the_relayed_one() {
    let mut relay = Node::start_with(1, serving).await;
    // It can be reached after all; only nobody knows where.
    let through = relay.addr("tcp").await.with(Part::P2pCircuit);
    let mut hidden = Node::start_with(2, |options| options.listen.push(through)).await;
    admit_both(&mut hidden, &mut relay).await;
    let addr = circuit(&mut hidden).await;
    let mut caller = Node::start(3).await;
    caller.handle.dial(relay.addr("tcp").await).await.unwrap();
    admit_both(&mut caller, &mut relay).await;
    caller.handle.dial(addr).await.unwrap();
    admit_both(&mut caller, &mut hidden).await;
    let begun = tokio::time::Instant::now();
    loop {
        let peers = caller.handle.peers().await;
        let peer = peers.iter().find(|peer| peer.node == hidden.id()).expect("it stays connected");
        if !peer.is_relayed && peer.addrs.iter().all(|addr| addr.iter().all(|part| part != Part::P2pCircuit)) {
            break;
        }
        assert!(begun.elapsed() < PATIENCE, "still relayed: {peers:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(caller.round_trip(&mut hidden, Protocol::Search, vec![1, 2]).await, [2, 1]);
    end([caller, hidden, relay]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_learns_from_its_peers_that_it_is_reachable() {
    let curious = |options: &mut Options| options.limits.probe_delay = Duration::from_millis(100);
    let mut a = Node::start_with(1, curious).await;
    let mut b = Node::start(2).await;
    meet(&mut a, &mut b, "tcp").await;
    let begun = tokio::time::Instant::now();
    while !matches!(a.handle.status().await.reachability, crate::driver::Reachability::Public(_)) {
        assert!(begun.elapsed() < PATIENCE, "{:?}", a.handle.status().await);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    end([a, b]).await;
}
