//! Judgments, runs, queries and documents, as they lie in a folder.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use plumb_core::evaluation::{
    Documents, JudgedQuery, Qrels, ReadError, Record, Run, Slices, read_corpus, read_qrels, read_queries, read_run,
    read_slices,
};
use plumb_core::retrieval::{is_stop_word, terms};

/// Largest file that is read. It is held in memory whole.
const FILE_BYTES_MAX: u64 = 1 << 30;
/// Where the documents lie.
const CORPUS: &str = "corpus.jsonl";
/// Where the queries may lie, in the layouts of BEIR and of SciFact.
const QUERIES: [&str; 2] = ["queries.jsonl", "claims_dev.jsonl"];
/// Where the judgments may lie, in the layouts of BEIR and of TREC.
const QRELS: [&str; 4] = ["qrels/test.tsv", "qrels_test.trec", "qrels.trec", "qrels.txt"];
/// Where slices lie, if there are any.
const SLICES: &str = "slices.tsv";

/// A judged collection.
pub struct Collection {
    /// Its documents.
    pub records: Vec<Record>,
    /// Its judged queries, in the order of their file.
    pub queries: Vec<JudgedQuery>,
    /// What is relevant.
    pub qrels: Qrels,
    /// Sets of queries that are looked at apart.
    pub slices: Slices,
}

/// Files that lie elsewhere than in the folder of the collection.
#[derive(Debug, Default)]
pub struct Elsewhere<'a> {
    /// The queries.
    pub queries: Option<&'a Path>,
    /// The judgments.
    pub qrels: Option<&'a Path>,
    /// The slices.
    pub slices: Option<&'a Path>,
}

impl Collection {
    /// Reads a folder. Queries without a judgment are left out: nothing can be said of what they find.
    pub fn open(dir: &Path, elsewhere: &Elsewhere<'_>) -> anyhow::Result<Collection> {
        let records = read(&dir.join(CORPUS), read_corpus)?;
        let qrels = judgments(&given_or_found(elsewhere.qrels, dir, &QRELS, "--qrels")?)?;
        let queries = given_or_found(elsewhere.queries, dir, &QUERIES, "--queries")?;
        let (queries, own_slices) = read(&queries, read_queries)?;
        let beside = dir.join(SLICES);
        let slices = match elsewhere.slices {
            Some(file) => read(file, read_slices)?,
            None if beside.is_file() => read(&beside, read_slices)?,
            None => own_slices,
        };
        let queries: Vec<JudgedQuery> = queries.into_iter().filter(|query| qrels.judges(&query.id)).collect();
        if queries.is_empty() {
            bail!("no query of {} has a judgment; --queries and --qrels name other files", dir.display());
        }
        Ok(Collection { records, queries, qrels, slices })
    }

    /// The documents as sets of their terms.
    pub fn documents(&self) -> Documents {
        documents(&self.records)
    }
}

/// Reads judgments.
pub fn judgments(file: &Path) -> anyhow::Result<Qrels> {
    let qrels = read(file, read_qrels)?;
    if qrels.n_queries() == 0 {
        bail!("{} judges nothing", file.display());
    }
    Ok(qrels)
}

/// Reads a run.
pub fn run(file: &Path) -> anyhow::Result<Run> {
    read(file, read_run)
}

/// Reads slices.
pub fn slices(file: &Path) -> anyhow::Result<Slices> {
    read(file, read_slices)
}

/// Reads documents, as sets of their terms. A folder stands for its `corpus.jsonl`.
pub fn corpus(path: &Path) -> anyhow::Result<Documents> {
    let file = if path.is_dir() { path.join(CORPUS) } else { path.to_path_buf() };
    Ok(documents(&read(&file, read_corpus)?))
}

fn documents(records: &[Record]) -> Documents {
    let mut documents = Documents::default();
    for record in records {
        let of = |text: &str| terms(text).into_iter().filter(|term| !is_stop_word(term));
        documents.insert(record.id.clone(), of(&record.title).chain(of(&record.text)).collect());
    }
    documents
}

fn given_or_found(given: Option<&Path>, dir: &Path, names: &[&str], flag: &str) -> anyhow::Result<PathBuf> {
    if let Some(file) = given {
        return Ok(file.to_path_buf());
    }
    let found = names.iter().map(|name| dir.join(name)).find(|file| file.is_file());
    found.with_context(|| format!("there is none of {} in {}; {flag} names a file", names.join(", "), dir.display()))
}

fn read<T>(file: &Path, parse: impl Fn(&str) -> Result<T, ReadError>) -> anyhow::Result<T> {
    let text = || -> anyhow::Result<String> {
        let bytes = std::fs::metadata(file)?.len();
        anyhow::ensure!(bytes <= FILE_BYTES_MAX, "it has {bytes} bytes; at most {FILE_BYTES_MAX} are read");
        Ok(std::fs::read_to_string(file)?)
    };
    let text = text().with_context(|| format!("{} cannot be read", file.display()))?;
    parse(&text).with_context(|| format!("{} cannot be read", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(dir: &Path, name: &str, text: &str) {
        let file = dir.join(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }

    #[test]
    fn a_folder_of_beir_is_opened() {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), "corpus.jsonl", "{\"_id\": \"d1\", \"title\": \"Pipes\", \"text\": \"The flow in pipes\"}\n");
        write(dir.path(), "queries.jsonl", "{\"_id\": \"1\", \"text\": \"flow\"}\n{\"_id\": \"2\", \"text\": \"x\"}\n");
        write(dir.path(), "qrels/test.tsv", "query-id\tcorpus-id\tscore\n1\td1\t1\n");
        write(dir.path(), "slices.tsv", "1\tshort\n");
        let collection = Collection::open(dir.path(), &Elsewhere::default()).unwrap();
        assert_eq!(collection.queries.len(), 1, "the other has no judgment");
        assert_eq!(collection.slices.iter().count(), 1);
        assert_eq!(collection.documents().terms("d1").unwrap().len(), 2);
    }

    #[test]
    fn what_is_missing_or_broken_is_named() {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), "corpus.jsonl", "{\"_id\": \"d1\", \"text\": \"a\"}\n{\"_id\": 7}\n");
        let error = |dir: &Path| format!("{:#}", Collection::open(dir, &Elsewhere::default()).err().unwrap());
        assert!(error(dir.path()).ends_with("corpus.jsonl cannot be read: line 2: it has no text"));
        write(dir.path(), "corpus.jsonl", "{\"_id\": \"d1\", \"text\": \"a\"}\n");
        assert!(error(dir.path()).contains("--qrels names a file"), "{}", error(dir.path()));
        write(dir.path(), "qrels.trec", "1 0 d1 1\n");
        write(dir.path(), "queries.jsonl", "{\"_id\": \"2\", \"text\": \"x\"}\n");
        assert!(error(dir.path()).contains("no query of"), "{}", error(dir.path()));
    }
}
