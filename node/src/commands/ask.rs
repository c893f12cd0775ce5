//! `plumb ask`: prose, then where each sentence of it stands.

use std::fmt::Write;
use std::path::PathBuf;

use clap::Args;
use plumb_actors::retrieval::Coverage;
use plumb_core::measure::Duration;

use crate::api::answers::AnswerRequest;
use crate::api::asking::Peers;
use crate::api::envelope::{Answer, AnswerReply};
use crate::cli::Context;
use crate::client::escape;
use crate::exit::Exit;
use crate::home::write_atomically;
use crate::output::{count, short};
use crate::{output, session, span};

/// Asks a question.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    plumb ask \"Who approves a planned shutdown of a trunk main?\"\n  \
    plumb ask \"How much did chloramine reduce biofilm?\" --peers\n  \
    plumb ask \"…\" --save                   keep it; it is flagged when its evidence is withdrawn\n  \
    plumb ask \"…\" --bundle answer.car      keep it, and write it as a signed file that anybody can verify\n\n\
    Every sentence of an answer stands word for word in its source. Without enough evidence there is no answer, and\n\
    the exit code is 3.")]
pub struct AskArgs {
    /// The question
    question: String,
    /// Ask other nodes too: those that promise most (auto), all, or the best so many
    #[arg(long, value_name = "N|all|auto", num_args = 0..=1, require_equals = true, default_missing_value = "auto",
        default_value = "false", hide_default_value = true, value_parser = Peers::parse)]
    peers: Peers,
    /// Tell the nodes that are asked what it is for
    #[arg(long, value_name = "TEXT")]
    purpose: Option<String>,
    /// Keep the answer, sealed with its evidence
    #[arg(long)]
    save: bool,
    /// Keep the answer, and write its bundle into this file
    #[arg(long, value_name = "FILE")]
    bundle: Option<PathBuf>,
    /// How long other nodes have, such as 2s; at most 25s
    #[arg(long, value_name = "SPAN", value_parser = span::parse)]
    deadline: Option<Duration>,
}

/// Asks a question.
pub async fn run(cx: &Context, args: AskArgs) -> anyhow::Result<Exit> {
    let request = AnswerRequest {
        query: args.question,
        peers: args.peers,
        purpose: args.purpose,
        deadline_ms: args.deadline.map(|d| d.0),
        save: args.save || args.bundle.is_some(),
    };
    let (view, car) = session::with_node(cx, async |client| {
        let view: AnswerReply = client.post("/v1/answer", &request).await?;
        let car = match (&args.bundle, &view.bundle) {
            (Some(_), Some(bundle)) => Some(client.get_bytes(&format!("/v1/bundles/{}", escape(bundle))).await?),
            _ => None,
        };
        Ok((view, car))
    })
    .await?;
    match (&args.bundle, car) {
        (Some(file), Some(car)) => write_atomically(file, &car)?,
        (Some(file), None) => output::remark(&format!("no bundle was sealed, so {} was not written", file.display())),
        (None, _) => {}
    }
    output::emit(cx.json, &view, || show(&view, args.bundle.as_deref()))?;
    Ok(if view.answer.abstained { Exit::Abstained } else { Exit::Done })
}

fn show(view: &AnswerReply, file: Option<&std::path::Path>) -> String {
    let mut text = answer(&view.answer);
    if !view.coverage.peers.is_empty() {
        text.push_str(&coverage(&view.coverage));
    }
    for unconfirmed in &view.unconfirmed {
        let _ = writeln!(text, "Caution: {}", unconfirmed.sentence());
    }
    if let Some(bundle) = &view.bundle {
        let _ = match file {
            Some(file) => writeln!(text, "Kept as {bundle}, and in {}", file.display()),
            None => writeln!(text, "Kept as {bundle}"),
        };
    }
    text
}

/// An answer for a person: the prose, the citations, how well it is supported, what is contested.
pub fn answer(answer: &Answer) -> String {
    let mut text = format!("{}\n", answer.answer.trim_end());
    for (citation, n) in answer.citations.iter().zip(1..) {
        let page = citation.page.map(|p| format!(", page {p}")).unwrap_or_default();
        let _ = write!(
            text,
            "\n[{n}] {}\n    {}{page}, bytes {} to {}\n    published by {}\n",
            citation.title, citation.uri, citation.start, citation.end, citation.publisher
        );
        if let Some(notice) = &citation.caution {
            let _ = writeln!(text, "    Caution: notice {notice} speaks of it");
        }
    }
    if !answer.conflicts.is_empty() {
        text.push_str("\nContested. Nobody has decided between these:\n");
        for contested in &answer.conflicts {
            let relation = serde_json::to_value(contested.relation).ok();
            let relation = relation.as_ref().and_then(|r| r.as_str()).unwrap_or("conflict").replace('-', " ");
            let _ = write!(
                text,
                "  {relation}\n    one side    {}\n    other side  {}\n",
                claim(answer, &contested.a),
                claim(answer, &contested.b)
            );
        }
    }
    let r = &answer.reliability;
    let _ = writeln!(
        text,
        "\nReliability {} of 1000: {} ({} from {})",
        r.confidence,
        r.reason,
        count(r.citation_count, "citation", "citations"),
        count(r.source_count, "source", "sources"),
    );
    text
}

/// A claim with the numbers of its citations.
fn claim(answer: &Answer, id: &str) -> String {
    let Some(claim) = answer.claims.iter().find(|c| c.id == id) else {
        return id.to_string();
    };
    let numbers: Vec<String> = answer
        .citations
        .iter()
        .zip(1..)
        .filter(|(citation, _)| claim.citations.contains(&citation.id))
        .map(|(_, n)| format!("[{n}]"))
        .collect();
    format!("{} {}", output::line(&claim.text, 400), numbers.join(""))
}

/// Who was asked, and what came of it.
pub fn coverage(coverage: &Coverage) -> String {
    let n = count(coverage.local_documents, "document", "documents");
    let mut text = format!("Asked: this node ({n})\n");
    for peer in &coverage.peers {
        let age = match peer.feed_age_ms {
            Some(ms) => format!("its log was confirmed {} ago", span::show(ms)),
            None => "its log was never confirmed here".to_string(),
        };
        let detail = peer.detail.as_deref().map(|d| format!(" ({d})")).unwrap_or_default();
        let mut hits = count(peer.hits, "hit", "hits");
        if peer.dropped > 0 {
            let _ = write!(hits, ", {} dropped", peer.dropped);
        }
        let state = peer.state.replace('_', " ");
        let _ = writeln!(text, "       {} {}: {state}{detail}, {hits}; {age}", peer.name, short(&peer.node));
    }
    if coverage.missing_could_change {
        text.push_str("Not every node answered; a missing one could change this.\n");
    }
    text
}
