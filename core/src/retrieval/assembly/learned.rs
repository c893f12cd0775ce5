//! What feedback teaches: for each intent, which kinds of source helped (LRN-01 to LRN-05).
//!
//! The weights from the graph are priors; what is learned only multiplies them, by a half to two, and with little data
//! hardly at all. Training is counting: it runs offline, in any order, on any machine, to the same numbers.
//!
//! **Invariant:** nothing here takes or returns a reader's rights. A model is a table of factors; it can order what was
//! admitted and admit nothing. And since feedback tells of what was shown, a model is trained only from events of which
//! every shown unit lies in a partition that the reader may read *whole* ([`ceiling`], as with term statistics): what
//! someone may not read cannot even move their ranking.

use std::collections::BTreeMap;
use std::fmt;

use cid::Cid;
use serde::{Deserialize, Serialize};

use super::Intent;
use crate::boundary::{Access, ReadableSet, Sensitivity, strictest};
use crate::knowledge::{ScopeLevel, SourceType};
use crate::measure::{Factor, Timestamp, Weight};

/// The least that learning multiplies by (LRN-04).
pub const LEARNED_LOW: Factor = Factor::from_const(500);
/// The most (LRN-04).
pub const LEARNED_HIGH: Factor = Factor::from_const(2000);
/// So many showings of average success are assumed before the first (LRN-04): after as many real ones, experience and
/// prior count alike.
pub const PRIOR_SHOWN: u64 = 20;
/// Most units of one event: no context shows more, and nobody moves a model with one event.
pub const SHOWN_MAX: usize = 64;
/// Something wrong is as bad as being passed over twice.
const WRONG_SHOWINGS: u64 = 2;

/// What became of a unit that was shown (LRN-01).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Help {
    /// It was used: the fix was applied, the citation kept.
    Used,
    /// Nobody did anything with it.
    PassedOver,
    /// A question that followed shows that it was wrong.
    Wrong,
}

impl Help {
    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Help::Used => "used",
            Help::PassedOver => "passed_over",
            Help::Wrong => "wrong",
        }
    }
}

/// A unit that was shown, with the weights under which it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shown {
    /// The unit.
    pub chunk: Cid,
    /// How wide its scope is.
    pub level: ScopeLevel,
    /// From what kind of source.
    pub source_type: SourceType,
    /// How sensitive.
    pub sensitivity: Sensitivity,
    /// The weight of its scope, learning included.
    pub source_weight: Weight,
    /// What became of it.
    pub help: Help,
}

/// What one context was good for (LRN-01). Stored as it is; models are made of it again and again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "EventFields")]
pub struct FeedbackEvent {
    at: Timestamp,
    intent: Intent,
    shown: Vec<Shown>,
}

#[derive(Deserialize)]
struct EventFields {
    at: Timestamp,
    intent: Intent,
    shown: Vec<Shown>,
}

/// Feedback that is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FeedbackError {
    /// It tells of nothing.
    #[error("the feedback names no unit; name those that the context showed")]
    Nothing,
    /// It tells of more than any context shows.
    #[error("the feedback names {0} units; a context shows at most {SHOWN_MAX}")]
    TooMany(usize),
}

impl FeedbackEvent {
    /// Feedback on a context.
    pub fn new(at: Timestamp, intent: Intent, shown: Vec<Shown>) -> Result<FeedbackEvent, FeedbackError> {
        match shown.len() {
            0 => Err(FeedbackError::Nothing),
            n if n > SHOWN_MAX => Err(FeedbackError::TooMany(n)),
            _ => Ok(FeedbackEvent { at, intent, shown }),
        }
    }

    /// When it was given.
    pub fn at(&self) -> Timestamp {
        self.at
    }

    /// What the question was after.
    pub fn intent(&self) -> Intent {
        self.intent
    }

    /// What was shown, and what became of it.
    pub fn shown(&self) -> &[Shown] {
        &self.shown
    }

    /// The label of the event: the strictest of what it tells of (law 1).
    pub fn label(&self) -> Sensitivity {
        strictest(self.shown.iter().map(|s| s.sensitivity))
    }
}

impl TryFrom<EventFields> for FeedbackEvent {
    type Error = FeedbackError;
    fn try_from(fields: EventFields) -> Result<FeedbackEvent, FeedbackError> {
        FeedbackEvent::new(fields.at, fields.intent, fields.shown)
    }
}

/// A kind of source of which something is learned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SourceKind {
    /// Scopes of this level; it modulates the weight of a scope.
    Level(ScopeLevel),
    /// Units from this kind of signal; it modulates a final score.
    Type(SourceType),
}

/// What is counted of a kind of source under an intent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Learned {
    /// How often it was used.
    pub helped: u64,
    /// How often it was shown; what was wrong counts twice.
    pub shown: u64,
}

impl Learned {
    fn add(&mut self, help: Help) {
        self.helped = self.helped.saturating_add(u64::from(help == Help::Used));
        self.shown = self.shown.saturating_add(if help == Help::Wrong { WRONG_SHOWINGS } else { 1 });
    }
}

/// A learned factor with what it was made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct LearnedFactor {
    /// The factor.
    pub factor: Factor,
    /// Of this kind of source.
    pub kind: Learned,
    /// Of all kinds under this intent.
    pub all: Learned,
}

/// What was learned, for each intent. Without data every factor is exactly one (LRN-03).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Model {
    kinds: BTreeMap<(Intent, SourceKind), Learned>,
    all: BTreeMap<Intent, Learned>,
}

impl Model {
    /// Trained from the events that lie wholly below a ceiling (LRN-02). The order of events does not matter.
    pub fn train<'e>(events: impl IntoIterator<Item = &'e FeedbackEvent>, ceiling: Sensitivity) -> Model {
        let mut model = Model::default();
        for event in events.into_iter().filter(|event| event.label() <= ceiling) {
            for shown in &event.shown {
                for kind in [SourceKind::Level(shown.level), SourceKind::Type(shown.source_type)] {
                    model.kinds.entry((event.intent, kind)).or_default().add(shown.help);
                }
                model.all.entry(event.intent).or_default().add(shown.help);
            }
        }
        model
    }

    /// What to multiply by, between a half and two (LRN-04):
    /// `(helped + 20·p) ÷ ((shown + 20)·p)`, where `p` is the share of all that was shown under this intent which
    /// helped. It is exactly one where nothing was shown, or where nothing at all ever helped.
    pub fn factor(&self, intent: Intent, kind: SourceKind) -> LearnedFactor {
        let all = self.all.get(&intent).copied().unwrap_or_default();
        let kind = self.kinds.get(&(intent, kind)).copied().unwrap_or_default();
        if kind.shown == 0 {
            return LearnedFactor { factor: Factor::ONE, kind, all };
        }
        // With p = H/N, times N above and below.
        let [helped, shown, all_helped, all_shown] =
            [kind.helped, kind.shown, all.helped, all.shown].map(|n| u128::from(n.min(COUNT_MAX)));
        let prior = u128::from(PRIOR_SHOWN);
        let above = helped * all_shown + prior * all_helped;
        let below = (shown + prior) * all_helped;
        LearnedFactor { factor: Factor::from_ratio_within(above, below, LEARNED_LOW, LEARNED_HIGH), kind, all }
    }

    /// Everything of which something is known, by intent.
    pub fn table(&self) -> impl Iterator<Item = (Intent, SourceKind, LearnedFactor)> + '_ {
        self.kinds.keys().map(|(intent, kind)| (*intent, *kind, self.factor(*intent, *kind)))
    }

    /// Whether it has learned nothing.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }
}

/// No node has seen more; it keeps the products inside their integers.
const COUNT_MAX: u64 = 1 << 48;

/// The most sensitive class up to which a reader may read everything, so that feedback on it tells them nothing new.
/// The public partition is whole for everybody.
pub fn ceiling(set: &ReadableSet) -> Sensitivity {
    let is_whole = |s: &Sensitivity| *set.access(*s) == Access::Whole;
    Sensitivity::ALL.into_iter().take_while(is_whole).last().unwrap_or(Sensitivity::Public)
}

impl fmt::Display for LearnedFactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "learned {} ({} of {})", self.factor, self.kind.helped, self.kind.shown)
    }
}

#[cfg(test)]
mod tests;
