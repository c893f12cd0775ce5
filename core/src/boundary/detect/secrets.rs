//! Credentials: by the form that their issuer gave them, by the word that stands before them, or by a check digit.

mod numbers;
mod passwords;

use super::{Category::Secret, Match, Pattern, always};
use numbers::{iban, payment_card};
use passwords::{assigned_password, stated_password};

/// Shortest value that is taken for a key or token.
const KEY_LEN_MIN: usize = 8;

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
    Pattern { category: Secret, name: "model-provider-key", regex: r"\bsk-[A-Za-z0-9_-]{20,200}", counts: mixed },
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
            r"|(?:access|api|auth|bearer|refresh|secret|session|deploy|bot)[ -]token|api-schlüssel)\b[^\n.;=:]{0,60}?\b(?:is|was|now|to|ist|lautet|est|es)\b:?\s{1,3}",
            r#"["'`“„«*]{0,3}([^\s"'`”“»*,;(){}\[\]]{8,300})"#,
        ),
        counts: mixed,
    },
    Pattern {
        category: Secret,
        name: "password-assignment",
        regex: concat!(
            r"(?i)(?:(?:pass[ _-]?word|passwd|passphrase|passcode|passwort|kennwort|mot de passe|contraseña|wpa[ _-]?key)",
            r#"(?:[ _](?:for|of|to|on|at|für|zum|zur|pour|para|de)\s[^:=\n|"]{1,40}?|\s\([^)\n]{1,30}\))?|\bpwd|\bpw|_pw|\bpass|_pass)"#,
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
            r"\b(?:(?:is|was|now|been|ist|lautet|war|est|es)(?: now| still| currently| jetzt)?:?(?:\s(?:set|changed|reset|updated)(?: back)? to)?",
            r#"|(?:set|changed|reset|updated)(?: back)? to)\s{1,3}["'`“„«*]{0,3}([^\s"'`”“»*]{4,200})"#,
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
        name: "quoted-password",
        regex: concat!(
            r#"(?i)(?:password|passphrase|passcode|passwort|kennwort)\s["'`“„«]([^\s"'`”“»]{4,100})["'`”“»]"#,
            r"|<(?:password|passwd|pwd|secret|apikey)>([^<\n]{4,200})</",
        ),
        counts: not_placeholder,
    },
    Pattern {
        category: Secret,
        name: "pin",
        regex: r"\bPIN(?: code| number)?(?: (?:is|for [^\n:=.]{1,30}? is|ist))?\s{0,2}[:= ]\s{0,2}([0-9]{4,8})\b",
        counts: always,
    },
    // Numbers with a check digit.
    Pattern { category: Secret, name: "payment-card", regex: r"[0-9](?:[ -]?[0-9]){12,18}", counts: payment_card },
    Pattern { category: Secret, name: "iban", regex: r"\b[A-Z]{2}[0-9]{2}(?:[ -]?[A-Z0-9]{1,4}){3,9}\b", counts: iban },
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

/// Whether the value belongs to an expression or a type: a call, an index, a path, a reference.
fn goes_on_as_code(m: &Match) -> bool {
    let value = m.value();
    m.after(1).starts_with(['(', '[', '{'])
        || value.contains("::")
        || value.contains(['(', '{'])
        || value.starts_with(':')
        || ["*mut", "*const", "&str", "&mut", "&self", "&'"].iter().any(|code| value.starts_with(code))
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
    is_mixed(value) || (is_quoted(m) && !is_identifier_of_code(value)) || has_cases_mixed(value) && value.len() >= 16
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
