//! Asking: cited, abstained, denied, contested, federated.

use anyhow::anyhow;
use serde_json::Value;

use super::founding::COLLEAGUE;
use super::stage::{Node, Stage};
use super::{STUDY, STUDY_QUESTION, STUDY_SENTENCE};

const SALARY_QUESTION: &str = "By how much does Mara Lindqvist's salary rise?";

/// Asks at home.
pub fn ask_locally(stage: &mut Stage) -> anyhow::Result<()> {
    stage.step(
        "Ask, and get an answer with its source",
        "An answer is made of sentences that stand word for word in documents which you may read, and of nothing else.",
    )?;
    let question = "What suction pressure is needed before pump 7 may be restarted?";
    let sentence = "Pump 7 may be restarted only when the suction pressure has stayed above 2.4 bar for ten minutes.";
    let answer = stage.plumb(Node::Operations, &["ask", question], &[0])?;
    show_answer(stage, &answer)?;
    stage.shows("the runbook is cited word for word", says(&answer, sentence) && cites(&answer, "runbook-pump-7"))
}

/// Asks what nobody knows.
pub fn ask_what_nobody_knows(stage: &mut Stage) -> anyhow::Result<()> {
    stage.step("Ask what nobody knows", "Without evidence nothing is asserted. Scripts see exit code 3.")?;
    let question = "Which orchestra premiered the violin concerto of Sibelius?";
    let answer = stage.plumb(Node::Operations, &["ask", question, "--peers"], &[3])?;
    show_answer(stage, &answer)?;
    stage.shows("it abstains and cites nothing", answer["answer"]["abstained"] == true && sentences(&answer).is_empty())
}

/// Asks as somebody who may not read the answer, and as somebody who may.
pub fn ask_without_the_right(stage: &mut Stage) -> anyhow::Result<()> {
    stage.step(
        "Ask for what you may not read",
        "The salary note was declared internal; its text raised it to confidential, for its writer alone. For anybody \
         else it is as if it were not there: not refused, absent.",
    )?;
    let denied = stage.plumb(Node::Laboratory, &["ask", SALARY_QUESTION, "--as", COLLEAGUE], &[3])?;
    show_answer(stage, &denied)?;
    let unwritten = "By how much does Jonas Nobody's salary rise?";
    let absent = stage.plumb(Node::Laboratory, &["ask", unwritten, "--as", COLLEAGUE], &[3])?;
    show_answer(stage, &absent)?;
    let same = denied["answer"]["answer"] == absent["answer"]["answer"]
        && denied["answer"]["reliability"] == absent["answer"]["reliability"];
    stage.shows("what may not be read and what was never written get the same answer", same)?;
    let allowed = stage.plumb(Node::Laboratory, &["ask", SALARY_QUESTION], &[0])?;
    show_answer(stage, &allowed)?;
    stage.shows("the writer of the note finds it", says(&allowed, "46,850 euros"))
}

/// Asks where two documents disagree.
pub fn ask_where_sources_disagree(stage: &mut Stage) -> anyhow::Result<()> {
    stage.step(
        "Ask where two documents disagree",
        "A policy says 90 days and a briefing says 30. Nobody has decided between them yet, so the answer does not either.",
    )?;
    let question = "How long are customer meter readings retained?";
    let answer = stage.plumb(Node::Operations, &["ask", question], &[0])?;
    show_answer(stage, &answer)?;
    let conflicts = answer["answer"]["conflicts"].as_array().map_or(0, Vec::len);
    stage.value("conflicts", conflicts)?;
    let both = says(&answer, "90 days") && says(&answer, "30 days");
    stage.shows("both sides are shown, and marked as contested", both && conflicts > 0)
}

/// Asks the other department and the other organisation.
pub fn ask_across_borders(stage: &mut Stage) -> anyhow::Result<()> {
    stage.step(
        "Ask across both borders",
        "The question goes to the peers; the answer says who was asked and what came of it. The ranking is that of one \
         index over everything that may be read.",
    )?;
    let across_departments = "Within how many hours must microbiology samples reach the bench?";
    let answer = stage.plumb(Node::Operations, &["ask", across_departments, "--peers"], &[0])?;
    show_answer(stage, &answer)?;
    show_coverage(stage, &answer)?;
    stage
        .shows("the laboratory, of the same organisation, answers", says(&answer, "within 18 hours of being taken"))?;
    let answer = stage.plumb(Node::Operations, &["ask", STUDY_QUESTION, "--peers"], &[0])?;
    show_answer(stage, &answer)?;
    show_coverage(stage, &answer)?;
    stage.shows(
        "the Halden Institute answers from its public study",
        says(&answer, STUDY_SENTENCE) && cites(&answer, STUDY),
    )?;
    stage.shows("every peer that was asked answered", answer["coverage"]["complete"] == true)
}

/// Searches for a word that only stands in internal documents of the other organisation.
pub fn search_for_what_stays_inside(stage: &mut Stage) -> anyhow::Result<()> {
    stage.step(
        "Search for what never crosses the border",
        "`quillmark` stands in one internal note of the Halden Institute. Another organisation's question never opens \
         the partition where it lies, so neither its text nor its count nor its statistics can leak.",
    )?;
    let at_home = stage.plumb(Node::Hydrology, &["search", "quillmark"], &[0])?;
    stage.value("hits", hits(&at_home))?;
    stage.shows("at home it is found", hits(&at_home) > 0)?;
    let outside = stage.plumb(Node::Operations, &["search", "quillmark", "--peers"], &[0])?;
    stage.value("hits", hits(&outside))?;
    show_coverage(stage, &outside)?;
    stage.shows(
        "outside nothing is found, though every peer answered",
        hits(&outside) == 0 && outside["coverage"]["complete"] == true,
    )
}

/// Shows an answer with its citations.
pub fn show_answer(stage: &mut Stage, view: &Value) -> anyhow::Result<()> {
    stage.value("answer", text(view, "/answer/answer")?)?;
    for (citation, k) in view["answer"]["citations"].as_array().into_iter().flatten().zip(1..) {
        let (uri, start, end) = (text(citation, "/uri")?, &citation["start"], &citation["end"]);
        stage.value(&format!("[{k}]"), format!("{uri}, bytes {start} to {end}"))?;
    }
    Ok(())
}

/// Shows who was asked.
fn show_coverage(stage: &mut Stage, view: &Value) -> anyhow::Result<()> {
    for peer in view["coverage"]["peers"].as_array().into_iter().flatten() {
        let (name, state) = (text(peer, "/name")?, text(peer, "/state")?);
        stage.value("asked", format!("{name}: {state}, {} hits", peer["hits"]))?;
    }
    Ok(())
}

/// Whether a claim of an answer holds these words.
pub fn says(view: &Value, words: &str) -> bool {
    sentences(view).iter().any(|sentence| sentence.contains(words))
}

/// Whether a citation of an answer points to this document.
pub fn cites(view: &Value, document: &str) -> bool {
    let citations = view["answer"]["citations"].as_array();
    citations.into_iter().flatten().any(|c| c["uri"].as_str().is_some_and(|uri| uri.contains(document)))
}

/// How many results a search has.
pub fn hits(view: &Value) -> usize {
    view["hits"].as_array().map_or(0, Vec::len)
}

fn sentences(view: &Value) -> Vec<&str> {
    let claims = view["answer"]["claims"].as_array();
    claims.into_iter().flatten().filter_map(|claim| claim["text"].as_str()).collect()
}

/// The text at a place of a command's answer.
pub fn text<'a>(view: &'a Value, pointer: &str) -> anyhow::Result<&'a str> {
    view.pointer(pointer)
        .and_then(Value::as_str)
        .ok_or_else(|| anyhow!("the command's answer has no text at {pointer}: {view}"))
}

/// The texts in a list of a command's answer.
pub fn texts<'a>(view: &'a Value, pointer: &str) -> anyhow::Result<Vec<&'a str>> {
    let list = view.pointer(pointer).and_then(Value::as_array);
    let texts = list.map(|list| list.iter().filter_map(Value::as_str).collect());
    texts.ok_or_else(|| anyhow!("the command's answer has no list at {pointer}: {view}"))
}
