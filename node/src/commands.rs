//! The verbs: what is asked of a node, and how its answer is shown to a person. One file per group.

pub mod answers;
pub mod ask;
pub mod audit;
pub mod bench;
pub mod bundle;
pub mod care;
pub mod config;
pub mod context;
pub mod entity;
pub mod eval;
pub mod feedback;
pub mod gravity;
pub mod ingest;
pub mod init;
pub mod jobs;
pub mod log;
pub mod model;
pub mod notices;
pub mod org;
pub mod peers;
pub mod search;
pub mod sources;
pub mod teach;
pub mod token;
pub mod trust;
pub mod up;
