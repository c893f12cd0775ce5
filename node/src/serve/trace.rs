//! The caller's trace (W3C Trace Context): taken into the log, so that a request can be followed across services.

/// The ids of a `traceparent` header, if it is one.
pub fn parse(header: &str) -> Option<(&str, &str)> {
    let mut parts = header.split('-');
    let (version, trace, parent, flags) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    let hex = |text: &str, len: usize| {
        text.len() == len && text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
    };
    let zero = |text: &str| text.bytes().all(|b| b == b'0');
    // Version ff is forbidden, version 00 has exactly four parts, later ones may have more.
    let fits = hex(version, 2)
        && version != "ff"
        && (version != "00" || parts.next().is_none())
        && hex(trace, 32)
        && hex(parent, 16)
        && hex(flags, 2)
        && !zero(trace)
        && !zero(parent);
    fits.then_some((trace, parent))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_specification_calls_valid_is_taken() {
        let (trace, parent) = ("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7");
        assert_eq!(parse(&format!("00-{trace}-{parent}-01")), Some((trace, parent)));
        assert_eq!(parse(&format!("01-{trace}-{parent}-01-more")), Some((trace, parent)));
        for bad in [
            "",
            "00",
            &format!("ff-{trace}-{parent}-01"),
            &format!("00-{trace}-{parent}-01-more"),
            &format!("00-{}-{parent}-01", "0".repeat(32)),
            &format!("00-{trace}-{}-01", "0".repeat(16)),
            &format!("00-{}-{parent}-01", trace.to_uppercase()),
            &format!("00-{trace}\n-{parent}-01"),
        ] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }
}
