//! The transport: TCP and QUIC, names, and circuits through relays; and the swarm on top of it.

use std::convert::Infallible;

use libp2p::identity::Keypair;
use libp2p::{Swarm, SwarmBuilder, noise, tcp, yamux};

use super::DriverError;
use super::behaviour::{Behaviour, Prepared};
use super::options::Options;

/// Streams of a connection in one multiplexer, all protocols together.
const MUXED_STREAMS_MAX: usize = 256;

/// Streams of a connection whose protocol is still being negotiated.
const NEGOTIATING_STREAMS_MAX: usize = 64;

/// QUIC windows of a stream and of a connection: what a peer may send ahead of being read. The library's defaults
/// (10 and 15 MB) times the number of connections is more memory than a small node has.
const QUIC_WINDOWS_BYTES: (u32, u32) = (1024 * 1024, 4 * 1024 * 1024);

/// Builds the swarm. Needs a tokio runtime around it.
pub(super) fn swarm(keypair: &Keypair, options: &Options) -> Result<Swarm<Behaviour>, DriverError> {
    let failed = |error: &dyn std::error::Error| DriverError::Transport { reason: error.to_string() };
    let muxer = || {
        let mut muxer = yamux::Config::default();
        muxer.set_max_num_streams(MUXED_STREAMS_MAX);
        muxer
    };
    let direct = || {
        let tcp = SwarmBuilder::with_existing_identity(keypair.clone()).with_tokio().with_tcp(
            tcp::Config::default().nodelay(true),
            noise::Config::new,
            muxer,
        );
        Ok::<_, DriverError>(tcp.map_err(|error| failed(&error))?.with_quic_config(|mut quic| {
            (quic.max_stream_data, quic.max_connection_data) = QUIC_WINDOWS_BYTES;
            quic
        }))
    };
    let config = |config: libp2p::swarm::Config| {
        config
            .with_idle_connection_timeout(options.limits.idle_timeout)
            .with_max_negotiating_inbound_streams(NEGOTIATING_STREAMS_MAX)
    };
    let prepared = Prepared::new(keypair, options)?;
    let behaviour = |keypair: &Keypair, relayed| Behaviour::new(prepared, relayed, keypair, options);
    // Names are resolved by the system's resolver. Where there is none, addresses by number still work.
    match direct()?.with_dns() {
        Ok(builder) => {
            let builder = builder.with_relay_client(noise::Config::new, muxer).map_err(|error| failed(&error))?;
            Ok(sure(builder.with_behaviour(behaviour)).with_swarm_config(config).build())
        }
        Err(error) => {
            tracing::warn!(%error, "no name resolver: `/dns` addresses cannot be dialled");
            let builder = direct()?.with_relay_client(noise::Config::new, muxer).map_err(|error| failed(&error))?;
            Ok(sure(builder.with_behaviour(behaviour)).with_swarm_config(config).build())
        }
    }
}

fn sure<T>(result: Result<T, Infallible>) -> T {
    match result {
        Ok(value) => value,
        Err(never) => match never {},
    }
}
