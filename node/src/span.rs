//! Spans of time as people write them: `500ms`, `5s`, `2m`, `3h`, `90d`.

use plumb_core::measure::Duration;

/// Reads a span. A bare number has no unit and is refused: seconds and milliseconds are too easily confused.
pub fn parse(text: &str) -> Result<Duration, String> {
    let refused = || format!("`{text}` is not a span of time such as 500ms, 5s, 2m, 3h or 90d");
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.parse().map_err(|_| refused())?;
    let unit: u64 = match unit {
        "ms" => 1,
        "s" => 1000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return Err(refused()),
    };
    number.checked_mul(unit).map(Duration).ok_or_else(refused)
}

/// A span for a person, in the largest unit that has at least one of it.
pub fn show(ms: u64) -> String {
    match ms {
        0..1000 => format!("{ms} ms"),
        1000..60_000 => format!("{} s", ms / 1000),
        60_000..3_600_000 => format!("{} min", ms / 60_000),
        3_600_000..86_400_000 => format!("{} h", ms / 3_600_000),
        _ => format!("{} d", ms / 86_400_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_read_with_their_unit_only() {
        for (text, ms) in [("500ms", 500), ("5s", 5000), ("2m", 120_000), ("1h", 3_600_000), ("90d", 7_776_000_000)] {
            assert_eq!(parse(text), Ok(Duration(ms)));
        }
        for text in ["", "5", "s", "-1s", "5 s", "5w", "99999999999999999999s", "18446744073709551615d"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn spans_are_shown_in_one_unit() {
        assert_eq!(
            [0, 999, 1000, 61_000, 7_200_000, 200_000_000].map(show),
            ["0 ms", "999 ms", "1 s", "1 min", "2 h", "2 d"]
        );
    }
}
