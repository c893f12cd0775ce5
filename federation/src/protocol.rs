//! The state machines: each takes what happened, at which time, and returns what to do about it.
//!
//! | machine | decides |
//! | --- | --- |
//! | [`Admission`] | who may talk to this node at all |
//! | [`LogSync`] | which entries of whose log to ask from whom, and what of the answers is true |
//! | [`Witnessing`] | whom to show the own log's head, to have it cosigned |
//! | [`Delivery`] | who still owes an acknowledgement for which notice, and when to try again |
//! | [`FederatedSearch`] | one question to several nodes under one deadline |
//! | [`Breaker`], [`Latencies`] | whether a peer is asked at all, and how long it is waited for |
//!
//! A shell keeps the machines, feeds them events in one thread, and performs the actions in order. It encodes and sends
//! what an action carries, and decides nothing. `handle(&mut self, now, event) -> Vec<Action>` is the whole face.
//!
//! **Invariant:** nothing here reads a clock, draws a random number of its own, waits, or iterates over a map without
//! order. The same events at the same times with the same seed give the same actions, which is what [`crate::sim`]
//! builds on.

pub mod admission;
pub mod breaker;
pub mod delivery;
pub mod latency;
pub mod log_sync;
pub mod search;
pub mod witnessing;

mod backoff;
mod random;

pub use admission::Admission;
pub use backoff::has_passed;
pub use breaker::Breaker;
pub use delivery::Delivery;
pub use latency::{Latencies, Patience};
pub use log_sync::LogSync;
pub use random::Random;
pub use search::FederatedSearch;
pub use witnessing::Witnessing;
