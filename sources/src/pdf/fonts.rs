//! Fonts as the reader of letters expects them.
//!
//! pdf-extract knows how codes become letters, and panics on what files of practice do: a name of an encoding that it
//! has not heard of, widths that are one too few, a map that it cannot parse. So each font is copied and put into
//! order. One that it still fails on is replaced: lopdf decodes its strings, less completely but without fuss, and
//! the letters go through a font of our own, whose codes are numbers of letters.

use std::collections::BTreeMap;

use pdf_extract::{Dictionary, Document, Object, ObjectId, Stream, dictionary};

use super::streams;

/// Bytes of an embedded font that is looked into for the names of its letters.
const FONT_BYTES: usize = 4 << 20;
/// Bytes of a map from codes to letters. The largest of Chinese fonts have some 500 KB.
const MAP_BYTES: usize = 2 << 20;
/// Codes that the ranges of one map may cover: two bytes, and the planes behind them.
const MAP_CODES: u64 = 1 << 18;
/// Brackets inside each other in a map or a font program. The parsers recurse.
const BRACKETS_MAX: usize = 64;
/// Widths kept of one font.
const WIDTHS_MAX: usize = 1 << 16;

/// Which font it is: an object of the file, or one that is written directly into the resources of a page.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum FontKey {
    /// An object.
    Object(ObjectId),
    /// The page and the name there.
    Direct(ObjectId, Vec<u8>),
}

/// What can be done with a font.
#[derive(Clone, Debug)]
pub(super) enum Font {
    /// It can be read, in this form.
    Ordered(Dictionary),
    /// Its strings are decoded beforehand, by this dictionary.
    Decoded(Dictionary),
    /// Its letters cannot be told.
    Unreadable,
}

/// The fonts of a document as far as they were met.
#[derive(Default)]
pub(super) struct Fonts {
    known: BTreeMap<FontKey, Font>,
}

impl Fonts {
    pub(super) fn get(&mut self, document: &Document, key: &FontKey, font: &Dictionary) -> &Font {
        self.known.entry(key.clone()).or_insert_with(|| ordered(document, font))
    }

    /// Takes note that a font was failed on.
    pub(super) fn mark_failed(&mut self, document: &Document, key: &FontKey) {
        if let Some(font) = self.known.get_mut(key) {
            *font = match font {
                Font::Ordered(dictionary) => decodable(document, dictionary),
                _ => Font::Unreadable,
            };
        }
    }
}

/// What `key` leads to.
pub(super) fn resolve<'a>(document: &'a Document, dictionary: &'a Dictionary, key: &[u8]) -> Option<&'a Object> {
    Some(document.dereference(dictionary.get(key).ok()?).ok()?.1)
}

fn ordered(document: &Document, font: &Dictionary) -> Font {
    let Some(Object::Name(subtype)) = resolve(document, font, b"Subtype") else { return Font::Unreadable };
    let composite = subtype == b"Type0";
    let mut copy = font.clone();
    copy.set("Subtype", Object::Name(subtype.clone()));
    copy.set("Type", Object::Name(b"Font".to_vec()));
    if !matches!(resolve(document, font, b"BaseFont"), Some(Object::Name(_))) {
        copy.set("BaseFont", Object::Name(b"Unknown".to_vec()));
    }
    match resolve(document, font, b"ToUnicode") {
        Some(Object::Stream(map)) if map_is_sane(map) => {}
        Some(Object::Name(name)) if name == b"Identity-H" => {}
        Some(_) => drop(copy.remove(b"ToUnicode")),
        None => {}
    }
    if composite {
        return order_composite(document, font, copy);
    }
    order_encoding(document, &mut copy);
    order_widths(document, &mut copy);
    if let Some(Object::Dictionary(descriptor)) = resolve(document, font, b"FontDescriptor") {
        let mut descriptor = descriptor.clone();
        if let Some(width @ (Object::Integer(_) | Object::Real(_))) = resolve(document, &descriptor, b"MissingWidth") {
            // It is looked for in the font itself.
            copy.set("MissingWidth", width.clone());
        }
        strip_program(document, &mut descriptor);
        copy.set("FontDescriptor", descriptor);
    } else {
        copy.remove(b"FontDescriptor");
    }
    Font::Ordered(copy)
}

fn order_composite(document: &Document, font: &Dictionary, mut copy: Dictionary) -> Font {
    match resolve(document, font, b"Encoding") {
        Some(Object::Name(name)) if name == b"Identity-H" || name == b"Identity-V" => {}
        Some(Object::Stream(map)) if map_is_sane(map) => {}
        _ => return decodable(document, font),
    }
    let descendant = match resolve(document, font, b"DescendantFonts") {
        Some(Object::Array(fonts)) => fonts.first().and_then(|font| document.dereference(font).ok()),
        _ => None,
    };
    let Some((_, Object::Dictionary(descendant))) = descendant else { return decodable(document, font) };
    let widths = match resolve(document, descendant, b"W") {
        Some(Object::Array(widths)) => widths_of_composite(document, widths),
        _ => Vec::new(),
    };
    let default_width = match resolve(document, descendant, b"DW") {
        Some(Object::Integer(width)) => *width,
        _ => 1000,
    };
    let descendant = dictionary! {
        "Type" => "Font",
        "FontDescriptor" => Dictionary::new(),
        "DW" => default_width,
        "W" => widths,
    };
    copy.set("DescendantFonts", vec![Object::Dictionary(descendant)]);
    Font::Ordered(copy)
}

/// Widths in the form that lists each: `c [w w w]`. The form for ranges (`c c w`) is misread further down.
fn widths_of_composite(document: &Document, widths: &[Object]) -> Vec<Object> {
    let number =
        |at: usize| widths.get(at).and_then(|object| document.dereference(object).ok()).map(|(_, object)| object);
    let mut out = Vec::new();
    let (mut at, mut n) = (0, 0);
    while let Some(Object::Integer(first)) = number(at) {
        let list = match (number(at + 1), number(at + 2)) {
            (Some(Object::Array(list)), _) => {
                at += 2;
                list.iter().take(WIDTHS_MAX - n).map(|width| as_number(document, width)).collect()
            }
            (Some(Object::Integer(last)), Some(width)) => {
                at += 3;
                let span = usize::try_from(last.saturating_sub(*first).saturating_add(1)).unwrap_or(0);
                vec![as_number(document, width); span.min(WIDTHS_MAX - n)]
            }
            _ => break,
        };
        n += list.len();
        if (0..=i64::from(u16::MAX)).contains(first) {
            out.extend([Object::Integer(*first), Object::Array(list)]);
        }
    }
    out
}

fn as_number(document: &Document, object: &Object) -> Object {
    match document.dereference(object) {
        Ok((_, number @ (Object::Integer(_) | Object::Real(_)))) => number.clone(),
        _ => Object::Integer(0),
    }
}

const KNOWN_ENCODINGS: [&[u8]; 3] = [b"MacRomanEncoding", b"MacExpertEncoding", b"WinAnsiEncoding"];

/// Names of encodings that are not known are left away, and the usual one is taken.
fn order_encoding(document: &Document, font: &mut Dictionary) {
    let encoding = match resolve(document, font, b"Encoding") {
        Some(Object::Name(name)) if KNOWN_ENCODINGS.contains(&name.as_slice()) => Some(Object::Name(name.clone())),
        Some(Object::Dictionary(encoding)) => {
            let mut encoding = encoding.clone();
            match resolve(document, &encoding, b"BaseEncoding") {
                Some(Object::Name(name)) if KNOWN_ENCODINGS.contains(&name.as_slice()) => {}
                _ => drop(encoding.remove(b"BaseEncoding")),
            }
            if let Some(Object::Array(differences)) = resolve(document, &encoding, b"Differences") {
                let differences = order_differences(document, differences);
                encoding.set("Differences", differences);
            }
            Some(Object::Dictionary(encoding))
        }
        _ => None,
    };
    match encoding {
        Some(encoding) => font.set("Encoding", encoding),
        None => drop(font.remove(b"Encoding")),
    }
}

/// Codes of one byte, and names.
fn order_differences(document: &Document, differences: &[Object]) -> Vec<Object> {
    let mut code = 0;
    let mut out = Vec::new();
    for object in differences {
        match document.dereference(object) {
            Ok((_, Object::Integer(next))) => {
                code = *next;
                out.push(Object::Integer((*next).clamp(0, 255)));
            }
            Ok((_, Object::Name(name))) => {
                if (0..=255).contains(&code) {
                    out.push(Object::Name(name.clone()));
                }
                code = code.saturating_add(1);
            }
            _ => {}
        }
    }
    out
}

/// As many widths as there are codes.
fn order_widths(document: &Document, font: &mut Dictionary) {
    let (first, widths) = match (resolve(document, font, b"FirstChar"), resolve(document, font, b"Widths")) {
        (Some(Object::Integer(first)), Some(Object::Array(widths))) if (0..=255).contains(first) => {
            (*first, widths.iter().take(256).map(|width| as_number(document, width)).collect::<Vec<_>>())
        }
        _ => {
            font.remove(b"Widths");
            return;
        }
    };
    font.set("FirstChar", first);
    font.set("LastChar", first + i64::try_from(widths.len()).unwrap_or(0) - 1);
    font.set("Widths", widths);
}

/// Takes away programs of fonts that are not looked into, or too large or too odd to be.
fn strip_program(document: &Document, descriptor: &mut Dictionary) {
    descriptor.remove(b"FontFile2");
    for key in [&b"FontFile"[..], b"FontFile3"] {
        let sane = match resolve(document, descriptor, key) {
            Some(Object::Stream(program)) => match streams::unpacked(program, FONT_BYTES) {
                // The part behind this word is encrypted, and not looked into.
                Some(bytes) if key == b"FontFile" => {
                    let clear = crate::sniff::find(&bytes, b"eexec").unwrap_or(bytes.len());
                    brackets(&bytes[..clear]) <= BRACKETS_MAX
                }
                Some(_) => matches!(resolve(document, &program.dict, b"Subtype"), Some(Object::Name(_))),
                None => false,
            },
            _ => false,
        };
        if !sane {
            descriptor.remove(key);
        }
    }
}

/// A map from codes to letters that does not unfold to more than there are letters.
fn map_is_sane(map: &Stream) -> bool {
    let Some(bytes) = streams::unpacked(map, MAP_BYTES) else { return false };
    brackets(&bytes) <= BRACKETS_MAX && codes_in_ranges(&bytes) <= MAP_CODES
}

/// How deeply brackets are inside each other.
fn brackets(bytes: &[u8]) -> usize {
    let (mut depth, mut deepest) = (0usize, 0);
    for byte in bytes {
        match byte {
            b'[' | b'{' | b'(' | b'<' => depth += 1,
            b']' | b'}' | b')' | b'>' => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    deepest
}

/// How many codes the ranges of a map cover. Every pair of numbers in a part for ranges is taken for one.
fn codes_in_ranges(bytes: &[u8]) -> u64 {
    let text = String::from_utf8_lossy(bytes);
    let ranges = text.split("beginbfrange").skip(1).map(|part| part.split("endbfrange").next().unwrap_or_default());
    ranges
        .map(|part| {
            let mut numbers = part.split('<').skip(1).map(|rest| {
                let digits: String =
                    rest.chars().take_while(|c| *c != '>').filter(char::is_ascii_hexdigit).take(16).collect();
                u64::from_str_radix(&digits, 16).unwrap_or(0)
            });
            let mut codes = 0u64;
            let mut previous = numbers.next().unwrap_or(0);
            for next in numbers {
                // Most pairs are no range but a code and a letter; those that go far are far too many either way.
                if next > previous && next - previous > u64::from(u16::MAX) && next <= u64::from(u32::MAX) {
                    codes = codes.saturating_add(next - previous);
                }
                previous = next;
            }
            codes
        })
        .fold(0, u64::saturating_add)
}

fn decodable(document: &Document, font: &Dictionary) -> Font {
    // The decoder unfolds the map as well.
    match resolve(document, font, b"ToUnicode") {
        Some(Object::Stream(map)) if !map_is_sane(map) => Font::Unreadable,
        _ => Font::Decoded(font.clone()),
    }
}

/// The letters of a string in a font that is decoded beforehand.
pub(super) fn decode(document: &Document, font: &Dictionary, string: &[u8]) -> Option<String> {
    let encoding = font.get_font_encoding(document).ok()?;
    let text = Document::decode_text(&encoding, string).ok()?;
    (!text.is_empty()).then_some(text)
}

/// The font for strings that were decoded: its codes are numbers of letters, two bytes each.
#[derive(Default)]
pub(super) struct Letters {
    codes: BTreeMap<char, u16>,
}

impl Letters {
    /// The codes of a text.
    pub(super) fn encode(&mut self, text: &str) -> Vec<u8> {
        text.chars()
            .flat_map(|c| {
                let next = u16::try_from(self.codes.len()).unwrap_or(u16::MAX);
                self.codes.entry(c).or_insert(next).to_be_bytes()
            })
            .collect()
    }

    /// The font itself, if any letter needs it. Its widths are a guess, which is enough to keep words apart.
    pub(super) fn font(&self) -> Option<Dictionary> {
        if self.codes.is_empty() {
            return None;
        }
        let hex = |c: &char| c.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("{unit:04X}")).collect::<String>();
        let pairs: String = self.codes.iter().map(|(c, code)| format!("<{code:04X}> <{}>\n", hex(c))).collect();
        let map = format!("{} beginbfchar\n{pairs}endbfchar\n", self.codes.len());
        let descendant = dictionary! { "Type" => "Font", "FontDescriptor" => Dictionary::new(), "DW" => 500 };
        Some(dictionary! {
            "Type" => "Font",
            "Subtype" => "Type0",
            "BaseFont" => "Letters",
            "Encoding" => "Identity-H",
            "DescendantFonts" => vec![Object::Dictionary(descendant)],
            "ToUnicode" => Object::Stream(Stream::new(Dictionary::new(), map.into_bytes())),
        })
    }
}
