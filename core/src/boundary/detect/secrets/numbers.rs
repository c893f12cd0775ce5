//! Numbers that carry a check digit: payment cards and bank accounts.

use super::super::Match;

/// ISO/IEC 7812: a prefix of an issuer, the length that belongs to it, and the check digit of Luhn.
pub(super) fn payment_card(m: &Match) -> bool {
    let digits: Vec<u32> = m.whole().chars().filter_map(|c| c.to_digit(10)).collect();
    // A longer number, a decimal fraction or a part of an identifier is no card.
    let behind = m.after(2);
    let fraction = behind.strip_prefix('.').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    let joined = |c: char| c.is_alphanumeric() || matches!(c, '/' | '-' | '_');
    if fraction || behind.starts_with(joined) || m.before(4).ends_with(|c| joined(c) || c == '.') {
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
        // Rare, and a digit more or less is common among long numbers: only as it would be printed on a card.
        19 => prefix(1) == 4 && groups.len() == 5,
        _ => false,
    };
    issued && luhn(&digits)
}

fn luhn(digits: &[u32]) -> bool {
    let doubled = |d: u32| if d > 4 { 2 * d - 9 } else { 2 * d };
    let sum: u32 = digits.iter().rev().enumerate().map(|(i, d)| if i % 2 == 1 { doubled(*d) } else { *d }).sum();
    sum.is_multiple_of(10)
}

/// ISO 13616: the length of its country, and 1 modulo 97. The match may have run on into the words behind it.
pub(super) fn iban(m: &Match) -> bool {
    let compact: Vec<u8> = m.whole().bytes().filter(u8::is_ascii_alphanumeric).collect();
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
