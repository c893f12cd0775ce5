//! The targets: for each kind of foreign bytes, what is done with them, and what must hold afterwards.

mod blocks;
mod bundle;
mod car;
mod checkpoint;
mod cosignature;
mod credential;
mod frames;
mod names;
mod proof;
mod query;
mod resealed;
mod session;
mod signed;
mod sources;
mod story;

pub use frames::refuses_what_is_too_large;

/// One kind of foreign bytes.
pub struct Target {
    /// Its name.
    pub name: &'static str,
    /// What reads the bytes. It returns, or panics where something is wrong with what reads them.
    pub run: fn(&[u8]),
    /// Valid inputs to begin with.
    pub seeds: fn() -> Vec<Vec<u8>>,
    /// Longest input that the engine tries: room for a few of everything, and no more, because short inputs run fast.
    pub input_bytes_max: usize,
    /// How the engine changes an input.
    pub shape: Shape,
}

/// What an input is, as far as whoever changes it should know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// One value of DAG-CBOR: changed as bytes, and as a value.
    DagCbor,
    /// Anything else: changed as bytes.
    Bytes,
}

/// Every target.
pub static TARGETS: &[Target] = &[
    frames::HELLO,
    frames::HELLO_RESPONSE,
    frames::SEARCH_REQUEST,
    frames::SEARCH_RESPONSE,
    frames::BLOCKS_REQUEST,
    frames::BLOCKS_RESPONSE,
    frames::LOG_REQUEST,
    frames::LOG_RESPONSE,
    frames::NOTICE_REQUEST,
    frames::NOTICE_RESPONSE,
    frames::TEACH_REQUEST,
    frames::TEACH_RESPONSE,
    frames::GOSSIP,
    frames::LOG_ENTRY,
    frames::LOG_STATE,
    frames::LOG_FORK,
    blocks::SOURCE,
    blocks::CHUNK,
    blocks::ANSWER,
    blocks::BUNDLE,
    blocks::SEAL,
    blocks::CERTIFICATE,
    blocks::NOTICE,
    blocks::RECEIPT,
    blocks::ACKNOWLEDGEMENT,
    blocks::LOGGED,
    blocks::SUMMARY,
    blocks::ASSERTION,
    blocks::TEACHING,
    blocks::HOP,
    signed::TARGET,
    checkpoint::TARGET,
    cosignature::TARGET,
    proof::TARGET,
    car::TARGET,
    bundle::TARGET,
    credential::TARGET,
    resealed::TARGET,
    session::TARGET,
    story::TARGET,
    names::TARGET,
    query::TARGET,
    sources::SNIFF,
    sources::PLAIN,
    sources::MARKDOWN,
    sources::HTML,
    sources::JSON_LINES,
    sources::PDF,
];

/// The target of this name.
pub fn target(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name == name)
}
