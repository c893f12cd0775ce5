//! Requests and responses between nodes that have met.

use super::*;
use crate::driver::{CommandError, RequestError};

async fn every_protocol_answers(transport: &str) {
    let (mut a, mut b) = (Node::start(1).await, Node::start(2).await);
    meet(&mut a, &mut b, transport).await;
    for protocol in Protocol::ALL {
        assert_eq!(a.round_trip(&mut b, protocol, vec![1, 2, 3]).await, [3, 2, 1], "{protocol}");
        assert_eq!(b.round_trip(&mut a, protocol, vec![]).await, Vec::<u8>::new(), "{protocol}");
    }
    let status = a.handle.peers().await;
    assert_eq!(status.len(), 1);
    assert!(status[0].node == b.id() && status[0].admitted);
    assert!(status[0].addrs[0].to_string().contains(transport));
    end([a, b]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_protocol_answers_over_tcp() {
    every_protocol_answers("tcp").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_protocol_answers_over_quic() {
    every_protocol_answers("quic-v1").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_longest_frames_pass_and_longer_ones_do_not() {
    let (mut a, mut b) = (Node::start(1).await, Node::start(2).await);
    meet(&mut a, &mut b, "quic-v1").await;
    for protocol in Protocol::ALL {
        let (request_max, response_max) = (protocol.request_bytes_max(), protocol.response_bytes_max());
        let ask = a.handle.request(b.id(), protocol, vec![7; request_max], PATIENCE);
        let answer = async {
            let (_, bytes, token) = b.asked(protocol).await;
            assert_eq!(bytes.len(), request_max);
            b.handle.respond(token, vec![8; response_max]).await.unwrap();
        };
        let (response, ()) = tokio::join!(ask, answer);
        assert_eq!(response.unwrap().len(), response_max, "{protocol}");

        let long = a.handle.request(b.id(), protocol, vec![7; request_max + 1], PATIENCE).await;
        assert_eq!(long, Err(RequestError::TooLarge { bytes: request_max as u64 + 1, max: request_max }));
    }
    let ask = a.handle.request(b.id(), Protocol::Log, vec![], PATIENCE);
    let answer = async {
        let (_, _, token) = b.asked(Protocol::Log).await;
        let max = Protocol::Log.response_bytes_max();
        let refused = b.handle.respond(token, vec![0; max + 1]).await;
        assert_eq!(refused, Err(CommandError::TooLarge { bytes: max + 1, max }));
    };
    assert_eq!(tokio::join!(ask, answer).0, Err(RequestError::Closed), "the asker is not left waiting");
    end([a, b]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_end_in_an_answer_or_in_a_reason() {
    let few = |options: &mut Options| options.limits.streams_per_peer_max = 4;
    let (mut a, mut b) = (Node::start_with(1, few).await, Node::start(2).await);
    let nobody = key(99).public();
    assert_eq!(a.handle.request(nobody, Protocol::Log, vec![], PATIENCE).await, Err(RequestError::NotConnected));
    connect(&mut a, &mut b, "tcp").await;
    assert_eq!(a.handle.request(b.id(), Protocol::Log, vec![], PATIENCE).await, Err(RequestError::NotAdmitted));
    a.handle.admit(b.id()).await.unwrap();
    b.handle.admit(a.id()).await.unwrap();

    // Nobody answers yet: the slots are taken. Other protocols have their own.
    let asked = [vec![1], vec![2]].map(|bytes| {
        let (handle, node) = (a.handle.clone(), b.id());
        tokio::spawn(async move { handle.request(node, Protocol::Log, bytes, PATIENCE).await })
    });
    let tokens = [b.asked(Protocol::Log).await.2, b.asked(Protocol::Log).await.2];
    assert_eq!(a.handle.request(b.id(), Protocol::Log, vec![], PATIENCE).await, Err(RequestError::Busy));
    assert_eq!(a.round_trip(&mut b, Protocol::Search, vec![4, 5]).await, [5, 4]);

    // A token that is dropped ends its request; the slot is free, and the caller's own deadline holds.
    drop(tokens);
    for asked in asked {
        assert_eq!(asked.await.unwrap(), Err(RequestError::Closed));
    }
    let soon = Duration::from_millis(100);
    assert_eq!(a.handle.request(b.id(), Protocol::Log, vec![], soon).await, Err(RequestError::TimedOut));

    // A peer that goes away ends what waits for it.
    let ask = a.handle.request(b.id(), Protocol::Blocks, vec![], PATIENCE);
    let leave = async {
        let (_, _, token) = b.asked(Protocol::Blocks).await;
        b.handle.shutdown().await;
        token
    };
    assert_eq!(tokio::join!(ask, leave).0, Err(RequestError::Closed));
    a.disconnected(b.id()).await;
    assert_eq!(b.handle.admit(a.id()).await, Err(CommandError::Stopped));
    assert_eq!(b.handle.request(a.id(), Protocol::Hello, vec![], PATIENCE).await, Err(RequestError::Stopped));
    b.handle.shutdown().await;
    end([a]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_nodes_that_dial_each_other_at_once_meet_once() {
    let (mut a, mut b) = (Node::start(1).await, Node::start(2).await);
    let (to_a, to_b) = (a.addr("tcp").await, b.addr("quic-v1").await);
    let (dialled, dialled_back) = tokio::join!(a.handle.dial(to_b), b.handle.dial(to_a));
    dialled.unwrap();
    dialled_back.unwrap();
    a.connected(b.id()).await;
    b.connected(a.id()).await;
    a.handle.admit(b.id()).await.unwrap();
    b.handle.admit(a.id()).await.unwrap();
    for _ in 0..8 {
        assert_eq!(a.round_trip(&mut b, Protocol::Log, vec![1, 2]).await, [2, 1]);
        assert_eq!(b.round_trip(&mut a, Protocol::Log, vec![1, 2]).await, [2, 1]);
    }
    let news = |event| match event {
        NetworkEvent::Connected { .. } | NetworkEvent::Disconnected { .. } => Some(()),
        _ => None,
    };
    assert!(a.within(WATCH, news).await.is_none());
    end([a, b]).await;
}
