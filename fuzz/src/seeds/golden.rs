//! The golden bytes of the wire.

use std::path::Path;
use std::sync::OnceLock;

/// Every frame of `fixtures/wire`, with its name.
pub fn golden() -> &'static [(String, Vec<u8>)] {
    static GOLDEN: OnceLock<Vec<(String, Vec<u8>)>> = OnceLock::new();
    GOLDEN.get_or_init(|| {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/wire");
        let entries = std::fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
        let mut frames: Vec<(String, Vec<u8>)> = entries
            .filter_map(Result::ok)
            .filter(|entry| entry.path().extension().is_some_and(|extension| extension == "hex"))
            .map(|entry| {
                let text = std::fs::read_to_string(entry.path()).expect("a golden file can be read");
                (entry.file_name().to_string_lossy().into_owned(), from_hex(text.trim()))
            })
            .collect();
        frames.sort();
        assert!(!frames.is_empty(), "{} holds no golden bytes", folder.display());
        frames
    })
}

fn from_hex(text: &str) -> Vec<u8> {
    let digit = |c: u8| (c as char).to_digit(16).expect("a golden file is hexadecimal") as u8;
    text.as_bytes().chunks(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect()
}
