use std::io::Write;

use plumb_core::content::MarkKind;
use proptest::prelude::*;

use crate::read::tests::{all, one, reason, under};
use crate::{Limits, MetaValue, ParkReason, SignalEnvelope};

/// A file of these objects, numbered from 1; the first is the catalog.
fn file(objects: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = b"%PDF-1.4\n".to_vec();
    let mut table = format!("xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1);
    for (object, number) in objects.iter().zip(1..) {
        table += &format!("{:010} 00000 n \n", bytes.len());
        bytes.extend(format!("{number} 0 obj\n").bytes());
        bytes.extend(object);
        bytes.extend(b"\nendobj\n");
    }
    let start = bytes.len();
    bytes.extend(table.bytes());
    bytes.extend(format!("trailer\n<</Size {}/Root 1 0 R>>\nstartxref\n{start}\n%%EOF\n", objects.len() + 1).bytes());
    bytes
}

fn stream(dictionary: &str, content: &[u8]) -> Vec<u8> {
    let head = format!("<<{dictionary}/Length {}>>\nstream\n", content.len());
    [head.as_bytes(), content, b"\nendstream"].concat()
}

fn deflated(content: &[u8]) -> Vec<u8> {
    let mut deflate = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    deflate.write_all(content).unwrap();
    deflate.finish().unwrap()
}

const HELVETICA: &str = "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>";

/// A file of one page that draws `content` in `font` (object 5, named `F`), with more objects from 6.
fn page(content: &[u8], font: &str, more: &[Vec<u8>]) -> Vec<u8> {
    let mut objects = vec![
        b"<</Type/Catalog/Pages 2 0 R>>".to_vec(),
        b"<</Type/Pages/Kids[3 0 R]/Count 1/MediaBox[0 0 600 800]>>".to_vec(),
        b"<</Type/Page/Parent 2 0 R/Contents 4 0 R/Resources<</Font<</F 5 0 R>>/XObject<</X 6 0 R/Y 7 0 R>>>>>>"
            .to_vec(),
        stream("", content),
        font.as_bytes().to_vec(),
    ];
    objects.extend_from_slice(more);
    file(&objects)
}

fn read(bytes: &[u8]) -> SignalEnvelope {
    one("file:///a.pdf", Some("pdf"), bytes)
}

fn note(envelope: &SignalEnvelope, key: &str) -> Option<i64> {
    match envelope.raw_metadata.get(key)? {
        MetaValue::Integer(n) => Some(*n),
        MetaValue::Text(_) => None,
    }
}

#[test]
fn every_operator_that_shows_text() {
    let content = b"BT /F 10 Tf 14 TL 50 700 Td (One) Tj [( tw) 20 (o) -2000 (three)] TJ (four) ' 1 0.1 (five) \" ET";
    let envelope = read(&page(content, HELVETICA, &[]));
    assert_eq!(envelope.text, "One two three\nfour\nfive");
    assert_eq!(envelope.title, "One two three");
    assert_eq!(envelope.marks[0].kind, MarkKind::Page(1));
    assert_eq!(note(&envelope, "pages_damaged"), None);
}

#[test]
fn text_in_forms() {
    let content = b"BT /F 10 Tf 50 700 Td (Before) Tj ET /X Do BT /F 10 Tf 50 600 Td (Behind) Tj ET";
    let form = stream("/Type/XObject/Subtype/Form/Matrix[1 0 0 1 0 -50]", b"BT /F 10 Tf 50 700 Td (Inside) Tj ET");
    assert_eq!(read(&page(content, HELVETICA, &[form])).text, "Before\n\nInside\n\nBehind");
}

#[test]
fn forms_inside_themselves_end() {
    let form = stream(
        "/Subtype/Form/Resources<</Font<</F 5 0 R>>/XObject<</X 6 0 R/Y 6 0 R>>>>",
        b"BT /F 9 Tf (x) Tj ET /X Do /Y Do",
    );
    let envelope = read(&page(b"/X Do", HELVETICA, &[form]));
    assert!(envelope.text.starts_with('x') && note(&envelope, "pages_damaged") == Some(1));
}

#[test]
fn pictures_and_scans_have_no_text() {
    let picture = stream("/Subtype/Image/Width 9/Height 9/Filter/DCTDecode", b"\xff\xd8 (not) Tj \xff");
    assert_eq!(
        reason("file:///a.pdf", None, &page(b"q 9 0 0 9 0 0 cm /X Do Q", HELVETICA, &[picture])),
        ParkReason::NoText
    );
    assert_eq!(reason("file:///a.pdf", None, &page(b"", HELVETICA, &[])), ParkReason::NoText);
}

#[test]
fn a_damaged_table_is_made_anew() {
    let whole = page(b"BT /F 10 Tf (Still here) Tj ET", HELVETICA, &[]);
    let at = crate::sniff::find(&whole, b"xref").unwrap();
    let table_gone = whole[..at].to_vec();
    let wrong_start = String::from_utf8(whole.clone()).unwrap().replace("startxref\n", "startxref\n9");
    let wrong_offsets = String::from_utf8(whole.clone()).unwrap().replace("%PDF-1.4\n", "%PDF-1.4\n%some bytes more\n");
    let catalog_gone = String::from_utf8(table_gone.clone()).unwrap().replace("/Catalog", "/Cat");
    for bytes in [table_gone, wrong_start.into(), wrong_offsets.into(), catalog_gone.into()] {
        let envelope = read(&bytes);
        assert_eq!(envelope.text, "Still here");
        assert!(envelope.raw_metadata.contains_key("repaired"));
    }
    assert_eq!(reason("file:///a.pdf", None, b"%PDF-1.4\nnothing more"), ParkReason::Broken);
    assert_eq!(reason("file:///a.pdf", None, &whole[..at / 2]), ParkReason::Broken);
}

/// Fonts as they are found in practice, on which the reader of letters would panic.
#[test]
fn fonts_that_are_out_of_order() {
    let map = |content: &str| stream("", content.as_bytes());
    let good_map = map("1 beginbfrange <41> <43> <0061> endbfrange");
    for (font, more, expected) in [
        ("<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/StandardEncoding>>", vec![], "ABC"),
        ("<</Type/Font/Subtype/TrueType/BaseFont/A/Encoding/OddEncoding>>", vec![], "ABC"),
        (
            "<</Type/Font/Subtype/Type1/BaseFont/A/FirstChar 65/LastChar 70/Widths[500 500]/Encoding/WinAnsiEncoding>>",
            vec![],
            "ABC",
        ),
        (
            "<</Type/Font/Subtype/Type1/FirstChar 65/LastChar 67/Widths[500/x 8 0 R]/Encoding<</Differences[65/a/b/c 300/d]>>>>",
            vec![],
            "abc",
        ),
        ("<</Type/Font/Subtype/Type1/BaseFont/A/ToUnicode 6 0 R/Encoding/WinAnsiEncoding>>", vec![good_map], "abc"),
        ("<</Type/Font/Subtype/Type1/BaseFont/A/ToUnicode/Odd/Encoding/WinAnsiEncoding>>", vec![], "ABC"),
        // Maps that unfold to more than there is memory, recurse, or are none.
        (
            "<</Type/Font/Subtype/Type1/BaseFont/A/ToUnicode 6 0 R/Encoding/WinAnsiEncoding>>",
            vec![map("1 beginbfrange <00000000> <ffffffff> <0041> endbfrange")],
            "ABC",
        ),
        (
            "<</Type/Font/Subtype/Type1/BaseFont/A/ToUnicode 6 0 R/Encoding/WinAnsiEncoding>>",
            vec![map(&"[".repeat(100_000))],
            "ABC",
        ),
        (
            "<</Type/Font/Subtype/Type1/BaseFont/A/ToUnicode 6 0 R/Encoding/WinAnsiEncoding>>",
            vec![map("1 beginbfchar oops")],
            "ABC",
        ),
        (
            "<</Type/Font/Subtype/Type1/BaseFont/A/ToUnicode 6 0 R/Encoding/WinAnsiEncoding>>",
            vec![map("1 beginbfrange <41> <43> <006100620063> endbfrange")],
            "ABC",
        ),
    ] {
        let envelope = read(&page(b"BT /F 10 Tf (ABC) Tj ET", font, &more));
        assert_eq!(envelope.text, expected, "{font}");
    }
}

#[test]
fn composite_fonts() {
    let map = stream("", b"1 beginbfrange <0001> <0003> <7d4c> endbfrange 1 beginbfchar <0009> <0020> endbfchar");
    let font = |descendant: &str| {
        format!(
            "<</Type/Font/Subtype/Type0/BaseFont/A/Encoding/Identity-H/ToUnicode 6 0 R/DescendantFonts[{descendant}]>>"
        )
    };
    let content = b"BT /F 10 Tf <000100020009> Tj <0003> Tj ET";
    for descendant in [
        "<</Type/Font/Subtype/CIDFontType2/DW 1000/W[1 3 500 9[250]]/FontDescriptor<</Type/FontDescriptor>>>>",
        "<</Subtype/CIDFontType2/W[1 2]>>",
        "<</W[0 16000000 1]>>",
    ] {
        assert_eq!(
            read(&page(content, &font(descendant), std::slice::from_ref(&map))).text,
            "\u{7d4c}\u{7d4d} \u{7d4e}"
        );
    }
    // Without a map there are numbers of shapes, and no letters.
    let unmapped = "<</Type/Font/Subtype/Type0/BaseFont/A/Encoding/Identity-H/DescendantFonts[<<>>]>>";
    let parked = reason("file:///a.pdf", None, &page(content, unmapped, &[]));
    assert!(matches!(parked, ParkReason::NoText | ParkReason::Broken));
}

/// One font in a page that cannot be read at all leaves the others readable.
#[test]
fn a_font_without_hope_takes_nothing_with_it() {
    let odd = "<</Type/Font/Subtype/Type3/Encoding<<>>/FirstChar 0/Widths[1]>>";
    let content = b"BT /F 10 Tf (lost) Tj /G 10 Tf 14 TL (kept) ' ET";
    let bytes =
        String::from_utf8(page(content, odd, &[HELVETICA.into()])).unwrap().replace("/F 5 0 R", "/F 5 0 R/G 6 0 R");
    let envelope = read(bytes.as_bytes());
    assert!(envelope.text.contains("kept"), "{}", envelope.text);
    assert_eq!(note(&envelope, "pages_damaged"), Some(1));
}

#[test]
fn trees_of_pages_that_go_round() {
    let objects: Vec<Vec<u8>> = [
        "<</Type/Catalog/Pages 2 0 R>>",
        "<</Type/Pages/Kids[3 0 R 2 0 R 3 0 R]/Count 9/Parent 2 0 R>>",
        "<</Type/Page/Parent 2 0 R/Contents 4 0 R>>",
        "",
    ]
    .iter()
    .map(|object| object.as_bytes().to_vec())
    .collect();
    let mut objects = objects;
    objects[3] = stream("", b"BT /F 10 Tf (x) Tj ET");
    assert!(all("file:///a.pdf", None, &file(&objects)).2.is_err());
}

#[test]
fn a_page_that_unpacks_to_too_much_is_left_out() {
    let bomb = stream("/Filter/FlateDecode", &deflated(&b"q Q ".repeat(8 << 20)));
    let mut objects = vec![
        b"<</Type/Catalog/Pages 2 0 R>>".to_vec(),
        b"<</Type/Pages/Kids[3 0 R 6 0 R]/Count 2/Resources<</Font<</F 5 0 R>>>>>>".to_vec(),
        b"<</Type/Page/Parent 2 0 R/Contents 4 0 R>>".to_vec(),
        bomb,
        HELVETICA.as_bytes().to_vec(),
        b"<</Type/Page/Parent 2 0 R/Contents 7 0 R>>".to_vec(),
    ];
    objects.push(stream("", b"BT /F 10 Tf (Second) Tj ET"));
    let envelope = read(&file(&objects));
    assert_eq!(envelope.text, "Second");
    assert_eq!(envelope.marks[0].kind, MarkKind::Page(2));
    assert_eq!((note(&envelope, "pages_damaged"), note(&envelope, "pages_without_text")), (Some(1), Some(1)));
}

#[test]
fn the_text_of_all_pages_together_is_bounded() {
    let limits = Limits { text_bytes: 50, ..Limits::default() };
    let content = format!("BT /F 10 Tf ({}) Tj ET", "word ".repeat(20));
    let (_, _, summary) = under(limits, "file:///a.pdf", None, &page(content.as_bytes(), HELVETICA, &[]));
    assert_eq!(summary.unwrap_err().reason, ParkReason::TooLarge);
}

#[test]
fn many_pages_keep_their_order() {
    let n = 40;
    let kids: String = (0..n).map(|i| format!("{} 0 R ", 4 + 2 * i)).collect();
    let mut objects = vec![
        b"<</Type/Catalog/Pages 2 0 R>>".to_vec(),
        format!("<</Type/Pages/Kids[{kids}]/Count {n}/Resources<</Font<</F 3 0 R>>>>>>").into_bytes(),
        HELVETICA.as_bytes().to_vec(),
    ];
    for i in 0..n {
        objects.push(format!("<</Type/Page/Parent 2 0 R/Contents {} 0 R>>", 5 + 2 * i).into_bytes());
        objects.push(stream("", format!("BT /F 10 Tf (Page {}) Tj ET Q Q", i + 1).as_bytes()));
    }
    let envelope = read(&file(&objects));
    let expected: Vec<String> = (1..=n).map(|i| format!("Page {i}")).collect();
    assert_eq!(envelope.text, expected.join("\n\n"));
    assert_eq!(envelope.marks.len(), n);
    let limits = Limits { pdf_pages: 3, ..Limits::default() };
    let (envelopes, _, _) = under(limits, "file:///a.pdf", None, &file(&objects));
    assert_eq!((note(&envelopes[0], "pages"), note(&envelopes[0], "pages_left_out")), (Some(3), Some(37)));
}

proptest! {
    /// Whatever a page draws, it is read or parked.
    #[test]
    fn any_content_ends_somewhere(
        parts in prop::collection::vec(prop::sample::select(vec![
            "BT", "ET", "q", "Q", "/F 10 Tf", "/G 1 Tf", "(ab) Tj", "<4142> Tj", "[(a) -300 (b)] TJ", "(c) '", "1 2 (d) \"", "Tj", "TJ",
            "1 0 0 1 9 9 Tm", "1 0 0 1 cm", "/X Do", "/Y Do", "T*", "9 TL", "1 Td", "1 2 TD", "0 Tz", "99999999999 Tc", "S", "f", "/P gs",
            "BI /W 1 ID x EI", "[[[", "<<", "(", "\\", "BX", "0 0 0 0 0 0 Tm", "-1 -1 Td",
        ]), 0..30),
        form in prop::sample::select(vec!["", "(f) Tj", "/X Do /Y Do", "BT /F 1 Tf (g) Tj"]),
    ) {
        let form = stream("/Subtype/Form", form.as_bytes());
        let bytes = page(parts.join(" ").as_bytes(), HELVETICA, &[form.clone(), form]);
        let (_, _, summary) = all("file:///a.pdf", None, &bytes);
        if let Err(parked) = summary {
            prop_assert!(matches!(parked.reason, ParkReason::NoText | ParkReason::Broken), "{}", parked);
        }
    }
}
