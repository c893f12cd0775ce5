//! The fields of a chunk as one text.
//!
//! Weights are frequencies: what stands in a field of weight *w* counts as if it stood there *w* times, and so does its
//! length (Robertson, Zaragoza and Taylor, "Simple BM25 Extension to Multiple Weighted Fields", 2004). So a field is
//! written *w* times, statistics stay sums over documents, and whoever has the chunk can count for himself.

use super::terms::cut::FIELD_BREAK;
use crate::content::Chunk;

/// How often the title counts: chosen on the training questions of SciFact and half of those of Cranfield; 4 gains nothing more
/// on the first and little on the second.
pub const TITLE_WEIGHT: usize = 3;
/// How often a heading counts. No judged collection here has headings.
pub const HEADING_WEIGHT: usize = 1;

/// What is indexed of a chunk: its title, its headings, its text, with a sign between them that no phrase goes across.
pub fn body_of(chunk: &Chunk) -> String {
    let headings = chunk.headings.iter().filter(|heading| **heading != chunk.title);
    let fields = std::iter::repeat_n(&chunk.title, TITLE_WEIGHT)
        .chain(headings.flat_map(|heading| std::iter::repeat_n(heading, HEADING_WEIGHT)));
    let mut body = String::with_capacity(TITLE_WEIGHT * chunk.title.len() + chunk.text.len() + 64);
    for field in fields {
        body.push_str(field);
        body.push(FIELD_BREAK);
    }
    body.push_str(&chunk.text);
    body
}
