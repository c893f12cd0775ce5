//! The bundle: sealed, exported, verified, replayed, tampered with, imported.

use anyhow::Context as _;
use serde_json::Value;

use super::asking::{cites, says, show_answer, text, texts};
use super::stage::{Node, Stage};
use super::{STUDY, STUDY_QUESTION, STUDY_SENTENCE};

/// The file of the bundle.
pub const BUNDLE: &str = "answer.car";

/// Saves the answer and exports it.
pub fn save_and_export(stage: &mut Stage) -> anyhow::Result<()> {
    stage.step(
        "Keep the answer, and give it away as a signed bundle",
        "The bundle holds the answer, its evidence, the ranking, what was known of retractions, the certificate of its \
         issuer and one signature: everything that a stranger needs to check it.",
    )?;
    let answer = stage.plumb(Node::Operations, &["ask", STUDY_QUESTION, "--peers", "--save"], &[0])?;
    show_answer(stage, &answer)?;
    let bundle = text(&answer, "/bundle")?.to_string();
    stage.value("bundle", &bundle)?;
    let file = stage.path(BUNDLE);
    stage.plumb(Node::Operations, &["bundle", "export", &bundle, "--out", &file], &[0])?;
    let bytes = std::fs::metadata(&file).with_context(|| format!("{file} was not written"))?.len();
    stage.value("bytes", bytes)?;
    stage.shows("the bundle lies in a file", bytes > 0)
}

/// Verifies and replays where there is neither node nor home.
pub fn verify_with_nothing_running(stage: &mut Stage) -> anyhow::Result<()> {
    stage.step(
        "Verify it where there is no node, no home and no network",
        "What is signed is a hash over canonical bytes, so anybody can check it. Replaying composes the answer again \
         from the evidence in the bundle; it must give the same bytes on any machine.",
    )?;
    let file = stage.path(BUNDLE);
    let verdict = verdict(&stage.plumb_elsewhere(&["bundle", "verify", &file], 0)?.stdout)?;
    show_verdict(stage, &verdict)?;
    stage.shows("it is authentic", verdict["verdict"] == "authentic")?;
    let (here, there) = (stage.path("replayed-elsewhere.cbor"), stage.path("replayed-at-home.cbor"));
    let replayed: Value =
        serde_json::from_slice(&stage.plumb_elsewhere(&["bundle", "replay", &file, "--out", &here], 0)?.stdout)?;
    stage.value("given", text(&replayed, "/given")?)?;
    stage.value("replayed", text(&replayed, "/replayed")?)?;
    stage.plumb(Node::Laboratory, &["bundle", "replay", &file, "--out", &there], &[0])?;
    let (here, there) = (read(&here)?, read(&there)?);
    stage.value("bytes", here.len())?;
    let whole = replayed["equal"] == true && replayed["answer"].to_string().contains(STUDY_SENTENCE);
    stage.shows("replayed in two places it is the same answer, byte for byte", whole && here == there)
}

/// Flips one byte of the file.
pub fn flip_one_byte(stage: &mut Stage) -> anyhow::Result<()> {
    stage.step("Change one bit of it", "Whoever changes the evidence, the answer or the signature is found out.")?;
    let (file, forged) = (stage.path(BUNDLE), stage.path("forged.car"));
    let mut bytes = read(&file)?;
    let at = bytes.len() / 2;
    bytes[at] ^= 1;
    std::fs::write(&forged, bytes).with_context(|| format!("{forged} cannot be written"))?;
    stage.value("changed", format!("the lowest bit of byte {at}, in $DEMO/forged.car"))?;
    let verdict = verdict(&stage.plumb_elsewhere(&["bundle", "verify", &forged], 6)?.stdout)?;
    show_verdict(stage, &verdict)?;
    stage.shows("it is not authentic", verdict["verdict"] == "not_authentic")
}

/// Imports the bundle at the laboratory.
pub fn import(stage: &mut Stage) -> anyhow::Result<()> {
    stage.step(
        "Import it at another node",
        "The laboratory now holds the evidence itself and can answer from it with no peer at hand. It signs a receipt, \
         so the publisher knows to whom a retraction is owed.",
    )?;
    let file = stage.path(BUNDLE);
    let import = stage.plumb(Node::Laboratory, &["bundle", "import", &file], &[0])?;
    stage.value("imported", &import["imported"])?;
    stage.value("verdict", text(&import, "/verdict/summary")?)?;
    let answer = stage.plumb(Node::Laboratory, &["ask", STUDY_QUESTION, "--save"], &[0])?;
    show_answer(stage, &answer)?;
    stage.shows("the laboratory answers from what it imported", says(&answer, STUDY_SENTENCE) && cites(&answer, STUDY))
}

fn read(file: &str) -> anyhow::Result<Vec<u8>> {
    std::fs::read(file).with_context(|| format!("{file} cannot be read"))
}

/// Reads a verdict.
fn verdict(stdout: &[u8]) -> anyhow::Result<Value> {
    serde_json::from_slice(stdout).context("a verification gave no JSON")
}

/// Shows a verdict with everything that was checked.
pub fn show_verdict(stage: &mut Stage, verdict: &Value) -> anyhow::Result<()> {
    stage.value("verdict", text(verdict, "/verdict")?)?;
    stage.value("", text(verdict, "/summary")?)?;
    texts(verdict, "/checks")?.into_iter().try_for_each(|check| stage.value("checked", check))?;
    for withdrawn in verdict["withdrawn"].as_array().into_iter().flatten() {
        stage
            .value("withdrawn", format!("{}, by notice {}", text(withdrawn, "/title")?, text(withdrawn, "/notice")?))?;
    }
    Ok(())
}
