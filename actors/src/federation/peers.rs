//! Peers as an operator sees them.

use std::sync::Arc;

use actix::prelude::*;
use plumb_core::identity::NodeId;
use plumb_storage::{Change, Records};

use super::{AwaitPeers, BlockPeer, ConnectPeer, Federation, ListPeers, PeersView, UnblockPeer};
use crate::error::NodeError;
use crate::kept;
use crate::premises::{Premises, blocking};

mod view;

/// How often a wait looks again.
const LOOK_AGAIN: std::time::Duration = std::time::Duration::from_millis(50);

impl Handler<ConnectPeer> for Federation {
    type Result = ResponseFuture<Result<(), NodeError>>;

    fn handle(&mut self, ask: ConnectPeer, _: &mut Context<Self>) -> Self::Result {
        let network = self.link().map(|l| l.network.clone());
        Box::pin(async move {
            let address = ask
                .address
                .parse()
                .map_err(|e| NodeError::Invalid(format!("`{}` is no multiaddress: {e}", ask.address)))?;
            network?.dial(address).await.map_err(|e| NodeError::Invalid(e.to_string()))
        })
    }
}

impl Handler<BlockPeer> for Federation {
    type Result = ResponseFuture<Result<(), NodeError>>;

    fn handle(&mut self, ask: BlockPeer, _: &mut Context<Self>) -> Self::Result {
        let (premises, network) = (self.premises.clone(), self.link().map(|l| l.network.clone()));
        Box::pin(async move {
            let node: NodeId = ask.node.parse().map_err(|e| NodeError::Invalid(format!("{e}")))?;
            let network = network?;
            note_blocked(premises, ask.by, node, true).await?;
            network.block(node).await.map_err(|e| NodeError::Invalid(e.to_string()))
        })
    }
}

impl Handler<UnblockPeer> for Federation {
    type Result = ResponseFuture<Result<(), NodeError>>;

    fn handle(&mut self, ask: UnblockPeer, _: &mut Context<Self>) -> Self::Result {
        let (premises, network) = (self.premises.clone(), self.link().map(|l| l.network.clone()));
        Box::pin(async move {
            let node: NodeId = ask.node.parse().map_err(|e| NodeError::Invalid(format!("{e}")))?;
            let network = network?;
            note_blocked(premises, ask.by, node, false).await?;
            network.unblock(node).await.map_err(|e| NodeError::Invalid(e.to_string()))
        })
    }
}

/// Who is blocked outlives the process.
async fn note_blocked(premises: Arc<Premises>, by: String, node: NodeId, is_blocked: bool) -> Result<(), NodeError> {
    blocking(move || {
        let action = if is_blocked { "peer.block" } else { "peer.unblock" };
        let mut change = Change::new(premises.event(&by, action, node, "ok", ""));
        kept::put_blocked(&mut change, &node, is_blocked);
        premises.store.commit(change)?;
        Ok(())
    })
    .await
}

impl Handler<ListPeers> for Federation {
    type Result = ResponseFuture<Result<PeersView, NodeError>>;

    fn handle(&mut self, _: ListPeers, _: &mut Context<Self>) -> Self::Result {
        let (premises, network) = (self.premises.clone(), self.link().map(|l| l.network.clone()));
        let known = self.known();
        Box::pin(async move { view::peers(premises, &network?, known).await })
    }
}

impl Handler<AwaitPeers> for Federation {
    type Result = ResponseFuture<Result<PeersView, NodeError>>;

    fn handle(&mut self, ask: AwaitPeers, _: &mut Context<Self>) -> Self::Result {
        let (premises, network) = (self.premises.clone(), self.link().map(|l| l.network.clone()));
        let known = self.known();
        Box::pin(async move {
            let network = network?;
            let until = tokio::time::Instant::now() + std::time::Duration::from_millis(ask.deadline.0);
            loop {
                let n_admitted = network.peers().await.iter().filter(|p| p.admitted).count();
                if n_admitted >= ask.n {
                    return view::peers(premises, &network, known).await;
                }
                if tokio::time::Instant::now() >= until {
                    return Err(NodeError::DeadlinePassed { after: ask.deadline });
                }
                tokio::time::sleep(LOOK_AGAIN).await;
            }
        })
    }
}
