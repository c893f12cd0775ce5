//! `plumb bench`: measurements that need whole nodes. Each prints the machine, and a JSON document if asked.
//!
//! | room | measures |
//! | --- | --- |
//! | [`notices`] | how long a retraction takes to every node of a real network on this machine |

pub mod notices;

mod cluster;
