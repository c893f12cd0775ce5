//! Whether a word behind "password" is one, or whether a sentence about passwords goes on.

use super::super::Match;
use super::{goes_on_as_code, has_cases_mixed, is_identifier_of_code, is_placeholder, is_quoted};

/// Shortest value that is taken for a password.
const PASSWORD_LEN_MIN: usize = 4;

/// The value behind `password:`, `password =` and the like.
pub(super) fn assigned_password(m: &Match) -> bool {
    let value = m.value();
    if is_quoted(m) {
        return !is_placeholder(value) && !is_message(value);
    }
    // `pass: 34 of 36` counts tests, `Pass: Brenner` is in the Alps, and `PWD=/home` is a directory.
    let word = m.whole().to_lowercase();
    let is_short = ["pass:", "pass =", "pass=", "pass :", "pwd", "pw"].iter().any(|w| word.starts_with(w));
    let is_name = value.chars().all(char::is_alphabetic) && value.starts_with(char::is_uppercase);
    if is_short && (value.starts_with('/') || is_name || !value.chars().any(char::is_alphabetic)) {
        return false;
    }
    unquoted_password(m)
}

/// The value behind "the password is".
pub(super) fn stated_password(m: &Match) -> bool {
    if is_quoted(m) {
        return !is_placeholder(m.value());
    }
    unquoted_password(m)
}

/// Whether a bare word behind `password:` or `the password is` is one, and no sentence about passwords goes on.
fn unquoted_password(m: &Match) -> bool {
    let value = m.value();
    let word = value.trim_end_matches(['.', ',', ';', ':', ')', '*', '_', '!', '?']);
    if word.chars().count() < PASSWORD_LEN_MIN
        || is_placeholder(word)
        || goes_on_as_code(m)
        || is_identifier_of_code(word)
    {
        return false;
    }
    let is_word = word.chars().all(|c| c.is_alphabetic() || c == '-' || c == '\'' || c == '’');
    if !is_word {
        return !is_measure(word) && !is_prose(word);
    }
    if has_cases_mixed(word) && !word.contains('-') {
        return true;
    }
    // An ordinary word: a password if the clause ends with it, a sentence if it goes on.
    let ends_here = word.len() < value.len() || m.after(1).chars().all(|c| "\n\r,;.)|&\"'".contains(c));
    ends_here && !is_prose(word)
}

/// `password: "must be longer"` is shown to a user; other quoted words may well be a passphrase.
fn is_message(value: &str) -> bool {
    const WORDS: &[&str] = &[
        "must",
        "should",
        "please",
        "enter",
        "required",
        "your",
        "characters",
        "cannot",
        "invalid",
        "incorrect",
        "is",
    ];
    let mut words = value.split_whitespace().map(str::to_lowercase);
    match value.contains(char::is_whitespace) {
        true => words.any(|word| WORDS.contains(&word.as_str())),
        false => is_prose(value),
    }
}

/// `12-character`, `128-bit`, `30/60`: numbers with a unit or without letters that only count.
fn is_measure(word: &str) -> bool {
    let rest = word.trim_start_matches(|c: char| c.is_ascii_digit());
    let n_digits = word.len() - rest.len();
    let unit = rest.trim_start_matches(['-', '–', '/', '%', '+']);
    let counts = n_digits > 0 && n_digits <= 3 && rest.len() > unit.len() && unit.chars().all(char::is_alphabetic);
    counts
        || ["sha-", "sha1", "sha2", "sha3", "md5", "pbkdf2", "argon2", "base64", "http", "rfc"]
            .iter()
            .any(|algorithm| word.to_lowercase().starts_with(algorithm))
}

/// Words that speak *about* a password.
fn is_prose(word: &str) -> bool {
    let lower = word.to_lowercase();
    let lower = lower.trim_matches(|c: char| !c.is_alphanumeric());
    const WORDS: &[&str] = &[
        "about",
        "again",
        "also",
        "always",
        "both",
        "case",
        "correct",
        "default",
        "empty",
        "enter",
        "fine",
        "good",
        "gone",
        "here",
        "incorrect",
        "invalid",
        "known",
        "long",
        "lost",
        "mandatory",
        "missing",
        "must",
        "never",
        "none",
        "null",
        "nil",
        "only",
        "optional",
        "please",
        "policy",
        "requires",
        "safe",
        "same",
        "secure",
        "short",
        "should",
        "somewhere",
        "strict",
        "string",
        "strong",
        "text",
        "then",
        "there",
        "true",
        "false",
        "undefined",
        "unknown",
        "unsafe",
        "valid",
        "varchar",
        "weak",
        "what",
        "when",
        "with",
        "wrong",
        "yes",
        "yours",
        "secret",
        "private",
        "confidential",
        "compulsory",
        "password",
        "passwort",
        "kennwort",
        "obsolete",
        "unique",
        "static",
        "public",
        "open",
        "falsch",
        "richtig",
        "lang",
        "kurz",
        "geheim",
        "sicher",
        "notwendig",
        "nötig",
    ];
    const ENDINGS: &[&str] = &["ed", "en", "ing", "able", "ible", "ary", "ful", "less", "lich"];
    WORDS.contains(&lower) || (lower.len() > 5 && ENDINGS.iter().any(|ending| lower.ends_with(ending)))
}
