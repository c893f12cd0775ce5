//! Binary formats, by their first bytes.

/// First bytes, and what they say. Longer ones first where one begins another.
const MAGIC: &[(&[u8], &str)] = &[
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"II*\0", "image/tiff"),
    (b"MM\0*", "image/tiff"),
    (b"\0\0\x01\0", "image/vnd.microsoft.icon"),
    (b"\x1f\x8b", "application/gzip"),
    (b"BZh", "application/x-bzip2"),
    (b"\xfd7zXZ\0", "application/x-xz"),
    (b"\x28\xb5\x2f\xfd", "application/zstd"),
    (b"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"),
    (b"Rar!\x1a\x07", "application/vnd.rar"),
    (b"PK\x05\x06", "application/zip"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "application/x-ole-storage"),
    (b"{\\rtf", "application/rtf"),
    (b"%!PS", "application/postscript"),
    (b"# v2 git bundle\n", "application/x-git-bundle"),
    (b"# v3 git bundle\n", "application/x-git-bundle"),
    (b"SQLite format 3\0", "application/vnd.sqlite3"),
    (b"\x7fELF", "application/x-elf"),
    (b"\0asm", "application/wasm"),
    (b"PAR1", "application/vnd.apache.parquet"),
    (b"ID3", "audio/mpeg"),
    (b"OggS", "audio/ogg"),
    (b"fLaC", "audio/flac"),
    (b"\x1a\x45\xdf\xa3", "video/webm"),
    (b"\0\0\xfe\xff", "text/plain; charset=utf-32"),
];

/// How far into the file a PDF may begin (ISO 32000-1, annex H, implementation note 13).
const PDF_HEAD: usize = 1024;

/// How far into a zip its entries are looked at. Office programs put the telling ones first; nothing is unpacked.
const ZIP_HEAD: usize = 256 << 10;

/// The media type, if the first bytes name a binary format.
pub(crate) fn media_type(bytes: &[u8]) -> Option<&'static str> {
    if is_pdf(bytes) {
        return Some("application/pdf");
    }
    if bytes.starts_with(b"PK\x03\x04") {
        return Some(in_zip(&bytes[..bytes.len().min(ZIP_HEAD)]));
    }
    // A byte order mark of UTF-32 begins with that of UTF-16. Encodings of four bytes are not read.
    if bytes.starts_with(b"\xff\xfe\0\0") && bytes.len().is_multiple_of(4) {
        return Some("text/plain; charset=utf-32");
    }
    if bytes.starts_with(b"RIFF") {
        return match bytes.get(8..12) {
            Some(b"WEBP") => Some("image/webp"),
            Some(b"WAVE") => Some("audio/wav"),
            Some(b"AVI ") => Some("video/x-msvideo"),
            _ => None,
        };
    }
    if bytes.get(4..8) == Some(b"ftyp") && bytes[0] == 0 {
        return Some("video/mp4");
    }
    if bytes.get(257..262) == Some(b"ustar") {
        return Some("application/x-tar");
    }
    let (_, media_type) = MAGIC.iter().find(|(magic, _)| bytes.starts_with(magic))?;
    // Words that a text may begin with are believed only with something behind them that no text has.
    let also_a_word = matches!(*media_type, "audio/mpeg" | "audio/ogg" | "audio/flac" | "application/x-bzip2")
        || *media_type == "application/vnd.apache.parquet";
    let head = &bytes[..bytes.len().min(512)];
    (!also_a_word || head.iter().any(|b| *b < 9)).then_some(*media_type)
}

/// A PDF begins with its header, maybe behind a few bytes of something else. A text that talks of PDF may have the
/// header in it, but neither at its beginning nor with objects behind it.
fn is_pdf(bytes: &[u8]) -> bool {
    let head = &bytes[..bytes.len().min(PDF_HEAD)];
    let Some(at) = find(head, b"%PDF-") else { return false };
    if !bytes.get(at + 5).is_some_and(u8::is_ascii_digit) {
        return false;
    }
    let before = head[..at].strip_prefix(b"\xef\xbb\xbf").unwrap_or(&head[..at]);
    let first = before.iter().all(u8::is_ascii_whitespace);
    first || (before.ends_with(b"\n") || before.ends_with(b"\r")) && find(bytes, b"endobj").is_some()
}

/// What kind of zip it is: by the entry `mimetype` (OpenDocument, EPUB) or by names of entries (Office Open XML).
fn in_zip(head: &[u8]) -> &'static str {
    /// Fields of a local file header before the name (APPNOTE.TXT 4.3.7).
    const NAME_AT: usize = 30;
    if head.get(NAME_AT..NAME_AT + 8) == Some(b"mimetype") {
        let content = &head[NAME_AT + 8..head.len().min(NAME_AT + 8 + 120)];
        const KNOWN: [&str; 6] = [
            "application/epub+zip",
            "application/vnd.oasis.opendocument.text-template",
            "application/vnd.oasis.opendocument.text",
            "application/vnd.oasis.opendocument.spreadsheet",
            "application/vnd.oasis.opendocument.presentation",
            "application/vnd.oasis.opendocument.graphics",
        ];
        return KNOWN.into_iter().find(|known| find(content, known.as_bytes()).is_some()).unwrap_or("application/zip");
    }
    const ENTRIES: [(&[u8], &str); 3] = [
        (b"word/document.xml", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
        (b"xl/workbook.xml", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
        (b"ppt/presentation.xml", "application/vnd.openxmlformats-officedocument.presentationml.presentation"),
    ];
    if find(head, b"[Content_Types].xml").is_some()
        && let Some((_, media_type)) = ENTRIES.into_iter().find(|(name, _)| find(head, name).is_some())
    {
        return media_type;
    }
    "application/zip"
}

/// Where `needle` stands in `haystack`.
pub(crate) fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    let (first, rest) = needle.split_first()?;
    let mut from = 0;
    while let Some(at) = haystack.get(from..)?.iter().position(|b| b == first) {
        if haystack[from + at + 1..].starts_with(rest) {
            return Some(from + at);
        }
        from += at + 1;
    }
    None
}
