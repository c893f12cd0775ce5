//! `plumb search`: what was found, best first.

use std::fmt::Write;

use clap::Args;
use plumb_actors::retrieval::{HitView, K_DEFAULT, SearchView, StagesView};
use plumb_core::measure::Duration;
use plumb_core::retrieval::assembly::Stage;

use super::ask;
use crate::api::asking::Peers;
use crate::api::search::SearchRequest;
use crate::cli::Context;
use crate::exit::Exit;
use crate::output::{line, short};
use crate::{output, session, span};

/// Characters of a passage that are shown.
const PASSAGE_CHARS: usize = 240;

/// Searches.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    plumb search \"pump 7 suction pressure\"\n  \
    plumb search chloramine --peers --deadline 2s    ask other nodes too\n  \
    plumb search chloramine --peers=all              however many there are; --peers=5 asks the most promising five
  \
    plumb search chloramine --explain                the stages, and every factor of each place\n  \
    plumb search salary --as person-mara-lindqvist   what she may read")]
pub struct SearchArgs {
    /// What to look for. It is all words: nothing in it is an operator
    query: String,
    /// At most so many results, up to 100
    #[arg(long, value_name = "N", default_value_t = K_DEFAULT)]
    k: usize,
    /// Ask other nodes too: those that promise most (auto), all, or the best so many
    #[arg(long, value_name = "N|all|auto", num_args = 0..=1, require_equals = true, default_missing_value = "auto",
        default_value = "false", hide_default_value = true, value_parser = Peers::parse)]
    peers: Peers,
    /// Tell the nodes that are asked what it is for
    #[arg(long, value_name = "TEXT")]
    purpose: Option<String>,
    /// Show what each stage did and took, and every factor of each place
    #[arg(long)]
    explain: bool,
    /// How long other nodes have, such as 2s; at most 25s
    #[arg(long, value_name = "SPAN", value_parser = span::parse)]
    deadline: Option<Duration>,
}

/// Searches.
pub async fn run(cx: &Context, args: SearchArgs) -> anyhow::Result<Exit> {
    let request = SearchRequest {
        query: args.query,
        k: Some(args.k),
        peers: args.peers,
        purpose: args.purpose,
        explain: args.explain,
        deadline_ms: args.deadline.map(|d| d.0),
    };
    let found: SearchView = session::with_node(cx, async |client| client.post("/v1/search", &request).await).await?;
    output::emit(cx.json, &found, || show(&found))?;
    Ok(Exit::Done)
}

fn show(found: &SearchView) -> String {
    let mut text = String::new();
    if found.hits.is_empty() {
        text.push_str("Nothing found that you may read.\n");
    }
    for (hit, rank) in found.hits.iter().zip(1..) {
        show_hit(&mut text, rank, hit);
    }
    if let Some(stages) = &found.stages {
        text.push('\n');
        show_stages(&mut text, stages);
    }
    if !found.coverage.peers.is_empty() {
        text.push('\n');
        text.push_str(&ask::coverage(&found.coverage));
    }
    text
}

/// The six stages, with what each took.
fn show_stages(text: &mut String, stages: &StagesView) {
    let none = || "none".to_string();
    let took = |stage: Stage| millis(stages.took_us.get(stage.as_str()).copied().unwrap_or(0));
    for stage in Stage::ALL {
        let said = match stage {
            Stage::Intent => {
                let sure = format!("{}, sure to {} of 1000", stages.intent.intent, stages.intent.confidence);
                std::iter::once(sure).chain(stages.intent.clues.iter().cloned()).collect()
            }
            Stage::Entities if stages.entities.is_empty() => vec![none()],
            Stage::Entities => {
                let name = |alias: &Option<String>| alias.as_ref().map(|a| format!(" by `{a}`")).unwrap_or_default();
                let said = stages.entities.iter();
                said.map(|e| format!("{}{}, {}, sure to {} of 1000", e.entity, name(&e.alias), e.how, e.confidence))
                    .collect()
            }
            Stage::Weights => {
                let of = |documents| if documents { ", documents" } else { "" };
                stages.weights.iter().map(|w| format!("{}{}: {}", w.scope, of(w.documents), w.formula)).collect()
            }
            Stage::Search => Vec::new(),
            Stage::Fusion => vec![format!("rated in the setting {}", stages.setting)],
            Stage::Conflicts if stages.conflicts.is_empty() => vec![none()],
            Stage::Conflicts => {
                let sides = stages.conflicts.iter();
                sides.map(|c| format!("{}: “{}” against “{}”", c.relation, c.a_says, c.b_says)).collect()
            }
        };
        let _ = writeln!(text, "{:<9} {} ms", stage.as_str(), took(stage));
        for line in said {
            let _ = writeln!(text, "    {line}");
        }
    }
    let _ = writeln!(text, "all       {} ms", millis(stages.total_us));
}

/// Milliseconds with three digits behind the point.
fn millis(us: u64) -> String {
    format!("{}.{:03}", us / 1000, us % 1000)
}

fn show_hit(text: &mut String, rank: usize, hit: &HitView) {
    let page = hit.page.map(|p| format!(", page {p}")).unwrap_or_default();
    let headings = if hit.headings.is_empty() { String::new() } else { format!(" › {}", hit.headings.join(" › ")) };
    let contested = if hit.contested_by.is_empty() { "" } else { " [Contested]" };
    let _ = write!(
        text,
        "{rank}. {}{headings}{contested}\n   {}{page} · {} · score {} · from {}\n   “{}”\n",
        hit.title,
        hit.uri,
        hit.sensitivity,
        hit.score,
        short(&hit.publisher),
        line(&hit.text, PASSAGE_CHARS),
    );
    if let Some(unconfirmed) = &hit.unconfirmed {
        let _ = writeln!(text, "   Caution: {}", unconfirmed.sentence());
    }
    if let Some(notice) = &hit.caution {
        let _ = writeln!(text, "   Caution: notice {notice}");
    }
    if !hit.contested_by.is_empty() {
        let others: Vec<String> = hit.contested_by.iter().map(|chunk| short(chunk)).collect();
        let _ = writeln!(text, "   Contested by {}", others.join(", "));
    }
    if let Some(factors) = &hit.factors {
        let _ = writeln!(text, "   place {} in the search; {}", factors.rank, factors.formula);
    }
    if let Some(explain) = &hit.explain {
        let _ = writeln!(
            text,
            "   {} over {} documents with {} terms; this chunk has {}",
            explain.method, explain.n_docs, explain.n_terms, explain.chunk_terms
        );
        for t in &explain.terms {
            let _ = writeln!(
                text,
                "     {}: {} here, in {} documents, idf {} → {}",
                t.term, t.tf, t.df, t.idf_micro, t.score_micro
            );
        }
    }
}
