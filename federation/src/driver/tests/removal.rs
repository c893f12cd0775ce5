//! A peer that is removed is gone at once: what is under way with it ends, and nobody here goes back to it.

use super::*;
use crate::driver::{CommandError, RequestError, Trying};

/// How the operator removes a peer.
#[derive(Clone, Copy)]
enum By {
    Disconnect,
    Block,
}

async fn removal_ends_what_is_under_way(by: By, transport: &str) {
    let eager = |options: &mut Options| {
        options.limits.redial_delay_min = Duration::from_millis(50);
        options.limits.redial_delay_max = Duration::from_millis(200);
    };
    let (mut a, mut b) = (Node::start_with(1, eager).await, Node::start(2).await);
    meet(&mut a, &mut b, transport).await;
    // One request in each direction, and neither is answered.
    let (a_handle, b_handle, a_id, b_id) = (a.handle.clone(), b.handle.clone(), a.id(), b.id());
    let ours = tokio::spawn(async move { a_handle.request(b_id, Protocol::Search, vec![1], PATIENCE).await });
    let theirs = tokio::spawn(async move { b_handle.request(a_id, Protocol::Blocks, vec![2], PATIENCE).await });
    let (_, _, at_b) = b.asked(Protocol::Search).await;
    let (_, _, at_a) = a.asked(Protocol::Blocks).await;

    match by {
        By::Disconnect => a.handle.disconnect(b_id).await.unwrap(),
        By::Block => a.handle.block(b_id).await.unwrap(),
    }
    // The driver takes commands in order, so what it says now is what holds once the call has returned.
    assert_eq!(a.handle.request(b_id, Protocol::Search, vec![1], PATIENCE).await, Err(RequestError::NotConnected));
    let dialled: Vec<Trying> = a.handle.status().await.addresses.iter().map(|address| address.trying).collect();
    assert_eq!(dialled, [], "the address is out of the book");
    assert_eq!(ours.await.unwrap(), Err(RequestError::Closed));
    a.disconnected(b_id).await;
    b.disconnected(a_id).await;
    assert_eq!(theirs.await.unwrap(), Err(RequestError::Closed));
    assert_eq!(a.handle.respond(at_a, vec![3]).await, Err(CommandError::Gone));
    assert!(!at_b.is_open());
    assert_eq!(a.handle.status().await.blocked.contains(&b_id), matches!(by, By::Block));
    end([a, b]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn disconnecting_ends_what_is_under_way() {
    removal_ends_what_is_under_way(By::Disconnect, "tcp").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn blocking_ends_what_is_under_way() {
    removal_ends_what_is_under_way(By::Block, "quic-v1").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dial_that_was_under_way_does_not_bring_a_removed_peer_back() {
    let (mut a, b) = (Node::start(1).await, Node::start(2).await);
    for round in 0..20 {
        // Whether the dial or the removal is first differs from round to round; the end is the same.
        a.handle.dial(b.addr("tcp").await).await.unwrap();
        a.handle.disconnect(b.id()).await.unwrap();
        let status = a.handle.status().await;
        assert!(status.addresses.is_empty(), "round {round}");
    }
    let stays = a.within(WATCH, |event| match event {
        NetworkEvent::Disconnected { .. } => None,
        NetworkEvent::Connected { .. } => Some(()),
        _ => None,
    });
    assert!(stays.await.is_none());
    assert!(a.handle.peers().await.is_empty());
    end([a, b]).await;
}
