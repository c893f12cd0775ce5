//! Gossip and the table of peers: both are for those who are admitted.

use super::*;
use crate::driver::{GossipId, PublishError};

const TOPIC: &str = "plumb/notices/1/public";

async fn publish(node: &Node, bytes: &[u8]) {
    let attempt = async {
        loop {
            match node.handle.publish(TOPIC, bytes.to_vec()).await {
                Ok(()) => return,
                Err(error) if error.is_retryable() => tokio::time::sleep(Duration::from_millis(20)).await,
                Err(error) => panic!("{error}"),
            }
        }
    };
    tokio::time::timeout(PATIENCE, attempt).await.unwrap();
}

fn message(event: NetworkEvent) -> Option<(NodeId, Vec<u8>, GossipId)> {
    match event {
        NetworkEvent::Gossip { from, topic, bytes, message_id } => {
            assert_eq!(topic, TOPIC);
            Some((from, bytes, message_id))
        }
        _ => None,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_crosses_three_nodes_once_it_is_accepted() {
    let (mut a, mut b, mut c) = (Node::start(1).await, Node::start(2).await, Node::start(3).await);
    for node in [&a, &b, &c] {
        node.handle.subscribe(TOPIC).await.unwrap();
    }
    meet(&mut a, &mut b, "tcp").await;
    meet(&mut c, &mut b, "quic-v1").await;

    publish(&a, b"sound").await;
    let (from, bytes, id) = b.until("gossip", message).await;
    assert_eq!((from, bytes.as_slice()), (a.id(), &b"sound"[..]));
    assert!(c.within(WATCH, message).await.is_none(), "nothing is passed on before it is judged");
    assert!(b.handle.report_gossip(id, from, true).await.unwrap());
    let (from, bytes, _) = c.until("gossip", message).await;
    assert_eq!((from, bytes.as_slice()), (b.id(), &b"sound"[..]));

    publish(&a, b"forged").await;
    let (from, _, id) = b.until("gossip", message).await;
    assert!(b.handle.report_gossip(id, from, false).await.unwrap());
    assert!(c.within(WATCH, message).await.is_none(), "what is rejected ends here");

    assert_eq!(a.handle.publish(TOPIC, b"sound".to_vec()).await, Err(PublishError::Duplicate));
    let max = crate::driver::options::GOSSIP_BYTES_MAX;
    publish(&a, &vec![1; max]).await;
    assert_eq!(b.until("gossip", message).await.1.len(), max);
    let long = a.handle.publish(TOPIC, vec![1; max + 1]).await;
    assert_eq!(long, Err(PublishError::TooLarge { bytes: max + 1, max }));
    end([a, b, c]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stranger_neither_hears_nor_is_heard_until_it_is_admitted() {
    let (mut a, mut b) = (Node::start(1).await, Node::start(2).await);
    a.handle.subscribe(TOPIC).await.unwrap();
    b.handle.subscribe(TOPIC).await.unwrap();
    connect(&mut a, &mut b, "tcp").await;
    // `b` trusts `a` and announces its topic; `a` does not look, and tells nothing of its own.
    b.handle.admit(a.id()).await.unwrap();
    assert!(a.within(WATCH, message).await.is_none());
    assert_eq!(a.handle.publish(TOPIC, b"inside".to_vec()).await, Err(PublishError::NoPeers));
    assert_eq!(b.handle.publish(TOPIC, b"outside".to_vec()).await, Err(PublishError::NoPeers));

    // What was announced before the admission is not lost.
    a.handle.admit(b.id()).await.unwrap();
    publish(&b, b"outside").await;
    assert_eq!(a.until("gossip", message).await.1, b"outside");
    publish(&a, b"inside").await;
    assert_eq!(b.until("gossip", message).await.1, b"inside");
    end([a, b]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn admitted_peers_are_found_through_each_other() {
    let (mut a, mut b, mut c) = (Node::start(1).await, Node::start(2).await, Node::start(3).await);
    meet(&mut a, &mut b, "tcp").await;
    meet(&mut c, &mut b, "tcp").await;
    // Nobody told `a` of `c`.
    a.connected(c.id()).await;
    c.connected(a.id()).await;
    end([a, b, c]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn strangers_are_not_found() {
    let (mut a, mut b, mut c) = (Node::start(1).await, Node::start(2).await, Node::start(3).await);
    meet(&mut a, &mut b, "tcp").await;
    connect(&mut c, &mut b, "tcp").await;
    c.handle.admit(b.id()).await.unwrap();
    let met = |event| matches!(event, NetworkEvent::Connected { .. }).then_some(());
    assert!(a.within(WATCH * 2, met).await.is_none());
    assert!(c.within(WATCH, met).await.is_none());
    end([a, b, c]).await;
}
