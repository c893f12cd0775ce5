//! The study is withdrawn, everybody who holds it hears of it, and it stays withdrawn.

use serde_json::Value;

use super::asking::{cites, says, show_answer, text, texts};
use super::exchange::{BUNDLE, show_verdict};
use super::founding::await_peers;
use super::stage::{Node, Stage};
use super::{STUDY, STUDY_QUESTION};

const NOTE: &str = "The chlorine sensors of loops 5 and 6 were calibrated with an old bottle.";

/// Halden withdraws the study.
pub fn retract(stage: &mut Stage) -> anyhow::Result<()> {
    stage.step(
        "The Halden Institute withdraws the study",
        "Only the publisher, or the root of its organisation, may do so. The notice goes into its log and to whoever is \
         known to hold the study.",
    )?;
    let args = ["retract", STUDY, "--kind", "retraction", "--reason", "data-error", "--note", NOTE];
    let notice = stage.plumb(Node::Hydrology, &args, &[0])?;
    let id = text(&notice, "/notice")?.to_string();
    stage.value("notice", &id)?;
    let acknowledged = |view: &Value| -> Option<Vec<String>> {
        let receipts = view["receipts"].as_array()?;
        let done = receipts.iter().filter(|r| r["state"] == "acknowledged");
        let line = |r: &Value| {
            let (holder, at) = (r["holder"].as_str()?, r["at"].as_str()?);
            Some(format!("{holder}: applied {at}, units withdrawn: {}, answers flagged: {}", r["units"], r["answers"]))
        };
        let lines: Vec<String> = done.filter_map(line).collect();
        (lines.len() == 2).then_some(lines)
    };
    let lines =
        stage.await_in(Node::Hydrology, &["notices", "show", &id], "both holders have applied it", acknowledged)?;
    lines.iter().try_for_each(|line| stage.value("receipt", line))?;
    stage.shows("both holders have signed that they applied it", lines.len() == 2)
}

/// The saved answer is flagged, and the bundle verifies as authentic and retracted.
pub fn show_who_has_heard(stage: &mut Stage) -> anyhow::Result<()> {
    stage.step(
        "The importer's saved answer is flagged",
        "Nobody had to ask again. The bundle is still authentic, for it is what its issuer signed; and its evidence is \
         known to be withdrawn, which is another exit code.",
    )?;
    for node in [Node::Laboratory, Node::Operations] {
        let saved = stage.plumb(node, &["answers", "show", "last"], &[0])?;
        stage.value("state", text(&saved, "/state")?)?;
        texts(&saved, "/flags")?.into_iter().try_for_each(|flag| stage.value("flag", flag))?;
        stage.shows("the saved answer says that its source was retracted", saved["state"] == "retracted-source")?;
    }
    let file = stage.path(BUNDLE);
    let verdict = stage.plumb(Node::Laboratory, &["bundle", "verify", &file], &[4])?;
    show_verdict(stage, &verdict)?;
    stage.shows("the bundle is authentic, and retracted", verdict["verdict"] == "retracted")
}

/// Restarts the importer and builds its index anew.
pub fn restart_and_rebuild(stage: &mut Stage) -> anyhow::Result<()> {
    stage.step(
        "Restart the importer and rebuild its index",
        "The store is the truth and the index is derived from it. What was retracted stays down on every path: restart, \
         rebuild, and a second import.",
    )?;
    let (pid, code) = stage.stop(Node::Laboratory)?;
    stage.shows(&format!("process {pid} ended in order"), code == 0)?;
    let mut addresses = Vec::new();
    for node in [Node::Operations, Node::Hydrology] {
        let view = stage.peek(node, &["peers", "list"])?;
        addresses.extend(texts(&view, "/listening")?.first().map(ToString::to_string));
    }
    let (pid, _) = stage.start(Node::Laboratory, &addresses)?;
    stage.value("process", pid)?;
    await_peers(stage, Node::Laboratory)?;
    let rebuilt = stage.plumb(Node::Laboratory, &["rebuild"], &[0])?;
    stage.value("indexed", &rebuilt["indexed"])?;
    let file = stage.path(BUNDLE);
    let import = stage.plumb(Node::Laboratory, &["bundle", "import", &file], &[0])?;
    stage.value("imported", &import["imported"])?;
    stage.shows("a second import brings nothing back", import["imported"] == 0)?;
    let search =
        stage.plumb(Node::Laboratory, &["search", "chloramine dose biofilm cast-iron mains", "--peers"], &[0])?;
    let found = search["hits"].as_array().into_iter().flatten().filter_map(|hit| hit["uri"].as_str());
    let held = found.into_iter().any(|uri| uri.ends_with(STUDY));
    stage.shows("a search finds the study neither here nor at a peer", !held)?;
    let answer = stage.plumb(Node::Laboratory, &["ask", STUDY_QUESTION, "--peers"], &[0, 3])?;
    show_answer(stage, &answer)?;
    stage.shows("no answer rests on the study", !says(&answer, "62 percent") && !cites(&answer, STUDY))
}

/// Verifies the audit log of each node.
pub fn verify_the_audit(stage: &mut Stage) -> anyhow::Result<()> {
    stage.step(
        "Verify the audit log of each node",
        "Every change and every access decision is a leaf of a Merkle tree, written in the same transaction as the \
         change. Verifying hashes all of them again.",
    )?;
    for node in Node::ALL {
        let verdict = stage.plumb(node, &["audit", "verify"], &[0])?;
        stage.value("events", &verdict["size"])?;
        stage.value("root", text(&verdict, "/root")?)?;
        stage.shows("the log is whole", verdict["intact"] == true)?;
    }
    Ok(())
}
