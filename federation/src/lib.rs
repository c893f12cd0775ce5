//! What crosses the wire between nodes: the messages, the state machines that decide, the driver that carries them out.
//!
//! A node talks to other nodes to search what they hold, to fetch blocks, to follow everybody's public log, and to make
//! sure that a retraction reaches whoever holds the evidence. Everything that is decided on the way stands in
//! [`protocol`], as machines that take `(now, event)` and return actions; nothing there reads a clock, opens a socket or
//! draws a random number of its own. So [`sim`] can run the same machines by the thousand under loss, delay, partition
//! and crash, and a failure has a seed that repeats it.
//!
//! | room | holds |
//! | --- | --- |
//! | [`wire`] | the messages: versioned types, limits, total decoders |
//! | [`protocol`] | admission, log sync, delivery of notices, federated search |
//! | [`sim`] | a seeded simulator that runs the machines of many nodes |
//! | [`driver`] | libp2p: moves frames, decides nothing |
//!
//! **Invariant:** this crate knows nothing of storage. The machines speak in messages, and the actors answer them.
//!
//! ```
//! use plumb_federation::wire::{WireError, search::{SearchRequest, StatisticsAsked}};
//!
//! let asked = StatisticsAsked::new(7, "Was the reservoir full?", 2_000)?;
//! let frame = SearchRequest::Statistics(asked.clone()).encode();
//! assert_eq!(SearchRequest::decode(&frame)?, SearchRequest::Statistics(asked));
//! // A decoder is total: any bytes give a value or say what is wrong with them.
//! assert!(matches!(SearchRequest::decode(&frame[1..]), Err(WireError::Malformed { .. })));
//! # Ok::<(), WireError>(())
//! ```

#[cfg(feature = "driver")]
pub mod driver;
pub mod protocol;
pub mod sim;
pub mod wire;
