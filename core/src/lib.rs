//! The vocabulary and the rules of Plumbline: plain values and pure functions.
//!
//! A node keeps *evidence* (documents, cut into content-addressed chunks), answers only from it, and can prove
//! afterwards what an answer rested on and what has become of that evidence since. Everything that decides
//! something stands here: who may read, what is found, what is said, what is signed, what a retraction reaches.
//!
//! **Invariant:** this crate has no I/O, no async, no clock, no randomness and no float. Time and random bytes are
//! arguments, so every decision can be replayed, and two machines compute the same bytes. `core/clippy.toml` holds
//! the line.
//!
//! The rooms, in reading order:
//!
//! | room | holds |
//! | --- | --- |
//! | [`measure`] | integer scores, time, the one rounding rule |
//! | [`identity`] | keys, `did:key`, entity names, domain-separated signatures |
//! | [`content`] | blocks and their CIDs, sources, chunks, the chunker |
//! | [`knowledge`] | the unit: a chunk with its type, scope, sensitivity and origin |
//! | [`graph`] | people, teams, code and topics; who is near to whom; names and what they mean |
//! | [`boundary`] | sensitivity detection, who may read what |
//! | [`evidence`] | evidence score, authority of sources, staleness |
//! | [`retrieval`] | terms, integer BM25, merging of rankings |
//! | [`vector`] | quantised vectors and the model that made them, exact nearest neighbours |
//! | [`grounding`] | the extractive composer, the reliability report, abstention |
//! | [`verification`] | polarity and number conflicts between claims |
//! | [`gravity`] | what independent corroboration lets rise |
//! | [`propagation`] | how knowledge is offered to other nodes, and what they make of it |
//! | [`trust`] | organisation roots and node certificates |
//! | [`notice`] | retractions and their kin, receipts and acknowledgements |
//! | [`lifecycle`] | what a notice reaches, and what may never become active again |
//! | [`log`] | RFC 6962 Merkle tree and signed checkpoints |
//! | [`exchange`] | the context bundle: seal, verify, replay; CAR and JSON forms; conflicts between bundles |
//! | [`evaluation`] | judged queries, measures of a ranking, comparison of two, the release gate |
//!
//! ```
//! use plumb_core::identity::{Domain, SecretKey};
//! use plumb_core::content::RawBlock;
//!
//! let key = SecretKey::from_seed([7; 32]);
//! let block = RawBlock::raw(b"The reservoir was full on Monday.".to_vec());
//! let signature = key.sign(Domain::Bundle, &block.cid);
//! assert!(key.public().verify(Domain::Bundle, &block.cid, &signature).is_ok());
//! // The same signature proves nothing in another role.
//! assert!(key.public().verify(Domain::Notice, &block.cid, &signature).is_err());
//! ```

pub mod boundary;
pub mod content;
pub mod evaluation;
pub mod evidence;
pub mod exchange;
pub mod graph;
pub mod gravity;
pub mod grounding;
pub mod identity;
pub mod knowledge;
pub mod lifecycle;
pub mod log;
pub mod measure;
pub mod notice;
pub mod propagation;
pub mod retrieval;
pub mod trust;
pub mod vector;
pub mod verification;
