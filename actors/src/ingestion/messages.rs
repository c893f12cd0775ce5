//! What the ingestion actor answers.

use plumb_core::boundary::Sensitivity;
use plumb_core::knowledge::Scope;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::NodeError;
use crate::caller::Caller;

/// Something to take in.
#[derive(Clone, Debug)]
pub enum Intake {
    /// A file or a folder on this machine. Only a caller on this machine may name one.
    Path(std::path::PathBuf),
    /// Bytes that came with the request.
    Inline {
        /// A name for it, such as `minutes.md`; with the caller's scope it is its address.
        name: String,
        /// Media type or file ending, as weak evidence.
        declared: Option<String>,
        /// The bytes.
        bytes: Vec<u8>,
    },
}

/// Takes sources in, as a job. Answers with the job as it begins.
#[derive(Clone, Debug, actix::Message)]
#[rtype(result = "Result<JobView, NodeError>")]
pub struct IngestSources {
    /// Who.
    pub caller: Caller,
    /// What.
    pub intake: Vec<Intake>,
    /// Whose it shall be; otherwise the node's department.
    pub scope: Option<Scope>,
    /// How sensitive its owner says it is; otherwise internal. Detection may only raise it.
    pub sensitivity: Option<Sensitivity>,
    /// Only this adapter, by name.
    pub adapter: Option<String>,
    /// Say what would happen, and change nothing.
    pub dry_run: bool,
}

/// Shows a job.
#[derive(Clone, Debug, actix::Message)]
#[rtype(result = "Result<JobView, NodeError>")]
pub struct ShowJob {
    /// Who asks. Others' jobs are absent.
    pub caller: Caller,
    /// Its id.
    pub id: String,
}

/// Lists jobs, newest first.
#[derive(Clone, Debug, actix::Message)]
#[rtype(result = "Result<Vec<JobView>, NodeError>")]
pub struct ListJobs {
    /// Who asks.
    pub caller: Caller,
    /// At most so many.
    pub limit: usize,
}

/// Stops a job at its next source; what it took in stays.
#[derive(Clone, Debug, actix::Message)]
#[rtype(result = "Result<JobView, NodeError>")]
pub struct CancelJob {
    /// Who.
    pub caller: Caller,
    /// Its id.
    pub id: String,
}

/// Lists the sources that the caller may read, by address.
#[derive(Clone, Debug, actix::Message)]
#[rtype(result = "Result<Vec<SourceView>, NodeError>")]
pub struct ListSources {
    /// Who asks.
    pub caller: Caller,
    /// Only this one: a CID, or an address or the end of one.
    pub name: Option<String>,
    /// Behind this address.
    pub after: Option<String>,
    /// At most so many.
    pub limit: usize,
}

/// Removes a source from this node. Others hear nothing of it; that is what a retraction is for.
#[derive(Clone, Debug, actix::Message)]
#[rtype(result = "Result<RemovedView, NodeError>")]
pub struct RemoveSource {
    /// Who: the operator, or who brought it in.
    pub caller: Caller,
    /// CID of its record.
    pub source: String,
    /// Say what would happen, and change nothing.
    pub dry_run: bool,
}

/// What a removal did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RemovedView {
    /// CID of its record.
    pub source: String,
    /// Its address on this node.
    pub address: String,
    /// Its title.
    pub title: String,
    /// Chunks that are found no more.
    pub chunks: u64,
    /// Blocks whose bytes are gone.
    pub blocks_erased: u64,
    /// Blocks that stay, since another source or a saved answer needs them.
    pub blocks_kept: u64,
    /// Saved answers that rest on it: their bundles.
    pub answers: Vec<String>,
    /// Nodes that are known to hold it. Only a retraction reaches them.
    pub holders: Vec<String>,
    /// Whether nothing was changed.
    pub dry_run: bool,
}

/// Where a job stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the names say it")]
pub enum JobState {
    Running,
    Done,
    Cancelled,
    Failed,
}

/// The six stages of ingestion (ING-01), in order, each with how many sources passed it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct StageCounts {
    /// Bytes read into text.
    pub parse: u64,
    /// Text cut into chunks.
    pub chunk: u64,
    /// Dates, links and labels found.
    pub enrich: u64,
    /// Vectors made. Passes through until a model is configured.
    pub embed: u64,
    /// Stored and indexed.
    pub index: u64,
    /// Found again by the index.
    pub quality: u64,
}

/// What became of a source that was not simply taken in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SourceNote {
    /// Its address.
    pub address: String,
    /// Why, in words for a person.
    pub reason: String,
}

/// A job as its caller sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct JobView {
    /// Its id.
    pub id: String,
    /// Where it stands.
    pub state: JobState,
    /// Whether it only says what would happen.
    pub dry_run: bool,
    /// When it began, RFC 3339.
    pub started_at: String,
    /// When it ended.
    pub ended_at: Option<String>,
    /// Sources seen so far, and all of them once they are counted.
    pub seen: u64,
    /// All sources of the job, as far as known: a file of many records grows it as it is read.
    pub total: u64,
    /// How many passed each stage.
    pub stages: StageCounts,
    /// Sources taken in for the first time.
    pub new: u64,
    /// Sources whose bytes are known.
    pub unchanged: u64,
    /// Sources that replaced an older version.
    pub superseded: u64,
    /// Sources whose file was moved: the same bytes under another address, and the old file gone.
    #[serde(default)]
    pub renamed: u64,
    /// Sources that could not be read, with the reason. They wait in the remediation queue.
    pub parked: Vec<SourceNote>,
    /// Sources that may not come in, with the reason.
    pub refused: Vec<SourceNote>,
    /// Sources whose label detection raised, with what it found.
    pub raised: Vec<SourceNote>,
    /// Chunks stored.
    pub chunks: u64,
    /// Why it failed.
    pub error: Option<String>,
}

/// A source as its reader sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SourceView {
    /// CID of its record.
    pub cid: String,
    /// Its address on this node.
    pub address: String,
    /// Its address as others see it.
    pub uri: String,
    /// Its title.
    pub title: String,
    /// Media type.
    pub media_type: String,
    /// The adapter that read it.
    pub adapter: String,
    /// Whose it is.
    pub scope: String,
    /// How sensitive.
    pub sensitivity: String,
    /// `active`, `retracted`, `superseded` or `removed`.
    pub state: String,
    /// The notice that withdrew it or counsels caution.
    pub notice: Option<String>,
    /// Chunks.
    pub chunks: u64,
    /// Who published it: a `did:key`.
    pub publisher: String,
    /// Whether this node published it.
    pub own: bool,
}
