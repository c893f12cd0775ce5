//! Who does the work: the actors of a node, thin shells over `core`, `storage`, `sources` and `federation`.
//!
//! An actor's file reads as a list of the messages that it answers; the thinking is in `core`. Every actor lives behind a
//! [`door::Door`]: a bounded mailbox, a deadline on every question, and a new life when it fails. Work that blocks (the
//! store, the index, hashing) runs on the blocking pool, never on an actor's thread.
//!
//! | actor | answers |
//! | --- | --- |
//! | [`ingestion`] | take sources in, as jobs of six stages |
//! | [`retrieval`] | find: boundary, local search, peers, one ranking |
//! | [`grounding`] | answer, seal, verify, import |
//! | [`verification`] | publish and apply notices, keep the ledger |
//! | [`gravity`] | plan what would rise |
//! | [`entities`] | keep the graph of people, teams, projects, systems: who is near to whom |
//! | [`audit`] | write down, list, verify |
//! | [`federation`] | the bridge to the network |
//! | [`supervisor`] | health, examination, rebuild, tokens |
//!
//! **Invariant:** nothing below this crate knows of actors, and nothing here decides what `core` can decide.

pub mod audit;
mod caller;
pub mod door;
pub mod entities;
mod error;
pub mod federation;
pub mod gravity;
pub mod grounding;
pub mod ingestion;
mod kept;
pub mod meaning;
mod node;
mod premises;
pub mod retrieval;
pub mod supervisor;
pub mod verification;

pub use caller::Caller;
pub use error::NodeError;
pub use node::{Node, NodeOptions, Person};

/// Appends entries to the own log of a store, with nothing around it: what a bench measures.
#[doc(hidden)]
pub fn append_to_own_log(
    store: &plumb_storage::Store,
    key: &plumb_core::identity::SecretKey,
    certificate: &plumb_core::identity::Signed<plumb_core::trust::Certificate>,
    event: plumb_storage::AuditEvent,
    entries: &[Vec<u8>],
) -> Result<(), NodeError> {
    let at = event.at;
    let mut change = plumb_storage::Change::new(event);
    kept::append_own(store, &mut change, key, certificate, entries, at)?;
    plumb_storage::Records::commit(store, change)?;
    Ok(())
}

/// The deadline of one step inside a node, where nobody asked for another: far beyond what any takes, so that reaching
/// it means that something is stuck.
pub const DEADLINE: plumb_core::measure::Duration = plumb_core::measure::Duration::seconds(30);
