//! The texts of the pages of a document.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use pdf_extract::content::{Content, Operation};
use pdf_extract::{Dictionary, Document, Object, ObjectId, Stream, dictionary, output_doc_page};

use super::flatten::{self, Flat};
use super::fonts::Fonts;
use super::layout::Layout;
use super::tidy::tidy;
use crate::limits::Limits;
use crate::parked::{ParkReason, Parked};

/// Pages that are read in one go: fonts are taken in once for all of them.
const BATCH: usize = 16;

/// What was read.
pub(super) struct Pages {
    /// The text of each page; empty where there is none.
    pub(super) texts: Vec<String>,
    /// Pages of which something could not be read.
    pub(super) damaged: usize,
    /// Pages beyond the limit.
    pub(super) left_out: usize,
}

impl Pages {
    /// Whether there was something to read, and nothing of it could be.
    pub(super) fn is_lost(&self) -> bool {
        self.damaged > 0 && self.texts.iter().all(String::is_empty)
    }
}

pub(super) fn read(document: &mut Document, limits: &Limits) -> Result<Pages, Parked> {
    let ids: Vec<ObjectId> = document.get_pages().into_values().collect();
    let left_out = ids.len().saturating_sub(limits.pdf_pages);
    let mut reader =
        Reader { stage: Stage::set_up(document)?, fonts: Fonts::default(), limits, room: limits.text_bytes };
    let mut pages = Pages { texts: Vec::new(), damaged: 0, left_out };
    for batch in ids[..ids.len() - left_out].chunks(BATCH) {
        let flats: Vec<Flat> = batch
            .iter()
            .zip(0..)
            .map(|(id, n)| flatten::page(document, *id, &mut reader.fonts, limits, &format!("P{n}")))
            .collect();
        let incomplete: Vec<bool> = flats.iter().map(|flat| flat.incomplete).collect();
        let (texts, failed) = match reader.play(document, flats) {
            Play::Whole(texts) => (texts, vec![false; batch.len()]),
            // Somewhere in the batch is a page that it fails on.
            Play::Broken(_) => batch
                .iter()
                .map(|id| reader.read_alone(document, *id))
                .collect::<Result<Vec<_>, _>>()?
                .into_iter()
                .unzip(),
            Play::Full => return Err(Parked::new(ParkReason::TooLarge, "its text is larger than a source may have")),
        };
        pages.damaged += incomplete.iter().zip(&failed).filter(|(incomplete, failed)| **incomplete || **failed).count();
        for text in texts {
            let text = tidy(&text);
            reader.room = reader.room.saturating_sub(text.len());
            pages.texts.push(text);
        }
    }
    Ok(pages)
}

struct Reader<'a> {
    stage: Stage,
    fonts: Fonts,
    limits: &'a Limits,
    room: usize,
}

/// How reading rewritten pages ended.
enum Play {
    /// The text of each.
    Whole(Vec<String>),
    /// A panic; the text up to there.
    Broken(String),
    /// There is more text than may be.
    Full,
}

impl Reader<'_> {
    /// A page that may be failed on. The fonts that are to blame are found, and it is read again without them.
    fn read_alone(&mut self, document: &mut Document, id: ObjectId) -> Result<(String, bool), Parked> {
        let full = || Parked::new(ParkReason::TooLarge, "its text is larger than a source may have");
        let mut failed_before = false;
        // A font goes from its own form to a decoded one, and from there to none.
        for _ in 0..3 {
            let flat = flatten::page(document, id, &mut self.fonts, self.limits, "");
            let (origins, operations, fonts) = (flat.origins.clone(), flat.operations.clone(), flat.fonts.clone());
            match self.play(document, vec![flat]) {
                Play::Whole(texts) => return Ok((texts.into_iter().next().unwrap_or_default(), failed_before)),
                Play::Full => return Err(full()),
                Play::Broken(text) => {
                    failed_before = true;
                    let mut blamed = false;
                    for (name, key) in origins {
                        let probe = Flat {
                            operations: only_font(&operations, &name),
                            fonts: fonts
                                .iter()
                                .filter(|(n, _)| **n == name)
                                .map(|(n, f)| (n.clone(), f.clone()))
                                .collect(),
                            ..Flat::default()
                        };
                        if let Play::Broken(_) = self.play(document, vec![probe]) {
                            self.fonts.mark_failed(document, &key);
                            blamed = true;
                        }
                    }
                    if !blamed {
                        return Ok((text, true));
                    }
                }
            }
        }
        Ok((String::new(), true))
    }

    /// Reads rewritten pages in one go.
    fn play(&self, document: &mut Document, flats: Vec<Flat>) -> Play {
        let n = flats.len();
        let mut layout = Layout::new(self.room);
        let outcome = {
            self.stage.put_up(document, flats);
            let document = &*document;
            // Fonts are read with many assumptions, and each that does not hold is a panic.
            catch_unwind(AssertUnwindSafe(|| output_doc_page(document, &mut layout, 1).is_ok()))
        };
        let mut pages = layout.into_pages();
        match outcome {
            Ok(true) => {
                pages.resize(n, String::new());
                Play::Whole(pages)
            }
            Ok(false) => Play::Full,
            Err(_) => Play::Broken(pages.into_iter().next().unwrap_or_default()),
        }
    }
}

/// Of what a page draws, the strings in one font.
fn only_font(operations: &[Operation], name: &[u8]) -> Vec<Operation> {
    let mut shown = false;
    operations
        .iter()
        .filter(|operation| match operation.operator.as_str() {
            "Tf" => {
                shown = matches!(operation.operands.first(), Some(Object::Name(n)) if n == name);
                shown
            }
            "Tj" | "TJ" => shown,
            // Fonts are not restored: a string too many in the probe does no harm.
            "q" | "Q" => false,
            _ => true,
        })
        .cloned()
        .collect()
}

/// A document inside the document, with one page: the one that is read at the moment.
struct Stage {
    catalog: ObjectId,
    tree: ObjectId,
    page: ObjectId,
    content: ObjectId,
}

impl Stage {
    fn set_up(document: &mut Document) -> Result<Stage, Parked> {
        let last = document.objects.keys().last().map_or(0, |(number, _)| *number);
        let number = |n: u32| last.checked_add(n).map(|number| (number, 0));
        match (number(1), number(2), number(3), number(4)) {
            (Some(catalog), Some(tree), Some(page), Some(content)) => {
                document
                    .objects
                    .insert(catalog, Object::Dictionary(dictionary! { "Type" => "Catalog", "Pages" => tree }));
                document.objects.insert(
                    tree,
                    Object::Dictionary(
                        dictionary! { "Type" => "Pages", "Kids" => vec![Object::Reference(page)], "Count" => 1 },
                    ),
                );
                document.trailer.set("Root", catalog);
                Ok(Stage { catalog, tree, page, content })
            }
            _ => Err(Parked::new(ParkReason::Broken, "its objects have impossible numbers")),
        }
    }

    fn put_up(&self, document: &mut Document, flats: Vec<Flat>) {
        debug_assert!(document.objects.contains_key(&self.catalog) && document.objects.contains_key(&self.tree));
        let mut operations = Vec::new();
        let mut fonts = BTreeMap::new();
        for (n, flat) in flats.into_iter().enumerate() {
            if n > 0 {
                // A stroke is where a page ends; there are no others.
                operations.push(Operation::new("S", Vec::new()));
            }
            operations.push(Operation::new("q", Vec::new()));
            operations.extend(flat.operations);
            operations.push(Operation::new("Q", Vec::new()));
            fonts.extend(flat.fonts);
        }
        let mut resources = Dictionary::new();
        resources.set(
            "Font",
            fonts.into_iter().fold(Dictionary::new(), |mut dictionary, (name, font)| {
                dictionary.set(name, font);
                dictionary
            }),
        );
        let content = Content { operations }.encode().unwrap_or_default();
        document.objects.insert(self.content, Object::Stream(Stream::new(Dictionary::new(), content)));
        document.objects.insert(
            self.page,
            Object::Dictionary(dictionary! {
                "Type" => "Page",
                "MediaBox" => vec![0.into(), 0.into(), 1000.into(), 1000.into()],
                "Resources" => resources,
                "Contents" => self.content,
            }),
        );
    }
}
