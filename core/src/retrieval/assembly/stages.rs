//! The six stages by name, what time each may take, and what it took (CTX-01, CTX-23 to CTX-26).

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use crate::measure::Duration;

/// All of assembly (CTX-26).
pub const TOTAL_BUDGET: Duration = Duration(150);
/// A hook that asks for context waits no longer in all (CTX-26).
pub const HOOK_DEADLINE: Duration = Duration::seconds(5);
/// And for the HTTP request no longer than this (CTX-26).
pub const HOOK_HTTP_DEADLINE: Duration = Duration::seconds(3);
/// A shorter prompt is no question, and a hook asks for nothing (CTX-26).
pub const PROMPT_CHARACTERS_MIN: usize = 10;

/// Whether a hook lets this prompt pass without asking for context.
pub fn hook_skips(prompt: &str) -> bool {
    prompt.trim().chars().count() < PROMPT_CHARACTERS_MIN
}

/// A stage of assembly, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the names are the design's")]
pub enum Stage {
    Intent,
    Entities,
    Weights,
    Search,
    Fusion,
    Conflicts,
}

impl Stage {
    /// Every stage, in order.
    pub const ALL: [Stage; 6] =
        [Stage::Intent, Stage::Entities, Stage::Weights, Stage::Search, Stage::Fusion, Stage::Conflicts];

    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Stage::Intent => "intent",
            Stage::Entities => "entities",
            Stage::Weights => "weights",
            Stage::Search => "search",
            Stage::Fusion => "fusion",
            Stage::Conflicts => "conflicts",
        }
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The stages that share a budget, with it in milliseconds (CTX-23 to CTX-25).
const BUDGETS: [(&[Stage], u64); 3] = [
    (&[Stage::Intent, Stage::Entities], 5),
    (&[Stage::Weights], 10),
    (&[Stage::Search, Stage::Fusion, Stage::Conflicts], 80),
];

/// What the stages took, in microseconds, as the shell measured them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Timings {
    /// Each stage that was run.
    pub took_us: BTreeMap<Stage, u64>,
}

impl Timings {
    /// Adds what a stage took; a stage that runs twice has taken both times.
    pub fn add(&mut self, stage: Stage, took_us: u64) {
        let sum = self.took_us.entry(stage).or_default();
        *sum = sum.saturating_add(took_us);
    }

    /// What all of them took.
    pub fn total_us(&self) -> u64 {
        self.took_us.values().fold(0, |sum, us| sum.saturating_add(*us))
    }

    /// Every group of stages that took longer than its budget.
    pub fn over_budget(&self) -> Vec<&'static [Stage]> {
        let took = |stages: &[Stage]| {
            stages.iter().filter_map(|s| self.took_us.get(s)).fold(0u64, |sum, us| sum.saturating_add(*us))
        };
        BUDGETS.into_iter().filter(|(stages, ms)| took(stages) > ms * 1000).map(|(stages, _)| stages).collect()
    }

    /// Whether all of it took longer than [`TOTAL_BUDGET`].
    pub fn is_over_in_all(&self) -> bool {
        self.total_us() > TOTAL_BUDGET.0 * 1000
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budgets_hold_at_both_edges() {
        for (stage, ms) in [(Stage::Entities, 5), (Stage::Weights, 10), (Stage::Fusion, 80)] {
            let mut timings = Timings::default();
            timings.add(stage, ms * 1000);
            assert!(timings.over_budget().is_empty(), "{stage}");
            timings.add(stage, 1);
            assert!(timings.over_budget()[0].contains(&stage), "{stage}");
        }
    }

    #[test]
    fn stages_of_one_budget_are_taken_together() {
        let mut timings = Timings::default();
        for stage in [Stage::Intent, Stage::Entities] {
            timings.add(stage, 2_501);
        }
        assert_eq!(timings.over_budget(), [[Stage::Intent, Stage::Entities]]);
        timings.add(Stage::Search, 150_000 - timings.total_us());
        assert!(!timings.is_over_in_all());
        timings.add(Stage::Search, 1);
        assert!(timings.is_over_in_all());
    }

    #[test]
    fn a_hook_skips_what_is_shorter_than_ten_characters() {
        assert!(hook_skips("") && hook_skips("   yes please   ".trim_end_matches("please   ")));
        assert!(hook_skips("123456789") && !hook_skips("1234567890"));
        assert!(!hook_skips("経営者経営者経営者経"), "characters, not bytes, are counted");
        assert!(hook_skips("経営者経営者経営者"));
    }
}
