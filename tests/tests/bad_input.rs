//! Bad input: each file ends as ingested or parked with a reason that a person understands, and the job goes on.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use plumb_tests::{Home, Organisation, Rng, count, data, hits, list, text};
use serde_json::Value;
use tempfile::TempDir;

const INGEST_TIME: Duration = Duration::from_secs(180);

#[test]
fn every_bad_file_is_ingested_or_parked_and_the_job_goes_on() {
    let scratch = TempDir::new().unwrap();
    let home = Organisation::found(scratch.path(), "Archive").node(scratch.path(), "intake", "person-clerk");
    let folder = scratch.path().join("in");
    fs::create_dir(&folder).unwrap();
    // The last one by name shows that the job came to its end.
    fs::write(folder.join("zz-good.md"), "# Good\n\nThe zebracorn stands at the end of the folder.\n").unwrap();
    fs::write(folder.join("aa-good.md"), "# Good\n\nThe aardwolf stands at its beginning.\n").unwrap();

    let expected: &[(&str, Outcome)] = &[
        ("empty.txt", Outcome::Parked),
        ("blank.md", Outcome::Parked),
        ("huge.txt", Outcome::Parked),
        ("binary.dat", Outcome::Parked),
        ("picture.md", Outcome::Parked),
        ("page-without-ending", Outcome::Taken),
        ("text-called.pdf", Outcome::Either),
        ("invalid-utf8.txt", Outcome::Taken),
        ("utf16-le.txt", Outcome::Taken),
        ("utf16-be.md", Outcome::Taken),
        ("deep.html", Outcome::Either),
        ("deep.json", Outcome::Either),
        ("deep.jsonl", Outcome::Parked),
        ("bomb.zip", Outcome::Parked),
        ("bomb.gz", Outcome::Parked),
        ("bomb.pdf", Outcome::Parked),
        ("broken.jsonl", Outcome::Either),
        ("loop", Outcome::Parked),
        ("self", Outcome::Parked),
        ("fifo", Outcome::Parked),
    ];
    write_all(&folder);
    std::os::unix::fs::symlink(&folder, folder.join("loop")).unwrap();
    std::os::unix::fs::symlink("self", folder.join("self")).unwrap();
    make_fifo(&folder.join("fifo"));

    let job = ingest(&home, &folder);
    assert_eq!(job["state"], "done", "{job:#}");
    let parked = parked_of(&job);
    for (name, outcome) in expected {
        let reasons: Vec<&String> = parked.iter().filter(|(address, _)| is_of(address, name)).map(|(_, r)| r).collect();
        let taken = is_held(&home, name);
        println!("{name}: {}{}", if taken { "ingested " } else { "" }, reasons.first().map_or("", |r| r.as_str()));
        match outcome {
            Outcome::Parked => assert!(!reasons.is_empty() && !taken, "{name} is parked: {job:#}"),
            Outcome::Taken => assert!(reasons.is_empty() && taken, "{name} is ingested: {job:#}"),
            Outcome::Either => assert!(!reasons.is_empty() || taken, "{name} is not dropped in silence: {job:#}"),
        }
    }
    for (address, reason) in &parked {
        assert!(reason.split_whitespace().count() >= 3, "{address}: `{reason}` says why");
        assert!(!reason.contains("panicked") && !reason.contains("Error {"), "{address}: `{reason}` is for a person");
    }
    for word in ["zebracorn", "aardwolf", "smörgåsbord", "Überlauf"] {
        assert_eq!(hits(&home.ok(&["search", word])).len(), 1, "`{word}` is found");
    }
    assert_eq!(home.ok(&["doctor"])["healthy"], true);
}

#[test]
fn bad_pdfs_are_parked_with_what_is_wrong() {
    let Some(pdfs) = data("documents/pdf") else { return };
    let scratch = TempDir::new().unwrap();
    let home = Organisation::found(scratch.path(), "Archive").node(scratch.path(), "intake", "person-clerk");
    let job = ingest(&home, &pdfs);
    let parked = parked_of(&job);
    for (name, word) in [("encrypted-openpassword.pdf", "password"), ("scanned-image-only.pdf", "text")] {
        let reason = parked.iter().find(|(address, _)| is_of(address, name)).map(|(_, reason)| reason);
        assert!(reason.is_some_and(|r| r.contains(word)), "{name}: {reason:?}");
    }
    // The one with a user's password has an empty owner password, so a reader may open it without asking.
    for name in ["truncated.pdf", "encrypted-aes256-user-password.pdf", "corrupted-xref.pdf"] {
        let is_parked = parked.iter().any(|(address, _)| is_of(address, name));
        assert!(is_parked || is_held(&home, name), "{name} is not dropped in silence");
    }
    for name in ["minimal.pdf", "two-column.pdf", "encrypted-aes256-empty-password.pdf", "scan-with-ocr-layer.pdf"] {
        assert!(is_held(&home, name), "{name} is ingested: {parked:#?}");
    }
}

/// Files come, go and change while the job walks over them.
#[test]
fn files_that_vanish_while_they_are_read_do_not_end_the_job() {
    let mut rng = Rng::announced("--test bad_input files_that_vanish");
    let scratch = TempDir::new().unwrap();
    let home = Organisation::found(scratch.path(), "Archive").node(scratch.path(), "intake", "person-clerk");
    let folder = scratch.path().join("in");
    fs::create_dir(&folder).unwrap();
    let file = |n: u64| folder.join(format!("restless-{n:03}.txt"));
    for n in 0..120 {
        fs::write(file(n), format!("Restless document number {n}.\n").repeat(50)).unwrap();
    }
    fs::write(folder.join("zz-steady.txt"), "The zebracorn is steady.\n").unwrap();

    let stop = Arc::new(AtomicBool::new(false));
    let restless = std::thread::spawn({
        let (stop, file) = (stop.clone(), (0..120).map(file).collect::<Vec<_>>());
        move || {
            while !stop.load(Ordering::Relaxed) {
                let path = &file[rng.below(120) as usize];
                // Either may fail when the file is as it should become already.
                let _ = if rng.below(2) == 0 {
                    fs::remove_file(path)
                } else {
                    fs::write(path, "Rewritten.\n".repeat(1 + rng.below(200) as usize))
                };
            }
        }
    });
    let job = ingest(&home, &folder);
    stop.store(true, Ordering::Relaxed);
    restless.join().unwrap();
    assert_eq!(job["state"], "done", "{job:#}");
    assert_eq!(hits(&home.ok(&["search", "zebracorn"])).len(), 1);
    assert_eq!(home.ok(&["doctor"])["healthy"], true);
    println!("{} of {} taken in, {} parked", job["new"], job["seen"], parked_of(&job).len());
}

/// What may become of a file.
enum Outcome {
    Parked,
    Taken,
    /// A tolerant reader takes it, a strict one parks it.
    Either,
}

fn write_all(folder: &Path) {
    let write = |name: &str, bytes: &[u8]| fs::write(folder.join(name), bytes).unwrap();
    write("empty.txt", b"");
    write("blank.md", b" \n\t\n  ");
    // Sparse: 100 MB of NUL that take no room on the disk.
    File::create(folder.join("huge.txt")).unwrap().set_len(100 << 20).unwrap();
    write("binary.dat", &Rng::new(7).bytes(200_000));
    write("picture.md", &[b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".as_slice(), &Rng::new(8).bytes(5000)].concat());
    write("page-without-ending", b"<!DOCTYPE html><html><head><title>Page</title></head><body><main><h1>Page</h1><p>This page has no ending in its name, and enough words in one paragraph to be its main content.</p></main></body></html>");
    write("text-called.pdf", b"This is plain text that somebody called a PDF.\n");
    write(
        "invalid-utf8.txt",
        b"The sm\xf6rg\xe5sbord was laid at noon, and nobody asked for the encoding of the menu.\n",
    );
    let utf16: Vec<u16> = "\u{feff}Der Überlauf des Beckens liegt bei 2,8 Metern.\n".encode_utf16().collect();
    write("utf16-le.txt", &utf16.iter().flat_map(|u| u.to_le_bytes()).collect::<Vec<u8>>());
    let utf16: Vec<u16> = "\u{feff}# Bericht\n\nDie Messung war am Abend zu Ende.\n".encode_utf16().collect();
    write("utf16-be.md", &utf16.iter().flat_map(|u| u.to_be_bytes()).collect::<Vec<u8>>());
    write(
        "deep.html",
        format!("<html><body>{}deep{}</body></html>", "<div>".repeat(200_000), "</div>".repeat(200_000)).as_bytes(),
    );
    write("deep.json", format!("{}1{}", "[".repeat(500_000), "]".repeat(500_000)).as_bytes());
    write(
        "deep.jsonl",
        format!("{{\"id\": \"1\", \"text\": {}1{}}}\n", "[".repeat(100_000), "]".repeat(100_000)).as_bytes(),
    );
    write("broken.jsonl", b"{\"id\": \"1\", \"text\": \"A whole record.\"}\n{\"id\": \"2\", \"te\n{\"id\": \"3\", \"text\": \"Another whole record.\"}\n");
    let zeros = deflated_zeros(256);
    write("bomb.gz", &[&[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255][..], &zeros, &[0; 8]].concat());
    write("bomb.pdf", &pdf_over(&zeros));
    write("bomb.zip", &zip_that_claims(u32::MAX - 1));
}

/// So many MiB of zeros, deflated into a thousandth of that.
fn deflated_zeros(mib: usize) -> Vec<u8> {
    // Fixed Huffman codes: literal 0 is 00110000; length 258 is 11000101, and distance 1 is 00000.
    let mut bits = Bits::default();
    bits.put(&[1, 1, 0]); // the last block, of type 01, least significant bit first
    bits.put(&[0, 0, 1, 1, 0, 0, 0, 0]);
    for _ in 0..(mib << 20) / 258 {
        bits.put(&[1, 1, 0, 0, 0, 1, 0, 1]);
        bits.put(&[0, 0, 0, 0, 0]);
    }
    bits.put(&[0, 0, 0, 0, 0, 0, 0]);
    bits.bytes
}

/// A PDF of one page whose content is this deflated stream.
fn pdf_over(deflated: &[u8]) -> Vec<u8> {
    let length = deflated.len() + 2;
    let mut file = b"%PDF-1.4\n".to_vec();
    let mut offsets = Vec::new();
    for (n, body) in [
        "<< /Type /Catalog /Pages 2 0 R >>".to_string(),
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_string(),
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 99 99] /Contents 4 0 R >>".to_string(),
        format!("<< /Length {length} /Filter /FlateDecode >>"),
    ]
    .iter()
    .enumerate()
    {
        offsets.push(file.len());
        file.extend(format!("{} 0 obj\n{body}\n", n + 1).bytes());
        if n == 3 {
            file.extend(b"stream\n\x78\x9c");
            file.extend(deflated);
            file.extend(b"\nendstream\n");
        }
        file.extend(b"endobj\n");
    }
    let table = file.len();
    file.extend(b"xref\n0 5\n0000000000 65535 f \n");
    offsets.iter().for_each(|at| file.extend(format!("{at:010} 00000 n \n").bytes()));
    file.extend(format!("trailer\n<< /Size 5 /Root 1 0 R >>\nstartxref\n{table}\n%%EOF\n").bytes());
    file
}

#[derive(Default)]
struct Bits {
    bytes: Vec<u8>,
    used: usize,
}

impl Bits {
    fn put(&mut self, bits: &[u8]) {
        for bit in bits {
            if self.used.is_multiple_of(8) {
                self.bytes.push(0);
            }
            *self.bytes.last_mut().expect("a byte was pushed") |= bit << (self.used % 8);
            self.used += 1;
        }
    }
}

/// A zip archive whose one entry claims to unpack to this many bytes.
fn zip_that_claims(size: u32) -> Vec<u8> {
    let mut file = b"PK\x03\x04\x14\0\0\0\x08\0\0\0\0\0".to_vec();
    file.extend([0u8; 4]);
    file.extend(16u32.to_le_bytes());
    file.extend(size.to_le_bytes());
    file.extend([5, 0, 0, 0]);
    file.extend(b"a.txt");
    file.extend([0u8; 16]);
    file
}

fn make_fifo(path: &Path) {
    let made = std::process::Command::new("mkfifo").arg(path).status();
    assert!(made.expect("mkfifo is part of every Unix").success());
}

fn ingest(home: &Home, path: &Path) -> Value {
    home.run_within(INGEST_TIME, &["ingest".as_ref(), path.as_os_str()]).expect(0)
}

fn parked_of(job: &Value) -> Vec<(String, String)> {
    let note = |n: &Value| (text(n, "/address").to_string(), text(n, "/reason").to_string());
    list(job, "/parked").iter().map(note).collect()
}

/// Whether an address is that of this file, or of an item in it.
fn is_of(address: &str, name: &str) -> bool {
    address.split('#').next().is_some_and(|file| file.rsplit('/').next() == Some(name))
}

fn is_held(home: &Home, name: &str) -> bool {
    let sources = home.ok(&["sources", "--limit", "1000"]);
    list(&sources, "")
        .iter()
        .any(|s| is_of(text(s, "/uri").trim_start_matches("file:"), name) && count(s, "/chunks") > 0)
}
