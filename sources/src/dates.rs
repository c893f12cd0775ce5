//! Moments as they are written in metadata: ISO 8601, and the form of PDF.

use plumb_core::measure::Timestamp;

/// Reads `2024-01-03`, `2024-01-03T10:15:00Z`, `2024-01-03 10:15:00.25+01:00`, `20240103101500Z` and
/// `D:20240103101500+01'00'`. Without a zone it is UTC; without a time it is midnight.
pub(crate) fn moment(text: &str) -> Option<Timestamp> {
    let text = text.trim();
    let text = text.strip_prefix("D:").unwrap_or(text);
    let mut reader = Reader { rest: text.as_bytes() };
    let year = reader.number(4)?;
    let dashed = reader.skip(b"-");
    let month = reader.number(2)?;
    if dashed && !reader.skip(b"-") {
        return None;
    }
    let day = reader.number(2)?;
    let days = days_from_civil(year, month, day)?;
    let (mut seconds, mut offset) = (0, 0);
    let separated = reader.skip(b"Tt ");
    if let Some(hour) = reader.number(2) {
        reader.skip(b":");
        let minute = reader.number(2)?;
        reader.skip(b":");
        let second = reader.number(2).unwrap_or(0);
        if hour > 23 || minute > 59 || second > 60 {
            return None;
        }
        seconds = hour * 3600 + minute * 60 + second;
        reader.fraction();
        offset = reader.offset()?;
    } else if !separated && !reader.rest.is_empty() {
        return None;
    }
    Some(Timestamp((days * 86_400 + seconds - offset) * 1000))
}

/// Whether the text begins with a date of the form `2024-01-03` that exists.
pub(crate) fn is_date(text: &str) -> bool {
    text.len() == 10 && text.as_bytes()[4] == b'-' && moment(text).is_some()
}

struct Reader<'a> {
    rest: &'a [u8],
}

impl Reader<'_> {
    fn number(&mut self, digits: usize) -> Option<i64> {
        let (head, rest) = self.rest.split_at_checked(digits)?;
        if !head.iter().all(u8::is_ascii_digit) {
            return None;
        }
        self.rest = rest;
        Some(head.iter().fold(0, |n, digit| n * 10 + i64::from(digit - b'0')))
    }

    fn skip(&mut self, any: &[u8]) -> bool {
        match self.rest.split_first() {
            Some((first, rest)) if any.contains(first) => {
                self.rest = rest;
                true
            }
            _ => false,
        }
    }

    fn fraction(&mut self) {
        if self.skip(b".,") {
            while self.number(1).is_some() {}
        }
    }

    /// Seconds east of Greenwich.
    fn offset(&mut self) -> Option<i64> {
        self.skip(b" ");
        let sign = match self.rest.first() {
            Some(b'+') => 1,
            Some(b'-') => -1,
            _ => return Some(0),
        };
        self.rest = &self.rest[1..];
        let hours = self.number(2)?;
        self.skip(b":'");
        let minutes = self.number(2).unwrap_or(0);
        (hours <= 14 && minutes <= 59).then_some(sign * (hours * 3600 + minutes * 60))
    }
}

/// Days since 1970-01-01, after Howard Hinnant, "chrono-compatible low-level date algorithms".
fn days_from_civil(year: i64, month: i64, day: i64) -> Option<i64> {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let month_days = match month {
        2 => 28 + i64::from(leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    if !(1..=month_days).contains(&day) || year < 1 {
        return None;
    }
    let year = year - i64::from(month <= 2);
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    Some(era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn moments() {
        for (text, expected) in [
            ("2019-11-21", "2019-11-21T00:00:00.000Z"),
            ("2019-11-21T10:20:30Z", "2019-11-21T10:20:30.000Z"),
            ("2019-11-21 10:20:30.123456+02:00", "2019-11-21T08:20:30.000Z"),
            ("2019-11-21T10:20", "2019-11-21T10:20:00.000Z"),
            ("D:20240103120000+01'00'", "2024-01-03T11:00:00.000Z"),
            ("D:20240103", "2024-01-03T00:00:00.000Z"),
            ("2000-02-29", "2000-02-29T00:00:00.000Z"),
            ("2019-11-21T23:30:00-05:00", "2019-11-22T04:30:00.000Z"),
        ] {
            assert_eq!(moment(text).map(|t| t.to_string()).as_deref(), Some(expected), "{text}");
        }
        for bad in [
            "",
            "2019",
            "2019-13-01",
            "2019-02-29",
            "201-11-21",
            "yesterday",
            "2019-11-21T25:00:00Z",
            "0000-01-01",
            "20191121x",
        ] {
            assert_eq!(moment(bad), None, "{bad}");
        }
    }

    proptest! {
        #[test]
        fn a_moment_that_is_printed_is_read_again(ms in 0i64..4_000_000_000_000) {
            let whole = Timestamp(ms / 1000 * 1000);
            prop_assert_eq!(moment(&whole.to_string()), Some(whole));
        }

        #[test]
        fn any_text_is_survived(text in ".{0,40}") {
            let _ = (moment(&text), is_date(&text));
        }
    }
}
