//! What a receiver makes of a teaching.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use cid::Cid;
use serde::{Deserialize, Serialize};

use super::{HOPS_MAX, Taught};
use crate::knowledge::WordError;
use crate::measure::Milli;
use crate::retrieval::words;
use crate::verification::{Cause, conflict};

/// More of the words in common than this, and a text says nothing new (FED-04).
const DUPLICATE_ABOVE: Milli = Milli::from_const(950);

/// What a person's acceptance does to a confidence: a tenth more, and never more than the bound (FED-07).
const ACCEPTED_PERMILLE: i64 = 1100;
const ACCEPTED_MAX: i64 = 950;

/// What is sent back (FED-04).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "reply", rename_all = "snake_case")]
pub enum Reply {
    /// It is known here now.
    Accepted,
    /// It was known already.
    SkippedDuplicate {
        /// As what.
        of: Cid,
    },
    /// It came too far.
    MaxHopsExceeded,
    /// It contradicts something that is known here; a person decides.
    PendingReview {
        /// What it contradicts.
        against: Cid,
    },
    /// It is not taken.
    Rejected {
        /// Why.
        reason: String,
    },
}

/// What a person decides about a teaching that waits (FED-07).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Resolution {
    /// It stands.
    Accept,
    /// It does not.
    Reject,
    /// Both stand, each where it fits; the conflict stays shown.
    ContextDependent,
}

impl Resolution {
    const ALL: [Resolution; 3] = [Resolution::Accept, Resolution::Reject, Resolution::ContextDependent];
}

impl fmt::Display for Resolution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Resolution::Accept => "accept",
            Resolution::Reject => "reject",
            Resolution::ContextDependent => "context-dependent",
        })
    }
}

impl FromStr for Resolution {
    type Err = WordError;
    fn from_str(text: &str) -> Result<Resolution, WordError> {
        Resolution::ALL.into_iter().find(|r| r.to_string() == text).ok_or_else(|| WordError {
            given: text.chars().take(60).collect(),
            expected: "accept, reject, context-dependent",
        })
    }
}

/// A text that is known here.
#[derive(Clone, Copy, Debug)]
pub struct Known<'a> {
    /// Its unit.
    pub unit: Cid,
    /// What it says.
    pub text: &'a str,
}

/// Judges a teaching whose chain holds, by its text and what is known of the same matter. Opposition is looked for
/// before likeness: two texts of almost the same words may say the opposite (CFL-08).
pub fn judge<'a>(taught: &Taught, text: &str, known: impl IntoIterator<Item = Known<'a>> + Clone) -> Reply {
    if taught.hops.len() > HOPS_MAX {
        return Reply::MaxHopsExceeded;
    }
    if !taught.teaching.value().may_propagate() {
        let reason = "only what its origin is sure of, is of use to others, and was validated or seen often is taken";
        return Reply::Rejected { reason: reason.to_string() };
    }
    // Numbers alone differ between places without contradicting each other; for a gate to a person it is enough.
    let opposed = known.clone().into_iter().find(|k| opposes(text, k.text).is_some());
    if let Some(opposed) = opposed {
        return Reply::PendingReview { against: opposed.unit };
    }
    match known.into_iter().find(|k| likeness(text, k.text) > DUPLICATE_ABOVE) {
        Some(same) => Reply::SkippedDuplicate { of: same.unit },
        None => Reply::Accepted,
    }
}

/// The confidence after a person's decision, and whether it is known here from now on.
pub fn resolve(confidence: Milli, resolution: Resolution) -> Option<Milli> {
    match resolution {
        Resolution::Accept => {
            let raised = i64::from(confidence.get()) * ACCEPTED_PERMILLE / 1000;
            // A confidence that was higher before is not lowered by an acceptance.
            Some(confidence.max(Milli::clamped(raised.min(ACCEPTED_MAX))))
        }
        Resolution::ContextDependent => Some(confidence),
        Resolution::Reject => None,
    }
}

fn opposes(a: &str, b: &str) -> Option<Cause> {
    let sentences = |text: &'_ str| -> Vec<String> {
        text.split_inclusive(['.', '!', '?', '\n']).map(|s| s.trim().to_string()).filter(|s| !s.is_empty()).collect()
    };
    let (ours, theirs) = (sentences(a), sentences(b));
    ours.iter().find_map(|x| theirs.iter().find_map(|y| conflict(x, y)).map(|found| found.cause))
}

/// Share of the words of both that they have in common (Jaccard, RET-11).
pub(super) fn likeness(a: &str, b: &str) -> Milli {
    let (a, b): (BTreeSet<String>, BTreeSet<String>) = (words(a).into_iter().collect(), words(b).into_iter().collect());
    let common = a.intersection(&b).count() as u64;
    let all = a.union(&b).count() as u64;
    Milli::from_ratio(common, all)
}
