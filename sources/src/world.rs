//! What the world publishes about works: retractions, concerns, corrections, and that one was lifted.
//!
//! Two feeds are read: records of Crossref (`update-to` and `updated-by`), and the list of Retraction Watch. Both come as
//! files and are compared here, on this machine, with what the node holds: whoever asks a service about each of its
//! documents tells it what it reads.
//!
//! A [`Report`] says one thing of one work. What several of them come to is decided in [`standing_of`].

mod crossref;
mod doi;
mod watch;

use plumb_core::notice::{NoticeKind, Reason};
use serde::{Deserialize, Serialize};

pub use doi::{Doi, own_doi, own_doi_of_text};

/// Largest file that is read. The list of Retraction Watch has some 60 MB as CSV.
pub const FILE_BYTES_MAX: usize = 256 << 20;
/// Most reports that are taken from one file. The list has some 60,000.
pub const REPORTS_MAX: usize = 1_000_000;
/// Records that could not be read and are told of one by one; the others are counted.
pub const PROBLEMS_TOLD: usize = 20;

/// Who published a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Feed {
    /// A record of Crossref.
    Crossref,
    /// The list of Retraction Watch.
    RetractionWatch,
}

impl Feed {
    /// Every feed.
    pub const ALL: [Feed; 2] = [Feed::Crossref, Feed::RetractionWatch];

    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Feed::Crossref => "crossref",
            Feed::RetractionWatch => "retraction-watch",
        }
    }

    /// How it is named to a reader; the list's licence (CC BY 4.0) asks for its name.
    pub const fn title(self) -> &'static str {
        match self {
            Feed::Crossref => "Crossref",
            Feed::RetractionWatch => "the Retraction Watch database of Crossref",
        }
    }
}

/// What is said of a work: the twelve types of Crossref, and the reinstatement of Retraction Watch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names are those of the feeds")]
pub enum Nature {
    Retraction,
    PartialRetraction,
    Withdrawal,
    Removal,
    ExpressionOfConcern,
    Correction,
    Erratum,
    Corrigendum,
    Addendum,
    Clarification,
    NewEdition,
    NewVersion,
    Reinstatement,
}

impl Nature {
    /// Every nature.
    pub const ALL: [Nature; 13] = [
        Nature::Retraction,
        Nature::PartialRetraction,
        Nature::Withdrawal,
        Nature::Removal,
        Nature::ExpressionOfConcern,
        Nature::Correction,
        Nature::Erratum,
        Nature::Corrigendum,
        Nature::Addendum,
        Nature::Clarification,
        Nature::NewEdition,
        Nature::NewVersion,
        Nature::Reinstatement,
    ];

    /// Its name, with underscores.
    pub const fn as_str(self) -> &'static str {
        match self {
            Nature::Retraction => "retraction",
            Nature::PartialRetraction => "partial_retraction",
            Nature::Withdrawal => "withdrawal",
            Nature::Removal => "removal",
            Nature::ExpressionOfConcern => "expression_of_concern",
            Nature::Correction => "correction",
            Nature::Erratum => "erratum",
            Nature::Corrigendum => "corrigendum",
            Nature::Addendum => "addendum",
            Nature::Clarification => "clarification",
            Nature::NewEdition => "new_edition",
            Nature::NewVersion => "new_version",
            Nature::Reinstatement => "reinstatement",
        }
    }

    /// The nature of this name, whatever its case, with underscores, hyphens or spaces.
    pub fn named(text: &str) -> Option<Nature> {
        let plain = text.trim().to_lowercase().replace([' ', '-'], "_");
        Nature::ALL.into_iter().find(|nature| nature.as_str() == plain)
    }

    /// The notice that a report of it becomes here. A reinstatement becomes none: it lifts what was there.
    pub const fn kind(self) -> Option<NoticeKind> {
        match self {
            Nature::Retraction | Nature::Withdrawal | Nature::Removal => Some(NoticeKind::Retraction),
            Nature::PartialRetraction => Some(NoticeKind::PartialRetraction),
            Nature::ExpressionOfConcern => Some(NoticeKind::ExpressionOfConcern),
            Nature::Correction
            | Nature::Erratum
            | Nature::Corrigendum
            | Nature::Addendum
            | Nature::Clarification
            // The newer one is not held here, so the older one is still the best that is known; its readers are told.
            | Nature::NewEdition
            | Nature::NewVersion => Some(NoticeKind::Correction),
            Nature::Reinstatement => None,
        }
    }

    const fn withdraws(self) -> bool {
        matches!(self, Nature::Retraction | Nature::PartialRetraction | Nature::Withdrawal | Nature::Removal)
    }
}

/// One thing that was said of one work.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Report {
    /// The work that it is about. Never the notice.
    pub work: Doi,
    /// What is said of it.
    pub nature: Nature,
    /// The notice that says so, where it has a DOI of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notice: Option<Doi>,
    /// Why, where it is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
    /// The day, as year × 10,000 + month × 100 + day; a part that is not known is zero.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub day: Option<u32>,
}

/// What was read from a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorldFile {
    /// Who published it.
    pub feed: Feed,
    /// Records in it.
    pub n_records: usize,
    /// What they say, in order of work.
    pub reports: Vec<Report>,
    /// The first records that could not be read, in words.
    pub problems: Vec<String>,
    /// How many could not be read.
    pub n_problems: usize,
}

/// Why a file is not read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WorldError {
    /// It is too large.
    #[error("the file has {bytes} bytes; at most {FILE_BYTES_MAX} are read")]
    TooLarge {
        /// How large it is.
        bytes: usize,
    },
    /// It holds too much.
    #[error("the file says more than {REPORTS_MAX} things; split it")]
    TooMany,
    /// It is nothing that is known.
    #[error(
        "the file is neither a record of Crossref (JSON) nor a list of Retraction Watch (CSV with OriginalPaperDOI, \
         or TSV with original_doi)"
    )]
    Unknown,
    /// It is JSON, and no record of Crossref.
    #[error("the file is no record of Crossref: {0}")]
    Crossref(String),
    /// A table without a column that it needs.
    #[error("the list has no column `{0}`")]
    Column(&'static str),
}

/// Collects what one file says.
#[derive(Debug, Default)]
struct Reading {
    n_records: usize,
    reports: Vec<Report>,
    problems: Vec<String>,
    n_problems: usize,
}

impl Reading {
    fn report(&mut self, report: Report) -> Result<(), WorldError> {
        if self.reports.len() >= REPORTS_MAX {
            return Err(WorldError::TooMany);
        }
        self.reports.push(report);
        Ok(())
    }

    fn problem(&mut self, what: impl FnOnce() -> String) {
        self.n_problems += 1;
        if self.problems.len() < PROBLEMS_TOLD {
            self.problems.push(what());
        }
    }
}

/// Reads a file of either feed. Total: any bytes give what they say, or why they say nothing.
pub fn read_world(bytes: &[u8]) -> Result<WorldFile, WorldError> {
    if bytes.len() > FILE_BYTES_MAX {
        return Err(WorldError::TooLarge { bytes: bytes.len() });
    }
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let first = bytes.iter().find(|b| !b.is_ascii_whitespace());
    let (feed, mut reading) = match first {
        Some(b'{' | b'[') => (Feed::Crossref, crossref::read(bytes)?),
        _ => (Feed::RetractionWatch, watch::read(bytes)?),
    };
    reading.reports.sort();
    reading.reports.dedup();
    let Reading { n_records, reports, problems, n_problems } = reading;
    Ok(WorldFile { feed, n_records, reports, problems, n_problems })
}

/// What stands against a work, of everything that one feed says of it.
///
/// A reinstatement lifts what withdrew the work before it. Where no days are given, nobody can tell which came last, and
/// a withdrawal stands; a reinstatement alone withdraws nothing.
pub fn standing_of<'a>(reports: impl IntoIterator<Item = &'a Report>) -> Vec<&'a Report> {
    let reports: Vec<&Report> = reports.into_iter().collect();
    let reinstated = reports.iter().filter(|r| r.nature == Nature::Reinstatement).filter_map(|r| r.day).max();
    let mut standing: Vec<&Report> = Vec::new();
    for report in reports {
        let is_lifted =
            report.nature.withdraws() && matches!((report.day, reinstated), (Some(day), Some(lifted)) if day <= lifted);
        // One notice for each nature: whoever says the same twice says it once.
        let is_said = standing.iter().any(|s| s.nature == report.nature);
        if report.nature.kind().is_some() && !is_lifted && !is_said {
            standing.push(report);
        }
    }
    standing
}

#[cfg(test)]
mod tests;
