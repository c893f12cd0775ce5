//! The three nodes of `fixtures/story`, as its README tells it.

use std::path::{Path, PathBuf};

use serde_json::Value;
use tempfile::TempDir;

use crate::{Home, Organisation, RunningNode, view, workspace_root};

/// Where the documents lie.
pub fn story_dir() -> PathBuf {
    workspace_root().join("fixtures/story")
}

/// A row of `questions.json`.
#[derive(Clone, Debug)]
pub struct Question {
    /// The question.
    pub question: String,
    /// The node that holds the answer, or that is asked.
    pub node: String,
    /// The document that answers it, below [`story_dir`].
    pub path: Option<String>,
    /// The sentence that answers it.
    pub sentence: Option<String>,
    /// `local`, `federated`, `denied` or `unknown`.
    pub kind: String,
}

/// Every question of this kind.
pub fn questions(kind: &str) -> Vec<Question> {
    let file = story_dir().join("questions.json");
    let rows: Value = serde_json::from_slice(&std::fs::read(file).expect("questions.json")).expect("JSON");
    let field = |row: &Value, name: &str| row[name].as_str().map(str::to_string);
    let rows = rows.as_array().expect("a list").iter().map(|row| Question {
        question: field(row, "question").expect("a question"),
        node: field(row, "node").expect("a node"),
        path: field(row, "path"),
        sentence: field(row, "sentence"),
        kind: field(row, "kind").expect("a kind"),
    });
    rows.filter(|q| q.kind == kind).collect()
}

/// Two organisations, three nodes.
#[derive(Debug)]
pub struct Story {
    /// The water utility.
    pub northwater: Organisation,
    /// The research institute.
    pub halden: Organisation,
    /// Northwater's operations.
    pub operations: RunningNode,
    /// Northwater's laboratory.
    pub laboratory: RunningNode,
    /// Halden's hydrology.
    pub hydrology: RunningNode,
    /// Everything lies below it. It is the last field, so that it is removed when no node runs any more.
    pub scratch: TempDir,
}

impl Story {
    /// Founds the organisations, certifies the nodes, starts them, and waits until each knows the two others.
    /// Nothing is ingested yet.
    pub fn begin() -> Story {
        let scratch = TempDir::new().expect("a temporary directory");
        let at = scratch.path();
        let northwater = Organisation::found(at, "Northwater");
        let halden = Organisation::found(at, "Halden Institute");
        let operations = northwater.node(at, "operations", "person-tomas-brandvold");
        let laboratory = northwater.node(at, "laboratory", "person-ilse-kerrigan");
        let hydrology = halden.node(at, "hydrology", "person-noor-vasquell");
        for home in [&operations, &laboratory] {
            home.trust(&halden);
        }
        hydrology.trust(&northwater);
        operations.add_person("person-olav-stromme", &["operations"]);
        laboratory.add_person("person-mara-lindqvist", &["laboratory"]);
        let operations = RunningNode::start(&operations, &[]);
        let laboratory = RunningNode::start(&laboratory, &[&operations]);
        let hydrology = RunningNode::start(&hydrology, &[&operations, &laboratory]);
        let story = Story { northwater, halden, operations, laboratory, hydrology, scratch };
        story.await_peers();
        story
    }

    /// The same, with every document of the story ingested.
    pub fn told() -> Story {
        let story = Story::begin();
        ingest(&story.operations.home, "northwater-operations", "internal");
        ingest(&story.laboratory.home, "northwater-laboratory", "internal");
        ingest(&story.hydrology.home, "halden-hydrology/public", "public");
        ingest(&story.hydrology.home, "halden-hydrology/internal", "internal");
        story
    }

    /// Waits until each node knows the two others.
    pub fn await_peers(&self) {
        for node in [&self.operations, &self.laboratory, &self.hydrology] {
            node.await_peers(2);
        }
    }

    /// The node of this name, as `questions.json` spells it.
    pub fn node(&self, name: &str) -> &RunningNode {
        match name {
            "northwater-operations" => &self.operations,
            "northwater-laboratory" => &self.laboratory,
            "halden-hydrology" => &self.hydrology,
            other => panic!("there is no node `{other}` in the story"),
        }
    }

    /// A path for a file of this test.
    pub fn file(&self, name: &str) -> PathBuf {
        self.scratch.path().join(name)
    }
}

/// Ingests a folder of the story and requires that every file came in.
#[track_caller]
fn ingest(home: &Home, folder: &str, sensitivity: &str) -> Value {
    let path: &Path = &story_dir().join(folder);
    let path = path.to_str().expect("the path of the workspace is Unicode");
    let job = home.ok(&["ingest", path, "--sensitivity", sensitivity]);
    assert_eq!(view::list(&job, "/parked"), &[] as &[Value], "{job:#}");
    assert!(view::count(&job, "/new") > 0, "{job:#}");
    job
}
