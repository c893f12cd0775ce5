//! Takes a model into a folder of models: `cargo run -p plumb-models --example add -- FILE FOLDER`.

use std::path::Path;
use std::process::ExitCode;

use plumb_models::{MiniLm, Settings, add};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [from, models] = &arguments[..] else {
        eprintln!("usage: add FILE-OR-FOLDER FOLDER-OF-MODELS");
        return ExitCode::from(2);
    };
    let opened = || -> Result<(), Box<dyn std::error::Error>> {
        let added = add(Path::new(from), Path::new(models))?;
        MiniLm::open(Path::new(models), added.known, Settings::default())?;
        let state = if added.new { "added" } else { "was there" };
        let known = added.known;
        println!("{} ({:?}) {state}: {}", known.name, known.precision, added.path.display());
        println!("  sha256   {}\n  licence  {}", known.digest, known.licence);
        Ok(())
    };
    match opened() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
