//! Whether a question goes to other nodes too, and to which: `true`, `false`, `"auto"`, `"all"`, or a number.

use plumb_actors::retrieval::AskPeers;
use plumb_core::retrieval::AskWhom;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Which peers are asked: yes or no, in words, or the best so many.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub enum Peers {
    /// `true` is `auto`; `false` is nobody.
    Flag(bool),
    /// The most promising so many, by what they publish of their collections.
    Best(u16),
    /// `auto` or `all`.
    Word(PeersWord),
}

/// Which peers are asked, in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum PeersWord {
    /// Everyone where there are few; otherwise the most promising, and those that publish nothing.
    Auto,
    /// Everyone.
    All,
}

impl Default for Peers {
    fn default() -> Peers {
        Peers::Flag(false)
    }
}

impl Peers {
    /// Reads a word of a command line or of an address.
    pub fn parse(text: &str) -> Result<Peers, String> {
        match text {
            "true" => Ok(Peers::Flag(true)),
            "false" => Ok(Peers::Flag(false)),
            "auto" => Ok(Peers::Word(PeersWord::Auto)),
            "all" => Ok(Peers::Word(PeersWord::All)),
            number => number.parse().map(Peers::Best).map_err(|_| format!("`{text}` is not auto, all, or a number")),
        }
    }

    /// For the actors.
    pub fn ask(self, purpose: Option<String>) -> AskPeers {
        let whom = match self {
            Peers::Flag(false) => None,
            Peers::Flag(true) | Peers::Word(PeersWord::Auto) => Some(AskWhom::Auto),
            Peers::Word(PeersWord::All) => Some(AskWhom::All),
            Peers::Best(n) => Some(AskWhom::Best(usize::from(n))),
        };
        AskPeers { whom, purpose }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_in_json_and_in_words() {
        for (json, word, whom) in [
            ("true", "true", Some(AskWhom::Auto)),
            ("false", "false", None),
            ("\"auto\"", "auto", Some(AskWhom::Auto)),
            ("\"all\"", "all", Some(AskWhom::All)),
            ("5", "5", Some(AskWhom::Best(5))),
        ] {
            let peers: Peers = serde_json::from_str(json).unwrap();
            assert_eq!(Peers::parse(word), Ok(peers));
            assert_eq!(serde_json::to_string(&peers).unwrap(), json);
            assert_eq!(peers.ask(None).whom, whom);
        }
        for bad in ["\"some\"", "-1", "70000", "null"] {
            assert!(serde_json::from_str::<Peers>(bad).is_err(), "{bad}");
        }
        assert!(Peers::parse("some").is_err());
    }
}
