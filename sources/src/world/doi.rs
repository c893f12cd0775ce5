//! DOIs: their form, and which one is a source's own.
//!
//! A paper names dozens of DOIs in its references. Taking one of those for its own would withdraw a paper because it
//! cites a retracted one. So a DOI counts as a source's own only where nothing else can be meant: in its metadata, as its
//! address, or on a line of its own at the head of its text.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::SignalEnvelope;

/// Longest DOI. There is no limit in the standard; the longest known ones have some 250 characters.
const BYTES_MAX: usize = 1_000;

/// Lines at the head of a text that are looked at.
const HEAD_LINES: usize = 40;

/// Fields of metadata that name a source's own DOI.
const FIELDS: [&str; 6] = ["doi", "citation_doi", "prism.doi", "dc.identifier", "identifier", "bepress_citation_doi"];

/// A DOI in lower case: DOIs do not tell cases apart.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Doi(String);

impl Doi {
    /// The DOI that a text is: bare, with `doi:` before it, or as an address of a resolver. The form is `10.`, four to
    /// nine digits (and subdivisions), a slash, and a suffix.
    pub fn parse(text: &str) -> Option<Doi> {
        let text = text.trim();
        if text.len() > BYTES_MAX {
            return None;
        }
        let lower = text.to_ascii_lowercase();
        let bare = strip_any(&lower, &["https://", "http://"]);
        let bare = strip_any(bare, &["dx.doi.org/", "doi.org/", "www.doi.org/", "urn:doi:", "info:doi/"]);
        let bare = strip_any(bare, &["doi:", "doi"]).trim_start();
        let digits = bare.strip_prefix("10.")?;
        let (registrant, suffix) = digits.split_once('/')?;
        let first = registrant.split('.').next().unwrap_or_default();
        let is_registrant = (4..=9).contains(&first.len())
            && registrant.split('.').all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()));
        let is_suffix = !suffix.is_empty() && !suffix.chars().any(|c| c.is_whitespace() || c.is_control());
        (is_registrant && is_suffix).then(|| Doi(bare.to_string()))
    }

    /// Its text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Doi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn strip_any<'a>(text: &'a str, prefixes: &[&str]) -> &'a str {
    prefixes.iter().find_map(|prefix| text.strip_prefix(prefix)).unwrap_or(text)
}

/// The DOI of a source itself, if it can be told.
pub fn own_doi(envelope: &SignalEnvelope) -> Option<Doi> {
    let in_metadata = FIELDS.iter().find_map(|field| Doi::parse(envelope.metadata_text(&[field])?));
    in_metadata.or_else(|| own_doi_of_text(&envelope.address, &envelope.text))
}

/// The same, from an address and a text alone.
pub fn own_doi_of_text(address: &str, text: &str) -> Option<Doi> {
    let address = address.split(['#', '?']).next().unwrap_or_default();
    let of_address = address.contains("doi.org/").then(|| Doi::parse(address)).flatten();
    of_address.or_else(|| {
        let mut found: Option<Doi> = None;
        for line in text.lines().take(HEAD_LINES) {
            let Some(doi) = line_that_is_one(line) else { continue };
            match &found {
                // Two different ones at the head: a list, such as one of references. Neither is the source's own.
                Some(first) if *first != doi => return None,
                _ => found = Some(doi),
            }
        }
        found
    })
}

/// A line that is a DOI and nothing else, with a word that says so.
fn line_that_is_one(line: &str) -> Option<Doi> {
    let line = line.trim().trim_matches(|c| "*_<>[]()".contains(c)).trim_end_matches(['.', ';', ',']);
    let label = line.get(..line.find("10.")?)?.to_ascii_lowercase();
    let is_label = ["doi", "https://doi.org/", "http://doi.org/", "https://dx.doi.org/", "http://dx.doi.org/"]
        .contains(&label.trim().trim_end_matches([':', '=']).trim_end());
    let is_label = is_label || ["doi: https://doi.org/", "doi: http://dx.doi.org/"].contains(&label.trim());
    is_label.then(|| Doi::parse(&line[label.len()..])).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms() {
        for given in [
            "10.1371/Journal.PPAT.0020025",
            "doi:10.1371/journal.ppat.0020025",
            "DOI: 10.1371/journal.ppat.0020025",
            "https://doi.org/10.1371/journal.ppat.0020025",
            " http://dx.doi.org/10.1371/JOURNAL.ppat.0020025 ",
            "urn:doi:10.1371/journal.ppat.0020025",
        ] {
            assert_eq!(Doi::parse(given).unwrap().as_str(), "10.1371/journal.ppat.0020025", "{given}");
        }
        for given in [
            "",
            "10.137/x",
            "10.1234567890/x",
            "10.1371",
            "10.1371/",
            "11.1371/x",
            "10.13a1/x",
            "10.1371/a b",
            "unavailable",
        ] {
            assert_eq!(Doi::parse(given), None, "{given}");
        }
        assert!(Doi::parse("10.1000.10/123").is_some(), "a registrant may be subdivided");
        assert_eq!(Doi::parse(&format!("10.1371/{}", "x".repeat(2000))), None);
    }

    #[test]
    fn a_source_is_not_what_it_cites() {
        let own = |address: &str, text: &str| own_doi_of_text(address, text).map(|d| d.to_string());
        assert_eq!(own("https://doi.org/10.1000/A?x=1", "").as_deref(), Some("10.1000/a"));
        assert_eq!(own("file:a.txt", "Title\ndoi: 10.1000/a\n").as_deref(), Some("10.1000/a"));
        assert_eq!(own("file:a.txt", "Title\n**DOI:** 10.1000/a\n"), None, "markup inside a line is not undone");
        assert_eq!(own("file:a.txt", "https://doi.org/10.1000/a").as_deref(), Some("10.1000/a"));
        assert_eq!(own("file:a.txt", "As shown before (doi:10.1000/a), this holds."), None);
        assert_eq!(own("file:a.txt", "doi:10.1000/a\ndoi:10.1000/b"), None);
        assert_eq!(own("file:a.txt", "10.1000/a"), None, "nothing says that it is one");
        assert_eq!(own("file:a.txt", &format!("{}doi:10.1000/a", "line\n".repeat(50))), None);
    }
}
