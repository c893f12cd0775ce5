//! `plumb eval`: judged collections from files, asked of a node of their own, and figures for people and programs.
//!
//! What a figure is, and whether one run is better than another, is decided in `plumb_core::evaluation`; here files are
//! opened, questions asked and tables written.
//!
//! | room | holds |
//! | --- | --- |
//! | [`files`] | judgments, runs, queries and documents, as they lie in a folder |
//! | [`asking`] | a throw-away home that takes the documents in and is asked every query |
//! | [`view`] | what is printed: JSON, a table, Markdown |
//! | [`plot`] | the same as an SVG |

pub mod asking;
pub mod files;
pub mod plot;
pub mod view;
