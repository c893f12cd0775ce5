//! HTML: what a page is about, without the navigation around it.

mod depth;
mod metadata;
mod text;

use dom_query::Document;
use dom_smoothie::{Article, Config, Readability};

use crate::adapter::{Emit, Source, SourceAdapter, put_meta};
use crate::parked::{ParkReason, Parked};
use crate::sniff::Sniffed;

use metadata::Metadata;
use text::{Extract, Parts};

/// Pages and articles. The main content is found as browsers do for their reading view (a port of Mozilla's
/// Readability); where that finds next to nothing, the text is the whole page without its navigation.
pub struct Html;

/// Elements beyond which the main content is not looked for: scoring is slower than linear.
const ELEMENTS_MAX: usize = 100_000;
/// Characters below which the main content counts as not found.
const ARTICLE_CHARS: usize = 200;
/// How many times larger than the main content the page may be, before the main content counts as a mistake.
const PAGE_PER_ARTICLE: usize = 10;

impl SourceAdapter for Html {
    fn name(&self) -> &'static str {
        "html/1"
    }

    fn accepts(&self, sniffed: &Sniffed) -> bool {
        matches!(sniffed.media_type, "text/html" | "application/xhtml+xml")
    }

    fn parse(&self, source: &Source, emit: &mut Emit<'_>) -> Result<(), Parked> {
        let decoded = source.text();
        let limit = source.limits.html_depth;
        let too_deep = || Parked::new(ParkReason::TooDeep, format!("more than {limit} elements inside each other"));
        if depth::exceeds(&decoded.text, limit) {
            return Err(too_deep());
        }
        let document = Document::from(decoded.text.as_ref());
        // The parser closes and repeats elements on its own, so what was let through is measured once more.
        if depth::of_document(&document) > depth::PARSED_PER_OPEN * limit {
            return Err(too_deep());
        }

        let metadata = Metadata::of(&document);
        let page = text::extract(&document.root(), Parts::Page, &source.limits);
        let article = article(document, &source.input.address);
        let main = article
            .as_ref()
            .map(|article| text::extract(&Document::from(article.content.clone()).root(), Parts::All, &source.limits));
        let Extract { text, marks } = choose(main, page);
        if text.is_empty() {
            return Err(Parked::new(ParkReason::Empty, "the page may be built by a program that runs in the browser"));
        }

        let mut envelope = source.envelope(text);
        envelope.marks = marks;
        let by_readability = || article.as_ref().map(|article| article.title.as_str());
        envelope.title = metadata.title().or_else(by_readability).unwrap_or_default().to_string();
        for (key, value) in metadata.into_fields(article) {
            put_meta(&mut envelope.raw_metadata, &source.limits, key, value);
        }
        // The item stands alone, so whether anybody listens any more makes no difference.
        let _ = emit(Ok(envelope));
        Ok(())
    }
}

fn article(document: Document, address: &str) -> Option<Article> {
    // Classes tell what is only there for editors of the page.
    let config = Config { max_elements_to_parse: ELEMENTS_MAX, keep_classes: true, ..Config::default() };
    let url = Some(address).filter(|address| address.starts_with("http://") || address.starts_with("https://"));
    // A document with an address that the library refuses is read without it: it only resolves links.
    let mut readability = Readability::with_document(document, url, Some(config)).ok()?;
    readability.parse().ok()
}

/// The main content, unless it is next to nothing, in itself or beside the page.
fn choose(main: Option<Extract>, page: Extract) -> Extract {
    let Some(main) = main else { return page };
    let chars = |extract: &Extract| extract.text.chars().filter(|c| c.is_alphanumeric()).count();
    let (of_main, of_page) = (chars(&main), chars(&page));
    let found_little = of_main < ARTICLE_CHARS || of_main.saturating_mul(PAGE_PER_ARTICLE) < of_page;
    if found_little { page } else { main }
}

#[cfg(test)]
mod tests;
