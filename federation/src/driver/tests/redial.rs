//! Lost peers are dialled again, blocked ones are not.

use super::*;
use crate::driver::{CommandError, DialFailure};

fn eager(options: &mut Options) {
    options.limits.redial_delay_min = Duration::from_millis(50);
    options.limits.redial_delay_max = Duration::from_millis(200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_peer_that_restarts_at_its_address_is_reconnected() {
    let mut b = Node::start(2).await;
    let addr = b.addr("tcp").await;
    let mut a = Node::start_with(1, |options| {
        eager(options);
        options.bootstrap = vec![addr.clone()];
    })
    .await;
    a.connected(b.id()).await;
    b.connected(a.id()).await;
    a.handle.admit(b.id()).await.unwrap();
    let id = b.id();
    end([b]).await;
    a.disconnected(id).await;
    a.until("a failed dial", |event| match event {
        NetworkEvent::DialFailed { addr: failed, reason, failures } if failed == addr => {
            assert_eq!((reason, failures), (DialFailure::ConnectionRefused, 1));
            Some(())
        }
        _ => None,
    })
    .await;

    let mut b = Node::start_with(2, |options| {
        options.listen = vec![addr.iter().take(2).collect()];
    })
    .await;
    a.connected(b.id()).await;
    b.connected(a.id()).await;
    a.handle.admit(b.id()).await.unwrap();
    b.handle.admit(a.id()).await.unwrap();
    assert_eq!(a.round_trip(&mut b, Protocol::Log, vec![1, 2]).await, [2, 1]);
    end([a, b]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_blocked_peer_is_not_dialled_and_does_not_get_in() {
    let (mut a, mut b) = (Node::start_with(1, eager).await, Node::start_with(2, eager).await);
    meet(&mut a, &mut b, "tcp").await;
    a.handle.block(b.id()).await.unwrap();
    a.disconnected(b.id()).await;
    b.disconnected(a.id()).await;
    assert_eq!(a.handle.dial(b.addr("tcp").await).await, Err(CommandError::Blocked));
    // From the other side, and by the other transport.
    b.handle.dial(a.addr("quic-v1").await).await.unwrap();
    let met = |event| matches!(event, NetworkEvent::Connected { .. }).then_some(());
    assert!(a.within(WATCH, met).await.is_none());
    assert!(a.handle.peers().await.is_empty());

    a.handle.unblock(b.id()).await.unwrap();
    a.connected(b.id()).await;
    end([a, b]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_disconnected_peer_is_not_dialled_again() {
    let (mut a, mut b) = (Node::start_with(1, eager).await, Node::start(2).await);
    meet(&mut a, &mut b, "tcp").await;
    a.handle.disconnect(b.id()).await.unwrap();
    a.disconnected(b.id()).await;
    // The other side may come back: it still has us in its table. We do not go there.
    let dialled = |event| matches!(event, NetworkEvent::Connected { outbound: true, .. }).then_some(());
    assert!(a.within(WATCH, dialled).await.is_none());
    end([a, b]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_address_without_a_name_learns_it_and_a_wrong_name_is_refused() {
    let (mut a, mut b) = (Node::start_with(1, eager).await, Node::start(2).await);
    let addr = b.addr("tcp").await;
    let nameless: Multiaddr = addr.iter().take(2).collect();
    let impostor = nameless.clone().with_p2p(crate::driver::peer_of_node(&key(9).public()).unwrap()).unwrap();
    a.handle.dial(impostor.clone()).await.unwrap();
    let reason = a
        .until("a failed dial", |event| match event {
            NetworkEvent::DialFailed { addr, reason, .. } if addr == impostor => Some(reason),
            _ => None,
        })
        .await;
    assert_eq!(reason.code(), "wrong_key");
    assert!(reason.to_string().contains("another peer"), "{reason}");

    a.handle.dial(nameless).await.unwrap();
    a.connected(b.id()).await;
    // Its loss is noticed by the name that was learned.
    b.connected(a.id()).await;
    b.handle.disconnect(a.id()).await.unwrap();
    a.disconnected(b.id()).await;
    a.connected(b.id()).await;
    let own = a.addr("tcp").await;
    assert_eq!(a.handle.dial(own.clone()).await, Err(CommandError::Address(own)));
    end([a, b]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_peer_that_was_only_closed_is_dialled_again() {
    let (mut a, mut b) = (Node::start_with(1, eager).await, Node::start(2).await);
    connect(&mut a, &mut b, "tcp").await;
    a.handle.close(b.id()).await.unwrap();
    a.disconnected(b.id()).await;
    a.connected(b.id()).await;
    end([a, b]).await;
}
