//! A node that lives as long as its examination: it takes a collection in and is asked every query.

use std::io::{IsTerminal, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use indicatif::{ProgressBar, ProgressStyle};
use plumb_actors::ingestion::JobView;
use plumb_actors::meaning::{ModelChoice, models};
use plumb_actors::retrieval::{K_MAX, SearchView};
use plumb_core::evaluation::{Record, Run};
use serde_json::json;

use super::files::Collection;
use crate::api::asking::Peers;
use crate::api::ingest::IngestRequest;
use crate::api::search::SearchRequest;
use crate::cli::Context;
use crate::client::Client;
use crate::commands::{self, ingest, init};
use crate::exit::Exit;
use crate::{output, session};

/// Bytes after which the documents go on in another file: well below what one source may have.
const FILE_BYTES: usize = 16 << 20;

/// What came of an examination.
pub struct Asked {
    /// The documents of each query, the best first.
    pub run: Run,
    /// How long each query took, as the one who asked saw it, in the order of size.
    pub times: Vec<Duration>,
    /// How the documents were taken in.
    pub job: JobView,
    /// How long that took.
    pub intake: Duration,
    /// The model whose vectors took part, if one did.
    pub model: Option<String>,
}

/// Makes a home in a temporary folder, takes the documents in, asks each query alone, one after the other, and leaves
/// nothing behind.
///
/// `model` is a choice that needs nothing, or where a model lies that can be added.
pub async fn ask(collection: &Collection, model: &str) -> anyhow::Result<Asked> {
    let root = tempfile::Builder::new().prefix("plumb-eval-").tempdir().context("no temporary folder can be made")?;
    let cx = Context::at(root.path().join("home"));
    init::found(&cx.home()?, "Evaluation", "evaluation", "examiner")?;
    let choice = choice(&cx, model)?;
    choose(&cx, &choice)?;
    let documents = root.path().join("documents");
    write(&collection.records, &documents)?;
    let asked = session::with_node(&cx, async |client| {
        let begun = Instant::now();
        let path = documents.to_str().context("the temporary folder has a name that is not UTF-8")?;
        let request = IngestRequest { paths: vec![path.to_string()], ..IngestRequest::default() };
        let job: JobView = client.post("/v1/ingest", &request).await?;
        let job = ingest::follow(client, job).await?;
        if ingest::exit_of(&job) != Exit::Done {
            bail!("the documents were not taken in: {}", ingest::show(&job));
        }
        let intake = begun.elapsed();
        if choice != ModelChoice::Off {
            output::remark(&format!("plumb: embedding {} chunks with {choice}", job.chunks));
        }
        let meaning = commands::model::status(client, true).await?;
        let (run, times) = ask_each(client, collection).await?;
        Ok(Asked { run, times, job, intake, model: meaning.serving.map(|model| model.model) })
    })
    .await?;
    let place = root.path().to_path_buf();
    root.close().with_context(|| format!("{} cannot be removed", place.display()))?;
    Ok(asked)
}

/// The model of this name, or out of this file, which is added to the home.
fn choice(cx: &Context, model: &str) -> anyhow::Result<ModelChoice> {
    match model.parse() {
        Ok(ModelChoice::Added(known)) => bail!("{model}: name the file of that model ({})", known.package),
        Ok(choice) => Ok(choice),
        Err(_) if Path::new(model).exists() => {
            Ok(ModelChoice::Added(plumb_models::add(Path::new(model), &models(cx.home()?.root()))?.known))
        }
        Err(error) => bail!("{error}, and there is no such file"),
    }
}

/// Writes the choice into the configuration of the home.
fn choose(cx: &Context, choice: &ModelChoice) -> anyhow::Result<()> {
    let file = cx.home()?.config_file();
    let text = std::fs::read_to_string(&file)?;
    let chosen = text.replacen("# model = \"embedded\"", &format!("model = \"{choice}\""), 1);
    std::fs::write(&file, chosen).with_context(|| format!("{} cannot be written", file.display()))
}

/// Writes the documents as JSON Lines. They are numbered, for an id may have any characters, and an address may not.
fn write(records: &[Record], folder: &std::path::Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder).with_context(|| format!("{} cannot be made", folder.display()))?;
    let (mut text, mut n_files) = (Vec::new(), 0);
    for (record, number) in records.iter().zip(0usize..) {
        let title = Some(&record.title).filter(|title| !title.is_empty());
        serde_json::to_writer(&mut text, &json!({"id": number.to_string(), "title": title, "text": record.text}))?;
        text.write_all(b"\n")?;
        if text.len() >= FILE_BYTES || number + 1 == records.len() {
            let file = folder.join(format!("{n_files}.jsonl"));
            std::fs::write(&file, &text).with_context(|| format!("{} cannot be written", file.display()))?;
            (text, n_files) = (Vec::new(), n_files + 1);
        }
    }
    Ok(())
}

async fn ask_each(client: &Client, collection: &Collection) -> anyhow::Result<(Run, Vec<Duration>)> {
    let bar = if std::io::stderr().is_terminal() {
        let style = ProgressStyle::with_template("{bar:30} {pos}/{len} queries")?;
        ProgressBar::new(collection.queries.len() as u64).with_style(style)
    } else {
        output::remark(&format!("plumb: {} documents taken in, asking", collection.records.len()));
        ProgressBar::hidden()
    };
    let (mut run, mut times) = (Run::default(), Vec::with_capacity(collection.queries.len()));
    for query in &collection.queries {
        let request = SearchRequest {
            query: query.text.clone(),
            k: Some(K_MAX),
            peers: Peers::default(),
            ..SearchRequest::default()
        };
        let begun = Instant::now();
        let found: SearchView =
            client.post("/v1/search", &request).await.with_context(|| format!("query `{}`", query.id))?;
        times.push(begun.elapsed());
        // A document is where its best chunk is; `Run` keeps the first place of each.
        let documents = found.hits.iter().map(|hit| document_of(&hit.uri, &collection.records));
        run.insert(query.id.clone(), documents.collect::<anyhow::Result<Vec<String>>>()?);
        bar.inc(1);
    }
    bar.finish_and_clear();
    times.sort_unstable();
    Ok((run, times))
}

/// The id of the document at an address, whose fragment is the number that [`write()`] gave it.
fn document_of(uri: &str, records: &[Record]) -> anyhow::Result<String> {
    let number = uri.rsplit_once('#').and_then(|(_, number)| number.parse::<usize>().ok());
    let record = number.and_then(|number| records.get(number));
    Ok(record.with_context(|| format!("the node found `{uri}`, which is no document of the collection"))?.id.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_found_again_by_their_number() {
        let record = |id: &str| Record { id: id.into(), title: String::new(), text: "t".into() };
        let records = [record("a/ü#1"), record("b")];
        let dir = tempfile::tempdir().unwrap();
        write(&records, dir.path()).unwrap();
        let text = std::fs::read_to_string(dir.path().join("0.jsonl")).unwrap();
        assert_eq!(text.lines().count(), 2);
        assert_eq!(document_of("file:0.jsonl#0", &records).unwrap(), "a/ü#1");
        assert_eq!(document_of("file:0.jsonl#1", &records).unwrap(), "b");
        assert!(document_of("file:0.jsonl#2", &records).is_err() && document_of("file:x", &records).is_err());
    }
}
