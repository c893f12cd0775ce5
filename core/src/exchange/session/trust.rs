//! A reader's trust in sources (TRU-01 to TRU-05). It is given with a question and stored nowhere.

use std::collections::BTreeMap;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Full trust.
pub const TRUST_MAX: u8 = 100;

/// Trust in a source of which nothing is said.
pub const TRUST_NEUTRAL: u8 = 50;

/// What a point of trust above or below neutral adds to a score.
const POINT: i64 = 10;

/// Files that were found by themselves bear their name behind this as their id.
const FILE_PREFIX: &str = "source:";

/// Trust by the id of a source, 0 to 100.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceTrust(BTreeMap<String, Points>);

/// One number of trust. Only an integer from 0 to 100 is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "u64", into = "u64")]
struct Points(u8);

/// Trust that is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not trust in a source; it is written SOURCE=N with an integer N from 0 to {TRUST_MAX}")]
pub struct TrustParseError(String);

impl SourceTrust {
    /// Sets the trust in a source; more than [`TRUST_MAX`] is as much as that.
    pub fn set(&mut self, source_id: &str, points: u8) {
        self.0.insert(source_id.to_string(), Points(points.min(TRUST_MAX)));
    }

    /// Trust in a source, if something is said of it: under its id, or for a file that was found by itself, under the
    /// bare name of the file (TRU-05).
    pub fn of(&self, source_id: &str) -> Option<u8> {
        let bare = source_id.strip_prefix(FILE_PREFIX);
        self.0.get(source_id).or_else(|| self.0.get(bare?)).map(|points| points.0)
    }

    /// What it adds to a score, −500 to 500 (RET-06).
    pub(super) fn score(&self, source_id: &str) -> i64 {
        POINT * (i64::from(self.of(source_id).unwrap_or(TRUST_NEUTRAL)) - i64::from(TRUST_NEUTRAL))
    }
}

impl FromIterator<(String, u8)> for SourceTrust {
    fn from_iter<I: IntoIterator<Item = (String, u8)>>(all: I) -> SourceTrust {
        let mut trust = SourceTrust::default();
        for (source_id, points) in all {
            trust.set(&source_id, points);
        }
        trust
    }
}

/// `SOURCE=N`, as a command line gives it.
pub(super) fn parse_pair(text: &str) -> Result<(String, u8), TrustParseError> {
    let refused = || TrustParseError(text.chars().take(120).collect());
    let (source, points) = text.rsplit_once('=').filter(|(source, _)| !source.is_empty()).ok_or_else(refused)?;
    let points = points.parse::<u8>().ok().filter(|n| *n <= TRUST_MAX).ok_or_else(refused)?;
    Ok((source.to_string(), points))
}

/// One pair `SOURCE=N`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrustPair(pub String, pub u8);

impl FromStr for TrustPair {
    type Err = TrustParseError;
    fn from_str(text: &str) -> Result<TrustPair, TrustParseError> {
        parse_pair(text).map(|(source, points)| TrustPair(source, points))
    }
}

impl TryFrom<u64> for Points {
    type Error = TrustParseError;
    fn try_from(points: u64) -> Result<Points, TrustParseError> {
        u8::try_from(points)
            .ok()
            .filter(|n| *n <= TRUST_MAX)
            .map(Points)
            .ok_or_else(|| TrustParseError(points.to_string()))
    }
}

impl From<Points> for u64 {
    fn from(points: Points) -> u64 {
        u64::from(points.0)
    }
}
