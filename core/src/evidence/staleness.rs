//! Staleness: whether the world has moved on since a unit was written (KNU-03, KNU-04).
//!
//! Two things make a unit stale: its files have changed after it was written, and time has passed. The worse of the two
//! counts; they are not added, since a changed file is how time usually shows.

use serde::Serialize;

use crate::knowledge::KnowledgeType;
use crate::measure::{Duration, Micro, Milli, Timestamp, exp_neg, exp2_neg};

/// Above this a workbench flags a unit as stale (KNU-04).
pub const STALE_FLAGGED: Milli = Milli::from_const(300);
/// Above this a unit is counted as stale in the status of a node (KNU-04).
pub const STALE_COUNTED: Milli = Milli::from_const(500);
/// The scale of the file part: after this time 1 − 1/e of the trust in a unit is gone.
const FILE_SCALE: Duration = Duration::days(30);

/// The time after which a unit of this type is half stale (KNU-03).
pub const fn half_life(kind: KnowledgeType) -> Duration {
    Duration::days(match kind {
        KnowledgeType::Decision | KnowledgeType::Preference => 180,
        KnowledgeType::Pattern | KnowledgeType::ErrorFix => 90,
        KnowledgeType::CodePattern | KnowledgeType::Summary => 60,
        KnowledgeType::Context | KnowledgeType::Command => 30,
        KnowledgeType::Conversation => 14,
    })
}

/// What is known of a file that a unit speaks of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum FileState {
    /// Last changed at this moment.
    ChangedAt(Timestamp),
    /// Not found. It says nothing: a checkout may simply not be here (KNU-04).
    Missing,
}

/// A stale score with what it was made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Staleness {
    /// The part of the worst file.
    pub file: Micro,
    /// The part of time.
    pub time: Micro,
    /// The greater of both.
    pub score: Micro,
    /// Files that were not found and so say nothing.
    pub n_missing: usize,
}

impl Staleness {
    /// The stale score of a unit of this type whose source is of `written`, with the files that it speaks of.
    pub fn of(kind: KnowledgeType, written: Timestamp, now: Timestamp, files: &[FileState]) -> Staleness {
        let changed = |file: &FileState| match file {
            FileState::ChangedAt(at) => file_staleness(at.since(written)),
            FileState::Missing => Micro::ZERO,
        };
        let file = files.iter().map(changed).max().unwrap_or_default();
        let time = time_staleness(kind, now.since(written));
        let n_missing = files.iter().filter(|f| **f == FileState::Missing).count();
        Staleness { file, time, score: file.max(time), n_missing }
    }

    /// Whether a workbench flags it: above 0.3.
    pub fn is_flagged(&self) -> bool {
        self.score > STALE_FLAGGED.into()
    }

    /// Whether it counts as stale in the status of a node: above 0.5.
    pub fn is_counted(&self) -> bool {
        self.score > STALE_COUNTED.into()
    }
}

/// `1 − e^(−d/30)`, where a file was changed `d` days after the source (KNU-04). What is left is truncated, so a unit is
/// never called fresher than it is.
pub fn file_staleness(changed_after: Duration) -> Micro {
    exp_neg(changed_after.0, FILE_SCALE.0).complement()
}

/// `1 − 2^(−age/half-life)` (KNU-04).
pub fn time_staleness(kind: KnowledgeType, age: Duration) -> Micro {
    exp2_neg(age.0, half_life(kind).0).complement()
}
