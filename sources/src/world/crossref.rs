//! Records of Crossref, as its REST API gives them.
//!
//! `update-to` stands on the record of a *notice* and names the works that it updates; `updated-by` stands on the record
//! of a *work* and names its notices. Taking one for the other withdraws the notice and keeps the work.

use serde_json::Value;

use super::{Doi, Nature, Reading, Report, WorldError};

/// How a title begins where nothing else says that a work was retracted.
const TITLE_PREFIX: &str = "RETRACTED";

/// Reads one record, a page of them, or one on each line.
pub(super) fn read(bytes: &[u8]) -> Result<Reading, WorldError> {
    let mut reading = Reading::default();
    for value in serde_json::Deserializer::from_slice(bytes).into_iter::<Value>() {
        let value = value.map_err(|e| WorldError::Crossref(e.to_string()))?;
        message(&value, &mut reading)?;
    }
    if reading.n_records == 0 {
        return Err(WorldError::Crossref("it has no `DOI`, no `message` and no `items`".to_string()));
    }
    Ok(reading)
}

/// Unwraps what the API puts around records.
fn message(value: &Value, reading: &mut Reading) -> Result<(), WorldError> {
    if let Some(records) = value.as_array() {
        return records.iter().try_for_each(|record| work(record, reading));
    }
    match (value.get("message"), value.get("items").and_then(Value::as_array)) {
        (Some(inner), _) if value.get("DOI").is_none() => message(inner, reading),
        (_, Some(items)) => items.iter().try_for_each(|record| work(record, reading)),
        _ if value.get("DOI").is_some() => work(value, reading),
        _ => Ok(()),
    }
}

fn work(record: &Value, reading: &mut Reading) -> Result<(), WorldError> {
    reading.n_records += 1;
    let n = reading.n_records;
    let Some(own) = doi(record) else {
        reading.problem(|| format!("record {n} has no DOI that is one"));
        return Ok(());
    };
    let mut is_notice = false;
    for update in entries(record, "update-to") {
        let Some(work) = doi(update) else {
            reading.problem(|| format!("record {own} updates something without a DOI"));
            continue;
        };
        // A record that updates itself is the work: its notice took its place under the same DOI.
        is_notice |= work != own;
        report(update, work, &own, reading)?;
    }
    let mut is_withdrawn = false;
    for update in entries(record, "updated-by") {
        let notice = doi(update).unwrap_or_else(|| own.clone());
        is_withdrawn |= nature(update).is_some_and(Nature::withdraws);
        report(update, own.clone(), &notice, reading)?;
    }
    if !is_notice
        && !is_withdrawn
        && title_says_so(record)
        && !reading.reports.iter().any(|r| r.work == own && r.nature.withdraws())
    {
        reading.report(Report { work: own, nature: Nature::Retraction, notice: None, reason: None, day: None })?;
    }
    Ok(())
}

fn report(update: &Value, work: Doi, notice: &Doi, reading: &mut Reading) -> Result<(), WorldError> {
    let Some(nature) = nature(update) else {
        let kind = update.get("type").and_then(Value::as_str).unwrap_or("no type").chars().take(60).collect::<String>();
        reading.problem(|| format!("an update of {work} has the type `{kind}`, which is not known"));
        return Ok(());
    };
    let notice = (*notice != work).then(|| notice.clone());
    reading.report(Report { work, nature, notice, reason: None, day: day(update) })
}

fn entries<'a>(record: &'a Value, field: &str) -> impl Iterator<Item = &'a Value> {
    record.get(field).and_then(Value::as_array).into_iter().flatten()
}

fn doi(value: &Value) -> Option<Doi> {
    Doi::parse(value.get("DOI")?.as_str()?)
}

fn nature(update: &Value) -> Option<Nature> {
    Nature::named(update.get("type")?.as_str()?)
}

/// The day of `updated.date-parts`, `[[year, month?, day?]]`, each of which may be null.
fn day(update: &Value) -> Option<u32> {
    let parts = update.get("updated")?.get("date-parts")?.get(0)?;
    let part = |i: usize, max: u64| parts.get(i).and_then(Value::as_u64).filter(|n| *n <= max).unwrap_or(0);
    let number = part(0, 9999) * 10_000 + part(1, 12) * 100 + part(2, 31);
    u32::try_from(number).ok().filter(|n| *n >= 10_000)
}

fn title_says_so(record: &Value) -> bool {
    let title = record.get("title").and_then(|t| t.get(0).or(Some(t))).and_then(Value::as_str).unwrap_or_default();
    let rest = title.trim_start().strip_prefix(TITLE_PREFIX);
    rest.is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
}
