//! What comes in: one adapter per kind of source, bytes -> [`SignalEnvelope`].
//!
//! A source is an [`Input`]: an address, what its sender says it is, and bytes. [`read_source`] looks at the bytes
//! ([`sniff()`]), picks the adapter that accepts them from a [`Registry`], and runs it on a thread of its own under
//! [`Limits`]. What comes out is a stream of items: for each either a [`SignalEnvelope`], which holds the text
//! verbatim with marks for its headings and pages, or a [`Parked`] that says why there is none and what to do about
//! it. Nothing is dropped in silence.
//!
//! **Invariants:** any bytes end as envelopes or as parked; a parser that panics, hangs or recurses takes nothing
//! else down. Declared types and file names are weak evidence; content decides. Archives are never opened, links
//! out of a directory are never followed, nothing is fetched.
//!
//! | room | holds |
//! | --- | --- |
//! | [`SourceAdapter`] | the one interface: parse, chunk, enrich, freshness, fingerprint, rights, attribution |
//! | [`sniff()`] | media type and encoding of bytes |
//! | [`Plain`], [`Markdown`], [`Html`], [`Pdf`], [`JsonLines`] | the adapters |
//! | [`read_source`] | sniffing, choice, limits, isolation |
//! | [`walk`], [`load`] | from paths to bytes |
//! | [`world`] | what the world publishes about works: retractions by DOI |
//!
//! ```
//! use std::ops::ControlFlow;
//! use plumb_sources::{Input, Registry, read_source};
//!
//! let input = Input::new("file:///minutes.md", Some("md"), b"# Minutes\n\nThe budget was approved.\n".to_vec());
//! let mut titles = Vec::new();
//! let summary = read_source(&Registry::standard(), &input, &mut |item| {
//!     titles.extend(item.map(|envelope| envelope.title));
//!     ControlFlow::Continue(())
//! })?;
//! assert_eq!((titles, summary.adapter), (vec!["Minutes".to_string()], "markdown/1"));
//! # Ok::<(), plumb_sources::Parked>(())
//! ```

mod adapter;
mod address;
mod dates;
mod enrich;
mod envelope;
mod html;
mod isolate;
mod jsonl;
mod limits;
mod load;
mod markdown;
mod parked;
mod pdf;
mod plain;
mod read;
mod sniff;
mod walk;
pub mod workspace;
pub mod world;

pub use adapter::{Emit, Item, Rights, Source, SourceAdapter};
pub use address::{file_address, is_gone};
pub use enrich::{Finding, FindingKind};
pub use envelope::{Input, MetaValue, OriginInfo, SignalEnvelope};
pub use html::Html;
pub use isolate::WORKER_THREAD;
pub use jsonl::JsonLines;
pub use limits::Limits;
pub use load::{declared_of, load};
pub use markdown::Markdown;
pub use parked::{ParkReason, Parked, ParkedItem};
pub use pdf::Pdf;
pub use plain::Plain;
pub use read::{Registry, Summary, read_source};
pub use sniff::{Decoded, Sniffed, sniff};
pub use walk::{Found, Walk, walk};
