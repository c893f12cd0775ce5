//! Evidence: how well a unit is supported, and how stale it has become.
//!
//! **Invariant:** nothing here is accumulated. What is stored are counts and moments; a score is derived from them each
//! time, so running a cycle twice, or reading a unit twice in one second, cannot compound anything (D12).

mod staleness;

use serde::Serialize;

use crate::knowledge::{KnowledgeType, SourceType};
use crate::measure::{Duration, Factor, Micro, Milli, ratio};

pub use staleness::{FileState, STALE_COUNTED, STALE_FLAGGED, Staleness, file_staleness, half_life, time_staleness};

/// Corroborations beyond this add nothing (KNU-09).
pub const CORROBORATIONS_MAX: u64 = 10;
/// Accesses beyond this add nothing (KNU-09).
pub const ACCESSES_MAX: u64 = 50;
/// Contradictions beyond this take nothing more; it only keeps the product inside its integers.
const CONTRADICTIONS_MAX: u64 = 1 << 20;
/// Idle days before decay begins (GRV-17).
const IDLE_FREE: Duration = Duration::days(30);
/// What is left to a unit that lost a resolved conflict (CFL-04).
pub const LOSER: Factor = Factor::from_const(300);

/// The confidence that a type begins with (KNU-02).
pub const fn base_confidence(kind: KnowledgeType) -> Milli {
    Milli::from_const(match kind {
        KnowledgeType::Decision | KnowledgeType::Pattern | KnowledgeType::ErrorFix => 800,
        KnowledgeType::Preference => 950,
        KnowledgeType::CodePattern => 700,
        KnowledgeType::Context | KnowledgeType::Command | KnowledgeType::Summary => 600,
        KnowledgeType::Conversation => 400,
    })
}

/// The authority of a kind of source (KNU-10). Test runs and deployments (D11) are made by machines and checked by
/// nobody yet: like a distillate, 1.1.
///
/// A document counts 1.2 here and once more in the authority of its scope; the design says both (D16).
pub const fn authority_factor(source: SourceType) -> Factor {
    Factor::from_const(match source {
        SourceType::Conversation | SourceType::Behavioral => 1000,
        SourceType::GitCommit
        | SourceType::PrReview
        | SourceType::Distillation
        | SourceType::TestRun
        | SourceType::Deployment => 1100,
        SourceType::Document => 1200,
        SourceType::Manual => 1300,
    })
}

/// What is known of a unit's support: the inputs that are stored, never a score.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Inputs {
    /// The confidence of its type, or what was set.
    pub base: Milli,
    /// Independent corroborations.
    pub corroborations: u64,
    /// Times that it was read.
    pub accesses: u64,
    /// The authority of its source.
    pub authority: Factor,
    /// Active contradictions; resolved ones do not count (CFL-06). One that the reader may not see counts too (D21).
    pub contradictions: u64,
    /// [`LOSER`] if it lost a resolved conflict, else one (CFL-04).
    pub resolution: Factor,
    /// How long nobody has read it.
    pub idle: Duration,
}

impl Inputs {
    /// A new unit of this type from this kind of source: nobody has said anything of it.
    pub const fn new(kind: KnowledgeType, source: SourceType) -> Inputs {
        Inputs {
            base: base_confidence(kind),
            corroborations: 0,
            accesses: 0,
            authority: authority_factor(source),
            contradictions: 0,
            resolution: Factor::ONE,
            idle: Duration(0),
        }
    }
}

/// An evidence score with what it was made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Evidence {
    /// From what.
    pub inputs: Inputs,
    /// The formula of KNU-09 alone.
    pub formula: Micro,
    /// What idleness takes from it.
    pub decay: Micro,
    /// The score.
    pub score: Micro,
}

/// The evidence score (KNU-09, D12): `formula × resolution − decay(idle)`, not below zero, where
/// `formula = min(1, base · (1 + 0.1·min(c, 10)) · (1 + 0.01·min(a, 50)) · f ÷ (1 + 0.5·k))`.
pub fn evidence(inputs: Inputs) -> Evidence {
    let above = u64::from(inputs.base.get())
        * (10 + inputs.corroborations.min(CORROBORATIONS_MAX))
        * (100 + inputs.accesses.min(ACCESSES_MAX))
        * u64::from(inputs.authority.get());
    // base/1000 · (10+c)/10 · (100+a)/100 · f/1000 ÷ (2+k)/2
    let below = 1000 * 10 * 100 * 1000 * (2 + inputs.contradictions.min(CONTRADICTIONS_MAX)) / 2;
    let formula = Micro::from_ratio(above, below);
    let decay = idle_decay(inputs.idle);
    let resolved = u64::from(formula.get()) * u64::from(inputs.resolution.get()) / 1000;
    let score = Micro::from_ratio(resolved.saturating_sub(decay.get().into()), 1_000_000);
    Evidence { inputs, formula, decay, score }
}

/// What idleness takes from a unit's evidence (GRV-17): nothing for 30 days, then 0.2 a year, up to all of it.
/// A function of the idle time alone, so that applying it twice is applying it once.
pub fn idle_decay(idle: Duration) -> Micro {
    let beyond = idle.0.saturating_sub(IDLE_FREE.0);
    Micro::from_ratio(ratio(beyond, 5 * Duration::days(365).0, 1_000_000), 1_000_000)
}

#[cfg(test)]
mod tests;
