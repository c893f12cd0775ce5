//! The request protocols: their names on the wire, and how many bytes each may carry.
//!
//! The limits are those of the messages in [`crate::wire`], and not of a node's options: a peer that obeys them is
//! never cut off, whoever it talks to.

use std::fmt;

use crate::wire::{blocks, hello, log, notice, search, teach};

/// A request protocol. Each has streams of its own, so that traffic of one never waits behind another's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Protocol {
    /// Certificates, versions, limits, log heads. The only one that answers before admission.
    Hello,
    /// Federated search, both phases.
    Search,
    /// Blocks by CID.
    Blocks,
    /// Checkpoints, proofs, entries.
    Log,
    /// Notices and their acknowledgements.
    Notice,
    /// Knowledge that is offered.
    Teach,
}

impl Protocol {
    /// Every protocol.
    pub const ALL: [Protocol; 6] =
        [Protocol::Hello, Protocol::Search, Protocol::Blocks, Protocol::Log, Protocol::Notice, Protocol::Teach];

    /// Its name in the negotiation. Another number is another protocol.
    pub const fn name(self) -> &'static str {
        match self {
            Protocol::Hello => hello::PROTOCOL,
            Protocol::Search => search::PROTOCOL,
            Protocol::Blocks => blocks::PROTOCOL,
            Protocol::Log => log::PROTOCOL,
            Protocol::Notice => notice::PROTOCOL,
            Protocol::Teach => teach::PROTOCOL,
        }
    }

    /// The longest request.
    pub const fn request_bytes_max(self) -> usize {
        match self {
            Protocol::Hello => hello::FRAME_BYTES_MAX,
            Protocol::Search => search::REQUEST_BYTES_MAX,
            Protocol::Blocks => blocks::REQUEST_BYTES_MAX,
            Protocol::Log => log::FRAME_BYTES_MAX,
            Protocol::Notice => notice::REQUEST_BYTES_MAX,
            Protocol::Teach => teach::REQUEST_BYTES_MAX,
        }
    }

    /// The longest response.
    pub const fn response_bytes_max(self) -> usize {
        match self {
            Protocol::Hello => hello::FRAME_BYTES_MAX,
            Protocol::Search => search::RESPONSE_BYTES_MAX,
            Protocol::Blocks => blocks::RESPONSE_BYTES_MAX,
            Protocol::Log => log::FRAME_BYTES_MAX,
            Protocol::Notice => notice::RESPONSE_BYTES_MAX,
            Protocol::Teach => teach::RESPONSE_BYTES_MAX,
        }
    }

    /// Its place in [`Protocol::ALL`].
    pub(super) const fn index(self) -> usize {
        self as usize
    }
}

impl AsRef<str> for Protocol {
    fn as_ref(&self) -> &str {
        self.name()
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_design_and_places_are_their_own() {
        let names = Protocol::ALL.map(Protocol::name);
        assert_eq!(
            names,
            [
                "/plumb/hello/1",
                "/plumb/search/1",
                "/plumb/blocks/1",
                "/plumb/log/1",
                "/plumb/notice/1",
                "/plumb/teach/1"
            ]
        );
        for (place, protocol) in Protocol::ALL.into_iter().enumerate() {
            assert_eq!(protocol.index(), place);
        }
    }
}
