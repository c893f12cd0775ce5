//! What a peer can do before it is admitted: say hello.

use super::*;
use crate::driver::event::LIFECYCLE_RESERVE;
use crate::driver::{CommandError, RefusalReason, RequestError};

async fn refused(node: &mut Node, who: NodeId) -> RefusalReason {
    node.until("a refusal", |event| match event {
        NetworkEvent::Refused { node, reason } if node == who => Some(reason),
        _ => None,
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_strangers_search_is_refused_and_its_connection_closed() {
    let (mut a, mut b) = (Node::start(1).await, Node::start(2).await);
    connect(&mut a, &mut b, "tcp").await;
    // It trusts us; we have not heard its hello.
    a.handle.admit(b.id()).await.unwrap();
    let asked = a.handle.request(b.id(), Protocol::Search, vec![1], PATIENCE).await;
    assert_eq!(asked, Err(RequestError::Closed));
    assert_eq!(refused(&mut b, a.id()).await, RefusalReason::RequestBeforeHello(Protocol::Search));
    b.disconnected(a.id()).await;
    a.disconnected(b.id()).await;
    assert!(b.handle.peers().await.iter().all(|peer| !peer.admitted));
    end([a, b]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hello_opens_the_way_for_both() {
    let (mut a, mut b) = (Node::start(1).await, Node::start(2).await);
    connect(&mut a, &mut b, "tcp").await;
    assert_eq!(a.round_trip(&mut b, Protocol::Hello, vec![1, 2]).await, [2, 1]);
    b.handle.admit(a.id()).await.unwrap();
    a.handle.admit(b.id()).await.unwrap();
    assert_eq!(a.round_trip(&mut b, Protocol::Log, vec![1, 2]).await, [2, 1]);
    assert_eq!(a.handle.admit(key(9).public()).await, Err(CommandError::NotConnected));
    end([a, b]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_that_overtakes_its_admission_waits_for_it() {
    let (mut a, mut b) = (Node::start(1).await, Node::start(2).await);
    connect(&mut a, &mut b, "tcp").await;
    assert_eq!(a.round_trip(&mut b, Protocol::Hello, vec![]).await, Vec::<u8>::new());
    // Now `a` is sure of `b` and asks, while `b` still looks at the certificate.
    a.handle.admit(b.id()).await.unwrap();
    let (a_handle, b_id) = (a.handle.clone(), b.id());
    let ask = tokio::spawn(async move { a_handle.request(b_id, Protocol::Search, vec![1, 2], PATIENCE).await });
    let early = b.within(WATCH, |event| matches!(event, NetworkEvent::Request { .. }).then_some(())).await;
    assert!(early.is_none(), "not before it is admitted");
    b.handle.admit(a.id()).await.unwrap();
    let (_, bytes, token) = b.asked(Protocol::Search).await;
    b.handle.respond(token, bytes).await.unwrap();
    assert_eq!(ask.await.unwrap().unwrap(), [1, 2]);
    end([a, b]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_is_not_admitted_in_time_is_closed() {
    let hasty = |options: &mut Options| options.limits.admission_timeout = Duration::from_millis(300);
    let (mut a, mut b) = (Node::start(1).await, Node::start_with(2, hasty).await);
    connect(&mut a, &mut b, "quic-v1").await;
    assert_eq!(a.round_trip(&mut b, Protocol::Hello, vec![]).await, Vec::<u8>::new(), "a hello alone is not admission");
    assert_eq!(refused(&mut b, a.id()).await, RefusalReason::NotAdmittedInTime);
    b.disconnected(a.id()).await;
    a.disconnected(b.id()).await;
    end([a, b]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_is_refused_hears_why_before_the_connection_ends() {
    let (mut a, mut b) = (Node::start(1).await, Node::start(2).await);
    for transport in ["tcp", "quic-v1"] {
        connect(&mut a, &mut b, transport).await;
        let (a_handle, b_id) = (a.handle.clone(), b.id());
        let asked = tokio::spawn(async move { a_handle.request(b_id, Protocol::Hello, vec![1], PATIENCE).await });
        let (_, _, token) = b.asked(Protocol::Hello).await;
        b.handle.respond(token, b"no".to_vec()).await.unwrap();
        b.handle.disconnect(a.id()).await.unwrap();
        assert_eq!(asked.await.unwrap(), Ok(b"no".to_vec()), "{transport}");
        a.handle.disconnect(b.id()).await.unwrap();
        a.disconnected(b.id()).await;
        b.disconnected(a.id()).await;
    }
    end([a, b]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn admission_ends_with_the_connection() {
    let (mut a, mut b) = (Node::start(1).await, Node::start(2).await);
    meet(&mut a, &mut b, "tcp").await;
    a.handle.disconnect(b.id()).await.unwrap();
    a.disconnected(b.id()).await;
    b.disconnected(a.id()).await;
    connect(&mut a, &mut b, "tcp").await;
    assert_eq!(a.handle.request(b.id(), Protocol::Log, vec![], PATIENCE).await, Err(RequestError::NotAdmitted));
    end([a, b]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shell_that_is_behind_costs_requests_and_no_memory() {
    let narrow = |options: &mut Options| options.limits.events_max = LIFECYCLE_RESERVE + 1;
    let (mut a, b) = (Node::start(1).await, Node::start_with(2, narrow).await);
    a.handle.dial(b.addr("tcp").await).await.unwrap();
    a.connected(b.id()).await;
    // Its events lie untouched: two listeners and a connection have used what is not reserved.
    let asked = a.handle.request(b.id(), Protocol::Hello, vec![], PATIENCE).await;
    assert_eq!(asked, Err(RequestError::Closed));
    end([a, b]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_driver_without_a_shell_ends() {
    let Node { handle, events } = Node::start(1).await;
    drop(events);
    let ended = tokio::time::timeout(PATIENCE, handle.commands.closed()).await;
    assert!(ended.is_ok());
    assert_eq!(handle.dial("/ip4/127.0.0.1/tcp/1".parse().unwrap()).await, Err(CommandError::Stopped));
}
