//! The one place where this crate reads the clock.

use std::time::{SystemTime, UNIX_EPOCH};

use plumb_core::measure::Timestamp;

/// This moment. A clock before 1970 reads as 1970: then certificates are "valid only from", which says what is wrong.
pub fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
