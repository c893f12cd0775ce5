//! Credentials: by the form that their issuer gave them, by the word that stands before them, or by a check digit.

use super::{Category::Secret, Match, Pattern, always};

/// Shortest value that is taken for a key or token.
const KEY_LEN_MIN: usize = 8;
/// Shortest value that is taken for a password.
const PASSWORD_LEN_MIN: usize = 4;

pub(super) const PATTERNS: &[Pattern] = &[
    // Forms that an issuer gave.
    Pattern {
        category: Secret,
        name: "aws-access-key-id",
        regex: r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b",
        counts: always,
    },
    Pattern {
        category: Secret,
        name: "github-token",
        regex: r"\b(?:gh[pousr]_[A-Za-z0-9]{20,255}|github_pat_[A-Za-z0-9_]{20,255})",
        counts: always,
    },
    Pattern {
        category: Secret,
        name: "gitlab-token",
        regex: r"\bgl(?:pat|dt|rt|ptt|cbt|oas|soat)-[A-Za-z0-9_-]{20,64}",
        counts: always,
    },
    Pattern {
        category: Secret,
        name: "slack-token",
        regex: r"\bxox[abeoprs]-[A-Za-z0-9-]{10,200}|\bhooks\.slack\.com/services/[A-Z0-9]{5,20}/[A-Z0-9]{5,20}/[A-Za-z0-9]{10,40}",
        counts: always,
    },
    Pattern {
        category: Secret,
        name: "google-key",
        regex: r"\bAIza[A-Za-z0-9_-]{35}|\bGOCSPX-[A-Za-z0-9_-]{20,40}|\bya29\.[A-Za-z0-9_-]{20,200}",
        counts: always,
    },
    // A publishable key (`pk_`) is made to be seen.
    Pattern {
        category: Secret,
        name: "stripe-key",
        regex: r"\b(?:[sr]k_(?:live|test)|whsec)_[A-Za-z0-9]{10,200}",
        counts: always,
    },
    Pattern {
        category: Secret,
        name: "model-provider-key",
        regex: r"\bsk-[A-Za-z0-9_-]{20,200}",
        counts: mixed,
    },
    Pattern {
        category: Secret,
        name: "vendor-token",
        // npm, PyPI, SendGrid, DigitalOcean, Hugging Face, Shopify, Databricks, Azure storage, age.
        regex: concat!(
            r"\bnpm_[A-Za-z0-9]{36}|\bpypi-AgE[A-Za-z0-9_-]{40,250}|\bSG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{32,64}",
            r"|\bdo[opr]_v1_[a-f0-9]{64}|\bhf_[A-Za-z]{30,40}|\bshp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}|\bdapi[a-f0-9]{32}",
            r"|\bAccountKey=[A-Za-z0-9+/]{40,100}={0,2}|\bSharedAccessKey=[A-Za-z0-9+/]{40,100}={0,2}",
            r"|\bAGE-SECRET-KEY-1[A-Z0-9]{50,60}",
        ),
        counts: always,
    },
    // RFC 7519: the header is a JSON object, and `{"` is `eyJ` in base64.
    Pattern {
        category: Secret,
        name: "jwt",
        regex: r"\beyJ[A-Za-z0-9_-]{8,500}\.[A-Za-z0-9_-]{8,1000}\.[A-Za-z0-9_-]{8,500}",
        counts: always,
    },
    // RFC 7468, and the forms of OpenPGP and PuTTY.
    Pattern {
        category: Secret,
        name: "private-key",
        regex: r"-----BEGIN (?:[A-Z0-9]{1,20} ){0,3}PRIVATE KEY(?: BLOCK)?-----|PuTTY-User-Key-File-[23]:",
        counts: always,
    },
    // RFC 3986 §3.2.1: `user:password` before the `@`. The user may be empty (redis).
    Pattern {
        category: Secret,
        name: "connection-string",
        regex: r#"(?i)\b[a-z][a-z0-9+.-]{1,30}://[^\s:/@"'<>]{0,64}:([^\s/@"'<>]{1,128})@[\w.\[$-]"#,
        counts: not_placeholder,
    },
    Pattern {
        category: Secret,
        name: "authorization-header",
        regex: r#"(?i)\bbearer\s{1,3}([a-z0-9._~+/-]{16,1000}={0,2})|\bauthorization["']?\s{0,2}[:=]\s{0,2}["']?(?:basic|token)\s{1,3}([a-z0-9+/]{8,500}={0,2})"#,
        counts: mixed,
    },
    // A word that says what follows.
    Pattern {
        category: Secret,
        name: "key-assignment",
        regex: concat!(
            r"(?i)(?:api[ _.-]?key|access[ _-]?key|secret[ _-]?key|private[ _-]?key|signing[ _-]?key|encryption[ _-]?key",
            r"|account[ _-]?key|master[ _-]?key|licen[cs]e[ _-]?key|(?:\b|_|client|app|shared|jwt|webhook|session|oauth)[ _-]?secret",
            r"|(?:access|auth|refresh|bearer|session|bot|api|deploy|id)[ _-]?token|(?:\b|_)credentials?|api[ _-]?schlüssel)",
            r#"["'`*_]{0,3}(?:\s{0,2}:\s{0,2}&?(?:'static )?(?:str|string))?\s{0,3}(?:=>|:=|=|:|：|\|)\s{0,3}"#,
            r#"(?:"([^"\n]{8,300})"|'([^'\n]{8,300})'|`([^`\n]{8,300})`|["'*_]{0,3}\s{0,3}([^\s"'`,;|<>(){}\[\]]{8,300}))"#,
        ),
        counts: assigned_key,
    },
    Pattern {
        category: Secret,
        name: "token-assignment",
        regex: concat!(
            r#"(?i)(?:\b|_)token["'`*]{0,3}(?:\s{0,2}:\s{0,2}&?(?:'static )?(?:str|string))?\s{0,3}(?:=>|:=|=|:|：|\|)\s{0,3}"#,
            r#"["'`]?([^\s"'`,;|<>(){}\[\]&]{8,300})"#,
        ),
        counts: mixed,
    },
    Pattern {
        category: Secret,
        name: "stated-key",
        regex: concat!(
            r"(?i)\b(?:(?:api|access|secret|private|signing|encryption|licen[cs]e|wpa2?|wi-?fi)[ -]key|client secret",
            r"|(?:access|api|auth|bearer|refresh)[ -]token|api-schlüssel)\b[^\n.;=:]{0,60}?\b(?:is|was|now|to|ist|lautet|est|es)\b:?\s{1,3}",
            r#"["'`“„«*]{0,3}([^\s"'`”“»*,;(){}\[\]]{8,300})"#,
        ),
        counts: mixed,
    },
    Pattern {
        category: Secret,
        name: "password-assignment",
        regex: concat!(
            r"(?i)(?:pass[ _-]?word|passwd|passphrase|passcode|passwort|kennwort|mot de passe|contraseña|\bpwd|\bpw|_pw|\bpass|_pass|wpa[ _-]?key)",
            r"(?:[ _](?:for|of|to|on|at|für|zum|zur|pour|para|de)\s[^:=\n|]{1,40}?|\s\([^)\n]{1,30}\))?",
            r#"["'`*_]{0,3}(?:\s{0,2}:\s{0,2}&?(?:'static )?(?:str|string))?\s{0,3}(?:=>|:=|=|:|：|\|)\s{0,3}"#,
            r#"(?:"([^"\n]{4,200})"|'([^'\n]{4,200})'|`([^`\n]{4,200})`|["'*_]{0,3}\s{0,3}([^\s"'`|<>]{4,200}))"#,
        ),
        counts: assigned_password,
    },
    Pattern {
        category: Secret,
        name: "stated-password",
        regex: concat!(
            r"(?i)\b(?:pass[ -]?word|passphrase|passcode|passwort|kennwort|mot de passe|contraseña)\b[^\n.:;=?]{0,60}?",
            r"\b(?:is|was|now|(?:set|changed|reset|updated)(?: back)? to|ist|lautet|war|est|es)\s{1,3}",
            r#"(?:now |still |currently |jetzt )?["'`“„«*]{0,3}([^\s"'`”“»*]{4,200})"#,
        ),
        counts: stated_password,
    },
    Pattern {
        category: Secret,
        name: "set-password",
        regex: concat!(
            r"(?i)\b(?:set|chang(?:e|ed|ing)|reset|updat(?:e|ed|ing)) (?:the |your |its |his |her )?[^\n.:;=?]{0,30}?\b(?:password|passphrase|passcode)\b",
            r#"[^\n.:;=?]{0,30}?\bto\s{1,3}["'`“„«*]{0,3}([^\s"'`”“»*]{4,200})"#,
        ),
        counts: stated_password,
    },
    Pattern {
        category: Secret,
        name: "pin",
        regex: r"\bPIN(?: code| number)?(?: (?:is|for [^\n:=.]{1,30}? is|ist))?\s{0,2}[:= ]\s{0,2}([0-9]{4,8})\b",
        counts: always,
    },
    // Numbers with a check digit.
    Pattern {
        category: Secret,
        name: "payment-card",
        regex: r"[0-9](?:[ -]?[0-9]){12,18}",
        counts: payment_card,
    },
    Pattern {
        category: Secret,
        name: "iban",
        regex: r"\b[A-Z]{2}[0-9]{2}(?:[ -]?[A-Z0-9]{1,4}){3,9}\b",
        counts: iban,
    },
];

/// What stands where a value was left out on purpose.
fn is_placeholder(value: &str) -> bool {
    let lower = value.to_lowercase();
    let lower = lower.trim_matches(|c: char| !c.is_alphanumeric() && !"$%{}<>*.…[]".contains(c));
    let reference = [
        "$",
        "%",
        "{",
        "<",
        "[",
        "…",
        "...",
        "process.env",
        "os.environ",
        "env.",
        "env:",
        "env(",
        "getenv",
        "vault:",
        "secrets.",
        "config.",
        "settings.",
        "self.",
        "args.",
        "your-",
        "your_",
        "my-",
        "redacted",
        "changeme",
        "change-me",
        "placeholder",
        "hidden",
        "masked",
        "removed",
    ];
    let filler = |c: char| matches!(c, '*' | 'x' | '.' | '•' | '·' | '-' | '_' | '?' | '#');
    reference.iter().any(|start| lower.starts_with(start)) || lower.chars().all(filler)
}

/// Whether letters and digits are mixed in a way that words are not.
fn is_mixed(value: &str) -> bool {
    let letters = value.chars().filter(|c| c.is_alphabetic()).count();
    let digits = value.chars().filter(char::is_ascii_digit).count();
    value.chars().count() >= KEY_LEN_MIN && letters >= 2 && digits >= 2
}

fn not_placeholder(m: &Match) -> bool {
    !is_placeholder(m.value())
}

fn mixed(m: &Match) -> bool {
    is_mixed(m.value()) && !is_placeholder(m.value()) && !goes_on_as_code(m)
}

/// Whether the value is the beginning of an expression: a call, an index, a path.
fn goes_on_as_code(m: &Match) -> bool {
    m.after(1).starts_with(['(', '[', '{']) || m.value().contains("::")
}

/// Whether the value stands in quotation marks.
fn is_quoted(m: &Match) -> bool {
    m.text[..m.value.start].ends_with(['"', '\'', '`', '“', '„', '«'])
}

fn assigned_key(m: &Match) -> bool {
    let value = m.value();
    if is_placeholder(value) || goes_on_as_code(m) || value.contains(char::is_whitespace) {
        return false;
    }
    // In prose a colon may follow any of these words; only what no word looks like is a value there.
    is_mixed(value)
        || (is_quoted(m) && !is_identifier_of_code(value))
        || has_cases_mixed(value) && value.len() >= 16
}

/// `SOME_NAME` and `some_name`, as they are passed to a function that looks the value up.
fn is_identifier_of_code(value: &str) -> bool {
    let name = value.chars().all(|c| c.is_ascii_alphabetic() || c == '_');
    name && value.contains('_')
}

/// `aBcD`, but not `Abcd`.
fn has_cases_mixed(value: &str) -> bool {
    value.chars().any(char::is_lowercase) && value.chars().skip(1).any(char::is_uppercase)
}

fn assigned_password(m: &Match) -> bool {
    let value = m.value();
    if is_quoted(m) {
        return !is_placeholder(value) && !is_message(value);
    }
    // `pass: 34 of 36` counts tests, and `PWD=/home` is a directory.
    let word = m.whole().to_lowercase();
    let is_short = ["pass:", "pass =", "pass=", "pass :", "pwd", "pw"]
        .iter()
        .any(|w| word.starts_with(w));
    if is_short && (value.starts_with('/') || !value.chars().any(|c| c.is_alphabetic())) {
        return false;
    }
    unquoted_password(m)
}

fn stated_password(m: &Match) -> bool {
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
        || m.after(1).starts_with(['(', '[', '{'])
    {
        return false;
    }
    if word.contains(['(', '{']) || word.contains("::") {
        return false;
    }
    let is_word = word
        .chars()
        .all(|c| c.is_alphabetic() || c == '-' || c == '\'' || c == '’');
    if !is_word {
        return !is_measure(word) && !is_prose(word);
    }
    if has_cases_mixed(word) && !word.contains('-') {
        return true;
    }
    // An ordinary word: a password if the clause ends with it, a sentence if it goes on.
    let ends_here =
        word.len() < value.len() || m.after(1).chars().all(|c| "\n\r,;.)|&\"'".contains(c));
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
    let counts = n_digits > 0
        && n_digits <= 3
        && rest.len() > unit.len()
        && unit.chars().all(char::is_alphabetic);
    counts
        || [
            "sha-", "sha1", "sha2", "sha3", "md5", "pbkdf2", "argon2", "base64", "http", "rfc",
        ]
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
    const ENDINGS: &[&str] = &[
        "ed", "en", "ing", "able", "ible", "ary", "ful", "less", "lich",
    ];
    WORDS.contains(&lower)
        || (lower.len() > 5 && ENDINGS.iter().any(|ending| lower.ends_with(ending)))
}

/// ISO/IEC 7812: a prefix of an issuer, the length that belongs to it, and the check digit of Luhn.
fn payment_card(m: &Match) -> bool {
    let digits: Vec<u32> = m.whole().chars().filter_map(|c| c.to_digit(10)).collect();
    // A longer number, a decimal fraction or a part of an identifier is no card.
    let joined = |c: char| c.is_alphanumeric() || matches!(c, '.' | ',' | '/' | '-' | '_');
    let behind = m.after(2);
    let goes_on = behind
        .chars()
        .next()
        .is_some_and(|c| c.is_alphanumeric() || matches!(c, '/' | '-' | '_'))
        || (behind.starts_with(['.', ','])
            && behind[1..].starts_with(|c: char| c.is_ascii_digit()));
    if goes_on || m.before(4).ends_with(joined) {
        return false;
    }
    // Printed in groups of four, or 4-6-5 and 4-6-4, with one separator throughout; or without any.
    let groups: Vec<usize> = m.whole().split([' ', '-']).map(str::len).collect();
    let grouped = match groups.as_slice() {
        [_] | [4, 6, 4 | 5] => true,
        [start @ .., last] => start.iter().all(|n| *n == 4) && *last <= 4,
        [] => false,
    };
    if !grouped || (m.whole().contains(' ') && m.whole().contains('-')) {
        return false;
    }
    let prefix = |n: usize| digits[..n].iter().fold(0, |sum, d| sum * 10 + d);
    let issued = match digits.len() {
        14 => matches!(prefix(2), 30 | 36 | 38 | 39),
        15 => matches!(prefix(2), 34 | 37),
        16 => {
            matches!(prefix(2), 51..=55 | 65)
                || matches!(prefix(4), 2221..=2720 | 3528..=3589 | 6011 | 6440..=6499)
                || prefix(1) == 4
        }
        13 | 19 => prefix(1) == 4,
        _ => false,
    };
    issued && luhn(&digits)
}

fn luhn(digits: &[u32]) -> bool {
    let doubled = |d: u32| if d > 4 { 2 * d - 9 } else { 2 * d };
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(i, d)| if i % 2 == 1 { doubled(*d) } else { *d })
        .sum();
    sum.is_multiple_of(10)
}

/// ISO 13616: the length of its country, and 1 modulo 97. The match may have run on into the words behind it.
fn iban(m: &Match) -> bool {
    let compact: Vec<u8> = m
        .whole()
        .bytes()
        .filter(u8::is_ascii_alphanumeric)
        .collect();
    let length = match &compact[..2] {
        b"NO" => 15,
        b"BE" => 16,
        b"DK" | b"FI" | b"NL" => 18,
        b"SI" => 19,
        b"AT" | b"EE" | b"LT" | b"LU" => 20,
        b"CH" | b"HR" | b"LI" | b"LV" => 21,
        b"BG" | b"DE" | b"GB" | b"IE" | b"RS" => 22,
        b"AE" => 23,
        b"CZ" | b"ES" | b"RO" | b"SE" | b"SK" => 24,
        b"PT" => 25,
        b"IS" | b"TR" => 26,
        b"FR" | b"GR" | b"IT" | b"MC" => 27,
        b"CY" | b"HU" | b"PL" => 28,
        b"UA" => 29,
        b"MT" => 31,
        _ => return false,
    };
    let Some(number) = compact.get(..length) else {
        return false;
    };
    // The country and check digits go to the end, letters count from 10, and the whole is one decimal number.
    let rotated = number[4..].iter().chain(&number[..4]);
    let rest = rotated.fold(0u32, |rest, byte| match byte {
        b'0'..=b'9' => (rest * 10 + u32::from(byte - b'0')) % 97,
        _ => (rest * 100 + u32::from(byte - b'A') + 10) % 97,
    });
    rest == 1
}
