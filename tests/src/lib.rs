//! Whole nodes as processes: what nothing smaller can show.
//!
//! Every test of this crate starts the real `plumb` binary in homes of its own, lets nodes talk over real sockets on
//! loopback, and looks at them from outside: through the command line and HTTP, never through their memory. Nothing
//! waits for a fixed time: [`until`] polls under a deadline. Processes are ended by their id, by guards that also
//! work when a test panics. Whatever is random comes from a [`Rng`] whose seed is printed; `PLUMB_SEED` repeats it.
//!
//! | room | holds |
//! | --- | --- |
//! | [`plumb_binary`] | finds the binary, and builds it when it is older than its sources |
//! | [`Organisation`], [`Home`] | homes of nodes, founded and certified; commands run in them |
//! | [`RunningNode`] | a node as a process: started, stopped, killed |
//! | [`Peer`] | a neighbour of our own over real libp2p: honest, slow, silent, broken or lying |
//! | [`Http`] | just enough HTTP/1.1 to speak to a node, also wrongly |
//! | [`Story`] | the three nodes of `fixtures/story` |
//! | [`Pair`], [`Crafted`] | bundles: made by real nodes, and made with keys of our own |
//! | [`data`] | the collections of real input |

mod binary;
mod bundles;
mod collections;
mod home;
mod http;
mod peer;
mod process;
mod random;
mod running;
mod story;
mod view;
mod waiting;

pub use binary::{plumb_binary, workspace_root};
pub use bundles::{Crafted, PUMP_QUESTION, PUMP_SENTENCE, Pair, now, resealed};
pub use collections::data;
pub use home::{Home, Organisation};
pub use http::{Http, Response};
pub use peer::{Behaviour, Document, Identity, Peer};
pub use process::{Outcome, finish};
pub use random::Rng;
pub use running::RunningNode;
pub use story::{Question, Story, questions, story_dir};
pub use view::{citations, collapse, count, hits, list, text};
pub use waiting::{until, until_some};
