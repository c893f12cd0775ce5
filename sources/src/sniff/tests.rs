use super::*;

fn check(bytes: &[u8], declared: Option<&str>, expected: &str) {
    assert_eq!(sniff(bytes, declared).media_type, expected, "{:?} as {declared:?}", String::from_utf8_lossy(bytes));
}

#[test]
fn content_is_stronger_than_names() {
    check(b"%PDF-1.7\n1 0 obj", Some("txt"), "application/pdf");
    check(b"\n\n%PDF-1.7\n", Some("md"), "application/pdf");
    check(b"junk of a mailer\n%PDF-1.4\n1 0 obj\nendobj\n", None, "application/pdf");
    check(b"A file begins with\n%PDF-1.4\nand so on.", None, "text/plain");
    check(b"<!DOCTYPE html><title>x</title>", Some("md"), "text/html");
    check(b" \n<!-- a --><HTML lang=de>", Some("txt"), "text/html");
    check(b"PK\x03\x04abc", Some("txt"), "application/zip");
    check(b"\x89PNG\r\n\x1a\n", Some("html"), "image/png");
    check(b"plain words", Some("pdf"), "text/plain");
    check(b"plain words", Some("html"), "text/plain");
    check(b"{\"id\": 1}\n{\"id\": 2}\n", Some("txt"), "application/jsonl");
    check(b"WEBVTT - talk\n", Some("txt"), "text/vtt");
}

#[test]
fn names_settle_what_content_leaves_open() {
    check(b"# A\n", Some("md"), "text/markdown");
    check(b"# A\n", Some("text/markdown; charset=utf-8"), "text/markdown");
    check(b"# A\n", Some(".MD"), "text/markdown");
    check(b"# A\n\n## B\n", Some("py"), "text/plain");
    check(b"<p align=center>A</p>\n\n# B\n", Some("md"), "text/markdown");
    check(b"<p>A", Some("html"), "text/html");
    check(b"A <b>bold</b> word", Some("text/html"), "text/html");
    check(b"a,b\n1,2\n", Some("csv"), "text/csv");
    check(b"{\"id\": 1}", Some("jsonl"), "application/jsonl");
    check(b"{\"id\": 1}", None, "application/json");
    check(b"{\"id\": ", Some("json"), "application/json");
    check(b"<note><to>A</to></note>", Some("xml"), "application/xml");
}

#[test]
fn kinds_of_text() {
    check(b"# A\n\nSee [B](b).\n", None, "text/markdown");
    check(b"---\ntitle: A\n---\nB\n", None, "text/markdown");
    check(b"#!/bin/sh\n# a\n", None, "text/plain");
    check(b"# a comment\nx = 1\n", None, "text/plain");
    check(b"<?xml version='1.0'?><rss>", None, "application/rss+xml");
    check(b"<?xml version='1.0'?><!-- c --><feed xmlns='x'>", None, "application/atom+xml");
    check(b"<?xml version='1.0'?><!DOCTYPE article><article>", None, "application/xml");
    check(b"<?xml version='1.0'?><html xmlns='x'>", None, "application/xhtml+xml");
    check(b"[\n  1,\n  2\n]\n", None, "application/json");
    check(b"{\n  \"a\": 1\n}\n", None, "application/json");
    check(b"{\"a\": 1}\n{broken\n{\"a\": 2}\n", None, "application/jsonl");
    check(b"[A link](http://x) at the beginning", None, "text/plain");
    check(b"{braces} in words", None, "text/plain");
    check(b"1\n00:00:00,500 --> 00:00:07,000\nText\n", None, "application/x-subrip");
    check(b"BZh is a word", None, "text/plain");
    check(b"{\\rtf1 x}", Some("txt"), "application/rtf");
}

#[test]
fn archives_are_told_apart_unopened() {
    let entry = |name: &str, content: &str| {
        let mut bytes = b"PK\x03\x04".to_vec();
        bytes.extend([0; 22]);
        bytes.extend(u16::try_from(name.len()).unwrap().to_le_bytes());
        bytes.extend([0, 0]);
        bytes.extend(name.bytes().chain(content.bytes()));
        bytes
    };
    check(&entry("mimetype", "application/epub+zip"), None, "application/epub+zip");
    check(
        &entry("mimetype", "application/vnd.oasis.opendocument.text"),
        None,
        "application/vnd.oasis.opendocument.text",
    );
    check(&entry("mimetype", "application/x-other"), None, "application/zip");
    let docx = [entry("[Content_Types].xml", "<x/>"), entry("word/document.xml", "<x/>")].concat();
    check(&docx, None, "application/vnd.openxmlformats-officedocument.wordprocessingml.document");
}

#[test]
fn encodings() {
    let cases: [(&[u8], &str, &str); 9] = [
        ("Grüße".as_bytes(), "UTF-8", "Grüße"),
        (b"\xef\xbb\xbfabc", "UTF-8", "abc"),
        (b"\xff\xfea\0b\0", "UTF-16LE", "ab"),
        (b"\xfe\xff\0a\0b", "UTF-16BE", "ab"),
        (b"a\0b\0 \0c\0", "UTF-16LE", "ab c"),
        (b"\0a\0b\0 \0c", "UTF-16BE", "ab c"),
        (b"Stra\xdfe und Gr\xfc\xdfe aus M\xfcnchen", "windows-1252", "Straße und Grüße aus München"),
        (b"\xcf\xf0\xe8\xe2\xe5\xf2, \xea\xe0\xea \xe4\xe5\xeb\xe0", "windows-1251", "Привет, как дела"),
        (b"\x1b$B$3$s\x1b(B", "ISO-2022-JP", "こん"),
    ];
    for (bytes, encoding, text) in cases {
        let sniffed = sniff(bytes, None);
        assert_eq!(sniffed.encoding.map(Encoding::name), Some(encoding), "{text}");
        assert_eq!(sniffed.decode(bytes).text, text);
    }
    let chinese: Vec<u8> = "经济增长，\n物价稳定。\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert_eq!(sniff(&chinese, None).decode(&chinese).text, "经济增长，\n物价稳定。\n");
}

#[test]
fn a_label_helps_where_bytes_are_not_utf_8() {
    let page = b"<html><meta charset='iso-8859-2'><p>\xb1\xe6\xea</p>";
    assert_eq!(sniff(page, None).encoding.map(Encoding::name), Some("ISO-8859-2"));
    let page = "<html><meta charset='iso-8859-2'><p>ąćę</p>".as_bytes();
    assert_eq!(sniff(page, None).encoding.map(Encoding::name), Some("UTF-8"));
    let text = b"\xb1\xe6\xea";
    assert_eq!(sniff(text, Some("text/plain; charset=\"iso-8859-2\"")).decode(text).text, "ąćę");
}

#[test]
fn what_is_no_text_is_refused() {
    let random: Vec<u8> = (0..4000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8 | 1).collect();
    for bytes in [&b"abc\0def"[..], b"\x01\x02\x03\x04", &random, b"\xff\xfea\0\0\0b\0"] {
        let sniffed = sniff(bytes, Some("txt"));
        assert_eq!(sniffed.refused.map(|p| p.reason), Some(ParkReason::Binary), "{bytes:?}");
    }
    assert_eq!(sniff(b"", None).refused.map(|p| p.reason), Some(ParkReason::Empty));
    assert!(sniff(b"red: \x1b[31mred\x1b[0m and \x08one stray", None).refused.is_none());
    check(b"\xff\xfe\0\0a\0\0\0", None, "text/plain; charset=utf-32");
}
