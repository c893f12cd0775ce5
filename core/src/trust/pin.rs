//! The pin: what an operator has decided about one organisation.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::knowledge::WordError;

/// The weight of evidence of an organisation of which nothing else is said (TRU-01).
pub const WEIGHT_NEUTRAL: u8 = 50;

/// What is let in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Incoming {
    /// Nothing: its evidence is not sought and not imported, and its notices change nothing.
    None,
    /// Its notices only.
    Notices,
    /// Its evidence and its notices.
    #[default]
    Full,
}

/// What is let out. Notices and logs always are: whoever holds evidence has to hear what becomes of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outgoing {
    /// No content: searches and blocks are denied.
    None,
    /// Whatever the boundary lets through.
    #[default]
    Full,
}

impl Incoming {
    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Incoming::None => "none",
            Incoming::Notices => "notices",
            Incoming::Full => "full",
        }
    }
}

impl Outgoing {
    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Outgoing::None => "none",
            Outgoing::Full => "full",
        }
    }
}

impl FromStr for Incoming {
    type Err = WordError;
    fn from_str(text: &str) -> Result<Incoming, WordError> {
        let all = [Incoming::None, Incoming::Notices, Incoming::Full];
        let refused = || WordError { given: text.chars().take(60).collect(), expected: "full, notices, none" };
        all.into_iter().find(|i| i.as_str() == text).ok_or_else(refused)
    }
}

impl FromStr for Outgoing {
    type Err = WordError;
    fn from_str(text: &str) -> Result<Outgoing, WordError> {
        let refused = || WordError { given: text.chars().take(60).collect(), expected: "full, none" };
        [Outgoing::None, Outgoing::Full].into_iter().find(|o| o.as_str() == text).ok_or_else(refused)
    }
}

/// What an operator has decided about one organisation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pin {
    /// The name that the operator knows it by.
    pub name: String,
    /// What is let in.
    pub incoming: Incoming,
    /// What is let out.
    pub outgoing: Outgoing,
    /// What its evidence weighs in a reliability report, 0 to 100.
    pub weight: u8,
}

impl Pin {
    /// Full trust, under a name.
    pub fn full(name: impl Into<String>) -> Pin {
        Pin { name: name.into(), incoming: Incoming::Full, outgoing: Outgoing::Full, weight: WEIGHT_NEUTRAL }
    }
}
