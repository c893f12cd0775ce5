//! What is known of each peer, put together from four places: the logs that are held here, the connections, the addresses
//! that are tried, and what was remarked.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use plumb_core::identity::{NodeId, Signed};
use plumb_core::measure::Timestamp;
use plumb_core::trust::Certificate;
use plumb_federation::driver::{AddressStatus, NetworkHandle, NetworkStatus, PeerStatus, Reachability, Trying};

use super::super::remarks::Remark;
use super::super::{Federation, PeerView, PeersView, TriedView};
use crate::error::NodeError;
use crate::kept;
use crate::premises::{Premises, blocking};

/// What the bridge itself knows of peers.
pub(super) struct Known {
    admitted: BTreeMap<NodeId, Signed<Certificate>>,
    remarks: BTreeMap<NodeId, Remark>,
}

impl Federation {
    pub(super) fn known(&self) -> Known {
        Known {
            admitted: self.live.as_ref().map(|l| l.admitted()).unwrap_or_default(),
            remarks: self.live.as_ref().map(|l| l.remarks().all()).unwrap_or_default(),
        }
    }
}

/// This node among its peers.
pub(super) async fn peers(
    premises: Arc<Premises>,
    network: &NetworkHandle,
    known: Known,
) -> Result<PeersView, NodeError> {
    let listening = network.listen_addrs().await.iter().map(ToString::to_string).collect();
    let status = network.status().await;
    blocking(move || {
        let mut views = of_logs(&premises)?;
        let unanswered = add_network(&mut views, &status, &known);
        add_remarks(&mut views, &status, known.remarks);
        let (reachability, reachable_at) = match status.reachability {
            Reachability::Unknown => ("unknown", None),
            Reachability::Private => ("private", None),
            Reachability::Public(addr) => ("public", Some(addr.to_string())),
        };
        let own = premises.node();
        for cosigned in kept::cosigned(&premises.store)? {
            if let Some(view) = views.get_mut(&cosigned.witness) {
                view.cosigned = cosigned.size;
            }
        }
        Ok(PeersView {
            node: own.to_string(),
            listening,
            log_size: kept::log_head(&premises.store, &own, &own)?.map_or(0, |head| head.state.range.size()),
            publishing_stopped: kept::stopped(&premises.store, &own)?.map(|stopped| stopped.text()),
            reachability: reachability.to_string(),
            reachable_at,
            unanswered,
            peers: views.into_values().collect(),
        })
    })
    .await
}

type Views = BTreeMap<NodeId, PeerView>;

/// Everybody whose log is held here.
fn of_logs(premises: &Premises) -> Result<Views, NodeError> {
    let (own, now) = (premises.node(), premises.now());
    let mut views = Views::new();
    for head in kept::log_heads(&premises.store, &own)? {
        let certified = head.state.certificate.value();
        if certified.node == own {
            continue;
        }
        let mut view = unknown(&certified.node);
        certify(&mut view, certified);
        view.log_size = head.state.range.size();
        view.log_as_of = head.confirmed().map(|as_of| as_of.to_string());
        view.log_age_ms = head.confirmed().map(|as_of| age(now, as_of));
        if kept::is_forked(&premises.store, &certified.node)? {
            view.detail = Some("it showed two histories of its log; nothing more is taken from it".to_string());
        }
        views.insert(certified.node, view);
    }
    Ok(views)
}

/// A clock that was set back makes nothing older than now.
fn age(now: Timestamp, then: Timestamp) -> u64 {
    now.since(then).0
}

/// Connections and addresses. Gives the addresses of which nobody knows whose they are.
fn add_network(views: &mut Views, status: &NetworkStatus, known: &Known) -> Vec<TriedView> {
    for peer in &status.peers {
        let view = views.entry(peer.node).or_insert_with(|| unknown(&peer.node));
        connect(view, peer);
        // A peer is known by its certificate before its log is.
        if let Some(certificate) = known.admitted.get(&peer.node) {
            certify(view, certificate.value());
        }
    }
    let mut unanswered = Vec::new();
    for address in &status.addresses {
        match address.node {
            Some(node) => views.entry(node).or_insert_with(|| unknown(&node)).tried.push(tried(address)),
            None => unanswered.push(tried(address)),
        }
    }
    for node in &status.blocked {
        let view = views.entry(*node).or_insert_with(|| unknown(node));
        refuse(view, "blocked", "an operator blocked it; `plumb peers unblock` lets it connect again".to_string());
        view.state = "blocked".to_string();
    }
    for (node, left) in &status.excluded {
        let view = views.entry(*node).or_insert_with(|| unknown(node));
        view.score = 0;
        let text = format!("it asked too much or sent what is no request; excluded for {} s more", left.as_secs());
        refuse(view, "rate_limited", text);
    }
    // Who is not there and was not refused: why its addresses do not answer.
    for view in views.values_mut().filter(|view| !view.connected && view.reason.is_none()) {
        let failed = view.tried.iter().rev().find(|tried| tried.reason.is_some()).cloned();
        if let Some(failed) = failed {
            view.reason = failed.reason;
            view.detail = view.detail.take().or(failed.last_error);
        } else if view.tried.is_empty() {
            view.reason = Some("no_address".to_string());
            let text = "no address of it is tried; it comes by itself, or `plumb peers connect` names one";
            view.detail.get_or_insert_with(|| text.to_string());
        }
    }
    unanswered
}

/// What was remarked says more than what its addresses say, unless it is connected and well. But that an exchange broke
/// off is no reason why a peer is away now: it is told beside the reason.
fn add_remarks(views: &mut Views, status: &NetworkStatus, remarks: BTreeMap<NodeId, Remark>) {
    for (node, remark) in remarks {
        let view = views.entry(node).or_insert_with(|| unknown(&node));
        let is_decided = view.admitted || status.blocked.contains(&node) || view.score == 0;
        if is_decided {
            continue;
        }
        if remark.is_passing && is_gone(view) {
            let why = view.detail.take().unwrap_or_default();
            view.detail = Some(format!("{why}; before that, {}", remark.text));
        } else {
            refuse(view, &remark.code, remark.text);
        }
    }
}

/// Whether a peer is simply not there: nothing answered at any of its addresses when they were last tried, or it is known
/// and comes by itself.
fn is_gone(view: &PeerView) -> bool {
    let fails = |tried: &TriedView| tried.reason.as_deref().is_some_and(|reason| reason != "dropped");
    let is_known = view.organisation.is_some();
    !view.connected && if view.tried.is_empty() { is_known } else { view.tried.iter().all(fails) }
}

fn refuse(view: &mut PeerView, code: &str, text: String) {
    view.state = "refused".to_string();
    view.reason = Some(code.to_string());
    view.detail = Some(text);
}

fn certify(view: &mut PeerView, certificate: &Certificate) {
    view.organisation = Some(certificate.org_name.clone());
    view.department = Some(certificate.department.slug().to_string());
}

fn connect(view: &mut PeerView, peer: &PeerStatus) {
    view.state = if peer.admitted { "admitted" } else { "connected" }.to_string();
    view.connected = true;
    view.admitted = peer.admitted;
    view.addresses = peer.addrs.iter().map(ToString::to_string).collect();
    view.relayed = peer.is_relayed;
    view.score = peer.score;
    view.rtt_ms = peer.rtt.map(millis);
    view.agent = peer.agent.clone();
}

fn tried(address: &AddressStatus) -> TriedView {
    TriedView {
        address: address.addr.to_string(),
        failures: address.failures,
        reason: address.last_failure.as_ref().map(|failure| failure.code().to_string()),
        last_error: address.last_failure.as_ref().map(ToString::to_string),
        last_tried_ms: address.last_tried.map(millis),
        next_try_ms: match address.trying {
            Trying::Connected => None,
            Trying::Now => Some(0),
            Trying::In(wait) => Some(millis(wait)),
        },
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

fn unknown(node: &NodeId) -> PeerView {
    PeerView {
        node: node.to_string(),
        organisation: None,
        department: None,
        state: "away".to_string(),
        connected: false,
        admitted: false,
        reason: None,
        detail: None,
        addresses: Vec::new(),
        tried: Vec::new(),
        relayed: false,
        score: 100,
        rtt_ms: None,
        agent: None,
        log_size: 0,
        log_as_of: None,
        cosigned: 0,
        log_age_ms: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_core::identity::SecretKey;
    use plumb_federation::driver::DialFailure;

    /// What is said of a peer whose addresses fail so, with a remark on it.
    fn said(failures: &[Option<DialFailure>], is_passing: bool) -> (String, Option<String>) {
        let node = SecretKey::from_seed([7; 32]).public();
        let addresses = failures.iter().zip(1u16..).map(|(failure, port)| AddressStatus {
            addr: format!("/ip4/10.0.0.1/tcp/{port}").parse().unwrap(),
            node: Some(node),
            failures: 1,
            last_failure: failure.clone(),
            last_tried: None,
            trying: Trying::Now,
        });
        let status = NetworkStatus { addresses: addresses.collect(), ..NetworkStatus::default() };
        let mut views = Views::new();
        add_network(&mut views, &status, &Known { admitted: BTreeMap::new(), remarks: BTreeMap::new() });
        let remark = Remark { code: "hello_failed".into(), text: "no answer in time".into(), times: 1, is_passing };
        add_remarks(&mut views, &status, BTreeMap::from([(node, remark)]));
        let view = views.remove(&node).unwrap();
        (view.state, view.reason)
    }

    #[test]
    fn a_hello_that_broke_off_is_no_reason_why_nothing_answers_now() {
        let away = |reason: &str| ("away".to_string(), Some(reason.to_string()));
        let refused = ("refused".to_string(), Some("hello_failed".to_string()));
        let (gone, dropped) = (Some(DialFailure::TimedOut), Some(DialFailure::Dropped));
        assert_eq!(said(&[Some(DialFailure::NoRoute), gone.clone()], true), away("timed_out"));
        assert_eq!(said(&[dropped, gone.clone()], true), refused, "one address is answered");
        assert_eq!(said(&[None, gone.clone()], true), refused, "one address is not done");
        assert_eq!(said(&[], true), refused, "a stranger, of whom nothing else is known");
        assert_eq!(said(&[gone], false), refused, "a refusal waits for an operator");
    }
}
