//! Documents: those of the story, and a few small PDF files.

use std::path::Path;

/// Largest document that is a seed: a long one teaches the engine little, and slows it down.
const SEED_BYTES_MAX: usize = 4 * 1024;

/// The documents of `fixtures/story` whose name ends so.
pub fn documents(extension: &str) -> Vec<Vec<u8>> {
    let mut paths = Vec::new();
    let mut open = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/story")];
    while let Some(folder) = open.pop() {
        let entries = std::fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
        for path in entries.filter_map(Result::ok).map(|entry| entry.path()) {
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|e| e == extension) {
                paths.push(path);
            }
        }
    }
    paths.sort();
    let all = paths.iter().map(|path| std::fs::read(path).expect("a fixture can be read"));
    all.filter(|bytes| bytes.len() <= SEED_BYTES_MAX).collect()
}

/// A file of these objects, numbered from 1; the first is the catalog.
fn pdf(objects: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = b"%PDF-1.4\n".to_vec();
    let mut table = format!("xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1);
    for (number, object) in objects.iter().enumerate() {
        table += &format!("{:010} 00000 n \n", bytes.len());
        bytes.extend_from_slice(format!("{} 0 obj\n", number + 1).as_bytes());
        bytes.extend_from_slice(object);
        bytes.extend_from_slice(b"\nendobj\n");
    }
    let start = bytes.len();
    let trailer = format!("trailer\n<</Size {}/Root 1 0 R>>\nstartxref\n{start}\n%%EOF\n", objects.len() + 1);
    bytes.extend_from_slice(table.as_bytes());
    bytes.extend_from_slice(trailer.as_bytes());
    bytes
}

fn stream(dictionary: &str, content: &str) -> Vec<u8> {
    format!("<<{dictionary}/Length {}>>\nstream\n{content}\nendstream", content.len()).into_bytes()
}

/// One page that draws two lines in this font, whose map of characters to Unicode is the sixth object.
fn page(font: &str) -> Vec<u8> {
    let map = "begincmap 1 begincodespacerange <00> <ff> endcodespacerange 1 beginbfrange <41> <42> <0061> endbfrange \
               1 beginbfchar <43> <D83DDE00> endbfchar endcmap";
    pdf(&[
        b"<</Type/Catalog/Pages 2 0 R/Outlines 7 0 R>>".to_vec(),
        b"<</Type/Pages/Kids[3 0 R]/Count 1/MediaBox[0 0 600 800]>>".to_vec(),
        b"<</Type/Page/Parent 2 0 R/Contents 4 0 R/Resources<</Font<</F 5 0 R>>>>>>".to_vec(),
        stream("", "BT /F 12 Tf 72 700 Td (ABC Pump 7) Tj 0 -14 Td [(re)-20(starts)] TJ T* <4142> Tj ET"),
        font.as_bytes().to_vec(),
        stream("", map),
        b"<</Type/Outlines/First 8 0 R/Last 8 0 R/Count 1>>".to_vec(),
        b"<</Title(Restart)/Parent 7 0 R/Dest[3 0 R/Fit]>>".to_vec(),
    ])
}

/// Small PDF files: a simple font, a font with a map, a font of two bytes.
pub fn pdfs() -> Vec<Vec<u8>> {
    vec![
        page("<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>"),
        page("<</Type/Font/Subtype/TrueType/BaseFont/X/FirstChar 65/LastChar 67/Widths[500 500 500]/ToUnicode 6 0 R>>"),
        page(
            "<</Type/Font/Subtype/Type0/BaseFont/X/Encoding/Identity-H/ToUnicode 6 0 R/DescendantFonts[<</Type/Font\
             /Subtype/CIDFontType2/BaseFont/X/CIDSystemInfo<</Registry(Adobe)/Ordering(Identity)/Supplement 0>>\
             /DW 1000/W[0[500 500]]>>]>>",
        ),
    ]
}
