use super::*;
use proptest::prelude::*;

fn cause(a: &str, b: &str) -> Option<Cause> {
    conflict(a, b).map(|c| c.cause)
}

#[test]
fn conflicts_are_recognised() {
    use Cause::{Antonym, Date, Negation, Number, Replacement};
    for (a, b, expected) in [
        // B6.
        ("should use Redis", "should not use Redis", Negation),
        ("use Express", "use Fastify instead of Express", Replacement),
        ("use Redis", "never use Redis", Negation),
        // The story.
        (
            "Customer meter readings are retained for 90 days.",
            "Customer meter readings are retained for 30 days.",
            Number,
        ),
        ("Valves must be exercised during heavy rain.", "Valves must not be exercised during heavy rain.", Negation),
        // Negation in other clothes.
        ("We should use Redis for sessions.", "We shouldn’t use Redis for sessions.", Negation),
        ("There is lead in the water of Old Quay.", "There is no lead in the water of Old Quay.", Negation),
        ("The pump runs with oil.", "The pump runs without oil.", Negation),
        ("Redis is used for sessions.", "Redis is no longer used for sessions.", Negation),
        ("Use chlorine in Old Quay.", "Avoid chlorine use in Old Quay.", Negation),
        ("Aspirin reduces the risk of stroke.", "Aspirin does not reduce the risk of stroke.", Negation),
        ("Use Fastify, not Express.", "Use Express.", Negation),
        ("The pump cannot start for some reason.", "The pump can start for some reason.", Negation),
        // Opposites.
        ("Valve HR-11 is open.", "Valve HR-11 is closed.", Antonym),
        ("The pump is on.", "The pump is off.", Antonym),
        ("Night work is allowed in the tunnel.", "Night work is prohibited in the tunnel.", Antonym),
        ("Lead levels increased after the change.", "Lead levels decreased after the change.", Antonym),
        ("The interface is stable.", "The interface is unstable.", Antonym),
        ("A boy runs near some steps.", "A boy runs far from some steps.", Antonym),
        // Replacement.
        ("Use chloramine in Old Quay.", "Use chlorine rather than chloramine in Old Quay.", Replacement),
        // Numbers.
        ("Readings are kept for ninety days.", "Readings are retained for 30 days.", Number),
        ("Passwords must have at least 12 characters.", "Passwords must have at least 8 characters.", Number),
        ("The dose is at most 2 mg/L.", "The dose is 3 mg/L.", Number),
        ("The tariff rises by 4.5 percent.", "The tariff rises by 5.5%.", Number),
        ("The main left 2,140 households without water.", "The main left 2140000 households without water.", Number),
        ("The works cost 4.5 million euros.", "The works cost €5 million.", Number),
        ("Four people wait near the stairs.", "Six people wait near the stairs.", Number),
        // Points in time.
        ("The works at Erlen opened in 1998.", "The works at Erlen opened in 2003.", Date),
        ("The permit expires on 3 May 2031.", "The permit expires on 3 June 2031.", Date),
    ] {
        assert_eq!(cause(a, b), Some(expected), "{a} | {b}");
    }
}

#[test]
fn what_can_both_be_true_is_no_conflict() {
    for (a, b) in [
        // B6.
        ("use PostgreSQL", "PostgreSQL is the right choice"),
        ("should use Redis", "The reservoir was cleaned in March."),
        ("should use Redis", "should not use Kafka"),
        // Numbers that name, other dates, other places, other units.
        ("Turbidity at station 3 was 0.2 NTU.", "Turbidity at station 5 was 0.4 NTU."),
        ("Turbidity on 3 May was 0.2 NTU.", "Turbidity on 4 May was 0.4 NTU."),
        ("Turbidity was 0.2 NTU on Monday.", "Turbidity was 0.4 NTU on Tuesday."),
        ("In 2030 non-revenue water was 14 percent.", "In 2031 non-revenue water was 16 percent."),
        ("Turbidity at Erlen was 0.2 NTU.", "Turbidity at Harbour was 0.4 NTU."),
        ("Chlorine at the inlet was 0.4 mg/L.", "Chlorine at the outlet was 0.2 mg/L."),
        ("The main is 300 mm wide.", "The main is 300 m long."),
        ("Pump 4 is running.", "Pump 7 is not running."),
        ("Valve HR-11 is open.", "Valve HR-12 is closed."),
        ("Firmware 4.2 is affected.", "Firmware 4.3 is not affected."),
        ("Turbidity was measured on 3 May.", "Turbidity was measured on 4 May."),
        ("The maximum pressure is 5 bar.", "The minimum pressure is 3 bar."),
        // Another subject.
        ("Households with wells need a permit.", "Households without wells need a permit."),
        ("Households with wells pay 3 euros a year.", "Households without wells pay 5 euros a year."),
        ("Aspirin helps many smokers.", "Aspirin helps many non-smokers."),
        // The same in other words.
        ("Readings are retained for 90 days.", "Readings are kept for ninety days."),
        ("The tariff rises by 4.5 percent.", "The tariff rises by 4.5%."),
        ("The main left 2,140 households without water.", "The main left 2140 households without water."),
        ("The dose is at most 2 mg/L.", "The dose is 1 mg/L."),
        ("Readings are kept for about 90 days.", "Readings are kept for 92 days."),
        ("Pumps may not run at night.", "No pump may run at night."),
        ("The valve is not open.", "The valve is closed."),
        ("It is not only safe but also cheap water.", "It is safe and cheap water."),
        // One thing and another.
        ("The old pump is noisy.", "The new pump is noisy."),
        ("Some valves leak badly.", "Some valves do not leak badly."),
        ("Valves must be exercised in rain, not in frost.", "Valves must be exercised in rain."),
        ("Valves at the inlet must be exercised.", "Valves at the outlet must not be exercised."),
        ("Use Fastify instead of Express.", "Use Fastify."),
        ("Works.", "Does not work."),
        ("", "not"),
    ] {
        assert_eq!(conflict(a, b), None, "{a} | {b}");
    }
}

#[test]
fn the_relation_follows_from_the_cause() {
    let relation = |a, b| conflict(a, b).map(|c| (c.relation, c.alignment.get()));
    assert_eq!(relation("use Redis", "never use Redis"), Some((Relation::DirectContradiction, 1000)));
    assert_eq!(
        relation("Readings are kept for 90 days.", "Readings of meters are kept for 30 days."),
        Some((Relation::StatisticalConflict, 750))
    );
    assert_eq!(
        relation("The plant opened in 1998.", "The plant opened in 2003."),
        Some((Relation::TemporalConflict, 1000))
    );
}

#[test]
fn a_passage_is_no_claim() {
    let long = "word ".repeat(CLAIM_WORDS_MAX + 1);
    assert_eq!(conflict(&long, &format!("not {long}")), None);
}

proptest! {
    #[test]
    fn a_conflict_has_no_direction(a in sentence(), b in sentence()) {
        prop_assert_eq!(conflict(&a, &b), conflict(&b, &a));
    }

    #[test]
    fn nothing_conflicts_with_itself(a in sentence(), text in "\\PC{0,120}") {
        prop_assert_eq!(conflict(&a, &a), None);
        prop_assert_eq!(conflict(&text, &text), None);
    }

    #[test]
    fn any_two_texts_are_compared(a in "\\PC{0,120}", b in "\\PC{0,120}") {
        prop_assert_eq!(conflict(&a, &b), conflict(&b, &a));
    }
}

/// Sentences out of few words, so that many pairs have much in common.
fn sentence() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec![
        "pump", "valve", "use", "Redis", "open", "closed", "not", "never", "must", "instead", "of", "3", "90", "days",
        "two", "station", "in", "1998", "May", "at", "least", "rather", "than", "no", "more", "on", "off", "old",
        "new", "is", "the",
    ]);
    proptest::collection::vec(word, 0..9).prop_map(|words| words.join(" "))
}
