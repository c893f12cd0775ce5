//! Whether the words around a match make it what the rule is after.

use super::super::Match;

/// How far around a match its neighbours are looked at, in bytes: about one line of print.
const NEAR: usize = 90;

/// A pump has a performance review too; what is meant by "of the" decides.
pub(super) fn of_a_person(m: &Match) -> bool {
    let behind = m.after(60);
    let Some(of) = behind.strip_prefix(" of ") else {
        return true;
    };
    let thing = ["the ", "this ", "these ", "our ", "a ", "all "].iter().find_map(|article| of.strip_prefix(article));
    let people = [
        "employee",
        "staff",
        "team",
        "engineer",
        "manager",
        "operator",
        "technician",
        "colleague",
        "trainee",
        "worker",
        "apprentice",
        "intern",
        "person",
        "new",
        "chemist",
        "sampler",
    ];
    thing.is_none_or(|thing| people.iter().any(|who| thing.starts_with(who)))
}

/// `1:1` of two parts is a ratio. A person's is a meeting.
pub(super) fn not_a_ratio(m: &Match) -> bool {
    !m.is_near(30, &["ratio", "dilut", "mixed", "mixture", "randomi", "mapping", "correspond", "volume", "allocat"])
}

pub(super) fn not_interdisciplinary(m: &Match) -> bool {
    !m.before(8).ends_with(['-', '–'])
}

/// Words that make a weakness one of computers.
const SYSTEMS: &[&str] = &[
    "software",
    "firmware",
    "server",
    "api",
    "patch",
    "code",
    "login",
    "auth",
    "network",
    "attacker",
    "exploit",
    "sql",
    "xss",
    "tls",
    "ssl",
    "web",
    "portal",
    "gateway",
    "scada",
    "plc",
    "app",
    "librar",
    "package",
    "dependenc",
    "endpoint",
    "password",
    "credential",
    "remote",
    "scan",
    "pentest",
    "database",
    "router",
    "firewall",
    "cyber",
    "security",
    "cve",
    "kernel",
    "browser",
    "encrypt",
    "version",
    "zero",
    "penetration",
    "plugin",
    "cloud",
    "service",
    "disclos",
    "audit",
];

/// Words that make it one of living things, of societies or of landscapes.
const NATURE: &[&str] = &[
    "patient",
    "disease",
    "cell",
    "gene",
    "genom",
    "depress",
    "plaque",
    "neuro",
    "child",
    "population",
    "health",
    "climat",
    "social",
    "ecosystem",
    "species",
    "tumo",
    "cancer",
    "cortical",
    "stress",
    "psych",
    "drought",
    "flood",
    "elder",
    "famil",
    "povert",
    "econom",
    "food",
    "household",
    "communit",
    "aging",
    "ageing",
    "brain",
    "individual",
    "human",
    "anxi",
    "frail",
    "infect",
    "selective",
    "metabol",
    "cardi",
    "myocard",
    "atrial",
    "arrhythm",
    "mice",
    "women",
    "adolesc",
    "seismic",
    "aquifer",
    "groundwater",
    "coast",
    "physiolog",
    "immun",
    "mitochond",
    "synap",
    "developmental",
    "clinic",
    "therap",
    "tissue",
    "inhibit",
    "mutation",
    "mutant",
    "cocaine",
    "chronic",
    "fitness",
    "protein",
    "viral",
    "virus",
    "evolution",
    "emotion",
    "strength",
    "warmth",
    "tender",
];

pub(super) fn of_a_system(m: &Match) -> bool {
    m.is_near(NEAR, SYSTEMS) || !m.is_near(NEAR, NATURE)
}

/// "Exploit" is a verb of science as well: it exploits a structure, a property, a niche. "An exploit" may be a deed.
pub(super) fn noun_or_attack(m: &Match) -> bool {
    let whole = m.whole().to_lowercase();
    let plain = ["an exploit", "no exploit", "the exploit", "known exploit", "public exploit"];
    !plain.iter().any(|p| whole.starts_with(p))
        || m.is_near(NEAR, SYSTEMS)
        || m.is_near(NEAR, &["vulnerab", "seen", "wild"])
}

/// `0-day-old chicks`.
pub(super) fn not_an_age(m: &Match) -> bool {
    !m.after(4).starts_with("-old") && !m.after(8).starts_with(" old")
}

/// Water that is lost is "non-revenue"; the revenue service collects taxes.
pub(super) fn not_a_public_revenue(m: &Match) -> bool {
    !m.before(4).ends_with("non-") && !m.before(4).ends_with("non ") && !m.after(12).starts_with(" service")
}

/// The noun: not "non-profit", not "patients may profit from".
pub(super) fn noun_of_money(m: &Match) -> bool {
    let before = m.before(12);
    let kind = ["non-", "non", "for-", "for ", "for‐", "non "];
    let verb =
        ["to ", "may ", "can ", "could ", "would ", "might ", "will ", "should ", "also ", "they ", "who ", "that "];
    let is_verb = m.after(6).starts_with(" from") && !before.ends_with("our ") && !before.ends_with("net ");
    !kind.iter().chain(&verb).any(|word| before.ends_with(word)) && !is_verb
}

/// Mean reciprocal rank and absolute risk reduction share the letters.
pub(super) fn about_money(m: &Match) -> bool {
    let around = format!("{}{}", m.before(NEAR), m.after(NEAR));
    let money = around.contains(['$', '€', '£'])
        || m.is_near(
            NEAR,
            &[
                "churn", "customer", "subscri", "revenue", "quarter", "sales", "growth", "investor", "euro", "dollar",
                "plan", "board",
            ],
        );
    money && !m.is_near(NEAR, &["rank", "retriev", "risk", "query", "recall", "ndcg", "confidence", "events"])
}

/// "PII" is also a promoter of genes; what it is about has to be said.
pub(super) fn not_a_promoter(m: &Match) -> bool {
    m.whole() != "PII"
        || m.is_near(NEAR, &["customer", "data", "personal", "privacy", "user", "redact", "gdpr", "log", "mask"])
}
