//! From bytes to a document, unlocked and with its pages found.

use std::panic::{AssertUnwindSafe, catch_unwind};

use pdf_extract::{Document, Error, LoadOptions};

use super::{guard, repair};
use crate::limits::Limits;
use crate::parked::{ParkReason, Parked};

/// A document that can be read.
pub(super) struct Loaded {
    pub(super) document: Document,
    /// Whether its table of objects had to be made anew.
    pub(super) repaired: bool,
}

pub(super) fn load(bytes: &[u8], limits: &Limits) -> Result<Loaded, Parked> {
    // The header may stand behind other bytes, and offsets count from it.
    let start = crate::sniff::find(bytes, b"%PDF-").unwrap_or(0);
    let bytes = &bytes[start..];
    guard::check(bytes, limits)?;
    let problem = match attempt(bytes) {
        Ok(document) if document.is_encrypted() => return Err(ParkReason::Encrypted.into()),
        Ok(document) if !document.get_pages().is_empty() => return Ok(Loaded { document, repaired: false }),
        Ok(_) => "it has no pages".to_string(),
        Err(Problem::Locked(why)) => return Err(Parked::new(ParkReason::Encrypted, why)),
        Err(Problem::Other(why)) => why,
    };
    match repaired(bytes, limits) {
        Some(document) => Ok(Loaded { document, repaired: true }),
        None => Err(Parked::new(ParkReason::Broken, problem)),
    }
}

/// The document with a table of objects made anew, if it has pages then.
pub(super) fn repaired(bytes: &[u8], limits: &Limits) -> Option<Document> {
    // The keys of a locked file are named by the table that is damaged.
    if guard::is_encrypted(bytes) {
        return None;
    }
    let rebuilt = repair::rebuild(bytes)?;
    guard::check(&rebuilt, limits).ok()?;
    let document = repair::find_pages(attempt(&rebuilt).ok()?);
    (!document.get_pages().is_empty()).then_some(document)
}

enum Problem {
    Locked(String),
    Other(String),
}

/// Loads, trying the empty password where there is one.
fn attempt(bytes: &[u8]) -> Result<Document, Problem> {
    // The library panics on some damaged files instead of refusing them.
    let options = LoadOptions::with_filter(guard::admit);
    match catch_unwind(AssertUnwindSafe(|| Document::load_mem_with_options(bytes, options))) {
        Ok(Ok(document)) => Ok(document),
        Ok(Err(Error::InvalidPassword)) => Err(Problem::Locked(String::new())),
        Ok(Err(error @ (Error::Decryption(_) | Error::UnsupportedSecurityHandler(_)))) => {
            Err(Problem::Locked(error.to_string()))
        }
        Ok(Err(error)) => Err(Problem::Other(error.to_string())),
        Err(_) => Err(Problem::Other("its structure makes no sense".into())),
    }
}
