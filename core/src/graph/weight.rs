//! What an edge weighs: at first, when it grows, and when nothing happens any more.
//!
//! Weights are thousandths and never leave `0..=1000` ([`Milli`]). Everything here is a formula over what was observed,
//! so that a machine that starts anew, or counts again, comes to the same weight.

use super::Relation;
use crate::measure::{Duration, Milli, Timestamp};

/// What somebody declared (ENT-07): a member is a member.
pub const WEIGHT_DEFAULT: Milli = Milli::ONE;
/// What was assumed and not computed from signals (ENT-07, CTX-29).
pub const WEIGHT_ASSUMED: Milli = Milli::from_const(500);
/// What one commit adds to `touches` (ENT-18). The first one creates the edge.
pub const TOUCH_STEP: Milli = Milli::from_const(50);
/// What one access by somebody else adds to `expert_in` (ENT-19). The first one creates the edge.
pub const EXPERT_STEP: Milli = Milli::from_const(20);
/// A learned edge loses a tenth for each of these that passes without activity (GRV-19). That is a half-life of
/// 30 · ln 2 / ln (10/9) = 197 days.
pub const FADE_PERIOD: Duration = Duration::days(30);
/// A learned edge that is weaker than this may be pruned (GRV-19).
pub const FADED_BELOW: Milli = Milli::from_const(50);

/// Commits at which somebody works on a project with half the full weight.
const WORKS_ON_HALF: u64 = 10;
/// After so many periods nothing is left of the full weight: 1000 · 0.9^66 < 1.
const FADE_PERIODS_MAX: u64 = 66;

/// The weight of `works_on` after `commits` commits: `n / (n + 10)`, truncated (ENT-17). One commit gives 90, ten 500,
/// ninety 900: more commits weigh more, the first ones most, and none of it depends on how busy others are.
/// "Frequency" is the caller's window: it counts the commits of the time that it looks at.
pub fn works_on_weight(commits: u64) -> Milli {
    Milli::from_ratio(commits, commits.saturating_add(WORKS_ON_HALF))
}

/// The weight of `touches` after `commits` commits: 50 for each, at most 1000 (ENT-18). Equal to as many growths by
/// [`TOUCH_STEP`].
pub fn touches_weight(commits: u64) -> Milli {
    Milli::clamped(i64::try_from(commits.saturating_mul(u64::from(TOUCH_STEP.get()))).unwrap_or(i64::MAX))
}

/// How strong an edge is at `now`: declared edges as they are; learned ones `weight · 0.9^p`, truncated, with `p` the
/// whole [`FADE_PERIOD`]s since its last activity (GRV-19).
///
/// A function of the stored weight and the last activity alone: asked twice it answers the same, and asked late it
/// answers what many early answers would have led to.
pub fn faded(relation: Relation, weight: Milli, active_at: Timestamp, now: Timestamp) -> Milli {
    if !relation.is_learned() {
        return weight;
    }
    let periods = now.since(active_at).0 / FADE_PERIOD.0;
    if periods >= FADE_PERIODS_MAX {
        return Milli::ZERO;
    }
    // 10^-18ths carry the product without a loss that could reach a thousandth: 66 truncations, each below one of them.
    const SCALE: u128 = 1_000_000_000_000_000_000;
    let left = (0..periods).fold(u128::from(weight.get()) * SCALE, |left, _| left * 9 / 10);
    Milli::clamped(i64::try_from(left / SCALE).unwrap_or(i64::MAX))
}

/// `weight` and `by` more, at most the full weight.
pub(super) fn grown(weight: Milli, by: Milli) -> Milli {
    Milli::clamped(i64::from(weight.get()) + i64::from(by.get()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn more_commits_weigh_more() {
        let weights = [(0, 0), (1, 90), (2, 166), (10, 500), (90, 900), (990, 990), (u64::MAX, 1000)];
        for (commits, weight) in weights {
            assert_eq!(works_on_weight(commits).get(), weight, "{commits}");
        }
        for (commits, weight) in [(0, 0), (1, 50), (2, 100), (19, 950), (20, 1000), (21, 1000), (u64::MAX, 1000)] {
            assert_eq!(touches_weight(commits).get(), weight, "{commits}");
        }
    }

    #[test]
    fn an_edge_fades_by_whole_periods() {
        let at = |days: u64, ms: i64| Timestamp(i64::try_from(days * 86_400_000).unwrap() + ms);
        let full = |now| faded(Relation::ExpertIn, Milli::ONE, Timestamp(0), now).get();
        let cases = [
            (at(0, 0), 1000),
            (at(30, -1), 1000),
            (at(30, 0), 900),
            (at(60, -1), 900),
            (at(60, 0), 810),
            (at(180, 0), 531),
            (at(210, 0), 478),
            (at(28 * 30, 0), 52),
            (at(29 * 30, 0), 47),
            (at(65 * 30, 0), 1),
            (at(66 * 30, 0), 0),
            (Timestamp(i64::MAX), 0),
            (Timestamp(-1), 1000),
        ];
        for (now, left) in cases {
            assert_eq!(full(now), left, "{now:?}");
        }
        let years = at(3650, 0);
        assert_eq!(faded(Relation::MemberOf, Milli::ONE, Timestamp(0), years), Milli::ONE, "declared edges stay");
        assert_eq!(faded(Relation::Touches, Milli::ONE, Timestamp(0), years), Milli::ZERO);
    }

    proptest! {
        #[test]
        fn fading_is_the_exact_power_truncated(weight in 0u16..=1000, periods in 0u32..=35) {
            let exact = u128::from(weight) * 9u128.pow(periods) / 10u128.pow(periods);
            let now = Timestamp(i64::from(periods) * 30 * 86_400_000);
            let left = faded(Relation::Touches, Milli::new(weight).unwrap(), Timestamp(0), now);
            prop_assert_eq!(u128::from(left.get()), exact);
        }

        #[test]
        fn what_fades_never_grows(weight in 0u16..=1000, a in 0i64..400_000_000_000, b in 0i64..400_000_000_000) {
            let weight = Milli::new(weight).unwrap();
            let at = |t: i64| faded(Relation::WorksOn, weight, Timestamp(0), Timestamp(t));
            prop_assert!(at(a.max(b)) <= at(a.min(b)) && at(a) <= weight);
        }

        #[test]
        fn counting_and_growing_agree(commits in 0u64..60) {
            let one_by_one = (0..commits).fold(Milli::ZERO, |weight, _| grown(weight, TOUCH_STEP));
            prop_assert_eq!(one_by_one, touches_weight(commits));
        }
    }
}
