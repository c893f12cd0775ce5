//! The first step of every decoder: one pass over the frame, within its limits.

use plumb_core::content::{CanonicalError, check_canonical};

use super::WireError;

pub(super) use plumb_core::content::Limits;

/// Refuses bytes that are not one value of canonical DAG-CBOR within the limits.
pub(super) fn scan(bytes: &[u8], limits: Limits) -> Result<(), WireError> {
    check_canonical(bytes, limits).map_err(|error| match error {
        CanonicalError::Limit { what, max } => WireError::Limit { what, max },
        CanonicalError::Malformed { what, offset } => WireError::Malformed { what, offset },
    })
}
