//! The driver: libp2p, moving bytes between nodes and deciding nothing.
//!
//! One task owns the swarm. The shell outside it holds a [`NetworkHandle`], to speak, and a receiver of
//! [`NetworkEvent`]s, to listen; both are bounded. Who may be a peer, what a message means and what to answer is the
//! shell's business. The driver's own rules are those that must hold before any byte is understood:
//!
//! - **Keys.** A node's Ed25519 key is its libp2p key, so the handshake proves the node id ([`node_of_peer`]).
//! - **Frames.** A request or response is a length and that many bytes, within the limit of its [`Protocol`].
//! - **Admission.** Until the shell calls [`NetworkHandle::admit`], a peer reaches `/plumb/hello/1` and nothing else,
//!   and only for some seconds.
//! - **Bounds.** Connections, streams, requests under way, unanswered bytes, queues and addresses have limits
//!   ([`options`]); at a limit somebody is turned away, and nothing grows.
//! - **Conduct.** Requests and bytes of a peer have a rate ([`options`]); who exceeds it, or sends what is no frame, is
//!   turned away, and in the end excluded for a while.
//! - **Re-dial.** Addresses that the shell asked for are dialled again, ever more slowly, while they are not
//!   connected, and so are the relays that this node listens through.
//!
//! A connection's life, as the shell sees it:
//!
//! ```text
//! Connected -> (the side that dialled asks hello) -> Request{Hello} -> admit, respond -> admit -> all protocols
//!           \-> Refused: asked before hello, or not admitted in time ------------------------> Disconnected
//! ```
//!
//! Invariant: nothing here knows what is inside a request, a response or a gossip message.

mod behaviour;
mod codec;
mod conduct;
mod doorkeeper;
pub mod event;
mod gate;
mod handle;
mod keys;
pub mod options;
mod peers;
mod protocol;
mod rate;
mod reach;
mod redial;
pub mod status;
mod task;
#[cfg(test)]
mod tests;
mod transport;

use std::io;

use libp2p::Multiaddr;
use plumb_core::identity::SecretKey;
use tokio::runtime::Handle;
use tokio::sync::mpsc;

pub use event::{GossipId, NetworkEvent, RefusalReason, RequestToken};
pub use handle::{CommandError, NetworkHandle, PublishError, RequestError};
pub use keys::{ForeignKey, node_of_peer, peer_of_node};
pub use options::{Limits, Options};
pub use protocol::Protocol;
pub use redial::ADDRESSES_MAX;
pub use status::{AddressStatus, DialFailure, NetworkStatus, PeerStatus, Reachability, Trying};

/// Why a network did not start.
#[derive(Debug, thiserror::Error)]
pub enum DriverError {
    /// There is no tokio runtime around the call.
    #[error("the network needs a tokio runtime")]
    NoRuntime,
    /// The node's key is not usable.
    #[error("the node's key is not usable on the network")]
    Key(#[source] libp2p::identity::DecodingError),
    /// The encrypted transport could not be made.
    #[error("the transport could not be set up: {reason}")]
    Transport {
        /// Why.
        reason: String,
    },
    /// Gossip could not be configured.
    #[error("gossip could not be set up: {reason}")]
    Gossip {
        /// Why.
        reason: String,
    },
    /// The local network cannot be searched.
    #[error("multicast discovery could not be set up")]
    Mdns {
        /// Why.
        source: io::Error,
    },
    /// An address cannot be listened at.
    #[error("cannot listen at `{addr}`: {reason}")]
    Listen {
        /// Where.
        addr: Multiaddr,
        /// Why.
        reason: String,
    },
    /// A bootstrap address is not usable.
    #[error("cannot use `{addr}` as a bootstrap address")]
    Bootstrap {
        /// Which.
        addr: Multiaddr,
        /// Why.
        source: CommandError,
    },
    /// The task that sets the network up died.
    #[error("the network's task ended while it was set up")]
    Task,
}

/// The start of a network.
pub struct Network;

impl Network {
    /// Starts a network on the runtime of the caller, which should have more than one thread: encryption of all
    /// connections runs there. When it returns, all listeners are up.
    pub async fn start(
        options: Options,
        secret: &SecretKey,
    ) -> Result<(NetworkHandle, mpsc::Receiver<NetworkEvent>), DriverError> {
        let runtime = Handle::try_current().map_err(|_| DriverError::NoRuntime)?;
        Network::start_on(&runtime, options, secret).await
    }

    /// Starts a network on another runtime than the caller's.
    pub async fn start_on(
        runtime: &Handle,
        options: Options,
        secret: &SecretKey,
    ) -> Result<(NetworkHandle, mpsc::Receiver<NetworkEvent>), DriverError> {
        let keypair = keys::keypair(secret).map_err(DriverError::Key)?;
        let node = secret.public();
        let set_up = runtime.spawn(async move {
            let swarm = transport::swarm(&keypair, &options)?;
            let Options { listen, announce, bootstrap, blocked, limits, .. } = options;
            let (outbox, events) = event::Outbox::new(limits.events_max);
            let mut driver = task::Driver::new(swarm, limits, outbox);
            driver.block_all(blocked);
            driver.listen(&listen).await?;
            driver.announce(announce);
            driver.bootstrap(bootstrap)?;
            let (sender, commands) = mpsc::channel(options::COMMANDS_MAX);
            tokio::spawn(driver.run(commands));
            Ok((NetworkHandle { node, commands: sender }, events))
        });
        set_up.await.map_err(|_| DriverError::Task)?
    }
}
