//! Blocks by their name, from whichever peer has them: the name is the hash of the bytes, so it does not matter who gives
//! them. A second peer is asked when the first is slow, and so on, until all is there, nobody is left, or time is up.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration as StdDuration;

use cid::Cid;
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use plumb_core::identity::NodeId;
use plumb_federation::driver::Protocol;
use plumb_federation::protocol::search::PEERS_MAX;
use plumb_federation::wire::blocks::{Blocks, BlocksRequest, BlocksResponse};
use tokio::time::{Instant, sleep, sleep_until};

use super::{FetchBlocks, Fetched, Link};
use crate::premises::Premises;

/// How long one peer is waited for before the next one is asked too.
const HEDGE_AFTER: StdDuration = StdDuration::from_millis(500);

/// Most bytes that are fetched at once; a bundle file has no more.
const BYTES_MAX: usize = plumb_core::exchange::CAR_BYTES_MAX;

/// Fetches what the peers have.
pub(super) async fn run(premises: Arc<Premises>, link: Link, peers: Vec<NodeId>, ask: FetchBlocks) -> Fetched {
    let mut missing = ask.cids;
    let mut fetched = Fetched { blocks: Vec::new(), n_peers: 0 };
    let mut left: VecDeque<NodeId> =
        peers.into_iter().filter(|peer| link.desk.permit(peer, premises.now()).is_ok()).take(PEERS_MAX).collect();
    let until = Instant::now() + StdDuration::from_millis(ask.deadline.0);
    let mut under_way = FuturesUnordered::new();
    let mut n_bytes = 0;
    loop {
        if missing.is_empty() || (left.is_empty() && under_way.is_empty()) || n_bytes >= BYTES_MAX {
            return fetched;
        }
        if under_way.is_empty()
            && let Some(peer) = left.pop_front()
        {
            fetched.n_peers += 1;
            under_way.push(exchange(link.clone(), peer, missing.clone(), until));
        }
        tokio::select! {
            Some((peer, answer)) = under_way.next() => {
                let Some(blocks) = answer else { continue };
                let before = missing.len();
                for block in blocks.blocks {
                    if missing.remove(&block.cid) {
                        n_bytes += block.bytes.len();
                        fetched.blocks.push(block);
                    }
                }
                // What is neither given nor missing did not fit: the same peer has more.
                let has_more = missing.iter().any(|cid| !blocks.missing.contains(cid));
                if missing.len() < before && has_more {
                    under_way.push(exchange(link.clone(), peer, missing.clone(), until));
                }
            }
            () = sleep(HEDGE_AFTER), if !left.is_empty() => {
                if let Some(peer) = left.pop_front() {
                    fetched.n_peers += 1;
                    under_way.push(exchange(link.clone(), peer, missing.clone(), until));
                }
            }
            () = sleep_until(until) => return fetched,
        }
    }
}

/// One exchange. `None`: it did not answer, or what it answered cannot be.
async fn exchange(link: Link, peer: NodeId, wanted: BTreeSet<Cid>, until: Instant) -> (NodeId, Option<Blocks>) {
    let request = BlocksRequest::new(wanted);
    let within = until.saturating_duration_since(Instant::now());
    let answer = match link.network.request(peer, Protocol::Blocks, request.encode(), within).await {
        Ok(bytes) => BlocksResponse::decode(&bytes),
        Err(error) => {
            tracing::debug!(%peer, %error, "no blocks");
            return (peer, None);
        }
    };
    match answer {
        Ok(BlocksResponse::Blocks(blocks)) if blocks.check_asked(&request).is_ok() => (peer, Some(blocks)),
        Ok(_) => (peer, None),
        Err(error) => {
            tracing::warn!(%peer, %error, "blocks that are not what was asked for");
            (peer, None)
        }
    }
}
