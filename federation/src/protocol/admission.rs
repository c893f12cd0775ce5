//! Admission: who may talk to this node at all.
//!
//! The transport proves a key; this asks whose key it is. Both sides send a hello as soon as they are connected. A peer is
//! *permitted* to ask once its certificate is in order, and *admitted* (we may ask it) once it has answered our hello,
//! for then it has permitted us too: no request ever arrives ahead of the hello that allows it.
//!
//! ```text
//! Connected                    → SendHello
//! its hello is in order        → Permit, AnswerHello
//! it answers ours in kind      → Permit (unless it is already), Admit
//! anything else, or nothing    → Close
//! ```

use std::collections::BTreeMap;

use plumb_core::identity::{NodeId, Signed};
use plumb_core::measure::{Duration, Timestamp};
use plumb_core::trust::{Certificate, Roots, TrustError};

use super::backoff::has_passed;
use crate::wire::hello::{AGENT_BYTES_MAX, Hello, HelloResponse};
use crate::wire::log::Head;

/// How long a peer has to say who it is. A hello is one exchange of some kilobytes.
pub const ADMISSION_TIMEOUT: Duration = Duration::seconds(10);

/// Most peers at one time, admitted and not. Past it the newcomer is closed.
pub const PEERS_MAX: usize = 1024;

/// What happened.
#[derive(Clone, Debug)]
pub enum Event {
    /// The first connection with a peer stands; the transport has proved its key.
    Connected {
        /// Who.
        peer: NodeId,
    },
    /// The last connection with a peer is gone.
    Disconnected {
        /// Who.
        peer: NodeId,
    },
    /// A peer sent its hello.
    HelloAsked {
        /// Who.
        peer: NodeId,
        /// What it says.
        hello: Hello,
    },
    /// A peer answered ours.
    HelloAnswered {
        /// Who.
        peer: NodeId,
        /// What it says.
        response: HelloResponse,
    },
    /// A hello could not be sent or read.
    HelloFailed {
        /// With whom.
        peer: NodeId,
        /// What went wrong, for people.
        reason: String,
    },
    /// A peer asked something other than a hello.
    RequestArrived {
        /// Who.
        peer: NodeId,
    },
    /// The operator pinned or removed a root.
    RootsChanged {
        /// All that are pinned now.
        roots: Roots,
    },
    /// Time passed. Once a second is enough.
    Tick,
}

/// What to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Send [`Admission::hello`] to a peer, without heads: nobody knows yet who it is, and the logs that we hold say whom
    /// we deal with. They come with the answer to its own hello.
    SendHello {
        /// To whom.
        peer: NodeId,
    },
    /// Let a peer ask what it likes. Before its hello is answered, so that its next request finds the door open.
    Permit {
        /// Who.
        peer: NodeId,
    },
    /// Answer a peer's hello with [`Admission::hello`].
    AnswerHello {
        /// Whose.
        peer: NodeId,
    },
    /// Answer a peer's hello with a refusal. A [`Action::Close`] follows.
    RefuseHello {
        /// Whose.
        peer: NodeId,
        /// The answer.
        response: HelloResponse,
    },
    /// A peer is admitted: tell the other machines.
    Admit {
        /// Who.
        peer: NodeId,
        /// What its organisation says of it.
        certificate: Signed<Certificate>,
        /// The logs that it holds.
        heads: Vec<Head>,
    },
    /// An admitted peer is gone, or is to be closed: tell the other machines.
    Dismiss {
        /// Who.
        peer: NodeId,
    },
    /// Close all connections with a peer.
    Close {
        /// Who.
        peer: NodeId,
        /// Why.
        reason: CloseReason,
    },
}

/// Why a connection is closed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CloseReason {
    /// Its certificate does not admit it.
    #[error(transparent)]
    Untrusted(#[from] TrustError),
    /// It refused us.
    #[error("it does not admit this node: {reason}")]
    RefusedByPeer {
        /// What it says.
        reason: String,
        /// The same as a stable word, if it gave one.
        code: Option<String>,
    },
    /// It did not say who it is in time.
    #[error("it did not say who it is in time")]
    Timeout,
    /// It asked something before it said who it is.
    #[error("it asked something before it said who it is")]
    NotAdmitted,
    /// Its hello could not be exchanged.
    #[error("the hello failed: {0}")]
    Failed(String),
    /// There are too many.
    #[error("there are {PEERS_MAX} peers already")]
    Full,
}

impl CloseReason {
    /// A stable word for programs, where a certificate is the reason. Which side refused is another question.
    pub fn code(&self) -> Option<&str> {
        match self {
            CloseReason::Untrusted(error) => Some(error.code()),
            CloseReason::RefusedByPeer { code, .. } => code.as_deref(),
            CloseReason::Timeout | CloseReason::NotAdmitted | CloseReason::Failed(_) | CloseReason::Full => None,
        }
    }
}

#[derive(Clone, Debug)]
struct Peer {
    since: Timestamp,
    /// Its certificate, once it is in order.
    permitted: Option<Signed<Certificate>>,
    is_admitted: bool,
}

impl Peer {
    fn permit(&mut self, peer: NodeId, certificate: Signed<Certificate>) -> Option<Action> {
        let is_first = self.permitted.replace(certificate).is_none();
        is_first.then_some(Action::Permit { peer })
    }
}

/// Keeps the door. One for all connections.
#[derive(Clone, Debug)]
pub struct Admission {
    certificate: Signed<Certificate>,
    agent: String,
    roots: Roots,
    peers: BTreeMap<NodeId, Peer>,
}

impl Admission {
    /// A door with nobody in it. `agent` is the name of the program, for people.
    pub fn new(certificate: Signed<Certificate>, agent: &str, roots: Roots) -> Admission {
        let agent = agent.chars().take(AGENT_BYTES_MAX / 4).collect();
        Admission { certificate, agent, roots, peers: BTreeMap::new() }
    }

    /// Our hello. As an answer to a peer that is permitted it comes with the logs that we hold
    /// ([`crate::protocol::LogSync::heads`]); to a stranger it comes with none.
    pub fn hello(&self, heads: Vec<Head>) -> Hello {
        Hello { certificate: self.certificate.clone(), agent: self.agent.clone(), heads }
    }

    /// The certificate under which a peer may ask; none if it may not. Look before answering anything but a hello, and
    /// report [`Event::RequestArrived`] either way.
    pub fn permitted(&self, peer: &NodeId) -> Option<&Signed<Certificate>> {
        self.peers.get(peer)?.permitted.as_ref()
    }

    /// Takes one event. The actions are to be performed in order.
    pub fn handle(&mut self, now: Timestamp, event: Event) -> Vec<Action> {
        match event {
            Event::Connected { peer } => self.connected(now, peer),
            Event::Disconnected { peer } => self.forget(&peer),
            Event::HelloAsked { peer, hello } => self.asked(now, peer, hello),
            Event::HelloAnswered { peer, response } => self.answered(now, peer, response),
            Event::HelloFailed { peer, reason } => self.failed(peer, reason),
            Event::RequestArrived { peer } => match self.permitted(&peer) {
                Some(_) => Vec::new(),
                None => self.close(peer, CloseReason::NotAdmitted),
            },
            Event::RootsChanged { roots } => {
                self.roots = roots;
                self.review(now)
            }
            Event::Tick => self.review(now),
        }
    }

    fn connected(&mut self, now: Timestamp, peer: NodeId) -> Vec<Action> {
        if self.peers.contains_key(&peer) {
            return Vec::new();
        }
        if self.peers.len() >= PEERS_MAX {
            let reason = CloseReason::Full;
            return vec![Action::Close { peer, reason }];
        }
        let newcomer = Peer { since: now, permitted: None, is_admitted: false };
        self.peers.insert(peer, newcomer);
        vec![Action::SendHello { peer }]
    }

    fn asked(&mut self, now: Timestamp, peer: NodeId, hello: Hello) -> Vec<Action> {
        // The transport may hand over a request before it reports the connection.
        let mut actions = self.connected(now, peer);
        if let Some(known) = self.peers.get_mut(&peer) {
            match self.roots.admit(&peer, &hello.certificate, now) {
                Ok(()) => {
                    actions.extend(known.permit(peer, hello.certificate));
                    actions.push(Action::AnswerHello { peer });
                }
                Err(error) => {
                    let reason = error.to_string();
                    let response = HelloResponse::Refused { reason, code: Some(error.code().to_string()) };
                    actions.retain(|action| !matches!(action, Action::SendHello { .. }));
                    actions.push(Action::RefuseHello { peer, response });
                    actions.extend(self.close(peer, error.into()));
                }
            }
        }
        actions
    }

    fn answered(&mut self, now: Timestamp, peer: NodeId, response: HelloResponse) -> Vec<Action> {
        let Some(known) = self.peers.get_mut(&peer) else {
            return Vec::new();
        };
        let hello = match response {
            HelloResponse::Hello(hello) => hello,
            HelloResponse::Refused { reason, code } => {
                return self.close(peer, CloseReason::RefusedByPeer { reason, code });
            }
            HelloResponse::Unknown(unknown) => {
                let reason = format!("the answer is a `{}`", unknown.kind);
                return self.close(peer, CloseReason::Failed(reason));
            }
        };
        if let Err(error) = self.roots.admit(&peer, &hello.certificate, now) {
            return self.close(peer, error.into());
        }
        let mut actions: Vec<Action> = known.permit(peer, hello.certificate.clone()).into_iter().collect();
        if !known.is_admitted {
            known.is_admitted = true;
            actions.push(Action::Admit { peer, certificate: hello.certificate, heads: hello.heads });
        }
        actions
    }

    fn failed(&mut self, peer: NodeId, reason: String) -> Vec<Action> {
        if self.peers.contains_key(&peer) { self.close(peer, CloseReason::Failed(reason)) } else { Vec::new() }
    }

    /// Closes whoever took too long, and whoever would not be admitted today: certificates end, and roots are removed.
    fn review(&mut self, now: Timestamp) -> Vec<Action> {
        let judge = |(id, peer): (&NodeId, &Peer)| {
            let is_late = !peer.is_admitted && has_passed(peer.since, ADMISSION_TIMEOUT, now);
            let refused = peer.permitted.as_ref().and_then(|c| self.roots.admit(id, c, now).err());
            match refused {
                Some(error) => Some((*id, CloseReason::Untrusted(error))),
                None => is_late.then_some((*id, CloseReason::Timeout)),
            }
        };
        let closed: Vec<_> = self.peers.iter().filter_map(judge).collect();
        closed.into_iter().flat_map(|(peer, reason)| self.close(peer, reason)).collect()
    }

    fn close(&mut self, peer: NodeId, reason: CloseReason) -> Vec<Action> {
        let mut actions = self.forget(&peer);
        actions.push(Action::Close { peer, reason });
        actions
    }

    fn forget(&mut self, peer: &NodeId) -> Vec<Action> {
        match self.peers.remove(peer) {
            Some(known) if known.is_admitted => vec![Action::Dismiss { peer: *peer }],
            _ => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests;
