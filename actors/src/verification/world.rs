//! What the world published, compared with what this node holds.
//!
//! Lists of retractions come as files and are compared here, by DOI: nobody is asked, so nobody learns what is held. What
//! matches becomes a local notice: the node believes it for itself, and publishes nothing, for it has no authority over
//! the evidence of others. The lists are kept, so that a paper that is taken in later is compared too.

use std::collections::{BTreeMap, BTreeSet};

use cid::Cid;
use plumb_core::content::{Chunk, SourceRecord};
use plumb_core::identity::Signed;
use plumb_core::notice::{NoticeKind, Reason};
use plumb_sources::world::{Doi, Feed, Nature, Report, WorldFile, own_doi_of_text, read_world, standing_of};
use plumb_storage::{Blocks, Change, Records};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::apply::{Right, apply};
use super::publish::{draft, texts_of};
use crate::NodeError;
use crate::caller::Caller;
use crate::kept::{self, Applied, SourceRow};
use crate::premises::Premises;

/// Matches that are told one by one.
const MATCHES_TOLD: usize = 1_000;
/// DOIs that are written down in one change when sources are looked at for the first time.
const DOIS_PER_CHANGE: usize = 4_096;

/// Compares a file of retractions with what this node holds.
#[derive(Clone, Debug, actix::Message)]
#[rtype(result = "Result<WatchView, NodeError>")]
pub struct WatchWorld {
    /// Who.
    pub caller: Caller,
    /// The file: Crossref records, or the list of Retraction Watch.
    pub file: Vec<u8>,
    /// Whether the file is all that its feed says: what it names no more is lifted here.
    pub is_complete: bool,
    /// Say what would happen, and change nothing.
    pub dry_run: bool,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WatchView {
    /// `crossref` or `retraction-watch`.
    pub feed: String,
    /// Records in the file.
    pub records: u64,
    /// Things that they say of works with a DOI.
    pub reports: u64,
    /// Records that could not be read, the first of them in words.
    pub problems: Vec<String>,
    /// How many could not be read.
    pub unreadable: u64,
    /// Sources held here whose DOI is known.
    pub sources_with_doi: u64,
    /// Sources that the file speaks of, each with what was done.
    pub matches: Vec<MatchView>,
    /// How many there are.
    pub matched: u64,
}

/// One source that the world speaks of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MatchView {
    /// The source record.
    pub source: String,
    /// Its title.
    pub title: String,
    /// Its DOI.
    pub doi: String,
    /// What is said of it.
    pub nature: String,
    /// The DOI of the notice that says so, where there is one.
    pub notice_doi: Option<String>,
    /// The kind of the local notice: what it does here.
    pub kind: String,
    /// `applied`, `known` (from an earlier time), `lifted`, or `would_apply` and `would_lift`.
    pub done: String,
    /// The local notice.
    pub notice: Option<String>,
}

/// Reads a file, keeps what it says, and compares it with every source that has a DOI.
pub(super) fn watch(premises: &Premises, ask: &WatchWorld) -> Result<WatchView, NodeError> {
    if !ask.caller.operator {
        return Err(NodeError::Denied("only the operator of a node decides whom it believes".to_string()));
    }
    let file = read_world(&ask.file).map_err(|e| NodeError::Invalid(e.to_string()))?;
    let by = ask.caller.label();
    let _guard = premises.compare_lock();
    let reports = merge(kept::world_list(&premises.store, file.feed)?, &file, ask.is_complete);
    if !ask.dry_run {
        let what = format!("{} records, {} reports kept", file.n_records, reports.len());
        let mut change = Change::new(premises.event(&by, "world.watch", file.feed.as_str(), "ok", what));
        kept::put_world_list(&mut change, file.feed, &reports);
        premises.store.commit(change)?;
    }
    let held = held(premises, &by, ask.dry_run)?;
    let said = by_work(&reports);
    let mut matches = Vec::new();
    for (record, doi) in &held {
        let reports = said.get(doi).map(Vec::as_slice).unwrap_or_default();
        compare(premises, file.feed, record, doi, reports, &by, ask.dry_run, &mut matches)?;
    }
    let matched = matches.len() as u64;
    matches.truncate(MATCHES_TOLD);
    Ok(WatchView {
        feed: file.feed.as_str().to_string(),
        records: file.n_records as u64,
        reports: file.reports.len() as u64,
        problems: file.problems,
        unreadable: file.n_problems as u64,
        sources_with_doi: held.len() as u64,
        matches,
        matched,
    })
}

/// Compares sources that were just taken in with every list that is kept.
pub(crate) fn rematch(premises: &Premises, records: &[Cid], by: &str) -> Result<(), NodeError> {
    if records.is_empty() {
        return Ok(());
    }
    let _guard = premises.compare_lock();
    for feed in Feed::ALL {
        let reports = kept::world_list(&premises.store, feed)?;
        if reports.is_empty() {
            continue;
        }
        let said = by_work(&reports);
        for record in records {
            let Some(Some(doi)) = kept::doi_of(&premises.store, record)? else { continue };
            let reports = said.get(&doi).map(Vec::as_slice).unwrap_or_default();
            compare(premises, feed, record, &doi, reports, by, false, &mut Vec::new())?;
        }
    }
    Ok(())
}

/// What is kept of a feed after one more file of it. A Crossref record is the newest word on the works that it names; a
/// list is the newest word on everything if it is the whole list, and else on the works that it names.
fn merge(kept: Vec<Report>, file: &WorldFile, is_complete: bool) -> Vec<Report> {
    let named: BTreeSet<&Doi> = file.reports.iter().map(|report| &report.work).collect();
    let stays = |report: &Report| match file.feed {
        _ if is_complete => false,
        // A notice and the work that it updates come as two records, and each may know what the other does not.
        Feed::Crossref => true,
        Feed::RetractionWatch => !named.contains(&report.work),
    };
    let mut reports: BTreeSet<Report> = kept.into_iter().filter(stays).collect();
    reports.extend(file.reports.iter().cloned());
    reports.into_iter().collect()
}

fn by_work(reports: &[Report]) -> BTreeMap<&Doi, Vec<&Report>> {
    let mut said: BTreeMap<&Doi, Vec<&Report>> = BTreeMap::new();
    for report in reports {
        said.entry(&report.work).or_default().push(report);
    }
    said
}

/// Every source with its DOI. Where nobody has looked for one yet (imported sources, and those of an older store), this
/// looks, and writes down what it finds.
fn held(premises: &Premises, by: &str, dry_run: bool) -> Result<Vec<(Cid, Doi)>, NodeError> {
    let mut held = Vec::new();
    let mut found: Vec<(Cid, Option<Doi>)> = Vec::new();
    for row in kept::sources_by_address(&premises.store, None) {
        let row = row?;
        let doi = match kept::doi_of(&premises.store, &row.record)? {
            Some(doi) => doi,
            None => {
                let doi = look(premises, &row)?;
                found.push((row.record, doi.clone()));
                doi
            }
        };
        held.extend(doi.map(|doi| (row.record, doi)));
    }
    for some in found.chunks(DOIS_PER_CHANGE) {
        if dry_run {
            break;
        }
        let what = format!("{} sources", some.len());
        let mut change = Change::new(premises.event(by, "source.doi", "sources", "ok", what));
        for (record, doi) in some {
            kept::put_doi(&mut change, record, doi.as_ref());
        }
        premises.store.commit(change)?;
    }
    Ok(held)
}

/// The DOI of a source of which nothing but its record and chunks is at hand.
fn look(premises: &Premises, row: &SourceRow) -> Result<Option<Doi>, NodeError> {
    let text = match premises.store.block(&row.record)?.map(|block| block.decode::<SourceRecord>()).transpose()? {
        Some(record) => premises.store.block(&record.text)?.map(|b| String::from_utf8_lossy(&b.bytes).into_owned()),
        None => None,
    };
    let text = match (text, row.chunks.first()) {
        (Some(text), _) => text,
        // Of an imported source there are chunks only; its head is there if its first chunk is.
        (None, Some(first)) => match premises.store.block(first)? {
            Some(block) => {
                let chunk = block.decode::<Chunk>()?;
                if chunk.start == 0 { chunk.text } else { String::new() }
            }
            None => String::new(),
        },
        (None, None) => String::new(),
    };
    Ok(own_doi_of_text(&row.uri, &text))
}

/// Brings what stands against one source here to what a feed says of it.
#[expect(clippy::too_many_arguments, reason = "one comparison has this many parts")]
fn compare(
    premises: &Premises,
    feed: Feed,
    record: &Cid,
    doi: &Doi,
    reports: &[&Report],
    by: &str,
    dry_run: bool,
    matches: &mut Vec<MatchView>,
) -> Result<(), NodeError> {
    let wanted = standing_of(reports.iter().copied());
    let mut applied = kept::applied(&premises.store, record, feed)?;
    if wanted.is_empty() && applied.is_empty() {
        return Ok(());
    }
    let Some(row) = kept::source(&premises.store, record)? else { return Ok(()) };
    let view = |nature: Nature, notice_doi: Option<&Doi>, done: &str, notice: Option<Cid>| MatchView {
        source: record.to_string(),
        title: row.title.clone(),
        doi: doi.to_string(),
        nature: nature.as_str().to_string(),
        notice_doi: notice_doi.map(ToString::to_string),
        kind: nature.kind().map_or("reinstatement", NoticeKind::as_str).to_string(),
        done: done.to_string(),
        notice: notice.map(|n| n.to_string()),
    };
    for old in applied.clone() {
        if wanted.iter().any(|report| report.nature == old.nature) {
            continue;
        }
        if dry_run {
            matches.push(view(old.nature, None, "would_lift", Some(old.notice)));
            continue;
        }
        applied.retain(|one| one.nature != old.nature);
        let notice = lift(premises, feed, &row, doi, &old, &applied, by)?;
        matches.push(view(old.nature, None, "lifted", Some(notice)));
    }
    for report in wanted {
        let known = applied.iter().find(|one| one.nature == report.nature).map(|one| one.notice);
        let (done, notice) = match known {
            Some(notice) => ("known", Some(notice)),
            None if dry_run => ("would_apply", None),
            None => ("applied", Some(believe(premises, feed, &row, report, &mut applied, by)?)),
        };
        matches.push(view(report.nature, report.notice.as_ref(), done, notice));
    }
    Ok(())
}

/// Applies a report to a source. Its row and the notice are one transaction, so doing it again finds it done.
fn believe(
    premises: &Premises,
    feed: Feed,
    row: &SourceRow,
    report: &Report,
    applied: &mut Vec<Applied>,
    by: &str,
) -> Result<Cid, NodeError> {
    let kind = report.nature.kind().unwrap_or(NoticeKind::ExpressionOfConcern);
    let reason = match (report.reason, report.nature) {
        (Some(reason), _) => reason,
        (None, Nature::NewEdition | Nature::NewVersion) => Reason::Superseded,
        (None, _) => Reason::NotStated,
    };
    let said = report.nature.as_str().replace('_', " ");
    let notice_doi = report.notice.as_ref().map(|doi| format!(", notice https://doi.org/{doi}")).unwrap_or_default();
    let note = format!("{said} of https://doi.org/{}{notice_doi}; published by {}", report.work, feed.title());
    let mut notice = draft(premises, kind, reason, note);
    notice.targets = vec![row.record];
    notice.fingerprints = texts_of(premises, row, &[])?;
    notice.fingerprints.truncate(plumb_core::notice::FINGERPRINTS_MAX);
    let signed = Signed::seal(notice, &premises.key)?;
    applied.push(Applied { nature: report.nature, notice: signed.cid() });
    remember(premises, feed, row, &signed, applied, by)?;
    Ok(signed.cid())
}

/// Lifts what a feed says no more.
fn lift(
    premises: &Premises,
    feed: Feed,
    row: &SourceRow,
    doi: &Doi,
    old: &Applied,
    applied: &[Applied],
    by: &str,
) -> Result<Cid, NodeError> {
    let said = old.nature.as_str().replace('_', " ");
    let note = format!("no {said} of https://doi.org/{doi} any more, by {}", feed.title());
    let mut notice = draft(premises, NoticeKind::Reinstatement, Reason::Resolved, note);
    notice.targets = vec![row.record];
    notice.undoes = Some(old.notice);
    let signed = Signed::seal(notice, &premises.key)?;
    remember(premises, feed, row, &signed, applied, by)?;
    Ok(signed.cid())
}

fn remember(
    premises: &Premises,
    feed: Feed,
    row: &SourceRow,
    signed: &Signed<plumb_core::notice::Notice>,
    applied: &[Applied],
    by: &str,
) -> Result<(), NodeError> {
    let origin = format!("world:{}", feed.as_str());
    apply(premises, signed, by, Right::Local(&origin), &|change| {
        kept::put_applied(change, &row.record, feed, applied);
        Ok(())
    })?;
    Ok(())
}
