//! The word lists, small and English. Content words are compared as stems; the lists are written as words and stemmed
//! once.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use crate::retrieval;

/// What kind of opposites two words are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Opposition {
    /// What happens or where: it can hardly both be.
    State,
    /// An adjective that, before a noun, tells one thing from another: the old pump, the new pump.
    Quality,
}

/// Opposites of state, action and place. Words that pick one of two things (left, upper, maximum, inlet) are missing
/// on purpose: what is said of one of them says nothing of the other.
const STATES: &str = "
    on/off increase/decrease increase/reduce increase/decline raise/lower rise/fall grow/shrink higher/lower
    above/below near/far close/far before/after inside/outside indoors/outdoors start/stop start/end
    start/finish begin/end begin/stop allow/forbid allow/prohibit permit/prohibit permit/forbid
    enable/disable require/optional mandatory/optional accept/reject accept/refuse approve/reject pass/fail
    succeed/fail success/failure present/absent win/lose add/remove include/exclude more/less more/fewer
    better/worse best/worst faster/slower arrive/leave arrive/depart activate/inhibit promote/inhibit
    activate/deactivate upregulate/downregulate improve/worsen cause/prevent confirm/deny support/oppose
    encourage/discourage gain/lose always/never everybody/nobody true/false asleep/awake alive/dead
    love/hate love/dislike like/dislike attack/defend ascend/descend lengthen/shorten strengthen/weaken
    buy/sell push/pull front/behind remember/forget appear/disappear indoor/outdoor
";

/// Opposite qualities.
const QUALITIES: &str = "
    open/closed open/shut high/low hot/cold warm/cold warm/cool safe/unsafe safe/dangerous full/empty
    fast/slow quick/slow big/small big/little large/small large/little long/short tall/short old/young
    old/new wet/dry light/dark heavy/light clean/dirty correct/wrong right/wrong good/bad strong/weak
    thick/thin wide/narrow deep/shallow hard/soft hard/easy difficult/easy simple/complex positive/negative
    early/late happy/sad public/private legal/illegal rough/smooth cheap/expensive loud/quiet rich/poor
    common/rare many/few obligatory/voluntary manual/automatic happy/depressed natural/artificial
    ancient/modern huge/tiny big/tiny giant/tiny small/huge small/giant
";

/// Prefixes that turn a word into its opposite, with the shortest word that each is believed on: "unit" is not the
/// opposite of "it".
const PREFIXES: &[(&str, usize)] = &[("un", 4), ("dis", 4), ("in", 6), ("im", 6), ("ir", 6)];

/// Words that are taken for one.
const SYNONYMS: &[(&str, &[&str])] = &[
    ("keep", &["retain", "store", "hold", "kept", "held"]),
    ("use", &["employ", "utilise", "utilize"]),
    ("rise", &["rose", "risen"]),
    ("fall", &["fell", "fallen", "drop"]),
    ("grow", &["grew", "grown"]),
    ("begin", &["began", "begun"]),
    ("person", &["people"]),
    ("man", &["men"]),
    ("woman", &["women"]),
    ("child", &["children"]),
    ("lose", &["lost", "loses"]),
    ("win", &["won"]),
    ("buy", &["bought"]),
    ("sell", &["sold"]),
    ("shrink", &["shrank", "shrunk"]),
    ("forbid", &["forbade", "forbidden"]),
    ("build", &["built"]),
];

/// Verbs of what happens once, or holds from one moment on.
const ONCE: &str = "
    open found establish build lay laid begin start end finish expire complete publish issue install
    commission born die due deadline effective schedule effect replace close retire launch introduce sign
    adopt release discover invent elect approve merge abolish dissolve demolish inaugurate create arrive
";

/// Nouns whose number is a name.
const LABELS: &str = "
    station pump valve loop zone section chapter table figure fig page room house building unit version
    firmware phase step week level type class no number nr line route gate well tank reservoir meter sample
    site sensor article rule appendix annex item question case ticket issue group floor block road street
    district part volume region port channel node server model trial study experiment patient cohort stage
    grade kiosk point borehole quarter day year lot batch bay shift team works main filter basin track
    platform flight highway
";

/// Units that are written on to a number.
const UNITS: &[&str] = &[
    "%", "°c", "°f", "°", "c", "k", "kg", "g", "mg", "µg", "μg", "ug", "ng", "t", "m", "km", "cm", "mm", "µm", "nm",
    "m2", "m²", "m3", "m³", "l", "ml", "µl", "s", "ms", "min", "h", "hr", "hrs", "d", "bar", "mbar", "pa", "kpa",
    "mpa", "v", "mv", "kv", "a", "ma", "w", "kw", "mw", "gw", "kwh", "mwh", "hz", "khz", "mhz", "ghz", "kb", "mb",
    "gb", "tb", "ntu", "ppm", "ppb", "ph", "mg/l", "µg/l", "ug/l", "ng/l", "l/s", "m/s", "km/h", "m3/h", "m³/h",
    "m3/s", "m³/s", "€", "$", "£", "eur", "usd", "gbp", "px", "x",
];

/// Units with several names.
const UNIT_NAMES: &[(&str, &str)] = &[
    ("%", "percent"),
    ("h", "hour"),
    ("hr", "hour"),
    ("hrs", "hour"),
    ("min", "minut"),
    ("s", "second"),
    ("d", "day"),
    ("€", "euro"),
    ("eur", "euro"),
    ("$", "dollar"),
    ("usd", "dollar"),
    ("m", "metr"),
    ("km", "kilometr"),
    ("kg", "kilogram"),
    ("l", "litr"),
];

/// Words with a grammatical task, beyond the stop words of retrieval.
pub(super) const FUNCTION: &[&str] = &[
    "some", "any", "very", "also", "just", "been", "being", "than", "then", "so", "each", "per", "our", "your", "his",
    "her", "they", "we", "you", "he", "she", "us", "them", "shall", "might", "able", "away", "only", "still",
    "already", "here", "other", "another", "own", "itself", "case", "while", "because", "since", "during", "until",
    "till", "my", "me", "him", "out", "through", "does", "did", "do", "am", "get", "gets", "got", "both", "all",
    "every",
];

/// Words that make a claim one of some and not of all.
pub(super) const PARTIAL: &[&str] =
    &["some", "several", "certain", "sometimes", "occasionally", "others", "partly", "part", "many", "few", "half"];

/// Words that make a number rough.
pub(super) const ROUGH: &[&str] =
    &["about", "around", "roughly", "approximately", "approx", "circa", "ca", "nearly", "almost", "some", "~"];

/// Behind these "on" is a state.
pub(super) const BEFORE_A_STATE: &[&str] =
    &["is", "are", "was", "were", "be", "turned", "switched", "stays", "stay", "left", "remains", "remain", "kept"];

/// Behind these a number of four digits is a year.
pub(super) const BEFORE_A_YEAR: &[&str] =
    &["in", "since", "by", "until", "till", "from", "of", "during", "before", "after", "year", "around"];

pub(super) const WEEKDAYS: &[&str] =
    &["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday", "today", "yesterday", "tomorrow"];

pub(super) const MONTHS: &[&str] = &[
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

const NUMBERS: &[&str] = &[
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
    "twenty",
];

const TENS: &[(&str, u128)] = &[
    ("thirty", 30),
    ("forty", 40),
    ("fifty", 50),
    ("sixty", 60),
    ("seventy", 70),
    ("eighty", 80),
    ("ninety", 90),
    ("dozen", 12),
];

/// The lists, stemmed.
struct Stems {
    oppositions: BTreeMap<(String, String), Opposition>,
    synonyms: BTreeMap<String, &'static str>,
    once: BTreeSet<String>,
    labels: BTreeSet<String>,
}

static STEMS: LazyLock<Stems> = LazyLock::new(|| {
    let stem = |word: &str| retrieval::words(word).concat();
    let synonyms: BTreeMap<String, &'static str> =
        SYNONYMS.iter().flat_map(|(one, others)| others.iter().map(move |other| (stem(other), *one))).collect();
    let canonical = |word: &str| {
        let stem = stem(word);
        synonyms.get(&stem).map_or(stem, |one| one.to_string())
    };
    let mut oppositions = BTreeMap::new();
    for (list, kind) in [(STATES, Opposition::State), (QUALITIES, Opposition::Quality)] {
        for (x, y) in list.split_whitespace().filter_map(|pair| pair.split_once('/')) {
            let (x, y) = (canonical(x), canonical(y));
            oppositions.insert((y.clone(), x.clone()), kind);
            oppositions.insert((x, y), kind);
        }
    }
    let once = ONCE.split_whitespace().map(canonical).collect();
    let labels = LABELS.split_whitespace().map(canonical).collect();
    Stems { oppositions, synonyms, once, labels }
});

/// The word that a stem is taken for, if it is another.
pub(super) fn canonical(stem: &str) -> Option<&'static str> {
    STEMS.synonyms.get(stem).copied()
}

/// Whether two terms are opposites.
pub(super) fn opposition(x: &str, y: &str) -> Option<Opposition> {
    let by_prefix = |long: &str, short: &str| {
        PREFIXES.iter().any(|(prefix, len_min)| short.len() >= *len_min && long.strip_prefix(prefix) == Some(short))
    };
    let listed = STEMS.oppositions.get(&(x.to_string(), y.to_string())).copied();
    listed.or_else(|| (by_prefix(x, y) || by_prefix(y, x)).then_some(Opposition::Quality))
}

/// Whether a term speaks of what happens once.
pub(super) fn happens_once(term: &str) -> bool {
    STEMS.once.contains(term)
}

/// Whether a number behind this term is a name.
pub(super) fn is_label(term: &str) -> bool {
    STEMS.labels.contains(term)
}

/// Whether a word denies what follows.
pub(super) fn is_negator(word: &str) -> bool {
    const NEGATORS: &[&str] = &[
        "not", "no", "never", "cannot", "none", "neither", "nor", "without", "nobody", "nothing", "non", "avoid",
        "avoids", "cant", "dont", "doesnt", "isnt", "nicht", "kein", "keine", "keinen", "nie", "niemals",
    ];
    NEGATORS.contains(&word) || word.ends_with("n't")
}

/// The value of a number that is written as a word.
pub(super) fn number_word(word: &str) -> Option<u128> {
    let small = NUMBERS.iter().position(|number| *number == word).map(|value| value as u128);
    small.or_else(|| TENS.iter().find(|(tens, _)| *tens == word).map(|(_, value)| *value))
}

/// What a number is multiplied with by the word behind it.
pub(super) fn multiplier(word: &str) -> Option<u128> {
    match word {
        "hundred" => Some(100),
        "thousand" => Some(1_000),
        "million" | "mio" => Some(1_000_000),
        "billion" => Some(1_000_000_000),
        _ => None,
    }
}

/// Whether this is a unit that is written on to a number.
pub(super) fn is_unit(text: &str) -> bool {
    UNITS.contains(&text)
}

/// The term of a unit.
pub(super) fn unit(text: &str) -> String {
    UNIT_NAMES.iter().find(|(short, _)| *short == text).map_or(text, |(_, long)| long).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_words_are_taken_for_is_a_stem() {
        let stem = |word: &str| retrieval::words(word).concat();
        for (one, _) in SYNONYMS {
            assert_eq!(stem(one), *one);
        }
        for (_, one) in UNIT_NAMES {
            assert_eq!(stem(one), *one);
        }
        for word in ["minutes", "hours", "seconds", "days", "metres", "litres", "kilograms", "percent", "euros"] {
            assert!(UNIT_NAMES.iter().any(|(_, one)| stem(word) == *one), "{word}");
        }
    }

    #[test]
    fn no_word_is_its_own_opposite() {
        assert!(STEMS.oppositions.keys().all(|(x, y)| x != y));
        assert_eq!(opposition("stabl", "unstabl"), Some(Opposition::Quality));
        assert_eq!(opposition("it", "unit"), None);
    }
}
