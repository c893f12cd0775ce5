//! A page rewritten to nothing but text.
//!
//! Of what a page draws only text is kept, with forms put in where they are used and every operand checked. So the
//! reader of letters meets no pictures, no colours, no forms that contain themselves, and no operator that it would
//! pass over (`'` and `"` show text too).

use std::collections::BTreeMap;
use std::rc::Rc;

use pdf_extract::content::{Content, Operation};
use pdf_extract::{Dictionary, Document, Object, ObjectId};

use super::fonts::{self, Font, FontKey, Fonts, Letters, resolve};
use super::streams;
use crate::limits::Limits;

/// Operations of one page. A full page of text has a few thousand.
const OPERATIONS_MAX: usize = 500_000;
/// Forms put into one page, and into each other.
const FORMS_MAX: usize = 2_000;
const FORM_DEPTH_MAX: usize = 12;
/// How far up the tree of pages resources are looked for.
const PARENTS_MAX: usize = 64;

/// A page as text alone.
#[derive(Default)]
pub(super) struct Flat {
    /// What it draws.
    pub(super) operations: Vec<Operation>,
    /// Its fonts by the names in `operations`.
    pub(super) fonts: BTreeMap<Vec<u8>, Dictionary>,
    /// Where those fonts come from; the font of decoded letters comes from nowhere.
    pub(super) origins: BTreeMap<Vec<u8>, FontKey>,
    /// Whether something was left out that may have been text.
    pub(super) incomplete: bool,
}

/// Rewrites a page. Names of fonts begin with `prefix`, so that several pages can be put behind each other.
pub(super) fn page(document: &Document, id: ObjectId, fonts: &mut Fonts, limits: &Limits, prefix: &str) -> Flat {
    let Ok(page) = document.get_dictionary(id) else { return Flat { incomplete: true, ..Flat::default() } };
    let mut flattener = Flattener {
        document,
        limits,
        page: id,
        fonts,
        prefix,
        flat: Flat::default(),
        letters: Letters::default(),
        forms: 0,
        read: BTreeMap::new(),
    };
    let mut content = Vec::new();
    for stream in document.get_page_contents(id) {
        let room = limits.pdf_stream_bytes.saturating_sub(content.len());
        let stream = document.get_object(stream).and_then(Object::as_stream).ok();
        match stream.and_then(|stream| streams::unpacked(stream, room)) {
            Some(bytes) => content.extend(bytes),
            None => flattener.flat.incomplete = true,
        }
        content.push(b'\n');
    }
    let operations = flattener.parse(&content);
    flattener.run(&operations, inherited_resources(document, page), None, 0);
    let Flattener { mut flat, letters, .. } = flattener;
    if let Some(font) = letters.font() {
        flat.fonts.insert(letters_name(prefix), font);
    }
    flat
}

fn letters_name(prefix: &str) -> Vec<u8> {
    format!("{prefix}L").into_bytes()
}

fn inherited_resources<'a>(document: &'a Document, page: &'a Dictionary) -> Option<&'a Dictionary> {
    let mut node = page;
    for _ in 0..PARENTS_MAX {
        if let Some(Object::Dictionary(resources)) = resolve(document, node, b"Resources") {
            return Some(resources);
        }
        let Some(Object::Dictionary(parent)) = resolve(document, node, b"Parent") else { return None };
        node = parent;
    }
    None
}

/// The font that text is shown in.
#[derive(Clone)]
enum Current {
    /// By its name in what is written.
    Ordered,
    /// Strings are decoded by this dictionary.
    Decoded(Rc<Dictionary>),
}

struct Flattener<'a> {
    document: &'a Document,
    limits: &'a Limits,
    page: ObjectId,
    fonts: &'a mut Fonts,
    prefix: &'a str,
    flat: Flat,
    letters: Letters,
    forms: usize,
    /// Forms that were read already; pages use one many times.
    read: BTreeMap<ObjectId, Rc<Vec<Operation>>>,
}

impl<'a> Flattener<'a> {
    /// The operations that matter.
    fn parse(&mut self, content: &[u8]) -> Vec<Operation> {
        const KEPT: [&str; 21] = [
            "BT", "ET", "Tf", "Tj", "TJ", "'", "\"", "Td", "TD", "Tm", "T*", "Tc", "Tw", "Tz", "TL", "Ts", "q", "Q",
            "cm", "Do", "Tr",
        ];
        let Ok(content) = Content::decode(content) else {
            self.flat.incomplete = true;
            return Vec::new();
        };
        let mut operations = content.operations;
        operations.retain(|operation| KEPT.contains(&operation.operator.as_str()));
        operations
    }

    fn write(&mut self, operator: &str, operands: Vec<Object>) {
        if self.flat.operations.len() < OPERATIONS_MAX {
            self.flat.operations.push(Operation::new(operator, operands));
        } else {
            self.flat.incomplete = true;
        }
    }

    fn run(
        &mut self,
        operations: &[Operation],
        resources: Option<&'a Dictionary>,
        font: Option<Current>,
        depth: usize,
    ) {
        let mut font = font;
        let mut saved: Vec<Option<Current>> = Vec::new();
        for operation in operations {
            let operands = &operation.operands;
            match operation.operator.as_str() {
                "q" => {
                    saved.push(font.clone());
                    self.write("q", Vec::new());
                }
                "Q" => {
                    if let Some(before) = saved.pop() {
                        font = before;
                        self.write("Q", Vec::new());
                    }
                }
                operator @ ("BT" | "ET" | "T*") => self.write(operator, Vec::new()),
                operator @ ("Td" | "TD") => self.write_numbers(operator, operands, 2),
                operator @ ("Tm" | "cm") => self.write_numbers(operator, operands, 6),
                operator @ ("Tc" | "Tw" | "Tz" | "TL" | "Ts") => self.write_numbers(operator, operands, 1),
                "Tf" => {
                    if let [.., Object::Name(name), size] = operands.as_slice()
                        && let Some(size) = number(size)
                    {
                        font = self.choose_font(resources, name, size);
                    }
                }
                "Tj" => self.show(&font, operands.last()),
                "'" => {
                    self.write("T*", Vec::new());
                    self.show(&font, operands.last());
                }
                "\"" => {
                    if let [.., word, letter, string] = operands.as_slice() {
                        self.write_numbers("Tw", std::slice::from_ref(word), 1);
                        self.write_numbers("Tc", std::slice::from_ref(letter), 1);
                        self.write("T*", Vec::new());
                        self.show(&font, Some(string));
                    }
                }
                "TJ" => self.show_spaced(&font, operands.last()),
                "Do" => {
                    if let [.., Object::Name(name)] = operands.as_slice() {
                        self.put_in_form(resources, name, &font, depth);
                    }
                }
                _ => {}
            }
        }
        for _ in saved {
            self.write("Q", Vec::new());
        }
    }

    fn write_numbers(&mut self, operator: &str, operands: &[Object], n: usize) {
        let Some(from) = operands.len().checked_sub(n) else { return };
        let numbers: Option<Vec<Object>> = operands[from..].iter().map(number).collect();
        if let Some(numbers) = numbers {
            self.write(operator, numbers);
        }
    }

    fn choose_font(&mut self, resources: Option<&'a Dictionary>, name: &[u8], size: Object) -> Option<Current> {
        let document = self.document;
        let found = resources.and_then(|resources| match resolve(document, resources, b"Font") {
            Some(Object::Dictionary(fonts)) => fonts.get(name).ok(),
            _ => None,
        });
        let dereferenced = found.and_then(|font| document.dereference(font).ok());
        let Some((id, Object::Dictionary(dictionary))) = dereferenced else {
            self.flat.incomplete = true;
            return None;
        };
        let key = id.map_or_else(|| FontKey::Direct(self.page, name.to_vec()), FontKey::Object);
        match self.fonts.get(document, &key, dictionary).clone() {
            Font::Ordered(font) => {
                let known = self.flat.origins.iter().find(|(_, origin)| **origin == key).map(|(name, _)| name.clone());
                let own_name = known.unwrap_or_else(|| {
                    let own_name = format!("{}F{}", self.prefix, self.flat.origins.len()).into_bytes();
                    self.flat.fonts.insert(own_name.clone(), font);
                    self.flat.origins.insert(own_name.clone(), key);
                    own_name
                });
                self.write("Tf", vec![Object::Name(own_name), size]);
                Some(Current::Ordered)
            }
            Font::Decoded(font) => {
                self.write("Tf", vec![Object::Name(letters_name(self.prefix)), size]);
                Some(Current::Decoded(Rc::new(font)))
            }
            Font::Unreadable => {
                self.flat.incomplete = true;
                None
            }
        }
    }

    /// A string in the codes of the font that is written.
    fn string(&mut self, font: &Option<Current>, string: &Object) -> Option<Object> {
        let Object::String(bytes, format) = string else { return None };
        match font {
            None => None,
            Some(Current::Ordered) => Some(Object::String(bytes.clone(), *format)),
            Some(Current::Decoded(dictionary)) => {
                let text = fonts::decode(self.document, dictionary, bytes);
                if text.is_none() {
                    self.flat.incomplete = true;
                }
                Some(Object::String(self.letters.encode(&text?), pdf_extract::StringFormat::Hexadecimal))
            }
        }
    }

    fn show(&mut self, font: &Option<Current>, string: Option<&Object>) {
        if let Some(string) = string.and_then(|string| self.string(font, string)) {
            self.write("Tj", vec![string]);
        }
    }

    fn show_spaced(&mut self, font: &Option<Current>, array: Option<&Object>) {
        let Some(Object::Array(parts)) = array else { return };
        let parts: Vec<Object> = parts
            .iter()
            .filter_map(|part| match part {
                Object::String(..) => self.string(font, part),
                other => number(other),
            })
            .collect();
        if parts.iter().any(|part| matches!(part, Object::String(..))) {
            self.write("TJ", vec![Object::Array(parts)]);
        }
    }

    fn put_in_form(&mut self, resources: Option<&'a Dictionary>, name: &[u8], font: &Option<Current>, depth: usize) {
        let document = self.document;
        let objects = resources.and_then(|resources| resolve(document, resources, b"XObject"));
        let Some(Object::Dictionary(objects)) = objects else { return };
        let Some(Ok((Some(id), Object::Stream(form)))) =
            objects.get(name).ok().map(|object| document.dereference(object))
        else {
            return;
        };
        if !matches!(resolve(document, &form.dict, b"Subtype"), Some(Object::Name(name)) if name == b"Form") {
            return;
        }
        self.forms += 1;
        if self.forms > FORMS_MAX || depth >= FORM_DEPTH_MAX {
            self.flat.incomplete = true;
            return;
        }
        let operations = match self.read.get(&id) {
            Some(operations) => operations.clone(),
            None => {
                let content = streams::unpacked(form, self.limits.pdf_stream_bytes);
                let operations = Rc::new(content.map_or_else(Vec::new, |content| self.parse(&content)));
                self.read.insert(id, operations.clone());
                operations
            }
        };
        let own = match resolve(document, &form.dict, b"Resources") {
            Some(Object::Dictionary(own)) => Some(own),
            _ => resources,
        };
        self.write("q", Vec::new());
        if let Some(Object::Array(matrix)) = resolve(document, &form.dict, b"Matrix") {
            self.write_numbers("cm", matrix, 6);
        }
        self.run(&operations, own, font.clone(), depth + 1);
        self.write("Q", Vec::new());
    }
}

/// A number that can be calculated with.
fn number(object: &Object) -> Option<Object> {
    match object {
        Object::Integer(_) => Some(object.clone()),
        Object::Real(n) if n.is_finite() => Some(object.clone()),
        _ => None,
    }
}
