//! A new table of objects for a file whose own is damaged or cut off.
//!
//! Objects announce themselves in the bytes (`12 0 obj`), so the table can be made again from them, as every reader
//! does (ISO 32000-1, annex H, implementation note 18). What was packed in streams of objects comes back with them.

use std::collections::BTreeMap;
use std::fmt::Write;

use pdf_extract::{Dictionary, Document, Object, ObjectId};

use crate::sniff::find;

/// Objects that a table is made for. The largest files of practice have a few hundred thousand.
const OBJECTS_MAX: usize = 1_000_000;

/// The file with a new table behind it. The last object of a number is the one that counts.
pub(super) fn rebuild(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut offsets: BTreeMap<u32, (usize, u16)> = BTreeMap::new();
    let mut from = 0;
    while let Some(at) = find(&bytes[from..], b"obj").map(|at| from + at) {
        from = at + 3;
        if let Some((number, generation, offset)) = announced(&bytes[..at])
            && offsets.len() < OBJECTS_MAX
        {
            offsets.insert(number, (offset, generation));
        }
    }
    let size = offsets.keys().last()?.checked_add(1)?;
    let mut table = String::from("\nxref\n0 1\n0000000000 65535 f \n");
    for (number, (offset, generation)) in &offsets {
        let _ = write!(table, "{number} 1\n{offset:010} {generation:05} n \n");
    }
    let _ = write!(table, "trailer\n<</Size {size}>>\nstartxref\n{}\n%%EOF\n", bytes.len() + 1);
    Some([bytes, table.as_bytes()].concat())
}

/// Number, generation and offset of an object, from what stands before `obj`.
fn announced(before: &[u8]) -> Option<(u32, u16, usize)> {
    let (rest, generation) = number_at_end(before.trim_ascii_end())?;
    let trimmed = rest.trim_ascii_end();
    if trimmed.len() == rest.len() {
        return None;
    }
    let (rest, number) = number_at_end(trimmed)?;
    Some((u32::try_from(number).ok().filter(|n| *n > 0)?, u16::try_from(generation).ok()?, rest.len()))
}

fn number_at_end(bytes: &[u8]) -> Option<(&[u8], u64)> {
    let digits = bytes.iter().rev().take_while(|b| b.is_ascii_digit()).count();
    let (rest, number) = bytes.split_at(bytes.len() - digits);
    Some((rest, std::str::from_utf8(number).ok()?.parse().ok()?))
}

/// Finds the pages of a document whose trailer is lost: by its catalog, else one by one.
pub(super) fn find_pages(mut document: Document) -> Document {
    let of_type = |document: &Document, kind: &[u8]| -> Vec<ObjectId> {
        let is = |object: &Object| object.as_dict().is_ok_and(|dict| dict.has_type(kind));
        document.objects.iter().filter(|(_, object)| is(object)).map(|(id, _)| *id).collect()
    };
    for catalog in of_type(&document, b"Catalog").into_iter().rev() {
        document.trailer.set("Root", catalog);
        if !document.get_pages().is_empty() {
            return document;
        }
    }
    let pages = of_type(&document, b"Page");
    if let Some(last) = document.objects.keys().last().map(|(number, _)| *number).filter(|n| *n < u32::MAX - 2) {
        let (tree, catalog) = ((last + 1, 0), (last + 2, 0));
        let kids: Vec<Object> = pages.iter().map(|id| Object::Reference(*id)).collect();
        document.objects.insert(tree, Object::Dictionary(typed("Pages", "Kids", Object::Array(kids))));
        document.objects.insert(catalog, Object::Dictionary(typed("Catalog", "Pages", Object::Reference(tree))));
        document.trailer.set("Root", catalog);
    }
    document
}

fn typed(kind: &str, key: &str, value: Object) -> Dictionary {
    let mut dictionary = Dictionary::new();
    dictionary.set("Type", Object::Name(kind.as_bytes().to_vec()));
    dictionary.set(key, value);
    dictionary
}
