//! PDF with a text layer: text by pages, headings where the file has an outline.
//!
//! Two libraries do the reading: lopdf takes the file apart, pdf-extract knows fonts. Both trust their input more
//! than foreign files deserve, so what reaches them is prepared. Before loading, the few numbers that decide how much
//! memory is taken are looked at in the bytes ([`guard`]); a file whose table of objects is damaged gets a new one
//! ([`repair`]). Then each page is rewritten to nothing but text ([`flatten`]) in fonts that were put into order
//! ([`fonts`]), and only that is handed on ([`pages`]). What comes back is letters with places, from which lines and
//! paragraphs are made ([`layout`], [`tidy`]).

mod flatten;
mod fonts;
mod guard;
mod info;
mod layout;
mod load;
mod outline;
mod pages;
mod repair;
mod streams;
mod tidy;

use pdf_extract::Document;
use plumb_core::content::{Mark, MarkKind};

use crate::adapter::{Emit, Source, SourceAdapter, put_meta};
use crate::envelope::first_line;
use crate::limits::Limits;
use crate::parked::{ParkReason, Parked};
use crate::sniff::Sniffed;

/// Documents with text on their pages. Scans without text and locked files are parked as what they are; of a damaged
/// file whatever can be read is read, and noted as incomplete.
pub struct Pdf;

/// What is taken out of a document. Its pages come last: reading them takes the document apart.
struct Read {
    info: Vec<(&'static str, String)>,
    outline: Vec<outline::Entry>,
    embedded_files: usize,
    pages: pages::Pages,
}

impl Read {
    fn of(document: &mut Document, limits: &Limits) -> Result<Read, Parked> {
        Ok(Read {
            info: info::read(document),
            outline: outline::read(document),
            embedded_files: info::embedded_files(document),
            pages: pages::read(document, limits)?,
        })
    }
}

impl SourceAdapter for Pdf {
    fn name(&self) -> &'static str {
        "pdf/1"
    }

    fn accepts(&self, sniffed: &Sniffed) -> bool {
        sniffed.media_type == "application/pdf"
    }

    fn parse(&self, source: &Source, emit: &mut Emit<'_>) -> Result<(), Parked> {
        let limits = &source.limits;
        let bytes = &source.input.bytes;
        let load::Loaded { mut document, mut repaired } = load::load(bytes, limits)?;
        let mut read = Read::of(&mut document, limits)?;
        // Offsets that are wrong may still lead to pages, but to none of their fonts.
        if read.pages.is_lost()
            && !repaired
            && let Some(mut again) = load::repaired(bytes, limits)
        {
            read = Read::of(&mut again, limits)?;
            repaired = true;
        }
        let Read { info, outline, embedded_files, pages } = read;

        let mut text = String::new();
        let mut marks = Vec::new();
        for (page, number) in pages.texts.iter().zip(1u32..) {
            if page.is_empty() {
                continue;
            }
            if !text.is_empty() {
                text.push_str("\n\n");
            }
            marks.push(Mark { at: text.len(), kind: MarkKind::Page(number) });
            text.push_str(page);
        }
        if text.is_empty() {
            // A damaged file may have lost its text; it is not called a scan then.
            return Err(if repaired || pages.damaged > 0 {
                Parked::new(ParkReason::Broken, "none of its text can be read")
            } else {
                Parked::new(ParkReason::NoText, format!("{} pages", pages.texts.len()))
            });
        }
        marks.extend(outline::place(&outline, &text));

        let mut envelope = source.envelope(text);
        envelope.marks = marks;
        /// A line that is longer is a paragraph.
        const TITLE_CHARS: usize = 150;
        let stated = info.iter().find(|(key, _)| *key == "title").map(|(_, title)| title.clone());
        envelope.title = stated.or_else(|| first_line(&envelope.text, TITLE_CHARS)).unwrap_or_default();
        let metadata = &mut envelope.raw_metadata;
        put_meta(metadata, limits, "pages", pages.texts.len());
        let notes = [
            ("pages_damaged", pages.damaged),
            ("pages_without_text", pages.texts.iter().filter(|page| page.is_empty()).count()),
            ("pages_left_out", pages.left_out),
            ("embedded_files", embedded_files),
        ];
        for (key, n) in notes {
            if n > 0 {
                put_meta(metadata, limits, key, n);
            }
        }
        if repaired {
            put_meta(metadata, limits, "repaired", "the file is damaged; this is what could be read");
        }
        for (key, value) in info {
            put_meta(metadata, limits, key, value);
        }
        // The item stands alone, so whether anybody listens any more makes no difference.
        let _ = emit(Ok(envelope));
        Ok(())
    }
}

#[cfg(test)]
mod tests;
