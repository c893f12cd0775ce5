//! Names that are made of several words: identifiers, paths, addresses, hyphenated words.

/// Calls `give` with each name of a run without spaces that has two words or more: the whole, and what is such a name
/// within it (the host of an address, the file of a path). A name is given once.
pub(super) fn compounds<'a>(run: &'a str, give: &mut dyn FnMut(&'a str)) {
    // Nothing joins two words in most runs, so this is what has to be fast.
    let bytes = run.as_bytes();
    let joins = |i: usize| is_joiner(bytes[i] as char) && i > 0 && i + 1 < bytes.len();
    if !(0..bytes.len()).any(joins) {
        return;
    }
    let is_address = run.contains("://") || run.get(..4).is_some_and(|www| www.eq_ignore_ascii_case("www."));
    let belongs =
        |c: char| c.is_alphanumeric() || is_joiner(c) || is_mark(c) || (is_address && "?&=#%+~!$;,'()*[]".contains(c));
    for piece in run.split(|c| !belongs(c)) {
        let name = trimmed(piece);
        let name = match is_address {
            true => trimmed(name.split_once("://").map_or(name, |(_, rest)| rest)),
            false => name,
        };
        // Colons part words, and only two of them, as in a path of a program, make a name.
        for name in if is_address { vec![name] } else { between_single_colons(name) } {
            within(name, &LEVELS, give);
        }
    }
}

/// What parts a name, the widest first.
const LEVELS: [&[char]; 3] = [&['/', '@', '?', '#', '&', '=', ':'], &['.'], &['_', '-']];

fn within<'a>(name: &'a str, levels: &[&[char]], give: &mut dyn FnMut(&'a str)) {
    let name = trimmed(name);
    if !is_compound(name) {
        return;
    }
    give(name);
    // The first level that parts the name at all; below it, what is parted is given in turn.
    for (i, level) in levels.iter().enumerate() {
        if name.contains(*level) {
            if i + 1 < levels.len() {
                name.split(*level).for_each(|part| within(part, &levels[i + 1..], give));
            }
            return;
        }
    }
}

/// Two words or more; a number with a point, a version and U.S. are words already.
fn is_compound(name: &str) -> bool {
    let parts = || name.split(|c: char| !(c.is_alphanumeric() || is_mark(c))).filter(|part| !part.is_empty());
    let is_number = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
    let version = |(i, part): (usize, &str)| {
        is_number(part)
            || (i == 0 && part.strip_prefix(['v', 'V']).is_some_and(|rest| !rest.is_empty() && is_number(rest)))
    };
    let only_points = name.chars().all(|c| c.is_alphanumeric() || is_mark(c) || c == '.');
    let is_word = only_points
        && (parts().enumerate().all(version) || parts().all(|part| part.chars().nth(1).is_none()) || is_measured(name));
    parts().nth(1).is_some() && !is_word && !is_prose(name)
}

/// Hyphenated words, and one or the other. Their writers do not agree on the hyphen, so the whole of it says nothing that
/// its words do not (measured: it makes rankings worse). With a digit in it, it is a name: 2024-05-01, COVID-19.
fn is_prose(name: &str) -> bool {
    let only = |joiner: char| name.chars().all(|c| c.is_alphabetic() || is_mark(c) || c == joiner);
    only('-') || (only('/') && name.matches('/').count() == 1)
}

/// `2.5mg` is a number and a unit.
fn is_measured(name: &str) -> bool {
    let unit = name.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    unit.len() < name.len() && !unit.contains('.') && unit.chars().count() <= 4 && unit.chars().all(char::is_alphabetic)
}

fn is_joiner(c: char) -> bool {
    matches!(c, '_' | '-' | '.' | '/' | '@' | ':')
}

fn is_mark(c: char) -> bool {
    !c.is_ascii() && unicode_normalization::char::is_combining_mark(c)
}

fn trimmed(name: &str) -> &str {
    name.trim_matches(|c: char| !c.is_alphanumeric() && !is_mark(c))
}

fn between_single_colons(name: &str) -> Vec<&str> {
    let bytes = name.as_bytes();
    let is_single = |at: usize| {
        bytes[at] == b':' && at.checked_sub(1).is_none_or(|b| bytes[b] != b':') && bytes.get(at + 1) != Some(&b':')
    };
    let mut names = Vec::new();
    let mut start = 0;
    for at in (0..bytes.len()).filter(|at| is_single(*at)) {
        names.push(&name[start..at]);
        start = at + 1;
    }
    names.push(&name[start..]);
    names
}
