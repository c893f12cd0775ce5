//! The list of Retraction Watch: the CSV as it is published, and a TSV of DOIs that was derived from it.

use plumb_core::notice::Reason;

use super::{Doi, Nature, Reading, Report, WorldError};

/// Reads whichever of the two it is.
pub(super) fn read(bytes: &[u8]) -> Result<Reading, WorldError> {
    let header = bytes.split(|b| *b == b'\n').next().unwrap_or_default();
    let header = String::from_utf8_lossy(header).to_lowercase();
    if header.contains("originalpaperdoi") {
        published(bytes)
    } else if header.contains("original_doi") && header.contains('\t') {
        derived(bytes)
    } else {
        Err(WorldError::Unknown)
    }
}

/// Where the columns of a table are.
struct Columns(csv::ByteRecord);

impl Columns {
    fn at(&self, name: &'static str) -> Result<usize, WorldError> {
        let is_it = |field: &[u8]| field.trim_ascii().eq_ignore_ascii_case(name.as_bytes());
        self.0.iter().position(is_it).ok_or(WorldError::Column(name))
    }
}

fn text<'a>(record: &'a csv::ByteRecord, at: usize) -> std::borrow::Cow<'a, str> {
    String::from_utf8_lossy(record.get(at).unwrap_or_default())
}

/// Counts a record, and gives it if it can be read.
fn counted(reading: &mut Reading, what: &str, record: Result<csv::ByteRecord, csv::Error>) -> Option<csv::ByteRecord> {
    reading.n_records += 1;
    let n = reading.n_records;
    record.map_err(|error| reading.problem(|| format!("{what} {n}: {error}"))).ok()
}

/// The CSV: one line for each notice, with its nature, day and reasons.
fn published(bytes: &[u8]) -> Result<Reading, WorldError> {
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(bytes);
    let columns = Columns(reader.byte_headers().map_err(|_| WorldError::Unknown)?.clone());
    let (work_at, nature_at) = (columns.at("OriginalPaperDOI")?, columns.at("RetractionNature")?);
    let optional = |name| columns.at(name).unwrap_or(usize::MAX);
    let (notice_at, day_at, reason_at) = (optional("RetractionDOI"), optional("RetractionDate"), optional("Reason"));
    let mut reading = Reading::default();
    for record in reader.byte_records() {
        let Some(record) = counted(&mut reading, "record", record) else { continue };
        let n = reading.n_records;
        // Many old papers have no DOI, which the list says with "unavailable": nothing here can be matched with them.
        let Some(work) = Doi::parse(&text(&record, work_at)) else { continue };
        let Some(nature) = Nature::named(&text(&record, nature_at)) else {
            reading.problem(|| format!("record {n}: the nature `{}` is not known", text(&record, nature_at)));
            continue;
        };
        let notice = Doi::parse(&text(&record, notice_at)).filter(|notice| *notice != work);
        let (day, reason) = (day(&text(&record, day_at)), reason(&text(&record, reason_at)));
        reading.report(Report { work, nature, notice, reason, day })?;
    }
    Ok(reading)
}

/// The TSV: one line for each paper, with everything that was ever said of it.
fn derived(bytes: &[u8]) -> Result<Reading, WorldError> {
    let mut reader = csv::ReaderBuilder::new().delimiter(b'\t').quoting(false).flexible(true).from_reader(bytes);
    let columns = Columns(reader.byte_headers().map_err(|_| WorldError::Unknown)?.clone());
    let (work_at, status_at) = (columns.at("original_doi")?, columns.at("status")?);
    let optional = |name| columns.at(name).unwrap_or(usize::MAX);
    let (notice_at, concern_at) = (optional("retraction_notice_doi"), optional("concern_notice_doi"));
    let mut reading = Reading::default();
    for record in reader.byte_records() {
        let Some(record) = counted(&mut reading, "line", record) else { continue };
        let n = reading.n_records;
        let Some(work) = Doi::parse(&text(&record, work_at)) else {
            reading.problem(|| format!("line {n}: `{}` is no DOI", text(&record, work_at)));
            continue;
        };
        for status in text(&record, status_at).split(';') {
            let Some(nature) = Nature::named(status) else {
                reading.problem(|| format!("line {n}: the status `{status}` is not known"));
                continue;
            };
            let notice = match nature {
                Nature::Retraction => Doi::parse(&text(&record, notice_at)),
                Nature::ExpressionOfConcern => Doi::parse(&text(&record, concern_at)),
                _ => None,
            };
            let notice = notice.filter(|notice| *notice != work);
            reading.report(Report { work: work.clone(), nature, notice, reason: None, day: None })?;
        }
    }
    Ok(reading)
}

/// A day as the list writes it, `month/day/year` with a time behind it.
fn day(text: &str) -> Option<u32> {
    let date = text.split_whitespace().next()?;
    let mut parts = date.split('/').map(|part| part.parse::<u32>().ok());
    let (month, day, year) = (parts.next()??, parts.next()??, parts.next()??);
    let is_date = month <= 12 && day <= 31 && (1..=9999).contains(&year);
    is_date.then_some(year * 10_000 + month * 100 + day)
}

/// The reason code of the first of the list's reasons that has one.
fn reason(text: &str) -> Option<Reason> {
    const REASONS: [(&str, Reason); 14] = [
        ("fabrication", Reason::Fabrication),
        ("manipulation of", Reason::Fabrication),
        ("plagiarism", Reason::Plagiarism),
        ("duplication", Reason::Duplicate),
        ("error in data", Reason::DataError),
        ("unreliable data", Reason::DataError),
        ("concerns/issues about data", Reason::DataError),
        ("error in analyses", Reason::AnalysisError),
        ("error in results", Reason::AnalysisError),
        ("not reproducible", Reason::NotReproducible),
        ("informed/patient consent", Reason::Consent),
        ("irb/iacuc", Reason::Consent),
        ("legal", Reason::Legal),
        ("error by journal/publisher", Reason::PublisherError),
    ];
    text.to_lowercase()
        .split(';')
        .find_map(|said| REASONS.iter().find(|(words, _)| said.contains(words)).map(|(_, reason)| *reason))
}
