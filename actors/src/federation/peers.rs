//! Peers as an operator sees them.

use std::collections::BTreeMap;

use actix::prelude::*;
use plumb_core::identity::{NodeId, Signed};
use plumb_core::trust::Certificate;
use plumb_federation::driver::NetworkHandle;

use super::{AwaitPeers, BlockPeer, ConnectPeer, Federation, ListPeers, PeerView, PeersView};
use crate::error::NodeError;
use crate::kept;
use crate::premises::{Premises, blocking};

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
        let network = self.link().map(|l| l.network.clone());
        Box::pin(async move {
            let node: NodeId = ask.node.parse().map_err(|e| NodeError::Invalid(format!("{e}")))?;
            network?.block(node).await.map_err(|e| NodeError::Invalid(e.to_string()))
        })
    }
}

impl Handler<ListPeers> for Federation {
    type Result = ResponseFuture<Result<PeersView, NodeError>>;

    fn handle(&mut self, _: ListPeers, _: &mut Context<Self>) -> Self::Result {
        let (premises, network) = (self.premises.clone(), self.link().map(|l| l.network.clone()));
        let known = self.known();
        Box::pin(async move { view(premises, &network?, known).await })
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
                    return view(premises, &network, known).await;
                }
                if tokio::time::Instant::now() >= until {
                    return Err(NodeError::DeadlinePassed { after: ask.deadline });
                }
                tokio::time::sleep(LOOK_AGAIN).await;
            }
        })
    }
}

/// What the bridge itself knows of peers.
struct Known {
    admitted: BTreeMap<NodeId, Signed<Certificate>>,
    remarks: BTreeMap<NodeId, String>,
    codes: BTreeMap<NodeId, String>,
}

impl Federation {
    fn known(&self) -> Known {
        Known {
            admitted: self.live.as_ref().map(|l| l.admitted()).unwrap_or_default(),
            remarks: self.live.as_ref().map(|l| l.remarks().clone()).unwrap_or_default(),
            codes: self.live.as_ref().map(|l| l.codes().clone()).unwrap_or_default(),
        }
    }
}

async fn view(
    premises: std::sync::Arc<Premises>,
    network: &NetworkHandle,
    known: Known,
) -> Result<PeersView, NodeError> {
    let listening = network.listen_addrs().await.iter().map(ToString::to_string).collect();
    let connected = network.peers().await;
    blocking(move || {
        let own = premises.node();
        let mut views: BTreeMap<NodeId, PeerView> = BTreeMap::new();
        for head in kept::log_heads(&premises.store, &own)? {
            let certified = head.state.certificate.value();
            if certified.node == own {
                continue;
            }
            let judged = premises.roots().admit(&certified.node, &head.state.certificate, premises.now()).err();
            let forked = "it showed two histories of its log; nothing more is taken from it";
            let view = PeerView {
                node: certified.node.to_string(),
                organisation: Some(certified.org_name.clone()),
                department: Some(certified.department.slug().to_string()),
                state: "away".to_string(),
                detail: match kept::is_forked(&premises.store, &certified.node)? {
                    true => Some(forked.to_string()),
                    false => judged.as_ref().map(ToString::to_string),
                },
                reason: judged.map(|error| error.code().to_string()),
                addresses: Vec::new(),
                log_size: head.state.range.size(),
                log_as_of: Some(head.as_of.to_string()),
            };
            views.insert(certified.node, view);
        }
        for peer in connected {
            let view = views.entry(peer.node).or_insert_with(|| unknown(&peer.node));
            view.state = if peer.admitted { "admitted" } else { "connected" }.to_string();
            view.addresses = peer.addrs.iter().map(ToString::to_string).collect();
            // A peer is known by its certificate before its log is.
            if let Some(certificate) = known.admitted.get(&peer.node) {
                view.reason = None;
                view.organisation = Some(certificate.value().org_name.clone());
                view.department = Some(certificate.value().department.slug().to_string());
            }
        }
        for (node, remark) in known.remarks {
            let view = views.entry(node).or_insert_with(|| unknown(&node));
            if view.state != "admitted" {
                view.state = "refused".to_string();
                view.detail.get_or_insert(remark);
                if view.reason.is_none() {
                    view.reason = known.codes.get(&node).cloned();
                }
            }
        }
        Ok(PeersView { node: own.to_string(), listening, peers: views.into_values().collect() })
    })
    .await
}

fn unknown(node: &NodeId) -> PeerView {
    PeerView {
        node: node.to_string(),
        organisation: None,
        department: None,
        state: "away".to_string(),
        detail: None,
        reason: None,
        addresses: Vec::new(),
        log_size: 0,
        log_as_of: None,
    }
}
